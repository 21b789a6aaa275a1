// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/ltv/parts.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "crt.hpp"
#include "cyclotomic.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "unreduced.hpp"

namespace ringforge::ltv {
namespace {

/// Of windows, the top one takes what is left, and a carry.
void require_16_bits(const Parameters& params, u32 level) {
  const unsigned r = params.spec().window;
  bool fits = r <= 16;
  if (params.spec().gadget == Gadget::windows && r == 16) {
    const double below = 16.0 * static_cast<double>(params.digits(level) - 1);
    fits = std::exp2(params.log_q(params.limbs(level - 1)) - 1 - below) + 1 < 32767.5;
  }
  if (!fits)
    throw ParameterError("digits of " + std::to_string(r) + " bits at level " + std::to_string(level) +
                         " do not fit into words of 16: compute on cpu, or take parameters with a smaller window");
}

i64 offset_of(const Parameters& params) { return i64{1} << (params.spec().window - 1); }

}  // namespace

void require_padded(const Context& context) {
  if (context.ring().kind() != RingKind::padded)
    throw ParameterError("products that are not reduced are those of a padded ring, not of " + context.ring().name() +
                         ": compute on cpu, or take parameters with ring=\"padded\"");
}

void reduce_unreduced(std::span<Ciphertext> into, std::span<const u32> words, const Context& context,
                      unsigned threads) {
  require_padded(context);
  const std::size_t length = context.ring().transform_length(), limbs = into.empty() ? 0 : into[0].limbs();
  if (words.size() != into.size() * limbs * length)
    throw ShapeError(std::to_string(words.size()) + " words, where " + std::to_string(into.size()) +
                     " polynomials of " + std::to_string(limbs) + " limbs have " + std::to_string(length) +
                     " a limb: give whole transforms");
  const CyclotomicReduction reduction(context.ring().index());
  std::atomic<bool> canonical = true;
  parallel_for(threads, into.size() * limbs, [&](std::size_t at) {
    Coefficients& poly = into[at / limbs].poly;
    const kernels::Modulus& mod = poly.basis()[at % limbs].mod();
    const u32* from = words.data() + at * length;
    WordArray<u32> a(length + reduction.room_words());
    u32 most = 0;
    for (std::size_t k = 0; k < length; ++k) {
      a.data()[k] = from[k];
      most = std::max(most, from[k]);
    }
    if (most >= mod.q)
      canonical = false;
    else
      reduction.reduce(poly.limb(at % limbs), a.data(), length, a.data() + length, mod);
  });
  if (!canonical) throw ValueError("a word of a product is no residue modulo its prime: reduce it to [0, q)");
}

void check_for_key(const Context& context, const Ciphertext& c, u64 key_id, u32 level, u32 lag) {
  check(context, c);
  if (c.key_id != key_id) throw MismatchError("the evaluation key is of another secret key than the ciphertext's");
  const std::size_t limbs = context.params().limbs(level - 1);
  if (c.level + 1 != level || c.lag != lag || c.limbs() != limbs)
    throw LevelError("a ciphertext of level " + std::to_string(c.level) + " over " + std::to_string(c.lag) +
                     " levels with " + std::to_string(c.limbs()) +
                     " limbs needs its level's limbs, and the key of level " + std::to_string(c.level + 1) +
                     " with that lag; loaded is that of level " + std::to_string(level) + " with lag " +
                     std::to_string(lag));
}

void shifted_digits(std::span<std::uint16_t> dst, const Context& context, const Ciphertext& c, unsigned threads) {
  check(context, c);
  require_padded(context);
  const Parameters& params = context.params();
  const std::size_t digits = params.digits(c.level + 1);
  require_16_bits(params, c.level + 1);
  if (c.limbs() != params.limbs(c.level))
    throw LevelError("a ciphertext of level " + std::to_string(c.level) + " has " + std::to_string(c.limbs()) +
                     " limbs, where that level has " + std::to_string(params.limbs(c.level)) + ": mod_switch it first");
  if (dst.size() != digits * params.degree())
    throw ShapeError(std::to_string(dst.size()) + " words for " + std::to_string(digits) + " digits of " +
                     std::to_string(params.degree()));
  cut(dst, c.poly, params, digits, offset_of(params), threads);
}

KeyParts::KeyParts(ContextPtr context, const EvalKey& key, unsigned threads)
    : ctx_(std::move(context)), key_id_(key.key_id), level_(key.level), lag_(key.lag), digits_(key.digits.size()) {
  check(*ctx_, key);
  require_padded(*ctx_);
  require_16_bits(ctx_->params(), level_);
  const std::size_t n = ctx_->params().degree(), length = ctx_->ring().transform_length();
  share_ = Coefficients(ctx_->basis(ctx_->params().limbs(level_ - 1)));
  parallel_for(threads, share_.limbs(), [&](std::size_t i) {
    const auto& kernels = kernels::active32();
    const PrimeOf<u32>& prime = share_.basis()[i];
    WordArray<u32> sum(length), ones(length);
    std::copy_n(key.digits[0].limb(i), length, sum.data());
    for (std::size_t d = 1; d < digits_; ++d)
      kernels.add(sum.data(), sum.data(), key.digits[d].limb(i), length, prime.mod());
    std::fill_n(ones.data(), n, static_cast<u32>(offset() % prime.value()));
    ntt(ones.data(), ones.data(), prime);
    kernels.mul(sum.data(), sum.data(), ones.data(), length, prime.mod());
    intt(share_.limb(i), sum.data(), prime);
  });
}

void KeyParts::check_input(const Ciphertext& c) const { check_for_key(*ctx_, c, key_id_, level_, lag_); }

void KeyParts::digits(std::span<std::uint16_t> dst, const Ciphertext& c, unsigned threads) const {
  check_input(c);
  shifted_digits(dst, *ctx_, c, threads);
}

Ciphertext KeyParts::assemble(const Ciphertext& c, std::span<const u32> sums, unsigned threads) const {
  check_input(c);
  Ciphertext result{
      Coefficients(c.poly.basis()), key_id_, level_, 1, ctx_->rules().relinearized(c.noise, level_, c.degree), 0};
  reduce_unreduced({&result, 1}, sums, *ctx_, threads);
  sub(result.poly, result.poly, share_);
  return result;
}

}  // namespace ringforge::ltv
