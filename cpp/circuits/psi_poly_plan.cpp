// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What client and server of the polynomial protocol agree on: powers, sizes, noise.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "psi_poly_format.hpp"
#include "ringforge/error.hpp"

namespace ringforge::circuits {

namespace {

/// More than any plan that pays has; sizes stay far from overflow.
constexpr unsigned kMostDegree = 4096, kMostColumns = 4096, kMostBundles = 4096, kMostWords = 4096, kMostFelts = 5;
constexpr unsigned kMostLimbs = 8, kMostBits = 50, kMostDepth = 4;

[[noreturn]] void refuse(const std::string& what) { throw ParameterError("PSI by polynomials: " + what); }

void in_range(const char* what, unsigned value, unsigned least, unsigned most) {
  if (value < least || value > most)
    refuse(std::string(what) + " = " + std::to_string(value) + ", it must be " + std::to_string(least) + " ... " +
           std::to_string(most));
}

}  // namespace

unsigned PsiPolyPlan::word_bits() const noexcept { return static_cast<unsigned>(std::bit_width(t)) - 1; }

std::vector<PsiPolyPlan::Step> PsiPolyPlan::steps() const {
  std::vector<Step> of(std::size_t{degree} + 1, {0, 0, 0, ~0U});
  for (const unsigned s : sources)
    if (s >= 1 && s <= degree) of[s] = {s, 0, 0, 0};
  // Depths rise by one from round to round, so each power is found at its least depth.
  for (unsigned depth = 1; depth <= kMostDepth; ++depth) {
    const std::vector<Step> before = of;
    for (unsigned k = 2; k <= degree; ++k) {
      if (before[k].depth != ~0U) continue;
      // A square, which is cheaper, where there is one; else the most even factors.
      for (unsigned a = k / 2; a >= 1; --a)
        if (before[a].depth < depth && before[k - a].depth < depth) {
          of[k] = {k, a, k - a, depth};
          break;
        }
    }
  }
  std::vector<Step> out;
  for (unsigned k = 1; k <= degree; ++k) {
    if (of[k].depth == ~0U)
      refuse("the sources give no power " + std::to_string(k) + " in " + std::to_string(kMostDepth) +
             " products in a row: add sources");
    out.push_back(of[k]);
  }
  std::stable_sort(out.begin(), out.end(), [](const Step& a, const Step& b) { return a.depth < b.depth; });
  return out;
}

unsigned PsiPolyPlan::depth() const { return steps().back().depth; }

std::size_t PsiPolyPlan::key_bytes() const {
  const std::size_t limbs = key_limbs();
  std::size_t row = 0;
  for (std::size_t i = 0; i < limbs; ++i) row += packed_bytes(n(), psi_poly_bits(q[i]));
  for (const u64 x : p) row += packed_bytes(n(), psi_poly_bits(x));
  return io::record_bytes(kPsiPolyKeysHead + limbs * row);
}

std::size_t PsiPolyPlan::request_bytes() const noexcept {
  std::size_t each = sizeof(Seed);
  for (const u64 x : q) each += packed_bytes(n(), psi_poly_bits(x));
  return io::record_bytes(kPsiPolyMessageHead + columns * sources.size() * each);
}

std::size_t PsiPolyPlan::reply_bytes() const noexcept {
  const std::size_t each = packed_bytes(n(), reply_bits - reply_drop) + packed_bytes(n(), reply_bits);
  return io::record_bytes(kPsiPolyMessageHead + replies() * each);
}

std::size_t PsiPolyPlan::session_bytes() const {
  const std::size_t limbs = key_limbs();
  return 2 * limbs * (limbs + p.size()) * n() * sizeof(u64);
}

std::size_t PsiPolyPlan::query_bytes() const {
  const std::size_t poly = n() * sizeof(u64);
  // Powers of one column at all limbs and as rows for the plaintexts, values, and the reply.
  return (2 * degree * q.size() + 2 * degree * plain_limbs + 2 * bundles * polys() * plain_limbs) * poly +
         reply_bytes();
}

PsiPolyCounts PsiPolyPlan::counts() const {
  const u64 products = degree - sources.size();
  return {columns * products, columns * products, u64{columns} * bundles * polys() * degree, replies()};
}

double PsiPolyPlan::budget() const {
  const bfv::Parameters params = parameters();
  const bfv::NoiseRules rules(params);
  const std::size_t all = q.size();
  const std::vector<Step> order = steps();
  const std::vector<bool> factor = psi_poly_factors(*this, order);
  std::vector<bfv::Noise> full(std::size_t{degree} + 1);
  bfv::Noise sum;
  bool first = true;
  for (const Step& s : order) {
    bfv::Noise at = rules.encrypted(false);
    if (s.depth > 0) {
      at = rules.product(full[s.left], full[s.right], all);
      if (factor[s.power]) at = rules.switched(at, all);
    }
    full[s.power] = at;
    const bool three = s.depth > 0 && !factor[s.power];
    at = rules.mod_switched(at, all, plain_limbs, three ? 3 : 2);
    if (three) at = rules.switched(at, plain_limbs);
    at = rules.plain_product(at, rules.largest_norm(), rules.largest_peak());
    sum = first ? at : rules.sum(sum, at);
    first = false;
  }
  const bfv::Noise low = rules.mod_switched(rules.plain_sum(sum), plain_limbs, 1);
  // Bounds hold for one polynomial. All of a reply's take a few more deviations, by as many bits as the chance is
  // split.
  const double one = rules.deviations(), log_replies = std::log2(static_cast<double>(replies()));
  const double several = std::log2(1 + 2 * std::numbers::ln2 * log_replies / (one * one)) / 2;
  const double least = rules.budget(low, 1);
  // The reply's modulus, and the bits that it leaves away.
  bfv::Noise reply = low;
  reply.log_deviation += reply_bits - params.log_q(1);
  bfv::Noise rounded{rules.rounding(), 1, 0};
  reply = rules.independent_sum(reply, rounded);
  reply = rules.independent_sum(reply, {reply_drop - std::log2(12.0) / 2, 0, 0});
  return std::min(least, reply_bits - 1 - std::log2(static_cast<double>(t)) - rules.bound_bits(reply)) - several;
}

double PsiPolyPlan::false_positive_log2(u64 elements) const noexcept {
  if (elements == 0) return -INFINITY;
  // A residue of an element is any given one with at most ceil(2^32/t)/2^32 (`residue of 32 bits`).
  const double each = std::ldexp(std::ceil(std::ldexp(1.0, 32) / static_cast<double>(t)), -32);
  return std::log2(static_cast<double>(elements)) + std::log2(bundles) + felts * std::log2(degree * each);
}

bfv::Parameters PsiPolyPlan::parameters() const { return bfv::Parameters({"", log_n, t, q, p, 1, insecure}); }

void PsiPolyPlan::check() const {
  in_range("log_n", log_n, 10, 15);
  in_range("primes of Q", static_cast<unsigned>(q.size()), 1, kMostLimbs);
  in_range("special primes", static_cast<unsigned>(p.size()), 1, 1);
  for (const u64 x : q) in_range("bits of a prime", psi_poly_bits(x), 17, kMostBits);
  in_range("bits of the special prime", psi_poly_bits(p[0]), 17, kMostBits);
  in_range("bits of t", psi_poly_bits(t), 17, 30);
  in_range("degree", degree, 1, kMostDegree);
  in_range("felts", felts, 1, kMostFelts);
  in_range("columns", columns, 1, kMostColumns);
  in_range("bundles", bundles, 1, kMostBundles);
  in_range("label_words", label_words, 0, kMostWords);
  in_range("plain_limbs", plain_limbs, 1, static_cast<unsigned>(q.size()));
  // The client's product is exact modulo P, and the scaling from q_0 goes down.
  in_range("reply_bits", reply_bits, 2, std::min(psi_poly_bits(p[0]) - log_n - 1, psi_poly_bits(q[0]) - 1));
  in_range("reply_drop", reply_drop, 0, reply_bits - 1);
  if (sources.empty() || sources.front() != 1 || sources.back() > degree || sources.size() > degree)
    refuse("the sources must be ascending powers from 1 to the degree");
  for (std::size_t i = 1; i < sources.size(); ++i)
    if (sources[i] <= sources[i - 1]) refuse("the sources must be ascending powers from 1 to the degree");
  (void)steps();
  const bfv::Parameters params = parameters();
  if (!params.batching()) refuse("t = " + std::to_string(t) + " must be a prime that is 1 mod 2N");
  if (const double left = budget(); left <= 0)
    refuse("noise leaves " + std::to_string(left) + " bits: take more or larger primes, more sources, or a smaller t");
}

std::array<std::uint8_t, 32> PsiPolyPlan::hash() const {
  std::vector<u64> id{0x70736970ULL, log_n,       t,          degree,     felts,          columns,  bundles,
                      label_words,   plain_limbs, reply_bits, reply_drop, sources.size(), q.size(), p.size()};
  id.insert(id.end(), sources.begin(), sources.end());
  id.insert(id.end(), q.begin(), q.end());
  id.insert(id.end(), p.begin(), p.end());
  return sha256(id.data(), id.size() * sizeof(u64));
}

PsiPolyContext::PsiPolyContext(PsiPolyPlan plan) : plan_(std::move(plan)) {
  plan_.check();
  bfv_ = std::make_shared<const bfv::Context>(plan_.parameters());
  steps_ = plan_.steps();
  hash_ = plan_.hash();
}

std::vector<io::RecordType> psi_poly_record_types() {
  return {{.code = kPsiPolyKeysType, .name = "evaluation key of a PSI session by polynomials"},
          {.code = kPsiPolyRequestType, .name = "request of a PSI session by polynomials"},
          {.code = kPsiPolyReplyType, .name = "reply of a PSI session by polynomials"}};
}

}  // namespace ringforge::circuits
