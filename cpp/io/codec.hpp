// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Inside the io layer: checked streams of bytes under an incremental SHA-256, record headers, and the
// packing of residues. Nothing here knows a scheme.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <istream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "ringforge/io.hpp"

namespace ringforge::io::detail {

using Hash = std::array<std::uint8_t, 32>;

/// The only word width there is so far: a residue takes 64 bits in memory.
inline constexpr u32 kWordBits = 64;
/// Bodies start with at most this many bytes of fixed fields.
inline constexpr std::size_t kMaxHeadBytes = 64;
/// Residues packed at once; a block ends on a byte for every size of prime.
inline constexpr std::size_t kChunk = 4096;

/// SHA-256 in pieces.
class Hasher {
 public:
  Hasher();
  void update(const void* data, std::size_t bytes);
  Hash finish();

 private:
  struct Free {
    void operator()(void* ctx) const noexcept;
  };
  std::unique_ptr<void, Free> ctx_;
};

/// Memory for one chunk of packed residues and 8 bytes that unpacking may read beyond; wiped at the end.
class ChunkBuffer {
 public:
  ChunkBuffer() : bytes_(kChunk * 8 + 8) {}
  ~ChunkBuffer() { wipe(bytes_.data(), bytes_.size()); }
  ChunkBuffer(const ChunkBuffer&) = delete;
  ChunkBuffer& operator=(const ChunkBuffer&) = delete;
  std::uint8_t* data() noexcept { return bytes_.data(); }
  std::size_t size() const noexcept { return bytes_.size() - 8; }

 private:
  std::vector<std::uint8_t> bytes_;
};

/// Bytes of n residues of this many bits; n is a multiple of 64.
constexpr u64 packed_bytes(u64 n, unsigned bits) noexcept { return n * bits / 8; }

/// Residue k takes bits [k*bits, (k+1)*bits) of the little-endian bit string. n is a multiple of 64,
/// 1 <= bits <= 61, and every value below 2^bits.
void pack(std::uint8_t* dst, const u64* src, std::size_t n, unsigned bits) noexcept;
/// The inverse. Reads up to 8 bytes beyond the packed ones.
void unpack(u64* dst, const std::uint8_t* src, std::size_t n, unsigned bits) noexcept;
/// Whether all values are below q < 2^63.
bool all_below(const u64* values, std::size_t n, u64 q) noexcept;

/// A record's header as stored.
struct Header {
  std::uint16_t version = 0;
  ObjectType type{};
  Hash hash{};
  u64 body_bytes = 0;
};

/// Checks everything about a header that needs no parameters. `expected` is the type the caller can read.
/// @throws FormatError.
Header parse_header(const std::uint8_t* bytes, std::optional<ObjectType> expected);

/// Bytes of the fixed fields that a body of this type starts with.
std::size_t head_bytes(ObjectType type) noexcept;
/// Copies the fixed fields (not those of parameters) into `info`, whose type is set.
void parse_head(RecordInfo& info, const std::uint8_t* head) noexcept;

/// First hexadecimal digits of a parameter hash, for messages.
std::string short_hash(const Hash& hash);

/// Up to `bytes` bytes of a stream; fewer only at its end. @throws Error when the stream fails.
std::size_t get(std::istream& in, void* dst, std::size_t bytes);
/// Whether no byte follows. @throws Error when the stream fails.
bool at_end(std::istream& in);
/// Position and end of a stream that can seek, whose position is kept. @throws Error for others.
struct Extent {
  u64 position, end;
};
Extent extent(std::istream& in);
void seek(std::istream& in, u64 position);

/// Writes one record.
class RecordWriter {
 public:
  RecordWriter(std::ostream& out, ObjectType type, const Hash& hash, u64 body_bytes);
  void bytes(const void* data, std::size_t n);
  template <class T>
  void value(T v) {
    static_assert(std::is_arithmetic_v<T>);
    bytes(&v, sizeof(v));
  }
  /// @throws ValueError when a residue is not below its prime.
  void limb(const u64* residues, std::size_t n, const kernels::Modulus& mod);
  void poly(const Poly<Eval>& p);
  ChunkBuffer& buffer() noexcept { return buffer_; }
  /// Writes the checksum.
  void finish();

 private:
  void put(const void* data, std::size_t n);
  std::ostream& out_;
  ObjectType type_;
  Hasher hasher_;
  ChunkBuffer buffer_;
  u64 left_;
};

/// Reads one record whose type is known.
class RecordReader {
 public:
  /// Reads and checks the header. @throws FormatError.
  RecordReader(std::istream& in, ObjectType type);
  const Header& header() const noexcept { return header_; }
  ObjectType type() const noexcept { return header_.type; }
  /// @throws MismatchError when the record belongs to other parameters.
  void check_parameters(const Hash& own) const;
  /// Reads the fixed fields. @throws FormatError when the body is too short for them.
  RecordInfo head(std::array<std::uint8_t, kMaxHeadBytes>& raw);
  /// @throws FormatError when the body's length differs from the one the fields imply.
  void check_length(u64 implied) const;
  void bytes(void* dst, std::size_t n);
  /// @throws FormatError when a residue is not below its prime.
  void limb(u64* residues, std::size_t n, const kernels::Modulus& mod);
  Poly<Eval> poly(const Basis& basis);
  ChunkBuffer& buffer() noexcept { return buffer_; }
  /// Reads the checksum. @throws FormatError when it does not match.
  void finish();
  /// "the CKKS ciphertext", for messages.
  std::string what() const { return std::string("the ") + name(header_.type); }
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  void take(void* dst, std::size_t n);
  std::istream& in_;
  Header header_;
  Hasher hasher_;
  ChunkBuffer buffer_;
  u64 read_ = 0;
};

}  // namespace ringforge::io::detail
