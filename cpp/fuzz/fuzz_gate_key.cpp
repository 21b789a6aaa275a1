// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes what a server reads before it runs gates: fhew::GateEvaluationKey::load.
#include "fhew_harness.hpp"

using namespace ringforge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fhew::GateParameters& set = fuzz::named_by(fuzz::gate_sets(), data, size);
  try {
    io::ByteSource in({data, size});
    const auto key = fhew::GateEvaluationKey::load(in, set);
    std::ostringstream out;
    key.save(out);
    const std::string again = out.str();
    // Older formats are written as records.
    fuzz::require(
        fuzz::is_old_gate_key(data, size) || (again.size() == size && std::memcmp(again.data(), data, size) == 0),
        "saving again gives other bytes");
  } catch (const FormatError&) {
  } catch (const MismatchError&) {
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  return fuzz::mutate_message<fhew::GateParameters>(data, size, max, seed, fhew::kGateEvaluationKeyType,
                                                    fuzz::gate_sets(), nullptr);
}
