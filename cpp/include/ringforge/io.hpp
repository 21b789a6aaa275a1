// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Saving and loading of parameters, plaintexts, ciphertexts and keys. docs/formats.md describes every byte.
//
// One object is one record: a header (magic, format version, type, parameter hash, body length), a body, and
// the SHA-256 of both. Records stream: neither side ever holds a second copy of the object. Residues are
// packed at the size of their prime; uniform polynomials are stored as the 32-byte seed they came from.
//
// Readers trust nothing. A length is compared with the exact length that the type, the parameters and the
// record's few counts imply before anything is allocated; residues must be below their prime, numbers finite
// and in range; no object is handed out before its checksum has matched. Refusals are
//   FormatError    not a record, another version or type, altered, truncated, or bytes after the object;
//   MismatchError  a sound header that belongs to other parameters.
// A checksum finds damage, not forgery: whoever must trust a file's origin has to authenticate it.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <istream>
#include <optional>
#include <ostream>
#include <span>
#include <streambuf>
#include <vector>

#include "ringforge/ckks/ckks.hpp"
#include "ringforge/error.hpp"

namespace ringforge::io {

/// The format written by this library, and the only one it reads.
inline constexpr std::uint16_t kFormatVersion = 1;
/// Bytes before the body, and of the checksum after it.
inline constexpr std::size_t kHeaderBytes = 52;
inline constexpr std::size_t kChecksumBytes = 32;
/// Scales in files are in [1, 2^250).
inline constexpr double kMaxScale = 0x1p250;

/// What a record holds. The high byte names the scheme (1: CKKS); codes are never reused.
enum class ObjectType : std::uint16_t {
  ckks_parameters = 0x0101,
  ckks_plaintext = 0x0102,
  ckks_ciphertext = 0x0103,
  ckks_secret_key = 0x0104,
  ckks_public_key = 0x0105,
  ckks_relin_key = 0x0106,
  ckks_galois_key = 0x0107,
};
/// "CKKS ciphertext" and so on; "unknown object" for other codes.
const char* name(ObjectType type) noexcept;

/// What a record says about itself. Fields that its type does not have are 0 or false.
struct RecordInfo {
  ObjectType type{};
  std::uint16_t version = 0;
  std::array<std::uint8_t, 32> parameter_hash{};
  u64 offset = 0;      ///< of the record's first byte in the stream
  u64 body_bytes = 0;  ///< without header and checksum
  u64 bytes() const noexcept { return kHeaderBytes + body_bytes + kChecksumBytes; }

  u32 word_bits = 0;  ///< width of a residue in memory
  std::size_t limbs = 0;
  std::size_t parts = 0;   ///< ciphertexts: polynomials, those stored as a seed included
  std::size_t digits = 0;  ///< relinearisation and Galois keys
  bool seeded = false;     ///< a polynomial is stored as its seed
  u64 key_id = 0;
  u64 element = 0;  ///< Galois keys
  double scale = 0, variance = 0, bound = 0;
};

/// A Galois key's place in a file.
struct GaloisKeyEntry {
  u64 element = 0;
  std::size_t limbs = 0;
  u64 offset = 0;  ///< seek here, then next_galois_key
  u64 bytes = 0;   ///< of the record
};

// ---- saving ---------------------------------------------------------------------------------------
//
// Each appends one record at the stream's position, after its checks; a failure while writing leaves an
// incomplete record, which readers refuse. Close files and look at their state: systems report a full disk late.
// @throws MismatchError when the object does not belong to the context; ValueError or ScaleError for numbers
//         a reader would refuse (not finite, scale outside [1, 2^250)); Error when the stream fails.

void save(std::ostream& out, const ckks::Parameters& params);
void save(std::ostream& out, const ckks::Context& context, const ckks::Plaintext& plaintext);
/// Half the size while `ciphertext.seed` is set.
void save(std::ostream& out, const ckks::Context& context, const ckks::Ciphertext& ciphertext);
/// Not encrypted: keep the file from others. The library wipes its own buffers; the stream's buffer and
/// the file are the caller's.
void save(std::ostream& out, const ckks::Context& context, const ckks::SecretKey& key);
void save(std::ostream& out, const ckks::Context& context, const ckks::PublicKey& key);
void save(std::ostream& out, const ckks::Context& context, const ckks::RelinKey& key);
/// A file of Galois keys is their records one after the other.
void save(std::ostream& out, const ckks::Context& context, const ckks::GaloisKey& key);

/// Bytes that `save` writes, found without writing.
u64 saved_size(const ckks::Parameters& params);
u64 saved_size(const ckks::Context& context, const ckks::Plaintext& plaintext);
u64 saved_size(const ckks::Context& context, const ckks::Ciphertext& ciphertext);
u64 saved_size(const ckks::Context& context, const ckks::SecretKey& key);
u64 saved_size(const ckks::Context& context, const ckks::PublicKey& key);
u64 saved_size(const ckks::Context& context, const ckks::RelinKey& key);
u64 saved_size(const ckks::Context& context, const ckks::GaloisKey& key);

// ---- loading one object ---------------------------------------------------------------------------
//
// From the stream's position to its end: bytes after the record are refused. `threads` expands seeds.
// @throws FormatError, MismatchError as above; Error when the stream itself fails. The stream's position is
// then unspecified.

/// Accepts sets below 128 bits, which carry their reason: ask `secure()` before using a stranger's.
ckks::Parameters load_parameters(std::istream& in);
ckks::Plaintext load_plaintext(std::istream& in, const ckks::Context& context);
ckks::Ciphertext load_ciphertext(std::istream& in, const ckks::Context& context, unsigned threads = 1);
ckks::SecretKey load_secret_key(std::istream& in, const ckks::Context& context);
ckks::PublicKey load_public_key(std::istream& in, const ckks::Context& context, unsigned threads = 1);
ckks::RelinKey load_relin_key(std::istream& in, const ckks::Context& context, unsigned threads = 1);
ckks::GaloisKey load_galois_key(std::istream& in, const ckks::Context& context, unsigned threads = 1);

// ---- loading sequences ----------------------------------------------------------------------------
//
// Each reads the record at the stream's position and leaves the stream after it; nullopt when the stream
// ends there. The same errors as above. With `peek` they also read files of mixed objects.

std::optional<ckks::Parameters> next_parameters(std::istream& in);
std::optional<ckks::Plaintext> next_plaintext(std::istream& in, const ckks::Context& context);
std::optional<ckks::Ciphertext> next_ciphertext(std::istream& in, const ckks::Context& context, unsigned threads = 1);
std::optional<ckks::SecretKey> next_secret_key(std::istream& in, const ckks::Context& context);
std::optional<ckks::PublicKey> next_public_key(std::istream& in, const ckks::Context& context, unsigned threads = 1);
std::optional<ckks::RelinKey> next_relin_key(std::istream& in, const ckks::Context& context, unsigned threads = 1);
std::optional<ckks::GaloisKey> next_galois_key(std::istream& in, const ckks::Context& context, unsigned threads = 1);

// ---- looking without loading ----------------------------------------------------------------------

/// The record at the stream's position, which is kept. Needs a stream that can seek (else Error). The fields
/// are the record's own claims: neither the checksum nor the parameters are checked.
RecordInfo peek(std::istream& in);
/// Every record from the stream's position to its end, by headers alone; the position is kept.
/// @throws FormatError also when the last record is incomplete.
std::vector<RecordInfo> index(std::istream& in);
/// The Galois keys from the stream's position to its end; the position is kept. Lengths and counts are
/// checked against the parameters, checksums only when a key is loaded.
std::vector<GaloisKeyEntry> index_galois_keys(std::istream& in, const ckks::Context& context);
/// Reads the record at the stream's position, leaves the stream after it, and compares its checksum. No
/// parameters needed, little memory whatever the record's size. @throws FormatError.
RecordInfo verify(std::istream& in);

// ---- streams over memory --------------------------------------------------------------------------

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

/// Writes into bytes that the caller has sized, for instance with saved_size; fails (badbit) when full.
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
