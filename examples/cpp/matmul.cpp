// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The product of two encrypted matrices, 12 x 20 and 20 x 9. The server sees shapes and declared bounds, nothing else.
#include "ringforge/circuits/matrix_product.hpp"

#include <cmath>
#include <cstdio>

int main() {
  using namespace ringforge;
  constexpr std::size_t m = 12, l = 20, n = 9;
  std::vector<double> a(m * l), b(l * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<double>(i));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::cos(static_cast<double>(i));

  // [product]
  // Both sides make the same plan from what is public: parameters, shape, largest |entry| of each matrix.
  const auto context = std::make_shared<const ckks::Context>(ckks::Parameters::named("matmul-a-128"));
  circuits::MatrixProduct product(context, {m, l, n}, {.left_bound = 1, .right_bound = 1});

  // The client has the secret key, encrypts, and makes the keys that the product needs.
  ckks::Client client(context);
  const ckks::SecretKey secret = client.secret_key();
  const ckks::KeySet keys = product.make_keys(client, secret);
  const ckks::Ciphertext left = product.encrypt_left(client, secret, a);
  const ckks::Ciphertext right = product.encrypt_right(client, secret, b);

  // The server has keys and ciphertexts.
  product.prepare();
  const ckks::Ciphertext result = product.multiply(left, right, keys);

  // The client decrypts: row-major, m x n.
  const std::vector<double> c = product.decrypt(client, secret, result);
  // [product]

  double worst = 0;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double exact = 0;
      for (std::size_t k = 0; k < l; ++k) exact += a[i * l + k] * b[k * n + j];
      worst = std::max(worst, std::fabs(c[i * n + j] - exact));
    }
  const auto& plan = product.plan();
  std::printf("plan %s: level %zu, %llu key switches, %zu keys, %.1f MiB of keys\n", plan.label.c_str(), plan.level,
              static_cast<unsigned long long>(plan.work.key_switch), plan.rotation_keys + 1,
              static_cast<double>(plan.key_storage) / (1 << 20));
  std::printf("largest error %.1e, predicted below %.1e\n", worst, ckks::error_bound(result));
  return worst <= ckks::error_bound(result) ? 0 : 1;
}
