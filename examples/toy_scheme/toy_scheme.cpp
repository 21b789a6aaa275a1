// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A scheme of one's own, outside the library: integers modulo t in the coefficients of a polynomial, at scale Q/t.
// An encoding, a rule for noise, a type of records; all else is the library's. docs/adding.md explains each step.
#include <cmath>
#include <cstdio>

#include "ringforge/packing.hpp"
#include "ringforge/rlwe/evaluator.hpp"
#include "ringforge/rlwe/security.hpp"
#include "ringforge/testing/record_suite.hpp"

using namespace ringforge;
using Integers = std::vector<i64>;
constexpr i64 kT = 256;  // t

/// The phase is m*Q/t + e. The variance of a coefficient of e; errors that are added are taken for independent.
struct Ciphertext : rlwe::Ciphertext {
  double variance = 0;
};

class Scheme {
 public:
  /// N = 2^log_n, one prime of 50 bits each for Q and P. @throws ParameterError below 128 bits of security.
  explicit Scheme(unsigned log_n) : gadget_(make(log_n)), encryptor_(gadget_), ev_(gadget_) {}

  const rlwe::Gadget& gadget() const { return *gadget_; }
  std::size_t degree() const { return gadget_->q().ring().degree(); }
  rlwe::Encryptor& encryptor() { return encryptor_; }
  Hash hash() const {  // of all that ciphertexts depend on
    const u64 identity[] = {0x746f79, gadget_->q().ring().index(), static_cast<u64>(q()), static_cast<u64>(kT)};
    return sha256(identity, sizeof(identity));
  }

  Ciphertext encrypt(const Integers& m, const rlwe::SecretKey& sk) {
    if (m.size() > degree()) throw ShapeError("more integers than coefficients: use several ciphertexts");
    SmallPoly scaled(degree());
    for (std::size_t k = 0; k < m.size(); ++k) scaled.coeffs()[k] = encode(m[k]);
    Ciphertext c{encryptor_.zero(sk, 1), kErrorVariance + 1.0 / 12};  // encode rounds
    ringforge::add(c.parts[0], c.parts[0], scaled.lift(gadget_->q()));
    return c;
  }
  Integers decrypt(const Ciphertext& c, const rlwe::SecretKey& sk) const {
    Integers m = phase(c, sk);
    for (i64& x : m) x = (x * kT + q() / 2) / q() % kT;
    return m;
  }
  Ciphertext add(const Ciphertext& a, const Ciphertext& b) const { return {ev_.add(a, b), a.variance + b.variance}; }
  Ciphertext map(const Ciphertext& a, u64 element, const rlwe::GaloisKeys& keys) const {
    const double rounding = (1 + 2.0 * static_cast<double>(degree()) / 3) / 12;  // of ModDown, ternary secret
    return {ev_.map(a, element, keys), a.variance + gadget_->switch_variance(a.limbs()) + rounding};
  }
  i64 q() const { return static_cast<i64>(gadget_->q()[0].value()); }
  i64 encode(i64 m) const { return ((m % kT + kT) % kT * q() + kT / 2) / kT; }  // round(m*Q/t)
  Integers phase(const Ciphertext& c, const rlwe::SecretKey& sk) const {        // in [0, Q)
    const Poly<Coeff> p = to_coeff(rlwe::Decryptor(gadget_).phase(c, sk));
    return {p.limb(0), p.limb(0) + degree()};
  }

 private:
  static rlwe::GadgetPtr make(unsigned log_n) {
    const Ring ring = Ring::negacyclic(log_n);
    const std::vector<u64> primes = primes_below(50, 2, ring.prime_step());
    const Basis q(ring, {&primes[0], 1}), p(ring, {&primes[1], 1});
    if (q.log2() + p.log2() > rlwe::max_log_qp(log_n)) throw ParameterError("below 128 bits of security: raise log_n");
    return std::make_shared<const rlwe::Gadget>(q, p, rlwe::GadgetSpec{});
  }
  rlwe::GadgetPtr gadget_;
  rlwe::Encryptor encryptor_;
  rlwe::Evaluator ev_;
};

constexpr io::TypeCode kToyCiphertext = 0x8001;
constexpr std::size_t kHead = 16;  // the fixed fields: key id and variance; both parts follow

void register_types() {
  io::RecordType type{.code = kToyCiphertext, .name = "toy ciphertext", .head_bytes = kHead};
  type.describe = [](const io::RecordHead& head, io::RecordInfo& info) {
    info.fields.emplace_back("variance", head.at<double>(8));
  };
  io::register_type(type);
}

u64 body_bytes(const Scheme& s) { return kHead + 2 * packed_bytes(s.degree(), s.gadget().q()[0].mod().bits); }

testing::RecordBytes save(const Scheme& s, const Ciphertext& c) {
  c.check(s.gadget(), 2, 2);
  testing::RecordBytes bytes(io::record_bytes(body_bytes(s)));
  io::ByteSink out(bytes);
  io::RecordWriter w(out, kToyCiphertext, s.hash(), body_bytes(s));
  w.value(c.key_id);
  w.value(c.variance);
  for (const Poly<Eval>& part : c.parts) w.poly(part);
  w.finish();
  return bytes;
}

Ciphertext load(std::istream& in, const Scheme& s) {
  io::RecordReader r(in, kToyCiphertext);
  r.check_parameters(s.hash());
  const io::RecordHead head = r.head();
  Ciphertext c{{{}, head.at<u64>(0), {}}, head.at<double>(8)};
  if (!(std::isfinite(c.variance) && c.variance >= 0)) r.refuse("has a variance that is none");
  r.check_length(body_bytes(s));  // before memory is taken
  for (int part = 0; part < 2; ++part) c.parts.push_back(r.poly(s.gadget().q()));
  r.finish();  // nothing is handed out before
  io::check_alone(in, kToyCiphertext);
  return c;
}

int main() {
  register_types();
  Scheme scheme(12);
  const rlwe::SecretKey sk = scheme.encryptor().secret_key();
  rlwe::GaloisKeys keys;
  keys.insert(scheme.encryptor().galois_key(sk, 5, 1));

  const u64 n = scheme.degree();
  Integers x(n), y(n), sum(n), mapped(n);
  for (u64 k = 0; k < n; ++k) {
    x[k] = k * k % kT, y[k] = 3 * k % kT, sum[k] = (x[k] + y[k]) % kT;
    mapped[5 * k % n] = 5 * k / n % 2 == 0 ? x[k] : (kT - x[k]) % kT;  // X^k -> X^(5k), X^N = -1
  }
  bool right = true;
  const auto show = [&](const char* what, const Ciphertext& c, const Integers& expected) {
    const Integers phase = scheme.phase(c, sk);
    double e2 = 0;
    for (u64 k = 0; k < n; ++k)
      e2 += std::pow(std::remainder(phase[k] - scheme.encode(expected[k]), scheme.q()), 2) / n;
    const bool good = scheme.decrypt(c, sk) == expected && std::abs(e2 / c.variance - 1) < 0.25;
    std::printf("%-9s %s, error variance %.1f, predicted %.1f\n", what, good ? "right" : "WRONG", e2, c.variance);
    right = right && good;
  };
  const Ciphertext a = scheme.encrypt(x, sk), c = scheme.add(a, scheme.encrypt(y, sk));
  show("encrypted", a, x);
  show("added", c, sum);
  show("mapped", scheme.map(a, 5, keys), mapped);

  const testing::RecordBytes bytes = save(scheme, c);
  io::ByteSource in(bytes);
  right = right && io::peek(in).number("variance") == c.variance;
  show("loaded", load(in, scheme), sum);
  const auto reload = [&](std::istream& from) { return save(scheme, load(from, scheme)); };
  const std::vector<std::string> faults = testing::check_records({kToyCiphertext, bytes, reload});
  for (const std::string& fault : faults) std::printf("%s\n", fault.c_str());
  std::printf("records of %zu bytes: %zu faults\n", bytes.size(), faults.size());
  return right && faults.empty() ? 0 : 1;
}
