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

/// The dimensions of Z[X]/Phi_m, m a product of distinct primes of 3, 5, 17, 257, or 65537 alone: p - 1 places for each
/// prime p, the largest outermost. Place u of p stands for exponents that are generator^u modulo p.
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
  /// The place of word i in dimension d.
  std::size_t place(std::size_t i, std::size_t d) const noexcept {
    return (unfolded(i) >> dimensions_[d].shift) & ((std::size_t{1} << dimensions_[d].log_length) - 1);
  }
  /// Where X -> X^g takes word i from, in both forms; g by its places.
  u32 source(std::size_t i, const Places& g) const noexcept {
    std::size_t from = 0;
    for (std::size_t d = 0; d < dims_; ++d) {
      const auto& at = dimensions_[d];
      from |= ((place(i, d) - g[d]) & ((std::size_t{1} << at.log_length) - 1)) << at.shift;
    }
    return static_cast<u32>(folded(from));
  }

 private:
  /// The number that consists of a word's places, and back: of dimension 65536 the upper three bits stand last.
  std::size_t unfolded(std::size_t i) const noexcept { return long_ ? i >> 3 | (i & 7) << 13 : i; }
  std::size_t folded(std::size_t i) const noexcept { return long_ ? (i & 0x1fff) << 3 | i >> 13 : i; }

  std::array<Dimension, 4> dimensions_{};
  std::size_t dims_ = 0, degree_ = 1;
  bool long_ = false;  ///< the index is 65537
};

/// The root of order m that Eval form stands on: the product of the smallest primitive p-th roots, p | m.
u64 tensor_root(u64 m, const kernels::Modulus& mod);

template <class Word>
std::unique_ptr<const Transform<Word>> make_tensor_transform(const Ring& ring, const kernels::Modulus& mod);

/// The transform of index 65537.
std::unique_ptr<const Transform<u64>> make_rader_transform(const kernels::Modulus& mod);

/// The smallest primitive root of unity of order `order`, a power of two that divides q - 1.
u64 smallest_root(u64 order, const kernels::Modulus& mod);

/// Twiddle factors of the cyclic transform of length n, a power of two of at least 4, by the smallest primitive n-th
/// root. t points into the result.
WordBuffer cyclic_table(kernels::NttTable& t, std::size_t n, const kernels::Modulus& mod);

}  // namespace ringforge
