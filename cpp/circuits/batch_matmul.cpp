// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Batches of products. With Y = X^d, a batch is a d x d matrix over Z[Y]/(Y^(N/d) + 1), and a ciphertext is one
// line of it.
//
// In Eval form the N positions fall into N/d classes of d neighbours: psi^e and psi^f are in one class when
// e = f modulo 2N/d, that is when Y is the same there. The elements g_u = 1 + (2N/d)*u, which fix Y, move
// positions within their class only, and take any one to any other. With P_s, P_t two positions of a class,
// column k of M at P_s is M(P_s, k) = sum_i P_s^i*M[i,k], and row k of M' at P_t is M'(k, P_t). Hence
//
//   sum_k M(P_s, k)*M'(k, P_t) = (M*M')(P_s, P_t) =: E[s,t]:
//
// one d x d matrix product for each class gives the product at every pair of positions, straight from
// ciphertexts in Eval form. Pairs with P_t = P_s^(g_u) are the values of a polynomial at P_s: "diagonal" u of E,
// kept here by its position t, before the automorphism. With phases b + s*a its phase is fb + s*fa + s"*lb +
// s"*s*la, where s" is the inverse image of s. Key switches and the automorphism bring it under s. Then column j
// of the product is an inverse transform along t in each class: the first log2 d stages of an inverse NTT.
#include "ringforge/circuits/batch_matmul.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "ref/arith.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"
#include "scratch.hpp"

namespace ringforge::circuits {

using ckks::GaloisKeys;
using ckks::KeySet;
using ckks::MetadataRules;
using ckks::RelinKey;
using rlwe::DigitSource;
using rlwe::Gadget;
using rlwe::ModulusDrop;
using rlwe::SwitchingKey;

namespace {

/// Words of a cache line: columns of a tile that are gathered together, and what is added to the distance of its
/// rows, so that the rows' lines do not fall into a few sets of the cache.
constexpr std::size_t kLine = 8;

class Stopwatch {
 public:
  /// Seconds since the start or the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Every digit modulo prime j of the extended basis; those that must be made are made in `room`.
void digits_at(const DigitSource& source, std::size_t j, WordBuffer& room, std::vector<const u64*>& out) {
  const std::size_t n = room.size() / source.digits();
  out.resize(source.digits());
  for (std::size_t d = 0; d < out.size(); ++d) {
    out[d] = source.own(d, j);
    if (out[d] != nullptr) continue;
    source.limb(room.data() + d * n, d, j);
    out[d] = room.data() + d * n;
  }
}

/// (out0, out1) += digits * key at prime j of the extended basis of `limbs` limbs.
void add_key_product(u64* out0, u64* out1, const std::vector<const u64*>& digits, const SwitchingKey& key,
                     const Basis& ext, std::size_t limbs, std::size_t j) {
  const std::size_t in_key = j < limbs ? j : key.limbs + j - limbs;
  std::vector<const u64*> b, a;
  for (std::size_t d = 0; d < digits.size(); ++d) {
    b.push_back(key.b[d].limb(in_key));
    a.push_back(key.a[d].limb(in_key));
  }
  kernels::active().dot2(out0, out1, digits.data(), b.data(), a.data(), digits.size(), true, ext.ring().degree(),
                         ext[j].mod());
}

using Places = std::array<u32, kLine>;

/// body(k) for k < count <= kLine; the usual count is known to the compiler.
template <class Body>
void up_to_line(std::size_t count, const Body& body) {
  if (count == kLine)
    for (std::size_t k = 0; k < kLine; ++k) body(k);
  else
    for (std::size_t k = 0; k < count; ++k) body(k);
}
void gather(u64* dst, const u64* src, const Places& at, std::size_t count) {
  up_to_line(count, [&](std::size_t k) { dst[k] = src[at[k]]; });
}
void scatter(u64* dst, const u64* src, const Places& at, std::size_t count) {
  up_to_line(count, [&](std::size_t k) { dst[at[k]] = src[k]; });
}

/// body(limb, class) for all; neighbouring classes mostly by one thread, one after the other, so that it can fetch
/// lines ahead: the many polynomials are more streams than the hardware follows.
void for_classes(unsigned threads, std::size_t limbs, std::size_t classes,
                 const std::function<void(std::size_t, std::size_t)>& body) {
  const std::size_t runs = std::min<std::size_t>(classes, 16);
  parallel_for(threads, limbs * runs, [&](std::size_t task) {
    const std::size_t first = task % runs * (classes / runs);
    for (std::size_t c = first; c < first + classes / runs; ++c) body(task / runs, c);
  });
}

kernels::Factor factor_at(const u64* w, const u64* w64, const u64* w52, std::size_t i) {
  return {w[i], w64[i], w52 == nullptr ? 0 : w52[i]};
}

}  // namespace

// Where automorphism u takes `kLine` positions of a class from `block` on, in a tile with a row for each position
// and rows `stride` apart: row of the image, column of the position.
std::size_t BatchMatmul::images(std::array<u32, 8>& at, std::size_t first, std::size_t block, std::size_t u,
                                std::size_t stride) const noexcept {
  static_assert(kLine == 8);
  const std::size_t count = std::min(kLine, dim_ - block);
  const u32 *reversed = reversed_.data(), *exponent = exponent_.data() + first;
  up_to_line(count, [&](std::size_t k) {
    const std::size_t t = block + k, row = reversed[(reversed[t] + u * exponent[t]) & (dim_ - 1)];
    at[k] = static_cast<u32>(row * stride + t);
  });
  return count;
}

// ---- phases ---------------------------------------------------------------------------------------

std::vector<BatchMatmul::Diagonal> BatchMatmul::products(const MatrixBatch& left, const MatrixBatch& right,
                                                         unsigned threads, BatchMatmulReport& report) const {
  const Basis basis = left.lines[0].parts[0].basis();
  const std::size_t limbs = basis.size(), n = ctx_->params().degree(), d = dim_, classes = n / d;
  const std::size_t padded = std::max(d, kPad), stride = padded + kLine;
  const auto& kern = kernels::active();
  std::vector<Diagonal> out(d);
  for (auto& o : out) o = {Poly<Eval>(basis), Poly<Eval>(basis), Poly<Eval>(basis), Poly<Eval>(basis)};
  std::atomic<u64> multiply_adds{0};
  for_classes(threads, limbs, classes, [&](std::size_t i, std::size_t cls) {
    const std::size_t first = cls * d, ahead = cls + 1 < classes ? d : 0;
    const auto& m = basis[i].mod();
    // Row k of `x`: both parts of column k on the left; of `yb` and `ya`: b and a of row k on the right.
    const std::size_t panel = d * padded, half = padded * stride;
    u64 *x = scratch(4 * panel + 4 * half), *yb = x + 2 * panel, *ya = yb + panel, *eb = ya + panel,
        *ea = eb + 2 * half;
    if (padded != d) std::memset(x, 0, 4 * panel * sizeof(u64));
    for (std::size_t k = 0; k < d; ++k) {
      const auto &l = left.lines[k].parts, &r = right.lines[k].parts;
      std::memcpy(x + 2 * k * padded, l[0].limb(i) + first, d * sizeof(u64));
      std::memcpy(x + (2 * k + 1) * padded, l[1].limb(i) + first, d * sizeof(u64));
      std::memcpy(yb + k * padded, r[0].limb(i) + first, d * sizeof(u64));
      std::memcpy(ya + k * padded, r[1].limb(i) + first, d * sizeof(u64));
    }
    // 1/d of the last transform comes first, where it multiplies no noise; what is not switched needs the factor P.
    kern.mul_scalar(x, x, kernels::make_factor(arith::inverse(d, m), m), 2 * panel, m);
    kern.mul_scalar(yb, yb, ctx_->gadget().p_factor(i), panel, m);
    kern.matmul(eb, stride, x, yb, 2 * padded, padded, d, m);
    kern.matmul(ea, stride, x, ya, 2 * padded, padded, d, m);
    multiply_adds += 4 * padded * padded * d;
    Places at;
    for (std::size_t block = 0; block < d; block += kLine)
      for (std::size_t u = 0; u < d; ++u) {
        const std::size_t size = images(at, first, block, inverse_[u], stride);
        const std::size_t here = first + block, next = here + (block + kLine < d ? kLine : ahead);
        for (auto* o : {&out[u].fb, &out[u].lb, &out[u].fa, &out[u].la}) __builtin_prefetch(o->limb(i) + next, 1);
        for (const auto* b : {&left, &right})
          for (const auto& part : b->lines[u].parts) __builtin_prefetch(part.limb(i) + here + ahead);
        gather(out[u].fb.limb(i) + first + block, eb, at, size);
        gather(out[u].lb.limb(i) + first + block, eb + half, at, size);
        gather(out[u].fa.limb(i) + first + block, ea, at, size);
        gather(out[u].la.limb(i) + first + block, ea + half, at, size);
      }
  });
  report.multiply_adds += multiply_adds;
  return out;
}

// Switching fa and la from s to s" gives the phase fb + (u0) + s"*(lb + u1 + v0) + s"^2*v1, all over Q and P but for
// v1, which must be divided by P to be relinearised. The automorphism turns s" into s.
BatchMatmul::Pair BatchMatmul::switch_diagonal(Diagonal&& x, std::size_t u, const SwitchingKey* galois,
                                               const RelinKey& relin) const {
  const Gadget& gadget = ctx_->gadget();
  const auto& kern = kernels::active();
  const std::size_t limbs = x.fb.limbs(), n = ctx_->params().degree();
  const Basis& ext = gadget.extended(limbs);
  Pair out{Poly<Eval>(ext), Poly<Eval>(ext)};
  std::vector<const u64*> digits;
  WordBuffer room(gadget.digits(limbs) * n);
  Poly<Eval> square_part;
  if (galois == nullptr) {
    for (std::size_t j = 0; j < limbs; ++j) {
      std::memcpy(out[0].limb(j), x.fb.limb(j), n * sizeof(u64));
      kern.mul_scalar(out[1].limb(j), x.fa.limb(j), gadget.p_factor(j), n, ext[j].mod());
      kern.add(out[1].limb(j), out[1].limb(j), x.lb.limb(j), n, ext[j].mod());
    }
    for (std::size_t j = limbs; j < ext.size(); ++j)
      for (auto& part : out) std::memset(part.limb(j), 0, n * sizeof(u64));
    square_part = std::move(x.la);
  } else {
    const auto index = ctx_->ring().eval_index(element(u));
    const DigitSource fa(x.fa, gadget), la(x.la, gadget);
    WordBuffer special(2 * n);
    Poly<Eval> v1(ext);
    v1.zero();
    for (std::size_t j = 0; j < ext.size(); ++j) {
      if (j >= limbs) special.zero();
      u64 *c0 = j < limbs ? x.fb.limb(j) : special.data(), *c1 = j < limbs ? x.lb.limb(j) : special.data() + n;
      digits_at(fa, j, room, digits);
      add_key_product(c0, c1, digits, *galois, ext, limbs, j);
      digits_at(la, j, room, digits);
      add_key_product(c1, v1.limb(j), digits, *galois, ext, limbs, j);
      kern.automorphism_eval(out[0].limb(j), c0, index->data(), n);
      kern.automorphism_eval(out[1].limb(j), c1, index->data(), n);
    }
    const Poly<Eval> divided = gadget.mod_down(limbs).apply(v1);
    square_part = Poly<Eval>(divided.basis());
    for (std::size_t j = 0; j < limbs; ++j)
      kern.automorphism_eval(square_part.limb(j), divided.limb(j), index->data(), n);
    // Both products read each limb of the key while it is in the cache: its bytes count once.
    count({.key_switch = 2, .rotation = 1, .key_bytes = gadget.key_bytes(limbs)});
  }
  x = {};
  const DigitSource last(square_part, gadget);
  for (std::size_t j = 0; j < ext.size(); ++j) {
    digits_at(last, j, room, digits);
    add_key_product(out[0].limb(j), out[1].limb(j), digits, relin.key(), ext, limbs, j);
  }
  count({.key_switch = 1, .key_bytes = gadget.key_bytes(limbs)});
  return out;
}

void BatchMatmul::to_lines(std::vector<Pair>& values, unsigned threads, BatchMatmulReport& report) const {
  const Basis& basis = values[0][0].basis();
  const std::size_t limbs = basis.size(), n = ctx_->params().degree(), d = dim_, classes = n / d;
  const std::size_t width = std::max(2 * d, kPad), stride = width + kLine;  // both parts side by side
  const auto& kern = kernels::active();
  std::atomic<u64> butterflies{0};
  for_classes(threads, limbs, classes, [&](std::size_t i, std::size_t cls) {
    const std::size_t first = cls * d, ahead = cls + 1 < classes ? d : 0;
    const Prime& prime = basis[i];
    const kernels::NttTable& table = prime.table();
    u64* tile = scratch((d + 1) * stride);
    Places at;
    for (std::size_t block = 0; block < d; block += kLine)
      for (std::size_t u = 0; u < d; ++u) {
        const std::size_t size = images(at, first, block, u, stride);
        for (const auto& part : values[u]) __builtin_prefetch(part.limb(i) + first + block + ahead);
        scatter(tile, values[u][0].limb(i) + first + block, at, size);
        scatter(tile + d, values[u][1].limb(i) + first + block, at, size);
      }
    // Rows are exchanged with a spare one, so that no row is copied.
    std::vector<u64*> row(d + 1);
    for (std::size_t r = 0; r <= d; ++r) row[r] = tile + r * stride;
    for (std::size_t m = d / 2, len = 1; m >= 1; m /= 2, len *= 2)
      for (std::size_t block = 0; block < m; ++block) {
        const kernels::Factor w = factor_at(table.iw, table.iw64, table.iw52, m * (classes + cls) + block);
        for (std::size_t r = 2 * block * len; r < (2 * block + 1) * len; ++r) {
          kern.sub_mul_scalar(row[d], row[r], row[r + len], w, width, prime.mod());
          kern.add(row[r], row[r], row[r + len], width, prime.mod());
          std::swap(row[d], row[r + len]);
        }
      }
    butterflies += d * d * log_dim_;
    for (std::size_t j = 0; j < d; ++j)
      for (std::size_t part = 0; part < 2; ++part)
        std::memcpy(values[j][part].limb(i) + first, row[j] + part * d, d * sizeof(u64));
  });
  report.butterflies += butterflies;
}

// ---- products -------------------------------------------------------------------------------------

MatrixBatch BatchMatmul::multiply(const MatrixBatch& left, const MatrixBatch& right, const KeySet& given, Lines result,
                                  unsigned threads, BatchMatmulReport* report) const {
  const KeySet held(given);  // what the run uses, whatever is erased meanwhile
  const GaloisKeys& galois = held.galois();
  const RelinKey& relin = held.relin();
  check_operands(left, right, relin);
  const auto keys = keys_of(galois, left);
  BatchMatmulReport total, part;
  MatrixBatch converted[2];
  const MatrixBatch *x = &left, *y = &right;
  if (left.by != Lines::columns) {
    x = &(converted[0] = convert(left, Lines::columns, galois, threads, &part));
    total += part;
  }
  if (right.by != Lines::rows) {
    y = &(converted[1] = convert(right, Lines::rows, galois, threads, &part));
    total += part;
  }

  // By rows, the result is that of the transposed operands by columns: these are the same ciphertexts.
  Stopwatch watch;
  part = {};
  auto diagonals = result == Lines::columns ? products(*x, *y, threads, part) : products(*y, *x, threads, part);
  part.products = watch.lap();
  std::vector<Pair> values(dim_);
  parallel_for(threads, dim_,
               [&](std::size_t u) { values[u] = switch_diagonal(std::move(diagonals[u]), u, keys[u].get(), relin); });
  part.switching = watch.lap();
  to_lines(values, threads, part);
  part.transform = watch.lap();
  const auto [variance, spread] = predict(*x, *y);
  const double fl = float_error(left), fr = float_error(right);
  const double lost = static_cast<double>(dim_) * (fl * right.bound + fr * left.bound + fl * fr);
  MatrixBatch out =
      described(left, result, product_scale(left, right), product_bound(left, right), variance, spread, lost);
  divide(out, values, ctx_->gadget().mod_down_rescale(left.level() + 1), threads);
  part.division = watch.lap();
  if (report != nullptr) *report = total += part;
  return out;
}

void BatchMatmul::divide(MatrixBatch& out, std::vector<Pair>& values, const ModulusDrop& drop, unsigned threads) const {
  parallel_for(threads, dim_, [&](std::size_t j) {
    for (auto& part : values[j]) {
      out.lines[j].parts.push_back(drop.apply(part));
      part = {};
    }
  });
}

// ---- conversion -----------------------------------------------------------------------------------

// The forward transform along the lines gives M at all pairs of positions, which the inverse one takes apart along the
// other side. Diagonal u is kept by the position where its phase is under s; values move by the automorphism.
std::vector<BatchMatmul::Pair> BatchMatmul::diagonals_of(const MatrixBatch& batch, unsigned threads,
                                                         BatchMatmulReport& report) const {
  const Basis basis = batch.lines[0].parts[0].basis();
  const std::size_t limbs = basis.size(), n = ctx_->params().degree(), d = dim_, classes = n / d;
  const std::size_t width = std::max(2 * d, kPad), stride = width + kLine;
  const auto& kern = kernels::active();
  std::vector<Pair> out(d);
  for (auto& o : out) o = {Poly<Eval>(basis), Poly<Eval>(basis)};
  std::atomic<u64> butterflies{0};
  for_classes(threads, limbs, classes, [&](std::size_t i, std::size_t cls) {
    const std::size_t first = cls * d;
    const Prime& prime = basis[i];
    const kernels::NttTable& table = prime.table();
    u64 *tile = scratch((d + 1) * stride), *spare = tile + d * stride;
    if (width != 2 * d) std::memset(tile, 0, d * stride * sizeof(u64));
    for (std::size_t j = 0; j < d; ++j)
      for (std::size_t part = 0; part < 2; ++part)
        std::memcpy(tile + j * stride + part * d, batch.lines[j].parts[part].limb(i) + first, d * sizeof(u64));
    const kernels::Factor d_inverse = kernels::make_factor(arith::inverse(d, prime.mod()), prime.mod());
    for (std::size_t j = 0; j < d; ++j)
      kern.mul_scalar(tile + j * stride, tile + j * stride, d_inverse, width, prime.mod());
    for (std::size_t m = 1, len = d / 2; m < d; m *= 2, len /= 2)
      for (std::size_t block = 0; block < m; ++block) {
        const kernels::Factor w = factor_at(table.w, table.w64, table.w52, m * (classes + cls) + block);
        for (std::size_t r = 2 * block * len; r < (2 * block + 1) * len; ++r) {
          u64 *x = tile + r * stride, *y = x + len * stride;
          kern.mul_scalar(spare, y, w, width, prime.mod());
          kern.sub(y, x, spare, width, prime.mod());
          kern.add(x, x, spare, width, prime.mod());
        }
      }
    butterflies += d * d * log_dim_;
    Places at;
    for (std::size_t block = 0; block < d; block += kLine)
      for (std::size_t u = 0; u < d; ++u) {
        const std::size_t size = images(at, first, block, inverse_[u], stride);
        gather(out[u][0].limb(i) + first + block, tile, at, size);
        gather(out[u][1].limb(i) + first + block, tile + d, at, size);
      }
  });
  report.butterflies += butterflies;
  return out;
}

BatchMatmul::Pair BatchMatmul::switch_part(Pair&& x, std::size_t u, const SwitchingKey* galois) const {
  const Gadget& gadget = ctx_->gadget();
  const auto& kern = kernels::active();
  const std::size_t limbs = x[0].limbs(), n = ctx_->params().degree();
  const Basis& ext = gadget.extended(limbs);
  const auto times_p = [&](u64* to, const u64* from, std::size_t j) {
    if (j < limbs)
      kern.mul_scalar(to, from, gadget.p_factor(j), n, ext[j].mod());
    else
      std::memset(to, 0, n * sizeof(u64));
  };
  const auto own = [&](int part, std::size_t j) { return j < limbs ? x[part].limb(j) : nullptr; };
  Pair out{Poly<Eval>(ext), Poly<Eval>(ext)};
  if (galois == nullptr) {
    for (int part = 0; part < 2; ++part)
      for (std::size_t j = 0; j < ext.size(); ++j) times_p(out[part].limb(j), own(part, j), j);
    return out;
  }
  const auto index = ctx_->ring().eval_index(element(u));
  const DigitSource a(x[1], gadget);
  WordBuffer room(a.digits() * n), sums(2 * n);
  std::vector<const u64*> digits;
  for (std::size_t j = 0; j < ext.size(); ++j) {
    sums.zero();
    times_p(sums.data(), own(0, j), j);
    digits_at(a, j, room, digits);
    add_key_product(sums.data(), sums.data() + n, digits, *galois, ext, limbs, j);
    kern.automorphism_eval(out[0].limb(j), sums.data(), index->data(), n);
    kern.automorphism_eval(out[1].limb(j), sums.data() + n, index->data(), n);
  }
  count({.key_switch = 1, .rotation = 1, .key_bytes = gadget.key_bytes(limbs)});
  return out;
}

MatrixBatch BatchMatmul::convert(const MatrixBatch& batch, Lines to, const GaloisKeys& galois, unsigned threads,
                                 BatchMatmulReport* report) const {
  check(batch);
  BatchMatmulReport r;
  if (batch.by == to) {
    if (report != nullptr) *report = r;
    return batch;
  }
  const auto keys = keys_of(galois, batch);
  const Gadget& gadget = ctx_->gadget();
  const std::size_t limbs = batch.level() + 1;

  Stopwatch watch;
  auto values = diagonals_of(batch, threads, r);
  r.transform = watch.lap();
  parallel_for(threads, dim_, [&](std::size_t u) { values[u] = switch_part(std::move(values[u]), u, keys[u].get()); });
  r.switching = watch.lap();
  to_lines(values, threads, r);
  r.transform += watch.lap();

  double variance = 0, spread = 1;
  for (const auto& c : batch.lines) {
    variance = std::max(variance, c.variance);
    spread = std::max(spread, c.spread);
  }
  const double added = static_cast<double>(dim_ - 1) * gadget.switch_variance(limbs) + MetadataRules(ctx_).rounding();
  MatrixBatch out = described(batch, to, batch.scale(), batch.bound, variance + added,
                              (variance * spread + added) / (variance + added), float_error(batch));
  divide(out, values, gadget.mod_down(limbs), threads);
  r.division = watch.lap();
  if (report != nullptr) *report = r;
  return out;
}

}  // namespace ringforge::circuits
