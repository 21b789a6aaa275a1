// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "slots.hpp"

#include <bit>

#include "bits.hpp"
#include "modulo_t.hpp"

namespace ringforge::bfv {
namespace {

constexpr u64 kKernels = u64{1} << 16;  // moduli of kernels are larger

/// x*y modulo t below 2^16.
u64 mul(u64 x, u64 y, const kernels::Modulus& t) { return arith::reduce64(x * y, t); }

u64 power(u64 x, u64 e, const kernels::Modulus& t) {
  u64 r = 1;
  for (; e != 0; e >>= 1, x = mul(x, x, t))
    if (e & 1) r = mul(r, x, t);
  return r;
}

}  // namespace

Slots::Slots(const Ring& ring, u64 t) : index_(ring.degree()) {
  const std::size_t n = ring.degree(), row = n / 2;
  const auto log_n = static_cast<unsigned>(std::countr_zero(n));
  u64 element = 1;
  for (std::size_t i = 0; i < row; ++i, element = ring.compose(element, 5)) {
    index_[i] = static_cast<u32>(reverse_bits((element - 1) / 2, log_n));
    index_[i + row] = static_cast<u32>(reverse_bits((ring.index() - element - 1) / 2, log_n));
  }
  if (t > kKernels) {
    prime_ = Prime::get(t, ring);
    return;
  }
  small_ = modulo(t);
  u64 root = 2;
  while (power(root, n, small_) != t - 1) ++root;
  const u64 inverse = power(root, t - 2, small_);
  roots_.resize(n);
  inverses_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    roots_[i] = power(root, reverse_bits(i, log_n), small_);
    inverses_[i] = power(inverse, reverse_bits(i, log_n), small_);
  }
}

void Slots::to_values(u64* x) const noexcept {
  if (prime_) return ntt(x, x, *prime_);
  const std::size_t n = index_.size();
  for (std::size_t m = 1, len = n / 2; m < n; m *= 2, len /= 2)
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t k = 2 * i * len; k < (2 * i + 1) * len; ++k) {
        const u64 v = mul(x[k + len], roots_[m + i], small_);
        x[k + len] = arith::sub(x[k], v, small_.q);
        x[k] = arith::add(x[k], v, small_.q);
      }
}

void Slots::to_coefficients(u64* x) const noexcept {
  if (prime_) return intt(x, x, *prime_);
  const std::size_t n = index_.size();
  for (std::size_t m = n / 2, len = 1; m >= 1; m /= 2, len *= 2)
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t k = 2 * i * len; k < (2 * i + 1) * len; ++k) {
        const u64 u = x[k], v = x[k + len];
        x[k] = arith::add(u, v, small_.q);
        x[k + len] = mul(arith::sub(u, v, small_.q), inverses_[m + i], small_);
      }
  const u64 scale = power(n % small_.q, small_.q - 2, small_);
  for (std::size_t k = 0; k < n; ++k) x[k] = mul(x[k], scale, small_);
}

}  // namespace ringforge::bfv
