// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Looking into records without loading them: one, all of a file, checksums, secrets.
#include <algorithm>

#include "header.hpp"
#include "ringforge/error.hpp"

namespace ringforge::io {
namespace {

using detail::kDamaged;

/// Header and fixed fields at the stream's position; leaves it after them. `end` is the stream's.
RecordInfo look(std::istream& in, u64 offset, u64 end) {
  const auto short_of = [&](u64 needed) {
    return FormatError("at byte " + std::to_string(offset) + ": a record needs " + std::to_string(needed) +
                       " bytes, the stream has " + std::to_string(end - offset) + " left" + kDamaged);
  };
  detail::RawHeader raw{};
  RecordHeader header =
      detail::read_header(in, raw, nullptr, [&](std::size_t, std::size_t length) { return short_of(length); });
  // What has no length goes on to the end, as far as that is there: these are claims.
  if (header.body_bytes == RecordHeader::kToTheEnd)
    header.body_bytes = std::max(end - offset, header.bytes + kChecksumBytes) - header.bytes - kChecksumBytes;
  RecordHead head;
  const std::size_t n = detail::registered(header.type).head_bytes;
  if (detail::get(in, head.data(), n) < n) throw short_of(header.bytes + n);
  RecordInfo info = detail::info_of(header, head);
  info.offset = offset;
  return info;
}

/// The checksum of a record from before records, whose length nothing says: the last bytes of the stream are kept
/// back until its end. @returns the body's bytes; none when there are too few.
std::optional<u64> verify_to_the_end(std::istream& in, Sha256& hash, ChunkBuffer& buffer, RecordHead& head) {
  std::uint8_t* data = buffer.data();
  u64 body = 0;
  std::size_t held = 0;
  for (;;) {
    held += detail::get(in, data + held, buffer.size() - held);
    if (held < kChecksumBytes) return std::nullopt;
    const std::size_t done = held - kChecksumBytes;
    if (body == 0) std::memcpy(head.data(), data, std::min(done, kMaxHeadBytes));
    hash.update(data, done);
    body += done;
    std::memmove(data, data + done, kChecksumBytes);
    held = kChecksumBytes;
    if (at_end(in)) break;
  }
  const Hash digest = hash.finish();
  return std::equal(digest.begin(), digest.end(), data) ? std::optional(body) : std::nullopt;
}

}  // namespace

u64 RecordInfo::count(std::string_view wanted) const noexcept {
  for (const auto& [field, value] : fields)
    if (field == wanted && std::holds_alternative<u64>(value)) return std::get<u64>(value);
  return 0;
}

double RecordInfo::number(std::string_view wanted) const noexcept {
  for (const auto& [field, value] : fields)
    if (field == wanted)
      return std::holds_alternative<double>(value) ? std::get<double>(value)
                                                   : static_cast<double>(std::get<u64>(value));
  return 0;
}

RecordInfo detail::info_of(const RecordHeader& header, const RecordHead& head) {
  RecordInfo info;
  info.type = header.type;
  info.version = header.version;
  info.parameter_hash = header.hash;
  info.header_bytes = header.bytes;
  info.body_bytes = header.body_bytes;
  if (const auto describe = registered(header.type).describe) describe(head, info);
  return info;
}

RecordInfo peek(std::istream& in) {
  const auto [position, end] = extent(in);
  try {
    RecordInfo info = look(in, position, end);
    seek(in, position);
    return info;
  } catch (const FormatError&) {
    seek(in, position);
    throw;
  }
}

std::vector<RecordInfo> index(std::istream& in) {
  const auto [position, end] = extent(in);
  std::vector<RecordInfo> all;
  try {
    for (u64 at = position; at < end; at += all.back().bytes()) {
      seek(in, at);
      RecordInfo info = look(in, at, end);
      // Compared this way round, a huge length cannot overflow.
      if (end - at < info.header_bytes + kChecksumBytes ||
          info.body_bytes > end - at - info.header_bytes - kChecksumBytes)
        throw FormatError("the " + name(info.type) + " at byte " + std::to_string(at) + " has a body of " +
                          std::to_string(info.body_bytes) + " bytes, the stream has " + std::to_string(end - at) +
                          " left" + kDamaged);
      all.push_back(std::move(info));
    }
  } catch (const FormatError&) {
    seek(in, position);
    throw;
  }
  seek(in, position);
  return all;
}

RecordInfo verify(std::istream& in) {
  detail::RawHeader raw{};
  RecordHeader header = detail::read_header(in, raw, nullptr, [](std::size_t n, std::size_t length) {
    return FormatError("the stream ends after " + std::to_string(n) + " bytes of the " + std::to_string(length) +
                       "-byte header" + kDamaged);
  });
  const auto refuse = [&](const std::string& reason) {
    throw FormatError("the " + name(header.type) + " " + reason + kDamaged);
  };
  Sha256 hash;
  hash.update(raw.data(), header.bytes);
  ChunkBuffer buffer;
  RecordHead head;
  if (header.body_bytes == RecordHeader::kToTheEnd) {
    const auto body = verify_to_the_end(in, hash, buffer, head);
    if (!body || *body < detail::registered(header.type).head_bytes) refuse("does not match its checksum");
    header.body_bytes = *body;
    return detail::info_of(header, head);
  }
  for (u64 left = header.body_bytes; left > 0;) {
    const auto n = static_cast<std::size_t>(std::min<u64>(left, buffer.size()));
    const std::size_t got = detail::get(in, buffer.data(), n);
    if (got < n)
      refuse("ends after " + std::to_string(header.body_bytes - left + got) + " bytes of a body of " +
             std::to_string(header.body_bytes));
    if (left == header.body_bytes) std::memcpy(head.data(), buffer.data(), std::min(n, kMaxHeadBytes));
    hash.update(buffer.data(), n);
    left -= n;
  }
  Hash stored{};
  if (detail::get(in, stored.data(), stored.size()) < stored.size()) refuse("ends within its checksum");
  if (stored != hash.finish()) refuse("does not match its checksum");
  return detail::info_of(header, head);
}

std::string secret_in(std::istream& in) {
  const auto [position, end] = extent(in);
  for (u64 at = position; at < end;) {
    seek(in, at);
    detail::RawHeader raw{};
    const std::size_t n = detail::get(in, raw.data(), raw.size());
    if (n < detail::kOldMagicBytes) break;
    if (const RecordType* old = detail::find_old_magic(raw.data())) return old->secret ? old->name : "";
    try {
      detail::check_magic(raw.data());
    } catch (const FormatError&) {
      break;
    }
    TypeCode code = 0;
    u64 body = 0;
    std::memcpy(&code, raw.data() + 6, sizeof(code));
    std::memcpy(&body, raw.data() + 44, sizeof(body));
    if (const RecordType* type = find_type(code); type != nullptr && type->secret) return type->name;
    if (n < raw.size() || body > end - at || record_bytes(body) > end - at) break;
    at += record_bytes(body);
  }
  return "";
}

}  // namespace ringforge::io
