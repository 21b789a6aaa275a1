// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/rlwe/params.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "decimal.hpp"
#include "ringforge/rlwe/security.hpp"

namespace ringforge::rlwe {

const char* explain(ParameterFailure f) noexcept {
  switch (f) {
    case ParameterFailure::degree:
      return "the ring degree is not supported";
    case ParameterFailure::plaintext_modulus:
      return "the plaintext modulus does not fit";
    case ParameterFailure::limb_count:
      return "the number of primes is out of range";
    case ParameterFailure::modulus:
      return "a modulus does not qualify";
    case ParameterFailure::digit:
      return "the special primes are too small for a key-switching digit";
    case ParameterFailure::scale:
      return "the default scale does not fit";
    case ParameterFailure::not_secure:
      return "the parameters have less than 128 bits of security";
    case ParameterFailure::text:
      return "a name or reason is too long";
  }
  return "unknown failure";
}

void refuse(ParameterFailure f, const std::string& detail) {
  throw ParameterError(std::string(explain(f)) + ": " + detail);
}

double log2_of(std::span<const u64> primes) {
  double s = 0;
  for (u64 q : primes) s += std::log2(static_cast<double>(q));
  return s;
}

std::vector<u64> primes_under(double log, std::size_t count, u64 step, const std::vector<u64>& exclude) {
  std::vector<u64> out;
  const auto top = static_cast<u64>(std::exp2(log));
  for (u64 x = (top - 2) / step * step + 1; out.size() < count; x -= step) {
    if (x < top / 2 || x <= step)
      throw ParameterError("there are fewer than " + std::to_string(count) + " primes of " + decimal(log) +
                           " bits that are 1 mod " + std::to_string(step));
    if (is_prime(x) && std::find(exclude.begin(), exclude.end(), x) == exclude.end()) out.push_back(x);
  }
  return out;
}

std::vector<u64> primes_of(const std::string& text, u64 step, std::vector<u64>& taken) {
  std::vector<u64> out;
  std::istringstream in(text);
  for (std::string item; in >> item;) {
    const auto star = item.find('*');
    const std::size_t times = star == std::string::npos ? 1 : std::stoul(item.substr(star + 1));
    const auto found = primes_under(std::stod(item), times, step, taken);
    out.insert(out.end(), found.begin(), found.end());
    taken.insert(taken.end(), found.begin(), found.end());
  }
  return out;
}

double checked_log_qp(const ChainSpec& spec) {
  if (spec.log_n < 10 || spec.log_n > 17)
    refuse(ParameterFailure::degree, "N = 2^" + std::to_string(spec.log_n) + ", supported are 2^10 ... 2^17");
  return checked_log_qp(spec, u64{2} << spec.log_n);
}

double checked_log_qp(const ChainSpec& spec, u64 step) {
  if (spec.q.empty() || spec.q.size() > 64 || spec.p.empty() || spec.p.size() > 16)
    refuse(ParameterFailure::limb_count, std::to_string(spec.q.size()) + " primes in Q (1 ... 64) and " +
                                             std::to_string(spec.p.size()) + " special primes (1 ... 16)");
  if (spec.name.size() > 64 || spec.insecure.size() > 256)
    refuse(ParameterFailure::text, "names have at most 64 bytes, reasons 256");
  std::vector<u64> all = spec.q;
  all.insert(all.end(), spec.p.begin(), spec.p.end());
  for (auto q = all.begin(); q != all.end(); ++q)
    if (*q <= (u64{1} << 16) || *q >> kernels::kMaxBits || *q % step != 1 || !is_prime(*q) ||
        std::find(all.begin(), q, *q) != q)
      refuse(ParameterFailure::modulus, std::to_string(*q) + " must be a prime between 2^16 and 2^" +
                                            std::to_string(kernels::kMaxBits) + ", 1 mod " + std::to_string(step) +
                                            ", and appear once");
  const std::size_t alpha = spec.limbs_per_digit;
  if (alpha < 1 || alpha > spec.q.size())
    refuse(ParameterFailure::digit,
           std::to_string(alpha) + " limbs per digit, possible are 1 ... " + std::to_string(spec.q.size()));
  double digit = 0;
  for (std::size_t i = 0; i < spec.q.size(); i += alpha)
    digit = std::max(digit, log2_of(std::span(spec.q).subspan(i, std::min(alpha, spec.q.size() - i))));
  if (log2_of(spec.p) + 1 < digit)
    refuse(ParameterFailure::digit, decimal(log2_of(spec.p)) + " bits of special primes, the largest digit has " +
                                        decimal(digit) + ": add special primes or use fewer limbs per digit");
  const double log_qp = log2_of(all), limit = max_log_qp(spec.log_n);
  if (log_qp > limit && spec.insecure.empty())
    refuse(ParameterFailure::not_secure,
           "log2(QP) is " + decimal(log_qp) + ", the limit for N = 2^" + std::to_string(spec.log_n) + " is " +
               decimal(limit) + "; use a larger ring or fewer primes, or state a reason with insecure=\"...\"");
  return log_qp;
}

}  // namespace ringforge::rlwe
