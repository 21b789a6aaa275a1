// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Inside the io layer: headers as bytes, and checked streams.
#pragma once

#include <optional>

#include "ringforge/record.hpp"

namespace ringforge::io::detail {

inline constexpr char kDamaged[] = "; the file was altered or cut short: obtain it again";
/// Bytes in which headers of all kinds fit.
using RawHeader = std::array<std::uint8_t, kHeaderBytes>;
/// Headers from before records: seven characters and a digit, then the parameter hash.
inline constexpr std::size_t kOldMagicBytes = 7, kOldHeaderBytes = kOldMagicBytes + 1 + sizeof(Hash);

/// "0x0102": how messages name a type.
std::string code_text(TypeCode code);
/// The type of a code. @throws ParameterError when nobody registered it.
const RecordType& registered(TypeCode code);
/// The type whose objects once began so; null for others.
const RecordType* find_old_magic(const std::uint8_t* magic);
/// Types of the schemes of this library. The only place below them that knows their names.
std::vector<RecordType> built_in_types();

/// A header of a record's kind, as bytes.
RawHeader header_of(const RecordType& type, const Hash& parameters, u64 body_bytes) noexcept;

/// Up to `bytes` bytes of a stream; fewer only at its end. @throws Error when the stream fails.
std::size_t get(std::istream& in, void* dst, std::size_t bytes);
/// Reads and checks everything about a header that needs no parameters; its bytes stay in `raw`. `expected` is the
/// type the caller can read. @throws FormatError; `missing` makes the one for a stream that ends too early.
template <class Missing>
RecordHeader read_header(std::istream& in, RawHeader& raw, const RecordType* expected, Missing&& missing);
/// Of so many bytes, which are all there.
RecordHeader parse_header(std::span<const std::uint8_t> raw, const RecordType* expected);
/// Length of the header that begins so.
std::size_t header_length(const std::uint8_t* magic);
/// Checks the magic of a record. @throws FormatError.
void check_magic(const std::uint8_t* magic);

/// What a header and fixed fields say.
RecordInfo info_of(const RecordHeader& header, const RecordHead& head);

template <class Missing>
RecordHeader read_header(std::istream& in, RawHeader& raw, const RecordType* expected, Missing&& missing) {
  constexpr std::size_t kFirst = kOldMagicBytes + 1;
  const std::size_t first = get(in, raw.data(), kFirst);
  if (first < kFirst) throw missing(first, kHeaderBytes);
  const std::size_t length = header_length(raw.data());
  const std::size_t rest = get(in, raw.data() + kFirst, length - kFirst);
  if (rest < length - kFirst) throw missing(kFirst + rest, length);
  return parse_header({raw.data(), length}, expected);
}

}  // namespace ringforge::io::detail
