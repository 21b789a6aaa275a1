// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Context and encoder.
//
// The encoder evaluates real polynomials at the roots zeta^(4k+1) of X^(N/2) = i. With u_k = m_k + i*m_(k+N/2)
// this is the complex polynomial u at those roots: the first half of the NTT's butterfly tree, over C. So the
// transform, its order and its slot numbering are the NTT's, and slot j (exponent 5^j) sits at index
// brv((5^j - 1)/4).
#include <algorithm>
#include <cmath>
#include <string>

#include "bits.hpp"
#include "pi.hpp"
#include "reconstructor.hpp"
#include "ref/arith.hpp"
#include "ringforge/ckks/ckks.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::ckks {

using rlwe::Gadget;
using rlwe::GadgetSpec;

namespace {

/// A finite double that may exceed 2^62, rounded to an integer, modulo q.
u64 big_mod(double x, const kernels::Modulus& m) {
  int exponent = 0;
  const double mantissa = std::frexp(std::fabs(x), &exponent);  // in [0.5, 1)
  const auto integer = static_cast<u64>(std::ldexp(mantissa, 53));
  const int shift = exponent - 53;
  const u64 r = shift >= 0 ? arith::mul(arith::reduce64(integer, m), arith::pow(2, static_cast<u64>(shift), m), m)
                           : arith::reduce64(static_cast<u64>(std::nearbyint(std::fabs(x))), m);
  return x < 0 ? arith::neg(r, m.q) : r;
}

std::string num(double v) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.4g", v);
  return buffer;
}

}  // namespace

Context::Context(const Parameters& params) : params_(params), ring_(Ring::negacyclic(params.spec().log_n)) {
  const auto& spec = params.spec();
  gadget_ =
      std::make_shared<const Gadget>(Basis(ring_, spec.q), Basis(ring_, spec.p), GadgetSpec{spec.limbs_per_digit, 0});
  const std::size_t slots = params.slots();
  const unsigned log_slots = spec.log_n - 1;
  fft_re_.resize(slots);
  fft_im_.resize(slots);
  for (std::size_t i = 1; i < slots; ++i) {
    // Stage with m blocks is stage 2m of the NTT, whose block i uses zeta^brv(2m + i).
    const std::size_t m = std::size_t{1} << (63 - static_cast<unsigned>(__builtin_clzll(i)));
    const auto e = static_cast<long double>(reverse_bits(i + m, spec.log_n));
    const long double angle = kPi * e / static_cast<long double>(params.degree());
    fft_re_[i] = static_cast<double>(std::cos(angle));
    fft_im_[i] = static_cast<double>(std::sin(angle));
  }
  fft_ = {slots, log_slots, fft_re_.data(), fft_im_.data()};
  slot_index_.resize(slots);
  u64 power = 1;
  for (std::size_t j = 0; j < slots; ++j, power = ring_.compose(power, 5))
    slot_index_[j] = static_cast<u32>(reverse_bits((power - 1) / 4, log_slots));
}

Basis Context::basis(std::size_t level) const {
  if (level > params_.max_level())
    throw LevelError("level " + std::to_string(level) + " does not exist: these parameters have levels 0 ... " +
                     std::to_string(params_.max_level()));
  return gadget_->q().prefix(level + 1);
}

void Context::check(const Plaintext& p) const {
  gadget_->check_level(p.poly.basis(), "the plaintext", "encode the values with this context");
}

u64 Context::rotation_element(i64 step) const noexcept { return rlwe::rotation_element(ring_, step); }

void Context::embed(double* re, double* im, const std::complex<double>* values, std::size_t count) const {
  const std::size_t slots = params_.slots();
  std::fill(re, re + slots, 0.0);
  std::fill(im, im + slots, 0.0);
  for (std::size_t j = 0; j < count; ++j) {
    re[slot_index_[j]] = values[j].real();
    im[slot_index_[j]] = values[j].imag();
  }
}

Plaintext Context::encode(std::span<const std::complex<double>> values, double scale, std::size_t level,
                          unsigned threads) const {
  const std::size_t slots = params_.slots(), n = params_.degree();
  if (values.size() > slots)
    throw ValueError(std::to_string(values.size()) + " values do not fit in " + std::to_string(slots) +
                     " slots: split the vector or use a larger ring");
  if (!(scale >= 1 && scale < 0x1p250)) throw ScaleError("scale " + num(scale) + " is outside 1 ... 2^250");
  // Whether all are finite, and fit, is public: a refusal says so. The values are not.
  bool finite = true;
  double bound = 0;
  for (const auto& z : values) {
    finite &= std::isfinite(z.real()) & std::isfinite(z.imag());
    bound = std::max(bound, std::abs(z));
  }
  if (!declassified(finite)) {
    std::size_t j = 0;
    while (std::isfinite(values[j].real()) && std::isfinite(values[j].imag())) ++j;
    throw ValueError("value " + std::to_string(j) + " is not a finite number");
  }
  const Basis basis = this->basis(level);
  if (declassified(bound > std::exp2(basis.log2() - 1 - std::log2(scale))))
    throw ValueError("a value of size " + num(bound) + " at scale 2^" + num(std::log2(scale)) + " needs " +
                     num(std::log2(bound) + std::log2(scale) + 1) + " bits, level " + std::to_string(level) + " has " +
                     num(basis.log2()) + ": use a smaller scale, scale the values down, or " +
                     (level < params_.max_level() ? "use a higher level" : "use parameters with a larger modulus"));
  std::vector<double> coeff(n);
  std::vector<i64> rounded(n);
  double *re = coeff.data(), *im = re + slots;
  embed(re, im, values.data(), values.size());
  const auto& kern = kernels::active();
  kern.fft_inverse(re, im, fft_);
  Plaintext p{Poly<Eval>(basis), scale, bound};
  // Whether a coefficient is 2^62 or more, which no usual scale makes of any: a slower path is taken then.
  const bool small = declassified(kern.scale_round(rounded.data(), re, scale, n));
  parallel_for(threads, basis.size(), [&](std::size_t i) {
    const auto& m = basis[i].mod();
    u64* dst = p.poly.limb(i);
    if (small)
      kern.reduce_signed(dst, rounded.data(), n, m);
    else
      for (std::size_t k = 0; k < n; ++k) dst[k] = big_mod(coeff[k] * scale, m);
    ntt(dst, dst, basis[i]);
  });
  wipe(coeff.data(), n * sizeof(double));
  wipe(rounded.data(), n * sizeof(i64));
  return p;
}

Plaintext Context::encode(std::span<const double> values, double scale, std::size_t level, unsigned threads) const {
  std::vector<std::complex<double>> z(values.begin(), values.end());
  Plaintext p = encode(std::span<const std::complex<double>>(z), scale, level, threads);
  wipe(z.data(), z.size() * sizeof(z[0]));
  return p;
}

void Context::scatter(const double* values, std::size_t count, std::size_t batch, double* re) const {
  const u32* index = slot_index_.data();
  for (std::size_t v = 0; v < count; ++v)
    for (std::size_t i = 0; i < batch; ++i) re[*index++] = values[v];
}

bool Context::encode_coefficients(double* re, double* im, double scale, i64* rounded) const {
  const std::size_t slots = params_.slots();
  const auto& kern = kernels::active();
  kern.fft_inverse(re, im, fft_);
  const bool first = kern.scale_round(rounded, re, scale, slots);
  return declassified(kern.scale_round(rounded + slots, im, scale, slots) & first);  // as in `encode`
}

void Context::encode_words(double* re, double* im, double scale, std::span<u64* const> out, i64* rounded) const {
  const std::size_t slots = params_.slots(), n = params_.degree();
  const auto& kern = kernels::active();
  if (out.size() > gadget_->q().size())
    throw LevelError(std::to_string(out.size()) + " limbs, these parameters have " +
                     std::to_string(gadget_->q().size()));
  const bool small = encode_coefficients(re, im, scale, rounded);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Prime& prime = gadget_->q()[i];
    if (small) {
      kern.reduce_signed(out[i], rounded, n, prime.mod());
    } else {
      for (std::size_t k = 0; k < slots; ++k) {
        out[i][k] = big_mod(re[k] * scale, prime.mod());
        out[i][k + slots] = big_mod(im[k] * scale, prime.mod());
      }
    }
    ntt(out[i], out[i], prime);
  }
}

std::vector<u64> Context::encode_constant(double value, double scale, std::size_t level) const {
  const Basis basis = this->basis(level);
  if (!(scale >= 1 && scale < 0x1p250)) throw ScaleError("scale " + num(scale) + " is outside 1 ... 2^250");
  const double x = value * scale;
  if (!std::isfinite(x) || std::log2(std::max(std::fabs(x), 1e-300)) > basis.log2() - 1)
    throw ValueError("the constant " + num(value) + " at scale 2^" + num(std::log2(scale)) +
                     " does not fit the modulus of level " + std::to_string(level));
  std::vector<u64> r;
  for (std::size_t i = 0; i < basis.size(); ++i) r.push_back(big_mod(x, basis[i].mod()));
  return r;
}

std::vector<std::complex<double>> Context::decode(const Plaintext& p, unsigned threads) const {
  check(p);
  const std::size_t slots = params_.slots();
  const Poly<Coeff> c = to_coeff(p.poly, threads);
  const Reconstructor crt(c.basis());
  std::vector<double> re(slots), im(slots);
  constexpr std::size_t kChunk = 512;
  parallel_for(threads, (slots + kChunk - 1) / kChunk, [&](std::size_t chunk) {
    std::vector<u64> acc(crt.words());
    for (std::size_t k = chunk * kChunk; k < std::min(slots, (chunk + 1) * kChunk); ++k) {
      re[k] = crt.value(c, k, acc.data()) / p.scale;
      im[k] = crt.value(c, k + slots, acc.data()) / p.scale;
    }
  });
  kernels::active().fft_forward(re.data(), im.data(), fft_);
  std::vector<std::complex<double>> out(slots);
  for (std::size_t j = 0; j < slots; ++j) out[j] = {re[slot_index_[j]], im[slot_index_[j]]};
  return out;
}

}  // namespace ringforge::ckks
