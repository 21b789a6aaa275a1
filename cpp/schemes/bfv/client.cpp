// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Keys, encryption, decryption.
#include <algorithm>
#include <cmath>
#include <string>

#include "modulo_t.hpp"
#include "reconstructor.hpp"
#include "ringforge/bfv/bfv.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/discrete_gaussian.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::bfv {

SecretKey Client::secret_key() {
  const double most = largest_spectrum(ctx_->params().degree());
  for (;;) {
    SecretKey sk = encryptor_.secret_key();
    // Who sees how often it is drawn again learns of thrown-away secrets.
    if (declassified(spectrum(sk.coeffs().coeffs()) <= most)) return sk;
  }
}

RelinKey Client::relin_key(const SecretKey& sk, std::optional<std::size_t> limbs, unsigned threads) {
  return encryptor_.relin_key(sk, ctx_->basis(limbs.value_or(ctx_->params().max_limbs())).size(), threads);
}

GaloisKey Client::galois_key(const SecretKey& sk, u64 element, std::optional<std::size_t> limbs, unsigned threads) {
  return encryptor_.galois_key(sk, element, ctx_->basis(limbs.value_or(ctx_->params().max_limbs())).size(), threads);
}

template <class Key>
Ciphertext Client::encrypt_under(const Plaintext& p, const Key& key, std::optional<std::size_t> limbs, bool is_public) {
  const std::size_t count = limbs.value_or(ctx_->params().max_limbs());
  Poly<Eval> message = ctx_->scaled(p, count);
  key.check(ctx_->gadget());
  Ciphertext c(ctx_->t(), ctx_->rules().encrypted(is_public), encryptor_.zero(key, count));
  add(c.parts[0], c.parts[0], message);
  message.wipe();
  return c;
}

Ciphertext Client::encrypt(const Plaintext& p, const SecretKey& sk, std::optional<std::size_t> limbs) {
  return encrypt_under(p, sk, limbs, false);
}

Ciphertext Client::encrypt(const Plaintext& p, const PublicKey& pk, std::optional<std::size_t> limbs) {
  return encrypt_under(p, pk, limbs, true);
}

namespace {

// A phase x = (Q/t)*m + e gives t*x = Q*m + t*e: r = t*x centred modulo Q is t*e while that is below Q/2, and
// m = (t*x - r)/Q = -r/Q modulo t. r modulo t comes from the residues of t*x by Chinese remainders, whose quotient
// rounds correctly in double precision unless |r| is within 2^-44 of Q/2.
Plaintext plaintext_of(Poly<Coeff>& x, u64 t, unsigned threads) {
  const Basis& q = x.basis();
  const std::size_t limbs = q.size(), n = x.degree();
  const kernels::Modulus mod = modulo(t);
  std::vector<double> inverse(limbs);
  std::vector<u64> hat(limbs);
  std::vector<const u64*> y(limbs);
  u64 product = 1;  // Q modulo t
  for (std::size_t i = 0; i < limbs; ++i) product = product * (q[i].value() % t) % t;
  parallel_for(threads, limbs, [&](std::size_t i) {
    const auto& m = q[i].mod();
    u64 h = 1, ht = 1;
    for (std::size_t d = 0; d < limbs; ++d) {
      if (d == i) continue;
      h = arith::mul(h, arith::reduce64(q[d].value(), m), m);
      ht = ht * (q[d].value() % t) % t;
    }
    hat[i] = ht;
    inverse[i] = 1.0 / static_cast<double>(m.q);
    const u64 factor = arith::mul(arith::inverse(h, m), arith::reduce64(t, m), m);
    kernels::active().mul_scalar(x.limb(i), x.limb(i), kernels::make_factor(factor, m), n, m);
    y[i] = x.limb(i);
  });
  WordBuffer v(n);
  kernels::active().convert_quotient(v.data(), y.data(), inverse.data(), limbs, n);
  // -1/Q modulo t; t need not be a prime.
  i64 a = static_cast<i64>(t), b = static_cast<i64>(product % t), u = 0, w = 1;
  while (b != 0) {
    const i64 k = a / b;
    a -= k * b;
    std::swap(a, b);
    u -= k * w;
    std::swap(u, w);
  }
  const u64 minus_inverse = static_cast<u64>((static_cast<i64>(t) - u % static_cast<i64>(t)) % static_cast<i64>(t));
  Plaintext p(t, n);
  constexpr std::size_t kChunk = 1024;
  const std::size_t chunks = (n + kChunk - 1) / kChunk;
  std::vector<double> largest(chunks);
  parallel_for(threads, chunks, [&](std::size_t chunk) {
    double most = 0;
    for (std::size_t k = chunk * kChunk; k < std::min(n, (chunk + 1) * kChunk); ++k) {
      u64 r = 0;
      double fraction = 0;
      for (std::size_t i = 0; i < limbs; ++i) {
        r = arith::add(r, arith::reduce64(arith::reduce64(y[i][k], mod) * hat[i], mod), t);
        fraction += double_of(y[i][k]) * inverse[i];
      }
      r = arith::sub(r, arith::reduce64(v.data()[k] * product, mod), t);
      most = std::max(most, std::fabs(fraction - double_of(v.data()[k])));
      p.coefficients.data()[k] = arith::reduce64(r * minus_inverse, mod);
    }
    largest[chunk] = most;
  });
  v.wipe();
  // Noise without bound makes r uniform: then one of N coefficients is within 16/N of Q/2 unless luck of e^-16 has it.
  const double most = *std::max_element(largest.begin(), largest.end());
  if (declassified(most > 0.5 * (1 - 16.0 / static_cast<double>(n))))  // who asked sees the refusal
    throw LevelError("noise has filled the modulus of " + std::to_string(limbs) + (limbs == 1 ? " limb" : " limbs") +
                     ": nothing of the plaintext is left. Compute fewer products, drop fewer limbs, or use parameters "
                     "with more primes (suggest finds them)");
  return p;
}

}  // namespace

Plaintext Client::decrypt(const Ciphertext& c, const SecretKey& sk, unsigned threads, bool anyway) const {
  ctx_->check(c);
  if (!anyway) rlwe::check_budget(ctx_->rules().budget(c, c.limbs()));
  Poly<Eval> phase = decryptor_.phase(c, sk);
  Poly<Coeff> x = to_coeff(phase, threads);
  phase.wipe();
  Plaintext p = plaintext_of(x, ctx_->t(), threads);
  x.wipe();
  return p;
}

Plaintext Client::decrypt_to_share(const Ciphertext& c, const SecretKey& sk, double share_bits, u64 queries,
                                   std::optional<Noise> noise) {
  ctx_->check(c);
  if (!(share_bits >= 0 && share_bits <= 128) || queries < 1)
    throw ParameterError("share_bits must be 0 ... 128 and queries at least 1");
  const Noise covered = noise.value_or(c.noise());
  if (!std::isfinite(covered.log_deviation))
    throw ParameterError("the noise that is to be covered must be a finite number of bits");
  const NoiseRules& rules = ctx_->rules();
  double short_of = 0;
  for (std::size_t limbs = 1; limbs <= c.limbs(); ++limbs) {
    const Noise here = rules.mod_switched(covered, c.limbs(), limbs, c.parts.size());
    const double sigma =
        rlwe::flood_deviation(std::exp2(2 * here.log_deviation), ctx_->params().degree(), share_bits, queries);
    // As many deviations of the flood as bound_bits has of the noise.
    const double needed = std::log2(rules.deviations() * sigma + std::exp2(rules.bound_bits(here)));
    const double have = ctx_->params().log_q(limbs) - 1 - std::log2(static_cast<double>(ctx_->t()));
    if (!(needed <= have && sigma <= DiscreteGaussian::kLargest)) {
      short_of = sigma <= DiscreteGaussian::kLargest
                     ? needed - have
                     : std::max(needed - have, std::log2(sigma / DiscreteGaussian::kLargest));
      continue;
    }
    const Ciphertext small = Evaluator(ctx_).mod_switch_to(c, limbs);
    Poly<Eval> phase = decryptor_.phase(small, sk);
    Poly<Eval> flood = DiscreteGaussian(sigma).polynomial(phase.basis(), encryptor_.randomness().next_seed());
    add(phase, phase, flood);
    flood.wipe();
    Poly<Coeff> x = to_coeff(phase);
    phase.wipe();
    Plaintext p = plaintext_of(x, ctx_->t(), 1);
    x.wipe();
    return p;
  }
  throw LevelError("noise that hides " + std::to_string(static_cast<int>(share_bits)) + " bits is " +
                   std::to_string(static_cast<int>(std::ceil(short_of))) +
                   " bits too large for this ciphertext: ask for fewer share_bits or queries, compute fewer products, "
                   "or use parameters with more primes");
}

Poly<Coeff> Client::remainder(const Ciphertext& c, const SecretKey& sk) const {
  ctx_->check(c);
  Poly<Eval> phase = decryptor_.phase(c, sk);
  Poly<Coeff> x = to_coeff(phase);
  phase.wipe();
  for (std::size_t i = 0; i < x.limbs(); ++i) {
    const auto& m = x.basis()[i].mod();
    kernels::active().mul_scalar(x.limb(i), x.limb(i), kernels::make_factor(arith::reduce64(ctx_->t(), m), m),
                                 x.degree(), m);
  }
  return x;
}

Client::Measured Client::measure(const Ciphertext& c, const SecretKey& sk) const {
  Poly<Coeff> r = remainder(c, sk);
  const Reconstructor crt(r.basis());
  const std::size_t n = r.degree();
  std::vector<u64> words(crt.words());
  std::vector<double> logs(n);
  for (std::size_t k = 0; k < n; ++k) logs[k] = crt.log2(r, k, words.data());
  r.wipe();
  const double log_t = std::log2(static_cast<double>(ctx_->t()));
  const double largest = *std::max_element(logs.begin(), logs.end());
  double squares = 0;
  for (const double x : logs) squares += std::exp2(2 * (x - largest));
  return {largest - log_t, largest - log_t + std::log2(squares / static_cast<double>(n)) / 2};
}

double Client::noise_budget(const Ciphertext& c, const SecretKey& sk) const {
  const Measured m = measure(c, sk);
  return std::max(0.0, ctx_->params().log_q(c.limbs()) - 1 - std::log2(static_cast<double>(ctx_->t())) - m.largest);
}

}  // namespace ringforge::bfv
