// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/ckks/pair_sum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <map>
#include <string>

#include "mask_store.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "scratch.hpp"

namespace ringforge::ckks {
namespace {

constexpr std::size_t kBlock = 512;      // coefficients that stay in the first-level cache
constexpr std::size_t kTermsAtOnce = 4;  // rotations summed in one pass
constexpr std::size_t kPairsAtOnce = 4;  // products summed in one pass
constexpr std::size_t kDerived = 2;      // bases rotated by `via` that are kept, for each side

double square(double x) { return x * x; }
using Parts = std::array<Poly<Eval>, 2>;
using PartsPtr = std::shared_ptr<const Parts>;

}  // namespace

/// One side of the products during a run: makes its shifted operands.
class PairSum::Side {
 public:
  Side(const PairSum& sum, bool left, std::span<const Ciphertext> bases, const GaloisKeys& keys, unsigned threads)
      : sum_(sum),
        ctx_(*sum.ctx_),
        left_(left),
        masked_(left ? sum.left_masked_ : sum.right_masked_),
        limbs_((masked_ ? sum.level_ : sum.product_level_) + 1),
        store_(left ? sum.left_store_.get() : sum.right_store_.get()),
        keys_(keys),
        threads_(threads) {
    for (const auto& c : bases) {
      auto& s = direct_.emplace_back(std::make_shared<Source>());
      for (const auto& part : c.parts) s->parts.push_back(part.limbs() == limbs_ ? part : part.prefix(limbs_));
    }
    for (const auto& group : sum.plan_.groups)
      for (const auto& pair : group.pairs) {
        const auto& terms = left ? pair.left : pair.right;
        if (!masked_) ++uses_[id(terms[0])];
      }
  }

  PartsPtr operand(const ShiftPair& pair) {
    const auto& terms = left_ ? pair.left : pair.right;
    if (masked_) return std::make_shared<Parts>(combine(terms));
    const ShiftTerm& t = terms[0];
    const auto known = bare_.find(id(t));
    PartsPtr made = known != bare_.end() ? known->second : nullptr;
    if (!made) {
      const SourcePtr s = source(t.base, t.via);
      const std::uint32_t rest = difference(t.step, t.via);
      made = rest == 0 ? std::make_shared<Parts>(Parts{s->parts[0], s->parts[1]})
                       : std::make_shared<Parts>(rotated(*s, rest));
    }
    // Kept only while a later pair uses it again.
    if (--uses_[id(t)] > 0)
      bare_.insert_or_assign(id(t), made);
    else
      bare_.erase(id(t));
    return made;
  }

 private:
  struct Source {
    std::vector<Poly<Eval>> parts;
    std::unique_ptr<Digits> digits;  // made when first needed
    Poly<Eval> raised;               // P*c0
  };
  using SourcePtr = std::shared_ptr<Source>;
  static std::array<std::uint32_t, 3> id(const ShiftTerm& t) { return {t.base, t.step, t.via}; }
  std::uint32_t difference(std::uint32_t a, std::uint32_t b) const {
    return static_cast<std::uint32_t>((a - b) & (ctx_.params().slots() - 1));
  }
  const SwitchingKey& key(std::uint32_t step) const { return keys_.at(ctx_.rotation_element(step)); }

  void decompose(Source& s) const {
    if (s.digits) return;
    const Gadget& gadget = ctx_.gadget();
    s.digits = std::make_unique<Digits>(s.parts[1], gadget, threads_);
    s.raised = Poly<Eval>(s.parts[0].basis());
    parallel_for(threads_, limbs_, [&](std::size_t j) {
      kernels::active().mul_scalar(s.raised.limb(j), s.parts[0].limb(j), gadget.p_factor(j), s.raised.degree(),
                                   s.raised.basis()[j].mod());
    });
  }

  SourcePtr source(std::uint32_t base, std::uint32_t via) {
    if (via == 0) return direct_[base];
    for (auto it = derived_.begin(); it != derived_.end(); ++it)
      if (it->first == std::pair(base, via)) {
        derived_.splice(derived_.begin(), derived_, it);
        return derived_.front().second;
      }
    if (derived_.size() == kDerived) derived_.pop_back();
    Parts parts = rotated(*direct_[base], via);
    auto s = std::make_shared<Source>();
    for (auto& p : parts) s->parts.push_back(std::move(p));
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
      if (part == 0) ringforge::add(v, v, s.parts[0]);
      out[part] = automorphism(v, element);
    }
    count({.rotation = 1});
    return out;
  }

  /// sum_t mask_t * Rot_t(base_t), divided by P and the last prime at once.
  Parts combine(const std::vector<ShiftTerm>& terms) {
    const Gadget& gadget = ctx_.gadget();
    const std::size_t n = ctx_.params().degree();
    const auto& kern = kernels::active();
    struct Item {
      SourcePtr source;
      const SwitchingKey* key;  // null: not rotated
      std::shared_ptr<const std::vector<u32>> index;
      std::size_t mask;
    };
    std::vector<Item> items;
    std::size_t rotations = 0;
    for (const auto& t : terms) {
      const std::uint32_t rest = difference(t.step, t.via);
      Item item{source(t.base, t.via), nullptr, nullptr, t.mask};
      if (rest != 0) {
        decompose(*item.source);
        item.key = &key(rest);
        item.index = ctx_.ring().eval_index(ctx_.rotation_element(rest));
        ++rotations;
      }
      items.push_back(std::move(item));
    }
    const Basis& ext = rotations > 0 ? gadget.extended(limbs_) : direct_[0]->parts[0].basis();
    count({.key_switch = rotations,
           .rotation = rotations,
           .plain_mul = items.size(),
           .key_bytes = rotations * gadget.key_bytes(limbs_),
           .plaintext_bytes = items.size() * ext.size() * n * sizeof(u64)});
    Parts acc{Poly<Eval>(ext), Poly<Eval>(ext)};
    parallel_for(threads_, ext.size(), [&](std::size_t j) {
      const auto& m = ext[j].mod();
      u64* t = scratch(3 * kTermsAtOnce * n);
      alignas(64) u64 tiles[3 * kTermsAtOnce][kBlock];
      bool begun = false;
      for (std::size_t first = 0; first < items.size(); first += kTermsAtOnce) {
        std::array<const u64*, kTermsAtOnce> mask, y0, y1;
        std::array<const u32*, kTermsAtOnce> index;
        std::array<std::size_t, kTermsAtOnce> id;
        std::size_t now = 0;
        for (std::size_t i = first; i < std::min(items.size(), first + kTermsAtOnce); ++i) {
          const Item& item = items[i];
          const Source& s = *item.source;
          u64 *u0 = t + 3 * now * n, *u1 = u0 + n;
          if (item.key != nullptr) {
            key_product_at(u0, u1, s.digits->at(j), *item.key, gadget, limbs_, j);
            if (j < limbs_) kern.add(u0, u0, s.raised.limb(j), n, m);
            index[now] = item.index->data();
          } else {
            if (j >= limbs_) continue;  // P*c is 0 modulo P's primes
            for (std::size_t part = 0; part < 2; ++part) {
              u64* u = part == 0 ? u0 : u1;
              if (rotations > 0)
                kern.mul_scalar(u, s.parts[part].limb(j), gadget.p_factor(j), n, m);
              else
                std::copy_n(s.parts[part].limb(j), n, u);
            }
            index[now] = nullptr;
          }
          y0[now] = u0;
          y1[now] = u1;
          id[now] = item.mask;
          mask[now] = store_->transforms(item.mask) ? store_->limb(item.mask, j, u1 + n) : nullptr;
          ++now;
        }
        for (std::size_t b = 0; b < n; b += kBlock) {
          std::array<const u64*, kTermsAtOnce> x, a, c;
          for (std::size_t i = 0; i < now; ++i) {
            x[i] = store_->block(id[i], j, b, kBlock, tiles[2 * kTermsAtOnce + i], mask[i]);
            a[i] = y0[i] + b;
            c[i] = y1[i] + b;
            if (index[i] == nullptr) continue;
            kern.automorphism_eval(tiles[2 * i], y0[i], index[i] + b, kBlock);
            kern.automorphism_eval(tiles[2 * i + 1], y1[i], index[i] + b, kBlock);
            a[i] = tiles[2 * i];
            c[i] = tiles[2 * i + 1];
          }
          kern.dot2(acc[0].limb(j) + b, acc[1].limb(j) + b, x.data(), a.data(), c.data(), now, begun, kBlock, m);
        }
        begun = true;
      }
    });
    const ModulusDrop& drop = rotations > 0 ? gadget.mod_down_rescale(limbs_) : gadget.rescale(limbs_);
    return {drop.apply(acc[0], threads_), drop.apply(acc[1], threads_)};
  }

  const PairSum& sum_;
  const Context& ctx_;
  const bool left_, masked_;
  const std::size_t limbs_;
  const MaskStore* store_;
  const GaloisKeys& keys_;
  const unsigned threads_;
  std::vector<SourcePtr> direct_;
  std::list<std::pair<std::pair<std::uint32_t, std::uint32_t>, SourcePtr>> derived_;
  std::map<std::array<std::uint32_t, 3>, std::size_t> uses_;
  std::map<std::array<std::uint32_t, 3>, PartsPtr> bare_;
};

PairSum::PairSum(ContextPtr context, PairSumPlan plan, std::size_t level)
    : ctx_(std::move(context)), plan_(std::move(plan)), level_(level) {
  (void)ctx_->basis(level);
  const std::size_t slots = ctx_->params().slots();
  if (plan_.groups.empty()) throw ShapeError("a sum of products needs at least one group");
  bool first = true;
  for (const auto& group : plan_.groups) {
    if (group.pairs.empty() || group.outer >= slots)
      throw ShapeError("a group needs a pair at least, and an outer rotation below " + std::to_string(slots));
    for (const auto& pair : group.pairs)
      for (const bool left : {true, false}) {
        const auto& terms = left ? pair.left : pair.right;
        bool& masked = left ? left_masked_ : right_masked_;
        if (terms.empty()) throw ShapeError("a side of a pair has no term");
        if (first) masked = terms[0].mask != ShiftTerm::kNoMask;
        if (!masked && terms.size() != 1) throw ShapeError("a side without masks must have one term in each pair");
        for (const auto& t : terms)
          if (t.base >= (left ? plan_.left_bases : plan_.right_bases) || t.step >= slots || t.via >= slots ||
              (t.mask != ShiftTerm::kNoMask) != masked || (masked && t.mask >= plan_.masks.size()))
            throw ShapeError("a term names a base, step or mask that does not exist, or masks some terms only");
        if (!left) first = false;
      }
  }
  for (const auto& mask : plan_.masks)
    if (std::any_of(mask.begin(), mask.end(), [&](auto s) { return s >= slots; }))
      throw ShapeError("a mask has slots beyond " + std::to_string(slots));
  const std::size_t masks = left_masked_ || right_masked_ ? 1 : 0;
  if (level < masks + 1)
    throw LevelError("the sum of products takes " + std::to_string(masks + 1) + " levels, the operands have " +
                     std::to_string(level));
  product_level_ = level - masks;
}

std::vector<std::pair<u64, std::size_t>> PairSum::required_keys() const {
  std::map<u64, std::size_t> out;
  const auto need = [&](std::uint32_t step, std::size_t level) {
    if (step == 0) return;
    std::size_t& have = out[ctx_->rotation_element(step)];
    have = std::max(have, level);
  };
  const std::size_t slots = ctx_->params().slots();
  for (const auto& group : plan_.groups) {
    need(group.outer, product_level_);
    for (const auto& pair : group.pairs)
      for (const bool left : {true, false})
        for (const auto& t : left ? pair.left : pair.right) {
          const std::size_t level = (left ? left_masked_ : right_masked_) ? level_ : product_level_;
          need(t.via, level);
          need(static_cast<std::uint32_t>((t.step - t.via) & (slots - 1)), level);
        }
  }
  for (const auto step : plan_.folds) need(step, product_level_ - 1);
  if (plan_.real_part) {
    std::size_t& have = out[ctx_->conjugation_element()];
    have = std::max(have, product_level_ - 1);
  }
  return {out.begin(), out.end()};
}

std::size_t PairSum::storage() const noexcept {
  return (left_store_ ? left_store_->bytes() : 0) + (right_store_ ? right_store_->bytes() : 0);
}

void PairSum::encode(const Scaling& scaling, bool compact, unsigned threads) {
  const std::size_t n = ctx_->params().degree(), slots = n / 2;
  if (!(scaling.left >= 1) || !(scaling.right >= 1) || !(scaling.output >= 1) || !(scaling.left_bound > 0) ||
      !(scaling.right_bound > 0) || !(scaling.output_bound > 0))
    throw ValueError("scales must be at least 1, and bounds positive");
  scaling_ = scaling;
  const Basis basis = ctx_->basis(level_);
  const auto prime = static_cast<double>(basis[level_].value()),
             last = static_cast<double>(basis[product_level_].value());
  // The product of the operands' scales, before the rescale.
  const double product = last * scaling.output / (plan_.real_part ? 2 : 1);
  left_mask_scale_ = left_masked_ ? prime : 0;
  right_mask_scale_ = 0;
  if (right_masked_)
    right_mask_scale_ = prime * (product / scaling.left) / scaling.right;
  else if (left_masked_)
    left_mask_scale_ = prime * (product / scaling.right) / scaling.left;
  else if (std::fabs(scaling.left * scaling.right / product - 1) > 0x1p-30)
    throw ScaleError("without masks the operands' scales must multiply to 2^" + std::to_string(std::log2(product)) +
                     ", not 2^" + std::to_string(std::log2(scaling.left * scaling.right)));
  for (const double s : {left_mask_scale_, right_mask_scale_})
    if (s != 0 && !(s >= 0x1p16 && s <= 0x1p61))
      throw ScaleError("masks would be encoded at scale 2^" + std::to_string(std::log2(s)) +
                       ", outside 2^16 ... 2^61: choose the scales of operands and result closer to each other");
  if (std::log2(scaling.output_bound * scaling.output) > ctx_->basis(output_level()).log2() - 1)
    throw ValueError("results of size up to 2^" + std::to_string(std::log2(scaling.output_bound)) +
                     " do not fit level " + std::to_string(output_level()) +
                     ": start from a higher level or use a smaller scale");

  for (const bool left : {true, false}) {
    if (!(left ? left_masked_ : right_masked_)) continue;
    const double scale = left ? left_mask_scale_ : right_mask_scale_;
    // Which masks this side uses, and which of two is the other's complement.
    constexpr std::size_t kPlain = ~std::size_t{0};
    std::map<std::size_t, std::size_t> used;  // mask -> mask it complements
    bool rotates = false;
    for (const auto& group : plan_.groups)
      for (const auto& pair : group.pairs) {
        const auto& terms = left ? pair.left : pair.right;
        for (const auto& t : terms) {
          used.emplace(t.mask, kPlain);
          rotates |= t.step != t.via;
        }
        if (terms.size() != 2 || terms[0].mask == terms[1].mask) continue;
        const auto &a = plan_.masks[terms[0].mask], &b = plan_.masks[terms[1].mask];
        std::vector<std::uint32_t> both;
        std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
        if (both.empty() && a.size() + b.size() == slots && used[terms[0].mask] == kPlain)
          used[terms[1].mask] = terms[0].mask;
      }
    auto store = std::make_shared<MaskStore>(ctx_, rotates ? ctx_->gadget().extended(level_ + 1) : basis,
                                             compact ? Keep::coefficients : Keep::limbs, plan_.masks.size());
    std::vector<std::size_t> plain;
    for (const auto& [mask, of] : used)
      if (of == kPlain) plain.push_back(mask);
    parallel_for(threads, plain.size(), [&](std::size_t i) {
      std::vector<double> values(slots), re(slots), im(slots);
      std::vector<i64> rounded(n);
      for (const auto s : plan_.masks[plain[i]]) values[s] = 1;
      ctx_->scatter(values.data(), slots, 1, re.data());
      store->encode(plain[i], re.data(), im.data(), scale, rounded.data());
    });
    for (const auto& [mask, of] : used)
      if (of != kPlain) store->complement(mask, of, scale);
    (left ? left_store_ : right_store_) = std::move(store);
  }
}

void PairSum::check(std::span<const Ciphertext> bases, std::size_t count, double scale, double bound,
                    const char* side) const {
  if (bases.size() != count)
    throw ShapeError("the plan takes " + std::to_string(count) + " " + side + " bases, " +
                     std::to_string(bases.size()) + " were given");
  for (const auto& c : bases) {
    if (c.parts.size() != 2) throw ShapeError("operands must have two parts: relinearize first");
    if (c.level() != level_)
      throw LevelError("the product is encoded for operands of level " + std::to_string(level_) + ", the " + side +
                       " one has level " + std::to_string(c.level()));
    if (!(c.parts[0].basis() == ctx_->basis(level_)))
      throw MismatchError(std::string("the ") + side + " operand belongs to other parameters");
    if (std::fabs(c.scale / scale - 1) > 0x1p-30)
      throw ScaleError(std::string("the ") + side + " operand has scale 2^" + std::to_string(std::log2(c.scale)) +
                       ", the product is encoded for 2^" + std::to_string(std::log2(scale)));
    if (c.bound > bound * (1 + 1e-9))
      throw ValueError(std::string("the ") + side + " operand is bounded by " + std::to_string(c.bound) +
                       ", the product is encoded for " + std::to_string(bound));
  }
}

Ciphertext PairSum::describe(const Ciphertext& left, const Ciphertext& right) const {
  const Gadget& gadget = ctx_->gadget();
  const double rounding = Evaluator(ctx_).rounding_variance(), n = static_cast<double>(ctx_->params().degree());
  const Basis basis = ctx_->basis(level_);
  std::size_t pairs = 0, outer = 0;
  for (const auto& g : plan_.groups) {
    pairs += g.pairs.size();
    outer += g.outer != 0;
  }
  // Errors of a shifted operand: inherited from its base, and fresh.
  struct Noise {
    double inherited, fresh, scale, spread;
  };
  const auto side = [&](const Ciphertext& c, bool masked, double mask_scale, bool is_left) {
    std::size_t terms = 0;
    bool via = false;
    for (const auto& g : plan_.groups)
      for (const auto& p : g.pairs) {
        const auto& list = is_left ? p.left : p.right;
        terms = std::max(terms, list.size());
        via |= std::any_of(list.begin(), list.end(), [](const auto& t) { return t.via != 0; });
      }
    const std::size_t limbs = (masked ? level_ : product_level_) + 1;
    const double turned = gadget.switch_variance(limbs) + (via ? gadget.switch_variance(limbs) + rounding : 0);
    if (!masked) return Noise{c.variance, turned + rounding, c.scale, c.spread};
    const double factor = mask_scale / static_cast<double>(basis[level_].value());
    const double masks = static_cast<double>(terms) * square(c.bound * c.scale) / 12;
    return Noise{c.variance * square(factor),
                 turned * square(factor) + masks / square(static_cast<double>(basis[level_].value())) + rounding,
                 c.scale * factor, c.spread};
  };
  const Noise a = side(left, left_masked_, left_mask_scale_, true),
              b = side(right, right_masked_, right_mask_scale_, false);
  const auto count = static_cast<double>(pairs);
  // A result slot sums `pairs` products: errors of one operand weighted by values of the other.
  const double va = (a.inherited * a.spread + a.fresh) * count * square(right.bound * b.scale),
               vb = (b.inherited * b.spread + b.fresh) * count * square(left.bound * a.scale);
  double v = square(std::sqrt(va) + std::sqrt(vb)) + count * n * (a.inherited + a.fresh) * (b.inherited + b.fresh);
  v += static_cast<double>(plan_.groups.size()) * gadget.switch_variance(product_level_ + 1) +
       static_cast<double>(outer) * (gadget.switch_variance(product_level_ + 1) + rounding);
  v = v / square(static_cast<double>(basis[product_level_].value())) + rounding;
  const double turned = gadget.switch_variance(product_level_) + rounding;
  Ciphertext r;
  // Each base slot meets one result slot in each pair: row and column sums are `pairs` times the bound.
  r.spread = std::max(a.spread, b.spread) * count;
  if (plan_.real_part) {
    v = square(std::sqrt(v) + std::sqrt(v + turned));
  }
  for (std::size_t i = 0; i < plan_.folds.size(); ++i) {
    v = v + (v + turned);
    r.spread *= 2;
  }
  r.variance = v;
  r.scale = scaling_.output;
  r.key_id = left.key_id;
  r.bound = scaling_.output_bound;
  return r;
}

Ciphertext PairSum::run(std::span<const Ciphertext> left, std::span<const Ciphertext> right, const GaloisKeys& keys,
                        const RelinKey& relin, unsigned threads, const std::function<void(double)>& progress) const {
  if ((left_masked_ && !left_store_) || (right_masked_ && !right_store_) || scaling_.output == 0)
    throw ShapeError("the masks have not been encoded yet");
  check(left, plan_.left_bases, scaling_.left, scaling_.left_bound, "left");
  check(right, plan_.right_bases, scaling_.right, scaling_.right_bound, "right");
  const u64 key_id = left[0].key_id;
  for (const auto bases : {left, right})
    for (const auto& c : bases)
      if (c.key_id != key_id) throw MismatchError("the two operands were made under different keys");
  if (relin.key.key_id != key_id)
    throw MismatchError("the relinearisation key belongs to another secret key than the operands");
  check_covers(relin.key, product_level_ + 1);
  for (const auto& [element, level] : required_keys()) {
    if (!keys.contains(element))
      throw MissingKeyError("the product needs the Galois key of element " + std::to_string(element) +
                            ", which this key set lacks: generate keys for this plan");
    if (keys.at(element).key_id != key_id)
      throw MismatchError("a Galois key belongs to another secret key than the operands: use keys made together");
    check_covers(keys.at(element), level + 1);
  }

  const Gadget& gadget = ctx_->gadget();
  const std::size_t limbs = product_level_ + 1, n = ctx_->params().degree();
  const Basis basis = ctx_->basis(product_level_);
  const Basis& ext = gadget.extended(limbs);
  const auto& kern = kernels::active();
  Side left_side(*this, true, left, keys, threads), right_side(*this, false, right, keys, threads);
  Parts acc{Poly<Eval>(ext), Poly<Eval>(ext)}, u{Poly<Eval>(ext), Poly<Eval>(ext)};
  for (auto& p : acc) p.zero();
  // d0, two halves of d1, d2 of the sum of products.
  std::array<Poly<Eval>, 4> d{Poly<Eval>(basis), Poly<Eval>(basis), Poly<Eval>(basis), Poly<Eval>(basis)};
  std::size_t total = 0, done = 0;
  for (const auto& group : plan_.groups) total += group.pairs.size();

  for (const auto& group : plan_.groups) {
    for (std::size_t first = 0; first < group.pairs.size(); first += kPairsAtOnce) {
      const std::size_t now = std::min(kPairsAtOnce, group.pairs.size() - first);
      std::array<PartsPtr, kPairsAtOnce> a, b;
      for (std::size_t i = 0; i < now; ++i) {
        a[i] = left_side.operand(group.pairs[first + i]);
        b[i] = right_side.operand(group.pairs[first + i]);
      }
      parallel_for(threads, limbs, [&](std::size_t j) {
        std::array<const u64*, kPairsAtOnce> a0, a1, b0, b1;
        for (std::size_t i = 0; i < now; ++i) {
          a0[i] = (*a[i])[0].limb(j);
          a1[i] = (*a[i])[1].limb(j);
          b0[i] = (*b[i])[0].limb(j);
          b1[i] = (*b[i])[1].limb(j);
        }
        const auto& m = basis[j].mod();
        kern.dot2(d[0].limb(j), d[1].limb(j), a0.data(), b0.data(), b1.data(), now, first > 0, n, m);
        kern.dot2(d[2].limb(j), d[3].limb(j), a1.data(), b0.data(), b1.data(), now, first > 0, n, m);
      });
      done += now;
      if (progress) progress(static_cast<double>(done) / static_cast<double>(total));
    }
    // Relinearise over Q*P: u = switched d2 + P*(d0, d1).
    switch_key(u[0], u[1], d[3], relin.key, gadget, threads);
    parallel_for(threads, limbs, [&](std::size_t j) {
      const auto& m = basis[j].mod();
      kern.add(d[1].limb(j), d[1].limb(j), d[2].limb(j), n, m);
      for (std::size_t part = 0; part < 2; ++part) {
        kern.mul_scalar(d[part].limb(j), d[part].limb(j), gadget.p_factor(j), n, m);
        kern.add(u[part].limb(j), u[part].limb(j), d[part].limb(j), n, m);
      }
    });
    if (group.outer == 0) {
      for (std::size_t part = 0; part < 2; ++part) ringforge::add(acc[part], acc[part], u[part]);
      continue;
    }
    // Rotate the group's sum: c1 comes down from P to be switched, c0 stays.
    const u64 element = ctx_->rotation_element(group.outer);
    const auto index = ctx_->ring().eval_index(element);
    const Poly<Eval> c1 = gadget.mod_down(limbs).apply(u[1], threads);
    Poly<Eval> v0(ext);
    switch_key(v0, u[1], c1, keys.at(element), gadget, threads);
    parallel_for(threads, ext.size(), [&](std::size_t j) {
      const auto& m = ext[j].mod();
      kern.add(v0.limb(j), v0.limb(j), u[0].limb(j), n, m);
      kern.automorphism_eval_add(acc[0].limb(j), v0.limb(j), index->data(), n, m);
      kern.automorphism_eval_add(acc[1].limb(j), u[1].limb(j), index->data(), n, m);
    });
    count({.rotation = 1});
  }

  Ciphertext r;
  r.key_id = key_id;
  r.scale = scaling_.output;
  r.bound = scaling_.output_bound;
  for (auto& part : acc) r.parts.push_back(gadget.mod_down_rescale(limbs).apply(part, threads));
  const Evaluator ev(ctx_, threads);
  if (plan_.real_part) r = ev.add(r, ev.conjugate(r, keys));
  for (const auto step : plan_.folds) r = ev.add(r, ev.rotate(r, step, keys));
  auto parts = std::move(r.parts);
  r = describe(left[0], right[0]);
  r.parts = std::move(parts);
  return r;
}

}  // namespace ringforge::ckks
