// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include <algorithm>
#include <utility>

#include "crt.hpp"
#include "plain.hpp"
#include "ref/arith.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::ltv {
namespace {

/// c with other polynomials and noise, all else as it is.
Ciphertext like(const Ciphertext& c, Coefficients&& poly, const Noise& noise) {
  return {std::move(poly), c.key_id, c.level, c.degree, noise, c.lag};
}

}  // namespace

double Evaluator::budget(const Ciphertext& c) const {
  check(*ctx_, c);
  return ctx_->rules().budget(c.noise, c.limbs());
}

void Evaluator::check_pair(const Ciphertext& a, const Ciphertext& b) const {
  check(*ctx_, a);
  check(*ctx_, b);
  if (a.key_id != b.key_id) throw MismatchError("two ciphertexts are under different keys: encrypt both under one");
  if (a.level != b.level || a.limbs() != b.limbs())
    throw LevelError("two ciphertexts are of level " + std::to_string(a.level) + " with " + std::to_string(a.limbs()) +
                     " limbs and of level " + std::to_string(b.level) + " with " + std::to_string(b.limbs()) +
                     ": bring them to one level by relinearize and mod_switch");
}

Ciphertext Evaluator::add(const Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  if (a.lag != b.lag)
    throw LevelError("two products over different numbers of levels are added: relinearize and mod_switch both first");
  if (a.degree != b.degree)
    throw LevelError("a ciphertext of degree 2 and one of degree 1 are added: relinearize and mod_switch both first");
  Coefficients sum(a.poly.basis());
  ringforge::add(sum, a.poly, b.poly);
  return like(a, std::move(sum), ctx_->rules().sum(a.noise, b.noise));
}

Ciphertext Evaluator::add_plain(const Ciphertext& a, std::span<const std::uint8_t> bits) const {
  check(*ctx_, a);
  Coefficients sum = a.poly;
  add_small(sum, signed_bits(bits, *ctx_));
  return like(a, std::move(sum), ctx_->rules().plain_sum(a.noise, a.degree));
}

Ciphertext Evaluator::mul_plain(const Ciphertext& a, std::span<const std::uint8_t> bits) const {
  check(*ctx_, a);
  const SmallPoly m = signed_bits(bits, *ctx_);
  return like(a, product(to_eval(a.poly, threads_), m.lift(a.poly.basis(), threads_), threads_),
              ctx_->rules().plain_product(a.noise));
}

Ciphertext Evaluator::mul(const Ciphertext& a, const Ciphertext& b) const {
  check_pair(a, b);
  if (a.degree != 1 || b.degree != 1)
    throw LevelError("a product of degree 2 is multiplied: relinearize and mod_switch it first");
  if (a.limbs() != ctx_->params().limbs(a.level))
    throw LevelError("ciphertexts of level " + std::to_string(a.level) + " still have " + std::to_string(a.limbs()) +
                     " limbs: mod_switch them before they are multiplied");
  const Poly<Eval, u32> x = to_eval(a.poly, threads_);
  Ciphertext r = like(a, &a == &b ? product(x, x, threads_) : product(x, to_eval(b.poly, threads_), threads_),
                      ctx_->rules().product(a.noise, b.noise));
  r.degree = 2;
  return r;
}

// Digits go to Eval form once for each prime, products with the key are summed there, and one inverse transform a prime
// is reduced.
Ciphertext Evaluator::relinearize(const Ciphertext& a, const EvalKey& key) const {
  check(*ctx_, a);
  check(*ctx_, key);
  if (a.key_id != key.key_id) throw MismatchError("the evaluation key is of another secret key than the ciphertext's");
  const Parameters& params = ctx_->params();
  if (a.limbs() != params.limbs(a.level))
    throw LevelError("the ciphertext of level " + std::to_string(a.level) + " still has " + std::to_string(a.limbs()) +
                     " limbs: mod_switch it first");
  if (key.level != a.level + 1)
    throw LevelError("a ciphertext of level " + std::to_string(a.level) + " needs the evaluation key of level " +
                     std::to_string(a.level + 1) + ", this one is of level " + std::to_string(key.level));
  if (key.lag != a.lag)
    throw MismatchError("the ciphertext is a product over " + std::to_string(a.lag) +
                        " levels, the evaluation key is for such over " + std::to_string(key.lag) +
                        ": make the key of this level with that lag");
  Digits digits;
  cut(digits, a.poly, params, key.digits.size(), threads_);
  const auto& kernels = kernels::active32();
  const std::size_t length = ctx_->ring().transform_length();
  Coefficients sum(a.poly.basis());
  parallel_for(threads_, a.limbs(), [&](std::size_t i) {
    const PrimeOf<u32>& prime = a.poly.basis()[i];
    WordArray<u32> digit(length), total(length);
    total.zero();
    std::vector<i64> whole(a.poly.stride(), 0);
    for (std::size_t d = 0; d < digits.size(); ++d) {
      std::ranges::copy(std::as_const(digits)[d], whole.begin());
      kernels.reduce_signed(digit.data(), whole.data(), whole.size(), prime.mod());
      ntt(digit.data(), digit.data(), prime);
      kernels.mul_add(total.data(), digit.data(), key.digits[d].limb(i), length, prime.mod());
    }
    intt(sum.limb(i), total.data(), prime);
  });
  Ciphertext result = like(a, std::move(sum), ctx_->rules().relinearized(a.noise, key.level, a.degree));
  result.level = key.level;
  result.degree = 1;
  result.lag = 0;
  return result;
}

Ciphertext Evaluator::mod_switch(const Ciphertext& a) const {
  check(*ctx_, a);
  const std::size_t to = ctx_->params().limbs(a.level);
  if (a.limbs() <= to)
    throw LevelError("the ciphertext of level " + std::to_string(a.level) + " has its level's " + std::to_string(to) +
                     " limbs already, or fewer: relinearize comes before mod_switch");
  return drop(a, to);
}

// c' = (c - delta)/p with delta = c modulo p, even and below p in size: c' is c modulo 2, as p is odd.
Ciphertext Evaluator::drop(const Ciphertext& a, std::size_t to) const {
  check(*ctx_, a);
  const std::size_t n = ctx_->params().degree(), all = ctx_->params().limbs(0);
  if (to < 1 || to >= a.limbs() || (all - to) % ctx_->params().spec().drop != 0)
    throw LevelError("a ciphertext of " + std::to_string(a.limbs()) + " limbs cannot be switched to " +
                     std::to_string(to) + ": take the limbs of a lower level");
  Coefficients c = a.poly;
  for (std::size_t limbs = a.limbs(); limbs > to; --limbs) {
    const auto p = static_cast<i64>(c.basis()[limbs - 1].value());
    std::vector<i64> delta(n);
    const u32* last = c.limb(limbs - 1);
    for (std::size_t k = 0; k < n; ++k) {
      const i64 x = i64{last[k]} - (2 * i64{last[k]} > p ? p : 0);
      delta[k] = x % 2 == 0 ? x : x + (x < 0 ? p : -p);
    }
    parallel_for(threads_, limbs - 1, [&](std::size_t i) {
      const auto& mod = c.basis()[i].mod();
      const auto q = static_cast<i64>(mod.q);
      const auto inverse = kernels::make_factor(arith::inverse(arith::reduce64(static_cast<u64>(p), mod), mod), mod);
      u32* x = c.limb(i);
      // Primes of 31 bits and of fewer: a multiple of q that makes the difference positive.
      const i64 shift = (p / q + 1) * q;
      for (std::size_t k = 0; k < n; ++k)
        x[k] = static_cast<u32>(arith::mul_factor(static_cast<u64>(i64{x[k]} - delta[k] + shift), inverse, mod.q));
    });
  }
  return like(a, c.prefix(to), ctx_->rules().switched(a.noise, a.limbs(), a.limbs() - to));
}

}  // namespace ringforge::ltv
