// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The records of BGV. Keys, polynomials and the frame of parameter sets are the RLWE layer's; here is noise.
#include <cmath>
#include <string>

#include "ringforge/bgv/io.hpp"
#include "ringforge/rlwe/records.hpp"

namespace ringforge::io {
namespace {

using bgv::Context;
using rlwe::CiphertextFields;
using rlwe::KeyRecords;
using rlwe::ParameterFields;

/// Bytes of the fixed fields.
constexpr std::size_t kCiphertextHead = 32;
constexpr rlwe::KeyTypes kKeyTypes{bgv::kSecretKeyType, bgv::kPublicKeyType, bgv::kRelinKeyType, bgv::kGaloisKeyType};
/// More than any computation reaches: operations on what was read stay far from overflow.
constexpr double kMaxLogBound = 0x1p20;

KeyRecords keys(const Context& context) { return {context.gadget(), context.params().hash(), kKeyTypes}; }

// Noise is an integer at least once, or nothing.
bool good(double log_bound) { return log_bound >= 0 && log_bound <= kMaxLogBound; }

void describe_parameters(const RecordHead& head, RecordInfo& info) {
  info.fields.emplace_back("word_bits", u64{head.at<u32>(0)});
  info.fields.emplace_back("m", head.at<u64>(32));
}
void describe_ciphertext(const RecordHead& head, RecordInfo& info) {
  const CiphertextFields f(head);
  info.fields.emplace_back("word_bits", u64{head.at<u32>(0)});
  info.fields.emplace_back("limbs", u64{f.limbs});
  info.fields.emplace_back("parts", u64{f.parts});
  if (f.seeded) info.fields.emplace_back("seeded", u64{1});
  info.fields.emplace_back("key_id", f.key_id);
  info.fields.emplace_back("log_bound", head.at<double>(24));
}

ParameterFields fields_of(const bgv::Parameters& params) {
  const auto& s = params.spec();
  return {s.name, params.log_n(), s.q, s.p, s.limbs_per_digit, s.insecure, s.m};
}

u64 checked_body(const Context& context, const bgv::Ciphertext& c) {
  const u64 stored = rlwe::stored_bytes(bgv::kCiphertextType, context.gadget(), c);
  context.check(c);
  if (!good(c.log_bound))
    throw ValueError("a ciphertext with noise of 2^" + rlwe::short_number(c.log_bound) + " cannot be saved");
  return kCiphertextHead + stored;
}

bgv::Ciphertext read_ciphertext(std::istream& in, const Context& context, unsigned threads) {
  RecordReader r(in, bgv::kCiphertextType);
  r.check_parameters(context.params().hash());
  const RecordHead head = r.head();
  const CiphertextFields fields(r, head, context.gadget());
  const double log_bound = head.at<double>(24);
  if (!good(log_bound)) r.refuse("has noise of 2^" + rlwe::short_number(log_bound) + ", which no ciphertext has");
  r.check_length(kCiphertextHead + fields.bytes(context.gadget()));
  bgv::Ciphertext c({log_bound}, {});
  rlwe::read_parts(r, fields, context.gadget(), c);
  r.finish();
  rlwe::expand_seed(c, threads);
  return c;
}

bgv::Parameters read_parameters(std::istream& in) {
  RecordReader r(in, bgv::kParametersType);
  ParameterFields f = ParameterFields::read(r);
  const unsigned log_n = f.log_n;
  auto params = rlwe::made_parameters(r, [&] {
    return bgv::Parameters(
        {std::move(f.name), f.own, std::move(f.q), std::move(f.p), f.limbs_per_digit, std::move(f.insecure)});
  });
  if (params.log_n() != log_n)
    r.refuse("has the degree 2^" + std::to_string(log_n) + ", its index " + std::to_string(params.m()) + " gives 2^" +
             std::to_string(params.log_n()));
  return params;
}

}  // namespace

// ---- sizes ----------------------------------------------------------------------------------------

u64 saved_size(const bgv::Parameters& params) { return record_bytes(fields_of(params).body()); }
u64 saved_size(const Context& context, const bgv::Ciphertext& c) { return record_bytes(checked_body(context, c)); }
u64 saved_size(const Context& context, const bgv::SecretKey& key) { return record_bytes(keys(context).body(key)); }
u64 saved_size(const Context& context, const bgv::PublicKey& key) { return record_bytes(keys(context).body(key)); }
u64 saved_size(const Context& context, const bgv::RelinKey& key) { return record_bytes(keys(context).body(key)); }
u64 saved_size(const Context& context, const bgv::GaloisKey& key) { return record_bytes(keys(context).body(key)); }

// ---- saving ---------------------------------------------------------------------------------------

void save(std::ostream& out, const bgv::Parameters& params) {
  fields_of(params).save(out, bgv::kParametersType, params.hash());
}

void save(std::ostream& out, const Context& context, const bgv::Ciphertext& c) {
  RecordWriter w(out, bgv::kCiphertextType, context.params().hash(), checked_body(context, c));
  rlwe::write_fields(w, c);
  w.value(c.log_bound);
  rlwe::write_parts(w, c);
  w.finish();
}

void save(std::ostream& out, const Context& context, const bgv::SecretKey& key) { keys(context).save(out, key); }
void save(std::ostream& out, const Context& context, const bgv::PublicKey& key) { keys(context).save(out, key); }
void save(std::ostream& out, const Context& context, const bgv::RelinKey& key) { keys(context).save(out, key); }
void save(std::ostream& out, const Context& context, const bgv::GaloisKey& key) { keys(context).save(out, key); }

// ---- loading --------------------------------------------------------------------------------------

bgv::Parameters load_bgv_parameters(std::istream& in) { return alone(in, bgv::kParametersType, read_parameters(in)); }
bgv::Ciphertext load_ciphertext(std::istream& in, const Context& context, unsigned threads) {
  return alone(in, bgv::kCiphertextType, read_ciphertext(in, context, threads));
}
bgv::SecretKey load_secret_key(std::istream& in, const Context& context) {
  return alone(in, bgv::kSecretKeyType, keys(context).secret_key(in));
}
bgv::PublicKey load_public_key(std::istream& in, const Context& context, unsigned threads) {
  return alone(in, bgv::kPublicKeyType, keys(context).public_key(in, threads));
}
bgv::RelinKey load_relin_key(std::istream& in, const Context& context, unsigned threads) {
  return alone(in, bgv::kRelinKeyType, keys(context).relin_key(in, threads));
}
bgv::GaloisKey load_galois_key(std::istream& in, const Context& context, unsigned threads) {
  return alone(in, bgv::kGaloisKeyType, keys(context).galois_key(in, threads));
}

std::optional<bgv::Parameters> next_bgv_parameters(std::istream& in) {
  return unless_at_end(in, [&] { return read_parameters(in); });
}
std::optional<bgv::Ciphertext> next_ciphertext(std::istream& in, const Context& context, unsigned threads) {
  return unless_at_end(in, [&] { return read_ciphertext(in, context, threads); });
}
std::optional<bgv::SecretKey> next_secret_key(std::istream& in, const Context& context) {
  return unless_at_end(in, [&] { return keys(context).secret_key(in); });
}
std::optional<bgv::PublicKey> next_public_key(std::istream& in, const Context& context, unsigned threads) {
  return unless_at_end(in, [&] { return keys(context).public_key(in, threads); });
}
std::optional<bgv::RelinKey> next_relin_key(std::istream& in, const Context& context, unsigned threads) {
  return unless_at_end(in, [&] { return keys(context).relin_key(in, threads); });
}
std::optional<bgv::GaloisKey> next_galois_key(std::istream& in, const Context& context, unsigned threads) {
  return unless_at_end(in, [&] { return keys(context).galois_key(in, threads); });
}

}  // namespace ringforge::io

std::vector<ringforge::io::RecordType> ringforge::bgv::record_types() {
  std::vector<io::RecordType> all{{.code = kParametersType,
                                   .name = "BGV parameter set",
                                   .head_bytes = rlwe::kParametersHead,
                                   .max_body = 4096,
                                   .describe = io::describe_parameters},
                                  {.code = kCiphertextType,
                                   .name = "BGV ciphertext",
                                   .head_bytes = io::kCiphertextHead,
                                   .describe = io::describe_ciphertext}};
  for (auto&& type : rlwe::key_record_types("BGV", io::kKeyTypes)) all.push_back(type);
  return all;
}
