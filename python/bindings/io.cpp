#include "bindings.hpp"
namespace bindings { void bind_io(nb::module_&) {} }
