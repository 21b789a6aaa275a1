// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Keys and messages of gates and PSI: what a writer wrote is read, the broken files in cpp/fuzz/refused_fhew are
// refused with the promised error.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "../fuzz/fhew_objects.hpp"
#include "ringforge/error.hpp"

namespace ringforge {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Reads a file of one of the readers, as the fuzz targets do.
void read(const std::string& reader, const Bytes& b) {
  const circuits::PsiPlan& plan = fuzz::named_by(fuzz::psi_plans(), b.data(), b.size());
  TestRandomness rng = fuzz::fhew_randomness();
  circuits::PsiClientKey client(plan, rng);
  if (reader == "psi_keys") {
    const circuits::PsiSessionKeys keys(plan, b);
  } else if (reader == "psi_request") {
    Bytes keys(plan.key_bytes());
    client.evaluation_keys(keys.data());
    const std::array<u64, 3> offsets{};
    circuits::psi_answer(circuits::PsiSessionKeys(plan, keys), b, {offsets.data(), nullptr, nullptr, 0});
  } else if (reader == "psi_reply") {
    std::vector<std::uint16_t> words(plan.bins() * plan.cell_words());
    client.decode(words.data(), b);
  } else if (reader == "gate_key") {
    std::istringstream in(std::string(b.begin(), b.end()));
    fhew::GateEvaluationKey::load(in, fuzz::named_by(fuzz::gate_sets(), b.data(), b.size()));
  } else {
    FAIL() << "no reader " << reader;
  }
}

TEST(FhewHostile, SamplesAreRead) {
  for (const auto& [reader, samples] : fuzz::make_fhew_samples())
    for (const auto& sample : samples) EXPECT_NO_THROW(read(reader, sample.second)) << reader << " " << sample.first;
}

// The files in cpp/fuzz/refused_fhew, made by make_corpus: READER.REASON.bin.
TEST(FhewHostile, RefusedFiles) {
  const auto dir = std::filesystem::path(RINGFORGE_CPP_DIR) / "fuzz" / "refused_fhew";
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const std::string file = entry.path().filename().string();
    const auto dot = file.find('.'), end = file.rfind(".bin");
    ASSERT_TRUE(dot != std::string::npos && end != std::string::npos && end > dot) << file;
    const std::string reader = file.substr(0, dot), reason = file.substr(dot + 1, end - dot - 1);
    std::ifstream in(entry.path(), std::ios::binary);
    const Bytes b{std::istreambuf_iterator<char>(in), {}};
    if (reason == "wrong_parameters")
      EXPECT_THROW(read(reader, b), MismatchError) << file;
    else
      EXPECT_THROW(read(reader, b), FormatError) << file;
    ++seen;
  }
  EXPECT_GE(seen, 34U) << "files are missing from " << dir;
}

// Keys from before records: format 1, without an id, by release 3d84ca5; format 2. Both are
// fuzz::gate_parameters(true) by GINX.
TEST(FhewHostile, OldGateKeysAreReadAndWrittenAsRecords) {
  const auto params = fuzz::gate_parameters(true);
  for (const char format : {'1', '2'}) {
    const std::string name = std::string("gate_key.format") + format + ".bin";
    const auto path = std::filesystem::path(RINGFORGE_CPP_DIR) / "tests" / "data" / name;
    std::ifstream in(path, std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(in), {}};
    ASSERT_EQ(std::string(bytes.begin(), bytes.begin() + 8), std::string("RGFGATE") + format) << path;
    io::ByteSource source(bytes);
    const auto key = fhew::GateEvaluationKey::load(source, params);
    EXPECT_EQ(key.id() == 0, format == '1');
    std::ostringstream again;
    key.save(again);
    const std::string record = again.str();
    EXPECT_EQ(fuzz::old_gate_key({record.begin(), record.end()}, format), bytes);
    source.seekg(0);
    const auto all = io::index(source);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].type, fhew::kGateEvaluationKeyType);
    EXPECT_EQ(all[0].version, format - '0');
    EXPECT_EQ(all[0].bytes(), bytes.size());
    EXPECT_EQ(all[0].count("key_id"), key.id());
    EXPECT_EQ(all[0].count("method"), static_cast<u64>(key.method()));
    EXPECT_EQ(io::verify(source).bytes(), bytes.size());
    // Whatever is cut off or flipped.
    for (std::size_t at = 0; at < bytes.size(); at += at < 64 ? 1 : 997) {
      Bytes bad = bytes;
      bad[at] ^= 1;
      io::ByteSource flipped(bad), cut({bytes.data(), at});
      if (at >= 8 && at < fuzz::kOldHeader)
        EXPECT_THROW(fhew::GateEvaluationKey::load(flipped, params), MismatchError) << at;
      else
        EXPECT_THROW(fhew::GateEvaluationKey::load(flipped, params), FormatError) << at;
      EXPECT_THROW(fhew::GateEvaluationKey::load(cut, params), FormatError) << at;
    }
  }
}

// Secret keys with an id and without, damaged in each byte of the header, cut everywhere.
TEST(FhewHostile, GateSecretKeys) {
  const fhew::GateParameters& p = fuzz::gate_sets()[0];
  for (const u64 id : {u64{0}, u64{0x0123456789abcdef}}) {
    const fhew::GateSecretKey secret = fuzz::gate_secret(p, id);
    Bytes bytes(secret.bytes());
    secret.save(bytes.data());
    const fhew::GateSecretKey loaded = fhew::GateSecretKey::load(bytes, p);
    EXPECT_EQ(loaded.id(), id);
    EXPECT_EQ(loaded.lwe(), secret.lwe());
    io::ByteSource source(bytes);
    EXPECT_EQ(io::secret_in(source), "secret key of gates");
    for (std::size_t at = 0; at < bytes.size(); at += at < 64 ? 1 : 37) {
      Bytes bad = bytes;
      bad[at] ^= 1;
      if (at >= 12 && at < 44)
        EXPECT_THROW(fhew::GateSecretKey::load(bad, p), MismatchError) << at;
      else
        EXPECT_THROW(fhew::GateSecretKey::load(bad, p), FormatError) << at;
      EXPECT_THROW(fhew::GateSecretKey::load({bytes.data(), at}, p), FormatError) << at;
    }
    Bytes more = bytes;
    more.push_back(0);
    EXPECT_THROW(fhew::GateSecretKey::load(more, p), FormatError);
    // A coefficient of 2 under a right checksum.
    Bytes two = bytes;
    two[bytes.size() - 40] = 3;
    io::seal_record(two);
    EXPECT_THROW(fhew::GateSecretKey::load(two, p), FormatError);
  }
}

}  // namespace
}  // namespace ringforge
