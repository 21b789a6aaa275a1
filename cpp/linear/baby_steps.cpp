// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/linear/baby_steps.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "ringforge/error.hpp"

namespace ringforge::linear {
namespace {

using i64 = std::int64_t;
using Numbers = std::vector<i64>;

/// Most sums of generators that are enumerated, most splits tried for one set of generators, most offsets, and
/// diagonals that are looked at to rule offsets out.
constexpr std::size_t kMaxSums = std::size_t{1} << 17, kMaxSplits = 1200, kMaxOffsets = 32, kProbes = 24;

/// Numbers spread evenly over 0 ... count - 1, first and last among them, rounded down.
std::vector<std::size_t> spread(std::size_t count, std::size_t wanted) {
  const double step = static_cast<double>(count - 1) / static_cast<double>(wanted - 1);
  std::vector<std::size_t> out(wanted, count - 1);
  for (std::size_t i = 0; i + 1 < wanted; ++i) out[i] = static_cast<std::size_t>(static_cast<double>(i) * step);
  return out;
}

/// Tries splits and keeps the cheapest.
class Search {
 public:
  Search(std::span<const std::uint32_t> steps, std::size_t slots, double giant_cost)
      : z_(steps.begin(), steps.end()),
        slots_(static_cast<i64>(slots)),
        giant_cost_(std::nearbyint(giant_cost * 10) / 10),
        baby_seen_(slots, 0),
        giant_seen_(slots, 0),
        baby_(z_.size()),
        best_(z_.size(), 0) {}

  i64 wrap(i64 x) const { return x & (slots_ - 1); }
  const Numbers& steps() const { return z_; }
  const std::vector<std::uint32_t>& best() const { return best_; }

  /// Babies are the parts of the coordinates below `low`. @param coordinates those of diagonal i from i * low.size() on
  void consider(const Numbers& coordinates, const Numbers& strides, const Numbers& low) {
    ++round_;
    babies_.clear();
    giants_.clear();
    const std::size_t k = low.size();
    for (std::size_t i = 0; i < z_.size(); ++i) {
      i64 sum = 0;
      for (std::size_t d = 0; d < k; ++d) sum += coordinates[i * k + d] % low[d] * strides[d];
      baby_[i] = wrap(sum);
      note(baby_[i], baby_seen_, babies_);
      note(wrap(z_[i] - baby_[i]), giant_seen_, giants_);
    }
    // A baby and a giant step of opposite size become 0 together when all babies move up and all giants down by it.
    // Without such a pair only one of the two sets can have a 0: giants are dearer.
    i64 moved = slots_, least = slots_;
    for (const i64 g : giants_) {
      least = std::min(least, g);
      if (baby_seen_[static_cast<std::size_t>(wrap(-g))] == round_) moved = std::min(moved, g);
    }
    const double free = moved < slots_ ? 1 : 0;
    if (moved == slots_) moved = least;
    const double cost =
        static_cast<double>(babies_.size()) - free + giant_cost_ * (static_cast<double>(giants_.size()) - 1);
    if (cost >= best_cost_) return;
    best_cost_ = cost;
    for (std::size_t i = 0; i < z_.size(); ++i) best_[i] = static_cast<std::uint32_t>(wrap(baby_[i] + moved));
  }

 private:
  void note(i64 step, std::vector<std::uint32_t>& seen, Numbers& list) {
    auto& mark = seen[static_cast<std::size_t>(step)];
    if (mark == round_) return;
    mark = round_;
    list.push_back(step);
  }

  Numbers z_;
  i64 slots_;
  double giant_cost_, best_cost_ = std::numeric_limits<double>::infinity();
  std::uint32_t round_ = 0;
  std::vector<std::uint32_t> baby_seen_, giant_seen_;  // the round in which a step was seen last
  Numbers baby_, babies_, giants_;
  std::vector<std::uint32_t> best_;
};

/// One coordinate: the place behind the widest gap, in units of the common divisor.
void by_size(Search& search, std::size_t slots) {
  const Numbers& z = search.steps();
  Numbers order = z;
  std::sort(order.begin(), order.end());
  std::size_t widest = 0;
  i64 gap = -1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const i64 next = i + 1 < order.size() ? order[i + 1] : order[0] + static_cast<i64>(slots);
    if (next - order[i] > gap) {
      gap = next - order[i];
      widest = i;
    }
  }
  const i64 start = order[(widest + 1) % order.size()];
  Numbers t(z.size());
  i64 unit = static_cast<i64>(slots);
  for (std::size_t i = 0; i < z.size(); ++i) unit = std::gcd(unit, t[i] = search.wrap(z[i] - start));
  for (auto& x : t) x /= unit;
  const i64 largest = *std::max_element(t.begin(), t.end()) + 1;
  const Numbers strides{unit};
  for (i64 bound = 1; bound < largest && bound <= 64; ++bound) search.consider(t, strides, {bound});
  for (i64 bound = 128; bound < largest && bound <= static_cast<i64>(slots) / 2; bound *= 2)
    search.consider(t, strides, {bound});
  search.consider(t, strides, {largest});
}

/// Bounds of the low parts: for each coordinate 1, powers of two, all; fewer where that would be too many together.
std::vector<Numbers> bounds(const Numbers& counts) {
  std::vector<Numbers> options;
  for (const i64 c : counts) {
    Numbers of{1};
    for (i64 p = 2; p < c; p *= 2) of.push_back(p);
    if (c > 1) of.push_back(c);
    options.push_back(of);
  }
  const auto product = [&] {
    std::size_t out = 1;
    for (const auto& of : options) out *= of.size();
    return out;
  };
  while (product() > kMaxSplits) {
    auto& most = *std::max_element(options.begin(), options.end(),
                                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
    Numbers fewer;
    for (std::size_t i = 0; i < most.size(); i += 2) fewer.push_back(most[i]);
    if (most.size() % 2 == 0) fewer.push_back(most.back());
    most = fewer;
  }
  return options;
}

/// Coordinates in the generators, where every diagonal has some.
void by_generators(Search& search, std::size_t slots, std::span<const Progression> generators) {
  Numbers strides, counts;
  double sums = 1;
  for (const auto& g : generators)
    if (g.count > 1 && search.wrap(g.stride) != 0) {
      strides.push_back(g.stride);
      counts.push_back(static_cast<i64>(g.count));
      sums *= static_cast<double>(g.count);
    }
  if (strides.empty() || sums > static_cast<double>(kMaxSums)) return;
  const std::size_t k = strides.size(), total = static_cast<std::size_t>(sums);
  // The last coordinate runs fastest. Of several ways to write a sum the first one is kept.
  Numbers tuples(total * k, 0);
  std::vector<i64> place(slots, -1);
  Numbers offsets;
  const Numbers& z = search.steps();
  for (std::size_t t = 0; t < total; ++t) {
    std::size_t rest = t;
    i64 sum = 0;
    for (std::size_t d = k; d-- > 0;) {
      const i64 at = static_cast<i64>(rest % static_cast<std::size_t>(counts[d]));
      rest /= static_cast<std::size_t>(counts[d]);
      tuples[t * k + d] = at;
      sum += at * strides[d];
    }
    auto& mine = place[static_cast<std::size_t>(search.wrap(sum))];
    if (mine < 0) mine = static_cast<i64>(t);
    offsets.push_back(search.wrap(z[0] - sum));
  }
  std::sort(offsets.begin(), offsets.end());
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  const auto tuple = [&](i64 step, i64 offset) { return place[static_cast<std::size_t>(search.wrap(step - offset))]; };
  Numbers order = z;
  std::sort(order.begin(), order.end());
  // Some of the diagonals, the ends of their range among them, leave few offsets.
  for (const std::size_t i : spread(order.size(), kProbes))
    std::erase_if(offsets, [&](i64 o) { return tuple(order[i], o) < 0; });
  if (offsets.size() > kMaxOffsets) {
    Numbers fewer;
    for (const std::size_t i : spread(offsets.size(), kMaxOffsets)) fewer.push_back(offsets[i]);
    offsets = fewer;
  }
  // Of those that serve all, one that uses the small coordinates.
  i64 offset = -1, least = std::numeric_limits<i64>::max();
  for (const i64 o : offsets) {
    i64 size = 0;
    bool all = true;
    for (std::size_t i = 0; all && i < z.size(); ++i) {
      const i64 t = tuple(z[i], o);
      all = t >= 0;
      for (std::size_t d = 0; all && d < k; ++d) size += tuples[static_cast<std::size_t>(t) * k + d];
    }
    if (all && size < least) {
      least = size;
      offset = o;
    }
  }
  if (offset < 0) return;
  Numbers found, most(k, 1);
  for (const i64 step : z)
    for (std::size_t d = 0; d < k; ++d) {
      found.push_back(tuples[static_cast<std::size_t>(tuple(step, offset)) * k + d]);
      most[d] = std::max(most[d], found.back() + 1);
    }
  const auto options = bounds(most);
  std::vector<std::size_t> at(k, 0);
  for (bool more = true; more;) {
    Numbers low(k);
    for (std::size_t d = 0; d < k; ++d) low[d] = options[d][at[d]];
    search.consider(found, strides, low);
    more = false;
    for (std::size_t d = k; !more && d-- > 0;) {
      more = ++at[d] < options[d].size();
      if (!more) at[d] = 0;
    }
  }
}

}  // namespace

std::vector<std::uint32_t> baby_steps(std::span<const std::uint32_t> steps, std::size_t slots,
                                      std::span<const Progression> generators, double giant_cost) {
  if (!std::has_single_bit(slots)) throw ShapeError(std::to_string(slots) + " slots: a power of two is needed");
  if (std::any_of(steps.begin(), steps.end(), [&](auto z) { return z >= slots; }))
    throw ShapeError("a diagonal lies beyond " + std::to_string(slots) + " slots");
  if (steps.empty()) return {};
  Search search(steps, slots, giant_cost);
  by_size(search, slots);
  by_generators(search, slots, generators);
  return search.best();
}

}  // namespace ringforge::linear
