// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/rlwe.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "ref/arith.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "ringforge/traffic.hpp"
#include "scratch.hpp"

namespace ringforge {

std::size_t GadgetShape::conversions(std::size_t limbs) const noexcept {
  std::size_t products = 0;
  for (std::size_t first = 0; first < limbs; first += alpha)
    if (const std::size_t size = std::min(alpha, limbs - first); size > 1) products += size * (extended(limbs) - size);
  return products;
}

// ---- Gadget ---------------------------------------------------------------------------------------

Gadget::Gadget(const Basis& q, const Basis& p, const GadgetSpec& spec) : q_(q), p_(p), spec_(spec) {
  const std::size_t alpha = spec.limbs_per_digit;
  if (p.size() > 0 && !(q.ring() == p.ring()))
    throw MismatchError("Q has degree " + std::to_string(q.ring().degree()) + " and the special primes " +
                        std::to_string(p.ring().degree()) + ": take primes of one ring");
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

void Gadget::refuse(std::size_t limbs) const {
  throw LevelError(std::to_string(limbs) + " limbs: these parameters have 1 ... " + std::to_string(levels_.size()));
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
  if (spec_.log_base == 0) return shape().digits(limbs);
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

double Gadget::switch_variance(std::size_t limbs) const {
  (void)level(limbs);
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
  if (spec_.log_base > 0) return {limbs, digits(limbs) * shape().extended(limbs)};
  return {limbs, shape().mod_up_transforms(limbs)};
}

std::size_t Gadget::key_bytes(std::size_t limbs) const noexcept {
  if (spec_.log_base > 0) return 2 * digits(limbs) * (limbs + p_.size()) * q_.ring().degree() * sizeof(u64);
  return shape().key_bytes(limbs);
}

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

DigitSource::DigitSource(const Poly<Eval>& c, const Gadget& gadget, unsigned threads) : c_(c), gadget_(gadget) {
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
    gadget.converter(first, size).quotient(quotients_[d].data(), sources_[d].data(), n);
  });
}

const u64* DigitSource::own(std::size_t d, std::size_t j) const noexcept {
  return j < c_.limbs() && j / gadget_.spec().limbs_per_digit == d ? c_.limb(j) : nullptr;
}

void DigitSource::limb(u64* dst, std::size_t d, std::size_t j) const noexcept {
  const std::size_t limbs = c_.limbs(), first = d * gadget_.spec().limbs_per_digit, size = sources_[d].size();
  const Prime& prime = gadget_.extended(limbs)[j];
  if (const u64* mine = own(d, j)) {
    std::memcpy(dst, mine, c_.degree() * sizeof(u64));
  } else if (size == 1) {
    // Centred digits: values in [0, q_d) would have the mean q_d/2, which the few slots whose root lies
    // near 1 amplify by up to N*2/pi; centred ones err like noise in every slot.
    ntt_lift(dst, sources_[d][0], c_.basis()[first], prime);
  } else {
    // Targets are numbered in the largest basis: Q in full, then P.
    gadget_.converter(first, size)
        .convert(dst, sources_[d].data(), quotients_[d].data(), j < limbs ? j : gadget_.q().size() + j - limbs);
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
    const DigitSource source(c, gadget, threads);
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
  const Basis& all = gadget.extended(q_all);
  if (!(from.basis() == all) || !(to.basis() == all))
    throw MismatchError("the secret key belongs to other parameters: it has " + std::to_string(to.limbs()) +
                        " limbs of degree " + std::to_string(to.degree()) + ", " + std::to_string(all.size()) +
                        " of degree " + std::to_string(n) + " are needed, over the same primes");
  SwitchingKey key;
  key.key_id = key_id;
  key.limbs = limbs;
  key.spec = gadget.spec();
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

void SwitchingKey::check(const Gadget& gadget, std::size_t wanted) const {
  const bool cut_alike = limbs >= 1 && limbs <= gadget.q().size() && spec == gadget.spec() &&
                         b.size() == gadget.digits(limbs) && a.size() == b.size();
  const auto here = [&](const Poly<Eval>& p) { return p.basis() == gadget.extended(limbs); };
  if (!cut_alike || !std::all_of(b.begin(), b.end(), here) || !std::all_of(a.begin(), a.end(), here))
    throw MismatchError("the evaluation key was made for other parameters (" + std::to_string(b.size()) +
                        " digits of degree " + std::to_string(b.empty() ? 0 : b[0].degree()) + ", " +
                        std::to_string(limbs) + " limbs; here Q has " + std::to_string(gadget.q().size()) +
                        " limbs of degree " + std::to_string(gadget.q().ring().degree()) +
                        "): use keys made with the parameters of the ciphertext");
  if (limbs < wanted)
    throw LevelError("the evaluation key covers levels 0 ... " + std::to_string(limbs - 1) +
                     ", the ciphertext has level " + std::to_string(wanted - 1) +
                     ": use a key made for that or a higher level, or lower the ciphertext with drop_to_level");
}

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
  product_at(out0, out1, digits, 0, key, gadget.extended(limbs)[j], limbs, j, gadget.q().ring().degree(), false);
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
  move_limbs((digits.polys().size() + (accumulate ? 2 : 0)) * ext, 2 * ext, u0.degree());
  parallel_for(threads, ext, [&](std::size_t j) {
    product_at(u0.limb(j), u1.limb(j), digits.at(j), 0, key, u0.basis()[j], limbs, j, u0.degree(), accumulate);
  });
}

void switch_key(Poly<Eval>& u0, Poly<Eval>& u1, const Poly<Eval>& c, const SwitchingKey& key, const Gadget& gadget,
                unsigned threads) {
  const std::size_t limbs = c.limbs(), n = c.degree();
  if (gadget.spec().log_base != 0) {
    key_product(u0, u1, Digits(c, gadget, threads), key, gadget, false, threads);
    return;
  }
  const Basis& ext = gadget.extended(limbs);
  key.check(gadget, limbs);
  check_sums(u0, u1, ext);
  const DigitSource source(c, gadget, threads);
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

}  // namespace ringforge
