// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What travels between programs: keys and ciphertexts as records, and what a reader does with bytes that are none.
#include <cstdio>
#include <sstream>

#include "ringforge/ckks/io.hpp"
#include "ringforge/error.hpp"

int main() {
  using namespace ringforge;
  const auto context = std::make_shared<const ckks::Context>(ckks::Parameters::named("set-a"));
  ckks::Client client(context);
  const auto secret = client.secret_key();
  const std::vector<double> x{1, 2, 3};
  const auto encrypted = client.encrypt(context->encode(std::span<const double>(x), 0x1p40, 1), secret, 4.0);

  // [records]
  // The client writes; any stream will do.
  std::stringstream wire;
  io::save(wire, *context, encrypted);

  // The server reads. Whatever is not exactly such a record is refused before it is used.
  ckks::Ciphertext received = io::load_ciphertext(wire, *context);
  // [records]

  // [errors]
  std::string bytes = wire.str();
  bytes[bytes.size() / 2] ^= 1;
  std::istringstream damaged(bytes);
  try {
    (void)io::load_ciphertext(damaged, *context);
    return 1;
  } catch (const FormatError& e) {  // foreign bytes
    std::printf("refused: %s\n", e.what());
  }
  try {
    (void)ckks::Evaluator(context).rotate(received, 3, ckks::GaloisKeys{});
    return 1;
  } catch (const Error& e) {  // all that this library throws derives from it
    std::printf("refused: %s\n", e.what());
  }
  // [errors]
  const auto back = context->decode(client.decrypt(received, secret));
  std::printf("%zu bytes, first number %.6f\n", bytes.size(), back[0].real());
  return std::abs(back[0] - 1.0) < ckks::error_bound(received) ? 0 : 1;
}
