// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Small objects of BFV, the same in each run, for its fuzz target, the corpus and tests of the readers. Their
// parameters are as small as the library takes and secure nothing.
#pragma once

#include "objects.hpp"
#include "ringforge/bfv/io.hpp"

namespace ringforge::fuzz {

/// N = 1024, t = 12289 with slots, two primes of 20 bits and a special one of 21.
inline bfv::Parameters bfv_parameters() {
  const auto small = primes_below(20, 2, 2048), special = primes_below(21, 1, 2048);
  return bfv::Parameters({"narrow", 10, 12289, {small[0], small[1]}, {special[0]}, 1, "test"});
}

inline const bfv::ContextPtr& bfv_context() {
  static const auto c = std::make_shared<const bfv::Context>(bfv_parameters());
  return c;
}

/// Reader name -> samples. The first sample of each reader is its smallest.
inline std::map<std::string, Samples> make_bfv_samples() {
  const bfv::ContextPtr context = bfv_context();
  const bfv::Context& ctx = *context;
  bfv::Client client(context, TestRandomness(seed_of(3)));
  std::map<std::string, Samples> out;
  const auto put = [&](const char* reader, const std::string& name, const auto& object) {
    out[reader][name] = bytes_of([&](std::ostream& s) { io::save(s, ctx, object); });
  };
  out["bfv_parameters"]["0"] = bytes_of([&](std::ostream& s) { io::save(s, ctx.params()); });
  const bfv::SecretKey sk = client.secret_key();
  put("secret_key", "0", sk);
  const bfv::PublicKey pk = client.public_key(sk);
  put("public_key", "0", pk);
  std::vector<u64> values(ctx.params().degree());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i * i % ctx.t();
  const bfv::Plaintext p = ctx.encode(values);
  put("plaintext", "0", p);
  for (std::size_t limbs = 1; limbs <= ctx.params().max_limbs(); ++limbs) {
    const std::string at = std::to_string(limbs - 1);
    bfv::Ciphertext c = client.encrypt(p, sk, limbs);
    put("ciphertext", at, c);
    put("ciphertext", at + "-unseeded", client.encrypt(p, pk, limbs));
    c.seed.reset();
    c.parts.push_back(c.parts[0]);
    c.degree = 2;
    c.reuse = 1;
    put("ciphertext", at + "-three-parts", c);
    put("relin_key", at, client.relin_key(sk, limbs));
    put("galois_key", at, client.galois_key(sk, ctx.rotation_element(1), limbs));
  }
  return out;
}

/// The type of a reader's records.
inline io::TypeCode bfv_type(const std::string& reader) {
  static const std::map<std::string, io::TypeCode> types{
      {"bfv_parameters", bfv::kParametersType}, {"plaintext", bfv::kPlaintextType},
      {"ciphertext", bfv::kCiphertextType},     {"secret_key", bfv::kSecretKeyType},
      {"public_key", bfv::kPublicKeyType},      {"relin_key", bfv::kRelinKeyType},
      {"galois_key", bfv::kGaloisKeyType}};
  return types.at(reader);
}

/// Calls f(load, save, next) of the reader of a type, `save` taking a stream and an object; not for other types.
template <class F>
void with_bfv_reader(io::TypeCode type, F&& f) {
  const bfv::Context& c = *bfv_context();
  const auto save = [&c](std::ostream& out, const auto& object) { io::save(out, c, object); };
  using In = std::istream;
  switch (type) {
    case bfv::kParametersType:
      f([](In& in) { return io::load_bfv_parameters(in); },
        [](std::ostream& out, const bfv::Parameters& p) { io::save(out, p); },
        [](In& in) { return io::next_bfv_parameters(in).has_value(); });
      break;
    case bfv::kPlaintextType:
      f([&](In& in) { return io::load_plaintext(in, c); }, save,
        [&](In& in) { return io::next_plaintext(in, c).has_value(); });
      break;
    case bfv::kCiphertextType:
      f([&](In& in) { return io::load_ciphertext(in, c); }, save,
        [&](In& in) { return io::next_ciphertext(in, c).has_value(); });
      break;
    case bfv::kSecretKeyType:
      f([&](In& in) { return io::load_secret_key(in, c); }, save,
        [&](In& in) { return io::next_secret_key(in, c).has_value(); });
      break;
    case bfv::kPublicKeyType:
      f([&](In& in) { return io::load_public_key(in, c); }, save,
        [&](In& in) { return io::next_public_key(in, c).has_value(); });
      break;
    case bfv::kRelinKeyType:
      f([&](In& in) { return io::load_relin_key(in, c); }, save,
        [&](In& in) { return io::next_relin_key(in, c).has_value(); });
      break;
    case bfv::kGaloisKeyType:
      f([&](In& in) { return io::load_galois_key(in, c); }, save,
        [&](In& in) { return io::next_galois_key(in, c).has_value(); });
      break;
    default:
      break;
  }
}

}  // namespace ringforge::fuzz
