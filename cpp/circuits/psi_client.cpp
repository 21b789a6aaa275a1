// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The client of private set intersection: keys, queries, replies. The cells asked for, the key, and what comes back
// are secret: no branch, no address and no division here depends on them (cpp/tests/constant_time checks it).
#include <cmath>

#include "psi_format.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::circuits {

using namespace fhew;
namespace {

PsiPlan checked(PsiPlan plan) {
  plan.check();
  return plan;
}

}  // namespace

PsiClientKey::PsiClientKey(PsiPlan plan, Randomness& rng)
    : plan_(checked(std::move(plan))),
      ring_(SmallRing<u64>::get(plan_.modulus, plan_.log_n)),
      rng_(rng),
      secret_(ring_, rng_) {}

void PsiClientKey::evaluation_keys(std::uint8_t* dst, unsigned threads) {
  const std::size_t n = plan_.n(), each = packed_bytes(n, ring_->bits());
  const Seed seed = rng_.next_public_seed();
  const SecretSeed errors = rng_.next_seed();
  const std::span record(dst, plan_.key_bytes());
  dst = io::begin_record(record, kPsiKeysType, plan_.hash());
  std::memcpy(dst, seed.data(), seed.size());
  dst += seed.size();
  const std::size_t jobs = plan_.expansion.size() + 2;
  std::vector<std::size_t> first(jobs, 0);
  for (std::size_t s = 0; s < plan_.expansion.size(); ++s) first[s + 1] = first[s] + plan_.expansion[s].count;
  first[jobs - 1] = plan_.key_rows() - 1;
  parallel_for(threads, jobs, [&](std::size_t job) {
    const std::size_t count = (job + 1 == jobs ? plan_.key_rows() : first[job + 1]) - first[job];
    SecretArray<u64> rows(count * 2 * n), message(n);
    const auto index = static_cast<u32>(first[job]);
    if (job < plan_.expansion.size()) {
      encrypt_substitution_key(rows.data(), secret_, (n >> job) + 1, plan_.expansion[job], seed, index, errors);
    } else if (job + 1 == jobs) {
      secret_.encrypt_row(rows.data(), nullptr, seed, index, errors);
    } else if (plan_.onehot()) {
      ring_->kernels().mul(message.data(), secret_.eval(), secret_.eval(), ring_->table());
      encrypt_rlwe_prime(rows.data(), secret_, message.data(), plan_.reconstruction, seed, index, errors);
    } else {
      ring_->kernels().mul_scalar(message.data(), secret_.eval(), ring_->q() - 1, ring_->table());
      encrypt_rgsw(rows.data(), secret_, message.data(), plan_.gadget, plan_.gadget, seed, index, errors);
    }
    for (std::size_t r = 0; r < count; ++r)
      pack_bits(dst + (first[job] + r) * each, rows.data() + r * 2 * n + n, n, ring_->bits());
  });
  io::seal_record(record);
}

void PsiClientKey::query(std::uint8_t* dst, const u32* cells, unsigned threads) {
  const std::size_t n = plan_.n(), each = packed_bytes(n, ring_->bits()), packed = std::size_t{1} << plan_.stages();
  u32 beyond = 0;
  for (std::size_t i = 0; i < plan_.bins(); ++i) beyond |= cells[i] >> plan_.cell_bits;
  declassify(&beyond, sizeof(beyond));  // not zero: nothing is sent
  if (beyond != 0) throw ValueError("a cell is out of range: bins have " + std::to_string(plan_.cells()) + " cells");
  const Seed seed = rng_.next_public_seed();
  const SecretSeed errors = rng_.next_seed();
  const std::span record(dst, plan_.request_bytes());
  dst = io::begin_record(record, kPsiRequestType, plan_.hash());
  std::memcpy(dst, seed.data(), seed.size());
  dst += seed.size();
  const u64 q = ring_->q();
  const u64 inverse = ring_->invert(static_cast<u64>(packed));
  const auto times = [&](u64 a, u64 b) { return static_cast<u64>(static_cast<unsigned __int128>(a) * b % q); };
  const u64 selector = times(
      static_cast<u64>(std::llround(std::ldexp(static_cast<double>(q), -static_cast<int>(plan_.log_t)))), inverse);
  std::vector<u64> gadget;
  for (unsigned j = 0; j < plan_.gadget.count; ++j)
    gadget.push_back(times(gadget_element(plan_.gadget, j, q), inverse));
  const std::size_t selectors = plan_.onehot() ? std::size_t{1} << plan_.log_onehot : 0;
  const unsigned row_shift = plan_.rotation_bits(), tree = plan_.tree_bits();
  parallel_for(threads, plan_.groups() * plan_.outputs(), [&](std::size_t job) {
    const std::size_t o = job % plan_.outputs();
    const u32* cell = cells + job / plan_.outputs() * packed;
    SecretArray<u64> row(2 * n), message(n);
    message.zero();
    if (o < selectors) {
      for (std::size_t i = 0; i < packed; ++i)
        message.data()[i] = selector & mask_of_equal(cell[i] >> (row_shift + tree), o);
    } else {
      // Bits: those of the tree, then those of the rotation; for each the elements of the gadget.
      const auto bit = static_cast<unsigned>((o - selectors) / plan_.gadget.count);
      const u64 element = gadget[(o - selectors) % plan_.gadget.count];
      const unsigned shift = bit < tree ? row_shift + bit : bit - tree;
      for (std::size_t i = 0; i < packed; ++i) message.data()[i] = element & mask_of_bit(cell[i] >> shift);
    }
    ring_->forward(message.data(), message.data());
    secret_.encrypt_row(row.data(), message.data(), seed, static_cast<u32>(job), errors);
    pack_bits(dst + job * each, row.data() + n, n, ring_->bits());
  });
  io::seal_record(record);
}

template <class Take>
void PsiClientKey::phases(std::span<const std::uint8_t> reply, Take&& take) const {
  const std::size_t n = plan_.n(), each = packed_bytes(n, plan_.log_reply);
  const std::uint8_t* src = open_message(reply, plan_.reply_bytes(), kPsiReplyType, plan_);
  const u64 modulus = u64{1} << plan_.log_reply, q = ring_->q();
  WordArray<u64> b(n);
  SecretArray<u64> a(n);
  const unsigned skipped = plan_.stages() - plan_.pack_stages();
  for (std::size_t r = 0; r < plan_.replies(); ++r, src += 2 * each) {
    unpack_residues(a.data(), src, n, plan_.log_reply, modulus);
    unpack_residues(b.data(), src + each, n, plan_.log_reply, modulus);
    // a*z over the integers: its coefficients are below N*2^log_reply < q/2.
    ring_->forward(a.data(), a.data());
    ring_->kernels().mul(a.data(), a.data(), secret_.eval(), ring_->table());
    ring_->inverse(a.data(), a.data());
    const std::size_t group = r >> skipped, prefix = r & ((std::size_t{1} << skipped) - 1);
    for (std::size_t i = 0; i < std::size_t{1} << plan_.pack_stages(); ++i)
      for (std::size_t j = 0; j < plan_.cell_words(); ++j) {
        const std::size_t at = i + j * plan_.stride();
        const u64 negative = mask_of_bit((q / 2 - a.data()[at]) >> 63);
        const u64 as = a.data()[at] - (q & negative);  // modulo 2^64
        const std::size_t bin = (group << plan_.stages()) + (i << skipped) + prefix;
        take(bin * plan_.cell_words() + j, (b.data()[at] - as) & (modulus - 1));
      }
  }
}

void PsiClientKey::decode(std::uint16_t* words, std::span<const std::uint8_t> reply) const {
  const unsigned shift = plan_.log_reply - plan_.log_t;
  const u64 half = u64{1} << (shift - 1), mask = (u64{1} << plan_.log_t) - 1;
  phases(reply,
         [&](std::size_t at, u64 phase) { words[at] = static_cast<std::uint16_t>(((phase + half) >> shift) & mask); });
}

double PsiClientKey::decode(std::uint16_t* words, std::span<const std::uint8_t> reply, double* squares) const {
  decode(words, reply);
  const int shift = static_cast<int>(plan_.log_t) - static_cast<int>(plan_.log_reply);
  double worst = 0, sum = 0;
  phases(reply, [&](std::size_t, u64 phase) {
    const double scaled = std::ldexp(static_cast<double>(phase), shift),
                 off = std::abs(scaled - std::nearbyint(scaled));
    worst = std::max(worst, off);
    sum += off * off;
  });
  if (squares != nullptr) *squares = sum / static_cast<double>(plan_.bins() * plan_.cell_words());
  return worst;
}

}  // namespace ringforge::circuits
