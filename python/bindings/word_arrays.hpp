// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Residues of 32 bits between numpy and polynomials, without copies.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>

#include "bindings.hpp"
#include "ringforge/ring.hpp"

namespace bindings {

/// Polynomials as transforms give them: (..., limbs, transform length).
using Unreduced = nb::ndarray<const std::uint32_t, nb::c_contig, nb::device::cpu>;

/// @throws ShapeError for another shape.
inline void require_shape(const Unreduced& words, std::initializer_list<std::size_t> shape) {
  const auto text = [](auto size_of, std::size_t count) {
    std::string s = "(";
    for (std::size_t i = 0; i < count; ++i) s += (i ? ", " : "") + std::to_string(size_of(i));
    return s + ")";
  };
  bool same = words.ndim() == shape.size();
  for (std::size_t i = 0; same && i < shape.size(); ++i) same = words.shape(i) == shape.begin()[i];
  if (same) return;
  throw ringforge::ShapeError("words of shape " + text([&](std::size_t i) { return words.shape(i); }, words.ndim()) +
                              "; " + text([&](std::size_t i) { return shape.begin()[i]; }, shape.size()) +
                              " is needed");
}

/// A read-only view of a polynomial's words, (limbs, length), of an object that stays.
template <class Form>
nb::ndarray<nb::numpy, const std::uint32_t, nb::ndim<2>> view(const ringforge::Poly<Form, std::uint32_t>& p,
                                                              nb::handle owner) {
  return {p.words().data(), {p.limbs(), p.length()}, owner, {static_cast<std::int64_t>(p.stride()), 1}};
}

/// An array that takes words over.
template <class Dimensions, class T>
nb::ndarray<nb::numpy, T, Dimensions> owned(std::unique_ptr<T[]> words, std::initializer_list<std::size_t> shape) {
  T* data = words.get();
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  words.release();
  return nb::ndarray<nb::numpy, T, Dimensions>(data, shape, owner);
}

}  // namespace bindings
