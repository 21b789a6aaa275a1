// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Scopes of counts as context managers.
#include <memory>

#include "bindings.hpp"
#include "ringforge/counters.hpp"

namespace bindings {
namespace {

using namespace ringforge;

/// Refers to itself while it is entered, so that its scope is never freed while a thread counts into it.
class Counting {
 public:
  void enter() {
    if (scope_) throw std::runtime_error("this count is running already; make another");
    scope_ = std::make_unique<CountScope>();
    operations_ = {};
    traffic_ = {};
  }
  void exit() {
    if (!scope_ || CountScope::current() != scope_.get())
      throw std::runtime_error("counts end on the thread that began them, the last one first");
    operations_ = scope_->operations();
    traffic_ = scope_->traffic();
    scope_.reset();
  }
  OpCounts operations() const { return scope_ ? scope_->operations() : operations_; }
  Traffic traffic() const { return scope_ ? scope_->traffic() : traffic_; }

 private:
  std::unique_ptr<CountScope> scope_;
  OpCounts operations_;
  Traffic traffic_;
};

}  // namespace

void bind_counting(nb::module_& m) {
  nb::class_<Traffic>(m, "Traffic", "Bytes moved and held, as the schedules count them.")
      .def_ro("read", &Traffic::read)
      .def_ro("written", &Traffic::written)
      .def_ro("spilled", &Traffic::spilled)
      .def_ro("working", &Traffic::working)
      .def_ro("held_out", &Traffic::held_out);
  nb::class_<Counting>(m, "Counting", "What the thread that entered it has done, up to now or to the exit.")
      .def_prop_ro("operations", &Counting::operations)
      .def_prop_ro("traffic", &Counting::traffic)
      .def(
          "__enter__",
          [](nb::handle_t<Counting> self) {
            nb::cast<Counting&>(self).enter();
            self.inc_ref();
            return nb::borrow(self);
          },
          nb::sig("def __enter__(self) -> Counting"))
      .def(
          "__exit__",
          [](nb::handle_t<Counting> self, const nb::args&) {
            nb::cast<Counting&>(self).exit();
            self.dec_ref();
          },
          nb::sig("def __exit__(self, *args: object) -> None"));
  m.def(
      "counting", [] { return Counting(); },
      "`with counting() as did:` counts what the calling thread does, and what works for it, and nothing of other "
      "threads: did.operations, did.traffic. Counts nest; an inner one is added to the outer one at its end.");
}

}  // namespace bindings
