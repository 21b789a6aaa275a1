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

namespace ringforge::ltv {
namespace {

constexpr std::size_t kWide = 2;
/// Points of a tile: rows of a key's pair of groups and of a ciphertext's digits share the second-level cache.
constexpr std::size_t kTile = 256;
/// Ciphertexts that a reading of the key serves.
constexpr std::size_t kBatch = 8;

/// log2 of a bound on sums of products with a centred residue below `size` bits: `digits` products of polynomials, each
/// digit at most 2^window in size. In a tensor ring a product's coefficient is up to 2^4 sums.
double sum_bits(const Parameters& params, std::size_t digits, double size) {
  return std::log2(static_cast<double>(digits)) + std::log2(static_cast<double>(params.degree())) +
         static_cast<double>(params.spec().window) + size + (params.ring().kind() == RingKind::tensor ? 4 : 0);
}

/// Signed words, below q in size, to [0, q).
void residues(u64* dst, const i64* src, std::size_t n, u64 q) {
  for (std::size_t k = 0; k < n; ++k) dst[k] = static_cast<u64>(src[k]) + (q & static_cast<u64>(src[k] >> 63));
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

PreparedKey::PreparedKey(ContextPtr context, EvalKey&& key, unsigned threads)
    : ctx_(std::move(context)), key_id_(key.key_id), level_(key.level), lag_(key.lag) {
  check(*ctx_, key);
  const Parameters& params = ctx_->params();
  const Ring& ring = ctx_->ring();
  limbs_ = params.limbs(level_ - 1);
  digits_ = key.digits.size();
  wide_ = BasisOf<u64>(ring, primes_below(kernels::kFastBits, kWide, ring.prime_step()));
  group_ = sum_bits(params, digits_, 61) < wide_.log2() - 1.5 ? 2 : 1;
  groups_ = (limbs_ + group_ - 1) / group_;
  const std::size_t length = ring.transform_length(), n = params.degree();
  tile_ = std::min(length, kTile);
  words_ = WordBuffer(kWide * length * groups_ * digits_);
  const BasisOf<u32> basis = ctx_->basis(limbs_);
  parallel_for(threads, digits_, [&](std::size_t d) {
    Poly<Eval, u32>& digit = key.digits[d];
    WordArray<u32> x(n), y(n);
    std::vector<i64> whole(n);
    WordBuffer wide(length);
    for (std::size_t g = 0; g < groups_; ++g) {
      const std::size_t i = group_start(g);
      const bool both = group_ == 2 && i + 1 < limbs_;
      intt(x.data(), digit.limb(i), basis[i]);
      if (both) intt(y.data(), digit.limb(i + 1), basis[i + 1]);
      const Group group{&basis[i], both ? &basis[i + 1] : nullptr};
      group.centred(whole.data(), x.data(), y.data(), n);
      for (std::size_t a = 0; a < kWide; ++a) {
        kernels::active().reduce_signed(wide.data(), whole.data(), n, wide_[a].mod());
        ntt(wide.data(), wide.data(), wide_[a]);
        for (std::size_t t = 0; t < length / tile_; ++t)
          std::copy_n(wide.data() + t * tile_, tile_,
                      words_.data() + (((a * (length / tile_) + t) * groups_ + g) * digits_ + d) * tile_);
      }
    }
    digit = {};
  });
}

std::vector<Ciphertext> BatchEvaluator::relinearize(std::span<const Ciphertext* const> inputs,
                                                    const PreparedKey& key) const {
  const Parameters& params = ctx_->params();
  if (!(key.ctx_->params() == params))
    throw MismatchError("the prepared key belongs to other parameters than the evaluator: prepare it in this context");
  for (const Ciphertext* c : inputs) {
    check(*ctx_, *c);
    if (c->key_id != key.key_id_)
      throw MismatchError("the evaluation key is of another secret key than the ciphertext's");
    if (c->level + 1 != key.level_ || c->lag != key.lag_ || c->limbs() != key.limbs_)
      throw LevelError("a ciphertext of level " + std::to_string(c->level) + " over " + std::to_string(c->lag) +
                       " levels with " + std::to_string(c->limbs()) + " limbs needs the evaluation key of level " +
                       std::to_string(c->level + 1) + " with that lag, and its level's limbs; this key is of level " +
                       std::to_string(key.level_) + " with lag " + std::to_string(key.lag_));
  }
  const Ring& ring = ctx_->ring();
  const std::size_t n = params.degree(), length = ring.transform_length(), tile = key.tile_, digits = key.digits_;
  const std::size_t groups = key.groups_, row = length + tile;  // rows are apart from each other in the caches
  const BasisOf<u32> basis = ctx_->basis(key.limbs_);
  const Join join(key.wide_);
  const bool padded = ring.kind() == RingKind::padded;
  const CyclotomicReduction reduction(padded ? ring.index() : 3);
  const std::size_t most = std::min(kBatch, inputs.size());
  // [ciphertext][prime of 50 bits][digit or group][point]
  WordBuffer x(most * kWide * digits * row), sums(most * kWide * groups * row);
  std::vector<Ciphertext> results;
  results.reserve(inputs.size());
  for (std::size_t from = 0; from < inputs.size(); from += most) {
    const std::size_t now = std::min(most, inputs.size() - from);
    for (std::size_t b = 0; b < now; ++b) {
      const Ciphertext& c = *inputs[from + b];
      const Digits cut = params.spec().gadget == Gadget::rns
                             ? residue_windows(c.poly, params.spec().window, threads_)
                             : Crt(basis).windows(c.poly, params.spec().window, digits, threads_);
      parallel_for(threads_, kWide * digits, [&](std::size_t at) {
        u64* to = x.data() + (b * kWide * digits + at) * row;
        const PrimeOf<u64>& prime = key.wide_[at / digits];
        residues(to, cut[at % digits].data(), n, prime.value());
        ntt(to, to, prime);
      });
      count({.key_switch = 1});
    }
    const std::size_t tiles = length / tile;
    parallel_for(threads_, kWide * tiles, [&](std::size_t at) {
      const std::size_t a = at / tiles, first = at % tiles * tile;
      WordBuffer unused(groups % 2 == 1 ? tile : 0);
      std::vector<const u64*> digit(digits), left(digits), right(digits);
      for (std::size_t g = 0; g < groups; g += 2) {
        const std::size_t other = std::min(g + 1, groups - 1);
        for (std::size_t d = 0; d < digits; ++d) {
          left[d] = key.words_.data() + ((at * groups + g) * digits + d) * tile;
          right[d] = key.words_.data() + ((at * groups + other) * digits + d) * tile;
        }
        for (std::size_t b = 0; b < now; ++b) {
          for (std::size_t d = 0; d < digits; ++d)
            digit[d] = x.data() + ((b * kWide + a) * digits + d) * row + first;
          u64* out = sums.data() + ((b * kWide + a) * groups + g) * row + first;
          kernels::active().dot2(out, other == g ? unused.data() : out + row, digit.data(), left.data(), right.data(),
                                 digits, false, tile, key.wide_[a].mod());
        }
      }
    });
    const std::size_t at_first = results.size();
    for (std::size_t b = 0; b < now; ++b) {
      const Ciphertext& c = *inputs[from + b];
      Ciphertext r;
      r.poly = Coefficients(basis);
      r.key_id = c.key_id;
      r.level = key.level_;
      r.noise = ctx_->rules().relinearized(c.noise, key.level_, c.degree);
      results.push_back(std::move(r));
    }
    parallel_for(threads_, now * groups, [&](std::size_t at) {
      const std::size_t b = at / groups, g = at % groups;
      u64* x0 = sums.data() + (b * kWide * groups + g) * row;
      u64* x1 = x0 + groups * row;
      inverse(x0, key.wide_[0], ring);
      inverse(x1, key.wide_[1], ring);
      WordBuffer y(length), borrow(length), residue(length);
      WordArray<u32> narrow(length + reduction.room_words());
      join.digits(y.data(), borrow.data(), x0, x1, length);
      Coefficients& poly = results[at_first + b].poly;
      for (std::size_t i = key.group_start(g); i < std::min(key.group_start(g + 1), key.limbs_); ++i) {
        const kernels::Modulus& mod = basis[i].mod();
        join.residue(residue.data(), x0, y.data(), borrow.data(), length, mod);
        u32* to = padded ? narrow.data() : poly.limb(i);
        for (std::size_t k = 0; k < length; ++k) to[k] = static_cast<u32>(residue.data()[k]);
        if (padded) reduction.reduce(poly.limb(i), to, length, to + length, mod);
      }
    });
  }
  return results;
}

}  // namespace ringforge::ltv
