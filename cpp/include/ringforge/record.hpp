// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Records: the envelope in which every object of every scheme is stored and sent. docs/formats.md has each byte.
//
// One object is one record: a header (magic, version, type, parameter hash, body length), a body, and the SHA-256 of
// both. Records stream: neither side ever holds a second copy of the object. What a body means is its scheme's; a
// scheme tells this layer the name, version and limits of its types (`RecordType`), and writes and reads bodies by
// `RecordWriter` and `RecordReader`. Schemes outside the library register theirs with `register_type`.
//
// Readers trust nothing. A length is compared with the exact length that the type, the parameters and the record's
// few counts imply before anything is allocated; no object is handed out before its checksum has matched. Refusals are
//   FormatError    not a record, another version or type, altered, truncated, or bytes after the object;
//   MismatchError  a sound header that belongs to other parameters.
// A checksum finds damage, not forgery: whoever must trust a file's origin has to authenticate it.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <istream>
#include <limits>
#include <optional>
#include <ostream>
#include <span>
#include <streambuf>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ringforge/error.hpp"
#include "ringforge/ring.hpp"
#include "ringforge/sha256.hpp"

namespace ringforge::io {

/// What a record holds. The high byte names the scheme; codes are never reused.
using TypeCode = std::uint16_t;
/// Types that belong to no scheme: a text that says what the records behind it are, the key of an OPRF server.
inline constexpr TypeCode kLabelType = 0x0001, kOprfKeyType = 0x0002;
/// Codes from here on are for schemes outside the library.
inline constexpr TypeCode kFirstForeignCode = 0x8000;

/// What a record begins with.
inline constexpr std::string_view kMagic = "RGFG";
/// Bytes before the body, and of the checksum after it.
inline constexpr std::size_t kHeaderBytes = 52;
inline constexpr std::size_t kChecksumBytes = 32;
/// A body begins with at most so many bytes of fixed fields.
inline constexpr std::size_t kMaxHeadBytes = 64;
/// The only word width there is so far: a residue takes 64 bits in memory.
inline constexpr u32 kWordBits = 64;

/// What a record says about itself.
struct RecordInfo {
  TypeCode type = 0;
  std::uint16_t version = 0;
  Hash parameter_hash{};
  u64 offset = 0;        ///< of the record's first byte in the stream
  u64 header_bytes = 0;  ///< kHeaderBytes, fewer for files from before records
  u64 body_bytes = 0;    ///< without header and checksum
  /// What the fixed fields say, by name, as far as the type has them.
  std::vector<std::pair<std::string, std::variant<u64, double>>> fields;

  u64 bytes() const noexcept { return header_bytes + body_bytes + kChecksumBytes; }
  /// A field as a number; 0 where the type has none of this name.
  double number(std::string_view name) const noexcept;
  u64 count(std::string_view name) const noexcept;
};

/// The fixed fields that a body begins with.
class RecordHead {
 public:
  template <class T>
  T at(std::size_t offset) const noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    T v;
    std::memcpy(&v, raw_.data() + offset, sizeof(v));
    return v;
  }
  std::uint8_t* data() noexcept { return raw_.data(); }

 private:
  std::array<std::uint8_t, kMaxHeadBytes> raw_{};
};

/// What the library knows of one type of objects.
struct RecordType {
  TypeCode code = 0;
  std::string name;                                ///< for messages and people, without an article: "CKKS ciphertext"
  std::uint16_t version = 1;                       ///< that writers write
  std::uint16_t oldest = 1;                        ///< readers take `oldest` ... `version`
  std::size_t head_bytes = 0;                      ///< of the fixed fields, at most kMaxHeadBytes
  u64 max_body = std::numeric_limits<i64>::max();  ///< longer ones are refused by their headers
  bool secret = false;                             ///< the holder's alone: programs never write over it
  /// Copies fixed fields into info.fields; type and version are set. It believes them. May be null.
  void (*describe)(const RecordHead& head, RecordInfo& info) = nullptr;
  /// Objects of this type that were stored before records begin with these seven characters, a digit for the version,
  /// and the parameter hash; they end with the checksum, and nothing says how long they are. Empty: there are none.
  std::string old_magic = {};
};

/// Makes a type known to all functions here, in any thread, for the rest of the process. To register an equal type
/// again does nothing.
/// @throws ParameterError for a code below kFirstForeignCode or that stands for another type, a name that is empty or
///         not printable, more fixed fields than kMaxHeadBytes, `oldest` above `version`, or an old magic.
void register_type(const RecordType& type);
/// The type of a code, which stays where it is; null for codes that nobody registered.
const RecordType* find_type(TypeCode code);
/// Its name; "unknown object" for codes that nobody registered.
std::string name(TypeCode code);

/// First hexadecimal digits of a parameter hash, for messages.
std::string short_hash(const Hash& hash);

/// A record's header, as it was read.
struct RecordHeader {
  static constexpr u64 kToTheEnd = ~u64{0};
  TypeCode type = 0;
  std::uint16_t version = 0;
  Hash hash{};
  u64 body_bytes = 0;  ///< kToTheEnd where the header does not say it: files from before records
  u64 bytes = 0;       ///< of the header itself
};

// ---- writing and reading streams --------------------------------------------------------------------

/// Memory for some packed residues; wiped at the end.
class ChunkBuffer {
 public:
  /// Residues packed at once; a chunk ends on a byte for every size of prime.
  static constexpr std::size_t kResidues = 4096;
  ChunkBuffer() : bytes_(kResidues * 8) {}
  ~ChunkBuffer();
  ChunkBuffer(const ChunkBuffer&) = delete;
  ChunkBuffer& operator=(const ChunkBuffer&) = delete;
  std::uint8_t* data() noexcept { return bytes_.data(); }
  std::size_t size() const noexcept { return bytes_.size(); }

 private:
  std::vector<std::uint8_t> bytes_;
};

/// Writes one record at a stream's position. A failure leaves an incomplete record, which readers refuse.
class RecordWriter {
 public:
  /// Writes the header. @throws ParameterError for a type that nobody registered; Error when the stream fails.
  RecordWriter(std::ostream& out, TypeCode type, const Hash& parameters, u64 body_bytes);
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
  /// Writes the checksum. @throws Error when the body has another length than was said.
  void finish();

 private:
  void put(const void* data, std::size_t n);
  std::ostream& out_;
  std::string name_;
  Sha256 hash_;
  ChunkBuffer buffer_;
  u64 left_;
};

/// Reads one record whose type is known.
class RecordReader {
 public:
  /// Reads and checks the header. @throws FormatError; ParameterError for a type that nobody registered.
  RecordReader(std::istream& in, TypeCode type);
  const RecordHeader& header() const noexcept { return header_; }
  /// @throws MismatchError when the record belongs to other parameters.
  void check_parameters(const Hash& own) const;
  /// Reads the fixed fields. @throws FormatError when the body is too short for them.
  RecordHead head();
  /// @throws FormatError when the body's length differs from the one the fields imply.
  void check_length(u64 implied);
  void bytes(void* dst, std::size_t n);
  template <class T>
  T value() {
    static_assert(std::is_arithmetic_v<T>);
    T v;
    bytes(&v, sizeof(v));
    return v;
  }
  /// @throws FormatError when a residue is not below its prime.
  void limb(u64* residues, std::size_t n, const kernels::Modulus& mod);
  Poly<Eval> poly(const Basis& basis);
  ChunkBuffer& buffer() noexcept { return buffer_; }
  /// Reads the checksum. @throws FormatError when it does not match. Nothing may be handed out before.
  void finish();
  /// "the CKKS ciphertext", for messages.
  const std::string& what() const noexcept { return what_; }
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  void take(void* dst, std::size_t n);
  std::istream& in_;
  RecordHeader header_;
  std::string what_;
  std::size_t head_bytes_ = 0;
  Sha256 hash_;
  ChunkBuffer buffer_;
  u64 read_ = 0;
};

/// Whether no byte follows. @throws Error when the stream fails.
bool at_end(std::istream& in);
/// For readers of an object that stands alone. @throws FormatError when bytes follow it.
void check_alone(std::istream& in, TypeCode type);
/// An object that was read, and must be the stream's last.
template <class T>
T alone(std::istream& in, TypeCode type, T&& object) {
  check_alone(in, type);
  return std::forward<T>(object);
}
/// What `read` gives, or nothing at the stream's end.
template <class F>
auto unless_at_end(std::istream& in, F&& read) -> std::optional<decltype(read())> {
  if (at_end(in)) return std::nullopt;
  return read();
}
/// Position and end of a stream that can seek, whose position is kept. @throws Error for others.
struct Extent {
  u64 position, end;
};
Extent extent(std::istream& in);
void seek(std::istream& in, u64 position);

// ---- records in memory ------------------------------------------------------------------------------

/// Bytes of a record with a body of so many.
constexpr u64 record_bytes(u64 body_bytes) noexcept { return kHeaderBytes + body_bytes + kChecksumBytes; }
/// Writes the header into memory for a whole record and returns where its body goes.
/// @throws ParameterError for a type that nobody registered.
std::uint8_t* begin_record(std::span<std::uint8_t> record, TypeCode type, const Hash& parameters);
/// Writes the checksum, when the body is complete.
void seal_record(std::span<std::uint8_t> record);
/// Header and body of a record, header and checksum checked; the body's length is what the record has.
/// @throws FormatError.
struct OpenRecord {
  RecordHeader header;
  std::span<const std::uint8_t> body;
};
OpenRecord open_record(std::span<const std::uint8_t> record, TypeCode type);
/// The same for a record of parameters and a length that the reader knows. @throws FormatError, MismatchError.
std::span<const std::uint8_t> open_record(std::span<const std::uint8_t> record, TypeCode type, const Hash& parameters,
                                          u64 body_bytes);

// ---- looking without loading ------------------------------------------------------------------------

/// The record at the stream's position, which is kept. Needs a stream that can seek (else Error). The fields
/// are the record's own claims: neither the checksum nor the parameters are checked.
RecordInfo peek(std::istream& in);
/// Every record from the stream's position to its end, by headers alone; the position is kept.
/// @throws FormatError also when the last record is incomplete.
std::vector<RecordInfo> index(std::istream& in);
/// Reads the record at the stream's position, leaves the stream after it, and compares its checksum. No
/// parameters needed, little memory whatever the record's size. @throws FormatError.
RecordInfo verify(std::istream& in);
/// The name of the first secret type among the records from the stream's position on, damaged or of unknown types as
/// they may be; empty where there is none. Needs a stream that can seek; its position is not kept.
std::string secret_in(std::istream& in);

// ---- streams over memory ----------------------------------------------------------------------------

/// Reads from bytes that the caller keeps alive. Can seek.
class ByteSource : public std::istream {
 public:
  explicit ByteSource(std::span<const std::uint8_t> bytes) : std::istream(nullptr), buffer_(bytes) { rdbuf(&buffer_); }

 private:
  class Buffer : public std::streambuf {
   public:
    explicit Buffer(std::span<const std::uint8_t> bytes);

   protected:
    pos_type seekoff(off_type off, std::ios_base::seekdir dir, std::ios_base::openmode which) override;
    pos_type seekpos(pos_type pos, std::ios_base::openmode which) override;
  };
  Buffer buffer_;
};

/// Writes into bytes that the caller has sized; fails (badbit) when full.
class ByteSink : public std::ostream {
 public:
  explicit ByteSink(std::span<std::uint8_t> bytes) : std::ostream(nullptr), buffer_(bytes) { rdbuf(&buffer_); }
  std::size_t written() const noexcept { return buffer_.written(); }

 private:
  class Buffer : public std::streambuf {
   public:
    explicit Buffer(std::span<std::uint8_t> bytes);
    std::size_t written() const noexcept { return static_cast<std::size_t>(pptr() - pbase()); }
  };
  Buffer buffer_;
};

}  // namespace ringforge::io
