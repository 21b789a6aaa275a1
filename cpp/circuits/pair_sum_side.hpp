// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// How a PairSum makes its shifted operands.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <map>

#include "mask_store.hpp"
#include "ringforge/circuits/pair_sum.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/threads.hpp"
#include "scratch.hpp"

namespace ringforge::circuits {

using rlwe::Digits;
using rlwe::Gadget;
using rlwe::ModulusDrop;
using rlwe::SwitchingKey;

/// One side of the products during a run: makes its shifted operands.
///
/// Masked shifts. sum_t M_t * Rot_{z_t}(X_t) = Rot_z(sum_t M'_t * Y_t) with z the first term's rotation, M'_t the
/// masks before that rotation and Y_t = Rot_{z_t - z}(X_t), the "companions": differences of rotations recur from pair
/// to pair, so companions are few and made once. Digits need not be short one by one to be switched, only
/// their sum with the gadget must be right: so the masks multiply the digits of the companions, and one key product
/// serves all terms. With two masks that are complements at scale D, M'*d + (D - M')*e = M'*(d - e) + D*e: one
/// product for each digit.
class PairSum::Side {
 public:
  using Parts = std::array<Poly<Eval>, 2>;
  using PartsPtr = std::shared_ptr<const Parts>;

  Side(const PairSum& sum, bool left, Operands bases, const ckks::GaloisKeys& keys, unsigned threads)
      : sum_(sum),
        ctx_(*sum.ctx_),
        left_(left),
        masked_(left ? sum.left_masked_ : sum.right_masked_),
        limbs_((masked_ ? sum.level_ : sum.product_level_) + 1),
        store_(left ? sum.left_store_.get() : sum.right_store_.get()),
        scale_(left ? sum.left_mask_scale_ : sum.right_mask_scale_),
        keys_(keys),
        threads_(threads) {
    for (const ckks::Ciphertext* c : bases) {
      auto& s = direct_.emplace_back(std::make_shared<Source>());
      for (std::size_t part = 0; part < 2; ++part) {
        const Poly<Eval>& p = c->parts[part];
        if (p.limbs() != limbs_) s->owned[part] = p.prefix(limbs_);
        s->parts[part] = p.limbs() == limbs_ ? &p : &s->owned[part];
      }
    }
    if (masked_) return;
    for (const auto& group : sum.plan_.groups)
      for (const auto& pair : group.pairs) ++uses_[id((left ? pair.left : pair.right)[0])];
  }

  /// The operands of some pairs; the first is pair `number` counted over all groups.
  std::vector<PartsPtr> operands(std::span<const ShiftPair> pairs, std::size_t number) {
    std::vector<PartsPtr> out;
    if (!masked_) {
      for (const auto& pair : pairs) out.push_back(bare((left_ ? pair.left : pair.right)[0]));
      return out;
    }
    std::vector<Work> work;
    for (const auto& pair : pairs)
      work.push_back(plan(left_ ? pair.left : pair.right, (left_ ? sum_.left_masks_ : sum_.right_masks_)[number++]));
    combine(work);
    for (auto& w : work) out.push_back(std::make_shared<Parts>(std::move(w.result)));
    return out;
  }

 private:
  static constexpr std::size_t kBlock = 512;  // coefficients that stay in the first-level cache

  struct Source {
    std::array<const Poly<Eval>*, 2> parts{};
    Parts owned;                     // unless they are the caller's
    std::unique_ptr<Digits> digits;  // made when first needed
    Poly<Eval> raised;               // P*c0
  };
  using SourcePtr = std::shared_ptr<Source>;
  /// d - e and D*e of two sources, digit by digit, and the same of P*c0.
  struct Blend {
    SourcePtr first, second;
    std::vector<Poly<Eval>> difference, rest;
    Poly<Eval> raised_difference, raised_rest;
  };
  using BlendPtr = std::shared_ptr<const Blend>;
  /// A masked shift on its way.
  struct Work {
    std::vector<SourcePtr> sources;
    BlendPtr blend;  // of two complementary masks
    std::uint32_t rest = 0;
    std::size_t masks = 0;  // where the store has them
    const SwitchingKey* key = nullptr;
    std::shared_ptr<const std::vector<u32>> index;
    Parts sum, result;
  };
  static std::array<std::uint32_t, 3> id(const ShiftTerm& t) { return {t.base, t.step, t.via}; }
  std::uint32_t difference(std::uint32_t a, std::uint32_t b) const {
    return static_cast<std::uint32_t>((a - b) & (ctx_.params().slots() - 1));
  }
  /// Lives as long as the run's own list of keys.
  const SwitchingKey& key(std::uint32_t step) const { return *keys_.at(ctx_.rotation_element(step)); }

  void decompose(Source& s) const {
    if (s.digits) return;
    const Gadget& gadget = ctx_.gadget();
    s.digits = std::make_unique<Digits>(*s.parts[1], gadget, threads_);
    s.raised = Poly<Eval>(s.parts[0]->basis());
    parallel_for(threads_, limbs_, [&](std::size_t j) {
      kernels::active().mul_scalar(s.raised.limb(j), s.parts[0]->limb(j), gadget.p_factor(j), s.raised.degree(),
                                   s.raised.basis()[j].mod());
    });
  }

  /// A base rotated by `via`, from the cache of the last few.
  SourcePtr source(std::uint32_t base, std::uint32_t via) {
    if (via == 0) return direct_[base];
    for (auto it = derived_.begin(); it != derived_.end(); ++it)
      if (it->first == std::pair(base, via)) {
        derived_.splice(derived_.begin(), derived_, it);
        return derived_.front().second;
      }
    if (derived_.size() == kDerived) derived_.pop_back();
    auto s = std::make_shared<Source>();
    s->owned = rotated(*direct_[base], via);
    s->parts = {&s->owned[0], &s->owned[1]};
    derived_.emplace_front(std::pair(base, via), s);
    return s;
  }

  /// A rotation at the side's level, from shared digits.
  Parts rotated(Source& s, std::uint32_t step) const {
    decompose(s);
    const Gadget& gadget = ctx_.gadget();
    const Basis& ext = gadget.extended(limbs_);
    const u64 element = ctx_.rotation_element(step);
    Parts u{Poly<Eval>(ext), Poly<Eval>(ext)};
    key_product(u[0], u[1], *s.digits, key(step), gadget, false, threads_);
    Parts out;
    for (std::size_t part = 0; part < 2; ++part) {
      Poly<Eval> v = gadget.mod_down(limbs_).apply(u[part], threads_);
      if (part == 0) ringforge::add(v, v, *s.parts[0]);
      out[part] = automorphism(v, element);
    }
    count({.rotation = 1});
    return out;
  }

  /// A rotation without mask, kept while a later pair uses it again.
  PartsPtr bare(const ShiftTerm& t) {
    const auto known = bare_.find(id(t));
    PartsPtr made = known != bare_.end() ? known->second : nullptr;
    if (!made) {
      const SourcePtr s = source(t.base, t.via);
      const std::uint32_t rest = difference(t.step, t.via);
      made = rest == 0 ? std::make_shared<Parts>(Parts{*s->parts[0], *s->parts[1]})
                       : std::make_shared<Parts>(rotated(*s, rest));
    }
    if (--uses_[id(t)] > 0)
      bare_.insert_or_assign(id(t), made);
    else
      bare_.erase(id(t));
    return made;
  }

  BlendPtr blend(const SourcePtr& first, const SourcePtr& second) {
    for (auto it = blends_.begin(); it != blends_.end(); ++it)
      if ((*it)->first == first && (*it)->second == second) {
        blends_.splice(blends_.begin(), blends_, it);
        return blends_.front();
      }
    if (blends_.size() == kBlends) blends_.pop_back();
    decompose(*first);
    decompose(*second);
    const auto made = std::make_shared<Blend>();
    Blend& b = *made;
    b.first = first;
    b.second = second;
    const Basis& ext = ctx_.gadget().extended(limbs_);
    const std::size_t n = ctx_.params().degree(), digits = first->digits->polys().size();
    const auto& kern = kernels::active();
    for (std::size_t d = 0; d < digits; ++d) {
      b.difference.emplace_back(ext);
      b.rest.emplace_back(ext);
    }
    b.raised_difference = Poly<Eval>(first->raised.basis());
    b.raised_rest = Poly<Eval>(first->raised.basis());
    const auto rounded = static_cast<u64>(std::nearbyint(scale_));
    parallel_for(threads_, ext.size(), [&](std::size_t j) {
      const auto& m = ext[j].mod();
      const auto factor = kernels::make_factor(rounded % m.q, m);
      for (std::size_t d = 0; d < digits; ++d) {
        const u64 *x = first->digits->polys()[d].limb(j), *y = second->digits->polys()[d].limb(j);
        kern.sub(b.difference[d].limb(j), x, y, n, m);
        kern.mul_scalar(b.rest[d].limb(j), y, factor, n, m);
      }
      if (j >= limbs_) return;
      kern.sub(b.raised_difference.limb(j), first->raised.limb(j), second->raised.limb(j), n, m);
      kern.mul_scalar(b.raised_rest.limb(j), second->raised.limb(j), factor, n, m);
    });
    blends_.push_front(made);
    return made;
  }

  /// What a masked shift needs; the store has its masks at `masks`.
  Work plan(const std::vector<ShiftTerm>& terms, std::size_t masks) {
    Work w;
    w.masks = masks;
    w.rest = difference(terms[0].step, terms[0].via);
    for (const auto& t : terms) w.sources.push_back(source(t.base, difference(t.step, w.rest)));
    count({.plain_mul = terms.size()});
    const Gadget& gadget = ctx_.gadget();
    const std::size_t n = ctx_.params().degree();
    const Basis& basis = w.rest == 0 ? direct_[0]->parts[0]->basis() : gadget.extended(limbs_);
    count({.plaintext_bytes = terms.size() * basis.size() * n * sizeof(u64)});
    w.sum = {Poly<Eval>(basis), Poly<Eval>(basis)};
    if (w.rest == 0) return w;
    w.key = &key(w.rest);
    w.index = ctx_.ring().eval_index(ctx_.rotation_element(w.rest));
    if (terms.size() == 2 && store_->complements(masks + 1, masks)) w.blend = blend(w.sources[0], w.sources[1]);
    for (const auto& s : w.sources) decompose(*s);
    count({.key_switch = 1, .rotation = 1, .key_bytes = gadget.key_bytes(limbs_)});
    return w;
  }

  /// For each, sum_t mask_t * Rot_t(base_t), divided by P and the last prime at once. Limb by limb, so that shifts of
  /// the same bases find the limb's digits in the cache.
  void combine(std::vector<Work>& work) const {
    const Gadget& gadget = ctx_.gadget();
    parallel_for(threads_, gadget.extended(limbs_).size(), [&](std::size_t j) {
      for (auto& w : work) {
        if (w.key != nullptr)
          at_limb(w, j);
        else if (j < limbs_)
          mask_parts(w, j);
      }
    });
    for (auto& w : work) {
      const ModulusDrop& drop = w.key != nullptr ? gadget.mod_down_rescale(limbs_) : gadget.rescale(limbs_);
      for (std::size_t part = 0; part < 2; ++part) w.result[part] = drop.apply(w.sum[part], threads_);
    }
  }

  /// Limb j of a masked shift over Q*P: masks times digits, key product, automorphism.
  void at_limb(Work& w, std::size_t j) const {
    const auto& kern = kernels::active();
    const Prime& prime = ctx_.gadget().extended(limbs_)[j];
    const auto& m = prime.mod();
    const bool two = w.blend != nullptr;
    const std::size_t n = ctx_.params().degree(), digits = w.sources[0]->digits->polys().size(),
                      products = two ? 1 : w.sources.size();
    const std::size_t parts = digits + (j < limbs_ ? 1 : 0);  // the digits, and P*c0
    u64 *t = scratch((2 + products) * n + (parts + 1 + products) * kBlock), *u0 = t, *u1 = t + n;
    u64* tiles = t + (2 + products) * n;
    std::vector<const u64*> mask(products), x(products), a(products), b(products), made(digits), key0(digits),
        key1(digits);
    for (std::size_t i = 0; i < products; ++i)
      mask[i] = store_->transforms(w.masks + i) ? store_->limb(w.masks + i, j, t + (2 + i) * n) : nullptr;
    // What each mask multiplies, and what is added without one.
    const auto factor = [&](std::size_t i, std::size_t d) {
      if (two) return d < digits ? w.blend->difference[d].limb(j) : w.blend->raised_difference.limb(j);
      return d < digits ? w.sources[i]->digits->polys()[d].limb(j) : w.sources[i]->raised.limb(j);
    };
    const auto extra = [&](std::size_t d) {
      return d < digits ? w.blend->rest[d].limb(j) : w.blend->raised_rest.limb(j);
    };
    const auto tile = [&](std::size_t i) { return tiles + i * kBlock; };
    for (std::size_t d = 0; d < digits; ++d) made[d] = tile(d);
    const std::size_t in_key = j < limbs_ ? j : w.key->limbs + j - limbs_;
    for (std::size_t first = 0; first < n; first += kBlock) {
      for (std::size_t i = 0; i < products; ++i)
        x[i] = store_->block(w.masks + i, j, first, kBlock, tile(parts + 1 + i), mask[i]);
      for (std::size_t d = 0; d < parts; d += 2) {
        const std::size_t second = std::min(d + 1, parts - 1);
        u64 *out0 = tile(d), *out1 = second == d ? tile(parts) : tile(second);
        if (two) {
          std::copy_n(extra(d) + first, kBlock, out0);
          if (second == d) {
            kern.mul_add(out0, factor(0, d) + first, x[0], kBlock, m);
            continue;
          }
          std::copy_n(extra(second) + first, kBlock, out1);
        }
        for (std::size_t i = 0; i < products; ++i) {
          a[i] = factor(i, d) + first;
          b[i] = factor(i, second) + first;
        }
        kern.dot2(out0, out1, x.data(), a.data(), b.data(), products, two, kBlock, m);
      }
      for (std::size_t d = 0; d < digits; ++d) {
        key0[d] = w.key->b[d].limb(in_key) + first;
        key1[d] = w.key->a[d].limb(in_key) + first;
      }
      kern.dot2(u0 + first, u1 + first, made.data(), key0.data(), key1.data(), digits, false, kBlock, m);
      if (j < limbs_) kern.add(u0 + first, u0 + first, tile(digits), kBlock, m);
    }
    kern.automorphism_eval(w.sum[0].limb(j), u0, w.index->data(), n);
    kern.automorphism_eval(w.sum[1].limb(j), u1, w.index->data(), n);
  }

  /// Limb j of sum_t mask_t * source_t over Q.
  void mask_parts(Work& w, std::size_t j) const {
    const std::size_t n = ctx_.params().degree();
    const auto& kern = kernels::active();
    for (std::size_t i = 0; i < w.sources.size(); ++i) {
      const u64* mask = store_->limb(w.masks + i, j, scratch(n));
      for (std::size_t part = 0; part < 2; ++part)
        (i == 0 ? kern.mul : kern.mul_add)(w.sum[part].limb(j), w.sources[i]->parts[part]->limb(j), mask, n,
                                           w.sum[part].basis()[j].mod());
    }
  }

  const PairSum& sum_;
  const ckks::Context& ctx_;
  const bool left_, masked_;
  const std::size_t limbs_;
  const MaskStore* store_;
  const double scale_;
  const ckks::GaloisKeys& keys_;
  const unsigned threads_;
  std::vector<SourcePtr> direct_;
  std::list<std::pair<std::pair<std::uint32_t, std::uint32_t>, SourcePtr>> derived_;
  std::list<BlendPtr> blends_;
  std::map<std::array<std::uint32_t, 3>, std::size_t> uses_;
  std::map<std::array<std::uint32_t, 3>, PartsPtr> bare_;
};

}  // namespace ringforge::circuits
