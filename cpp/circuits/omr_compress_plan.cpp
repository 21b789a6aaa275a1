// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Parameters and slots of compression; plans: rows, counts, noise.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <string>

#include "omr_compress_format.hpp"
#include "ref/arith.hpp"
#include "ringforge/error.hpp"
#include "ringforge/packing.hpp"
#include "ringforge/rlwe/security.hpp"

namespace ringforge::circuits {

Hash CompressionParameters::hash() const {
  std::vector<u64> id{0x6f6d72636f6d7031ULL, log_n, t, log_babies};
  id.insert(id.end(), q.begin(), q.end());
  id.insert(id.end(), p.begin(), p.end());
  return sha256(id.data(), id.size() * sizeof(u64));
}

CompressionContext::CompressionContext(CompressionParameters parameters) : parameters_(std::move(parameters)) {
  const auto& c = parameters_;
  if (c.log_n < 8 || c.log_n > 17)
    throw ParameterError("compression takes bulletins of 2^8 ... 2^17 entries, not 2^" + std::to_string(c.log_n));
  if (c.q.size() != 2 || c.p.size() != 2)
    throw ParameterError("compression works on two primes with two special ones, not " + std::to_string(c.q.size()) +
                         " with " + std::to_string(c.p.size()));
  if (c.log_babies < 1 || c.log_babies + 2 > c.log_small())
    throw ParameterError("2^" + std::to_string(c.log_babies) + " baby steps: there must be 2 ... 2^" +
                         std::to_string(c.log_small() - 2) + " for rows of 2^" + std::to_string(c.log_small() - 1));
  const Ring ring = Ring::negacyclic(c.log_n), small = Ring::negacyclic(c.log_small());
  // The kernel of fibres takes q < 2^21; rounding a digest, 4t^2 < q.
  if (c.t >= (u64{1} << 21) || c.t % ring.index() != 1)
    throw ParameterError("the plaintext modulus " + std::to_string(c.t) + " must be a prime below 2^21 that is 1 mod " +
                         std::to_string(ring.index()));
  plain_ = Prime::get(c.t, small);
  for (const u64 q : c.q)
    if (q <= 4 * c.t * c.t)
      throw ParameterError("the prime " + std::to_string(q) + " is too small for plaintexts modulo " +
                           std::to_string(c.t) + ": take one above " + std::to_string(4 * c.t * c.t));
  const rlwe::GadgetSpec spec{.limbs_per_digit = 2};
  big_ = std::make_shared<rlwe::Gadget>(Basis(ring, c.q), Basis(ring, c.p), spec);
  small_ = std::make_shared<rlwe::Gadget>(Basis(small, c.q), Basis(small, c.p), spec);
  const double bits = small_->all().log2(), limit = rlwe::max_log_qp(c.log_small());
  if (bits > limit && c.insecure.empty())
    throw ParameterError("keys of compression have " + std::to_string(bits) + " bits over degree 2^" +
                         std::to_string(c.log_small()) + ", at most " + std::to_string(limit) +
                         " are secure: take larger bulletins, or say why not in `insecure`");
  hash_ = c.hash();

  const std::size_t n = c.degree(), row = c.row();
  giant_ = small.power(5, c.babies());
  const auto& m = plain_->mod();
  const u64 psi = Prime::get(c.t, ring)->psi();
  root_ = static_cast<u32>(arith::pow(psi, 2 * n, m));
  // Small slots stand for roots psi_small^e, entries for psi^E, psi^4 = psi_small^h: E*h = e modulo 2N'.
  const u64 fourth = arith::pow(psi, 4, m), small_psi = plain_->psi();
  u64 h = 1;
  for (u64 power = small_psi; power != fourth; power = arith::mul(power, small_psi, m)) ++h;
  const u64 unit = small.inverse(h % small.index());
  std::vector<u32> entry_at(ring.index());  // by exponent
  for (u64 i = 0, e = 1; i < 2 * n; ++i, e = e * 5 % ring.index()) {
    entry_at[e] = static_cast<u32>(i);
    entry_at[ring.index() - e] = static_cast<u32>(2 * n + i);
  }
  entry_.resize(4 * n);
  twist_.resize(3 * n);
  std::vector<u32> slot_at(small.index());
  for (u64 i = 0, e = 1; i < row; ++i, e = e * 5 % small.index()) {
    slot_at[e] = static_cast<u32>(i);
    slot_at[small.index() - e] = static_cast<u32>(row + i);
    for (const u64 at : {e, small.index() - e}) {
      const std::size_t slot = slot_at[at];
      const u64 exponent = at * unit % small.index();
      for (std::size_t k = 0; k < 4; ++k) entry_[k * n + slot] = entry_at[exponent + k * small.index()];
      const u64 zeta = arith::pow(psi, exponent, m);
      u64 power = 1;
      for (std::size_t k = 0; k < 3; ++k) {
        power = arith::mul(power, zeta, m);
        twist_[k * n + slot] = static_cast<u32>(power);
      }
    }
  }
  slot_of_.resize(n);
  for (u64 i = 0; i < n; ++i) {
    u64 reversed = 0;
    for (unsigned b = 0; b < c.log_small(); ++b) reversed |= (i >> b & 1) << (c.log_small() - 1 - b);
    slot_of_[i] = slot_at[2 * reversed + 1];
  }
}

CompressionPlan::CompressionPlan(CompressionContextPtr context, std::size_t messages, std::size_t words)
    : context_(std::move(context)), messages_(messages), words_(words) {
  const auto& c = context_->parameters();
  const std::size_t most = std::min(kMaxMessages, c.entries());
  if (messages < 1 || messages > most)
    throw ParameterError("k = " + std::to_string(messages) + " messages: a digest is for 1 ... " +
                         std::to_string(most));
  if (words > kMaxWords)
    throw ParameterError("payloads of " + std::to_string(words) + " words modulo t: at most " +
                         std::to_string(kMaxWords));
  if (rows() > kMaxRows)
    throw ParameterError(std::to_string(rows()) + " rows for " + std::to_string(messages) + " messages of " +
                         std::to_string(words) + " words: at most " + std::to_string(kMaxRows) +
                         "; ask for fewer messages, in a window of the board");
  const std::size_t slots = c.degree();
  for (std::size_t first = 0; first < rows(); first += slots) {
    Output o{.first = first, .rows = std::min(slots, rows() - first)};
    const bool folds = o.rows <= c.row();
    o.period = folds ? std::max(c.babies(), std::bit_ceil(o.rows)) : slots;
    o.signs = folds ? 1 : 2;
    o.giants = (folds ? o.period : c.row()) / c.babies();
    outputs_.push_back(o);
  }
  choose_bits();
  std::vector<u64> id{0x6f6d7264696731ULL, messages_, words_, c0_bits_, c1_bits_};
  for (const std::uint8_t byte : context_->hash()) id.push_back(byte);
  hash_ = sha256(id.data(), id.size() * sizeof(u64));
}

namespace {

/// Variance of the rounding of both halves of a ciphertext: 1/12 each, that of c1 times a ternary secret.
double rounding(std::size_t degree) { return (1 + 2.0 * static_cast<double>(degree) / 3) / 12; }

/// log2 of the probability that one of `count` Gaussians exceeds `sigmas` standard deviations, at most.
double tail_log2(double sigmas, double count) {
  if (sigmas <= 0) return 0;
  return std::min(0.0, std::log2(2 * count) - sigmas * sigmas / 2 * std::numbers::log2e);
}

}  // namespace

CompressionPlan::Noise CompressionPlan::noise(double variance) const {
  const auto& c = context_->parameters();
  const double n = static_cast<double>(c.degree()), t = static_cast<double>(c.t);
  const double switched = context_->small()->switch_variance(2) + rounding(c.degree());
  Noise r;
  r.split = variance + context_->big()->switch_variance(2) + rounding(c.degree());
  r.baby = r.split + (static_cast<double>(c.babies()) - 1) * switched;
  // Each row sums the N entries' diagonals; those of one output are N'*t^2/12 in square.
  const double terms = static_cast<double>(c.entries()), middle = (r.split + r.baby) / 2;
  const double rotations = static_cast<double>(c.row() / c.babies());
  r.sum = terms * n * t * t / 12 * middle + 2 * (rotations + 1) * switched;
  const double last = std::exp2(2 * std::log2(static_cast<double>(c.q[1])));
  r.limb = r.sum / last + rounding(c.degree());
  // In parts of 1/t: what the limb holds, the rounding of c1, that of c0, which is uniform.
  const double limb_part = t / static_cast<double>(c.q[0]);
  const double c1 = r.limb * limb_part * limb_part + 2 * n / 3 / 12 * std::exp2(2.0 * (std::log2(t) - c1_bits_));
  const double c0_step = t * std::exp2(-static_cast<double>(c0_bits_));
  r.digest = c1 + c0_step * c0_step / 12;
  r.failure_log2 = tail_log2((0.5 - c0_step / 2) / std::sqrt(c1), n * static_cast<double>(outputs_.size()));
  return r;
}

void CompressionPlan::choose_bits() {
  // The fewest bits with which the roundings make decryption fail with a probability of at most 2^-64; among equals
  // those with the largest margin. What comes before has 2^19 times less noise in a limb.
  const auto& c = context_->parameters();
  const double n = static_cast<double>(c.degree()), t = static_cast<double>(c.t);
  unsigned fewest = 2 * 48 + 1;
  double margin = 0;
  for (unsigned one = c.log_small(); one <= 48; ++one)
    for (unsigned zero = 1; zero <= one; ++zero) {
      const double deviation = std::sqrt(n / 18) * t * std::exp2(-static_cast<double>(one));
      const double sigmas = (0.5 - t * std::exp2(-1.0 - zero)) / deviation;
      if (tail_log2(sigmas, n * static_cast<double>(outputs_.size())) > -64) continue;
      if (zero + one > fewest || (zero + one == fewest && sigmas <= margin)) continue;
      fewest = zero + one;
      margin = sigmas;
      c0_bits_ = zero;
      c1_bits_ = one;
    }
}

std::size_t CompressionPlan::giants() const noexcept {
  std::size_t all = 0;
  for (const Output& o : outputs_) all += o.giants;
  return all;
}

CompressionPlan::Shard CompressionPlan::shard(std::size_t index, std::size_t count) const {
  if (count < 1 || count > giants() || index >= count)
    throw ParameterError("shard " + std::to_string(index) + " of " + std::to_string(count) + ": there are 1 ... " +
                         std::to_string(giants()) + " shards, numbered from 0");
  const std::size_t first = giants() * index / count;
  return {first, giants() * (index + 1) / count - first};
}

std::vector<CompressionPlan::Piece> CompressionPlan::pieces(Shard shard) const {
  std::vector<Piece> all;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < outputs_.size(); begin += outputs_[i++].giants) {
    const std::size_t from = std::max(shard.first, begin);
    const std::size_t to = std::min(shard.first + shard.count, begin + outputs_[i].giants);
    if (from < to) all.push_back({i, from - begin, to - from});
  }
  return all;
}

std::size_t CompressionPlan::diagonals(Shard shard) const {
  std::size_t all = 0;
  for (const Piece& p : pieces(shard)) all += 4 * context_->parameters().babies() * outputs_[p.output].signs * p.count;
  return all;
}

namespace {

/// Of key switches with two limbs and two special primes: one digit.
OpCounts switches(std::size_t count, const rlwe::Gadget& gadget) {
  return {.ntt = 6 * count,
          .intt = 6 * count,
          .mod_up = count,
          .mod_down = 2 * count,
          .key_switch = count,
          .key_bytes = count * gadget.key_bytes(2)};
}

OpCounts rotations(std::size_t count, const rlwe::Gadget& gadget) {
  OpCounts r = switches(count, gadget);
  r.rotation = count;
  return r;
}

}  // namespace

OpCounts CompressionPlan::prepare_counts() const {
  OpCounts r = switches(1, *context_->big());
  r += {.ntt = 16, .intt = 4};  // two parts of two limbs, apart and back
  return r += rotations(4 * (context_->parameters().babies() - 1), *context_->small());
}

OpCounts CompressionPlan::part_counts(Shard shard) const {
  const std::size_t made = diagonals(shard);
  OpCounts r{.ntt = 2 * made,
             .intt = made,
             .plain_mul = made,
             .plaintext_bytes = 2 * made * context_->parameters().degree() * sizeof(u64)};
  for (const Piece& p : pieces(shard)) r += rotations(outputs_[p.output].signs * (p.count - 1), *context_->small());
  return r;
}

OpCounts CompressionPlan::finish_counts(std::span<const Shard> shards) const {
  std::size_t turns = 0;
  for (const Output& o : outputs_) turns += o.signs * o.giants + (repeats(o) - 1) * o.giants + 1;
  // All but the topmost piece of each output are rotated over.
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Piece top{i, 0, 0};
    for (const Shard& s : shards)
      for (const Piece& p : pieces(s))
        if (p.output == i && p.first >= top.first) top = p;
    turns -= outputs_[i].signs * top.count;
  }
  OpCounts r = rotations(turns, *context_->small());
  const std::size_t n = outputs_.size();
  return r += {.ntt = 2 * n, .intt = 4 * n, .mod_down = 2 * n};
}

std::size_t CompressionPlan::digest_bytes() const noexcept {
  const std::size_t n = context_->parameters().degree();
  return io::record_bytes(kDigestHead + outputs_.size() * (packed_bytes(n, c0_bits_) + packed_bytes(n, c1_bits_)));
}

std::size_t CompressionPlan::memory(unsigned threads) const noexcept {
  const auto& c = context_->parameters();
  const std::size_t n = c.degree(), pair = 4 * n * sizeof(u64);
  std::size_t sums = 0;
  for (const Output& o : outputs_) sums += o.signs * o.giants;
  const std::size_t inner = std::max(values(), powers()), outer = std::min(values(), powers());
  const std::size_t tables = c.entries() * inner + 8 * (c.row() + inner) * outer;
  return (4 * c.babies() + sums) * pair + tables * sizeof(u32) + threads * 10 * pair;
}

}  // namespace ringforge::circuits
