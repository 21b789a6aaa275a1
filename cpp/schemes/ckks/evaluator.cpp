// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Homomorphic operations on polynomials; what they do to noise, bounds and scales is in metadata.cpp.
#include <cmath>
#include <string>

#include "decimal.hpp"
#include "ringforge/ckks/ckks.hpp"
#include "ringforge/error.hpp"

namespace ringforge::ckks {

using rlwe::SwitchingKey;

namespace {

void check_scales(double a, double b) {
  if (std::fabs(a / b - 1) > 0x1p-30)
    throw ScaleError("scales differ: 2^" + std::to_string(std::log2(a)) + " and 2^" + std::to_string(std::log2(b)) +
                     "; rescale, or multiply one side by 1 at a scale that makes them equal");
}

}  // namespace

void check_rescaled(const Parameters& params, const Metadata& r, double prime) {
  const double error = slot_error_bound(r.variance, params.degree()) / r.scale, least = params.spec().log_scale - 1;
  if (!(r.bound > 0) || error < r.bound || std::log2(r.scale) >= least) return;
  throw ScaleError("rescaling by a prime of 2^" + decimal(std::log2(prime)) + " would leave scale 2^" +
                   decimal(std::log2(r.scale)) + ", where the error is up to 2^" + decimal(std::log2(error)) +
                   " and values are bounded by 2^" + decimal(std::log2(r.bound)) +
                   ": nothing of them would be left. Encrypt at a scale near the primes' size, multiply by 1 at a " +
                   "larger scale before (mul_scalar), or use parameters whose primes are near the scale");
}

void Evaluator::check_sum(const Ciphertext& a, const Ciphertext& b) const {
  poly_.check_pair(a, b);
  check_scales(a.scale, b.scale);
}

void Evaluator::check_sum(const Ciphertext& a, const Plaintext& p) const {
  poly_.check_plain(a, p.poly);
  check_scales(a.scale, p.scale);
}

Ciphertext Evaluator::add(const Ciphertext& a, const Ciphertext& b) const {
  check_sum(a, b);
  return {rules_.sum(a, b), poly_.add(a, b)};
}

Ciphertext Evaluator::sub(const Ciphertext& a, const Ciphertext& b) const {
  check_sum(a, b);
  return {rules_.sum(a, b), poly_.sub(a, b)};
}

void Evaluator::add_in_place(Ciphertext& a, const Ciphertext& b) const {
  check_sum(a, b);
  const Metadata known = rules_.sum(a, b);
  poly_.add_in_place(a, b);
  static_cast<Metadata&>(a) = known;
}

void Evaluator::sub_in_place(Ciphertext& a, const Ciphertext& b) const {
  check_sum(a, b);
  const Metadata known = rules_.sum(a, b);
  poly_.sub_in_place(a, b);
  static_cast<Metadata&>(a) = known;
}

Ciphertext Evaluator::negate(const Ciphertext& a) const { return {a, poly_.negate(a)}; }

Ciphertext Evaluator::add_plain(const Ciphertext& a, const Plaintext& p) const {
  check_sum(a, p);
  return {rules_.plain_sum(a, p.scale, p.bound), poly_.add_plain(a, p.poly)};
}

Ciphertext Evaluator::sub_plain(const Ciphertext& a, const Plaintext& p) const {
  check_sum(a, p);
  return {rules_.plain_sum(a, p.scale, p.bound), poly_.sub_plain(a, p.poly)};
}

Ciphertext Evaluator::add_scalar(const Ciphertext& a, double value) const {
  ctx_->check(a);
  const auto residues = ctx_->encode_constant(value, a.scale, a.level());
  return {rules_.number_sum(a, value), poly_.add_constant(a, residues)};
}

Ciphertext Evaluator::mul_plain(const Ciphertext& a, const Plaintext& p) const {
  return {rules_.plain_product(a, p.scale, p.bound), poly_.mul_plain(a, p.poly)};
}

Ciphertext Evaluator::mul_scalar(const Ciphertext& a, double value, std::optional<double> scale) const {
  ctx_->check(a);
  const double s = scale.value_or(static_cast<double>(ctx_->gadget().q()[a.level()].value()));
  const auto residues = ctx_->encode_constant(value, s, a.level());
  return {rules_.number_product(a, value, s), poly_.mul_constant(a, residues)};
}

Ciphertext Evaluator::mul(const Ciphertext& a, const Ciphertext& b) const {
  return {rules_.product(a, b), poly_.mul(a, b)};
}

Ciphertext Evaluator::relinearize(const Ciphertext& a, const RelinKey& key) const {
  ctx_->check(a);
  const Metadata known = a.parts.size() == 2 ? static_cast<const Metadata&>(a) : rules_.switched(a, a.limbs());
  return {known, poly_.relinearize(a, key)};
}

Ciphertext Evaluator::rescale(const Ciphertext& a) const {
  ctx_->check(a);
  if (a.level() == 0)
    throw LevelError("the ciphertext is at level 0 and cannot be rescaled: choose parameters with more primes");
  const Metadata known = rules_.rescaled(a, a.limbs(), a.parts.size());
  check_rescaled(ctx_->params(), known, static_cast<double>(ctx_->gadget().q()[a.level()].value()));
  return {known, poly_.divide(a)};
}

Ciphertext Evaluator::drop_to_level(const Ciphertext& a, std::size_t level) const {
  ctx_->check(a);
  if (level > a.level())
    throw LevelError("cannot raise a ciphertext from level " + std::to_string(a.level()) + " to " +
                     std::to_string(level));
  return {a, poly_.drop_to(a, level + 1)};
}

Ciphertext Evaluator::read_as(const Ciphertext& a, double scale, double bound) const {
  ctx_->check(a);
  Ciphertext r = a;
  static_cast<Metadata&>(r) = rules_.read_as(a, scale, bound);
  r.seed.reset();
  return r;
}

Ciphertext Evaluator::apply_galois(const Ciphertext& a, u64 element, const GaloisKeys& keys) const {
  rlwe::Ciphertext mapped = poly_.map(a, element, keys);
  const Metadata known = element == 1 ? static_cast<const Metadata&>(a) : rules_.switched(a, a.limbs());
  return {known, std::move(mapped)};
}

Ciphertext Evaluator::rotate(const Ciphertext& a, i64 step, const GaloisKeys& keys) const {
  ctx_->check(a);
  if (a.parts.size() != 2) throw ShapeError("a rotation needs a ciphertext of two parts: relinearize first");
  const u64 element = ctx_->rotation_element(step);
  if (element == 1) return a;
  return {rules_.switched(a, a.limbs()), poly_.map(a, element, *rlwe::rotation_key(keys, ctx_->ring(), step))};
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
  for (const i64 step : steps) add_in_place(r, rotate(r, step, held));
  static_cast<Metadata&>(r) = rules_.replicated(a, a.limbs(), steps.size());
  return r;
}

Ciphertext Evaluator::double_real(const Ciphertext& a, const GaloisKeys& keys) const {
  Ciphertext r = conjugate(a, keys);
  add_in_place(r, a);
  static_cast<Metadata&>(r) = rules_.doubled_real(a, a.limbs());
  return r;
}

std::vector<Ciphertext> Evaluator::rotate_hoisted(const Ciphertext& a, std::span<const i64> steps,
                                                  const GaloisKeys& keys) const {
  ctx_->check(a);
  if (a.parts.size() != 2) throw ShapeError("a rotation needs a ciphertext of two parts: relinearize first");
  const GaloisKeys held(keys);
  std::vector<Ciphertext> out;
  const Metadata known = rules_.switched(a, a.limbs());
  std::optional<rlwe::Digits> digits;
  for (const i64 step : steps) {
    const u64 element = ctx_->rotation_element(step);
    if (element == 1) {
      out.push_back(a);
      continue;
    }
    const auto key = rlwe::rotation_key(held, ctx_->ring(), step);
    if (!digits) digits.emplace(poly_.hoist(a));
    out.emplace_back(known, poly_.map(a, *digits, element, *key));
  }
  return out;
}

}  // namespace ringforge::ckks
