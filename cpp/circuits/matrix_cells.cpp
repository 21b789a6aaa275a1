// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "matrix_cells.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace ringforge::circuits::matrix {

using i64 = std::int64_t;

// ---- sides ----------------------------------------------------------------------------------------

Side::Side(const Geometry& geometry, std::size_t extent, bool left)
    : g_(geometry), extent_(extent), left_(left), content_(geometry.slots, -1) {
  const std::size_t rows = left ? g_.m : extent, cols = left ? extent : g_.n;
  for (std::size_t u = 0; u < g_.blocks; ++u)
    for (std::size_t j = 0; j < cols; ++j)
      for (std::size_t i = 0; i < rows; ++i) content_[g_.slot(i, j, u)] = g_.content(left ? i : j, i, j, u);
  for (std::size_t k = 0; k < g_.steps && complete_; ++k) {
    moves_.push_back(cover(k));
    complete_ = !moves_.back().empty();
  }
}

bool Side::all_bare() const {
  return std::all_of(moves_.begin(), moves_.end(), [](const auto& m) { return m.size() == 1; });
}

/// The fewest moves (greedily) that serve all cells, the nearest first among equals; nothing where the base does not
/// hold all that is needed. Rotations by columns keep rows and the other way round, so one row of A's cells, or one
/// column of B's, tells for all.
std::vector<Move> Side::cover(std::size_t k) const {
  const std::size_t lines = left_ ? g_.n : g_.m, unit = left_ ? g_.stride : 1, mask = g_.slots - 1;
  const auto period = static_cast<i64>(g_.period());
  std::vector<std::size_t> slots;
  Contents need;
  for (std::size_t u = 0; u < g_.blocks; ++u)
    for (std::size_t line = 0; line < lines; ++line) {
      slots.push_back(line * unit + g_.span() * u);
      need.push_back(static_cast<i64>((line + u * g_.steps + k) % g_.period()));
    }
  const auto hits = [&](const Move& move) {
    std::vector<bool> out(slots.size());
    for (std::size_t s = 0; s < slots.size(); ++s) out[s] = content_[(slots[s] + move.step) & mask] == need[s];
    return out;
  };
  std::vector<std::size_t> near;
  for (std::size_t u = 0; u < std::min<std::size_t>(g_.blocks, 2); ++u) near.push_back(u);
  if (g_.blocks > 2) near.push_back(g_.blocks - 1);
  std::vector<std::pair<Move, std::vector<bool>>> known;
  std::set<std::uint32_t> seen;
  for (const std::size_t blocks : near) {
    const i64 first = ((static_cast<i64>(k) - static_cast<i64>(blocks * g_.steps)) % period + period) % period;
    std::vector<i64> distances;
    for (i64 d = first; d < static_cast<i64>(extent_); d += period) distances.push_back(d);
    for (i64 d = first - period; d > -static_cast<i64>(lines); d -= period) distances.push_back(d);
    for (const i64 d : distances) {
      const auto step = static_cast<std::uint32_t>((d * static_cast<i64>(unit) + static_cast<i64>(blocks * g_.span())) &
                                                   static_cast<i64>(mask));
      if (!seen.insert(step).second) continue;
      const Move move{d, blocks, step};
      auto hit = hits(move);
      const auto count = static_cast<std::size_t>(std::count(hit.begin(), hit.end(), true));
      if (count == hit.size()) return {move};
      if (count > 0) known.emplace_back(move, std::move(hit));
    }
  }
  std::vector<Move> chosen;
  std::vector<bool> open(slots.size(), true);
  while (std::find(open.begin(), open.end(), true) != open.end()) {
    const std::pair<Move, std::vector<bool>>* best = nullptr;
    std::size_t most = 0;
    for (const auto& entry : known) {
      std::size_t count = 0;
      for (std::size_t s = 0; s < open.size(); ++s) count += entry.second[s] && open[s];
      if (count > most) {
        most = count;
        best = &entry;
      }
    }
    if (best == nullptr) return {};
    chosen.push_back(best->first);
    for (std::size_t s = 0; s < open.size(); ++s) open[s] = open[s] && !best->second[s];
  }
  // In the same order for all steps: what the second rotation lacks to the first is then the same for all.
  std::sort(chosen.begin(), chosen.end(), [](const Move& a, const Move& b) {
    return std::tuple(a.blocks != 0, a.lines < 0, a.lines) < std::tuple(b.blocks != 0, b.lines < 0, b.lines);
  });
  return chosen;
}

std::vector<Slots> Side::supports(std::size_t k) const {
  std::vector<Slots> out(moves_[k].size());
  for (std::size_t u = 0; u < g_.blocks; ++u)
    for (std::size_t j = 0; j < g_.n; ++j)
      for (std::size_t i = 0; i < g_.m; ++i) {
        const std::size_t slot = g_.slot(i, j, u), line = left_ ? i : j;
        const auto need = static_cast<i64>(line * g_.period() + (i + j + u * g_.steps + k) % g_.period());
        for (std::size_t move = 0; move < out.size(); ++move)
          if (rotated(moves_[k][move], slot) == need) {
            out[move].push_back(static_cast<std::uint32_t>(slot));
            break;
          }
      }
  return out;
}

// ---- steps ----------------------------------------------------------------------------------------

Steps::Steps(const Geometry& geometry, const Side& left, const Side& right)
    : g_(geometry), left_(left), right_(right), every_(geometry.slots), guarded_(geometry.steps, false) {
  std::iota(every_.begin(), every_.end(), 0u);
  right_masked_ = !right.all_bare();
  left_masked_ = !left.all_bare();
  for (std::size_t k = 0; k < g_.steps; ++k)
    if (left.bare(k) && right.bare(k)) {
      guarded_[k] = spills(held(left, k, {every_}), held(right, k, {every_}));
      left_masked_ = left_masked_ || guarded_[k];
    }
  groupable_ = !left_masked_;
  for (std::size_t k = 0; k < g_.steps && groupable_; ++k) {
    const Move& move = left.moves(k)[0];
    groupable_ = move.blocks == 0 && move.lines >= 0;
    if (groupable_) widest_ = std::max(widest_, static_cast<std::size_t>(move.lines));
  }
  std::set<std::pair<bool, std::uint32_t>> lacks;
  for (std::size_t k = 0; k < g_.steps; ++k)
    for (const Side* side : {&left, &right})
      for (std::size_t i = 1; i < side->moves(k).size(); ++i)
        lacks.emplace(side == &left, side->moves(k)[i].step - side->moves(k)[0].step);
  lacking_ = lacks.size();
}

std::size_t Steps::outer(std::size_t k, std::size_t size) const {
  return size ? static_cast<std::size_t>(left_.moves(k)[0].lines) / size * size * g_.stride : 0;
}

std::pair<std::size_t, std::size_t> Steps::groups(std::size_t size) const {
  std::set<std::size_t> found;
  for (std::size_t k = 0; k < g_.steps; ++k) found.insert(outer(k, size));
  return {found.size(), found.size() - found.count(0)};
}

Slots Steps::cells() const {
  Slots out;
  for (std::size_t s = 0; s < g_.slots; ++s)
    if (!outside(s)) out.push_back(static_cast<std::uint32_t>(s));
  return out;
}

/// Contents of all slots after a shift.
Contents Steps::held(const Side& side, std::size_t k, const std::vector<Slots>& supports) const {
  Contents out(g_.slots, -1);
  for (std::size_t i = 0; i < supports.size(); ++i)
    for (const auto s : supports[i]) out[s] = side.rotated(side.moves(k)[i], s);
  return out;
}

/// The product of these contents is not zero somewhere outside of the cells.
bool Steps::spills(const Contents& left, const Contents& right) const {
  for (std::size_t s = 0; s < g_.slots; ++s)
    if (left[s] >= 0 && right[s] >= 0 && outside(s)) return true;
  return false;
}

/// Two supports over all slots that agree with these on the cells and depend on row or column only.
std::optional<std::vector<Slots>> Steps::complements(const std::vector<Slots>& supports, bool left) const {
  if (supports.size() != 2) return {};
  const auto place = [&](std::size_t slot) { return left ? column_of(slot) : slot % g_.span() % g_.stride; };
  std::vector<bool> first(g_.slots, false);
  for (const auto s : supports[0]) first[place(s)] = true;
  for (const auto s : supports[1])
    if (first[place(s)]) return {};
  std::vector<Slots> out(2);
  for (const auto s : every_) out[first[place(s)] ? 0 : 1].push_back(s);
  return out;
}

std::pair<Steps::Shift, Steps::Shift> Steps::shifts(std::size_t k) const {
  std::vector<Slots> a = left_.bare(k) ? std::vector<Slots>{guarded_[k] ? cells() : every_} : left_.supports(k);
  std::vector<Slots> b = right_.bare(k) ? std::vector<Slots>{every_} : right_.supports(k);
  if (const auto wide = complements(b, false); wide && !spills(held(left_, k, a), held(right_, k, *wide))) b = *wide;
  if (const auto wide = complements(a, true); wide && !spills(held(left_, k, *wide), held(right_, k, b))) a = *wide;
  const auto shift = [&](const Side& side, std::vector<Slots>& supports, bool masked) {
    Shift out;
    for (const auto& move : side.moves(k)) out.steps.push_back(move.step);
    if (masked) out.supports = std::move(supports);
    return out;
  };
  return {shift(left_, a, left_masked_), shift(right_, b, right_masked_)};
}

PairSumPlan Steps::plan(std::size_t size) const {
  PairSumPlan out;
  out.real_part = g_.packed;
  for (std::size_t step = g_.span(); step < g_.slots; step *= 2) out.folds.push_back(static_cast<std::uint32_t>(step));
  std::map<std::size_t, std::vector<std::size_t>> groups;
  for (std::size_t k = 0; k < g_.steps; ++k) groups[outer(k, size)].push_back(k);
  std::map<Slots, std::uint32_t> masks;
  for (const auto& [rotation, steps] : groups) {
    ShiftGroup group{static_cast<std::uint32_t>(rotation & (g_.slots - 1)), {}};
    for (const std::size_t k : steps) {
      auto [left, right] = shifts(k);
      // A group's left shifts lack the outer rotation, and its right shifts are turned back by it, masks too.
      const auto terms = [&](Shift& shift) {
        std::vector<ShiftTerm> made;
        for (std::size_t i = 0; i < shift.steps.size(); ++i) {
          ShiftTerm term;
          term.step = static_cast<std::uint32_t>((shift.steps[i] - rotation) & (g_.slots - 1));
          if (!shift.supports.empty()) {
            Slots& mask = shift.supports[i];
            for (auto& s : mask) s = static_cast<std::uint32_t>((s + rotation) & (g_.slots - 1));
            if (rotation) std::sort(mask.begin(), mask.end());
            const auto [it, fresh] = masks.try_emplace(mask, static_cast<std::uint32_t>(out.masks.size()));
            if (fresh) out.masks.push_back(mask);
            term.mask = it->second;
          }
          made.push_back(term);
        }
        return made;
      };
      auto first = terms(left);
      group.pairs.push_back({std::move(first), terms(right)});
    }
    out.groups.push_back(std::move(group));
  }
  return out;
}

}  // namespace ringforge::circuits::matrix
