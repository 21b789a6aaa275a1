// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What if an argument of a BFV function belongs to another context: ring, primes, plaintext modulus, digits, secret
// key, level? One row for each public function and argument; worlds draw from one seed, so that key ids agree.
#include "bfv_support.hpp"

namespace ringforge::test {
namespace {

using namespace bfv_world;

struct Row {
  const char* function;
  const char* argument;
  std::function<void()> call;
};

template <class Expected>
void expect_all(const std::vector<Row>& rows, const std::string& world) {
  for (const Row& row : rows) {
    const std::string where = std::string(row.function) + ", foreign " + row.argument + ", " + world;
    EXPECT_THROW(row.call(), Expected) << where;
  }
}

struct Things : World {
  explicit Things(const bfv::Parameters& p, std::uint8_t seed = 7)
      : World(p, seed),
        p(ctx->encode_coefficients(Values{1, 2, 3})),
        m(ctx->multiplier(this->p)),
        c(client.encrypt(this->p, sk)),
        three(ev.mul(c, c)) {
    add_keys({1}, true);
  }
  bfv::Plaintext p;
  bfv::Multiplier m;
  bfv::Ciphertext c, three;
};

constexpr std::array<i64, 2> kOnes{1, 1};

/// Where a ciphertext of `f` comes in.
std::vector<Row> ciphertexts(Things& w, Things& f) {
  const auto in_place = [](const bfv::Ciphertext& c, auto g) {
    return [&c, g] {
      bfv::Ciphertext r(c);
      g(r);
    };
  };
  return {
      {"Context::check", "ciphertext", [&] { w.ctx->check(f.c); }},
      {"Client::decrypt", "ciphertext", [&] { (void)w.client.decrypt(f.c, w.sk); }},
      {"Client::decrypt_to_share", "ciphertext", [&] { (void)w.client.decrypt_to_share(f.c, w.sk, 10); }},
      {"Client::measure", "ciphertext", [&] { (void)w.client.measure(f.c, w.sk); }},
      {"Client::noise_budget", "ciphertext", [&] { (void)w.client.noise_budget(f.c, w.sk); }},
      {"Evaluator::budget", "ciphertext", [&] { (void)w.ev.budget(f.c); }},
      {"Evaluator::add", "left", [&] { (void)w.ev.add(f.c, w.c); }},
      {"Evaluator::add", "right", [&] { (void)w.ev.add(w.c, f.c); }},
      {"Evaluator::sub", "left", [&] { (void)w.ev.sub(f.c, w.c); }},
      {"Evaluator::sub", "right", [&] { (void)w.ev.sub(w.c, f.c); }},
      {"Evaluator::add_in_place", "left", in_place(f.c, [&](auto& r) { w.ev.add_in_place(r, w.c); })},
      {"Evaluator::add_in_place", "right", in_place(w.c, [&](auto& r) { w.ev.add_in_place(r, f.c); })},
      {"Evaluator::sub_in_place", "left", in_place(f.c, [&](auto& r) { w.ev.sub_in_place(r, w.c); })},
      {"Evaluator::sub_in_place", "right", in_place(w.c, [&](auto& r) { w.ev.sub_in_place(r, f.c); })},
      {"Evaluator::negate", "ciphertext", [&] { (void)w.ev.negate(f.c); }},
      {"Evaluator::negate_in_place", "ciphertext", in_place(f.c, [&](auto& r) { w.ev.negate_in_place(r); })},
      {"Evaluator::add_plain", "ciphertext", [&] { (void)w.ev.add_plain(f.c, w.p); }},
      {"Evaluator::sub_plain", "ciphertext", [&] { (void)w.ev.sub_plain(f.c, w.p); }},
      {"Evaluator::add_plain_in_place", "ciphertext", in_place(f.c, [&](auto& r) { w.ev.add_plain_in_place(r, w.p); })},
      {"Evaluator::sub_plain_in_place", "ciphertext", in_place(f.c, [&](auto& r) { w.ev.sub_plain_in_place(r, w.p); })},
      {"Evaluator::add_constant", "ciphertext", [&] { (void)w.ev.add_constant(f.c, 1); }},
      {"Evaluator::mul_plain", "ciphertext", [&] { (void)w.ev.mul_plain(f.c, w.p); }},
      {"Evaluator::mul_plain (multiplier)", "ciphertext", [&] { (void)w.ev.mul_plain(f.c, w.m); }},
      {"Evaluator::mul_constant", "ciphertext", [&] { (void)w.ev.mul_constant(f.c, 1); }},
      {"Evaluator::combine", "first",
       [&] { (void)w.ev.combine(std::array<const bfv::Ciphertext*, 2>{&f.c, &w.c}, kOnes); }},
      {"Evaluator::combine", "second",
       [&] { (void)w.ev.combine(std::array<const bfv::Ciphertext*, 2>{&w.c, &f.c}, kOnes); }},
      {"Evaluator::mul", "left", [&] { (void)w.ev.mul(f.c, w.c); }},
      {"Evaluator::mul", "right", [&] { (void)w.ev.mul(w.c, f.c); }},
      {"Evaluator::square", "ciphertext", [&] { (void)w.ev.square(f.c); }},
      {"Evaluator::relinearize", "ciphertext", [&] { (void)w.ev.relinearize(f.three, w.relin); }},
      {"Evaluator::rotate_rows", "ciphertext", [&] { (void)w.ev.rotate_rows(f.c, 1, w.keys); }},
      {"Evaluator::rotate_rows", "ciphertext, by 0", [&] { (void)w.ev.rotate_rows(f.c, 0, w.keys); }},
      {"Evaluator::swap_rows", "ciphertext", [&] { (void)w.ev.swap_rows(f.c, w.keys); }},
      {"Evaluator::apply_galois", "ciphertext", [&] { (void)w.ev.apply_galois(f.c, 5, w.keys); }},
      {"Evaluator::rotate_hoisted", "ciphertext",
       [&] { (void)w.ev.rotate_hoisted(f.c, std::array<i64, 1>{1}, w.keys); }},
      {"Evaluator::mod_switch_to", "ciphertext", [&] { (void)w.ev.mod_switch_to(f.c, 1); }},
  };
}

/// Where plaintexts made for another t or degree come in.
std::vector<Row> plaintexts(Things& w, Things& f) {
  return {
      {"Context::check", "plaintext", [&] { w.ctx->check(f.p); }},
      {"Context::decode", "plaintext", [&] { (void)w.ctx->decode(f.p); }},
      {"Context::multiplier", "plaintext", [&] { (void)w.ctx->multiplier(f.p); }},
      {"Context::scaled", "plaintext", [&] { (void)w.ctx->scaled(f.p, 2); }},
      {"Client::encrypt", "plaintext", [&] { (void)w.client.encrypt(f.p, w.sk); }},
      {"Client::encrypt (public)", "plaintext", [&] { (void)w.client.encrypt(f.p, w.pk); }},
      {"Evaluator::add_plain", "plaintext", [&] { (void)w.ev.add_plain(w.c, f.p); }},
      {"Evaluator::sub_plain", "plaintext", [&] { (void)w.ev.sub_plain(w.c, f.p); }},
      {"Evaluator::mul_plain", "plaintext", [&] { (void)w.ev.mul_plain(w.c, f.p); }},
  };
}

std::vector<Row> multipliers(Things& w, Things& f) {
  return {
      {"Context::check", "multiplier", [&] { w.ctx->check(f.m); }},
      {"Evaluator::mul_plain", "multiplier", [&] { (void)w.ev.mul_plain(w.c, f.m); }},
  };
}

std::vector<Row> evaluation_keys(Things& w, Things& f) {
  return {
      {"Evaluator::relinearize", "key", [&] { (void)w.ev.relinearize(w.three, f.relin); }},
      {"Evaluator::rotate_rows", "keys", [&] { (void)w.ev.rotate_rows(w.c, 1, f.keys); }},
      {"Evaluator::swap_rows", "keys",
       [&] {
         GaloisKeys k;
         k.insert({w.ctx->swap_element(), f.keys.at(f.ctx->swap_element())});
         (void)w.ev.swap_rows(w.c, k);
       }},
      {"Evaluator::apply_galois", "keys", [&] { (void)w.ev.apply_galois(w.c, 5, f.keys); }},
      {"Evaluator::rotate_hoisted", "keys", [&] { (void)w.ev.rotate_hoisted(w.c, std::array<i64, 1>{1}, f.keys); }},
  };
}

std::vector<Row> client_keys(Things& w, Things& f) {
  return {
      {"Client::public_key", "secret key", [&] { (void)w.client.public_key(f.sk); }},
      {"Client::relin_key", "secret key", [&] { (void)w.client.relin_key(f.sk); }},
      {"Client::galois_key", "secret key", [&] { (void)w.client.galois_key(f.sk, 5); }},
      {"Client::encrypt", "secret key", [&] { (void)w.client.encrypt(w.p, f.sk); }},
      {"Client::encrypt (public)", "key", [&] { (void)w.client.encrypt(w.p, f.pk); }},
      {"Client::decrypt", "secret key", [&] { (void)w.client.decrypt(w.c, f.sk); }},
      {"Client::decrypt_to_share", "secret key", [&] { (void)w.client.decrypt_to_share(w.c, f.sk, 10); }},
      {"Client::measure", "secret key", [&] { (void)w.client.measure(w.c, f.sk); }},
  };
}

TEST(BfvForeign, RingsPrimesModuliAndDigits) {
  Things w(parameters(11, 12289, 4, 2, 2));
  Things ring(parameters(10, 12289, 4, 2, 2)), primes(parameters(11, 12289, 4, 2, 2, 48)),
      modulus(parameters(11, 40961, 4, 2, 2)), digits(parameters(11, 12289, 4, 2, 1));
  for (const auto& [f, name] : {std::pair{&ring, "ring"}, {&primes, "primes"}}) {
    expect_all<MismatchError>(ciphertexts(w, *f), name);
    expect_all<MismatchError>(multipliers(w, *f), name);
    expect_all<MismatchError>(evaluation_keys(w, *f), name);
    expect_all<MismatchError>(client_keys(w, *f), name);
  }
  expect_all<ShapeError>(plaintexts(w, ring), "ring");
  // Keys know nothing of t: the others do.
  expect_all<MismatchError>(ciphertexts(w, modulus), "plaintext modulus");
  expect_all<MismatchError>(plaintexts(w, modulus), "plaintext modulus");
  expect_all<MismatchError>(multipliers(w, modulus), "plaintext modulus");
  expect_all<MismatchError>(evaluation_keys(w, digits), "digits");
  bfv::Plaintext large = w.p;
  large.coefficients.data()[5] = w.t;
  EXPECT_THROW(w.ctx->check(large), ValueError);
}

TEST(BfvForeign, SecretKeysAndLevels) {
  Things w(parameters(10, 12289, 4)), other(parameters(10, 12289, 4), 8);
  EXPECT_THROW((void)w.client.decrypt(other.c, w.sk), MismatchError);
  EXPECT_THROW((void)w.ev.add(w.c, other.c), MismatchError);
  EXPECT_THROW((void)w.ev.mul(w.c, other.c), MismatchError);
  EXPECT_THROW((void)w.ev.combine(std::array<const bfv::Ciphertext*, 2>{&w.c, &other.c}, kOnes), MismatchError);
  expect_all<MismatchError>(evaluation_keys(w, other), "secret key");
  const auto low = w.ev.mod_switch_to(w.c, 2);
  EXPECT_THROW((void)w.ev.add(w.c, low), LevelError);
  EXPECT_THROW((void)w.ev.sub(low, w.c), LevelError);
  EXPECT_THROW((void)w.ev.mul(w.c, low), LevelError);
  EXPECT_THROW((void)w.ev.combine(std::array<const bfv::Ciphertext*, 2>{&w.c, &low}, kOnes), LevelError);
  EXPECT_THROW((void)w.ev.mod_switch_to(low, 3), LevelError);
  EXPECT_THROW((void)w.ev.mod_switch_to(low, 0), LevelError);
  EXPECT_THROW((void)w.ctx->basis(5), LevelError);
  EXPECT_THROW((void)w.ctx->multiplier(w.p, 5), LevelError);
  EXPECT_THROW((void)w.ctx->scaled(w.p, 0), LevelError);
  EXPECT_THROW((void)w.client.encrypt(w.p, w.sk, 5), LevelError);
  EXPECT_THROW((void)w.client.relin_key(w.sk, 5), LevelError);
  EXPECT_THROW((void)w.ev.relinearize(w.three, w.client.relin_key(w.sk, 3)), LevelError);
  bfv::Ciphertext one = w.c;
  one.parts.resize(1);
  EXPECT_THROW((void)w.client.decrypt(one, w.sk), ShapeError);
  // What throws leaves the operand as it was.
  bfv::Ciphertext kept = w.c;
  EXPECT_THROW(w.ev.add_in_place(kept, low), LevelError);
  EXPECT_TRUE(equal(kept.parts[0], w.c.parts[0]));
  EXPECT_EQ(kept.log_deviation, w.c.log_deviation);
}

}  // namespace
}  // namespace ringforge::test
