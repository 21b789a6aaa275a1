// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes what a peer's bytes reach in the OPRF: oprf::evaluate, oprf::finalize, their batches, and the reading of
// scalars. Accepted elements must have one encoding, so that none can be told apart from itself. Batches compute in
// lanes of their own: they must accept what libsodium accepts, at any place, and give the same.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "require.hpp"
#include "ringforge/error.hpp"
#include "ringforge/oprf.hpp"

using namespace ringforge;
using fuzz::require;

namespace {

oprf::ServerKey one() {
  std::array<std::uint8_t, oprf::kScalarBytes> bytes{1};
  return oprf::ServerKey::from_bytes(bytes);
}

/// The batch by single calls; none if one is refused.
std::optional<std::vector<std::uint8_t>> one_by_one(const oprf::ServerKey& key, oprf::Bytes input) {
  std::vector<std::uint8_t> out;
  try {
    for (std::size_t i = 0; i < input.size(); i += oprf::kElementBytes) {
      const oprf::Element element = oprf::evaluate(key, input.subspan(i, oprf::kElementBytes));
      out.insert(out.end(), element.begin(), element.end());
    }
  } catch (const FormatError&) {
    return std::nullopt;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const oprf::ServerKey key = oprf::ServerKey::derive(std::array<std::uint8_t, oprf::kSeedBytes>{7}, {});
  static const oprf::ServerKey unit = one();
  static const oprf::Scalar blind = oprf::Scalar::from_bytes(key.bytes());
  const oprf::Bytes input(data, size);

  bool accepted = false;
  try {
    const oprf::Element same = oprf::evaluate(unit, input);
    accepted = true;
    require(std::equal(same.begin(), same.end(), input.begin(), input.end()), "an element has two encodings");
    const oprf::Element evaluated = oprf::evaluate(key, input);
    require(oprf::evaluate(unit, evaluated) == evaluated, "a result is no element");
    oprf::finalize(input, blind, input);
  } catch (const FormatError&) {
    require(size == oprf::kElementBytes, "a wrong length got past the check");
  } catch (const ShapeError&) {
    require(size != oprf::kElementBytes, "a right length was refused");
  }
  try {
    const auto batch = oprf::evaluate_batch(key, input);
    require(one_by_one(key, input) == batch, "a batch accepts or gives what single calls do not");
  } catch (const FormatError&) {
    require(!one_by_one(key, input), "a batch refuses what single calls accept");
  } catch (const ShapeError&) {
    require(size % oprf::kElementBytes != 0, "a right length was refused");
  }
  // A client with one input of its own reads the same bytes as a server's answer.
  static const std::uint8_t mine[] = {1, 2, 3};
  static const std::uint64_t ends[] = {0, 3};
  static const oprf::Inputs inputs{mine, ends};
  static const oprf::BlindedBatch asked = [] {
    TestRandomness rng(Seed{1});
    return oprf::blind_batch(inputs, rng);
  }();
  try {
    const auto values = oprf::finalize_batch(inputs, asked.blinds, input);
    require(values.size() == oprf::kOutputBytes && accepted, "a client accepts what is no element");
  } catch (const FormatError&) {
    require(!accepted, "a client refuses an element");
  } catch (const ShapeError&) {
    require(size != oprf::kElementBytes, "a right length was refused");
  }
  try {
    const auto scalar = oprf::Scalar::from_bytes(input);
    require(std::memcmp(scalar.bytes().data(), data, size) == 0, "a scalar was changed");
  } catch (const FormatError&) {
  } catch (const ShapeError&) {
    require(size != oprf::kScalarBytes, "a right length was refused");
  }
  return 0;
}
