// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Digests: what is sent of the rows of compression, and how the receiver opens it.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "omr_compress_format.hpp"
#include "ringforge/error.hpp"
#include "ringforge/packing.hpp"

namespace ringforge::circuits {

using u128 = unsigned __int128;

std::vector<std::uint8_t> Compressor::digest(const std::vector<rlwe::Ciphertext>& sums, u64 bulletin) const {
  const CompressionContext& ctx = *plan_.context();
  if (sums.size() != plan_.outputs().size())
    throw ShapeError("a digest of " + std::to_string(sums.size()) + " ciphertexts: this plan has " +
                     std::to_string(plan_.outputs().size()));
  const std::size_t n = ctx.parameters().degree();
  const u64 q = ctx.parameters().q[0];
  std::vector<std::uint8_t> record(plan_.digest_bytes());
  std::uint8_t* to = io::begin_record(record, kDigestType, plan_.hash());
  for (const u64 field : {bulletin, keys_.key_id(), u64{plan_.messages()}, u64{plan_.words()}}) {
    std::memcpy(to, &field, sizeof(field));
    to += sizeof(field);
  }
  WordBuffer words(n);
  for (const auto& sum : sums) {
    const rlwe::Ciphertext one = evaluator_.divide(sum);
    for (std::size_t part = 0; part < 2; ++part) {
      const unsigned bits = part == 0 ? plan_.c0_bits() : plan_.c1_bits();
      intt(words.data(), one.parts[part].limb(0), one.parts[part].basis()[0]);
      // From modulo q to modulo 2^bits; the phase is a multiple of 1/t of either, up to noise.
      for (std::size_t i = 0; i < n; ++i) {
        const u128 scaled = ((static_cast<u128>(words.data()[i]) << bits) + q / 2) / q;
        words.data()[i] = static_cast<u64>(scaled) & ((u64{1} << bits) - 1);
      }
      pack_bits(to, words.data(), n, bits);
      to += packed_bytes(n, bits);
    }
  }
  io::seal_record(record);
  return record;
}

DigestHead digest_head(std::span<const std::uint8_t> digest) {
  const auto body = io::open_record(digest, kDigestType).body;
  if (body.size() < kDigestHead) throw FormatError("the digest is shorter than its fixed fields: obtain it again");
  u64 field[4];
  std::memcpy(field, body.data(), sizeof(field));
  return {field[0], field[1], field[2], field[3]};
}

DigestRows open_digest(std::span<const std::uint8_t> digest, const CompressionPlan& plan,
                       const CompressionSecret& secret) {
  const CompressionContext& ctx = *plan.context();
  const auto body =
      io::open_record(digest, kDigestType, plan.hash(), plan.digest_bytes() - io::record_bytes(0));
  if (secret.context()->hash() != ctx.hash())
    throw MismatchError("the receiver's secret was made for other parameters than the plan's");
  const DigestHead head = digest_head(digest);
  if (head.key_id != secret.key().id())
    throw MismatchError("the digest was made for another receiver, or with keys that were replaced since");
  if (head.messages != plan.messages() || head.words != plan.words())
    throw FormatError("the digest's fields do not agree with its parameter hash: obtain it again");

  const std::size_t n = ctx.parameters().degree(), row = n / 2;
  const unsigned bits0 = plan.c0_bits(), bits1 = plan.c1_bits();
  const u64 t = ctx.parameters().t, mask = (u64{1} << bits1) - 1;
  const Basis basis = ctx.small()->q().prefix(1);
  const u64 q = basis[0].value();
  DigestRows r;
  r.rows.resize(plan.rows());
  SecretArray<u64> work(n);
  WordBuffer c0(n), c1(n);
  std::vector<u32> slots(n);
  const std::uint8_t* from = body.data() + kDigestHead;
  for (const auto& o : plan.outputs()) {
    bool clean = unpack_bits(c0.data(), from, n, bits0);
    from += packed_bytes(n, bits0);
    clean = unpack_bits(c1.data(), from, n, bits1) && clean;
    from += packed_bytes(n, bits1);
    if (!clean) throw FormatError("bits of the digest that are left over are set: obtain it again");
    // c1*s' over the integers: below N' * 2^(bits1 - 1) in size, which q holds.
    for (std::size_t i = 0; i < n; ++i) {
      const u64 x = c1.data()[i];
      work.data()[i] = x >> (bits1 - 1) != 0 ? q - (mask + 1 - x) : x;
    }
    ntt(work.data(), work.data(), basis[0]);
    kernels::active().mul(work.data(), work.data(), secret.key().eval().limb(0), n, basis[0].mod());
    intt(work.data(), work.data(), basis[0]);
    for (std::size_t i = 0; i < n; ++i) {
      const u64 above = (q / 2 - work.data()[i]) >> 63;  // 1 for residues that stand for negative numbers
      const u64 phase = ((c0.data()[i] << (bits1 - bits0)) + work.data()[i] - above * q) & mask;
      const u128 scaled = static_cast<u128>(phase) * t + (u64{1} << (bits1 - 1));
      const double distance =
          std::fabs(std::ldexp(static_cast<double>(static_cast<u64>(scaled) & mask), -static_cast<int>(bits1)) - 0.5);
      r.margin = std::max(r.margin, distance);
      r.squares += distance * distance;
      const u64 m = static_cast<u64>(scaled >> bits1);
      work.data()[i] = m == t ? 0 : m;
    }
    ntt(work.data(), work.data(), ctx.plain());
    for (std::size_t e = 0; e < n; ++e) slots[ctx.slot_of()[e]] = static_cast<u32>(work.data()[e]);
    for (std::size_t slot = 0; slot < n; ++slot) {
      const std::size_t at = o.signs == 2 ? slot : slot % row % o.period;
      const u32 expected = at < o.rows ? slots[at] : 0;
      if (slots[slot] != expected)
        throw FormatError(
            "the digest does not decrypt to rows: it was altered, or its noise was too large; obtain it again");
      if (slot == at && at < o.rows) {
        const std::size_t i = o.first + at, inner = std::max(plan.values(), plan.powers());
        const std::size_t power = plan.values_inside() ? i / inner : i % inner;
        const std::size_t value = plan.values_inside() ? i % inner : i / inner;
        r.rows[power * plan.values() + value] = slots[at];
      }
    }
  }
  r.squares /= static_cast<double>(n * plan.outputs().size());
  return r;
}

}  // namespace ringforge::circuits
