// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes what needs no parameters: io::peek, io::index, io::verify and io::secret_in, on records of any type.
#include "harness.hpp"

using namespace ringforge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto guarded = [&](auto&& f) {
    io::ByteSource in({data, size});
    try {
      f(in);
    } catch (const FormatError&) {
    }
  };
  guarded([&](std::istream& in) {
    const io::RecordInfo info = io::peek(in);
    fuzz::require(in.tellg() == 0, "peek moved the stream");
    fuzz::require(io::find_type(info.type) != nullptr, "an unknown type was accepted");
  });
  guarded([&](std::istream& in) {
    u64 at = 0;
    for (const auto& info : io::index(in)) {
      fuzz::require(info.offset == at, "records are not adjacent");
      at += info.bytes();
    }
    fuzz::require(at == size, "the index does not cover the stream");
  });
  guarded([&](std::istream& in) { (void)io::secret_in(in); });
  guarded([&](std::istream& in) {
    const io::RecordInfo info = io::verify(in);
    const u64 end = static_cast<u64>(in.tellg());
    fuzz::require(end == info.bytes() && end <= size, "verify read another length than the record's");
    const auto digest = sha256(data, end - io::kChecksumBytes);
    fuzz::require(std::memcmp(digest.data(), data + end - io::kChecksumBytes, digest.size()) == 0,
                  "verify accepted a wrong checksum");
  });
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  io::TypeCode type = ckks::kParametersType;
  if (size >= fuzz::kFrame && seed % 8 != 0) std::memcpy(&type, data + 6, sizeof(type));
  return fuzz::mutate(data, size, max, seed, type);
}
