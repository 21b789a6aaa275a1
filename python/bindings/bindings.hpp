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

void bind_binary_slots(nb::module_& m);
void bind_counting(nb::module_& m);
void bind_kernels(nb::module_& m);
/// k: the submodule `kernels`.
void bind_small_kernels(nb::module_& k);
void bind_ckks(nb::module_& m);
/// After the counters; before ciphertexts, which derive from metadata.
void bind_planning(nb::module_& m);
void bind_matvec(nb::module_& m);
/// After keys and plans. Other files take and return its objects by including ringforge/bfv/bfv.hpp.
void bind_bfv(nb::module_& m);
void bind_ltv(nb::module_& m);
void bind_hlt(nb::module_& m);
void bind_batch_matmul(nb::module_& m);
void bind_io(nb::module_& m);
void bind_gates(nb::module_& m);
void bind_psi(nb::module_& m);
void bind_rlwe(nb::module_& fhew);
void bind_oprf(nb::module_& m);
void bind_omr_signal(nb::module_& m);
/// After bfv and omr_signal.
void bind_omr_affine(nb::module_& m);
/// After bfv and omr_signal.
void bind_omr_compress(nb::module_& m);
void bind_stop(nb::module_& m);

}  // namespace bindings
