// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Shared by the parts of the native module. No arithmetic lives in the bindings.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "ringforge/ckks/ckks.hpp"
#include "ringforge/error.hpp"
#include "ringforge/memory.hpp"
#include "ringforge/random.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace bindings {

using Words = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Complexes = nb::ndarray<const std::complex<double>, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using GilReleased = nb::call_guard<nb::gil_scoped_release>;

/// A numpy array that owns a copy of `data`.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(const T* data, std::size_t size) {
  T* copy = new T[size];
  if (size > 0) std::memcpy(copy, data, size * sizeof(T));
  nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(copy, {size}, owner);
}

/// A fixed seed, which is for tests only: Python passes this type where it wants one.
struct TestSeed {
  ringforge::Seed value;
};

/// The operating system's randomness, or what follows from a fixed seed.
inline ringforge::Randomness randomness(const std::optional<TestSeed>& fixed_for_tests) {
  if (!fixed_for_tests) return {};
  return ringforge::TestRandomness(fixed_for_tests->value);
}

/// What f returns, which it computes without the interpreter's lock: f touches no Python object.
template <class F>
auto unlocked(F&& f) {
  const nb::gil_scoped_release release;
  return f();
}

/// What a ciphertext of any scheme shows of its polynomials.
template <class Ciphertext, class Known>
nb::class_<Ciphertext, Known> bind_polynomials(nb::class_<Ciphertext, Known> c) {
  c.def_ro("key_id", &Ciphertext::key_id)
      .def_prop_ro("size", [](const Ciphertext& x) { return x.parts.size(); })
      .def(
          "copy", [](const Ciphertext& x) { return x; }, GilReleased())
      .def("limb", [](const Ciphertext& x, std::size_t part, std::size_t i) {
        if (part >= x.parts.size() || i >= x.parts[part].limbs()) throw nb::index_error();
        return to_numpy<ringforge::u64>(x.parts[part].limb(i), x.parts[part].degree());
      });
  return c;
}

/// How a client of any scheme is made, and makes keys. @param extent what bounds an evaluation key
template <class Context, class Client>
nb::class_<Client> bind_key_generation(nb::class_<Client> c, const char* extent) {
  c.def(
       "__init__",
       [](Client* self, std::shared_ptr<Context> ctx, const std::optional<TestSeed>& seed) {
         new (self) Client(ctx, randomness(seed));
       },
       "context"_a, "fixed_seed_for_tests"_a = nb::none())
      .def("secret_key", &Client::secret_key, GilReleased())
      .def("public_key", &Client::public_key, GilReleased())
      .def("relin_key", &Client::relin_key, "secret_key"_a, nb::arg(extent) = nb::none(), "threads"_a = 1,
           GilReleased())
      .def("galois_key", &Client::galois_key, "secret_key"_a, "element"_a, nb::arg(extent) = nb::none(),
           "threads"_a = 1, GilReleased());
  return c;
}

void bind_binary_slots(nb::module_& m);
void bind_counting(nb::module_& m);
void bind_kernels(nb::module_& m);
/// k: the submodule `kernels`.
void bind_ring_products(nb::module_& k);
void bind_small_kernels(nb::module_& k);
void bind_ckks(nb::module_& m);
/// After the counters; before ciphertexts, which derive from metadata.
void bind_planning(nb::module_& m);
void bind_matvec(nb::module_& m);
/// After keys and plans. Other files take and return its objects by including ringforge/bfv/bfv.hpp.
void bind_bfv(nb::module_& m);
/// After keys and plans.
void bind_bgv(nb::module_& m);
void bind_ltv(nb::module_& m);
/// l: the submodule `ltv`, with its objects.
void bind_ltv_parts(nb::module_& l);
void bind_hlt(nb::module_& m);
void bind_batch_matmul(nb::module_& m);
void bind_io(nb::module_& m);
void bind_gates(nb::module_& m);
void bind_psi(nb::module_& m);
void bind_psi_poly(nb::module_& m);
void bind_rlwe(nb::module_& fhew);
void bind_oprf(nb::module_& m);
void bind_omr_signal(nb::module_& m);
/// After bfv and omr_signal.
void bind_omr_affine(nb::module_& m);
/// After bfv and omr_signal.
void bind_omr_compress(nb::module_& m);
/// After all schemes and omr_affine.
void bind_frozen(nb::module_& m);
void bind_stop(nb::module_& m);
/// After everything else: it changes how the functions that are there refuse arguments.
void bind_refusals(nb::module_& m);

}  // namespace bindings
