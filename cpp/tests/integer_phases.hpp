// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A small RLWE world without a scheme, and the oracle of its tests: phases as exact integers, multiplied by the
// schoolbook.
#pragma once

#include <cmath>

#include "ringforge/rlwe/evaluator.hpp"
#include "support.hpp"

namespace ringforge::test {

using Integers = std::vector<i64>;

/// A small polynomial of integers over a basis.
inline Poly<Eval> lifted(const Integers& x, const Basis& basis) {
  SmallPoly p(x.size());
  p.coeffs() = x;
  return p.lift(basis);
}

/// The integers that a polynomial stands for: every limb must agree that they are small.
inline Integers integers(const Poly<Eval>& p) {
  const auto c = to_coeff(p);
  const auto q = static_cast<i64>(p.basis()[0].value());
  Integers out(c.degree());
  for (std::size_t k = 0; k < out.size(); ++k) {
    const auto x = static_cast<i64>(c.limb(0)[k]);
    out[k] = x > q / 2 ? x - q : x;
  }
  EXPECT_TRUE(equal(lifted(out, p.basis()), p)) << "the phase is not small";
  return out;
}

inline Integers random_small(std::size_t n, i64 most, unsigned seed) {
  std::mt19937_64 rng(seed);
  Integers x(n);
  for (auto& v : x) v = static_cast<i64>(rng() % static_cast<u64>(2 * most + 1)) - most;
  return x;
}

/// x * y modulo X^N + 1.
inline Integers schoolbook(const Integers& x, const Integers& y) {
  const std::size_t n = x.size();
  Integers out(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) out[(i + j) % n] += i + j < n ? x[i] * y[j] : -x[i] * y[j];
  return out;
}

/// x(X^g) modulo X^N + 1.
inline Integers mapped(const Integers& x, u64 g) {
  const std::size_t n = x.size();
  Integers out(n);
  for (std::size_t i = 0; i < n; ++i) out[i * g % n] = i * g % (2 * n) < n ? x[i] : -x[i];
  return out;
}

template <class F>
Integers each(const Integers& x, const Integers& y, F f) {
  Integers out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = f(x[i], y[i]);
  return out;
}

inline i64 distance(const Integers& x, const Integers& y) {
  i64 most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
  return most;
}

/// N = 64, four primes of Q and two special ones, digits of two limbs, a secret key.
struct PhaseWorld {
  explicit PhaseWorld(std::uint8_t seed = 7, unsigned log_n = 6, unsigned bits = 45)
      : gadget(make(log_n, bits)), encryptor(gadget, TestRandomness(fixed_seed(seed))), sk(encryptor.secret_key()) {}
  static rlwe::GadgetPtr make(unsigned log_n, unsigned bits) {
    const Ring ring = Ring::negacyclic(log_n);
    const auto primes = primes_below(bits, kLimbs + 2, u64{1} << 18);
    const std::span all(primes);
    return std::make_shared<const rlwe::Gadget>(Basis(ring, all.subspan(2)), Basis(ring, all.first(2)),
                                                rlwe::GadgetSpec{2, 0});
  }
  std::size_t n() const { return gadget->q().ring().degree(); }
  /// The message added to an encryption of zero.
  template <class Key>
  rlwe::Ciphertext encrypt(const Integers& m, const Key& key, std::size_t limbs = kLimbs) {
    rlwe::Ciphertext c = encryptor.zero(key, limbs);
    add(c.parts[0], c.parts[0], lifted(m, c.parts[0].basis()));
    return c;
  }
  Integers phase(const rlwe::Ciphertext& c) const { return integers(rlwe::Decryptor(gadget).phase(c, sk)); }
  /// What a key switch adds to no coefficient with a probability worth naming: 8 standard deviations.
  double switched(std::size_t limbs = kLimbs) const {
    return 8 * std::sqrt(gadget->switch_variance(limbs) + rounding());
  }
  /// Variance of a division's rounding.
  double rounding() const { return (1 + 2.0 * static_cast<double>(n()) / 3) / 12; }

  static constexpr std::size_t kLimbs = 4;
  rlwe::GadgetPtr gadget;
  rlwe::Encryptor encryptor;
  rlwe::SecretKey sk;
};

}  // namespace ringforge::test
