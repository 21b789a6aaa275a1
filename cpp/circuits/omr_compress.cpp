// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The work of compression: rotations times powers, inner products with payloads, packing.
#include "ringforge/circuits/omr_compress.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "omr_compress_format.hpp"
#include "progress.hpp"
#include "ref/arith.hpp"
#include "ringforge/error.hpp"
#include "ringforge/packing.hpp"
#include "ringforge/threads.hpp"
#include "scratch.hpp"

namespace ringforge::circuits {

using rlwe::Ciphertext;

Compressor::Compressor(CompressionPlan plan, CompressionKeys keys)
    : plan_(std::move(plan)), keys_(std::move(keys)), evaluator_(plan_.context()->small()) {
  const CompressionContext& ctx = *plan_.context();
  if (keys_.context()->hash() != ctx.hash())
    throw MismatchError("the keys of compression were made for other parameters than the plan's: use one set");
}

// ---- rotations of u, times powers -------------------------------------------------------------------

Ciphertext Compressor::switched(const Ciphertext& u, unsigned threads) const {
  const CompressionContext& ctx = *plan_.context();
  u.check(*ctx.big(), 2, 2);
  if (u.limbs() != 2)
    throw LevelError("compression takes a ciphertext of two limbs, this one has " + std::to_string(u.limbs()) +
                     ": bring it there with mod_switch_to");
  if (u.key_id != keys_.from_id())
    throw MismatchError(
        "the keys of compression belong to another secret key than the ciphertext: use keys made together");
  return rlwe::Evaluator(ctx.big(), threads).switch_to(u, keys_.down());
}

CompressedPowers Compressor::powers(const Ciphertext& u, unsigned threads, const CompressionProgress& progress) const {
  const CompressionContext& ctx = *plan_.context();
  const Basis q = ctx.big()->q();
  const std::size_t n = ctx.parameters().entries(), row = n / 2, half = plan_.period() / 2;
  const rlwe::Evaluator evaluator(ctx.big(), threads);
  const auto step = keys_.big().at(ctx.step_element()), swap = keys_.big().at(ctx.swap_element());
  const u32* index = ctx.index_of().data();
  const auto& kern = kernels::active();
  CompressedPowers r(plan_.period(), n);
  Ciphertext rotated = switched(u, threads);
  Reports<bool> reports(progress, half);
  for (std::size_t b = 0; b < half; ++b) {
    if (b > 0) rotated = evaluator.map(rotated, ctx.step_element(), *step);
    const Ciphertext exchanged = evaluator.map(rotated, ctx.swap_element(), *swap);
    parallel_for(threads, 2, [&](std::size_t sign) {
      const Ciphertext& c = sign == 0 ? rotated : exchanged;
      u64* w = scratch(3 * n);
      u64 *lifted = w + n, *product = w + 2 * n;
      // Slot (r, x) holds entry (r + sign, x + b): times its power i = r*rho/2 + x mod rho/2, and 0 beyond the largest.
      for (std::size_t s = 0; s < 2; ++s)
        for (std::size_t x = 0; x < row; ++x) {
          const std::size_t i = s * half + x % half;
          const std::size_t entry = (s ^ sign) * row + (x + b) % row;
          w[index[s * row + x]] = i < plan_.powers() ? ctx.power(entry, i) : 0;
        }
      intt(w, w, ctx.plain());
      for (std::size_t l = 0; l < 2; ++l) {
        const auto& m = q[l].mod();
        ntt_lift(lifted, w, ctx.plain(), q[l]);
        // A quarter: part 0 over a small slot is the mean over its four large ones.
        kern.mul_scalar(lifted, lifted, kernels::make_factor(arith::inverse(4, m), m), n, m);
        for (std::size_t part = 0; part < 2; ++part) {
          kern.mul(product, lifted, c.parts[part].limb(l), n, m);
          u64* to = r.at(sign * half + b, part, l);
          for (std::size_t slot = 0; slot < n; ++slot) to[slot] = product[index[slot]];
        }
      }
    });
    reports.add(1);
  }
  count({.plain_mul = 2 * half, .plaintext_bytes = 4 * half * n * sizeof(u64)});
  return r;
}

// ---- inner products with payloads -------------------------------------------------------------------

std::vector<Ciphertext> Compressor::values(const CompressedPowers& powers, std::span<const u32> words,
                                           const CompressionPlan::Unit& unit) const {
  const CompressionContext& ctx = *plan_.context();
  const Basis q = ctx.big()->q(), small = ctx.small()->q();
  const std::size_t n = ctx.parameters().entries(), row = n / 2, quarter = row / 4, half = plan_.period() / 2;
  const std::size_t first = plan_.outputs()[unit.output].first + unit.first, each = plan_.words();
  const u32* index = ctx.index_of().data();
  std::vector<Ciphertext> r(unit.count);
  for (Ciphertext& c : r) {
    c.key_id = keys_.key_id();
    for (int part = 0; part < 2; ++part) c.parts.emplace_back(small);
  }

  // Payloads modulo both primes in the order of slots; rows go on with their first columns.
  const std::size_t line = row + half, payload = 2 * line;
  WordBuffer lifted(unit.count * 2 * payload), encoded(unit.count * n), work(n);
  for (std::size_t at = 0; at < n; at += 512)  // some entries at a time: their words lie side by side
    for (std::size_t v = 0; v < unit.count; ++v) {
      if (first + v == 0) continue;
      u64* to = encoded.data() + v * n;
      for (std::size_t j = at; j < std::min(n, at + 512); ++j) to[index[j]] = words[j * each + first + v - 1];
    }
  for (std::size_t v = 0; v < unit.count; ++v) {
    u64* e = encoded.data() + v * n;
    if (first + v > 0) intt(e, e, ctx.plain());
    for (std::size_t l = 0; l < 2; ++l) {
      u64* to = lifted.data() + (v * 2 + l) * payload;
      if (first + v == 0) {
        std::fill_n(to, payload, 1);
        continue;
      }
      ntt_lift(work.data(), e, ctx.plain(), q[l]);
      for (std::size_t s = 0; s < 2; ++s, to += line) {
        for (std::size_t x = 0; x < row; ++x) to[x] = work.data()[index[s * row + x]];
        std::copy_n(to, half, to + row);
      }
    }
  }

  // Part 0 over small slot (s, x) is the sum over large slots (s, x + m*quarter) and over all terms. A stretch of all
  // terms' words stays in the second-level cache for all values.
  const auto& kern = kernels::active();
  const std::size_t terms = 8 * half;
  const std::size_t stretch = std::min(quarter, std::max<std::size_t>(16, (std::size_t{1} << 13) / plan_.period()));
  std::vector<const u64*> x(terms), y0(terms), y1(terms);
  WordBuffer sums(2 * unit.count * 2 * quarter);
  for (std::size_t l = 0; l < 2; ++l) {
    for (std::size_t s = 0; s < 2; ++s)
      for (std::size_t at = 0; at < quarter; at += stretch) {
        for (std::size_t b = 0, k = 0; b < 2 * half; ++b)
          for (std::size_t m = 0; m < 4; ++m, ++k) {
            const std::size_t slot = s * row + m * quarter + at;
            y0[k] = powers.at(b, 0, l) + slot;
            y1[k] = powers.at(b, 1, l) + slot;
          }
        for (std::size_t v = 0; v < unit.count; ++v) {
          const u64* p = lifted.data() + (v * 2 + l) * payload;
          for (std::size_t b = 0, k = 0; b < 2 * half; ++b)
            for (std::size_t m = 0; m < 4; ++m, ++k)
              x[k] = p + (b < half ? s : s ^ 1) * line + m * quarter + at + b % half;
          u64* out = sums.data() + v * 4 * quarter + s * quarter + at;
          kern.dot2(out, out + 2 * quarter, x.data(), y0.data(), y1.data(), terms, false, stretch, q[l].mod());
        }
      }
    const u32* to = ctx.small_index_of(l).data();
    for (std::size_t v = 0; v < unit.count; ++v)
      for (std::size_t part = 0; part < 2; ++part) {
        const u64* from = sums.data() + (v * 2 + part) * 2 * quarter;
        u64* limb = r[v].parts[part].limb(l);
        for (std::size_t i = 0; i < 2 * quarter; ++i) limb[to[i]] = from[i];
      }
  }
  count({.plain_mul = unit.count * 2 * half, .plaintext_bytes = unit.count * 4 * half * n * sizeof(u64)});
  return r;
}

// ---- packing ----------------------------------------------------------------------------------------
//
// sigma(Y) = Y^(1 + N'/2^i) negates Y^j for j an odd multiple of 2^i and fixes multiples of 2^(i+1). Of a and b, which
// matter at multiples of 2^i, (a + Y^(2^i) b) + sigma(a - Y^(2^i) b) has twice the coefficients of a at multiples of
// 2^(i+1), and those of b 2^i after them (Chen, Dai, Kim, Song, "Efficient homomorphic conversion between (ring) LWE
// ciphertexts", ACNS 2021). Other coefficients are moved among themselves, until a lower level clears them.

void Compressor::pack(std::vector<Ciphertext>& c, unsigned top, unsigned levels) const {
  const CompressionContext& ctx = *plan_.context();
  for (unsigned level = top; level-- > top - levels;) {
    const u64 element = ctx.pack_element(level);
    const auto key = keys_.small().at(element);
    std::vector<Ciphertext> next((c.size() + 1) / 2);
    for (std::size_t i = 0; i < next.size(); ++i) {
      Ciphertext &a = c[2 * i], difference = a;
      if (2 * i + 1 < c.size()) {
        Ciphertext& b = c[2 * i + 1];
        for (std::size_t part = 0; part < 2; ++part) mul(b.parts[part], b.parts[part], ctx.monomial(level));
        evaluator_.sub_in_place(difference, b);
        evaluator_.add_in_place(a, b);
      }
      evaluator_.add_in_place(a, evaluator_.map(difference, element, *key));
      next[i] = std::move(a);
    }
    c = std::move(next);
  }
}

CompressionPart Compressor::part(const CompressedPowers& powers, std::span<const u32> words,
                                 CompressionPlan::Shard shard, unsigned threads,
                                 const CompressionProgress& progress) const {
  const CompressionContext& ctx = *plan_.context();
  const std::size_t n = ctx.parameters().entries();
  if (words.size() != n * plan_.words())
    throw ShapeError(std::to_string(words.size()) + " words of payloads: a bulletin has " + std::to_string(n) +
                     " entries of " + std::to_string(plan_.words()));
  if (powers.size() != 4 * plan_.period() * n)
    throw ShapeError("the powers were made for another plan: make them anew");
  if (shard.count < 1 || shard.count > plan_.units() || shard.first > plan_.units() - shard.count)
    throw ShapeError("units " + std::to_string(shard.first) + " to " + std::to_string(shard.first + shard.count) +
                     ": the plan has " + std::to_string(plan_.units()));
  if (!all_below(words.data(), words.size(), ctx.parameters().t))
    throw ValueError("a word of a payload is not below " + std::to_string(ctx.parameters().t));
  CompressionPart part{shard, std::vector<Ciphertext>(shard.count)};
  Reports<bool> reports(progress, shard.count);
  parallel_for(threads, shard.count, [&](std::size_t i) {
    const auto unit = plan_.unit(shard.first + i);
    auto made = values(powers, words, unit);
    const unsigned levels = plan_.outputs()[unit.output].levels;
    pack(made, levels, std::min(levels, CompressionPlan::kLogUnit));
    part.packed[i] = std::move(made[0]);
    reports.add(1);
  });
  return part;
}

void Compressor::check_part(const CompressionPart& part) const {
  if (part.packed.size() != part.shard.count) throw ShapeError("a part of a digest is of another plan: make it anew");
  for (const Ciphertext& c : part.packed) {
    c.check(*plan_.context()->small(), 2, 2);
    if (c.key_id != keys_.key_id() || c.limbs() != 2)
      throw MismatchError("a part of a digest is under another key: compute all parts with one receiver's keys");
  }
}

std::vector<Ciphertext> Compressor::packed(std::vector<CompressionPart> parts) const {
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.shard.first < b.shard.first; });
  std::size_t next = 0;
  std::vector<Ciphertext> units;
  for (auto& p : parts) {
    if (p.shard.first != next)
      throw ShapeError("parts of a digest must be all its units once: between them there is a gap or an overlap");
    check_part(p);
    next += p.shard.count;
    std::move(p.packed.begin(), p.packed.end(), std::back_inserter(units));
  }
  if (next != plan_.units())
    throw ShapeError("parts of a digest end at unit " + std::to_string(next) + " of " + std::to_string(plan_.units()));
  std::vector<Ciphertext> r;
  auto from = units.begin();
  for (const auto& o : plan_.outputs()) {
    std::vector<Ciphertext> tree;
    for (std::size_t i = 0; i < o.units; ++i) tree.push_back(std::move(*from++));
    const unsigned left = o.levels - std::min(o.levels, CompressionPlan::kLogUnit);
    pack(tree, left, left);
    r.push_back(std::move(tree[0]));
  }
  return r;
}

CompressionPart CompressionPart::joined(std::vector<CompressionPart> parts) {
  if (parts.empty()) throw ShapeError("no parts of a digest");
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.shard.first < b.shard.first; });
  CompressionPart r{{parts[0].shard.first, 0}, {}};
  const u64 key = parts[0].packed.at(0).key_id;
  for (CompressionPart& p : parts) {
    if (p.shard.first != r.shard.first + r.shard.count)
      throw ShapeError("parts of a digest that are joined must be neighbours: there is a gap or an overlap");
    r.shard.count += p.shard.count;
    for (Ciphertext& c : p.packed) {
      if (c.key_id != key) throw MismatchError("parts of a digest are under different keys");
      r.packed.push_back(std::move(c));
    }
  }
  return r;
}

// ---- parts as records -------------------------------------------------------------------------------

namespace {

u64 part_body(const CompressionPlan& plan, std::size_t units) {
  const Basis q = plan.context()->small()->q();
  u64 each = 0;
  for (std::size_t i = 0; i < q.size(); ++i) each += 2 * packed_bytes(q.ring().degree(), q[i].mod().bits);
  return kPartHead + units * each;
}

}  // namespace

void CompressionPart::save(std::ostream& out, const CompressionPlan& plan) const {
  if (packed.empty() || packed.size() != shard.count) throw ShapeError("a part of a digest without its ciphertexts");
  io::RecordWriter w(out, kCompressionPartType, plan.hash(), part_body(plan, shard.count));
  w.value(packed[0].key_id);
  w.value(static_cast<u64>(shard.first));
  w.value(static_cast<u64>(shard.count));
  for (const Ciphertext& c : packed)
    for (const auto& part : c.parts) w.poly(part);
  w.finish();
}

CompressionPart CompressionPart::load(std::istream& in, const CompressionPlan& plan) {
  io::RecordReader r(in, kCompressionPartType);
  r.check_parameters(plan.hash());
  const auto head = r.head();
  CompressionPart part{{head.at<u64>(8), head.at<u64>(16)}, {}};
  const std::size_t all = plan.units();
  if (part.shard.count < 1 || part.shard.count > all || part.shard.first > all - part.shard.count)
    r.refuse("its units are not among the " + std::to_string(all) + " of the plan");
  r.check_length(part_body(plan, part.shard.count));
  const Basis q = plan.context()->small()->q();
  part.packed.resize(part.shard.count);
  for (Ciphertext& c : part.packed) {
    c.key_id = head.at<u64>(0);
    for (int half = 0; half < 2; ++half) c.parts.push_back(r.poly(q));
  }
  r.finish();
  return part;
}

}  // namespace ringforge::circuits
