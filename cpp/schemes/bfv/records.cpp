// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The records of BFV. Keys, polynomials and the frame of parameter sets are the RLWE layer's; here are plaintexts and
// noise.
#include <bit>
#include <cmath>
#include <string>

#include "ringforge/bfv/io.hpp"
#include "ringforge/packing.hpp"
#include "ringforge/rlwe/records.hpp"

namespace ringforge::io {
namespace {

using bfv::Context;
using bfv::Noise;
using rlwe::CiphertextFields;
using rlwe::KeyRecords;
using rlwe::ParameterFields;
using rlwe::short_number;

/// Bytes of the fixed fields.
constexpr std::size_t kPlaintextHead = 16, kCiphertextHead = 40;
constexpr rlwe::KeyTypes kKeyTypes{bfv::kSecretKeyType, bfv::kPublicKeyType, bfv::kRelinKeyType, bfv::kGaloisKeyType};
/// More than any computation reaches: operations on what was read stay far from overflow.
constexpr double kMaxLogDeviation = 0x1p20;
constexpr u32 kMaxDegree = u32{1} << 30;

KeyRecords keys(const Context& context) { return {context.gadget(), context.params().hash(), kKeyTypes}; }
unsigned t_bits(const Context& context) { return static_cast<unsigned>(std::bit_width(context.t() - 1)); }

Noise noise_of(const RecordHead& head) { return {head.at<double>(24), head.at<u32>(32), head.at<u32>(36)}; }
bool good(const Noise& n) {
  return std::isfinite(n.log_deviation) && std::fabs(n.log_deviation) <= kMaxLogDeviation && n.degree <= kMaxDegree &&
         n.reuse <= kMaxDegree;
}
std::string shown(const Noise& n) {
  return "noise of 2^" + short_number(n.log_deviation) + ", degree " + std::to_string(n.degree) + " and reuse " +
         std::to_string(n.reuse);
}

void add(RecordInfo& info, const char* name, auto value) {
  if (value != 0) info.fields.emplace_back(name, value);
}
void describe_parameters(const RecordHead& head, RecordInfo& info) {
  add(info, "word_bits", u64{head.at<u32>(0)});
  add(info, "t", head.at<u64>(32));
}
void describe_plaintext(const RecordHead& head, RecordInfo& info) { add(info, "t", head.at<u64>(8)); }
void describe_ciphertext(const RecordHead& head, RecordInfo& info) {
  const CiphertextFields f(head);
  const Noise n = noise_of(head);
  add(info, "word_bits", u64{head.at<u32>(0)});
  add(info, "limbs", u64{f.limbs});
  add(info, "parts", u64{f.parts});
  add(info, "seeded", u64{f.seeded});
  add(info, "key_id", f.key_id);
  add(info, "log_deviation", n.log_deviation);
  add(info, "degree", u64{n.degree});
  add(info, "reuse", u64{n.reuse});
}

ParameterFields fields_of(const bfv::Parameters& params) {
  const auto& s = params.spec();
  return {s.name, s.log_n, s.q, s.p, s.limbs_per_digit, s.insecure, s.t};
}

u64 plaintext_body(const Context& context) {
  return kPlaintextHead + packed_bytes(context.params().degree(), t_bits(context));
}

u64 checked_body(const Context& context, const bfv::Plaintext& p) {
  context.check(p);
  return plaintext_body(context);
}

u64 checked_body(const Context& context, const bfv::Ciphertext& c) {
  const u64 stored = rlwe::stored_bytes(bfv::kCiphertextType, context.gadget(), c);
  context.check(c);
  if (!good(c.noise())) throw ValueError("a ciphertext with " + shown(c.noise()) + " cannot be saved");
  return kCiphertextHead + stored;
}

bfv::Plaintext read_plaintext(std::istream& in, const Context& context) {
  RecordReader r(in, bfv::kPlaintextType);
  r.check_parameters(context.params().hash());
  const RecordHead head = r.head();
  rlwe::read_word_bits(r, head);
  rlwe::read_zero(r, "reserved field", head.at<u32>(4));
  if (head.at<u64>(8) != context.t())
    r.refuse("is modulo " + std::to_string(head.at<u64>(8)) +
             ", its parameters have t = " + std::to_string(context.t()));
  r.check_length(plaintext_body(context));
  const std::size_t n = context.params().degree();
  std::vector<std::uint8_t> packed(packed_bytes(n, t_bits(context)));
  r.bytes(packed.data(), packed.size());
  bfv::Plaintext p(context.t(), n);
  unpack_residues(p.coefficients.data(), packed.data(), n, t_bits(context), context.t());
  wipe(packed.data(), packed.size());
  r.finish();
  return p;
}

bfv::Ciphertext read_ciphertext(std::istream& in, const Context& context, unsigned threads) {
  RecordReader r(in, bfv::kCiphertextType);
  r.check_parameters(context.params().hash());
  const RecordHead head = r.head();
  const CiphertextFields fields(r, head, context.gadget());
  const Noise noise = noise_of(head);
  if (!good(noise)) r.refuse("has " + shown(noise) + ", which no ciphertext has");
  r.check_length(kCiphertextHead + fields.bytes(context.gadget()));
  bfv::Ciphertext c(context.t(), noise, {});
  rlwe::read_parts(r, fields, context.gadget(), c);
  r.finish();
  rlwe::expand_seed(c, threads);
  return c;
}

bfv::Parameters read_parameters(std::istream& in) {
  RecordReader r(in, bfv::kParametersType);
  ParameterFields f = ParameterFields::read(r);
  return rlwe::made_parameters(r, [&] {
    return bfv::Parameters(
        {std::move(f.name), f.log_n, f.own, std::move(f.q), std::move(f.p), f.limbs_per_digit, std::move(f.insecure)});
  });
}

}  // namespace

// ---- sizes ----------------------------------------------------------------------------------------

u64 saved_size(const bfv::Parameters& params) { return record_bytes(fields_of(params).body()); }
u64 saved_size(const Context& context, const bfv::Plaintext& p) { return record_bytes(checked_body(context, p)); }
u64 saved_size(const Context& context, const bfv::Ciphertext& c) { return record_bytes(checked_body(context, c)); }
u64 saved_size(const Context& context, const bfv::SecretKey& key) { return record_bytes(keys(context).body(key)); }
u64 saved_size(const Context& context, const bfv::PublicKey& key) { return record_bytes(keys(context).body(key)); }
u64 saved_size(const Context& context, const bfv::RelinKey& key) { return record_bytes(keys(context).body(key)); }
u64 saved_size(const Context& context, const bfv::GaloisKey& key) { return record_bytes(keys(context).body(key)); }

// ---- saving ---------------------------------------------------------------------------------------

void save(std::ostream& out, const bfv::Parameters& params) {
  fields_of(params).save(out, bfv::kParametersType, params.hash());
}

void save(std::ostream& out, const Context& context, const bfv::Plaintext& p) {
  RecordWriter w(out, bfv::kPlaintextType, context.params().hash(), checked_body(context, p));
  w.value(kWordBits);
  w.value(u32{0});
  w.value(context.t());
  std::vector<std::uint8_t> packed(packed_bytes(p.coefficients.size(), t_bits(context)));
  pack_bits(packed.data(), p.coefficients.data(), p.coefficients.size(), t_bits(context));
  w.bytes(packed.data(), packed.size());
  wipe(packed.data(), packed.size());
  w.finish();
}

void save(std::ostream& out, const Context& context, const bfv::Ciphertext& c) {
  RecordWriter w(out, bfv::kCiphertextType, context.params().hash(), checked_body(context, c));
  rlwe::write_fields(w, c);
  w.value(c.log_deviation);
  w.value(u32{c.degree});
  w.value(u32{c.reuse});
  rlwe::write_parts(w, c);
  w.finish();
}

void save(std::ostream& out, const Context& context, const bfv::SecretKey& key) { keys(context).save(out, key); }
void save(std::ostream& out, const Context& context, const bfv::PublicKey& key) { keys(context).save(out, key); }
void save(std::ostream& out, const Context& context, const bfv::RelinKey& key) { keys(context).save(out, key); }
void save(std::ostream& out, const Context& context, const bfv::GaloisKey& key) { keys(context).save(out, key); }

// ---- loading --------------------------------------------------------------------------------------

bfv::Parameters load_bfv_parameters(std::istream& in) { return alone(in, bfv::kParametersType, read_parameters(in)); }
bfv::Plaintext load_plaintext(std::istream& in, const Context& context) {
  return alone(in, bfv::kPlaintextType, read_plaintext(in, context));
}
bfv::Ciphertext load_ciphertext(std::istream& in, const Context& context, unsigned threads) {
  return alone(in, bfv::kCiphertextType, read_ciphertext(in, context, threads));
}
bfv::SecretKey load_secret_key(std::istream& in, const Context& context) {
  return alone(in, bfv::kSecretKeyType, keys(context).secret_key(in));
}
bfv::PublicKey load_public_key(std::istream& in, const Context& context, unsigned threads) {
  return alone(in, bfv::kPublicKeyType, keys(context).public_key(in, threads));
}
bfv::RelinKey load_relin_key(std::istream& in, const Context& context, unsigned threads) {
  return alone(in, bfv::kRelinKeyType, keys(context).relin_key(in, threads));
}
bfv::GaloisKey load_galois_key(std::istream& in, const Context& context, unsigned threads) {
  return alone(in, bfv::kGaloisKeyType, keys(context).galois_key(in, threads));
}

std::optional<bfv::Parameters> next_bfv_parameters(std::istream& in) {
  return unless_at_end(in, [&] { return read_parameters(in); });
}
std::optional<bfv::Plaintext> next_plaintext(std::istream& in, const Context& context) {
  return unless_at_end(in, [&] { return read_plaintext(in, context); });
}
std::optional<bfv::Ciphertext> next_ciphertext(std::istream& in, const Context& context, unsigned threads) {
  return unless_at_end(in, [&] { return read_ciphertext(in, context, threads); });
}
std::optional<bfv::SecretKey> next_secret_key(std::istream& in, const Context& context) {
  return unless_at_end(in, [&] { return keys(context).secret_key(in); });
}
std::optional<bfv::PublicKey> next_public_key(std::istream& in, const Context& context, unsigned threads) {
  return unless_at_end(in, [&] { return keys(context).public_key(in, threads); });
}
std::optional<bfv::RelinKey> next_relin_key(std::istream& in, const Context& context, unsigned threads) {
  return unless_at_end(in, [&] { return keys(context).relin_key(in, threads); });
}
std::optional<bfv::GaloisKey> next_galois_key(std::istream& in, const Context& context, unsigned threads) {
  return unless_at_end(in, [&] { return keys(context).galois_key(in, threads); });
}

}  // namespace ringforge::io

std::vector<ringforge::io::RecordType> ringforge::bfv::record_types() {
  std::vector<io::RecordType> all{{.code = kParametersType,
                                   .name = "BFV parameter set",
                                   .head_bytes = rlwe::kParametersHead,
                                   .max_body = 4096,
                                   .describe = io::describe_parameters},
                                  {.code = kPlaintextType,
                                   .name = "BFV plaintext",
                                   .head_bytes = io::kPlaintextHead,
                                   .describe = io::describe_plaintext},
                                  {.code = kCiphertextType,
                                   .name = "BFV ciphertext",
                                   .head_bytes = io::kCiphertextHead,
                                   .describe = io::describe_ciphertext}};
  for (auto&& type : rlwe::key_record_types("BFV", io::kKeyTypes)) all.push_back(type);
  return all;
}
