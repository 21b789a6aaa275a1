// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Every secret operation of every scheme, for valgrind's memcheck to watch: seeds, keys, errors and messages are
// undefined memory, so that every branch and every address that depends on them is reported.
// `constant_time_test.cpp` runs it.
//
//   constant_time_schemes NAME...   Watches groups of operations: ckks bfv bgv ltv gates psi-poly omr oprf;
//                                   longer: bgv-long ltv-long
//   constant_time_schemes planted   A branch and an address that depend on a secret: memcheck must report both.
#include <complex>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>

#include "oprf/batches.hpp"
#include "ringforge/bfv/bfv.hpp"
#include "ringforge/bfv/io.hpp"
#include "ringforge/bgv/bgv.hpp"
#include "ringforge/circuits/omr_compress.hpp"
#include "ringforge/circuits/psi_poly.hpp"
#include "ringforge/ckks/ckks.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/fhew/gates.hpp"
#include "ringforge/ltv/io.hpp"
#include "ringforge/ltv/ltv.hpp"
#include "watch.hpp"

namespace {

using namespace ringforge;
using watch::taint;
using watch::tainted;
using watch::Watch;

/// All randomness of what draws from it is secret.
TestRandomness secret_randomness() {
  Seed seed{3};
  taint(seed.data(), seed.size());
  return TestRandomness(seed);
}

template <class T>
std::vector<T> secrets(std::size_t count, T value) {
  std::vector<T> v(count, value);
  taint(v);
  return v;
}
/// Bits are secret, and known to be bits: whoever looks at the others branches on no secret.
std::vector<std::uint8_t> secret_bits(std::size_t count) {
  std::vector<std::uint8_t> v(count, 0), undefined(count, 1);
  for (std::size_t i = 0; i < count; ++i) v[i] = i % 3 == 0 ? 1 : 0;
  VALGRIND_SET_VBITS(v.data(), undefined.data(), count);
  return v;
}

bool tainted(const rlwe::SecretKey& key) { return tainted(key.coeffs().coeffs()) && tainted(key.eval()); }
bool tainted(const rlwe::SwitchingKey& key) { return tainted(key.b.at(0)); }
bool tainted(const rlwe::Ciphertext& c) { return tainted(c.parts.at(0)); }

/// What the schemes over rlwe/ have in common.
template <class Client, class Key>
void watch_keys(Watch& watch, const std::string& scheme, Client& client, const Key& sk, u64 element) {
  watch((scheme + ".public_key").c_str(), [&] { return tainted(client.public_key(sk).b); });
  watch((scheme + ".relin_key").c_str(), [&] { return tainted(client.relin_key(sk).key()); });
  watch((scheme + ".galois_key").c_str(), [&] { return tainted(*client.galois_key(sk, element).key); });
}

// ---- the schemes ---------------------------------------------------------------------------------

void watch_ckks(Watch& watch) {
  const auto primes = primes_below(50, 4, u64{1} << 18);
  ckks::ParametersSpec spec;
  spec.name = "test";
  spec.log_n = 10;
  spec.p = {primes[0]};
  spec.q = {primes[1], primes[2], primes[3]};
  spec.limbs_per_digit = 1;
  spec.log_scale = 40;
  spec.insecure = "test";
  const ckks::Parameters params(spec);
  const auto context = std::make_shared<const ckks::Context>(params);
  ckks::Client client(context, secret_randomness());
  std::optional<ckks::SecretKey> sk;
  watch("ckks.secret_key", [&] {
    sk.emplace(client.secret_key());
    return tainted(*sk);
  });
  watch_keys(watch, "ckks", client, *sk, 5);
  const ckks::PublicKey pk = client.public_key(*sk);
  const double scale = 0x1p40;
  const std::vector<std::complex<double>> values = secrets(params.slots(), std::complex<double>(0.25, -0.5));
  std::optional<ckks::Plaintext> plain;
  watch("ckks.encode", [&] {
    plain.emplace(context->encode(std::span(values), scale, params.max_level()));
    return tainted(plain->poly);
  });
  watch("ckks.encrypt (secret key)", [&] { return tainted(client.encrypt(*plain, *sk, 1.0)); });
  watch("ckks.encrypt (public key)", [&] { return tainted(client.encrypt(*plain, pk, 1.0)); });
  const ckks::Ciphertext c = client.encrypt(*plain, *sk, 1.0);
  std::optional<ckks::Plaintext> decrypted;
  watch("ckks.decrypt", [&] {
    decrypted.emplace(client.decrypt(c, *sk));
    return tainted(decrypted->poly);
  });
  watch("ckks.decrypt_to_share", [&] { return tainted(client.decrypt_to_share(c, *sk, 20).poly); });
  watch("ckks.decode", [&] { return tainted(context->decode(*decrypted)); });
}

void watch_bfv(Watch& watch, u64 t, const std::string& scheme) {
  const auto primes = primes_below(50, 4, u64{1} << 18);
  bfv::ParametersSpec spec;
  spec.name = "test";
  spec.log_n = 10;
  spec.t = t;
  spec.p = {primes[0]};
  spec.q = {primes[1], primes[2], primes[3]};
  spec.limbs_per_digit = 1;
  spec.insecure = "test";
  const bfv::Parameters params(spec);
  const auto context = std::make_shared<const bfv::Context>(params);
  bfv::Client client(context, secret_randomness());
  const auto at = [&](const char* what) { return scheme + "." + what; };
  std::optional<bfv::SecretKey> sk;
  watch(at("secret_key").c_str(), [&] {
    sk.emplace(client.secret_key());
    return tainted(*sk);
  });
  watch_keys(watch, scheme, client, *sk, 3);
  watch(at("secret key to a file and back").c_str(), [&] {
    std::stringstream file;
    io::save(file, *context, *sk);
    return tainted(io::load_secret_key(file, *context).coeffs().coeffs());
  });
  const bfv::PublicKey pk = client.public_key(*sk);
  const std::vector<i64> values = secrets(params.degree(), i64{-3});
  std::optional<bfv::Plaintext> plain;
  watch(at("encode").c_str(), [&] {
    plain.emplace(context->encode(std::span(values)));
    return tainted(plain->coefficients.data(), plain->coefficients.bytes());
  });
  watch(at("encode_coefficients").c_str(), [&] {
    const bfv::Plaintext p = context->encode_coefficients(std::span(values));
    return tainted(p.coefficients.data(), p.coefficients.bytes());
  });
  watch(at("encrypt (secret key)").c_str(), [&] { return tainted(client.encrypt(*plain, *sk)); });
  watch(at("encrypt (public key)").c_str(), [&] { return tainted(client.encrypt(*plain, pk)); });
  const bfv::Ciphertext c = client.encrypt(*plain, *sk);
  std::optional<bfv::Plaintext> decrypted;
  watch(at("decrypt").c_str(), [&] {
    decrypted.emplace(client.decrypt(c, *sk));
    return tainted(decrypted->coefficients.data(), decrypted->coefficients.bytes());
  });
  watch(at("decrypt_to_share").c_str(), [&] {
    const bfv::Plaintext p = client.decrypt_to_share(c, *sk, 20);
    return tainted(p.coefficients.data(), p.coefficients.bytes());
  });
  std::vector<u64> decoded;
  watch(at("decode").c_str(), [&] {
    decoded = context->decode(*decrypted);
    return tainted(decoded);
  });
  watch(at("centred").c_str(), [&] { return tainted(context->centred(decoded)); });
}

void watch_bgv(Watch& watch, u64 m, const std::string& scheme) {
  const u64 step = Ring::tensor(m).prime_step();
  bgv::ParametersSpec spec;
  spec.m = m;
  spec.p = primes_below(46, 1, step);
  spec.q = primes_below(45, 3, step);
  spec.limbs_per_digit = 1;
  spec.insecure = "test";
  const bgv::Parameters params(spec);
  const auto context = std::make_shared<const bgv::Context>(params);
  bgv::Client client(context, secret_randomness());
  const auto at = [&](const char* what) { return scheme + "." + what; };
  std::optional<bgv::SecretKey> sk;
  watch(at("secret_key").c_str(), [&] {
    sk.emplace(client.secret_key());
    return tainted(*sk);
  });
  watch_keys(watch, scheme, client, *sk, context->frobenius_element(1));
  const bgv::PublicKey pk = client.public_key(*sk);
  const auto bits = secret_bits(params.degree());
  watch(at("encrypt (secret key)").c_str(), [&] { return tainted(client.encrypt(bits, *sk)); });
  watch(at("encrypt (public key)").c_str(), [&] { return tainted(client.encrypt(bits, pk)); });
  const bgv::Ciphertext c = client.encrypt(bits, *sk);
  watch(at("decrypt").c_str(), [&] { return tainted(client.decrypt(c, *sk)); });
  watch(at("decrypt_to_share").c_str(), [&] { return tainted(client.decrypt_to_share(c, *sk, 20)); });
}

void watch_ltv(Watch& watch, const std::string& name) {
  const auto context = std::make_shared<const ltv::Context>(ltv::Parameters::named(name, "tests of timing"));
  const ltv::Client client(context, secret_randomness());
  const auto at = [&](const char* what) { return name + "." + what; };
  std::optional<std::pair<ltv::SecretKey, ltv::PublicKey>> keys;
  watch(at("keys").c_str(), [&] {
    keys.emplace(client.keys());
    return tainted(keys->first.u.at(0).coeffs()) && tainted(keys->second.h.at(0));
  });
  const auto& [sk, pk] = *keys;
  watch(at("eval_key").c_str(), [&] { return tainted(client.eval_key(sk, pk, 1).digits.at(0)); });
  watch(at("secret key to a file and back").c_str(), [&] {
    std::stringstream file;
    io::save(file, *context, sk);
    return tainted(io::load_secret_key(file, *context).u.at(0).coeffs());
  });
  const auto bits = secret_bits(context->params().degree());
  std::optional<ltv::Ciphertext> c;
  watch(at("encrypt").c_str(), [&] {
    c.emplace(client.encrypt(bits, pk));
    return tainted(c->poly);
  });
  watch(at("decrypt").c_str(), [&] { return tainted(client.decrypt(*c, sk)); });
  const ltv::Ciphertext square = ltv::Evaluator(context).mul(*c, *c);
  watch(at("decrypt (a product)").c_str(), [&] { return tainted(client.decrypt(square, sk)); });
}

// Small and insecure: everything that a full set has, in little time.
fhew::GateParameters gate_set(fhew::LweSecret secret, u64 modulus, const fhew::Cut& cut, bool at_q) {
  fhew::GateParameters p;
  p.name = "small";
  p.insecure = "tests";
  p.n = 64;
  p.log_q = at_q ? 16 : 5;
  p.lwe_secret = secret;
  p.log_n = 8;
  p.modulus = modulus;
  p.a = p.b = p.automorphism = cut;
  p.window = 2;
  p.ap_base = 2;
  p.key_switch = at_q ? fhew::LweSwitch{true, 9, 5, 3, true} : fhew::LweSwitch{false, 4, 18, 0, false};
  return p;
}

void watch_gates(Watch& watch, const fhew::GateParameters& params, const std::string& scheme) {
  TestRandomness rng = secret_randomness();
  std::optional<fhew::GateSecretKey> sk;
  const auto at = [&](const char* what) { return scheme + "." + what; };
  watch(at("secret key").c_str(), [&] {
    sk.emplace(params, rng);
    return tainted(sk->lwe()) && tainted(sk->ring().coeffs());
  });
  for (const auto method : {fhew::Method::ap, fhew::Method::ginx, fhew::Method::automorphism}) {
    if (method == fhew::Method::ap && params.key_switch.at_q) continue;  // one set shows it
    watch(at((std::string("evaluation key, ") + fhew::name(method)).c_str()).c_str(), [&] {
      const auto key = fhew::GateEvaluationKey::make(*sk, method, rng);
      const auto words = key.words();
      return tainted(words.bootstrap_key.data(), words.bootstrap_key.size()) &&
             tainted(words.switch_table.data(), words.switch_table.size());
    });
  }
  watch(at("secret key to a file and back").c_str(), [&] {
    std::vector<std::uint8_t> file(sk->bytes());
    sk->save(file.data());
    return tainted(fhew::GateSecretKey::load(file, params).lwe());
  });
  const auto bits = secret_bits(40);
  std::vector<u32> rows(bits.size() * (params.n + 1));
  watch(at("encrypt").c_str(), [&] {
    sk->encrypt(rows.data(), bits.data(), bits.size(), rng);
    return tainted(rows);
  });
  watch(at("decrypt").c_str(), [&] {
    std::vector<std::uint8_t> out(bits.size());
    sk->decrypt(out.data(), rows.data(), out.size());
    return tainted(out);
  });
  watch(at("errors").c_str(), [&] {
    std::vector<double> out(bits.size());
    sk->errors(out.data(), rows.data(), bits.data(), out.size());
    return tainted(out);
  });
}

// ---- protocols -----------------------------------------------------------------------------------

void watch_psi_poly(Watch& watch) {
  const auto primes = primes_below(50, 4, 2048);
  circuits::PsiPolyPlan plan;
  plan.log_n = 10;
  plan.t = primes_below(18, 1, 2048)[0];
  plan.q = {primes[1], primes[2], primes[3]};
  plan.p = {primes[0]};
  plan.sources = {1, 3};
  plan.degree = 7;
  plan.felts = 3;
  plan.columns = 1;
  plan.bundles = 1;
  plan.label_words = 0;
  plan.plain_limbs = 2;
  plan.reply_bits = 30;
  plan.reply_drop = 3;
  plan.insecure = "test";
  const auto context = std::make_shared<const circuits::PsiPolyContext>(plan);
  std::optional<circuits::PsiPolyClientKey> key;
  watch("psi-poly.key", [&] {
    key.emplace(context, secret_randomness());
    return true;  // what is made of it, below, tells whether it was secret
  });
  std::vector<std::uint8_t> keys;
  watch("psi-poly.evaluation_keys", [&] {
    keys = key->evaluation_keys();
    return tainted(keys);
  });
  const std::vector<u32> felts = secrets(plan.bins() * plan.felts, u32{17});
  std::vector<std::uint8_t> request;
  watch("psi-poly.query", [&] {
    request = key->query(felts.data());
    return tainted(request);
  });
  declassify(keys.data(), keys.size());  // both go to the server
  declassify(request.data(), request.size());
  std::vector<std::uint16_t> counts(plan.columns * plan.bundles * plan.column_bins());
  std::vector<u64> plain(plan.columns * plan.bundles * circuits::psi_poly_bundle_words(plan));
  const circuits::PsiPolySessionKeys session(context, keys);
  const auto reply = circuits::psi_poly_answer(session, request, {counts.data(), plain.data()});
  std::vector<u32> values(std::size_t{plan.bundles} * plan.polys() * plan.bins() * plan.felts);
  watch("psi-poly.decode", [&] {
    key->decode(values.data(), reply);
    return tainted(values);
  });
}

void watch_omr(Watch& watch) {
  using namespace circuits;
  CompressionParameters p;
  p.log_n = 10;
  p.t = 786433;
  p.insecure = "for tests";
  const auto primes = primes_below(50, 4, u64{1} << 18);
  p.q = {primes[3], primes[2]};
  p.p = {primes[1], primes[0]};
  const auto context = std::make_shared<const CompressionContext>(p);
  TestRandomness rng = secret_randomness();
  rlwe::Encryptor encryptor(context->big(), rng);
  const rlwe::SecretKey sk = encryptor.secret_key();
  std::optional<CompressionSecret> secret;
  watch("omr.secret of digests", [&] {
    secret.emplace(context, rng);
    return tainted(secret->key());
  });
  watch("omr.secret to a file and back", [&] {
    std::stringstream file;
    secret->save(file);
    return tainted(CompressionSecret::load(file, context).key());
  });
  watch("omr.keys of compression", [&] { return tainted(CompressionKeys(sk, *secret, rng).down()); });
  // The digest of no message, without noise: sums are checked, and others would be refused.
  const CompressionPlan plan(context, 3, 1);
  std::vector<std::uint8_t> digest(plan.digest_bytes());
  std::uint8_t* fields = io::begin_record(digest, kDigestType, plan.hash());
  const u64 head[4] = {1, secret->key().id(), plan.messages(), plan.words()};
  std::memcpy(fields, head, sizeof(head));
  io::seal_record(digest);
  watch("omr.open_digest", [&] { return tainted(open_digest(digest, plan, *secret).sums); });
}

// By libsodium, as processors without AVX-512 do it; the lanes have a test of their own.
void watch_oprf(Watch& watch) {
  using namespace oprf;
  TestRandomness rng = secret_randomness();
  std::optional<ServerKey> key;
  watch("oprf.key", [&] {
    key.emplace(ServerKey::random(rng));
    return tainted(key->bytes().data(), key->bytes().size());
  });
  const auto input = secrets(40, std::uint8_t{7});
  std::optional<Blinded> blinded;
  watch("oprf.blind", [&] {
    blinded.emplace(blind(input, rng));
    const bool reached = tainted(blinded->element.data(), blinded->element.size());
    declassify(blinded->element.data(), blinded->element.size());  // for the server
    return reached;
  });
  Element evaluated{};
  watch("oprf.evaluate", [&] {
    evaluated = evaluate(*key, blinded->element);
    const bool reached = tainted(evaluated.data(), evaluated.size());
    declassify(evaluated.data(), evaluated.size());  // for the client
    return reached;
  });
  watch("oprf.finalize", [&] {
    const Output out = finalize(input, blinded->blind, evaluated);
    return tainted(out.data(), out.size());
  });
  watch("oprf.prf", [&] {
    const Output out = prf(*key, input);
    return tainted(out.data(), out.size());
  });
  const std::vector<std::uint64_t> offsets{0, 0, 5, 40};
  const Inputs inputs{input, offsets};
  std::optional<BlindedBatch> batch;
  watch("oprf.blind_batch", [&] {
    batch.emplace(blind_batch(nullptr, inputs, rng, 1, {}));
    return tainted(batch->blinds.bytes().data(), batch->blinds.bytes().size());
  });
  std::vector<std::uint8_t> answers;
  watch("oprf.evaluate_batch", [&] {
    answers = evaluate_batch(nullptr, *key, batch->elements, 1, {});
    const bool reached = tainted(answers);
    declassify(answers.data(), answers.size());  // for the client
    return reached;
  });
  watch("oprf.finalize_batch", [&] { return tainted(finalize_batch(nullptr, inputs, batch->blinds, answers, 1, {})); });
  watch("oprf.prf_batch", [&] { return tainted(prf_batch(nullptr, *key, inputs, 1, {})); });
}

// ---- planted -------------------------------------------------------------------------------------

void watch_planted(Watch& watch) {
  TestRandomness rng = secret_randomness();
  const auto sk = [&] {
    const auto primes = primes_below(50, 1, u64{1} << 18);
    return rlwe::SecretKey(Basis(Ring::negacyclic(10), primes), rng);
  }();
  volatile int sink = 0;
  watch("planted.none", [&] {
    sink = static_cast<int>(mask_of_equal(static_cast<u64>(sk.coeffs().coeffs()[5]), 1));
    return tainted(sk);
  });
  watch("planted.branch", [&] {
    if (sk.coeffs().coeffs()[5] == 1) sink = 1;
    return tainted(sk);
  });
  static volatile int table[3] = {1, 2, 3};
  watch("planted.address", [&] {
    sink = table[sk.coeffs().coeffs()[5] + 1];
    return tainted(sk);
  });
}

bool run(Watch& watch, const std::string& group) {
  const fhew::Cut plain{18, 2, 0, false}, balanced{9, 2, 8, true};
  if (group == "ckks") {
    watch_ckks(watch);
  } else if (group == "bfv") {
    watch_bfv(watch, 786433, "bfv (t = 786433)");  // by the kernels' transforms
    watch_bfv(watch, 12289, "bfv (t = 12289)");    // by plain loops
  } else if (group == "bgv") {
    watch_bgv(watch, 255, "bgv");
  } else if (group == "bgv-long") {
    watch_bgv(watch, 65537, "bgv (m = 65537)");
  } else if (group == "ltv") {
    for (const char* set : {"ltv-test", "ltv-test-tensor"}) watch_ltv(watch, set);
  } else if (group == "ltv-long") {
    for (const char* set : {"ltv-test-digit", "ltv-test-bits"}) watch_ltv(watch, set);
  } else if (group == "gates") {
    watch_gates(watch, gate_set(fhew::LweSecret::binary, 67104769, balanced, true), "gates (binary)");
    watch_gates(watch, gate_set(fhew::LweSecret::ternary, 34359709697, plain, false), "gates (ternary, 64 bits)");
  } else if (group == "psi-poly") {
    watch_psi_poly(watch);
  } else if (group == "omr") {
    watch_omr(watch);
  } else if (group == "oprf") {
    watch_oprf(watch);
  } else if (group == "planted") {
    watch_planted(watch);
  } else {
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Watch watch;
  for (int i = 1; i < argc; ++i)
    if (!run(watch, argv[i])) argc = 0;
  if (argc > 1) return watch.result();
  std::fputs("usage: constant_time_schemes ckks|bfv|bgv|bgv-long|ltv|ltv-long|gates|psi-poly|omr|oprf|planted ...\n",
             stderr);
  return 2;
}
