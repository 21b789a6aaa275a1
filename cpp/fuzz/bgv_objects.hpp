// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Small objects of BGV, the same in each run, for its fuzz target, the corpus and tests of the readers. Their
// parameters are small and secure nothing.
#pragma once

#include "objects.hpp"
#include "ringforge/bgv/io.hpp"

namespace ringforge::fuzz {

/// Degree 128, two primes of 20 bits and a special one of 21.
inline bgv::Parameters bgv_parameters() {
  const u64 step = Ring::tensor(255).prime_step();
  const auto small = primes_below(20, 2, step), special = primes_below(21, 1, step);
  return bgv::Parameters({"narrow", 255, {small[0], small[1]}, {special[0]}, 1, "test"});
}

inline const bgv::ContextPtr& bgv_context() {
  static const auto c = std::make_shared<const bgv::Context>(bgv_parameters());
  return c;
}

/// Reader name -> samples. The first sample of each reader is its smallest.
inline std::map<std::string, Samples> make_bgv_samples() {
  const bgv::ContextPtr context = bgv_context();
  const bgv::Context& ctx = *context;
  bgv::Client client(context, TestRandomness(seed_of(3)));
  std::map<std::string, Samples> out;
  const auto put = [&](const char* reader, const std::string& name, const auto& object) {
    out[reader][name] = bytes_of([&](std::ostream& s) { io::save(s, ctx, object); });
  };
  out["bgv_parameters"]["0"] = bytes_of([&](std::ostream& s) { io::save(s, ctx.params()); });
  const bgv::SecretKey sk = client.secret_key();
  put("secret_key", "0", sk);
  const bgv::PublicKey pk = client.public_key(sk);
  put("public_key", "0", pk);
  const bgv::Bits p{1, 0, 1, 1};
  for (std::size_t limbs = 1; limbs <= ctx.params().max_limbs(); ++limbs) {
    const std::string at = std::to_string(limbs - 1);
    bgv::Ciphertext c = client.encrypt(p, sk, limbs);
    put("ciphertext", at, c);
    put("ciphertext", at + "-unseeded", client.encrypt(p, pk, limbs));
    c.seed.reset();
    c.parts.push_back(c.parts[0]);
    put("ciphertext", at + "-three-parts", c);
    put("relin_key", at, client.relin_key(sk, limbs));
    put("galois_key", at, client.galois_key(sk, 2, limbs));
  }
  return out;
}

/// The type of a reader's records.
inline io::TypeCode bgv_type(const std::string& reader) {
  static const std::map<std::string, io::TypeCode> types{
      {"bgv_parameters", bgv::kParametersType}, {"ciphertext", bgv::kCiphertextType},
      {"secret_key", bgv::kSecretKeyType},      {"public_key", bgv::kPublicKeyType},
      {"relin_key", bgv::kRelinKeyType},        {"galois_key", bgv::kGaloisKeyType}};
  return types.at(reader);
}

/// Calls f(load, save, next) of the reader of a type, `save` taking a stream and an object; not for other types.
template <class F>
void with_bgv_reader(io::TypeCode type, F&& f) {
  const bgv::Context& c = *bgv_context();
  const auto save = [&c](std::ostream& out, const auto& object) { io::save(out, c, object); };
  using In = std::istream;
  switch (type) {
    case bgv::kParametersType:
      f([](In& in) { return io::load_bgv_parameters(in); },
        [](std::ostream& out, const bgv::Parameters& p) { io::save(out, p); },
        [](In& in) { return io::next_bgv_parameters(in).has_value(); });
      break;
    case bgv::kCiphertextType:
      f([&](In& in) { return io::load_ciphertext(in, c); }, save,
        [&](In& in) { return io::next_ciphertext(in, c).has_value(); });
      break;
    case bgv::kSecretKeyType:
      f([&](In& in) { return io::load_secret_key(in, c); }, save,
        [&](In& in) { return io::next_secret_key(in, c).has_value(); });
      break;
    case bgv::kPublicKeyType:
      f([&](In& in) { return io::load_public_key(in, c); }, save,
        [&](In& in) { return io::next_public_key(in, c).has_value(); });
      break;
    case bgv::kRelinKeyType:
      f([&](In& in) { return io::load_relin_key(in, c); }, save,
        [&](In& in) { return io::next_relin_key(in, c).has_value(); });
      break;
    case bgv::kGaloisKeyType:
      f([&](In& in) { return io::load_galois_key(in, c); }, save,
        [&](In& in) { return io::next_galois_key(in, c).has_value(); });
      break;
    default:
      break;
  }
}

}  // namespace ringforge::fuzz
