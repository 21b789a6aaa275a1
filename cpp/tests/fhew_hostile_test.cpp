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
  const fhew::PsiPlan& plan = fuzz::named_by(fuzz::psi_plans(), b.data(), b.size());
  TestRandomness rng = fuzz::fhew_randomness();
  fhew::PsiClientKey client(plan, rng);
  if (reader == "psi_keys") {
    const fhew::PsiSessionKeys keys(plan, b);
  } else if (reader == "psi_request") {
    Bytes keys(plan.key_bytes());
    client.evaluation_keys(keys.data());
    const std::array<u64, 3> offsets{};
    fhew::psi_answer(fhew::PsiSessionKeys(plan, keys), b, {offsets.data(), nullptr, nullptr, 0});
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
  const auto dir = std::filesystem::path(__FILE__).parent_path().parent_path() / "fuzz" / "refused_fhew";
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
  EXPECT_GE(seen, 33U) << "files are missing from " << dir;
}

}  // namespace
}  // namespace ringforge
