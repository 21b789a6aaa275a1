// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Tensor rings: where words stand, and the transform. Internal to the ring layer.
#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include "ringforge/ring.hpp"

namespace ringforge {

/// The dimensions of Z[X]/Phi_m, m a product of distinct primes of 3, 5, 17, 257: p - 1 places for each prime p, the
/// largest outermost. Place u of p stands for exponents that are generator^u modulo p.
class TensorShape {
 public:
  struct Dimension {
    u64 p, generator;
    unsigned log_length, shift;  ///< of the field that holds the place in the number of a word
  };
  using Places = std::array<u32, 4>;

  /// No dimensions when m is no such product.
  explicit TensorShape(u64 m) noexcept;

  std::size_t dims() const noexcept { return dims_; }
  const Dimension& operator[](std::size_t d) const noexcept { return dimensions_[d]; }
  std::size_t degree() const noexcept { return degree_; }
  bool has(u64 p) const noexcept {
    return std::any_of(dimensions_.begin(), dimensions_.begin() + dims_, [p](const auto& d) { return d.p == p; });
  }

  /// The places of a unit.
  Places places(u64 g) const noexcept;
  /// Where X -> X^g takes word i from, in both forms; g by its places.
  u32 source(std::size_t i, const Places& g) const noexcept {
    std::size_t from = 0;
    for (std::size_t d = 0; d < dims_; ++d) {
      const auto& at = dimensions_[d];
      from |= (((i >> at.shift) - g[d]) & ((std::size_t{1} << at.log_length) - 1)) << at.shift;
    }
    return static_cast<u32>(from);
  }

 private:
  std::array<Dimension, 4> dimensions_{};
  std::size_t dims_ = 0, degree_ = 1;
};

/// The root of order m that Eval form stands on: the product of the smallest primitive p-th roots, p | m.
u64 tensor_root(u64 m, const kernels::Modulus& mod);

template <class Word>
std::unique_ptr<const Transform<Word>> make_tensor_transform(const Ring& ring, const kernels::Modulus& mod);

/// Twiddle factors of the cyclic transform of length n, a power of two of at least 4, by the smallest primitive n-th
/// root. t points into the result.
WordBuffer cyclic_table(kernels::NttTable& t, std::size_t n, const kernels::Modulus& mod);

}  // namespace ringforge
