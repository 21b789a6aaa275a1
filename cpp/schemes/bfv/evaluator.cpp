// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Homomorphic operations; what they do to noise is in noise.cpp, products are in products.cpp.
#include <algorithm>
#include <array>
#include <string>

#include "products.hpp"
#include "ref/arith.hpp"
#include "ringforge/bfv/bfv.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::bfv {

namespace {

void check_two(const Ciphertext& a, const Context& ctx) {
  ctx.check(a);
  if (a.parts.size() != 2) throw ShapeError("a rotation needs a ciphertext of two parts: relinearize first");
}

}  // namespace

double Evaluator::budget(const Ciphertext& c) const {
  ctx_->check(c);
  return rules().budget(c, c.limbs());
}

// ---- sums -----------------------------------------------------------------------------------------

void Evaluator::check_pair(const Ciphertext& a, const Ciphertext& b) const {
  ctx_->check(a);
  ctx_->check(b);
  poly_.check_pair(a, b);
}

Ciphertext Evaluator::add(const Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  return made(rules().sum(a, b), poly_.add(a, b));
}

Ciphertext Evaluator::sub(const Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  return made(rules().sum(a, b), poly_.sub(a, b));
}

Ciphertext Evaluator::negate(const Ciphertext& a) const {
  ctx_->check(a);
  return made(a.noise(), poly_.negate(a));
}

void Evaluator::add_in_place(Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  const Noise known = rules().sum(a, b);
  poly_.add_in_place(a, b);
  static_cast<Noise&>(a) = known;
}

void Evaluator::sub_in_place(Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  const Noise known = rules().sum(a, b);
  poly_.sub_in_place(a, b);
  static_cast<Noise&>(a) = known;
}

void Evaluator::negate_in_place(Ciphertext& a) const {
  ctx_->check(a);
  poly_.negate_in_place(a);
}

void Evaluator::add_plain_in_place(Ciphertext& a, const Plaintext& p) const {
  ctx_->check(a);
  const Poly<Eval> scaled = ctx_->scaled(p, a.limbs(), threads());
  ringforge::add(a.parts[0], a.parts[0], scaled);
  static_cast<Noise&>(a) = rules().plain_sum(a);
}

void Evaluator::sub_plain_in_place(Ciphertext& a, const Plaintext& p) const {
  ctx_->check(a);
  const Poly<Eval> scaled = ctx_->scaled(p, a.limbs(), threads());
  ringforge::sub(a.parts[0], a.parts[0], scaled);
  static_cast<Noise&>(a) = rules().plain_sum(a);
}

Ciphertext Evaluator::add_plain(const Ciphertext& a, const Plaintext& p) const {
  ctx_->check(a);
  return made(rules().plain_sum(a), poly_.add_plain(a, ctx_->scaled(p, a.limbs(), threads())));
}

Ciphertext Evaluator::sub_plain(const Ciphertext& a, const Plaintext& p) const {
  ctx_->check(a);
  return made(rules().plain_sum(a), poly_.sub_plain(a, ctx_->scaled(p, a.limbs(), threads())));
}

// As Context::scaled of the constant polynomial, which has the same value in every word of Eval form.
Ciphertext Evaluator::add_constant(const Ciphertext& a, i64 value) const {
  ctx_->check(a);
  const auto t = static_cast<i64>(ctx_->t());
  i64 w = -(value % t);
  for (std::size_t i = 0; i < a.limbs(); ++i) w = w * static_cast<i64>(ctx_->gadget().q()[i].value() % ctx_->t()) % t;
  std::vector<u64> scaled = residues(w, a.limbs());
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    const auto& m = ctx_->gadget().q()[i].mod();
    scaled[i] = arith::mul(scaled[i], arith::inverse(arith::reduce64(ctx_->t(), m), m), m);
  }
  return made(rules().constant_sum(a), poly_.add_constant(a, scaled));
}

// ---- plain products -------------------------------------------------------------------------------

Ciphertext Evaluator::mul_plain(const Ciphertext& a, const Plaintext& p) const {
  ctx_->check(a);
  return mul_plain(a, ctx_->multiplier(p, a.limbs(), threads()));
}

Ciphertext Evaluator::mul_plain(const Ciphertext& a, const Multiplier& m) const {
  ctx_->check(a);
  ctx_->check(m);
  if (m.poly.limbs() < a.limbs())
    throw LevelError("the multiplier has " + std::to_string(m.poly.limbs()) + " limbs, the ciphertext " +
                     std::to_string(a.limbs()) + ": make it for as many");
  const Noise known = rules().plain_product(a, m.log_norm, m.log_peak);
  if (m.poly.limbs() == a.limbs()) return made(known, poly_.mul_plain(a, m.poly));
  return made(known, poly_.mul_plain(a, m.poly.prefix(a.limbs())));
}

/// Of the centred residue modulo t.
std::vector<u64> Evaluator::residues(i64 value, std::size_t limbs) const {
  const auto t = static_cast<i64>(ctx_->t());
  i64 centred = value % t;
  if (2 * centred > t) centred -= t;
  if (2 * centred < -t) centred += t;
  std::vector<u64> out;
  for (std::size_t i = 0; i < limbs; ++i) {
    const auto& m = ctx_->gadget().q()[i].mod();
    const u64 size = arith::reduce64(static_cast<u64>(centred < 0 ? -centred : centred), m);
    out.push_back(centred < 0 ? arith::neg(size, m.q) : size);
  }
  return out;
}

Ciphertext Evaluator::mul_constant(const Ciphertext& a, i64 value) const {
  ctx_->check(a);
  return made(rules().constant_product(a, value), poly_.mul_constant(a, residues(value, a.limbs())));
}

Ciphertext Evaluator::combine(std::span<const Ciphertext* const> terms, std::span<const i64> values) const {
  constexpr std::size_t kMost = 64;  // terms of a base conversion, which is a combination modulo one prime
  if (terms.empty() || terms.size() > kMost || terms.size() != values.size())
    throw ShapeError("a combination has 1 to 64 ciphertexts and a factor for each, not " +
                     std::to_string(terms.size()) + " and " + std::to_string(values.size()));
  std::size_t parts = 0;
  std::vector<Noise> noises;
  for (const Ciphertext* c : terms) {
    check_pair(*terms[0], *c);
    parts = std::max(parts, c->parts.size());
    noises.push_back(c->noise());
  }
  const std::size_t limbs = terms[0]->limbs(), n = ctx_->params().degree();
  std::vector<std::vector<u64>> factors;
  for (const i64 v : values) factors.push_back(residues(v, limbs));
  rlwe::Ciphertext out;
  out.key_id = terms[0]->key_id;
  for (std::size_t p = 0; p < parts; ++p) out.parts.emplace_back(terms[0]->parts[0].basis());
  parallel_for(threads(), parts * limbs, [&](std::size_t w) {
    const std::size_t p = w / limbs, i = w % limbs;
    std::array<const u64*, kMost> y;
    std::array<u64, kMost> c;
    std::size_t count = 0;
    for (std::size_t k = 0; k < terms.size(); ++k) {
      if (terms[k]->parts.size() <= p) continue;
      y[count] = terms[k]->parts[p].limb(i);
      c[count++] = factors[k][i];
    }
    const auto& m = ctx_->gadget().q()[i].mod();
    kernels::active().base_convert(out.parts[p].limb(i), y.data(), c.data(), count, m.bits, nullptr, 0, n, m);
  });
  return made(rules().combination(noises, values), std::move(out));
}

// ---- products -------------------------------------------------------------------------------------

Ciphertext Evaluator::mul(const Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  if (a.parts.size() != 2 || b.parts.size() != 2)
    throw ShapeError("a product needs operands of two parts: relinearize first");
  return made(rules().product(a, b, a.limbs()), ctx_->products().multiply(a, &a == &b ? nullptr : &b, threads()));
}

Ciphertext Evaluator::square(const Ciphertext& a) const { return mul(a, a); }

Ciphertext Evaluator::relinearize(const Ciphertext& a, const RelinKey& key) const {
  ctx_->check(a);
  const Noise known = a.parts.size() == 2 ? a.noise() : rules().switched(a, a.limbs());
  return made(known, poly_.relinearize(a, key));
}

// ---- rotations ------------------------------------------------------------------------------------

Ciphertext Evaluator::apply_galois(const Ciphertext& a, u64 element, const GaloisKeys& keys) const {
  check_two(a, *ctx_);
  rlwe::Ciphertext mapped = poly_.map(a, element, keys);
  const Noise known = element == 1 ? a.noise() : rules().switched(a, a.limbs());
  return made(known, std::move(mapped));
}

Ciphertext Evaluator::rotate_rows(const Ciphertext& a, i64 step, const GaloisKeys& keys) const {
  check_two(a, *ctx_);
  const u64 element = ctx_->rotation_element(step);
  if (element == 1) return a;
  return made(rules().switched(a, a.limbs()), poly_.map(a, element, *rlwe::rotation_key(keys, ctx_->ring(), step)));
}

Ciphertext Evaluator::swap_rows(const Ciphertext& a, const GaloisKeys& keys) const {
  check_two(a, *ctx_);
  if (!keys.contains(ctx_->swap_element()))
    throw MissingKeyError("exchanging the rows needs the Galois key of element " +
                          std::to_string(ctx_->swap_element()) + ", which this key set lacks");
  return apply_galois(a, ctx_->swap_element(), keys);
}

std::vector<Ciphertext> Evaluator::rotate_hoisted(const Ciphertext& a, std::span<const i64> steps,
                                                  const GaloisKeys& keys) const {
  check_two(a, *ctx_);
  const GaloisKeys held(keys);
  std::vector<Ciphertext> out;
  const Noise known = rules().switched(a, a.limbs());
  std::optional<rlwe::Digits> digits;
  for (const i64 step : steps) {
    const u64 element = ctx_->rotation_element(step);
    if (element == 1) {
      out.push_back(a);
      continue;
    }
    const auto key = rlwe::rotation_key(held, ctx_->ring(), step);
    if (!digits) digits.emplace(poly_.hoist(a));
    out.push_back(made(known, poly_.map(a, *digits, element, *key)));
  }
  return out;
}

// ---- fewer limbs ----------------------------------------------------------------------------------

Ciphertext Evaluator::mod_switch_to(const Ciphertext& a, std::size_t limbs) const {
  ctx_->check(a);
  const Noise known = rules().mod_switched(a, a.limbs(), limbs, a.parts.size());
  if (limbs == a.limbs()) return a;
  return made(known, poly_.divide(a, a.limbs() - limbs));
}

}  // namespace ringforge::bfv
