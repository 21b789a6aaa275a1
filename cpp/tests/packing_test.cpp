// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Packed residues against the definition: bit k*bits + j of the string is bit j of residue k.
#include <gtest/gtest.h>

#include <vector>

#include "ringforge/error.hpp"
#include "ringforge/packing.hpp"
#include "ringforge/random.hpp"

namespace ringforge {
namespace {

using Bytes = std::vector<std::uint8_t>;

template <class W>
void matches_its_definition() {
  for (unsigned bits = 1; bits <= 8 * sizeof(W); ++bits)
    for (const std::size_t count : {0, 1, 2, 3, 7, 8, 9, 63, 64, 191, 192}) {
      std::vector<W> values(count);
      Seed seed{};
      seed[0] = static_cast<std::uint8_t>(bits);
      Stream s(seed, StreamObject::mask);
      for (auto& v : values) v = static_cast<W>(s.next() & (~u64{0} >> (64 - bits)));
      if (count > 1) values[1] = static_cast<W>(~u64{0} >> (64 - bits));
      Bytes expected((count * bits + 7) / 8), packed(expected.size() + 1, 0xa5);
      ASSERT_EQ(packed_bytes(count, bits), expected.size());
      for (std::size_t k = 0; k < count; ++k)
        for (unsigned j = 0; j < bits; ++j)
          if (values[k] >> j & 1) expected[(k * bits + j) / 8] |= static_cast<std::uint8_t>(1U << ((k * bits + j) % 8));
      pack_bits(packed.data(), values.data(), count, bits);
      ASSERT_EQ(packed.back(), 0xa5) << bits << " bits: wrote beyond the end";
      packed.pop_back();
      ASSERT_EQ(packed, expected) << bits << " bits";
      // Memory of its own and no more: the address sanitizer sees what is read beyond.
      const Bytes exact(packed);
      std::vector<W> back(count);
      ASSERT_TRUE(unpack_bits(back.data(), exact.data(), count, bits));
      ASSERT_EQ(back, values) << count << " of " << bits << " bits";
      if (count * bits % 8 == 0) continue;
      packed.back() |= 0x80;
      ASSERT_FALSE(unpack_bits(back.data(), packed.data(), count, bits));
      ASSERT_EQ(back, values);
      ASSERT_THROW(unpack_residues(back.data(), packed.data(), count, bits, u64{1} << std::min(bits, 63U)),
                   FormatError);
    }
}

TEST(Packing, MatchesItsDefinitionForEverySize) {
  matches_its_definition<u32>();
  matches_its_definition<u64>();
}

TEST(Packing, RangeCheckIsExact) {
  for (const u64 q : {u64{65537}, (u64{1} << 61) - 1}) {
    std::vector<u64> v(64, q - 1);
    EXPECT_TRUE(all_below(v.data(), v.size(), q));
    for (const u64 bad : {q, q + 1, u64{1} << 63, ~u64{0}}) {
      v[37] = bad;
      EXPECT_FALSE(all_below(v.data(), v.size(), q)) << bad;
    }
  }
  Bytes packed(packed_bytes(3, 17));
  const std::vector<u32> three{65536, 65537, 1};
  std::vector<u32> back(3);
  pack_bits(packed.data(), three.data(), 3, 17);
  EXPECT_NO_THROW(unpack_residues(back.data(), packed.data(), 3, 17, 65538));
  EXPECT_THROW(unpack_residues(back.data(), packed.data(), 3, 17, 65537), FormatError);
}

}  // namespace
}  // namespace ringforge
