// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Records of BGV: every object comes back bit for bit, bytes are pinned, and what is not exactly what a writer wrote is
// refused.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "../fuzz/bgv_objects.hpp"
#include "ringforge/testing/record_suite.hpp"

namespace ringforge {
namespace {

using fuzz::Bytes;

TEST(BgvRecords, KeepWhatEveryTypeOwes) {
  for (const auto& [reader, samples] : fuzz::make_bgv_samples())
    for (const auto& [name, bytes] : samples) {
      const io::TypeCode type = fuzz::bgv_type(reader);
      fuzz::with_bgv_reader(type, [&](auto load, auto save, auto) {
        const auto reload = [&](std::istream& in) {
          const auto object = load(in);
          return fuzz::bytes_of([&](std::ostream& out) { save(out, object); });
        };
        if (name == "0") {
          for (const std::string& line : testing::check_records({type, bytes, reload, type != bgv::kParametersType}))
            ADD_FAILURE() << line;
        } else {
          io::ByteSource in(bytes);
          EXPECT_EQ(reload(in), bytes) << reader << " " << name;
        }
      });
    }
}

// Changing any of these means a new format version.
TEST(BgvRecords, BytesOfVersion1) {
  std::map<std::string, std::string> found;
  for (const auto& [reader, all] : fuzz::make_bgv_samples())
    for (const auto& [name, bytes] : all) {
      const auto digest = sha256(bytes.data(), bytes.size());
      char hex[17];
      for (int i = 0; i < 8; ++i) std::snprintf(hex + 2 * i, 3, "%02x", digest[static_cast<std::size_t>(i)]);
      found[reader + "/" + name] = hex;
    }
  const std::map<std::string, std::string> expected{{"bgv_parameters/0", "f282c499d442ac79"},
                                                    {"ciphertext/0", "4bb090fc584b1c62"},
                                                    {"ciphertext/0-three-parts", "ab0a86fd563534a6"},
                                                    {"ciphertext/0-unseeded", "f12085665d24c950"},
                                                    {"ciphertext/1", "0a9648c2d174c1c5"},
                                                    {"ciphertext/1-three-parts", "3c4c3301455edc1e"},
                                                    {"ciphertext/1-unseeded", "71010e10c090dc1b"},
                                                    {"galois_key/0", "8bf045767d2fdb43"},
                                                    {"galois_key/1", "b0e4cf087f86f572"},
                                                    {"public_key/0", "2c65ae3a66f3fca3"},
                                                    {"relin_key/0", "a43902ab185f3db2"},
                                                    {"relin_key/1", "2bbbadc008562853"},
                                                    {"secret_key/0", "1cd193b89d32dace"}};
  EXPECT_EQ(found, expected);
}

// Under a right checksum: fields and residues that no object has.
TEST(BgvRecords, RefusedFields) {
  constexpr std::size_t kBody = io::kHeaderBytes;
  const auto samples = fuzz::make_bgv_samples();
  const auto refused = [&](const char* reader, std::size_t at, auto value) {
    Bytes bytes = samples.at(reader).at("0");
    const std::size_t place = at == ~std::size_t{0} ? bytes.size() - io::kChecksumBytes - sizeof(value) : kBody + at;
    std::memcpy(bytes.data() + place, &value, sizeof(value));
    io::seal_record(bytes);
    fuzz::with_bgv_reader(fuzz::bgv_type(reader), [&](auto load, auto, auto) {
      io::ByteSource in(bytes);
      EXPECT_THROW((void)load(in), FormatError) << reader << " " << at;
    });
  };
  for (const auto& [reader, all] : samples) refused(reader.c_str(), 0, u32{32});      // word bits
  for (const u32 value : {u32{0}, u32{3}, ~u32{0}}) refused("ciphertext", 4, value);  // limbs
  for (const u32 value : {u32{0}, u32{1}, u32{4}}) refused("ciphertext", 8, value);   // parts
  refused("ciphertext", 12, u32{2});                                                  // flags
  for (const double value : {-0.5, 0x1p21, HUGE_VAL, std::nan("")}) refused("ciphertext", 24, value);
  for (const u64 element : {u64{0}, u64{1}, u64{15}, u64{255}, ~u64{0}}) refused("galois_key", 24, element);
  for (const char* reader : {"public_key", "relin_key", "galois_key"}) refused(reader, ~std::size_t{0}, ~u64{0});
  refused("bgv_parameters", 4, u32{8});  // degree of another index
  for (const u64 m : {u64{0}, u64{21}, u64{256}, u64{257}, ~u64{0}}) refused("bgv_parameters", 32, m);
}

TEST(BgvRecords, NoiseThatNoCiphertextHasIsNotWritten) {
  const auto ctx = fuzz::bgv_context();
  bgv::Client client(ctx, TestRandomness(fuzz::seed_of(5)));
  const bgv::SecretKey sk = client.secret_key();
  bgv::Ciphertext c = client.encrypt(bgv::Bits{1, 1}, sk);
  std::stringstream file;
  io::save(file, *ctx, c);
  const auto all = io::index(file);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(io::name(all[0].type), "BGV ciphertext");
  EXPECT_EQ(all[0].count("limbs"), 2U);
  EXPECT_EQ(all[0].count("seeded"), 1U);
  EXPECT_EQ(all[0].count("key_id"), sk.id());
  EXPECT_EQ(all[0].number("log_bound"), c.log_bound);
  for (const double bad : {HUGE_VAL, std::nan(""), -1.0}) {
    c.log_bound = bad;
    std::ostringstream out;
    EXPECT_THROW(io::save(out, *ctx, c), ValueError) << bad;
    EXPECT_TRUE(out.str().empty());
  }
}

}  // namespace
}  // namespace ringforge
