// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/cost.hpp"

#include <algorithm>
#include <bit>
#include <list>
#include <numeric>
#include <set>
#include <string>
#include <tuple>

#include "ringforge/circuits/pair_sum.hpp"
#include "ringforge/error.hpp"

namespace ringforge::circuits {

using rlwe::GadgetShape;

namespace {

// Beside a butterfly: a word streamed from memory, one multiplied and added, one in a base conversion.
constexpr double kStreamed = 2.0, kMultiplied = 1.0, kConverted = 0.6;

double weigh(const GadgetShape& g, double transforms, double streamed, double multiplied, double converted) noexcept {
  const auto n = static_cast<double>(g.degree);
  const double butterflies = transforms * n / 2 * (std::bit_width(g.degree) - 1);
  return butterflies + n * (kStreamed * streamed + kMultiplied * multiplied + kConverted * converted);
}

}  // namespace

Work& Work::operator+=(const Work& o) noexcept {
  OpCounts::operator+=(o);
  multiplied += o.multiplied;
  converted += o.converted;
  return *this;
}

double weight(const GadgetShape& g, const Work& w) noexcept {
  const double words =
      static_cast<double>(w.key_bytes + w.plaintext_bytes) / (sizeof(u64) * static_cast<double>(g.degree));
  return weigh(g, static_cast<double>(w.ntt + w.intt), words, static_cast<double>(w.multiplied),
               static_cast<double>(w.converted));
}

StepWeights step_weights(const GadgetShape& g, std::size_t limbs) noexcept {
  const auto words = static_cast<double>(2 * g.digits(limbs) * g.extended(limbs));
  const double baby = weigh(g, 0, words, words, 0);
  const std::size_t transforms = g.special + limbs + g.digits(limbs) * g.extended(limbs);
  const std::size_t down = g.special > 1 ? g.special * limbs : 0;
  return {baby,
          baby + weigh(g, static_cast<double>(transforms), 0, 0, static_cast<double>(g.conversions(limbs) + down))};
}

// ---- single operations ----------------------------------------------------------------------------

void Tally::mod_up(std::size_t limbs) noexcept {
  work.mod_up += 1;
  work.intt += limbs;
  work.ntt += g_.mod_up_transforms(limbs);
  work.converted += g_.conversions(limbs);
}

void Tally::mod_down(std::size_t gone, std::size_t kept, std::size_t times) noexcept {
  work.mod_down += times;
  work.intt += gone * times;
  work.ntt += kept * times;
  if (gone > 1) work.converted += gone * kept * times;
}

void Tally::key_switch(std::size_t limbs, std::optional<std::int64_t> step) {
  work.key_switch += 1;
  work.key_bytes += g_.key_bytes(limbs);
  work.multiplied += 2 * g_.digits(limbs) * g_.extended(limbs);
  if (!step) return;
  work.rotation += 1;
  std::size_t& have = keys[*step];
  have = std::max(have, limbs);
}

void Tally::rotate(std::size_t limbs, std::int64_t step) {
  if (step == 0) return;
  mod_up(limbs);
  key_switch(limbs, step);
  mod_down(g_.special, limbs, 2);
}

void Tally::multiply(std::size_t terms, std::size_t limbs) noexcept {
  work.plain_mul += terms;
  work.plaintext_bytes += sizeof(u64) * terms * limbs * g_.degree;
  work.multiplied += 2 * terms * limbs;
}

void Tally::need(std::size_t limbs) noexcept { working = std::max(working, sizeof(u64) * limbs * g_.degree); }

// Runs of 16 equal words or more, N / (2 period) of them, are stored once. A constant is taken to be real: one word.
std::size_t Tally::kept_bytes(std::size_t period, std::size_t limbs) const noexcept {
  if (32 * period <= g_.degree) return (period > 1 ? 16 * period : 8) * limbs;
  return sizeof(u64) * g_.degree * (compact ? 1 : limbs);
}

void Tally::expand(std::size_t period, std::size_t limbs) noexcept {
  if (compact && 32 * period > g_.degree) work.ntt += limbs;
}

// ---- transforms -----------------------------------------------------------------------------------

std::size_t Tally::transform(std::span<const std::uint32_t> steps, std::span<const std::uint32_t> babies,
                             std::span<const std::size_t> periods, std::size_t slots, std::size_t limbs,
                             Schedule schedule, bool rescales) {
  const bool bsgs = schedule == Schedule::bsgs;
  if (periods.size() != steps.size() || (bsgs && babies.size() != steps.size()))
    throw ShapeError("a transform of " + std::to_string(steps.size()) + " diagonals has a period and, for bsgs, a " +
                     "baby step for each of them");
  const std::size_t ext = g_.extended(limbs), digits = g_.digits(limbs);
  const auto moving =
      static_cast<std::size_t>(std::count_if(steps.begin(), steps.end(), [](auto z) { return z != 0; }));
  std::size_t bytes = 0;
  if (moving == 0 || schedule == Schedule::naive) {
    for (const auto z : steps) rotate(limbs, z);
    multiply(steps.size(), limbs);
    if (rescales) mod_down(1, limbs - 1, 2);
    for (const auto p : periods) {
      expand(p, limbs);
      bytes += kept_bytes(p, limbs);
    }
    need(8 * limbs + digits * ext);
    return bytes;
  }
  std::set<std::uint32_t> small, large;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::uint32_t baby = bsgs ? babies[i] : steps[i];
    small.insert(baby);
    large.insert(static_cast<std::uint32_t>((steps[i] - baby) & (slots - 1)));
    const bool rotated = baby != 0;
    expand(periods[i], rotated ? ext : limbs);
    bytes += kept_bytes(periods[i], ext);
  }
  const std::size_t held = bsgs ? large.size() * 2 * ext : 2 * ext;
  small.erase(0);
  large.erase(0);
  if (!small.empty()) mod_up(limbs);
  for (const auto b : small) key_switch(limbs, b);
  multiply(steps.size(), ext);
  for (const auto z : large) {
    mod_down(g_.special, limbs, 1);
    mod_up(limbs);
    key_switch(limbs, z);
  }
  mod_down(g_.special + (rescales ? 1 : 0), limbs - (rescales ? 1 : 0), 2);
  need(held + 4 * ext + 4 * limbs + digits * ext);
  return bytes;
}

// ---- sums of products -----------------------------------------------------------------------------

/// One operand: what PairSum::Side keeps and makes anew as the pairs go by.
class Tally::Side {
 public:
  Side(Tally& tally, const OutlineSide& outline, std::size_t slots, std::size_t base, std::size_t product,
       std::size_t unit)
      : t_(tally), outline_(outline), slots_(slots) {
    for (const auto& term : outline.terms) masked_ |= term.size.has_value();
    limbs_ = masked_ ? base : product;
    if (unit > 0) {
      unit_ = slots;
      for (const auto& term : outline.terms) unit_ = std::gcd(unit_, term.step);
      unit_ *= unit;
    }
    if (masked_) return;
    for (std::size_t i = 0; i + 1 < outline.first.size(); ++i) ++uses_[id(outline.terms[outline.first[i]])];
  }

  void operand(std::size_t pair) {
    const std::span<const OutlineTerm> terms(outline_.terms.data() + outline_.first[pair],
                                             outline_.first[pair + 1] - outline_.first[pair]);
    if (masked_)
      combine(terms);
    else
      bare(terms[0]);
  }

  /// Bytes of the masks; nothing for the complement of another.
  std::size_t storage() const {
    if (!masked_) return 0;
    bool rotates = false;
    std::vector<std::size_t> periods;
    for (std::size_t i = 0; i + 1 < outline_.first.size(); ++i) {
      const std::span<const OutlineTerm> terms(outline_.terms.data() + outline_.first[i],
                                               outline_.first[i + 1] - outline_.first[i]);
      for (const auto& term : complements(terms) ? terms.first(1) : terms) {
        rotates |= rest(term) != 0;
        periods.push_back(term.period);
      }
    }
    std::size_t bytes = 0;
    for (const auto p : periods) bytes += t_.kept_bytes(p, rotates ? t_.g_.extended(limbs_) : limbs_);
    return bytes;
  }

  /// Limbs held: the bases, copies of them at a lower level, rotated ones; digits; blends of two; operands of four
  /// pairs.
  std::size_t held(std::size_t base, std::size_t product) const {
    const std::size_t raised = t_.g_.digits(limbs_) * t_.g_.extended(limbs_) + limbs_;
    return 2 * (outline_.bases * (base + (limbs_ != base ? limbs_ : 0)) + derived_.size() * limbs_) +
           raised_.size() * raised + 2 * blends_.size() * raised + (waiting_ + 4) * 2 * product;
  }

 private:
  /// Base, rotation, and which of several made alike.
  using Source = std::array<std::size_t, 3>;
  using Id = std::pair<std::size_t, std::size_t>;
  static Id id(const OutlineTerm& term) { return {term.base, term.step}; }

  /// The part of a rotation that is not made beforehand.
  std::size_t rest(const OutlineTerm& term) const { return unit_ > 0 ? term.step % unit_ : term.step; }
  bool complements(std::span<const OutlineTerm> terms) const {
    return terms.size() == 2 && *terms[0].size + *terms[1].size == slots_;
  }

  /// A base, or a base rotated by `via`: made when it is not among those kept.
  Source source(std::size_t base, std::size_t via) {
    if (via == 0) return {base, 0, 0};
    for (auto it = derived_.begin(); it != derived_.end(); ++it)
      if ((*it)[0] == base && (*it)[1] == via) {
        derived_.splice(derived_.begin(), derived_, it);
        return derived_.front();
      }
    if (derived_.size() == PairSum::kDerived) derived_.pop_back();
    turn({base, 0, 0}, via);
    derived_.push_front({base, via, ++made_});
    return derived_.front();
  }

  /// A rotation from shared digits, with its ModDown.
  void turn(const Source& source, std::size_t step) {
    lift(source);
    t_.key_switch(limbs_, static_cast<std::int64_t>(step));
    t_.mod_down(t_.g_.special, limbs_, 2);
  }

  void lift(const Source& source) {
    if (raised_.insert(source).second) t_.mod_up(limbs_);
  }

  void bare(const OutlineTerm& term) {
    const Id key = id(term);
    if (!bare_.contains(key)) {
      const std::size_t last = rest(term);
      const Source from = source(term.base, term.step - last);
      if (last != 0) turn(from, last);
    }
    if (--uses_[key] > 0)
      bare_.insert(key);
    else
      bare_.erase(key);
    waiting_ = std::max(waiting_, bare_.size());
  }

  /// A masked shift: the first term's rotation, after masks on the bases rotated by what the others lack.
  void combine(std::span<const OutlineTerm> terms) {
    const std::size_t last = rest(terms[0]);
    std::vector<Source> sources;
    for (const auto& term : terms) sources.push_back(source(term.base, (term.step - last) & (slots_ - 1)));
    if (last == 0) {
      t_.multiply(terms.size(), limbs_);
      t_.mod_down(1, limbs_ - 1, 2);
      for (const auto& term : terms) t_.expand(term.period, limbs_);
      return;
    }
    const std::size_t ext = t_.g_.extended(limbs_), digits = t_.g_.digits(limbs_);
    const bool two = complements(terms);
    for (const auto& s : sources) lift(s);
    if (two) {
      const auto known = std::find(blends_.begin(), blends_.end(), sources);
      if (known != blends_.end())
        blends_.erase(known);
      else
        t_.multiplied(2 * digits * ext);
      blends_.push_front(sources);
      if (blends_.size() > PairSum::kBlends) blends_.pop_back();
    }
    t_.key_switch(limbs_, static_cast<std::int64_t>(last));
    t_.work.plain_mul += terms.size();
    t_.work.plaintext_bytes += sizeof(u64) * terms.size() * ext * t_.g_.degree;
    const auto masks = two ? terms.first(1) : terms;
    t_.multiplied(masks.size() * (digits * ext + limbs_));
    for (const auto& term : masks) t_.expand(term.period, ext);
    t_.mod_down(t_.g_.special + 1, limbs_ - 1, 2);
  }

  Tally& t_;
  const OutlineSide& outline_;
  std::size_t slots_, limbs_ = 0, unit_ = 0, made_ = 0, waiting_ = 0;
  bool masked_ = false;
  std::list<Source> derived_;
  std::set<Source> raised_;  // among all sources, those that have been through ModUp
  std::list<std::vector<Source>> blends_;
  std::map<Id, std::size_t> uses_;
  std::set<Id> bare_;
};

void Tally::pair_sum(const OutlineSide& left, const OutlineSide& right,
                     std::span<const std::pair<std::size_t, std::size_t>> groups, std::size_t slots, std::size_t base,
                     std::size_t product, std::size_t unit) {
  std::size_t pairs = 0;
  for (const auto& group : groups) pairs += group.second;
  for (const auto* side : {&left, &right})
    if (side->first.size() != pairs + 1 || side->first.back() != side->terms.size() ||
        std::adjacent_find(side->first.begin(), side->first.end(), std::greater_equal<>()) != side->first.end())
      throw ShapeError("an outline of " + std::to_string(pairs) + " pairs has a term at least for each side of each");
  Side sides[2] = {{*this, left, slots, base, product, unit}, {*this, right, slots, base, product, unit}};
  std::size_t place = 0;
  for (const auto& [outer, count] : groups) {
    for (std::size_t i = 0; i < count; ++i, ++place) {
      for (auto& side : sides) side.operand(place);
      multiplied(4 * product);
    }
    mod_up(product);
    key_switch(product, {});
    if (outer == 0) continue;
    mod_down(g_.special, product, 1);
    mod_up(product);
    key_switch(product, static_cast<std::int64_t>(outer & (slots - 1)));
  }
  mod_down(g_.special + 1, product - 1, 2);
  std::size_t held = 4 * g_.extended(product) + 4 * product + 2 * g_.extended(base);
  for (const auto& side : sides) {
    storage += side.storage();
    held += side.held(base, product);
  }
  need(held);
}

}  // namespace ringforge::circuits
