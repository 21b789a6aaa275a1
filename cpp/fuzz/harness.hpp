// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What the fuzz targets share. Random bytes never carry a right SHA-256, so the mutator puts header and
// checksum in order after most mutations: inputs then reach the body's checks, and still are plain files
// that every reader treats the same way. The library knows nothing of this.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>

#include "objects.hpp"
#include "require.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace ringforge::fuzz {

inline constexpr std::size_t kFrame = io::kHeaderBytes + io::kChecksumBytes;

/// The context whose hash the input carries, the narrow one otherwise.
inline const ckks::Context& context_of(const std::uint8_t* data, std::size_t size) {
  const auto& wide = wide_context()->params().hash();
  if (size >= io::kHeaderBytes && std::memcmp(data + 12, wide.data(), wide.size()) == 0) return *wide_context();
  return *narrow_context();
}

template <class T>
T peek_at(const std::uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

/// The hash that `Parameters` gives the fields of a parameter body, valid or not.
inline std::array<std::uint8_t, 32> parameter_hash(const std::uint8_t* body, std::size_t size) {
  if (size < 40) return {};
  const u64 q = peek_at<u32>(body + 12), p = peek_at<u32>(body + 16);
  if (40 + 8 * (q + p) > size) return {};
  std::vector<u64> identity{peek_at<u32>(body + 4), q, p, peek_at<u32>(body + 8)};
  for (u64 i = 0; i < q + p; ++i) identity.push_back(peek_at<u64>(body + 40 + 8 * i));
  identity.push_back(peek_at<u64>(body + 32));
  return sha256(identity.data(), identity.size() * sizeof(u64));
}

/// The parameter hash that a record of the type should carry.
using HashOf = Hash (*)(const std::uint8_t* record, std::size_t size, io::TypeCode type);
inline Hash ckks_hash(const std::uint8_t* record, std::size_t size, io::TypeCode type) {
  return type == ckks::kParametersType ? parameter_hash(record + io::kHeaderBytes, size - kFrame)
                                       : context_of(record, size).params().hash();
}

/// Puts one record's header, length and checksum in order.
inline void repair(std::uint8_t* record, std::size_t size, io::TypeCode type, HashOf hash_of = ckks_hash) {
  const io::RecordType* known = io::find_type(type);
  const std::uint16_t version = known == nullptr ? 1 : known->version;
  const u32 flags = 0;
  const u64 body = size - kFrame;
  const auto hash = hash_of(record, size, type);
  std::memcpy(record, "RGFG", 4);
  std::memcpy(record + 4, &version, 2);
  std::memcpy(record + 6, &type, 2);
  std::memcpy(record + 8, &flags, 4);
  std::memcpy(record + 12, hash.data(), 32);
  std::memcpy(record + 44, &body, 8);
  io::seal_record({record, size});
}

/// Values that fields of a body may hold or should not.
inline u64 interesting(std::mt19937_64& rng) {
  static const u64 values[] = {0,
                               1,
                               2,
                               3,
                               4,
                               5,
                               10,
                               11,
                               17,
                               64,
                               65,
                               2047,
                               2048,
                               0x7fffffff,
                               0x80000000,
                               0xffffffff,
                               u64{1} << 63,
                               ~u64{0},
                               0x3ff0000000000000,   // 1.0
                               0x3fefffffffffffff,   // just below
                               0x4f90000000000000,   // 2^250
                               0x7ff0000000000000,   // infinity
                               0x7ff8000000000000,   // NaN
                               0x8000000000000000,   // -0.0
                               0xbff0000000000000};  // -1.0
  return values[rng() % std::size(values)];
}

/// Mutates an input that should hold records of one type.
inline std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed, io::TypeCode type,
                          HashOf hash_of = ckks_hash) {
  std::mt19937_64 rng(seed);
  if (size < kFrame || rng() % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);

  // Where records begin: at every magic.
  std::vector<std::size_t> starts{0};
  for (std::size_t i = kFrame; i + kFrame <= size; ++i)
    if (std::memcmp(data + i, "RGFG", 4) == 0) starts.push_back(i);
  const std::size_t pick = rng() % starts.size(), start = starts[pick];
  const std::size_t end = pick + 1 < starts.size() ? starts[pick + 1] : size;
  std::uint8_t* record = data + start;
  std::size_t length = end - start;
  if (length < kFrame) return LLVMFuzzerMutate(data, size, max_size);
  std::uint8_t* body = record + io::kHeaderBytes;
  const std::size_t body_size = length - kFrame;

  switch (rng() % 4) {
    case 0: {  // a fixed field
      const std::size_t fields = std::min<std::size_t>(body_size, 64) / 4;
      if (fields == 0) break;
      const u64 v = interesting(rng);
      const std::size_t at = rng() % fields * 4, width = at + 8 <= body_size && rng() % 2 == 0 ? 8 : 4;
      std::memcpy(body + at, &v, width);
      break;
    }
    case 1: {  // the body, keeping its length
      Bytes copy(body, body + body_size);
      if (copy.empty()) break;
      const std::size_t n = LLVMFuzzerMutate(copy.data(), copy.size(), copy.size());
      std::memcpy(body, copy.data(), n);
      break;
    }
    case 2: {  // the fixed fields alone
      Bytes copy(body, body + std::min<std::size_t>(body_size, 64));
      if (copy.empty()) break;
      const std::size_t n = LLVMFuzzerMutate(copy.data(), copy.size(), copy.size());
      std::memcpy(body, copy.data(), n);
      break;
    }
    default: {  // the body with a change of length
      Bytes tail(data + end, data + size), copy(body, body + body_size);
      const std::size_t room = max_size - (size - body_size);
      copy.resize(std::max(room, body_size));
      const std::size_t n = LLVMFuzzerMutate(copy.data(), body_size, copy.size());
      std::memcpy(body, copy.data(), n);
      length = kFrame + n;
      std::copy(tail.begin(), tail.end(), record + length);
      size = start + length + tail.size();
      break;
    }
  }
  if (rng() % 16 == 0) return size;  // leave the checksum wrong
  if (rng() % 16 == 0) {             // leave the header as mutated
    record[rng() % io::kHeaderBytes] = static_cast<std::uint8_t>(rng());
    io::seal_record({record, length});
    return size;
  }
  repair(record, length, type, hash_of);
  return size;
}

/// Reads one object that stands alone. Only the two promised errors may come out; what is accepted must be
/// saved again as the same bytes.
template <class Load, class Save, class Size>
void check_single(const std::uint8_t* data, std::size_t size, Load&& load, Save&& save, Size&& saved_size) {
  io::ByteSource in({data, size});
  try {
    const auto object = load(in);
    require(saved_size(object) == size, "saved_size differs from what was read");
    Bytes again(size);
    io::ByteSink out(again);
    save(out, object);
    require(out.written() == size && std::memcmp(again.data(), data, size) == 0, "saving again gives other bytes");
  } catch (const FormatError&) {
  } catch (const MismatchError&) {
  }
}

/// Reads objects one after the other until the stream ends or one is refused; each must begin where the last ended.
template <class Next>
void check_sequence(const std::uint8_t* data, std::size_t size, Next&& next) {
  io::ByteSource in({data, size});
  try {
    for (std::streamoff at = 0; next(in); at = in.tellg()) require(in.tellg() > at, "an object without bytes");
  } catch (const FormatError&) {
  } catch (const MismatchError&) {
  }
}

}  // namespace ringforge::fuzz

/// A target for the readers of one kind of object, alone and in sequence.
#define RINGFORGE_FUZZ_READER(object, type)                                                                         \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {                               \
    using namespace ringforge;                                                                                      \
    const ckks::Context& context = fuzz::context_of(data, size);                                                    \
    fuzz::check_single(                                                                                             \
        data, size, [&](std::istream& in) { return io::load_##object(in, context); },                               \
        [&](std::ostream& out, const auto& read) { io::save(out, context, read); },                                 \
        [&](const auto& read) { return io::saved_size(context, read); });                                           \
    fuzz::check_sequence(data, size, [&](std::istream& in) { return io::next_##object(in, context).has_value(); }); \
    return 0;                                                                                                       \
  }                                                                                                                 \
  RINGFORGE_FUZZ_MUTATOR(type)

#define RINGFORGE_FUZZ_MUTATOR(type)                                                                    \
  extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max, \
                                                 unsigned seed) {                                       \
    return ringforge::fuzz::mutate(data, size, max, seed, ringforge::ckks::type);                       \
  }
