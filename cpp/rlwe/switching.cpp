// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/rlwe/switching.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "ringforge/traffic.hpp"
#include "scratch.hpp"

namespace ringforge::rlwe {

// ---- Digits ---------------------------------------------------------------------------------------

namespace {

void check_prefix(const Poly<Eval>& c, const Gadget& gadget) {
  if (c.limbs() < 1 || c.limbs() > gadget.q().size() || !(c.basis() == gadget.q().prefix(c.limbs())))
    throw MismatchError("key switching: the polynomial's primes are not the first ones of the gadget's Q");
}

Poly<Coeff> coefficients(const Poly<Eval>& c, unsigned threads) {
  Poly<Coeff> coeff(c.basis());
  parallel_for(threads, c.limbs(), [&](std::size_t i) { intt(coeff.limb(i), c.limb(i), c.basis()[i]); });
  return coeff;
}

}  // namespace

DigitSource::DigitSource(const Poly<Eval>& c, const Gadget& gadget, unsigned threads, bool whole)
    : c_(c), gadget_(gadget) {
  check_prefix(c, gadget);
  if (gadget.spec().log_base > 0) throw ParameterError("base-B digits are not made limb by limb");
  digits_ = gadget.digits(c.limbs());
  count({.mod_up = 1});
  coeff_ = coefficients(c, threads);
  const std::size_t alpha = gadget.spec().limbs_per_digit, n = c.degree();
  sources_.resize(digits_);
  quotients_.resize(digits_);
  parallel_for(threads, digits_, [&](std::size_t d) {
    const std::size_t first = d * alpha, size = std::min(alpha, c.limbs() - first);
    for (std::size_t i = 0; i < size; ++i) {
      if (alpha > 1) gadget.converter(first, size).prepare_limb(coeff_.limb(first + i), i);
      sources_[d].push_back(coeff_.limb(first + i));
    }
    if (size == 1) return;
    quotients_[d] = WordBuffer(n);
    if (!whole) gadget.converter(first, size).quotient(quotients_[d].data(), sources_[d].data(), n);
  });
  if (whole) convert_all(threads);
}

/// Targets of conversions are numbered in the largest basis: Q in full, then P.
std::size_t DigitSource::target(std::size_t j) const noexcept {
  return j < c_.limbs() ? j : gadget_.q().size() + j - c_.limbs();
}

void DigitSource::convert_all(unsigned threads) {
  const std::size_t n = c_.degree(), extended = gadget_.extended(c_.limbs()).size();
  constexpr std::size_t kBlock = BaseConverter::kBlock;
  converted_.resize(digits_);
  converted_at_.assign(digits_, std::vector<const u64*>(extended));
  std::vector<std::vector<u64*>> to(digits_);
  std::vector<std::vector<std::size_t>> targets(digits_);
  for (std::size_t d = 0; d < digits_; ++d) {
    if (sources_[d].size() == 1) continue;
    converted_[d] = WordBuffer((extended - sources_[d].size()) * n);
    for (std::size_t j = 0; j < extended; ++j) {
      if (own(d, j) != nullptr) continue;
      to[d].push_back(converted_[d].data() + to[d].size() * n);
      targets[d].push_back(target(j));
      converted_at_[d][j] = to[d].back();
    }
  }
  const std::size_t blocks = (n + kBlock - 1) / kBlock;
  parallel_for(threads, digits_ * blocks, [&](std::size_t w) {
    const std::size_t d = w / blocks, from = w % blocks * kBlock, size = sources_[d].size();
    if (size == 1) return;
    gadget_.converter(d * gadget_.spec().limbs_per_digit, size)
        .convert_block(to[d], targets[d], sources_[d].data(), quotients_[d].data(), from, std::min(kBlock, n - from));
  });
}

const u64* DigitSource::own(std::size_t d, std::size_t j) const noexcept {
  return j < c_.limbs() && j / gadget_.spec().limbs_per_digit == d ? c_.limb(j) : nullptr;
}

void DigitSource::limb(u64* dst, std::size_t d, std::size_t j) const noexcept {
  const std::size_t limbs = c_.limbs(), first = d * gadget_.spec().limbs_per_digit, size = sources_[d].size();
  const Prime& prime = gadget_.extended(limbs)[j];
  if (const u64* mine = own(d, j)) {
    std::memcpy(dst, mine, c_.length() * sizeof(u64));
  } else if (size == 1) {
    // Centred digits: values in [0, q_d) would have the mean q_d/2, which the few slots whose root lies
    // near 1 amplify by up to N*2/pi; centred ones err like noise in every slot.
    ntt_lift(dst, sources_[d][0], c_.basis()[first], prime);
  } else if (!converted_.empty()) {
    ntt(dst, converted_at_[d][j], prime);
  } else {
    gadget_.converter(first, size).convert(dst, sources_[d].data(), quotients_[d].data(), target(j));
    ntt(dst, dst, prime);
  }
}

Digits::Digits(const Poly<Eval>& c, const Gadget& gadget, unsigned threads) : limbs_(c.limbs()), spec_(gadget.spec()) {
  check_prefix(c, gadget);
  const std::size_t n = c.degree();
  const Basis& ext = gadget.extended(limbs_);
  const std::size_t k = ext.size();
  const unsigned log_base = gadget.spec().log_base;
  const auto& kern = kernels::active();
  const std::size_t count_digits = gadget.digits(limbs_);
  digits_.reserve(count_digits);
  for (std::size_t d = 0; d < count_digits; ++d) digits_.emplace_back(ext);
  // Coefficients out and in again, then every limb of every digit out.
  move_limbs(2 * limbs_, limbs_ + count_digits * k, n);

  if (log_base == 0) {
    const DigitSource source(c, gadget, threads, true);
    parallel_for(threads, count_digits * k,
                 [&](std::size_t w) { source.limb(digits_[w / k].limb(w % k), w / k, w % k); });
    return;
  }
  count({.mod_up = 1});
  const Poly<Coeff> coeff = coefficients(c, threads);
  std::vector<std::pair<std::size_t, unsigned>> part_of;
  for (std::size_t i = 0; i < limbs_; ++i)
    for (unsigned t = 0; t < gadget.parts(i); ++t) part_of.emplace_back(i, t * log_base);
  parallel_for(threads, count_digits * k, [&](std::size_t w) {
    const auto [limb, shift] = part_of[w / k];
    const bool top = shift / log_base + 1 == gadget.parts(limb);
    // Balanced digits: with half a base added at every lower position, the digits of the sum are the
    // digits of the centred value plus B/2; the top digit takes what is left.
    const u64 q = ext[limb].value(), mask = (u64{1} << log_base) - 1;
    const i64 half = i64{1} << (log_base - 1);
    i64 offset = 0;
    for (unsigned t = 0; t + 1 < gadget.parts(limb); ++t) offset += half << (t * log_base);
    const u64* src = coeff.limb(limb);
    auto* digit = reinterpret_cast<i64*>(scratch(n));
    for (std::size_t x = 0; x < n; ++x) {
      const i64 centred = static_cast<i64>(src[x]) - (src[x] > q / 2 ? static_cast<i64>(q) : 0);
      const i64 rest = (centred + offset) >> shift;
      digit[x] = top ? rest : static_cast<i64>(static_cast<u64>(rest) & mask) - half;
    }
    u64* dst = digits_[w / k].limb(w % k);
    kern.reduce_signed(dst, digit, n, ext[w % k].mod());
    ntt(dst, dst, ext[w % k]);
  });
}

std::vector<const u64*> Digits::at(std::size_t j) const {
  std::vector<const u64*> out;
  for (const auto& d : digits_) out.push_back(d.limb(j));
  return out;
}

// ---- products with keys ---------------------------------------------------------------------------

namespace {

/// The inner product at one target limb of the extended basis; x[d] is digit `at + d` there.
void product_at(u64* out0, u64* out1, std::span<const u64* const> x, std::size_t at, const SwitchingKey& key,
                const Prime& prime, std::size_t limbs, std::size_t j, std::size_t n, bool accumulate) {
  const std::size_t in_key = j < limbs ? j : key.limbs + j - limbs;
  std::array<const u64*, 64> y0, y1;
  for (std::size_t first = 0; first < x.size(); first += y0.size()) {
    const std::size_t now = std::min(x.size() - first, y0.size());
    for (std::size_t d = 0; d < now; ++d) {
      y0[d] = key.b[at + first + d].limb(in_key);
      y1[d] = key.a[at + first + d].limb(in_key);
    }
    kernels::active().dot2(out0, out1, x.data() + first, y0.data(), y1.data(), now, accumulate || first > 0, n,
                           prime.mod());
  }
}

}  // namespace

void key_product_at(u64* out0, u64* out1, std::span<const u64* const> digits, const SwitchingKey& key,
                    const Gadget& gadget, std::size_t limbs, std::size_t j) noexcept {
  product_at(out0, out1, digits, 0, key, gadget.extended(limbs)[j], limbs, j, gadget.q().ring().transform_length(),
             false);
}

namespace {

void check_sums(const Poly<Eval>& u0, const Poly<Eval>& u1, const Basis& ext) {
  if (!(u0.basis() == ext) || !(u1.basis() == ext))
    throw MismatchError("key switching: the result must be over the extended basis of the polynomial's limbs");
}

}  // namespace

void key_product(Poly<Eval>& u0, Poly<Eval>& u1, const Digits& digits, const SwitchingKey& key, const Gadget& gadget,
                 bool accumulate, unsigned threads) {
  const std::size_t limbs = digits.limbs(), ext = gadget.extended(limbs).size();
  key.check(gadget, limbs);
  if (!(digits.spec() == gadget.spec()) || digits.polys().size() != gadget.digits(limbs) ||
      !(digits.polys()[0].basis() == gadget.extended(limbs)))
    throw MismatchError("the digits were cut for other parameters than the key's: make them with the same gadget");
  check_sums(u0, u1, gadget.extended(limbs));
  count({.key_switch = 1, .key_bytes = gadget.key_bytes(limbs)});
  move_limbs((digits.polys().size() + (accumulate ? 2 : 0)) * ext, 2 * ext, u0.length());
  parallel_for(threads, ext, [&](std::size_t j) {
    product_at(u0.limb(j), u1.limb(j), digits.at(j), 0, key, u0.basis()[j], limbs, j, u0.length(), accumulate);
  });
}

void switch_key(Poly<Eval>& u0, Poly<Eval>& u1, const Poly<Eval>& c, const SwitchingKey& key, const Gadget& gadget,
                unsigned threads) {
  const std::size_t limbs = c.limbs(), n = c.length();
  if (gadget.spec().log_base != 0) {
    key_product(u0, u1, Digits(c, gadget, threads), key, gadget, false, threads);
    return;
  }
  const Basis& ext = gadget.extended(limbs);
  key.check(gadget, limbs);
  check_sums(u0, u1, ext);
  const DigitSource source(c, gadget, threads, true);
  const std::size_t digits = source.digits();
  constexpr std::size_t kAtOnce = 4;  // digits that are still in the second-level cache when their products are taken
  count({.key_switch = 1, .key_bytes = gadget.key_bytes(limbs)});
  move_limbs(limbs, 2 * ext.size(), n);
  parallel_for(threads, ext.size(), [&](std::size_t j) {
    u64* made = scratch(kAtOnce * n);
    std::array<const u64*, kAtOnce> x;
    for (std::size_t first = 0; first < digits; first += kAtOnce) {
      const std::size_t now = std::min(digits - first, kAtOnce);
      for (std::size_t d = 0; d < now; ++d) {
        x[d] = source.own(first + d, j);
        if (x[d] != nullptr) continue;
        source.limb(made + d * n, first + d, j);
        x[d] = made + d * n;
      }
      product_at(u0.limb(j), u1.limb(j), {x.data(), now}, first, key, ext[j], limbs, j, n, first > 0);
    }
  });
}

}  // namespace ringforge::rlwe
