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

CompressionContextPtr context(unsigned log_n, unsigned log_babies) {
  CompressionParameters p{.log_n = log_n, .t = kT, .log_babies = log_babies, .insecure = "for tests"};
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
      : ctx(c),
        encryptor(c->big(), rng),
        key(encryptor.secret_key()),
        secret(c, rng),
        keys(key, secret, rng) {}

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

/// Rows as the definition says, by sums over pertinent entries.
std::vector<u32> exact(const CompressionPlan& plan, const std::vector<u32>& u, const std::vector<u32>& words) {
  std::vector<u32> rows(plan.rows());
  for (std::size_t j = 0; j < u.size(); ++j) {
    u64 power = u[j];
    for (std::size_t i = 0; power != 0 && i < plan.powers(); ++i, power = power * (j + 1) % kT)
      for (std::size_t v = 0; v < plan.values(); ++v) {
        const u64 value = v == 0 ? 1 : words[j * plan.words() + v - 1];
        u32& row = rows[i * plan.values() + v];
        row = static_cast<u32>((row + power * value) % kT);
      }
  }
  return rows;
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
  std::size_t messages, words, outputs, last_signs;
};

class Compression : public testing::TestWithParam<Shape> {};

TEST_P(Compression, RowsAreExactCountsArePlannedAndNoiseIsCovered) {
  const auto [messages, words, outputs, last_signs] = GetParam();
  World w(context(10, 3));
  const std::size_t entries = w.ctx->parameters().entries();
  const CompressionPlan plan(w.ctx, messages, words);
  ASSERT_EQ(plan.outputs().size(), outputs);
  EXPECT_EQ(plan.outputs().back().signs, last_signs);
  const auto data = payloads(entries, words, 1);
  const auto u = indicator(entries, {0, 1, 511, 512, 1023, 77});
  const Ciphertext c = w.encrypt(u);
  const CompressionTables tables(plan, data);
  const Compressor compressor(plan, w.keys);

  const CountScope all;
  const auto split = compressor.split(c);
  const auto babies = compressor.babies(split);
  EXPECT_EQ(all.operations(), plan.prepare_counts());
  const CountScope second;
  std::vector<CompressionPart> parts;
  parts.push_back(compressor.part(babies, tables, plan.all()));
  EXPECT_EQ(second.operations(), plan.part_counts(plan.all()));
  const CountScope third;
  const std::vector<CompressionPlan::Shard> shards{plan.all()};
  const auto sums = compressor.sums(std::move(parts));
  const auto digest = compressor.digest(sums, 42);
  EXPECT_EQ(third.operations(), plan.finish_counts(shards));

  EXPECT_EQ(digest.size(), plan.digest_bytes());
  const DigestRows rows = open_digest(digest, plan, w.secret);
  EXPECT_EQ(rows.rows, exact(plan, u, data));
  const DigestHead head = digest_head(digest);
  EXPECT_EQ(head.bulletin, 42U);
  EXPECT_EQ(head.messages, messages);
  EXPECT_EQ(head.words, words);

  // Predicted: variances over 256 or more coefficients; 2^0.5 of slack on either side of a mean of so many squares,
  // and for the sum's dependent terms.
  const auto predicted = plan.noise(kErrorVariance + 1.0 / 12);
  const auto covers = [](double is, double said) {
    EXPECT_LT(is, 2 * said);
    EXPECT_GT(is, said / 16);
  };
  for (const auto& s : split) covers(measured(s, *w.ctx->small(), w.secret.key()), predicted.split);
  covers(measured(babies.back(), *w.ctx->small(), w.secret.key()), predicted.baby);
  for (const auto& s : sums) {
    covers(measured(s, *w.ctx->small(), w.secret.key()), predicted.sum);
    const Ciphertext one = rlwe::Evaluator(w.ctx->small()).divide(s);
    covers(measured(one, *w.ctx->small(), w.secret.key()), predicted.limb);
  }
  covers(rows.squares, predicted.digest);
  EXPECT_LT(rows.margin, 0.5);
  EXPECT_LT(predicted.failure_log2, -60);
}

// Rows: folded in one row of slots; values or powers inside; both rows; several outputs, the last one folded or not.
INSTANTIATE_TEST_SUITE_P(Shapes, Compression,
                         testing::Values(Shape{1, 0, 1, 1}, Shape{6, 0, 1, 1}, Shape{6, 7, 1, 1}, Shape{12, 5, 1, 1},
                                         Shape{7, 24, 1, 2}, Shape{15, 20, 2, 1}, Shape{6, 64, 2, 2}));

TEST(Compression, PartsOfAnySizeGiveTheSameRowsAndThreadsTheSameBits) {
  World w(context(10, 3));
  const std::size_t entries = w.ctx->parameters().entries();
  const CompressionPlan plan(w.ctx, 15, 20);
  const auto data = payloads(entries, 20, 2);
  const auto u = indicator(entries, {3, 500, 900});
  const Compressor compressor(plan, w.keys);
  const CompressionTables tables(plan, data, 3);
  const auto babies = compressor.babies(compressor.split(w.encrypt(u)), 2);
  const auto expected = exact(plan, u, data);
  const auto whole = compressor.part(babies, tables, plan.all());
  for (const std::size_t count : {1U, 2U, 3U, 7U}) {
    std::vector<CompressionPart> parts;
    std::vector<CompressionPlan::Shard> shards;
    for (std::size_t i = 0; i < count; ++i) {
      shards.push_back(plan.shard(i, count));
      const CountScope scope;
      CompressionPart part = compressor.part(babies, tables, shards.back(), 3);
      EXPECT_EQ(scope.operations(), plan.part_counts(shards.back()));
      std::stringstream file;
      part.save(file, plan);
      parts.insert(parts.begin(), CompressionPart::load(file, plan));  // in any order
      if (count == 1) {
        for (std::size_t s = 0; s < whole.sums.size(); ++s)
          for (std::size_t k = 0; k < whole.sums[s].size(); ++k)
            for (std::size_t half = 0; half < 2; ++half)
              EXPECT_TRUE(std::ranges::equal(whole.sums[s][k].parts[half].words(),
                                             parts[0].sums[s][k].parts[half].words()));
      }
    }
    const CountScope scope;
    const auto digest = compressor.digest(compressor.sums(parts), 0);
    EXPECT_EQ(scope.operations(), plan.finish_counts(shards)) << count;
    EXPECT_EQ(open_digest(digest, plan, w.secret).rows, expected) << count;
    parts.pop_back();
    EXPECT_THROW(compressor.sums(parts), ShapeError);
  }
}

TEST(Compression, KeysAndSecretsSurviveTheirRecords) {
  World w(context(9, 2));
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
  const CompressionTables tables(plan, data);
  const auto babies = compressor.babies(compressor.split(w.encrypt(u)));
  const auto digest = compressor.digest(compressor.sums({compressor.part(babies, tables, plan.all())}), 1);
  EXPECT_EQ(open_digest(digest, plan, secret).rows, exact(plan, u, data));

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
  EXPECT_THROW((void)CompressionKeys::load(again, context(9, 3)), MismatchError);
}

TEST(Compression, RefusesWhatDoesNotBelong) {
  World w(context(9, 2)), other(context(9, 2));
  const std::size_t entries = w.ctx->parameters().entries();
  const CompressionPlan plan(w.ctx, 3, 2);
  EXPECT_THROW(CompressionPlan(w.ctx, 0, 2), ParameterError);
  EXPECT_THROW(CompressionPlan(w.ctx, entries + 1, 2), ParameterError);
  EXPECT_THROW(CompressionPlan(w.ctx, 512, 1 << 16), ParameterError);
  EXPECT_THROW((void)plan.shard(2, 2), ParameterError);
  auto data = payloads(entries, 2, 4);
  EXPECT_THROW(CompressionTables(plan, std::span(data).first(7)), ShapeError);
  data[100] = kT;
  EXPECT_THROW(CompressionTables(plan, data), ValueError);
  data[100] = kT - 1;
  const CompressionTables tables(plan, data);
  const Compressor compressor(plan, w.keys);
  const auto u = indicator(entries, {1});
  Ciphertext c = w.encrypt(u);
  EXPECT_THROW((void)compressor.split(rlwe::Evaluator(w.ctx->big()).drop_to(c, 1)), LevelError);
  Ciphertext foreign = c;
  foreign.key_id += 1;
  EXPECT_THROW((void)compressor.split(foreign), MismatchError);
  const auto babies = compressor.babies(compressor.split(c));
  EXPECT_THROW((void)compressor.part(babies, tables, {0, plan.giants() + 1}), ShapeError);
  EXPECT_THROW((void)compressor.part(babies, tables, plan.all(), 1, [](double) { return false; }), Error);
  auto digest = compressor.digest(compressor.sums({compressor.part(babies, tables, plan.all())}), 5);
  EXPECT_THROW((void)open_digest(digest, CompressionPlan(w.ctx, 4, 2), w.secret), MismatchError);
  EXPECT_THROW((void)open_digest(digest, plan, CompressionSecret(w.ctx, w.rng)), MismatchError);
  // Damage that the checksum does not show is seen in slots that hold no row, or repeat one.
  digest[digest.size() - 500] ^= 0x10;
  io::seal_record(digest);
  EXPECT_THROW((void)open_digest(digest, plan, w.secret), FormatError);
  CompressionParameters weak = w.ctx->parameters();
  weak.insecure.clear();
  EXPECT_THROW(CompressionContext{weak}, ParameterError);
}

}  // namespace
}  // namespace ringforge::circuits
