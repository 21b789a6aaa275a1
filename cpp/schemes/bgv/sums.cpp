// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Sums of plaintexts times maps of one ciphertext, over Q*P (double hoisting; Bossuat, Mouchet, Troncoso-Pastoriza and
// Hubaux, "Efficient Bootstrapping for Approximate Homomorphic Encryption with Non-Sparse Keys", Eurocrypt 2021).
//
// Prime by prime of Q*P: the digits of c1 there are transformed once, and then all goes block by block of the sums,
// which stay in the first-level cache: of each map the product with its key at the block's source, plus P*c0, is
// permuted and added, multiplied, to the sums that take it. So of everything but the sums there is one limb a thread,
// and nothing is written but the sums. The primes that go come first: what remains of them is kept in coefficient form.
//
// Permutations take most blocks of words from blocks: in the ring of index 65537 they rotate the rows of eight words,
// and in products of smaller primes 16 rows stay together. Other blocks' operands are gathered first.
#include <algorithm>
#include <array>
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

/// Words of a block: with two sums, eleven blocks of the largest are 44 KiB.
constexpr std::array<std::size_t, 3> kBlocks{512, 256, 128};
constexpr std::size_t kLargest = kBlocks[0], kRow = 8;

/// One map of the ciphertext, and what it is multiplied by for which sums.
struct Map {
  std::shared_ptr<const rlwe::SwitchingKey> key;  // null: the ciphertext itself
  std::shared_ptr<const std::vector<u32>> index;
  struct Use {
    std::size_t sum;
    const Multiplier* multiplier;
  };
  std::vector<Use> uses;

  static constexpr u32 kScattered = ~u32{0};
  std::vector<u32> source;  // of each block: its first word, or that there is no such block
  std::vector<u32> within;  // the index, from the first word of the source on where there is one

  /// Where blocks of `size` words come from. @returns how many are scattered
  std::size_t cut(std::size_t size) {
    source.clear();
    for (std::size_t b = 0; b < index->size(); b += size) {
      u32 first = (*index)[b], last = first;
      for (std::size_t i = b; i < b + size; i += kRow) {
        first = std::min(first, (*index)[i] / u32{kRow} * u32{kRow});
        last = std::max(last, (*index)[i]);
      }
      source.push_back(last - first < size ? first : kScattered);
    }
    return static_cast<std::size_t>(std::ranges::count(source, kScattered));
  }
  void relate(std::size_t size) {
    within = *index;
    for (std::size_t i = 0; i < within.size(); ++i)
      if (source[i / size] != kScattered) within[i] -= source[i / size];
  }
};

/// The block size at which few blocks of all maps are scattered.
std::size_t cut_all(std::vector<Map>& maps, std::size_t n) {
  std::size_t size = std::min(n, kLargest);
  for (const std::size_t tried : kBlocks) {
    if (tried > n) continue;
    size = tried;
    std::size_t scattered = 0, blocks = 0;
    for (Map& map : maps)
      if (map.key != nullptr) scattered += map.cut(size), blocks += n / size;
    if (8 * scattered <= blocks) break;
  }
  for (Map& map : maps)
    if (map.key != nullptr) map.cut(size), map.relate(size);
  return size;
}

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

  const std::size_t block = cut_all(maps, n);

  // acc[2*s + part] = limb j of the sums; t has `room` words.
  const std::size_t room = (digits + 1) * n + 3 * digits * block;
  const auto at_limb = [&](u64* const* acc, std::size_t j, u64* t) {
    const auto& m = ext[j].mod();
    u64 *raised = t + digits * n, *gathered = raised + n;
    std::vector<const u64*> x(digits), at(3 * digits);
    for (std::size_t d = 0; d < digits; ++d) {
      x[d] = source->own(d, j);
      if (x[d] != nullptr) continue;
      source->limb(t + d * n, d, j);
      x[d] = t + d * n;
    }
    if (j < limbs) kern.mul_scalar(raised, a.parts[0].limb(j), gadget.p_factor(j), n, m);
    alignas(64) std::array<std::array<u64, kLargest>, 3> tiles;
    u64 *u[2] = {tiles[0].data(), tiles[1].data()}, *permuted = tiles[2].data();
    const auto add_to = [&](const Map& map, std::size_t part, const u64* from, std::size_t b) {
      for (const auto& use : map.uses) {
        const u64* factor = j < limbs ? use.multiplier->poly.limb(j) : use.multiplier->special.limb(j - limbs);
        kern.mul_add(acc[2 * use.sum + part] + b, from, factor + b, block, m);
      }
    };
    for (std::size_t b = 0; b < n; b += block) {
      for (std::size_t i = 0; i < 2 * count_sums; ++i) std::fill_n(acc[i] + b, block, 0);
      for (const Map& map : maps) {
        if (map.key == nullptr) {
          if (j >= limbs) continue;  // P*c is 0 modulo P's primes
          add_to(map, 0, raised + b, b);
          kern.mul_scalar(u[1], a.parts[1].limb(j) + b, gadget.p_factor(j), block, m);
          add_to(map, 1, u[1], b);
          continue;
        }
        const std::size_t in_key = j < limbs ? j : map.key->limbs + j - limbs;
        const u32 from = map.source[b / block];
        const u32* index = map.within.data() + b;
        for (std::size_t d = 0; d < digits; ++d) {
          const u64* all[3] = {x[d], map.key->b[d].limb(in_key), map.key->a[d].limb(in_key)};
          for (std::size_t i = 0; i < 3; ++i) {
            u64* to = gathered + (i * digits + d) * block;
            if (from == Map::kScattered) kern.automorphism_eval(to, all[i], index, block);
            at[i * digits + d] = from == Map::kScattered ? to : all[i] + from;
          }
        }
        kern.dot2(u[0], u[1], at.data(), at.data() + digits, at.data() + 2 * digits, digits, false, block, m);
        if (from == Map::kScattered) {
          if (j < limbs) {
            kern.automorphism_eval(permuted, raised, index, block);
            kern.add(u[0], u[0], permuted, block, m);
          }
          for (std::size_t part = 0; part < 2; ++part) add_to(map, part, u[part], b);
          continue;
        }
        if (j < limbs) kern.add(u[0], u[0], raised + from, block, m);
        for (std::size_t part = 0; part < 2; ++part) {
          kern.automorphism_eval(permuted, u[part], index, block);
          add_to(map, part, permuted, b);
        }
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
    at_limb(acc.data(), kept + i, scratch(room));
    for (u64* x : acc) intt(x, x, ext[kept + i]);
  });
  std::vector<rlwe::ModulusDrop::Rest> rests;
  for (const auto& tail : tails) {
    std::vector<const u64*> limb;
    for (std::size_t i = 0; i < gone; ++i) limb.push_back(tail.limb(i));
    rests.push_back(down.rest(std::move(limb), threads()));
  }
  parallel_for(threads(), kept, [&](std::size_t j) {
    u64* t = scratch(room);
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
