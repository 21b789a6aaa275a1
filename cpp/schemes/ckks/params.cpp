// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/ckks/params.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <sstream>

#include "decimal.hpp"
#include "params_data.hpp"
#include "ringforge/error.hpp"
#include "ringforge/rlwe/params.hpp"
#include "ringforge/sha256.hpp"

namespace ringforge::ckks {
namespace {

/// Encoding and decoding err by about 2^-46 of the largest value.
constexpr double kMaxPrecision = 44;

/// "50 42*4" as {50, 42, 42, 42, 42}.
std::vector<unsigned> sizes(const std::string& text) {
  std::vector<unsigned> out;
  std::istringstream in(text);
  for (std::string item; in >> item;) {
    const auto star = item.find('*');
    const unsigned long times = star == std::string::npos ? 1 : std::stoul(item.substr(star + 1));
    out.insert(out.end(), times, static_cast<unsigned>(std::stoul(item)));
  }
  return out;
}

}  // namespace

Parameters::Parameters(ParametersSpec spec) : spec_(std::move(spec)) {
  log_qp_ = rlwe::checked_log_qp({spec_.name, spec_.log_n, spec_.q, spec_.p, spec_.limbs_per_digit, spec_.insecure});
  if (!(spec_.log_scale >= 10 && spec_.log_scale <= 60) ||
      spec_.log_scale > std::log2(static_cast<double>(spec_.q[0])) - 2)
    rlwe::refuse(rlwe::ParameterFailure::scale,
                 "log_scale " + decimal(spec_.log_scale) + ", it must be 10 ... 60 and two bits below q[0]");

  std::vector<u64> identity{spec_.log_n, spec_.q.size(), spec_.p.size(), spec_.limbs_per_digit};
  identity.insert(identity.end(), spec_.q.begin(), spec_.q.end());
  identity.insert(identity.end(), spec_.p.begin(), spec_.p.end());
  u64 scale_bits = 0;
  std::memcpy(&scale_bits, &spec_.log_scale, sizeof(scale_bits));
  identity.push_back(scale_bits);
  hash_ = sha256(identity.data(), identity.size() * sizeof(u64));
}

double Parameters::log_q() const noexcept { return rlwe::log2_of(spec_.q); }

std::vector<std::string> Parameters::names() { return rlwe::names_of(data::kSets); }

Parameters Parameters::named(const std::string& name, const std::string& insecure) {
  const auto& s = rlwe::row_of(data::kSets, name, insecure);
  // Hardware reduces words modulo q with q = 1 mod 2^18; the congruence also suits every N up to 2^17.
  const auto q_bits = sizes(s.q), p_bits = sizes(s.p);
  std::map<unsigned, std::vector<u64>> primes;  // by size, the smallest last
  for (const auto* list : {&p_bits, &q_bits})
    for (const unsigned bits : *list) primes[bits].push_back(0);
  for (auto& [bits, list] : primes) {
    list = primes_below(bits, list.size(), u64{1} << 18);
    std::reverse(list.begin(), list.end());
  }
  const auto take = [&](const std::vector<unsigned>& bits) {
    std::vector<u64> out;
    for (const unsigned b : bits) {
      out.push_back(primes[b].back());
      primes[b].pop_back();
    }
    return out;
  };
  ParametersSpec spec;
  spec.name = s.name;
  spec.log_n = s.log_n;
  spec.p = take(p_bits);
  spec.q = take(q_bits);
  spec.limbs_per_digit = s.digit;
  spec.log_scale = s.log_scale;
  spec.insecure = insecure;
  return Parameters(std::move(spec));
}

Parameters suggest(unsigned depth, double precision_bits, std::size_t slots, std::string* why, unsigned headroom_bits) {
  if (!(precision_bits >= 4 && precision_bits <= kMaxPrecision))
    throw ParameterError("precision of " + decimal(precision_bits) + " bits is outside 4 ... " +
                         decimal(kMaxPrecision) + ": the encoder computes in double precision");
  if (depth > 60) throw ParameterError("depth " + std::to_string(depth) + " is above 60");
  unsigned log_n = 10;
  while (log_n < 17 && (std::size_t{1} << (log_n - 1)) < slots) ++log_n;
  if ((std::size_t{1} << (log_n - 1)) < slots)
    throw ParameterError(std::to_string(slots) + " slots are more than the largest ring (2^17) has: split the data");
  std::string limit;
  for (; log_n <= 17; ++log_n) {
    // Slot noise after a few operations is about sqrt(N)*2^6; one more bit per doubling of depth.
    const double noise = log_n / 2.0 + 6 + std::log2(depth + 1.0);
    const auto scale = static_cast<unsigned>(std::ceil(std::max(precision_bits + noise, 20.0 + log_n / 2.0)));
    // A default scale must stay two bits below the first prime.
    const unsigned headroom = std::max(headroom_bits, 2U);
    if (headroom > kernels::kMaxBits || scale + headroom + 1 > kernels::kMaxBits) {
      // Larger rings have more noise: none of them takes a smaller prime.
      limit = "the first prime must hold 1 + " + std::to_string(scale) + " + " + std::to_string(headroom) +
              " bits, sign, scale and value, and has " + std::to_string(kernels::kMaxBits) + " at most";
      break;
    }
    const unsigned first = scale + headroom + 1;
    limit = "log2(QP) would be above the limit for 128 bits of security";
    const double total = first + static_cast<double>(depth) * scale + first;
    if (total > rlwe::max_log_qp(log_n)) continue;
    // Primes just below 2^b, 1 mod 2^18 where there are enough of that size, else 1 mod 2N.
    for (const u64 step : {u64{1} << 18, u64{2} << log_n}) {
      try {
        auto ends = primes_below(first, 2, step);
        const auto middle = depth == 0 ? std::vector<u64>{} : primes_below(scale, depth, step, ends);
        ParametersSpec spec;
        spec.name = "suggested";
        spec.log_n = log_n;
        spec.p = {ends[0]};
        spec.q = {ends[1]};
        spec.q.insert(spec.q.end(), middle.begin(), middle.end());
        spec.log_scale = scale;
        Parameters result(std::move(spec));
        if (why != nullptr)
          *why = "depth " + std::to_string(depth) + ": " + std::to_string(depth) + " primes of " +
                 std::to_string(scale) + " bits to rescale by, " + decimal(precision_bits) +
                 " bits of precision over " + decimal(noise) + " bits of noise\n" + "first and special prime of " +
                 std::to_string(first) + " bits: values up to 2^" + std::to_string(headroom_bits) +
                 " fit at level 0\n" + "log2(QP) = " + decimal(result.log_qp()) + " needs N = 2^" +
                 std::to_string(log_n) + " (limit " + decimal(rlwe::max_log_qp(log_n)) + " for 128 bits), which has " +
                 std::to_string(result.slots()) + " slots";
        return result;
      } catch (const ParameterError&) {
        continue;
      }
    }
  }
  throw ParameterError("no secure parameters up to N = 2^17 give depth " + std::to_string(depth) + " at " +
                       decimal(precision_bits) + " bits of precision and values up to 2^" +
                       std::to_string(headroom_bits) + " (" + limit +
                       "): reduce depth, precision or the size of values");
}

}  // namespace ringforge::ckks
