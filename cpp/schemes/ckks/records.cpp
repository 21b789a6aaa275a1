// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The records of CKKS. Keys, polynomials and the frame of parameter sets are the RLWE layer's; here are scale, noise
// and bounds.
#include <bit>
#include <cmath>
#include <string>

#include "ringforge/ckks/io.hpp"
#include "ringforge/rlwe/records.hpp"

namespace ringforge::io {
namespace {

using ckks::Context;
using ckks::SecretKey;
using rlwe::CiphertextFields;
using rlwe::KeyRecords;
using rlwe::ParameterFields;
using rlwe::short_number;

/// Bytes of the fixed fields.
constexpr std::size_t kPlaintextHead = 24, kCiphertextHead = 48;
constexpr rlwe::KeyTypes kKeyTypes{ckks::kSecretKeyType, ckks::kPublicKeyType, ckks::kRelinKeyType,
                                   ckks::kGaloisKeyType};

KeyRecords keys(const Context& context) { return {context.gadget(), context.params().hash(), kKeyTypes}; }

struct Fields {
  double scale = 0, variance = 0, bound = 0;
};
Fields plaintext_fields(const RecordHead& head) { return {head.at<double>(8), 0, head.at<double>(16)}; }
Fields ciphertext_fields(const RecordHead& head) {
  return {head.at<double>(24), head.at<double>(32), head.at<double>(40)};
}

void add(RecordInfo& info, const char* name, auto value) {
  if (value != 0) info.fields.emplace_back(name, value);
}
void add(RecordInfo& info, const Fields& f) {
  add(info, "scale", f.scale);
  add(info, "variance", f.variance);
  add(info, "bound", f.bound);
}
void describe_parameters(const RecordHead& head, RecordInfo& info) { add(info, "word_bits", u64{head.at<u32>(0)}); }
void describe_plaintext(const RecordHead& head, RecordInfo& info) {
  add(info, "word_bits", u64{head.at<u32>(0)});
  add(info, "limbs", u64{head.at<u32>(4)});
  add(info, plaintext_fields(head));
}
void describe_ciphertext(const RecordHead& head, RecordInfo& info) {
  const CiphertextFields f(head);
  add(info, "word_bits", u64{head.at<u32>(0)});
  add(info, "limbs", u64{f.limbs});
  add(info, "parts", u64{f.parts});
  add(info, "seeded", u64{f.seeded});
  add(info, "key_id", f.key_id);
  add(info, ciphertext_fields(head));
}

bool good_scale(double s) { return s >= 1 && s < kMaxScale; }
bool good_size(double v) { return v >= 0 && std::isfinite(v); }

// ---- what a writer refuses ------------------------------------------------------------------------

void check_scale(double scale) {
  if (!good_scale(scale))
    throw ScaleError("a scale of " + short_number(scale) + " cannot be saved, it must be in [1, 2^250): rescale");
}
void check_size(const char* field, double v) {
  if (!good_size(v))
    throw ValueError("a " + std::string(field) + " of " + short_number(v) +
                     " cannot be saved, it must be finite and not negative");
}

ParameterFields fields_of(const ckks::Parameters& params) {
  const auto& s = params.spec();
  return {s.name, s.log_n, s.q, s.p, s.limbs_per_digit, s.insecure, std::bit_cast<u64>(s.log_scale)};
}

u64 plaintext_body(const Basis& basis) { return kPlaintextHead + rlwe::packed_poly_bytes(basis); }

u64 checked_body(const Context& context, const ckks::Plaintext& p) {
  const Basis basis = rlwe::check_level(ckks::kPlaintextType, context.gadget(), p.poly);
  check_scale(p.scale);
  check_size("bound", p.bound);
  return plaintext_body(basis);
}

u64 checked_body(const Context& context, const ckks::Ciphertext& c) {
  const u64 stored = rlwe::stored_bytes(ckks::kCiphertextType, context.gadget(), c);
  check_scale(c.scale);
  check_size("variance", c.variance);
  check_size("bound", c.bound);
  return kCiphertextHead + stored;
}

// ---- what a reader refuses ------------------------------------------------------------------------

void read_scale(const RecordReader& r, double scale) {
  if (!good_scale(scale)) r.refuse("has a scale of " + short_number(scale) + ", it must be in [1, 2^250)");
}
void read_size(const RecordReader& r, const char* field, double v) {
  if (!good_size(v))
    r.refuse("has a " + std::string(field) + " of " + short_number(v) + ", it must be finite and not negative");
}

ckks::Plaintext read_plaintext(std::istream& in, const Context& context) {
  RecordReader r(in, ckks::kPlaintextType);
  r.check_parameters(context.params().hash());
  const RecordHead head = r.head();
  rlwe::read_word_bits(r, head);
  const Basis basis = context.basis(rlwe::read_limbs(r, head, context.gadget()) - 1);
  const Fields info = plaintext_fields(head);
  read_scale(r, info.scale);
  read_size(r, "bound", info.bound);
  r.check_length(plaintext_body(basis));
  ckks::Plaintext p;
  p.scale = info.scale;
  p.bound = info.bound;
  p.poly = r.poly(basis);
  r.finish();
  return p;
}

ckks::Ciphertext read_ciphertext(std::istream& in, const Context& context, unsigned threads) {
  RecordReader r(in, ckks::kCiphertextType);
  r.check_parameters(context.params().hash());
  const RecordHead head = r.head();
  const CiphertextFields fields(r, head, context.gadget());
  const Fields info = ciphertext_fields(head);
  read_scale(r, info.scale);
  read_size(r, "variance", info.variance);
  read_size(r, "bound", info.bound);
  r.check_length(kCiphertextHead + fields.bytes(context.gadget()));
  ckks::Ciphertext c;
  c.scale = info.scale;
  c.variance = info.variance;
  c.spread = static_cast<double>(context.params().slots());
  c.bound = info.bound;
  c.float_error = ckks::encoding_error(context.params().degree()) * c.bound;
  rlwe::read_parts(r, fields, context.gadget(), c);
  r.finish();
  rlwe::expand_seed(c, threads);
  return c;
}

ckks::Parameters read_parameters(std::istream& in) {
  RecordReader r(in, ckks::kParametersType);
  ParameterFields f = ParameterFields::read(r);
  return rlwe::made_parameters(r, [&] {
    return ckks::Parameters({std::move(f.name), f.log_n, std::move(f.q), std::move(f.p), f.limbs_per_digit,
                             std::bit_cast<double>(f.own), std::move(f.insecure)});
  });
}

}  // namespace

// ---- sizes ----------------------------------------------------------------------------------------

u64 saved_size(const ckks::Parameters& params) { return record_bytes(fields_of(params).body()); }
u64 saved_size(const Context& context, const ckks::Plaintext& p) { return record_bytes(checked_body(context, p)); }
u64 saved_size(const Context& context, const ckks::Ciphertext& c) { return record_bytes(checked_body(context, c)); }
u64 saved_size(const Context& context, const SecretKey& key) { return record_bytes(keys(context).body(key)); }
u64 saved_size(const Context& context, const ckks::PublicKey& key) { return record_bytes(keys(context).body(key)); }
u64 saved_size(const Context& context, const ckks::RelinKey& key) { return record_bytes(keys(context).body(key)); }
u64 saved_size(const Context& context, const ckks::GaloisKey& key) { return record_bytes(keys(context).body(key)); }

// ---- saving ---------------------------------------------------------------------------------------

void save(std::ostream& out, const ckks::Parameters& params) {
  fields_of(params).save(out, ckks::kParametersType, params.hash());
}

void save(std::ostream& out, const Context& context, const ckks::Plaintext& p) {
  RecordWriter w(out, ckks::kPlaintextType, context.params().hash(), checked_body(context, p));
  w.value(kWordBits);
  w.value(static_cast<u32>(p.poly.limbs()));
  w.value(p.scale);
  w.value(p.bound);
  w.poly(p.poly);
  w.finish();
}

void save(std::ostream& out, const Context& context, const ckks::Ciphertext& c) {
  RecordWriter w(out, ckks::kCiphertextType, context.params().hash(), checked_body(context, c));
  rlwe::write_fields(w, c);
  w.value(c.scale);
  w.value(c.variance);
  w.value(c.bound);
  rlwe::write_parts(w, c);
  w.finish();
}

void save(std::ostream& out, const Context& context, const SecretKey& key) { keys(context).save(out, key); }
void save(std::ostream& out, const Context& context, const ckks::PublicKey& key) { keys(context).save(out, key); }
void save(std::ostream& out, const Context& context, const ckks::RelinKey& key) { keys(context).save(out, key); }
void save(std::ostream& out, const Context& context, const ckks::GaloisKey& key) { keys(context).save(out, key); }

// ---- loading --------------------------------------------------------------------------------------

ckks::Parameters load_parameters(std::istream& in) { return alone(in, ckks::kParametersType, read_parameters(in)); }
ckks::Plaintext load_plaintext(std::istream& in, const Context& context) {
  return alone(in, ckks::kPlaintextType, read_plaintext(in, context));
}
ckks::Ciphertext load_ciphertext(std::istream& in, const Context& context, unsigned threads) {
  return alone(in, ckks::kCiphertextType, read_ciphertext(in, context, threads));
}
SecretKey load_secret_key(std::istream& in, const Context& context) {
  return alone(in, ckks::kSecretKeyType, keys(context).secret_key(in));
}
ckks::PublicKey load_public_key(std::istream& in, const Context& context, unsigned threads) {
  return alone(in, ckks::kPublicKeyType, keys(context).public_key(in, threads));
}
ckks::RelinKey load_relin_key(std::istream& in, const Context& context, unsigned threads) {
  return alone(in, ckks::kRelinKeyType, keys(context).relin_key(in, threads));
}
ckks::GaloisKey load_galois_key(std::istream& in, const Context& context, unsigned threads) {
  return alone(in, ckks::kGaloisKeyType, keys(context).galois_key(in, threads));
}

std::optional<ckks::Parameters> next_parameters(std::istream& in) {
  if (at_end(in)) return std::nullopt;
  return read_parameters(in);
}
std::optional<ckks::Plaintext> next_plaintext(std::istream& in, const Context& context) {
  if (at_end(in)) return std::nullopt;
  return read_plaintext(in, context);
}
std::optional<ckks::Ciphertext> next_ciphertext(std::istream& in, const Context& context, unsigned threads) {
  if (at_end(in)) return std::nullopt;
  return read_ciphertext(in, context, threads);
}
std::optional<SecretKey> next_secret_key(std::istream& in, const Context& context) {
  if (at_end(in)) return std::nullopt;
  return keys(context).secret_key(in);
}
std::optional<ckks::PublicKey> next_public_key(std::istream& in, const Context& context, unsigned threads) {
  if (at_end(in)) return std::nullopt;
  return keys(context).public_key(in, threads);
}
std::optional<ckks::RelinKey> next_relin_key(std::istream& in, const Context& context, unsigned threads) {
  if (at_end(in)) return std::nullopt;
  return keys(context).relin_key(in, threads);
}
std::optional<ckks::GaloisKey> next_galois_key(std::istream& in, const Context& context, unsigned threads) {
  if (at_end(in)) return std::nullopt;
  return keys(context).galois_key(in, threads);
}

std::vector<GaloisKeyEntry> index_galois_keys(std::istream& in, const Context& context) {
  const auto [position, end] = extent(in);
  std::vector<GaloisKeyEntry> entries;
  try {
    for (u64 at = position; at < end; at += entries.back().bytes) {
      seek(in, at);
      RecordReader r(in, ckks::kGaloisKeyType);
      r.check_parameters(context.params().hash());
      const auto info = keys(context).read_switching(r, r.head());
      const u64 bytes = record_bytes(r.header().body_bytes);
      if (bytes > end - at)
        r.refuse("ends after " + std::to_string(end - at) + " of " + std::to_string(bytes) + " bytes");
      entries.push_back({info.element, info.limbs, at, bytes});
    }
  } catch (const Error&) {
    seek(in, position);
    throw;
  }
  seek(in, position);
  return entries;
}

}  // namespace ringforge::io

std::vector<ringforge::io::RecordType> ringforge::ckks::record_types() {
  std::vector<io::RecordType> all{{.code = kParametersType,
                                   .name = "CKKS parameter set",
                                   .head_bytes = rlwe::kParametersHead,
                                   .max_body = 4096,
                                   .describe = io::describe_parameters},
                                  {.code = kPlaintextType,
                                   .name = "CKKS plaintext",
                                   .head_bytes = io::kPlaintextHead,
                                   .describe = io::describe_plaintext},
                                  {.code = kCiphertextType,
                                   .name = "CKKS ciphertext",
                                   .head_bytes = io::kCiphertextHead,
                                   .describe = io::describe_ciphertext}};
  for (auto&& type : rlwe::key_record_types("CKKS", io::kKeyTypes)) all.push_back(type);
  return all;
}
