// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Saving and loading of parameters, ciphertexts and keys of BGV, as records (`ringforge/record.hpp`). docs/formats.md
// describes every byte. Residues are packed at the size of their prime; uniform polynomials are stored as the 32-byte
// seed they came from.
//
// Readers refuse residues that are not below their modulus, noise that no ciphertext has, and what `record.hpp` says.
// Refusals are FormatError, and MismatchError for what belongs to other parameters. A ciphertext's noise is the
// writer's claim: whoever must not trust it predicts it (NoiseRules) or, with the key, measures it.
#pragma once

#include <iosfwd>
#include <optional>
#include <vector>

#include "ringforge/bgv/bgv.hpp"
#include "ringforge/record.hpp"

namespace ringforge::bgv {

/// The types of BGV's records.
inline constexpr io::TypeCode kParametersType = 0x0701, kCiphertextType = 0x0703, kSecretKeyType = 0x0704,
                              kPublicKeyType = 0x0705, kRelinKeyType = 0x0706, kGaloisKeyType = 0x0707;
/// What the registry knows of them. Fields: "limbs", "parts", "digits", "seeded", "key_id", "element"; "m",
/// "log_bound".
std::vector<io::RecordType> record_types();

}  // namespace ringforge::bgv

namespace ringforge::io {

// As for CKKS (ckks/io.hpp): `save` appends one record, `saved_size` is its length, `load_...` reads an object that
// stands alone, `next_...` the record at the stream's position, or nothing at the stream's end.
// @throws MismatchError when the object does not belong to the context; ValueError for noise that a reader would
//         refuse; Error when the stream fails.

void save(std::ostream& out, const bgv::Parameters& params);
/// Half the size while `ciphertext.seed` is set.
void save(std::ostream& out, const bgv::Context& context, const bgv::Ciphertext& ciphertext);
/// Not encrypted: keep the file from others.
void save(std::ostream& out, const bgv::Context& context, const bgv::SecretKey& key);
void save(std::ostream& out, const bgv::Context& context, const bgv::PublicKey& key);
void save(std::ostream& out, const bgv::Context& context, const bgv::RelinKey& key);
void save(std::ostream& out, const bgv::Context& context, const bgv::GaloisKey& key);

u64 saved_size(const bgv::Parameters& params);
u64 saved_size(const bgv::Context& context, const bgv::Ciphertext& ciphertext);
u64 saved_size(const bgv::Context& context, const bgv::SecretKey& key);
u64 saved_size(const bgv::Context& context, const bgv::PublicKey& key);
u64 saved_size(const bgv::Context& context, const bgv::RelinKey& key);
u64 saved_size(const bgv::Context& context, const bgv::GaloisKey& key);

/// Accepts sets below 128 bits, which carry their reason: ask `secure()` before using a stranger's.
bgv::Parameters load_bgv_parameters(std::istream& in);
bgv::Ciphertext load_ciphertext(std::istream& in, const bgv::Context& context, unsigned threads = 1);
bgv::SecretKey load_secret_key(std::istream& in, const bgv::Context& context);
bgv::PublicKey load_public_key(std::istream& in, const bgv::Context& context, unsigned threads = 1);
bgv::RelinKey load_relin_key(std::istream& in, const bgv::Context& context, unsigned threads = 1);
bgv::GaloisKey load_galois_key(std::istream& in, const bgv::Context& context, unsigned threads = 1);

std::optional<bgv::Parameters> next_bgv_parameters(std::istream& in);
std::optional<bgv::Ciphertext> next_ciphertext(std::istream& in, const bgv::Context& context, unsigned threads = 1);
std::optional<bgv::SecretKey> next_secret_key(std::istream& in, const bgv::Context& context);
std::optional<bgv::PublicKey> next_public_key(std::istream& in, const bgv::Context& context, unsigned threads = 1);
std::optional<bgv::RelinKey> next_relin_key(std::istream& in, const bgv::Context& context, unsigned threads = 1);
std::optional<bgv::GaloisKey> next_galois_key(std::istream& in, const bgv::Context& context, unsigned threads = 1);

}  // namespace ringforge::io
