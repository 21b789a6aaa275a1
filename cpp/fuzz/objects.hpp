// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Small objects of every type, the same in each run, for the fuzz targets, their corpora and the tests of
// the readers. Their parameters are as small as the library takes and secure nothing.
#pragma once

#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "ringforge/ckks/io.hpp"

namespace ringforge::fuzz {

using Bytes = std::vector<std::uint8_t>;

inline Seed seed_of(unsigned n) {
  Seed s{};
  s[0] = static_cast<std::uint8_t>(n);
  s[1] = static_cast<std::uint8_t>(n >> 8);
  return s;
}

/// The bytes that `write` puts into a stream.
template <class F>
Bytes bytes_of(F&& write) {
  std::ostringstream out;
  write(out);
  const std::string s = out.str();
  return {s.begin(), s.end()};
}

/// N = 1024 over two primes of 17 and 20 bits and a special one of 20 bits.
inline ckks::Parameters narrow_parameters() {
  const auto small = primes_below(17, 1, 2048), large = primes_below(20, 2, 2048);
  ckks::ParametersSpec spec;
  spec.name = "narrow";
  spec.log_n = 10;
  spec.q = {small[0], large[0]};
  spec.p = {large[1]};
  spec.log_scale = 12;
  spec.insecure = "test";
  return ckks::Parameters(std::move(spec));
}

/// N = 1024 over two primes of 61 and 58 bits, which unpack by another path, and a special one of 61 bits.
inline ckks::Parameters wide_parameters() {
  const auto large = primes_below(61, 2, 2048), small = primes_below(58, 1, 2048);
  ckks::ParametersSpec spec;
  spec.name = "wide";
  spec.log_n = 10;
  spec.q = {large[0], small[0]};
  spec.p = {large[1]};
  spec.log_scale = 40;
  spec.insecure = "test";
  return ckks::Parameters(std::move(spec));
}

inline const ckks::ContextPtr& narrow_context() {
  static const auto c = std::make_shared<const ckks::Context>(narrow_parameters());
  return c;
}
inline const ckks::ContextPtr& wide_context() {
  static const auto c = std::make_shared<const ckks::Context>(wide_parameters());
  return c;
}

/// Saved objects of one reader, by a short name.
using Samples = std::map<std::string, Bytes>;

/// Reader name -> samples. The first sample of each reader is its smallest.
inline std::map<std::string, Samples> make_samples(const ckks::ContextPtr& context) {
  const ckks::Context& ctx = *context;
  ckks::Client client(context, TestRandomness(seed_of(1)));
  const std::size_t top = ctx.params().max_level();
  std::map<std::string, Samples> out;
  const auto put = [&](const char* reader, const std::string& name, const auto& object) {
    out[reader][name] = bytes_of([&](std::ostream& s) { io::save(s, ctx, object); });
  };
  out["parameters"]["0"] = bytes_of([&](std::ostream& s) { io::save(s, ctx.params()); });
  const ckks::SecretKey sk = client.secret_key();
  put("secret_key", "0", sk);
  const ckks::PublicKey pk = client.public_key(sk);
  put("public_key", "0", pk);
  for (std::size_t level = 0; level <= top; ++level) {
    const std::string at = std::to_string(level);
    // Drawn, not encoded: the encoder's arithmetic is floating-point.
    const ckks::Plaintext p{sample_uniform(ctx.basis(level), seed_of(2), StreamObject::mask), 4096, 2};
    put("plaintext", at, p);
    ckks::Ciphertext c = client.encrypt(p, sk, p.bound);
    put("ciphertext", at, c);
    put("ciphertext", at + "-unseeded", client.encrypt(p, pk, p.bound));
    c.seed.reset();
    c.parts.push_back(c.parts[0]);
    put("ciphertext", at + "-three-parts", c);
    put("relin_key", at, client.relin_key(sk, level));
    put("galois_key", at, client.galois_key(sk, ctx.rotation_element(1), level));
  }
  Bytes& several = out["galois_key"]["several"];
  for (const i64 step : {1, 2, -1}) {
    const auto one =
        bytes_of([&](std::ostream& s) { io::save(s, ctx, client.galois_key(sk, ctx.rotation_element(step), 0)); });
    several.insert(several.end(), one.begin(), one.end());
  }
  return out;
}

}  // namespace ringforge::fuzz
