// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "codec.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <ios>
#include <limits>

namespace ringforge::io::detail {

static_assert(std::endian::native == std::endian::little, "records are written by copying little-endian words");
static_assert(std::numeric_limits<double>::is_iec559);

namespace {

constexpr std::array<char, 4> kMagic{'R', 'G', 'F', 'G'};
constexpr char kDamaged[] = "; the file was altered or cut short: obtain it again";

std::string hex(const std::uint8_t* bytes, std::size_t n) {
  std::string s;
  for (std::size_t i = 0; i < n; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", bytes[i]);
    s += digits;
  }
  return s;
}

std::string code(ObjectType type) {
  char digits[8];
  std::snprintf(digits, sizeof(digits), "0x%04x", static_cast<unsigned>(type));
  return digits;
}

template <class T>
T load(const std::uint8_t* p) noexcept {
  T v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

}  // namespace

// ---- SHA-256 --------------------------------------------------------------------------------------

void Hasher::Free::operator()(void* ctx) const noexcept { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(ctx)); }

Hasher::Hasher() : ctx_(EVP_MD_CTX_new()) {
  if (!ctx_ || EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(ctx_.get()), EVP_sha256(), nullptr) != 1)
    throw Error("SHA-256 is not available in the installed OpenSSL");
}

void Hasher::update(const void* data, std::size_t bytes) {
  if (EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(ctx_.get()), data, bytes) != 1)
    throw Error("SHA-256 failed in the installed OpenSSL");
}

Hash Hasher::finish() {
  Hash digest;
  if (EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(ctx_.get()), digest.data(), nullptr) != 1)
    throw Error("SHA-256 failed in the installed OpenSSL");
  return digest;
}

// ---- packing --------------------------------------------------------------------------------------

void pack(std::uint8_t* dst, const u64* src, std::size_t n, unsigned bits) noexcept {
  u64 word = 0;
  unsigned fill = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const u64 x = src[k];
    word |= x << fill;
    fill += bits;
    if (fill >= 64) {
      std::memcpy(dst, &word, 8);
      dst += 8;
      fill -= 64;
      word = fill == 0 ? 0 : x >> (bits - fill);
    }
  }
}

void unpack(u64* dst, const std::uint8_t* src, std::size_t n, unsigned bits) noexcept {
  const u64 mask = (u64{1} << bits) - 1;
  std::size_t at = 0;
  if (bits <= 57) {  // with up to 7 bits of offset, one word holds the residue
    for (std::size_t k = 0; k < n; ++k, at += bits) dst[k] = (load<u64>(src + (at >> 3)) >> (at & 7)) & mask;
    return;
  }
  for (std::size_t k = 0; k < n; ++k, at += bits) {
    const std::uint8_t* p = src + (at >> 3);
    const unsigned shift = at & 7;
    // The ninth byte's bits land above those of the word; a shift by 64 - 0 is done in two steps.
    dst[k] = ((load<u64>(p) >> shift) | ((u64{p[8]} << 1) << (63 - shift))) & mask;
  }
}

bool all_below(const u64* values, std::size_t n, u64 q) noexcept {
  u64 borrow = 0;  // the top bit of q - 1 - x is set exactly when x >= q, both being below 2^63
  for (std::size_t k = 0; k < n; ++k) borrow |= (q - 1 - values[k]) | values[k];
  return borrow >> 63 == 0;
}

// ---- headers --------------------------------------------------------------------------------------

std::string short_hash(const Hash& hash) { return hex(hash.data(), 8); }

Header parse_header(const std::uint8_t* bytes, std::optional<ObjectType> expected) {
  if (std::memcmp(bytes, kMagic.data(), kMagic.size()) != 0)
    throw FormatError("not a Ringforge object: the first bytes are " + hex(bytes, 4) + ", not " +
                      hex(reinterpret_cast<const std::uint8_t*>(kMagic.data()), 4) + " (\"RGFG\"); check the file");
  Header h;
  h.version = load<std::uint16_t>(bytes + 4);
  if (h.version != kFormatVersion)
    throw FormatError("the object has format version " + std::to_string(h.version) + ", this library reads version " +
                      std::to_string(kFormatVersion) + ": use the library that wrote it, or write it again");
  h.type = static_cast<ObjectType>(load<std::uint16_t>(bytes + 6));
  if (expected && h.type != *expected)
    throw FormatError(std::string("the object is a ") + name(h.type) + " (type " + code(h.type) + "), expected is a " +
                      name(*expected) + " (type " + code(*expected) + "): use the reader of its type");
  if (head_bytes(h.type) == 0)
    throw FormatError("the object has the unknown type " + code(h.type) + ": a newer library may read it");
  if (const u32 flags = load<u32>(bytes + 8); flags != 0)
    throw FormatError("the header's reserved bits are " + std::to_string(flags) + ", they must be 0" + kDamaged);
  std::memcpy(h.hash.data(), bytes + 12, 32);
  h.body_bytes = load<u64>(bytes + 44);
  return h;
}

std::size_t head_bytes(ObjectType type) noexcept {
  switch (type) {
    case ObjectType::ckks_parameters:
      return 40;
    case ObjectType::ckks_plaintext:
      return 24;
    case ObjectType::ckks_ciphertext:
      return 48;
    case ObjectType::ckks_secret_key:
      return 16;
    case ObjectType::ckks_public_key:
      return 48;
    case ObjectType::ckks_relin_key:
    case ObjectType::ckks_galois_key:
      return 64;
  }
  return 0;
}

void parse_head(RecordInfo& info, const std::uint8_t* head) noexcept {
  info.word_bits = load<u32>(head);
  switch (info.type) {
    case ObjectType::ckks_parameters:
      break;
    case ObjectType::ckks_plaintext:
      info.limbs = load<u32>(head + 4);
      info.scale = load<double>(head + 8);
      info.bound = load<double>(head + 16);
      break;
    case ObjectType::ckks_ciphertext:
      info.limbs = load<u32>(head + 4);
      info.parts = load<u32>(head + 8);
      info.seeded = load<u32>(head + 12) == 1;
      info.key_id = load<u64>(head + 16);
      info.scale = load<double>(head + 24);
      info.variance = load<double>(head + 32);
      info.bound = load<double>(head + 40);
      break;
    case ObjectType::ckks_secret_key:
      info.key_id = load<u64>(head + 8);
      break;
    case ObjectType::ckks_public_key:
      info.limbs = load<u32>(head + 4);
      info.key_id = load<u64>(head + 8);
      info.seeded = true;
      break;
    case ObjectType::ckks_relin_key:
    case ObjectType::ckks_galois_key:
      info.limbs = load<u32>(head + 4);
      info.digits = load<u32>(head + 8);
      info.key_id = load<u64>(head + 16);
      info.element = load<u64>(head + 24);
      info.seeded = true;
      break;
  }
}

// ---- streams --------------------------------------------------------------------------------------

std::size_t get(std::istream& in, void* dst, std::size_t bytes) {
  // Straight from the buffer: the stream's state and its exception mask stay out of it.
  if (in.fail() || in.rdbuf() == nullptr) throw Error("the input stream has failed: was the file opened?");
  std::size_t done = 0;
  try {
    while (done < bytes) {
      const auto n = in.rdbuf()->sgetn(static_cast<char*>(dst) + done, static_cast<std::streamsize>(bytes - done));
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
  } catch (const std::ios_base::failure& e) {
    throw Error(std::string("reading failed: ") + e.what());
  }
  return done;
}

bool at_end(std::istream& in) {
  if (in.fail() || in.rdbuf() == nullptr) throw Error("the input stream has failed: was the file opened?");
  try {
    return in.rdbuf()->sgetc() == std::istream::traits_type::eof();
  } catch (const std::ios_base::failure& e) {
    throw Error(std::string("reading failed: ") + e.what());
  }
}

Extent extent(std::istream& in) {
  std::streamoff position = -1, end = -1;
  if (!in.fail() && in.rdbuf() != nullptr) {
    position = in.rdbuf()->pubseekoff(0, std::ios_base::cur, std::ios_base::in);
    if (position >= 0) end = in.rdbuf()->pubseekoff(0, std::ios_base::end, std::ios_base::in);
  }
  if (position < 0 || end < 0) throw Error("looking into records needs a stream that can seek: open the file itself");
  seek(in, static_cast<u64>(position));
  return {static_cast<u64>(position), static_cast<u64>(end)};
}

void seek(std::istream& in, u64 position) {
  const auto at = static_cast<std::streamoff>(position);
  if (in.rdbuf()->pubseekpos(std::streampos(at), std::ios_base::in) != std::streampos(at))
    throw Error("the input stream cannot seek to byte " + std::to_string(position));
}

// ---- writing --------------------------------------------------------------------------------------

RecordWriter::RecordWriter(std::ostream& out, ObjectType type, const Hash& hash, u64 body_bytes)
    : out_(out), type_(type), left_(body_bytes) {
  std::array<std::uint8_t, kHeaderBytes> header{};
  const auto version = kFormatVersion;
  std::memcpy(header.data(), kMagic.data(), 4);
  std::memcpy(header.data() + 4, &version, 2);
  std::memcpy(header.data() + 6, &type, 2);
  std::memcpy(header.data() + 12, hash.data(), 32);
  std::memcpy(header.data() + 44, &body_bytes, 8);
  put(header.data(), header.size());
}

void RecordWriter::put(const void* data, std::size_t n) {
  if (!out_.write(static_cast<const char*>(data), static_cast<std::streamsize>(n)))
    throw Error(std::string("writing the ") + name(type_) + " failed: is the file open and the disk not full?");
  hasher_.update(data, n);
}

void RecordWriter::bytes(const void* data, std::size_t n) {
  put(data, n);
  left_ -= n;
}

void RecordWriter::limb(const u64* residues, std::size_t n, const kernels::Modulus& mod) {
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t count = std::min(kChunk, n - at);
    if (!all_below(residues + at, count, mod.q))
      throw ValueError(std::string("the ") + name(type_) + " has a residue that is not below its prime " +
                       std::to_string(mod.q) + ": it was filled by hand or its memory was overwritten");
    pack(buffer_.data(), residues + at, count, mod.bits);
    bytes(buffer_.data(), packed_bytes(count, mod.bits));
  }
}

void RecordWriter::poly(const Poly<Eval>& p) {
  for (std::size_t i = 0; i < p.limbs(); ++i) limb(p.limb(i), p.degree(), p.basis()[i].mod());
}

void RecordWriter::finish() {
  if (left_ != 0) throw Error(std::string("the ") + name(type_) + " does not fill its record: report this as a bug");
  const Hash digest = hasher_.finish();
  if (!out_.write(reinterpret_cast<const char*>(digest.data()), static_cast<std::streamsize>(digest.size())))
    throw Error(std::string("writing the ") + name(type_) + " failed: is the file open and the disk not full?");
}

// ---- reading --------------------------------------------------------------------------------------

RecordReader::RecordReader(std::istream& in, ObjectType type) : in_(in) {
  std::array<std::uint8_t, kHeaderBytes> raw{};
  const std::size_t n = get(in, raw.data(), raw.size());
  if (n < raw.size())
    throw FormatError("expected is a " + std::string(name(type)) + ", but the stream ends after " + std::to_string(n) +
                      " bytes of the " + std::to_string(raw.size()) + "-byte header" + kDamaged);
  header_ = parse_header(raw.data(), type);
  hasher_.update(raw.data(), raw.size());
}

void RecordReader::refuse(const std::string& reason) const { throw FormatError(what() + " " + reason + kDamaged); }

void RecordReader::check_parameters(const Hash& own) const {
  if (header_.hash != own)
    throw MismatchError(what() + " belongs to parameters " + short_hash(header_.hash) + "..., this context has " +
                        short_hash(own) + "...: make the context from the parameters it was saved with");
}

RecordInfo RecordReader::head(std::array<std::uint8_t, kMaxHeadBytes>& raw) {
  const std::size_t n = head_bytes(header_.type);
  if (header_.body_bytes < n)
    refuse("has a body of " + std::to_string(header_.body_bytes) + " bytes, its fixed fields alone take " +
           std::to_string(n));
  bytes(raw.data(), n);
  RecordInfo info;
  info.type = header_.type;
  info.version = header_.version;
  info.parameter_hash = header_.hash;
  info.body_bytes = header_.body_bytes;
  parse_head(info, raw.data());
  if (info.word_bits != kWordBits)
    throw FormatError(what() + " has residues of " + std::to_string(info.word_bits) + "-bit words, this library has " +
                      std::to_string(kWordBits) + "-bit words: use the library that wrote it");
  return info;
}

void RecordReader::check_length(u64 implied) const {
  if (header_.body_bytes != implied)
    refuse("has a body of " + std::to_string(header_.body_bytes) + " bytes, its parameters and counts imply " +
           std::to_string(implied));
}

void RecordReader::take(void* dst, std::size_t n) {
  const std::size_t got = get(in_, dst, n);
  if (got < n)
    refuse("ends after " + std::to_string(kHeaderBytes + read_ + got) + " of " +
           std::to_string(kHeaderBytes + header_.body_bytes + kChecksumBytes) + " bytes");
  read_ += n;
}

void RecordReader::bytes(void* dst, std::size_t n) {
  take(dst, n);
  hasher_.update(dst, n);
}

void RecordReader::limb(u64* residues, std::size_t n, const kernels::Modulus& mod) {
  for (std::size_t at = 0; at < n; at += kChunk) {
    const std::size_t count = std::min(kChunk, n - at);
    bytes(buffer_.data(), packed_bytes(count, mod.bits));
    unpack(residues + at, buffer_.data(), count, mod.bits);
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
  if (stored != hasher_.finish()) refuse("does not match its checksum");
}

}  // namespace ringforge::io::detail
