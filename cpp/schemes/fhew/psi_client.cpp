// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The client of private set intersection: keys, queries, replies.
#include <cmath>

#include "psi_format.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::fhew {
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
  const std::size_t n = plan_.n(), each = (n * ring_->bits() + 7) / 8;
  const Seed seed = rng_.next_seed();
  const SecretSeed errors = rng_.next_seed();
  dst = put_header(dst, kPsiKeys, plan_);
  std::memcpy(dst, seed.data(), seed.size());
  dst += seed.size();
  const std::size_t jobs = plan_.expansion.size() + 2;
  std::vector<std::size_t> first(jobs, 0);
  for (std::size_t s = 0; s < plan_.expansion.size(); ++s) first[s + 1] = first[s] + plan_.expansion[s].count;
  first[jobs - 1] = plan_.key_rows() - 1;
  parallel_for(threads, jobs, [&](std::size_t job) {
    const std::size_t count = (job + 1 == jobs ? plan_.key_rows() : first[job + 1]) - first[job];
    SmallArray<u64> rows(count * 2 * n), message(n);
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
    message.wipe();
  });
}

void PsiClientKey::query(std::uint8_t* dst, const u32* cells, unsigned threads) {
  const std::size_t n = plan_.n(), each = (n * ring_->bits() + 7) / 8, packed = std::size_t{1} << plan_.stages();
  for (std::size_t i = 0; i < plan_.bins(); ++i)
    if (cells[i] >= plan_.cells())
      throw ValueError("cell " + std::to_string(cells[i]) + " of bin " + std::to_string(i) + "; a bin has " +
                       std::to_string(plan_.cells()));
  const Seed seed = rng_.next_seed();
  const SecretSeed errors = rng_.next_seed();
  dst = put_header(dst, kPsiRequest, plan_);
  std::memcpy(dst, seed.data(), seed.size());
  dst += seed.size();
  const u64 q = ring_->q();
  const u64 inverse = ring_->invert(static_cast<u64>(packed));
  const auto times = [&](u64 a, u64 b) { return static_cast<u64>(static_cast<unsigned __int128>(a) * b % q); };
  const u64 selector = times(
      static_cast<u64>(std::llround(std::ldexp(static_cast<double>(q), -static_cast<int>(plan_.log_t)))), inverse);
  const std::size_t selectors = plan_.onehot() ? std::size_t{1} << plan_.log_onehot : 0;
  const unsigned row_shift = plan_.rotation_bits(), tree = plan_.tree_bits();
  parallel_for(threads, plan_.groups() * plan_.outputs(), [&](std::size_t job) {
    const std::size_t group = job / plan_.outputs(), o = job % plan_.outputs();
    SmallArray<u64> message(n), row(2 * n);
    message.zero();
    for (std::size_t i = 0; i < packed; ++i) {
      const u32 cell = cells[group * packed + i], index = cell >> row_shift;
      if (o < selectors) {
        message.data()[i] = index >> tree == o ? selector : 0;
        continue;
      }
      // Bits: those of the tree, then those of the rotation.
      const std::size_t bit = (o - selectors) / plan_.gadget.count;
      const auto digit = static_cast<unsigned>((o - selectors) % plan_.gadget.count);
      const u32 value = bit < tree ? index >> bit & 1 : cell >> (bit - tree) & 1;
      message.data()[i] = value != 0 ? times(gadget_element(plan_.gadget, digit, q), inverse) : 0;
    }
    ring_->forward(message.data(), message.data());
    secret_.encrypt_row(row.data(), message.data(), seed, static_cast<u32>(job), errors);
    pack_bits(dst + job * each, row.data() + n, n, ring_->bits());
    message.wipe();
  });
}

void PsiClientKey::decode(std::uint16_t* words, std::span<const std::uint8_t> reply) const {
  decode(words, reply, nullptr);
}

double PsiClientKey::decode(std::uint16_t* words, std::span<const std::uint8_t> reply, double* squares) const {
  const std::size_t n = plan_.n(), each = (n * plan_.log_reply + 7) / 8;
  const std::uint8_t* src = check_header(reply, plan_.reply_bytes(), kPsiReply, plan_, "reply");
  const u64 modulus = u64{1} << plan_.log_reply;
  const u64 q = ring_->q();
  SmallArray<u64> a(n), b(n);
  const unsigned skipped = plan_.stages() - plan_.pack_stages();
  double worst = 0, sum = 0;
  for (std::size_t r = 0; r < plan_.replies(); ++r, src += 2 * each) {
    unpack_bits(a.data(), src, n, plan_.log_reply, modulus);
    unpack_bits(b.data(), src + each, n, plan_.log_reply, modulus);
    // a*z over the integers: its coefficients are below N*2^log_reply < q/2.
    ring_->forward(a.data(), a.data());
    ring_->kernels().mul(a.data(), a.data(), secret_.eval(), ring_->table());
    ring_->inverse(a.data(), a.data());
    const std::size_t group = r >> skipped, prefix = r & ((std::size_t{1} << skipped) - 1);
    for (std::size_t i = 0; i < std::size_t{1} << plan_.pack_stages(); ++i)
      for (std::size_t j = 0; j < plan_.cell_words(); ++j) {
        const std::size_t at = i + j * plan_.stride();
        const u64 as = a.data()[at] > q / 2 ? a.data()[at] - q : a.data()[at];  // modulo 2^64
        const u64 phase = (b.data()[at] - as) & (modulus - 1);
        const double scaled =
            std::ldexp(static_cast<double>(phase), static_cast<int>(plan_.log_t) - static_cast<int>(plan_.log_reply));
        const double word = std::nearbyint(scaled), off = std::abs(scaled - word);
        worst = std::max(worst, off);
        sum += off * off;
        const std::size_t bin = (group << plan_.stages()) + (i << skipped) + prefix;
        words[bin * plan_.cell_words() + j] =
            static_cast<std::uint16_t>(static_cast<u64>(word) & ((u64{1} << plan_.log_t) - 1));
      }
  }
  if (squares != nullptr) *squares = sum / static_cast<double>(plan_.bins() * plan_.cell_words());
  return worst;
}

}  // namespace ringforge::fhew
