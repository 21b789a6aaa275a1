// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes what a server reads before it runs gates: fhew::GateEvaluationKey::load.
#include "fhew_harness.hpp"
#include "ringforge/io.hpp"

using namespace ringforge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fhew::GateParameters& set = fuzz::named_by(fuzz::gate_sets(), data, size);
  try {
    io::ByteSource in({data, size});
    const auto key = fhew::GateEvaluationKey::load(in, set);
    std::ostringstream out;
    key.save(out);
    const std::string again = out.str();
    fuzz::require(again.size() == size && std::memcmp(again.data(), data, size) == 0, "saving again gives other bytes");
  } catch (const FormatError&) {
  } catch (const MismatchError&) {
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  return fuzz::mutate_message<fhew::GateParameters>(data, size, max, seed, fuzz::kGateKeyMagic, fuzz::gate_sets(),
                                                    nullptr, fuzz::kFhewChecksum, fuzz::seal_gate_key);
}
