// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/rlwe/switching.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "ringforge/traffic.hpp"
#include "scratch.hpp"

namespace ringforge::rlwe {

// ---- Digits ---------------------------------------------------------------------------------------

namespace {

void check_prefix(const Poly<Eval>& c, const Gadget& gadget) {
  if (c.limbs() < 1 || c.limbs() > gadget.q().size() || !(c.basis() == gadget.q().prefix(c.limbs())))
    throw MismatchError("key switching: the polynomial's primes are not the first ones of the gadget's Q");
}

Poly<Coeff> coefficients(const Poly<Eval>& c, unsigned threads) {
  Poly<Coeff> coeff(c.basis());
  parallel_for(threads, c.limbs(), [&](std::size_t i) { intt(coeff.limb(i), c.limb(i), c.basis()[i]); });
  return coeff;
}

}  // namespace

DigitSource::DigitSource(const Poly<Eval>& c, const Gadget& gadget, unsigned threads, Convert convert)
    : c_(c), gadget_(gadget) {
  check_prefix(c, gadget);
  if (gadget.spec().log_base > 0) throw ParameterError("base-B digits are not made limb by limb");
  const std::size_t limbs = c.limbs(), n = c.degree(), primes = gadget.q().size();
  digits_ = gadget.digits(limbs);
  count({.mod_up = 1});
  coeff_ = coefficients(c, threads);
  const std::size_t alpha = gadget.spec().limbs_per_digit;
  sources_.resize(digits_);
  for (std::size_t i = 0; i < limbs; ++i) sources_[i / alpha].push_back(coeff_.limb(i));
  if (convert == Convert::all) {
    lifted_.resize(digits_);
    for (std::size_t d = 0; d < digits_; ++d) {
      const std::size_t first = d * alpha, size = sources_[d].size();
      if (size == 1) continue;
      lifted_[d] = WordBuffer((gadget.extended(limbs).size() - size) * n);
      std::vector<u64*> targets(gadget.all().size());  // Q in full, then P
      u64* next = lifted_[d].data();
      for (std::size_t j = 0; j < targets.size(); ++j) {
        if ((first <= j && j < first + size) || (limbs <= j && j < primes)) continue;
        targets[j] = next;
        next += n;
      }
      gadget.converter(first, size).convert_all(targets, 0, sources_[d], threads);
    }
    return;
  }
  quotients_.resize(digits_);
  parallel_for(threads, digits_, [&](std::size_t d) {
    const std::size_t first = d * alpha, size = sources_[d].size();
    if (size == 1) return;
    const BaseConverter& converter = gadget.converter(first, size);
    for (std::size_t i = 0; i < size; ++i) converter.prepare_limb(coeff_.limb(first + i), i);
    quotients_[d] = WordBuffer(n);
    converter.quotient(quotients_[d].data(), sources_[d].data(), n);
  });
}

const u64* DigitSource::own(std::size_t d, std::size_t j) const noexcept {
  return j < c_.limbs() && j / gadget_.spec().limbs_per_digit == d ? c_.limb(j) : nullptr;
}

void DigitSource::limb(u64* dst, std::size_t d, std::size_t j) const noexcept {
  const std::size_t limbs = c_.limbs(), first = d * gadget_.spec().limbs_per_digit, size = sources_[d].size();
  const Prime& prime = gadget_.extended(limbs)[j];
  if (const u64* mine = own(d, j)) {
    std::memcpy(dst, mine, c_.length() * sizeof(u64));
  } else if (size == 1) {
    // Centred digits: values in [0, q_d) would have the mean q_d/2, which the few slots whose root lies
    // near 1 amplify by up to N*2/pi; centred ones err like noise in every slot.
    ntt_lift(dst, sources_[d][0], c_.basis()[first], prime);
  } else if (!lifted_.empty()) {
    ntt(dst, lifted_[d].data() + (j < first ? j : j - size) * c_.degree(), prime);
  } else {
    // Targets are numbered in the largest basis: Q in full, then P.
    gadget_.converter(first, size)
        .convert(dst, sources_[d].data(), quotients_[d].data(), j < limbs ? j : gadget_.q().size() + j - limbs);
    ntt(dst, dst, prime);
  }
}

Digits::Digits(const Poly<Eval>& c, const Gadget& gadget, unsigned threads) : limbs_(c.limbs()), spec_(gadget.spec()) {
  check_prefix(c, gadget);
  const std::size_t n = c.degree();
  const Basis& ext = gadget.extended(limbs_);
  const std::size_t k = ext.size();
  const unsigned log_base = gadget.spec().log_base;
  const auto& kern = kernels::active();
  const std::size_t count_digits = gadget.digits(limbs_);
  digits_.reserve(count_digits);
  for (std::size_t d = 0; d < count_digits; ++d) digits_.emplace_back(ext);
  // Coefficients out and in again, then every limb of every digit out.
  move_limbs(2 * limbs_, limbs_ + count_digits * k, n);

  if (log_base == 0) {
    const DigitSource source(c, gadget, threads, DigitSource::Convert::all);
    parallel_for(threads, count_digits * k,
                 [&](std::size_t w) { source.limb(digits_[w / k].limb(w % k), w / k, w % k); });
    return;
  }
  count({.mod_up = 1});
  const Poly<Coeff> coeff = coefficients(c, threads);
  std::vector<std::pair<std::size_t, unsigned>> part_of;
  for (std::size_t i = 0; i < limbs_; ++i)
    for (unsigned t = 0; t < gadget.parts(i); ++t) part_of.emplace_back(i, t * log_base);
  parallel_for(threads, count_digits * k, [&](std::size_t w) {
    const auto [limb, shift] = part_of[w / k];
    const bool top = shift / log_base + 1 == gadget.parts(limb);
    // Balanced digits: with half a base added at every lower position, the digits of the sum are the
    // digits of the centred value plus B/2; the top digit takes what is left.
    const u64 q = ext[limb].value(), mask = (u64{1} << log_base) - 1;
    const i64 half = i64{1} << (log_base - 1);
    i64 offset = 0;
    for (unsigned t = 0; t + 1 < gadget.parts(limb); ++t) offset += half << (t * log_base);
    const u64* src = coeff.limb(limb);
    auto* digit = reinterpret_cast<i64*>(scratch(n));
    for (std::size_t x = 0; x < n; ++x) {
      const i64 centred = static_cast<i64>(src[x]) - (src[x] > q / 2 ? static_cast<i64>(q) : 0);
      const i64 rest = (centred + offset) >> shift;
      digit[x] = top ? rest : static_cast<i64>(static_cast<u64>(rest) & mask) - half;
    }
    u64* dst = digits_[w / k].limb(w % k);
    kern.reduce_signed(dst, digit, n, ext[w % k].mod());
    ntt(dst, dst, ext[w % k]);
  });
}

std::vector<const u64*> Digits::at(std::size_t j) const {
  std::vector<const u64*> out;
  for (const auto& d : digits_) out.push_back(d.limb(j));
  return out;
}

// ---- products with keys ---------------------------------------------------------------------------

namespace {

/// The inner product at one target limb of the extended basis; x[d] is digit `at + d` there.
void product_at(u64* out0, u64* out1, std::span<const u64* const> x, std::size_t at, const SwitchingKey& key,
                const Prime& prime, std::size_t limbs, std::size_t j, std::size_t n, bool accumulate) {
  const std::size_t in_key = j < limbs ? j : key.limbs + j - limbs;
  std::array<const u64*, 64> y0, y1;
  for (std::size_t first = 0; first < x.size(); first += y0.size()) {
    const std::size_t now = std::min(x.size() - first, y0.size());
    for (std::size_t d = 0; d < now; ++d) {
      y0[d] = key.b[at + first + d].limb(in_key);
      y1[d] = key.a[at + first + d].limb(in_key);
    }
    kernels::active().dot2(out0, out1, x.data() + first, y0.data(), y1.data(), now, accumulate || first > 0, n,
                           prime.mod());
  }
}

}  // namespace

void key_product_at(u64* out0, u64* out1, std::span<const u64* const> digits, const SwitchingKey& key,
                    const Gadget& gadget, std::size_t limbs, std::size_t j) noexcept {
  product_at(out0, out1, digits, 0, key, gadget.extended(limbs)[j], limbs, j, gadget.q().ring().transform_length(),
             false);
}

namespace {

void check_digits(const Digits& digits, const Gadget& gadget) {
  const std::size_t limbs = digits.limbs();
  if (!(digits.spec() == gadget.spec()) || digits.polys().size() != gadget.digits(limbs) ||
      !(digits.polys()[0].basis() == gadget.extended(limbs)))
    throw MismatchError("the digits were cut for other parameters than the key's: make them with the same gadget");
}

void check_sums(const Poly<Eval>& u0, const Poly<Eval>& u1, const Basis& ext) {
  if (!(u0.basis() == ext) || !(u1.basis() == ext))
    throw MismatchError("key switching: the result must be over the extended basis of the polynomial's limbs");
}

}  // namespace

void key_product(Poly<Eval>& u0, Poly<Eval>& u1, const Digits& digits, const SwitchingKey& key, const Gadget& gadget,
                 bool accumulate, unsigned threads) {
  const std::size_t limbs = digits.limbs(), ext = gadget.extended(limbs).size();
  key.check(gadget, limbs);
  check_digits(digits, gadget);
  check_sums(u0, u1, gadget.extended(limbs));
  count({.key_switch = 1, .key_bytes = gadget.key_bytes(limbs)});
  move_limbs((digits.polys().size() + (accumulate ? 2 : 0)) * ext, 2 * ext, u0.length());
  parallel_for(threads, ext, [&](std::size_t j) {
    product_at(u0.limb(j), u1.limb(j), digits.at(j), 0, key, u0.basis()[j], limbs, j, u0.length(), accumulate);
  });
}

namespace {

/// The products of a polynomial's digits with a key, limb by limb.
class Products {
 public:
  /// Words of working memory in units of N.
  static constexpr std::size_t kAtOnce = 4;  // digits still in the second-level cache when their products are taken

  Products(const Poly<Eval>& c, const Digits* digits, const SwitchingKey& key, const Gadget& gadget, unsigned threads)
      : key_(key), ext_(gadget.extended(c.limbs())), limbs_(c.limbs()), n_(c.length()) {
    key.check(gadget, limbs_);
    if (digits != nullptr) {
      check_digits(*digits, gadget);
      if (digits->limbs() != limbs_) throw MismatchError("the digits are of a polynomial of another number of limbs");
      digits_ = digits;
    } else if (gadget.spec().log_base > 0) {
      digits_ = &cut_.emplace(c, gadget, threads);
    } else {
      source_.emplace(c, gadget, threads, DigitSource::Convert::all);
    }
    count({.key_switch = 1, .key_bytes = gadget.key_bytes(limbs_)});
    move_limbs(digits_ != nullptr ? digits_->polys().size() * ext_.size() : limbs_, 2 * ext_.size(), n_);
  }

  /// At limb j of the extended basis.
  void at(u64* out0, u64* out1, std::size_t j, u64* work) const {
    if (digits_ != nullptr) return product_at(out0, out1, digits_->at(j), 0, key_, ext_[j], limbs_, j, n_, false);
    std::array<const u64*, kAtOnce> x;
    for (std::size_t first = 0; first < source_->digits(); first += kAtOnce) {
      const std::size_t now = std::min(source_->digits() - first, kAtOnce);
      for (std::size_t d = 0; d < now; ++d) {
        x[d] = source_->own(first + d, j);
        if (x[d] != nullptr) continue;
        source_->limb(work + d * n_, first + d, j);
        x[d] = work + d * n_;
      }
      product_at(out0, out1, {x.data(), now}, first, key_, ext_[j], limbs_, j, n_, first > 0);
    }
  }

 private:
  const SwitchingKey& key_;
  const Basis& ext_;
  std::size_t limbs_, n_;
  const Digits* digits_ = nullptr;
  std::optional<Digits> cut_;
  std::optional<DigitSource> source_;
};

}  // namespace

void switch_key(Poly<Eval>& u0, Poly<Eval>& u1, const Poly<Eval>& c, const SwitchingKey& key, const Gadget& gadget,
                unsigned threads) {
  check_prefix(c, gadget);
  check_sums(u0, u1, gadget.extended(c.limbs()));
  const Products products(c, nullptr, key, gadget, threads);
  parallel_for(threads, u0.limbs(),
               [&](std::size_t j) { products.at(u0.limb(j), u1.limb(j), j, scratch(Products::kAtOnce * c.length())); });
}

std::pair<Poly<Eval>, Poly<Eval>> switch_and_divide(const Poly<Eval>& c, const Digits* digits, const SwitchingKey& key,
                                                    const Gadget& gadget, const AfterSwitch& then, unsigned threads) {
  check_prefix(c, gadget);
  for (const Poly<Eval>* p : then.add)
    if (p != nullptr && !(p->basis() == c.basis()))
      throw MismatchError("what is added after a key switch must be over the primes of the switched polynomial");
  const std::size_t limbs = c.limbs(), n = c.length();
  if (then.rescale && limbs == 1)
    throw LevelError("a ciphertext of 1 limb cannot be divided by its last prime: one must stay");
  const auto index = then.element == 1 ? nullptr : c.basis().ring().eval_index(then.element);
  const auto& kern = kernels::active();
  const ModulusDrop& down = then.rescale ? gadget.mod_down_rescale(limbs) : gadget.mod_down(limbs);
  const std::size_t kept = down.output().size(), gone = down.input().size() - kept;
  const Basis& ext = down.input();
  const Products products(c, digits, key, gadget, threads);
  // What is divided with the products is added to them P times, which is 0 modulo P's primes.
  const auto raise = [&](u64* sum, std::size_t part, std::size_t j, u64* t) {
    if (!then.rescale || then.add[part] == nullptr || j >= limbs) return;
    kern.mul_scalar(t, then.add[part]->limb(j), gadget.p_factor(j), n, ext[j].mod());
    kern.add(sum, sum, t, n, ext[j].mod());
  };

  Poly<Coeff> tail[2];
  std::vector<const u64*> tails[2];
  for (std::size_t part = 0; part < 2; ++part) {
    tail[part] = Poly<Coeff>(ext.slice(kept, gone));
    for (std::size_t i = 0; i < gone; ++i) tails[part].push_back(tail[part].limb(i));
  }
  parallel_for(threads, gone, [&](std::size_t i) {
    u64* work = scratch(Products::kAtOnce * n);
    products.at(tail[0].limb(i), tail[1].limb(i), kept + i, work);
    for (std::size_t part = 0; part < 2; ++part) {
      u64* t = tail[part].limb(i);
      raise(t, part, kept + i, work);
      intt(t, t, ext[kept + i]);
    }
  });
  const ModulusDrop::Rest rest[2] = {down.rest(tails[0], threads), down.rest(tails[1], threads)};

  std::pair<Poly<Eval>, Poly<Eval>> out(down.output(), down.output());
  parallel_for(threads, kept, [&](std::size_t j) {
    u64 *work = scratch((Products::kAtOnce + 2) * n), *sum[2] = {work + Products::kAtOnce * n, sum[0] + n};
    products.at(sum[0], sum[1], j, work);
    for (std::size_t part = 0; part < 2; ++part) {
      u64* result = (part == 0 ? out.first : out.second).limb(j);
      u64* to = index != nullptr ? sum[part] : result;
      raise(sum[part], part, j, work);
      down.divide(to, sum[part], rest[part], j, work);
      if (then.add[part] != nullptr && !then.rescale) kern.add(to, to, then.add[part]->limb(j), n, c.basis()[j].mod());
      if (index != nullptr) kern.automorphism_eval(result, to, index->data(), n);
    }
  });
  // Counted as the operations that are fused here.
  count({.mod_down = 2});
  move_limbs(2 * (kept + gone), 2 * kept, n);
  for (const Poly<Eval>* p : then.add)
    if (p != nullptr) move_limbs(2 * limbs, limbs, n);
  if (index != nullptr) move_limbs(2 * kept, 2 * kept, n);
  return out;
}

}  // namespace ringforge::rlwe
