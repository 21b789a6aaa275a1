// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Homomorphic operations on polynomials; what they do to noise, bounds and scales is in metadata.cpp.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "ref/arith.hpp"
#include "ringforge/ckks/ckks.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "ringforge/traffic.hpp"

namespace ringforge::ckks {

using rlwe::Digits;
using rlwe::Gadget;
using rlwe::key_product;
using rlwe::ModulusDrop;
using rlwe::switch_key;
using rlwe::SwitchingKey;

namespace {

std::string num(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", x);
  return text;
}

/// An operand in plain.
void check_plain(const Context& ctx, const Ciphertext& a, const Plaintext& p) {
  ctx.check(a);
  ctx.check(p);
  if (a.level() != p.level())
    throw LevelError("the plaintext has level " + std::to_string(p.level()) + ", the ciphertext " +
                     std::to_string(a.level()) + ": encode at the ciphertext's level");
}

void check_scales(double a, double b) {
  if (std::fabs(a / b - 1) > 0x1p-30)
    throw ScaleError("scales differ: 2^" + std::to_string(std::log2(a)) + " and 2^" + std::to_string(std::log2(b)) +
                     "; rescale, or multiply one side by 1 at a scale that makes them equal");
}

/// A result under the key of `a`, without polynomials.
Ciphertext result(const Ciphertext& a, const Metadata& known) {
  Ciphertext r{known};
  r.key_id = a.key_id;
  return r;
}

}  // namespace

void check_rescaled(const Parameters& params, const Metadata& r, double prime) {
  const double error = slot_error_bound(r.variance, params.degree()) / r.scale, least = params.spec().log_scale - 1;
  if (!(r.bound > 0) || error < r.bound || std::log2(r.scale) >= least) return;
  throw ScaleError("rescaling by a prime of 2^" + num(std::log2(prime)) + " would leave scale 2^" +
                   num(std::log2(r.scale)) + ", where the error is up to 2^" + num(std::log2(error)) +
                   " and values are bounded by 2^" + num(std::log2(r.bound)) +
                   ": nothing of them would be left. Encrypt at a scale near the primes' size, multiply by 1 at a " +
                   "larger scale before (mul_scalar), or use parameters whose primes are near the scale");
}

void Evaluator::check_pair(const Ciphertext& a, const Ciphertext& b) const {
  ctx_->check(a);
  ctx_->check(b);
  if (a.key_id != b.key_id) throw MismatchError("the two ciphertexts were made under different keys");
  if (a.level() != b.level())
    throw LevelError("levels differ: " + std::to_string(a.level()) + " and " + std::to_string(b.level()) +
                     "; drop the higher one with drop_to_level");
}

double Evaluator::rounding_variance() const noexcept { return MetadataRules(ctx_).rounding(); }

Ciphertext Evaluator::add(const Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  check_scales(a.scale, b.scale);
  Ciphertext r = result(a, MetadataRules(ctx_).sum(a, b));
  const Ciphertext& longer = a.parts.size() >= b.parts.size() ? a : b;
  const std::size_t common = std::min(a.parts.size(), b.parts.size());
  r.parts = longer.parts;
  for (std::size_t i = 0; i < common; ++i) ringforge::add(r.parts[i], a.parts[i], b.parts[i]);
  return r;
}

Ciphertext Evaluator::negate(const Ciphertext& a) const {
  ctx_->check(a);
  Ciphertext r = result(a, a);
  r.parts = a.parts;
  for (auto& p : r.parts) neg(p, p);
  return r;
}

Ciphertext Evaluator::sub(const Ciphertext& a, const Ciphertext& b) const { return add(a, negate(b)); }

Ciphertext Evaluator::add_plain(const Ciphertext& a, const Plaintext& p) const {
  check_plain(*ctx_, a, p);
  check_scales(a.scale, p.scale);
  Ciphertext r = result(a, MetadataRules(ctx_).plain_sum(a, p.scale, p.bound));
  r.parts = a.parts;
  ringforge::add(r.parts[0], r.parts[0], p.poly);
  return r;
}

Ciphertext Evaluator::sub_plain(const Ciphertext& a, const Plaintext& p) const {
  return negate(add_plain(negate(a), p));
}

Ciphertext Evaluator::add_scalar(const Ciphertext& a, double value) const {
  ctx_->check(a);
  const auto residues = ctx_->encode_constant(value, a.scale, a.level());
  Ciphertext r = result(a, MetadataRules(ctx_).number_sum(a, value));
  r.parts = a.parts;
  for (std::size_t i = 0; i < residues.size(); ++i)
    kernels::active().add_scalar(r.parts[0].limb(i), r.parts[0].limb(i), residues[i], r.parts[0].degree(),
                                 r.parts[0].basis()[i].mod());
  return r;
}

Ciphertext Evaluator::mul_plain(const Ciphertext& a, const Plaintext& p) const {
  check_plain(*ctx_, a, p);
  Ciphertext r = result(a, MetadataRules(ctx_).plain_product(a, p.scale, p.bound));
  for (const auto& part : a.parts) {
    r.parts.emplace_back(part.basis());
    ringforge::mul(r.parts.back(), part, p.poly);
  }
  count({.plain_mul = 1, .plaintext_bytes = p.poly.words().size() * sizeof(u64)});
  move_limbs(a.parts.size() * (a.level() + 1), a.parts.size() * (a.level() + 1), p.poly.degree());
  return r;
}

Ciphertext Evaluator::mul_scalar(const Ciphertext& a, double value, std::optional<double> scale) const {
  ctx_->check(a);
  const Basis& basis = a.parts[0].basis();
  const double s = scale.value_or(static_cast<double>(basis[basis.size() - 1].value()));
  const auto residues = ctx_->encode_constant(value, s, a.level());
  Ciphertext r = result(a, MetadataRules(ctx_).number_product(a, value, s));
  r.parts = a.parts;
  for (auto& part : r.parts)
    for (std::size_t i = 0; i < residues.size(); ++i)
      kernels::active().mul_scalar(part.limb(i), part.limb(i), kernels::make_factor(residues[i], basis[i].mod()),
                                   part.degree(), basis[i].mod());
  return r;
}

Ciphertext Evaluator::mul(const Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  if (a.parts.size() != 2 || b.parts.size() != 2)
    throw ShapeError("a product needs operands of two parts: relinearize first");
  Ciphertext r = result(a, MetadataRules(ctx_).product(a, b));
  const Basis& basis = a.parts[0].basis();
  for (int i = 0; i < 3; ++i) r.parts.emplace_back(basis);
  ringforge::mul(r.parts[0], a.parts[0], b.parts[0]);
  ringforge::mul(r.parts[1], a.parts[0], b.parts[1]);
  mul_add(r.parts[1], a.parts[1], b.parts[0]);
  ringforge::mul(r.parts[2], a.parts[1], b.parts[1]);
  move_limbs(4 * basis.size(), 3 * basis.size(), basis.ring().degree());
  return r;
}

Ciphertext Evaluator::relinearize(const Ciphertext& a, const RelinKey& key) const {
  ctx_->check(a);
  key.key.check(ctx_->gadget(), a.level() + 1);
  if (a.parts.size() == 2) return a;
  if (key.key.key_id != a.key_id)
    throw MismatchError(
        "the relinearisation key belongs to another secret key than the ciphertext: use keys made "
        "together");
  const Gadget& gadget = ctx_->gadget();
  const std::size_t limbs = a.level() + 1;
  Poly<Eval> u0(gadget.extended(limbs)), u1(gadget.extended(limbs));
  switch_key(u0, u1, a.parts[2], key.key, gadget, threads_);
  Ciphertext r = result(a, MetadataRules(ctx_).switched(a, limbs));
  r.parts.push_back(gadget.mod_down(limbs).apply(u0, threads_));
  r.parts.push_back(gadget.mod_down(limbs).apply(u1, threads_));
  ringforge::add(r.parts[0], r.parts[0], a.parts[0]);
  ringforge::add(r.parts[1], r.parts[1], a.parts[1]);
  return r;
}

Ciphertext Evaluator::rescale(const Ciphertext& a) const {
  ctx_->check(a);
  if (a.level() == 0)
    throw LevelError("the ciphertext is at level 0 and cannot be rescaled: choose parameters with more primes");
  const ModulusDrop& drop = ctx_->gadget().rescale(a.level() + 1);
  Ciphertext r = result(a, MetadataRules(ctx_).rescaled(a, a.level() + 1, a.parts.size()));
  check_rescaled(ctx_->params(), r, static_cast<double>(drop.input()[a.level()].value()));
  for (const auto& part : a.parts) r.parts.push_back(drop.apply(part, threads_));
  return r;
}

Ciphertext Evaluator::drop_to_level(const Ciphertext& a, std::size_t level) const {
  ctx_->check(a);
  if (level > a.level())
    throw LevelError("cannot raise a ciphertext from level " + std::to_string(a.level()) + " to " +
                     std::to_string(level));
  Ciphertext r = result(a, a);
  for (const auto& part : a.parts) r.parts.push_back(part.prefix(level + 1));
  return r;
}

std::shared_ptr<const SwitchingKey> Evaluator::rotation_key(const GaloisKeys& keys, u64 element, i64 step) const {
  if (keys.contains(element)) return keys.at(element);
  std::string have;
  const auto slots = static_cast<i64>(ctx_->params().slots());
  for (i64 s = 1, shown = 0; s < slots && shown <= 8; ++s)
    if (keys.contains(ctx_->rotation_element(s)))
      have += shown++ < 8 ? (have.empty() ? "" : ", ") + std::to_string(s) : std::string(", ...");
  throw MissingKeyError("rotation by " + std::to_string(step) + " needs a Galois key; this key set has " +
                        (have.empty() ? std::string("none for rotations") : "those for " + have));
}

Ciphertext Evaluator::switch_and_map(const Ciphertext& a, const Digits* digits, u64 element,
                                     const SwitchingKey& key) const {
  const Gadget& gadget = ctx_->gadget();
  key.check(gadget, a.level() + 1);
  if (key.key_id != a.key_id)
    throw MismatchError("the Galois key belongs to another secret key than the ciphertext: use keys made together");
  const std::size_t limbs = a.level() + 1;
  Poly<Eval> u0(gadget.extended(limbs)), u1(gadget.extended(limbs));
  if (digits != nullptr)
    key_product(u0, u1, *digits, key, gadget, false, threads_);
  else
    switch_key(u0, u1, a.parts[1], key, gadget, threads_);
  Poly<Eval> v0 = gadget.mod_down(limbs).apply(u0, threads_);
  const Poly<Eval> v1 = gadget.mod_down(limbs).apply(u1, threads_);
  ringforge::add(v0, v0, a.parts[0]);
  Ciphertext r = result(a, MetadataRules(ctx_).switched(a, limbs));
  r.parts.push_back(automorphism(v0, element));
  r.parts.push_back(automorphism(v1, element));
  count({.rotation = 1});
  return r;
}

Ciphertext Evaluator::apply_galois(const Ciphertext& a, u64 element, const GaloisKeys& keys) const {
  ctx_->check(a);
  if (a.parts.size() != 2) throw ShapeError("a rotation needs a ciphertext of two parts: relinearize first");
  if (element == 1) return a;
  return switch_and_map(a, nullptr, element, *keys.at(element));
}

Ciphertext Evaluator::rotate(const Ciphertext& a, i64 step, const GaloisKeys& keys) const {
  ctx_->check(a);
  if (a.parts.size() != 2) throw ShapeError("a rotation needs a ciphertext of two parts: relinearize first");
  const u64 element = ctx_->rotation_element(step);
  return element == 1 ? a : switch_and_map(a, nullptr, element, *rotation_key(keys, element, step));
}

Ciphertext Evaluator::conjugate(const Ciphertext& a, const GaloisKeys& keys) const {
  if (!keys.contains(ctx_->conjugation_element()))
    throw MissingKeyError("conjugation needs the Galois key of element " + std::to_string(ctx_->conjugation_element()) +
                          ", which this key set lacks");
  return apply_galois(a, ctx_->conjugation_element(), keys);
}

Ciphertext Evaluator::replicate(const Ciphertext& a, std::span<const i64> steps, const GaloisKeys& keys) const {
  ctx_->check(a);
  const GaloisKeys held(keys);
  Ciphertext r = a;
  for (const i64 step : steps) r = add(r, rotate(r, step, held));
  static_cast<Metadata&>(r) = MetadataRules(ctx_).replicated(a, a.level() + 1, steps.size());
  return r;
}

Ciphertext Evaluator::double_real(const Ciphertext& a, const GaloisKeys& keys) const {
  Ciphertext r = add(a, conjugate(a, keys));
  static_cast<Metadata&>(r) = MetadataRules(ctx_).doubled_real(a, a.level() + 1);
  return r;
}

std::vector<Ciphertext> Evaluator::rotate_hoisted(const Ciphertext& a, std::span<const i64> steps,
                                                  const GaloisKeys& keys) const {
  ctx_->check(a);
  if (a.parts.size() != 2) throw ShapeError("a rotation needs a ciphertext of two parts: relinearize first");
  const GaloisKeys held(keys);
  std::vector<Ciphertext> out;
  std::optional<Digits> digits;
  for (const i64 step : steps) {
    const u64 element = ctx_->rotation_element(step);
    if (element == 1) {
      out.push_back(a);
      continue;
    }
    const auto key = rotation_key(held, element, step);
    if (!digits) digits.emplace(a.parts[1], ctx_->gadget(), threads_);
    out.push_back(switch_and_map(a, &*digits, element, *key));
  }
  return out;
}

}  // namespace ringforge::ckks
