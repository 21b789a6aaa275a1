// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Keys, encryption, decryption.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "ringforge/ckks/ckks.hpp"
#include "ringforge/error.hpp"

namespace ringforge::ckks {

using rlwe::SwitchingKey;

namespace {

void check_key(const Ciphertext& c, const SecretKey& sk) {
  if (c.key_id != sk.id())
    throw MismatchError(
        "the ciphertext was made under another key (its key id differs from this secret "
        "key's): decrypt it with the secret key it was made under");
}

void check_bound(const Plaintext& p, double bound) {
  if (!(bound > 0) || !std::isfinite(bound)) throw ValueError("the declared bound must be positive and finite");
  if (p.bound <= bound * (1 + 1e-12)) return;
  char text[32];
  std::snprintf(text, sizeof(text), "%g", bound);
  throw ValueError("a value exceeds the declared bound " + std::string(text) +
                   ": scale the data down, or have a larger bound declared (it is public and costs precision)");
}

}  // namespace

double error_bound(const Ciphertext& c) { return error_bound(c, c.parts.at(0).degree()); }

double flood_deviation(double variance, std::size_t degree, double bits, u64 queries) noexcept {
  const double n = static_cast<double>(degree), floor = (1 + 2 * n / 3) / 12;
  return std::sqrt(12.0 * static_cast<double>(queries) * n * std::max(variance, floor)) * std::exp2(bits / 2);
}

GaloisKeys::Keys GaloisKeys::held() const {
  const std::lock_guard lock(mutex_);
  return keys_;
}

GaloisKeys& GaloisKeys::operator=(const GaloisKeys& o) {
  Keys keys = o.held();
  const std::lock_guard lock(mutex_);
  keys_.swap(keys);
  return *this;
}

// Keys are freed after the lock is given back: their memory is large.
void GaloisKeys::insert(GaloisKey key) {
  if (!key.key) throw ParameterError("a Galois key without polynomials cannot be inserted: make it with galois_key");
  const std::lock_guard lock(mutex_);
  keys_[key.element].swap(key.key);
}

void GaloisKeys::erase(u64 element) {
  Keys::node_type gone;
  const std::lock_guard lock(mutex_);
  gone = keys_.extract(element);
}

bool GaloisKeys::contains(u64 element) const {
  const std::lock_guard lock(mutex_);
  return keys_.contains(element);
}

std::size_t GaloisKeys::size() const {
  const std::lock_guard lock(mutex_);
  return keys_.size();
}

std::shared_ptr<const SwitchingKey> GaloisKeys::at(u64 element) const {
  const std::lock_guard lock(mutex_);
  if (const auto it = keys_.find(element); it != keys_.end()) return it->second;
  std::string have;
  std::size_t shown = 0;
  for (const auto& [g, key] : keys_) {
    if (shown++ == 8) {
      have += ", ...";
      break;
    }
    have += (have.empty() ? "" : ", ") + std::to_string(g);
  }
  throw MissingKeyError("no Galois key for element " + std::to_string(element) + "; this set has " +
                        (have.empty() ? std::string("none") : have));
}

std::vector<u64> GaloisKeys::elements() const {
  std::vector<u64> out;
  for (const auto& [g, key] : held()) out.push_back(g);
  return out;
}

std::size_t GaloisKeys::bytes() const {
  std::size_t total = 0;
  for (const auto& [g, key] : held()) total += key->bytes();
  return total;
}

SecretKey Client::secret_key() { return {ctx_->full_basis(), rng_}; }

PublicKey Client::public_key(const SecretKey& sk) {
  ctx_->check(sk);
  PublicKey pk;
  pk.key_id = sk.id();
  pk.seed = rng_.next_seed();
  pk.a = sample_uniform(ctx_->full_basis(), pk.seed, StreamObject::public_key);
  pk.b = sample_error(ctx_->ring().degree(), rng_.next_seed()).lift(ctx_->full_basis());
  Poly<Eval> t(ctx_->full_basis());
  mul(t, pk.a, sk.eval());
  sub(pk.b, pk.b, t);
  t.wipe();
  return pk;
}

RelinKey Client::relin_key(const SecretKey& sk, std::optional<std::size_t> level, unsigned threads) {
  const std::size_t top = level.value_or(ctx_->params().max_level());
  (void)ctx_->basis(top);
  ctx_->check(sk);
  Poly<Eval> square(sk.eval().basis());
  mul(square, sk.eval(), sk.eval());
  RelinKey key{SwitchingKey::make(square, sk.eval(), sk.id(), ctx_->gadget(), top + 1, rng_, threads)};
  square.wipe();
  return key;
}

GaloisKey Client::galois_key(const SecretKey& sk, u64 element, std::optional<std::size_t> level, unsigned threads) {
  const std::size_t top = level.value_or(ctx_->params().max_level());
  (void)ctx_->basis(top);
  ctx_->check(sk);
  if (!ctx_->ring().is_galois_element(element) || element == 1)
    throw ParameterError(std::to_string(element) + " is not the element of an automorphism other than 1: it " +
                         "must be odd, above 1 and below " + std::to_string(ctx_->ring().index()));
  Poly<Eval> target = automorphism(sk.eval(), ctx_->ring().inverse(element));
  auto key = std::make_shared<const SwitchingKey>(
      SwitchingKey::make(sk.eval(), target, sk.id(), ctx_->gadget(), top + 1, rng_, threads));
  target.wipe();
  return {element, std::move(key)};
}

Ciphertext Client::encrypt(const Plaintext& p, const SecretKey& sk, double bound) {
  ctx_->check(p);
  ctx_->check(sk);
  check_bound(p, bound);
  const Basis& basis = p.poly.basis();
  Ciphertext c{MetadataRules(ctx_).encrypted(p.scale, bound, false)};
  c.key_id = sk.id();
  c.seed = rng_.next_seed();
  Poly<Eval> a = sample_uniform(basis, *c.seed, StreamObject::ciphertext);
  Poly<Eval> b = sample_error(p.poly.degree(), rng_.next_seed()).lift(basis);
  add(b, b, p.poly);
  Poly<Eval> t = sk.eval().prefix(basis.size());
  mul(t, a, t);
  sub(b, b, t);
  t.wipe();
  c.parts.push_back(std::move(b));
  c.parts.push_back(std::move(a));
  return c;
}

Ciphertext Client::encrypt(const Plaintext& p, const PublicKey& pk, double bound) {
  ctx_->check(p);
  ctx_->check(pk);
  check_bound(p, bound);
  const Basis& basis = p.poly.basis();
  const std::size_t n = p.poly.degree();
  Ciphertext c{MetadataRules(ctx_).encrypted(p.scale, bound, true)};
  c.key_id = pk.key_id;
  Poly<Eval> v = sample_ternary(n, rng_.next_seed(), StreamObject::mask).lift(basis);
  for (const Poly<Eval>* half : {&pk.b, &pk.a}) {
    Poly<Eval> part = sample_error(n, rng_.next_seed()).lift(basis);
    mul_add(part, v, half->prefix(basis.size()));
    c.parts.push_back(std::move(part));
  }
  add(c.parts[0], c.parts[0], p.poly);
  v.wipe();
  return c;
}

Plaintext Client::decrypt(const Ciphertext& c, const SecretKey& sk) {
  ctx_->check(c);
  ctx_->check(sk);
  check_key(c, sk);
  Poly<Eval> s = sk.eval().prefix(c.parts.at(0).limbs());
  // Horner in s: works for two and for three parts.
  Poly<Eval> m = c.parts.back();
  for (std::size_t i = c.parts.size() - 1; i-- > 0;) {
    mul(m, m, s);
    add(m, m, c.parts[i]);
  }
  s.wipe();
  return {std::move(m), c.scale, c.bound};
}

Plaintext Client::decrypt_to_share(const Ciphertext& c, const SecretKey& sk, double share_bits, u64 queries,
                                   std::optional<double> variance) {
  const double covered = variance.value_or(c.variance);
  if (!(share_bits >= 0 && share_bits <= 128) || queries < 1)
    throw ParameterError("share_bits must be 0 ... 128 and queries at least 1");
  if (!(covered >= 0) || !std::isfinite(covered))
    throw ParameterError("the variance that noise must cover has to be a finite number, 0 or more");
  Plaintext p = decrypt(c, sk);
  const double sigma = flood_deviation(covered, p.poly.degree(), share_bits, queries);
  const double needed = std::log2(9 * sigma + c.bound * c.scale) + 1, have = p.poly.basis().log2();
  if (needed > have || sigma > 0x1p57)
    throw LevelError("noise that hides " + std::to_string(static_cast<int>(share_bits)) + " bits needs " +
                     std::to_string(static_cast<int>(std::ceil(std::max(needed, std::log2(sigma) + 4)))) +
                     " bits of modulus, this ciphertext has " + std::to_string(static_cast<int>(have)) +
                     ": ask for fewer share_bits or queries, or " +
                     (c.level() < ctx_->params().max_level() ? "let the computation end at a higher level"
                                                             : "use parameters with more primes"));
  Poly<Eval> noise = sample_gaussian(p.poly.degree(), rng_.next_seed(), sigma).lift(p.poly.basis());
  add(p.poly, p.poly, noise);
  noise.wipe();  // with the shared result it would give back the decryption
  return p;
}

}  // namespace ringforge::ckks
