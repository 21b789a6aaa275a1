// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The client of the polynomial protocol: its key, queries, replies. No branch and no address depends on elements, key
// or what comes back, but whether some residue is not below t.
#include <algorithm>
#include <cmath>

#include "psi_poly_format.hpp"
#include "ref/arith.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/error.hpp"
#include "ringforge/memory.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::circuits {

namespace {

/// x*y modulo t below 2^30, without branches.
u64 times(u64 x, u64 y, const kernels::Modulus& m) { return arith::reduce64(x * y, m); }

u64 power(u64 x, unsigned e, const kernels::Modulus& m) {
  u64 r = 1;
  for (; e != 0; e >>= 1, x = times(x, x, m))
    if (e & 1) r = times(r, x, m);
  return r;
}

}  // namespace

PsiPolyClientKey::PsiPolyClientKey(PsiPolyContextPtr context, Randomness rng)
    : context_(std::move(context)), client_(context_->bfv(), std::move(rng)), key_(client_.secret_key()) {}

std::vector<std::uint8_t> PsiPolyClientKey::evaluation_keys(unsigned threads) {
  const PsiPolyPlan& plan = context_->plan();
  const std::size_t n = plan.n();
  const bfv::RelinKey made = client_.relin_key(key_, plan.key_limbs(), threads);
  const rlwe::SwitchingKey& key = made.key();
  std::vector<std::uint8_t> out(plan.key_bytes());
  std::uint8_t* dst = io::begin_record(out, kPsiPolyKeysType, context_->hash());
  std::memcpy(dst, &key.key_id, sizeof(u64));
  std::memcpy(dst + sizeof(u64), key.seed.data(), sizeof(Seed));
  dst += kPsiPolyKeysHead;
  for (const Poly<Eval>& b : key.b)
    for (std::size_t j = 0; j < b.limbs(); ++j) {
      const unsigned bits = psi_poly_bits(b.basis()[j].value());
      pack_bits(dst, b.limb(j), n, bits);
      dst += packed_bytes(n, bits);
    }
  io::seal_record(out);
  return out;
}

std::vector<std::uint8_t> PsiPolyClientKey::query(const u32* felts, unsigned threads) {
  const PsiPolyPlan& plan = context_->plan();
  const std::size_t n = plan.n(), column = plan.column_bins() * plan.felts;
  const kernels::Modulus m = kernels::make_modulus(plan.t);
  u64 beyond = 0;  // the sign of t - 1 - x, of any
  for (std::size_t i = 0; i < plan.bins() * plan.felts; ++i) beyond |= (plan.t - 1 - felts[i]) >> 63;
  declassify(&beyond, sizeof(beyond));
  if (beyond != 0) throw ValueError("a residue of the query is not below t = " + std::to_string(plan.t));
  std::vector<std::uint8_t> out(plan.request_bytes());
  std::uint8_t* body = io::begin_record(out, kPsiPolyRequestType, context_->hash());
  const u64 id = key_.id();
  std::memcpy(body, &id, sizeof(id));
  body += sizeof(id);
  const std::size_t count = plan.sources.size();
  const std::size_t each = (plan.request_bytes() - io::record_bytes(kPsiPolyMessageHead)) / (plan.columns * count);
  std::vector<bfv::Plaintext> powers(plan.columns * count, bfv::Plaintext(plan.t, n));
  // However this ends, also by an error of the generator.
  struct Wiped {
    std::vector<bfv::Plaintext>& all;
    ~Wiped() {
      for (bfv::Plaintext& each : all) each.coefficients.wipe();
    }
  } wiped{powers};
  parallel_for(threads, powers.size(), [&](std::size_t job) {
    const u32* values = felts + job / count * column;
    SecretArray<u64> slots(n);
    slots.zero();
    for (std::size_t i = 0; i < column; ++i) slots.data()[i] = power(values[i], plan.sources[job % count], m);
    context_->bfv()->to_coefficients(powers[job].coefficients.data(), slots.data());
  });
  // One after the other: which seed is whose does not depend on threads.
  for (std::size_t job = 0; job < powers.size(); ++job) {
    const bfv::Ciphertext c = client_.encrypt(powers[job], key_);
    std::uint8_t* dst = body + job * each;
    std::memcpy(dst, c.seed->data(), sizeof(Seed));
    dst += sizeof(Seed);
    for (std::size_t i = 0; i < c.limbs(); ++i) {
      const unsigned bits = psi_poly_bits(plan.q[i]);
      pack_bits(dst, c.parts[0].limb(i), n, bits);
      dst += packed_bytes(n, bits);
    }
  }
  io::seal_record(out);
  return out;
}

// The phase is y0*2^drop + c1*s modulo 2^k. |c1*s| <= 2^(k-1)*N is below half of the special prime, so the product
// modulo that prime is the one over the integers.
void PsiPolyClientKey::decode(u32* values, std::span<const std::uint8_t> reply, unsigned threads,
                              double* margin) const {
  const PsiPolyPlan& plan = context_->plan();
  const bfv::Context& ctx = *context_->bfv();
  const std::size_t n = plan.n(), polys = plan.polys(), column = plan.column_bins() * plan.felts;
  const unsigned k = plan.reply_bits, low = k - plan.reply_drop;
  const std::size_t first = packed_bytes(n, low), each = first + packed_bytes(n, k);
  u64 id = 0;
  const std::uint8_t* body = open_poly_message(reply, plan.reply_bytes(), kPsiPolyReplyType, *context_, &id);
  if (id != key_.id()) throw MismatchError("the reply is for another client's request");
  const Prime& prime = ctx.gadget().p()[0];
  const u64 q = prime.value(), mask = (u64{1} << k) - 1, half = u64{1} << (k - 1);
  const u64* s = key_.eval().limb(ctx.gadget().q().size());
  std::vector<double> worst(plan.replies());
  parallel_for(threads, plan.replies(), [&](std::size_t r) {
    const std::uint8_t* src = body + r * each;
    SecretArray<u64> x(n), y(n);
    (void)unpack_bits(x.data(), src + first, n, k);
    for (std::size_t i = 0; i < n; ++i) {
      const u64 c = x.data()[i];
      // c - 2^k modulo q for the upper half.
      x.data()[i] = c + (mask_of_bit(c >> (k - 1)) & (q - (mask + 1)));
    }
    ntt(x.data(), x.data(), prime);
    kernels::active().mul(x.data(), x.data(), s, n, prime.mod());
    intt(x.data(), x.data(), prime);
    (void)unpack_bits(y.data(), src, n, low);
    double far = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const u64 c = x.data()[i];
      const u64 negative = 0 - static_cast<u64>((q / 2 - c) >> 63);
      const u64 phase = ((y.data()[i] << plan.reply_drop) + c - (negative & q)) & mask;
      const unsigned __int128 scaled = static_cast<unsigned __int128>(phase) * plan.t + half;
      if (margin != nullptr)
        far =
            std::max(far, std::fabs(static_cast<double>(static_cast<u64>(scaled) & mask) - static_cast<double>(half)));
      const u64 v = static_cast<u64>(scaled >> k);
      y.data()[i] = v - (mask_of_equal(v, plan.t) & plan.t);
    }
    worst[r] = far;
    ctx.to_slots(x.data(), y.data());
    const std::size_t poly = r % polys, bundle = r / polys % plan.bundles, at = r / polys / plan.bundles;
    u32* to = values + (bundle * polys + poly) * plan.bins() * plan.felts + at * column;
    for (std::size_t i = 0; i < column; ++i) to[i] = static_cast<u32>(x.data()[i]);
  });
  if (margin != nullptr) *margin = *std::max_element(worst.begin(), worst.end()) / static_cast<double>(2 * half);
}

}  // namespace ringforge::circuits
