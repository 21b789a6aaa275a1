// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/rlwe.hpp"

#include <algorithm>
#include <cmath>

#include "ref/arith.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "scratch.hpp"

namespace ringforge {

// ---- Gadget ---------------------------------------------------------------------------------------

Gadget::Gadget(const Basis& q, const Basis& p, const GadgetSpec& spec) : q_(q), p_(p), spec_(spec) {
  const std::size_t alpha = spec.limbs_per_digit;
  if (alpha < 1 || alpha > q.size())
    throw ParameterError("a digit must have 1 to " + std::to_string(q.size()) + " limbs, not " + std::to_string(alpha));
  if (spec.log_base != 0 && alpha != 1)
    throw ParameterError("base-B digits are cut from single limbs: set limbs_per_digit = 1 or log_base = 0");
  if (spec.log_base > 60) throw ParameterError("log_base must be at most 60");
  if (spec.log_base == 0) {
    double largest = 0;
    for (std::size_t i = 0; i < q.size(); i += alpha)
      largest = std::max(largest, q.slice(i, std::min(alpha, q.size() - i)).log2());
    // One bit of slack: equal sizes "just below 2^b" differ in the far decimals.
    if (p.log2() + 1 < largest)
      throw ParameterError("the special primes have " + std::to_string(p.log2()) + " bits, the largest digit " +
                           std::to_string(largest) + ": add special primes or use fewer limbs per digit");
  }
  for (std::size_t i = 0; i < q.size(); ++i) {
    const auto& m = q[i].mod();
    u64 f = 1;
    for (std::size_t j = 0; j < p.size(); ++j) f = arith::mul(f, arith::reduce64(p[j].value(), m), m);
    if (f == 0) throw ParameterError("the prime " + std::to_string(m.q) + " is in both Q and P");
    p_mod_q_.push_back(kernels::make_factor(f, m));
  }
  for (std::size_t limbs = 1; limbs <= q.size(); ++limbs) {
    Level level;
    const Basis qs = q.prefix(limbs);
    level.extended = p.size() > 0 ? qs.join(p) : qs;
    if (p.size() > 0) level.down = ModulusDrop(level.extended, p.size());
    if (limbs > 1) {
      level.rescale = ModulusDrop(qs, 1);
      if (p.size() > 0) level.down_rescale = ModulusDrop(level.extended, p.size() + 1);
    }
    levels_.push_back(std::move(level));
  }
  if (alpha > 1) {
    const Basis all = levels_.back().extended;
    for (std::size_t first = 0; first < q.size(); first += alpha)
      for (std::size_t size = 1; size <= std::min(alpha, q.size() - first); ++size)
        groups_.push_back({first, size, BaseConverter(q.slice(first, size), all)});
  }
}

const BaseConverter& Gadget::converter(std::size_t first, std::size_t size) const {
  return std::find_if(groups_.begin(), groups_.end(),
                      [&](const Group& g) { return g.first == first && g.size == size; })
      ->convert;
}

unsigned Gadget::parts(std::size_t limb) const noexcept {
  return spec_.log_base == 0 ? 1 : (q_[limb].mod().bits + spec_.log_base - 1) / spec_.log_base;
}

std::size_t Gadget::digits(std::size_t limbs) const noexcept {
  if (spec_.log_base == 0) return (limbs + spec_.limbs_per_digit - 1) / spec_.limbs_per_digit;
  std::size_t n = 0;
  for (std::size_t i = 0; i < limbs; ++i) n += parts(i);
  return n;
}

u64 Gadget::key_factor(std::size_t digit, std::size_t limb) const noexcept {
  const u64 p = p_mod_q_[limb].w;
  if (spec_.log_base == 0) return limb / spec_.limbs_per_digit == digit ? p : 0;
  std::size_t owner = 0;
  while (digit >= parts(owner)) digit -= parts(owner++);
  if (owner != limb) return 0;
  const auto& m = q_[limb].mod();
  return arith::mul(p, arith::pow(2, digit * spec_.log_base, m), m);
}

double Gadget::switch_variance(std::size_t limbs) const noexcept {
  const double n = static_cast<double>(q_.ring().degree()), log_p = p_.log2();
  double sum = 0;
  if (spec_.log_base > 0) {
    for (std::size_t i = 0; i < limbs; ++i) {
      const double top = static_cast<double>(q_[i].mod().bits) - (parts(i) - 1.0) * spec_.log_base;
      sum += ((parts(i) - 1.0) * std::exp2(2.0 * spec_.log_base) + std::exp2(2 * top)) / 12 * std::exp2(-2 * log_p);
    }
  } else {
    for (std::size_t i = 0; i < limbs; i += spec_.limbs_per_digit) {
      const std::size_t size = std::min<std::size_t>(spec_.limbs_per_digit, limbs - i);
      sum += std::exp2(2 * (q_.slice(i, size).log2() - log_p)) / 12;  // centred: E[digit^2] = D^2/12
    }
  }
  return sum * n * kErrorVariance;
}

Gadget::Cost Gadget::mod_up_cost(std::size_t limbs) const noexcept {
  const std::size_t ext = limbs + p_.size();
  if (spec_.log_base > 0) return {limbs, digits(limbs) * ext};
  return {limbs, digits(limbs) * ext - limbs};
}

std::size_t Gadget::key_bytes(std::size_t limbs) const noexcept {
  return 2 * digits(limbs) * (limbs + p_.size()) * q_.ring().degree() * sizeof(u64);
}

// ---- Digits ---------------------------------------------------------------------------------------

Digits::Digits(const Poly<Eval>& c, const Gadget& gadget, unsigned threads) : limbs_(c.limbs()) {
  if (limbs_ < 1 || limbs_ > gadget.q().size() || !(c.basis() == gadget.q().prefix(limbs_)))
    throw MismatchError("key switching: the polynomial's primes are not the first ones of the gadget's Q");
  const std::size_t n = c.degree();
  const Basis& ext = gadget.extended(limbs_);
  const std::size_t k = ext.size(), alpha = gadget.spec().limbs_per_digit;
  const unsigned log_base = gadget.spec().log_base;
  const auto& kern = kernels::active();
  count({.mod_up = 1});

  Poly<Coeff> coeff(c.basis());
  parallel_for(threads, limbs_, [&](std::size_t i) { intt(coeff.limb(i), c.limb(i), c.basis()[i]); });
  const std::size_t count_digits = gadget.digits(limbs_);
  digits_.reserve(count_digits);
  for (std::size_t d = 0; d < count_digits; ++d) digits_.emplace_back(ext);

  if (log_base > 0) {
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
    return;
  }

  if (alpha == 1) {
    // Centred digits: values in [0, q_d) would have the mean q_d/2, which the few slots whose root lies
    // near 1 amplify by up to N*2/pi; centred ones err like noise in every slot.
    parallel_for(threads, limbs_ * k, [&](std::size_t w) {
      const std::size_t d = w / k, j = w % k;
      u64* dst = digits_[d].limb(j);
      if (d == j) {
        std::memcpy(dst, c.limb(d), n * sizeof(u64));
      } else {
        ntt_lift(dst, coeff.limb(d), ext[d], ext[j]);
      }
    });
    return;
  }

  for (std::size_t d = 0; d < count_digits; ++d) {
    const std::size_t first = d * alpha, size = std::min(alpha, limbs_ - first);
    const BaseConverter& convert = gadget.converter(first, size);
    std::vector<const u64*> y(size);
    for (std::size_t i = 0; i < size; ++i) {
      convert.prepare_limb(coeff.limb(first + i), i);
      y[i] = coeff.limb(first + i);
    }
    WordBuffer v(size > 1 ? n : 0);
    convert.quotient(v.data(), y.data(), n);
    parallel_for(threads, k, [&](std::size_t j) {
      u64* dst = digits_[d].limb(j);
      if (j >= first && j < first + size) {
        std::memcpy(dst, c.limb(j), n * sizeof(u64));
      } else {
        // Targets are numbered in the largest basis: Q in full, then P.
        convert.convert(dst, y.data(), v.data(), j < limbs_ ? j : gadget.q().size() + j - limbs_);
        ntt(dst, dst, ext[j]);
      }
    });
  }
}

// ---- Keys -----------------------------------------------------------------------------------------

SecretKey::SecretKey(const Basis& basis, Randomness& rng)
    : coeffs_(sample_ternary(basis.ring().degree(), rng.next_seed(), StreamObject::secret)),
      eval_(coeffs_.lift(basis)) {
  SecretSeed name = rng.next_seed();
  std::memcpy(&id_, name.data(), sizeof(id_));
}

SecretKey::SecretKey(const Basis& basis, SmallPoly&& coeffs, u64 id) : coeffs_(std::move(coeffs)), id_(id) {
  if (coeffs_.coeffs().size() != basis.ring().degree())
    throw FormatError("secret key has " + std::to_string(coeffs_.coeffs().size()) + " coefficients, " +
                      std::to_string(basis.ring().degree()) + " are needed");
  for (i64 c : coeffs_.coeffs())
    if (c < -1 || c > 1) throw FormatError("a secret key has coefficients outside {-1, 0, 1}");
  eval_ = coeffs_.lift(basis);
}

std::vector<Poly<Eval>> SwitchingKey::expand(const Seed& seed, const Gadget& gadget, std::size_t limbs,
                                             unsigned threads) {
  const std::size_t digits = gadget.digits(limbs);
  const Basis& ext = gadget.extended(limbs);
  std::vector<Poly<Eval>> a(digits);
  parallel_for(threads, digits, [&](std::size_t d) {
    a[d] = sample_uniform(ext, seed, StreamObject::switching_key, static_cast<u32>(d));
  });
  return a;
}

SwitchingKey SwitchingKey::make(const Poly<Eval>& from, const Poly<Eval>& to, u64 key_id, const Gadget& gadget,
                                std::size_t limbs, Randomness& rng, unsigned threads) {
  const Basis& ext = gadget.extended(limbs);
  const std::size_t n = ext.ring().degree(), digits = gadget.digits(limbs), q_all = gadget.q().size();
  SwitchingKey key;
  key.key_id = key_id;
  key.limbs = limbs;
  key.seed = rng.next_seed();
  key.a = expand(key.seed, gadget, limbs, threads);
  key.b.resize(digits);
  const SecretSeed errors = rng.next_seed();
  parallel_for(threads, digits, [&](std::size_t d) {
    const auto& kern = kernels::active();
    Poly<Eval> b = sample_error(n, errors, static_cast<u32>(d)).lift(ext);
    Poly<Eval> t(ext);
    for (std::size_t j = 0; j < ext.size(); ++j) {
      const auto& m = ext[j].mod();
      // Limb j of s: Q in full comes before P in its basis.
      const u64* s = to.limb(j < limbs ? j : q_all + j - limbs);
      kern.mul(t.limb(j), key.a[d].limb(j), s, n, m);
      kern.sub(b.limb(j), b.limb(j), t.limb(j), n, m);
      const u64 f = j < limbs ? gadget.key_factor(d, j) : 0;
      if (f == 0) continue;
      kern.mul_scalar(t.limb(j), from.limb(j), kernels::make_factor(f, m), n, m);
      kern.add(b.limb(j), b.limb(j), t.limb(j), n, m);
    }
    t.wipe();
    key.b[d] = std::move(b);
  });
  return key;
}

std::size_t SwitchingKey::bytes() const noexcept {
  std::size_t words = 0;
  for (const auto& p : b) words += p.words().size();
  for (const auto& p : a) words += p.words().size();
  return words * sizeof(u64);
}

namespace {

void check_limbs(const SwitchingKey& key, std::size_t limbs) {
  if (key.limbs < limbs)
    throw LevelError("the evaluation key covers " + std::to_string(key.limbs) + " limbs, the ciphertext has " +
                     std::to_string(limbs) + ": make the key for a higher level or lower the ciphertext first");
}

/// The inner product at one target limb of the extended basis; x[d] is digit d there.
void product_at(Poly<Eval>& u0, Poly<Eval>& u1, const u64* const* x, std::size_t digits, const SwitchingKey& key,
                std::size_t limbs, std::size_t j, bool accumulate) {
  const std::size_t in_key = j < limbs ? j : key.limbs + j - limbs;
  std::vector<const u64*> y0(digits), y1(digits);
  for (std::size_t d = 0; d < digits; ++d) {
    y0[d] = key.b[d].limb(in_key);
    y1[d] = key.a[d].limb(in_key);
  }
  kernels::active().dot2(u0.limb(j), u1.limb(j), x, y0.data(), y1.data(), digits, accumulate, u0.degree(),
                         u0.basis()[j].mod());
}

}  // namespace

void key_product(Poly<Eval>& u0, Poly<Eval>& u1, const Digits& digits, const SwitchingKey& key, const Gadget& gadget,
                 bool accumulate, unsigned threads) {
  const std::size_t limbs = digits.limbs();
  check_limbs(key, limbs);
  count({.key_switch = 1, .key_bytes = gadget.key_bytes(limbs)});
  parallel_for(threads, gadget.extended(limbs).size(), [&](std::size_t j) {
    std::vector<const u64*> x;
    for (const auto& d : digits.polys()) x.push_back(d.limb(j));
    product_at(u0, u1, x.data(), x.size(), key, limbs, j, accumulate);
  });
}

void switch_key(Poly<Eval>& u0, Poly<Eval>& u1, const Poly<Eval>& c, const SwitchingKey& key, const Gadget& gadget,
                unsigned threads) {
  const std::size_t limbs = c.limbs();
  if (gadget.spec().limbs_per_digit != 1 || gadget.spec().log_base != 0) {
    key_product(u0, u1, Digits(c, gadget, threads), key, gadget, false, threads);
    return;
  }
  check_limbs(key, limbs);
  if (!(c.basis() == gadget.q().prefix(limbs)))
    throw MismatchError("key switching: the polynomial's primes are not the first ones of the gadget's Q");
  const Basis& ext = gadget.extended(limbs);
  const std::size_t n = c.degree();
  count({.mod_up = 1, .key_switch = 1, .key_bytes = gadget.key_bytes(limbs)});
  Poly<Coeff> coeff(c.basis());
  parallel_for(threads, limbs, [&](std::size_t i) { intt(coeff.limb(i), c.limb(i), c.basis()[i]); });
  parallel_for(threads, ext.size(), [&](std::size_t j) {
    u64* digits = scratch(limbs * n);
    std::vector<const u64*> x(limbs);
    for (std::size_t d = 0; d < limbs; ++d) {
      x[d] = d == j ? c.limb(d) : digits + d * n;
      if (d != j) ntt_lift(digits + d * n, coeff.limb(d), ext[d], ext[j]);
    }
    product_at(u0, u1, x.data(), limbs, key, limbs, j, false);
  });
}

}  // namespace ringforge
