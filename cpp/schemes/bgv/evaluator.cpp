// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Homomorphic operations; what they do to noise is in noise.cpp, sums over Q*P are in sums.cpp.
#include <algorithm>
#include <array>
#include <string>

#include "ringforge/bgv/bgv.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "ringforge/traffic.hpp"
#include "scratch.hpp"

namespace ringforge::bgv {
namespace {

void check_two(const Ciphertext& a, const Context& ctx) {
  ctx.check(a);
  if (a.parts.size() != 2) throw ShapeError("an automorphism needs a ciphertext of two parts: relinearize first");
}

kernels::Factor half(const kernels::Modulus& m) { return kernels::make_factor((m.q + 1) / 2, m); }

}  // namespace

double Evaluator::budget(const Ciphertext& c) const {
  ctx_->check(c);
  return rules().budget(c, c.limbs());
}

void Evaluator::check_pair(const Ciphertext& a, const Ciphertext& b) const {
  ctx_->check(a);
  ctx_->check(b);
  poly_.check_pair(a, b);
}

void Evaluator::check_limbs(const Multiplier& m, const Ciphertext& a) const {
  ctx_->check(a);
  ctx_->check(m);
  if (m.poly.limbs() < a.limbs())
    throw LevelError("the multiplier has " + std::to_string(m.poly.limbs()) + " limbs, the ciphertext " +
                     std::to_string(a.limbs()) + ": make it for as many");
}

// ---- sums -----------------------------------------------------------------------------------------

Ciphertext Evaluator::add(const Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  return {rules().sum(a, b), poly_.add(a, b)};
}

void Evaluator::add_in_place(Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  const Noise known = rules().sum(a, b);
  poly_.add_in_place(a, b);
  static_cast<Noise&>(a) = known;
}

Ciphertext Evaluator::add_plain(const Ciphertext& a, const Multiplier& m) const {
  check_limbs(m, a);
  Ciphertext r = a;
  r.seed.reset();
  const Basis& basis = r.parts[0].basis();
  const std::size_t n = r.parts[0].length();
  parallel_for(threads(), r.limbs(), [&](std::size_t i) {
    u64* t = scratch(n);
    kernels::active().mul_scalar(t, m.poly.limb(i), half(basis[i].mod()), n, basis[i].mod());
    kernels::active().add(r.parts[0].limb(i), r.parts[0].limb(i), t, n, basis[i].mod());
  });
  static_cast<Noise&>(r) = rules().plain_sum(a, m.log_peak);
  return r;
}

Ciphertext Evaluator::add_plain(const Ciphertext& a, std::span<const std::uint8_t> bits) const {
  ctx_->check(a);
  return add_plain(a, ctx_->multiplier(bits, a.limbs(), false, threads()));
}

// The constant polynomial has the same value in every word of Eval form.
Ciphertext Evaluator::add_one(const Ciphertext& a) const {
  ctx_->check(a);
  std::vector<u64> halves;
  for (std::size_t i = 0; i < a.limbs(); ++i) halves.push_back(half(ctx_->gadget().q()[i].mod()).w);
  return {rules().plain_sum(a, 0), poly_.add_constant(a, halves)};
}

// ---- products -------------------------------------------------------------------------------------

Ciphertext Evaluator::mul_plain(const Ciphertext& a, const Multiplier& m) const {
  check_limbs(m, a);
  rlwe::Ciphertext r;
  r.key_id = a.key_id;
  const Basis& basis = a.parts[0].basis();
  const std::size_t n = a.parts[0].length(), limbs = a.limbs(), parts = a.parts.size();
  for (std::size_t p = 0; p < parts; ++p) r.parts.emplace_back(basis);
  parallel_for(threads(), limbs, [&](std::size_t i) {
    for (std::size_t p = 0; p < parts; ++p)
      kernels::active().mul(r.parts[p].limb(i), a.parts[p].limb(i), m.poly.limb(i), n, basis[i].mod());
  });
  count({.plain_mul = 1, .plaintext_bytes = limbs * n * sizeof(u64)});
  move_limbs(parts * limbs, parts * limbs, n);
  return {rules().plain_product(a, m.log_peak), std::move(r)};
}

Ciphertext Evaluator::mul_plain(const Ciphertext& a, std::span<const std::uint8_t> bits) const {
  ctx_->check(a);
  return mul_plain(a, ctx_->multiplier(bits, a.limbs(), false, threads()));
}

// 2*phi_a * phi_b has 2*(2*phi_a*phi_b) = v_a*v_b.
Ciphertext Evaluator::mul(const Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  if (a.parts.size() != 2 || b.parts.size() != 2)
    throw ShapeError("a product needs operands of two parts: relinearize first");
  const Basis& basis = a.parts[0].basis();
  const std::size_t n = a.parts[0].length(), limbs = a.limbs();
  const bool squares = &a == &b;
  rlwe::Ciphertext r;
  r.key_id = a.key_id;
  for (int i = 0; i < 3; ++i) r.parts.emplace_back(basis);
  parallel_for(threads(), limbs, [&](std::size_t i) {
    const auto& kern = kernels::active();
    const auto& m = basis[i].mod();
    const u64 *a0 = a.parts[0].limb(i), *a1 = a.parts[1].limb(i), *b0 = b.parts[0].limb(i), *b1 = b.parts[1].limb(i);
    u64 *t0 = scratch(2 * n), *t1 = t0 + n, *cross = r.parts[1].limb(i);
    kern.add(t0, a0, a0, n, m);
    kern.mul(r.parts[0].limb(i), t0, b0, n, m);
    kern.mul(cross, t0, b1, n, m);
    kern.add(t1, a1, a1, n, m);
    kern.mul(r.parts[2].limb(i), t1, b1, n, m);
    if (squares)
      kern.add(cross, cross, cross, n, m);
    else
      kern.mul_add(cross, t1, b0, n, m);
  });
  move_limbs(4 * limbs, 3 * limbs, n);
  return {rules().product(a, b), std::move(r)};
}

Ciphertext Evaluator::square(const Ciphertext& a) const { return mul(a, a); }

Ciphertext Evaluator::relinearize(const Ciphertext& a, const RelinKey& key, std::size_t drop) const {
  ctx_->check(a);
  if (drop >= a.limbs())
    throw LevelError("a ciphertext of " + std::to_string(a.limbs()) + " limbs cannot lose " + std::to_string(drop) +
                     ": one must stay");
  const Noise known = a.parts.size() == 2 ? a.noise() : rules().switched(a, a.limbs());
  // The first prime goes with the division by P.
  Ciphertext r(drop == 0 ? known : rules().mod_switched(known, a.limbs(), a.limbs() - 1),
               poly_.relinearize(a, key, drop > 0));
  return drop < 2 ? r : mod_switch_to(r, a.limbs() - drop);
}

Ciphertext Evaluator::multiply(const Ciphertext& a, const Ciphertext& b, const RelinKey& key, std::size_t drop) const {
  return relinearize(mul(a, b), key, drop);
}

// ---- automorphisms --------------------------------------------------------------------------------

Ciphertext Evaluator::apply_galois(const Ciphertext& a, u64 element, const GaloisKeys& keys) const {
  check_two(a, *ctx_);
  if (element == 1) return a;
  rlwe::Ciphertext mapped = poly_.map(a, element, keys);
  return {rules().switched(a, a.limbs()), std::move(mapped)};
}

std::vector<Ciphertext> Evaluator::apply_hoisted(const Ciphertext& a, std::span<const u64> elements,
                                                 const GaloisKeys& keys) const {
  check_two(a, *ctx_);
  const GaloisKeys held(keys);
  const Noise known = rules().switched(a, a.limbs());
  std::vector<Ciphertext> out;
  std::optional<rlwe::Digits> digits;
  for (const u64 element : elements) {
    if (element == 1) {
      out.push_back(a);
      continue;
    }
    const auto key = held.at(element);
    if (!digits) digits.emplace(poly_.hoist(a));
    out.emplace_back(known, poly_.map(a, *digits, element, *key));
  }
  return out;
}

// ---- fewer limbs ----------------------------------------------------------------------------------

Ciphertext Evaluator::mod_switch_to(const Ciphertext& a, std::size_t limbs) const {
  ctx_->check(a);
  const Noise known = rules().mod_switched(a, a.limbs(), limbs, a.parts.size());
  if (limbs == a.limbs()) return a;
  return {known, poly_.divide(a, a.limbs() - limbs)};
}

Ciphertext Evaluator::drop_to(const Ciphertext& a, std::size_t limbs) const {
  ctx_->check(a);
  return {a.noise(), poly_.drop_to(a, limbs)};
}

}  // namespace ringforge::bgv
