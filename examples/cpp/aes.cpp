// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The S-box of AES on 2,048 encrypted bytes at once, under BGV modulo 2: slots are elements of GF(2^16), which has the
// bytes of AES in it. (The Python package has all of AES-128, and turns AES ciphertexts into BGV ones.)
#include <cstdio>

#include "ringforge/bgv/bgv.hpp"
#include "ringforge/linear/binary_slots.hpp"

namespace {
using namespace ringforge;
using Bytes = std::vector<std::uint8_t>;

unsigned times(unsigned x, unsigned y) {  // in GF(2)[X]/(X^8 + X^4 + X^3 + X + 1)
  unsigned out = 0;
  for (; y != 0; y >>= 1, x = (x << 1) ^ (x & 0x80 ? 0x11bU : 0U)) out ^= y & 1 ? x : 0;
  return out;
}

/// As FIPS 197 defines it: the inverse, then an affine map of bits.
std::uint8_t s_box(unsigned x) {
  unsigned inverse = 0, out = 0x63;
  for (unsigned y = 0; y < 256; ++y)
    if (times(x, y) == 1) inverse = y;
  for (unsigned turn = 0; turn < 5; ++turn) out ^= (inverse << turn | inverse >> (8 - turn)) & 0xffU;
  return static_cast<std::uint8_t>(out);
}
}  // namespace

int main() {
  const auto context = std::make_shared<const bgv::Context>(bgv::Parameters::named("bgv-65535"));
  const linear::BinarySlots slots(context->params().m());
  const auto pack = [&](const Bytes& bytes) {
    std::vector<u32> values(slots.size());
    bgv::Bits bits(slots.degree());
    slots.embed(values, bytes);
    slots.encode(bits, values);
    return bits;
  };
  Bytes plain(slots.size());
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<std::uint8_t>(i);

  // Client: six primes suffice; keys for x -> x^(2^k).
  constexpr std::size_t limbs = 6;
  bgv::Client client(context);
  const auto secret = client.secret_key();
  const auto relin = client.relin_key(secret, limbs);
  bgv::GaloisKeys keys;
  for (int k = 1; k < 8; ++k) keys.insert(client.galois_key(secret, context->frobenius_element(k), limbs));
  const auto x = client.encrypt(pack(plain), secret, limbs);

  // Server: 1/x = x^254 in four products; powers of two are automorphisms and cost no level.
  const bgv::Evaluator evaluator(context);
  const auto square = [&](const bgv::Ciphertext& c, int times) {
    return evaluator.apply_galois(c, context->frobenius_element(times), keys);
  };
  const auto multiply = [&](const bgv::Ciphertext& a, const bgv::Ciphertext& b) {  // and drop a prime with the noise
    const std::size_t common = std::min(a.limbs(), b.limbs());
    return evaluator.multiply(evaluator.mod_switch_to(a, common), evaluator.mod_switch_to(b, common), relin, 1);
  };
  const auto x2 = square(x, 1), x3 = multiply(x, x2), x12 = square(x3, 2), x15 = multiply(x3, x12);
  const auto inverse = multiply(multiply(square(x15, 4), x12), x2);

  // The affine map is 0x63 plus a sum of constants times x^(2^k).
  constexpr std::uint8_t constants[] = {0x05, 0x09, 0xf9, 0x25, 0xf4, 0x01, 0xb5, 0x8f};
  std::vector<bgv::Multiplier> factors;
  for (const auto c : constants)
    factors.push_back(context->multiplier(pack(Bytes(slots.size(), c)), inverse.limbs(), true));
  std::vector<bgv::Evaluator::Term> terms;
  for (int k = 0; k < 8; ++k)
    terms.push_back({k == 0 ? 1 : context->frobenius_element(k), &factors[static_cast<std::size_t>(k)]});
  const auto sums = evaluator.frobenius_sums(inverse, {&terms, 1}, keys);
  const auto result = evaluator.add_plain(sums[0], pack(Bytes(slots.size(), 0x63)));

  // Client.
  std::vector<u32> values(slots.size());
  Bytes got(slots.size());
  slots.decode(values, client.decrypt(result, secret));
  slots.extract(got, values);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != s_box(plain[i]);
  std::printf("S(53) = %02x; %zu of %zu bytes wrong; %.0f bits of noise budget left\n", got[0x53], wrong, got.size(),
              client.noise_budget(result, secret));
  return wrong == 0 ? 0 : 1;
}
