// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Shared by the tests of BFV: small parameter sets, one of everything, plain arithmetic modulo t.
#pragma once

#include <functional>

#include "ringforge/bfv/bfv.hpp"
#include "support.hpp"

namespace ringforge::test::bfv_world {

using namespace ringforge::bfv;
using Values = std::vector<u64>;

/// Not secure, which tests do not need. Special primes have a bit more than the others.
inline bfv::Parameters parameters(unsigned log_n, u64 t, std::size_t limbs, std::size_t special = 1, unsigned alpha = 1,
                                  unsigned bits = 49) {
  bfv::ParametersSpec spec;
  spec.name = "test";
  spec.log_n = log_n;
  spec.t = t;
  spec.p = primes_below(bits + 1, special, u64{1} << 18);
  spec.q = primes_below(bits, limbs, u64{1} << 18);
  spec.limbs_per_digit = alpha;
  spec.insecure = "test";
  return bfv::Parameters(spec);
}

inline Values random_values(std::size_t n, u64 t, unsigned seed) {
  std::mt19937_64 rng(seed);
  Values v(n);
  for (auto& x : v) x = rng() % t;
  return v;
}

inline Values map2(const Values& a, const Values& b, u64 t, const std::function<u64(u64, u64)>& f) {
  Values r(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) r[i] = f(a[i], b[i]) % t;
  return r;
}
inline Values sum(const Values& a, const Values& b, u64 t) {
  return map2(a, b, t, [](u64 x, u64 y) { return x + y; });
}
inline Values difference(const Values& a, const Values& b, u64 t) {
  return map2(a, b, t, [t](u64 x, u64 y) { return x + t - y; });
}
inline Values product(const Values& a, const Values& b, u64 t) {
  return map2(a, b, t, [](u64 x, u64 y) { return x * y; });
}

/// Both rows to the left.
inline Values rotated(const Values& a, i64 step) {
  const auto row = static_cast<i64>(a.size() / 2);
  Values r(a.size());
  for (i64 i = 0; i < row; ++i) {
    const i64 from = ((i + step) % row + row) % row;
    r[static_cast<std::size_t>(i)] = a[static_cast<std::size_t>(from)];
    r[static_cast<std::size_t>(i + row)] = a[static_cast<std::size_t>(from + row)];
  }
  return r;
}

/// x*y modulo X^N + 1 and t.
inline Values polynomial_product(const Values& x, const Values& y, u64 t) {
  const std::size_t n = x.size();
  Values out(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const u64 p = x[i] * y[j] % t;
      u64& to = out[(i + j) % n];
      to = (i + j < n ? to + p : to + t - p) % t;
    }
  return out;
}

/// One of everything.
struct World {
  explicit World(const bfv::Parameters& params, std::uint8_t seed = 7)
      : ctx(std::make_shared<const bfv::Context>(params)),
        client(ctx, TestRandomness(fixed_seed(seed))),
        sk(client.secret_key()),
        pk(client.public_key(sk)),
        relin(client.relin_key(sk)),
        ev(ctx),
        n(params.degree()),
        t(params.t()) {}
  void add_keys(std::initializer_list<i64> steps, bool swap = false) {
    for (const i64 s : steps) keys.insert(client.galois_key(sk, ctx->rotation_element(s)));
    if (swap) keys.insert(client.galois_key(sk, ctx->swap_element()));
  }
  bfv::Ciphertext encrypt(const Values& v) { return client.encrypt(ctx->encode(v), sk); }
  Values decrypt(const bfv::Ciphertext& c) const { return ctx->decode(client.decrypt(c, sk)); }
  bfv::Ciphertext multiply(const bfv::Ciphertext& a, const bfv::Ciphertext& b) const {
    return ev.relinearize(ev.mul(a, b), relin);
  }
  /// Predicted noise covers the measured, and stays within 2^8 of it.
  void expect_covered(const bfv::Ciphertext& c, const char* what, double within = 8) const {
    const auto m = client.measure(c, sk);
    const double bound = ev.rules().bound_bits(c);
    EXPECT_GE(bound, m.largest) << what;
    EXPECT_LE(bound, m.largest + within) << what;
  }

  bfv::ContextPtr ctx;
  bfv::Client client;
  SecretKey sk;
  PublicKey pk;
  RelinKey relin;
  bfv::Evaluator ev;
  std::size_t n;
  u64 t;
  GaloisKeys keys;
};

}  // namespace ringforge::test::bfv_world
