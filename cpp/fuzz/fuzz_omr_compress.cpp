// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes the readers of compression, each by the type that the input claims: keys and the receiver's secret, parts of a
// digest, digests.
#include <algorithm>
#include <cstring>
#include <random>
#include <sstream>

#include "omr_objects.hpp"
#include "require.hpp"
#include "ringforge/error.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

using namespace ringforge;
using namespace ringforge::circuits;

namespace {

const fuzz::CompressionWorld& world() {
  static const fuzz::CompressionWorld w;
  return w;
}

io::TypeCode type_of(const std::uint8_t* data, std::size_t size) {
  io::TypeCode type = 0;
  if (size >= io::kHeaderBytes) std::memcpy(&type, data + 6, sizeof(type));
  return type;
}

/// What is read is written as it was.
template <class Load, class Save>
void check(const std::uint8_t* data, std::size_t size, Load&& load, Save&& save) {
  io::ByteSource in({data, size});
  const auto object = load(in);
  std::ostringstream out;
  save(object, out);
  const std::string written = out.str();
  fuzz::require(written.size() <= size && std::memcmp(written.data(), data, written.size()) == 0,
                "a record is written otherwise than it was read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::CompressionWorld& w = world();
  try {
    switch (type_of(data, size)) {
      case kCompressionSecretType:
        check(
            data, size, [&](std::istream& in) { return CompressionSecret::load(in, w.context); },
            [](const auto& s, std::ostream& out) { s.save(out); });
        break;
      case kCompressionKeysType:
        check(
            data, size, [&](std::istream& in) { return CompressionKeys::load(in, w.context); },
            [](const auto& k, std::ostream& out) { k.save(out); });
        break;
      case kCompressionPartType:
        check(
            data, size, [&](std::istream& in) { return CompressionPart::load(in, w.plan); },
            [&](const auto& p, std::ostream& out) { p.save(out, w.plan); });
        break;
      default: {
        (void)digest_head({data, size});
        const DigestSums opened = open_digest({data, size}, w.plan, w.secret);
        fuzz::require(opened.sums.size() == w.plan.powers() * w.plan.values(), "sums of another number");
        for (const u32 s : opened.sums) fuzz::require(s < w.context->parameters().t, "a sum is not below t");
      }
    }
  } catch (const FormatError&) {
  } catch (const MismatchError&) {
  }
  return 0;
}

/// Header and checksum are put in order after most mutations.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  std::mt19937_64 rng(seed);
  const fuzz::CompressionWorld& w = world();
  if (rng() % 16 == 0) return LLVMFuzzerMutate(data, size, max);
  constexpr io::TypeCode kTypes[] = {kCompressionSecretType, kCompressionKeysType, kCompressionPartType, kDigestType};
  io::TypeCode type = type_of(data, size);
  if (std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes) || rng() % 8 == 0)
    type = kTypes[rng() % std::size(kTypes)];
  std::size_t wanted = w.plan.digest_bytes();
  if (type == kCompressionKeysType) wanted = CompressionKeys::saved_bytes(*w.context);
  if (type == kCompressionSecretType) wanted = io::record_bytes(16 + w.context->parameters().degree() / 4);
  if (type == kCompressionPartType) wanted = io::record_bytes(24 + w.plan.units() * 2 * 2 * 128 * 44 / 8);
  if (wanted > max) return LLVMFuzzerMutate(data, size, max);
  std::vector<std::uint8_t> body(wanted - io::record_bytes(0));
  if (size > io::kHeaderBytes)
    std::copy_n(data + io::kHeaderBytes, std::min(size - io::kHeaderBytes, body.size()), body.begin());
  LLVMFuzzerMutate(body.data(), body.size(), body.size());
  if (rng() % 8 == 0) std::memset(body.data() + rng() % (body.size() - 7), 0xff, 8);  // above every modulus
  const bool planned = type == kCompressionPartType || type == kDigestType;
  io::begin_record({data, wanted}, type, planned ? w.plan.hash() : w.context->hash());
  std::memcpy(data + io::kHeaderBytes, body.data(), body.size());
  if (rng() % 16 == 0) data[rng() % io::kHeaderBytes] = static_cast<std::uint8_t>(rng());
  if (rng() % 16 != 0) io::seal_record({data, wanted});
  return wanted;
}
