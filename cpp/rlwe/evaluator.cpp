// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/rlwe/evaluator.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/traffic.hpp"

namespace ringforge::rlwe {
namespace {

/// A result under the key of `a`, without polynomials.
Ciphertext under_key_of(const Ciphertext& a) {
  Ciphertext r;
  r.key_id = a.key_id;
  r.parts.reserve(a.parts.size());
  return r;
}

}  // namespace

void Evaluator::check(const Ciphertext& c) const { c.check(*gadget_, 1, 3); }

void Evaluator::check_pair(const Ciphertext& a, const Ciphertext& b) const {
  check(a);
  check(b);
  if (a.key_id != b.key_id) throw MismatchError("the two ciphertexts were made under different keys");
  if (a.limbs() != b.limbs())
    throw LevelError("levels differ: " + std::to_string(a.level()) + " and " + std::to_string(b.level()) +
                     "; drop the higher one with drop_to_level");
}

void Evaluator::check_plain(const Ciphertext& a, const Poly<Eval>& p) const {
  check(a);
  gadget_->check_level(p.basis(), "the plaintext", "encode the values with this context");
  if (a.limbs() != p.limbs())
    throw LevelError("the plaintext has level " + std::to_string(p.limbs() - 1) + ", the ciphertext " +
                     std::to_string(a.level()) + ": encode at the ciphertext's level");
}

void Evaluator::check_two(const Ciphertext& a, const char* what) const {
  check(a);
  if (a.parts.size() != 2) throw ShapeError(std::string(what) + " of two parts: relinearize first");
}

void Evaluator::check_constant(const Ciphertext& a, std::span<const u64> residues) const {
  check(a);
  if (residues.size() != a.limbs())
    throw ShapeError("a constant of " + std::to_string(residues.size()) + " residues, the ciphertext has " +
                     std::to_string(a.limbs()) + " limbs: give one for each");
}

// ---- sums -----------------------------------------------------------------------------------------

Ciphertext Evaluator::add(const Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  Ciphertext r = under_key_of(a.parts.size() >= b.parts.size() ? a : b);
  const std::size_t common = std::min(a.parts.size(), b.parts.size());
  for (std::size_t i = 0; i < common; ++i)
    ringforge::add(r.parts.emplace_back(a.parts[i].basis()), a.parts[i], b.parts[i]);
  for (std::size_t i = common; i < a.parts.size(); ++i) r.parts.push_back(a.parts[i]);
  for (std::size_t i = common; i < b.parts.size(); ++i) r.parts.push_back(b.parts[i]);
  return r;
}

Ciphertext Evaluator::sub(const Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  Ciphertext r = under_key_of(a.parts.size() >= b.parts.size() ? a : b);
  const std::size_t common = std::min(a.parts.size(), b.parts.size());
  for (std::size_t i = 0; i < common; ++i)
    ringforge::sub(r.parts.emplace_back(a.parts[i].basis()), a.parts[i], b.parts[i]);
  for (std::size_t i = common; i < a.parts.size(); ++i) r.parts.push_back(a.parts[i]);
  for (std::size_t i = common; i < b.parts.size(); ++i) neg(r.parts.emplace_back(b.parts[i].basis()), b.parts[i]);
  return r;
}

Ciphertext Evaluator::negate(const Ciphertext& a) const {
  check(a);
  Ciphertext r = under_key_of(a);
  for (const auto& part : a.parts) neg(r.parts.emplace_back(part.basis()), part);
  return r;
}

void Evaluator::add_in_place(Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  const std::size_t common = std::min(a.parts.size(), b.parts.size());
  for (std::size_t i = common; i < b.parts.size(); ++i) a.parts.push_back(b.parts[i]);
  for (std::size_t i = 0; i < common; ++i) ringforge::add(a.parts[i], a.parts[i], b.parts[i]);
  a.seed.reset();
}

void Evaluator::sub_in_place(Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  const std::size_t common = std::min(a.parts.size(), b.parts.size());
  for (std::size_t i = common; i < b.parts.size(); ++i) {
    a.parts.push_back(b.parts[i]);
    neg(a.parts[i], a.parts[i]);
  }
  for (std::size_t i = 0; i < common; ++i) ringforge::sub(a.parts[i], a.parts[i], b.parts[i]);
  a.seed.reset();
}

void Evaluator::negate_in_place(Ciphertext& a) const {
  check(a);
  for (auto& part : a.parts) neg(part, part);
  a.seed.reset();
}

Ciphertext Evaluator::add_plain(const Ciphertext& a, const Poly<Eval>& p) const {
  check_plain(a, p);
  Ciphertext r = under_key_of(a);
  ringforge::add(r.parts.emplace_back(p.basis()), a.parts[0], p);
  r.parts.insert(r.parts.end(), a.parts.begin() + 1, a.parts.end());
  return r;
}

Ciphertext Evaluator::sub_plain(const Ciphertext& a, const Poly<Eval>& p) const {
  check_plain(a, p);
  Ciphertext r = under_key_of(a);
  ringforge::sub(r.parts.emplace_back(p.basis()), a.parts[0], p);
  r.parts.insert(r.parts.end(), a.parts.begin() + 1, a.parts.end());
  return r;
}

Ciphertext Evaluator::add_constant(const Ciphertext& a, std::span<const u64> residues) const {
  check_constant(a, residues);
  const Basis& basis = a.parts[0].basis();
  Ciphertext r = under_key_of(a);
  Poly<Eval>& sum = r.parts.emplace_back(basis);
  // In Eval form a constant is the same in every slot.
  for (std::size_t i = 0; i < residues.size(); ++i)
    kernels::active().add_scalar(sum.limb(i), a.parts[0].limb(i), residues[i], basis.ring().transform_length(),
                                 basis[i].mod());
  r.parts.insert(r.parts.end(), a.parts.begin() + 1, a.parts.end());
  return r;
}

// ---- products -------------------------------------------------------------------------------------

Ciphertext Evaluator::mul_plain(const Ciphertext& a, const Poly<Eval>& p) const {
  check_plain(a, p);
  Ciphertext r = under_key_of(a);
  for (const auto& part : a.parts) ringforge::mul(r.parts.emplace_back(part.basis()), part, p);
  count({.plain_mul = 1, .plaintext_bytes = p.words().size() * sizeof(u64)});
  move_limbs(a.parts.size() * a.limbs(), a.parts.size() * a.limbs(), p.basis().ring().transform_length());
  return r;
}

Ciphertext Evaluator::mul_constant(const Ciphertext& a, std::span<const u64> residues) const {
  check_constant(a, residues);
  const Basis& basis = a.parts[0].basis();
  Ciphertext r = under_key_of(a);
  for (const auto& part : a.parts) {
    Poly<Eval>& product = r.parts.emplace_back(basis);
    for (std::size_t i = 0; i < residues.size(); ++i)
      kernels::active().mul_scalar(product.limb(i), part.limb(i), kernels::make_factor(residues[i], basis[i].mod()),
                                   basis.ring().transform_length(), basis[i].mod());
  }
  return r;
}

Ciphertext Evaluator::mul(const Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  if (a.parts.size() != 2 || b.parts.size() != 2)
    throw ShapeError("a product needs operands of two parts: relinearize first");
  const Basis& basis = a.parts[0].basis();
  Ciphertext r;
  r.key_id = a.key_id;
  for (int i = 0; i < 3; ++i) r.parts.emplace_back(basis);
  ringforge::mul(r.parts[0], a.parts[0], b.parts[0]);
  ringforge::mul(r.parts[1], a.parts[0], b.parts[1]);
  mul_add(r.parts[1], a.parts[1], b.parts[0]);
  ringforge::mul(r.parts[2], a.parts[1], b.parts[1]);
  move_limbs(4 * basis.size(), 3 * basis.size(), basis.ring().transform_length());
  return r;
}

// ---- key switching --------------------------------------------------------------------------------

Ciphertext Evaluator::switched(const Poly<Eval>& c, const Digits* digits, const SwitchingKey& key,
                               const AfterSwitch& then) const {
  Ciphertext r;
  r.key_id = key.key_id;
  if (gadget_->p().size() > 0) {
    auto [v0, v1] = switch_and_divide(c, digits, key, *gadget_, then, threads_);
    r.parts.push_back(std::move(v0));
    r.parts.push_back(std::move(v1));
    return r;
  }
  for (int part = 0; part < 2; ++part) r.parts.emplace_back(gadget_->extended(c.limbs()));
  if (digits != nullptr)
    key_product(r.parts[0], r.parts[1], *digits, key, *gadget_, false, threads_);
  else
    switch_key(r.parts[0], r.parts[1], c, key, *gadget_, threads_);
  for (std::size_t part = 0; part < 2; ++part) {
    Poly<Eval>& v = r.parts[part];
    if (then.add[part] != nullptr) ringforge::add(v, v, *then.add[part]);
    if (then.element != 1) v = automorphism(v, then.element);
    if (then.rescale) v = gadget_->rescale(v.limbs()).apply(v, threads_);
  }
  return r;
}

Ciphertext Evaluator::relinearize(const Ciphertext& a, const RelinKey& relin, bool rescale) const {
  const SwitchingKey& key = relin.key();
  check(a);
  key.check(*gadget_, a.limbs());
  if (rescale && a.limbs() == 1)
    throw LevelError("a ciphertext of 1 limb cannot be divided by its last prime: one must stay");
  if (a.parts.size() < 3) return rescale ? divide(a) : a;
  if (key.key_id != a.key_id)
    throw MismatchError(
        "the relinearisation key belongs to another secret key than the ciphertext: use keys made "
        "together");
  return switched(a.parts[2], nullptr, key, {{&a.parts[0], &a.parts[1]}, 1, rescale});
}

Ciphertext Evaluator::switch_to(const Ciphertext& a, const SwitchingKey& key) const {
  check_two(a, "a key switch needs a ciphertext");
  key.check(*gadget_, a.limbs());
  return switched(a.parts[1], nullptr, key, {{&a.parts[0]}});
}

Ciphertext Evaluator::switch_and_map(const Ciphertext& a, const Digits* digits, u64 element,
                                     const SwitchingKey& key) const {
  check_two(a, "a rotation needs a ciphertext");
  key.check(*gadget_, a.limbs());
  if (key.key_id != a.key_id)
    throw MismatchError("the Galois key belongs to another secret key than the ciphertext: use keys made together");
  if (digits != nullptr && digits->limbs() != a.limbs())
    throw MismatchError("the digits have " + std::to_string(digits->limbs()) + " limbs, the ciphertext " +
                        std::to_string(a.limbs()) + ": make them with hoist from this ciphertext");
  count({.rotation = 1});
  return switched(a.parts[1], digits, key, {{&a.parts[0]}, element});
}

Ciphertext Evaluator::map(const Ciphertext& a, u64 element, const SwitchingKey& key) const {
  return switch_and_map(a, nullptr, element, key);
}

Ciphertext Evaluator::map(const Ciphertext& a, const Digits& digits, u64 element, const SwitchingKey& key) const {
  return switch_and_map(a, &digits, element, key);
}

Ciphertext Evaluator::map(const Ciphertext& a, u64 element, const GaloisKeys& keys) const {
  check_two(a, "a rotation needs a ciphertext");
  if (element == 1) return a;
  return switch_and_map(a, nullptr, element, *keys.at(element));
}

Digits Evaluator::hoist(const Ciphertext& a) const {
  check_two(a, "a rotation needs a ciphertext");
  return {a.parts[1], *gadget_, threads_};
}

// ---- fewer limbs ----------------------------------------------------------------------------------

Ciphertext Evaluator::divide(const Ciphertext& a, std::size_t count) const {
  check(a);
  if (count < 1 || count >= a.limbs())
    throw LevelError("a ciphertext of " + std::to_string(a.limbs()) + " limbs cannot be divided by its last " +
                     std::to_string(count) + " primes: one must go and one must stay");
  std::optional<ModulusDrop> made;
  const ModulusDrop& drop = count == 1 ? gadget_->rescale(a.limbs()) : made.emplace(a.parts[0].basis(), count);
  Ciphertext r = under_key_of(a);
  for (const auto& part : a.parts) r.parts.push_back(drop.apply(part, threads_));
  return r;
}

Ciphertext Evaluator::drop_to(const Ciphertext& a, std::size_t limbs) const {
  check(a);
  if (limbs < 1 || limbs > a.limbs())
    throw LevelError("a ciphertext of " + std::to_string(a.limbs()) + " limbs cannot be brought to " +
                     std::to_string(limbs));
  Ciphertext r = under_key_of(a);
  for (const auto& part : a.parts) r.parts.push_back(part.prefix(limbs));
  return r;
}

}  // namespace ringforge::rlwe
