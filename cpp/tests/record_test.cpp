// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Records of every type of the library, and of one that is registered here, keep what all of them owe; the registry
// takes what is right and keeps it.
#include "ringforge/record.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "../fuzz/fhew_objects.hpp"
#include "../fuzz/objects.hpp"
#include "ringforge/testing/record_suite.hpp"

namespace ringforge {
namespace {

using testing::RecordBytes;
using testing::RecordSample;

void expect_sound(const RecordSample& sample) {
  for (const std::string& line : testing::check_records(sample)) ADD_FAILURE() << line;
}

/// Saves again what `load(in)` reads from a stream.
template <class Load, class Save>
auto reload(Load load, Save save) {
  return [=](std::istream& in) {
    const auto object = load(in);
    return fuzz::bytes_of([&](std::ostream& out) { save(out, object); });
  };
}

TEST(Records, OfCkks) {
  const auto context = fuzz::narrow_context();
  const auto samples = fuzz::make_samples(context);
  const auto check = [&](io::TypeCode type, const std::string& reader, auto load) {
    const auto save = [&](std::ostream& out, const auto& object) { io::save(out, *context, object); };
    for (const auto& [name, bytes] : samples.at(reader))
      if (name != "several") expect_sound({type, bytes, reload(load, save)});
  };
  const ckks::Context& c = *context;
  check(ckks::kPlaintextType, "plaintext", [&](std::istream& in) { return io::load_plaintext(in, c); });
  check(ckks::kCiphertextType, "ciphertext", [&](std::istream& in) { return io::load_ciphertext(in, c); });
  check(ckks::kSecretKeyType, "secret_key", [&](std::istream& in) { return io::load_secret_key(in, c); });
  check(ckks::kPublicKeyType, "public_key", [&](std::istream& in) { return io::load_public_key(in, c); });
  check(ckks::kRelinKeyType, "relin_key", [&](std::istream& in) { return io::load_relin_key(in, c); });
  check(ckks::kGaloisKeyType, "galois_key", [&](std::istream& in) { return io::load_galois_key(in, c); });
  expect_sound({ckks::kParametersType, samples.at("parameters").at("0"),
                reload([](std::istream& in) { return io::load_parameters(in); },
                       [](std::ostream& out, const ckks::Parameters& p) { io::save(out, p); }),
                false});
}

RecordBytes all_of(std::istream& in) { return {std::istreambuf_iterator<char>(in), {}}; }

TEST(Records, OfGatesAndPsi) {
  const auto samples = fuzz::make_fhew_samples();
  const fhew::GateParameters& set = fuzz::gate_sets()[0];
  expect_sound({fhew::kGateEvaluationKeyType, samples.at("gate_key").at("tiny-ginx"),
                reload([&](std::istream& in) { return fhew::GateEvaluationKey::load(in, set); },
                       [](std::ostream& out, const fhew::GateEvaluationKey& key) { key.save(out); })});
  const auto saved = [](const fhew::GateSecretKey& key) {
    RecordBytes bytes(key.bytes());
    key.save(bytes.data());
    return bytes;
  };
  expect_sound({fhew::kGateSecretKeyType, saved(fuzz::gate_secret(set, 1)),
                [&](std::istream& in) { return saved(fhew::GateSecretKey::load(all_of(in), set)); }});
  const circuits::PsiPlan& plan = fuzz::psi_plans()[0];
  // What these readers make of a message is no message again.
  const auto read = [](auto take) {
    return [=](std::istream& in) {
      RecordBytes bytes = all_of(in);
      take(bytes);
      return bytes;
    };
  };
  expect_sound({circuits::kPsiKeysType, samples.at("psi_keys").at("ringforge"),
                read([&](const RecordBytes& b) { (void)circuits::PsiSessionKeys(plan, b); })});
  const circuits::PsiSessionKeys session(plan, samples.at("psi_keys").at("ringforge"));
  const std::vector<u64> offsets(plan.bins() + 1);
  expect_sound({circuits::kPsiRequestType, samples.at("psi_request").at("ringforge"), read([&](const RecordBytes& b) {
                  (void)circuits::psi_answer(session, b, {offsets.data(), nullptr, nullptr, 0});
                })});
  TestRandomness rng = fuzz::fhew_randomness();
  const circuits::PsiClientKey client(plan, rng);
  expect_sound({circuits::kPsiReplyType, samples.at("psi_reply").at("ringforge"), read([&](const RecordBytes& b) {
                  std::vector<std::uint16_t> words(plan.bins() * plan.cell_words());
                  client.decode(words.data(), b);
                })});
}

// ---- a type of somebody else's ----------------------------------------------------------------------

const Hash kToyParameters = sha256("toy", 3);

io::RecordType toy_type(io::TypeCode code = 0x8001) {
  return {.code = code,
          .name = "toy",
          .version = 3,
          .oldest = 2,
          .head_bytes = 8,
          .max_body = 1 << 20,
          .describe = [](const io::RecordHead& head, io::RecordInfo& info) {
            info.fields.emplace_back("words", head.at<u64>(0));
          }};
}

RecordBytes toy_record(std::vector<u64> words) {
  return fuzz::bytes_of([&](std::ostream& out) {
    io::RecordWriter w(out, 0x8001, kToyParameters, 8 + 8 * words.size());
    w.value(u64{words.size()});
    w.bytes(words.data(), 8 * words.size());
    w.finish();
  });
}

TEST(Records, OfAStranger) {
  io::register_type(toy_type());
  io::register_type(toy_type());
  EXPECT_EQ(io::name(0x8001), "toy");
  const RecordBytes sample = toy_record({1, 2, 3});
  expect_sound({0x8001, sample, [](std::istream& in) {
                  io::RecordReader r(in, 0x8001);
                  r.check_parameters(kToyParameters);
                  const auto count = r.head().at<u64>(0);
                  if (count > 1 << 16) r.refuse("has too many words");
                  r.check_length(8 + 8 * count);
                  std::vector<u64> words(count);
                  r.bytes(words.data(), 8 * count);
                  r.finish();
                  io::check_alone(in, 0x8001);
                  return toy_record(words);
                }});
  io::ByteSource in(sample);
  EXPECT_EQ(io::peek(in).count("words"), 3U);
  // In memory.
  RecordBytes record(io::record_bytes(8));
  std::memset(io::begin_record(record, 0x8001, kToyParameters), 7, 8);
  io::seal_record(record);
  EXPECT_EQ(io::open_record(record, 0x8001, kToyParameters, 8).size(), 8U);
  EXPECT_EQ(io::open_record(record, 0x8001).header.version, 3);
  EXPECT_THROW((void)io::open_record(record, 0x8001, kToyParameters, 9), FormatError);
  EXPECT_THROW((void)io::open_record(record, 0x8001, Hash{}, 8), MismatchError);
  EXPECT_THROW((void)io::open_record(record, ckks::kPlaintextType), FormatError);
  record[60] ^= 1;
  EXPECT_THROW((void)io::open_record(record, 0x8001), FormatError);
  for (std::size_t n = 0; n < record.size(); ++n)
    EXPECT_THROW((void)io::open_record(std::span(record).first(n), 0x8001), FormatError) << n;
}

TEST(Records, TheRegistryRefusesWhatItCannotKeep) {
  io::register_type(toy_type());
  auto other = toy_type();
  other.name = "another toy";
  EXPECT_THROW(io::register_type(other), ParameterError);
  EXPECT_THROW(io::register_type(toy_type(0x0199)), ParameterError);
  const auto broken = [](auto change) {
    auto type = toy_type(0x8002);
    change(type);
    EXPECT_THROW(io::register_type(type), ParameterError);
  };
  broken([](io::RecordType& t) { t.name = ""; });
  broken([](io::RecordType& t) { t.name = "a\nline"; });
  broken([](io::RecordType& t) { t.head_bytes = io::kMaxHeadBytes + 1; });
  broken([](io::RecordType& t) { t.oldest = 4; });
  broken([](io::RecordType& t) { t.old_magic = "RGFGTOY"; });
  EXPECT_EQ(io::find_type(0x8002), nullptr);
  std::ostringstream out;
  EXPECT_THROW(io::RecordWriter(out, 0x8002, {}, 0), ParameterError);
  std::istringstream in;
  EXPECT_THROW(io::RecordReader(in, 0x8002), ParameterError);
}

TEST(Records, TypesAreRegisteredAndFoundByManyThreads) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (unsigned i = 0; i < 100; ++i) {
        io::register_type(toy_type(static_cast<io::TypeCode>(0x9000 + i)));
        EXPECT_EQ(io::name(static_cast<io::TypeCode>(0x9000 + i)), "toy") << t;
        EXPECT_NE(io::find_type(ckks::kCiphertextType), nullptr);
      }
    });
  for (auto& t : threads) t.join();
}

TEST(Records, LengthsBeyondATypesLimitAreRefused) {
  io::register_type(toy_type());
  RecordBytes record = toy_record({1});
  const u64 claim = (1 << 20) + 1;
  std::memcpy(record.data() + 44, &claim, 8);
  io::ByteSource in(record);
  EXPECT_THROW((void)io::peek(in), FormatError);
}

TEST(Records, SecretsAreFoundAmongOthersAndBehindUnknownTypes) {
  io::register_type(toy_type());
  const auto samples = fuzz::make_samples(fuzz::narrow_context());
  RecordBytes file = samples.at("ciphertext").at("0"), unknown = toy_record({1});
  const io::TypeCode code = 0x7777;
  std::memcpy(unknown.data() + 6, &code, 2);
  file.insert(file.end(), unknown.begin(), unknown.end());
  const auto found = [](const RecordBytes& bytes) {
    io::ByteSource in(bytes);
    return io::secret_in(in);
  };
  EXPECT_EQ(found(file), "");
  const RecordBytes& secret = samples.at("secret_key").at("0");
  file.insert(file.end(), secret.begin(), secret.end() - 50);
  EXPECT_EQ(found(file), "CKKS secret key");
  const std::string old = "RGFGSEC9 of any version";
  EXPECT_EQ(found({old.begin(), old.end()}), "secret key of gates");
  EXPECT_EQ(found({'R', 'G', 'F', 'G'}), "");
}

}  // namespace
}  // namespace ringforge
