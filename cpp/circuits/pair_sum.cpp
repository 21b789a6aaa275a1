// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/pair_sum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>

#include "assemble.hpp"
#include "mask_store.hpp"
#include "pair_sum_side.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "scratch.hpp"
#include "slot_encoder.hpp"

namespace ringforge::circuits {

using ckks::Ciphertext;
using ckks::ContextPtr;
using ckks::encoding_error;
using ckks::Evaluator;
using ckks::GaloisKeys;
using ckks::KeySet;
using ckks::Metadata;
using ckks::MetadataRules;
using rlwe::switch_key;

namespace {

constexpr std::size_t kPairsAtOnce = 4;  // products summed in one pass

double square(double x) { return x * x; }

/// The bases' metadata, everything being the largest of any.
Metadata worst(std::span<const Metadata* const> bases) {
  if (bases.empty()) throw ShapeError("each side of a product has a base at least");
  Metadata w;
  w.bound = 0;
  for (const Metadata* c : bases) {
    if (c == nullptr) throw ShapeError("a base is missing");
    w.variance = std::max(w.variance, c->variance);
    w.spread = std::max(w.spread, c->spread);
    w.bound = std::max(w.bound, c->bound);
    w.float_error = std::max(w.float_error, c->float_error);
  }
  w.scale = bases[0]->scale;
  return w;
}

}  // namespace

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
          // All terms of a pair take the first one's last rotation.
          const auto& first = (left ? pair.left : pair.right)[0];
          const auto rest = static_cast<std::uint32_t>((first.step - first.via) & (slots - 1));
          need(static_cast<std::uint32_t>((t.step - rest) & (slots - 1)), level);
          need(rest, level);
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
  // Nothing is kept of an encoding that fails.
  scaling_ = {};
  left_store_.reset();
  right_store_.reset();
  const Basis basis = ctx_->basis(level_);
  const double product = product_scale(scaling);
  left_mask_scale_ = mask_scales(scaling).left;
  right_mask_scale_ = mask_scales(scaling).right;
  if (!left_masked_ && !right_masked_ && std::fabs(scaling.left * scaling.right / product - 1) > 0x1p-30)
    throw ScaleError("without masks the operands' scales must multiply to 2^" + std::to_string(std::log2(product)) +
                     ", not 2^" + std::to_string(std::log2(scaling.left * scaling.right)));
  for (const double s : {left_mask_scale_, right_mask_scale_})
    if (s != 0 && !(s >= 0x1p16 && s <= 0x1p61))
      throw ScaleError("masks would be encoded at scale 2^" + std::to_string(std::log2(s)) +
                       ", outside 2^16 ... 2^61: choose the scales of operands and result closer to each other");
  if (std::log2(scaling.output_bound * scaling.output) > ctx_->basis(output_level()).log2() - 1)
    throw ValueError("results of size up to 2^" + std::to_string(std::log2(scaling.output_bound)) +
                     " do not fit level " + std::to_string(output_level()) + ": use smaller scales or bounds, or " +
                     (level_ < ctx_->params().max_level() ? "start from a higher level" : "use larger first primes"));

  for (const bool left : {true, false}) {
    if (!(left ? left_masked_ : right_masked_)) continue;
    const double scale = left ? left_mask_scale_ : right_mask_scale_;
    // The masks of each pair, before its last rotation; the second of two complements takes no memory.
    struct Item {
      const std::vector<std::uint32_t>* slots;
      std::uint32_t rest;
      bool complement;
    };
    std::vector<Item> items;
    auto& first_mask = left ? left_masks_ : right_masks_;
    first_mask.clear();
    bool rotates = false;
    for (const auto& group : plan_.groups)
      for (const auto& pair : group.pairs) {
        const auto& terms = left ? pair.left : pair.right;
        first_mask.push_back(items.size());
        const auto rest = static_cast<std::uint32_t>((terms[0].step - terms[0].via) & (slots - 1));
        rotates |= rest != 0;
        for (const auto& t : terms) items.push_back({&plan_.masks[t.mask], rest, false});
        if (terms.size() != 2) continue;
        const auto &a = plan_.masks[terms[0].mask], &b = plan_.masks[terms[1].mask];
        std::vector<std::uint32_t> both;
        std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
        items.back().complement = both.empty() && a.size() + b.size() == slots;
      }
    auto store = std::make_shared<MaskStore>(rotates ? ctx_->gadget().extended(level_ + 1) : basis,
                                             compact ? Keep::coefficients : Keep::limbs, items.size());
    parallel_for(threads, items.size(), [&](std::size_t i) {
      if (items[i].complement) return;
      std::vector<double> values(slots);
      for (const auto s : *items[i].slots) values[(s + items[i].rest) & (slots - 1)] = 1;
      store->put(i, SlotEncoder(*ctx_).encode(values.data(), nullptr, scale));
    });
    for (std::size_t i = 0; i < items.size(); ++i)
      if (items[i].complement) store->complement(i, i - 1, scale);
    (left ? left_store_ : right_store_) = std::move(store);
  }
  scaling_ = scaling;
}

void PairSum::check(Operands bases, std::size_t count, double scale, double bound, const char* side) const {
  if (bases.size() != count)
    throw ShapeError("the plan takes " + std::to_string(count) + " " + side + " bases, " +
                     std::to_string(bases.size()) + " were given");
  for (const Ciphertext* base : bases) {
    if (base == nullptr) throw ShapeError(std::string("a ") + side + " operand is missing");
    const Ciphertext& c = *base;
    ctx_->check(c);
    if (c.parts.size() != 2) throw ShapeError("operands must have two parts: relinearize first");
    if (c.level() != level_)
      throw LevelError("the product is encoded for operands of level " + std::to_string(level_) + ", the " + side +
                       " one has level " + std::to_string(c.level()));
    if (std::fabs(c.scale / scale - 1) > 0x1p-30)
      throw ScaleError(std::string("the ") + side + " operand has scale 2^" + std::to_string(std::log2(c.scale)) +
                       ", the product is encoded for 2^" + std::to_string(std::log2(scale)));
    if (c.bound > bound * (1 + 1e-9))
      throw ValueError(std::string("the ") + side + " operand is bounded by " + std::to_string(c.bound) +
                       ", the product is encoded for " + std::to_string(bound));
  }
}

void PairSum::check_inputs(Operands left, Operands right) const {
  if ((left_masked_ && !left_store_) || (right_masked_ && !right_store_) || scaling_.output == 0)
    throw ShapeError("the masks have not been encoded yet");
  check(left, plan_.left_bases, scaling_.left, scaling_.left_bound, "left");
  check(right, plan_.right_bases, scaling_.right, scaling_.right_bound, "right");
  for (const auto bases : {left, right})
    for (const Ciphertext* c : bases)
      if (c->key_id != left[0]->key_id) throw MismatchError("the two operands were made under different keys");
}

double PairSum::product_scale(const Scaling& scaling) const {
  return static_cast<double>(ctx_->gadget().q()[product_level_].value()) * scaling.output / (plan_.real_part ? 2 : 1);
}

PairSum::MaskScales PairSum::mask_scales(const Scaling& scaling) const {
  const auto prime = static_cast<double>(ctx_->gadget().q()[level_].value());
  const double product = product_scale(scaling);
  if (right_masked_) return {left_masked_ ? prime : 0, prime * (product / scaling.left) / scaling.right};
  return {left_masked_ ? prime * (product / scaling.right) / scaling.left : 0, 0};
}

Metadata PairSum::describe(std::span<const Metadata* const> left_bases, std::span<const Metadata* const> right_bases,
                           const Scaling& scaling) const {
  const Metadata left = worst(left_bases), right = worst(right_bases);
  const MaskScales masks = mask_scales(scaling);
  const Gadget& gadget = ctx_->gadget();
  const double rounding = MetadataRules(ctx_).rounding(), n = static_cast<double>(ctx_->params().degree());
  const double encoding = encoding_error(ctx_->params().degree());
  const Basis& basis = gadget.q();
  std::size_t pairs = 0, outer = 0;
  for (const auto& g : plan_.groups) {
    pairs += g.pairs.size();
    outer += g.outer != 0;
  }
  // Errors of a shifted operand: inherited from its base, and fresh.
  struct Noise {
    double inherited, fresh, scale, spread, float_error;
  };
  const auto side = [&](const Metadata& c, bool masked, double mask_scale, bool is_left) {
    std::size_t terms = 0;
    bool via = false;
    for (const auto& g : plan_.groups)
      for (const auto& p : g.pairs) {
        const auto& list = is_left ? p.left : p.right;
        terms = std::max(terms, list.size());
        via |= std::any_of(list.begin(), list.end(), [](const auto& t) { return t.via != 0; });
      }
    const std::size_t limbs = (masked ? level_ : product_level_) + 1;
    // A base rotated before it is decomposed has one key switch's noise more.
    const bool twice = via || terms > 1;
    const double turned = gadget.switch_variance(limbs) + (twice ? gadget.switch_variance(limbs) + rounding : 0);
    if (!masked) return Noise{c.variance, turned + rounding, c.scale, c.spread, c.float_error};
    const double factor = mask_scale / static_cast<double>(basis[level_].value());
    const double rounded = static_cast<double>(terms) * square(c.bound * c.scale) / 12;
    return Noise{c.variance * square(factor),
                 turned * square(factor) + rounded / square(static_cast<double>(basis[level_].value())) + rounding,
                 c.scale * factor, c.spread,
                 c.float_error + static_cast<double>(terms) * encoding * (c.bound + c.float_error)};
  };
  const Noise a = side(left, left_masked_, masks.left, true), b = side(right, right_masked_, masks.right, false);
  const auto count = static_cast<double>(pairs);
  // A result slot sums `pairs` products, and folds add up `gathered` of them: errors of one operand weighted by values
  // of the other. So few errors are never more correlated than if they were equal. Where all but one of c copies stay
  // out, what they share does too: with the part p of the variance that was copied, spread is c*s*p + 1 - p, of which
  // s*p + 1 - p <= spread/c + 1 - 1/c remains. MetadataRules::replicated has all in the variance that single copies
  // can share.
  const double gathered = count * std::exp2(static_cast<double>(plan_.folds.size()));
  const auto shared = [&](double spread, std::size_t copies) {
    if (copies == 0) return 1.0;
    const auto c = static_cast<double>(copies);
    return std::clamp(spread / c + 1 - 1 / c, 1.0, gathered);
  };
  const double va = (a.inherited * shared(a.spread, plan_.left_copies) + a.fresh) * count *
                    square(right.bound * b.scale),
               vb = (b.inherited * shared(b.spread, plan_.right_copies) + b.fresh) * count *
                    square(left.bound * a.scale);
  double v = square(std::sqrt(va) + std::sqrt(vb)) + count * n * (a.inherited + a.fresh) * (b.inherited + b.fresh);
  v += static_cast<double>(plan_.groups.size()) * gadget.switch_variance(product_level_ + 1) +
       static_cast<double>(outer) * (gadget.switch_variance(product_level_ + 1) + rounding);
  v = v / square(static_cast<double>(basis[product_level_].value())) + rounding;
  const double turned = gadget.switch_variance(product_level_) + rounding;
  Metadata r;
  r.float_error = count * (a.float_error * right.bound + b.float_error * left.bound + a.float_error * b.float_error);
  // Each base slot meets one result slot in each pair: row and column sums are `pairs` times the bound.
  r.spread = std::max(a.spread, b.spread) * count;
  if (plan_.real_part) {
    v = square(std::sqrt(v) + std::sqrt(v + turned));
  }
  for (std::size_t i = 0; i < plan_.folds.size(); ++i) {
    v = v + (v + turned);
    r.spread *= 2;
    r.float_error *= 2;
  }
  r.variance = v;
  r.scale = scaling.output;
  r.bound = scaling.output_bound;
  r.float_error += 0x1p-51 * r.bound;  // scales and primes as doubles
  return r;
}

Ciphertext PairSum::run(Operands left, Operands right, const KeySet& given, unsigned threads,
                        const std::function<void(double)>& progress) const {
  const KeySet held(given);  // what the run uses, whatever is erased meanwhile
  const GaloisKeys& keys = held.galois();
  check_inputs(left, right);
  const u64 key_id = left[0]->key_id;
  const rlwe::SwitchingKey& relin = held.relin().key();
  relin.check(ctx_->gadget(), product_level_ + 1);
  if (relin.key_id != key_id)
    throw MismatchError("the relinearisation key belongs to another secret key than the operands");
  for (const auto& [element, level] : required_keys()) {
    if (!keys.contains(element))
      throw MissingKeyError("the product needs the Galois key of element " + std::to_string(element) +
                            ", which this key set lacks: generate keys for this plan");
    const auto key = keys.at(element);
    key->check(ctx_->gadget(), level + 1);
    if (key->key_id != key_id)
      throw MismatchError("a Galois key belongs to another secret key than the operands: use keys made together");
  }

  const Gadget& gadget = ctx_->gadget();
  const std::size_t limbs = product_level_ + 1, n = ctx_->params().degree();
  const Basis basis = ctx_->basis(product_level_);
  const Basis& ext = gadget.extended(limbs);
  const auto& kern = kernels::active();
  Side left_side(*this, true, left, keys, threads), right_side(*this, false, right, keys, threads);
  Side::Parts acc{Poly<Eval>(ext), Poly<Eval>(ext)}, u{Poly<Eval>(ext), Poly<Eval>(ext)};
  for (auto& p : acc) p.zero();
  // d0, two halves of d1, d2 of the sum of products.
  std::array<Poly<Eval>, 4> d{Poly<Eval>(basis), Poly<Eval>(basis), Poly<Eval>(basis), Poly<Eval>(basis)};
  std::size_t total = 0, done = 0;
  for (const auto& group : plan_.groups) total += group.pairs.size();

  for (const auto& group : plan_.groups) {
    for (std::size_t first = 0; first < group.pairs.size(); first += kPairsAtOnce) {
      const std::size_t now = std::min(kPairsAtOnce, group.pairs.size() - first);
      const std::span pairs(group.pairs.data() + first, now);
      const auto a = left_side.operands(pairs, done), b = right_side.operands(pairs, done);
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
    switch_key(u[0], u[1], d[3], relin, gadget, threads);
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
    switch_key(v0, u[1], c1, *keys.at(element), gadget, threads);
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
  if (plan_.real_part) ev.add_in_place(r, ev.conjugate(r, keys));
  for (const auto step : plan_.folds) ev.add_in_place(r, ev.rotate(r, step, keys));
  const std::vector<const Metadata*> known_left(left.begin(), left.end()), known_right(right.begin(), right.end());
  static_cast<Metadata&>(r) = describe(known_left, known_right, scaling_);
  return r;
}

Ciphertext PairSum::assemble(Operands left, Operands right,
                             std::span<const std::vector<std::span<const u64>>, 2> parts) const {
  check_inputs(left, right);
  Ciphertext r;
  r.key_id = left[0]->key_id;
  for (const auto& limbs : parts) r.parts.push_back(assembled(ctx_->basis(output_level()), limbs));
  const std::vector<const Metadata*> known_left(left.begin(), left.end()), known_right(right.begin(), right.end());
  static_cast<Metadata&>(r) = describe(known_left, known_right, scaling_);
  return r;
}

void PairSum::copy_mask(bool left, std::size_t pair, std::size_t term, std::size_t limb, std::span<u64> out) const {
  const auto& store = left ? left_store_ : right_store_;
  const auto& first = left ? left_masks_ : right_masks_;
  if (!store) throw ShapeError("this side has no masks, or they have not been encoded yet");
  std::size_t number = 0;
  const std::vector<ShiftTerm>* terms = nullptr;
  for (const auto& group : plan_.groups)
    for (const auto& p : group.pairs)
      if (number++ == pair) terms = left ? &p.left : &p.right;
  if (terms == nullptr || term >= terms->size() || limb >= store->limbs() || out.size() != degree())
    throw ShapeError("there is no limb " + std::to_string(limb) + " of mask " + std::to_string(term) + " of pair " +
                     std::to_string(pair) + " with " + std::to_string(out.size()) + " words");
  const u64* words = store->limb(first[pair] + term, limb, out.data());
  if (words != out.data()) std::copy_n(words, out.size(), out.data());
}

Ciphertext assemble_product(const ContextPtr& context, const Ciphertext& a, const Ciphertext& b,
                            std::span<const std::vector<std::span<const u64>>, 2> parts) {
  for (const Ciphertext* c : {&a, &b}) {
    context->check(*c);
    if (c->parts.size() != 2) throw ShapeError("factors must have two parts: relinearize first");
  }
  rlwe::Evaluator(context->gadget_ptr()).check_pair(a, b);
  const MetadataRules rules(context);
  Ciphertext r;
  r.key_id = a.key_id;
  for (const auto& limbs : parts) r.parts.push_back(assembled(context->basis(a.level()), limbs));
  static_cast<Metadata&>(r) = rules.switched(rules.product(a, b), a.limbs());
  return r;
}

}  // namespace ringforge::circuits
