// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/rlwe/gadget.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "ref/arith.hpp"
#include "ringforge/error.hpp"
#include "ringforge/random.hpp"

namespace ringforge::rlwe {

std::size_t GadgetShape::conversions(std::size_t limbs) const noexcept {
  std::size_t products = 0;
  for (std::size_t first = 0; first < limbs; first += alpha)
    if (const std::size_t size = std::min(alpha, limbs - first); size > 1) products += size * (extended(limbs) - size);
  return products;
}

Gadget::Gadget(const Basis& q, const Basis& p, const GadgetSpec& spec) : q_(q), p_(p), spec_(spec) {
  const std::size_t alpha = spec.limbs_per_digit;
  if (q.ring().transform_length() != q.ring().degree())
    throw ParameterError(
        "products in the ring of index " + std::to_string(q.ring().index()) +
        " must be reduced before they are multiplied again, which RLWE operations do not do: take a "
        "ring whose Eval form has as many words as its degree, such as Ring::negacyclic or Ring::tensor");
  if (p.size() > 0 && !(q.ring() == p.ring()))
    throw MismatchError("Q has degree " + std::to_string(q.ring().degree()) + " and the special primes " +
                        std::to_string(p.ring().degree()) + ": take primes of one ring");
  if (alpha < 1 || alpha > q.size())
    throw ParameterError("a digit must have 1 to " + std::to_string(q.size()) + " limbs, not " + std::to_string(alpha));
  if (spec.log_base != 0 && alpha != 1)
    throw ParameterError("base-B digits are cut from single limbs: set limbs_per_digit = 1 or log_base = 0");
  if (spec.log_base > 60) throw ParameterError("log_base must be at most 60");
  if (spec.log_base == 0) {
    double largest = 0;
    for (std::size_t i = 0; i < q.size(); i += alpha)
      largest = std::max(largest, q.slice(i, std::min(alpha, q.size() - i)).log2());
    // One bit of slack: equal sizes "just below 2^b" differ in the far decimals.
    if (p.log2() + 1 < largest)
      throw ParameterError("the special primes have " + std::to_string(p.log2()) + " bits, the largest digit " +
                           std::to_string(largest) + ": add special primes or use fewer limbs per digit");
  }
  for (std::size_t i = 0; i < q.size(); ++i) {
    const auto& m = q[i].mod();
    u64 f = 1;
    for (std::size_t j = 0; j < p.size(); ++j) f = arith::mul(f, arith::reduce64(p[j].value(), m), m);
    if (f == 0) throw ParameterError("the prime " + std::to_string(m.q) + " is in both Q and P");
    p_mod_q_.push_back(kernels::make_factor(f, m));
  }
  for (std::size_t limbs = 1; limbs <= q.size(); ++limbs) {
    Level level;
    const Basis qs = q.prefix(limbs);
    level.extended = p.size() > 0 ? qs.join(p) : qs;
    if (p.size() > 0) level.down = ModulusDrop(level.extended, p.size());
    if (limbs > 1) {
      level.rescale = ModulusDrop(qs, 1);
      if (p.size() > 0) level.down_rescale = ModulusDrop(level.extended, p.size() + 1);
    }
    levels_.push_back(std::move(level));
  }
  if (alpha > 1) {
    const Basis all = levels_.back().extended;
    for (std::size_t first = 0; first < q.size(); first += alpha)
      for (std::size_t size = 1; size <= std::min(alpha, q.size() - first); ++size)
        groups_.push_back({first, size, BaseConverter(q.slice(first, size), all)});
  }
}

void Gadget::refuse(std::size_t limbs) const {
  throw LevelError(std::to_string(limbs) + " limbs: these parameters have 1 ... " + std::to_string(levels_.size()));
}

const BaseConverter& Gadget::converter(std::size_t first, std::size_t size) const {
  return std::find_if(groups_.begin(), groups_.end(),
                      [&](const Group& g) { return g.first == first && g.size == size; })
      ->convert;
}

unsigned Gadget::parts(std::size_t limb) const noexcept {
  return spec_.log_base == 0 ? 1 : (q_[limb].mod().bits + spec_.log_base - 1) / spec_.log_base;
}

std::size_t Gadget::digits(std::size_t limbs) const noexcept {
  if (spec_.log_base == 0) return shape().digits(limbs);
  std::size_t n = 0;
  for (std::size_t i = 0; i < limbs; ++i) n += parts(i);
  return n;
}

u64 Gadget::key_factor(std::size_t digit, std::size_t limb) const noexcept {
  const u64 p = p_mod_q_[limb].w;
  if (spec_.log_base == 0) return limb / spec_.limbs_per_digit == digit ? p : 0;
  std::size_t owner = 0;
  while (digit >= parts(owner)) digit -= parts(owner++);
  if (owner != limb) return 0;
  const auto& m = q_[limb].mod();
  return arith::mul(p, arith::pow(2, digit * spec_.log_base, m), m);
}

double Gadget::switch_variance(std::size_t limbs) const {
  (void)level(limbs);
  const double n = q_.ring().product_variance(), log_p = p_.log2();
  double sum = 0;
  if (spec_.log_base > 0) {
    for (std::size_t i = 0; i < limbs; ++i) {
      const double top = static_cast<double>(q_[i].mod().bits) - (parts(i) - 1.0) * spec_.log_base;
      sum += ((parts(i) - 1.0) * std::exp2(2.0 * spec_.log_base) + std::exp2(2 * top)) / 12 * std::exp2(-2 * log_p);
    }
  } else {
    for (std::size_t i = 0; i < limbs; i += spec_.limbs_per_digit) {
      const std::size_t size = std::min<std::size_t>(spec_.limbs_per_digit, limbs - i);
      sum += std::exp2(2 * (q_.slice(i, size).log2() - log_p)) / 12;  // centred: E[digit^2] = D^2/12
    }
  }
  return sum * n * kErrorVariance;
}

Gadget::Cost Gadget::mod_up_cost(std::size_t limbs) const noexcept {
  if (spec_.log_base > 0) return {limbs, digits(limbs) * shape().extended(limbs)};
  return {limbs, shape().mod_up_transforms(limbs)};
}

std::size_t Gadget::key_bytes(std::size_t limbs) const noexcept {
  return 2 * digits(limbs) * (limbs + p_.size()) * q_.ring().transform_length() * sizeof(u64);
}

namespace {

[[noreturn]] void foreign(const char* what, const Basis& have, const Gadget& here, const char* remedy) {
  throw MismatchError(std::string(what) + " belongs to other parameters: " + std::to_string(have.size()) +
                      " limbs of degree " + std::to_string(have.ring().degree()) + ", here Q has 1 ... " +
                      std::to_string(here.q().size()) + " and P " + std::to_string(here.p().size()) + " of degree " +
                      std::to_string(here.q().ring().degree()) + ", or the primes differ: " + remedy);
}

}  // namespace

void Gadget::check_level(const Basis& have, const char* what, const char* remedy) const {
  bool known = have.size() >= 1 && have.size() <= q_.size() && have.ring() == q_.ring();
  for (std::size_t i = 0; known && i < have.size(); ++i) known = have[i].value() == q_[i].value();
  if (!known) foreign(what, have, *this, remedy);
}

void Gadget::check_all(const Basis& have, const char* what, const char* remedy) const {
  if (!(have == all())) foreign(what, have, *this, remedy);
}

}  // namespace ringforge::rlwe
