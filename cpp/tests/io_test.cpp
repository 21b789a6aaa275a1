// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Files: every object comes back bit for bit, records have the documented sizes and bytes, and whatever is
// not exactly what a writer wrote is refused with the promised error.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "../fuzz/objects.hpp"
#include "ringforge/packing.hpp"

namespace ringforge {
namespace {

using fuzz::Bytes;
using fuzz::bytes_of;
using fuzz::seed_of;

struct Set {
  const char* name;
  ckks::ParametersSpec spec;
};

ckks::ParametersSpec spec_of(unsigned log_n, std::vector<u64> q, std::vector<u64> p, unsigned alpha, double log_scale) {
  ckks::ParametersSpec s;
  s.name = "test";
  s.log_n = log_n;
  s.q = std::move(q);
  s.p = std::move(p);
  s.limbs_per_digit = alpha;
  s.log_scale = log_scale;
  s.insecure = "test";
  return s;
}

std::vector<Set> sets() {
  std::vector<Set> out;
  const auto a = primes_below(30, 4, 2048);
  out.push_back({"per_limb_30", spec_of(10, {a[0], a[1], a[2]}, {a[3]}, 1, 25)});
  const auto b = primes_below(45, 7, 4096);
  out.push_back({"hybrid_45", spec_of(11, {b[0], b[1], b[2], b[3], b[4]}, {b[5], b[6]}, 2, 38)});
  const auto c = primes_below(61, 3, 8192);
  out.push_back({"per_limb_61", spec_of(12, {c[0], c[1]}, {c[2]}, 1, 50)});
  // One prime of each size that takes another way through the packing.
  const auto d = [](unsigned bits) { return primes_below(bits, 1, 2048)[0]; };
  out.push_back({"mixed", spec_of(10, {d(50), d(17), d(32), d(57), d(58)}, {d(59)}, 1, 20)});
  return out;
}

class IoTest : public ::testing::TestWithParam<Set> {
 protected:
  ckks::ContextPtr ctx = std::make_shared<const ckks::Context>(ckks::Parameters(GetParam().spec));
  ckks::Client client{ctx, TestRandomness(seed_of(7))};
  ckks::SecretKey sk = client.secret_key();

  ckks::Plaintext plain(std::size_t level) const {
    return {sample_uniform(ctx->basis(level), seed_of(3), StreamObject::mask), 0x1.8p13, 2.5};
  }
  template <class T>
  Bytes saved(const T& object) const {
    Bytes b = bytes_of([&](std::ostream& out) { io::save(out, *ctx, object); });
    EXPECT_EQ(b.size(), io::saved_size(*ctx, object));
    return b;
  }
};

std::string set_name(const ::testing::TestParamInfo<Set>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Sets, IoTest, ::testing::ValuesIn(sets()), set_name);

bool same(const Poly<Eval>& a, const Poly<Eval>& b) {
  return a.basis() == b.basis() && std::equal(a.words().begin(), a.words().end(), b.words().begin(), b.words().end());
}

bool same(const rlwe::SwitchingKey& x, const rlwe::SwitchingKey& y) {
  bool ok = x.key_id == y.key_id && x.limbs == y.limbs && x.seed == y.seed && x.a.size() == y.a.size() &&
            x.b.size() == y.b.size() && x.a.size() == x.b.size();
  for (std::size_t d = 0; ok && d < x.a.size(); ++d) ok = same(x.a[d], y.a[d]) && same(x.b[d], y.b[d]);
  return ok;
}

/// Runs f and says what came out: "ok", "format", "mismatch", or the text of another exception.
template <class F>
std::string outcome(F&& f, std::string* message = nullptr) {
  try {
    f();
    return "ok";
  } catch (const FormatError& e) {
    if (message != nullptr) *message = e.what();
    return "format";
  } catch (const MismatchError& e) {
    if (message != nullptr) *message = e.what();
    return "mismatch";
  } catch (const std::exception& e) {
    if (message != nullptr) *message = e.what();
    return std::string("another exception: ") + e.what();
  }
}

/// Reads an object with the reader of that name; Galois keys also go through the index.
void read(const std::string& reader, std::span<const std::uint8_t> bytes, const ckks::Context& ctx) {
  io::ByteSource in(bytes);
  if (reader == "parameters") {
    (void)io::load_parameters(in);
  } else if (reader == "plaintext") {
    (void)io::load_plaintext(in, ctx);
  } else if (reader == "ciphertext") {
    (void)io::load_ciphertext(in, ctx);
  } else if (reader == "secret_key") {
    (void)io::load_secret_key(in, ctx);
  } else if (reader == "public_key") {
    (void)io::load_public_key(in, ctx);
  } else if (reader == "relin_key") {
    (void)io::load_relin_key(in, ctx);
  } else if (reader == "galois_key") {
    (void)io::load_galois_key(in, ctx);
  } else {
    throw std::logic_error("no reader " + reader);
  }
}

// ---- round trips ----------------------------------------------------------------------------------

TEST_P(IoTest, Parameters) {
  const auto& params = ctx->params();
  const Bytes b = bytes_of([&](std::ostream& out) { io::save(out, params); });
  EXPECT_EQ(b.size(), io::saved_size(params));
  io::ByteSource in(b);
  const auto back = io::load_parameters(in);
  EXPECT_EQ(back.hash(), params.hash());
  EXPECT_EQ(back.spec().name, params.spec().name);
  EXPECT_EQ(back.spec().insecure, params.spec().insecure);
  EXPECT_EQ(back.spec().q, params.spec().q);
  EXPECT_EQ(back.spec().p, params.spec().p);
  EXPECT_EQ(back.spec().limbs_per_digit, params.spec().limbs_per_digit);
  EXPECT_EQ(back.spec().log_scale, params.spec().log_scale);
}

TEST(Io, ShippedParameters) {
  for (const auto& name : ckks::Parameters::names()) {
    const auto params = ckks::Parameters::named(name, "test");
    const Bytes b = bytes_of([&](std::ostream& out) { io::save(out, params); });
    io::ByteSource in(b);
    EXPECT_EQ(io::load_parameters(in).hash(), params.hash()) << name;
  }
}

TEST_P(IoTest, PlaintextsOfAllLevels) {
  for (std::size_t level = 0; level <= ctx->params().max_level(); ++level) {
    const ckks::Plaintext p = plain(level);
    const Bytes b = saved(p);
    io::ByteSource in(b);
    const auto back = io::load_plaintext(in, *ctx);
    EXPECT_TRUE(same(back.poly, p.poly));
    EXPECT_EQ(back.scale, p.scale);
    EXPECT_EQ(back.bound, p.bound);
    EXPECT_EQ(saved(back), b);
  }
}

TEST_P(IoTest, CiphertextsOfAllKinds) {
  const auto pk = client.public_key(sk);
  for (std::size_t level = 0; level <= ctx->params().max_level(); ++level) {
    const ckks::Ciphertext seeded = client.encrypt(plain(level), sk, 2.5);
    ckks::Ciphertext three = client.encrypt(plain(level), pk, 2.5);
    three.parts.push_back(three.parts[1]);
    for (const auto& c : {seeded, client.encrypt(plain(level), pk, 2.5), three}) {
      const Bytes b = saved(c);
      io::ByteSource in(b);
      const auto back = io::load_ciphertext(in, *ctx, 2);
      ASSERT_EQ(back.parts.size(), c.parts.size());
      for (std::size_t i = 0; i < c.parts.size(); ++i) EXPECT_TRUE(same(back.parts[i], c.parts[i]));
      EXPECT_EQ(back.scale, c.scale);
      EXPECT_EQ(back.key_id, c.key_id);
      EXPECT_EQ(back.variance, c.variance);
      EXPECT_EQ(back.bound, c.bound);
      EXPECT_EQ(back.seed, c.seed);
      EXPECT_EQ(saved(back), b);
    }
  }
}

TEST_P(IoTest, SecretKey) {
  const Bytes b = saved(sk);
  EXPECT_EQ(b.size(), io::kHeaderBytes + 16 + ctx->ring().degree() / 4 + io::kChecksumBytes);
  io::ByteSource in(b);
  const ckks::SecretKey back = io::load_secret_key(in, *ctx);
  EXPECT_EQ(back.id(), sk.id());
  EXPECT_EQ(back.coeffs().coeffs(), sk.coeffs().coeffs());
  EXPECT_TRUE(same(back.eval(), sk.eval()));
  // It is the same key to a client.
  const auto c = client.encrypt(plain(0), sk, 2.5);
  EXPECT_TRUE(same(client.decrypt(c, back).poly, client.decrypt(c, sk).poly));
}

TEST_P(IoTest, PublicKey) {
  const auto key = client.public_key(sk);
  const Bytes b = saved(key);
  for (unsigned threads : {1U, 3U}) {
    io::ByteSource in(b);
    const auto back = io::load_public_key(in, *ctx, threads);
    EXPECT_EQ(back.key_id, key.key_id);
    EXPECT_EQ(back.seed, key.seed);
    EXPECT_TRUE(same(back.a, key.a));
    EXPECT_TRUE(same(back.b, key.b));
  }
}

TEST_P(IoTest, RelinearisationKeysOfAllLevels) {
  for (std::size_t level = 0; level <= ctx->params().max_level(); ++level) {
    const auto key = client.relin_key(sk, level);
    const Bytes b = saved(key);
    for (unsigned threads : {1U, 3U}) {
      io::ByteSource in(b);
      EXPECT_TRUE(same(io::load_relin_key(in, *ctx, threads).key(), key.key()));
    }
  }
}

TEST_P(IoTest, GaloisKeysOneAfterTheOther) {
  std::vector<ckks::GaloisKey> keys;
  Bytes file;
  std::vector<u64> offsets;
  for (const i64 step : {1, 2, 5, -3}) {
    keys.push_back(client.galois_key(sk, ctx->rotation_element(step), keys.size() % 2));
    offsets.push_back(file.size());
    const Bytes b = saved(keys.back());
    file.insert(file.end(), b.begin(), b.end());
  }
  io::ByteSource in(file);
  const auto entries = io::index_galois_keys(in, *ctx);
  const auto records = io::index(in);
  ASSERT_EQ(entries.size(), keys.size());
  ASSERT_EQ(records.size(), keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(entries[i].element, keys[i].element);
    EXPECT_EQ(entries[i].limbs, keys[i].key->limbs);
    EXPECT_EQ(entries[i].offset, offsets[i]);
    EXPECT_EQ(entries[i].bytes, io::saved_size(*ctx, keys[i]));
    EXPECT_EQ(records[i].count("element"), keys[i].element);
    EXPECT_EQ(records[i].offset, offsets[i]);
    EXPECT_EQ(records[i].count("digits"), keys[i].key->b.size());
  }
  EXPECT_EQ(in.tellg(), 0) << "the index kept the position";
  for (const auto& key : keys) {
    const auto back = io::next_galois_key(in, *ctx);
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->element, key.element);
    EXPECT_TRUE(same(*back->key, *key.key));
  }
  EXPECT_FALSE(io::next_galois_key(in, *ctx).has_value());
  EXPECT_FALSE(io::next_galois_key(in, *ctx).has_value()) << "the end stays the end";
  // Straight to the third.
  in.seekg(static_cast<std::streamoff>(entries[2].offset));
  const auto third = io::next_galois_key(in, *ctx, 2);
  ASSERT_TRUE(third.has_value());
  EXPECT_TRUE(same(*third->key, *keys[2].key));
  // A cut file: whole keys load, the broken one is refused, and so is the index.
  for (const std::size_t cut : {file.size() - 1, file.size() - 40, static_cast<std::size_t>(offsets[3]) + 20}) {
    io::ByteSource part(std::span<const std::uint8_t>(file).first(cut));
    EXPECT_EQ(outcome([&] { (void)io::index_galois_keys(part, *ctx); }), "format");
    EXPECT_EQ(outcome([&] { (void)io::index(part); }), "format");
    EXPECT_EQ(part.tellg(), 0);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(io::next_galois_key(part, *ctx).has_value());
    EXPECT_EQ(outcome([&] { (void)io::next_galois_key(part, *ctx); }), "format");
  }
  EXPECT_EQ(outcome([&] { read("galois_key", file, *ctx); }), "format") << "several where one is expected";
}

TEST_P(IoTest, SequencesOfMixedObjects) {
  const auto public_key = client.public_key(sk);
  const auto relin = client.relin_key(sk, 0);
  std::stringstream file;
  io::save(file, ctx->params());
  io::save(file, *ctx, sk);
  io::save(file, *ctx, public_key);
  io::save(file, *ctx, relin);
  io::save(file, *ctx, client.galois_key(sk, 5, 0));
  io::save(file, *ctx, client.encrypt(plain(0), sk, 2.5));
  io::save(file, *ctx, client.encrypt(plain(1), sk, 2.5));
  io::save(file, *ctx, plain(1));
  EXPECT_EQ(io::index(file).size(), 8U);
  const ckks::Context read(io::next_parameters(file).value());
  EXPECT_EQ(io::next_secret_key(file, read).value().id(), sk.id());
  EXPECT_TRUE(same(io::next_public_key(file, read).value().a, public_key.a));
  EXPECT_TRUE(same(io::next_relin_key(file, read).value().key(), relin.key()));
  EXPECT_EQ(io::peek(file).count("element"), 5U);
  EXPECT_EQ(io::next_galois_key(file, read).value().element, 5U);
  EXPECT_EQ(io::next_ciphertext(file, read).value().level(), 0U);
  EXPECT_EQ(io::next_ciphertext(file, read).value().level(), 1U);
  EXPECT_TRUE(same(io::next_plaintext(file, read).value().poly, plain(1).poly));
  EXPECT_FALSE(io::next_parameters(file).has_value());
  EXPECT_FALSE(io::next_plaintext(file, read).has_value());
  EXPECT_FALSE(io::next_ciphertext(file, read).has_value());
  EXPECT_FALSE(io::next_secret_key(file, read).has_value());
  EXPECT_FALSE(io::next_public_key(file, read).has_value());
  EXPECT_FALSE(io::next_relin_key(file, read).has_value());
  EXPECT_FALSE(io::next_galois_key(file, read).has_value());
}

// ---- sizes and bytes ------------------------------------------------------------------------------

TEST_P(IoTest, ResiduesTakeTheSizeOfTheirPrimeAndSeedsHalve) {
  const std::size_t top = ctx->params().max_level();
  u64 bits = 0;
  for (std::size_t i = 0; i <= top; ++i) bits += ctx->basis(top)[i].mod().bits;
  const u64 poly = bits * ctx->ring().degree() / 8, frame = io::kHeaderBytes + io::kChecksumBytes;
  ckks::Ciphertext c = client.encrypt(plain(top), sk, 2.5);
  EXPECT_EQ(io::saved_size(*ctx, c), frame + 48 + 32 + poly);
  c.seed.reset();
  EXPECT_EQ(io::saved_size(*ctx, c), frame + 48 + 2 * poly);
  const auto key = client.relin_key(sk);
  // b halves only, and those packed: less than half of what the key takes in memory.
  EXPECT_LT(io::saved_size(*ctx, key), key.key().bytes() / 2 + frame + 64);
}

// Changing any of these means a new format version.
TEST(Io, BytesOfVersion1) {
  const auto samples = fuzz::make_samples(fuzz::narrow_context());
  std::map<std::string, std::string> found;
  for (const auto& [reader, all] : samples)
    for (const auto& [name, bytes] : all) {
      const auto digest = sha256(bytes.data(), bytes.size());
      char hex[17];
      for (int i = 0; i < 8; ++i) std::snprintf(hex + 2 * i, 3, "%02x", digest[static_cast<std::size_t>(i)]);
      found[reader + "/" + name] = hex;
    }
  const std::map<std::string, std::string> expected{{"ciphertext/0", "cc0cede89afbcebe"},
                                                    {"ciphertext/0-three-parts", "03d7b9570223a304"},
                                                    {"ciphertext/0-unseeded", "1bc10522c19f632a"},
                                                    {"ciphertext/1", "36caff4470b4f141"},
                                                    {"ciphertext/1-three-parts", "0b1b9b26dce75e14"},
                                                    {"ciphertext/1-unseeded", "575999d537050b43"},
                                                    {"galois_key/0", "d8f6f99636661b97"},
                                                    {"galois_key/1", "2c0dc7ef11301896"},
                                                    {"galois_key/several", "873007a2b69a3069"},
                                                    {"parameters/0", "877b4fb52bbf41fa"},
                                                    {"plaintext/0", "e96c9de1dfd7cd9e"},
                                                    {"plaintext/1", "7aad684890ebd20f"},
                                                    {"public_key/0", "766ffe06e66e1632"},
                                                    {"relin_key/0", "53327f132d677002"},
                                                    {"relin_key/1", "3b84d02fc64c68dd"},
                                                    {"secret_key/0", "f49f0eb1c00a72e1"}};
  EXPECT_EQ(found, expected);
}

TEST(Io, HeaderIsAsDocumented) {
  const auto ctx = fuzz::narrow_context();
  const Bytes b = fuzz::make_samples(ctx).at("plaintext").at("0");
  EXPECT_EQ(std::string(b.begin(), b.begin() + 4), "RGFG");
  EXPECT_EQ(Bytes(b.begin() + 4, b.begin() + 12), (Bytes{1, 0, 0x02, 0x01, 0, 0, 0, 0}));
  EXPECT_TRUE(std::equal(b.begin() + 12, b.begin() + 44, ctx->params().hash().begin()));
  u64 length = 0;
  std::memcpy(&length, b.data() + 44, 8);
  EXPECT_EQ(length, b.size() - 84);
  const auto digest = sha256(b.data(), b.size() - 32);
  EXPECT_TRUE(std::equal(digest.begin(), digest.end(), b.end() - 32));
}

TEST(Io, PeekIndexAndVerifySayWhatIsThere) {
  const auto ctx = fuzz::narrow_context();
  ckks::Client client(ctx, TestRandomness(seed_of(1)));
  const ckks::SecretKey sk = client.secret_key();
  std::stringstream file;
  file << "prefix";
  io::save(file, ctx->params());
  const auto c = client.encrypt({sample_uniform(ctx->basis(1), seed_of(2), StreamObject::mask), 1024, 3}, sk, 3);
  io::save(file, *ctx, c);
  io::save(file, *ctx, client.galois_key(sk, 5, 1));
  file.seekg(6);
  const auto first = io::peek(file);
  EXPECT_EQ(file.tellg(), 6);
  EXPECT_EQ(first.type, ckks::kParametersType);
  EXPECT_EQ(first.version, 1);
  EXPECT_EQ(first.parameter_hash, ctx->params().hash());
  EXPECT_EQ(first.offset, 6U);
  EXPECT_EQ(first.bytes(), io::saved_size(ctx->params()));
  const auto all = io::index(file);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(file.tellg(), 6);
  EXPECT_EQ(all[1].type, ckks::kCiphertextType);
  EXPECT_EQ(all[1].count("limbs"), 2U);
  EXPECT_EQ(all[1].count("parts"), 2U);
  EXPECT_EQ(all[1].count("seeded"), 1U);
  EXPECT_EQ(all[1].count("key_id"), sk.id());
  EXPECT_EQ(all[1].number("scale"), 1024);
  EXPECT_EQ(all[1].number("variance"), c.variance);
  EXPECT_EQ(all[1].number("bound"), 3);
  EXPECT_EQ(all[1].count("word_bits"), 64U);
  EXPECT_EQ(all[2].count("element"), 5U);
  EXPECT_EQ(all[2].count("digits"), 2U);
  EXPECT_EQ(all[2].offset, 6 + all[0].bytes() + all[1].bytes());
  for (const auto& info : all) EXPECT_EQ(io::verify(file).bytes(), info.bytes());
  EXPECT_EQ(io::name(all[2].type), "CKKS Galois key");
  EXPECT_EQ(io::name(0x7777), "unknown object");
}

TEST(Io, VerifyFindsEveryFlippedBit) {
  const Bytes good = fuzz::make_samples(fuzz::narrow_context()).at("secret_key").at("0");
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    if (bit >= 12 * 8 && bit < 44 * 8 && bit % 8 != 3) continue;
    Bytes b = good;
    b[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    io::ByteSource in(b);
    ASSERT_EQ(outcome([&] { (void)io::verify(in); }), "format") << "bit " << bit;
  }
}

// ---- refusals -------------------------------------------------------------------------------------

TEST(IoHostile, EveryTruncation) {
  const auto ctx = fuzz::narrow_context();
  for (const auto& [reader, samples] : fuzz::make_samples(ctx)) {
    const Bytes& good = samples.at("0");
    ASSERT_EQ(outcome([&, r = reader] { read(r, good, *ctx); }), "ok") << reader;
    for (std::size_t n = 0; n < good.size(); ++n)
      ASSERT_EQ(outcome([&, r = reader] { read(r, std::span(good).first(n), *ctx); }), "format")
          << reader << " cut to " << n << " bytes";
  }
}

// The parameter hash is the only field whose change means "other parameters" (a mismatch); a parameter
// record's own hash is covered by its checksum like the rest.
TEST(IoHostile, EveryFlippedBit) {
  const auto ctx = fuzz::narrow_context();
  for (const auto& [reader, samples] : fuzz::make_samples(ctx)) {
    Bytes b = samples.at("0");
    for (std::size_t bit = 0; bit < 8 * b.size(); ++bit) {
      const auto mask = static_cast<std::uint8_t>(1U << (bit % 8));
      b[bit / 8] ^= mask;
      const bool in_hash = bit / 8 >= 12 && bit / 8 < 44 && reader != "parameters";
      ASSERT_EQ(outcome([&, r = reader] { read(r, b, *ctx); }), in_hash ? "mismatch" : "format")
          << reader << ", bit " << bit % 8 << " of byte " << bit / 8;
      b[bit / 8] ^= mask;
    }
  }
}

TEST(IoHostile, EveryReaderRefusesEveryOtherType) {
  const auto ctx = fuzz::narrow_context();
  const auto samples = fuzz::make_samples(ctx);
  for (const auto& [reader, own] : samples)
    for (const auto& [other, objects] : samples) {
      std::string message;
      const auto result = outcome([&, r = reader, &o = objects] { read(r, o.at("0"), *ctx); }, &message);
      EXPECT_EQ(result, reader == other ? "ok" : "format") << other << " read as " << reader;
      if (reader != other) {
        EXPECT_NE(message.find("expected is a CKKS"), std::string::npos) << message;
      }
    }
}

TEST(IoHostile, OtherParametersAreAMismatch) {
  const auto narrow = fuzz::narrow_context(), wide = fuzz::wide_context();
  for (const auto& [reader, samples] : fuzz::make_samples(narrow)) {
    if (reader == "parameters") continue;
    std::string message;
    EXPECT_EQ(outcome([&, r = reader, &s = samples] { read(r, s.at("0"), *wide); }, &message), "mismatch") << reader;
    EXPECT_NE(message.find("make the context from the parameters"), std::string::npos) << message;
  }
}

TEST(IoHostile, BytesAfterASingleObject) {
  const auto ctx = fuzz::narrow_context();
  for (const auto& [reader, samples] : fuzz::make_samples(ctx)) {
    Bytes b = samples.at("0");
    b.push_back('\n');
    std::string message;
    EXPECT_EQ(outcome([&, r = reader] { read(r, b, *ctx); }, &message), "format");
    EXPECT_NE(message.find("bytes follow"), std::string::npos) << message;
  }
}

// Lengths that no parameters imply are refused whatever they claim, with a right checksum too.
TEST(IoHostile, HugeLengths) {
  const auto ctx = fuzz::narrow_context();
  for (const auto& [reader, samples] : fuzz::make_samples(ctx))
    for (const u64 claim :
         {u64{0}, u64{1}, u64{1} << 20, u64{1} << 32, u64{1} << 40, u64{1} << 63, ~u64{0}, ~u64{0} - 83}) {
      Bytes b = samples.at("0");
      std::memcpy(b.data() + 44, &claim, 8);
      io::seal_record(b);
      ASSERT_EQ(outcome([&, r = reader] { read(r, b, *ctx); }), "format") << reader << " of " << claim;
      io::ByteSource in(b);
      ASSERT_EQ(outcome([&] { (void)io::index(in); }), "format") << reader << " of " << claim;
      ASSERT_EQ(outcome([&] { (void)io::verify(in); }), "format") << reader << " of " << claim;
    }
}

TEST(IoHostile, SecretKeysStayOutOfMessages) {
  const auto ctx = fuzz::narrow_context();
  Bytes b = fuzz::make_samples(ctx).at("secret_key").at("0");
  b[io::kHeaderBytes + 16 + 3] |= 3;
  io::seal_record(b);
  std::string message;
  EXPECT_EQ(outcome([&] { read("secret_key", b, *ctx); }, &message), "format");
  EXPECT_NE(message.find("has coefficients that are not ternary"), std::string::npos) << message;
}

// The files in cpp/fuzz/refused, made by make_corpus: READER.REASON.rgfg.
TEST(IoHostile, RefusedFiles) {
  const auto ctx = fuzz::narrow_context();
  const auto dir = std::filesystem::path(RINGFORGE_CPP_DIR) / "fuzz" / "refused";
  const std::map<std::string, std::string> says{{"empty", "ends after 0 bytes"},
                                                {"truncated_header", "ends after 30 bytes"},
                                                {"truncated_body", "ends after"},
                                                {"truncated_checksum", "ends after"},
                                                {"flipped_checksum", "checksum"},
                                                {"trailing_byte", "bytes follow"},
                                                {"wrong_magic", "not a Ringforge"},
                                                {"wrong_version", "format version 2"},
                                                {"unknown_type", "0x01ff"},
                                                {"reserved_bits", "reserved bits"},
                                                {"wrong_parameters", "parameter"},
                                                {"oversized", "18446744073709551615 bytes"},
                                                {"length_off_by_one", "imply"},
                                                {"no_body", "fixed fields alone"},
                                                {"wrong_word_width", "32-bit"},
                                                {"wrong_type", "expected is a"},
                                                {"residue_too_large", "prime"},
                                                {"huge_limbs", "4294967295 limbs"},
                                                {"no_limbs", "0 limbs"},
                                                {"bad_scale_0", "scale of nan"},
                                                {"bad_bound_0", "bound of inf"},
                                                {"bad_variance_0", "variance of nan"},
                                                {"one_part", "1 parts"},
                                                {"seeded_three_parts", "3 parts"},
                                                {"unknown_flags", "flags 2"},
                                                {"not_ternary", "not ternary"},
                                                {"huge_digits", "2147483648 digits"},
                                                {"element_even", "element"},
                                                {"degree", "2^63"},
                                                {"huge_counts", "4294967295 primes"},
                                                {"huge_name", "2147483647 bytes"},
                                                {"not_prime", "196611"},
                                                {"insecure_without_reason", "128 bits of security"},
                                                {"control_characters", "printable"},
                                                {"nan_scale", "scale"}};
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const std::string file = entry.path().filename().string();
    const auto dot = file.find('.'), end = file.rfind(".rgfg");
    ASSERT_TRUE(dot != std::string::npos && end > dot) << file;
    const std::string reader = file.substr(0, dot), reason = file.substr(dot + 1, end - dot - 1);
    std::ifstream in(entry.path(), std::ios::binary);
    const Bytes b{std::istreambuf_iterator<char>(in), {}};
    std::string message;
    const bool mismatch = reason == "wrong_parameters" && reader != "parameters";
    EXPECT_EQ(outcome([&] { read(reader, b, *ctx); }, &message), mismatch ? "mismatch" : "format") << file;
    if (const auto it = says.find(reason); it != says.end()) {
      EXPECT_NE(message.find(it->second), std::string::npos) << file << ": " << message;
    }
    ++seen;
  }
  EXPECT_GE(seen, 150U) << "files are missing from " << dir;
}

// ---- streams and what writers refuse --------------------------------------------------------------

/// Gives one byte at a time and cannot seek, like a pipe.
class Pipe : public std::streambuf {
 public:
  explicit Pipe(const Bytes& bytes) : bytes_(bytes) {}

 protected:
  int_type underflow() override {
    if (at_ == bytes_.size()) return traits_type::eof();
    c_ = static_cast<char>(bytes_[at_++]);
    setg(&c_, &c_, &c_ + 1);
    return traits_type::to_int_type(c_);
  }

 private:
  const Bytes& bytes_;
  std::size_t at_ = 0;
  char c_ = 0;
};

TEST(IoStreams, APipeLoadsButCannotBePeeked) {
  const auto ctx = fuzz::narrow_context();
  const auto samples = fuzz::make_samples(ctx);
  Pipe several(samples.at("galois_key").at("several"));
  std::istream in(&several);
  int count = 0;
  while (io::next_galois_key(in, *ctx)) ++count;
  EXPECT_EQ(count, 3);
  Pipe one(samples.at("ciphertext").at("1"));
  std::istream again(&one);
  EXPECT_THROW((void)io::peek(again), Error);
  EXPECT_THROW((void)io::index(again), Error);
  EXPECT_EQ(io::load_ciphertext(again, *ctx).level(), 1U);
}

TEST(IoStreams, FailuresOfTheStreamAreErrorsOfTheirOwn) {
  const auto ctx = fuzz::narrow_context();
  std::ifstream missing("/nonexistent/file");
  EXPECT_THROW((void)io::load_parameters(missing), Error);
  EXPECT_NE(outcome([&] { (void)io::load_parameters(missing); }), "format");
  Bytes small(100);
  io::ByteSink sink(small);
  EXPECT_THROW(io::save(sink, ctx->params()), Error);
  // An exception mask does not change what comes out.
  std::istringstream throwing("RGFG");
  throwing.exceptions(std::ios::eofbit | std::ios::failbit | std::ios::badbit);
  EXPECT_EQ(outcome([&] { (void)io::load_parameters(throwing); }), "format");
}

TEST(IoStreams, FilesOnDisk) {
  const auto ctx = fuzz::narrow_context();
  const auto path = std::filesystem::temp_directory_path() /
                    ("ringforge-io-test-" + std::to_string(reinterpret_cast<std::uintptr_t>(&ctx)) + ".rgfg");
  ckks::Client client(ctx, TestRandomness(seed_of(1)));
  const ckks::SecretKey sk = client.secret_key();
  {
    std::ofstream out(path, std::ios::binary);
    for (const i64 step : {1, 2, 3}) io::save(out, *ctx, client.galois_key(sk, ctx->rotation_element(step)));
  }
  std::ifstream in(path, std::ios::binary);
  EXPECT_EQ(io::index_galois_keys(in, *ctx).size(), 3U);
  int count = 0;
  while (io::next_galois_key(in, *ctx)) ++count;
  EXPECT_EQ(count, 3);
  std::filesystem::remove(path);
}

TEST(IoWriters, RefuseWhatReadersWould) {
  const auto ctx = fuzz::narrow_context(), other = fuzz::wide_context();
  ckks::Client client(ctx, TestRandomness(seed_of(1)));
  const ckks::SecretKey sk = client.secret_key();
  std::ostringstream out;
  const ckks::Plaintext good{sample_uniform(ctx->basis(1), seed_of(2), StreamObject::mask), 4096, 2};
  EXPECT_THROW(io::save(out, *other, good), MismatchError);
  EXPECT_THROW(io::save(out, *other, sk), MismatchError);
  EXPECT_THROW(io::save(out, *other, client.public_key(sk)), MismatchError);
  EXPECT_THROW(io::save(out, *other, client.relin_key(sk)), MismatchError);
  EXPECT_THROW(io::save(out, *other, client.galois_key(sk, 5)), MismatchError);
  EXPECT_THROW(io::save(out, *other, client.encrypt(good, sk, 2)), MismatchError);
  EXPECT_THROW(io::save(out, *ctx, ckks::Plaintext{}), MismatchError);
  EXPECT_THROW(io::save(out, *ctx, ckks::Ciphertext{}), ShapeError);
  for (const double scale : {0.0, 0.5, 0x1p250, HUGE_VAL, std::nan("")}) {
    auto p = good;
    p.scale = scale;
    EXPECT_THROW(io::save(out, *ctx, p), ScaleError) << scale;
  }
  auto p = good;
  p.bound = -1;
  EXPECT_THROW(io::save(out, *ctx, p), ValueError);
  auto c = client.encrypt(good, sk, 2);
  c.variance = HUGE_VAL;
  EXPECT_THROW(io::save(out, *ctx, c), ValueError);
  c = client.encrypt(good, sk, 2);
  neg(c.parts[1], c.parts[1]);
  EXPECT_THROW(io::save(out, *ctx, c), MismatchError) << "a seed left behind";
  c.seed.reset();
  EXPECT_NO_THROW((void)io::saved_size(*ctx, c));
  c.parts.pop_back();
  EXPECT_THROW(io::save(out, *ctx, c), ShapeError);
  auto spec = ctx->params().spec();
  spec.name = "bell\a";
  EXPECT_THROW(io::save(out, ckks::Parameters(spec)), ValueError);
  EXPECT_TRUE(out.str().empty()) << "nothing is written before the checks";
  p = good;
  p.poly.limb(0)[5] = ctx->basis(0)[0].value();
  EXPECT_THROW(io::save(out, *ctx, p), ValueError);
}

TEST(IoWriters, NamesMayBeUtf8) {
  auto spec = fuzz::narrow_parameters().spec();
  for (const char* name : {"", "\xc3\xa9t\xc3\xa9", "\xe4\xb8\xad\xe6\x96\x87", "\xf0\x9f\x94\x92 two\nlines\t."}) {
    spec.name = name;
    const Bytes b = bytes_of([&](std::ostream& out) { io::save(out, ckks::Parameters(spec)); });
    io::ByteSource in(b);
    EXPECT_EQ(io::load_parameters(in).spec().name, name);
  }
  for (const char* name :
       {"\x80", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc2\x9b", "\x1b[0m", "\xe0\x80\x80"}) {
    spec.name = name;
    std::ostringstream out;
    EXPECT_THROW(io::save(out, ckks::Parameters(spec)), ValueError);
  }
}

}  // namespace
}  // namespace ringforge
