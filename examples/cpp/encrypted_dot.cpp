// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The C++ library from outside: the inner product of an encrypted vector with a plain one.
#include <cmath>
#include <cstdio>
#include <numeric>

#include "ringforge/ckks/ckks.hpp"

int main() {
  using namespace ringforge::ckks;
  const auto params = Parameters::named("set-a");
  const auto context = std::make_shared<const Context>(params);
  Client client(context);
  const auto secret = client.secret_key();
  const Evaluator evaluator(context);

  std::vector<double> x(8), w(8);
  std::iota(x.begin(), x.end(), 1.0);
  for (std::size_t i = 0; i < 8; ++i) w[i] = 1.0 / static_cast<double>(i + 1);
  const double exact = std::inner_product(x.begin(), x.end(), w.begin(), 0.0);

  const double scale = std::exp2(params.spec().log_scale);
  const auto encrypted = client.encrypt(context->encode(std::span<const double>(x), scale, 2), secret, 8.0);
  GaloisKeys keys;
  for (const int step : {1, 2, 4}) keys.insert(client.galois_key(secret, context->rotation_element(step)));

  auto sum = evaluator.rescale(evaluator.mul_plain(encrypted, context->encode(std::span<const double>(w), scale, 2)));
  for (const int step : {4, 2, 1}) sum = evaluator.add(sum, evaluator.rotate(sum, step, keys));

  const double got = context->decode(client.decrypt(sum, secret))[0].real();
  std::printf("encrypted inner product %.6f, exact %.6f, predicted error below %.1e\n", got, exact, error_bound(sum));
  return std::fabs(got - exact) < error_bound(sum) ? 0 : 1;
}
