// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A scheme of one's own, outside the library: integers modulo 256 in the coefficients of a polynomial, at scale Q/256.
// An encoding, a rule for noise, a type of records; all else is the library's. docs/adding.md explains each step.
// It computes, compares with plain integers, and holds its records to what all records owe. For illustration: the set
// is below 128 bits of security.
#include <cstdio>
#include <sstream>

#include "ringforge/packing.hpp"
#include "ringforge/rlwe/evaluator.hpp"
#include "ringforge/testing/record_suite.hpp"

using namespace ringforge;

struct Noise {  // what the scheme knows of a ciphertext
  double variance = 0;
};
struct Ciphertext : Noise, rlwe::Ciphertext {
  Ciphertext(const Noise& known, rlwe::Ciphertext&& polynomials)
      : Noise(known), rlwe::Ciphertext(std::move(polynomials)) {}
};

class Scheme {
 public:
  static constexpr i64 kModulus = 256;
  explicit Scheme(unsigned log_n) : gadget_(gadget(log_n)), encryptor_(gadget_), decryptor_(gadget_), ev_(gadget_) {}

  const Basis& basis() const { return gadget_->q(); }
  rlwe::Encryptor& encryptor() { return encryptor_; }
  /// Of all that ciphertexts depend on.
  Hash hash() const {
    const u64 identity[] = {0x746f79, basis().ring().degree(), basis()[0].value(), static_cast<u64>(kModulus)};
    return sha256(identity, sizeof(identity));
  }

  Ciphertext encrypt(const std::vector<i64>& values, const rlwe::SecretKey& sk) {
    SmallPoly scaled(basis().ring().degree());
    for (std::size_t k = 0; k < values.size(); ++k) scaled.coeffs()[k] = values[k] % kModulus * scale();
    Ciphertext c({kErrorVariance}, encryptor_.zero(sk, basis().size()));
    c.seed.reset();
    ringforge::add(c.parts[0], c.parts[0], scaled.lift(basis()));
    return c;
  }
  std::vector<i64> decrypt(const Ciphertext& c, const rlwe::SecretKey& sk) const {
    const Poly<Coeff> phase = to_coeff(decryptor_.phase(c, sk));
    std::vector<i64> out(phase.degree());
    for (std::size_t k = 0; k < out.size(); ++k)
      out[k] = (static_cast<i64>(phase.limb(0)[k]) + scale() / 2) / scale() % kModulus;
    return out;
  }
  Ciphertext add(const Ciphertext& a, const Ciphertext& b) const { return {{a.variance + b.variance}, ev_.add(a, b)}; }
  Ciphertext map(const Ciphertext& a, u64 element, const rlwe::GaloisKeys& keys) const {
    const double rounding = (1 + 2.0 * static_cast<double>(basis().ring().degree()) / 3) / 12;
    return {{a.variance + gadget_->switch_variance(a.limbs()) + rounding}, ev_.map(a, element, keys)};
  }

 private:
  static rlwe::GadgetPtr gadget(unsigned log_n) {
    const Ring ring = Ring::negacyclic(log_n);
    const std::vector<u64> primes = primes_below(50, 2, ring.index());
    return std::make_shared<const rlwe::Gadget>(Basis(ring, {&primes[0], 1}), Basis(ring, {&primes[1], 1}),
                                                rlwe::GadgetSpec{});
  }
  i64 scale() const { return static_cast<i64>(basis()[0].value()) / kModulus; }

  rlwe::GadgetPtr gadget_;
  rlwe::Encryptor encryptor_;
  rlwe::Decryptor decryptor_;
  rlwe::Evaluator ev_;
};

// ---- records: word bits, key id, variance; then b and a ---------------------------------------------

constexpr io::TypeCode kToyCiphertext = 0x8001;
constexpr std::size_t kHead = 24;

u64 body_bytes(const Scheme& s) { return kHead + 2 * packed_bytes(s.basis().ring().degree(), s.basis()[0].mod().bits); }

void save(std::ostream& out, const Scheme& s, const Ciphertext& c) {
  io::RecordWriter w(out, kToyCiphertext, s.hash(), body_bytes(s));
  w.value(u64{io::kWordBits});
  w.value(c.key_id);
  w.value(c.variance);
  for (const auto& part : c.parts) w.poly(part);
  w.finish();
}

Ciphertext load(std::istream& in, const Scheme& s) {
  io::RecordReader r(in, kToyCiphertext);
  r.check_parameters(s.hash());
  const io::RecordHead head = r.head();
  const auto variance = head.at<double>(16);
  if (head.at<u64>(0) != io::kWordBits) r.refuse("has words of another width");
  if (!(variance >= 0 && variance < 0x1p100)) r.refuse("has a variance that no ciphertext has");
  r.check_length(body_bytes(s));
  rlwe::Ciphertext c;
  c.key_id = head.at<u64>(8);
  for (int part = 0; part < 2; ++part) c.parts.push_back(r.poly(s.basis()));
  r.finish();
  io::check_alone(in, kToyCiphertext);
  return {{variance}, std::move(c)};
}

testing::RecordBytes saved(const Scheme& s, const Ciphertext& c) {
  std::ostringstream out;
  save(out, s, c);
  const std::string bytes = out.str();
  return {bytes.begin(), bytes.end()};
}

int main() {
  io::register_type({.code = kToyCiphertext, .name = "toy ciphertext", .head_bytes = kHead});
  Scheme scheme(10);
  const rlwe::SecretKey sk = scheme.encryptor().secret_key();
  rlwe::GaloisKeys keys;
  keys.insert(scheme.encryptor().galois_key(sk, 5, 1));
  const Ciphertext a = scheme.encrypt({1, 2, 3, 200}, sk), b = scheme.encrypt({10, 20, 30, 100}, sk);
  const std::vector<i64> sum = scheme.decrypt(scheme.add(a, b), sk),
                         mapped = scheme.decrypt(scheme.map(a, 5, keys), sk);
  bool right = sum[0] == 11 && sum[1] == 22 && sum[2] == 33 && sum[3] == 44;
  right = right && mapped[0] == 1 && mapped[5] == 2 && mapped[10] == 3 && mapped[15] == 200;  // X^k to X^(5k)
  const auto reload = [&](std::istream& in) { return saved(scheme, load(in, scheme)); };
  const auto wrong = testing::check_records({kToyCiphertext, saved(scheme, a), reload});
  for (const std::string& line : wrong) std::printf("%s\n", line.c_str());
  std::printf("toy scheme: results are %s, %zu faults of its records\n", right ? "right" : "wrong", wrong.size());
  return right && wrong.empty() ? 0 : 1;
}
