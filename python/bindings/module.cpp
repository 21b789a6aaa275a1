// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The native module: exceptions, counters, and the parts bound elsewhere.
#include <cstdlib>

#include "bindings.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"

using namespace ringforge;

NB_MODULE(_native, m) {
  m.doc() = "Ringforge's C++ core. Use the modules of `ringforge` instead of this one.";

  // What a thread still holds when the interpreter ends (a call that a dead peer never answers) is told as leaked, on
  // a user's standard error. Tests of the bindings ask for it.
  nb::set_leak_warnings(std::getenv("RINGFORGE_LEAK_WARNINGS") != nullptr);

  auto error = nb::exception<Error>(m, "Error");
  error.attr("__doc__") = "Base of all errors raised by Ringforge.";
  const auto derive = [&]<class T>(std::type_identity<T>, const char* name, const char* doc) {
    auto e = nb::exception<T>(m, name, error);
    e.attr("__doc__") = doc;
  };
  derive(std::type_identity<ParameterError>{}, "ParameterError",
         "A parameter or option is outside its range, or a parameter set is not secure.");
  derive(std::type_identity<ValueError>{}, "ValueError",
         "A value cannot be encoded: not finite, too large for the modulus, too many.");
  derive(std::type_identity<ShapeError>{}, "ShapeError", "Shapes of matrices, vectors or plans do not fit together.");
  derive(std::type_identity<LevelError>{}, "LevelError", "More levels are needed than there are, or levels differ.");
  derive(std::type_identity<ScaleError>{}, "ScaleError", "Scales of two operands differ.");
  derive(std::type_identity<MissingKeyError>{}, "MissingKeyError", "An evaluation key is missing.");
  derive(std::type_identity<MismatchError>{}, "MismatchError", "An object belongs to other parameters or another key.");
  derive(std::type_identity<FormatError>{}, "FormatError", "Foreign bytes are not a valid object.");
  derive(std::type_identity<MemoryLimitError>{}, "MemoryLimitError", "A plan needs more memory than allowed.");

  nb::class_<OpCounts>(m, "OpCounts", "Counts of what the library did or would do.")
      .def(nb::init<>())
      .def_ro("ntt", &OpCounts::ntt, "forward transforms of one limb")
      .def_ro("intt", &OpCounts::intt, "inverse transforms of one limb")
      .def_ro("mod_up", &OpCounts::mod_up, "decompositions into key-switching digits")
      .def_ro("mod_down", &OpCounts::mod_down, "divisions of one polynomial by P, a prime, or both")
      .def_ro("key_switch", &OpCounts::key_switch, "inner products of digits with a key")
      .def_ro("rotation", &OpCounts::rotation, "automorphisms of a ciphertext")
      .def_ro("plain_mul", &OpCounts::plain_mul, "plaintext x ciphertext products")
      .def_ro("key_bytes", &OpCounts::key_bytes, "evaluation-key bytes read")
      .def_ro("plaintext_bytes", &OpCounts::plaintext_bytes, "encoded plaintext bytes read")
      .def("__sub__", [](const OpCounts& a, const OpCounts& b) { return a - b; })
      .def("__add__", [](OpCounts a, const OpCounts& b) { return a += b; })
      .def(
          "__eq__", [](const OpCounts& a, const OpCounts& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"));
  bindings::bind_counting(m);
  m.def("hardware_threads", &hardware_threads);
  m.def("trim_memory", &trim_word_pool, bindings::GilReleased(), "Gives idle buffers back to the system.");

  nb::class_<bindings::TestSeed>(m, "TestSeed", "32 bytes from which everything follows, and so nothing is secret.")
      .def(
          "__init__",
          [](bindings::TestSeed* self, const nb::bytes& seed) {
            bindings::TestSeed made;
            if (seed.size() != made.value.size())
              throw ParameterError("a seed has 32 bytes, not " + std::to_string(seed.size()));
            std::memcpy(made.value.data(), seed.c_str(), made.value.size());
            new (self) bindings::TestSeed(made);
          },
          "seed"_a)
      .attr("__test__") = false;  // pytest collects classes named so

  bindings::bind_kernels(m);
  bindings::bind_planning(m);
  bindings::bind_ckks(m);
  bindings::bind_matvec(m);
  bindings::bind_hlt(m);
  bindings::bind_batch_matmul(m);
  bindings::bind_bfv(m);
  bindings::bind_bgv(m);
  bindings::bind_ltv(m);
  bindings::bind_io(m);
  bindings::bind_gates(m);
  bindings::bind_psi(m);
  bindings::bind_psi_poly(m);
  bindings::bind_oprf(m);
  bindings::bind_omr_signal(m);
  bindings::bind_omr_affine(m);
  bindings::bind_omr_compress(m);
  bindings::bind_frozen(m);
  bindings::bind_stop(m);
  bindings::bind_binary_slots(m);
  bindings::bind_refusals(m);
}
