// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Exact multi-word Chinese remaindering: the integer behind a vector of residues.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "ref/arith.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/ring.hpp"

namespace ringforge {

/// Puts coefficients of polynomials over one basis together. Immutable; any threads may share one.
class Reconstructor {
 public:
  explicit Reconstructor(const Basis& b) : basis_(b), k_(b.size()), words_(k_ + 1) {
    product_ = {1};
    product_.resize(words_);
    for (std::size_t i = 0; i < k_; ++i) multiply(product_.data(), b[i].value());
    for (std::size_t i = 0; i < k_; ++i) {
      const auto& m = b[i].mod();
      u64 hat_mod = 1;
      std::vector<u64> hat(words_);
      hat[0] = 1;
      for (std::size_t d = 0; d < k_; ++d) {
        if (d == i) continue;
        multiply(hat.data(), b[d].value());
        hat_mod = arith::mul(hat_mod, arith::reduce64(b[d].value(), m), m);
      }
      hat_.insert(hat_.end(), hat.begin(), hat.end());
      hat_inverse_.push_back(kernels::make_factor(arith::inverse(hat_mod, m), m));
    }
    half_ = product_;
    for (std::size_t w = 0; w < words_; ++w) half_[w] = (half_[w] >> 1) | (w + 1 < words_ ? half_[w + 1] << 63 : 0);
  }

  /// Words of an integer.
  std::size_t words() const noexcept { return words_; }

  /// The size of the centred value of a coefficient, in `words()` words, the lowest first. Returns whether it is
  /// negative.
  bool centred(const Poly<Coeff>& p, std::size_t index, u64* out) const {
    std::fill(out, out + words_, 0);
    for (std::size_t i = 0; i < k_; ++i) {
      const u64 y = arith::mul_factor(p.limb(i)[index], hat_inverse_[i], basis_[i].value());
      unsigned __int128 carry = 0;
      for (std::size_t w = 0; w < words_; ++w) {
        carry += static_cast<unsigned __int128>(hat_[i * words_ + w]) * y + out[w];
        out[w] = static_cast<u64>(carry);
        carry >>= 64;
      }
    }
    // The sum is below k_ times the product. Residues may be secret: as many steps for all, without branches.
    for (std::size_t i = 1; i < k_; ++i) {
      const u64 below = borrow_of(out, product_.data());
      u64 borrow = 0;
      for (std::size_t w = 0; w < words_; ++w) out[w] = difference(out[w], product_[w] & ~below, borrow);
    }
    const u64 negative = borrow_of(half_.data(), out);
    u64 borrow = 0;  // out or product - out
    for (std::size_t w = 0; w < words_; ++w) {
      const u64 size = difference(product_[w], out[w], borrow);
      out[w] ^= (out[w] ^ size) & negative;
    }
    return negative != 0;
  }

  /// The centred value as a double: infinite from 2^1024 on. `out` as above.
  double value(const Poly<Coeff>& p, std::size_t index, u64* out) const {
    const bool negative = centred(p, index, out);
    double r = 0;
    for (std::size_t w = words_; w-- > 0;) r = r * 0x1p64 + double_of(out[w]);
    return std::bit_cast<double>(std::bit_cast<u64>(r) ^ static_cast<u64>(negative) << 63);
  }

  /// log2 of the centred value's size, -1 for zero: its time depends on it. `out` as above.
  double log2(const Poly<Coeff>& p, std::size_t index, u64* out) const {
    centred(p, index, out);
    std::size_t top = words_;
    while (top > 0 && out[top - 1] == 0) --top;
    if (top == 0) return -1;
    double r = static_cast<double>(out[top - 1]);
    if (top > 1) r += static_cast<double>(out[top - 2]) * 0x1p-64;
    return std::log2(r) + 64.0 * static_cast<double>(top - 1);
  }

 private:
  void multiply(u64* x, u64 f) const {
    unsigned __int128 carry = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      carry += static_cast<unsigned __int128>(x[w]) * f;
      x[w] = static_cast<u64>(carry);
      carry >>= 64;
    }
  }
  /// a - b - borrow, and the next borrow.
  static u64 difference(u64 a, u64 b, u64& borrow) {
    const u64 r = a - b - borrow;
    borrow = ((~a & b) | ((~a | b) & r)) >> 63;
    return r;
  }
  /// All ones when a < b, otherwise 0.
  u64 borrow_of(const u64* a, const u64* b) const {
    u64 borrow = 0;
    for (std::size_t w = 0; w < words_; ++w) (void)difference(a[w], b[w], borrow);
    return u64{0} - borrow;
  }
  Basis basis_;
  std::size_t k_, words_;
  std::vector<u64> product_, half_, hat_;
  std::vector<kernels::Factor> hat_inverse_;
};

}  // namespace ringforge
