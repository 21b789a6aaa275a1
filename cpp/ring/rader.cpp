// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The tensor ring of index 65537: Rader's method in one dimension, as in tensor.cpp, of length 65536.
#include <algorithm>
#include <utility>
#include <vector>

#include "bits.hpp"
#include "limb_kernels.hpp"
#include "ref/arith.hpp"
#include "ringforge/rader_tables.hpp"
#include "room.hpp"
#include "tensor.hpp"

namespace ringforge {
namespace {

using arith::mul;

constexpr u64 kIndex = 65537, kGenerator = 3;
constexpr unsigned kLog = 16;
constexpr std::size_t kLength = std::size_t{1} << kLog, kRow = 8, kRows = kLength / kRow;
constexpr std::size_t kUpper = kRows / 16;  // rows of twiddle factors that are stored themselves

/// What a kernel takes for the constant c.
u64 quotient(u64 c, const kernels::Modulus& mod) {
  const bool fast = mod.bits <= kernels::kFastBits;
  if (c == 0) return ~u64{0} >> (fast ? 12 : 0);
  const auto f = kernels::make_factor(c, mod);
  return fast ? f.w52 : f.w64;
}

/// Twiddle factors by x, a root of order kLength or its inverse: those of block i, whatever the level.
std::vector<u64> block_powers(u64 x, const kernels::Modulus& mod) {
  std::vector<u64> powers(kLength / 2);
  u64 power = 1;
  for (std::size_t e = 0; e < powers.size(); ++e, power = mul(power, x, mod)) powers[reverse_bits(e, kLog - 1)] = power;
  return powers;
}

/// The factors of the levels within a row, and of the lanes but for the last level.
void fill(kernels::Factor (&lane)[4], u64* quotients, u64* twiddles, const std::vector<u64>& powers,
          const kernels::Modulus& mod) {
  for (std::size_t i = 0; i < 4; ++i) lane[i] = kernels::make_factor(powers[i], mod);
  std::fill_n(quotients, kRow, u64{0});
  std::fill_n(twiddles, kRow, u64{0});
  for (std::size_t m = 1; m < kRows / 2; m *= 2)
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < kRow; ++j) {
        const std::size_t at = kRow * (m + i) + j;
        const u64 c = powers[j * m + i];
        quotients[at] = quotient(c, mod);
        if (m < kUpper) twiddles[at] = c;
      }
}

class Rader final : public Transform<u64> {
 public:
  explicit Rader(const kernels::Modulus& mod) : tables_(mod) {}

  void forward(u64* dst, const u64* src) const noexcept override {
    kernels::rader_active().convolve(dst, src, tables_.table(), false);
  }
  void forward_lift(u64* dst, const u64* src, u64 p) const noexcept override {
    kernels::rader_active().convolve_lift(dst, src, p, tables_.table());
  }
  void inverse(u64* dst, const u64* src) const noexcept override {
    kernels::rader_active().convolve(dst, src, tables_.table(), true);
  }
  void product(u64* dst, const u64* a, const u64* b) const noexcept override {
    Room<u64> room(kLength, true);
    const u64* other = a == b ? dst : room.data();
    if (a != b) forward(room.data(), b);
    forward(dst, a);
    limb_kernels<u64>().mul(dst, dst, other, kLength, tables_.table().mod);
    inverse(dst, dst);
  }
  void forget() const noexcept override { Room<u64>::forget(); }
  void automorphism(u64* dst, const u64* src, u64 g) const noexcept override {
    const TensorShape shape(kIndex);
    const auto places = shape.places(g);
    for (std::size_t i = 0; i < kLength; ++i) dst[i] = src[shape.source(i, places)];
  }

 private:
  RaderTables tables_;
};

}  // namespace

RaderTables::RaderTables(const kernels::Modulus& mod) : storage_(4 * kLength + 2 * kRow * kUpper) {
  table_.n = kLength;
  table_.mod = mod;
  u64* at = storage_.data();
  const auto take = [&at](std::size_t words) { return std::exchange(at, at + words); };
  u64 *forward = take(kLength / 2), *inverse = take(kLength / 2);
  u64 *array = take(kLength / 2 * 3), *inverse_array = take(kLength / 2 * 3);
  u64 *upper = take(kRow * kUpper), *inverse_upper = take(kRow * kUpper);
  const u64 unity = smallest_root(kLength, mod);
  const auto powers = block_powers(unity, mod), inverse_powers = block_powers(arith::inverse(unity, mod), mod);
  fill(table_.lane, forward, upper, powers, mod);
  fill(table_.inverse_lane, inverse, inverse_upper, inverse_powers, mod);
  table_.forward_quotient = forward;
  table_.inverse_quotient = inverse;
  table_.forward_twiddle = upper;
  table_.inverse_twiddle = inverse_upper;
  table_.array = array;
  table_.inverse_array = inverse_array;

  // Entry w is root^(generator^-w): from the last one, each the cube of the next.
  std::vector<u64> sums(kLength);
  u64 x = tensor_root(kIndex, mod);
  for (std::size_t w = kLength; w-- > 0;) {
    static_assert(kGenerator == 3);
    x = mul(x, mul(x, x, mod), mod);
    sums[kRow * (w % kRows) + w / kRows] = x;
  }
  kernels::rader_transform(sums.data(), table_);
  // The last level's, of lane j in the pair r of rows.
  const auto factor = [](const std::vector<u64>& of, std::size_t r, std::size_t j) { return of[j * (kRows / 2) + r]; };
  for (std::size_t r = 0; r < kRows / 2; ++r)
    for (std::size_t j = 0; j < kRow; ++j) {
      u64 &a = sums[kRow * 2 * r + j], &b = sums[kRow * (2 * r + 1) + j];
      const u64 v = mul(b, factor(powers, r, j), mod);
      b = arith::sub(a, v, mod.q);
      a = arith::add(a, v, mod.q);
    }
  const u64 scale = arith::inverse(kLength, mod);
  const auto store = [&](u64* rows, const std::vector<u64>& entries) {
    for (std::size_t r = 0; r < kRows / 2; ++r, rows += 3 * kRow)
      for (std::size_t j = 0; j < kRow; ++j) {
        const u64 k = mul(entries[kRow * 2 * r + j], scale, mod), l = mul(entries[kRow * (2 * r + 1) + j], scale, mod);
        const u64 d = arith::sub(k, l, mod.q);
        rows[j] = quotient(arith::add(k, l, mod.q), mod);
        rows[kRow + j] = quotient(mul(d, factor(powers, r, j), mod), mod);
        rows[2 * kRow + j] = quotient(mul(d, factor(inverse_powers, r, j), mod), mod);
      }
  };
  store(array, sums);
  // Inverses of all from that of the product.
  std::vector<u64> products(kLength);
  u64 product = 1;
  for (std::size_t i = 0; i < kLength; ++i) {
    products[i] = product;
    product = mul(product, sums[i], mod);
  }
  product = arith::inverse(product, mod);
  for (std::size_t i = kLength; i-- > 0;) {
    products[i] = mul(products[i], product, mod);
    product = mul(product, sums[i], mod);
  }
  store(inverse_array, products);
}

std::unique_ptr<const Transform<u64>> make_rader_transform(const kernels::Modulus& mod) {
  return std::make_unique<Rader>(mod);
}

}  // namespace ringforge
