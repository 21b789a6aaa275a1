// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/matrix_product.hpp"

#include <cmath>
#include <map>
#include <string>

#include "ringforge/error.hpp"

namespace ringforge::circuits {

using ckks::Ciphertext;
using ckks::Client;
using ckks::KeySet;
using ckks::Metadata;

namespace {

/// Entry (i, j) of a matrix with so many rows in slot i + stride * j.
std::vector<double> pack(std::span<const double> x, std::size_t rows, std::size_t cols, const char* side) {
  if (x.size() != rows * cols)
    throw ShapeError("the " + std::string(side) + " matrix has " + std::to_string(x.size()) + " entries, a " +
                     std::to_string(rows) + " x " + std::to_string(cols) + " one has " + std::to_string(rows * cols));
  std::vector<double> out(rows * cols);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < cols; ++j) out[i + rows * j] = x[i * cols + j];
  return out;
}

double positive(double bound) {
  if (!(bound > 0) || !std::isfinite(bound)) throw ValueError("bounds of entries are positive numbers");
  return bound;
}

}  // namespace

// Levels. With T transforms in the longer pipeline, inputs of level L become bases of level L - T; masks take one
// level, the product another. Scales. Inputs and results have the set's default scale D exactly: with q the prime that
// the product's rescale drops, both bases get the scale sqrt(q D), or sqrt(q D / 2) when the real part doubles the
// result, and the multipliers' own scales make up the differences.
MatrixProduct::MatrixProduct(ckks::ContextPtr context, const MatrixShape& shape, const Options& options)
    : ctx_(std::move(context)),
      plan_(plan_matrix_product(*ctx_, shape, options.level)),
      options_(options),
      scale_(std::exp2(ctx_->params().spec().log_scale)),
      result_bound_(positive(options.result_bound.value_or(static_cast<double>(shape.l) * positive(options.left_bound) *
                                                           positive(options.right_bound)))),
      base_level_(plan_.level - plan_.transforms()),
      product_level_(base_level_ - (plan_.masked ? 1 : 0)),
      left_(stages(plan_.left, 0, positive(options.left_bound))),
      right_(stages(plan_.right, left_.scale, positive(options.right_bound))),
      products_(ctx_, plan_.products, base_level_) {}

MatrixProduct::MatrixProduct(ckks::ContextPtr context, const MatrixShape& shape)
    : MatrixProduct(std::move(context), shape, Options{}) {}

MatrixProduct::Stages MatrixProduct::stages(const MatrixOperand& operand, double other, double bound) const {
  const auto q = static_cast<double>(ctx_->params().spec().q[product_level_]);
  const double product = q * scale_ / (plan_.products.real_part ? 2 : 1);
  Stages out;
  out.scale = other == 0 ? std::sqrt(product) : product / other;
  out.copies = operand.copies;
  std::size_t level = base_level_ + operand.transforms.size();
  double at = scale_;
  for (const auto& [map, babies] : operand.transforms) {
    out.transforms.emplace_back(ctx_, map, level--, Schedule::bsgs, babies);
    out.scalings.push_back({at, out.scale, bound});
    at = out.scale;
    bound *= map.row_sum();
  }
  // Copies go to slots that are empty: the bound stays.
  out.bound = bound;
  return out;
}

PairSum::Scaling MatrixProduct::product_scaling() const {
  return {left_.scale, right_.scale, scale_, left_.bound, right_.bound, result_bound_};
}

// ---- the side of the keys ---------------------------------------------------------------------------

template <class Key>
Ciphertext MatrixProduct::encrypt(Client& client, const Key& key, std::span<const double> x, bool left) const {
  const auto& [m, l, n] = plan_.shape;
  const auto slots = left ? pack(x, m, l, "left") : pack(x, l, n, "right");
  const auto& operand = left ? plan_.left : plan_.right;
  return client.encrypt(ctx_->encode(std::span<const double>(slots), scale_, base_level_ + operand.transforms.size()),
                        key, left ? options_.left_bound : options_.right_bound);
}

Ciphertext MatrixProduct::encrypt_left(Client& client, const ckks::SecretKey& key, std::span<const double> a) const {
  return encrypt(client, key, a, true);
}
Ciphertext MatrixProduct::encrypt_left(Client& client, const ckks::PublicKey& key, std::span<const double> a) const {
  return encrypt(client, key, a, true);
}
Ciphertext MatrixProduct::encrypt_right(Client& client, const ckks::SecretKey& key, std::span<const double> b) const {
  return encrypt(client, key, b, false);
}
Ciphertext MatrixProduct::encrypt_right(Client& client, const ckks::PublicKey& key, std::span<const double> b) const {
  return encrypt(client, key, b, false);
}

std::vector<double> MatrixProduct::decrypt(const Client& client, const ckks::SecretKey& key,
                                           const Ciphertext& c) const {
  const auto slots = ctx_->decode(client.decrypt(c, key));
  const auto& [m, l, n] = plan_.shape;
  std::vector<double> out(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) out[i * n + j] = slots[i + plan_.stride * j].real();
  return out;
}

std::vector<std::pair<u64, std::size_t>> MatrixProduct::required_keys() const {
  std::map<u64, std::size_t> out;
  const auto need = [&](u64 element, std::size_t level) {
    std::size_t& have = out[element];
    have = std::max(have, level);
  };
  for (const Stages* of : {&left_, &right_}) {
    for (const auto& hlt : of->transforms)
      for (const auto step : hlt.steps()) need(ctx_->rotation_element(step), hlt.level());
    for (const auto step : of->copies) need(ctx_->rotation_element(step), base_level_);
  }
  for (const auto& [element, level] : products_.required_keys()) need(element, level);
  return {out.begin(), out.end()};
}

KeySet MatrixProduct::make_keys(Client& client, const ckks::SecretKey& key, unsigned threads) const {
  ckks::GaloisKeys galois;
  for (const auto& [element, level] : required_keys()) galois.insert(client.galois_key(key, element, level, threads));
  return {galois, client.relin_key(key, relin_level(), threads)};
}

// ---- the side of the ciphertexts ----------------------------------------------------------------------

void MatrixProduct::prepare(unsigned threads) {
  prepared_ = false;
  for (Stages* of : {&left_, &right_})
    for (std::size_t i = 0; i < of->transforms.size(); ++i)
      of->transforms[i].encode(of->scalings[i], options_.compact, threads);
  products_.encode(product_scaling(), options_.compact, threads);
  prepared_ = true;
}

std::size_t MatrixProduct::storage() const noexcept {
  std::size_t out = products_.storage();
  for (const Stages* of : {&left_, &right_})
    for (const auto& hlt : of->transforms) out += hlt.storage();
  return out;
}

MatrixProduct::Factor MatrixProduct::factor(const Ciphertext& x, const KeySet& keys, bool left,
                                            unsigned threads) const {
  if (!prepared_) throw ParameterError("nothing is encoded yet: call prepare() before products");
  const Stages& of = left ? left_ : right_;
  ctx_->check(x);
  const std::size_t start = base_level_ + of.transforms.size();
  if (x.level() < start)
    throw LevelError("the product takes " + std::string(left ? "left" : "right") + " operands of level " +
                     std::to_string(start) + " or more, this one has level " + std::to_string(x.level()) +
                     ": encrypt it with encrypt_left or encrypt_right of this product");
  const ckks::Evaluator evaluator(ctx_, threads);
  Ciphertext y = x.level() == start ? x : evaluator.drop_to_level(x, start);
  for (const auto& hlt : of.transforms) y = hlt.run(y, keys.galois(), threads);
  if (!of.copies.empty()) y = evaluator.replicate(y, of.copies, keys.galois());
  return {left, std::move(y)};
}

MatrixProduct::Factor MatrixProduct::left(const Ciphertext& a, const KeySet& keys, unsigned threads) const {
  return factor(a, keys, true, threads);
}
MatrixProduct::Factor MatrixProduct::right(const Ciphertext& b, const KeySet& keys, unsigned threads) const {
  return factor(b, keys, false, threads);
}

Ciphertext MatrixProduct::multiply(const Factor& a, const Factor& b, const KeySet& keys, unsigned threads,
                                   const std::function<void(double)>& progress) const {
  if (!prepared_) throw ParameterError("nothing is encoded yet: call prepare() before products");
  if (!a.left || b.left) throw ShapeError("a product takes a left and a right factor, in this order");
  const Ciphertext *x = &a.base, *y = &b.base;
  return products_.run({&x, 1}, {&y, 1}, keys, threads, progress);
}

Ciphertext MatrixProduct::multiply(const Ciphertext& a, const Ciphertext& b, const KeySet& keys, unsigned threads,
                                   const std::function<void(double)>& progress) const {
  return multiply(left(a, keys, threads), right(b, keys, threads), keys, threads, progress);
}

// ---- predictions ------------------------------------------------------------------------------------

Metadata MatrixProduct::describe(const Stages& of, bool public_key, double bound) const {
  const ckks::MetadataRules rules(ctx_);
  Metadata m = rules.encrypted(scale_, bound, public_key);
  for (std::size_t i = 0; i < of.transforms.size(); ++i) m = of.transforms[i].describe(m, of.scalings[i]);
  return of.copies.empty() ? m : rules.replicated(m, base_level_ + 1, of.copies.size());
}

Metadata MatrixProduct::describe(bool public_key) const {
  const Metadata a = describe(left_, public_key, options_.left_bound);
  const Metadata b = describe(right_, public_key, options_.right_bound);
  const Metadata *x = &a, *y = &b;
  return products_.describe({&x, 1}, {&y, 1}, product_scaling());
}

}  // namespace ringforge::circuits
