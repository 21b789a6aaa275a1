// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/small_tables.hpp"

#include <string>

#include "ringforge/error.hpp"

namespace ringforge {
namespace {

constexpr unsigned kMinLog = 8, kMaxLog = 12;
constexpr unsigned kCentredBits = 54;

Ring checked_ring(unsigned log_n) {
  if (log_n < kMinLog || log_n > kMaxLog)
    throw ParameterError("log2 of the ring degree is " + std::to_string(log_n) + "; small rings have " +
                         std::to_string(kMinLog) + " to " + std::to_string(kMaxLog));
  return Ring::negacyclic(log_n);
}

}  // namespace

template <>
SmallTables<u64>::SmallTables(u64 q, unsigned log_n) : prime_(Prime::get(q, checked_ring(log_n))), wide_(prime_) {
  const kernels::NttTable& t = prime_->table();
  ntt_ = {t.n, log_n, q, t.mod, t.w, t.w64, t.iw, t.iw64, t.n_inv.w, t.n_inv.w64, t.n_inv_w.w, t.n_inv_w.w64, t};
  if (t.mod.bits <= kernels::kFastBits || t.mod.bits > kCentredBits) return;
  const std::size_t n = t.n;
  centred_ = WordBuffer(4 * n);
  u64 *cw = centred_.data(), *icw = cw + n;
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
SmallTables<u32>::SmallTables(u32 q, unsigned log_n)
    : prime_(PrimeOf<u32>::get(q, checked_ring(log_n))), wide_(Prime::get(q, Ring::negacyclic(log_n))) {
  const kernels::NttTable32& t = prime_->table();
  ntt_ = {t.n, log_n, q, t.mod, t.w, t.ws, t.iw, t.iws, t.n_inv, t.n_inv_s, t.n_inv_w, t.n_inv_ws, wide_->table()};
}

}  // namespace ringforge
