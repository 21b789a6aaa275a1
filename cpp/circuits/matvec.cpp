// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Matvec by baby-step giant-step with hoisting, and by the paper's diagonal method.
//
// bsgs, for babies b < n1 and giants g < n2, diagonal j = g*n1 + b, pre-rotated right by g*n1:
//   x_b  = Rot_b(x)                      one ModUp for all b
//   y_g  = sum_b pt_{g,b} * x_b          fused multiply-add, both parts in one pass over the plaintexts
//   out  = sum_g Rot_{g*n1}(y_g)         summed over Q*P: one ModDown, merged with the rescale, at the end
// The multiply-add walks limb by limb and block by block of coefficients, so that a block of all x_b stays in
// the L2 cache while the plaintexts stream through once; the encoded matrix is stored in that order.
#include "ringforge/circuits/matvec.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "assemble.hpp"
#include "progress.hpp"
#include "ringforge/circuits/cost.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::circuits {

using ckks::Ciphertext;
using ckks::Context;
using ckks::ContextPtr;
using ckks::encoding_error;
using ckks::Evaluator;
using ckks::GaloisKeys;
using ckks::Metadata;
using ckks::MetadataRules;
using ckks::Plaintext;
using rlwe::Gadget;
using rlwe::GadgetShape;
using rlwe::switch_key;

namespace {

double square(double x) { return x * x; }
/// Results carry these values to the client, so they are blurred: up to the next power of 2^(1/4).
/// A value that is one of these but for rounding stays what it is: sums in another order give the same.
double round_up(double x) { return x > 0 ? std::exp2(std::ceil(4 * std::log2(x) - 1e-9) / 4) : 0; }

}  // namespace

Matvec::Matvec(ContextPtr context, linear::Plan plan, std::size_t level, std::size_t batch)
    : ctx_(std::move(context)), plan_(std::move(plan)), level_(level), batch_(batch) {
  if (level < 1)
    throw LevelError("a matrix product needs an input of level 1 at least (it is rescaled once), not " +
                     std::to_string(level));
  (void)ctx_->basis(level);
  const std::size_t slots = ctx_->params().slots();
  if (batch < 1 || batch > slots || plan_.packing().slots() != slots / batch || slots % batch != 0)
    throw ShapeError("the plan is for " + std::to_string(plan_.packing().slots()) + " slots x " +
                     std::to_string(batch) + " vectors, the parameters have " + std::to_string(ctx_->params().slots()) +
                     " slots");
}

u64* Matvec::words(std::size_t limb, std::size_t block, std::size_t term) noexcept {
  const std::size_t blocks = ctx_->params().degree() / kBlock;
  return store_.data() + ((limb * blocks + block) * plan_.terms().size() + term) * kBlock;
}
const u64* Matvec::words(std::size_t limb, std::size_t block, std::size_t term) const noexcept {
  return const_cast<Matvec*>(this)->words(limb, block, term);
}

void Matvec::encode(std::span<const double> matrix, std::span<const double> bias, const Scaling& scaling,
                    unsigned threads, const std::function<void(double)>& progress) {
  const auto& packing = plan_.packing();
  const std::size_t rows = packing.rows(), cols = packing.cols(), period = packing.row_period();
  const std::size_t n = ctx_->params().degree(), slots = n / 2, virtual_slots = packing.slots();
  const std::size_t limbs = level_ + 1, blocks = n / kBlock;
  if (!(scaling.input_scale >= 1) || !(scaling.output_scale >= 1) || !(scaling.input_bound > 0) ||
      !std::isfinite(scaling.input_bound) || !(scaling.promised > 0))
    throw ValueError("scales must be at least 1, and the inputs' bound positive and finite");
  const auto prime = static_cast<double>(ctx_->basis(level_)[level_].value());
  encoded_ = false;  // nothing is kept of an encoding that fails or is broken off
  plain_scale_ = prime * (scaling.output_scale / scaling.input_scale);
  if (!(plain_scale_ >= 0x1p16 && plain_scale_ <= 0x1p62))
    throw ScaleError("the matrix would be encoded at scale 2^" + std::to_string(std::log2(plain_scale_)) +
                     ", outside 2^16 ... 2^62: choose input and output scales closer to each other");
  sums_ = sums(plan_, matrix, bias, scaling.input_bound);
  const double largest = std::min(sums_.bound, scaling.promised), have = ctx_->basis(level_ - 1).log2() - 1,
               need = std::log2(std::max(largest, 1e-300) * scaling.output_scale);
  if (need > have)
    throw ValueError("results of size up to 2^" + std::to_string(std::log2(largest)) + " at scale 2^" +
                     std::to_string(std::log2(scaling.output_scale)) + " do not fit level " +
                     std::to_string(level_ - 1) + ", which has room for 2^" + std::to_string(have) +
                     ": use a smaller output scale, scale the matrix down, or " +
                     (level_ < ctx_->params().max_level() ? "use a higher level" : "use larger first primes"));
  scaling_ = scaling;

  const auto& terms = plan_.terms();
  store_ = WordBuffer(limbs * blocks * terms.size() * kBlock);
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  constexpr std::size_t kRun = 16;
  for (std::size_t t = 0; t < terms.size(); t += kRun) runs.emplace_back(t, std::min(terms.size(), t + kRun));
  Reports<void> reports(progress, runs.size() + 1);

  parallel_for(threads, runs.size(), [&](std::size_t run) {
    std::vector<double> re(slots), im(slots), values(virtual_slots);
    std::vector<i64> rounded(n);
    Poly<Eval> out(ctx_->basis(level_));
    std::vector<u64*> limb_ptr(limbs);
    for (std::size_t l = 0; l < limbs; ++l) limb_ptr[l] = out.limb(l);
    for (std::size_t t = runs[run].first; t < runs[run].second; ++t) {
      const linear::Term& term = terms[t];
      for (std::size_t s = 0; s < virtual_slots; ++s) {
        // The pre-rotated diagonal at slot s is the diagonal at slot s - shift.
        const std::size_t from = (s - term.shift) & (virtual_slots - 1);
        const std::size_t row = term.row_block * period + (from & (period - 1));
        const std::size_t col = packing.column(term.block, from + term.index);
        values[s] = row < rows && col < cols ? matrix[row * cols + col] : 0.0;
      }
      ctx_->scatter(values.data(), virtual_slots, batch_, re.data());
      std::fill(im.begin(), im.end(), 0.0);
      ctx_->encode_words(re.data(), im.data(), plain_scale_, limb_ptr, rounded.data());
      for (std::size_t l = 0; l < limbs; ++l)
        for (std::size_t b = 0; b < blocks; ++b)
          std::memcpy(words(l, b, t), out.limb(l) + b * kBlock, kBlock * sizeof(u64));
    }
    reports.add(1);
  });

  bias_.clear();
  if (!bias.empty()) {
    std::vector<double> values(slots);
    for (std::size_t rb = 0; rb < packing.row_blocks(); ++rb) {
      for (std::size_t s = 0; s < slots; ++s) {
        const std::size_t row = rb * period + ((s / batch_) & (period - 1));
        values[s] = row < rows ? bias[row] : 0.0;
      }
      bias_.push_back(ctx_->encode(std::span<const double>(values), scaling.output_scale, level_ - 1, threads));
    }
  }
  encoded_ = true;
  reports.add(1);
}

void Matvec::check_inputs(std::span<const Ciphertext> inputs) const {
  const std::size_t want = plan_.packing().blocks().size();
  if (!encoded_) throw ShapeError("the matrix has not been encoded yet");
  if (inputs.size() != want)
    throw ShapeError("the plan takes " + std::to_string(want) + " input ciphertexts, " + std::to_string(inputs.size()) +
                     " were given");
  for (const auto& c : inputs) {
    ctx_->check(c);
    if (c.parts.size() != 2) throw ShapeError("inputs must have two parts: relinearize first");
    if (c.level() != level_)
      throw LevelError("the matrix is encoded for inputs of level " + std::to_string(level_) + ", this one has level " +
                       std::to_string(c.level()));
    if (std::fabs(c.scale / scaling_.input_scale - 1) > 0x1p-30)
      throw ScaleError("the matrix is encoded for inputs of scale 2^" +
                       std::to_string(std::log2(scaling_.input_scale)) + ", this one has 2^" +
                       std::to_string(std::log2(c.scale)));
    if (c.bound > scaling_.input_bound * (1 + 1e-9))
      throw ValueError("the matrix is encoded for inputs bounded by " + std::to_string(scaling_.input_bound) +
                       ", this one declares " + std::to_string(c.bound));
    if (c.key_id != inputs[0].key_id) throw MismatchError("the inputs were made under different keys");
  }
}

std::vector<std::pair<u64, std::size_t>> Matvec::required_keys() const {
  std::vector<std::pair<u64, std::size_t>> out;
  for (const auto& use : plan_.keys()) out.emplace_back(element(use.step), level_ - use.stage);
  return out;
}

std::vector<Ciphertext> Matvec::run(std::span<const Ciphertext> inputs, const GaloisKeys& given,
                                    unsigned threads) const {
  check_inputs(inputs);
  const GaloisKeys keys(given);  // holds what the run uses, whatever is erased meanwhile
  for (const auto& use : plan_.keys()) {
    if (!keys.contains(element(use.step)))
      throw MissingKeyError("the plan rotates by " + std::to_string(use.step * batch_) +
                            " slots, and the key set has no Galois key for it (element " +
                            std::to_string(element(use.step)) + "): generate keys for this plan");
    const auto key = keys.at(element(use.step));
    key->check(ctx_->gadget(), level_ + 1 - use.stage);
    if (key->key_id != inputs[0].key_id)
      throw MismatchError(
          "a Galois key belongs to another secret key than the input: use the evaluation keys made "
          "with the key that encrypted it");
  }
  auto results = plan_.algorithm() == linear::Algorithm::bsgs ? run_bsgs(inputs, keys, threads)
                                                              : run_diagonal(inputs, keys, threads);
  const Ciphertext known = described(inputs);
  for (auto& r : results) {
    auto parts = std::move(r.parts);
    r = known;
    r.parts = std::move(parts);
  }
  return results;
}

std::vector<Ciphertext> Matvec::assemble(
    std::span<const Ciphertext> inputs, std::span<const std::array<std::vector<std::span<const u64>>, 2>> parts) const {
  check_inputs(inputs);
  const std::size_t rows = plan_.packing().row_blocks();
  const Basis basis = ctx_->basis(level_ - 1);
  if (parts.size() != rows)
    throw ShapeError("the plan gives " + std::to_string(rows) + " results, " + std::to_string(parts.size()) +
                     " were computed");
  const Ciphertext known = described(inputs);
  std::vector<Ciphertext> results;
  for (const auto& pair : parts) {
    Ciphertext r = known;
    for (const auto& limbs : pair) r.parts.push_back(assembled(basis, limbs));
    results.push_back(std::move(r));
  }
  return results;
}

void Matvec::copy_term(std::size_t term, std::size_t limb, std::span<u64> out) const {
  if (!encoded_) throw ShapeError("the matrix has not been encoded yet");
  if (term >= plan_.terms().size() || limb > level_ || out.size() != ctx_->params().degree())
    throw ShapeError("there is no limb " + std::to_string(limb) + " of term " + std::to_string(term) + " with " +
                     std::to_string(out.size()) + " words");
  for (std::size_t b = 0; b * kBlock < out.size(); ++b)
    std::memcpy(out.data() + b * kBlock, words(limb, b, term), kBlock * sizeof(u64));
}

Matvec::Sums Matvec::sums(const linear::Plan& plan, std::span<const double> matrix, std::span<const double> bias,
                          double input_bound) {
  const auto& packing = plan.packing();
  const std::size_t rows = packing.rows(), cols = packing.cols(), slots = packing.slots();
  if (matrix.size() != rows * cols)
    throw ShapeError("the matrix has " + std::to_string(matrix.size()) + " entries, the plan is for " +
                     std::to_string(rows) + " x " + std::to_string(cols));
  if (!bias.empty() && bias.size() != rows)
    throw ShapeError("the bias has " + std::to_string(bias.size()) + " entries, the matrix " + std::to_string(rows) +
                     " rows");
  Sums r;
  for (std::size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (std::size_t c = 0; c < cols; ++c) {
      const double x = matrix[row * cols + c];
      if (!std::isfinite(x))
        throw ValueError("matrix entry (" + std::to_string(row) + ", " + std::to_string(c) +
                         ") is not a finite number");
      sum += std::fabs(x);
    }
    sum *= input_bound;
    if (!bias.empty()) {
      if (!std::isfinite(bias[row])) throw ValueError("bias entry " + std::to_string(row) + " is not a finite number");
      sum += std::fabs(bias[row]);
    }
    r.bound = std::max(r.bound, sum);
  }
  const linear::Norms norms = linear::norms(plan, matrix);
  r.norm = norms.matrix;
  r.rotated_norm = norms.rotated;
  // Sum of squares seen by each slot: how much input noise a result slot gathers before folding.
  std::vector<double> squares(slots);
  const auto& terms = plan.terms();
  for (std::size_t t = 0; t < terms.size(); ++t) {
    if (t > 0 && terms[t].row_block != terms[t - 1].row_block) squares.assign(slots, 0);
    const std::size_t first = terms[t].row_block * packing.row_period();
    for (std::size_t s = 0; s < slots; ++s) {
      const std::size_t row = first + (s & (packing.row_period() - 1));
      const std::size_t col = packing.column(terms[t].block, s + terms[t].index);
      if (row >= rows || col >= cols) continue;
      squares[s] += square(matrix[row * cols + col]);
      r.square = std::max(r.square, squares[s]);
    }
  }
  return r;
}

Matvec::Sums Matvec::rounded_up(const Sums& sums) noexcept {
  return {round_up(sums.bound), round_up(sums.square), round_up(sums.norm), round_up(sums.rotated_norm)};
}

Metadata Matvec::describe(const ContextPtr& context, const linear::Plan& plan, std::size_t level,
                          const Scaling& scaling, const Sums& sums, std::span<const Metadata* const> inputs) {
  const auto& packing = plan.packing();
  const MetadataRules rules(context);
  const Gadget& gadget = context->gadget();
  (void)context->basis(level);
  if (level < 1) throw LevelError("a matrix product needs an input of level 1 at least, not 0");
  const auto prime = static_cast<double>(gadget.q()[level].value());
  const std::size_t limbs = level + 1, degree = context->params().degree();
  // The errors of an encoded product, at the scale of the result.
  const double rounded = square(scaling.input_bound * scaling.input_scale / prime) / 12;
  const double factor = square(scaling.output_scale / scaling.input_scale);
  const double products = static_cast<double>(plan.terms().size() / packing.row_blocks());
  double input = 0, lost = 0;
  for (const Metadata* c : inputs) {
    input = std::max(input, c->variance * (scaling.fresh_inputs ? 1 : c->spread));
    lost = std::max(lost, c->float_error);
  }
  // Predictions take the matrix's own sums, not the assumption of full slots in every product.
  double rotated = 0, fresh = 0;
  if (plan.algorithm() == linear::Algorithm::bsgs) {
    for (std::size_t c = 0; c < packing.blocks().size(); ++c)
      if (plan.babies(c) > 1) rotated = rules.turned(limbs);
    fresh = products * rounded +
            static_cast<double>(plan.giants() - 1) * gadget.switch_variance(limbs) / square(prime) + rules.rounding();
  } else {
    fresh =
        products * (rounded + rules.rounding()) + static_cast<double>(packing.diagonals()) * rules.turned(limbs - 1);
  }
  // What the matrix makes of errors at its input: for one result slot before folding, and for the worst
  // combination of result slots of unit norm.
  double gathered = (input + rotated) * sums.square * factor;
  const double peak = (input * sums.norm + rotated * sums.rotated_norm) * factor;
  Metadata r;
  r.variance = gathered + fresh;
  // An encoded diagonal errs in all slots by a part of its largest entry, which is below the root of a sum of squares.
  double encoded = products * std::sqrt(sums.square);
  for (std::size_t i = 0; i < packing.folds().size(); ++i) {
    // The two halves of a fold meet in different slots of one row: their variances add.
    r.variance = 2 * r.variance + rules.turned(limbs - 1);
    gathered *= 2;
    encoded *= 2;
  }
  r.variance += 1.0 / 12;  // of the bias
  r.scale = scaling.output_scale;
  r.bound = std::min(round_up(sums.bound), scaling.promised);
  r.spread = std::max(1.0, (peak + r.variance - gathered) / r.variance);
  r.variance = round_up(r.variance);
  // The bias is encoded once, and scales and primes are doubles.
  r.float_error = lost * sums.bound / scaling.input_bound +
                  encoding_error(degree) * (encoded * (scaling.input_bound + lost) + r.bound) + 0x1p-51 * r.bound;
  return r;
}

Ciphertext Matvec::described(std::span<const Ciphertext> inputs) const {
  std::vector<const Metadata*> known;
  for (const Ciphertext& c : inputs) known.push_back(&c);
  Ciphertext r{describe(ctx_, plan_, level_, scaling_, sums_, known)};
  r.key_id = inputs[0].key_id;
  return r;
}

Ciphertext Matvec::fold(Ciphertext acc, std::size_t row_block, const GaloisKeys& keys, const Evaluator& ev) const {
  for (const std::size_t h : plan_.packing().folds()) ev.add_in_place(acc, ev.apply_galois(acc, element(h), keys));
  if (!bias_.empty()) acc = ev.add_plain(acc, bias_[row_block]);
  return acc;
}

std::vector<Ciphertext> Matvec::run_bsgs(std::span<const Ciphertext> inputs, const GaloisKeys& keys,
                                         unsigned threads) const {
  const auto& packing = plan_.packing();
  const Evaluator ev(ctx_, threads);
  const Gadget& gadget = ctx_->gadget();
  const auto& kern = kernels::active();
  const std::size_t limbs = level_ + 1, n = ctx_->params().degree(), giants = plan_.giants();
  const Basis basis = ctx_->basis(level_);

  std::vector<std::vector<Ciphertext>> babies;
  for (std::size_t c = 0; c < inputs.size(); ++c) {
    std::vector<i64> steps;
    for (std::size_t b = 0; b < plan_.babies(c); ++b) steps.push_back(static_cast<i64>(b * batch_));
    babies.push_back(ev.rotate_hoisted(inputs[c], steps, keys));
  }

  std::vector<Ciphertext> results;
  const auto& terms = plan_.terms();
  std::size_t term_begin = 0;
  for (std::size_t rb = 0; rb < packing.row_blocks(); ++rb) {
    std::vector<std::size_t> first(giants + 1);  // terms of giant g are [first[g], first[g+1])
    for (std::size_t g = 0, t = term_begin; g <= giants; ++g) {
      first[g] = t;
      while (t < terms.size() && terms[t].row_block == rb && terms[t].giant == g) ++t;
    }
    const std::size_t count_terms = first[giants] - term_begin;
    term_begin = first[giants];
    count({.plain_mul = count_terms, .plaintext_bytes = count_terms * limbs * n * sizeof(u64)});

    std::vector<std::array<Poly<Eval>, 2>> inner(giants);
    for (auto& y : inner) y = {Poly<Eval>(basis), Poly<Eval>(basis)};
    const std::size_t blocks = n / kBlock;
    parallel_for(threads, limbs * blocks, [&](std::size_t w) {
      const std::size_t l = w / blocks, blk = w % blocks, offset = blk * kBlock;
      std::vector<const u64*> x(count_terms), y0(count_terms), y1(count_terms);
      for (std::size_t t = first[0]; t < first[giants]; ++t) {
        const auto& parts = babies[terms[t].block][terms[t].baby].parts;
        x[t - first[0]] = words(l, blk, t);
        y0[t - first[0]] = parts[0].limb(l) + offset;
        y1[t - first[0]] = parts[1].limb(l) + offset;
      }
      for (std::size_t g = 0; g < giants; ++g) {
        const std::size_t i = first[g] - first[0];
        kern.dot2(inner[g][0].limb(l) + offset, inner[g][1].limb(l) + offset, x.data() + i, y0.data() + i,
                  y1.data() + i, first[g + 1] - first[g], false, kBlock, basis[l].mod());
      }
    });

    Ciphertext r;
    r.key_id = inputs[0].key_id;
    r.scale = scaling_.output_scale;
    if (giants == 1) {
      for (auto& part : inner[0]) r.parts.push_back(gadget.rescale(limbs).apply(part, threads));
    } else {
      const Basis& ext = gadget.extended(limbs);
      Poly<Eval> acc0(ext), acc1(ext), u0(ext), u1(ext);
      acc0.zero();
      acc1.zero();
      for (std::size_t g = 1; g < giants; ++g) {
        const u64 e = element(g * plan_.baby());
        switch_key(u0, u1, inner[g][1], *keys.at(e), gadget, threads);
        const auto index = ctx_->ring().eval_index(e);
        parallel_for(threads, ext.size(), [&](std::size_t j) {
          kern.automorphism_eval_add(acc0.limb(j), u0.limb(j), index->data(), n, ext[j].mod());
          kern.automorphism_eval_add(acc1.limb(j), u1.limb(j), index->data(), n, ext[j].mod());
          if (j < limbs)
            kern.automorphism_eval_add(inner[0][0].limb(j), inner[g][0].limb(j), index->data(), n, ext[j].mod());
        });
        count({.rotation = 1});
      }
      // Bring the unswitched parts to the common factor P, then divide by P and the last prime at once.
      parallel_for(threads, limbs, [&](std::size_t j) {
        const auto& m = basis[j].mod();
        for (int part = 0; part < 2; ++part) {
          u64* y = inner[0][part].limb(j);
          u64* a = (part == 0 ? acc0 : acc1).limb(j);
          kern.mul_scalar(y, y, gadget.p_factor(j), n, m);
          kern.add(a, a, y, n, m);
        }
      });
      r.parts.push_back(gadget.mod_down_rescale(limbs).apply(acc0, threads));
      r.parts.push_back(gadget.mod_down_rescale(limbs).apply(acc1, threads));
    }
    results.push_back(fold(std::move(r), rb, keys, ev));
  }
  return results;
}

std::vector<Ciphertext> Matvec::run_diagonal(std::span<const Ciphertext> inputs, const GaloisKeys& keys,
                                             unsigned threads) const {
  const auto& packing = plan_.packing();
  const Evaluator ev(ctx_, threads);
  const auto& terms = plan_.terms();
  const std::size_t limbs = level_ + 1, n = ctx_->params().degree(), blocks = n / kBlock;
  const Basis basis = ctx_->basis(level_);
  const bool horner = plan_.algorithm() == linear::Algorithm::horner;

  // One partial sum: for each input, product and rescale; then the sum over inputs.
  Plaintext diagonal{Poly<Eval>(basis), plain_scale_, 1};
  const auto partial_sum = [&](std::size_t first, std::size_t last) {
    Ciphertext sum;
    for (std::size_t t = first; t < last; ++t) {
      parallel_for(threads, limbs, [&](std::size_t l) {
        for (std::size_t b = 0; b < blocks; ++b)
          std::memcpy(diagonal.poly.limb(l) + b * kBlock, words(l, b, t), kBlock * sizeof(u64));
      });
      Ciphertext product = ev.rescale(ev.mul_plain(inputs[terms[t].block], diagonal));
      if (t == first)
        sum = std::move(product);
      else
        ev.add_in_place(sum, product);
    }
    return sum;
  };

  std::vector<Ciphertext> results;
  std::vector<std::size_t> starts;  // first term of each diagonal of this row block
  for (std::size_t rb = 0, t = 0; rb < packing.row_blocks(); ++rb) {
    starts.clear();
    for (std::size_t d = 0; d < packing.diagonals(); ++d) {
      starts.push_back(t);
      while (t < terms.size() && terms[t].row_block == rb && terms[t].giant == d) ++t;
    }
    starts.push_back(t);
    const std::size_t count_d = packing.diagonals();
    Ciphertext acc;
    for (std::size_t i = 0; i < count_d; ++i) {
      const std::size_t d = horner ? count_d - 1 - i : i;
      Ciphertext p = partial_sum(starts[d], starts[d + 1]);
      if (horner) {
        if (i > 0) ev.add_in_place(p, ev.apply_galois(acc, element(1), keys));
        acc = std::move(p);
      } else {
        if (d > 0) p = ev.apply_galois(p, element(d), keys);
        if (i == 0)
          acc = std::move(p);
        else
          ev.add_in_place(acc, p);
      }
    }
    acc.scale = scaling_.output_scale;
    results.push_back(fold(std::move(acc), rb, keys, ev));
  }
  return results;
}

MatvecCost Matvec::cost(const Context& context, const linear::Plan& plan, std::size_t level) {
  const auto& packing = plan.packing();
  if (level < 1) throw LevelError("a matrix product needs an input of level 1 at least, not 0");
  (void)context.basis(level);
  if (packing.slots() < 1 || context.params().slots() % packing.slots() != 0)
    throw ShapeError("the plan is for " + std::to_string(packing.slots()) + " slots, the parameters have " +
                     std::to_string(context.params().slots()) + ": plan for these, or for a part by a power of two");
  const GadgetShape g = context.gadget().shape();
  const std::size_t limbs = level + 1, limb_bytes = g.degree * sizeof(u64), rows = packing.row_blocks();
  Tally tally(g);
  const auto repeat = [](std::size_t times, const auto& action) {
    for (std::size_t i = 0; i < times; ++i) action();
  };
  const std::size_t terms = plan.terms().size();
  tally.multiply(terms, limbs);
  std::size_t working = 0;
  if (plan.algorithm() == linear::Algorithm::bsgs) {
    std::size_t baby_count = 0;
    for (std::size_t c = 0; c < packing.blocks().size(); ++c) {
      const std::size_t b = plan.babies(c);
      baby_count += b;
      if (b > 1) tally.mod_up(limbs);
      for (std::size_t i = 1; i < b; ++i) tally.key_switch(limbs, static_cast<std::int64_t>(i));
      tally.mod_down(g.special, limbs, 2 * (b - 1));
    }
    const std::size_t giants = plan.giants();
    repeat(rows * (giants - 1), [&] {
      tally.mod_up(limbs);
      tally.key_switch(limbs, 1);
    });
    tally.mod_down(giants > 1 ? g.special + 1 : 1, limbs - 1, 2 * rows);
    working = (baby_count + giants) * 2 * limbs + std::max(g.digits(limbs) * g.extended(limbs), limbs) +
              4 * g.extended(limbs) + 2 * rows * limbs;
  } else {
    tally.mod_down(1, limbs - 1, 2 * terms);
    repeat(rows * (packing.diagonals() - 1), [&] { tally.rotate(limbs - 1, 1); });
    working = 12 * limbs + g.digits(limbs) * g.extended(limbs) + 2 * rows * limbs;
  }
  repeat(rows * packing.folds().size(), [&] { tally.rotate(limbs - 1, 1); });
  MatvecCost cost;
  cost.ops = tally.work;
  cost.working = (working + 2 * packing.blocks().size() * limbs) * limb_bytes;
  for (const auto& use : plan.keys()) {
    ++cost.keys;
    cost.key_storage += g.key_bytes(limbs - use.stage);
  }
  cost.plaintext_storage = (terms * limbs + rows * (limbs - 1)) * limb_bytes;
  // Products and conversions are left out: here they go along with what is streamed.
  Work streamed = tally.work;
  streamed.multiplied = streamed.converted = 0;
  cost.weight = weight(g, streamed);
  return cost;
}

}  // namespace ringforge::circuits
