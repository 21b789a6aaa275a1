// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/ckks/metadata.hpp"

#include <algorithm>
#include <cmath>

#include "ringforge/ckks/ckks.hpp"
#include "ringforge/error.hpp"

namespace ringforge::ckks {
namespace {

constexpr double kUnit = 0x1p-53;  // u, the unit roundoff of double

double square(double x) { return x * x; }
double root_of_slots(std::size_t degree) { return std::sqrt(static_cast<double>(degree) / 2); }

}  // namespace

double encoding_error(std::size_t degree) noexcept { return (5 * 3.42 + 2) * kUnit * root_of_slots(degree); }
double decoding_error(std::size_t degree) noexcept { return (5 * 2.42 + 4) * kUnit * root_of_slots(degree); }

double slot_error_bound(double variance, std::size_t degree) noexcept {
  const auto n = static_cast<double>(degree);
  return std::sqrt(n * variance) * (std::log(n / 2 * 0x1p40) + 3) / 2;
}

double error_bound(const Metadata& m, std::size_t degree) noexcept {
  const double made = slot_error_bound(m.variance, degree) / m.scale + m.float_error;
  return made + decoding_error(degree) * (m.bound + made);
}

double MetadataRules::rounding() const noexcept {
  return (1 + 2.0 * static_cast<double>(ctx_->params().degree()) / 3) / 12;
}

double MetadataRules::turned(std::size_t limbs) const { return ctx_->gadget().switch_variance(limbs) + rounding(); }

// With the secret key c = (m + e - a*s, a): e has variance 10.5, the encoding's rounding adds 1/12. With the public
// key c = (v*b + e0 + m, v*a + e1): phase error v*e + e0 + e1*s, of variance 10.5*(2N/3 + 1 + 2N/3).
Metadata MetadataRules::encrypted(double scale, double bound, bool public_key) const noexcept {
  const std::size_t degree = ctx_->params().degree();
  Metadata r;
  r.scale = scale;
  r.bound = bound;
  r.variance = kErrorVariance * (public_key ? 4.0 * static_cast<double>(degree) / 3 + 1 : 1) + 1.0 / 12;
  r.float_error = encoding_error(degree) * bound;
  return r;
}

Metadata MetadataRules::sum(const Metadata& a, const Metadata& b) const noexcept {
  Metadata r = a;
  r.variance = square(std::sqrt(a.variance) + std::sqrt(b.variance));
  r.spread = std::max(a.spread, b.spread);
  r.bound = a.bound + b.bound;
  r.float_error = a.float_error + b.float_error + std::fabs(a.scale / b.scale - 1) * b.bound;
  return r;
}

Metadata MetadataRules::plain_sum(const Metadata& a, double scale, double bound) const noexcept {
  Metadata r = a;
  r.variance += 1.0 / 12;
  r.bound += bound;
  r.float_error += (encoding_error(ctx_->params().degree()) + std::fabs(a.scale / scale - 1)) * bound;
  return r;
}

Metadata MetadataRules::number_sum(const Metadata& a, double value) const noexcept {
  Metadata r = a;
  r.variance += 1.0 / 12;
  r.bound += std::fabs(value);
  r.float_error += kUnit * std::fabs(value);
  return r;
}

Metadata MetadataRules::plain_product(const Metadata& a, double scale, double bound) const noexcept {
  Metadata r = a;
  r.scale = a.scale * scale;
  r.variance = a.variance * square(bound * scale) + square(a.bound * a.scale) / 12;
  r.bound = a.bound * bound;
  r.float_error = (a.float_error + encoding_error(ctx_->params().degree()) * (a.bound + a.float_error)) * bound;
  return r;
}

Metadata MetadataRules::number_product(const Metadata& a, double value, double scale) const noexcept {
  Metadata r = a;
  r.scale = a.scale * scale;
  // The rounded constant is off by at most 1/2 in every slot at once.
  r.variance = a.variance * square(value * scale) +
               square(a.bound * a.scale) / (4 * static_cast<double>(ctx_->params().degree()));
  r.bound = a.bound * std::fabs(value);
  r.float_error = (a.float_error + 4 * kUnit * a.bound) * std::fabs(value);
  return r;
}

Metadata MetadataRules::read_as(const Metadata& a, double scale, double bound) const {
  if (!(scale >= 1 && scale < 0x1p250)) throw ScaleError("a scale is at least 1 and below 2^250");
  if (!(bound > 0 && std::isfinite(bound))) throw ValueError("a bound is positive and finite");
  Metadata r = a;
  r.scale = scale;
  r.float_error = a.float_error * (a.scale / scale) + kUnit * bound;
  r.bound = bound;
  return r;
}

Metadata MetadataRules::product(const Metadata& a, const Metadata& b) const noexcept {
  Metadata r = a;
  r.scale = a.scale * b.scale;
  r.variance = square(std::sqrt(a.variance) * b.bound * b.scale + std::sqrt(b.variance) * a.bound * a.scale) +
               static_cast<double>(ctx_->params().degree()) * a.variance * b.variance;
  r.spread = std::max(a.spread, b.spread);
  r.bound = a.bound * b.bound;
  r.float_error = a.float_error * b.bound + b.float_error * a.bound + a.float_error * b.float_error;
  return r;
}

Metadata MetadataRules::switched(const Metadata& a, std::size_t limbs) const {
  Metadata r = a;
  r.variance += turned(limbs);
  return r;
}

Metadata MetadataRules::rescaled(const Metadata& a, std::size_t limbs, std::size_t parts) const {
  (void)ctx_->basis(limbs - 1);
  if (limbs < 2) throw LevelError("a ciphertext at level 0 cannot be rescaled: start from a higher level");
  const auto q = static_cast<double>(ctx_->gadget().q()[limbs - 1].value());
  Metadata r = a;
  r.scale = a.scale / q;
  r.variance = a.variance / square(q) + rounding();
  if (parts == 3) r.variance += square(2.0 * static_cast<double>(ctx_->params().degree()) / 3) / 12;
  r.float_error += 4 * kUnit * a.bound;  // scales and primes as doubles
  return r;
}

Metadata MetadataRules::replicated(const Metadata& a, std::size_t limbs, std::size_t times) const {
  // A slot gathers the errors of 2^times different slots (copies that go to empty slots never meet, so all sums of some
  // steps differ), and each slot's error is in as many results; what switch i adds is gathered by those that follow.
  // `peak`: the largest that any weights of norm 1 make of the slots' errors.
  Metadata r = a;
  double peak = a.variance * a.spread;
  r.variance = peak;
  for (std::size_t i = 0; i < times; ++i) {
    r.variance = 2 * r.variance + turned(limbs);
    peak = 4 * peak + turned(limbs);
    r.float_error *= 2;
  }
  if (times == 0) return a;
  r.spread = std::max(1.0, peak / r.variance);
  return r;
}

Metadata MetadataRules::doubled_real(const Metadata& a, std::size_t limbs) const {
  Metadata r = sum(a, switched(a, limbs));
  r.scale *= 2;
  r.bound = a.bound;
  r.float_error = a.float_error;
  return r;
}

Metadata MetadataRules::squared(const Metadata& a, std::size_t limbs) const {
  return rescaled(switched(product(a, a), limbs), limbs);
}

}  // namespace ringforge::ckks
