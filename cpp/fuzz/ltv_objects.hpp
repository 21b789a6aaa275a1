// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Small objects of LTV, the same in each run, for its fuzz target, the corpus and tests of the readers.
#pragma once

#include <sstream>

#include "objects.hpp"
#include "ringforge/ltv/io.hpp"

namespace ringforge::fuzz {

/// Degree 64, three primes, a digit for each.
inline const ltv::ContextPtr& ltv_context() {
  static const auto c = std::make_shared<const ltv::Context>(
      ltv::Parameters({"narrow", 85, primes_below(31, 3, u64{1} << 16), 1, ltv::Gadget::rns, 31, "test"}));
  return c;
}

/// Reader name -> samples. The first sample of each reader is its smallest.
inline std::map<std::string, Samples> make_ltv_samples() {
  const ltv::ContextPtr context = ltv_context();
  const ltv::Context& ctx = *context;
  const ltv::Client client(context, TestRandomness(seed_of(3)));
  const ltv::Evaluator ev(context);
  std::map<std::string, Samples> out;
  const auto put = [&](const char* reader, const std::string& name, const auto& object) {
    out[reader][name] = bytes_of([&](std::ostream& s) { io::save(s, ctx, object); });
  };
  out["ltv_parameters"]["0"] = bytes_of([&](std::ostream& s) { io::save(s, ctx.params()); });
  const auto [sk, pk] = client.keys();
  put("secret_key", "0", sk);
  put("public_key", "0", pk);
  const ltv::Bits bits{1, 0, 1, 1};
  for (std::size_t level = 0; level <= ctx.params().levels(); ++level)
    put("ciphertext", std::to_string(ctx.params().levels() - level), client.encrypt(bits, pk, level));
  const ltv::Ciphertext c = client.encrypt(bits, pk), product = ev.mul(c, c);
  put("ciphertext", "9-product", product);
  const ltv::EvalKey key = client.eval_key(sk, pk, 1);
  put("ciphertext", "9-relinearized", ev.relinearize(product, key));
  put("eval_key", "0", client.eval_key(sk, pk, 2));
  put("eval_key", "1", key);
  put("eval_key", "2-lag", client.eval_key(sk, pk, 2, 1, 1));
  return out;
}

/// The type of a reader's records.
inline io::TypeCode ltv_type(const std::string& reader) {
  static const std::map<std::string, io::TypeCode> types{{"ltv_parameters", ltv::kParametersType},
                                                         {"ciphertext", ltv::kCiphertextType},
                                                         {"secret_key", ltv::kSecretKeyType},
                                                         {"public_key", ltv::kPublicKeyType},
                                                         {"eval_key", ltv::kEvalKeyType}};
  return types.at(reader);
}

/// Calls f(load, save, next) of the reader of a type, `save` taking a stream and an object; not for other types.
template <class F>
void with_ltv_reader(io::TypeCode type, F&& f) {
  const ltv::Context& c = *ltv_context();
  const auto save = [&c](std::ostream& out, const auto& object) { io::save(out, c, object); };
  using In = std::istream;
  switch (type) {
    case ltv::kParametersType:
      f([](In& in) { return io::load_ltv_parameters(in); },
        [](std::ostream& out, const ltv::Parameters& p) { io::save(out, p); },
        [](In& in) { return io::next_ltv_parameters(in).has_value(); });
      break;
    case ltv::kCiphertextType:
      f([&](In& in) { return io::load_ciphertext(in, c); }, save,
        [&](In& in) { return io::next_ciphertext(in, c).has_value(); });
      break;
    case ltv::kSecretKeyType:
      f([&](In& in) { return io::load_secret_key(in, c); }, save,
        [&](In& in) { return io::next_secret_key(in, c).has_value(); });
      break;
    case ltv::kPublicKeyType:
      f([&](In& in) { return io::load_public_key(in, c); }, save,
        [&](In& in) { return io::next_public_key(in, c).has_value(); });
      break;
    case ltv::kEvalKeyType:
      f([&](In& in) { return io::load_eval_key(in, c); }, save,
        [&](In& in) { return io::next_eval_key(in, c).has_value(); });
      break;
    default:
      break;
  }
}

/// Whether bytes are an evaluation key, and whether a relinearizer takes them: digit by digit, but no others.
inline std::pair<bool, bool> ltv_keys_taken(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto taken = [&](auto&& load) {
    std::istringstream in(bytes);
    try {
      load(in);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  ltv::Relinearizer relinearizer(ltv_context());
  return {taken([](std::istream& in) { (void)io::load_eval_key(in, *ltv_context()); }),
          taken([&](std::istream& in) { io::load_eval_key(in, relinearizer); }) && relinearizer.level() != 0};
}

}  // namespace ringforge::fuzz
