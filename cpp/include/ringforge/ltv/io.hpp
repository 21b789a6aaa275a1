// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Records of LTV. docs/formats.md describes every byte. Residues are words of 32 bits as they are, not packed: keys are
// gigabytes, and a residue has 31 bits. LTV is broken at its parameters (params.hpp).
#pragma once

#include <iosfwd>
#include <optional>

#include "ringforge/ltv/batch.hpp"
#include "ringforge/record.hpp"

namespace ringforge::ltv {

inline constexpr io::TypeCode kParametersType = 0x0601, kCiphertextType = 0x0603, kSecretKeyType = 0x0604,
                              kPublicKeyType = 0x0605, kEvalKeyType = 0x0606;
/// What the registry knows of them. Fields: "word_bits", "limbs", "level", "degree", "levels", "digits", "key_id",
/// "log_deviation", "factors", "m".
std::vector<io::RecordType> record_types();

}  // namespace ringforge::ltv

namespace ringforge::io {

// As for CKKS (ckks/io.hpp): `save` appends one record, `saved_size` is its length, `load_...` reads an object that
// stands alone, `next_...` the record at the stream's position, or nothing at the stream's end.
// @throws MismatchError, LevelError when the object does not belong to the context; ValueError for noise that a reader
//         would refuse; Error when the stream fails.

void save(std::ostream& out, const ltv::Parameters& params);
void save(std::ostream& out, const ltv::Context& context, const ltv::Ciphertext& ciphertext);
/// Not encrypted: keep the file from others.
void save(std::ostream& out, const ltv::Context& context, const ltv::SecretKey& key);
void save(std::ostream& out, const ltv::Context& context, const ltv::PublicKey& key);
void save(std::ostream& out, const ltv::Context& context, const ltv::EvalKey& key);

u64 saved_size(const ltv::Parameters& params);
u64 saved_size(const ltv::Context& context, const ltv::Ciphertext& ciphertext);
u64 saved_size(const ltv::Context& context, const ltv::SecretKey& key);
u64 saved_size(const ltv::Context& context, const ltv::PublicKey& key);
u64 saved_size(const ltv::Context& context, const ltv::EvalKey& key);

/// With the reason that was given when they were made.
ltv::Parameters load_ltv_parameters(std::istream& in);
ltv::Ciphertext load_ciphertext(std::istream& in, const ltv::Context& context);
ltv::SecretKey load_secret_key(std::istream& in, const ltv::Context& context);
ltv::PublicKey load_public_key(std::istream& in, const ltv::Context& context);
ltv::EvalKey load_eval_key(std::istream& in, const ltv::Context& context);
/// The evaluation key goes to the relinearizer, digit by digit, and is never in memory as a whole.
void load_eval_key(std::istream& in, ltv::Relinearizer& relinearizer);

std::optional<ltv::Parameters> next_ltv_parameters(std::istream& in);
std::optional<ltv::Ciphertext> next_ciphertext(std::istream& in, const ltv::Context& context);
std::optional<ltv::SecretKey> next_secret_key(std::istream& in, const ltv::Context& context);
std::optional<ltv::PublicKey> next_public_key(std::istream& in, const ltv::Context& context);
std::optional<ltv::EvalKey> next_eval_key(std::istream& in, const ltv::Context& context);

}  // namespace ringforge::io
