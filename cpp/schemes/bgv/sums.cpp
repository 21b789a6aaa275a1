// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Sums of plaintexts times maps of one ciphertext, over Q*P (double hoisting; Bossuat, Mouchet, Troncoso-Pastoriza and
// Hubaux, "Efficient Bootstrapping for Approximate Homomorphic Encryption with Non-Sparse Keys", Eurocrypt 2021).
//
// Prime by prime of Q*P: the digits of c1 there are transformed once; of each map the product with its key, plus P*c0,
// is permuted and added, multiplied, to the sums that take it, block by block. So of everything but the sums there is
// one limb a thread. The primes that go come first: what remains of them is kept in coefficient form.
#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "ringforge/bgv/bgv.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "ringforge/traffic.hpp"
#include "scratch.hpp"

namespace ringforge::bgv {
namespace {

constexpr std::size_t kBlock = 512;  // coefficients that stay in the first-level cache

/// One map of the ciphertext, and what it is multiplied by for which sums.
struct Map {
  std::shared_ptr<const rlwe::SwitchingKey> key;  // null: the ciphertext itself
  std::shared_ptr<const std::vector<u32>> index;
  struct Use {
    std::size_t sum;
    const Multiplier* multiplier;
  };
  std::vector<Use> uses;
};

}  // namespace

std::vector<Ciphertext> Evaluator::frobenius_sums(const Ciphertext& a, std::span<const std::vector<Term>> sums,
                                                  const GaloisKeys& keys, std::size_t drop) const {
  const rlwe::Gadget& gadget = ctx_->gadget();
  ctx_->check(a);
  if (a.parts.size() != 2) throw ShapeError("an automorphism needs a ciphertext of two parts: relinearize first");
  const std::size_t limbs = a.limbs(), n = a.parts[0].length();
  if (drop > 1 || drop >= limbs)
    throw LevelError("sums of maps of a ciphertext of " + std::to_string(limbs) +
                     " limbs drop one prime or none, and one must stay, not " + std::to_string(drop));
  if (sums.empty()) throw ShapeError("give one sum of maps at least");

  const GaloisKeys held(keys);
  std::map<u64, std::size_t> place;
  std::vector<Map> maps;
  std::vector<Noise> noises;
  std::size_t terms = 0;
  for (std::size_t s = 0; s < sums.size(); ++s) {
    std::vector<double> peaks;
    for (const Term& term : sums[s]) {
      if (term.multiplier == nullptr) throw ShapeError("a term of a sum of maps has no multiplier");
      const Multiplier& multiplier = *term.multiplier;
      check_limbs(multiplier, a);
      if (multiplier.special.limbs() == 0)
        throw ParameterError("the multiplier has no limbs for the special primes: make it with special = true");
      peaks.push_back(multiplier.log_peak);
      const auto [at, added] = place.emplace(term.element, maps.size());
      if (added) {
        Map& map = maps.emplace_back();
        if (term.element != 1) {
          map.key = held.at(term.element);
          map.key->check(gadget, limbs);
          if (map.key->key_id != a.key_id)
            throw MismatchError(
                "the Galois key belongs to another secret key than the ciphertext: use keys made together");
          map.index = ctx_->ring().eval_index(term.element);
        }
      }
      maps[at->second].uses.push_back({s, &multiplier});
      ++terms;
    }
    noises.push_back(rules().hoisted_sum(a, peaks, limbs, drop));
  }

  const Basis& ext = gadget.extended(limbs);
  const rlwe::ModulusDrop& down = drop == 0 ? gadget.mod_down(limbs) : gadget.mod_down_rescale(limbs);
  const std::size_t kept = limbs - drop, gone = ext.size() - kept, count_sums = sums.size();
  const auto switches = static_cast<std::size_t>(
      std::count_if(maps.begin(), maps.end(), [](const Map& map) { return map.key != nullptr; }));
  std::optional<rlwe::DigitSource> source;
  if (switches > 0) source.emplace(a.parts[1], gadget, threads(), rlwe::DigitSource::Convert::all);
  const std::size_t digits = switches > 0 ? source->digits() : 0;
  const auto& kern = kernels::active();

  // acc[2*s + part] = limb j of the sums; t has digits + 3 limbs.
  const auto at_limb = [&](u64* const* acc, std::size_t j, u64* t) {
    const auto& m = ext[j].mod();
    u64 *u[2] = {t + digits * n, t + (digits + 1) * n}, *raised = t + (digits + 2) * n;
    for (std::size_t i = 0; i < 2 * count_sums; ++i) std::fill_n(acc[i], n, 0);
    std::vector<const u64*> x(digits);
    for (std::size_t d = 0; d < digits; ++d) {
      x[d] = source->own(d, j);
      if (x[d] != nullptr) continue;
      source->limb(t + d * n, d, j);
      x[d] = t + d * n;
    }
    if (j < limbs) kern.mul_scalar(raised, a.parts[0].limb(j), gadget.p_factor(j), n, m);
    alignas(64) u64 tile[kBlock];
    for (const Map& map : maps) {
      const auto factor = [&](const Map::Use& use) {
        return j < limbs ? use.multiplier->poly.limb(j) : use.multiplier->special.limb(j - limbs);
      };
      if (map.key == nullptr) {
        if (j >= limbs) continue;  // P*c is 0 modulo P's primes
        kern.mul_scalar(u[1], a.parts[1].limb(j), gadget.p_factor(j), n, m);
        for (const auto& use : map.uses) {
          kern.mul_add(acc[2 * use.sum], raised, factor(use), n, m);
          kern.mul_add(acc[2 * use.sum + 1], u[1], factor(use), n, m);
        }
        continue;
      }
      rlwe::key_product_at(u[0], u[1], x, *map.key, gadget, limbs, j);
      if (j < limbs) kern.add(u[0], u[0], raised, n, m);
      for (std::size_t part = 0; part < 2; ++part)
        for (std::size_t b = 0; b < n; b += kBlock) {
          const std::size_t now = std::min(kBlock, n - b);
          kern.automorphism_eval(tile, u[part], map.index->data() + b, now);
          for (const auto& use : map.uses) kern.mul_add(acc[2 * use.sum + part] + b, tile, factor(use) + b, now, m);
        }
    }
  };

  std::vector<Poly<Coeff>> tails;
  std::vector<Poly<Eval>> parts;
  for (std::size_t i = 0; i < 2 * count_sums; ++i) {
    tails.emplace_back(ext.slice(kept, gone));
    parts.emplace_back(down.output());
  }
  parallel_for(threads(), gone, [&](std::size_t i) {
    std::vector<u64*> acc;
    for (auto& tail : tails) acc.push_back(tail.limb(i));
    at_limb(acc.data(), kept + i, scratch((digits + 3) * n));
    for (u64* x : acc) intt(x, x, ext[kept + i]);
  });
  std::vector<rlwe::ModulusDrop::Rest> rests;
  for (const auto& tail : tails) {
    std::vector<const u64*> limb;
    for (std::size_t i = 0; i < gone; ++i) limb.push_back(tail.limb(i));
    rests.push_back(down.rest(std::move(limb), threads()));
  }
  parallel_for(threads(), kept, [&](std::size_t j) {
    u64* t = scratch((digits + 3) * n);
    std::vector<u64*> acc;
    for (auto& part : parts) acc.push_back(part.limb(j));
    at_limb(acc.data(), j, t);
    for (std::size_t i = 0; i < acc.size(); ++i) down.divide(acc[i], acc[i], rests[i], j, t);
  });
  count({.mod_down = 2 * count_sums,
         .key_switch = switches,
         .rotation = switches,
         .plain_mul = terms,
         .key_bytes = switches * gadget.key_bytes(limbs),
         .plaintext_bytes = terms * ext.size() * n * sizeof(u64)});
  move_limbs(2 * limbs, 2 * count_sums * kept, n);

  std::vector<Ciphertext> out;
  for (std::size_t s = 0; s < count_sums; ++s) {
    rlwe::Ciphertext c;
    c.key_id = a.key_id;
    c.parts.push_back(std::move(parts[2 * s]));
    c.parts.push_back(std::move(parts[2 * s + 1]));
    out.emplace_back(noises[s], std::move(c));
  }
  return out;
}

}  // namespace ringforge::bgv
