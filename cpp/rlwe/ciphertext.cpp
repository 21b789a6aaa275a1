// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/rlwe/ciphertext.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "ringforge/constant_time.hpp"
#include "ringforge/error.hpp"

namespace ringforge::rlwe {

void Ciphertext::check(const Gadget& gadget, std::size_t least, std::size_t most) const {
  if (parts.size() < least || parts.size() > most)
    throw ShapeError("a ciphertext has " + std::to_string(least) + " to " + std::to_string(most) +
                     " parts here, this one " + std::to_string(parts.size()));
  const Basis& basis = parts[0].basis();
  gadget.check_level(basis, "the ciphertext", "use the parameters it was encrypted with");
  for (const auto& part : parts)
    if (!(part.basis() == basis))
      throw MismatchError("the parts of the ciphertext are over different primes: encrypt it again");
}

Ciphertext Encryptor::zero(const SecretKey& sk, std::size_t limbs) {
  sk.check(*gadget_);
  const Basis basis = gadget_->q().prefix(limbs);
  Ciphertext c;
  c.key_id = sk.id();
  c.seed = rng_.next_public_seed();
  Poly<Eval> a = sample_uniform(basis, *c.seed, StreamObject::ciphertext);
  Poly<Eval> b = sample_error(basis.ring().degree(), rng_.next_seed()).lift(basis);
  Poly<Eval> t = sk.eval().prefix(limbs);
  mul(t, a, t);
  sub(b, b, t);
  t.wipe();
  c.parts.push_back(std::move(b));
  c.parts.push_back(std::move(a));
  return c;
}

Ciphertext Encryptor::zero(const PublicKey& pk, std::size_t limbs) {
  pk.check(*gadget_);
  const Basis basis = gadget_->q().prefix(limbs);
  const std::size_t n = basis.ring().degree();
  Ciphertext c;
  c.key_id = pk.key_id;
  Poly<Eval> v = sample_ternary(n, rng_.next_seed(), StreamObject::mask).lift(basis);
  for (const Poly<Eval>* half : {&pk.b, &pk.a}) {
    Poly<Eval> part = sample_error(n, rng_.next_seed()).lift(basis);
    mul_add(part, v, half->prefix(limbs));
    c.parts.push_back(std::move(part));
  }
  v.wipe();
  return c;
}

Poly<Eval> Decryptor::phase(const Ciphertext& c, const SecretKey& sk) const {
  c.check(*gadget_, 1, 3);
  sk.check(*gadget_);
  if (c.key_id != sk.id())
    throw MismatchError(
        "the ciphertext was made under another key (its key id differs from this secret "
        "key's): decrypt it with the secret key it was made under");
  Poly<Eval> s = sk.eval().prefix(c.limbs());
  // Horner in s: works for two and for three parts.
  Poly<Eval> m = c.parts.back();
  for (std::size_t i = c.parts.size() - 1; i-- > 0;) {
    mul(m, m, s);
    add(m, m, c.parts[i]);
  }
  s.wipe();
  return m;
}

double flood_deviation(double variance, std::size_t degree, double bits, u64 queries) noexcept {
  const double n = static_cast<double>(degree), floor = (1 + 2 * n / 3) / 12;
  return std::sqrt(12.0 * static_cast<double>(queries) * n * std::max(variance, floor)) * std::exp2(bits / 2);
}

void check_budget(double bits) {
  if (bits > 0) return;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", bits);
  throw LevelError(
      std::string("the predicted noise budget is ") + text +
      " bits, so the result may be wrong, and a wrong result tells of the key: compute less before "
      "decryption, use parameters with more primes, or decrypt with `anyway` what nobody else gets to see");
}

}  // namespace ringforge::rlwe
