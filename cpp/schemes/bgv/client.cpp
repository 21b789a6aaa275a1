// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Keys, encryption, decryption.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "plain.hpp"
#include "reconstructor.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/discrete_gaussian.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::bgv {

SecretKey Client::secret_key() {
  const auto exponents = ctx_->tensor_basis().exponents();
  const double n = static_cast<double>(ctx_->params().degree()), most = largest_spectrum(ctx_->params().degree());
  for (;;) {
    SecretKey sk = encryptor_.secret_key();
    SmallPoly powers(ctx_->params().m());
    for (std::size_t i = 0; i < exponents.size(); ++i) powers.coeffs()[exponents[i]] = sk.coeffs().coeffs()[i];
    // Who sees how often it is drawn again learns of thrown-away secrets.
    if (declassified(largest_square(ctx_->spectrum(), powers) <= most * 2 * n / 3)) return sk;
  }
}

RelinKey Client::relin_key(const SecretKey& sk, std::optional<std::size_t> limbs, unsigned threads) {
  return encryptor_.relin_key(sk, ctx_->basis(limbs.value_or(ctx_->params().max_limbs())).size(), threads);
}

GaloisKey Client::galois_key(const SecretKey& sk, u64 element, std::optional<std::size_t> limbs, unsigned threads) {
  return encryptor_.galois_key(sk, element, ctx_->basis(limbs.value_or(ctx_->params().max_limbs())).size(), threads);
}

template <class Key>
Ciphertext Client::encrypt_under(std::span<const std::uint8_t> bits, const Key& key, std::optional<std::size_t> limbs,
                                 bool is_public) {
  const Basis basis = ctx_->basis(limbs.value_or(ctx_->params().max_limbs()));
  // Fresh signs: no message can be chosen for them.
  const SecretSeed signs = encryptor_.randomness().next_seed();
  const SmallPoly poly = in_tensor_basis(ctx_->tensor_basis(), signed_bits(bits, ctx_->params().degree(), signs));
  Poly<Eval> message = poly.lift(basis);
  halve(message);
  Ciphertext c(ctx_->rules().encrypted(is_public), encryptor_.zero(key, basis.size()));
  add(c.parts[0], c.parts[0], message);
  message.wipe();
  return c;
}

Ciphertext Client::encrypt(std::span<const std::uint8_t> bits, const SecretKey& sk, std::optional<std::size_t> limbs) {
  return encrypt_under(bits, sk, limbs, false);
}

Ciphertext Client::encrypt(std::span<const std::uint8_t> bits, const PublicKey& pk, std::optional<std::size_t> limbs) {
  return encrypt_under(bits, pk, limbs, true);
}

// 2*phi, the residues of v.
Poly<Coeff> Client::noise_of(const Ciphertext& c, const SecretKey& sk, unsigned threads) const {
  ctx_->check(c);
  Poly<Eval> phase = decryptor_.phase(c, sk);
  add(phase, phase, phase);
  Poly<Coeff> v = to_coeff(phase, threads);
  phase.wipe();
  return v;
}

namespace {

// v = sum_i y_i*(Q/q_i) - k*Q, y_i below q_i; all of these products are odd, so v is sum y_i + k modulo 2. k rounds
// correctly in double precision unless |v| is within 2^-44 of Q/2.
Bits bits_of(Poly<Coeff>& v, const TensorBasis& tensor, unsigned threads) {
  const Basis& q = v.basis();
  const std::size_t limbs = q.size(), n = v.degree();
  std::vector<double> inverse(limbs);
  std::vector<const u64*> y(limbs);
  parallel_for(threads, limbs, [&](std::size_t i) {
    const auto& m = q[i].mod();
    u64 hat = 1;
    for (std::size_t d = 0; d < limbs; ++d)
      if (d != i) hat = arith::mul(hat, arith::reduce64(q[d].value(), m), m);
    inverse[i] = 1.0 / static_cast<double>(m.q);
    kernels::active().mul_scalar(v.limb(i), v.limb(i), kernels::make_factor(arith::inverse(hat, m), m), n, m);
    y[i] = v.limb(i);
  });
  SecretArray<u64> words(n);
  kernels::active().convert_quotient(words.data(), y.data(), inverse.data(), limbs, n);
  constexpr std::size_t kChunk = 1024;
  const std::size_t chunks = (n + kChunk - 1) / kChunk;
  std::vector<double> largest(chunks);
  parallel_for(threads, chunks, [&](std::size_t chunk) {
    double most = 0;
    for (std::size_t k = chunk * kChunk; k < std::min(n, (chunk + 1) * kChunk); ++k) {
      u64 parity = words.data()[k];
      double fraction = -double_of(parity);
      for (std::size_t i = 0; i < limbs; ++i) {
        parity ^= y[i][k];
        fraction += double_of(y[i][k]) * inverse[i];
      }
      most = std::max(most, std::fabs(fraction));
      words.data()[k] = parity & 1;
    }
    largest[chunk] = most;
  });
  double most = 0;
  for (const double x : largest) most = std::max(most, x);
  const bool small_enough = most <= 0.5 * (1 - 16.0 / static_cast<double>(n));
  // Noise without bound makes v uniform: then one of N coefficients is within 16/N of Q/2 unless luck of e^-16 has it.
  if (declassified(!small_enough))  // who asked sees the refusal
    throw LevelError("noise has filled the modulus of " + std::to_string(limbs) + (limbs == 1 ? " limb" : " limbs") +
                     ": nothing of the plaintext is left. Compute fewer products, drop primes after products, or use "
                     "parameters with more primes");
  tensor.to_power_basis(words.data(), words.data(), u64{2});
  return {words.data(), words.data() + n};
}

}  // namespace

Bits Client::decrypt(const Ciphertext& c, const SecretKey& sk, unsigned threads, bool anyway) const {
  ctx_->check(c);
  if (!anyway) rlwe::check_budget(ctx_->rules().budget(c, c.limbs()));
  Poly<Coeff> v = noise_of(c, sk, threads);
  Bits bits = bits_of(v, ctx_->tensor_basis(), threads);
  v.wipe();
  return bits;
}

Bits Client::decrypt_to_share(const Ciphertext& c, const SecretKey& sk, double share_bits, u64 queries,
                              std::optional<Noise> noise, unsigned threads) {
  ctx_->check(c);
  if (!(share_bits >= 0 && share_bits <= 128) || queries < 1)
    throw ParameterError("share_bits must be 0 ... 128 and queries at least 1");
  const Noise covered = noise.value_or(c.noise());
  if (!std::isfinite(covered.log_bound))
    throw ParameterError("the noise that is to be covered must be a finite number of bits");
  const NoiseRules& rules = ctx_->rules();
  const std::size_t n = ctx_->params().degree();
  // No coefficient of the flood exceeds so many of its deviations, with the confidence of the rules.
  const double deviations =
      std::sqrt(2 * (std::log(2 * static_cast<double>(n)) + rules.security() * std::numbers::ln2));
  double short_of = 0;
  for (std::size_t limbs = 1; limbs <= c.limbs(); ++limbs) {
    const Noise here = rules.mod_switched(covered, c.limbs(), limbs, c.parts.size());
    // The phase's error is v/2 less half of the message. The squares of the coefficients of v sum to those of its
    // values at most: p*sum c_a^2 - (sum c_a)^2 over p - 1 coefficients, for each prime p of m.
    const double sigma = rlwe::flood_deviation(std::exp2(2 * (here.log_bound - 1)), n, share_bits, queries);
    const double needed = std::log2(2 * deviations * sigma + std::exp2(rules.bound_bits(here)));
    const double have = ctx_->params().log_q(limbs) - 1;
    if (!(needed <= have && sigma <= DiscreteGaussian::kLargest)) {
      short_of = sigma <= DiscreteGaussian::kLargest
                     ? needed - have
                     : std::max(needed - have, std::log2(sigma / DiscreteGaussian::kLargest));
      continue;
    }
    Ciphertext small = Evaluator(ctx_, threads).mod_switch_to(c, limbs);
    Poly<Eval> flood = DiscreteGaussian(sigma).polynomial(small.parts[0].basis(), encryptor_.randomness().next_seed());
    add(small.parts[0], small.parts[0], flood);
    flood.wipe();
    return decrypt(small, sk, threads, true);  // there is room, by the noise that is covered
  }
  throw LevelError("noise that hides " + std::to_string(static_cast<int>(share_bits)) + " bits is " +
                   std::to_string(static_cast<int>(std::ceil(short_of))) +
                   " bits too large for this ciphertext: ask for fewer share_bits or queries, compute fewer products, "
                   "or use parameters with more primes");
}

Client::Measured Client::measure(const Ciphertext& c, const SecretKey& sk, unsigned threads) const {
  Poly<Coeff> v = noise_of(c, sk, threads);
  const Reconstructor crt(v.basis());
  const auto exponents = ctx_->tensor_basis().exponents();
  const std::size_t n = v.degree(), words = crt.words();
  std::vector<u64> number(words);
  double largest = -1;
  for (std::size_t k = 0; k < n; ++k) largest = std::max(largest, crt.log2(v, k, number.data()));
  // In units of the largest, which may be far above 2^1024.
  const int unit = static_cast<int>(std::floor(largest));
  std::vector<double> powers(ctx_->params().m());
  for (std::size_t k = 0; k < n; ++k) {
    const bool negative = crt.centred(v, k, number.data());
    double x = 0;
    for (std::size_t w = 0; w < words; ++w)
      x += std::ldexp(static_cast<double>(number[w]), static_cast<int>(64 * w) - unit);
    powers[exponents[k]] = negative ? -x : x;
  }
  v.wipe();
  const double value = std::log2(ctx_->spectrum().largest(powers)) / 2 + unit;
  wipe(powers.data(), powers.size() * sizeof(double));
  wipe(number.data(), words * sizeof(u64));
  return {largest, value};
}

double Client::noise_budget(const Ciphertext& c, const SecretKey& sk, unsigned threads) const {
  return std::max(0.0, ctx_->params().log_q(c.limbs()) - 1 - measure(c, sk, threads).largest);
}

}  // namespace ringforge::bgv
