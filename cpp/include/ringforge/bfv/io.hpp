// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Saving and loading of parameters, plaintexts, ciphertexts and keys of BFV, as records (`ringforge/record.hpp`).
// docs/formats.md describes every byte. Residues are packed at the size of their prime or of t; uniform polynomials are
// stored as the 32-byte seed they came from.
//
// Readers refuse residues that are not below their modulus, noise that no ciphertext has, and what `record.hpp` says.
// Refusals are FormatError, and MismatchError for what belongs to other parameters. A ciphertext's noise is the
// writer's claim: whoever must not trust it predicts it (NoiseRules) or, with the key, measures it.
#pragma once

#include <iosfwd>
#include <optional>
#include <vector>

#include "ringforge/bfv/bfv.hpp"
#include "ringforge/record.hpp"

namespace ringforge::bfv {

/// The types of BFV's records.
inline constexpr io::TypeCode kParametersType = 0x0401, kPlaintextType = 0x0402, kCiphertextType = 0x0403,
                              kSecretKeyType = 0x0404, kPublicKeyType = 0x0405, kRelinKeyType = 0x0406,
                              kGaloisKeyType = 0x0407;
/// What the registry knows of them. Fields: "limbs", "parts", "digits", "seeded", "key_id", "element"; "t",
/// "log_deviation", "degree", "reuse".
std::vector<io::RecordType> record_types();

}  // namespace ringforge::bfv

namespace ringforge::io {

// As for CKKS (ckks/io.hpp): `save` appends one record, `saved_size` is its length, `load_...` reads an object that
// stands alone, `next_...` the record at the stream's position, or nothing at the stream's end.
// @throws MismatchError when the object does not belong to the context; ValueError for noise that a reader would
//         refuse; Error when the stream fails.

void save(std::ostream& out, const bfv::Parameters& params);
void save(std::ostream& out, const bfv::Context& context, const bfv::Plaintext& plaintext);
/// Half the size while `ciphertext.seed` is set.
void save(std::ostream& out, const bfv::Context& context, const bfv::Ciphertext& ciphertext);
/// Not encrypted: keep the file from others.
void save(std::ostream& out, const bfv::Context& context, const bfv::SecretKey& key);
void save(std::ostream& out, const bfv::Context& context, const bfv::PublicKey& key);
void save(std::ostream& out, const bfv::Context& context, const bfv::RelinKey& key);
void save(std::ostream& out, const bfv::Context& context, const bfv::GaloisKey& key);

u64 saved_size(const bfv::Parameters& params);
u64 saved_size(const bfv::Context& context, const bfv::Plaintext& plaintext);
u64 saved_size(const bfv::Context& context, const bfv::Ciphertext& ciphertext);
u64 saved_size(const bfv::Context& context, const bfv::SecretKey& key);
u64 saved_size(const bfv::Context& context, const bfv::PublicKey& key);
u64 saved_size(const bfv::Context& context, const bfv::RelinKey& key);
u64 saved_size(const bfv::Context& context, const bfv::GaloisKey& key);

/// Accepts sets below 128 bits, which carry their reason: ask `secure()` before using a stranger's.
bfv::Parameters load_bfv_parameters(std::istream& in);
bfv::Plaintext load_plaintext(std::istream& in, const bfv::Context& context);
bfv::Ciphertext load_ciphertext(std::istream& in, const bfv::Context& context, unsigned threads = 1);
bfv::SecretKey load_secret_key(std::istream& in, const bfv::Context& context);
bfv::PublicKey load_public_key(std::istream& in, const bfv::Context& context, unsigned threads = 1);
bfv::RelinKey load_relin_key(std::istream& in, const bfv::Context& context, unsigned threads = 1);
bfv::GaloisKey load_galois_key(std::istream& in, const bfv::Context& context, unsigned threads = 1);

std::optional<bfv::Parameters> next_bfv_parameters(std::istream& in);
std::optional<bfv::Plaintext> next_plaintext(std::istream& in, const bfv::Context& context);
std::optional<bfv::Ciphertext> next_ciphertext(std::istream& in, const bfv::Context& context, unsigned threads = 1);
std::optional<bfv::SecretKey> next_secret_key(std::istream& in, const bfv::Context& context);
std::optional<bfv::PublicKey> next_public_key(std::istream& in, const bfv::Context& context, unsigned threads = 1);
std::optional<bfv::RelinKey> next_relin_key(std::istream& in, const bfv::Context& context, unsigned threads = 1);
std::optional<bfv::GaloisKey> next_galois_key(std::istream& in, const bfv::Context& context, unsigned threads = 1);

}  // namespace ringforge::io
