// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "matrix_transforms.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace ringforge::circuits::matrix {
namespace {

using Complex = std::complex<double>;
using linear::Progression;

/// Rotations of the first of two transforms are by i or j modulo these, or by all of it.
constexpr std::size_t kModuli[] = {4, 8, 16, 32};

i64 of(std::size_t x) { return static_cast<i64>(x); }

/// Where the second part of a pair comes from: the generators get one more.
Progression back(const Geometry& g, std::size_t unit, std::size_t count) { return {-of(g.period() * unit), count}; }

/// Entries of the transforms of one operand. Places of the matrix: A[i, c] at i + m c, B[c, j] at c + l j. A line is i
/// or j, `unit` the distance of neighbouring c, `pitch` that of lines.
class Maker {
 public:
  Maker(const Geometry& geometry, bool left)
      : lines(left ? geometry.m : geometry.n),
        g_(geometry),
        left_(left),
        unit_(left ? geometry.m : 1),
        pitch_(left ? 1 : geometry.l),
        factor_(0, left ? 1 : -1) {}

  const std::size_t lines;

  /// Lines rotated by line mod b; entries, or pairs if `paired`.
  Entries first(std::size_t b, bool paired) const {
    const std::size_t width = paired ? g_.period() : g_.l, turns = std::min(b, lines);
    Entries out{g_.slots, {}, {}};
    for (std::size_t c = 0; c < width; ++c)
      for (std::size_t line = 0; line < lines; ++line)
        add(out, place(line, c), line, (c + line % b) % width, paired, [](std::size_t, std::size_t p) { return p; });
    out.generators = {{of(unit_), turns}, {-of(width * unit_), (width - 1 + turns - 1) / width + 1}};
    if (paired && g_.packed) out.generators.push_back({of(g_.period() * unit_), 2});
    return out;
  }

  /// From the matrix (b = 1, not paired) or from `first` to a base with `extent` columns or rows filled.
  Entries last(std::size_t extent, std::size_t b, bool paired) const {
    const std::size_t rows = left_ ? g_.m : extent, cols = left_ ? extent : g_.n;
    const std::size_t width = paired ? g_.period() : g_.l;
    const auto moved = [&](std::size_t line, std::size_t p) { return (p + width - line % b % width) % width; };
    Entries out{g_.slots, {}, {}};
    for (std::size_t u = 0; u < g_.blocks; ++u)
      for (std::size_t j = 0; j < cols; ++j)
        for (std::size_t i = 0; i < rows; ++i) {
          const std::size_t line = left_ ? i : j, p = (i + j + u * g_.steps) % g_.period();
          // Pairs that exist are copied; otherwise they are made here.
          add(out, g_.slot(i, j, u), line, p, !paired, moved);
        }
    const std::size_t reach = (rows - 1 + cols - 1 + (g_.blocks - 1) * g_.steps) / g_.period() + 1;
    out.generators = spread(extent, b);
    if (paired) {
      out.generators.push_back(back(g_, unit_, reach + (b > 1 ? 1 : 0)));
    } else if (b > 1 && g_.l == g_.period()) {
      out.generators.push_back(back(g_, unit_, reach + 1));
    } else {
      out.generators.push_back(back(g_, unit_, reach + (g_.packed ? 1 : 0)));
      if (b > 1) out.generators.push_back({of(g_.l * unit_), 2});
    }
    return out;
  }

 private:
  std::size_t place(std::size_t line, std::size_t c) const { return line * pitch_ + c * unit_; }

  /// Entry p of a line goes to `target`; with `pair` its second half too.
  template <class Moved>
  void add(Entries& out, std::size_t target, std::size_t line, std::size_t p, bool pair, Moved moved) const {
    const auto entry = [&](std::size_t c, Complex value) {
      if (c >= g_.l) return;
      const std::size_t source = place(line, moved(line, c));
      out.entries.push_back(
          {static_cast<std::uint32_t>((source - target) & (g_.slots - 1)), static_cast<std::uint32_t>(target), value});
    };
    entry(p, 1);
    if (pair && g_.packed) entry(p + g_.period(), factor_);
  }

  /// Progressions of source - target over i, j and u.
  std::vector<Progression> spread(std::size_t extent, std::size_t b) const {
    const std::size_t chunks = (lines + b - 1) / b;
    std::vector<Progression> out;
    if (left_) {
      out = {{of(g_.m * b), chunks}, {of(g_.m) - of(g_.stride), extent}};
    } else {
      const i64 gap = of(g_.l) - of(g_.stride);
      out = {{b > 1 ? (1 + gap) * of(b) : 1 + gap, chunks}, {gap, b > 1 ? std::min(b, g_.n) : 1}};
    }
    out.push_back({of(g_.steps * unit_) - of(g_.span()), g_.blocks});
    return out;
  }

  Geometry g_;
  bool left_;
  std::size_t unit_, pitch_;
  Complex factor_;
};

/// Rotations that repeat the first columns or rows, an odd number of periods P, up to `extent`; or none.
std::vector<i64> doublings(const Geometry& g, std::size_t extent, bool left) {
  if (extent % g.period() != 0) return {};
  const std::size_t times = extent / g.period(), power = times & (~times + 1);
  const std::size_t width = extent / power * (left ? g.stride : 1);
  std::vector<i64> out;
  for (std::size_t t = 1; t < power; t *= 2) out.push_back(of((~(width * t) + 1) & (g.slots - 1)));
  return out;
}

std::size_t diagonals(const Entries& e) {
  std::vector<bool> seen(e.slots, false);
  for (const auto& entry : e.entries) seen[entry.step] = true;
  return static_cast<std::size_t>(std::count(seen.begin(), seen.end(), true));
}

double estimate(const Entries& e) {
  const auto d = static_cast<double>(diagonals(e));
  return 2 * std::sqrt(kSwitch * (kFull + kDown) * d) + kProduct * d;
}

}  // namespace

linear::Diagonals Entries::map() const {
  std::vector<std::uint32_t> steps, targets;
  std::vector<std::size_t> offsets;
  std::vector<Complex> values;
  bool ones = true;
  for (const auto& e : entries) {
    if (steps.empty() || steps.back() != e.step) {
      steps.push_back(e.step);
      offsets.push_back(targets.size());
    }
    targets.push_back(e.target);
    values.push_back(e.value);
    ones = ones && e.value == 1.0;
  }
  offsets.push_back(targets.size());
  if (ones) values.clear();
  return {slots, std::move(steps), std::move(offsets), std::move(targets), std::move(values)};
}

std::vector<std::size_t> Entries::periods() const {
  std::vector<std::size_t> out;
  for (std::size_t first = 0, last = 0; first < entries.size(); first = last) {
    while (last < entries.size() && entries[last].step == entries[first].step) ++last;
    std::size_t p = slots, n = last - first;
    const auto repeats = [&](std::size_t half) {
      for (std::size_t i = first; i < first + half; ++i)
        if (entries[i + half].target != entries[i].target + p / 2 || entries[i + half].value != entries[i].value)
          return false;
      return true;
    };
    while (p > 1 && n % 2 == 0 && repeats(n / 2)) {
      p /= 2;
      n /= 2;
    }
    out.push_back(p);
  }
  return out;
}

std::string Pipeline::label() const {
  return (modulus == 1 ? "direct" : "mod" + std::to_string(modulus) + (paired ? "p" : "")) +
         (doublings.empty() ? "" : "x" + std::to_string(std::size_t{1} << doublings.size()));
}

std::vector<Entries> Pipeline::build() const {
  const Maker maker(geometry, left);
  std::vector<Entries> out;
  if (modulus > 1) out.push_back(maker.first(modulus, paired));
  out.push_back(maker.last(extent, modulus, paired));
  for (auto& e : out)
    std::sort(e.entries.begin(), e.entries.end(),
              [](const auto& a, const auto& b) { return std::pair(a.step, a.target) < std::pair(b.step, b.target); });
  return out;
}

std::vector<Pipeline> pipelines(const Geometry& g, std::size_t extent, bool left) {
  const Maker maker(g, left);
  std::optional<Pipeline> one, two;
  std::map<std::pair<std::size_t, bool>, double> first;  // estimates: the same for every extent
  for (const bool repeated : {false, true}) {
    const auto steps = repeated ? doublings(g, extent, left) : std::vector<i64>{};
    if (repeated && steps.empty()) continue;
    const std::size_t made = extent >> steps.size();
    const auto consider = [&](std::size_t b, bool paired) {
      double cost = kFull * static_cast<double>(steps.size()) + estimate(maker.last(made, b, paired));
      if (b > 1) {
        const auto [it, fresh] = first.try_emplace({b, paired}, 0.0);
        if (fresh) it->second = estimate(maker.first(b, paired));
        cost += it->second;
      }
      auto& best = b == 1 ? one : two;
      if (!best || cost < best->estimate) best = Pipeline{g, made, left, b, paired, steps, cost};
    };
    consider(1, false);
    std::set<std::size_t> moduli;
    for (const std::size_t b : kModuli)
      if (b < maker.lines) moduli.insert(b);
    if (maker.lines > 1) moduli.insert(maker.lines);
    for (const std::size_t b : moduli) {
      consider(b, false);
      if (g.packed) consider(b, true);
    }
  }
  std::vector<Pipeline> out{*one};
  if (two && two->estimate < one->estimate) out.push_back(*two);
  return out;
}

}  // namespace ringforge::circuits::matrix
