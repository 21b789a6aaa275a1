// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The records of CKKS: their types, and their bodies. For each type there is one function that checks a record's counts
// against the parameters and returns the exact length they imply; writers and readers share it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "ringforge/ckks/io.hpp"
#include "ringforge/packing.hpp"

namespace ringforge::io {
namespace {

using ckks::Context;
using ckks::SecretKey;
using rlwe::Gadget;
using rlwe::SwitchingKey;

constexpr u32 kSeeded = 1;
constexpr u32 kSecretBits = 2;
constexpr std::size_t kSeedBytes = sizeof(Seed);
constexpr std::size_t kMaxQ = 64, kMaxP = 16, kMaxName = 64, kMaxReason = 256;

/// Bytes of the fixed fields.
constexpr std::size_t kParametersHead = 40, kPlaintextHead = 24, kCiphertextHead = 48, kSecretKeyHead = 16,
                      kPublicKeyHead = 48, kSwitchingHead = 64;

/// What the fixed fields say, as far as a type has them.
struct Fields {
  u32 word_bits = 0;
  std::size_t limbs = 0, parts = 0, digits = 0;
  bool seeded = false;
  u64 key_id = 0, element = 0;
  double scale = 0, variance = 0, bound = 0;
};

Fields fields_of(TypeCode type, const RecordHead& head) {
  Fields f;
  f.word_bits = head.at<u32>(0);
  switch (type) {
    case ckks::kPlaintextType:
      f.limbs = head.at<u32>(4);
      f.scale = head.at<double>(8);
      f.bound = head.at<double>(16);
      break;
    case ckks::kCiphertextType:
      f.limbs = head.at<u32>(4);
      f.parts = head.at<u32>(8);
      f.seeded = head.at<u32>(12) == kSeeded;
      f.key_id = head.at<u64>(16);
      f.scale = head.at<double>(24);
      f.variance = head.at<double>(32);
      f.bound = head.at<double>(40);
      break;
    case ckks::kSecretKeyType:
      f.key_id = head.at<u64>(8);
      break;
    case ckks::kPublicKeyType:
      f.limbs = head.at<u32>(4);
      f.key_id = head.at<u64>(8);
      f.seeded = true;
      break;
    case ckks::kRelinKeyType:
    case ckks::kGaloisKeyType:
      f.limbs = head.at<u32>(4);
      f.digits = head.at<u32>(8);
      f.key_id = head.at<u64>(16);
      f.element = head.at<u64>(24);
      f.seeded = true;
      break;
  }
  return f;
}

void describe(const RecordHead& head, RecordInfo& info) {
  const Fields f = fields_of(info.type, head);
  const auto add = [&](const char* name, auto value) {
    if (value != 0) info.fields.emplace_back(name, value);
  };
  add("word_bits", u64{f.word_bits});
  add("limbs", u64{f.limbs});
  add("parts", u64{f.parts});
  add("digits", u64{f.digits});
  add("seeded", u64{f.seeded});
  add("key_id", f.key_id);
  add("element", f.element);
  add("scale", f.scale);
  add("variance", f.variance);
  add("bound", f.bound);
}

/// Packed size of one polynomial.
u64 poly_bytes(const Basis& basis) {
  u64 total = 0;
  for (std::size_t i = 0; i < basis.size(); ++i) total += packed_bytes(basis.ring().degree(), basis[i].mod().bits);
  return total;
}

/// A number for a message, short whatever its size.
std::string num(double v) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%g", v);
  return digits;
}

bool good_scale(double s) { return s >= 1 && s < kMaxScale; }
bool good_size(double v) { return v >= 0 && std::isfinite(v); }

// ---- what a writer refuses ------------------------------------------------------------------------

void check_scale(double scale) {
  if (!good_scale(scale))
    throw ScaleError("a scale of " + num(scale) + " cannot be saved, it must be in [1, 2^250): rescale");
}
void check_size(const char* field, double v) {
  if (!good_size(v))
    throw ValueError("a " + std::string(field) + " of " + num(v) +
                     " cannot be saved, it must be finite and not negative");
}
void check_basis(TypeCode type, const Poly<Eval>& p, const Basis& expected) {
  if (!(p.basis() == expected))
    throw MismatchError("the " + name(type) + " does not belong to this context: its polynomial has " +
                        std::to_string(p.limbs()) + " limbs of degree " + std::to_string(p.degree()) +
                        ", which are not the context's; use the context it was made with");
}
/// Q's primes for a polynomial of so many limbs.
Basis level_basis(TypeCode type, const Context& context, std::size_t limbs) {
  if (limbs < 1 || limbs > context.gadget().q().size())
    throw MismatchError("the " + name(type) + " has " + std::to_string(limbs) + " limbs, this context 1 ... " +
                        std::to_string(context.gadget().q().size()) + ": use the context it was made with");
  return context.basis(limbs - 1);
}

// ---- parameters -----------------------------------------------------------------------------------

/// Text that is safe to print: UTF-8 without control characters other than tab and newline.
bool good_text(const std::string& s) {
  for (std::size_t i = 0; i < s.size();) {
    const auto c = static_cast<unsigned char>(s[i]);
    if ((c >= 0x80 && c < 0xc2) || c >= 0xf5) return false;  // a stray continuation, overlong, or beyond Unicode
    const std::size_t extra = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    if (s.size() - i <= extra) return false;
    u32 code = extra == 0 ? c : c & (0x3fU >> extra);
    for (std::size_t k = 1; k <= extra; ++k) {
      const auto next = static_cast<unsigned char>(s[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3f);
    }
    const bool control = (code < 0x20 && code != '\t' && code != '\n') || (code >= 0x7f && code < 0xa0);
    const bool overlong = (extra == 2 && code < 0x800) || (extra == 3 && code < 0x10000);
    if (control || overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    i += 1 + extra;
  }
  return true;
}

u64 parameters_body(u64 q, u64 p, u64 name_bytes, u64 reason_bytes) {
  return kParametersHead + (q + p) * sizeof(u64) + name_bytes + reason_bytes;
}
u64 body_of(const ckks::Parameters& params) {
  const auto& s = params.spec();
  return parameters_body(s.q.size(), s.p.size(), s.name.size(), s.insecure.size());
}

// ---- lengths --------------------------------------------------------------------------------------

u64 plaintext_body(const Basis& basis) { return kPlaintextHead + poly_bytes(basis); }
u64 ciphertext_body(const Basis& basis, std::size_t parts, bool seeded) {
  const std::size_t stored = seeded ? parts - 1 : parts;
  return kCiphertextHead + (seeded ? kSeedBytes : 0) + stored * poly_bytes(basis);
}
u64 secret_body(const Context& context) { return kSecretKeyHead + context.ring().degree() * kSecretBits / 8; }
u64 public_body(const Context& context) { return kPublicKeyHead + poly_bytes(context.full_basis()); }
u64 switching_body(const Gadget& gadget, std::size_t limbs) {
  return kSwitchingHead + gadget.digits(limbs) * poly_bytes(gadget.extended(limbs));
}

u64 checked_body(const Context& context, const ckks::Plaintext& p) {
  check_basis(ckks::kPlaintextType, p.poly, level_basis(ckks::kPlaintextType, context, p.poly.limbs()));
  check_scale(p.scale);
  check_size("bound", p.bound);
  return plaintext_body(p.poly.basis());
}

/// Whether parts[1] begins like the seed's expansion: enough to notice a seed that was left behind when
/// the part was replaced.
bool seed_fits(const Poly<Eval>& part, const Seed& seed) {
  const u64 q = part.basis()[0].value(), mask = (u64{1} << part.basis()[0].mod().bits) - 1;
  Stream s(seed, StreamObject::ciphertext);
  for (std::size_t k = 0; k < 16;) {
    const u64 x = s.next() & mask;
    if (x >= q) continue;
    if (part.limb(0)[k++] != x) return false;
  }
  return true;
}

u64 checked_body(const Context& context, const ckks::Ciphertext& c) {
  constexpr auto type = ckks::kCiphertextType;
  if (c.parts.size() < 2 || c.parts.size() > 3 || (c.seed && c.parts.size() != 2))
    throw ShapeError("a ciphertext of " + std::to_string(c.parts.size()) + " parts cannot be saved, it has 2" +
                     (c.seed ? " with a seed" : " or 3"));
  const Basis basis = level_basis(type, context, c.parts[0].limbs());
  for (const auto& part : c.parts) check_basis(type, part, basis);
  if (c.seed && !seed_fits(c.parts[1], *c.seed))
    throw MismatchError(
        "the ciphertext's second part is not the expansion of its seed: "
        "reset the seed when parts change");
  check_scale(c.scale);
  check_size("variance", c.variance);
  check_size("bound", c.bound);
  return ciphertext_body(basis, c.parts.size(), c.seed.has_value());
}

u64 checked_body(const Context& context, const SecretKey& key) {
  check_basis(ckks::kSecretKeyType, key.eval(), context.full_basis());
  return secret_body(context);
}

u64 checked_body(const Context& context, const ckks::PublicKey& key) {
  check_basis(ckks::kPublicKeyType, key.b, context.full_basis());
  return public_body(context);
}

u64 checked_body(TypeCode type, const Context& context, const SwitchingKey& key) {
  const Gadget& gadget = context.gadget();
  (void)level_basis(type, context, key.limbs);
  key.check(gadget, key.limbs);
  return switching_body(gadget, key.limbs);
}

u64 checked_body(const Context& context, const ckks::RelinKey& key) {
  return checked_body(ckks::kRelinKeyType, context, key.key());
}

bool good_element(const Context& context, u64 element) {
  return context.ring().is_galois_element(element) && element != 1;
}

u64 checked_body(const Context& context, const ckks::GaloisKey& key) {
  if (!good_element(context, key.element))
    throw MismatchError("the Galois key's element " + std::to_string(key.element) +
                        " is none of this context's ring: it must be odd, above 1 and below " +
                        std::to_string(context.ring().index()));
  if (!key.key) throw ParameterError("a Galois key without polynomials cannot be saved: make it with galois_key");
  return checked_body(ckks::kGaloisKeyType, context, *key.key);
}

void write_switching(std::ostream& out, const Context& context, TypeCode type, u64 element, const SwitchingKey& key,
                     u64 body) {
  RecordWriter w(out, type, context.params().hash(), body);
  w.value(kWordBits);
  w.value(static_cast<u32>(key.limbs));
  w.value(static_cast<u32>(key.b.size()));
  w.value(u32{0});
  w.value(key.key_id);
  w.value(element);
  w.bytes(key.seed.data(), key.seed.size());
  for (const auto& b : key.b) w.poly(b);
  w.finish();
}

// ---- what a reader refuses ------------------------------------------------------------------------

/// Number of limbs of a record, checked.
std::size_t read_limbs(const RecordReader& r, const Fields& info, std::size_t most) {
  if (info.limbs < 1 || info.limbs > most)
    r.refuse("has " + std::to_string(info.limbs) + " limbs, possible are 1 ... " + std::to_string(most));
  return info.limbs;
}
void read_scale(const RecordReader& r, double scale) {
  if (!good_scale(scale)) r.refuse("has a scale of " + num(scale) + ", it must be in [1, 2^250)");
}
void read_size(const RecordReader& r, const char* field, double v) {
  if (!good_size(v)) r.refuse("has a " + std::string(field) + " of " + num(v) + ", it must be finite and not negative");
}
void read_zero(const RecordReader& r, const char* field, u64 v) {
  if (v != 0) r.refuse("has " + std::to_string(v) + " in its " + field + ", it must be 0");
}

/// Reads the fixed fields.
Fields read_head(RecordReader& r, RecordHead& raw) {
  raw = r.head();
  const Fields f = fields_of(r.header().type, raw);
  if (f.word_bits != kWordBits)
    throw FormatError(r.what() + " has residues of " + std::to_string(f.word_bits) + "-bit words, this library has " +
                      std::to_string(kWordBits) + "-bit words: use the library that wrote it");
  return f;
}

/// Checks the fixed fields of an evaluation key and the length they imply.
void check_switching(RecordReader& r, const Context& context, const Fields& info, const RecordHead& raw) {
  const Gadget& gadget = context.gadget();
  const std::size_t limbs = read_limbs(r, info, gadget.q().size());
  if (info.digits != gadget.digits(limbs))
    r.refuse("has " + std::to_string(info.digits) + " digits, keys of " + std::to_string(limbs) + " limbs have " +
             std::to_string(gadget.digits(limbs)));
  read_zero(r, "reserved field", raw.at<u32>(12));
  if (r.header().type == ckks::kRelinKeyType) {
    read_zero(r, "reserved element", info.element);
  } else if (!good_element(context, info.element)) {
    r.refuse("has the element " + std::to_string(info.element) + ", it must be odd, above 1 and below " +
             std::to_string(context.ring().index()));
  }
  r.check_length(switching_body(gadget, limbs));
}

SwitchingKey read_switching(RecordReader& r, const Context& context, unsigned threads, u64* element) {
  r.check_parameters(context.params().hash());
  RecordHead raw;
  const Fields info = read_head(r, raw);
  check_switching(r, context, info, raw);
  const Gadget& gadget = context.gadget();
  SwitchingKey key;
  key.key_id = info.key_id;
  key.limbs = info.limbs;
  key.spec = gadget.spec();
  key.seed = raw.at<Seed>(32);
  key.b.reserve(info.digits);
  // A digit's memory is taken when its bytes are due: a short stream cannot claim a whole key.
  for (std::size_t d = 0; d < info.digits; ++d) key.b.push_back(r.poly(gadget.extended(info.limbs)));
  r.finish();
  key.a = SwitchingKey::expand(key.seed, gadget, key.limbs, threads);
  if (element != nullptr) *element = info.element;
  return key;
}

ckks::Plaintext read_plaintext(std::istream& in, const Context& context) {
  RecordReader r(in, ckks::kPlaintextType);
  r.check_parameters(context.params().hash());
  RecordHead raw;
  const Fields info = read_head(r, raw);
  const Basis basis = context.basis(read_limbs(r, info, context.gadget().q().size()) - 1);
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
  RecordHead raw;
  const Fields info = read_head(r, raw);
  const Basis basis = context.basis(read_limbs(r, info, context.gadget().q().size()) - 1);
  if (const auto flags = raw.at<u32>(12); flags > kSeeded)
    r.refuse("has the flags " + std::to_string(flags) + ", only 0 and 1 have a meaning");
  if (info.parts < 2 || info.parts > 3 || (info.seeded && info.parts != 2))
    r.refuse("has " + std::to_string(info.parts) + " parts, it must have 2" + (info.seeded ? " with a seed" : " or 3"));
  read_scale(r, info.scale);
  read_size(r, "variance", info.variance);
  read_size(r, "bound", info.bound);
  r.check_length(ciphertext_body(basis, info.parts, info.seeded));
  ckks::Ciphertext c;
  c.scale = info.scale;
  c.key_id = info.key_id;
  c.variance = info.variance;
  c.spread = static_cast<double>(context.params().slots());
  c.bound = info.bound;
  c.float_error = ckks::encoding_error(context.params().degree()) * c.bound;
  c.parts.reserve(info.parts);
  if (info.seeded) r.bytes(c.seed.emplace().data(), kSeedBytes);
  for (std::size_t i = 0; i < (info.seeded ? 1 : info.parts); ++i) c.parts.push_back(r.poly(basis));
  r.finish();
  if (c.seed) c.parts.push_back(sample_uniform(basis, *c.seed, StreamObject::ciphertext, 0, 0, threads));
  return c;
}

ckks::GaloisKey read_galois_key(std::istream& in, const Context& context, unsigned threads) {
  RecordReader r(in, ckks::kGaloisKeyType);
  ckks::GaloisKey key;
  key.key = std::make_shared<const SwitchingKey>(read_switching(r, context, threads, &key.element));
  return key;
}

ckks::Parameters read_parameters(std::istream& in) {
  RecordReader r(in, ckks::kParametersType);
  RecordHead raw;
  (void)read_head(r, raw);
  ckks::ParametersSpec spec;
  spec.log_n = raw.at<u32>(4);
  spec.limbs_per_digit = raw.at<u32>(8);
  const auto q = raw.at<u32>(12), p = raw.at<u32>(16);
  const auto name_bytes = raw.at<u32>(20), reason_bytes = raw.at<u32>(24);
  read_zero(r, "reserved field", raw.at<u32>(28));
  spec.log_scale = raw.at<double>(32);
  if (q < 1 || q > kMaxQ || p < 1 || p > kMaxP)
    r.refuse("has " + std::to_string(q) + " primes in Q and " + std::to_string(p) +
             " special ones, possible are 1 ... " + std::to_string(kMaxQ) + " and 1 ... " + std::to_string(kMaxP));
  if (name_bytes > kMaxName || reason_bytes > kMaxReason)
    r.refuse("has a name of " + std::to_string(name_bytes) + " bytes and a reason of " + std::to_string(reason_bytes) +
             ", possible are " + std::to_string(kMaxName) + " and " + std::to_string(kMaxReason));
  r.check_length(parameters_body(q, p, name_bytes, reason_bytes));
  spec.q.resize(q);
  spec.p.resize(p);
  spec.name.resize(name_bytes);
  spec.insecure.resize(reason_bytes);
  r.bytes(spec.q.data(), q * sizeof(u64));
  r.bytes(spec.p.data(), p * sizeof(u64));
  r.bytes(spec.name.data(), name_bytes);
  r.bytes(spec.insecure.data(), reason_bytes);
  r.finish();
  if (!good_text(spec.name) || !good_text(spec.insecure)) r.refuse("has a name or reason that is not printable UTF-8");
  std::optional<ckks::Parameters> params;
  try {
    params.emplace(std::move(spec));
  } catch (const ParameterError& e) {
    throw FormatError(r.what() + " is not valid: " + e.what());
  }
  if (params->hash() != r.header().hash)
    r.refuse("has the parameter hash " + short_hash(r.header().hash) + "..., its contents have " +
             short_hash(params->hash()) + "...");
  return *std::move(params);
}

SecretKey read_secret_key(std::istream& in, const Context& context) {
  RecordReader r(in, ckks::kSecretKeyType);
  r.check_parameters(context.params().hash());
  RecordHead raw;
  const Fields info = read_head(r, raw);
  if (const auto bits = raw.at<u32>(4); bits != kSecretBits)
    r.refuse("has coefficients of " + std::to_string(bits) + " bits, they must have " + std::to_string(kSecretBits));
  r.check_length(secret_body(context));
  SmallPoly s(context.ring().degree());
  std::uint8_t* packed = r.buffer().data();
  unsigned invalid = 0;
  for (std::size_t at = 0; at < s.coeffs().size(); at += ChunkBuffer::kResidues) {
    const std::size_t count = std::min(ChunkBuffer::kResidues, s.coeffs().size() - at);
    r.bytes(packed, count / 4);
    for (std::size_t k = 0; k < count; ++k) {
      const unsigned x = packed[k / 4] >> (k % 4 * 2) & 3U;
      invalid |= x & x >> 1;
      s.coeffs()[at + k] = static_cast<i64>(x) - 1;
    }
  }
  r.finish();
  if (invalid != 0) r.refuse("has coefficients that are not ternary");
  return {context.full_basis(), std::move(s), info.key_id};
}

ckks::PublicKey read_public_key(std::istream& in, const Context& context, unsigned threads) {
  RecordReader r(in, ckks::kPublicKeyType);
  r.check_parameters(context.params().hash());
  RecordHead raw;
  const Fields info = read_head(r, raw);
  const Basis& basis = context.full_basis();
  if (info.limbs != basis.size())
    r.refuse("has " + std::to_string(info.limbs) + " limbs, it must have " + std::to_string(basis.size()));
  r.check_length(public_body(context));
  ckks::PublicKey key;
  key.key_id = info.key_id;
  key.seed = raw.at<Seed>(16);
  key.b = r.poly(basis);
  r.finish();
  key.a = sample_uniform(basis, key.seed, StreamObject::public_key, 0, 0, threads);
  return key;
}

ckks::RelinKey read_relin_key(std::istream& in, const Context& context, unsigned threads) {
  RecordReader r(in, ckks::kRelinKeyType);
  return ckks::RelinKey(read_switching(r, context, threads, nullptr));
}

/// An object that must be the stream's last.
template <class T>
T alone(std::istream& in, TypeCode type, T&& object) {
  check_alone(in, type);
  return std::forward<T>(object);
}

}  // namespace

// ---- sizes ----------------------------------------------------------------------------------------

u64 saved_size(const ckks::Parameters& params) { return record_bytes(body_of(params)); }
u64 saved_size(const Context& context, const ckks::Plaintext& p) { return record_bytes(checked_body(context, p)); }
u64 saved_size(const Context& context, const ckks::Ciphertext& c) { return record_bytes(checked_body(context, c)); }
u64 saved_size(const Context& context, const SecretKey& key) { return record_bytes(checked_body(context, key)); }
u64 saved_size(const Context& context, const ckks::PublicKey& key) { return record_bytes(checked_body(context, key)); }
u64 saved_size(const Context& context, const ckks::RelinKey& key) { return record_bytes(checked_body(context, key)); }
u64 saved_size(const Context& context, const ckks::GaloisKey& key) { return record_bytes(checked_body(context, key)); }

// ---- saving ---------------------------------------------------------------------------------------

void save(std::ostream& out, const ckks::Parameters& params) {
  const auto& s = params.spec();
  if (!good_text(s.name) || !good_text(s.insecure))
    throw ValueError("the parameters' name or reason is not printable UTF-8 and cannot be saved: choose another");
  RecordWriter w(out, ckks::kParametersType, params.hash(), body_of(params));
  w.value(kWordBits);
  w.value(static_cast<u32>(s.log_n));
  w.value(static_cast<u32>(s.limbs_per_digit));
  w.value(static_cast<u32>(s.q.size()));
  w.value(static_cast<u32>(s.p.size()));
  w.value(static_cast<u32>(s.name.size()));
  w.value(static_cast<u32>(s.insecure.size()));
  w.value(u32{0});
  w.value(s.log_scale);
  w.bytes(s.q.data(), s.q.size() * sizeof(u64));
  w.bytes(s.p.data(), s.p.size() * sizeof(u64));
  w.bytes(s.name.data(), s.name.size());
  w.bytes(s.insecure.data(), s.insecure.size());
  w.finish();
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
  w.value(kWordBits);
  w.value(static_cast<u32>(c.parts[0].limbs()));
  w.value(static_cast<u32>(c.parts.size()));
  w.value(c.seed ? kSeeded : u32{0});
  w.value(c.key_id);
  w.value(c.scale);
  w.value(c.variance);
  w.value(c.bound);
  if (c.seed) w.bytes(c.seed->data(), c.seed->size());
  for (std::size_t i = 0; i < (c.seed ? 1 : c.parts.size()); ++i) w.poly(c.parts[i]);
  w.finish();
}

void save(std::ostream& out, const Context& context, const SecretKey& key) {
  RecordWriter w(out, ckks::kSecretKeyType, context.params().hash(), checked_body(context, key));
  w.value(kWordBits);
  w.value(kSecretBits);
  w.value(key.id());
  const auto& s = key.coeffs().coeffs();
  std::uint8_t* packed = w.buffer().data();
  for (std::size_t at = 0; at < s.size(); at += ChunkBuffer::kResidues) {
    const std::size_t count = std::min(ChunkBuffer::kResidues, s.size() - at);
    for (std::size_t k = 0; k < count; k += 4) {
      unsigned byte = 0;
      for (std::size_t j = 0; j < 4; ++j) byte |= static_cast<unsigned>(s[at + k + j] + 1) << (2 * j);
      packed[k / 4] = static_cast<std::uint8_t>(byte);
    }
    w.bytes(packed, count / 4);
  }
  w.finish();
}

void save(std::ostream& out, const Context& context, const ckks::PublicKey& key) {
  RecordWriter w(out, ckks::kPublicKeyType, context.params().hash(), checked_body(context, key));
  w.value(kWordBits);
  w.value(static_cast<u32>(key.b.limbs()));
  w.value(key.key_id);
  w.bytes(key.seed.data(), key.seed.size());
  w.poly(key.b);
  w.finish();
}

void save(std::ostream& out, const Context& context, const ckks::RelinKey& key) {
  write_switching(out, context, ckks::kRelinKeyType, 0, key.key(), checked_body(context, key));
}

void save(std::ostream& out, const Context& context, const ckks::GaloisKey& key) {
  const u64 body = checked_body(context, key);
  write_switching(out, context, ckks::kGaloisKeyType, key.element, *key.key, body);
}

// ---- loading --------------------------------------------------------------------------------------

ckks::Parameters load_parameters(std::istream& in) { return alone(in, ckks::kParametersType, read_parameters(in)); }
ckks::Plaintext load_plaintext(std::istream& in, const Context& context) {
  return alone(in, ckks::kPlaintextType, read_plaintext(in, context));
}
ckks::Ciphertext load_ciphertext(std::istream& in, const Context& context, unsigned threads) {
  return alone(in, ckks::kCiphertextType, read_ciphertext(in, context, threads));
}
SecretKey load_secret_key(std::istream& in, const Context& context) {
  return alone(in, ckks::kSecretKeyType, read_secret_key(in, context));
}
ckks::PublicKey load_public_key(std::istream& in, const Context& context, unsigned threads) {
  return alone(in, ckks::kPublicKeyType, read_public_key(in, context, threads));
}
ckks::RelinKey load_relin_key(std::istream& in, const Context& context, unsigned threads) {
  return alone(in, ckks::kRelinKeyType, read_relin_key(in, context, threads));
}
ckks::GaloisKey load_galois_key(std::istream& in, const Context& context, unsigned threads) {
  return alone(in, ckks::kGaloisKeyType, read_galois_key(in, context, threads));
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
  return read_secret_key(in, context);
}
std::optional<ckks::PublicKey> next_public_key(std::istream& in, const Context& context, unsigned threads) {
  if (at_end(in)) return std::nullopt;
  return read_public_key(in, context, threads);
}
std::optional<ckks::RelinKey> next_relin_key(std::istream& in, const Context& context, unsigned threads) {
  if (at_end(in)) return std::nullopt;
  return read_relin_key(in, context, threads);
}
std::optional<ckks::GaloisKey> next_galois_key(std::istream& in, const Context& context, unsigned threads) {
  if (at_end(in)) return std::nullopt;
  return read_galois_key(in, context, threads);
}

std::vector<GaloisKeyEntry> index_galois_keys(std::istream& in, const Context& context) {
  const auto [position, end] = extent(in);
  std::vector<GaloisKeyEntry> entries;
  try {
    for (u64 at = position; at < end; at += entries.back().bytes) {
      seek(in, at);
      RecordReader r(in, ckks::kGaloisKeyType);
      r.check_parameters(context.params().hash());
      RecordHead raw;
      const Fields info = read_head(r, raw);
      check_switching(r, context, info, raw);
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
  using io::describe;
  return {{.code = kParametersType,
           .name = "CKKS parameter set",
           .head_bytes = io::kParametersHead,
           .max_body = 4096,
           .describe = describe},
          {.code = kPlaintextType, .name = "CKKS plaintext", .head_bytes = io::kPlaintextHead, .describe = describe},
          {.code = kCiphertextType, .name = "CKKS ciphertext", .head_bytes = io::kCiphertextHead, .describe = describe},
          {.code = kSecretKeyType,
           .name = "CKKS secret key",
           .head_bytes = io::kSecretKeyHead,
           .secret = true,
           .describe = describe},
          {.code = kPublicKeyType, .name = "CKKS public key", .head_bytes = io::kPublicKeyHead, .describe = describe},
          {.code = kRelinKeyType,
           .name = "CKKS relinearisation key",
           .head_bytes = io::kSwitchingHead,
           .describe = describe},
          {.code = kGaloisKeyType, .name = "CKKS Galois key", .head_bytes = io::kSwitchingHead, .describe = describe}};
}
