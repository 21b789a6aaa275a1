// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include <algorithm>
#include <cmath>

#include "ringforge/constant_time.hpp"
#include "ringforge/error.hpp"
#include "ringforge/ltv/io.hpp"

namespace ringforge::io {
namespace {

using ltv::Context;

constexpr u32 kBits = 32;
/// An evaluation key's level and lag share a word.
constexpr u32 kLevelMask = 0xffff, kLagShift = 16;
constexpr std::size_t kParametersHead = 48, kCiphertextHead = 40, kKeyHead = 16, kEvalKeyHead = 24;

bool printable(const std::string& s) {
  return std::ranges::all_of(s, [](char c) { return c >= ' ' && c <= '~'; });
}

// Far beyond what any sequence of operations gives.
bool good(const ltv::Noise& n) {
  return std::isfinite(n.log_deviation) && std::abs(n.log_deviation) <= 1e6 && n.factors >= 1 && n.factors <= 64;
}

void read_bits(const RecordReader& r, const RecordHead& head) {
  if (const auto bits = head.at<u32>(0); bits != kBits)
    r.refuse("has residues of " + std::to_string(bits) + " bits, LTV has words of 32");
}

template <class Form>
void write_poly(RecordWriter& w, const Poly<Form, u32>& p) {
  for (std::size_t i = 0; i < p.limbs(); ++i) w.bytes(p.limb(i), p.length() * sizeof(u32));
}

template <class Form>
Poly<Form, u32> read_poly(RecordReader& r, const BasisOf<u32>& basis) {
  Poly<Form, u32> p(basis);
  for (std::size_t i = 0; i < p.limbs(); ++i) {
    r.bytes(p.limb(i), p.length() * sizeof(u32));
    u32 most = 0;
    for (std::size_t k = 0; k < p.length(); ++k) most = std::max(most, p.limb(i)[k]);
    if (most >= basis[i].value())
      r.refuse("has the residue " + std::to_string(most) + " modulo " + std::to_string(basis[i].value()));
  }
  return p;
}

template <class Form>
u64 poly_bytes(const BasisOf<u32>& basis) {
  const Ring& ring = basis.ring();
  return u64{basis.size()} * (std::is_same_v<Form, Eval> ? ring.transform_length() : ring.degree()) * sizeof(u32);
}

/// Limbs of h of a level, and so of the evaluation key of that level.
std::size_t key_limbs(const Context& context, std::size_t level) {
  return context.params().limbs(level == 0 ? 0 : level - 1);
}

// ---- bodies' lengths --------------------------------------------------------------------------------

u64 body(const ltv::Parameters& p) {
  const auto& s = p.spec();
  if (!printable(s.name) || !printable(s.insecure))
    throw ValueError("names and reasons of parameter sets are printable ASCII");
  return kParametersHead + 8 * s.q.size() + s.name.size() + s.insecure.size();
}
u64 body(const Context& context, const ltv::Ciphertext& c) {
  check(context, c);
  if (!good(c.noise)) throw ValueError("a ciphertext whose noise is no number cannot be saved");
  if (c.lag != 0 || c.limbs() < context.params().limbs(c.level))
    throw LevelError("a ciphertext between levels cannot be saved: relinearize it first");
  return kCiphertextHead + poly_bytes<Coeff>(c.poly.basis());
}
u64 secret_body(const Context& context) {
  return kKeyHead + u64{context.params().levels() + 1} * context.params().degree();
}
u64 public_body(const Context& context) {
  u64 bytes = kKeyHead;
  for (std::size_t level = 0; level <= context.params().levels(); ++level)
    bytes += poly_bytes<Coeff>(context.basis(key_limbs(context, level)));
  return bytes;
}
u64 eval_body(const Context& context, std::size_t level) {
  return kEvalKeyHead + context.params().digits(level) * poly_bytes<Eval>(context.basis(key_limbs(context, level)));
}
u64 body(const Context& context, const ltv::SecretKey& key) {
  check(context, key);
  return secret_body(context);
}
u64 body(const Context& context, const ltv::PublicKey& key) {
  check(context, key);
  return public_body(context);
}
u64 body(const Context& context, const ltv::EvalKey& key) {
  check(context, key);
  return eval_body(context, key.level);
}

// ---- reading ----------------------------------------------------------------------------------------

ltv::Parameters read_parameters(std::istream& in) {
  RecordReader r(in, ltv::kParametersType);
  const RecordHead head = r.head();
  read_bits(r, head);
  ltv::ParametersSpec spec;
  spec.m = head.at<u64>(8);
  spec.kind = static_cast<RingKind>(head.at<u32>(16));
  if (head.at<u32>(16) > 255) r.refuse("has no ring that is known");
  spec.drop = head.at<u32>(20);
  spec.gadget = static_cast<ltv::Gadget>(head.at<u32>(24));
  spec.window = head.at<u32>(28);
  const u32 primes = head.at<u32>(32), name = head.at<u32>(36), insecure = head.at<u32>(40);
  if (primes > 64 || name > 64 || insecure > 256 || head.at<u32>(4) != 0 || head.at<u32>(44) != 0)
    r.refuse("has counts that no parameter set has");
  r.check_length(kParametersHead + 8 * u64{primes} + name + insecure);
  spec.q.resize(primes);
  r.bytes(spec.q.data(), 8 * spec.q.size());
  spec.name.resize(name);
  r.bytes(spec.name.data(), name);
  spec.insecure.resize(insecure);
  r.bytes(spec.insecure.data(), insecure);
  r.finish();
  if (!printable(spec.name) || !printable(spec.insecure)) r.refuse("has a name or reason that is not printable");
  const auto make = [&] {
    try {
      return ltv::Parameters(std::move(spec));
    } catch (const ParameterError& e) {
      throw FormatError(r.what() + " is not valid: " + e.what());
    }
  };
  ltv::Parameters params = make();
  if (params.hash() != r.header().hash)
    r.refuse("has the parameter hash " + short_hash(r.header().hash) + "..., its contents have " +
             short_hash(params.hash()) + "...");
  return params;
}

ltv::Ciphertext read_ciphertext(std::istream& in, const Context& context) {
  RecordReader r(in, ltv::kCiphertextType);
  r.check_parameters(context.params().hash());
  const RecordHead head = r.head();
  read_bits(r, head);
  const u32 limbs = head.at<u32>(4), level = head.at<u32>(8), degree = head.at<u32>(12);
  const auto& params = context.params();
  const bool own = level <= params.levels() && degree >= 1 && degree <= 2 && limbs == params.limbs(level);
  const bool above = level >= 1 && level <= params.levels() && degree == 1 && limbs == params.limbs(level - 1);
  if (!own && !above)
    r.refuse("has level " + std::to_string(level) + ", degree " + std::to_string(degree) + " and " +
             std::to_string(limbs) + " limbs, which no ciphertext has");
  ltv::Ciphertext c;
  c.key_id = head.at<u64>(16);
  c.level = level;
  c.degree = degree;
  c.noise = {head.at<double>(24), head.at<u32>(32)};
  if (head.at<u32>(36) != 0 || !good(c.noise)) r.refuse("has noise that no ciphertext has");
  r.check_length(kCiphertextHead + poly_bytes<Coeff>(context.basis(limbs)));
  c.poly = read_poly<Coeff>(r, context.basis(limbs));
  r.finish();
  return c;
}

/// Word bits, levels, key id.
u64 read_key_head(RecordReader& r, const Context& context) {
  r.check_parameters(context.params().hash());
  const RecordHead head = r.head();
  read_bits(r, head);
  if (head.at<u32>(4) != context.params().levels())
    r.refuse("has " + std::to_string(head.at<u32>(4)) + " levels, its parameters have " +
             std::to_string(context.params().levels()));
  return head.at<u64>(8);
}

ltv::SecretKey read_secret_key(std::istream& in, const Context& context) {
  RecordReader r(in, ltv::kSecretKeyType);
  ltv::SecretKey key;
  key.id = read_key_head(r, context);
  key.parameters = context.params().hash();  // the record's, as was checked
  r.check_length(secret_body(context));
  const std::size_t n = context.params().degree();
  SecretArray<std::uint8_t> digits(n);
  bool ternary = true;
  for (std::size_t level = 0; level <= context.params().levels(); ++level) {
    r.bytes(digits.data(), n);
    SmallPoly u(n);
    for (std::size_t k = 0; k < n; ++k) {
      ternary &= digits.data()[k] <= 2;
      u.coeffs()[k] = i64{digits.data()[k]} - 1;
    }
    key.u.push_back(std::move(u));
  }
  if (declassified(!ternary)) r.refuse("has a coefficient that is not -1, 0 or 1");
  r.finish();
  return key;
}

ltv::PublicKey read_public_key(std::istream& in, const Context& context) {
  RecordReader r(in, ltv::kPublicKeyType);
  ltv::PublicKey key;
  key.key_id = read_key_head(r, context);
  r.check_length(public_body(context));
  for (std::size_t level = 0; level <= context.params().levels(); ++level)
    key.h.push_back(read_poly<Coeff>(r, context.basis(key_limbs(context, level))));
  r.finish();
  return key;
}

/// What stands before an evaluation key's digits.
struct EvalKeyHead {
  u64 key_id;
  u32 level, lag;
  std::size_t limbs, digits;
};

EvalKeyHead read_eval_key_head(RecordReader& r, const Context& context) {
  r.check_parameters(context.params().hash());
  const RecordHead head = r.head();
  read_bits(r, head);
  const auto& params = context.params();
  const u32 level = head.at<u32>(4) & kLevelMask, lag = head.at<u32>(4) >> kLagShift;
  if (level < 1 || level > params.levels() || lag >= level)
    r.refuse("is of level " + std::to_string(level) + " with lag " + std::to_string(lag) +
             ", its parameters have 1 ... " + std::to_string(params.levels()) + " with lags below the level");
  const std::size_t limbs = key_limbs(context, level), count = params.digits(level);
  if (head.at<u32>(8) != limbs || head.at<u32>(12) != count)
    r.refuse("has " + std::to_string(head.at<u32>(12)) + " digits of " + std::to_string(head.at<u32>(8)) +
             " limbs, level " + std::to_string(level) + " has " + std::to_string(count) + " of " +
             std::to_string(limbs));
  r.check_length(eval_body(context, level));
  return {head.at<u64>(16), level, lag, limbs, count};
}

ltv::EvalKey read_eval_key(std::istream& in, const Context& context) {
  RecordReader r(in, ltv::kEvalKeyType);
  const EvalKeyHead head = read_eval_key_head(r, context);
  ltv::EvalKey key;
  key.level = head.level;
  key.lag = head.lag;
  key.key_id = head.key_id;
  for (std::size_t d = 0; d < head.digits; ++d) key.digits.push_back(read_poly<Eval>(r, context.basis(head.limbs)));
  r.finish();
  return key;
}

void write_key_head(RecordWriter& w, const Context& context, u64 id) {
  w.value(kBits);
  w.value(static_cast<u32>(context.params().levels()));
  w.value(id);
}

void describe_parameters(const RecordHead& head, RecordInfo& info) {
  info.fields = {{"word_bits", u64{head.at<u32>(0)}}, {"m", head.at<u64>(8)}, {"limbs", u64{head.at<u32>(32)}}};
}
void describe_ciphertext(const RecordHead& head, RecordInfo& info) {
  info.fields = {{"word_bits", u64{head.at<u32>(0)}}, {"limbs", u64{head.at<u32>(4)}},
                 {"level", u64{head.at<u32>(8)}},     {"degree", u64{head.at<u32>(12)}},
                 {"key_id", head.at<u64>(16)},        {"log_deviation", head.at<double>(24)},
                 {"factors", u64{head.at<u32>(32)}}};
}
void describe_key(const RecordHead& head, RecordInfo& info) {
  info.fields = {{"word_bits", u64{head.at<u32>(0)}}, {"levels", u64{head.at<u32>(4)}}, {"key_id", head.at<u64>(8)}};
}
void describe_eval_key(const RecordHead& head, RecordInfo& info) {
  info.fields = {{"word_bits", u64{head.at<u32>(0)}},        {"level", u64{head.at<u32>(4) & kLevelMask}},
                 {"lag", u64{head.at<u32>(4) >> kLagShift}}, {"limbs", u64{head.at<u32>(8)}},
                 {"digits", u64{head.at<u32>(12)}},          {"key_id", head.at<u64>(16)}};
}

}  // namespace

// ---- sizes ------------------------------------------------------------------------------------------

u64 saved_size(const ltv::Parameters& params) { return record_bytes(body(params)); }
u64 saved_size(const Context& context, const ltv::Ciphertext& c) { return record_bytes(body(context, c)); }
u64 saved_size(const Context& context, const ltv::SecretKey& key) { return record_bytes(body(context, key)); }
u64 saved_size(const Context& context, const ltv::PublicKey& key) { return record_bytes(body(context, key)); }
u64 saved_size(const Context& context, const ltv::EvalKey& key) { return record_bytes(body(context, key)); }

// ---- saving -----------------------------------------------------------------------------------------

void save(std::ostream& out, const ltv::Parameters& params) {
  const auto& s = params.spec();
  RecordWriter w(out, ltv::kParametersType, params.hash(), body(params));
  w.value(kBits);
  w.value(u32{0});
  w.value(s.m);
  for (const u32 v :
       {static_cast<u32>(s.kind), static_cast<u32>(s.drop), static_cast<u32>(s.gadget), static_cast<u32>(s.window),
        static_cast<u32>(s.q.size()), static_cast<u32>(s.name.size()), static_cast<u32>(s.insecure.size()), u32{0}})
    w.value(v);
  w.bytes(s.q.data(), 8 * s.q.size());
  w.bytes(s.name.data(), s.name.size());
  w.bytes(s.insecure.data(), s.insecure.size());
  w.finish();
}

void save(std::ostream& out, const Context& context, const ltv::Ciphertext& c) {
  RecordWriter w(out, ltv::kCiphertextType, context.params().hash(), body(context, c));
  w.value(kBits);
  w.value(static_cast<u32>(c.limbs()));
  w.value(c.level);
  w.value(c.degree);
  w.value(c.key_id);
  w.value(c.noise.log_deviation);
  w.value(c.noise.factors);
  w.value(u32{0});
  write_poly(w, c.poly);
  w.finish();
}

void save(std::ostream& out, const Context& context, const ltv::SecretKey& key) {
  RecordWriter w(out, ltv::kSecretKeyType, context.params().hash(), body(context, key));
  write_key_head(w, context, key.id);
  SecretArray<std::uint8_t> digits(context.params().degree());
  for (const SmallPoly& u : key.u) {
    for (std::size_t k = 0; k < digits.size(); ++k) digits.data()[k] = static_cast<std::uint8_t>(u.coeffs()[k] + 1);
    w.bytes(digits.data(), digits.size());
  }
  w.finish();
}

void save(std::ostream& out, const Context& context, const ltv::PublicKey& key) {
  RecordWriter w(out, ltv::kPublicKeyType, context.params().hash(), body(context, key));
  write_key_head(w, context, key.key_id);
  for (const auto& h : key.h) write_poly(w, h);
  w.finish();
}

void save(std::ostream& out, const Context& context, const ltv::EvalKey& key) {
  RecordWriter w(out, ltv::kEvalKeyType, context.params().hash(), body(context, key));
  w.value(kBits);
  w.value(key.level | key.lag << kLagShift);
  w.value(static_cast<u32>(key.digits.front().limbs()));
  w.value(static_cast<u32>(key.digits.size()));
  w.value(key.key_id);
  for (const auto& d : key.digits) write_poly(w, d);
  w.finish();
}

// ---- loading ----------------------------------------------------------------------------------------

ltv::Parameters load_ltv_parameters(std::istream& in) { return alone(in, ltv::kParametersType, read_parameters(in)); }
ltv::Ciphertext load_ciphertext(std::istream& in, const Context& context) {
  return alone(in, ltv::kCiphertextType, read_ciphertext(in, context));
}
ltv::SecretKey load_secret_key(std::istream& in, const Context& context) {
  return alone(in, ltv::kSecretKeyType, read_secret_key(in, context));
}
ltv::PublicKey load_public_key(std::istream& in, const Context& context) {
  return alone(in, ltv::kPublicKeyType, read_public_key(in, context));
}
ltv::EvalKey load_eval_key(std::istream& in, const Context& context) {
  return alone(in, ltv::kEvalKeyType, read_eval_key(in, context));
}

void load_eval_key(std::istream& in, ltv::Relinearizer& relinearizer) {
  const Context& context = *relinearizer.context();
  RecordReader r(in, ltv::kEvalKeyType);
  const EvalKeyHead head = read_eval_key_head(r, context);
  const BasisOf<u32> basis = context.basis(head.limbs);
  relinearizer.load({head.key_id, head.level, head.lag, [&] { return read_poly<Eval>(r, basis); },
                     [&] {
                       r.finish();
                       check_alone(in, ltv::kEvalKeyType);
                     }});
}

std::optional<ltv::Parameters> next_ltv_parameters(std::istream& in) {
  return unless_at_end(in, [&] { return read_parameters(in); });
}
std::optional<ltv::Ciphertext> next_ciphertext(std::istream& in, const Context& context) {
  return unless_at_end(in, [&] { return read_ciphertext(in, context); });
}
std::optional<ltv::SecretKey> next_secret_key(std::istream& in, const Context& context) {
  return unless_at_end(in, [&] { return read_secret_key(in, context); });
}
std::optional<ltv::PublicKey> next_public_key(std::istream& in, const Context& context) {
  return unless_at_end(in, [&] { return read_public_key(in, context); });
}
std::optional<ltv::EvalKey> next_eval_key(std::istream& in, const Context& context) {
  return unless_at_end(in, [&] { return read_eval_key(in, context); });
}

}  // namespace ringforge::io

std::vector<ringforge::io::RecordType> ringforge::ltv::record_types() {
  return {{.code = kParametersType,
           .name = "LTV parameter set",
           .head_bytes = io::kParametersHead,
           .max_body = 4096,
           .describe = io::describe_parameters},
          {.code = kCiphertextType,
           .name = "LTV ciphertext",
           .head_bytes = io::kCiphertextHead,
           .describe = io::describe_ciphertext},
          {.code = kSecretKeyType,
           .name = "LTV secret key",
           .head_bytes = io::kKeyHead,
           .secret = true,
           .describe = io::describe_key},
          {.code = kPublicKeyType, .name = "LTV public key", .head_bytes = io::kKeyHead, .describe = io::describe_key},
          {.code = kEvalKeyType,
           .name = "LTV evaluation key",
           .head_bytes = io::kEvalKeyHead,
           .describe = io::describe_eval_key}};
}
