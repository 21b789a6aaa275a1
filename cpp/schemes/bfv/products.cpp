// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A product at l limbs and k auxiliary primes, B their product. All transforms are of one limb:
//
//   1. prime by prime of q: the three parts of the tensor product x, 3l inverse; operands, 4l inverse;
//   2. block by block of coefficients, while they are in the cache: operands are extended to b, centred;
//   3. prime by prime of b: 4k forward; the tensor product; 3k inverse;
//   4. block by block: r = t*x centred modulo Q, taken to b; y = (t*x - r)/Q modulo b, which is round(t*x/Q) exactly;
//      y centred modulo B, taken to q;
//   5. 3l forward.
//
// 7l + 3k inverse and 3l + 4k forward; a square has half the operands. |y| <= t*N*Q/2 must be below B/2.
// Constants are folded into tables: first factors of conversions, with t where r is made, into 1/N of the inverse
// transforms; 1/t into the rows that take r to b, so that x - r/t remains; t/Q with the first factors of the last
// conversion into one.
//
// Both conversions find their quotients in double precision; an error of one there replaces a centred representative
// near the edge by the one at the other edge, which shifts x by Q times a small polynomial, a multiple of the plaintext
// modulus after scaling, or |r| from Q/2 to Q/2 + 2^-44*Q: no noise beyond the rounding.
#include "products.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "ref/arith.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "ringforge/traffic.hpp"
#include "scratch.hpp"

namespace ringforge::bfv {
namespace {

constexpr std::size_t kBlock = 512;  // coefficients of a block: its residues stay in the second-level cache
constexpr std::size_t kPad = 72;     // words between limbs or rows of a block: not all in the same cache sets
constexpr std::size_t kRow = kBlock + kPad;
constexpr std::size_t kMost = 64;  // sources of a base conversion

/// The inverse transform that multiplies by `factor` as well.
kernels::NttTable times(u64 factor, const Prime& prime) {
  kernels::NttTable t = prime.table();
  t.n_inv = kernels::make_factor(arith::mul(t.n_inv.w, factor, t.mod), t.mod);
  t.n_inv_w = kernels::make_factor(arith::mul(t.n_inv_w.w, factor, t.mod), t.mod);
  return t;
}

void intt_times(u64* dst, const u64* src, const kernels::NttTable& table) noexcept {
  count({.intt = 1});
  kernels::active().ntt_inverse(dst, src, table);
}

u64 product_of(const Basis& b, const kernels::Modulus& m, std::size_t without) {
  u64 r = 1;
  for (std::size_t i = 0; i < b.size(); ++i)
    if (i != without) r = arith::mul(r, arith::reduce64(b[i].value(), m), m);
  return r;
}

}  // namespace

Products::Conversion::Conversion(const Basis& from, const Basis& to, const std::vector<u64>& scale) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    bits = std::max(bits, from[i].mod().bits);
    inverse.push_back(1.0 / static_cast<double>(from[i].value()));
  }
  for (std::size_t j = 0; j < to.size(); ++j) {
    const auto& m = to[j].mod();
    for (std::size_t i = 0; i < from.size(); ++i) rows.push_back(arith::mul(product_of(from, m, i), scale[j], m));
    product.push_back(arith::mul(product_of(from, m, from.size()), scale[j], m));
  }
}

void Products::Conversion::quotient(u64* v, const u64* const* y, std::size_t n) const noexcept {
  kernels::active().convert_quotient(v, y, inverse.data(), inverse.size(), n);
}

void Products::Conversion::convert(u64* dst, const u64* const* y, const u64* v, std::size_t j, std::size_t n,
                                   const kernels::Modulus& m) const noexcept {
  const std::size_t k = inverse.size();
  kernels::active().base_convert(dst, y, rows.data() + j * k, k, bits, v, product[j], n, m);
}

Products::Products(const Parameters& params, const rlwe::Gadget& gadget) : q_(gadget.q()) {
  const Ring& ring = q_.ring();
  // Special primes serve first: their tables exist. Others are as large as the fast path takes, unless so many limbs
  // are there, or so large ones, that more than a conversion takes would be needed.
  const double beyond = std::log2(static_cast<double>(params.t())) + static_cast<double>(params.spec().log_n) + 0.01;
  std::vector<u64> taken = params.spec().q;
  taken.insert(taken.end(), params.spec().p.begin(), params.spec().p.end());
  const bool fast = q_.size() < 60 && std::all_of(taken.begin(), taken.end(), [](u64 p) { return p >> 50 == 0; });
  std::vector<u64> primes = params.spec().p;
  if (!fast) primes.clear();
  if (primes.size() < q_.size() + 2) {
    const auto more = primes_below(fast ? kernels::kFastBits : kernels::kMaxBits, q_.size() + 2 - primes.size(),
                                   std::max(u64{1} << 18, ring.prime_step()), taken);
    primes.insert(primes.end(), more.begin(), more.end());
  }
  const auto count_for = [&](std::size_t limbs) {
    double need = params.log_q(limbs) + beyond;
    std::size_t k = 0;
    for (; need > 0 && k < primes.size(); ++k) need -= std::log2(static_cast<double>(primes[k]));
    return need > 0 ? primes.size() + 1 : k;
  };
  while (count_for(q_.size()) > primes.size()) {
    std::vector<u64> all = taken;
    all.insert(all.end(), primes.begin(), primes.end());
    primes.push_back(primes_below(fast ? kernels::kFastBits : kernels::kMaxBits, 1,
                                  std::max(u64{1} << 18, ring.prime_step()), all)[0]);
  }
  if (count_for(q_.size()) > kMost)
    throw ParameterError("products of " + std::to_string(q_.size()) + " limbs need more than " + std::to_string(kMost) +
                         " auxiliary primes: use fewer or smaller primes");
  primes.resize(count_for(q_.size()));
  aux_ = Basis(ring, primes);

  for (std::size_t limbs = 1; limbs <= q_.size(); ++limbs) {
    Level level;
    level.aux = count_for(limbs);
    const Basis q = q_.prefix(limbs), aux = aux_.prefix(level.aux);
    std::vector<u64> ones(std::max(limbs, level.aux), 1), over_t;
    for (std::size_t j = 0; j < aux.size(); ++j) {
      const auto& m = aux[j].mod();
      const u64 t = arith::reduce64(params.t(), m);
      over_t.push_back(arith::inverse(t, m));
      const u64 below = arith::mul(product_of(q, m, q.size()), product_of(aux, m, j), m);
      level.divided.push_back(kernels::make_factor(arith::mul(t, arith::inverse(below, m), m), m));
    }
    for (std::size_t i = 0; i < limbs; ++i) {
      const auto& m = q[i].mod();
      const u64 hat = arith::inverse(product_of(q, m, i), m);
      level.extended.push_back(times(hat, q[i]));
      level.scaled.push_back(times(arith::mul(hat, arith::reduce64(params.t(), m), m), q[i]));
    }
    level.extend = Conversion(q, aux, ones);
    level.scale = Conversion(q, aux, over_t);
    level.back = Conversion(aux, q, ones);
    levels_.push_back(std::move(level));
  }
}

rlwe::Ciphertext Products::multiply(const rlwe::Ciphertext& a, const rlwe::Ciphertext* b, unsigned threads) const {
  const std::size_t limbs = a.limbs(), n = q_.ring().degree(), blocks = n / kBlock;
  const Level& level = levels_[limbs - 1];
  const std::size_t aux = level.aux;
  const auto& kern = kernels::active();
  std::array<const Poly<Eval>*, 4> operands{&a.parts[0], &a.parts[1], nullptr, nullptr};
  if (b != nullptr) operands = {&a.parts[0], &a.parts[1], &b->parts[0], &b->parts[1]};
  const std::size_t count = b != nullptr ? 4 : 2;

  // x[0] and x[2] may be f[0] and f[1] in place; the middle part is left in `cross`.
  const auto tensor = [&](u64* x0, u64* x2, u64* cross, const std::array<const u64*, 4>& f, const kernels::Modulus& m) {
    kern.mul(cross, f[0], f[count - 1], n, m);
    if (b != nullptr)
      kern.mul_add(cross, f[1], f[2], n, m);
    else
      kern.add(cross, cross, cross, n, m);
    kern.mul(x0, f[0], f[b != nullptr ? 2 : 0], n, m);
    kern.mul(x2, f[1], f[count - 1], n, m);
  };
  const std::size_t stride = n + kPad;
  const auto limbs_of = [&](std::size_t size) { return WordBuffer(size * stride); };

  // 1.
  std::array<WordBuffer, 3> x;  // over q
  for (auto& part : x) part = limbs_of(limbs);
  std::array<WordBuffer, 4> wide;  // operands over b, then x over b
  for (std::size_t p = 0; p < std::max<std::size_t>(count, 3); ++p) wide[p] = limbs_of(aux);
  {
    std::array<WordBuffer, 4> plain;  // operands over q
    for (std::size_t p = 0; p < count; ++p) plain[p] = limbs_of(limbs);
    parallel_for(threads, limbs, [&](std::size_t i) {
      std::array<const u64*, 4> f{};
      for (std::size_t p = 0; p < count; ++p) f[p] = operands[p]->limb(i);
      u64* cross = scratch(n);
      std::array<u64*, 3> to;
      for (std::size_t p = 0; p < 3; ++p) to[p] = x[p].data() + i * stride;
      tensor(to[0], to[2], cross, f, q_[i].mod());
      intt_times(to[0], to[0], level.scaled[i]);
      intt_times(to[1], cross, level.scaled[i]);
      intt_times(to[2], to[2], level.scaled[i]);
      for (std::size_t p = 0; p < count; ++p) intt_times(plain[p].data() + i * stride, f[p], level.extended[i]);
    });

    // 2.
    parallel_for(threads, count * blocks, [&](std::size_t w) {
      const std::size_t p = w / blocks, at = w % blocks * kBlock;
      u64* v = scratch(kBlock);
      std::array<const u64*, kMost> y;
      for (std::size_t i = 0; i < limbs; ++i) y[i] = plain[p].data() + i * stride + at;
      level.extend.quotient(v, y.data(), kBlock);
      for (std::size_t j = 0; j < aux; ++j)
        level.extend.convert(wide[p].data() + j * stride + at, y.data(), v, j, kBlock, aux_[j].mod());
    });
  }

  // 3.
  parallel_for(threads, aux, [&](std::size_t j) {
    std::array<u64*, 4> f{};
    std::array<const u64*, 4> factors{};
    for (std::size_t p = 0; p < count; ++p) {
      factors[p] = f[p] = wide[p].data() + j * stride;
      ntt(f[p], f[p], aux_[j]);
    }
    u64* cross = scratch(n);
    u64* last = wide[2].data() + j * stride;
    tensor(f[0], f[1], cross, factors, aux_[j].mod());
    intt(f[0], f[0], aux_[j]);
    intt(last, f[1], aux_[j]);
    intt(f[1], cross, aux_[j]);
  });

  // 4.
  rlwe::Ciphertext out;
  out.key_id = a.key_id;
  for (int i = 0; i < 3; ++i) out.parts.emplace_back(a.parts[0].basis());
  parallel_for(threads, 3 * blocks, [&](std::size_t w) {
    const std::size_t part = w / blocks, at = w % blocks * kBlock;
    u64* rows = scratch((aux + 1) * kRow);
    u64* v = rows + aux * kRow;
    std::array<const u64*, kMost> y, z;
    for (std::size_t i = 0; i < limbs; ++i) y[i] = x[part].data() + i * stride + at;
    level.scale.quotient(v, y.data(), kBlock);
    for (std::size_t j = 0; j < aux; ++j) {
      const auto& m = aux_[j].mod();
      u64* row = rows + j * kRow;
      level.scale.convert(row, y.data(), v, j, kBlock, m);
      kern.sub_mul_scalar(row, wide[part].data() + j * stride + at, row, level.divided[j], kBlock, m);
      z[j] = row;
    }
    level.back.quotient(v, z.data(), kBlock);
    for (std::size_t i = 0; i < limbs; ++i)
      level.back.convert(out.parts[part].limb(i) + at, z.data(), v, i, kBlock, q_[i].mod());
  });

  // 5.
  parallel_for(threads, 3 * limbs, [&](std::size_t w) {
    u64* limb = out.parts[w / limbs].limb(w % limbs);
    ntt(limb, limb, q_[w % limbs]);
  });
  move_limbs(count * limbs, 3 * limbs, n);
  return out;
}

}  // namespace ringforge::bfv
