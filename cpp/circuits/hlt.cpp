// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/hlt.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "assemble.hpp"
#include "mask_store.hpp"
#include "progress.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "slot_encoder.hpp"

namespace ringforge::circuits {

using ckks::Ciphertext;
using ckks::ContextPtr;
using ckks::encoding_error;
using ckks::GaloisKeys;
using ckks::Metadata;
using ckks::MetadataRules;
using rlwe::Gadget;

namespace {

double square(double x) { return x * x; }

/// The transform of a map's diagonals. @throws ShapeError for a map of other slots.
LinearTransform transform_of(const ContextPtr& ctx, const linear::Diagonals& map, std::size_t level, Schedule schedule,
                             std::vector<std::uint32_t> babies) {
  const std::size_t slots = ctx->params().slots();
  if (level < 1)
    throw LevelError("a linear transform needs an input of level 1 at least (it is rescaled once), not " +
                     std::to_string(level));
  (void)ctx->basis(level);
  if (map.slots() != slots || map.size() == 0)
    throw ShapeError("the map has " + std::to_string(map.size()) + " diagonals of " + std::to_string(map.slots()) +
                     " slots; at least one of " + std::to_string(slots) + " is needed");
  const auto element = [ctx](std::uint32_t step) { return ctx->rotation_element(step); };
  return {ctx->gadget_ptr(), {slots, map.steps(), schedule, std::move(babies), true}, element, level + 1};
}

}  // namespace

Hlt::Hlt(ContextPtr context, linear::Diagonals map, std::size_t level, Schedule schedule,
         std::vector<std::uint32_t> babies)
    : ctx_(std::move(context)),
      map_(std::move(map)),
      transform_(transform_of(ctx_, map_, level, schedule, std::move(babies))) {}

std::size_t Hlt::storage() const noexcept { return store_ ? store_->bytes() : 0; }

void Hlt::encode(const Scaling& scaling, bool compact, unsigned threads, const std::function<void(double)>& progress) {
  const std::size_t slots = ctx_->params().slots();
  if (!(scaling.input_scale >= 1) || !(scaling.output_scale >= 1) || !(scaling.input_bound > 0) ||
      !std::isfinite(scaling.input_bound))
    throw ValueError("scales must be at least 1, and the input's bound positive and finite");
  const double scale = plain_scale(scaling);
  if (!(scale >= 0x1p16 && scale <= 0x1p61))
    throw ScaleError("the diagonals would be encoded at scale 2^" + std::to_string(std::log2(scale)) +
                     ", outside 2^16 ... 2^61: choose input and output scales closer to each other");
  // Nothing is kept of an encoding that fails or is broken off.
  store_.reset();
  const auto store =
      std::make_shared<MaskStore>(transform_.diagonal_basis(), compact ? Keep::coefficients : Keep::limbs, map_.size());
  constexpr std::size_t kRun = 4;
  const std::size_t runs = (map_.size() + kRun - 1) / kRun;
  Reports<void> reports(progress, runs);
  parallel_for(threads, runs, [&](std::size_t run) {
    SlotEncoder encoder(*ctx_);
    std::vector<double> values(slots), imaginary(slots);
    for (std::size_t i = run * kRun; i < std::min(map_.size(), (run + 1) * kRun); ++i) {
      map_.fill(i, transform_.shift(i), values.data(), imaginary.data());
      store->put(i, encoder.encode(values.data(), imaginary.data(), scale));
    }
    reports.add(1);
  });
  scaling_ = scaling;
  store_ = store;
}

void Hlt::check_input(const Ciphertext& in) const {
  if (!store_) throw ShapeError("the diagonals have not been encoded yet");
  transform_.check_input(in);
  if (std::fabs(in.scale / scaling_.input_scale - 1) > 0x1p-30)
    throw ScaleError("the transform is encoded for inputs of scale 2^" +
                     std::to_string(std::log2(scaling_.input_scale)) + ", this one has 2^" +
                     std::to_string(std::log2(in.scale)));
  if (in.bound > scaling_.input_bound * (1 + 1e-9))
    throw ValueError("the transform is encoded for inputs bounded by " + std::to_string(scaling_.input_bound) +
                     ", this one declares " + std::to_string(in.bound));
}

double Hlt::plain_scale(const Scaling& scaling) const {
  return static_cast<double>(ctx_->gadget().q()[level()].value()) * (scaling.output_scale / scaling.input_scale);
}

Metadata Hlt::describe(const Metadata& in, const Scaling& scaling) const {
  const Gadget& gadget = ctx_->gadget();
  const std::size_t limbs = level() + 1, degree = ctx_->params().degree();
  const double rounding = MetadataRules(ctx_).rounding(), switched = gadget.switch_variance(limbs);
  const auto prime = static_cast<double>(gadget.q()[level()].value());
  const double scale = plain_scale(scaling);
  const bool naive = schedule() == Schedule::naive;
  // An output slot gathers the errors of the slots of its row; with one entry in each row, correlation of the
  // input's errors plays no part. A rotated copy errs on its own; only masked slots of it arrive.
  const double inherited = in.variance * (map_.row_entries() > 1 ? in.spread : 1),
               turned = transform_.rotates() ? switched + (naive ? rounding : 0) : 0;
  const double gathered = (inherited + turned) * map_.row_square() * square(scale);
  double fresh = static_cast<double>(map_.size()) * square(scaling.input_bound * scaling.input_scale) / 12;
  for (std::size_t g = 0; g < transform_.giants(); ++g) fresh += switched + rounding;
  Metadata r;
  r.scale = scaling.output_scale;
  r.bound = in.bound * map_.row_sum();
  r.variance = (gathered + fresh) / square(prime) + rounding;
  // Weights on the outputs become weights on the inputs: the norm is at most that of row and column sums.
  const double peak = (in.variance * in.spread + turned) * map_.row_sum() * map_.column_sum() * square(scale);
  r.spread = std::max(1.0, ((peak + fresh) / square(prime) + rounding) / r.variance);
  // An encoded diagonal errs in all slots, also where it is zero, by a part of its largest entry.
  r.float_error =
      in.float_error * map_.row_sum() + encoding_error(degree) * map_.peak_sum() * (in.bound + in.float_error);
  return r;
}

Ciphertext Hlt::run(const Ciphertext& in, const GaloisKeys& keys, unsigned threads) const {
  check_input(in);
  return {describe(in, scaling_), transform_.run(in, *store_, keys, threads)};
}

Ciphertext Hlt::assemble(const Ciphertext& in, std::span<const PartLimbs, 2> parts) const {
  check_input(in);
  const Basis basis = ctx_->basis(level() - 1);
  Ciphertext r(describe(in, scaling_));
  r.key_id = in.key_id;
  for (const auto& limbs : parts) r.parts.push_back(assembled(basis, limbs));
  return r;
}

void Hlt::copy_diagonal(std::size_t i, std::size_t j, std::span<u64> out) const {
  if (!store_) throw ShapeError("the diagonals have not been encoded yet");
  if (i >= map_.size() || j >= diagonal_limbs() || out.size() != ctx_->params().degree())
    throw ShapeError("there is no limb " + std::to_string(j) + " of diagonal " + std::to_string(i) + " with " +
                     std::to_string(out.size()) + " words");
  const u64* words = store_->limb(i, j, out.data());
  if (words != out.data()) std::copy_n(words, out.size(), out.data());
}

}  // namespace ringforge::circuits
