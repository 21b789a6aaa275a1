// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Bodies of the records that schemes have in common. For each type one function checks a record's counts against the
// gadget and returns the exact length they imply; writers and readers share it.
#include "ringforge/rlwe/records.hpp"

#include <algorithm>
#include <cstdio>

#include "ringforge/constant_time.hpp"
#include "ringforge/packing.hpp"

namespace ringforge::rlwe {
namespace {

using io::kWordBits;
using io::RecordHead;
using io::RecordInfo;
using io::RecordReader;
using io::RecordType;
using io::RecordWriter;
using io::TypeCode;

constexpr u32 kSeeded = 1;
constexpr u32 kSecretBits = 2;
constexpr std::size_t kMaxQ = 64, kMaxP = 16, kMaxName = 64, kMaxReason = 256;

void add(RecordInfo& info, const char* name, u64 value) {
  if (value != 0) info.fields.emplace_back(name, value);
}
void describe_secret(const RecordHead& head, RecordInfo& info) {
  add(info, "word_bits", head.at<u32>(0));
  add(info, "key_id", head.at<u64>(8));
}
void describe_public(const RecordHead& head, RecordInfo& info) {
  add(info, "word_bits", head.at<u32>(0));
  add(info, "limbs", head.at<u32>(4));
  add(info, "seeded", 1);
  add(info, "key_id", head.at<u64>(8));
}
void describe_switching(const RecordHead& head, RecordInfo& info) {
  add(info, "word_bits", head.at<u32>(0));
  add(info, "limbs", head.at<u32>(4));
  add(info, "digits", head.at<u32>(8));
  add(info, "seeded", 1);
  add(info, "key_id", head.at<u64>(16));
  add(info, "element", head.at<u64>(24));
}

/// @throws MismatchError unless p is over exactly these primes.
void check_basis(TypeCode type, const Poly<Eval>& p, const Basis& expected) {
  if (!(p.basis() == expected))
    throw MismatchError("the " + io::name(type) + " does not belong to this context: its polynomial has " +
                        std::to_string(p.limbs()) + " limbs of degree " + std::to_string(p.degree()) +
                        ", which are not the context's; use the context it was made with");
}
void check_limbs(TypeCode type, const Gadget& gadget, std::size_t limbs) {
  if (limbs < 1 || limbs > gadget.q().size())
    throw MismatchError("the " + io::name(type) + " has " + std::to_string(limbs) + " limbs, this context 1 ... " +
                        std::to_string(gadget.q().size()) + ": use the context it was made with");
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
u64 secret_body(const Gadget& gadget) { return kSecretKeyHead + gadget.q().ring().degree() * kSecretBits / 8; }
u64 public_body(const Gadget& gadget) { return kPublicKeyHead + packed_poly_bytes(gadget.all()); }
u64 switching_body(const Gadget& gadget, std::size_t limbs) {
  return kSwitchingHead + gadget.digits(limbs) * packed_poly_bytes(gadget.extended(limbs));
}

}  // namespace

u64 packed_poly_bytes(const Basis& basis) {
  u64 total = 0;
  for (std::size_t i = 0; i < basis.size(); ++i) total += packed_bytes(basis.ring().degree(), basis[i].mod().bits);
  return total;
}

std::string short_number(double v) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%g", v);
  return digits;
}

void read_word_bits(const RecordReader& r, const RecordHead& head) {
  if (const auto bits = head.at<u32>(0); bits != kWordBits)
    throw FormatError(r.what() + " has residues of " + std::to_string(bits) + "-bit words, this library has " +
                      std::to_string(kWordBits) + "-bit words: use the library that wrote it");
}

std::size_t read_limbs(const RecordReader& r, const RecordHead& head, const Gadget& gadget) {
  const std::size_t limbs = head.at<u32>(4), most = gadget.q().size();
  if (limbs < 1 || limbs > most)
    r.refuse("has " + std::to_string(limbs) + " limbs, possible are 1 ... " + std::to_string(most));
  return limbs;
}

void read_zero(const RecordReader& r, const char* field, u64 v) {
  if (v != 0) r.refuse("has " + std::to_string(v) + " in its " + field + ", it must be 0");
}

Basis check_level(TypeCode type, const Gadget& gadget, const Poly<Eval>& p) {
  check_limbs(type, gadget, p.limbs());
  Basis basis = gadget.q().prefix(p.limbs());
  check_basis(type, p, basis);
  return basis;
}

// ---- ciphertexts ------------------------------------------------------------------------------------

CiphertextFields::CiphertextFields(const RecordHead& head)
    : limbs(head.at<u32>(4)), parts(head.at<u32>(8)), seeded(head.at<u32>(12) == kSeeded), key_id(head.at<u64>(16)) {}

CiphertextFields::CiphertextFields(const RecordReader& r, const RecordHead& head, const Gadget& gadget)
    : CiphertextFields(head) {
  read_word_bits(r, head);
  (void)read_limbs(r, head, gadget);
  if (const auto flags = head.at<u32>(12); flags > kSeeded)
    r.refuse("has the flags " + std::to_string(flags) + ", only 0 and 1 have a meaning");
  if (parts < 2 || parts > 3 || (seeded && parts != 2))
    r.refuse("has " + std::to_string(parts) + " parts, it must have 2" + (seeded ? " with a seed" : " or 3"));
}

u64 CiphertextFields::bytes(const Gadget& gadget) const {
  return (seeded ? sizeof(Seed) : 0) + (seeded ? parts - 1 : parts) * packed_poly_bytes(gadget.q().prefix(limbs));
}

u64 stored_bytes(TypeCode type, const Gadget& gadget, const Ciphertext& c) {
  if (c.parts.size() < 2 || c.parts.size() > 3 || (c.seed && c.parts.size() != 2))
    throw ShapeError("a ciphertext of " + std::to_string(c.parts.size()) + " parts cannot be saved, it has 2" +
                     (c.seed ? " with a seed" : " or 3"));
  const Basis basis = check_level(type, gadget, c.parts[0]);
  for (const auto& part : c.parts) check_basis(type, part, basis);
  if (c.seed && !seed_fits(c.parts[1], *c.seed))
    throw MismatchError(
        "the ciphertext's second part is not the expansion of its seed: "
        "reset the seed when parts change");
  const std::size_t stored = c.seed ? c.parts.size() - 1 : c.parts.size();
  return (c.seed ? sizeof(Seed) : 0) + stored * packed_poly_bytes(basis);
}

void write_fields(RecordWriter& w, const Ciphertext& c) {
  w.value(kWordBits);
  w.value(static_cast<u32>(c.parts[0].limbs()));
  w.value(static_cast<u32>(c.parts.size()));
  w.value(c.seed ? kSeeded : u32{0});
  w.value(c.key_id);
}

void write_parts(RecordWriter& w, const Ciphertext& c) {
  if (c.seed) w.bytes(c.seed->data(), c.seed->size());
  for (std::size_t i = 0; i < (c.seed ? 1 : c.parts.size()); ++i) w.poly(c.parts[i]);
}

void read_parts(RecordReader& r, const CiphertextFields& fields, const Gadget& gadget, Ciphertext& c) {
  const Basis basis = gadget.q().prefix(fields.limbs);
  c.key_id = fields.key_id;
  c.parts.reserve(fields.parts);
  if (fields.seeded) r.bytes(c.seed.emplace().data(), sizeof(Seed));
  for (std::size_t i = 0; i < (fields.seeded ? 1 : fields.parts); ++i) c.parts.push_back(r.poly(basis));
}

void expand_seed(Ciphertext& c, unsigned threads) {
  if (c.seed) c.parts.push_back(sample_uniform(c.parts[0].basis(), *c.seed, StreamObject::ciphertext, 0, 0, threads));
}

// ---- keys -------------------------------------------------------------------------------------------

std::vector<RecordType> key_record_types(const std::string& scheme, const KeyTypes& types) {
  return {{.code = types.secret,
           .name = scheme + " secret key",
           .head_bytes = kSecretKeyHead,
           .secret = true,
           .describe = describe_secret},
          {.code = types.public_key,
           .name = scheme + " public key",
           .head_bytes = kPublicKeyHead,
           .describe = describe_public},
          {.code = types.relin,
           .name = scheme + " relinearisation key",
           .head_bytes = kSwitchingHead,
           .describe = describe_switching},
          {.code = types.galois,
           .name = scheme + " Galois key",
           .head_bytes = kSwitchingHead,
           .describe = describe_switching}};
}

bool KeyRecords::good_element(u64 element) const {
  return gadget_.q().ring().is_galois_element(element) && element != 1;
}
std::string KeyRecords::elements() const { return "it must be " + galois_elements(gadget_.q().ring()); }

u64 KeyRecords::body(const SecretKey& key) const {
  check_basis(types_.secret, key.eval(), gadget_.all());
  return secret_body(gadget_);
}
u64 KeyRecords::body(const PublicKey& key) const {
  check_basis(types_.public_key, key.b, gadget_.all());
  return public_body(gadget_);
}
u64 KeyRecords::body(TypeCode type, const SwitchingKey& key) const {
  check_limbs(type, gadget_, key.limbs);
  key.check(gadget_, key.limbs);
  return switching_body(gadget_, key.limbs);
}
u64 KeyRecords::body(const RelinKey& key) const { return body(types_.relin, key.key()); }
u64 KeyRecords::body(const GaloisKey& key) const {
  if (!good_element(key.element))
    throw MismatchError("the Galois key's element " + std::to_string(key.element) +
                        " is none of this context's ring: " + elements());
  if (!key.key) throw ParameterError("a Galois key without polynomials cannot be saved: make it with galois_key");
  return body(types_.galois, *key.key);
}

void KeyRecords::save(std::ostream& out, const SecretKey& key) const {
  RecordWriter w(out, types_.secret, hash_, body(key));
  w.value(kWordBits);
  w.value(kSecretBits);
  w.value(key.id());
  const auto& s = key.coeffs().coeffs();
  std::uint8_t* packed = w.buffer().data();
  for (std::size_t at = 0; at < s.size(); at += io::ChunkBuffer::kResidues) {
    const std::size_t count = std::min(io::ChunkBuffer::kResidues, s.size() - at);
    for (std::size_t k = 0; k < count; k += 4) {
      unsigned byte = 0;
      for (std::size_t j = 0; j < 4; ++j) byte |= static_cast<unsigned>(s[at + k + j] + 1) << (2 * j);
      packed[k / 4] = static_cast<std::uint8_t>(byte);
    }
    w.bytes(packed, count / 4);
  }
  w.finish();
}

void KeyRecords::save(std::ostream& out, const PublicKey& key) const {
  RecordWriter w(out, types_.public_key, hash_, body(key));
  w.value(kWordBits);
  w.value(static_cast<u32>(key.b.limbs()));
  w.value(key.key_id);
  w.bytes(key.seed.data(), key.seed.size());
  w.poly(key.b);
  w.finish();
}

void KeyRecords::save(std::ostream& out, const RelinKey& key) const { save(out, types_.relin, 0, key.key()); }
void KeyRecords::save(std::ostream& out, const GaloisKey& key) const {
  (void)body(key);
  save(out, types_.galois, key.element, *key.key);
}

void KeyRecords::save(std::ostream& out, TypeCode type, u64 element, const SwitchingKey& key) const {
  RecordWriter w(out, type, hash_, body(type, key));
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

SecretKey KeyRecords::secret_key(std::istream& in) const {
  RecordReader r(in, types_.secret);
  r.check_parameters(hash_);
  const RecordHead head = r.head();
  read_word_bits(r, head);
  if (const auto bits = head.at<u32>(4); bits != kSecretBits)
    r.refuse("has coefficients of " + std::to_string(bits) + " bits, they must have " + std::to_string(kSecretBits));
  r.check_length(secret_body(gadget_));
  SmallPoly s(gadget_.q().ring().degree());
  std::uint8_t* packed = r.buffer().data();
  unsigned invalid = 0;
  for (std::size_t at = 0; at < s.coeffs().size(); at += io::ChunkBuffer::kResidues) {
    const std::size_t count = std::min(io::ChunkBuffer::kResidues, s.coeffs().size() - at);
    r.bytes(packed, count / 4);
    for (std::size_t k = 0; k < count; ++k) {
      const unsigned x = packed[k / 4] >> (k % 4 * 2) & 3U;
      invalid |= x & x >> 1;
      s.coeffs()[at + k] = static_cast<i64>(x) - 1;
    }
  }
  r.finish();
  if (declassified(invalid != 0)) r.refuse("has coefficients that are not ternary");
  return {gadget_.all(), std::move(s), head.at<u64>(8)};
}

PublicKey KeyRecords::public_key(std::istream& in, unsigned threads) const {
  RecordReader r(in, types_.public_key);
  r.check_parameters(hash_);
  const RecordHead head = r.head();
  read_word_bits(r, head);
  const Basis& basis = gadget_.all();
  if (const auto limbs = head.at<u32>(4); limbs != basis.size())
    r.refuse("has " + std::to_string(limbs) + " limbs, it must have " + std::to_string(basis.size()));
  r.check_length(public_body(gadget_));
  PublicKey key;
  key.key_id = head.at<u64>(8);
  key.seed = head.at<Seed>(16);
  key.b = r.poly(basis);
  r.finish();
  key.a = sample_uniform(basis, key.seed, StreamObject::public_key, 0, 0, threads);
  return key;
}

KeyRecords::Switching KeyRecords::read_switching(RecordReader& r, const RecordHead& head) const {
  read_word_bits(r, head);
  const Switching s{read_limbs(r, head, gadget_), head.at<u32>(8), head.at<u64>(16), head.at<u64>(24)};
  if (s.digits != gadget_.digits(s.limbs))
    r.refuse("has " + std::to_string(s.digits) + " digits, keys of " + std::to_string(s.limbs) + " limbs have " +
             std::to_string(gadget_.digits(s.limbs)));
  read_zero(r, "reserved field", head.at<u32>(12));
  if (r.header().type == types_.relin) {
    read_zero(r, "reserved element", s.element);
  } else if (r.header().type == types_.galois && !good_element(s.element)) {
    r.refuse("has the element " + std::to_string(s.element) + ", " + elements());
  }
  r.check_length(switching_body(gadget_, s.limbs));
  return s;
}

SwitchingKey KeyRecords::switching_key(std::istream& in, TypeCode type, u64* element, unsigned threads) const {
  RecordReader r(in, type);
  r.check_parameters(hash_);
  const RecordHead head = r.head();
  const Switching s = read_switching(r, head);
  SwitchingKey key;
  key.key_id = s.key_id;
  key.limbs = s.limbs;
  key.spec = gadget_.spec();
  key.seed = head.at<Seed>(32);
  key.b.reserve(s.digits);
  // A digit's memory is taken when its bytes are due: a short stream cannot claim a whole key.
  for (std::size_t d = 0; d < s.digits; ++d) key.b.push_back(r.poly(gadget_.extended(s.limbs)));
  r.finish();
  key.a = SwitchingKey::expand(key.seed, gadget_, key.limbs, threads);
  if (element != nullptr) *element = s.element;
  return key;
}

RelinKey KeyRecords::relin_key(std::istream& in, unsigned threads) const {
  return RelinKey(switching_key(in, types_.relin, nullptr, threads));
}

GaloisKey KeyRecords::galois_key(std::istream& in, unsigned threads) const {
  GaloisKey key;
  key.key = std::make_shared<const SwitchingKey>(switching_key(in, types_.galois, &key.element, threads));
  return key;
}

// ---- parameter sets ---------------------------------------------------------------------------------

u64 ParameterFields::body() const { return parameters_body(q.size(), p.size(), name.size(), insecure.size()); }

void ParameterFields::save(std::ostream& out, TypeCode type, const Hash& hash) const {
  if (!good_text(name) || !good_text(insecure))
    throw ValueError("the parameters' name or reason is not printable UTF-8 and cannot be saved: choose another");
  RecordWriter w(out, type, hash, body());
  w.value(kWordBits);
  w.value(static_cast<u32>(log_n));
  w.value(static_cast<u32>(limbs_per_digit));
  w.value(static_cast<u32>(q.size()));
  w.value(static_cast<u32>(p.size()));
  w.value(static_cast<u32>(name.size()));
  w.value(static_cast<u32>(insecure.size()));
  w.value(u32{0});
  w.value(own);
  w.bytes(q.data(), q.size() * sizeof(u64));
  w.bytes(p.data(), p.size() * sizeof(u64));
  w.bytes(name.data(), name.size());
  w.bytes(insecure.data(), insecure.size());
  w.finish();
}

ParameterFields ParameterFields::read(RecordReader& r) {
  const RecordHead head = r.head();
  read_word_bits(r, head);
  ParameterFields f;
  f.log_n = head.at<u32>(4);
  f.limbs_per_digit = head.at<u32>(8);
  const auto q = head.at<u32>(12), p = head.at<u32>(16);
  const auto name_bytes = head.at<u32>(20), reason_bytes = head.at<u32>(24);
  read_zero(r, "reserved field", head.at<u32>(28));
  f.own = head.at<u64>(32);
  if (q < 1 || q > kMaxQ || p < 1 || p > kMaxP)
    r.refuse("has " + std::to_string(q) + " primes in Q and " + std::to_string(p) +
             " special ones, possible are 1 ... " + std::to_string(kMaxQ) + " and 1 ... " + std::to_string(kMaxP));
  if (name_bytes > kMaxName || reason_bytes > kMaxReason)
    r.refuse("has a name of " + std::to_string(name_bytes) + " bytes and a reason of " + std::to_string(reason_bytes) +
             ", possible are " + std::to_string(kMaxName) + " and " + std::to_string(kMaxReason));
  r.check_length(parameters_body(q, p, name_bytes, reason_bytes));
  f.q.resize(q);
  f.p.resize(p);
  f.name.resize(name_bytes);
  f.insecure.resize(reason_bytes);
  r.bytes(f.q.data(), q * sizeof(u64));
  r.bytes(f.p.data(), p * sizeof(u64));
  r.bytes(f.name.data(), name_bytes);
  r.bytes(f.insecure.data(), reason_bytes);
  r.finish();
  if (!good_text(f.name) || !good_text(f.insecure)) r.refuse("has a name or reason that is not printable UTF-8");
  return f;
}

}  // namespace ringforge::rlwe
