// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/exact_crt.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "ref/arith.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"

namespace ringforge {
namespace {

using u128 = unsigned __int128;

void check_basis(const BasisOf<u32>& a, const BasisOf<u32>& b) {
  if (!(a == b))
    throw MismatchError("a polynomial over " + std::to_string(b.size()) + " primes of " + b.ring().name() +
                        " meets tables for " + std::to_string(a.size()) + " of " + a.ring().name() +
                        ": make an ExactCrt of its basis");
}

}  // namespace

ExactCrt::ExactCrt(const BasisOf<u32>& basis) : basis_(basis) {
  if (basis.size() == 0) throw ParameterError("integers need a basis of at least one prime");
  const std::size_t size = basis.size(), most = size / 2 + 1;
  const auto multiply = [most](std::vector<u64>& x, u64 f) {
    u64 carry = 0;
    for (std::size_t w = 0; w < most; ++w) {
      const u128 t = static_cast<u128>(x[w]) * f + carry;
      x[w] = static_cast<u64>(t);
      carry = static_cast<u64>(t >> 64);
    }
  };
  product_.assign(most, 0);
  product_[0] = 1;
  for (std::size_t i = 0; i < size; ++i) multiply(product_, basis[i].value());
  words_ = most;
  while (product_[words_ - 1] == 0) --words_;
  bits_ = 64 * words_ - static_cast<std::size_t>(std::countl_zero(product_[words_ - 1]));
  hats_.resize(words_ * size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto& m = basis[i].mod();
    std::vector<u64> hat(most, 0);
    hat[0] = 1;
    u64 residue = 1;
    for (std::size_t j = 0; j < size; ++j) {
      if (j == i) continue;
      multiply(hat, basis[j].value());
      residue = arith::mul(residue, arith::reduce64(basis[j].value(), m), m);
    }
    for (std::size_t k = 0; k < words_; ++k) hats_[k * size + i] = hat[k];
    const u64 inverse = arith::inverse(residue, m);
    hat_inverse_.push_back(static_cast<u32>(inverse));
    shoup_.push_back(static_cast<u32>((inverse << 32) / m.q));
    reciprocal_.push_back(1.0 / static_cast<double>(m.q));
    const u64 step = arith::reduce64(~u64{0}, m) + 1;  // 2^64
    u64 power = 1;
    for (std::size_t k = 0; k < words_; ++k, power = arith::mul(power, arith::reduce64(step, m), m))
      powers_.push_back(static_cast<u32>(power));
  }
}

std::size_t ExactCrt::windows(unsigned r) const {
  if (r < 1 || r > 30)
    throw ParameterError("windows of " + std::to_string(r) + " bits: take 1 to 30, so that they are below the primes");
  return (bits_ + r - 1) / r;
}

void ExactCrt::integers(u64* planes, const Poly<Coeff, u32>& p, std::size_t first, std::size_t count) const {
  const std::size_t size = basis_.size(), n = p.degree();
  // Word by word over the primes: a sum of products of 32 by 64 bits has no carry to pass on before its end.
  std::array<double, kBlock> quotients{};
  std::vector<u32> y(size * kBlock);  // by coefficients
  for (std::size_t i = 0; i < size; ++i) {
    const u32 *limb = p.limb(i) + first, q = static_cast<u32>(basis_[i].value());
    for (std::size_t c = 0; c < count; ++c) {
      const u64 quotient = u64{limb[c]} * shoup_[i] >> 32;
      const auto r = static_cast<u32>(u64{limb[c]} * hat_inverse_[i] - quotient * q);
      y[c * size + i] = std::min(r, r - q);
      quotients[c] += reciprocal_[i] * static_cast<double>(y[c * size + i]);
    }
  }
  for (std::size_t c = 0; c < count; ++c) {
    // The quotient by q is right, or one off where the sum of fractions is next to an integer.
    const auto times = static_cast<u64>(quotients[c]);
    u64* out = planes + first + c;
    u128 sum = 0;
    u64 carry = 0, borrow = 0;
    for (std::size_t k = 0; k < words_; ++k) {
      const u64* hat = hats_.data() + k * size;
      u128 column = sum;
      for (std::size_t i = 0; i < size; ++i) column += static_cast<u128>(hat[i]) * y[c * size + i];
      const u128 less = static_cast<u128>(product_[k]) * times + carry;
      carry = static_cast<u64>(less >> 64);
      const u64 word = static_cast<u64>(column), taken = static_cast<u64>(less), d = word - taken;
      out[k * n] = d - borrow;
      borrow = static_cast<u64>(word < taken) | static_cast<u64>(d < borrow);
      sum = column >> 64;
    }
    const i64 above = static_cast<i64>(static_cast<u64>(sum) - carry - borrow);  // of the difference, beyond its words
    if (above < 0) {
      carry = 0;
      for (std::size_t k = 0; k < words_; ++k) {
        const u128 t = static_cast<u128>(out[k * n]) + product_[k] + carry;
        out[k * n] = static_cast<u64>(t);
        carry = static_cast<u64>(t >> 64);
      }
      continue;
    }
    bool over = above > 0;
    for (std::size_t k = words_; !over; --k) {
      if (k == 0) {
        over = true;
      } else if (out[(k - 1) * n] != product_[k - 1]) {
        over = out[(k - 1) * n] > product_[k - 1];
        break;
      }
    }
    if (!over) continue;
    borrow = 0;
    for (std::size_t k = 0; k < words_; ++k) {
      const u64 word = out[k * n], d = word - product_[k];
      out[k * n] = d - borrow;
      borrow = static_cast<u64>(word < product_[k]) | static_cast<u64>(d < borrow);
    }
  }
}

void ExactCrt::to_integers(u64* planes, const Poly<Coeff, u32>& p, unsigned threads) const {
  check_basis(basis_, p.basis());
  const std::size_t n = p.degree();
  parallel_for(threads, (n + kBlock - 1) / kBlock,
               [&](std::size_t b) { integers(planes, p, b * kBlock, std::min(kBlock, n - b * kBlock)); });
}

void ExactCrt::to_residues(Poly<Coeff, u32>& p, const u64* planes, unsigned threads) const {
  check_basis(basis_, p.basis());
  const std::size_t n = p.degree();
  parallel_for(threads, (n + kBlock - 1) / kBlock, [&](std::size_t b) {
    const std::size_t first = b * kBlock, count = std::min(kBlock, n - first);
    for (std::size_t i = 0; i < basis_.size(); ++i) {
      const u32* t = powers_.data() + i * words_;
      const auto& m = basis_[i].mod();
      for (std::size_t c = 0; c < count; ++c) {
        u128 sum = 0;
        for (std::size_t k = 0; k < words_; ++k) sum += static_cast<u128>(planes[k * n + first + c]) * t[k];
        p.limb(i)[first + c] = static_cast<u32>(arith::reduce128(sum, m));
      }
    }
  });
}

void ExactCrt::window(u32* dst, const u64* planes, unsigned r, std::size_t index) const noexcept {
  const std::size_t n = basis_.ring().degree(), k = index * r / 64;
  const auto shift = static_cast<unsigned>(index * r % 64);
  const u64 mask = (u64{1} << r) - 1;
  if (k >= words_) {
    std::fill_n(dst, n, 0U);
  } else if (shift + r <= 64 || k + 1 == words_) {
    for (std::size_t i = 0; i < n; ++i) dst[i] = static_cast<u32>(planes[k * n + i] >> shift & mask);
  } else {
    const u64 *low = planes + k * n, *high = low + n;
    for (std::size_t i = 0; i < n; ++i) dst[i] = static_cast<u32>((low[i] >> shift | high[i] << (64 - shift)) & mask);
  }
}

}  // namespace ringforge
