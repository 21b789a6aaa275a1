// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/matrix_plan.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "matrix_transforms.hpp"
#include "ringforge/error.hpp"
#include "ringforge/linear/baby_steps.hpp"

namespace ringforge::circuits {
namespace matrix {
namespace {

/// Sizes of outer groups that are tried (0: no grouping), and plans whose work is counted, the best by a rough
/// estimate.
constexpr std::size_t kGroups[] = {0, 4, 8, 16}, kCounted = 24;
/// Geometries whose products alone take this much more than the best plan found are left out.
constexpr double kWorth = 1.2;

struct Draft {
  const Steps* steps;
  const Pipeline* left;
  const Pipeline* right;
  std::size_t group;  // size of outer groups
  double estimate = 0;

  std::size_t depth() const {
    return std::max(left->transforms(), right->transforms()) + (steps->left_masked() || steps->right_masked() ? 1 : 0) +
           1;
  }
};

/// The numbers of columns or rows from `least` to `most` that are c 2^t P with the smallest c, t > 0; or nothing.
/// Contents repeat with period P: of these, c periods are made by a transform, the others by t rotations.
std::set<std::size_t> whole(std::size_t least, std::size_t most, std::size_t period) {
  std::optional<std::pair<std::size_t, std::size_t>> best;
  for (std::size_t t = 1; t < static_cast<std::size_t>(std::bit_width(most)); ++t) {
    const std::size_t c = (least + (period << t) - 1) / (period << t);
    if (least > period && (c * period << t) <= most && (!best || std::pair(c, t) < *best)) best = {c, t};
  }
  if (!best) return {};
  return {best->first * period << best->second};
}

/// The largest power of two of periods up to `lines`, or one.
std::size_t most_periods(const Geometry& g, std::size_t lines) {
  return lines < g.period() ? g.period() : g.period() * std::bit_floor(lines / g.period());
}

/// Transforms of one limb that the products take at least, roughly.
double least(const Geometry& g) {
  return static_cast<double>(g.steps) * (kSwitch + 2 * kDown) +
         static_cast<double>(std::bit_width(g.blocks) - 1) * kFull;
}

/// All r that bring the number of steps down, each with the distances of columns that may be worth a try: m; m + h - 1,
/// which needs no masks; whole periods from either on.
std::vector<Geometry> geometries(const MatrixShape& s, std::size_t slots, bool packed) {
  std::vector<Geometry> out;
  const std::size_t need = packed ? (s.l + 1) / 2 : s.l;
  for (std::size_t blocks = 1, before = 0; slots / blocks >= s.m * s.n; blocks *= 2) {
    const std::size_t steps = (need + blocks - 1) / blocks;
    if (steps != before) {
      const std::size_t widest = slots / blocks / s.n, period = steps * blocks;
      std::set<std::size_t> strides{s.m, s.m + steps - 1};
      for (const std::size_t from : {s.m, s.m + steps - 1}) strides.merge(whole(from, widest, period));
      for (const std::size_t stride : strides)
        if (stride <= widest) out.push_back({s.m, s.l, s.n, slots, blocks, steps, stride, packed});
    }
    before = steps;
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return least(a) < least(b); });
  return out;
}

/// Finds drafts, and keeps what they are made of.
class Search {
 public:
  Search(const MatrixShape& shape, std::size_t slots) {
    for (const bool packed : {true, false}) {
      if (packed && shape.l == 1) continue;
      double best = std::numeric_limits<double>::infinity();
      for (const Geometry& g : geometries(shape, slots, packed)) {
        if (least(g) > kWorth * best) break;
        for (const Side* left : lefts(g))
          for (const Side* right : rights(g)) {
            steps_.emplace_back(g, *left, *right);
            for (const Draft& d : drafts(steps_.back(), *left, *right)) {
              best = std::min(best, d.estimate);
              found_.push_back(d);
            }
          }
      }
    }
  }

  /// The best by the estimate, and the best of each depth.
  std::vector<Draft> kept() const {
    std::vector<Draft> sorted = found_, out;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.estimate < b.estimate; });
    std::set<std::size_t> depths;
    for (const Draft& d : sorted)
      if (depths.insert(d.depth()).second || out.size() < kCounted) out.push_back(d);
    return out;
  }

 private:
  using SideKey = std::tuple<std::size_t, std::size_t, std::size_t, bool, std::size_t, bool>;

  const Side* side(const Geometry& g, std::size_t extent, bool left) {
    const SideKey key{g.blocks, g.steps, g.stride, g.packed, extent, left};
    auto it = sides_.find(key);
    if (it == sides_.end()) it = sides_.emplace(key, std::make_unique<Side>(g, extent, left)).first;
    return it->second->complete() ? it->second.get() : nullptr;
  }

  /// Full columns, and columns of a power of two of periods, which are cheaper to make.
  std::vector<const Side*> rights(const Geometry& g) {
    if (g.stride == g.m && g.steps > g.m) return {};
    const std::size_t part = most_periods(g, g.m);
    std::set<std::size_t> rows = whole(g.stride, g.stride, g.period());
    rows.insert({g.stride, std::min(part, g.stride)});
    std::vector<const Side*> out;
    for (const std::size_t r : rows)
      if (const Side* s = side(g, r, false)) out.push_back(s);
    return out;
  }

  /// n columns or a power of two of periods, or as many as make all steps bare.
  std::vector<const Side*> lefts(const Geometry& g) {
    const std::size_t part = most_periods(g, g.n);
    std::set<std::size_t> tried = whole(g.n, g.columns(), g.period());
    tried.insert({g.n, std::min(part, g.columns())});
    std::vector<const Side*> out;
    for (const std::size_t cols : tried)
      if (const Side* s = side(g, cols, true)) {
        out.push_back(s);
        if (cols == g.n && s->all_bare()) return out;
      }
    const std::size_t enough = g.n + g.steps - 1;
    if (enough > g.columns()) return out;
    std::set<std::size_t> more = whole(enough, g.columns(), g.period());
    more.insert(enough);
    for (const std::size_t cols : more) {
      if (tried.contains(cols)) continue;
      if (const Side* s = side(g, cols, true); s != nullptr && s->all_bare()) out.push_back(s);
    }
    return out;
  }

  const std::vector<Pipeline>& ways(const Geometry& g, const Side& s) {
    auto it = ways_.find(&s);
    if (it == ways_.end()) it = ways_.emplace(&s, pipelines(g, s.extent(), s.left())).first;
    return it->second;
  }

  /// One or two transforms of the operands, with and without outer groups.
  std::vector<Draft> drafts(const Steps& steps, const Side& left, const Side& right) {
    const Geometry& g = steps.geometry();
    const auto &a = ways(g, left), &b = ways(g, right);
    std::set<std::size_t> levels;
    for (const auto* of : {&a, &b})
      for (const auto& p : *of) levels.insert(p.transforms());
    const auto last = [](const std::vector<Pipeline>& of, std::size_t most) {
      return &*std::find_if(of.rbegin(), of.rend(), [&](const auto& p) { return p.transforms() <= most; });
    };
    std::vector<Draft> out;
    for (const std::size_t level : levels)
      for (const std::size_t size : kGroups) {
        if (size != 0 && (!steps.groupable() || size > steps.widest())) continue;
        Draft d{&steps, last(a, level), last(b, level), size};
        d.estimate = estimate(d);
        out.push_back(d);
      }
    return out;
  }

  /// Transforms of one limb that everything takes, roughly: 5 limbs, 1 special prime, a digit each.
  static double estimate(const Draft& d) {
    const Steps& s = *d.steps;
    const Geometry& g = s.geometry();
    const auto [groups, rotated] = s.groups(d.group);
    const auto number = [](std::size_t x) { return static_cast<double>(x); };
    const auto shift = [](bool masked) { return kSwitch + 2 * kDown + (masked ? 2 * kProduct : 0); };
    return d.left->estimate + d.right->estimate +
           number(groups + rotated + static_cast<std::size_t>(std::bit_width(g.blocks)) - 1) * kFull +
           number(s.left_rotations(d.group)) * shift(s.left_masked()) + number(g.steps) * shift(s.right_masked()) +
           number(s.lacking()) * (kFull + 2 * kDown);
  }

  std::map<SideKey, std::unique_ptr<Side>> sides_;
  std::map<const Side*, std::vector<Pipeline>> ways_;
  std::deque<Steps> steps_;
  std::vector<Draft> found_;
};

// ---- counting -------------------------------------------------------------------------------------

/// Of a mask's ascending slots, the least power of two after which they repeat.
std::size_t period(const Slots& mask, std::size_t slots) {
  std::size_t p = slots, n = mask.size();
  const auto repeats = [&](std::size_t half) {
    for (std::size_t i = 0; i < half; ++i)
      if (mask[i + half] != mask[i] + p / 2) return false;
    return true;
  };
  while (p > 1 && n % 2 == 0 && repeats(n / 2)) {
    p /= 2;
    n /= 2;
  }
  return p;
}

/// Turns drafts into plans and counts their work.
class Counter {
 public:
  Counter(const rlwe::GadgetShape& gadget, const MatrixShape& shape) : gadget_(gadget), shape_(shape) {}

  /// @param level of the inputs
  MatrixPlan plan(const Draft& d, std::size_t level) {
    const Geometry& g = d.steps->geometry();
    MatrixPlan out;
    out.shape = shape_;
    out.slots = g.slots;
    out.stride = g.stride;
    out.level = level;
    out.masked = d.steps->left_masked() || d.steps->right_masked();
    out.label = label(d);
    const std::size_t base = level + 1 - std::max(d.left->transforms(), d.right->transforms());
    const std::size_t product = base - (out.masked ? 1 : 0);
    Tally tally(gadget_);
    for (const bool left : {true, false}) operand(left ? *d.left : *d.right, base, tally, left ? out.left : out.right);
    out.products = d.steps->plan(d.group);
    products(out.products, base, product, tally);
    if (out.products.real_part) tally.rotate(product - 1, kConjugation);
    for (const auto step : out.products.folds) tally.rotate(product - 1, step);
    out.work = tally.work;
    out.weight = circuits::weight(gadget_, tally.work);
    out.rotation_keys = tally.keys.size();
    out.key_storage = gadget_.key_bytes(product);
    for (const auto& [step, limbs] : tally.keys) out.key_storage += gadget_.key_bytes(limbs);
    out.plaintext_storage = tally.storage;
    // Both inputs live on.
    out.working = tally.working + 32 * (level + 1) * gadget_.degree;
    return out;
  }

 private:
  static constexpr std::int64_t kConjugation = -1;

  static std::string label(const Draft& d) {
    const Geometry& g = d.steps->geometry();
    std::string out = "r";
    out += std::to_string(g.blocks) + " h" + std::to_string(g.steps) + (g.packed ? " complex" : "") + " M";
    out += std::to_string(g.stride) + " " + d.left->label() + "/" + d.right->label();
    if (d.group != 0) out += " outer " + std::to_string(d.group);
    return out;
  }

  struct Made {
    std::vector<MatrixOperand::Transform> transforms;
    std::vector<std::vector<std::size_t>> periods;
  };

  const Made& made(const Pipeline& p, std::size_t limbs) {
    const auto [it, fresh] = made_.try_emplace({&p, limbs});
    if (!fresh) return it->second;
    for (const Entries& e : p.build()) {
      const auto [baby, giant] = step_weights(gadget_, limbs--);
      auto map = e.map();
      auto babies = linear::baby_steps(map.steps(), e.slots, e.generators, giant / baby);
      it->second.transforms.push_back({std::move(map), std::move(babies)});
      it->second.periods.push_back(e.periods());
    }
    return it->second;
  }

  void operand(const Pipeline& p, std::size_t base, Tally& tally, MatrixOperand& out) {
    std::size_t limbs = base + p.transforms();
    const Made& m = made(p, limbs);
    for (std::size_t i = 0; i < m.transforms.size(); ++i) {
      const auto& [map, babies] = m.transforms[i];
      tally.storage += tally.transform(map.steps(), babies, m.periods[i], map.slots(), limbs--, Schedule::bsgs);
    }
    out.transforms = m.transforms;
    out.copies = p.doublings;
    for (const i64 step : out.copies) tally.rotate(limbs, step);
  }

  void products(const PairSumPlan& plan, std::size_t base, std::size_t product, Tally& tally) const {
    const std::size_t slots = gadget_.degree / 2;
    std::vector<std::size_t> periods;
    for (const auto& mask : plan.masks) periods.push_back(period(mask, slots));
    OutlineSide sides[2];
    std::vector<std::pair<std::size_t, std::size_t>> groups;
    for (auto& s : sides) s.first.push_back(0);
    for (const auto& group : plan.groups) {
      groups.emplace_back(group.outer, group.pairs.size());
      for (const auto& pair : group.pairs)
        for (const bool left : {true, false}) {
          OutlineSide& side = sides[left ? 0 : 1];
          for (const ShiftTerm& t : left ? pair.left : pair.right)
            side.terms.push_back(t.mask == ShiftTerm::kNoMask
                                     ? OutlineTerm{0, t.step, 1}
                                     : OutlineTerm{0, t.step, periods[t.mask], plan.masks[t.mask].size()});
          side.first.push_back(side.terms.size());
        }
    }
    tally.pair_sum(sides[0], sides[1], groups, slots, base, product, 0);
  }

  rlwe::GadgetShape gadget_;
  MatrixShape shape_;
  std::map<std::pair<const Pipeline*, std::size_t>, Made> made_;
};

std::string name(const MatrixShape& s) {
  return std::to_string(s.m) + " x " + std::to_string(s.l) + " times " + std::to_string(s.l) + " x " +
         std::to_string(s.n);
}

}  // namespace
}  // namespace matrix

MatrixPlan plan_matrix_product(const ckks::Context& context, const MatrixShape& shape,
                               std::optional<std::size_t> level) {
  const std::size_t slots = context.params().slots();
  const auto& [m, l, n] = shape;
  if (m == 0 || l == 0 || n == 0)
    throw ShapeError("a product of " + matrix::name(shape) + " has an empty side: each must be at least 1");
  // Sides are compared first: products of huge ones would wrap.
  if (std::max({m, l, n}) > slots || std::max({m * l, l * n, m * n}) > slots)
    throw ShapeError("a product of " + matrix::name(shape) + " has a matrix with more entries than the " +
                     std::to_string(slots) + " slots of a ciphertext: choose parameters of a larger degree, or cut " +
                     "the matrices into blocks");
  if (context.gadget().p().size() == 0)
    throw ParameterError("products of matrices need special primes, and these parameters have none");
  const matrix::Search search(shape, slots);
  matrix::Counter counter(context.gadget().shape(), shape);
  const std::size_t most = level.value_or(context.params().max_level());
  std::optional<MatrixPlan> best;
  std::size_t shallowest = std::numeric_limits<std::size_t>::max();
  for (const auto& draft : search.kept()) {
    shallowest = std::min(shallowest, draft.depth());
    if (draft.depth() > most || most > context.params().max_level()) continue;
    MatrixPlan plan = counter.plan(draft, level.value_or(draft.depth()));
    if (!best || plan.weight < best->weight) best = std::move(plan);
  }
  if (!best)
    throw LevelError("a product of " + matrix::name(shape) + " takes at least " + std::to_string(shallowest) +
                     " levels, " + (level ? "the operands have " + std::to_string(*level) + " of " : "there are ") +
                     std::to_string(context.params().max_level()) +
                     ": encrypt at a higher level, or use parameters with more primes");
  return std::move(*best);
}

}  // namespace ringforge::circuits
