// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/small_tables.hpp"

#include <string>

#include "ringforge/error.hpp"

namespace ringforge {
namespace {

constexpr unsigned kMinLog = 8, kMaxLog = 12;
constexpr unsigned kCentredBits = 54;

std::shared_ptr<const Prime> checked_prime(u64 q, unsigned log_n, unsigned max_bits) {
  if (log_n < kMinLog || log_n > kMaxLog)
    throw ParameterError("log2 of the ring degree is " + std::to_string(log_n) + "; small rings have " +
                         std::to_string(kMinLog) + " to " + std::to_string(kMaxLog));
  if (q >= u64{1} << max_bits)
    throw ParameterError("modulus " + std::to_string(q) + " must be below 2^" + std::to_string(max_bits) +
                         "; use 64-bit words for larger ones");
  return Prime::get(q, Ring::negacyclic(log_n));
}

}  // namespace

template <>
SmallTables<u64>::SmallTables(u64 q, unsigned log_n) : prime_(checked_prime(q, log_n, kernels::kMaxBits)) {
  const kernels::NttTable& t = prime_->table();
  ntt_ = {t.n, log_n, q, t.mod, t.w, t.w64, t.iw, t.iw64, t.n_inv.w, t.n_inv.w64, t.n_inv_w.w, t.n_inv_w.w64, t};
  if (t.mod.bits <= kernels::kFastBits || t.mod.bits > kCentredBits) return;
  const std::size_t n = t.n;
  storage_ = WordBuffer(4 * n);
  u64 *cw = storage_.data(), *icw = cw + n;
  double *cf = reinterpret_cast<double*>(icw + n), *icf = cf + n;
  const auto centred = [q](u64 w, u64& c, double& f) {
    c = w > q / 2 ? w - q : w;
    f = static_cast<double>(static_cast<long double>(static_cast<i64>(c)) / static_cast<long double>(q));
  };
  for (std::size_t i = 0; i < n; ++i) {
    centred(t.w[i], cw[i], cf[i]);
    centred(t.iw[i], icw[i], icf[i]);
  }
  ntt_.cw = cw;
  ntt_.icw = icw;
  ntt_.cf = cf;
  ntt_.icf = icf;
}

template <>
SmallTables<u32>::SmallTables(u32 q, unsigned log_n) : prime_(checked_prime(q, log_n, 31)) {
  const kernels::NttTable& t = prime_->table();
  const std::size_t n = t.n;
  const auto low = [](u64 w) { return static_cast<u32>(w); };
  // floor(w * 2^32 / q) is the high half of floor(w * 2^64 / q).
  const auto high = [](u64 w) { return static_cast<u32>(w >> 32); };
  storage_ = WordBuffer(2 * n);
  u32* w = reinterpret_cast<u32*>(storage_.data());
  u32 *ws = w + n, *iw = ws + n, *iws = iw + n;
  for (std::size_t i = 0; i < n; ++i) {
    w[i] = low(t.w[i]);
    ws[i] = high(t.w64[i]);
    iw[i] = low(t.iw[i]);
    iws[i] = high(t.iw64[i]);
  }
  ntt_.n = n;
  ntt_.log_n = log_n;
  ntt_.q = q;
  ntt_.mod = t.mod;
  ntt_.w = w;
  ntt_.ws = ws;
  ntt_.iw = iw;
  ntt_.iws = iws;
  ntt_.table = t;
  ntt_.n_inv = low(t.n_inv.w);
  ntt_.n_inv_s = high(t.n_inv.w64);
  ntt_.n_inv_w = low(t.n_inv_w.w);
  ntt_.n_inv_ws = high(t.n_inv_w.w64);
}

}  // namespace ringforge
