// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What every type of records owes, as a test that needs no test framework: run it on a sample of each type of a scheme,
// inside the library or outside it.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "ringforge/record.hpp"

namespace ringforge::testing {

using RecordBytes = std::vector<std::uint8_t>;

/// A type of records with a sample.
struct RecordSample {
  io::TypeCode type = 0;
  RecordBytes bytes;  ///< one record, as its writer wrote it
  /// Reads the one object that a stream holds, with the parameters of the sample, and saves it again.
  std::function<RecordBytes(std::istream&)> reload;
  /// Whether the reader has parameters of its own to hold the record's hash against.
  bool has_parameters = true;
};

/// Holds a type against its duties:
///   - what is read and written again has the same bytes; sequences are indexed and verified record by record;
///   - every cut, every flipped bit of header, fixed fields and checksum, and flipped bits throughout the body are
///     refused by FormatError, those of the parameter hash by MismatchError;
///   - so are, under a right checksum, other versions, other types, reserved bits, any other length, and bytes behind.
/// @returns what does not hold, a line each; empty when all does.
inline std::vector<std::string> check_records(const RecordSample& sample) {
  std::vector<std::string> wrong;
  const RecordBytes& good = sample.bytes;
  const auto refuse = [&](const std::string& what) { wrong.push_back(io::name(sample.type) + ": " + what); };
  const auto outcome = [&](const RecordBytes& bytes) -> std::string {
    io::ByteSource in(bytes);
    try {
      return sample.reload(in) == good ? "the sample" : "another object";
    } catch (const FormatError& e) {
      return std::string(e.what()).find('\n') == std::string::npos ? "FormatError" : "several lines";
    } catch (const MismatchError&) {
      return "MismatchError";
    } catch (const std::exception& e) {
      return std::string("another error: ") + e.what();
    }
  };
  const auto expect = [&](const std::string& what, const std::string& wanted, const RecordBytes& bytes) {
    const std::string got = outcome(bytes);
    if (got != wanted) refuse(what + " gives " + got + ", not " + wanted);
  };
  const auto changed = [&](const std::string& what, const std::string& wanted, bool seal, auto&& change) {
    RecordBytes bytes = good;
    change(bytes);
    if (seal) io::seal_record(bytes);
    expect(what, wanted, bytes);
  };
  const auto put = [](RecordBytes& bytes, std::size_t at, auto value) {
    std::memcpy(bytes.data() + at, &value, sizeof(value));
  };

  const io::RecordType* type = io::find_type(sample.type);
  if (type == nullptr) return {"the type is not registered"};
  if (good.size() < io::record_bytes(type->head_bytes)) return {"the sample is shorter than its fixed fields"};
  expect("the sample", "the sample", good);
  if (!wrong.empty()) return wrong;

  // Looking without loading, and sequences.
  RecordBytes twice = good;
  twice.insert(twice.end(), good.begin(), good.end());
  io::ByteSource pair(twice);
  const auto all = io::index(pair);
  if (all.size() != 2 || all[1].offset != good.size() || all[1].bytes() != good.size() || all[0].type != sample.type ||
      all[0].version != type->version)
    refuse("an index of two records does not find them");
  for (int i = 0; i < 2; ++i)
    if (io::peek(pair).bytes() != good.size() || io::verify(pair).bytes() != good.size())
      refuse("records of a sequence are not looked at one by one");
  if (!io::at_end(pair)) refuse("a sequence does not end behind its last record");
  io::ByteSource secrets(twice);
  if (io::secret_in(secrets).empty() == type->secret) refuse("its secret is not seen, or one where there is none");
  expect("a second record where one is expected", "FormatError", twice);

  // Every byte of header, fixed fields and checksum; the body here and there.
  constexpr std::size_t kHashBegin = 12, kHashEnd = 44, kLength = 44;
  const std::size_t head_end = io::kHeaderBytes + type->head_bytes, sum = good.size() - io::kChecksumBytes;
  const auto step = [&](std::size_t at) {
    return at < head_end || at >= sum ? 1 : std::min(std::max<std::size_t>(1, (sum - head_end) / 16), sum - at);
  };
  for (std::size_t at = 0; at < good.size(); at += step(at)) {
    expect("a cut to " + std::to_string(at) + " bytes", "FormatError",
           RecordBytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(at)));
    const bool hash = at >= kHashBegin && at < kHashEnd && sample.has_parameters;
    for (unsigned bit = 0; bit < 8; bit += at < head_end ? 1 : 5)
      changed("bit " + std::to_string(bit) + " of byte " + std::to_string(at) + ", flipped,",
              hash ? "MismatchError" : "FormatError", false,
              [&](RecordBytes& b) { b[at] ^= static_cast<std::uint8_t>(1U << bit); });
  }

  // What a right checksum does not make right.
  if (sample.has_parameters)
    changed("another parameter hash", "MismatchError", true, [&](RecordBytes& b) { b[kHashBegin] ^= 1; });
  for (const unsigned version : {0U, type->oldest - 1U, type->version + 1U, 0xffffU})
    if (version < type->oldest || version > type->version)
      changed("version " + std::to_string(version), "FormatError", true,
              [&](RecordBytes& b) { put(b, 4, static_cast<std::uint16_t>(version)); });
  changed("another type", "FormatError", true,
          [&](RecordBytes& b) { put(b, 6, static_cast<io::TypeCode>(sample.type ^ 1)); });
  changed("reserved bits", "FormatError", true, [&](RecordBytes& b) { b[8] = 1; });
  changed("bytes behind", "FormatError", false, [&](RecordBytes& b) { b.push_back(0); });
  const u64 body = good.size() - io::record_bytes(0);
  for (const u64 claim :
       {u64{0}, body - 1, body + 1, 2 * body + 1, u64{1} << 32, u64{1} << 63, ~u64{0}, ~u64{0} - 83}) {
    if (claim == body) continue;
    const std::string what = "a claimed length of " + std::to_string(claim);
    changed(what, "FormatError", true, [&](RecordBytes& b) { put(b, kLength, claim); });
    RecordBytes bytes = good;
    put(bytes, kLength, claim);
    for (const bool whole : {false, true}) {
      io::ByteSource in(bytes);
      try {
        if (whole) {
          (void)io::verify(in);
        } else {
          (void)io::index(in);
        }
        refuse(what + " is believed");
      } catch (const FormatError&) {
      }
    }
  }
  return wrong;
}

}  // namespace ringforge::testing
