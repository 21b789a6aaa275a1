// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/rlwe/modulus_drop.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "ref/arith.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "ringforge/traffic.hpp"
#include "scratch.hpp"

namespace ringforge::rlwe {

BaseConverter::BaseConverter(const Basis& from, const Basis& to) : from_(from), to_(to) {
  const std::size_t k = from.size();
  if (!(from.ring() == to.ring()))
    throw MismatchError("residues of degree " + std::to_string(from.ring().degree()) +
                        " cannot be converted to primes of degree " + std::to_string(to.ring().degree()) +
                        ": take primes of one ring");
  for (std::size_t i = 0; i < k; ++i) {
    const auto& m = from[i].mod();
    bits_ = std::max(bits_, m.bits);
    u64 hat = 1;
    for (std::size_t d = 0; d < k; ++d)
      if (d != i) hat = arith::mul(hat, arith::reduce64(from[d].value(), m), m);
    hat_inverse_.push_back(kernels::make_factor(arith::inverse(hat, m), m));
    inverse_.push_back(1.0 / static_cast<double>(m.q));
  }
  for (std::size_t j = 0; j < to.size(); ++j) {
    const auto& m = to[j].mod();
    u64 product = 1;
    for (std::size_t i = 0; i < k; ++i) product = arith::mul(product, arith::reduce64(from[i].value(), m), m);
    product_.push_back(product);
    for (std::size_t i = 0; i < k; ++i) {
      u64 hat = 1;
      for (std::size_t d = 0; d < k; ++d)
        if (d != i) hat = arith::mul(hat, arith::reduce64(from[d].value(), m), m);
      hat_.push_back(hat);
    }
  }
}

void BaseConverter::prepare_limb(u64* x, std::size_t i) const noexcept {
  if (from_.size() > 1) kernels::active().mul_scalar(x, x, hat_inverse_[i], from_.ring().degree(), from_[i].mod());
}

void BaseConverter::quotient(u64* v, const u64* const* y, std::size_t n) const noexcept {
  if (from_.size() > 1) kernels::active().convert_quotient(v, y, inverse_.data(), from_.size(), n);
}

void BaseConverter::convert(u64* dst, const u64* const* y, const u64* v, std::size_t j) const noexcept {
  const std::size_t n = to_.ring().degree(), k = from_.size();
  if (k == 1)
    kernels::active().lift_centered(dst, y[0], from_[0].value(), n, to_[j].mod());
  else
    kernels::active().base_convert(dst, y, hat_.data() + j * k, k, bits_, v, product_[j], n, to_[j].mod());
}

void BaseConverter::convert_all(std::span<u64* const> dst, std::size_t first, std::span<const u64* const> x,
                                unsigned threads) const {
  // Limbs lie a power of two apart, so blocks are copied (which preparing does anyway) to words that share no sets of
  // the first-level cache; 12 sources and a target take 28 KiB of it.
  constexpr std::size_t kBlock = 256;
  const std::size_t n = to_.ring().degree(), k = from_.size(), block = std::min(n, kBlock);
  const auto& kern = kernels::active();
  parallel_for(threads, n / block, [&](std::size_t b) {
    const std::size_t at = b * block;
    u64 *packed = scratch((k + 1) * block), *quotients = packed + k * block;
    std::array<const u64*, 64> y;
    for (std::size_t i = 0; i < k; ++i) {
      kern.mul_scalar(packed + i * block, x[i] + at, hat_inverse_[i], block, from_[i].mod());
      y[i] = packed + i * block;
    }
    kern.convert_quotient(quotients, y.data(), inverse_.data(), k, block);
    for (std::size_t j = 0; j < dst.size(); ++j)
      if (dst[j] != nullptr)
        kern.base_convert(dst[j] + at, y.data(), hat_.data() + (first + j) * k, k, bits_, quotients,
                          product_[first + j], block, to_[first + j].mod());
  });
}

void BaseConverter::convert_fast(u64* dst, const u64* const* y, std::size_t j) const noexcept {
  const std::size_t k = from_.size();
  kernels::active().base_convert(dst, y, hat_.data() + j * k, k, bits_, nullptr, 0, to_.ring().degree(), to_[j].mod());
}

ModulusDrop::ModulusDrop(const Basis& basis, std::size_t dropped) : input_(basis) {
  if (dropped < 1 || dropped >= basis.size())
    throw ParameterError("cannot drop " + std::to_string(dropped) + " of " + std::to_string(basis.size()) +
                         " primes: at least one must go and one must stay");
  const std::size_t kept = basis.size() - dropped;
  kept_ = basis.prefix(kept);
  gone_ = basis.slice(kept, dropped);
  convert_ = BaseConverter(gone_, kept_);
  for (std::size_t j = 0; j < kept; ++j) {
    const auto& m = kept_[j].mod();
    u64 d = 1;
    for (std::size_t i = 0; i < dropped; ++i) d = arith::mul(d, arith::reduce64(gone_[i].value(), m), m);
    inverse_.push_back(kernels::make_factor(arith::inverse(d, m), m));
  }
}

Poly<Eval> ModulusDrop::apply(const Poly<Eval>& p, unsigned threads) const {
  if (!(p.basis() == input_))
    throw MismatchError("cannot divide: the polynomial has " + std::to_string(p.limbs()) + " limbs, " +
                        std::to_string(input_.size()) + " are expected, or the primes differ");
  const std::size_t n = input_.ring().transform_length(), kept = kept_.size(), dropped = gone_.size();
  count({.mod_down = 1});

  move_limbs(kept + dropped, kept, n);

  Poly<Coeff> gone(gone_);
  std::vector<const u64*> limbs(dropped);
  parallel_for(threads, dropped, [&](std::size_t i) {
    intt(gone.limb(i), p.limb(kept + i), gone_[i]);
    limbs[i] = gone.limb(i);
  });
  const Rest over = rest(std::move(limbs), threads);
  Poly<Eval> r(kept_);
  parallel_for(threads, kept, [&](std::size_t j) { divide(r.limb(j), p.limb(j), over, j, scratch(n)); });
  return r;
}

ModulusDrop::Rest ModulusDrop::rest(std::vector<const u64*> gone, unsigned threads) const {
  Rest r{std::move(gone), {}};
  if (gone_.size() == 1) return r;
  r.lifted = Poly<Coeff>(kept_);
  std::vector<u64*> targets(kept_.size());
  for (std::size_t j = 0; j < targets.size(); ++j) targets[j] = r.lifted.limb(j);
  convert_.convert_all(targets, 0, r.gone, threads);
  return r;
}

void ModulusDrop::divide(u64* dst, const u64* src, const Rest& rest, std::size_t j, u64* t) const noexcept {
  if (gone_.size() == 1)
    ntt_lift(t, rest.gone[0], gone_[0], kept_[j]);
  else
    ntt(t, rest.lifted.limb(j), kept_[j]);
  kernels::active().sub_mul_scalar(dst, src, t, inverse_[j], input_.ring().transform_length(), kept_[j].mod());
}

void ModulusDrop::prepare(u64* limb, std::size_t i) const noexcept {
  intt(limb, limb, gone_[i]);
  convert_.prepare_limb(limb, i);
}

ModulusDrop::Tail ModulusDrop::tail(std::vector<const u64*> prepared) const {
  const std::size_t n = input_.ring().degree();
  Tail t{std::move(prepared), WordBuffer(gone_.size() > 1 ? n : 0)};
  convert_.quotient(t.quotient.data(), t.limbs.data(), n);
  return t;
}

void ModulusDrop::finish(u64* dst, const u64* src, const Tail& tail, std::size_t j, u64* t) const noexcept {
  if (gone_.size() == 1) {
    ntt_lift(t, tail.limbs[0], gone_[0], kept_[j]);
  } else {
    convert_.convert(t, tail.limbs.data(), tail.quotient.data(), j);
    ntt(t, t, kept_[j]);
  }
  kernels::active().sub_mul_scalar(dst, src, t, inverse_[j], input_.ring().transform_length(), kept_[j].mod());
}

}  // namespace ringforge::rlwe
