// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The OPRF's eight lanes, of plain integers and of AVX-512: the field against OpenSSL's big numbers with limbs at their
// bounds, the group against libsodium and RFC 9496's vectors, batches against libsodium's byte for byte.
#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <pthread.h>
#include <sodium.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "kernels/sets.hpp"
#include "oprf/batches.hpp"
#include "ringforge/error.hpp"

namespace ringforge::oprf {

void PrintTo(const Lanes* lanes, std::ostream* out) { *out << lanes->name; }

namespace {

using Buffer = std::vector<std::uint8_t>;
using u64 = std::uint64_t;

std::vector<const Lanes*> all_lanes() {
  std::vector<const Lanes*> all{&portable_lanes()};
#if defined(__x86_64__)
  if (kernels::cpu_has_avx512()) all.push_back(&avx512_lanes());
#endif
  return all;
}

class OprfLanes : public testing::TestWithParam<const Lanes*> {
 protected:
  OprfLanes() { EXPECT_GE(sodium_init(), 0); }
  const Lanes& lanes = *GetParam();
};
INSTANTIATE_TEST_SUITE_P(Lanes, OprfLanes, testing::ValuesIn(all_lanes()),
                         [](const auto& info) { return std::string(info.param->name); });

Buffer unhex(const std::string& hex) {
  Buffer out;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    out.push_back(static_cast<std::uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return out;
}

std::string hex(Bytes bytes) {
  std::string out(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(out.data(), out.size(), bytes.data(), bytes.size());
  out.pop_back();
  return out;
}

// ---- the field -----------------------------------------------------------------------------------------------------

struct Number {
  BIGNUM* n = BN_new();
  Number() = default;
  explicit Number(u64 v) { BN_set_word(n, v); }
  Number(const Number& o) : n(BN_dup(o.n)) {}
  Number& operator=(const Number& o) {
    BN_copy(n, o.n);
    return *this;
  }
  ~Number() { BN_free(n); }
  bool operator==(const Number& o) const { return BN_cmp(n, o.n) == 0; }
};

class FieldOracle {
 public:
  FieldOracle() {
    BN_set_bit(p_.n, 255);
    BN_sub_word(p_.n, 19);
    BN_copy(eighth_.n, p_.n);
    BN_sub_word(eighth_.n, 5);
    BN_rshift(eighth_.n, eighth_.n, 3);
  }
  ~FieldOracle() { BN_CTX_free(context_); }
  /// Limbs of any size, modulo p.
  Number value(const u64* limbs, std::size_t lane) {
    Number sum(0);
    for (std::size_t k = 5; k-- > 0;) {
      BN_lshift(sum.n, sum.n, 51);
      BN_add_word(sum.n, limbs[8 * k + lane]);
    }
    return reduce(sum);
  }
  Number reduce(const Number& a) {
    Number r;
    BN_nnmod(r.n, a.n, p_.n, context_);
    return r;
  }
  Number mul(const Number& a, const Number& b) {
    Number r;
    BN_mod_mul(r.n, a.n, b.n, p_.n, context_);
    return r;
  }
  Number invert(const Number& a) {
    Number r(0);
    if (!BN_is_zero(a.n)) BN_mod_inverse(r.n, a.n, p_.n, context_);
    return r;
  }
  Number power(const Number& a) {
    Number r;
    BN_mod_exp(r.n, a.n, eighth_.n, p_.n, context_);
    return r;
  }

 private:
  BN_CTX* context_ = BN_CTX_new();
  Number p_{0}, eighth_{0};
};

constexpr u64 kBit51 = u64{1} << 51, kBit52 = u64{1} << 52, kTight = kBit51 + (u64{1} << 18);

/// Limbs below `end`: random ones, the ends of the range, powers of two and their neighbours, mixed.
u64 limb(std::mt19937_64& rng, u64 end) {
  const u64 edges[] = {0,           1,           18,         19,         20,     kBit51 - 20,
                       kBit51 - 19, kBit51 - 18, kBit51 - 2, kBit51 - 1, kBit51, end - 1};
  u64 v = rng();
  switch (v % 5) {
    case 0:
      v = edges[rng() % std::size(edges)];
      break;
    case 1:
      v = end - 1 - rng() % 64;
      break;
    case 2:
      v = (u64{1} << rng() % 64) - rng() % 2;
      break;
    default:
      v = rng();
  }
  return end == 0 ? v : v % end;
}

struct Limbs {
  alignas(64) u64 of[40];
};

TEST_P(OprfLanes, FieldOperationsAreThoseOfIntegers) {
  FieldOracle oracle;
  std::mt19937_64 rng(3);
  for (int round = 0; round < 3000; ++round) {
    Limbs a, b, out;
    const auto fill = [&](Limbs& x, u64 end) {
      for (auto& v : x.of) v = limb(rng, end);
      if (round < 2) std::fill(std::begin(x.of), std::end(x.of), round == 0 ? 0 : end - 1);
    };
    const auto expect_tight = [&] {
      for (const u64 v : out.of) EXPECT_LT(v, kTight);
    };
    fill(a, kBit52);
    fill(b, kBit52);
    lanes.probe(kProbeMultiply, out.of, a.of, b.of);
    expect_tight();
    for (std::size_t j = 0; j < 8; ++j)
      ASSERT_EQ(oracle.value(out.of, j), oracle.mul(oracle.value(a.of, j), oracle.value(b.of, j)));
    lanes.probe(kProbeSquare, out.of, a.of, b.of);
    expect_tight();
    for (std::size_t j = 0; j < 8; ++j)
      ASSERT_EQ(oracle.value(out.of, j), oracle.mul(oracle.value(a.of, j), oracle.value(a.of, j)));
    fill(a, 0);
    if (round == 1) std::fill(std::begin(a.of), std::end(a.of), ~u64{0});
    lanes.probe(kProbeCarry, out.of, a.of, b.of);
    expect_tight();
    for (std::size_t j = 0; j < 8; ++j) ASSERT_EQ(oracle.value(out.of, j), oracle.value(a.of, j));
  }
}

TEST_P(OprfLanes, CanonicalFormIsBelowThePrime) {
  FieldOracle oracle;
  std::mt19937_64 rng(4);
  for (int round = 0; round < 3000; ++round) {
    Limbs a, out;
    for (auto& v : a.of) v = limb(rng, kTight);
    // Lane 0: p - 3 to p + 4, and 2^255 - 3 to 2^255 + 4, whose limbs are all at the edge.
    if (round < 16) {
      for (std::size_t k = 0; k < 5; ++k) a.of[8 * k] = kBit51 - 1;
      a.of[0] += static_cast<u64>(round < 8 ? round - 18 - 3 : round - 8 - 2);
    }
    lanes.probe(kProbeFreeze, out.of, a.of, a.of);
    for (std::size_t j = 0; j < 8; ++j) {
      Number whole(0);  // not reduced
      for (std::size_t k = 5; k-- > 0;) {
        ASSERT_LT(out.of[8 * k + j], kBit51);
        BN_lshift(whole.n, whole.n, 51);
        BN_add_word(whole.n, out.of[8 * k + j]);
      }
      ASSERT_EQ(whole, oracle.value(a.of, j)) << round << " " << j;
    }
  }
}

TEST_P(OprfLanes, PowersAreThoseOfIntegers) {
  FieldOracle oracle;
  std::mt19937_64 rng(5);
  for (int round = 0; round < 20; ++round) {
    Limbs a, out;
    for (auto& v : a.of) v = round == 0 ? 0 : round == 1 ? kTight - 1 : limb(rng, kTight);
    lanes.probe(kProbeInvert, out.of, a.of, a.of);
    for (std::size_t j = 0; j < 8; ++j) ASSERT_EQ(oracle.value(out.of, j), oracle.invert(oracle.value(a.of, j)));
    lanes.probe(kProbePower, out.of, a.of, a.of);
    for (std::size_t j = 0; j < 8; ++j) ASSERT_EQ(oracle.value(out.of, j), oracle.power(oracle.value(a.of, j)));
  }
}

// ---- the group -----------------------------------------------------------------------------------------------------

constexpr std::uint8_t kOne[32] = {1};

/// Scalars whose digits or halves are at an end, then random ones.
Buffer scalars(std::size_t count, std::mt19937_64& rng) {
  Buffer out;
  const auto push = [&](const std::string& h) {
    const auto b = unhex(h);
    out.insert(out.end(), b.begin(), b.end());
  };
  push("0100000000000000000000000000000000000000000000000000000000000000");
  push("0200000000000000000000000000000000000000000000000000000000000000");
  push("ecd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");  // -1, -2, 1/2, -1/2
  push("ebd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
  push("f7e97a2e8d31092c6bce7b51ef7c6f0a00000000000000000000000000000008");
  push("f6e97a2e8d31092c6bce7b51ef7c6f0a00000000000000000000000000000008");
  for (const char* byte : {"77", "88", "8f", "f0", "78", "87", "ff", "70"}) {
    std::string h;
    for (int k = 0; k < 31; ++k) h += byte;
    push(h + "0f");
    push(h + "08");
  }
  while (out.size() < count * 32) {
    std::uint8_t wide[64], s[32];
    for (auto& b : wide) b = static_cast<std::uint8_t>(rng());
    crypto_core_ristretto255_scalar_reduce(s, wide);
    out.insert(out.end(), s, s + 32);
  }
  out.resize(count * 32);
  return out;
}

TEST_P(OprfLanes, MultiplesAreLibsodiums) {
  std::mt19937_64 rng(6);
  for (const std::size_t count : {64, 1, 2, 7, 8, 9, 15, 16, 17, 31, 63}) {
    const Buffer scalar = scalars(64, rng);
    Buffer uniform(count * 64), hashed(count * 32), again(count * 32), same(count * 32);
    for (auto& b : uniform) b = static_cast<std::uint8_t>(rng());
    std::memset(uniform.data(), 0, 32);  // the map's own edges: 0, and a number above p
    if (count > 1) std::memset(uniform.data() + 64, 0xff, 64);
    lanes.hash_multiply(hashed.data(), uniform.data(), scalar.data(), 32, count);
    EXPECT_EQ(lanes.decode_multiply(again.data(), hashed.data(), scalar.data(), 32, count), 0U);
    EXPECT_EQ(lanes.decode_multiply(same.data(), hashed.data(), kOne, 0, count), 0U);
    EXPECT_EQ(same, hashed);
    for (std::size_t i = 0; i < count; ++i) {
      Element e, product;
      crypto_core_ristretto255_from_hash(e.data(), uniform.data() + 64 * i);
      ASSERT_EQ(crypto_scalarmult_ristretto255(product.data(), scalar.data() + 32 * i, e.data()), 0);
      ASSERT_EQ(hex(product), hex(Bytes(hashed).subspan(32 * i, 32))) << i << " of " << count;
      ASSERT_EQ(crypto_scalarmult_ristretto255(e.data(), scalar.data() + 32 * i, product.data()), 0);
      ASSERT_EQ(hex(e), hex(Bytes(again).subspan(32 * i, 32))) << i << " of " << count;
    }
  }
}

TEST_P(OprfLanes, KnowsTheVectorsOfRfc9496) {
  const Buffer generator = unhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76");
  const char* multiples[] = {// appendix A.1: 1, 2, 3, 4 times the generator
                             "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76",
                             "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919",
                             "94741f5d5d52755ece4f23f044ee27d5d1ea1e2bd196b462166b16152a9d0259",
                             "da80862773358b466ffadfe0b3293ab3d9fd53c5ea6c955358f568322daf6a57"};
  for (std::uint8_t k = 1; k <= 4; ++k) {
    const std::uint8_t scalar[32] = {k};
    Element e;
    EXPECT_EQ(lanes.decode_multiply(e.data(), generator.data(), scalar, 0, 1), 0U);
    EXPECT_EQ(hex(e), multiples[k - 1]);
  }
  // Appendix A.3: the string's SHA-512, to the group.
  const std::string_view text = "Ristretto is traditionally a short shot of espresso coffee";
  std::uint8_t uniform[64];
  crypto_hash_sha512(uniform, reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  Element e;
  lanes.hash_multiply(e.data(), uniform, kOne, 0, 1);
  EXPECT_EQ(hex(e), "3066f82a1a747d45120d1740f14358531a8f04bbffe6a819f86dfe50f44a0a46");
}

TEST_P(OprfLanes, TheIdentityIsZeros) {
  // A hash to the identity needs both maps to be opposite: none is known, but a scalar of 0 gives it.
  std::mt19937_64 rng(7);
  Buffer uniform(64 * 20), zero(32 * 20), elements(32 * 20);
  for (auto& b : uniform) b = static_cast<std::uint8_t>(rng());
  Buffer scalar = scalars(20, rng);
  for (const std::size_t i : {3, 7, 8, 19}) std::memset(scalar.data() + 32 * i, 0, 32);
  lanes.hash_multiply(elements.data(), uniform.data(), scalar.data(), 32, 20);
  for (std::size_t i = 0; i < 20; ++i) {
    Element e, product{};
    crypto_core_ristretto255_from_hash(e.data(), uniform.data() + 64 * i);
    const bool fine = crypto_scalarmult_ristretto255(product.data(), scalar.data() + 32 * i, e.data()) == 0;
    EXPECT_EQ(fine, i != 3 && i != 7 && i != 8 && i != 19);
    EXPECT_EQ(hex(product), hex(Bytes(elements).subspan(32 * i, 32)));
  }
}

/// Strings that are elements, near elements, and of every reason to be none.
Buffer strings_near_elements(std::size_t count, std::mt19937_64& rng) {
  Buffer out(32 * count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint8_t* s = out.data() + 32 * i;
    for (std::size_t k = 0; k < 32; ++k) s[k] = static_cast<std::uint8_t>(rng());
    switch (rng() % 8) {
      case 0:
        crypto_core_ristretto255_random(s);
        break;
      case 1:  // around 0 and p
        std::memset(s, rng() % 2 != 0 ? 0 : 0xff, 32);
        s[0] = static_cast<std::uint8_t>(rng() % 2 != 0 ? rng() : 0xec + rng() % 4);
        if (s[1] == 0xff) s[31] = 0x7f;
        break;
      case 2: {  // one bit beside an element
        crypto_core_ristretto255_random(s);
        const std::size_t bit = rng() % 256;
        s[bit / 8] = static_cast<std::uint8_t>(s[bit / 8] ^ 1U << bit % 8);
        break;
      }
      case 3:
        std::memset(s + rng() % 32, 0, 1);
        break;
      default:
        s[0] &= 0xfe, s[31] &= 0x7f;  // half of them are elements
    }
  }
  return out;
}

void expect_same_refusals(const Lanes& lanes, const Buffer& strings) {
  const std::size_t count = strings.size() / 32;
  ASSERT_LE(count, kLanesChunk);
  Buffer out(strings.size());
  const u64 refused = lanes.decode_multiply(out.data(), strings.data(), kOne, 0, count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto s = Bytes(strings).subspan(32 * i, 32);
    // 1.0.18 takes no notice of bit 255, and for it the identity is an element.
    const bool element =
        crypto_core_ristretto255_is_valid_point(s.data()) == 1 && s[31] < 0x80 && sodium_is_zero(s.data(), 32) == 0;
    ASSERT_EQ((refused >> i & 1) == 0, element) << hex(s);
    if (element) {
      ASSERT_EQ(hex(Bytes(out).subspan(32 * i, 32)), hex(s));
    }
  }
}

TEST_P(OprfLanes, RefusesWhatLibsodiumRefuses) {
  std::mt19937_64 rng(8);
  for (int round = 0; round < 60; ++round) expect_same_refusals(lanes, strings_near_elements(64 - round % 20, rng));
  for (const char* bad : {"0000000000000000000000000000000000000000000000000000000000000000",
                          "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",  // -1: y would be 0
                          "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                          "0100000000000000000000000000000000000000000000000000000000000000",
                          "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b999"}) {
    Buffer eight;
    const Buffer one = unhex(bad);
    for (int j = 0; j < 8; ++j) eight.insert(eight.end(), one.begin(), one.end());
    Buffer out(eight.size());
    EXPECT_EQ(lanes.decode_multiply(out.data(), eight.data(), kOne, 0, 8), 0xffU) << bad;
  }
}

// ---- hashes --------------------------------------------------------------------------------------------------------

struct Strings {
  Buffer bytes;
  std::vector<std::uint64_t> offsets{0};
  Inputs inputs() const { return {bytes, offsets}; }
};

/// Sizes in turn: all around a block's end, with one long string.
Strings strings(std::size_t count, unsigned seed) {
  std::mt19937_64 rng(seed);
  Strings s;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = i == 5 ? kMaxInputBytes : i % 7 == 0 ? rng() % 40 : i * 3 % 300;
    for (std::size_t k = 0; k < size; ++k) s.bytes.push_back(static_cast<std::uint8_t>(rng()));
    s.offsets.push_back(s.bytes.size());
  }
  return s;
}

TEST_P(OprfLanes, ExpandsEveryLengthAsOneByOne) {
  using namespace std::string_view_literals;
  std::mt19937_64 rng(9);
  Buffer bytes(400);
  for (auto& b : bytes) b = static_cast<std::uint8_t>(rng());
  for (std::size_t size = 0; size < 336; size += 61) {
    Text texts[61];
    for (std::size_t i = 0; i < 61; ++i) texts[i] = {bytes.data() + i, size + i};
    Buffer uniform(61 * 64), wanted(64), outputs(61 * 64), elements(61 * 32);
    for (auto& b : elements) b = static_cast<std::uint8_t>(rng());
    lanes.expand(uniform.data(), texts, 61);
    lanes.finish(outputs.data(), texts, elements.data(), 61);
    for (std::size_t i = 0; i < 61; ++i) {
      const Bytes text{texts[i].data, texts[i].size};
      expand_message_xmd(wanted, text, "HashToGroup-OPRFV1-\0-ristretto255-SHA512"sv);
      ASSERT_EQ(hex(wanted), hex(Bytes(uniform).subspan(64 * i, 64))) << texts[i].size;
      Buffer framed{static_cast<std::uint8_t>(text.size() >> 8), static_cast<std::uint8_t>(text.size())};
      framed.insert(framed.end(), text.begin(), text.end());
      framed.insert(framed.end(), {0, 32});
      framed.insert(framed.end(), elements.begin() + 32 * i, elements.begin() + 32 * i + 32);
      for (const char c : "Finalize"sv) framed.push_back(static_cast<std::uint8_t>(c));
      crypto_hash_sha512(wanted.data(), framed.data(), framed.size());
      ASSERT_EQ(hex(wanted), hex(Bytes(outputs).subspan(64 * i, 64))) << texts[i].size;
    }
  }
}

// ---- batches -------------------------------------------------------------------------------------------------------

TestRandomness fixed(std::uint8_t tag) {
  Seed s;
  s.fill(tag);
  return TestRandomness(s);
}

TEST_P(OprfLanes, BatchesAreLibsodiumsByteForByte) {
  auto keys = fixed(1);
  const auto key = ServerKey::random(keys);
  for (const std::size_t count : {0, 1, 7, 8, 9, 63, 64, 65, 130}) {
    const auto s = strings(count, static_cast<unsigned>(count));
    const auto inputs = s.inputs();
    for (const unsigned threads : {1U, 3U}) {
      auto r = fixed(2), same = fixed(2);
      const auto blinded = blind_batch(&lanes, inputs, r, threads, {});
      const auto expected = blind_batch(nullptr, inputs, same, 1, {});
      ASSERT_EQ(hex(blinded.blinds.bytes()), hex(expected.blinds.bytes()));
      ASSERT_EQ(blinded.elements, expected.elements);
      const auto evaluated = evaluate_batch(&lanes, key, blinded.elements, threads, {});
      ASSERT_EQ(evaluated, evaluate_batch(nullptr, key, blinded.elements, 1, {}));
      const auto values = finalize_batch(&lanes, inputs, blinded.blinds, evaluated, threads, {});
      ASSERT_EQ(values, finalize_batch(nullptr, inputs, blinded.blinds, evaluated, 1, {}));
      ASSERT_EQ(values, prf_batch(&lanes, key, inputs, threads, {}));
      ASSERT_EQ(values, prf_batch(nullptr, key, inputs, 1, {}));
    }
  }
}

TEST_P(OprfLanes, NameTheFirstBadElementOfAnyLane) {
  auto rng = fixed(3);
  const auto key = ServerKey::random(rng);
  const auto s = strings(70, 10);
  const auto inputs = s.inputs();
  const auto blinded = blind_batch(&lanes, inputs, rng, 1, {});
  const auto message = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const FormatError& e) {
      return e.what();
    }
    return "no error";
  };
  for (std::size_t i = 0; i < 70; ++i) {
    Buffer elements = blinded.elements;
    elements[32 * i + 31] ^= 0x80;
    if (i + 3 < 70) elements[32 * (i + 3)] ^= 1;  // negative
    const std::string begin = "element " + std::to_string(i) + " of 70 ";
    EXPECT_EQ(message([&] { evaluate_batch(&lanes, key, elements, 1, {}); }).rfind(begin, 0), 0U) << i;
    EXPECT_EQ(message([&] { finalize_batch(&lanes, inputs, blinded.blinds, elements, 1, {}); }).rfind(begin, 0), 0U);
    EXPECT_EQ(message([&] { evaluate_batch(nullptr, key, elements, 1, {}); }).rfind(begin, 0), 0U) << i;
  }
}

TEST_P(OprfLanes, EmptyKeysAreRefused) {
  auto rng = fixed(4);
  auto key = ServerKey::random(rng);
  const auto kept = std::move(key);
  const auto s = strings(3, 11);
  const auto elements = blind_batch(&lanes, s.inputs(), rng, 1, {}).elements;
  EXPECT_THROW(prf_batch(&lanes, key, s.inputs(), 1, {}), ValueError);  // NOLINT(bugprone-use-after-move)
  EXPECT_THROW(evaluate_batch(&lanes, key, elements, 1, {}), ValueError);
}

TEST_P(OprfLanes, ProgressCanEndACall) {
  struct Stop {};
  auto rng = fixed(5);
  const auto key = ServerKey::random(rng);
  const auto s = strings(200, 12);
  for (const unsigned threads : {1U, 2U})
    EXPECT_THROW(prf_batch(&lanes, key, s.inputs(), threads, [](double) { throw Stop(); }), Stop);
}

// Sanitizers keep frames elsewhere.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_P(OprfLanes, NoScalarIsLeftOnTheStack) {
  // On a stack of its own, in which every place of 8 bytes is compared with the words of the secrets afterwards.
  struct Job {
    const Lanes& lanes;
    Buffer uniform, encoded, scalars, elements = Buffer(32 * 64), again = Buffer(32 * 64);
  };
  std::mt19937_64 rng(14);
  Job job{lanes, Buffer(64 * 64), {}, scalars(64, rng)};
  for (auto& b : job.uniform) b = static_cast<std::uint8_t>(rng());
  std::vector<u64> secret;  // words of the scalars, and of what the lanes make of them: (s / 2 mod order) + 0x888...
  Number order(0), half, shift(0);
  Buffer order_bytes = unhex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
  BN_lebin2bn(order_bytes.data(), 32, order.n);
  for (int k = 0; k < 64; ++k) {
    BN_lshift(shift.n, shift.n, 4);
    BN_add_word(shift.n, 8);
  }
  for (std::size_t i = 30; i < 64; ++i) {  // those of random bytes
    BN_lebin2bn(job.scalars.data() + 32 * i, 32, half.n);
    if (BN_is_odd(half.n)) BN_add(half.n, half.n, order.n);
    BN_rshift1(half.n, half.n);
    std::uint8_t bytes[3][32];
    std::memcpy(bytes[0], job.scalars.data() + 32 * i, 32);
    BN_bn2lebinpad(half.n, bytes[1], 32);
    BN_add(half.n, half.n, shift.n);
    BN_bn2lebinpad(half.n, bytes[2], 32);
    for (const auto& b : bytes)
      for (std::size_t k = 0; k < 32; k += 8) {
        u64 w;
        std::memcpy(&w, b + k, 8);
        secret.push_back(w);
      }
  }
  std::vector<u64> stack(1 << 17);
  pthread_attr_t attributes;
  pthread_t thread;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstack(&attributes, stack.data(), stack.size() * 8), 0);
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* p) -> void* {
                  auto& j = *static_cast<Job*>(p);
                  j.lanes.hash_multiply(j.elements.data(), j.uniform.data(), j.scalars.data(), 32, 64);
                  j.lanes.decode_multiply(j.again.data(), j.elements.data(), j.scalars.data(), 32, 64);
                  return nullptr;
                },
                &job),
            0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  std::sort(secret.begin(), secret.end());
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(stack.data());
  std::size_t used = 0, found = 0;
  for (std::size_t at = 0; at + 8 <= stack.size() * 8; at += 4) {
    u64 w;
    std::memcpy(&w, bytes + at, 8);
    used += w != 0 ? 1 : 0;
    found += w > 0xffffffff && std::binary_search(secret.begin(), secret.end(), w) ? 1 : 0;
  }
  EXPECT_GT(used, 0U) << "the thread ran elsewhere";
  EXPECT_EQ(found, 0U);
}
#endif

TEST(OprfActiveLanes, FollowTheKernelSet) {
  const bool wide = std::string_view(kernels::active().name) == "avx512";
  EXPECT_EQ(active_lanes() != nullptr, wide);
  if (wide) {
    EXPECT_STREQ(active_lanes()->name, "avx512");
  }
}

/// RINGFORGE_OPRF_MILLIONS=2 RINGFORGE_OPRF_SEED=1: so many million random elements, scalars and strings, about two
/// minutes each.
TEST_P(OprfLanes, MillionsOfRandomScalars) {
  const char* millions = std::getenv("RINGFORGE_OPRF_MILLIONS");
  if (millions == nullptr) GTEST_SKIP() << "takes minutes: set RINGFORGE_OPRF_MILLIONS";
  if (&lanes == &portable_lanes()) GTEST_SKIP() << "too slow";
  const char* seed = std::getenv("RINGFORGE_OPRF_SEED");
  std::mt19937_64 rng(seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10));
  const auto rounds = static_cast<std::size_t>(std::atof(millions) * 1e6 / 64);
  for (std::size_t round = 0; round < rounds; ++round) {
    Buffer uniform(64 * 64), scalar(32 * 64), elements(32 * 64);
    for (std::size_t k = 0; k < uniform.size(); k += 8) {
      const u64 w = rng();
      std::memcpy(uniform.data() + k, &w, 8);
    }
    for (std::size_t i = 0; i < 64; ++i) {
      std::uint8_t wide[64];
      for (std::size_t k = 0; k < 64; k += 8) {
        const u64 w = rng();
        std::memcpy(wide + k, &w, 8);
      }
      crypto_core_ristretto255_scalar_reduce(scalar.data() + 32 * i, wide);
    }
    lanes.hash_multiply(elements.data(), uniform.data(), scalar.data(), 32, 64);
    for (std::size_t i = 0; i < 64; ++i) {
      Element e, product;
      crypto_core_ristretto255_from_hash(e.data(), uniform.data() + 64 * i);
      ASSERT_EQ(crypto_scalarmult_ristretto255(product.data(), scalar.data() + 32 * i, e.data()), 0);
      ASSERT_EQ(hex(product), hex(Bytes(elements).subspan(32 * i, 32)));
    }
    expect_same_refusals(lanes, strings_near_elements(64, rng));
  }
}

}  // namespace
}  // namespace ringforge::oprf
