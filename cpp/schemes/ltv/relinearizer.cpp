// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Relinearisation of many ciphertexts by one key, over two primes of 50 bits.
#include <algorithm>
#include <cmath>

#include "crt.hpp"
#include "cyclotomic.hpp"
#include "ref/arith.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/ltv/batch.hpp"
#include "ringforge/threads.hpp"
#include "unreduced.hpp"

namespace ringforge::ltv {
namespace {

constexpr std::size_t kWide = 2;
/// Points of a tile: digits of all ciphertexts of a batch and a pair of groups of the key share the second-level cache.
constexpr std::size_t kTile = 128;
/// Digits of all ciphertexts that a reading of the key serves.
constexpr std::size_t kBatchDigits = 1280;

/// log2 of a bound on sums of products with a centred residue below `size` bits: `digits` products of polynomials, each
/// digit at most 2^window in size. In a tensor ring a product's coefficient is up to 2^4 sums.
double sum_bits(const Parameters& params, std::size_t digits, double size) {
  return std::log2(static_cast<double>(digits)) + std::log2(static_cast<double>(params.degree())) +
         static_cast<double>(params.spec().window) + size + (params.ring().kind() == RingKind::tensor ? 4 : 0);
}

/// Digits to [0, q).
void residues(u64* dst, std::span<const std::int32_t> src, u64 q) {
  for (std::size_t k = 0; k < src.size(); ++k) {
    const i64 x = src[k];
    dst[k] = static_cast<u64>(x) + (q & static_cast<u64>(x >> 63));
  }
}

/// At least so many words; what they held may be lost.
void fit(WordBuffer& words, std::size_t size) {
  if (words.size() >= size) return;
  words = {};  // before there is the next
  words = WordBuffer(size);
}

/// To the polynomial below X^length whose transform this is: nothing is reduced modulo Phi in a padded ring, where the
/// integers would grow beyond what two primes hold.
void inverse(u64* x, const PrimeOf<u64>& prime, const Ring& ring) {
  if (ring.kind() != RingKind::padded) return intt(x, x, prime);
  count({.intt = 1});
  kernels::active().ntt_inverse(x, x, prime.table());
}

/// Residues modulo two primes to the centred integer, below half their product in size, modulo a third.
struct Join {
  const kernels::Modulus &first, &second;
  kernels::Factor inverse;  // 1/first modulo second
  explicit Join(const BasisOf<u64>& wide)
      : first(wide[0].mod()),
        second(wide[1].mod()),
        inverse(kernels::make_factor(arith::inverse(arith::reduce64(first.q, second), second), second)) {}

  /// x = x0 + first*t with t centred: y gets t modulo `second`, borrow whether it is negative.
  void digits(u64* y, u64* borrow, const u64* x0, const u64* x1, std::size_t n) const {
    kernels::active().sub_mul_scalar(y, x1, x0, inverse, n, second);
    const u64 half = second.q / 2;
    for (std::size_t k = 0; k < n; ++k) borrow[k] = (half - y[k]) >> 63;
  }
  void residue(u64* dst, const u64* x0, const u64* y, const u64* borrow, std::size_t n,
               const kernels::Modulus& mod) const {
    const u64* const parts[2] = {x0, y};
    const u64 low = arith::reduce64(first.q, mod);
    const u64 weights[2] = {1, low};
    kernels::active().base_convert(dst, parts, weights, 2, kernels::kFastBits, borrow,
                                   arith::mul(low, arith::reduce64(second.q, mod), mod), n, mod);
  }
};

/// The integer behind residues modulo one or two primes of the key, centred.
struct Group {
  const PrimeOf<u32>* first;
  const PrimeOf<u32>* second;  // null: one prime
  void centred(i64* dst, const u32* x0, const u32* x1, std::size_t n) const {
    const auto p = static_cast<i64>(first->value());
    if (second == nullptr) {
      for (std::size_t k = 0; k < n; ++k) dst[k] = i64{x0[k]} - (x0[k] > p / 2 ? p : 0);
      return;
    }
    const kernels::Modulus& mod = second->mod();
    const auto q = static_cast<i64>(mod.q);
    const kernels::Factor inverse =
        kernels::make_factor(arith::inverse(arith::reduce64(static_cast<u64>(p), mod), mod), mod);
    const u64 shift = mod.q * (static_cast<u64>(p) / mod.q + 1);
    for (std::size_t k = 0; k < n; ++k) {
      const auto t = static_cast<i64>(arith::mul_factor(u64{x1[k]} + shift - x0[k], inverse, mod.q));
      dst[k] = i64{x0[k]} + p * (t - (t > q / 2 ? q : 0));
    }
  }
};

}  // namespace

Relinearizer::Relinearizer(ContextPtr context, unsigned threads)
    : ctx_(std::move(context)),
      threads_(threads),
      wide_(ctx_->ring(), primes_below(kernels::kFastBits, kWide, ctx_->ring().prime_step())),
      tile_(std::min(ctx_->ring().transform_length(), kTile)),
      row_(ctx_->ring().transform_length() + tile_) {}

Relinearizer::~Relinearizer() = default;

u32 Relinearizer::level() const {
  const std::lock_guard lock(mutex_);
  return level_;
}

void Relinearizer::load(const EvalKey& key) {
  check(*ctx_, key);
  std::size_t d = 0;
  load({key.key_id, key.level, key.lag, [&] { return key.digits[d++]; }, [] {}});
}

void Relinearizer::load(const Source& source) {
  const Parameters& params = ctx_->params();
  const std::size_t digits = params.digits(source.level), limbs = params.limbs(source.level - 1);
  if (source.lag >= source.level)
    throw LevelError("an evaluation key of level " + std::to_string(source.level) + " with lag " +
                     std::to_string(source.lag) + ": the other level would be above 0");
  const std::lock_guard lock(mutex_);
  level_ = 0;
  limbs_ = limbs;
  digits_ = digits;
  group_ = sum_bits(params, digits_, 61) < wide_.log2() - 1.5 ? 2 : 1;
  groups_ = (limbs_ + group_ - 1) / group_;
  fit(key_, kWide * ctx_->ring().transform_length() * groups_ * digits_);
  // While some digits are prepared, the next ones are read.
  const std::size_t most = 2 * std::max(threads_, 1U);
  std::vector<Poly<Eval, u32>> now, soon;
  const auto read = [&](std::size_t first) {
    soon.clear();
    for (std::size_t d = first; d < std::min(digits_, first + most); ++d) soon.push_back(source.next());
  };
  read(0);
  for (std::size_t first = 0; first < digits_; first += most) {
    std::swap(now, soon);
    parallel_for(threads_, now.size() + 1, [&](std::size_t at) {
      if (at == 0)
        read(first + most);
      else
        prepare(now[at - 1], first + at - 1);
    });
  }
  source.end();
  key_id_ = source.key_id;
  lag_ = source.lag;
  level_ = source.level;
}

/// Two primes' residues of a digit at a time go over to those modulo the two of 50 bits.
void Relinearizer::prepare(const Poly<Eval, u32>& digit, std::size_t d) {
  const std::size_t length = ctx_->ring().transform_length(), n = ctx_->params().degree(), tiles = length / tile_;
  const BasisOf<u32>& basis = digit.basis();
  WordArray<u32> x(n), y(n);
  WordBuffer whole(n), wide(length);
  auto* integers = reinterpret_cast<i64*>(whole.data());
  for (std::size_t g = 0; g < groups_; ++g) {
    const std::size_t i = g * group_;
    const bool both = group_ == 2 && i + 1 < limbs_;
    intt(x.data(), digit.limb(i), basis[i]);
    if (both) intt(y.data(), digit.limb(i + 1), basis[i + 1]);
    Group{&basis[i], both ? &basis[i + 1] : nullptr}.centred(integers, x.data(), y.data(), n);
    for (std::size_t a = 0; a < kWide; ++a) {
      kernels::active().reduce_signed(wide.data(), integers, n, wide_[a].mod());
      ntt(wide.data(), wide.data(), wide_[a]);
      for (std::size_t t = 0; t < tiles; ++t)
        std::copy_n(wide.data() + t * tile_, tile_,
                    key_.data() + (((a * tiles + t) * groups_ + g) * digits_ + d) * tile_);
    }
  }
}

void Relinearizer::check_input(const Ciphertext& c) const {
  if (level_ == 0) {
    check(*ctx_, c);
    throw LevelError("no evaluation key is loaded: load that of level " + std::to_string(c.level + 1));
  }
  check_for_key(*ctx_, c, key_id_, level_, lag_);
}

/// Transforms of all digits modulo one of the two primes.
void Relinearizer::transform(std::size_t count, std::size_t a, unsigned threads) {
  const PrimeOf<u64>& prime = wide_[a];
  parallel_for(threads, count * digits_, [&](std::size_t at) {
    u64* to = x_.data() + at * row_;
    residues(to, std::as_const(cut_[at / digits_])[at % digits_], prime.value());
    ntt(to, to, prime);
  });
}

/// Sums over digits, tile by tile: a pair of groups of the key meets the digits of all ciphertexts.
void Relinearizer::multiply(std::size_t count, std::size_t a, unsigned threads) {
  const std::size_t tiles = ctx_->ring().transform_length() / tile_;
  parallel_for(threads, tiles, [&](std::size_t t) {
    WordBuffer unused(tile_);
    std::vector<const u64*> digit(digits_), left(digits_), right(digits_);
    for (std::size_t g = 0; g < groups_; g += 2) {
      const bool both = g + 1 < groups_;
      for (std::size_t d = 0; d < digits_; ++d) {
        left[d] = key_.data() + (((a * tiles + t) * groups_ + g) * digits_ + d) * tile_;
        right[d] = both ? left[d] + digits_ * tile_ : left[d];
      }
      for (std::size_t b = 0; b < count; ++b) {
        for (std::size_t d = 0; d < digits_; ++d) digit[d] = x_.data() + (b * digits_ + d) * row_ + t * tile_;
        u64* out = sums_.data() + ((b * kWide + a) * groups_ + g) * row_ + t * tile_;
        kernels::active().dot2(out, both ? out + row_ : unused.data(), digit.data(), left.data(), right.data(), digits_,
                               false, tile_, wide_[a].mod());
      }
    }
  });
}

/// Back to coefficients, and to residues modulo the key's primes.
void Relinearizer::finish(std::span<Ciphertext> results, unsigned threads) {
  const Ring& ring = ctx_->ring();
  const std::size_t length = ring.transform_length();
  const bool padded = ring.kind() == RingKind::padded;
  const CyclotomicReduction reduction(padded ? ring.index() : 3);
  const Join join(wide_);
  parallel_for(threads, results.size() * groups_, [&](std::size_t at) {
    const std::size_t b = at / groups_, g = at % groups_;
    u64* x0 = sums_.data() + (b * kWide * groups_ + g) * row_;
    u64* x1 = x0 + groups_ * row_;
    inverse(x0, wide_[0], ring);
    inverse(x1, wide_[1], ring);
    WordBuffer y(length), borrow(length), residue(length);
    WordArray<u32> narrow(length + reduction.room_words());
    join.digits(y.data(), borrow.data(), x0, x1, length);
    Coefficients& poly = results[b].poly;
    for (std::size_t i = g * group_; i < std::min((g + 1) * group_, limbs_); ++i) {
      const kernels::Modulus& mod = poly.basis()[i].mod();
      join.residue(residue.data(), x0, y.data(), borrow.data(), length, mod);
      u32* to = padded ? narrow.data() : poly.limb(i);
      for (std::size_t k = 0; k < length; ++k) to[k] = static_cast<u32>(residue.data()[k]);
      if (padded) reduction.reduce(poly.limb(i), to, length, to + length, mod);
    }
  });
}

std::vector<Ciphertext> Relinearizer::relinearize(std::span<const Ciphertext* const> inputs, unsigned threads) {
  if (threads == 0) threads = threads_;
  const std::lock_guard lock(mutex_);
  for (const Ciphertext* c : inputs) check_input(*c);
  const std::size_t most =
      std::min(std::max<std::size_t>(1, kBatchDigits / std::max<std::size_t>(digits_, 1)), inputs.size());
  fit(x_, most * digits_ * row_);
  fit(sums_, most * kWide * groups_ * row_);
  if (cut_.size() < most) cut_.resize(most);
  std::vector<Ciphertext> results;
  results.reserve(inputs.size());
  for (std::size_t from = 0; from < inputs.size(); from += most) {
    const std::size_t now = std::min(most, inputs.size() - from);
    for (std::size_t b = 0; b < now; ++b) {
      const Ciphertext& c = *inputs[from + b];
      cut(cut_[b], c.poly, ctx_->params(), digits_, threads);
      results.push_back({Coefficients(c.poly.basis()), c.key_id, level_, 1,
                         ctx_->rules().relinearized(c.noise, level_, c.degree), 0});
    }
    for (std::size_t a = 0; a < kWide; ++a) {
      transform(now, a, threads);
      multiply(now, a, threads);
    }
    finish(std::span(results).subspan(from), threads);
    count({.key_switch = now, .key_bytes = 8 * kWide * ctx_->ring().transform_length() * groups_ * digits_});
  }
  return results;
}

}  // namespace ringforge::ltv
