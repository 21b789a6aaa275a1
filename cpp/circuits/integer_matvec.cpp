// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/integer_matvec.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "assemble.hpp"
#include "mask_store.hpp"
#include "progress.hpp"
#include "ringforge/circuits/cost.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "scratch.hpp"

namespace ringforge::circuits {

using bfv::Ciphertext;
using bfv::Noise;

namespace {

/// x modulo t, in [0, t).
u64 residue(i64 x, u64 t) noexcept {
  const i64 r = x % static_cast<i64>(t);
  return static_cast<u64>(r < 0 ? r + static_cast<i64>(t) : r);
}

/// The steps of a block's diagonals, and the baby step of each.
LinearTransform::Plan block_plan(const linear::Plan& plan, std::size_t block) {
  LinearTransform::Plan out;
  out.slots = plan.packing().slots();
  out.rescales = false;
  for (std::size_t j = 0; j < plan.packing().blocks()[block].diagonals; ++j) {
    out.steps.push_back(static_cast<std::uint32_t>(j));
    out.babies.push_back(static_cast<std::uint32_t>(j % plan.baby()));
  }
  return out;
}

/// Noise of `times` summands that may depend on each other.
Noise sum_of(Noise a, std::size_t times) {
  a.log_deviation += std::log2(static_cast<double>(times));
  return a;
}

}  // namespace

IntegerMatvec::IntegerMatvec(bfv::ContextPtr context, std::size_t rows, linear::Plan plan, std::size_t limbs)
    : ctx_(std::move(context)), rows_(rows), plan_(std::move(plan)), limbs_(limbs) {
  const auto& params = ctx_->params();
  const auto& packing = plan_.packing();
  if (!params.batching())
    throw ParameterError("matrices are applied to slots, and t = " + std::to_string(params.t()) +
                         " has none: take a prime t that is 1 modulo " + std::to_string(2 * params.degree()));
  if (plan_.algorithm() != linear::Algorithm::bsgs)
    throw ParameterError("integer matrices are applied by bsgs, not by " + std::string(name(plan_.algorithm())));
  if (packing.slots() != params.row() || packing.rows() != (rows + 1) / 2)
    throw ShapeError("the plan is of " + std::to_string(packing.rows()) + " rows over " +
                     std::to_string(packing.slots()) + " slots; a matrix of " + std::to_string(rows) +
                     " rows needs one of " + std::to_string((rows + 1) / 2) + " over " + std::to_string(params.row()));
  for (std::size_t c = 0; c < packing.blocks().size(); ++c)
    transforms_.emplace_back(
        ctx_->gadget_ptr(), block_plan(plan_, c),
        [ctx = ctx_](std::uint32_t step) { return ctx->rotation_element(step); }, limbs);
}

void IntegerMatvec::encode(std::span<const i64> matrix, std::span<const i64> bias, bool compact, unsigned threads,
                           const std::function<void(double)>& progress) {
  const auto& packing = plan_.packing();
  const std::size_t cols = packing.cols(), slots = packing.slots(), period = packing.row_period(),
                    half = packing.rows(), n = 2 * slots;
  if (matrix.size() != rows_ * cols)
    throw ShapeError("the matrix has " + std::to_string(matrix.size()) + " entries, the plan is for " +
                     std::to_string(rows_) + " x " + std::to_string(cols));
  if (!bias.empty() && bias.size() != rows_)
    throw ShapeError("the bias has " + std::to_string(bias.size()) + " entries, the matrix " + std::to_string(rows_) +
                     " rows");
  // Nothing is kept of an encoding that fails or is broken off.
  diagonals_.clear();
  bias_.clear();
  const u64 t = ctx_->t();
  /// Row of the matrix in slot s of row h of row block r, or rows() where there is none.
  const auto row_at = [&](std::size_t r, std::size_t h, std::size_t s) {
    const std::size_t in_half = r * period + s % period;
    return in_half < half && h * half + in_half < rows_ ? h * half + in_half : rows_;
  };
  std::vector<std::vector<std::size_t>> column(packing.blocks().size(), std::vector<std::size_t>(slots));
  for (std::size_t c = 0; c < column.size(); ++c)
    for (std::size_t s = 0; s < slots; ++s) column[c][s] = packing.column(c, s);

  struct Job {
    std::size_t row_block, block, index;
  };
  std::vector<Job> jobs;
  std::vector<std::vector<std::shared_ptr<MaskStore>>> made(packing.row_blocks());
  for (std::size_t r = 0; r < made.size(); ++r)
    for (std::size_t c = 0; c < transforms_.size(); ++c) {
      const std::size_t count = packing.blocks()[c].diagonals;
      made[r].push_back(std::make_shared<MaskStore>(transforms_[c].diagonal_basis(),
                                                    compact ? Keep::coefficients : Keep::limbs, count));
      for (std::size_t j = 0; j < count; ++j) jobs.push_back({r, c, j});
    }
  Reports<void> reports(progress, jobs.size());
  parallel_for(threads, jobs.size(), [&](std::size_t k) {
    const auto [r, c, j] = jobs[k];
    const std::size_t shift = transforms_[c].shift(j);
    WordBuffer words(n);
    std::fill_n(words.data(), n, 0);
    for (std::size_t h = 0; h < 2; ++h)
      for (std::size_t at = 0; at < slots; ++at) {
        const std::size_t s = (at + slots - shift) & (slots - 1);  // of the diagonal, before its giant step
        const std::size_t row = row_at(r, h, s), col = column[c][(s + j) & (slots - 1)];
        if (row < rows_ && col < cols) words.data()[h * slots + at] = residue(matrix[row * cols + col], t);
      }
    WordBuffer coefficients(n);
    ctx_->to_coefficients(coefficients.data(), words.data());
    std::vector<i64> centred(n);
    for (std::size_t i = 0; i < n; ++i)
      centred[i] =
          static_cast<i64>(coefficients.data()[i]) - (coefficients.data()[i] > t / 2 ? static_cast<i64>(t) : 0);
    made[r][c]->put(j, centred.data());
    reports.add(1);
  });
  std::vector<Poly<Eval>> added;
  if (!bias.empty())
    for (std::size_t r = 0; r < made.size(); ++r) {
      std::vector<u64> words(n);
      for (std::size_t h = 0; h < 2; ++h)
        for (std::size_t s = 0; s < slots; ++s)
          if (const std::size_t row = row_at(r, h, s); row < rows_) words[h * slots + s] = residue(bias[row], t);
      added.push_back(ctx_->scaled(ctx_->encode(words), limbs_, threads));
    }
  diagonals_ = std::move(made);
  bias_ = std::move(added);
}

void IntegerMatvec::check_inputs(std::span<const Ciphertext> inputs) const {
  if (inputs.size() != transforms_.size())
    throw ShapeError(std::to_string(inputs.size()) + " inputs, where the plan takes " +
                     std::to_string(transforms_.size()) + ", one for each column block");
  for (std::size_t c = 0; c < inputs.size(); ++c) {
    ctx_->check(inputs[c]);
    transforms_[c].check_input(inputs[c]);
    if (inputs[c].key_id != inputs[0].key_id)
      throw MismatchError("inputs are encrypted under different keys: encrypt all with one");
  }
}

Noise IntegerMatvec::noise_of(std::span<const Ciphertext> inputs) const {
  Noise in = inputs[0].noise();
  for (const auto& c : inputs) {
    in.log_deviation = std::max(in.log_deviation, c.log_deviation);
    in.degree = std::max(in.degree, c.degree);
    in.reuse = std::max(in.reuse, c.reuse);
  }
  return in;
}

void IntegerMatvec::copy_diagonal(std::size_t row_block, std::size_t block, std::size_t index, std::size_t limb,
                                  std::span<u64> out) const {
  if (diagonals_.empty()) throw ShapeError("the matrix has not been encoded yet");
  if (row_block >= diagonals_.size() || block >= transforms_.size() ||
      index >= plan_.packing().blocks()[block].diagonals || limb >= transforms_[block].diagonal_basis().size() ||
      out.size() != ctx_->params().degree())
    throw ShapeError("there is no limb " + std::to_string(limb) + " of diagonal " + std::to_string(index) +
                     " of row block " + std::to_string(row_block) + " and column block " + std::to_string(block) +
                     " with " + std::to_string(out.size()) + " words");
  const u64* words = diagonals_[row_block][block]->limb(index, limb, out.data());
  if (words != out.data()) std::copy_n(words, out.size(), out.data());
}

std::span<const u64> IntegerMatvec::bias_limb(std::size_t row_block, std::size_t limb) const {
  if (row_block >= bias_.size() || limb >= limbs_)
    throw ShapeError("there is no limb " + std::to_string(limb) + " of a bias of row block " +
                     std::to_string(row_block));
  return {bias_[row_block].limb(limb), ctx_->params().degree()};
}

std::vector<Ciphertext> IntegerMatvec::assemble(
    std::span<const Ciphertext> inputs, std::span<const std::array<std::vector<std::span<const u64>>, 2>> parts) const {
  check_inputs(inputs);
  if (parts.size() != plan_.packing().row_blocks())
    throw ShapeError(std::to_string(parts.size()) + " results; the plan has " +
                     std::to_string(plan_.packing().row_blocks()) + " row blocks");
  const Noise noise = describe(noise_of(inputs));
  std::vector<Ciphertext> out;
  for (const auto& pair : parts)
    out.emplace_back(ctx_->t(), noise, assembled_pair(ctx_->basis(limbs_), pair, inputs[0].key_id));
  return out;
}

std::vector<Ciphertext> IntegerMatvec::run(std::span<const Ciphertext> inputs, const rlwe::GaloisKeys& given,
                                           unsigned threads) const {
  if (diagonals_.empty()) throw ShapeError("the matrix has not been encoded yet");
  check_inputs(inputs);
  const rlwe::GaloisKeys keys(given);  // holds what the run uses, whatever is erased meanwhile
  const bfv::Evaluator ev(ctx_, threads);
  const rlwe::Evaluator poly(ctx_->gadget_ptr(), threads);
  const Noise in = noise_of(inputs);
  const Noise noise = describe(in);
  std::vector<Ciphertext> out;
  for (std::size_t r = 0; r < diagonals_.size(); ++r) {
    Ciphertext acc(ctx_->t(), in, transforms_[0].run(inputs[0], *diagonals_[r][0], keys, threads));
    for (std::size_t c = 1; c < transforms_.size(); ++c)
      ev.add_in_place(acc, {ctx_->t(), in, transforms_[c].run(inputs[c], *diagonals_[r][c], keys, threads)});
    for (const std::size_t step : plan_.packing().folds())
      ev.add_in_place(acc, ev.rotate_rows(acc, static_cast<i64>(step), keys));
    out.emplace_back(ctx_->t(), noise, bias_.empty() ? std::move(acc) : poly.add_plain(acc, bias_[r]));
  }
  return out;
}

Noise IntegerMatvec::describe(const Noise& in) const {
  const auto& rules = ctx_->rules();
  const auto& packing = plan_.packing();
  const bool turns = packing.diagonals() > 1;
  // Any matrix: diagonals may be equal, and then their products depend on each other.
  Noise acc = rules.plain_product(turns ? rules.switched(in, limbs_) : in, rules.largest_norm(), rules.largest_peak());
  acc = sum_of(acc, std::min(plan_.baby(), packing.diagonals()));
  if (turns) acc = rules.switched(acc, limbs_);
  acc = sum_of(acc, plan_.giants() * packing.blocks().size());
  for (std::size_t i = 0; i < packing.folds().size(); ++i) acc = rules.sum(acc, rules.switched(acc, limbs_));
  return rules.plain_sum(acc);
}

std::vector<u64> IntegerMatvec::elements() const {
  std::set<u64> out;
  for (const auto& t : transforms_)
    for (const auto step : t.rotations()) out.insert(ctx_->rotation_element(step));
  for (const std::size_t step : plan_.packing().folds()) out.insert(ctx_->rotation_element(static_cast<i64>(step)));
  return {out.begin(), out.end()};
}

std::size_t IntegerMatvec::storage() const noexcept {
  std::size_t bytes = 0;
  for (const auto& row : diagonals_)
    for (const auto& store : row) bytes += store->bytes();
  return bytes + bias_.size() * limbs_ * ctx_->params().degree() * sizeof(u64);
}

IntegerMatvecCost IntegerMatvec::cost(bool compact) const {
  const auto& packing = plan_.packing();
  Tally tally(ctx_->gadget().shape(), compact);
  IntegerMatvecCost out;
  for (std::size_t r = 0; r < packing.row_blocks(); ++r) {
    for (const auto& t : transforms_) {
      const auto& p = t.plan();
      const std::vector<std::size_t> periods(p.steps.size(), packing.span());
      out.plaintext_storage += tally.transform(p.steps, p.babies, periods, p.slots, limbs_, p.schedule, p.rescales);
    }
    for (const std::size_t step : packing.folds()) tally.rotate(limbs_, static_cast<std::int64_t>(step));
  }
  out.plaintext_storage += packing.row_blocks() * limbs_ * ctx_->params().degree() * sizeof(u64);
  out.ops = tally.work;
  out.keys = elements().size();
  out.key_storage = out.keys * ctx_->gadget().key_bytes(limbs_);
  out.working = tally.working +
                2 * limbs_ * ctx_->params().degree() * sizeof(u64) * (packing.blocks().size() + packing.row_blocks());
  out.weight = weight(tally.gadget(), tally.work);
  return out;
}

}  // namespace ringforge::circuits
