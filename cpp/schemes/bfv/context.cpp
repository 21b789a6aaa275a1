// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Context and encoding.
#include <cmath>
#include <string>

#include "fork.hpp"
#include "modulo_t.hpp"
#include "products.hpp"
#include "ringforge/bfv/bfv.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"
#include "ringforge/memory.hpp"
#include "ringforge/packing.hpp"
#include "ringforge/threads.hpp"
#include "slots.hpp"

namespace ringforge::bfv {
namespace {

/// Held for no longer than it takes to read or set a pointer.
ForkMutex products_mutex(ForkMutex::Rank::tables);

rlwe::GadgetPtr gadget_of(const Parameters& params, const Ring& ring) {
  const auto& spec = params.spec();
  return std::make_shared<const rlwe::Gadget>(Basis(ring, spec.q), Basis(ring, spec.p),
                                              rlwe::GadgetSpec{spec.limbs_per_digit, 0});
}

void check_count(std::size_t values, std::size_t most, const char* what) {
  if (values > most)
    throw ValueError(std::to_string(values) + " values do not fit in " + std::to_string(most) + " " + what +
                     ": split the vector or use a larger ring");
}

// Values are secret, but whether all are in range is not: refusals say so. The highest bit of `beyond` is set when one
// is not; no branch depends on a single one before that is known.
u64 beyond(u64 value, u64 t) { return (t - 1 - value) | value; }
u64 beyond(i64 value, u64 t) { return (t - 1 - static_cast<u64>(value)) | (t - 1 + static_cast<u64>(value)); }
u64 residue(u64 value, u64) { return value; }
u64 residue(i64 value, u64 t) { return arith::wrapped(static_cast<u64>(value), t); }

template <class T>
void check_range(std::span<const T> values, u64 t) {
  u64 any = 0;
  for (const T x : values) any |= beyond(x, t);
  if (!declassified(any >> 63 != 0)) return;
  std::size_t index = 0;
  while (beyond(values[index], t) >> 63 == 0) ++index;
  throw ValueError("value " + std::to_string(index) +
                   (std::is_signed_v<T> ? " is outside (-t, t) with t = " : " is not below t = ") + std::to_string(t) +
                   ": reduce values modulo t, or use parameters with a larger t");
}

template <class T>
Plaintext coefficients_of(std::span<const T> values, u64 t, std::size_t degree) {
  check_count(values.size(), degree, "coefficients");
  check_range(values, t);
  Plaintext p(t, degree);
  p.coefficients.zero();
  for (std::size_t i = 0; i < values.size(); ++i) p.coefficients.data()[i] = residue(values[i], t);
  return p;
}

template <class T, class Slots>
Plaintext encoded(std::span<const T> values, const Slots& slots, u64 t) {
  const auto& index = slots.index();
  check_count(values.size(), index.size(), "slots");
  check_range(values, t);
  Plaintext p(t, index.size());
  p.coefficients.zero();
  for (std::size_t j = 0; j < values.size(); ++j) p.coefficients.data()[index[j]] = residue(values[j], t);
  slots.to_coefficients(p.coefficients.data());
  return p;
}

}  // namespace

Context::Context(const Parameters& params, unsigned security)
    : rules_(params, security), ring_(Ring::negacyclic(params.spec().log_n)), gadget_(gadget_of(params, ring_)) {
  if (params.batching()) slots_ = std::make_unique<const Slots>(ring_, params.t());
}

Context::~Context() = default;

Basis Context::basis(std::size_t limbs) const {
  (void)params().log_q(limbs);
  return gadget_->q().prefix(limbs);
}

u64 Context::rotation_element(i64 step) const noexcept { return rlwe::rotation_element(ring_, step); }

void Context::check(const Plaintext& p) const {
  if (p.t != t())
    throw MismatchError("the plaintext is modulo " + std::to_string(p.t) +
                        ", these parameters have t = " + std::to_string(t()) + ": encode the values with this context");
  if (p.coefficients.size() != params().degree())
    throw ShapeError("the plaintext has " + std::to_string(p.coefficients.size()) + " coefficients, the ring " +
                     std::to_string(params().degree()) + ": encode the values with this context");
  if (declassified(!all_below(p.words().data(), p.words().size(), t())))
    throw ValueError("a coefficient of the plaintext is not below t = " + std::to_string(t()) +
                     ": encode the values with this context");
}

void Context::check(const Multiplier& m) const {
  if (m.t != t())
    throw MismatchError("the multiplier is modulo " + std::to_string(m.t) +
                        ", these parameters have t = " + std::to_string(t()) + ": make it with this context");
  gadget_->check_level(m.poly.basis(), "the multiplier", "make it with this context");
}

void Context::check(const Ciphertext& c) const {
  c.check(*gadget_);
  if (c.t != t())
    throw MismatchError("the ciphertext's plaintext modulus is " + std::to_string(c.t) +
                        ", here t = " + std::to_string(t()) + ": use the parameters it was encrypted with");
}

const Slots& Context::slots() const {
  if (!slots_) {
    const u64 step = 2 * params().degree();
    u64 other = (t() + step - 1) / step * step + 1;
    while (!is_prime(other)) other += step;
    throw ParameterError("t = " + std::to_string(t()) + " has no slots at N = " + std::to_string(params().degree()) +
                         ": they need a prime that is 1 mod " + std::to_string(step) +
                         ", such as t = " + std::to_string(other) + "; or encode coefficients");
  }
  return *slots_;
}

// ---- encoding -------------------------------------------------------------------------------------

void Context::to_coefficients(u64* out, const u64* values) const {
  const Slots& slots = this->slots();
  const std::size_t n = params().degree();
  for (std::size_t j = 0; j < n; ++j) out[slots.index()[j]] = values[j];
  slots.to_coefficients(out);
}

void Context::to_slots(u64* out, u64* coefficients) const {
  const Slots& slots = this->slots();
  slots.to_values(coefficients);
  for (std::size_t j = 0; j < params().degree(); ++j) out[j] = coefficients[slots.index()[j]];
}

Plaintext Context::encode(std::span<const u64> values) const { return encoded(values, slots(), t()); }

Plaintext Context::encode(std::span<const i64> values) const { return encoded(values, slots(), t()); }

std::vector<u64> Context::decode(const Plaintext& p) const {
  check(p);
  const Slots& slots = this->slots();
  WordBuffer values = p.coefficients;
  slots.to_values(values.data());
  std::vector<u64> out(values.size());
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = values.data()[slots.index()[j]];
  values.wipe();
  return out;
}

Plaintext Context::encode_coefficients(std::span<const u64> values) const {
  return coefficients_of(values, t(), params().degree());
}

Plaintext Context::encode_coefficients(std::span<const i64> values) const {
  return coefficients_of(values, t(), params().degree());
}

Plaintext Context::constant(i64 value) const {
  const i64 r = value % static_cast<i64>(t());
  return coefficients_of(std::span<const i64>(&r, 1), t(), params().degree());
}

std::vector<i64> Context::centred(std::span<const u64> values) const {
  std::vector<i64> out;
  out.reserve(values.size());
  check_range(values, t());
  for (const u64 x : values) out.push_back(static_cast<i64>(x - (t() & (u64{0} - ((t() / 2 - x) >> 63)))));
  return out;
}

void Context::lift(u64* dst, const u64* coefficients, std::size_t limb) const noexcept {
  const Prime& prime = gadget_->q()[limb];
  kernels::active().lift_centered(dst, coefficients, t(), params().degree(), prime.mod());
  ntt(dst, dst, prime);
}

Multiplier Context::multiplier(const Plaintext& p, std::optional<std::size_t> limbs, unsigned threads) const {
  check(p);
  Multiplier m{Poly<Eval>(basis(limbs.value_or(params().max_limbs()))), t(), 0};
  std::vector<double> centred;
  centred.reserve(p.words().size());
  double norm = 0;
  for (const u64 x : p.words()) {
    const double size = static_cast<double>(std::min(x, t() - x));
    norm += size * size;
    centred.push_back(x == size ? size : -size);
  }
  m.log_norm = norm > 1 ? std::log2(norm) / 2 : 0;
  m.log_peak = norm > 0 ? std::max(std::log2(largest_square(centred)) / 2, m.log_norm) : 0;
  wipe(centred.data(), centred.size() * sizeof(double));
  parallel_for(threads, m.poly.limbs(), [&](std::size_t i) { lift(m.poly.limb(i), p.coefficients.data(), i); });
  return m;
}

// (Q/t)*m rounded is (Q*m + w)/t with w = -Q*m centred modulo t: modulo every prime of Q that is w/t.
Poly<Eval> Context::scaled(const Plaintext& p, std::size_t limbs, unsigned threads) const {
  check(p);
  Poly<Eval> out(basis(limbs));
  const std::size_t n = params().degree();
  WordBuffer w(n);
  u64 minus_q = t() - 1;
  for (std::size_t i = 0; i < limbs; ++i) minus_q = minus_q * (gadget_->q()[i].value() % t()) % t();
  const kernels::Modulus mod = modulo(t());
  for (std::size_t k = 0; k < n; ++k) w.data()[k] = arith::reduce64(p.coefficients.data()[k] * minus_q, mod);
  parallel_for(threads, limbs, [&](std::size_t i) {
    const auto& m = gadget_->q()[i].mod();
    lift(out.limb(i), w.data(), i);
    const u64 inverse = arith::inverse(arith::reduce64(t(), m), m);
    kernels::active().mul_scalar(out.limb(i), out.limb(i), kernels::make_factor(inverse, m), n, m);
  });
  w.wipe();
  return out;
}

// Made outside the lock: of several threads that come at once, one publishes, and all take what is published.
const Products& Context::products() const {
  {
    const std::lock_guard hold(products_mutex);
    if (products_) return *products_;
  }
  auto made = std::make_shared<const Products>(params(), *gadget_);
  const std::lock_guard hold(products_mutex);
  if (!products_) products_ = std::move(made);
  return *products_;
}

}  // namespace ringforge::bfv
