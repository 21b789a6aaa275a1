// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What a plan of private set intersection costs and promises: bytes, operations, errors.
#include <algorithm>
#include <cmath>

#include "psi_format.hpp"
#include "ringforge/circuits/psi.hpp"
#include "ringforge/error.hpp"
#include "ringforge/rlwe/security.hpp"
#include "ringforge/sha256.hpp"

namespace ringforge::circuits {

using namespace fhew;
namespace {

unsigned bits_of(u64 q) { return 64 - static_cast<unsigned>(__builtin_clzll(q)); }

// log2 of erfc(x) for any x >= 0, by the asymptotic series where erfc underflows.
double log2_erfc(double x) {
  if (x < 20) return std::log2(std::erfc(x));
  return (-x * x - std::log(x * std::sqrt(M_PI)) + std::log1p(-1 / (2 * x * x))) / std::log(2.0);
}

}  // namespace

PsiCounts& PsiCounts::operator+=(const PsiCounts& o) noexcept {
  ntt += o.ntt;
  intt += o.intt;
  substitution += o.substitution;
  external_product += o.external_product;
  reconstruction += o.reconstruction;
  row += o.row;
  return *this;
}

void PsiPlan::check() const {
  const auto refuse = [](const std::string& what) { throw ParameterError("PSI plan: " + what); };
  const auto range = [&](const char* what, unsigned x, unsigned low, unsigned high) {
    if (x < low || x > high)
      refuse(std::string(what) + " is " + std::to_string(x) + ", it must be " + std::to_string(low) + " ... " +
             std::to_string(high));
  };
  range("log_n", log_n, 8, 12);
  range("log_bins", log_bins, 0, 20);
  range("log_cell", log_cell, 0, std::min(log_n - 1, 10u));
  range("cell_bits", cell_bits, rotation_bits(), 26);
  range("log_onehot", log_onehot, 0, onehot() ? std::min(row_bits(), 8u) : 0);
  range("log_t", log_t, 1, 16);
  range("log_reply", log_reply, log_t + 2, 32);
  if (modulus >> 55 != 0 || modulus < u64{1} << 20) refuse("the modulus must have 21 ... 55 bits");
  if (modulus >> (log_reply + log_n + 1) == 0)
    refuse("log_reply " + std::to_string(log_reply) + " leaves no room below the modulus");
  check_cut(gadget, modulus, "PSI plan: gadget");
  if (gadget.count > 16) refuse("at most 16 gadget digits");
  if (expansion.size() != log_n)
    refuse("there must be a gadget for each of log_n = " + std::to_string(log_n) + " stages, there are " +
           std::to_string(expansion.size()));
  for (const Cut& c : expansion) check_cut(c, modulus, "PSI plan: gadget of a substitution");
  // The mean of plain digits, (B-1)/2 in every coefficient, has a value of about N*B/pi at the roots next to 1, and
  // three products follow each other here: the noise would depend on a few values of the key, without a useful bound.
  if (!gadget.balanced || (onehot() && !reconstruction.balanced) ||
      std::any_of(expansion.begin(), expansion.end(), [](const Cut& c) { return !c.balanced; }))
    refuse("digits must be balanced: the mean of plain ones is amplified in every product");
  if (onehot()) check_cut(reconstruction, modulus, "PSI plan: gadget of the reconstruction");
  const double limit = rlwe::max_log_qp(log_n);
  const double log_modulus = std::log2(static_cast<double>(modulus));
  if (log_modulus > limit && insecure.empty())
    refuse("log2(Q) is " + std::to_string(log_modulus) + ", the limit for N = 2^" + std::to_string(log_n) + " is " +
           std::to_string(limit) + "; use a smaller modulus, or state a reason with insecure=\"...\"");
  if (insecure.size() > 256) refuse("the reason in insecure is longer than 256 bytes");
}

std::size_t PsiPlan::key_rows() const noexcept {
  std::size_t rows = 1;
  for (const Cut& c : expansion) rows += c.count;
  return rows + (onehot() ? reconstruction.count : 2 * gadget.count);
}
std::size_t PsiPlan::key_bytes() const noexcept {
  return io::record_bytes(32 + key_rows() * packed_bytes(n(), bits_of(modulus)));
}
std::size_t PsiPlan::request_bytes() const noexcept {
  return io::record_bytes(32 + groups() * outputs() * packed_bytes(n(), bits_of(modulus)));
}
std::size_t PsiPlan::reply_bytes() const noexcept {
  return io::record_bytes(replies() * 2 * packed_bytes(n(), log_reply));
}
std::size_t PsiPlan::session_bytes() const noexcept { return key_rows() * 2 * n() * sizeof(u64); }
std::size_t PsiPlan::query_bytes(unsigned threads) const noexcept {
  const std::size_t row = 2 * n() * sizeof(u64), node = outputs() * row;
  const unsigned top = psi_top_stages(*this, threads);
  const std::size_t each = (stages() - top) * node + psi_lookup_rows(*this) * row + 2 * stages() * row;
  return (std::size_t{2} << top) * node + threads * each + reply_bytes();
}

PsiCounts PsiPlan::counts() const noexcept {
  PsiCounts c;
  const u64 d = gadget.count;
  for (unsigned s = 0; s < stages(); ++s) {
    const u64 count = (u64{groups()} << s) * outputs();
    c.substitution += count;
    c.intt += count;
    c.ntt += count * expansion[s].count;
  }
  const u64 rebuilt = u64{bins()} * rgsw_bits() * d;
  const u64 leaves = u64{1} << tree_bits(), rows = u64{1} << row_bits();
  if (onehot()) {
    c.reconstruction += rebuilt;
    c.intt += rebuilt + bins() * 2 * leaves;
    c.ntt += rebuilt * reconstruction.count + bins() * rows;
    c.row += bins() * rows;
  } else {
    c.external_product += rebuilt;
    c.intt += 2 * rebuilt;
    c.ntt += 2 * d * rebuilt;
    c.row += bins() * rows;
  }
  const u64 products = leaves - 1 + rotation_bits();
  c.external_product += bins() * products;
  c.intt += bins() * 2 * products;
  c.ntt += bins() * (2 * d * products - (onehot() ? 0 : (2 * d - 1) * (leaves / 2)));
  for (unsigned p = 0; p < rotation_bits(); ++p) {
    // Packing stage p joins 2^(pack_stages - p) results of each reply in pairs; a stage without partners is a trace.
    const u64 count = p < pack_stages() ? u64{replies()} << p : u64{bins()};
    c.substitution += count;
    c.intt += 2 * count;
    c.ntt += count * expansion[p].count;
  }
  c.ntt += replies();
  c.intt += 2 * replies();
  return c;
}

double PsiPlan::variance(std::size_t entries) const noexcept {
  const double size = static_cast<double>(n()), key = 2 * size / 3, e = kErrorVariance;
  const auto switch_variance = [&](const Cut& c) {
    return c.count * size * digit_square(c) * e + rest_variance(c) * key;
  };
  // The expansion: a stage doubles the kept coefficients of what it gets and cancels the others, so mean squares
  // double, the constant coefficient's quadruple.
  const unsigned last = stages();
  double mean = std::ldexp(e, static_cast<int>(last)), constant = std::ldexp(e, 2 * static_cast<int>(last));
  for (unsigned s = 0; s < last; ++s) {
    const double v = switch_variance(expansion[s]);
    mean += std::ldexp(v, static_cast<int>(last - 1 - s));
    constant += std::ldexp(v, 2 * static_cast<int>(last - 1 - s));
  }
  // Rows for the digits of a: z times the error of the other rows, and the key switch (or product) that makes them.
  const double d = gadget.count, square = digit_square(gadget), rest = rest_variance(gadget);
  // There the rest of a meets z^2, whose squared length is 2*key^2.
  const double rebuild = onehot() ? reconstruction.count * size * digit_square(reconstruction) * e +
                                        rest_variance(reconstruction) * 2 * key * key
                                  : 2 * d * size * square * e + rest * (key + 2 * key * key);
  const double product = d * size * square * (mean + key * mean + rebuild) + rest * (1 + key);
  double total = (tree_bits() + rotation_bits()) * product;
  if (onehot()) {
    const double word = std::ldexp(1.0, static_cast<int>(log_t)) - 1;
    const double others = static_cast<double>(entries) * static_cast<double>(cell_words());
    total += word * word * (constant + others * mean);
  }
  for (unsigned p = 0; p < rotation_bits(); ++p)
    total += std::ldexp(switch_variance(expansion[p]), 2 * static_cast<int>(p));
  return total + e * (1 + 2 * key);
}

double PsiPlan::failure_log2(std::size_t entries) const noexcept {
  const double t = std::ldexp(1.0, static_cast<int>(log_t)), q = static_cast<double>(modulus);
  const double switched =
      (1 + 2.0 * static_cast<double>(n()) / 3) / 12 / std::ldexp(1.0, 2 * static_cast<int>(log_reply));
  const double sigma = t * std::sqrt(variance(entries) / (q * q) + switched);
  return log2_erfc(0.5 / sigma / std::sqrt(2.0)) + log_cell;
}

std::array<std::uint8_t, 32> PsiPlan::hash() const {
  std::vector<u64> id{
      0x7073693031ULL, static_cast<u64>(algorithm), log_n, modulus, log_bins, cell_bits, log_cell, log_t, log_onehot,
      log_reply};
  const auto add = [&id](const Cut& c) {
    id.insert(id.end(), {c.log_base, c.count, c.drop, c.balanced ? u64{1} : u64{0}});
  };
  add(gadget);
  for (const Cut& c : expansion) add(c);
  if (onehot()) add(reconstruction);
  return sha256(id.data(), id.size() * sizeof(u64));
}

std::vector<io::RecordType> psi_record_types() {
  // Version 1 was a magic and the plan's hash, without a checksum; messages are not kept.
  const auto message = [](io::TypeCode code, const char* name) {
    return io::RecordType{.code = code, .name = name, .version = 2, .oldest = 2};
  };
  return {message(kPsiKeysType, "evaluation keys of a PSI session"),
          message(kPsiRequestType, "request of a PSI session"), message(kPsiReplyType, "reply of a PSI session")};
}

}  // namespace ringforge::circuits
