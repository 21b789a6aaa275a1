// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Records of BFV: every object comes back bit for bit, bytes are pinned, and what is not exactly what a writer wrote is
// refused with the promised error.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "../fuzz/bfv_objects.hpp"
#include "ringforge/testing/record_suite.hpp"

namespace ringforge {
namespace {

using fuzz::Bytes;

TEST(BfvRecords, KeepWhatEveryTypeOwes) {
  for (const auto& [reader, samples] : fuzz::make_bfv_samples())
    for (const auto& [name, bytes] : samples) {
      // The suite is long; three parts and a second limb add nothing to its envelope checks.
      const io::TypeCode type = fuzz::bfv_type(reader);
      fuzz::with_bfv_reader(type, [&](auto load, auto save, auto) {
        const auto reload = [&](std::istream& in) {
          const auto object = load(in);
          return fuzz::bytes_of([&](std::ostream& out) { save(out, object); });
        };
        if (name == "0") {
          for (const std::string& line : testing::check_records({type, bytes, reload, type != bfv::kParametersType}))
            ADD_FAILURE() << line;
        } else {
          io::ByteSource in(bytes);
          EXPECT_EQ(reload(in), bytes) << reader << " " << name;
        }
      });
    }
}

// Changing any of these means a new format version.
TEST(BfvRecords, BytesOfVersion1) {
  std::map<std::string, std::string> found;
  for (const auto& [reader, all] : fuzz::make_bfv_samples())
    for (const auto& [name, bytes] : all) {
      const auto digest = sha256(bytes.data(), bytes.size());
      char hex[17];
      for (int i = 0; i < 8; ++i) std::snprintf(hex + 2 * i, 3, "%02x", digest[static_cast<std::size_t>(i)]);
      found[reader + "/" + name] = hex;
    }
  const std::map<std::string, std::string> expected{{"bfv_parameters/0", "fadcfb09970e59e0"},
                                                    {"ciphertext/0", "dacc9dbcd21d6546"},
                                                    {"ciphertext/0-three-parts", "2ac95dc8dda596ab"},
                                                    {"ciphertext/0-unseeded", "8ecb5c23dc14639e"},
                                                    {"ciphertext/1", "ed7d0021880c14ff"},
                                                    {"ciphertext/1-three-parts", "a404b9c19ed9f0c6"},
                                                    {"ciphertext/1-unseeded", "de8e6c57571eff70"},
                                                    {"galois_key/0", "221fcb7ff3446459"},
                                                    {"galois_key/1", "56b995c2c9612b29"},
                                                    {"plaintext/0", "844b9e90c10c3d6a"},
                                                    {"public_key/0", "58e5d22e9a4735c8"},
                                                    {"relin_key/0", "4a0d9f2b020a69cf"},
                                                    {"relin_key/1", "ef0675c9fc8d7205"},
                                                    {"secret_key/0", "30e07233b38bc70c"}};
  EXPECT_EQ(found, expected);
}

TEST(BfvRecords, SayWhatTheyHold) {
  const auto ctx = fuzz::bfv_context();
  bfv::Client client(ctx, TestRandomness(fuzz::seed_of(5)));
  const bfv::SecretKey sk = client.secret_key();
  bfv::Ciphertext c = client.encrypt(ctx->constant(7), sk);
  c.degree = 3;
  c.reuse = 2;
  std::stringstream file;
  io::save(file, ctx->params());
  io::save(file, *ctx, ctx->constant(7));
  io::save(file, *ctx, c);
  io::save(file, *ctx, sk);
  const auto all = io::index(file);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(io::name(all[0].type), "BFV parameter set");
  EXPECT_EQ(all[0].count("t"), 12289U);
  EXPECT_EQ(all[1].count("t"), 12289U);
  EXPECT_EQ(all[2].count("limbs"), 2U);
  EXPECT_EQ(all[2].count("seeded"), 1U);
  EXPECT_EQ(all[2].count("key_id"), sk.id());
  EXPECT_EQ(all[2].number("log_deviation"), c.log_deviation);
  EXPECT_EQ(all[2].count("degree"), 3U);
  EXPECT_EQ(all[2].count("reuse"), 2U);
  const bfv::Context read(io::next_bfv_parameters(file).value());
  const auto same = [&](const bfv::Plaintext& p) { return std::ranges::equal(p.words(), ctx->constant(7).words()); };
  EXPECT_TRUE(same(io::next_plaintext(file, read).value()));
  const bfv::Ciphertext back = io::next_ciphertext(file, read).value();
  EXPECT_EQ(back.log_deviation, c.log_deviation);
  EXPECT_EQ(back.degree, 3U);
  EXPECT_EQ(back.reuse, 2U);
  const bfv::SecretKey key = io::next_secret_key(file, read).value();
  EXPECT_TRUE(same(client.decrypt(back, key)));
  EXPECT_FALSE(io::next_ciphertext(file, read).has_value());
  // What a reader would refuse is not written.
  for (const double bad : {HUGE_VAL, std::nan(""), -0x1p21}) {
    c.log_deviation = bad;
    std::ostringstream out;
    EXPECT_THROW(io::save(out, *ctx, c), ValueError) << bad;
    EXPECT_TRUE(out.str().empty());
  }
}

// The files in cpp/fuzz/refused_bfv, made by make_corpus: READER.REASON.rgfg.
TEST(BfvRecords, RefusedFiles) {
  const auto dir = std::filesystem::path(RINGFORGE_CPP_DIR) / "fuzz" / "refused_bfv";
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const std::string file = entry.path().filename().string();
    const std::string reader = file.substr(0, file.find('.'));
    std::ifstream from(entry.path(), std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(from), {}};
    const bool mismatch = file.find("wrong_parameters") != std::string::npos && reader != "bfv_parameters";
    fuzz::with_bfv_reader(fuzz::bfv_type(reader), [&](auto load, auto, auto) {
      io::ByteSource in(bytes);
      if (mismatch)
        EXPECT_THROW((void)load(in), MismatchError) << file;
      else
        EXPECT_THROW((void)load(in), FormatError) << file;
      if (file.find("of_ckks") == std::string::npos) return;
      io::ByteSource again(bytes);
      EXPECT_EQ(io::name(io::peek(again).type).substr(0, 4), "CKKS") << file;
    });
    ++seen;
  }
  EXPECT_GE(seen, 42U) << "files are missing from " << dir;
}

}  // namespace
}  // namespace ringforge
