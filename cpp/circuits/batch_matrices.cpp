// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Batches of matrices: encoding, encryption, checks, and what products are predicted to cost and to err.
#include <algorithm>
#include <cmath>
#include <string>

#include "bits.hpp"
#include "pi.hpp"
#include "ringforge/circuits/batch_matmul.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::circuits {

using ckks::check_rescaled;
using ckks::Ciphertext;
using ckks::Client;
using ckks::ContextPtr;
using ckks::decoding_error;
using ckks::Evaluator;
using ckks::GaloisKeys;
using ckks::MetadataRules;
using ckks::Plaintext;
using ckks::PublicKey;
using ckks::RelinKey;
using ckks::SecretKey;
using rlwe::Gadget;
using rlwe::SwitchingKey;

namespace {

double square(double x) { return x * x; }

/// The exponents of the d roots of Z^d = zeta^start, in the order of a butterfly tree: Z^(2*len) = zeta^x splits
/// into Z^len = zeta^(x/2) and zeta^(x/2 + N).
std::vector<u32> roots(std::size_t d, std::size_t start, std::size_t n) {
  std::vector<u32> e(d);
  e[0] = static_cast<u32>(start);
  for (std::size_t len = d / 2; len >= 1; len /= 2)
    for (std::size_t i = 0; i < d; i += 2 * len) {
      e[i] /= 2;
      e[i + len] = static_cast<u32>(e[i] + n);
    }
  return e;
}

/// In place, a polynomial of degree below d to its values at zeta^e[i], or back. The exponent of the first half
/// of a node is that of its first root times its length.
void evaluate(std::vector<std::complex<double>>& x, const std::vector<u32>& e,
              const std::vector<std::complex<double>>& zeta) {
  for (std::size_t len = x.size() / 2; len >= 1; len /= 2)
    for (std::size_t i = 0; i < x.size(); i += 2 * len)
      for (std::size_t k = i; k < i + len; ++k) {
        const std::complex<double> v = zeta[e[i] * len] * x[k + len];
        x[k + len] = x[k] - v;
        x[k] += v;
      }
}
void interpolate(std::vector<std::complex<double>>& x, const std::vector<u32>& e,
                 const std::vector<std::complex<double>>& zeta) {
  for (std::size_t len = 1; len < x.size(); len *= 2)
    for (std::size_t i = 0; i < x.size(); i += 2 * len)
      for (std::size_t k = i; k < i + len; ++k) {
        const std::complex<double> v = x[k] - x[k + len];
        x[k] += x[k + len];
        x[k + len] = std::conj(zeta[e[i] * len]) * v;
      }
  for (auto& v : x) v /= static_cast<double>(x.size());
}

}  // namespace

BatchMatmul::BatchMatmul(ContextPtr context, std::size_t dim) : ctx_(std::move(context)), dim_(dim) {
  const std::size_t n = ctx_->params().degree(), slots = n / 2;
  const std::size_t largest = std::min(slots, kMaxDim);
  if (dim < 2 || dim > largest || (dim & (dim - 1)) != 0)
    throw ShapeError("matrices must be d x d with d a power of two from 2 to " + std::to_string(largest) +
                     ", not d = " + std::to_string(dim) + ": pad smaller ones with zeros, cut larger ones into blocks");
  while ((std::size_t{1} << log_dim_) < dim) ++log_dim_;
  const unsigned log_n = ctx_->params().spec().log_n;
  for (std::size_t i = 0; i < dim; ++i) reversed_.push_back(static_cast<u32>(reverse_bits(i, log_dim_)));
  for (std::size_t i = 0; i < n; ++i)
    exponent_.push_back(static_cast<u32>((2 * reverse_bits(i, log_n) + 1) & (dim - 1)));
  const u64 step = ctx_->ring().index() / dim;
  for (std::size_t u = 0; u < dim; ++u)
    inverse_.push_back(static_cast<u32>((ctx_->ring().inverse(element(u)) - 1) / step));
  for (std::size_t k = 0; k < 2 * n; ++k) {
    const long double angle = kPi * static_cast<long double>(k) / static_cast<long double>(n);
    zeta_.emplace_back(static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle)));
  }
  slot_of_.resize(slots);
  u64 power = 1;
  for (std::size_t j = 0; j < slots; ++j, power = ctx_->ring().compose(power, 5))
    slot_of_[(power - 1) / 4] = static_cast<u32>(j);
}

std::vector<u64> BatchMatmul::required_keys() const {
  std::vector<u64> out;
  for (std::size_t u = 1; u < dim_; ++u) out.push_back(element(u));
  return out;
}

// ---- client ---------------------------------------------------------------------------------------

// Slot k is the value at zeta^(5^k); the matrices' slot b of N/(2d) is that of Y at zeta^(d*5^b). So the slots
// k = b modulo N/(2d) are the values of the line of matrix b at the d roots of X^d = zeta^(d*5^b).
std::vector<Plaintext> BatchMatmul::encode(std::span<const std::complex<double>> matrices, Lines by, double scale,
                                           std::size_t level, unsigned threads) const {
  const std::size_t size = dim_ * dim_, count = matrices.size() / size, n = ctx_->params().degree();
  if (matrices.size() % size != 0 || count > capacity())
    throw ShapeError(std::to_string(matrices.size()) + " numbers are not up to " + std::to_string(capacity()) +
                     " matrices of " + std::to_string(dim_) + " x " + std::to_string(dim_) +
                     ": pad matrices with zeros, and use more batches for more of them");
  std::vector<std::vector<u32>> exponents;
  for (std::size_t b = 0; b < count; ++b)
    exponents.push_back(roots(dim_, ctx_->rotation_element(static_cast<i64>(b)) * dim_ % (2 * n), n));
  std::vector<Plaintext> out(dim_);
  parallel_for(threads, dim_, [&](std::size_t j) {
    std::vector<std::complex<double>> slots(n / 2), line(dim_);
    for (std::size_t b = 0; b < count; ++b) {
      const auto* m = matrices.data() + b * size;
      for (std::size_t i = 0; i < dim_; ++i) line[i] = by == Lines::columns ? m[i * dim_ + j] : m[j * dim_ + i];
      evaluate(line, exponents[b], zeta_);
      for (std::size_t i = 0; i < dim_; ++i) slots[slot_of_[(exponents[b][i] - 1) / 4]] = line[i];
    }
    out[j] = ctx_->encode(std::span<const std::complex<double>>(slots), scale, level);
  });
  return out;
}

std::vector<std::complex<double>> BatchMatmul::decode(std::span<const Plaintext> lines, Lines by,
                                                      unsigned threads) const {
  const std::size_t size = dim_ * dim_, n = ctx_->params().degree();
  if (lines.size() != dim_)
    throw ShapeError("a batch of " + std::to_string(dim_) + " x " + std::to_string(dim_) + " matrices has " +
                     std::to_string(dim_) + " lines, not " + std::to_string(lines.size()));
  std::vector<std::vector<u32>> exponents;
  for (std::size_t b = 0; b < capacity(); ++b)
    exponents.push_back(roots(dim_, ctx_->rotation_element(static_cast<i64>(b)) * dim_ % (2 * n), n));
  std::vector<std::complex<double>> out(capacity() * size);
  parallel_for(threads, dim_, [&](std::size_t j) {
    const auto slots = ctx_->decode(lines[j]);
    std::vector<std::complex<double>> line(dim_);
    for (std::size_t b = 0; b < capacity(); ++b) {
      for (std::size_t i = 0; i < dim_; ++i) line[i] = slots[slot_of_[(exponents[b][i] - 1) / 4]];
      interpolate(line, exponents[b], zeta_);
      auto* m = out.data() + b * size;
      for (std::size_t i = 0; i < dim_; ++i) (by == Lines::columns ? m[i * dim_ + j] : m[j * dim_ + i]) = line[i];
    }
  });
  return out;
}

template <class Key>
MatrixBatch BatchMatmul::encrypt(Client& client, const Key& key, std::span<const std::complex<double>> matrices,
                                 Lines by, double scale, std::size_t level, double bound, unsigned threads) const {
  if (!(bound > 0) || !std::isfinite(bound)) throw ValueError("the declared bound must be positive and finite");
  for (const auto& x : matrices)
    if (std::abs(x) > bound * (1 + 1e-12))
      throw ValueError("an entry exceeds the declared bound " + std::to_string(bound) +
                       ": scale the data down, or have a larger bound declared (it is public and costs precision)");
  MatrixBatch batch;
  batch.by = by;
  batch.bound = bound;
  // A slot is the sum of d entries with factors of size 1.
  for (const auto& p : encode(matrices, by, scale, level, threads))
    batch.lines.push_back(client.encrypt(p, key, bound * static_cast<double>(dim_)));
  return batch;
}
template MatrixBatch BatchMatmul::encrypt(Client&, const SecretKey&, std::span<const std::complex<double>>, Lines,
                                          double, std::size_t, double, unsigned) const;
template MatrixBatch BatchMatmul::encrypt(Client&, const PublicKey&, std::span<const std::complex<double>>, Lines,
                                          double, std::size_t, double, unsigned) const;

std::vector<std::complex<double>> BatchMatmul::decrypt(Client& client, const SecretKey& sk, const MatrixBatch& batch,
                                                       unsigned threads) const {
  check(batch);
  std::vector<Plaintext> lines;
  for (const auto& c : batch.lines) lines.push_back(client.decrypt(c, sk));
  return decode(lines, batch.by, threads);
}

// ---- checks ---------------------------------------------------------------------------------------

void BatchMatmul::check(const MatrixBatch& batch) const {
  if (batch.lines.size() != dim_)
    throw ShapeError("a batch of " + std::to_string(dim_) + " x " + std::to_string(dim_) + " matrices has " +
                     std::to_string(dim_) + " ciphertexts, this one " + std::to_string(batch.lines.size()));
  const Ciphertext& first = batch.lines[0];
  for (const auto& c : batch.lines) {
    ctx_->check(c);
    if (c.parts.size() != 2) throw ShapeError("lines of matrices must have two parts: relinearize first");
    if (c.level() != first.level())
      throw LevelError("levels differ within a batch: " + std::to_string(first.level()) + " and " +
                       std::to_string(c.level()) + "; drop the higher ones with drop_to_level");
    if (c.key_id != first.key_id) throw MismatchError("the lines of a batch were made under different keys");
    if (std::fabs(c.scale / first.scale - 1) > 0x1p-30)
      throw ScaleError("scales differ within a batch: 2^" + std::to_string(std::log2(first.scale)) + " and 2^" +
                       std::to_string(std::log2(c.scale)));
  }
}

void BatchMatmul::check_operands(const MatrixBatch& left, const MatrixBatch& right, const RelinKey& relin) const {
  check(left);
  check(right);
  if (left.lines[0].key_id != right.lines[0].key_id)
    throw MismatchError("the two operands were made under different keys");
  if (relin.key().key_id != left.lines[0].key_id)
    throw MismatchError(
        "the relinearisation key belongs to another secret key than the operands: use keys made together");
  const std::size_t level = left.level();
  if (level != right.level())
    throw LevelError("levels differ: " + std::to_string(level) + " and " + std::to_string(right.level()) +
                     "; drop the higher one with drop_to_level");
  if (level < 1)
    throw LevelError(
        "a product of matrices needs operands of level 1 at least (it is rescaled once), not 0: use "
        "parameters with more primes");
  relin.key().check(ctx_->gadget(), level + 1);
  const double need = std::log2(product_bound(left, right)) + std::log2(product_scale(left, right)),
               have = ctx_->basis(level - 1).log2() - 1;
  if (need > have)
    throw ValueError("results of size up to 2^" + std::to_string(std::log2(product_bound(left, right))) +
                     " at scale 2^" + std::to_string(std::log2(product_scale(left, right))) + " do not fit level " +
                     std::to_string(level - 1) + ", which has room for 2^" + std::to_string(have) +
                     ": use smaller scales or bounds, or " +
                     (level < ctx_->params().max_level() ? "a higher level" : "larger first primes"));
  const auto [variance, spread] = predict(left, right);
  const MatrixBatch out =
      described(left, left.by, product_scale(left, right), product_bound(left, right), variance, spread, 0);
  // The worst line of the result is as a rescaled ciphertext whose slots are sums of d entries.
  check_rescaled(ctx_->params(), out.lines[0], static_cast<double>(ctx_->basis(level)[level].value()));
}

std::vector<std::shared_ptr<const SwitchingKey>> BatchMatmul::keys_of(const GaloisKeys& keys,
                                                                      const MatrixBatch& batch) const {
  std::vector<std::shared_ptr<const SwitchingKey>> out(dim_);
  for (std::size_t u = 1; u < dim_; ++u) {
    if (!keys.contains(element(u)))
      throw MissingKeyError("matrices of " + std::to_string(dim_) + " x " + std::to_string(dim_) + " need the " +
                            std::to_string(dim_ - 1) + " Galois keys of required_keys(); that of element " +
                            std::to_string(element(u)) + " is missing");
    out[u] = keys.at(element(u));
    out[u]->check(ctx_->gadget(), batch.level() + 1);
    if (out[u]->key_id != batch.lines[0].key_id)
      throw MismatchError("a Galois key belongs to another secret key than the operands: use keys made together");
  }
  return out;
}

double BatchMatmul::product_bound(const MatrixBatch& left, const MatrixBatch& right) const {
  return static_cast<double>(dim_) * left.bound * right.bound;
}
double BatchMatmul::product_scale(const MatrixBatch& left, const MatrixBatch& right) const {
  const Basis basis = ctx_->basis(left.level());
  return left.scale() * right.scale() / static_cast<double>(basis[left.level()].value());
}

MatrixBatch BatchMatmul::described(const MatrixBatch& from, Lines by, double scale, double bound, double variance,
                                   double spread, double float_error) const {
  Ciphertext line;
  line.key_id = from.lines[0].key_id;
  line.float_error = float_error;
  line.scale = scale;
  line.variance = variance;
  line.spread = spread;
  line.bound = bound * static_cast<double>(dim_);
  return {std::vector<Ciphertext>(dim_, line), by, bound};
}

MatrixBatch BatchMatmul::drop_to_level(const MatrixBatch& batch, std::size_t level) const {
  check(batch);
  const Evaluator ev(ctx_);
  MatrixBatch out{{}, batch.by, batch.bound};
  for (const auto& c : batch.lines) out.lines.push_back(ev.drop_to_level(c, level));
  return out;
}

BatchMatmulReport& BatchMatmulReport::operator+=(const BatchMatmulReport& o) noexcept {
  products += o.products;
  switching += o.switching;
  transform += o.transform;
  division += o.division;
  multiply_adds += o.multiply_adds;
  butterflies += o.butterflies;
  return *this;
}

// ---- predictions ----------------------------------------------------------------------------------

// Errors of the left operand are multiplied by lines of the right one, whose squared norm is at most d times the
// squared bound; errors of the right operand likewise. The two may depend on each other, so deviations add. A
// combination of results meets an operand's norm instead, at most d times the bound. Key switches: of fa; of la, where
// the error, and the rounding of the part that belongs to s^2, are multiplied by s and s^2; the relinearisation. Each
// automorphism adds its own, with factors of absolute value 1.
std::pair<double, double> BatchMatmul::predict(const MatrixBatch& left, const MatrixBatch& right) const {
  const std::size_t level = left.level();
  const double n = static_cast<double>(ctx_->params().degree()), d = static_cast<double>(dim_);
  const double prime = static_cast<double>(ctx_->basis(level)[level].value());
  double variance[2] = {0, 0}, spread[2] = {1, 1};
  for (std::size_t j = 0; j < dim_; ++j) {
    const Ciphertext* c[2] = {&left.lines[j], &right.lines[j]};
    for (int i = 0; i < 2; ++i) {
      variance[i] = std::max(variance[i], c[i]->variance);
      spread[i] = std::max(spread[i], c[i]->spread);
    }
  }
  const double deviation = std::sqrt(variance[0] * spread[0]) * right.bound * right.scale() +
                           std::sqrt(variance[1] * spread[1]) * left.bound * left.scale();
  const double both = n * variance[0] * variance[1];
  const double k = ctx_->gadget().switch_variance(level + 1), secret = 2 * n / 3;
  const double rounding = MetadataRules(ctx_).rounding();
  const double added = ((d - 1) * (k * (1 + secret) + square(secret) / 12) + d * k) / square(prime) + rounding;
  const double own = (d * square(deviation) + both) / square(prime) + added;
  const double peak = (square(d * deviation) + d * both) / square(prime) + added;
  return {own, std::max(1.0, peak / own)};
}

BatchMatmulCost BatchMatmul::cost(std::size_t level, unsigned conversions, unsigned threads) const {
  if (level < 1) throw LevelError("a product of matrices needs operands of level 1 at least, not 0");
  (void)ctx_->basis(level);
  const Gadget& gadget = ctx_->gadget();
  const std::size_t n = ctx_->params().degree(), d = dim_, limbs = level + 1, special = gadget.p().size();
  const std::size_t ext = limbs + special, padded = std::max(d, kPad), limb_bytes = n * sizeof(u64);
  BatchMatmulCost cost;
  auto& ops = cost.ops;
  const auto mod_up = [&](std::size_t times) {
    const auto c = gadget.mod_up_cost(limbs);
    ops.intt += times * c.intt;
    ops.ntt += times * c.ntt;
    ops.mod_up += times;
    ops.key_switch += times;
  };
  const auto drop = [&](std::size_t kept, std::size_t gone, std::size_t times) {  // of single polynomials
    ops.intt += times * gone;
    ops.ntt += times * kept;
    ops.mod_down += times;
  };
  mod_up(3 * d - 2 + conversions * (d - 1));
  drop(limbs, special, d - 1 + 2 * d * conversions);
  drop(limbs - 1, special + 1, 2 * d);
  ops.rotation = (1 + conversions) * (d - 1);
  ops.key_bytes = (2 * d - 1 + conversions * (d - 1)) * gadget.key_bytes(limbs);
  cost.multiply_adds = 4 * padded * padded * n * limbs;
  cost.butterflies = n * d * log_dim_ * (ext + conversions * (ext + limbs));
  cost.keys = d - 1;
  cost.key_storage = d * gadget.key_bytes(limbs);
  cost.input_storage = 4 * d * limbs * limb_bytes;
  // Diagonals, switched values and results have blocks of different sizes, so that the pool does not give the ones to
  // the others. Each thread has digits, coefficients and sums of its own, and the tiles of a class.
  const std::size_t shared = d * (4 * limbs + 2 * ext + 2 * (limbs - 1)) + 2 * d * limbs * conversions;
  const std::size_t each = gadget.digits(limbs) + 5 * limbs + 2 * ext;
  cost.working = (shared + threads * each) * limb_bytes + threads * 8 * padded * (padded + 8) * sizeof(u64);
  return cost;
}

double BatchMatmul::error_bound(const MatrixBatch& batch) const {
  check(batch);
  double variance = 0;
  for (const auto& c : batch.lines) variance = std::max(variance, c.variance);
  const double precision = float_error(batch) + decoding_error(ctx_->params().degree()) * batch.lines[0].bound;
  // An entry is a slot of N/d coefficients, and there are d*N/2 entries: the rest is as in slot_error_bound.
  const double n = static_cast<double>(ctx_->params().degree()), d = static_cast<double>(dim_);
  return std::sqrt(n / d * variance) * (std::log(d * n / 2 * 0x1p40) + 3) / 2 / batch.scale() + precision;
}

double BatchMatmul::float_error(const MatrixBatch& batch) {
  double most = 0;
  for (const auto& c : batch.lines) most = std::max(most, c.float_error);
  return most;
}

}  // namespace ringforge::circuits
