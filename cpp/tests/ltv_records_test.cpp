// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Records of LTV: every object comes back bit for bit, and what is not exactly what a writer wrote is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "../fuzz/ltv_objects.hpp"
#include "ringforge/testing/record_suite.hpp"

namespace ringforge {
namespace {

using fuzz::Bytes;

TEST(LtvRecords, KeepWhatEveryTypeOwes) {
  for (const auto& [reader, samples] : fuzz::make_ltv_samples())
    for (const auto& [name, bytes] : samples) {
      const io::TypeCode type = fuzz::ltv_type(reader);
      fuzz::with_ltv_reader(type, [&](auto load, auto save, auto) {
        const auto reload = [&](std::istream& in) {
          const auto object = load(in);
          return fuzz::bytes_of([&](std::ostream& out) { save(out, object); });
        };
        if (name == "0") {
          for (const std::string& line : testing::check_records({type, bytes, reload, type != ltv::kParametersType}))
            ADD_FAILURE() << line;
        } else {
          io::ByteSource in(bytes);
          EXPECT_EQ(reload(in), bytes) << reader << " " << name;
        }
      });
    }
}

// Under a right checksum: fields and residues that no object has.
TEST(LtvRecords, RefusedFields) {
  constexpr std::size_t kBody = io::kHeaderBytes;
  const auto samples = fuzz::make_ltv_samples();
  const auto refused = [&](const char* reader, const char* name, std::size_t at, auto value) {
    Bytes bytes = samples.at(reader).at(name);
    std::memcpy(bytes.data() + kBody + at, &value, sizeof(value));
    io::seal_record(bytes);
    fuzz::with_ltv_reader(fuzz::ltv_type(reader), [&](auto load, auto, auto) {
      io::ByteSource in(bytes);
      EXPECT_THROW((void)load(in), FormatError) << reader << " " << name << " " << at;
    });
  };
  for (const char* reader : {"ltv_parameters", "ciphertext", "secret_key", "public_key", "eval_key"})
    refused(reader, "0", 0, u32{64});  // word bits
  for (const u32 value : {u32{0}, u32{3}, ~u32{0}}) {
    refused("ciphertext", "0", 4, value);                                             // limbs
    refused("ciphertext", "0", 12, value);                                            // degree
    refused("eval_key", "0", 4, value);                                               // level
    refused("eval_key", "0", 6, static_cast<std::uint16_t>(value == 0 ? 2 : value));  // lag
    refused("eval_key", "0", 12, value);                                              // digits
    refused("secret_key", "0", 4, value);                                             // levels
  }
  refused("ciphertext", "0", 8, u32{1});
  refused("ciphertext", "0", 24, std::nan(""));
  refused("ciphertext", "0", 24, HUGE_VAL);
  refused("ciphertext", "0", 32, u32{0});
  refused("ciphertext", "0", 36, u32{1});
  refused("ciphertext", "0", 40, ~u32{0});  // a residue
  refused("public_key", "0", 16, ~u32{0});
  refused("eval_key", "0", 24, ~u32{0});
  refused("secret_key", "0", 16, std::uint8_t{3});
  refused("ltv_parameters", "0", 8, u64{4});             // index
  refused("ltv_parameters", "0", 16, u32{0});            // kind of ring
  refused("ltv_parameters", "0", 20, u32{0});            // drop
  refused("ltv_parameters", "0", 24, u32{2});            // gadget
  refused("ltv_parameters", "0", 28, u32{32});           // window
  refused("ltv_parameters", "0", 32, ~u32{0});           // primes
  refused("ltv_parameters", "0", 48, u64{1} << 31 | 1);  // a prime
}

// What a relinearizer reads digit by digit is what is read as a whole.
TEST(LtvRecords, KeysIntoARelinearizer) {
  const auto samples = fuzz::make_ltv_samples();
  for (auto [name, bytes] : samples.at("eval_key")) {
    const auto same = [&](bool taken) {
      EXPECT_EQ(fuzz::ltv_keys_taken(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()),
                std::pair(taken, taken))
          << name;
    };
    same(true);
    bytes.back() ^= 1;  // the checksum
    same(false);
    bytes.back() ^= 1;
    bytes.push_back(0);
    same(false);
    bytes.resize(bytes.size() / 2);
    same(false);
  }
}

TEST(LtvRecords, BetweenLevels) {
  const auto ctx = fuzz::ltv_context();
  const ltv::Client client(ctx, TestRandomness(fuzz::seed_of(5)));
  const auto keys = client.keys();
  const ltv::Ciphertext c = client.encrypt(ltv::Bits{1}, keys.second);
  const ltv::BatchEvaluator ev(ctx);
  std::ostringstream out;
  EXPECT_THROW(io::save(out, *ctx, ev.carry(std::vector{&c}, 1)[0]), LevelError);
  EXPECT_TRUE(out.str().empty());
  std::stringstream file;
  io::save(file, *ctx, client.eval_key(keys.first, keys.second, 2, 1, 1));
  EXPECT_EQ(io::index(file)[0].count("lag"), 1U);
}

TEST(LtvRecords, SayWhatTheyHold) {
  const auto ctx = fuzz::ltv_context();
  const ltv::Client client(ctx, TestRandomness(fuzz::seed_of(5)));
  const auto [sk, pk] = client.keys();
  ltv::Ciphertext c = client.encrypt(ltv::Bits{1}, pk, 1);
  std::stringstream file;
  io::save(file, ctx->params());
  io::save(file, *ctx, c);
  io::save(file, *ctx, client.eval_key(sk, pk, 2));
  const auto all = io::index(file);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(io::name(all[0].type), "LTV parameter set");
  EXPECT_EQ(all[0].count("m"), 85U);
  EXPECT_EQ(all[1].count("level"), 1U);
  EXPECT_EQ(all[1].count("limbs"), 2U);
  EXPECT_EQ(all[1].count("key_id"), sk.id);
  EXPECT_EQ(all[1].number("log_deviation"), c.noise.log_deviation);
  EXPECT_EQ(all[2].count("digits"), 2U);
  const ltv::Parameters read = io::next_ltv_parameters(file).value();
  EXPECT_EQ(read, ctx->params());
  EXPECT_EQ(read.spec().insecure, "test");
  c.noise.log_deviation = std::nan("");
  std::ostringstream out;
  EXPECT_THROW(io::save(out, *ctx, c), ValueError);
  EXPECT_TRUE(out.str().empty());
}

}  // namespace
}  // namespace ringforge
