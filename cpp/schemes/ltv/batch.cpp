// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/ltv/batch.hpp"

#include <algorithm>
#include <array>

#include "plain.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "unreduced.hpp"

namespace ringforge::ltv {
namespace {

/// Products that are summed before they are reduced: few enough streams for the caches.
constexpr std::size_t kAtOnce = 8;

/// All of one key and one number of limbs.
void check_inputs(const Context& context, std::span<const Ciphertext* const> inputs) {
  for (const Ciphertext* c : inputs) {
    check(context, *c);
    if (c->key_id != inputs[0]->key_id)
      throw MismatchError("ciphertexts are under different keys: encrypt all under one");
    if (c->limbs() != inputs[0]->limbs())
      throw LevelError("ciphertexts have " + std::to_string(inputs[0]->limbs()) + " and " + std::to_string(c->limbs()) +
                       " limbs: bring them to one level by mod_switch or carry");
  }
}

void check_row(const std::vector<u32>& row, std::size_t count, const char* what) {
  if (row.empty()) throw ShapeError(std::string("a sum of no ") + what + " has no modulus: leave it out");
  for (const u32 i : row)
    if (i >= count)
      throw ShapeError("a sum takes " + std::string(what) + " " + std::to_string(i) + ", there are " +
                       std::to_string(count));
}

/// The sum of limb i of the inputs that a row lists, n words.
void add_row(u32* dst, std::span<const Ciphertext* const> inputs, const std::vector<u32>& row, std::size_t i,
             std::size_t n, const kernels::Modulus& mod) {
  if (row.size() == 1) std::copy_n(inputs[row[0]]->poly.limb(i), n, dst);
  for (std::size_t k = 1; k < row.size(); ++k)
    kernels::active32().add(dst, k == 1 ? inputs[row[0]]->poly.limb(i) : dst, inputs[row[k]]->poly.limb(i), n, mod);
}

}  // namespace

Noise BatchEvaluator::sum(const Noise& a, const Noise& b) const {
  return dependence_ == Dependence::none ? ctx_->rules().independent_sum(a, b) : ctx_->rules().sum(a, b);
}

std::vector<Ciphertext> BatchEvaluator::sums(std::span<const Ciphertext* const> inputs,
                                             const std::vector<std::vector<u32>>& rows,
                                             std::span<const std::uint8_t> constants) const {
  check_inputs(*ctx_, inputs);
  if (!constants.empty() && constants.size() != rows.size())
    throw ShapeError(std::to_string(constants.size()) + " constants for " + std::to_string(rows.size()) + " sums");
  std::vector<Ciphertext> out(rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    check_row(rows[r], inputs.size(), "ciphertexts");
    const Ciphertext& first = *inputs[rows[r][0]];
    Noise noise = first.noise;
    for (std::size_t k = 1; k < rows[r].size(); ++k) {
      const Ciphertext& c = *inputs[rows[r][k]];
      if (c.level != first.level || c.degree != first.degree || c.lag != first.lag)
        throw LevelError("ciphertexts of different levels or degrees are added: relinearize them first");
      noise = sum(noise, c.noise);
    }
    if (!constants.empty() && constants[r] != 0) noise = ctx_->rules().plain_sum(noise, first.degree);
    out[r] = {Coefficients(first.poly.basis()), first.key_id, first.level, first.degree, noise, first.lag};
  }
  if (inputs.empty()) return out;
  const BasisOf<u32>& basis = inputs[0]->poly.basis();
  const std::size_t length = inputs[0]->poly.stride();
  // By strips of a limb: all inputs of a strip stay in the cache.
  constexpr std::size_t kStrip = 4096;
  const std::size_t strips = (length + kStrip - 1) / kStrip;
  parallel_for(threads_, basis.size() * strips, [&](std::size_t at) {
    const std::size_t i = at / strips, from = at % strips * kStrip, n = std::min(kStrip, length - from);
    const auto& kernels = kernels::active32();
    const kernels::Modulus& mod = basis[i].mod();
    for (std::size_t r = 0; r < rows.size(); ++r) {
      u32* to = out[r].poly.limb(i) + from;
      std::copy_n(inputs[rows[r][0]]->poly.limb(i) + from, n, to);
      for (std::size_t k = 1; k < rows[r].size(); ++k)
        kernels.add(to, to, inputs[rows[r][k]]->poly.limb(i) + from, n, mod);
    }
  });
  const SmallPoly one = signed_bits(std::array<std::uint8_t, 1>{1}, *ctx_);
  parallel_for(threads_, constants.size(), [&](std::size_t r) {
    if (constants[r] != 0) add_small(out[r].poly, one);
  });
  return out;
}

/// Results of `products`, all but their words.
std::vector<Ciphertext> BatchEvaluator::planned(std::span<const Ciphertext* const> inputs,
                                                const ProductSums& plan) const {
  check_inputs(*ctx_, inputs);
  const NoiseRules& rules = ctx_->rules();
  if (!plan.linear.empty() && plan.linear.size() != plan.outputs.size())
    throw ShapeError(std::to_string(plan.linear.size()) + " lists of sums are added to " +
                     std::to_string(plan.outputs.size()) + " outputs");
  std::vector<Noise> noise(plan.sums.size());
  std::vector<u32> level(plan.sums.size());
  for (std::size_t s = 0; s < plan.sums.size(); ++s) {
    const auto& row = plan.sums[s];
    check_row(row, inputs.size(), "ciphertexts");
    noise[s] = inputs[row[0]]->noise;
    level[s] = inputs[row[0]]->level;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const Ciphertext& c = *inputs[row[k]];
      if (c.degree != 1 || c.level != level[s])
        throw LevelError("factors are sums of ciphertexts of degree 1 and one level: relinearize them first");
      if (k > 0) noise[s] = sum(noise[s], c.noise);
    }
  }
  std::vector<Ciphertext> out(plan.outputs.size());
  for (std::size_t o = 0; o < out.size(); ++o) {
    const auto& terms = plan.outputs[o];
    if (terms.empty()) throw ShapeError("an output of no products: leave it out, or add ciphertexts with `sums`");
    u32 high = 0, low = 0;
    for (std::size_t t = 0; t < terms.size(); ++t) {
      check_row({terms[t].a, terms[t].b}, plan.sums.size(), "sums");
      const u32 a = level[terms[t].a], b = level[terms[t].b];
      if (t == 0) high = std::max(a, b), low = std::min(a, b);
      if (std::max(a, b) != high || std::min(a, b) != low)
        throw LevelError("an output has products under different pairs of secrets: sum them after relinearize");
      const Noise product = rules.product(noise[terms[t].a], noise[terms[t].b]);
      out[o].noise = t == 0 ? product : sum(out[o].noise, product);
    }
    if (ctx_->params().limbs(high) != inputs[0]->limbs())
      throw LevelError("products at level " + std::to_string(high) + " take ciphertexts of " +
                       std::to_string(ctx_->params().limbs(high)) + " limbs, these have " +
                       std::to_string(inputs[0]->limbs()) + ": mod_switch or carry them");
    if (!plan.linear.empty() && !plan.linear[o].empty()) {
      check_row(plan.linear[o], plan.sums.size(), "sums");
      for (const u32 s : plan.linear[o]) {
        if (level[s] != high && level[s] != low)
          throw LevelError("what is added to products is under neither of their secrets: bring it to their level");
        out[o].noise = sum(out[o].noise, rules.lifted(noise[s]));
      }
    }
    out[o].poly = Coefficients(inputs[0]->poly.basis());
    out[o].key_id = inputs[0]->key_id;
    out[o].level = high;
    out[o].degree = 2;
    out[o].lag = high - low;
  }
  return out;
}

// Prime by prime: inputs are transformed once, sums are made of transforms, products are summed there, and each output
// comes back once.
std::vector<Ciphertext> BatchEvaluator::products(std::span<const Ciphertext* const> inputs,
                                                 const ProductSums& plan) const {
  std::vector<Ciphertext> out = planned(inputs, plan);
  if (inputs.empty()) return out;
  const BasisOf<u32>& basis = inputs[0]->poly.basis();
  const std::size_t length = ctx_->ring().transform_length();
  parallel_for(threads_, basis.size(), [&](std::size_t i) {
    const auto& kernels = kernels::active32();
    const kernels::Modulus& mod = basis[i].mod();
    WordArray<u32> values((inputs.size() + plan.sums.size() + 1) * length);
    const auto value = [&](std::size_t k) { return values.data() + k * length; };
    for (std::size_t k = 0; k < inputs.size(); ++k) ntt(value(k), inputs[k]->poly.limb(i), basis[i]);
    std::vector<const u32*> at(plan.sums.size());
    for (std::size_t s = 0; s < plan.sums.size(); ++s) {
      const auto& row = plan.sums[s];
      at[s] = value(row[0]);
      u32* own = value(inputs.size() + s);
      for (std::size_t k = 1; k < row.size(); ++k) {
        kernels.add(own, at[s], value(row[k]), length, mod);
        at[s] = own;
      }
    }
    u32* total = value(inputs.size() + plan.sums.size());
    std::vector<const u32*> a, b;
    for (std::size_t o = 0; o < out.size(); ++o) {
      const auto& terms = plan.outputs[o];
      for (std::size_t from = 0; from < terms.size(); from += kAtOnce) {
        a.clear();
        b.clear();
        for (std::size_t t = from; t < std::min(terms.size(), from + kAtOnce); ++t) {
          a.push_back(at[terms[t].a]);
          b.push_back(at[terms[t].b]);
        }
        kernels.dot(total, a.data(), b.data(), a.size(), from > 0, length, mod);
      }
      if (!plan.linear.empty())
        for (const u32 s : plan.linear[o]) kernels.add(total, total, at[s], length, mod);
      intt(out[o].poly.limb(i), total, basis[i]);
    }
  });
  return out;
}

void BatchEvaluator::operands(std::span<u32> dst, std::span<const Ciphertext* const> inputs,
                              const ProductSums& plan) const {
  planned(inputs, plan);
  require_padded(*ctx_);
  const std::size_t n = ctx_->params().degree(), limbs = inputs.empty() ? 0 : inputs[0]->limbs();
  if (dst.size() != plan.sums.size() * limbs * n)
    throw ShapeError(std::to_string(dst.size()) + " words for " + std::to_string(plan.sums.size()) + " sums of " +
                     std::to_string(limbs) + " limbs of " + std::to_string(n));
  parallel_for(threads_, limbs, [&](std::size_t i) {
    const kernels::Modulus& mod = inputs[0]->poly.basis()[i].mod();
    for (std::size_t s = 0; s < plan.sums.size(); ++s)
      add_row(dst.data() + (s * limbs + i) * n, inputs, plan.sums[s], i, n, mod);
  });
}

std::vector<Ciphertext> BatchEvaluator::assemble(std::span<const Ciphertext* const> inputs, const ProductSums& plan,
                                                 std::span<const u32> words) const {
  std::vector<Ciphertext> out = planned(inputs, plan);
  reduce_unreduced(out, words, *ctx_, threads_);
  if (plan.linear.empty()) return out;
  const std::size_t n = ctx_->params().degree(), limbs = out.empty() ? 0 : out[0].limbs();
  parallel_for(threads_, out.size() * limbs, [&](std::size_t at) {
    const std::size_t i = at % limbs;
    u32* to = out[at / limbs].poly.limb(i);
    const kernels::Modulus& mod = inputs[0]->poly.basis()[i].mod();
    for (const u32 s : plan.linear[at / limbs])
      for (const u32 k : plan.sums[s]) kernels::active32().add(to, to, inputs[k]->poly.limb(i), n, mod);
  });
  return out;
}

std::vector<Ciphertext> BatchEvaluator::mod_switch(std::span<const Ciphertext* const> inputs) const {
  const Evaluator ev(ctx_, 1);
  std::vector<Ciphertext> out(inputs.size());
  parallel_for(threads_, inputs.size(), [&](std::size_t k) { out[k] = ev.mod_switch(*inputs[k]); });
  return out;
}

std::vector<Ciphertext> BatchEvaluator::carry(std::span<const Ciphertext* const> inputs, std::size_t level) const {
  const std::size_t to = ctx_->params().limbs(level);
  for (const Ciphertext* c : inputs) {
    check(*ctx_, *c);
    if (c->degree != 1 || c->limbs() <= to)
      throw LevelError("a ciphertext of degree " + std::to_string(c->degree) + " and " + std::to_string(c->limbs()) +
                       " limbs is no one to be carried to level " + std::to_string(level) + ", of " +
                       std::to_string(to));
  }
  const Evaluator ev(ctx_, 1);
  std::vector<Ciphertext> out(inputs.size());
  parallel_for(threads_, inputs.size(), [&](std::size_t k) { out[k] = ev.drop(*inputs[k], to); });
  return out;
}

}  // namespace ringforge::ltv
