// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Digests: what is sent of packed values, and how the receiver opens it.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "omr_compress_format.hpp"
#include "ref/arith.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/error.hpp"
#include "ringforge/packing.hpp"

namespace ringforge::circuits {

using u128 = unsigned __int128;

std::vector<std::uint8_t> Compressor::digest(const std::vector<rlwe::Ciphertext>& packed, u64 bulletin) const {
  const CompressionContext& ctx = *plan_.context();
  if (packed.size() != plan_.outputs().size())
    throw ShapeError("a digest of " + std::to_string(packed.size()) + " ciphertexts: this plan has " +
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
  for (const auto& whole : packed) {
    const rlwe::Ciphertext one = evaluator_.divide(whole);
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

DigestSums open_digest(std::span<const std::uint8_t> digest, const CompressionPlan& plan,
                       const CompressionSecret& secret) {
  const CompressionContext& ctx = *plan.context();
  const auto body = io::open_record(digest, kDigestType, plan.hash(), plan.digest_bytes() - io::record_bytes(0));
  if (secret.context()->hash() != ctx.hash())
    throw MismatchError("the receiver's secret was made for other parameters than the plan's");
  const DigestHead head = digest_head(digest);
  if (head.key_id != secret.key().id())
    throw MismatchError("the digest was made for another receiver, or with keys that were replaced since");
  if (head.messages != plan.messages() || head.words != plan.words())
    throw FormatError("the digest's fields do not agree with its parameter hash: obtain it again");

  const std::size_t n = ctx.parameters().degree(), rho = plan.period();
  const unsigned bits0 = plan.c0_bits(), bits1 = plan.c1_bits();
  const u64 t = ctx.parameters().t, mask = (u64{1} << bits1) - 1;
  const Basis basis = ctx.small()->q().prefix(1);
  const u64 q = basis[0].value();
  DigestSums r;
  r.sums.resize(plan.powers() * plan.values());
  SecretArray<u64> work(n);
  WordBuffer c0(n), c1(n);
  // rho coefficients of a value are a polynomial in Z = X^(N/rho), Z^rho = -1, whose slots are the sums: row r of the
  // large ring's slots has those of exponents r*rho/2 + x at Z = theta^(+-5^x).
  const unsigned log_rho = plan.log_period();
  const auto tiny = Prime::get(t, Ring::negacyclic(log_rho));
  const auto& m = tiny->mod();
  const u64 theta = arith::pow(ctx.plain().psi(), ctx.parameters().entries() / rho, m);
  const u64 h = compression_exponent(tiny->psi(), theta, m);
  std::vector<std::size_t> index(rho);
  for (u64 x = 0, e = h; x < rho / 2; ++x, e = e * 5 % (2 * rho))
    for (std::size_t row = 0; row < 2; ++row) {
      const u64 i = ((row == 0 ? e : 2 * rho - e) - 1) / 2;
      for (unsigned b = 0; b < log_rho; ++b) index[row * rho / 2 + x] |= (i >> b & 1) << (log_rho - 1 - b);
    }
  const double unit = std::ldexp(1.0, -static_cast<int>(bits1));
  u64 beyond = 0;  // not zero when a sum is not zero that must be
  WordBuffer sums(rho);
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
      const double distance = std::fabs(double_of(static_cast<u64>(scaled) & mask) * unit - 0.5);
      r.margin = std::max(r.margin, distance);
      r.squares += distance * distance;
      const u64 message = static_cast<u64>(scaled >> bits1);
      work.data()[i] = message & ~mask_of_equal(message, t);
    }
    // Levels of packing have doubled the coefficients; a slot's sum over its N/rho equals takes them times N/rho.
    const u64 times = arith::mul(ctx.parameters().entries() / rho, arith::inverse(u64{1} << o.levels, m), m);
    for (std::size_t v = 0; v < o.count; ++v) {
      std::size_t at = 0;
      for (unsigned b = 0; b < o.levels; ++b) at |= (v >> b & 1) << (o.levels - 1 - b);
      for (std::size_t i = 0; i < rho; ++i) sums.data()[i] = arith::mul(work.data()[i * (n / rho) + at], times, m);
      ntt(sums.data(), sums.data(), *tiny);
      for (std::size_t i = 0; i < rho; ++i) {
        const u64 sum = sums.data()[index[i]];
        if (i < plan.powers())
          r.sums[i * plan.values() + o.first + v] = static_cast<u32>(sum);
        else
          beyond |= sum;
      }
    }
  }
  if (declassified(beyond != 0))
    throw FormatError(
        "the digest does not decrypt to sums: it was altered, or its noise was too large; obtain it again");
  r.squares /= static_cast<double>(n * plan.outputs().size());
  return r;
}

}  // namespace ringforge::circuits
