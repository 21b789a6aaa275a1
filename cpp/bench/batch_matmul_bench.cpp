// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Seconds of a batch of encrypted matrix products, by phase, at each level. Each figure is the least of some runs:
// on a shared machine the least disturbed one. Errors are those of the first matrices against their bound.
//
//   batch_matmul_bench [log2 N = 13] [d = 64] [limbs = 5] [bits = 42] [log2 scale = 40] [threads = 1] [runs = 10]
//
// Primes: q_0 and the special prime of 50 bits, the others of `bits`.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "ringforge/circuits/batch_matmul.hpp"

using namespace ringforge;
using namespace ringforge::circuits;
using namespace ringforge::ckks;
using Numbers = std::vector<std::complex<double>>;

namespace {

Parameters parameters(unsigned log_n, std::size_t limbs, unsigned bits, double log_scale) {
  const auto ends = primes_below(50, 2, u64{1} << 18);
  const auto middle = primes_below(bits, limbs - 1, u64{1} << 18, ends);
  ParametersSpec spec;
  spec.name = "bench";
  spec.log_n = log_n;
  spec.q = {ends[1]};
  spec.q.insert(spec.q.end(), middle.begin(), middle.end());
  spec.p = {ends[0]};
  spec.log_scale = log_scale;
  spec.insecure = "measurement";
  return Parameters(spec);
}

Numbers random_entries(std::size_t count) {
  static std::mt19937_64 rng(20261121);
  std::uniform_real_distribution<double> u(-std::sqrt(0.5), std::sqrt(0.5));
  Numbers m(count);
  for (auto& x : m) x = {u(rng), u(rng)};
  return m;
}

/// Largest error of the first `count` products.
double error(const Numbers& a, const Numbers& b, const Numbers& got, std::size_t d, std::size_t count) {
  double worst = 0;
  for (std::size_t m = 0; m < count * d * d; m += d * d)
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) {
        std::complex<double> sum = 0;
        for (std::size_t k = 0; k < d; ++k) sum += a[m + i * d + k] * b[m + k * d + j];
        worst = std::max(worst, std::abs(sum - got[m + i * d + j]));
      }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int i, unsigned otherwise) {
    return argc > i ? static_cast<unsigned>(std::atoi(argv[i])) : otherwise;
  };
  const unsigned log_n = argument(1, 13), d = argument(2, 64), limbs = argument(3, 5), bits = argument(4, 42),
                 log_scale = argument(5, 40), threads = argument(6, 1), runs = argument(7, 10);
  const auto params = parameters(log_n, limbs, bits, log_scale);
  const auto ctx = std::make_shared<const Context>(params);
  Client client(ctx);
  const auto sk = client.secret_key();
  const BatchMatmul matmul(ctx, d);
  GaloisKeys galois;
  for (const u64 g : matmul.required_keys()) galois.insert(client.galois_key(sk, g, {}, threads));
  const auto relin = client.relin_key(sk, {}, threads);
  const std::size_t count = matmul.capacity();
  const auto a = random_entries(count * d * d), b = random_entries(count * d * d);
  std::printf("N = 2^%u, %zu products of %u x %u complex matrices, log2 QP %.0f (%s), %u threads, kernels %s\n", log_n,
              count, d, d, params.log_qp(), params.secure() ? "128 bits" : "below 128 bits", threads,
              kernels::active().name);
  std::printf("%5s %9s %12s | %9s %9s %9s %9s | %8s %8s | %6s %6s %6s | %9s\n", "level", "ms", "ms/product", "products",
              "switching", "transform", "division", "error", "bound", "KS", "NTT", "INTT", "MB");
  for (std::size_t level = limbs - 1; level >= 1; --level) {
    const double scale = std::exp2(log_scale);
    const auto x = matmul.encrypt(client, sk, a, Lines::columns, scale, level, 1.0, threads);
    const auto y = matmul.encrypt(client, sk, b, Lines::rows, scale, level, 1.0, threads);
    BatchMatmulReport best;
    double least = 1e9;
    MatrixBatch z;
    for (unsigned r = 0; r < std::max(1U, runs); ++r) {
      BatchMatmulReport report;
      const auto start = std::chrono::steady_clock::now();
      z = matmul.multiply(x, y, {galois, relin}, Lines::columns, threads, &report);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (seconds < least) {
        least = seconds;
        best = report;
      }
    }
    const auto cost = matmul.cost(level, 0, threads);
    const double worst = error(a, b, matmul.decrypt(client, sk, z, threads), d, std::min<std::size_t>(count, 4));
    std::printf("%5zu %9.1f %12.3f | %9.1f %9.1f %9.1f %9.1f | 2^%6.1f 2^%6.1f | %6llu %6llu %6llu | %9.0f\n", level,
                least * 1e3, least * 1e3 / static_cast<double>(count), best.products * 1e3, best.switching * 1e3,
                best.transform * 1e3, best.division * 1e3, std::log2(worst), std::log2(matmul.error_bound(z)),
                static_cast<unsigned long long>(cost.ops.key_switch), static_cast<unsigned long long>(cost.ops.ntt),
                static_cast<unsigned long long>(cost.ops.intt),
                static_cast<double>(cost.key_storage + cost.input_storage + cost.working) / 1e6);
  }
  return 0;
}
