// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "mask_store.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "ringforge/error.hpp"
#include "scratch.hpp"

namespace ringforge::circuits {

MaskStore::MaskStore(Basis basis, Keep keep, std::size_t count)
    : basis_(std::move(basis)), keep_(keep), entries_(count) {}

std::size_t MaskStore::bytes_each(const Basis& basis, Keep keep) noexcept {
  return basis.ring().degree() * sizeof(u64) * (keep == Keep::limbs ? basis.size() : 1);
}

void MaskStore::put(std::size_t i, const i64* coefficients) {
  const std::size_t n = basis_.ring().degree();
  const auto& kern = kernels::active();
  Entry& e = entries_[i];
  // The largest power of two that divides the index of every coefficient that is not zero.
  std::size_t run = n;
  for (std::size_t x = 1; x < n && run > 1; ++x)
    if (coefficients[x] != 0) run = std::min(run, x & -x);
  if (run < 16) run = 1;
  e.run = run;
  if (keep_ == Keep::coefficients && run == 1) {
    e.kind = Kind::coefficients;
    e.words = WordBuffer(n);
    std::memcpy(e.words.data(), coefficients, n * sizeof(u64));
    return;
  }
  e.kind = Kind::limbs;
  e.words = WordBuffer(basis_.size() * (n / run));
  u64* t = scratch(n);
  for (std::size_t j = 0; j < basis_.size(); ++j) {
    u64* out = run == 1 ? e.words.data() + j * n : t;
    kern.reduce_signed(out, coefficients, n, basis_[j].mod());
    ntt(out, out, basis_[j]);
    if (run > 1)
      for (std::size_t x = 0; x < n / run; ++x) e.words.data()[j * (n / run) + x] = t[x * run];
  }
}

void MaskStore::complement(std::size_t i, std::size_t of, double scale) {
  Entry& e = entries_[i];
  e.kind = Kind::complement;
  e.of = of;
  // The encoded constant 1: every slot and so every word is the rounded scale.
  const auto rounded = static_cast<u64>(std::nearbyint(scale));
  for (std::size_t j = 0; j < basis_.size(); ++j) e.constant.push_back(rounded % basis_[j].value());
}

const u64* MaskStore::limb(std::size_t i, std::size_t j, u64* t) const {
  const Entry& e = entries_[i];
  const std::size_t n = basis_.ring().degree();
  const auto& kern = kernels::active();
  switch (e.kind) {
    case Kind::limbs: {
      const u64* words = e.words.data() + j * (n / e.run);
      if (e.run == 1) return words;
      for (std::size_t x = 0; x < n / e.run; ++x) std::fill_n(t + x * e.run, e.run, words[x]);
      return t;
    }
    case Kind::coefficients:
      kern.reduce_signed(t, reinterpret_cast<const i64*>(e.words.data()), n, basis_[j].mod());
      ntt(t, t, basis_[j]);
      return t;
    case Kind::complement: {
      const u64* other = limb(e.of, j, t);
      kern.neg(t, other, n, basis_[j].mod());
      kern.add_scalar(t, t, e.constant[j], n, basis_[j].mod());
      return t;
    }
    case Kind::none:
      break;
  }
  throw ShapeError("multiplier " + std::to_string(i) + " has not been encoded");
}

const u64* MaskStore::block(std::size_t i, std::size_t j, std::size_t first, std::size_t count, u64* t,
                            const u64* whole) const noexcept {
  const Entry& e = entries_[i];
  if (transforms(i)) return whole + first;
  if (e.kind == Kind::complement) {
    const auto& m = basis_[j].mod();
    kernels::active().neg(t, block(e.of, j, first, count, t, nullptr), count, m);
    kernels::active().add_scalar(t, t, e.constant[j], count, m);
    return t;
  }
  const u64* words = e.words.data() + j * (basis_.ring().degree() / e.run);
  if (e.run == 1) return words + first;
  for (std::size_t x = 0; x < count; x += e.run)
    std::fill_n(t + x, std::min(e.run, count - x), words[(first + x) / e.run]);
  return t;
}

std::size_t MaskStore::bytes() const noexcept {
  std::size_t words = 0;
  for (const auto& e : entries_) words += e.words.size();
  return words * sizeof(u64);
}

}  // namespace ringforge::circuits
