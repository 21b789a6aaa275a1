// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The OPRF: RFC 9497's vectors, its three steps against the direct way, batches against single calls, and what is
// refused. The group itself is checked by Python's big integers, in python/tests/psi.
#include "ringforge/oprf.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "ringforge/error.hpp"

namespace ringforge::oprf {
namespace {

using Buffer = std::vector<std::uint8_t>;

Buffer unhex(const std::string& hex) {
  Buffer out;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    out.push_back(static_cast<std::uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return out;
}

std::string hex(Bytes bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const auto b : bytes) {
    out += kDigits[b >> 4];
    out += kDigits[b & 15];
  }
  return out;
}

Bytes text(std::string_view s) { return {reinterpret_cast<const std::uint8_t*>(s.data()), s.size()}; }

TestRandomness fixed(std::uint8_t tag) {
  Seed s;
  s.fill(tag);
  return TestRandomness(s);
}

/// Random strings: empty, short, around the hash's block, long.
struct Strings {
  Buffer bytes;
  std::vector<std::uint64_t> offsets{0};
  Inputs inputs() const { return {bytes, offsets}; }
};

Strings random_strings(std::size_t count, unsigned seed) {
  std::mt19937_64 rng(seed);
  Strings s;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = i == 0 ? 0 : i == 1 ? kMaxInputBytes : rng() % (i % 5 == 0 ? 300 : 40);
    for (std::size_t k = 0; k < size; ++k) s.bytes.push_back(static_cast<std::uint8_t>(rng()));
    s.offsets.push_back(s.bytes.size());
  }
  return s;
}

constexpr const char* kBadElements[] = {
    // the identity
    "0000000000000000000000000000000000000000000000000000000000000000",
    // p, and so 0 again; p + 1; 2^255 - 1
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    // bit 255 set
    "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b999",
    // negative: 1, and p minus the generator
    "0100000000000000000000000000000000000000000000000000000000000000",
    "0b0d51f5958b31d87b57be36fea5faaea0f19c495a7d22274a59a6ba1f72d209",
};

TEST(Oprf, DerivesTheKeyOfTheRfc) {
  const auto key = ServerKey::derive(Buffer(32, 0xa3), text("test key"));
  EXPECT_EQ(hex(key.bytes()), "5ebcea5ee37023ccb9fc2d2019f9d7737be85591ae8652ffa9ef0f4d37063b0e");
}

TEST(Oprf, GivesTheVectorsOfTheRfc) {  // RFC 9497, appendix A.1.1
  const auto key = ServerKey::derive(Buffer(32, 0xa3), text("test key"));
  const auto blind = Scalar::from_bytes(unhex("64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706"));
  const struct {
    Buffer input;
    const char *blinded, *evaluated, *output;
  } vectors[] = {
      {{0x00},
       "609a0ae68c15a3cf6903766461307e5c8bb2f95e7e6550e1ffa2dc99e412803c",
       "7ec6578ae5120958eb2db1745758ff379e77cb64fe77b0b2d8cc917ea0869c7e",
       "527759c3d9366f277d8c6020418d96bb393ba2afb20ff90df23fb7708264e2f3"
       "ab9135e3bd69955851de4b1f9fe8a0973396719b7912ba9ee8aa7d0b5e24bcf6"},
      {Buffer(17, 0x5a), "da27ef466870f5f15296299850aa088629945a17d1f5b7f5ff043f76b3c06418",
       "b4cbf5a4f1eeda5a63ce7b77c7d23f461db3fcab0dd28e4e17cecb5c90d02c25",
       "f4a74c9c592497375e796aa837e907b1a045d34306a749db9f34221f7e750cb4"
       "f2a6413a6bf6fa5e19ba6348eb673934a722a7ede2e7621306d18951e7cf2c73"},
  };
  for (const auto& v : vectors) {
    const Element blinded = blind_with(v.input, blind);
    EXPECT_EQ(hex(blinded), v.blinded);
    const Element evaluated = evaluate(key, blinded);
    EXPECT_EQ(hex(evaluated), v.evaluated);
    EXPECT_EQ(hex(finalize(v.input, blind, evaluated)), v.output);
    EXPECT_EQ(hex(prf(key, v.input)), v.output);
  }
}

TEST(Oprf, ExpandsMessagesAsRfc9380) {  // RFC 9380, appendix K.3
  const std::string_view dst = "QUUX-V01-CS02-with-expander-SHA512-256";
  Buffer out(32);
  expand_message_xmd(out, text("abcdef0123456789"), dst);
  EXPECT_EQ(hex(out), "087e45a86e2939ee8b91100af1583c4938e0f5fc6c9db4b107b83346bc967f58");
  out.resize(128);  // two blocks
  expand_message_xmd(out, text("abc"), dst);
  EXPECT_EQ(hex(out),
            "7f1dddd13c08b543f2e2037b14cefb255b44c83cc397c1786d975653e36a6b11bdd7732d8b38adb4a0edc26a0cef4bb4"
            "5217135456e58fbca1703cd6032cb1347ee720b87972d63fbf232587043ed2901bce7f22610c0419751c065922b48843"
            "1851041310ad659e4b23520e1772ab29dcdeb2002222a363f0c2b1c972b3efe1");
  EXPECT_THROW(expand_message_xmd({}, text("abc"), dst), ValueError);
  EXPECT_THROW(expand_message_xmd(out, text("abc"), ""), ValueError);
  EXPECT_THROW(expand_message_xmd(out, text("abc"), std::string(256, 'x')), ValueError);
  Buffer long_out(255 * 64 + 1);
  EXPECT_THROW(expand_message_xmd(long_out, text("abc"), dst), ValueError);
}

TEST(Oprf, ThreeStepsGiveTheFunctionItself) {
  auto rng = fixed(1);
  const auto key = ServerKey::random(rng);
  const auto strings = random_strings(20, 3);
  const auto inputs = strings.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto b = blind(inputs[i], rng);
    EXPECT_EQ(finalize(inputs[i], b.blind, evaluate(key, b.element)), prf(key, inputs[i]));
    EXPECT_NE(b.element, blind(inputs[i], rng).element);
  }
}

TEST(Oprf, BatchesAreTheSingleCallsForAnyThreads) {
  auto rng = fixed(2);
  const auto key = ServerKey::random(rng);
  const auto strings = random_strings(150, 4);  // two whole chunks and a part
  const auto inputs = strings.inputs();
  Buffer first_elements;
  for (const unsigned threads : {1U, 3U}) {
    auto same = fixed(5);
    double last = 0;
    std::size_t reports = 0;
    const Progress progress = [&](double done) {
      last = done;
      ++reports;
    };
    const auto blinded = blind_batch(inputs, same, threads, progress);
    EXPECT_EQ(last, 1.0);
    EXPECT_GE(reports, 1U);
    ASSERT_EQ(blinded.blinds.size(), inputs.size());
    if (first_elements.empty()) first_elements = blinded.elements;
    EXPECT_EQ(blinded.elements, first_elements);
    const auto evaluated = evaluate_batch(key, blinded.elements, threads, progress);
    const auto outputs = finalize_batch(inputs, blinded.blinds, evaluated, threads, progress);
    EXPECT_EQ(outputs, prf_batch(key, inputs, threads, progress));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto scalar = Scalar::from_bytes(blinded.blinds.bytes().subspan(i * kScalarBytes, kScalarBytes));
      const auto element = Bytes(blinded.elements).subspan(i * kElementBytes, kElementBytes);
      EXPECT_EQ(hex(blind_with(inputs[i], scalar)), hex(element));
      EXPECT_EQ(hex(evaluate(key, element)), hex(Bytes(evaluated).subspan(i * kElementBytes, kElementBytes)));
      EXPECT_EQ(hex(prf(key, inputs[i])), hex(Bytes(outputs).subspan(i * kOutputBytes, kOutputBytes)));
    }
  }
}

TEST(Oprf, EmptyBatchesAreFine) {
  auto rng = fixed(6);
  const auto key = ServerKey::random(rng);
  const std::uint64_t zero[] = {0};
  for (const Inputs& none : {Inputs{}, Inputs{{}, zero}}) {
    const auto blinded = blind_batch(none, rng);
    EXPECT_EQ(blinded.blinds.size(), 0U);
    EXPECT_TRUE(evaluate_batch(key, blinded.elements).empty());
    EXPECT_TRUE(finalize_batch(none, blinded.blinds, blinded.elements).empty());
    EXPECT_TRUE(prf_batch(key, none).empty());
  }
}

TEST(Oprf, RefusesBadElements) {
  auto rng = fixed(7);
  const auto key = ServerKey::random(rng);
  const auto b = blind(text("x"), rng);
  for (const char* bad : kBadElements) {
    EXPECT_THROW(evaluate(key, unhex(bad)), FormatError) << bad;
    EXPECT_THROW(finalize(text("x"), b.blind, unhex(bad)), FormatError) << bad;
  }
  for (const std::size_t size : {0, 31, 33, 64}) {
    EXPECT_THROW(evaluate(key, Buffer(size)), ShapeError);
    EXPECT_THROW(finalize(text("x"), b.blind, Buffer(size)), ShapeError);
  }
}

TEST(Oprf, BatchesNameTheFirstBadElement) {
  auto rng = fixed(8);
  const auto key = ServerKey::random(rng);
  const auto strings = random_strings(200, 9);
  const auto inputs = strings.inputs();
  const auto blinded = blind_batch(inputs, rng);
  Buffer elements = blinded.elements;
  for (const std::size_t i : {199, 71, 130}) std::memset(elements.data() + i * kElementBytes, 0, kElementBytes);
  const auto message = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const FormatError& e) {
      return e.what();
    }
    return "no error";
  };
  for (const unsigned threads : {1U, 4U}) {
    EXPECT_EQ(message([&] { evaluate_batch(key, elements, threads); }).rfind("element 71 of 200", 0), 0U);
    EXPECT_EQ(message([&] { finalize_batch(inputs, blinded.blinds, elements, threads); }).rfind("element 71 of", 0),
              0U);
  }
  elements.pop_back();
  EXPECT_THROW(evaluate_batch(key, elements), ShapeError);
  EXPECT_THROW(finalize_batch(inputs, blinded.blinds, Bytes(blinded.elements).first(32)), ShapeError);
  EXPECT_THROW(finalize_batch(inputs, blind_batch({}, rng).blinds, blinded.elements), ShapeError);
}

TEST(Oprf, RefusesBadScalars) {
  for (const char* bad : {
           "0000000000000000000000000000000000000000000000000000000000000000",
           "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010",  // the order
           "eed3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010",
           "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
       }) {
    EXPECT_THROW(ServerKey::from_bytes(unhex(bad)), FormatError) << bad;
    EXPECT_THROW(Scalar::from_bytes(unhex(bad)), FormatError) << bad;
  }
  const auto largest = unhex("ecd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
  EXPECT_EQ(hex(ServerKey::from_bytes(largest).bytes()), hex(largest));
  for (const std::size_t size : {0, 31, 33, 64}) {
    EXPECT_THROW(ServerKey::from_bytes(Buffer(size, 1)), ShapeError);
    EXPECT_THROW(ServerKey::derive(Buffer(size, 1), {}), ShapeError);
  }
  EXPECT_THROW(ServerKey::derive(Buffer(32, 1), Buffer(kMaxInputBytes + 1)), ValueError);
}

TEST(Oprf, RefusesLongInputsAndBadOffsets) {
  auto rng = fixed(10);
  const auto key = ServerKey::random(rng);
  const Buffer longer(kMaxInputBytes + 1);
  EXPECT_THROW(blind(longer, rng), ValueError);
  EXPECT_THROW(prf(key, longer), ValueError);
  const auto run = [&](const std::vector<std::uint64_t>& offsets) { prf_batch(key, {longer, offsets}); };
  EXPECT_THROW(run({0, longer.size()}), ValueError);
  EXPECT_NO_THROW(run({0, 1, longer.size()}));
  EXPECT_THROW(run({}), ShapeError);
  EXPECT_THROW(run({0}), ShapeError);
  EXPECT_THROW(run({1, longer.size()}), ShapeError);
  EXPECT_THROW(run({0, 2, 1, longer.size()}), ShapeError);
  EXPECT_THROW(run({0, 1, longer.size() + 1}), ShapeError);
  EXPECT_THROW(run({0, longer.size() + 5, longer.size()}), ShapeError);
}

TEST(Oprf, ProgressCanEndACall) {
  struct Stop {};
  auto rng = fixed(11);
  const auto key = ServerKey::random(rng);
  const auto strings = random_strings(200, 12);
  for (const unsigned threads : {1U, 2U})
    EXPECT_THROW(prf_batch(key, strings.inputs(), threads, [](double) { throw Stop(); }), Stop);
}

TEST(Oprf, MovedScalarsAreEmpty) {
  auto rng = fixed(13);
  auto a = Scalar::random(rng);
  const std::string secret = hex(a.bytes());
  const auto b = std::move(a);
  EXPECT_EQ(hex(b.bytes()), secret);
  EXPECT_EQ(hex(a.bytes()), std::string(64, '0'));  // NOLINT(bugprone-use-after-move)
}

}  // namespace
}  // namespace ringforge::oprf
