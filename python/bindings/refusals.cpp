// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Says in words of our own which argument a function of this module does not take.
//
// nanobind calls a function through a pointer in its object (vectorcall), and lists C++ signatures where no overload
// fits. A stand-in behind that pointer calls the original and, in this one case, has Python write another message.
// Calls that succeed pay for one more jump.
#include <array>
#include <cstring>
#include <string>

#include "bindings.hpp"
#include "ringforge/threads.hpp"

namespace bindings {
namespace {

/// nanobind has some six ways of calling a function, by the number and kind of its arguments.
constexpr std::size_t kWays = 16;
std::array<vectorcallfunc, kWays> originals{};
/// Takes the function, its arguments, the named ones, and returns an exception. Never freed.
PyObject* explain = nullptr;
/// Of the thread that runs Python's signal handlers.
unsigned long main_thread = 0;

vectorcallfunc& pointer_of(PyObject* f) noexcept {
  auto* place = reinterpret_cast<char*>(f) + Py_TYPE(f)->tp_vectorcall_offset;
  return *reinterpret_cast<vectorcallfunc*>(place);
}

/// An exception about the arguments, from Python; or none.
nb::object explained(PyObject* f, PyObject* const* args, std::size_t flagged, PyObject* names) {
  // The count shares its word with flags, in the upper bits.
  const auto count = static_cast<Py_ssize_t>(flagged & 0xFFFFFFFFU);
  nb::list positional;
  for (Py_ssize_t i = 0; i < count; ++i) positional.append(nb::handle(args[i]));
  nb::dict named;
  const Py_ssize_t extra = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < extra; ++i) named[nb::handle(PyTuple_GET_ITEM(names, i))] = nb::handle(args[count + i]);
  return nb::handle(explain)(nb::handle(f), nb::tuple(positional), named);
}

/// Replaces the error that is set, if it is nanobind's about arguments.
void reword(PyObject* f, PyObject* const* args, std::size_t flagged, PyObject* names) noexcept {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  try {
    const std::string said = value == nullptr ? "" : nb::cast<std::string>(nb::str(nb::handle(value)));
    if (said.find("(): incompatible function arguments.") != std::string::npos) {
      const nb::object made = explained(f, args, flagged, names);
      if (PyExceptionInstance_Check(made.ptr())) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
        return;
      }
    }
  } catch (...) {  // then it stays what it was
  }
  PyErr_Restore(type, value, trace);
}

template <std::size_t way>
PyObject* called(PyObject* f, PyObject* const* args, std::size_t flagged, PyObject* names) noexcept {
  PyObject* result = originals[way](f, args, flagged, names);
  if (result == nullptr && explain != nullptr && PyErr_ExceptionMatches(PyExc_TypeError))
    reword(f, args, flagged, names);
  return result;
}

template <std::size_t... ways>
constexpr std::array<vectorcallfunc, kWays> stand_ins(std::index_sequence<ways...>) {
  return {&called<ways>...};
}

void stand_in_for(PyObject* f) {
  static constexpr auto ours = stand_ins(std::make_index_sequence<kWays>());
  vectorcallfunc& pointer = pointer_of(f);
  for (std::size_t way = 0; way < kWays; ++way) {
    if (pointer == ours[way]) return;
    if (originals[way] == nullptr) originals[way] = pointer;
    if (originals[way] == pointer) {
      pointer = ours[way];
      return;
    }
  }
}

bool is_function(PyObject* found) {
  const char* name = Py_TYPE(found)->tp_name;
  return Py_TYPE(found)->tp_vectorcall_offset > 0 &&
         (std::strstr(name, "nb_func") != nullptr || std::strstr(name, "nb_method") != nullptr);
}

/// All functions in a module or a type, and in those in it.
void visit(nb::handle scope) {
  const auto parts = nb::cast<nb::dict>(nb::module_::import_("builtins").attr("dict")(scope.attr("__dict__")));
  for (const auto& [name, found] : parts) {
    if (is_function(found.ptr())) {
      stand_in_for(found.ptr());
    } else if (PyModule_Check(found.ptr()) || (PyType_Check(found.ptr()) && nb::type_check(found))) {
      visit(found);
    } else if (Py_TYPE(found.ptr()) == &PyStaticMethod_Type) {
      const nb::object inner = found.attr("__func__");
      if (is_function(inner.ptr())) stand_in_for(inner.ptr());
    } else if (Py_TYPE(found.ptr()) == &PyProperty_Type) {
      const nb::object setter = found.attr("fset");
      if (is_function(setter.ptr())) stand_in_for(setter.ptr());
    }
  }
}

/// Python's signal handlers run where Python code does: a native loop on the main thread lets them, and what they raise
/// ends it.
void look_for_signals() {
  if (PyThread_get_thread_ident() != main_thread || !Py_IsInitialized()) return;
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

void bind_refusals(nb::module_& m) {
  m.def(
      "on_refusal", [](nb::callable function) { explain = function.release().ptr(); }, "function"_a,
      nb::sig("def on_refusal(function: object) -> None"),
      "Has this function make the exception for arguments that another one does not take: it is given the function, "
      "a tuple and a dict of its arguments.");
  visit(m);
  main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  ringforge::set_interruption(&look_for_signals);
}

}  // namespace bindings
