// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Keys, encryption, decryption.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "ringforge/ckks/ckks.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/discrete_gaussian.hpp"
#include "ringforge/error.hpp"

namespace ringforge::ckks {

namespace {

void check_bound(const Plaintext& p, double bound) {
  if (!(bound > 0) || !std::isfinite(bound)) throw ValueError("the declared bound must be positive and finite");
  if (declassified(p.bound <= bound * (1 + 1e-12))) return;  // who asked sees the refusal
  char text[32];
  std::snprintf(text, sizeof(text), "%g", bound);
  throw ValueError("a value exceeds the declared bound " + std::string(text) +
                   ": scale the data down, or have a larger bound declared (it is public and costs precision)");
}

}  // namespace

double error_bound(const Ciphertext& c) { return error_bound(c, c.parts.at(0).degree()); }

RelinKey Client::relin_key(const SecretKey& sk, std::optional<std::size_t> level, unsigned threads) {
  return encryptor_.relin_key(sk, ctx_->basis(level.value_or(ctx_->params().max_level())).size(), threads);
}

GaloisKey Client::galois_key(const SecretKey& sk, u64 element, std::optional<std::size_t> level, unsigned threads) {
  return encryptor_.galois_key(sk, element, ctx_->basis(level.value_or(ctx_->params().max_level())).size(), threads);
}

template <class Key>
Ciphertext Client::encrypt_under(const Plaintext& p, const Key& key, double bound, bool is_public) {
  ctx_->check(p);
  key.check(ctx_->gadget());
  check_bound(p, bound);
  Ciphertext c(MetadataRules(ctx_).encrypted(p.scale, bound, is_public), encryptor_.zero(key, p.poly.limbs()));
  add(c.parts[0], c.parts[0], p.poly);
  return c;
}

Ciphertext Client::encrypt(const Plaintext& p, const SecretKey& sk, double bound) {
  return encrypt_under(p, sk, bound, false);
}

Ciphertext Client::encrypt(const Plaintext& p, const PublicKey& pk, double bound) {
  return encrypt_under(p, pk, bound, true);
}

Plaintext Client::decrypt(const Ciphertext& c, const SecretKey& sk) const {
  ctx_->check(c);
  return {decryptor_.phase(c, sk), c.scale, c.bound};
}

Plaintext Client::decrypt_to_share(const Ciphertext& c, const SecretKey& sk, double share_bits, u64 queries,
                                   std::optional<double> variance) {
  const double covered = variance.value_or(c.variance);
  if (!(share_bits >= 0 && share_bits <= 128) || queries < 1)
    throw ParameterError("share_bits must be 0 ... 128 and queries at least 1");
  if (!(covered >= 0) || !std::isfinite(covered))
    throw ParameterError("the variance that noise must cover has to be a finite number, 0 or more");
  Plaintext p = decrypt(c, sk);
  const double sigma = rlwe::flood_deviation(covered, p.poly.degree(), share_bits, queries);
  const double needed = std::log2(9 * sigma + c.bound * c.scale) + 1, have = p.poly.basis().log2();
  if (needed > have)
    throw LevelError("noise that hides " + std::to_string(static_cast<int>(share_bits)) + " bits needs " +
                     std::to_string(static_cast<int>(std::ceil(needed))) + " bits of modulus, this ciphertext has " +
                     std::to_string(static_cast<int>(have)) + ": ask for fewer share_bits or queries, or " +
                     (c.level() < ctx_->params().max_level() ? "let the computation end at a higher level"
                                                             : "use parameters with more primes"));
  if (sigma > DiscreteGaussian::kLargest)
    throw LevelError("noise that hides " + std::to_string(static_cast<int>(share_bits)) +
                     " bits has a deviation of 2^" + std::to_string(static_cast<int>(std::ceil(std::log2(sigma)))) +
                     ", the largest that can be sampled is 2^120: ask for fewer share_bits or queries, or compute with "
                     "smaller scales");
  Poly<Eval> noise = DiscreteGaussian(sigma).polynomial(p.poly.basis(), encryptor_.randomness().next_seed());
  add(p.poly, p.poly, noise);
  noise.wipe();  // with the shared result it would give back the decryption
  return p;
}

}  // namespace ringforge::ckks
