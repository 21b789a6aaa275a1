// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/omr_compress.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>

#include "ref/arith.hpp"
#include "ringforge/error.hpp"

namespace ringforge::circuits {
namespace {

using rlwe::Ciphertext;

constexpr u64 kT = 786433;

CompressionContextPtr context(unsigned log_n) {
  CompressionParameters p;
  p.log_n = log_n;
  p.t = kT;
  p.insecure = "for tests";
  // The least primes of the set that a bulletin of 2^16 entries is detected with are alike: 49.57 bits, 1 mod 2^18.
  const auto primes = primes_below(50, 4, u64{1} << 18);
  p.q = {primes[3], primes[2]};
  p.p = {primes[1], primes[0]};
  return std::make_shared<CompressionContext>(p);
}

/// A receiver's keys and a bulletin, with u encrypted as BFV does it.
struct World {
  CompressionContextPtr ctx;
  TestRandomness rng{Seed{7}};
  rlwe::Encryptor encryptor;
  rlwe::SecretKey key;
  CompressionSecret secret;
  CompressionKeys keys;

  explicit World(CompressionContextPtr c)
      : ctx(c), encryptor(c->big(), rng), key(encryptor.secret_key()), secret(c, rng), keys(key, secret, rng) {}

  /// Residue of (Q*m - [Q*m mod t]) / t modulo a prime of Q: Q/t*m, rounded down.
  Ciphertext encrypt(const std::vector<u32>& u) {
    const std::size_t n = ctx->parameters().entries();
    const auto plain = Prime::get(kT, ctx->big()->q().ring());
    WordBuffer m(n);
    const unsigned log_n = ctx->parameters().log_n;
    for (std::size_t row = 0; row < 2; ++row)
      for (u64 i = 0, e = 1; i < n / 2; ++i, e = e * 5 % (2 * n)) {
        const u64 index = ((row == 0 ? e : 2 * n - e) - 1) / 2;
        u64 at = 0;
        for (unsigned b = 0; b < log_n; ++b) at |= (index >> b & 1) << (log_n - 1 - b);
        m.data()[at] = u[row * n / 2 + i];
      }
    intt(m.data(), m.data(), *plain);
    Ciphertext c = encryptor.zero(key, 2);
    const Basis q = ctx->big()->q();
    const u64 q_mod_t = arith::mul(q[0].value() % kT, q[1].value() % kT, plain->mod());
    for (std::size_t l = 0; l < 2; ++l) {
      WordBuffer x(n);
      const u64 inverse = arith::inverse(kT, q[l].mod());
      for (std::size_t i = 0; i < n; ++i) {
        const u64 rest = arith::mul(q_mod_t, m.data()[i], plain->mod());
        x.data()[i] = arith::mul(inverse, rest == 0 ? 0 : q[l].value() - rest, q[l].mod());
      }
      ntt(x.data(), x.data(), q[l]);
      kernels::active().add(c.parts[0].limb(l), c.parts[0].limb(l), x.data(), n, q[l].mod());
    }
    return c;
  }
};

std::vector<u32> payloads(std::size_t entries, std::size_t words, u64 seed) {
  std::mt19937_64 rng(seed);
  std::vector<u32> r(entries * words);
  for (u32& w : r) w = static_cast<u32>(rng() % kT);
  return r;
}

/// Sums as the definition says.
std::vector<u32> exact(const CompressionPlan& plan, const std::vector<u32>& u, const std::vector<u32>& words) {
  std::vector<u32> sums(plan.powers() * plan.values());
  for (std::size_t j = 0; j < u.size(); ++j) {
    u64 power = u[j];
    for (std::size_t i = 0; power != 0 && i < plan.powers(); ++i, power = power * (j + 1) % kT)
      for (std::size_t v = 0; v < plan.values(); ++v) {
        const u64 value = v == 0 ? 1 : words[j * plan.words() + v - 1];
        u32& sum = sums[i * plan.values() + v];
        sum = static_cast<u32>((sum + power * value) % kT);
      }
  }
  return sums;
}

std::vector<u32> indicator(std::size_t entries, std::vector<std::size_t> of) {
  std::vector<u32> u(entries);
  for (const std::size_t j : of) u[j] = 1;
  return u;
}

/// Variance of the phase's distance from Q/t times an integer, in units of the last modulus: the error e.
double measured(const Ciphertext& c, const rlwe::Gadget& gadget, const rlwe::SecretKey& key) {
  const rlwe::GadgetPtr shared(std::shared_ptr<void>{}, &gadget);
  const Poly<Coeff> p = to_coeff(rlwe::Decryptor(shared).phase(c, key));
  // e = phase - (Q/t)*m: t*phase mod Q is t*e, exactly, while that is small.
  const auto& b = p.basis();
  double sum = 0;
  for (std::size_t i = 0; i < p.degree(); ++i) {
    const u64 x0 = arith::mul(p.limb(0)[i], kT, b[0].mod());
    if (b.size() == 1) {
      const double e = static_cast<double>(static_cast<i64>(x0 > b[0].value() / 2 ? x0 - b[0].value() : x0));
      sum += e * e / (double(kT) * kT);
      continue;
    }
    const u64 x1 = arith::mul(p.limb(1)[i], kT, b[1].mod());
    const u64 delta = arith::mul(arith::sub(x1, arith::reduce64(x0, b[1].mod()), b[1].value()),
                                 arith::inverse(b[0].value() % b[1].value(), b[1].mod()), b[1].mod());
    double e = double(delta) * double(b[0].value()) + double(x0);
    if (delta > b[1].value() / 2) e = -(double(b[1].value() - delta) * double(b[0].value()) - double(x0));
    sum += e * e / (double(kT) * kT);
  }
  return sum / static_cast<double>(p.degree());
}

struct Shape {
  std::size_t messages, words, period, outputs;
};

class Compression : public testing::TestWithParam<Shape> {};

TEST_P(Compression, SumsAreExactCountsArePlannedAndNoiseIsCovered) {
  const auto [messages, words, period, outputs] = GetParam();
  World w(context(10));
  const std::size_t entries = w.ctx->parameters().entries();
  const CompressionPlan plan(w.ctx, messages, words);
  ASSERT_EQ(plan.outputs().size(), outputs);
  EXPECT_EQ(plan.period(), period);
  const auto data = payloads(entries, words, 1);
  const auto u = indicator(entries, {0, 1, 511, 512, 1023, 77});
  const Ciphertext c = w.encrypt(u);
  const Compressor compressor(plan, w.keys);

  const CountScope first;
  const CompressedPowers powers = compressor.powers(c);
  EXPECT_EQ(first.operations(), plan.prepare_counts());
  const CountScope second;
  std::vector<CompressionPart> parts;
  parts.push_back(compressor.part(powers, data, plan.all()));
  EXPECT_EQ(second.operations(), plan.part_counts(plan.all()));
  const CountScope third;
  const auto packed = compressor.packed(std::move(parts));
  const auto digest = compressor.digest(packed, 42);
  EXPECT_EQ(third.operations(), plan.finish_counts());

  EXPECT_EQ(digest.size(), plan.digest_bytes());
  const DigestSums opened = open_digest(digest, plan, w.secret);
  EXPECT_EQ(opened.sums, exact(plan, u, data));
  const DigestHead head = digest_head(digest);
  EXPECT_EQ(head.bulletin, 42U);
  EXPECT_EQ(head.messages, messages);
  EXPECT_EQ(head.words, words);

  // Predictions are variances, of 256 coefficients here: a mean of so many squares is within a factor of 2, and a
  // packed ciphertext whose tree has empty places has less noise there than prediction says.
  const auto predicted = plan.noise(kErrorVariance + 1.0 / 12);
  const auto covers = [&](double is, double said) {
    EXPECT_LT(is, 2 * said);
    if (words > 0) EXPECT_GT(is, said / 64);  // without payloads the only value is the constant 1
  };
  SmallPoly spread(entries);
  for (std::size_t i = 0; i < entries / 4; ++i) spread.coeffs()[4 * i] = w.secret.key().coeffs().coeffs()[i];
  const rlwe::SecretKey large(w.ctx->big()->all(), std::move(spread), w.secret.key().id());
  covers(measured(compressor.switched(c), *w.ctx->big(), large), predicted.switched);
  for (const auto& s : packed) {
    covers(measured(s, *w.ctx->small(), w.secret.key()), predicted.packed);
    const Ciphertext one = rlwe::Evaluator(w.ctx->small()).divide(s);
    covers(measured(one, *w.ctx->small(), w.secret.key()), predicted.limb);
  }
  covers(opened.squares, predicted.digest);
  EXPECT_LT(opened.margin, 0.5);
  EXPECT_LT(predicted.failure_log2, -60);
}

// No payloads; a tree with all places and one with empty ones; several outputs, the last one with a tree of its own.
INSTANTIATE_TEST_SUITE_P(Shapes, Compression,
                         testing::Values(Shape{1, 0, 32, 1}, Shape{30, 7, 32, 1}, Shape{7, 4, 32, 1},
                                         Shape{31, 9, 64, 3}, Shape{62, 4, 64, 2}));

TEST(Compression, PartsOfAnySizeGiveTheSameSumsAndThreadsTheSameBits) {
  World w(context(12));
  const std::size_t entries = w.ctx->parameters().entries();
  const CompressionPlan plan(w.ctx, 15, 52);  // 53 values, 32 in a ciphertext: units of 16, 16; 16, 5
  ASSERT_EQ(plan.units(), 4U);
  const auto data = payloads(entries, 52, 2);
  const auto u = indicator(entries, {3, 500, 900, 4000});
  const Compressor compressor(plan, w.keys);
  const auto powers = compressor.powers(w.encrypt(u), 2);
  const auto expected = exact(plan, u, data);
  const auto whole = compressor.part(powers, data, plan.all());
  for (const std::size_t count : {1U, 2U, 3U}) {
    std::vector<CompressionPart> parts;
    for (std::size_t i = 0; i < count; ++i) {
      const auto shard = plan.shard(i, count);
      const CountScope scope;
      const CompressionPart part = compressor.part(powers, data, shard, 3);
      EXPECT_EQ(scope.operations(), plan.part_counts(shard));
      std::stringstream file;
      part.save(file, plan);
      parts.insert(parts.begin(), CompressionPart::load(file, plan));  // in any order
      for (std::size_t k = 0; k < shard.count; ++k)
        for (std::size_t half = 0; half < 2; ++half)
          EXPECT_TRUE(std::ranges::equal(whole.packed[shard.first + k].parts[half].words(),
                                         parts[0].packed[k].parts[half].words()));
    }
    const auto digest = compressor.digest(compressor.packed(parts), 0);
    EXPECT_EQ(open_digest(digest, plan, w.secret).sums, expected) << count;
    parts.pop_back();
    EXPECT_THROW(compressor.packed(parts), ShapeError);
  }
}

TEST(Compression, KeysAndSecretsSurviveTheirRecords) {
  World w(context(9));
  const CompressionPlan plan(w.ctx, 3, 1);
  std::stringstream keys_file, secret_file;
  w.keys.save(keys_file);
  w.secret.save(secret_file);
  EXPECT_EQ(keys_file.str().size(), CompressionKeys::saved_bytes(*w.ctx));
  const auto keys = CompressionKeys::load(keys_file, w.ctx, 2);
  const auto secret = CompressionSecret::load(secret_file, w.ctx);
  const std::size_t entries = w.ctx->parameters().entries();
  const auto data = payloads(entries, 1, 3);
  const auto u = indicator(entries, {9, 300});
  const Compressor compressor(plan, keys);
  const auto powers = compressor.powers(w.encrypt(u));
  const auto digest = compressor.digest(compressor.packed({compressor.part(powers, data, plan.all())}), 1);
  EXPECT_EQ(open_digest(digest, plan, secret).sums, exact(plan, u, data));

  // Every byte counts: an altered or shortened record is refused.
  std::string bytes = keys_file.str();
  for (const std::size_t at : {0UL, 7UL, 60UL, 1000UL, bytes.size() - 1}) {
    std::string other = bytes;
    other[at] ^= 1;
    std::stringstream in(other);
    EXPECT_THROW((void)CompressionKeys::load(in, w.ctx), Error);
  }
  std::stringstream cut(bytes.substr(0, bytes.size() - 40));
  EXPECT_THROW((void)CompressionKeys::load(cut, w.ctx), FormatError);
  std::stringstream again(bytes);
  EXPECT_THROW((void)CompressionKeys::load(again, context(10)), MismatchError);
}

TEST(Compression, RefusesWhatDoesNotBelong) {
  World w(context(9));
  const std::size_t entries = w.ctx->parameters().entries();
  const CompressionPlan plan(w.ctx, 3, 2);
  EXPECT_THROW(CompressionPlan(w.ctx, 0, 2), ParameterError);
  EXPECT_THROW(CompressionPlan(w.ctx, entries + 1, 2), ParameterError);
  EXPECT_THROW(CompressionPlan(w.ctx, 3, (1 << 16) + 1), ParameterError);
  EXPECT_THROW((void)plan.shard(2, 2), ParameterError);
  const Compressor compressor(plan, w.keys);
  const auto u = indicator(entries, {1});
  const Ciphertext c = w.encrypt(u);
  EXPECT_THROW((void)compressor.powers(rlwe::Evaluator(w.ctx->big()).drop_to(c, 1)), LevelError);
  Ciphertext foreign = c;
  foreign.key_id += 1;
  EXPECT_THROW((void)compressor.powers(foreign), MismatchError);
  const auto powers = compressor.powers(c);
  auto data = payloads(entries, 2, 4);
  EXPECT_THROW((void)compressor.part(powers, std::span(data).first(7), plan.all()), ShapeError);
  data[100] = kT;
  EXPECT_THROW((void)compressor.part(powers, data, plan.all()), ValueError);
  data[100] = kT - 1;
  EXPECT_THROW((void)compressor.part(powers, data, {0, plan.units() + 1}), ShapeError);
  EXPECT_THROW((void)compressor.part(CompressedPowers(16, entries), data, plan.all()), ShapeError);
  EXPECT_THROW((void)compressor.part(powers, data, plan.all(), 1, [](double) { return false; }), Error);
  auto digest = compressor.digest(compressor.packed({compressor.part(powers, data, plan.all())}), 5);
  EXPECT_THROW((void)open_digest(digest, CompressionPlan(w.ctx, 4, 2), w.secret), MismatchError);
  EXPECT_THROW((void)open_digest(digest, plan, CompressionSecret(w.ctx, w.rng)), MismatchError);
  // Damage that the checksum does not show is seen in sums that must be 0.
  digest[digest.size() - 200] ^= 0x80;
  io::seal_record(digest);
  EXPECT_THROW((void)open_digest(digest, plan, w.secret), FormatError);
  CompressionParameters weak = w.ctx->parameters();
  weak.insecure.clear();
  EXPECT_THROW(CompressionContext{weak}, ParameterError);
}

}  // namespace
}  // namespace ringforge::circuits
