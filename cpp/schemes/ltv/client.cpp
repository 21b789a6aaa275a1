// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include <algorithm>
#include <array>
#include <cmath>

#include "crt.hpp"
#include "plain.hpp"
#include "ref/arith.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/error.hpp"
#include "ringforge/invert.hpp"
#include "ringforge/threads.hpp"
#include "spectrum.hpp"

namespace ringforge::ltv {
namespace {

/// Coefficients that one task takes.
constexpr std::size_t kBlock = 1024;

void scale(SmallPoly& p, i64 factor) {
  for (i64& x : p.coeffs()) x *= factor;
}

/// The largest |a(z)|^2 at a primitive m-th root of unity, of coefficients in the ring's basis.
template <class T>
double largest_value(const Context& context, const Spectrum& spectrum, const std::vector<T>& coeffs) {
  std::vector<double> a(context.tensor() != nullptr ? context.params().spec().m : coeffs.size(), 0);
  for (std::size_t k = 0; k < coeffs.size(); ++k)
    a[context.tensor() != nullptr ? context.tensor()->exponents()[k] : k] = static_cast<double>(coeffs[k]);
  const double most = spectrum.largest(a);
  wipe(a.data(), a.size() * sizeof(double));
  return most;
}

u64 random_id(const Randomness& rng) {
  const SecretSeed seed = rng.next_seed();
  const u64 id = Stream(seed, StreamObject::secret).next() | 1;
  declassify(&id, sizeof(id));  // a public name, drawn apart from the secrets
  return id;
}

Poly<Eval, u32> lifted(const SmallPoly& p, const BasisOf<u32>& basis, unsigned threads) {
  return p.lift(basis, threads);
}

/// A polynomial of secrets is wiped when it is left.
template <class P>
struct Wiped {
  P poly;
  ~Wiped() { poly.wipe(); }
};

/// Of a polynomial whose square has coefficients below half of a prime.
SmallPoly square(const SmallPoly& a, const BasisOf<u32>& basis) {
  const Wiped<Poly<Eval, u32>> x{lifted(a, basis, 1)};
  const Wiped<Coefficients> y{product(x.poly, x.poly, 1)};
  const auto q = static_cast<i64>(basis[0].value());
  SmallPoly r(a.coeffs().size());
  for (std::size_t k = 0; k < r.coeffs().size(); ++k) {
    const i64 v = y.poly.limb(0)[k];
    r.coeffs()[k] = v - (q & ((q - 2 * v) >> 63));
  }
  return r;
}

/// Whether a secret is as NoiseRules::secret_bounds say. That is public: one that is not is thrown away, and who sees
/// how often learns of those alone.
bool keeps(const SmallPoly& a, const NoiseRules::SecretBounds& bounds, const Context& context, const Spectrum& spectrum,
           unsigned threads) {
  if (!declassified(largest_value(context, spectrum, a.coeffs()) <= bounds.value)) return false;
  // In tensor rings no coefficient has weights that are far from equal.
  if (context.tensor() != nullptr) return true;
  std::array<double, 2> moments{};
  parallel_for(threads, 2, [&](std::size_t i) {
    const u64 m = context.params().spec().m;
    moments[i] = reduction_moment(m, i == 0 ? a.coeffs() : square(a, context.basis(1)).coeffs());
  });
  return declassified((moments[0] <= bounds.moment) & (moments[1] <= bounds.square));
}

}  // namespace

std::pair<SecretKey, PublicKey> Client::keys(unsigned threads) const {
  const Parameters& params = ctx_->params();
  const NoiseRules& rules = ctx_->rules();
  const std::size_t n = params.degree();
  const Spectrum spectrum(params.spec().m);
  SecretKey sk;
  sk.id = random_id(rng_);
  sk.parameters = params.hash();
  PublicKey pk;
  pk.key_id = sk.id;
  const auto ternary = [&](const NoiseRules::SecretBounds& bounds, i64 factor, i64 constant) {
    for (;;) {
      SmallPoly p = sample_ternary(n, rng_.next_seed(), StreamObject::secret);
      if (keeps(affine(p, factor, constant, *ctx_), bounds, *ctx_, spectrum, threads)) return p;
    }
  };
  for (std::size_t level = 0; level <= params.levels(); ++level) {
    const BasisOf<u32> basis = ctx_->basis(params.limbs(level == 0 ? 0 : level - 1));
    std::optional<Coefficients> inverse;
    while (!inverse) {
      SmallPoly u = ternary(rules.secret_bounds(), 2, 1);
      if (sk.u.size() > level) sk.u.pop_back();
      sk.u.push_back(std::move(u));
      Wiped<Coefficients> f{Coefficients(basis)};
      f.poly.zero();
      add_small(f.poly, secret(sk, level, *ctx_));
      inverse = invert(f.poly, threads);
    }
    const Wiped<Coefficients> held{std::move(*inverse)};
    SmallPoly g = ternary(rules.multiplier_bounds(), 1, 0);
    scale(g, 2);
    const Wiped<Poly<Eval, u32>> a{lifted(g, basis, threads)}, b{to_eval(held.poly, threads)};
    pk.h.push_back(product(a.poly, b.poly, threads));
  }
  return {std::move(sk), std::move(pk)};
}

EvalKey Client::eval_key(const SecretKey& sk, const PublicKey& pk, std::size_t level, unsigned threads,
                         std::size_t lag) const {
  const Parameters& params = ctx_->params();
  check(*ctx_, sk);
  check(*ctx_, pk);
  if (sk.id != pk.key_id)
    throw MismatchError("the public key is not of this secret key: make evaluation keys from one pair");
  const std::size_t count = params.digits(level), limbs = params.limbs(level - 1), n = params.degree();
  if (lag >= level)
    throw LevelError("an evaluation key of level " + std::to_string(level) + " for products over " +
                     std::to_string(lag) + " levels: the other level would be above 0");
  const BasisOf<u32> basis = ctx_->basis(limbs);
  const Poly<Eval, u32> h = to_eval(pk.h[level], threads);
  const Wiped<Poly<Eval, u32>> f{lifted(secret(sk, level - 1, *ctx_), basis, threads)};
  const Wiped<Poly<Eval, u32>> other{lifted(secret(sk, level - 1 - lag, *ctx_), basis, threads)};
  const Wiped<Coefficients> square{product(f.poly, other.poly, threads)};
  std::vector<SecretSeed> seeds;
  for (std::size_t d = 0; d < 2 * count; ++d) seeds.push_back(rng_.next_seed());

  const unsigned r = params.spec().window;
  const std::size_t each = count / limbs;  // of the rns gadget
  EvalKey key;
  key.key_id = sk.id;
  key.level = static_cast<u32>(level);
  key.lag = static_cast<u32>(lag);
  key.digits.resize(count);
  parallel_for(threads, count, [&](std::size_t d) {
    const Wiped<Poly<Eval, u32>> s{lifted(sample_ternary(n, seeds[2 * d], StreamObject::mask), basis, 1)};
    SmallPoly e = sample_ternary(n, seeds[2 * d + 1], StreamObject::error);
    scale(e, 2);
    Coefficients z = product(h, s.poly, 1);
    add_small(z, e);
    for (std::size_t i = 0; i < limbs; ++i) {
      // The digit's weight: 2^(r d), or 2^(r k) times the idempotent of its prime.
      const bool rns = params.spec().gadget == Gadget::rns;
      if (rns && d / each != i) continue;
      const u64 p = basis[i].value();
      u64 weight = 1;
      for (std::size_t bit = 0; bit < r * (rns ? d % each : d); ++bit) weight = 2 * weight % p;
      u32* dst = z.limb(i);
      const u32* src = square.poly.limb(i);
      const kernels::Factor factor = kernels::make_factor(weight, basis[i].mod());
      for (std::size_t k = 0; k < n; ++k)
        dst[k] = static_cast<u32>(arith::add(arith::mul_factor(src[k], factor, p), dst[k], p));
    }
    key.digits[d] = to_eval(z);
  });
  return key;
}

Ciphertext Client::encrypt(std::span<const std::uint8_t> bits, const PublicKey& pk, std::size_t level, unsigned threads,
                           bool above) const {
  check(*ctx_, pk);
  if (above && level == 0)
    throw LevelError("nothing is above level 0: encrypt modulo its own primes, or at a lower level");
  const BasisOf<u32> basis = ctx_->basis(ctx_->params().limbs(above ? level - 1 : level));
  const std::size_t n = basis.ring().degree();
  SmallPoly e = sample_ternary(n, rng_.next_seed(), StreamObject::error);
  {
    const SmallPoly m = signed_bits(bits, *ctx_);
    for (std::size_t k = 0; k < n; ++k) e.coeffs()[k] = 2 * e.coeffs()[k] + m.coeffs()[k];
  }
  const Wiped<Poly<Eval, u32>> s{lifted(sample_ternary(n, rng_.next_seed(), StreamObject::mask), basis, threads)};
  Ciphertext c;
  c.poly = product(to_eval(pk.h[level].prefix(basis.size()), threads), s.poly, threads);
  add_small(c.poly, e);
  c.key_id = pk.key_id;
  c.level = static_cast<u32>(level);
  c.noise = ctx_->rules().encrypted();
  return c;
}

/// c f^degree, or c times the secrets of two levels.
Coefficients Client::phase(const Ciphertext& c, const SecretKey& sk, unsigned threads) const {
  check(*ctx_, c);
  check(*ctx_, sk);
  if (c.key_id != sk.id) throw MismatchError("the ciphertext is under another secret key than the one given");
  const Wiped<Poly<Eval, u32>> f{lifted(secret(sk, c.level, *ctx_), c.poly.basis(), threads)};
  Coefficients w = product(to_eval(c.poly, threads), f.poly, threads);
  if (c.degree == 2) {
    const Wiped<Coefficients> once{std::move(w)};
    const Wiped<Poly<Eval, u32>> other{lifted(secret(sk, c.level - c.lag, *ctx_), c.poly.basis(), threads)};
    w = product(to_eval(once.poly, threads), other.poly, threads);
  }
  return w;
}

Bits Client::decrypt(const Ciphertext& c, const SecretKey& sk, unsigned threads) const {
  const Wiped<Coefficients> w{phase(c, sk, threads)};
  const Crt crt(w.poly.basis());
  const std::size_t n = w.poly.degree();
  const double half = std::exp2(w.poly.basis().log2() - 1 - crt.log2_scale());
  const double limit = half * (1 - 16 / static_cast<double>(n));
  const auto scale = crt.scale(crt.log2_scale());
  Bits bits(n);
  std::vector<std::uint8_t> full((n + kBlock - 1) / kBlock, 0);
  parallel_for(threads, full.size(), [&](std::size_t block) {
    std::array<u64, 40> value{};
    for (std::size_t k = block * kBlock; k < std::min(n, (block + 1) * kBlock); ++k) {
      crt.centred(w.poly, k, value.data());
      bits[k] = static_cast<std::uint8_t>(value[0] & 1);
      full[block] |= static_cast<std::uint8_t>(std::abs(crt.scaled(value.data(), scale)) > limit);
    }
    wipe(value.data(), sizeof(value));
  });
  std::uint8_t any = 0;
  for (const std::uint8_t x : full) any |= x;
  if (declassified(any != 0)) {  // who asked sees the refusal
    wipe(bits.data(), bits.size());
    throw LevelError(
        "the noise has filled the modulus, nothing of the message is left: compute with fewer products or sums between "
        "two modulus switches (Evaluator.budget predicts it)");
  }
  if (ctx_->tensor() != nullptr) {
    SecretArray<u32> powers(n);
    std::ranges::copy(bits, powers.data());
    ctx_->tensor()->to_power_basis(powers.data(), powers.data(), u32{2});
    for (std::size_t k = 0; k < n; ++k) bits[k] = static_cast<std::uint8_t>(powers.data()[k]);
  }
  return bits;
}

Client::Measured Client::measure(const Ciphertext& c, const SecretKey& sk, unsigned threads) const {
  const Wiped<Coefficients> w{phase(c, sk, threads)};
  const Crt crt(w.poly.basis());
  const std::size_t n = w.poly.degree();
  std::vector<double> values(n);
  std::array<u64, 40> value{};
  // Doubles span 2^-1022 ... 2^1023: sizes are scaled by less than q/2 where that is more, so that small phases remain.
  const double log2_scale = std::min(crt.log2_scale(), 512.0);
  const auto scale = crt.scale(log2_scale);
  double most = 0, squares = 0;
  for (std::size_t k = 0; k < n; ++k) {
    crt.centred(w.poly, k, value.data());
    values[k] = crt.scaled(value.data(), scale);
    most = std::max(most, std::abs(values[k]));
  }
  if (most == 0) most = 1;
  for (double& x : values) {
    x /= most;
    squares += x * x;
  }
  const double spectrum = largest_value(*ctx_, Spectrum(ctx_->params().spec().m), values);
  wipe(values.data(), n * sizeof(double));
  wipe(value.data(), sizeof(value));
  const double size = std::log2(most) + log2_scale;
  return {squares > 0 ? size : -HUGE_VAL, 0.5 * std::log2(squares / static_cast<double>(n)) + size,
          0.5 * std::log2(spectrum) + size};
}

double Client::noise_budget(const Ciphertext& c, const SecretKey& sk, unsigned threads) const {
  return c.poly.basis().log2() - 1 - measure(c, sk, threads).largest;
}

}  // namespace ringforge::ltv
