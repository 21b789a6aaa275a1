// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The server's matrix times the client's encrypted vector, plus a bias: a layer of a network. The server never sees the
// vector, the client never sees the matrix.
#include <cmath>
#include <cstdio>

#include "ringforge/circuits/matvec.hpp"

int main() {
  using namespace ringforge;
  constexpr std::size_t rows = 10, cols = 64;
  std::vector<double> matrix(rows * cols), bias(rows), x(cols);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = std::sin(static_cast<double>(i)) / 8;
  for (std::size_t i = 0; i < rows; ++i) bias[i] = 0.1 * static_cast<double>(i);
  for (std::size_t i = 0; i < cols; ++i) x[i] = std::cos(static_cast<double>(i));

  const auto params = ckks::Parameters::named("set-a");
  const auto context = std::make_shared<const ckks::Context>(params);
  const double scale = std::exp2(params.spec().log_scale);
  constexpr std::size_t level = 1;  // one level is used up

  // Both sides: where columns lie in the slots, and the number of baby steps that costs least.
  const linear::Packing packing(rows, cols, params.slots(), linear::Span::spread);
  linear::Plan plan(packing, linear::Algorithm::bsgs, 1);
  for (std::size_t baby = 2; baby <= packing.diagonals(); baby *= 2) {
    const linear::Plan other(packing, linear::Algorithm::bsgs, baby);
    if (circuits::Matvec::cost(*context, other, level).weight < circuits::Matvec::cost(*context, plan, level).weight)
      plan = other;
  }
  circuits::Matvec product(context, plan, level);

  // Client: the vector's entries go to the slots that the packing names; keys for the plan's rotations.
  ckks::Client client(context);
  const auto secret = client.secret_key();
  std::vector<double> slots(params.slots(), 0.0);
  for (std::size_t s = 0; s < slots.size(); ++s)
    if (const std::size_t column = packing.column(0, s); column < cols) slots[s] = x[column];
  const auto encrypted = client.encrypt(context->encode(std::span<const double>(slots), scale, level), secret, 1.0);
  ckks::GaloisKeys keys;
  for (const auto& [element, at] : product.required_keys()) keys.insert(client.galois_key(secret, element, at));

  // Server.
  product.encode(matrix, bias, {.input_scale = scale, .output_scale = scale, .input_bound = 1, .fresh_inputs = true});
  const auto results = product.run({&encrypted, 1}, keys);

  // Client: row r is in slot r.
  const auto decrypted = context->decode(client.decrypt(results[0], secret));
  double worst = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    double exact = bias[r];
    for (std::size_t c = 0; c < cols; ++c) exact += matrix[r * cols + c] * x[c];
    worst = std::max(worst, std::fabs(decrypted[r].real() - exact));
    std::printf("row %zu: %9.6f, exact %9.6f\n", r, decrypted[r].real(), exact);
  }
  std::printf("largest error %.1e, predicted below %.1e, with %zu keys\n", worst, ckks::error_bound(results[0]),
              keys.size());
  return worst <= ckks::error_bound(results[0]) ? 0 : 1;
}
