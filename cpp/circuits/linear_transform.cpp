// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/linear_transform.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "ringforge/traffic.hpp"
#include "scratch.hpp"

namespace ringforge::circuits {

using rlwe::Digits;
using rlwe::DigitSource;
using rlwe::Gadget;
using rlwe::GaloisKeys;
using rlwe::key_product;
using rlwe::key_product_at;
using rlwe::ModulusDrop;
using rlwe::switch_key;
using rlwe::SwitchingKey;

namespace {

constexpr std::size_t kBlock = 512;  // coefficients that stay in the first-level cache

}  // namespace

const char* name(Schedule s) noexcept {
  switch (s) {
    case Schedule::naive:
      return "naive";
    case Schedule::hoisted:
      return "hoisted";
    case Schedule::mo:
      return "mo";
    case Schedule::bsgs:
      return "bsgs";
  }
  return "unknown";
}

LinearTransform::LinearTransform(rlwe::GadgetPtr gadget, Plan plan, Element element, std::size_t limbs)
    : gadget_(std::move(gadget)), plan_(std::move(plan)), element_(std::move(element)), limbs_(limbs) {
  (void)gadget_->extended(limbs);
  if (plan_.rescales && limbs < 2)
    throw LevelError("a linear transform needs an input of level 1 at least (it is rescaled once), not " +
                     std::to_string(limbs - 1));
  const std::size_t slots = plan_.slots, count = plan_.steps.size();
  if (count == 0) throw ShapeError("the map has no diagonals; at least one is needed");
  if (plan_.schedule == Schedule::bsgs && plan_.babies.size() != count)
    throw ShapeError("bsgs needs a baby step for each of the " + std::to_string(count) + " diagonals");
  babies_ = plan_.schedule == Schedule::bsgs ? plan_.babies : plan_.steps;
  std::map<std::uint32_t, std::vector<std::size_t>> giants;
  for (std::size_t i = 0; i < count; ++i) {
    if (babies_[i] >= slots) throw ShapeError("a baby step must be below " + std::to_string(slots));
    if (plan_.steps[i] >= slots) throw ShapeError("a diagonal's step must be below " + std::to_string(slots));
    giants[static_cast<std::uint32_t>((plan_.steps[i] - babies_[i]) & (slots - 1))].push_back(i);
    rotates_ |= plan_.steps[i] != 0;
  }
  for (auto& [step, terms] : giants) giants_.push_back({step, std::move(terms)});
  if (plan_.schedule != Schedule::naive && rotates_ && (gadget_->p().size() == 0 || gadget_->spec().log_base > 0))
    throw ParameterError("digits that are shared or summed over Q*P need special primes and whole limbs: take the " +
                         std::string("naive schedule"));
}

std::uint32_t LinearTransform::shift(std::size_t i) const noexcept {
  return static_cast<std::uint32_t>((plan_.steps[i] - babies_[i]) & (plan_.slots - 1));
}

std::size_t LinearTransform::giants() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(giants_.begin(), giants_.end(), [](const Giant& g) { return g.step != 0; }));
}

Basis LinearTransform::diagonal_basis() const {
  return rotates_ && plan_.schedule != Schedule::naive ? gadget_->extended(limbs_) : gadget_->q().prefix(limbs_);
}

std::vector<std::uint32_t> LinearTransform::rotations() const {
  std::set<std::uint32_t> out(babies_.begin(), babies_.end());
  for (const auto& g : giants_) out.insert(g.step);
  out.erase(0);
  return {out.begin(), out.end()};
}

std::shared_ptr<const SwitchingKey> LinearTransform::key(const GaloisKeys& keys, std::uint32_t step, u64 key_id) const {
  const u64 element = element_(step);
  if (!keys.contains(element))
    throw MissingKeyError("the transform rotates by " + std::to_string(step) +
                          " slots, and the key set has no Galois key for it (element " + std::to_string(element) +
                          "): generate keys for this plan");
  auto k = keys.at(element);
  if (k->key_id != key_id)
    throw MismatchError("a Galois key belongs to another secret key than the input: use keys made together");
  return k;
}

const ModulusDrop& LinearTransform::down() const {
  return plan_.rescales ? gadget_->mod_down_rescale(limbs_) : gadget_->mod_down(limbs_);
}

void LinearTransform::check_input(const rlwe::Ciphertext& in) const {
  in.check(*gadget_);
  if (in.parts.size() != 2) throw ShapeError("the input must have two parts: relinearize first");
  if (in.limbs() != limbs_)
    throw LevelError("the transform is encoded for inputs of level " + std::to_string(limbs_ - 1) +
                     ", this one has level " + std::to_string(in.level()));
}

rlwe::Ciphertext LinearTransform::run(const rlwe::Ciphertext& in, const Multipliers& diagonals, const GaloisKeys& given,
                                      unsigned threads) const {
  const GaloisKeys keys(given);  // holds what the run uses, whatever is erased meanwhile
  check_input(in);
  for (const auto step : rotations()) key(keys, step, in.key_id)->check(*gadget_, limbs_);
  rlwe::Ciphertext out;
  out.key_id = in.key_id;
  if (plan_.schedule == Schedule::naive || !rotates_)
    out.parts = naive(in, diagonals, keys, threads);
  else if (plan_.schedule == Schedule::hoisted)
    out.parts = hoisted(in, diagonals, keys, threads);
  else if (plan_.schedule == Schedule::mo)
    out.parts = memory_optimised(in, diagonals, keys, threads);
  else
    out.parts = bsgs(in, diagonals, keys, threads);
  return out;
}

LinearTransform::Parts LinearTransform::naive(const rlwe::Ciphertext& in, const Multipliers& diagonals,
                                              const GaloisKeys& keys, unsigned threads) const {
  const rlwe::Evaluator ev(gadget_, threads);
  const Basis& basis = in.parts[0].basis();
  const std::size_t limbs = limbs_, n = basis.ring().transform_length();
  const auto& kern = kernels::active();
  Parts acc;
  for (int part = 0; part < 2; ++part) acc.emplace_back(basis);
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    const std::uint32_t step = plan_.steps[i];
    rlwe::Ciphertext made;
    if (step != 0) made = ev.map(in, element_(step), keys);
    const rlwe::Ciphertext& rotated = step == 0 ? in : made;
    parallel_for(threads, limbs, [&](std::size_t j) {
      const u64* mask = diagonals.limb(i, j, scratch(n));
      for (std::size_t part = 0; part < 2; ++part) {
        const auto op = i == 0 ? kern.mul : kern.mul_add;
        op(acc[part].limb(j), rotated.parts[part].limb(j), mask, n, basis[j].mod());
      }
    });
    count({.plain_mul = 1, .plaintext_bytes = limbs * n * sizeof(u64)});
    // Product and sum are two operations of the algorithm, each over both parts.
    move_limbs(2 * limbs, 2 * limbs, n);
    if (i > 0) move_limbs(4 * limbs, 2 * limbs, n);
  }
  if (!plan_.rescales) return acc;
  Parts out;
  for (auto& part : acc) out.push_back(gadget_->rescale(limbs).apply(part, threads));
  return out;
}

LinearTransform::Parts LinearTransform::hoisted(const rlwe::Ciphertext& in, const Multipliers& diagonals,
                                                const GaloisKeys& keys, unsigned threads) const {
  const Gadget& gadget = *gadget_;
  const std::size_t limbs = limbs_, n = gadget.q().ring().transform_length();
  const Basis& ext = gadget.extended(limbs);
  const auto& kern = kernels::active();
  const Digits digits(in.parts[1], gadget, threads);
  Poly<Eval> u0(ext), u1(ext), raised(in.parts[0].basis());
  Parts acc;
  for (int part = 0; part < 2; ++part) acc.emplace_back(ext).zero();
  parallel_for(threads, limbs, [&](std::size_t j) {
    kern.mul_scalar(raised.limb(j), in.parts[0].limb(j), gadget.p_factor(j), n, ext[j].mod());
  });
  move_limbs(limbs, limbs, n);
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    const std::uint32_t step = plan_.steps[i];
    count({.plain_mul = 1, .plaintext_bytes = ext.size() * n * sizeof(u64)});
    if (step == 0) {
      // Unrotated: P*(c0, c1) times the diagonal.
      parallel_for(threads, limbs, [&](std::size_t j) {
        u64* t = scratch(2 * n);
        const u64* mask = diagonals.limb(i, j, t);
        kern.mul_add(acc[0].limb(j), raised.limb(j), mask, n, ext[j].mod());
        kern.mul_scalar(t + n, in.parts[1].limb(j), gadget.p_factor(j), n, ext[j].mod());
        kern.mul_add(acc[1].limb(j), t + n, mask, n, ext[j].mod());
      });
      move_limbs(4 * limbs, 2 * limbs, n);
      continue;
    }
    key_product(u0, u1, digits, *key(keys, step, in.key_id), gadget, false, threads);
    const auto index = gadget_->q().ring().eval_index(element_(step));
    parallel_for(threads, ext.size(), [&](std::size_t j) {
      u64* t = scratch(2 * n);
      const u64* mask = diagonals.limb(i, j, t + n);
      if (j < limbs) kern.add(u0.limb(j), u0.limb(j), raised.limb(j), n, ext[j].mod());
      for (int part = 0; part < 2; ++part) {
        kern.automorphism_eval(t, (part == 0 ? u0 : u1).limb(j), index->data(), n);
        kern.mul_add(acc[static_cast<std::size_t>(part)].limb(j), t, mask, n, ext[j].mod());
      }
    });
    count({.rotation = 1});
    move_limbs(2 * limbs, limbs, n);                // sum with c0
    move_limbs(2 * ext.size(), 2 * ext.size(), n);  // automorphism
    move_limbs(4 * ext.size(), 2 * ext.size(), n);  // product and sum
  }
  Parts out;
  for (auto& part : acc) out.push_back(down().apply(part, threads));
  return out;
}

LinearTransform::Parts LinearTransform::memory_optimised(const rlwe::Ciphertext& in, const Multipliers& diagonals,
                                                         const GaloisKeys& keys, unsigned threads) const {
  const Gadget& gadget = *gadget_;
  const std::size_t limbs = limbs_, n = gadget.q().ring().transform_length(), kept = limbs - (plan_.rescales ? 1 : 0);
  const Basis& ext = gadget.extended(limbs);
  const ModulusDrop& drop = down();
  const std::size_t gone = ext.size() - kept;
  const auto& kern = kernels::active();

  // The input, c1 in coefficient form, with the quotients of its digits.
  const DigitSource source(in.parts[1], gadget, threads);
  const std::size_t digits = source.digits(), quotients = gadget.spec().limbs_per_digit > 1 ? digits : 0;
  move_limbs(2 * limbs, 0, n);
  const Held input(Held::As::working, 2 * limbs + quotients, n);
  std::vector<std::shared_ptr<const SwitchingKey>> key_of(plan_.steps.size());
  std::vector<std::shared_ptr<const std::vector<u32>>> index(plan_.steps.size());
  std::size_t rotations = 0;
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    if (plan_.steps[i] == 0) continue;
    ++rotations;
    key_of[i] = key(keys, plan_.steps[i], in.key_id);
    index[i] = gadget_->q().ring().eval_index(element_(plan_.steps[i]));
  }
  count({.key_switch = rotations,
         .rotation = rotations,
         .plain_mul = plan_.steps.size(),
         .key_bytes = rotations * gadget.key_bytes(limbs),
         .plaintext_bytes = plan_.steps.size() * ext.size() * n * sizeof(u64)});

  // acc0, acc1 = limb j of the sums over all diagonals.
  const std::size_t fixed = digits + 3;  // digits, key product (2), P*c0
  const auto at_limb = [&](u64* acc0, u64* acc1, std::size_t j, u64* t) {
    u64 *made = t, *u0 = t + digits * n, *u1 = u0 + n, *raised = u1 + n, *generated = raised + n;
    std::vector<const u64*> x(digits);
    for (std::size_t d = 0; d < digits; ++d) {
      x[d] = made + d * n;
      source.limb(made + d * n, d, j);
      if (source.own(d, j) != nullptr) move_limbs(1, 0, n);
    }
    const auto& m = ext[j].mod();
    if (j < limbs) kern.mul_scalar(raised, in.parts[0].limb(j), gadget.p_factor(j), n, m);
    std::fill_n(acc0, n, 0);
    std::fill_n(acc1, n, 0);
    alignas(64) u64 tile[kBlock];
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      if (key_of[i] == nullptr && j >= limbs) continue;  // P*c is 0 modulo P's primes
      const u64* mask = diagonals.limb(i, j, generated);
      if (key_of[i] == nullptr) {
        kern.mul_scalar(u1, in.parts[1].limb(j), gadget.p_factor(j), n, m);
        kern.mul_add(acc0, raised, mask, n, m);
        kern.mul_add(acc1, u1, mask, n, m);
        continue;
      }
      key_product_at(u0, u1, x, *key_of[i], gadget, limbs, j);
      if (j < limbs) kern.add(u0, u0, raised, n, m);
      for (std::size_t b = 0; b < n; b += kBlock) {
        const std::size_t now = std::min(kBlock, n - b);
        kern.automorphism_eval(tile, u0, index[i]->data() + b, now);
        kern.mul_add(acc0 + b, tile, mask + b, now, m);
        kern.automorphism_eval(tile, u1, index[i]->data() + b, now);
        kern.mul_add(acc1 + b, tile, mask + b, now, m);
      }
    }
  };

  // The primes that go come first: what remains of them is held in coefficient form until all limbs are done.
  Parts tails, out;
  std::vector<const u64*> prepared[2];
  for (int part = 0; part < 2; ++part) {
    tails.emplace_back(ext.slice(kept, gone));
    for (std::size_t i = 0; i < gone; ++i) prepared[part].push_back(tails.back().limb(i));
    out.emplace_back(drop.output());
  }
  const Held put_away(Held::As::out, 2 * gone + (gone > 1 ? 2 : 0) + 2 * kept, n);
  const Held buffers(Held::As::working, fixed + 2, n);
  spill_limbs(2 * gone, n);
  parallel_for(threads, gone, [&](std::size_t i) {
    at_limb(tails[0].limb(i), tails[1].limb(i), kept + i, scratch((fixed + 1) * n));
    for (auto& t : tails) drop.prepare(t.limb(i), i);
  });
  const ModulusDrop::Tail tail[2] = {drop.tail(prepared[0]), drop.tail(prepared[1])};
  count({.mod_down = 2});
  parallel_for(threads, kept, [&](std::size_t j) {
    u64* t = scratch((fixed + 3) * n);
    u64 *acc0 = t + (fixed + 1) * n, *acc1 = acc0 + n;
    at_limb(acc0, acc1, j, t);
    drop.finish(out[0].limb(j), acc0, tail[0], j, t);
    drop.finish(out[1].limb(j), acc1, tail[1], j, t);
  });
  move_limbs(0, 2 * kept, n);
  return out;
}

LinearTransform::Parts LinearTransform::bsgs(const rlwe::Ciphertext& in, const Multipliers& diagonals,
                                             const GaloisKeys& keys, unsigned threads) const {
  const Gadget& gadget = *gadget_;
  const std::size_t limbs = limbs_, n = gadget.q().ring().transform_length();
  const Basis& ext = gadget.extended(limbs);
  const auto& kern = kernels::active();

  struct Baby {
    std::shared_ptr<const SwitchingKey> key;  // null: not rotated
    std::shared_ptr<const std::vector<u32>> index;
  };
  std::map<std::uint32_t, std::size_t> place;
  std::vector<Baby> babies;
  std::size_t rotations = 0;
  for (const auto b : babies_)
    if (place.emplace(b, babies.size()).second) {
      auto& baby = babies.emplace_back();
      if (b == 0) continue;
      baby.key = key(keys, b, in.key_id);
      baby.index = gadget_->q().ring().eval_index(element_(b));
      ++rotations;
    }
  count({.key_switch = rotations,
         .rotation = rotations,
         .plain_mul = plan_.steps.size(),
         .key_bytes = rotations * gadget.key_bytes(limbs),
         .plaintext_bytes = plan_.steps.size() * ext.size() * n * sizeof(u64)});
  std::unique_ptr<DigitSource> source;
  if (rotations > 0) source = std::make_unique<DigitSource>(in.parts[1], gadget, threads);
  const std::size_t digits = source ? source->digits() : 0;

  // Inner sums of each giant step over Q*P, limb by limb: babies of one limb live no longer than that limb.
  std::vector<Parts> inner(giants_.size());
  for (auto& y : inner) {
    y.emplace_back(ext);
    y.emplace_back(ext);
  }
  std::size_t most_terms = 0;
  for (const auto& g : giants_) most_terms = std::max(most_terms, g.terms.size());
  parallel_for(threads, ext.size(), [&](std::size_t j) {
    const auto& m = ext[j].mod();
    u64* t = scratch((digits + 3 + 2 * babies.size() + most_terms) * n);
    u64 *u0 = t + digits * n, *u1 = u0 + n, *raised = u1 + n, *held = raised + n, *made = held + 2 * babies.size() * n;
    std::vector<const u64*> x(digits);
    for (std::size_t d = 0; d < digits; ++d) {
      x[d] = source->own(d, j);
      if (x[d] != nullptr) continue;
      source->limb(t + d * n, d, j);
      x[d] = t + d * n;
    }
    if (j < limbs) kern.mul_scalar(raised, in.parts[0].limb(j), gadget.p_factor(j), n, m);
    for (std::size_t b = 0; b < babies.size(); ++b) {
      u64 *x0 = held + 2 * b * n, *x1 = x0 + n;
      if (babies[b].key != nullptr) {
        key_product_at(u0, u1, x, *babies[b].key, gadget, limbs, j);
        if (j < limbs) kern.add(u0, u0, raised, n, m);
        kern.automorphism_eval(x0, u0, babies[b].index->data(), n);
        kern.automorphism_eval(x1, u1, babies[b].index->data(), n);
      } else if (j < limbs) {
        std::copy_n(raised, n, x0);
        kern.mul_scalar(x1, in.parts[1].limb(j), gadget.p_factor(j), n, m);
      }
    }
    std::vector<const u64*> mask, y0, y1;
    std::vector<const u64*> mask_at, y0_at, y1_at;
    for (std::size_t g = 0; g < giants_.size(); ++g) {
      mask.clear();
      y0.clear();
      y1.clear();
      for (const std::size_t i : giants_[g].terms) {
        const std::size_t b = place.at(babies_[i]);
        if (babies[b].key == nullptr && j >= limbs) continue;
        mask.push_back(diagonals.limb(i, j, made + mask.size() * n));
        y0.push_back(held + 2 * b * n);
        y1.push_back(held + 2 * b * n + n);
      }
      mask_at = mask;
      y0_at = y0;
      y1_at = y1;
      for (std::size_t first = 0; first < n; first += kBlock) {
        kern.dot2(inner[g][0].limb(j) + first, inner[g][1].limb(j) + first, mask_at.data(), y0_at.data(), y1_at.data(),
                  mask.size(), false, std::min(kBlock, n - first), m);
        for (auto* list : {&mask_at, &y0_at, &y1_at})
          for (auto& p : *list) p += kBlock;
      }
    }
  });
  source.reset();
  // The input, and a digit's own limbs once more; inner sums out.
  move_limbs((rotations > 0 ? 3 : 2) * limbs, 2 * giants_.size() * ext.size(), n);

  Parts acc;
  if (giants_[0].step == 0) {
    acc = std::move(inner[0]);
  } else {
    for (int part = 0; part < 2; ++part) acc.emplace_back(ext).zero();
  }
  Poly<Eval> u0(ext), u1(ext);
  for (std::size_t g = 0; g < giants_.size(); ++g) {
    if (giants_[g].step == 0) continue;
    const auto k = key(keys, giants_[g].step, in.key_id);
    const Poly<Eval> c1 = gadget.mod_down(limbs).apply(inner[g][1], threads);
    switch_key(u0, u1, c1, *k, gadget, threads);
    const auto index = gadget_->q().ring().eval_index(element_(giants_[g].step));
    parallel_for(threads, ext.size(), [&](std::size_t j) {
      kern.add(u0.limb(j), u0.limb(j), inner[g][0].limb(j), n, ext[j].mod());
      kern.automorphism_eval_add(acc[0].limb(j), u0.limb(j), index->data(), n, ext[j].mod());
      kern.automorphism_eval_add(acc[1].limb(j), u1.limb(j), index->data(), n, ext[j].mod());
    });
    count({.rotation = 1});
    move_limbs(5 * ext.size(), 3 * ext.size(), n);
    inner[g].clear();
  }
  Parts out;
  for (auto& part : acc) out.push_back(down().apply(part, threads));
  return out;
}

}  // namespace ringforge::circuits
