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
  std::vector<u64> id{0x6f6d72636f6d7031ULL, log_n, t};
  id.insert(id.end(), q.begin(), q.end());
  id.insert(id.end(), p.begin(), p.end());
  return sha256(id.data(), id.size() * sizeof(u64));
}

namespace {

u64 reversed(u64 i, unsigned bits) {
  u64 r = 0;
  for (unsigned b = 0; b < bits; ++b) r |= (i >> b & 1) << (bits - 1 - b);
  return r;
}

/// A generator of the units modulo the prime of m.
u64 generator(const kernels::Modulus& m) {
  std::vector<u64> factors;
  u64 rest = m.q - 1;
  for (u64 f = 2; f * f <= rest; ++f)
    for (; rest % f == 0; rest /= f)
      if (factors.empty() || factors.back() != f) factors.push_back(f);
  if (rest > 1) factors.push_back(rest);
  u64 g = 2;
  while (std::any_of(factors.begin(), factors.end(), [&](u64 f) { return arith::pow(g, (m.q - 1) / f, m) == 1; })) ++g;
  return g;
}

}  // namespace

u64 compression_exponent(u64 root, u64 value, const kernels::Modulus& m) {
  u64 e = 1;
  for (u64 power = root; power != value; power = arith::mul(power, root, m)) ++e;
  return e;
}

CompressionContext::CompressionContext(CompressionParameters parameters) : parameters_(std::move(parameters)) {
  const auto& c = parameters_;
  if (c.log_n < 9 || c.log_n > 17)
    throw ParameterError("compression takes bulletins of 2^9 ... 2^17 entries, not 2^" + std::to_string(c.log_n));
  if (c.q.size() != 2 || c.p.size() != 2)
    throw ParameterError("compression works on two primes with two special ones, not " + std::to_string(c.q.size()) +
                         " with " + std::to_string(c.p.size()));
  const Ring ring = Ring::negacyclic(c.log_n), small = Ring::negacyclic(c.log_small());
  if (c.t >= (u64{1} << 21) || c.t % ring.index() != 1)
    throw ParameterError("the plaintext modulus " + std::to_string(c.t) + " must be a prime below 2^21 that is 1 mod " +
                         std::to_string(ring.index()));
  plain_ = Prime::get(c.t, ring);
  small_plain_ = Prime::get(c.t, small);
  for (const u64 q : c.q)
    if (q >> 52 != 0 || q <= 4 * c.t * c.t)
      throw ParameterError("the prime " + std::to_string(q) + " must be above " + std::to_string(4 * c.t * c.t) +
                           " and below 2^52");
  const rlwe::GadgetSpec spec{.limbs_per_digit = 2};
  big_ = std::make_shared<rlwe::Gadget>(Basis(ring, c.q), Basis(ring, c.p), spec);
  small_ = std::make_shared<rlwe::Gadget>(Basis(small, c.q), Basis(small, c.p), spec);
  // All keys are under s' or s'(X^4): samples of the small ring either way.
  const double bits = small_->all().log2(), limit = rlwe::max_log_qp(c.log_small());
  if (bits > limit && c.insecure.empty())
    throw ParameterError("keys of compression have " + std::to_string(bits) + " bits over degree 2^" +
                         std::to_string(c.log_small()) + ", at most " + std::to_string(limit) +
                         " are secure: take larger bulletins, or say why not in `insecure`");
  hash_ = c.hash();

  const std::size_t n = c.entries(), half = c.degree() / 2;
  index_of_.resize(n);
  for (u64 i = 0, e = 1; i < n / 2; ++i, e = e * 5 % ring.index()) {
    index_of_[i] = static_cast<u32>(reversed((e - 1) / 2, c.log_n));
    index_of_[n / 2 + i] = static_cast<u32>(reversed((ring.index() - e - 1) / 2, c.log_n));
  }
  for (std::size_t l = 0; l < 2; ++l) {
    const Prime& large = big_->q()[l];
    const u64 fourth = arith::pow(large.psi(), 4, large.mod());
    const u64 h = compression_exponent(small_->q()[l].psi(), fourth, large.mod());
    auto& index = small_index_of_.emplace_back(2 * half);
    for (u64 i = 0, e = h; i < half; ++i, e = e * 5 % small.index()) {
      index[i] = static_cast<u32>(reversed((e - 1) / 2, c.log_small()));
      index[half + i] = static_cast<u32>(reversed((small.index() - e - 1) / 2, c.log_small()));
    }
  }
  for (unsigned level = 0; level < pack_levels(); ++level) {
    Poly<Coeff> y(small_->q());
    y.zero();
    for (std::size_t l = 0; l < 2; ++l) y.limb(l)[std::size_t{1} << level] = 1;
    monomials_.push_back(to_eval(y));
  }
  const auto& m = plain_->mod();
  const u64 g = generator(m);
  exp_.resize(c.t - 1);
  log_.resize(n);
  u64 x = 1;
  for (u64 e = 0; e + 1 < c.t; ++e, x = arith::mul(x, g, m)) {
    exp_[e] = static_cast<u32>(x);
    if (x <= n) log_[x - 1] = e;
  }
}

CompressionPlan::CompressionPlan(CompressionContextPtr context, std::size_t messages, std::size_t words)
    : context_(std::move(context)), messages_(messages), words_(words) {
  const auto& c = context_->parameters();
  const std::size_t most = std::min(kMaxMessages, c.entries() / 16 - 2);
  if (messages < 1 || messages > most)
    throw ParameterError("k = " + std::to_string(messages) + " messages: a digest is for 1 ... " +
                         std::to_string(most));
  if (words > kMaxWords)
    throw ParameterError("payloads of " + std::to_string(words) + " words modulo t: at most " +
                         std::to_string(kMaxWords));
  // One sum more than exponents: it is 0, by which damage is seen.
  log_period_ = std::max(CompressionContext::kMinLogPeriod, static_cast<unsigned>(std::bit_width(messages + 1)));
  const std::size_t most_values = c.degree() >> log_period_;
  for (std::size_t first = 0; first < values(); first += most_values) {
    const std::size_t count = std::min(most_values, values() - first);
    const auto levels = static_cast<unsigned>(std::bit_width(count - 1));
    const std::size_t unit = std::size_t{1} << std::min(levels, kLogUnit);
    outputs_.push_back({first, count, levels, (count + unit - 1) / unit});
  }
  choose_bits();
  std::vector<u64> id{0x6f6d7264696731ULL, messages_, words_, c0_bits_, c1_bits_};
  for (const std::uint8_t byte : context_->hash()) id.push_back(byte);
  hash_ = sha256(id.data(), id.size() * sizeof(u64));
}

namespace {

/// Variance of the rounding of both halves of a ciphertext under s' or s'(X^4): 1/12 each, that of c1 times the secret.
double rounding(std::size_t degree) { return (1 + 2.0 * static_cast<double>(degree) / 3) / 12; }

/// log2 of the probability that one of `count` Gaussians exceeds `sigmas` standard deviations, at most.
double tail_log2(double sigmas, double count) {
  if (sigmas <= 0) return 0;
  return std::min(0.0, std::log2(2 * count) - sigmas * sigmas / 2 * std::numbers::log2e);
}

}  // namespace

CompressionPlan::Noise CompressionPlan::noise(double variance) const {
  const auto& c = context_->parameters();
  const double n = static_cast<double>(c.degree()), large = static_cast<double>(c.entries());
  const double t = static_cast<double>(c.t), rho = static_cast<double>(period());
  const double moved = context_->big()->switch_variance(2) + rounding(c.degree());
  const double turned = context_->small()->switch_variance(2) + rounding(c.degree());
  const double product = large * t * t / 12;  // of a plaintext of N coefficients that are uniform
  Noise r;
  r.switched = variance + moved;
  r.power = product * (r.switched + (rho / 4) * moved);  // b < rho/2 rotations, and the exchange in half the cases
  r.value = rho * product * r.power;
  unsigned levels = 0;
  for (const Output& o : outputs_) levels = std::max(levels, o.levels);
  r.packed = std::exp2(2.0 * levels) * (r.value + turned / 3);
  r.limb = r.packed * std::exp2(-2 * std::log2(static_cast<double>(c.q[1]))) + rounding(c.degree());
  // In parts of 1/t: what the limb holds, the rounding of c1, and that of c0, which is uniform.
  const double part = t / static_cast<double>(c.q[0]);
  const double c1 = r.limb * part * part + n / 18 * std::exp2(2 * (std::log2(t) - c1_bits_));
  const double step = t * std::exp2(-static_cast<double>(c0_bits_));
  r.digest = c1 + step * step / 12;
  r.failure_log2 = tail_log2((0.5 - step / 2) / std::sqrt(c1), n * static_cast<double>(outputs_.size()));
  return r;
}

void CompressionPlan::choose_bits() {
  // The fewest bits with which decryption fails with a probability of at most 2^-64, u's error being that of a
  // ciphertext whose modulus was just switched to two limbs; among equals those with the lowest probability.
  const double switched = (1 + 2.0 * static_cast<double>(context_->parameters().entries()) / 3) / 6;
  unsigned fewest = 2 * 48 + 1;
  double best = 0;
  unsigned zero_bits = 0, one_bits = 0;
  for (unsigned one = context_->parameters().log_small(); one <= 48; ++one)
    for (unsigned zero = 1; zero <= one; ++zero) {
      c0_bits_ = zero;
      c1_bits_ = one;
      const double failure = noise(switched).failure_log2;
      if (failure > -64 || zero + one > fewest || (zero + one == fewest && failure >= best)) continue;
      fewest = zero + one;
      best = failure;
      zero_bits = zero;
      one_bits = one;
    }
  if (fewest > 2 * 48)
    throw ParameterError("k = " + std::to_string(messages_) +
                         " messages leave no room for noise in two limbs: ask for fewer, in a window of the board");
  c0_bits_ = zero_bits;
  c1_bits_ = one_bits;
}

std::size_t CompressionPlan::units() const noexcept {
  std::size_t all = 0;
  for (const Output& o : outputs_) all += o.units;
  return all;
}

CompressionPlan::Unit CompressionPlan::unit(std::size_t number) const noexcept {
  std::size_t i = 0;
  for (; number >= outputs_[i].units; ++i) number -= outputs_[i].units;
  const std::size_t size = std::size_t{1} << std::min(outputs_[i].levels, kLogUnit);
  return {i, number * size, std::min(size, outputs_[i].count - number * size)};
}

CompressionPlan::Shard CompressionPlan::shard(std::size_t index, std::size_t count) const {
  if (count < 1 || count > units() || index >= count)
    throw ParameterError("shard " + std::to_string(index) + " of " + std::to_string(count) + ": there are 1 ... " +
                         std::to_string(units()) + " shards, numbered from 0");
  const std::size_t first = units() * index / count;
  return {first, units() * (index + 1) / count - first};
}

namespace {

/// Of maps with two limbs and two special primes: one digit.
OpCounts maps(std::size_t count, const rlwe::Gadget& gadget) {
  return {.ntt = 6 * count,
          .intt = 6 * count,
          .mod_up = count,
          .mod_down = 2 * count,
          .key_switch = count,
          .rotation = count,
          .key_bytes = count * gadget.key_bytes(2)};
}

/// Nodes of a tree over so many leaves, `from` levels above them, `levels` levels.
std::size_t nodes(std::size_t leaves, unsigned from, unsigned levels) {
  std::size_t all = 0;
  for (unsigned i = 0; i < levels; ++i) all += (leaves + (std::size_t{2} << (from + i)) - 1) >> (from + i + 1);
  return all;
}

}  // namespace

OpCounts CompressionPlan::prepare_counts() const {
  const std::size_t rho = period();
  OpCounts r = maps(rho, *context_->big());  // rho - 1 rotations and exchanges, and the key switch, which is none
  r.rotation -= 1;
  return r += {.ntt = 2 * rho,
               .intt = rho,
               .plain_mul = rho,
               .plaintext_bytes = 2 * rho * context_->parameters().entries() * sizeof(u64)};
}

OpCounts CompressionPlan::part_counts(Shard shard) const {
  OpCounts r;
  for (std::size_t i = shard.first; i < shard.first + shard.count; ++i) {
    const Unit u = unit(i);
    const std::size_t encoded = u.count - (outputs_[u.output].first + u.first == 0 ? 1 : 0);  // value 0 is 1
    r += {.ntt = 2 * encoded,
          .intt = encoded,
          .plain_mul = u.count * period(),
          .plaintext_bytes = 2 * u.count * period() * context_->parameters().entries() * sizeof(u64)};
    r += maps(nodes(u.count, 0, std::min(outputs_[u.output].levels, kLogUnit)), *context_->small());
  }
  return r;
}

OpCounts CompressionPlan::finish_counts() const {
  OpCounts r;
  for (const Output& o : outputs_) {
    const unsigned done = std::min(o.levels, kLogUnit);
    r += maps(nodes(o.units, 0, o.levels - done), *context_->small());
    r += {.ntt = 2, .intt = 4, .mod_down = 2};
  }
  return r;
}

std::size_t CompressionPlan::digest_bytes() const noexcept {
  const std::size_t n = context_->parameters().degree();
  return io::record_bytes(kDigestHead + outputs_.size() * (packed_bytes(n, c0_bits_) + packed_bytes(n, c1_bits_)));
}

std::size_t CompressionPlan::memory(unsigned threads) const noexcept {
  const std::size_t n = context_->parameters().entries(), unit = std::size_t{1} << kLogUnit;
  const std::size_t each = 2 * unit * (n + period()) + 4 * unit * n / 4 + unit * n + 2 * n;
  return (4 * period() * n + units() * n + std::max(threads, 1u) * each) * sizeof(u64);
}

}  // namespace ringforge::circuits
