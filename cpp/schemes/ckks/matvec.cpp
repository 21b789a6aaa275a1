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
#include "ringforge/ckks/matvec.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <string>

#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::ckks {
namespace {

double square(double x) { return x * x; }
/// Results carry these values to the client, so they are blurred: up to the next power of 2^(1/4).
double round_up(double x) { return x > 0 ? std::exp2(std::ceil(4 * std::log2(x)) / 4) : 0; }

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
  if (matrix.size() != rows * cols)
    throw ShapeError("the matrix has " + std::to_string(matrix.size()) + " entries, the plan is for " +
                     std::to_string(rows) + " x " + std::to_string(cols));
  if (!bias.empty() && bias.size() != rows)
    throw ShapeError("the bias has " + std::to_string(bias.size()) + " entries, the matrix " + std::to_string(rows) +
                     " rows");
  if (!(scaling.input_scale >= 1) || !(scaling.output_scale >= 1) || !(scaling.input_bound > 0) ||
      !std::isfinite(scaling.input_bound))
    throw ValueError("scales must be at least 1, and the inputs' bound positive and finite");
  const auto prime = static_cast<double>(ctx_->basis(level_)[level_].value());
  encoded_ = false;  // nothing is kept of an encoding that fails or is broken off
  plain_scale_ = prime * (scaling.output_scale / scaling.input_scale);
  if (!(plain_scale_ >= 0x1p16 && plain_scale_ <= 0x1p62))
    throw ScaleError("the matrix would be encoded at scale 2^" + std::to_string(std::log2(plain_scale_)) +
                     ", outside 2^16 ... 2^62: choose input and output scales closer to each other");
  row_sum_ = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < cols; ++c) {
      const double x = matrix[r * cols + c];
      if (!std::isfinite(x))
        throw ValueError("matrix entry (" + std::to_string(r) + ", " + std::to_string(c) + ") is not a finite number");
      sum += std::fabs(x);
    }
    sum *= scaling.input_bound;
    if (!bias.empty()) {
      if (!std::isfinite(bias[r])) throw ValueError("bias entry " + std::to_string(r) + " is not a finite number");
      sum += std::fabs(bias[r]);
    }
    row_sum_ = std::max(row_sum_, sum);
  }
  norms_ = linear::norms(plan_, matrix);
  const double have = ctx_->basis(level_ - 1).log2() - 1,
               need = std::log2(std::max(row_sum_, 1e-300) * scaling.output_scale);
  if (need > have)
    throw ValueError("results of size up to 2^" + std::to_string(std::log2(row_sum_)) + " at scale 2^" +
                     std::to_string(std::log2(scaling.output_scale)) + " do not fit level " +
                     std::to_string(level_ - 1) + ", which has room for 2^" + std::to_string(have) +
                     ": use a smaller output scale, scale the matrix down, or " +
                     (level_ < ctx_->params().max_level() ? "use a higher level" : "use larger first primes"));
  scaling_ = scaling;

  // Sum of squares seen by each slot: how much input noise a result slot gathers before folding.
  slot_square_ = 0;
  const auto& terms = plan_.terms();
  std::vector<double> squares(packing.row_blocks() * virtual_slots);
  store_ = WordBuffer(limbs * blocks * terms.size() * kBlock);
  std::atomic<std::size_t> done{0};
  std::mutex reporting;
  // Each task encodes a run of terms; runs are cut at row blocks so that squares are summed without races.
  std::vector<std::pair<std::size_t, std::size_t>> runs;
  constexpr std::size_t kRun = 16;
  for (std::size_t t = 0; t < terms.size(); t += kRun) runs.emplace_back(t, std::min(terms.size(), t + kRun));
  std::vector<std::vector<double>> partial(runs.size());

  parallel_for(threads, runs.size(), [&](std::size_t run) {
    std::vector<double> re(slots), im(slots), values(virtual_slots);
    std::vector<i64> rounded(n);
    Poly<Eval> out(ctx_->basis(level_));
    std::vector<u64*> limb_ptr(limbs);
    for (std::size_t l = 0; l < limbs; ++l) limb_ptr[l] = out.limb(l);
    auto& sums = partial[run];
    sums.assign(virtual_slots * 2, 0);
    const std::size_t first_rb = terms[runs[run].first].row_block;
    for (std::size_t t = runs[run].first; t < runs[run].second; ++t) {
      const linear::Term& term = terms[t];
      double* sum = sums.data() + (term.row_block == first_rb ? 0 : virtual_slots);
      for (std::size_t s = 0; s < virtual_slots; ++s) {
        // The pre-rotated diagonal at slot s is the diagonal at slot s - shift.
        const std::size_t from = (s - term.shift) & (virtual_slots - 1);
        const std::size_t row = term.row_block * period + (from & (period - 1));
        const std::size_t col = packing.column(term.block, from + term.index);
        const double x = row < rows && col < cols ? matrix[row * cols + col] : 0.0;
        values[s] = x;
        sum[from] += x * x;
      }
      ctx_->scatter(values.data(), virtual_slots, batch_, re.data());
      std::fill(im.begin(), im.end(), 0.0);
      ctx_->encode_words(re.data(), im.data(), plain_scale_, limb_ptr, rounded.data());
      for (std::size_t l = 0; l < limbs; ++l)
        for (std::size_t b = 0; b < blocks; ++b)
          std::memcpy(words(l, b, t), out.limb(l) + b * kBlock, kBlock * sizeof(u64));
    }
    const std::size_t finished = done.fetch_add(1) + 1;
    // One report at a time; a thread that finds another reporting goes on with its work.
    const std::unique_lock report(reporting, std::try_to_lock);
    if (progress && report) progress(static_cast<double>(finished) / static_cast<double>(runs.size()));
  });
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const std::size_t rb = terms[runs[run].first].row_block;
    for (std::size_t i = 0; i < partial[run].size(); ++i)
      if (rb * virtual_slots + i < squares.size()) squares[rb * virtual_slots + i] += partial[run][i];
  }
  for (const double s : squares) slot_square_ = std::max(slot_square_, s);

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
  if (progress) progress(1.0);
  encoded_ = true;
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
  const Ciphertext described = describe(inputs);
  for (auto& r : results) {
    auto parts = std::move(r.parts);
    r = described;
    r.parts = std::move(parts);
  }
  return results;
}

std::vector<Ciphertext> Matvec::assemble(
    std::span<const Ciphertext> inputs, std::span<const std::array<std::vector<std::span<const u64>>, 2>> parts) const {
  check_inputs(inputs);
  const std::size_t rows = plan_.packing().row_blocks(), n = ctx_->params().degree();
  const Basis basis = ctx_->basis(level_ - 1);
  if (parts.size() != rows)
    throw ShapeError("the plan gives " + std::to_string(rows) + " results, " + std::to_string(parts.size()) +
                     " were computed");
  const Ciphertext described = describe(inputs);
  std::vector<Ciphertext> results;
  for (const auto& pair : parts) {
    Ciphertext r = described;
    for (const auto& limbs : pair) {
      if (limbs.size() != basis.size())
        throw ShapeError("a result has " + std::to_string(limbs.size()) + " limbs instead of " +
                         std::to_string(basis.size()));
      Poly<Eval> poly(basis);
      for (std::size_t l = 0; l < limbs.size(); ++l) {
        if (limbs[l].size() != n)
          throw ShapeError("a limb of a result has " + std::to_string(limbs[l].size()) + " words instead of " +
                           std::to_string(n));
        if (std::any_of(limbs[l].begin(), limbs[l].end(), [&](u64 x) { return x >= basis[l].value(); }))
          throw ValueError("limb " + std::to_string(l) + " of a result has words that are no residues of its prime");
        std::copy(limbs[l].begin(), limbs[l].end(), poly.limb(l));
      }
      r.parts.push_back(std::move(poly));
    }
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

Matvec::Propagated Matvec::propagate(std::span<const Ciphertext> inputs, double rotated) const {
  double input = 0;
  for (const auto& c : inputs) input = std::max(input, c.variance * (scaling_.fresh_inputs ? 1 : c.spread));
  const double factor = square(plain_scale_ / static_cast<double>(ctx_->basis(level_)[level_].value()));
  return {(input + rotated) * slot_square_ * factor, (input * norms_.matrix + rotated * norms_.rotated) * factor};
}

Ciphertext Matvec::describe(std::span<const Ciphertext> inputs) const {
  const auto& packing = plan_.packing();
  const Gadget& gadget = ctx_->gadget();
  const double rounding = Evaluator(ctx_).rounding_variance();
  const auto prime = static_cast<double>(ctx_->basis(level_)[level_].value());
  const std::size_t limbs = level_ + 1;
  Ciphertext r;
  r.key_id = inputs[0].key_id;
  r.scale = scaling_.output_scale;
  Propagated noise;
  // Predictions take the matrix's own sums, not the evaluator's assumption of full slots in every product.
  if (plan_.algorithm() == linear::Algorithm::bsgs) {
    const std::size_t giants = plan_.giants(), products = plan_.terms().size() / packing.row_blocks();
    double rotated = 0;
    for (std::size_t c = 0; c < inputs.size(); ++c)
      if (plan_.babies(c) > 1) {
        const double turned = inputs[c].variance + (gadget.switch_variance(limbs) + rounding);
        rotated = std::max(rotated, turned - inputs[c].variance);
      }
    noise = propagate(inputs, rotated);
    double variance = static_cast<double>(products) * square(scaling_.input_bound * scaling_.input_scale) / 12;
    if (giants > 1) variance += static_cast<double>(giants - 1) * gadget.switch_variance(limbs);
    r.variance = noise.gathered + variance / square(prime) + rounding;
  } else {
    noise = propagate(inputs, 0);
    const double per_rotation = gadget.switch_variance(limbs - 1) + rounding;
    const auto diagonals = static_cast<double>(packing.diagonals());
    const auto products = static_cast<double>(packing.diagonals() * packing.blocks().size());
    r.variance = noise.gathered +
                 products * (square(scaling_.input_bound * scaling_.input_scale / prime) / 12 + rounding) +
                 diagonals * per_rotation;
  }
  double gathered = noise.gathered;
  for (std::size_t i = 0; i < packing.folds().size(); ++i) {
    // The two halves of a fold meet in different slots of one row: their variances add.
    const double turned = r.variance + (gadget.switch_variance(limbs - 1) + rounding);
    r.variance = r.variance + turned;
    gathered *= 2;
  }
  if (!bias_.empty()) r.variance += 1.0 / 12;
  r.bound = round_up(row_sum_);
  r.spread = std::max(1.0, (noise.peak + r.variance - gathered) / r.variance);
  r.variance = round_up(r.variance);
  return r;
}

Ciphertext Matvec::fold(Ciphertext acc, std::size_t row_block, const GaloisKeys& keys, const Evaluator& ev) const {
  for (const std::size_t h : plan_.packing().folds()) acc = ev.add(acc, ev.apply_galois(acc, element(h), keys));
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
      sum = t == first ? std::move(product) : ev.add(sum, product);
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
        acc = i == 0 ? std::move(p) : ev.add(p, ev.apply_galois(acc, element(1), keys));
      } else {
        if (d > 0) p = ev.apply_galois(p, element(d), keys);
        acc = i == 0 ? std::move(p) : ev.add(acc, p);
      }
    }
    acc.scale = scaling_.output_scale;
    results.push_back(fold(std::move(acc), rb, keys, ev));
  }
  return results;
}

MatvecCost Matvec::cost(const Context& context, const linear::Plan& plan, std::size_t level) {
  const auto& packing = plan.packing();
  const Gadget& gadget = context.gadget();
  if (level < 1) throw LevelError("a matrix product needs an input of level 1 at least, not 0");
  (void)context.basis(level);
  if (packing.slots() < 1 || context.params().slots() % packing.slots() != 0)
    throw ShapeError("the plan is for " + std::to_string(packing.slots()) + " slots, the parameters have " +
                     std::to_string(context.params().slots()) + ": plan for these, or for a part by a power of two");
  const std::size_t n = context.params().degree(), limbs = level + 1, special = gadget.p().size();
  const std::size_t limb_bytes = n * sizeof(u64), rows = packing.row_blocks();
  const auto folds = packing.folds().size();
  MatvecCost cost;
  auto& ops = cost.ops;
  const auto mod_up = [&](std::size_t l, std::size_t times) {
    const auto c = gadget.mod_up_cost(l);
    ops.intt += times * c.intt;
    ops.ntt += times * c.ntt;
    ops.mod_up += times;
  };
  const auto drop = [&](std::size_t kept, std::size_t gone, std::size_t times) {  // of single polynomials
    ops.intt += times * gone;
    ops.ntt += times * kept;
    ops.mod_down += times;
  };
  const auto product = [&](std::size_t l, std::size_t times) {
    ops.key_switch += times;
    ops.key_bytes += times * gadget.key_bytes(l);
  };
  const auto rotate = [&](std::size_t l, std::size_t times) {  // a full rotation on its own
    mod_up(l, times);
    product(l, times);
    drop(l, special, 2 * times);
    ops.rotation += times;
  };
  const std::size_t terms = plan.terms().size();
  ops.plain_mul = terms;
  ops.plaintext_bytes = terms * limbs * limb_bytes;
  std::size_t working = 0;
  if (plan.algorithm() == linear::Algorithm::bsgs) {
    std::size_t baby_count = 0;
    for (std::size_t c = 0; c < packing.blocks().size(); ++c) {
      const std::size_t b = plan.babies(c);
      baby_count += b;
      if (b > 1) mod_up(limbs, 1);
      product(limbs, b - 1);
      drop(limbs, special, 2 * (b - 1));
      ops.rotation += b - 1;
    }
    const std::size_t giants = plan.giants();
    if (giants > 1) {
      mod_up(limbs, rows * (giants - 1));
      product(limbs, rows * (giants - 1));
      ops.rotation += rows * (giants - 1);
      drop(limbs - 1, special + 1, 2 * rows);
    } else {
      drop(limbs - 1, 1, 2 * rows);
    }
    working = (baby_count + giants) * 2 * limbs + std::max(gadget.digits(limbs) * (limbs + special), limbs) +
              4 * (limbs + special) + 2 * rows * limbs;
  } else {
    drop(limbs - 1, 1, 2 * terms);
    rotate(limbs - 1, rows * (packing.diagonals() - 1));
    working = 12 * limbs + gadget.digits(limbs) * (limbs + special) + 2 * rows * limbs;
  }
  rotate(limbs - 1, rows * folds);
  cost.working = (working + 2 * packing.blocks().size() * limbs) * limb_bytes;
  for (const auto& use : plan.keys()) {
    ++cost.keys;
    cost.key_storage += gadget.key_bytes(limbs - use.stage);
  }
  cost.plaintext_storage = (terms * limbs + rows * (limbs - 1)) * limb_bytes;
  // A word streamed from memory costs about as much as two butterflies here.
  cost.weight = static_cast<double>(ops.ntt + ops.intt) * static_cast<double>(n) / 2 * context.params().spec().log_n +
                2.0 * static_cast<double>(ops.key_bytes + ops.plaintext_bytes) / sizeof(u64);
  return cost;
}

}  // namespace ringforge::ckks
