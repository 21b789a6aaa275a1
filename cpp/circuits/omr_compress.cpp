// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The product of compression: tables of payloads, key switch and split, baby-step giant-step in the small ring.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
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

// ---- tables -----------------------------------------------------------------------------------------
//
// Along a diagonal, row and column grow together. Rows are numbered so that the inner factor (values or powers) runs
// fastest: over a run of one outer index, the outer factor's columns follow each other, and so do the inner factor's
// entries in a table that is skewed, skewed[c][i] = inner i in column c + i.

CompressionTables::CompressionTables(CompressionPlan plan, std::span<const u32> words, unsigned threads)
    : plan_(std::move(plan)) {
  const CompressionContext& ctx = *plan_.context();
  const auto& m = ctx.plain().mod();
  const std::size_t entries = ctx.parameters().entries(), n = ctx.parameters().degree(), row = n / 2;
  const std::size_t each = plan_.words(), powers = plan_.powers();
  if (words.size() != entries * each)
    throw ShapeError(std::to_string(words.size()) + " words of payloads: a bulletin has " + std::to_string(entries) +
                     " entries of " + std::to_string(each));
  if (!all_below(words.data(), words.size(), m.q))
    throw ValueError("a word of a payload is not below " + std::to_string(m.q));
  inner_ = std::max(plan_.values(), powers);
  outer_ = std::min(plan_.values(), powers);
  stride_ = row + inner_;  // columns go round: the first ones follow the last ones again

  WordArray<u32> power(entries * powers);  // by entry
  parallel_for(threads, 16, [&](std::size_t part) {
    for (std::size_t j = part * (entries / 16); j < (part + 1) * (entries / 16); ++j) {
      u64 x = 1;
      for (std::size_t i = 0; i < powers; ++i, x = arith::reduce64(x * (j + 1), m))
        power.data()[j * powers + i] = static_cast<u32>(x);
    }
  });
  const auto value = [&](std::size_t entry, std::size_t i) {
    return i == 0 ? u32{1} : words[entry * each + i - 1];
  };
  const auto exponent = [&](std::size_t entry, std::size_t i) { return power.data()[entry * powers + i]; };

  skewed_ = WordArray<u32>(entries * inner_);
  plain_ = WordArray<u32>(8 * outer_ * stride_);
  twist_ = WordArray<u32>(6 * stride_);
  const auto fill = [&](std::size_t rank, const auto& in, const auto& out) {  // fibre number, row of slots
    const std::size_t k = rank / 2, base = rank % 2 * row;
    for (std::size_t c = 0; c < row; ++c) {
      u32* run = skewed_.data() + (rank * row + c) * inner_;
      for (std::size_t i = 0; i < inner_; ++i) run[i] = in(ctx.entry(k, base + (c + i) % row), i);
    }
    for (std::size_t o = 0; o < outer_; ++o) {
      u32* line = plain_.data() + (o * 8 + rank) * stride_;
      for (std::size_t c = 0; c < stride_; ++c) line[c] = out(ctx.entry(k, base + c % row), o);
    }
    if (k == 3) return;
    for (std::size_t c = 0; c < stride_; ++c)
      twist_.data()[rank * stride_ + c] = ctx.twist(k + 1, base + c % row);
  };
  parallel_for(threads, 8, [&](std::size_t rank) {
    if (plan_.values_inside())
      fill(rank, value, exponent);
    else
      fill(rank, exponent, value);
  });
}

void CompressionTables::diagonals(u32* const* dst, const CompressionPlan::Output& output, std::size_t giant,
                                  std::size_t baby, std::size_t sign) const {
  const CompressionContext& ctx = *plan_.context();
  const std::size_t row = ctx.parameters().row();
  const std::size_t shift = giant * ctx.parameters().babies();
  // Slot (s, x) multiplies column (s, x + baby) in row (s + sign, x - shift) of the matrix.
  const std::size_t cycle = output.signs == 2 ? row : output.period;
  for (std::size_t s = 0; s < 2; ++s) {
    const std::size_t base = output.signs == 2 ? (s ^ sign) * row : 0;
    for (std::size_t x = 0, next = 0; x < row; x = next) {
      const std::size_t y = (x + row - shift) % cycle, r = base + y;
      next = std::min(row, x + cycle - y);
      u32* to[4];
      for (std::size_t k = 0; k < 4; ++k) to[k] = dst[k] + s * row + x;
      if (r >= output.rows) {
        for (u32* t : to) std::fill_n(t, next - x, 0);
        continue;
      }
      const std::size_t o = (output.first + r) / inner_, i = (output.first + r) % inner_;
      next = std::min({next, x + inner_ - i, x + output.rows - r});
      const std::size_t column = (x + baby + inner_ * row - i) % row;  // of the run's first row
      const u32 *a[4], *b[4], *z[3];
      for (std::size_t k = 0; k < 4; ++k) {
        const std::size_t rank = 2 * k + s;
        a[k] = skewed_.data() + (rank * row + column) * inner_ + i;
        b[k] = plain_.data() + (o * 8 + rank) * stride_ + column + i;
        if (k < 3) z[k] = twist_.data() + rank * stride_ + column + i;
      }
      kernels::active().fibre4(to, a, b, z, ctx.root(), next - x, ctx.plain().mod());
    }
  }
}

// ---- key switch, split, babies ----------------------------------------------------------------------

Compressor::Compressor(CompressionPlan plan, CompressionKeys keys)
    : plan_(std::move(plan)), keys_(std::move(keys)), evaluator_(plan_.context()->small()) {
  if (keys_.context()->hash() != plan_.context()->hash())
    throw MismatchError("the keys of compression were made for other parameters than the plan's: use one set");
}

std::vector<Ciphertext> Compressor::split(const Ciphertext& u, unsigned threads) const {
  const CompressionContext& ctx = *plan_.context();
  u.check(*ctx.big(), 2, 2);
  if (u.limbs() != 2)
    throw LevelError("compression takes a ciphertext of two limbs, this one has " + std::to_string(u.limbs()) +
                     ": bring it there with mod_switch_to");
  if (u.key_id != keys_.from_id())
    throw MismatchError(
        "the keys of compression belong to another secret key than the ciphertext: use keys made together");
  const Ciphertext moved = rlwe::Evaluator(ctx.big(), threads).switch_to(u, keys_.down());
  const Basis small = ctx.small()->q();
  const std::size_t n = ctx.parameters().degree();
  std::vector<Ciphertext> r(4);
  for (auto& c : r) {
    c.key_id = keys_.key_id();
    for (int part = 0; part < 2; ++part) c.parts.emplace_back(small);
  }
  parallel_for(threads, 4, [&](std::size_t task) {
    const std::size_t part = task / 2, l = task % 2;
    u64* whole = scratch(4 * n);
    intt(whole, moved.parts[part].limb(l), moved.parts[part].basis()[l]);
    for (std::size_t i = 0; i < 4; ++i) {
      u64* to = r[i].parts[part].limb(l);
      for (std::size_t j = 0; j < n; ++j) to[j] = whole[4 * j + i];
      ntt(to, to, small[l]);
    }
  });
  return r;
}

std::vector<Ciphertext> Compressor::babies(std::vector<Ciphertext> split, unsigned threads) const {
  const CompressionContext& ctx = *plan_.context();
  if (split.size() != 4)
    throw ShapeError(std::to_string(split.size()) + " ciphertexts: u splits into 4; make them with split");
  const std::size_t babies = ctx.parameters().babies();
  const auto key = keys_.galois().at(ctx.step_element());
  std::vector<Ciphertext> r(4 * babies);
  parallel_for(threads, 4, [&](std::size_t i) {
    r[i * babies] = std::move(split[i]);
    for (std::size_t b = 1; b < babies; ++b)
      r[i * babies + b] = evaluator_.map(r[i * babies + b - 1], ctx.step_element(), *key);
  });
  return r;
}

// ---- sums -------------------------------------------------------------------------------------------

namespace {

/// One inner sum: a giant step of one sign.
struct Term {
  std::size_t touched;  // number of the piece
  std::size_t output, giant, sign;
};
/// Inner sums that share each baby while it is in the cache.
constexpr std::size_t kAtOnce = 2;
/// Slots of a product at a time: then all babies' words are in the second-level cache for the next inner sum.
constexpr std::size_t kStretch = 2048;

/// sum_b sum_i D'_i u_i of up to kAtOnce terms.
void inner_sums(std::span<Ciphertext> out, std::span<const Term> terms, const CompressionTables& tables,
                const std::vector<Ciphertext>& babies) {
  const CompressionPlan& plan = tables.plan();
  const CompressionContext& ctx = *plan.context();
  const Basis basis = ctx.small()->q();
  const std::size_t n = ctx.parameters().degree(), count_b = ctx.parameters().babies(), all = 4 * terms.size();
  const auto& kern = kernels::active();
  for (Ciphertext& c : out)
    for (int part = 0; part < 2; ++part) c.parts.emplace_back(basis);
  WordArray<u32> slots(4 * n);
  WordBuffer coefficients(all * n), transformed(all * n);
  u32* made[4];
  for (std::size_t i = 0; i < 4; ++i) made[i] = slots.data() + i * n;
  const u32* slot_of = ctx.slot_of().data();
  const std::size_t stretch = std::min(kStretch, n);
  for (std::size_t b = 0; b < count_b; ++b) {
    for (std::size_t k = 0; k < terms.size(); ++k) {
      const Term& t = terms[k];
      tables.diagonals(made, plan.outputs()[t.output], t.giant, b, t.sign);
      for (std::size_t i = 0; i < 4; ++i) {
        u64* to = coefficients.data() + (4 * k + i) * n;
        for (std::size_t e = 0; e < n; ++e) to[e] = made[i][slot_of[e]];
        intt(to, to, ctx.plain());
      }
    }
    for (std::size_t l = 0; l < 2; ++l) {
      for (std::size_t i = 0; i < all; ++i)
        ntt_lift(transformed.data() + i * n, coefficients.data() + i * n, ctx.plain(), basis[l]);
      for (std::size_t at = 0; at < n; at += stretch) {
        const u64 *x[4], *y0[4], *y1[4];
        for (std::size_t i = 0; i < 4; ++i) {
          y0[i] = babies[i * count_b + b].parts[0].limb(l) + at;
          y1[i] = babies[i * count_b + b].parts[1].limb(l) + at;
        }
        for (std::size_t k = 0; k < terms.size(); ++k) {
          for (std::size_t i = 0; i < 4; ++i) x[i] = transformed.data() + (4 * k + i) * n + at;
          kern.dot2(out[k].parts[0].limb(l) + at, out[k].parts[1].limb(l) + at, x, y0, y1, 4, b > 0, stretch,
                    basis[l].mod());
        }
      }
    }
  }
  count({.plain_mul = all * count_b, .plaintext_bytes = 2 * all * count_b * n * sizeof(u64)});
}

}  // namespace

CompressionPart Compressor::part(const std::vector<Ciphertext>& babies, const CompressionTables& tables,
                                 CompressionPlan::Shard shard, unsigned threads,
                                 const CompressionProgress& progress) const {
  const CompressionContext& ctx = *plan_.context();
  if (tables.plan().hash() != plan_.hash())
    throw MismatchError("the tables of payloads were made for another plan: make them anew");
  if (shard.count < 1 || shard.first + shard.count > plan_.giants())
    throw ShapeError("giant steps " + std::to_string(shard.first) + " ... " +
                     std::to_string(shard.first + shard.count) + " of " + std::to_string(plan_.giants()));
  if (babies.size() != 4 * ctx.parameters().babies())
    throw ShapeError(std::to_string(babies.size()) + " babies: there are " +
                     std::to_string(4 * ctx.parameters().babies()) + "; make them with babies");
  for (const Ciphertext& c : babies) {
    c.check(*ctx.small(), 2, 2);
    if (c.key_id != keys_.key_id() || c.limbs() != 2) throw MismatchError("the babies are of other keys: make them anew");
  }
  const auto pieces = plan_.pieces(shard);
  std::vector<Term> terms;
  for (std::size_t p = 0; p < pieces.size(); ++p)
    for (std::size_t g = pieces[p].first + pieces[p].count; g-- > pieces[p].first;)
      for (std::size_t sign = 0; sign < plan_.outputs()[pieces[p].output].signs; ++sign)
        terms.push_back({p, pieces[p].output, g, sign});
  CompressionPart part{shard, {}};
  for (const auto& piece : pieces) part.sums.emplace_back(plan_.outputs()[piece.output].signs);

  const auto key = keys_.galois().at(ctx.giant_element());
  const rlwe::Evaluator evaluator(ctx.small(), threads);
  Reports<bool> reports(progress, terms.size());
  // Waves of inner sums, so that few are held; each is then added, by Horner's rule.
  const std::size_t wave = 4 * kAtOnce * std::max(threads, 1u);
  for (std::size_t first = 0; first < terms.size(); first += wave) {
    const std::size_t now = std::min(wave, terms.size() - first);
    std::vector<Ciphertext> inner(now);
    parallel_for(threads, (now + kAtOnce - 1) / kAtOnce, [&](std::size_t task) {
      const std::size_t at = task * kAtOnce, some = std::min(kAtOnce, now - at);
      inner_sums(std::span(inner).subspan(at, some), std::span(terms).subspan(first + at, some), tables, babies);
      reports.add(some);
    });
    for (std::size_t i = 0; i < now; ++i) {
      const Term& t = terms[first + i];
      Ciphertext& sum = part.sums[t.touched][t.sign];
      inner[i].key_id = keys_.key_id();
      if (!sum.parts.empty())
        evaluator.add_in_place(inner[i], evaluator.map(sum, ctx.giant_element(), *key));
      sum = std::move(inner[i]);
    }
  }
  return part;
}

Ciphertext Compressor::rotated(Ciphertext c, std::size_t giants) const {
  const u64 element = plan_.context()->giant_element();
  const auto key = keys_.galois().at(element);
  for (std::size_t i = 0; i < giants; ++i) c = evaluator_.map(c, element, *key);
  return c;
}

std::vector<Ciphertext> Compressor::sums(std::vector<CompressionPart> parts) const {
  const CompressionContext& ctx = *plan_.context();
  std::sort(parts.begin(), parts.end(),
            [](const auto& a, const auto& b) { return a.shard.first < b.shard.first; });
  std::size_t next = 0;
  for (const auto& p : parts) {
    if (p.shard.first != next || p.shard.count < 1 || p.shard.count > plan_.giants() - next)
      throw ShapeError("parts of a digest must be all giant steps 0 ... " + std::to_string(plan_.giants()) +
                       " once; at " + std::to_string(next) + " there is a gap or an overlap");
    next += p.shard.count;
    const auto pieces = plan_.pieces(p.shard);
    bool fits = p.sums.size() == pieces.size();
    for (std::size_t i = 0; fits && i < pieces.size(); ++i)
      fits = p.sums[i].size() == plan_.outputs()[pieces[i].output].signs;
    if (!fits) throw ShapeError("a part of a digest is of another plan: make it anew");
    for (const auto& signs : p.sums)
      for (const Ciphertext& c : signs) {
        c.check(*ctx.small(), 2, 2);
        if (c.key_id != keys_.key_id() || c.limbs() != 2)
          throw MismatchError("a part of a digest is under another key: compute all parts with one receiver's keys");
      }
  }
  if (next != plan_.giants())
    throw ShapeError("parts of a digest end at giant step " + std::to_string(next) + " of " +
                     std::to_string(plan_.giants()));

  std::vector<std::vector<Ciphertext>> upper(plan_.outputs().size());
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    const auto pieces = plan_.pieces(part->shard);
    for (std::size_t i = pieces.size(); i-- > 0;) {
      auto& have = upper[pieces[i].output];
      if (have.empty()) {
        have = std::move(part->sums[i]);
        continue;
      }
      for (std::size_t s = 0; s < have.size(); ++s) {
        have[s] = rotated(std::move(have[s]), pieces[i].count);
        evaluator_.add_in_place(have[s], part->sums[i][s]);
      }
    }
  }
  std::vector<Ciphertext> r;
  const auto swap = keys_.galois().at(ctx.swap_element());
  for (std::size_t i = 0; i < upper.size(); ++i) {
    const auto& o = plan_.outputs()[i];
    Ciphertext sum = upper[i][0];
    for (std::size_t k = 1; k < plan_.repeats(o); ++k) {
      sum = rotated(std::move(sum), o.giants);
      evaluator_.add_in_place(sum, upper[i][0]);
    }
    evaluator_.add_in_place(sum, evaluator_.map(o.signs == 2 ? upper[i][1] : sum, ctx.swap_element(), *swap));
    r.push_back(std::move(sum));
  }
  return r;
}

// ---- parts as records -------------------------------------------------------------------------------

namespace {

u64 part_body(const CompressionPlan& plan, CompressionPlan::Shard shard) {
  const Basis q = plan.context()->small()->q();
  u64 each = 0, sums = 0;
  for (std::size_t i = 0; i < q.size(); ++i) each += 2 * packed_bytes(q.ring().degree(), q[i].mod().bits);
  for (const auto& p : plan.pieces(shard)) sums += plan.outputs()[p.output].signs;
  return kPartHead + sums * each;
}

}  // namespace

void CompressionPart::save(std::ostream& out, const CompressionPlan& plan) const {
  if (sums.empty() || sums[0].empty() || shard.count > plan.giants() || shard.first > plan.giants() - shard.count)
    throw ShapeError("the part belongs to another plan");
  io::RecordWriter w(out, kCompressionPartType, plan.hash(), part_body(plan, shard));
  w.value(sums[0][0].key_id);
  w.value(static_cast<u64>(shard.first));
  w.value(static_cast<u64>(shard.count));
  for (const auto& signs : sums)
    for (const Ciphertext& c : signs)
      for (const auto& part : c.parts) w.poly(part);
  w.finish();
}

CompressionPart CompressionPart::load(std::istream& in, const CompressionPlan& plan) {
  io::RecordReader r(in, kCompressionPartType);
  r.check_parameters(plan.hash());
  const auto head = r.head();
  CompressionPart part{{head.at<u64>(8), head.at<u64>(16)}, {}};
  const std::size_t all = plan.giants();
  if (part.shard.count < 1 || part.shard.count > all || part.shard.first > all - part.shard.count)
    r.refuse("its giant steps are not among the " + std::to_string(all) + " of the plan");
  r.check_length(part_body(plan, part.shard));
  const Basis q = plan.context()->small()->q();
  for (const auto& piece : plan.pieces(part.shard)) {
    auto& signs = part.sums.emplace_back(plan.outputs()[piece.output].signs);
    for (Ciphertext& c : signs) {
      c.key_id = head.at<u64>(0);
      for (int half = 0; half < 2; ++half) c.parts.push_back(r.poly(q));
    }
  }
  r.finish();
  return part;
}

}  // namespace ringforge::circuits
