// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Shared by the tests: small parameter sets, deterministic data.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <random>

#include "ringforge/ckks/ckks.hpp"
#include "ringforge/error.hpp"

namespace ringforge::test {

inline Seed fixed_seed(std::uint8_t tag = 7) {
  Seed s;
  s.fill(tag);
  return s;
}

inline TestRandomness fixed_randomness() { return TestRandomness(fixed_seed()); }

/// `limbs` + `special` primes of `bits` bits at degree 2^log_n; not secure, which tests do not need.
inline ckks::Parameters small_params(unsigned log_n, std::size_t limbs, unsigned bits = 50, std::size_t special = 1,
                                     unsigned alpha = 1, double log_scale = 40) {
  const auto primes = primes_below(bits, limbs + special, u64{1} << 18);
  ckks::ParametersSpec spec;
  spec.name = "test";
  spec.log_n = log_n;
  spec.p.assign(primes.begin(), primes.begin() + static_cast<std::ptrdiff_t>(special));
  spec.q.assign(primes.begin() + static_cast<std::ptrdiff_t>(special), primes.end());
  spec.limbs_per_digit = alpha;
  spec.log_scale = log_scale;
  spec.insecure = "test";
  return ckks::Parameters(spec);
}

inline std::vector<std::complex<double>> random_slots(std::size_t n, unsigned seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> u(-0.7, 0.7);
  std::vector<std::complex<double>> v(n);
  for (auto& x : v) x = {u(rng), u(rng)};
  return v;
}

template <class Form, class Word>
Poly<Form, Word> random_poly(const BasisOf<Word>& basis, unsigned seed) {
  std::mt19937_64 rng(seed);
  Poly<Form, Word> p(basis);
  for (std::size_t i = 0; i < p.limbs(); ++i)
    for (std::size_t k = 0; k < p.length(); ++k) p.limb(i)[k] = static_cast<Word>(rng() % basis[i].value());
  return p;
}

template <class Form, class Word>
bool equal(const Poly<Form, Word>& a, const Poly<Form, Word>& b) {
  const auto x = a.words(), y = b.words();
  return a.basis() == b.basis() && std::equal(x.begin(), x.end(), y.begin(), y.end());
}

}  // namespace ringforge::test
