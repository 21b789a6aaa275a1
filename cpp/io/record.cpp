// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Records without their meaning: names, peeking, indexing, checksums, and streams over memory.
#include <algorithm>
#include <string>

#include "codec.hpp"

namespace ringforge::io {
namespace {

/// Header and fixed fields at the stream's position; leaves it after them. `end` is the stream's.
RecordInfo look(std::istream& in, u64 offset, u64 end) {
  std::array<std::uint8_t, kHeaderBytes> raw{};
  std::array<std::uint8_t, detail::kMaxHeadBytes> head{};
  const auto short_of = [&](u64 needed) {
    return FormatError("at byte " + std::to_string(offset) + ": a record needs " + std::to_string(needed) +
                       " bytes, the stream has " + std::to_string(end - offset) +
                       " left; the file was altered or cut short: obtain it again");
  };
  if (detail::get(in, raw.data(), raw.size()) < raw.size()) throw short_of(raw.size());
  const auto h = detail::parse_header(raw.data(), {});
  RecordInfo info;
  info.type = h.type;
  info.version = h.version;
  info.parameter_hash = h.hash;
  info.offset = offset;
  info.body_bytes = h.body_bytes;
  const std::size_t n = detail::head_bytes(h.type);
  if (h.body_bytes < n)
    throw FormatError(std::string("the ") + name(h.type) + " has a body of " + std::to_string(h.body_bytes) +
                      " bytes, its fixed fields alone take " + std::to_string(n) +
                      "; the file was altered or cut short: obtain it again");
  if (detail::get(in, head.data(), n) < n) throw short_of(kHeaderBytes + n);
  detail::parse_head(info, head.data());
  return info;
}

}  // namespace

const char* name(ObjectType type) noexcept {
  switch (type) {
    case ObjectType::ckks_parameters:
      return "CKKS parameter set";
    case ObjectType::ckks_plaintext:
      return "CKKS plaintext";
    case ObjectType::ckks_ciphertext:
      return "CKKS ciphertext";
    case ObjectType::ckks_secret_key:
      return "CKKS secret key";
    case ObjectType::ckks_public_key:
      return "CKKS public key";
    case ObjectType::ckks_relin_key:
      return "CKKS relinearisation key";
    case ObjectType::ckks_galois_key:
      return "CKKS Galois key";
  }
  return "unknown object";
}

RecordInfo peek(std::istream& in) {
  const auto [position, end] = detail::extent(in);
  try {
    const RecordInfo info = look(in, position, end);
    detail::seek(in, position);
    return info;
  } catch (const FormatError&) {
    detail::seek(in, position);
    throw;
  }
}

std::vector<RecordInfo> index(std::istream& in) {
  const auto [position, end] = detail::extent(in);
  std::vector<RecordInfo> all;
  try {
    for (u64 at = position; at < end; at += all.back().bytes()) {
      detail::seek(in, at);
      const RecordInfo info = look(in, at, end);
      // Compared this way round, a huge length cannot overflow.
      if (end - at < kHeaderBytes + kChecksumBytes || info.body_bytes > end - at - kHeaderBytes - kChecksumBytes)
        throw FormatError(std::string("the ") + name(info.type) + " at byte " + std::to_string(at) + " has a body of " +
                          std::to_string(info.body_bytes) + " bytes, the stream has " + std::to_string(end - at) +
                          " left; the file was altered or cut short: obtain it again");
      all.push_back(info);
    }
  } catch (const FormatError&) {
    detail::seek(in, position);
    throw;
  }
  detail::seek(in, position);
  return all;
}

RecordInfo verify(std::istream& in) {
  std::array<std::uint8_t, kHeaderBytes> raw{};
  if (const std::size_t n = detail::get(in, raw.data(), raw.size()); n < raw.size())
    throw FormatError("the stream ends after " + std::to_string(n) + " bytes of the " + std::to_string(raw.size()) +
                      "-byte header; the file was altered or cut short: obtain it again");
  const auto h = detail::parse_header(raw.data(), {});
  RecordInfo info;
  info.type = h.type;
  info.version = h.version;
  info.parameter_hash = h.hash;
  info.body_bytes = h.body_bytes;
  detail::Hasher hasher;
  hasher.update(raw.data(), raw.size());
  detail::ChunkBuffer buffer;
  const std::size_t head = detail::head_bytes(h.type);
  const auto refuse = [&](const std::string& reason) {
    throw FormatError(std::string("the ") + name(h.type) + " " + reason +
                      "; the file was altered or cut short: obtain it again");
  };
  if (h.body_bytes < head) refuse("has a body of " + std::to_string(h.body_bytes) + " bytes, too few");
  bool first = true;
  for (u64 left = h.body_bytes; left > 0; first = false) {
    const auto n = static_cast<std::size_t>(std::min<u64>(left, buffer.size()));
    const std::size_t got = detail::get(in, buffer.data(), n);
    if (got < n)
      refuse("ends after " + std::to_string(h.body_bytes - left + got) + " bytes of a body of " +
             std::to_string(h.body_bytes));
    if (first) detail::parse_head(info, buffer.data());
    hasher.update(buffer.data(), n);
    left -= n;
  }
  detail::Hash stored{};
  if (detail::get(in, stored.data(), stored.size()) < stored.size()) refuse("ends within its checksum");
  if (stored != hasher.finish()) refuse("does not match its checksum");
  return info;
}

// ---- streams over memory --------------------------------------------------------------------------

ByteSource::Buffer::Buffer(std::span<const std::uint8_t> bytes) {
  // A get area is only read.
  auto* p = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
  setg(p, p, p + bytes.size());
}

ByteSource::pos_type ByteSource::Buffer::seekoff(off_type off, std::ios_base::seekdir dir, std::ios_base::openmode) {
  const off_type size = egptr() - eback();
  const off_type from = dir == std::ios_base::beg ? 0 : dir == std::ios_base::end ? size : gptr() - eback();
  if (off < -from || off > size - from) return pos_type(off_type(-1));
  setg(eback(), eback() + from + off, egptr());
  return pos_type(from + off);
}

ByteSource::pos_type ByteSource::Buffer::seekpos(pos_type pos, std::ios_base::openmode which) {
  return seekoff(off_type(pos), std::ios_base::beg, which);
}

ByteSink::Buffer::Buffer(std::span<std::uint8_t> bytes) {
  auto* p = reinterpret_cast<char*>(bytes.data());
  setp(p, p + bytes.size());
}

}  // namespace ringforge::io
