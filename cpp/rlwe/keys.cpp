// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/rlwe/keys.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "ringforge/constant_time.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::rlwe {

SecretKey::SecretKey(const Basis& basis, Randomness& rng)
    : coeffs_(sample_ternary(basis.ring().degree(), rng.next_seed(), StreamObject::secret)),
      eval_(coeffs_.lift(basis)) {
  SecretSeed name = rng.next_seed();
  std::memcpy(&id_, name.data(), sizeof(id_));
  declassify(&id_, sizeof(id_));  // a public name, drawn apart from the secret
}

SecretKey::SecretKey(const Basis& basis, SmallPoly&& coeffs, u64 id) : coeffs_(std::move(coeffs)), id_(id) {
  if (coeffs_.coeffs().size() != basis.ring().degree())
    throw FormatError("secret key has " + std::to_string(coeffs_.coeffs().size()) + " coefficients, " +
                      std::to_string(basis.ring().degree()) + " are needed");
  if (declassified(!within(coeffs_.coeffs(), -1, 1)))  // of no secret key that is one
    throw FormatError("a secret key has coefficients outside {-1, 0, 1}");
  eval_ = coeffs_.lift(basis);
}

void SecretKey::check(const Gadget& gadget) const {
  gadget.check_all(eval_.basis(), "the secret key", "use the parameters it was made with");
}

PublicKey PublicKey::make(const SecretKey& sk, const Gadget& gadget, Randomness& rng) {
  sk.check(gadget);
  const Basis& basis = gadget.all();
  PublicKey pk;
  pk.key_id = sk.id();
  pk.seed = rng.next_public_seed();
  pk.a = sample_uniform(basis, pk.seed, StreamObject::public_key);
  pk.b = sample_error(basis.ring().degree(), rng.next_seed()).lift(basis);
  Poly<Eval> t(basis);
  mul(t, pk.a, sk.eval());
  sub(pk.b, pk.b, t);
  t.wipe();
  return pk;
}

void PublicKey::check(const Gadget& gadget) const {
  for (const auto* half : {&b, &a})
    gadget.check_all(half->basis(), "the public key", "use the parameters it was made with");
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
  const std::size_t n = ext.ring().transform_length(), digits = gadget.digits(limbs), q_all = gadget.q().size();
  const Basis& all = gadget.extended(q_all);
  if (!(from.basis() == all) || !(to.basis() == all))
    throw MismatchError("the secret key belongs to other parameters: it has " + std::to_string(to.limbs()) +
                        " limbs of degree " + std::to_string(to.degree()) + ", " + std::to_string(all.size()) +
                        " of degree " + std::to_string(ext.ring().degree()) + " are needed, over the same primes");
  SwitchingKey key;
  key.key_id = key_id;
  key.limbs = limbs;
  key.spec = gadget.spec();
  key.seed = rng.next_public_seed();
  key.a = expand(key.seed, gadget, limbs, threads);
  key.b.resize(digits);
  const SecretSeed errors = rng.next_seed();
  parallel_for(threads, digits, [&](std::size_t d) {
    const auto& kern = kernels::active();
    Poly<Eval> b = sample_error(ext.ring().degree(), errors, static_cast<u32>(d)).lift(ext);
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

}  // namespace ringforge::rlwe
