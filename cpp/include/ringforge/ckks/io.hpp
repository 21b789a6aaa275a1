// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Saving and loading of parameters, plaintexts, ciphertexts and keys of CKKS, as records (`ringforge/record.hpp`).
// docs/formats.md describes every byte. Residues are packed at the size of their prime; uniform polynomials are stored
// as the 32-byte seed they came from.
//
// Readers refuse residues that are not below their prime, numbers that are not finite or out of range, and what
// `record.hpp` says. Refusals are FormatError, and MismatchError for what belongs to other parameters.
#pragma once

#include <iosfwd>
#include <optional>
#include <vector>

#include "ringforge/ckks/ckks.hpp"
#include "ringforge/record.hpp"

namespace ringforge::ckks {

/// The types of CKKS's records.
inline constexpr io::TypeCode kParametersType = 0x0101, kPlaintextType = 0x0102, kCiphertextType = 0x0103,
                              kSecretKeyType = 0x0104, kPublicKeyType = 0x0105, kRelinKeyType = 0x0106,
                              kGaloisKeyType = 0x0107;
/// What the registry knows of them. Fields: "limbs", "parts", "digits", "seeded", "key_id", "element"; "scale",
/// "variance", "bound".
std::vector<io::RecordType> record_types();

}  // namespace ringforge::ckks

namespace ringforge::io {

/// Scales in files are in [1, 2^250).
inline constexpr double kMaxScale = 0x1p250;

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

/// The Galois keys from the stream's position to its end; the position is kept. Lengths and counts are
/// checked against the parameters, checksums only when a key is loaded.
std::vector<GaloisKeyEntry> index_galois_keys(std::istream& in, const ckks::Context& context);

}  // namespace ringforge::io
