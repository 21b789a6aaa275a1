// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Small objects of compression, the same in each run, for its fuzz target and the corpus. Their parameters are as small
// as the library takes and secure nothing.
#pragma once

#include "objects.hpp"
#include "ringforge/circuits/omr_compress.hpp"

namespace ringforge::fuzz {

/// N = 512 and N' = 128, digests of 2 messages of one word.
struct CompressionWorld {
  circuits::CompressionContextPtr context;
  circuits::CompressionPlan plan;
  TestRandomness rng{seed_of(29)};
  circuits::CompressionSecret secret;

  CompressionWorld() : context(make()), plan(context, 2, 1), secret(context, rng) {}

  static circuits::CompressionContextPtr make() {
    circuits::CompressionParameters p;
    p.log_n = 9;
    p.t = 786433;
    const auto primes = primes_below(44, 4, 1024);
    p.q = {primes[3], primes[2]};
    p.p = {primes[1], primes[0]};
    p.insecure = "fuzzing";
    return std::make_shared<const circuits::CompressionContext>(p);
  }
};

inline Samples make_compression_samples() {
  CompressionWorld w;
  rlwe::Encryptor encryptor(w.context->big(), TestRandomness(seed_of(30)));
  const rlwe::SecretKey key = encryptor.secret_key();
  const circuits::CompressionKeys keys(key, w.secret, w.rng);
  const circuits::Compressor compressor(w.plan, keys);
  const std::vector<u32> payloads(w.context->parameters().entries(), 1);
  const auto powers = compressor.powers(encryptor.zero(key, 2));
  const circuits::CompressionPart part = compressor.part(powers, payloads, w.plan.all());
  Samples out;
  out["secret"] = bytes_of([&](std::ostream& s) { w.secret.save(s); });
  out["keys"] = bytes_of([&](std::ostream& s) { keys.save(s); });
  out["part"] = bytes_of([&](std::ostream& s) { part.save(s, w.plan); });
  out["digest"] = compressor.digest(compressor.packed({part}), 3);
  return out;
}

}  // namespace ringforge::fuzz
