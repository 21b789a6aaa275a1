// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/omr_affine.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <string>

#include "assemble.hpp"
#include "progress.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "ringforge/traffic.hpp"

namespace ringforge::circuits {
namespace {

/// Giant steps whose diagonals are transformed before they are multiplied: the babies are read once for all of them.
constexpr std::size_t kGroup = 8;
/// Words between rows that would lie pages apart: else the words of a column share few sets of a cache.
constexpr std::size_t kStagger = 24;
/// Of the time of a giant step's sums at one limb, in units of progress.
constexpr std::size_t kRotationUnits = 4;

/// What a worker needs for one limb.
struct Room {
  WordBuffer made, work, held;
};

/// Rooms are handed on from limb to limb: fresh memory costs as much as what is computed in it.
class Rooms {
 public:
  explicit Rooms(std::array<std::size_t, 3> words) : words_(words) {}
  Room take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        Room room = std::move(free_.back());
        free_.pop_back();
        return room;
      }
    }
    return {WordBuffer(words_[0]), WordBuffer(words_[1]), WordBuffer(words_[2])};
  }
  void give(Room room) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(room));
  }

 private:
  std::array<std::size_t, 3> words_;
  std::mutex mutex_;
  std::vector<Room> free_;
};

/// The sums of giant steps at one limb: what is exact for each limb by itself. The first part of each transform leaves
/// the caches; then, tile by tile, the babies' words are gathered, and a tile of diagonals is transformed to its end
/// and multiplied while it is in the second-level cache.
class LimbSums {
 public:
  LimbSums(const OmrLayout& layout, OmrAffine::Shard shard, std::span<const std::span<const std::uint8_t>> diagonals)
      : lay_(layout),
        shard_(shard),
        diagonals_(diagonals),
        n_(layout.slots()),
        tile_(std::min(n_, kernels::kNttTile)),
        rooms_({group() * layout.terms(0) * stride(), n_, 2 * layout.rotations() * row()}) {}

  /// Giant steps at a time.
  std::size_t group() const noexcept { return std::min(kGroup, shard_.count); }

  /// Steps [g0, last) of the shard, at most `group()`.
  /// @param y (rotation, part) -> N words; @param to (step, output, part) -> N words
  template <class Y, class To>
  void operator()(std::size_t g0, std::size_t last, const Prime& prime, const Y& y, const To& to) {
    const std::size_t outputs = lay_.outputs(), matrices = lay_.matrices(), rows = lay_.rotations();
    const auto& kern = kernels::active();
    Room room = rooms_.take();
    std::vector<const u64*> x(lay_.terms(0)), y0(rows), y1(rows);
    for (std::size_t b = 0; b < rows; ++b) {
      y0[b] = room.held.data() + 2 * b * row();
      y1[b] = y0[b] + row();
    }
    for (std::size_t matrix = 0; matrix < matrices; ++matrix) {
      std::vector<u64*> made_of;  // every diagonal of these steps
      for (std::size_t g = g0; g < last; ++g) {
        const std::size_t terms = lay_.terms(shard_.first + g);
        for (std::size_t b = 0; b < terms; ++b) {
          made_of.push_back(room.made.data() + made_of.size() * stride());
          kern.ntt_packed_head(made_of.back(), room.work.data(),
                               diagonals_[g].data() + (matrix * terms + b) * lay_.diagonal_bytes(),
                               lay_.plain().mod().bits, lay_.plain().value(), prime.table());
        }
        count({.ntt = terms});
      }
      for (std::size_t first = 0; first < n_; first += tile_) {
        for (std::size_t b = 0; b < rows; ++b)
          for (std::size_t part = 0; part < 2; ++part)
            std::copy_n(y(b, part) + first, tile_, room.held.data() + (2 * b + part) * row());
        for (std::size_t g = g0, at = 0; g < last; ++g) {
          const std::size_t terms = lay_.terms(shard_.first + g);
          for (std::size_t b = 0; b < terms; ++b, ++at) {
            const u64* soon = at + 1 < made_of.size() ? made_of[at + 1] : nullptr;
            kern.ntt_finish(made_of[at], first, tile_, soon, prime.table());
            x[b] = made_of[at] + first;
          }
          // Every output of one matrix takes the babies from a step further on.
          const std::size_t end = matrices > 1 ? matrix + 1 : outputs;
          std::size_t l = matrix;
          for (; l + 1 < end; l += 2) {
            u64* const out[4] = {to(g, l, 0) + first, to(g, l, 1) + first, to(g, l + 1, 0) + first,
                                 to(g, l + 1, 1) + first};
            kern.dot2_twice(out, x.data(), y0.data() + l, y1.data() + l, terms, tile_, prime.mod());
          }
          const std::size_t from = matrices > 1 ? 0 : l;
          if (l < end)
            kern.dot2(to(g, l, 0) + first, to(g, l, 1) + first, x.data(), y0.data() + from, y1.data() + from, terms,
                      false, tile_, prime.mod());
        }
      }
    }
    rooms_.give(std::move(room));
  }

 private:
  std::size_t row() const noexcept { return tile_ + kStagger; }
  std::size_t stride() const noexcept { return n_ + kStagger; }

  const OmrLayout& lay_;
  OmrAffine::Shard shard_;
  std::span<const std::span<const std::uint8_t>> diagonals_;
  std::size_t n_, tile_;
  Rooms rooms_;
};

}  // namespace

OmrAffine::OmrAffine(bfv::ContextPtr context, OmrLayout layout, std::size_t limbs)
    : ctx_(std::move(context)), layout_(std::move(layout)), limbs_(limbs) {
  if (!(ctx_->ring() == layout_.ring()) || ctx_->t() != layout_.plain().value())
    throw MismatchError("diagonals are over " + layout_.ring().name() + " modulo " +
                        std::to_string(layout_.plain().value()) + ", ciphertexts over " + ctx_->ring().name() +
                        " modulo " + std::to_string(ctx_->t()));
  (void)ctx_->basis(limbs);
}

u64 OmrAffine::giant_element() const noexcept { return layout_.ring().power(5, layout_.babies()); }

void OmrAffine::check(const rlwe::Ciphertext& c, const char* what) const {
  c.check(ctx_->gadget(), 2, 2);
  if (c.limbs() != limbs_)
    throw LevelError(std::string(what) + " has " + std::to_string(c.limbs()) + " limbs, the transform takes " +
                     std::to_string(limbs_));
}

void OmrAffine::check(Shard shard) const {
  if (shard.count < 1 || shard.first >= layout_.giants() || shard.count > layout_.giants() - shard.first)
    throw LevelError(std::to_string(shard.count) + " giant steps from " + std::to_string(shard.first) +
                     " on; there are " + std::to_string(layout_.giants()));
}

void OmrAffine::check_babies(const bfv::Ciphertext& v, const rlwe::GaloisKeys& keys) const {
  ctx_->check(v);
  check(v, "the encrypted signal key");
  if (layout_.rotations() == 1) return;
  const auto key = keys.at(baby_element());
  key->check(ctx_->gadget(), limbs_);
  if (key->key_id != v.key_id) throw MismatchError("the Galois key was made under another secret key than the input");
}

void OmrAffine::check_run(const OmrBabies& babies, Shard shard, const rlwe::GaloisKeys& keys) const {
  check(shard);
  if (babies.rotations.size() != layout_.rotations() || babies.noise.size() != babies.rotations.size())
    throw ShapeError(std::to_string(babies.rotations.size()) + " rotations of the key; " +
                     std::to_string(layout_.rotations()) + " are used");
  for (const auto& c : babies.rotations) {
    check(c, "a rotation of the key");
    if (c.key_id != babies.rotations[0].key_id) throw MismatchError("rotations of the key are under different keys");
  }
  check_giants(babies.rotations[0].key_id, shard, keys);
}

void OmrAffine::check_giants(u64 key_id, Shard shard, const rlwe::GaloisKeys& keys) const {
  check(shard);
  if (shard.count == 1) return;
  const auto key = keys.at(giant_element());
  key->check(ctx_->gadget(), limbs_);
  if (key->key_id != key_id)
    throw MismatchError("the Galois key was made under another secret key than the rotations of the key");
}

OmrBabies OmrAffine::assemble_babies(const bfv::Ciphertext& v, std::span<const PairLimbs> rotations) const {
  ctx_->check(v);
  check(v, "the encrypted signal key");
  if (rotations.size() + 1 != layout_.rotations())
    throw ShapeError(std::to_string(rotations.size()) + " rotations behind the first; " +
                     std::to_string(layout_.rotations()) + " rotations are used");
  OmrBabies out{{v}, baby_noise(v)};
  for (const auto& pair : rotations) out.rotations.push_back(assembled_pair(ctx_->basis(limbs_), pair, v.key_id));
  return out;
}

std::vector<bfv::Ciphertext> OmrAffine::assemble(const OmrBabies& babies, Shard shard,
                                                 std::span<const PairLimbs> outputs) const {
  check(shard);
  if (outputs.size() != layout_.outputs() || babies.rotations.size() != layout_.rotations())
    throw ShapeError(std::to_string(outputs.size()) + " outputs of " + std::to_string(babies.rotations.size()) +
                     " rotations; there are " + std::to_string(layout_.outputs()) + " and " +
                     std::to_string(layout_.rotations()));
  for (const auto& c : babies.rotations) check(c, "a rotation of the key");
  return assembled_outputs(babies.noise, babies.rotations[0].key_id, shard, outputs);
}

std::vector<bfv::Ciphertext> OmrAffine::assemble(const bfv::Ciphertext& v, Shard shard,
                                                 std::span<const PairLimbs> outputs) const {
  ctx_->check(v);
  check(v, "the encrypted signal key");
  check(shard);
  if (outputs.size() != layout_.outputs())
    throw ShapeError(std::to_string(outputs.size()) + " outputs; there are " + std::to_string(layout_.outputs()));
  return assembled_outputs(baby_noise(v), v.key_id, shard, outputs);
}

std::vector<bfv::Ciphertext> OmrAffine::assembled_outputs(std::span<const bfv::Noise> babies, u64 key_id, Shard shard,
                                                          std::span<const PairLimbs> outputs) const {
  std::vector<bfv::Ciphertext> out;
  for (std::size_t l = 0; l < outputs.size(); ++l)
    out.emplace_back(ctx_->t(), run_noise(babies, shard, l), assembled_pair(ctx_->basis(limbs_), outputs[l], key_id));
  return out;
}

OmrBabies OmrAffine::babies(const bfv::Ciphertext& v, const rlwe::GaloisKeys& keys, unsigned threads,
                            const OmrProgress& progress) const {
  ctx_->check(v);
  check(v, "the encrypted signal key");
  const rlwe::Evaluator ev(ctx_->gadget_ptr(), threads);
  const std::size_t count = layout_.rotations();
  OmrBabies out{{v}, baby_noise(v)};
  out.rotations.reserve(count);
  if (count == 1) return out;
  const auto key = keys.at(baby_element());
  Reports<bool> reports(progress, count - 1);
  while (out.rotations.size() < count) {
    out.rotations.push_back(ev.map(out.rotations.back(), baby_element(), *key));
    reports.add(1);
  }
  return out;
}

void OmrAffine::check_diagonals(Shard shard, std::span<const std::span<const std::uint8_t>> diagonals) const {
  check(shard);
  if (diagonals.size() != shard.count)
    throw ShapeError("diagonals of " + std::to_string(diagonals.size()) + " giant steps for a shard of " +
                     std::to_string(shard.count));
  for (std::size_t g = 0; g < shard.count; ++g)
    if (diagonals[g].size() != layout_.bytes(shard.first + g))
      throw ShapeError("giant step " + std::to_string(shard.first + g) + " has diagonals of " +
                       std::to_string(diagonals[g].size()) + " bytes, not " +
                       std::to_string(layout_.bytes(shard.first + g)));
}

std::vector<bfv::Ciphertext> OmrAffine::run(const OmrBabies& held_babies, Shard shard,
                                            std::span<const std::span<const std::uint8_t>> diagonals,
                                            const rlwe::GaloisKeys& keys, unsigned threads,
                                            const OmrProgress& progress) const {
  const std::vector<rlwe::Ciphertext>& babies = held_babies.rotations;
  const std::size_t outputs = layout_.outputs();
  check_diagonals(shard, diagonals);
  check_run(held_babies, shard, keys);  // before the sums are made
  std::shared_ptr<const rlwe::SwitchingKey> key;
  if (shard.count > 1) key = keys.at(giant_element());

  const Basis basis = ctx_->basis(limbs_);
  LimbSums sum_limb(layout_, shard, diagonals);
  const std::size_t group = sum_limb.group();
  std::vector<std::vector<rlwe::Ciphertext>> sums(group, std::vector<rlwe::Ciphertext>(outputs));
  for (auto& step : sums)
    for (auto& c : step) {
      c.key_id = babies[0].key_id;
      c.parts.emplace_back(basis);
      c.parts.emplace_back(basis);
    }
  count_sums(shard, limbs_);

  Reports<bool> reports(progress, limbs_ * shard.count + kRotationUnits * outputs * (shard.count - 1));
  // Horner's rule from the last giant step down, a group at a time: sums of a few steps only are held.
  const rlwe::Evaluator ev(ctx_->gadget_ptr(), threads);
  std::vector<rlwe::Ciphertext> acc;
  for (std::size_t last = shard.count; last != 0;) {
    const std::size_t g0 = (last - 1) / group * group;
    parallel_for(threads, limbs_, [&](std::size_t j) {
      sum_limb(
          g0, last, basis[j], [&](std::size_t b, std::size_t part) { return babies[b].parts[part].limb(j); },
          [&](std::size_t g, std::size_t l, std::size_t part) { return sums[g - g0][l].parts[part].limb(j); });
      reports.add(last - g0);
    });
    for (; last != g0; --last) {
      std::vector<rlwe::Ciphertext>& step = sums[last - 1 - g0];
      if (acc.empty()) {
        acc = step;
        continue;
      }
      for (std::size_t l = 0; l < outputs; ++l) {
        acc[l] = ev.map(acc[l], giant_element(), *key);
        ev.add_in_place(acc[l], step[l]);
        reports.add(kRotationUnits);
      }
    }
  }
  std::vector<bfv::Ciphertext> out;
  for (std::size_t l = 0; l < outputs; ++l)
    out.emplace_back(ctx_->t(), run_noise(held_babies.noise, shard, l), std::move(acc[l]));
  return out;
}

void OmrAffine::count_sums(Shard shard, std::size_t limbs) const {
  std::size_t products = 0, bytes = 0;
  for (std::size_t g = shard.first; g < shard.first + shard.count; ++g) {
    products += layout_.outputs() * layout_.terms(g);
    bytes += limbs * layout_.bytes(g);
  }
  count({.plain_mul = products, .plaintext_bytes = bytes});
  // The babies, once for every giant step; sums out.
  move_limbs(2 * limbs * layout_.rotations() * shard.count, 2 * limbs * layout_.outputs() * shard.count,
             layout_.slots());
}

void OmrAffine::sums(std::span<const LimbWork> limbs, Shard shard,
                     std::span<const std::span<const std::uint8_t>> diagonals, unsigned threads,
                     const OmrProgress& progress) const {
  check_diagonals(shard, diagonals);
  const std::size_t n = layout_.slots();
  for (const LimbWork& work : limbs)
    if (work.limb >= limbs_ || work.babies.size() != layout_.rotations() * 2 * n ||
        work.out.size() != layout_.outputs() * shard.count * 2 * n)
      throw ShapeError("limb " + std::to_string(work.limb) + " with " + std::to_string(work.babies.size()) +
                       " words of rotations and room for " + std::to_string(work.out.size()) + "; a limb of " +
                       std::to_string(limbs_) + " has " + std::to_string(layout_.rotations() * 2 * n) + " and " +
                       std::to_string(layout_.outputs() * shard.count * 2 * n));
  const Basis basis = ctx_->basis(limbs_);
  LimbSums sum_limb(layout_, shard, diagonals);
  count_sums(shard, limbs.size());
  Reports<bool> reports(progress, limbs.size() * shard.count);
  parallel_for(threads, limbs.size(), [&](std::size_t i) {
    const LimbWork& work = limbs[i];
    for (std::size_t g0 = 0; g0 < shard.count; g0 += sum_limb.group()) {
      const std::size_t last = std::min(shard.count, g0 + sum_limb.group());
      sum_limb(
          g0, last, basis[work.limb],
          [&](std::size_t b, std::size_t part) { return work.babies.data() + (2 * b + part) * n; },
          [&](std::size_t g, std::size_t l, std::size_t part) {
            return work.out.data() + ((l * shard.count + g) * 2 + part) * n;
          });
      reports.add(last - g0);
    }
  });
}

rlwe::Ciphertext OmrAffine::horner(std::span<const PairLimbs> steps, const rlwe::GaloisKeys& keys, unsigned threads,
                                   const OmrProgress& progress) const {
  if (steps.empty()) throw ShapeError("no sums of giant steps");
  const Basis basis = ctx_->basis(limbs_);
  const rlwe::Evaluator ev(ctx_->gadget_ptr(), threads);
  std::shared_ptr<const rlwe::SwitchingKey> key;
  if (steps.size() > 1) {
    key = keys.at(giant_element());
    key->check(ctx_->gadget(), limbs_);
  }
  const u64 id = key ? key->key_id : 0;
  Reports<bool> reports(progress, steps.size());
  rlwe::Ciphertext acc = assembled_pair(basis, steps.back(), id);
  reports.add(1);
  for (std::size_t g = steps.size() - 1; g-- != 0;) {
    acc = ev.map(acc, giant_element(), *key);
    ev.add_in_place(acc, assembled_pair(basis, steps[g], id));
    reports.add(1);
  }
  return acc;
}

std::vector<bfv::Ciphertext> OmrAffine::combine(std::span<const bfv::Ciphertext> lower, std::size_t count,
                                                std::span<const bfv::Ciphertext> upper, const rlwe::GaloisKeys& keys,
                                                unsigned threads, const OmrProgress& progress) const {
  if (lower.size() != layout_.outputs() || upper.size() != layout_.outputs())
    throw ShapeError("shards with " + std::to_string(lower.size()) + " and " + std::to_string(upper.size()) +
                     " outputs, not " + std::to_string(layout_.outputs()));
  if (count < 1 || count >= layout_.giants())
    throw LevelError("the lower shard has " + std::to_string(count) + " of " + std::to_string(layout_.giants()) +
                     " giant steps: something must be left for the upper one");
  const rlwe::Evaluator ev(ctx_->gadget_ptr(), threads);
  const auto key = keys.at(giant_element());
  Reports<bool> reports(progress, lower.size() * count);
  std::vector<bfv::Ciphertext> out;
  for (std::size_t l = 0; l < lower.size(); ++l) {
    ctx_->check(lower[l]);
    ctx_->check(upper[l]);
    check(lower[l], "an output of a shard");
    check(upper[l], "an output of a shard");
    rlwe::Ciphertext c = upper[l];
    for (std::size_t g = 0; g < count; ++g) {
      c = ev.map(c, giant_element(), *key);
      reports.add(1);
    }
    ev.add_in_place(c, lower[l]);
    out.emplace_back(ctx_->t(), combined_noise(lower[l], count, upper[l]), std::move(c));
  }
  return out;
}

// ---- predictions ----------------------------------------------------------------------------------

namespace {

/// Diagonals are the senders' choice, who may all be one; errors are not. A sum has at each root of unity the error at
/// as many different ones, so that variances add whatever the diagonals are. Diagonals that all have their norm at one
/// root leave a pure tone: docs/omr-algorithm.md says why so many bits pay for what products make of it.
constexpr double kTones = 1.1;

}  // namespace

const bfv::NoiseRules& OmrAffine::checked(const bfv::NoiseRules* rules) const {
  if (rules == nullptr) return ctx_->rules();
  if (rules->params().hash() != ctx_->params().hash())
    throw MismatchError("rules of noise are of other parameters: make them of the transform's");
  return *rules;
}

std::vector<bfv::Noise> OmrAffine::baby_noise(const bfv::Noise& v, const bfv::NoiseRules* given) const {
  const bfv::NoiseRules& rules = checked(given);
  std::vector<bfv::Noise> out{v};
  while (out.size() < layout_.rotations()) out.push_back(rules.switched(out.back(), limbs_));
  return out;
}

bfv::Noise OmrAffine::step_noise(std::span<const bfv::Noise> babies, std::size_t g, std::size_t l,
                                 const bfv::NoiseRules& rules) const {
  const std::size_t from = layout_.matrices() > 1 ? 0 : l;
  const double norm = rules.largest_norm() + kTones;
  bfv::Noise sum = rules.plain_product(babies[from], norm, norm);
  for (std::size_t b = 1; b < layout_.terms(g); ++b)
    sum = rules.independent_sum(sum, rules.plain_product(babies[from + b], norm, norm));
  return sum;
}

bfv::Noise OmrAffine::run_noise(std::span<const bfv::Noise> babies, Shard shard, std::size_t l,
                                const bfv::NoiseRules* given) const {
  const bfv::NoiseRules& rules = checked(given);
  check(shard);
  if (babies.size() != layout_.rotations() || l >= layout_.outputs())
    throw ShapeError("noise of " + std::to_string(babies.size()) + " rotations and output " + std::to_string(l) +
                     "; there are " + std::to_string(layout_.rotations()) + " and " +
                     std::to_string(layout_.outputs()));
  std::size_t g = shard.first + shard.count - 1;
  bfv::Noise sum = step_noise(babies, g, l, rules);
  while (g-- > shard.first) sum = rules.independent_sum(rules.switched(sum, limbs_), step_noise(babies, g, l, rules));
  return sum;
}

bfv::Noise OmrAffine::combined_noise(const bfv::Noise& lower, std::size_t count, const bfv::Noise& upper) const {
  bfv::Noise sum = upper;
  for (std::size_t g = 0; g < count; ++g) sum = ctx_->rules().switched(sum, limbs_);
  return ctx_->rules().independent_sum(lower, sum);
}

OpCounts OmrAffine::rotation_counts(std::size_t count) const {
  const rlwe::Gadget& gadget = ctx_->gadget();
  const rlwe::Gadget::Cost up = gadget.mod_up_cost(limbs_);
  return {.ntt = count * (up.ntt + 2 * limbs_),
          .intt = count * (up.intt + 2 * gadget.p().size()),
          .mod_up = count,
          .mod_down = 2 * count,
          .key_switch = count,
          .rotation = count,
          .key_bytes = count * gadget.key_bytes(limbs_)};
}

OpCounts OmrAffine::baby_counts() const { return rotation_counts(layout_.rotations() - 1); }

OpCounts OmrAffine::run_counts(Shard shard) const {
  check(shard);
  OpCounts counts = rotation_counts(layout_.outputs() * (shard.count - 1));
  for (std::size_t g = shard.first; g < shard.first + shard.count; ++g) {
    counts.ntt += limbs_ * layout_.matrices() * layout_.terms(g);
    counts.plain_mul += layout_.outputs() * layout_.terms(g);
    counts.plaintext_bytes += limbs_ * layout_.bytes(g);
  }
  return counts;
}

OpCounts OmrAffine::combine_counts(std::size_t count) const { return rotation_counts(layout_.outputs() * count); }

std::size_t OmrAffine::baby_bytes() const noexcept {
  return layout_.rotations() * 2 * limbs_ * layout_.slots() * sizeof(u64);
}

std::size_t OmrAffine::run_bytes(Shard shard, unsigned threads) const {
  check(shard);
  const std::size_t n = layout_.slots(), workers = std::min<std::size_t>(threads, limbs_);
  const std::size_t group = std::min(kGroup, shard.count), tile = std::min(n, kernels::kNttTile);
  const std::size_t sums = (group + 1) * layout_.outputs() * 2 * limbs_;
  const std::size_t made = group * layout_.terms(0) * (n + kStagger) + n + 2 * layout_.rotations() * (tile + kStagger);
  return (sums * n + workers * made) * sizeof(u64);
}

}  // namespace ringforge::circuits
