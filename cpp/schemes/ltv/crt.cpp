// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "crt.hpp"

#include <array>
#include <bit>
#include <cmath>

#include "ref/arith.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::ltv {
namespace {

using u128 = unsigned __int128;
/// 64 primes of 31 bits.
constexpr std::size_t kMaxWords = 32;

void multiply(u64* x, std::size_t words, u64 f) {
  u128 carry = 0;
  for (std::size_t w = 0; w < words; ++w) {
    carry += static_cast<u128>(x[w]) * f;
    x[w] = static_cast<u64>(carry);
    carry >>= 64;
  }
}

/// Next window of r >= 2 bits of a value that was shifted down by what came before, plus a carry: balanced.
i64 balanced(u64 window, unsigned r, i64& carry) {
  i64 d = static_cast<i64>(window) + carry;
  carry = d >= i64{1} << (r - 1) ? 1 : 0;
  return d - (carry << r);
}

}  // namespace

Crt::Crt(const BasisOf<u32>& basis)
    : basis_(basis),
      words_(static_cast<std::size_t>(basis.log2() / 64) + 1),
      log2_scale_(std::floor(basis.log2() - 1)) {
  product_.assign(words_, 0);
  product_[0] = 1;
  for (std::size_t i = 0; i < basis.size(); ++i) multiply(product_.data(), words_, basis[i].value());
  hat_.assign(words_ * basis.size(), 0);
  for (std::size_t i = 0; i < basis.size(); ++i) {
    const auto& mod = basis[i].mod();
    std::vector<u64> hat(words_, 0);
    hat[0] = 1;
    u64 residue = 1;
    for (std::size_t d = 0; d < basis.size(); ++d) {
      if (d == i) continue;
      multiply(hat.data(), words_, basis[d].value());
      residue = arith::mul(residue, arith::reduce64(basis[d].value(), mod), mod);
    }
    for (std::size_t w = 0; w < words_; ++w) hat_[w * basis.size() + i] = hat[w];
    inverse_.push_back(kernels::make_factor(arith::inverse(residue, mod), mod));
    reciprocal_.push_back(1.0 / static_cast<double>(mod.q));
  }
}

void Crt::centred(const Poly<Coeff, u32>& p, std::size_t index, u64* out) const noexcept {
  std::array<u32, 64> y{};
  double quotient = 0;
  for (std::size_t i = 0; i < basis_.size(); ++i) {
    y[i] = static_cast<u32>(arith::mul_factor(p.limb(i)[index], inverse_[i], basis_[i].value()));
    quotient += static_cast<double>(y[i]) * reciprocal_[i];
  }
  combine(y.data(), quotient, out);
}

// The sum of y_i q/p_i less the nearest multiple of q, word by word over the primes: a sum of products of 32 by 64 bits
// passes nothing on before its end. Words beyond the top wrap, which two's complement allows.
void Crt::combine(const u32* y, double quotient, u64* out) const noexcept {
  const auto k = static_cast<u64>(static_cast<i64>(quotient + 0.5));  // signed: no branch on its highest bit
  const std::size_t size = basis_.size();
  u128 sum = 0, taken = 0;
  u64 borrow = 0;
  for (std::size_t w = 0; w < words_; ++w) {
    const u64* hat = hat_.data() + w * size;
    u128 other = 0;  // two chains of additions
    for (std::size_t i = 0; i + 1 < size; i += 2) {
      sum += static_cast<u128>(hat[i]) * y[i];
      other += static_cast<u128>(hat[i + 1]) * y[i + 1];
    }
    if (size % 2 == 1) sum += static_cast<u128>(hat[size - 1]) * y[size - 1];
    sum += other;
    taken += static_cast<u128>(product_[w]) * k;
    const auto word = static_cast<u64>(sum), low = static_cast<u64>(taken);
    const u64 d = word - low, r = d - borrow;
    borrow = static_cast<u64>(word < low) | static_cast<u64>(d < borrow);
    out[w] = r;
    sum >>= 64;
    taken >>= 64;
  }
}

std::vector<double> Crt::scale(double log2_scale) const {
  std::vector<double> scale(words_);
  for (std::size_t w = 0; w < words_; ++w)
    scale[w] = std::ldexp(1.0, static_cast<int>(64 * static_cast<double>(w) - log2_scale));
  return scale;
}

// By its size, the complement and one for a negative number: words of the number itself would cancel.
double Crt::scaled(const u64* value, std::span<const double> scale) const noexcept {
  const u64 negative = u64{0} - (value[words_ - 1] >> 63), sign = negative << 63;
  double r = 0;
  for (std::size_t w = words_; w-- > 0;) r += double_of(value[w] ^ negative) * scale[w];
  r += double_of(negative & 1) * scale[0];
  return std::bit_cast<double>(std::bit_cast<u64>(r) ^ sign);
}

// By blocks of coefficients: limbs and digits lie a power of two apart, and one word of each at a time would fall into
// one set of a cache.
template <class Word>
void Crt::windows(Word* dst, const Poly<Coeff, u32>& p, unsigned r, std::size_t count, i64 offset,
                  unsigned threads) const {
  constexpr std::size_t kStrip = 64;
  const std::size_t n = p.degree(), size = basis_.size();
  const u64 mask = (u64{1} << r) - 1;
  parallel_for(threads, (n + kStrip - 1) / kStrip, [&](std::size_t block) {
    const std::size_t first = block * kStrip, strip = std::min(kStrip, n - first);
    std::array<u64, kMaxWords + 1> value{};
    std::array<double, kStrip> quotients{};
    std::vector<u32> y(size * kStrip);
    std::vector<Word> found(count * kStrip);
    for (std::size_t i = 0; i < size; ++i) {
      const u32* limb = p.limb(i) + first;
      const u64 q = basis_[i].value();
      for (std::size_t c = 0; c < strip; ++c) {
        y[c * size + i] = static_cast<u32>(arith::mul_factor(limb[c], inverse_[i], q));
        quotients[c] += static_cast<double>(y[c * size + i]) * reciprocal_[i];
      }
    }
    for (std::size_t c = 0; c < strip; ++c) {
      combine(y.data() + c * size, quotients[c], value.data());
      const bool negative = value[words_ - 1] >> 63 != 0;
      const u64 fill = negative ? ~u64{0} : 0;
      value[words_] = fill;
      i64 carry = 0;
      if (r == 1 && negative) {  // the size, by complement and one
        u64 one = 1;
        for (std::size_t w = 0; w <= words_; ++w) {
          value[w] = ~value[w] + one;
          one = one != 0 && value[w] == 0 ? 1 : 0;
        }
      }
      for (std::size_t d = 0; d < count; ++d) {
        const std::size_t bit = d * r, w = bit / 64, s = bit % 64;
        u64 window = w < words_ ? value[w] >> s : fill;
        if (s != 0 && w < words_) window |= value[w + 1] << (64 - s);
        i64 digit = 0;
        if (r == 1)
          digit = negative ? -static_cast<i64>(window & 1) : static_cast<i64>(window & 1);
        else if (d + 1 == count)  // all that is left: sign-extended windows of the top
          digit = (static_cast<i64>(window << (63 - r)) >> (63 - r)) + carry;
        else
          digit = balanced(window & mask, r, carry);
        found[d * kStrip + c] = static_cast<Word>(digit + offset);
      }
    }
    for (std::size_t d = 0; d < count; ++d) std::copy_n(found.data() + d * kStrip, strip, dst + d * n + first);
  });
}

namespace {

/// Windows of r bits of each centred residue, ceil(31/r) for each prime, each plus `offset`.
template <class Word>
void residue_windows(Word* dst, const Poly<Coeff, u32>& p, unsigned r, i64 offset, unsigned threads) {
  const std::size_t n = p.degree(), each = (31 + r - 1) / r;
  parallel_for(threads, p.limbs(), [&](std::size_t i) {
    const auto q = static_cast<i64>(p.basis()[i].value());
    const u64 mask = (u64{1} << r) - 1;
    for (std::size_t k = 0; k < n; ++k) {
      const i64 x = p.limb(i)[k], centred = x > q / 2 ? x - q : x;
      const i64 size = centred < 0 ? -centred : centred;
      i64 carry = 0;
      for (std::size_t d = 0; d < each; ++d) {
        i64 digit = 0;
        if (r == 1)
          digit = (size >> d & 1) * (centred < 0 ? -1 : 1);
        else if (d + 1 == each)
          digit = (centred >> (d * r)) + carry;
        else
          digit = balanced(static_cast<u64>(centred >> (d * r)) & mask, r, carry);
        dst[(i * each + d) * n + k] = static_cast<Word>(digit + offset);
      }
    }
  });
}

template <class Word>
void cut_to(Word* dst, const Poly<Coeff, u32>& p, const Parameters& params, std::size_t count, i64 offset,
            unsigned threads) {
  const unsigned r = params.spec().window;
  if (params.spec().gadget == Gadget::rns) return residue_windows(dst, p, r, offset, threads);
  Crt(p.basis()).windows(dst, p, r, count, offset, threads);
}

}  // namespace

void cut(Digits& digits, const Poly<Coeff, u32>& p, const Parameters& params, std::size_t count, unsigned threads) {
  digits.fit(count, p.degree());
  cut_to(digits[0].data(), p, params, count, 0, threads);
}

void cut(std::span<std::uint16_t> dst, const Poly<Coeff, u32>& p, const Parameters& params, std::size_t count,
         i64 offset, unsigned threads) {
  cut_to(dst.data(), p, params, count, offset, threads);
}

}  // namespace ringforge::ltv
