// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// SHA-512 (FIPS 180-4) of eight messages at once. Lengths are public, contents are not.
#pragma once

#include <cstring>

#include "field.hpp"

namespace ringforge::oprf {
namespace {

constexpr u64 kShaRounds[80] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
    0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
    0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
    0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
    0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
    0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
    0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
    0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
    0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
    0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
    0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
    0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
    0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
};
constexpr u64 kShaStart[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

/// One message in three pieces.
struct Message {
  const std::uint8_t* piece[3];
  size_t size[3];
  size_t length() const noexcept { return size[0] + size[1] + size[2]; }
};

template <class L>
struct Sha512 {
  using U = typename L::U;
  static constexpr size_t kBlock = 128;

  /// The message schedule, word t of lane j at [t][j]; wiped by its owner.
  struct Work {
    u64 words[16][8];
    std::uint8_t block[kBlock];
  };
  struct State {
    U h[8];
  };

  static void start(State& s) noexcept {
    for (int k = 0; k < 8; ++k) s.h[k] = L::set(kShaStart[k]);
  }

  static __attribute__((noinline)) void compress(State& state, const u64 (*words)[8]) noexcept {
    U w[16];
    for (int t = 0; t < 16; ++t) w[t] = L::load(words[t]);
    U a = state.h[0], b = state.h[1], c = state.h[2], d = state.h[3], e = state.h[4], f = state.h[5], g = state.h[6],
      h = state.h[7];
    for (int t = 0; t < 80; t += 16) {
#pragma GCC unroll 16
      for (int k = 0; k < 16; ++k) {
        if (t != 0) {
          const U x = w[(k + 1) % 16], y = w[(k + 14) % 16];
          const U s0 = L::xor3(L::template rotate<1>(x), L::template rotate<8>(x), L::template right<7>(x));
          const U s1 = L::xor3(L::template rotate<19>(y), L::template rotate<61>(y), L::template right<6>(y));
          w[k] = L::add(L::add(w[k], s0), L::add(w[(k + 9) % 16], s1));
        }
        const U sum1 = L::xor3(L::template rotate<14>(e), L::template rotate<18>(e), L::template rotate<41>(e));
        const U sum0 = L::xor3(L::template rotate<28>(a), L::template rotate<34>(a), L::template rotate<39>(a));
        const U t1 = L::add(L::add(h, L::add(w[k], L::set(kShaRounds[t + k]))), L::add(sum1, L::choose(e, f, g)));
        const U t2 = L::add(sum0, L::majority(a, b, c));
        h = g;
        g = f;
        f = e;
        e = L::add(d, t1);
        d = c;
        c = b;
        b = a;
        a = L::add(t1, t2);
      }
    }
    const U add[8] = {a, b, c, d, e, f, g, h};
    for (int k = 0; k < 8; ++k) state.h[k] = L::add(state.h[k], add[k]);
  }

  static void put_big_endian(std::uint8_t* to, u64 v) noexcept {
    v = __builtin_bswap64(v);
    std::memcpy(to, &v, 8);
  }

  /// Block `index` of the padded message, of which `before` bytes were hashed earlier.
  static void cut_block(std::uint8_t* block, const Message& m, size_t index, size_t before) noexcept {
    const size_t first = index * kBlock, length = m.length();
    std::memset(block, 0, kBlock);
    size_t at = 0;  // of the piece in the message
    for (int k = 0; k < 3; ++k) {
      const size_t from = at < first ? first : at,
                   to = at + m.size[k] < first + kBlock ? at + m.size[k] : first + kBlock;
      if (from < to) std::memcpy(block + (from - first), m.piece[k] + (from - at), to - from);
      at += m.size[k];
    }
    if (length >= first && length < first + kBlock) block[length - first] = 0x80;
    if (first + kBlock >= length + 17) put_big_endian(block + kBlock - 8, 8 * (before + length));
  }

  /// Takes in the `count` <= 8 messages, to the end; lanes beyond are of no meaning.
  static void add(State& state, Work& work, const Message* messages, size_t count, size_t before) noexcept {
    size_t blocks[8] = {}, most = 0;
    for (size_t j = 0; j < count; ++j) {
      blocks[j] = (messages[j].length() + 17 + kBlock - 1) / kBlock;
      if (blocks[j] > most) most = blocks[j];
    }
    u64 live[8];
    for (size_t index = 0; index < most; ++index) {
      for (size_t j = 0; j < 8; ++j) live[j] = j < count && index < blocks[j] ? 1 : 0;
      for (size_t j = 0; j < count; ++j) {
        if (live[j] == 0) continue;
        cut_block(work.block, messages[j], index, before);
        for (size_t t = 0; t < 16; ++t) {
          u64 word;
          std::memcpy(&word, work.block + 8 * t, 8);
          work.words[t][j] = __builtin_bswap64(word);
        }
      }
      State next = state;
      compress(next, work.words);
      const auto on = L::equal(L::load(live), L::set(1));
      for (int k = 0; k < 8; ++k) state.h[k] = L::select(on, next.h[k], state.h[k]);
    }
  }

  /// Hashes of lanes 0 to count, 64 bytes each.
  static void finish(std::uint8_t* out, const State& state, Work& work, size_t count) noexcept {
    for (int k = 0; k < 8; ++k) L::store(work.words[k], state.h[k]);
    for (size_t j = 0; j < count; ++j)
      for (size_t k = 0; k < 8; ++k) put_big_endian(out + 64 * j + 8 * k, work.words[k][j]);
  }
};

}  // namespace
}  // namespace ringforge::oprf
