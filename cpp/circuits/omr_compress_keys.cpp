// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Keys of compression and their records.
#include <string>
#include <vector>

#include "omr_compress_format.hpp"
#include "ringforge/bfv/noise.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/error.hpp"
#include "ringforge/packing.hpp"

namespace ringforge::circuits {
namespace {

/// Galois keys in the order of their record, of the large ring and of the small one.
std::vector<u64> big_elements(const CompressionContext& c) { return {c.step_element(), c.swap_element()}; }
std::vector<u64> small_elements(const CompressionContext& c) {
  std::vector<u64> r;
  for (unsigned level = 0; level < c.pack_levels(); ++level) r.push_back(c.pack_element(level));
  return r;
}

u64 packed_poly(const Basis& basis) {
  u64 bytes = 0;
  for (std::size_t i = 0; i < basis.size(); ++i) bytes += packed_bytes(basis.ring().degree(), basis[i].mod().bits);
  return bytes;
}

void write_key(io::RecordWriter& w, const rlwe::SwitchingKey& key) {
  w.bytes(key.seed.data(), key.seed.size());
  for (const auto& b : key.b) w.poly(b);
}

rlwe::SwitchingKey read_key(io::RecordReader& r, const rlwe::Gadget& gadget, u64 key_id) {
  rlwe::SwitchingKey key;
  key.key_id = key_id;
  key.limbs = 2;
  key.spec = gadget.spec();
  r.bytes(key.seed.data(), key.seed.size());
  for (std::size_t d = 0; d < gadget.digits(2); ++d) key.b.push_back(r.poly(gadget.extended(2)));
  return key;
}

}  // namespace

CompressionSecret::CompressionSecret(CompressionContextPtr context, Randomness& rng)
    : context_(std::move(context)), key_(context_->small()->all(), rng) {
  const double most = bfv::largest_spectrum(context_->parameters().degree());
  // Who sees how often it is drawn again learns of thrown-away secrets.
  while (declassified(bfv::spectrum(key_.coeffs().coeffs()) > most))
    key_ = rlwe::SecretKey(context_->small()->all(), rng);
}

void CompressionSecret::save(std::ostream& out) const {
  const auto& s = key_.coeffs().coeffs();
  SecretArray<std::uint8_t> packed(packed_bytes(s.size(), 2));
  SecretArray<u32> wide(s.size());
  for (std::size_t i = 0; i < s.size(); ++i) wide.data()[i] = static_cast<u32>(s[i] + 1);
  pack_bits(packed.data(), wide.data(), s.size(), 2);
  io::RecordWriter w(out, kCompressionSecretType, context_->hash(), kSecretHead + packed.size());
  w.value(key_.id());
  w.value(u64{2});
  w.bytes(packed.data(), packed.size());
  w.finish();
}

CompressionSecret CompressionSecret::load(std::istream& in, CompressionContextPtr context) {
  const std::size_t n = context->parameters().degree();
  io::RecordReader r(in, kCompressionSecretType);
  r.check_parameters(context->hash());
  const auto head = r.head();
  r.check_length(kSecretHead + packed_bytes(n, 2));
  if (head.at<u64>(8) != 2) r.refuse("its coefficients have " + std::to_string(head.at<u64>(8)) + " bits, not 2");
  SecretArray<std::uint8_t> packed(packed_bytes(n, 2));
  r.bytes(packed.data(), packed.size());
  SecretArray<u32> wide(n);
  if (!unpack_bits(wide.data(), packed.data(), n, 2)) r.refuse("bits that are left over are set");
  if (declassified(!all_below(wide.data(), n, 3))) r.refuse("a coefficient is outside -1 ... 1");
  r.finish();
  SmallPoly s(n);
  for (std::size_t i = 0; i < n; ++i) s.coeffs()[i] = static_cast<i64>(wide.data()[i]) - 1;
  const Basis basis = context->small()->all();
  return {std::move(context), rlwe::SecretKey(basis, std::move(s), head.at<u64>(0))};
}

CompressionKeys::CompressionKeys(const rlwe::SecretKey& from, const CompressionSecret& to, Randomness& rng,
                                 unsigned threads)
    : context_(to.context()), from_id_(from.id()) {
  const auto& c = *context_;
  const std::size_t n = c.parameters().entries();
  if (from.coeffs().coeffs().size() != n)
    throw MismatchError("the secret key has degree " + std::to_string(from.coeffs().coeffs().size()) +
                        ", compression was set up for " + std::to_string(n) + ": use parameters of one ring");
  SmallPoly spread(n);  // s'(X^4)
  const auto& s = to.key().coeffs().coeffs();
  for (std::size_t i = 0; i < s.size(); ++i) spread.coeffs()[4 * i] = s[i];
  const rlwe::SecretKey target(c.big()->all(), std::move(spread), to.key().id());
  Poly<Eval> source = from.coeffs().lift(c.big()->all());
  down_ = std::make_shared<const rlwe::SwitchingKey>(
      rlwe::SwitchingKey::make(source, target.eval(), target.id(), *c.big(), 2, rng, threads));
  source.wipe();
  for (const u64 g : big_elements(c)) big_.insert(rlwe::GaloisKey::make(target, g, *c.big(), 2, rng, threads));
  for (const u64 g : small_elements(c)) small_.insert(rlwe::GaloisKey::make(to.key(), g, *c.small(), 2, rng, threads));
}

u64 CompressionKeys::saved_bytes(const CompressionContext& context) {
  const auto& big = *context.big();
  const auto& small = *context.small();
  const std::size_t large = 1 + big_elements(context).size(), little = small_elements(context).size();
  return io::record_bytes(kKeysHead + (large + little) * sizeof(Seed) +
                          large * big.digits(2) * packed_poly(big.extended(2)) +
                          little * small.digits(2) * packed_poly(small.extended(2)));
}

void CompressionKeys::save(std::ostream& out) const {
  io::RecordWriter w(out, kCompressionKeysType, context_->hash(), saved_bytes(*context_) - io::record_bytes(0));
  w.value(from_id_);
  w.value(key_id());
  w.value(u64{2});
  write_key(w, *down_);
  for (const u64 g : big_elements(*context_)) write_key(w, *big_.at(g));
  for (const u64 g : small_elements(*context_)) write_key(w, *small_.at(g));
  w.finish();
}

CompressionKeys CompressionKeys::load(std::istream& in, CompressionContextPtr context, unsigned threads) {
  const CompressionContext& c = *context;
  io::RecordReader r(in, kCompressionKeysType);
  r.check_parameters(c.hash());
  const auto head = r.head();
  r.check_length(saved_bytes(c) - io::record_bytes(0));
  if (head.at<u64>(16) != 2) r.refuse("it is for " + std::to_string(head.at<u64>(16)) + " limbs, not 2");
  const u64 id = head.at<u64>(8);
  rlwe::SwitchingKey down = read_key(r, *c.big(), id);
  const auto read = [&](const rlwe::Gadget& gadget, const std::vector<u64>& elements) {
    std::vector<rlwe::SwitchingKey> keys;
    for (std::size_t i = 0; i < elements.size(); ++i) keys.push_back(read_key(r, gadget, id));
    return keys;
  };
  auto big = read(*c.big(), big_elements(c)), small = read(*c.small(), small_elements(c));
  r.finish();  // before anything is expanded
  CompressionKeys keys;
  keys.from_id_ = head.at<u64>(0);
  down.a = rlwe::SwitchingKey::expand(down.seed, *c.big(), 2, threads);
  keys.down_ = std::make_shared<const rlwe::SwitchingKey>(std::move(down));
  const auto expand = [&](rlwe::GaloisKeys& to, const rlwe::Gadget& gadget, std::vector<rlwe::SwitchingKey>& from,
                          const std::vector<u64>& elements) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      from[i].a = rlwe::SwitchingKey::expand(from[i].seed, gadget, 2, threads);
      to.insert({elements[i], std::make_shared<const rlwe::SwitchingKey>(std::move(from[i]))});
    }
  };
  expand(keys.big_, *c.big(), big, big_elements(c));
  expand(keys.small_, *c.small(), small, small_elements(c));
  keys.context_ = std::move(context);
  return keys;
}

std::vector<io::RecordType> compression_record_types() {
  using io::RecordHead, io::RecordInfo;
  return {{.code = kCompressionSecretType,
           .name = "secret key of a digest",
           .head_bytes = kSecretHead,
           .secret = true,
           .describe = [](const RecordHead& h, RecordInfo& i) { i.fields.emplace_back("key_id", h.at<u64>(0)); }},
          {.code = kCompressionKeysType,
           .name = "keys of compression",
           .head_bytes = kKeysHead,
           .describe = [](const RecordHead& h, RecordInfo& i) { i.fields.emplace_back("key_id", h.at<u64>(8)); }},
          {.code = kDigestType,
           .name = "digest",
           .head_bytes = kDigestHead,
           .describe =
               [](const RecordHead& h, RecordInfo& i) {
                 i.fields.emplace_back("bulletin", h.at<u64>(0));
                 i.fields.emplace_back("key_id", h.at<u64>(8));
                 i.fields.emplace_back("messages", h.at<u64>(16));
                 i.fields.emplace_back("words", h.at<u64>(24));
               }},
          {.code = kCompressionPartType,
           .name = "part of a digest",
           .head_bytes = kPartHead,
           .describe = [](const RecordHead& h, RecordInfo& i) {
             i.fields.emplace_back("key_id", h.at<u64>(0));
             i.fields.emplace_back("first", h.at<u64>(8));
             i.fields.emplace_back("count", h.at<u64>(16));
           }}};
}

}  // namespace ringforge::circuits
