// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Headers, and writing and reading of one record. Nothing here knows a scheme.
#include "ringforge/record.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "header.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/packing.hpp"

namespace ringforge::io {

static_assert(std::endian::native == std::endian::little, "records are written by copying little-endian words");
static_assert(std::numeric_limits<double>::is_iec559);

namespace {

using detail::code_text;
using detail::kDamaged;

std::string hex(const std::uint8_t* bytes, std::size_t n) {
  std::string s;
  for (std::size_t i = 0; i < n; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", bytes[i]);
    s += digits;
  }
  return s;
}

template <class T>
T load(const std::uint8_t* p) noexcept {
  T v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

}  // namespace

std::string short_hash(const Hash& hash) { return hex(hash.data(), 8); }

// ---- headers --------------------------------------------------------------------------------------

detail::RawHeader detail::header_of(const RecordType& type, const Hash& parameters, u64 body_bytes) noexcept {
  RawHeader raw{};
  std::memcpy(raw.data(), kMagic.data(), 4);
  std::memcpy(raw.data() + 4, &type.version, 2);
  std::memcpy(raw.data() + 6, &type.code, 2);
  std::memcpy(raw.data() + 12, parameters.data(), 32);
  std::memcpy(raw.data() + 44, &body_bytes, 8);
  return raw;
}

std::size_t detail::header_length(const std::uint8_t* magic) {
  return find_old_magic(magic) != nullptr ? kOldHeaderBytes : kHeaderBytes;
}

void detail::check_magic(const std::uint8_t* magic) {
  if (std::memcmp(magic, kMagic.data(), kMagic.size()) != 0)
    throw FormatError("not a Ringforge object: the first bytes are " + hex(magic, 4) + ", not " +
                      hex(reinterpret_cast<const std::uint8_t*>(kMagic.data()), 4) + " (\"RGFG\"); check the file");
}

RecordHeader detail::parse_header(std::span<const std::uint8_t> raw, const RecordType* expected) {
  RecordHeader h;
  h.bytes = raw.size();
  const RecordType* type = find_old_magic(raw.data());
  const bool old = type != nullptr;
  if (!old) check_magic(raw.data());
  if (old) {
    const char digit = static_cast<char>(raw[kOldMagicBytes]);
    h.type = type->code;
    h.version = digit >= '0' && digit <= '9' ? static_cast<std::uint16_t>(digit - '0') : std::uint16_t{0xffff};
    h.body_bytes = RecordHeader::kToTheEnd;
  } else {
    h.version = load<std::uint16_t>(raw.data() + 4);
    h.type = load<TypeCode>(raw.data() + 6);
    h.body_bytes = load<u64>(raw.data() + 44);
    type = find_type(h.type);
  }
  if (expected != nullptr && h.type != expected->code)
    throw FormatError("the object is a " + name(h.type) + " (type " + code_text(h.type) + "), expected is a " +
                      expected->name + " (type " + code_text(expected->code) + "): use the reader of its type");
  if (type == nullptr)
    throw FormatError("the object has the unknown type " + code_text(h.type) + ": a newer library may read it");
  if (h.version < type->oldest || h.version > type->version) {
    const std::string reads = type->oldest == type->version
                                  ? "version " + std::to_string(type->version)
                                  : "versions " + std::to_string(type->oldest) + " to " + std::to_string(type->version);
    throw FormatError("the " + type->name + " has format version " + std::to_string(h.version) +
                      ", this library reads " + reads + ": use the library that wrote it, or write it again");
  }
  if (old) {
    std::memcpy(h.hash.data(), raw.data() + kOldMagicBytes + 1, sizeof(h.hash));
    return h;
  }
  if (const u32 flags = load<u32>(raw.data() + 8); flags != 0)
    throw FormatError("the header's reserved bits are " + std::to_string(flags) + ", they must be 0" + kDamaged);
  std::memcpy(h.hash.data(), raw.data() + 12, sizeof(h.hash));
  if (h.body_bytes < type->head_bytes)
    throw FormatError("the " + type->name + " has a body of " + std::to_string(h.body_bytes) +
                      " bytes, its fixed fields alone take " + std::to_string(type->head_bytes) + kDamaged);
  if (h.body_bytes > type->max_body)
    throw FormatError("the " + type->name + " has a body of " + std::to_string(h.body_bytes) + " bytes, at most " +
                      std::to_string(type->max_body) + " are possible" + kDamaged);
  return h;
}

// ---- writing --------------------------------------------------------------------------------------

ChunkBuffer::~ChunkBuffer() { wipe(bytes_.data(), bytes_.size()); }

RecordWriter::RecordWriter(std::ostream& out, TypeCode type, const Hash& parameters, u64 body_bytes)
    : out_(out), name_(detail::registered(type).name), left_(body_bytes) {
  const auto header = detail::header_of(detail::registered(type), parameters, body_bytes);
  put(header.data(), header.size());
}

void RecordWriter::put(const void* data, std::size_t n) {
  if (!out_.write(static_cast<const char*>(data), static_cast<std::streamsize>(n)))
    throw Error("writing the " + name_ + " failed: is the file open and the disk not full?");
  hash_.update(data, n);
}

void RecordWriter::bytes(const void* data, std::size_t n) {
  put(data, n);
  left_ -= n;
}

void RecordWriter::limb(const u64* residues, std::size_t n, const kernels::Modulus& mod) {
  for (std::size_t at = 0; at < n; at += ChunkBuffer::kResidues) {
    const std::size_t count = std::min(ChunkBuffer::kResidues, n - at);
    if (!all_below(residues + at, count, mod.q))
      throw ValueError("the " + name_ + " has a residue that is not below its prime " + std::to_string(mod.q) +
                       ": it was filled by hand or its memory was overwritten");
    pack_bits(buffer_.data(), residues + at, count, mod.bits);
    bytes(buffer_.data(), packed_bytes(count, mod.bits));
  }
}

void RecordWriter::poly(const Poly<Eval>& p) {
  for (std::size_t i = 0; i < p.limbs(); ++i) limb(p.limb(i), p.degree(), p.basis()[i].mod());
}

void RecordWriter::finish() {
  if (left_ != 0) throw Error("the " + name_ + " does not fill its record: report this as a bug");
  const Hash digest = hash_.finish();
  if (!out_.write(reinterpret_cast<const char*>(digest.data()), static_cast<std::streamsize>(digest.size())))
    throw Error("writing the " + name_ + " failed: is the file open and the disk not full?");
}

// ---- reading --------------------------------------------------------------------------------------

RecordReader::RecordReader(std::istream& in, TypeCode type) : in_(in) {
  const RecordType& expected = detail::registered(type);
  detail::RawHeader raw{};
  header_ = detail::read_header(in, raw, &expected, [&](std::size_t n, std::size_t length) {
    return FormatError("expected is a " + expected.name + ", but the stream ends after " + std::to_string(n) +
                       " bytes of the " + std::to_string(length) + "-byte header" + kDamaged);
  });
  what_ = "the " + expected.name;
  head_bytes_ = expected.head_bytes;
  hash_.update(raw.data(), header_.bytes);
}

void RecordReader::refuse(const std::string& reason) const { throw FormatError(what_ + " " + reason + kDamaged); }

void RecordReader::check_parameters(const Hash& own) const {
  if (header_.hash != own)
    throw MismatchError(what_ + " belongs to parameters " + short_hash(header_.hash) + "..., this context has " +
                        short_hash(own) + "...: make the context from the parameters it was saved with");
}

RecordHead RecordReader::head() {
  RecordHead head;
  bytes(head.data(), head_bytes_);
  return head;
}

void RecordReader::check_length(u64 implied) {
  if (header_.body_bytes == RecordHeader::kToTheEnd) header_.body_bytes = implied;
  if (header_.body_bytes != implied)
    refuse("has a body of " + std::to_string(header_.body_bytes) + " bytes, its parameters and counts imply " +
           std::to_string(implied));
}

void RecordReader::take(void* dst, std::size_t n) {
  const std::size_t got = detail::get(in_, dst, n);
  if (got < n) {
    const bool known = header_.body_bytes != RecordHeader::kToTheEnd;
    refuse("ends after " + std::to_string(header_.bytes + read_ + got) + " of " +
           (known ? std::to_string(header_.bytes + header_.body_bytes + kChecksumBytes) : "its") + " bytes");
  }
  read_ += n;
}

void RecordReader::bytes(void* dst, std::size_t n) {
  take(dst, n);
  hash_.update(dst, n);
}

void RecordReader::limb(u64* residues, std::size_t n, const kernels::Modulus& mod) {
  for (std::size_t at = 0; at < n; at += ChunkBuffer::kResidues) {
    const std::size_t count = std::min(ChunkBuffer::kResidues, n - at);
    bytes(buffer_.data(), packed_bytes(count, mod.bits));
    unpack_bits(residues + at, buffer_.data(), count, mod.bits);
    if (!all_below(residues + at, count, mod.q))
      refuse("has a residue that is not below its prime " + std::to_string(mod.q));
  }
}

Poly<Eval> RecordReader::poly(const Basis& basis) {
  Poly<Eval> p(basis);
  for (std::size_t i = 0; i < p.limbs(); ++i) limb(p.limb(i), p.degree(), basis[i].mod());
  return p;
}

void RecordReader::finish() {
  Hash stored;
  take(stored.data(), stored.size());
  // The record may be a secret key: that it is whole is all that is told of it.
  const Hash found = hash_.finish();
  unsigned different = 0;
  for (std::size_t i = 0; i < found.size(); ++i) different |= stored[i] ^ found[i];
  if (declassified(different != 0)) refuse("does not match its checksum");
}

void check_alone(std::istream& in, TypeCode type) {
  if (!at_end(in))
    throw FormatError("bytes follow the " + name(type) +
                      ", which should stand alone: read a sequence record by record, or obtain the file again");
}

// ---- in memory ------------------------------------------------------------------------------------

std::uint8_t* begin_record(std::span<std::uint8_t> record, TypeCode type, const Hash& parameters) {
  const auto header = detail::header_of(detail::registered(type), parameters, record.size() - record_bytes(0));
  std::copy(header.begin(), header.end(), record.begin());
  return record.data() + kHeaderBytes;
}

void seal_record(std::span<std::uint8_t> record) {
  const Hash digest = sha256(record.data(), record.size() - kChecksumBytes);
  std::copy(digest.begin(), digest.end(), record.end() - kChecksumBytes);
}

OpenRecord open_record(std::span<const std::uint8_t> record, TypeCode type) {
  const RecordType& expected = detail::registered(type);
  const auto refuse = [&](const std::string& reason) {
    throw FormatError("the " + expected.name + " " + reason + kDamaged);
  };
  const std::size_t length = record.size() < kHeaderBytes ? record.size() : detail::header_length(record.data());
  if (record.size() < kHeaderBytes) {
    refuse("ends after " + std::to_string(record.size()) + " bytes, within its header");
  }
  RecordHeader header = detail::parse_header(record.first(length), &expected);
  const u64 rest = record.size() - length;
  if (header.body_bytes == RecordHeader::kToTheEnd && rest >= kChecksumBytes) header.body_bytes = rest - kChecksumBytes;
  if (rest < kChecksumBytes || header.body_bytes != rest - kChecksumBytes)
    refuse("has " + std::to_string(record.size()) + " bytes, its header says " + std::to_string(header.body_bytes) +
           " beside header and checksum");
  const Hash digest = sha256(record.data(), record.size() - kChecksumBytes);
  if (!std::equal(digest.begin(), digest.end(), record.end() - kChecksumBytes)) refuse("does not match its checksum");
  return {header, record.subspan(length, header.body_bytes)};
}

std::span<const std::uint8_t> open_record(std::span<const std::uint8_t> record, TypeCode type, const Hash& parameters,
                                          u64 body_bytes) {
  if (record.size() != record_bytes(body_bytes))
    throw FormatError("the " + name(type) + " has " + std::to_string(record.size()) +
                      " bytes, these parameters' have " + std::to_string(record_bytes(body_bytes)));
  const RecordHeader header = detail::parse_header(record.first(kHeaderBytes), &detail::registered(type));
  if (header.hash != parameters)
    throw MismatchError("the " + name(type) + " belongs to other parameters (" + short_hash(header.hash) +
                        "..., these are " + short_hash(parameters) + "...): take what belongs together");
  return open_record(record, type).body;
}

}  // namespace ringforge::io
