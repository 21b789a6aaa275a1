// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The table of lanes.hpp for one kind of lanes. Groups of eight elements go through the group's operations one after
// the other, but the chunk's encodings share one inversion.
#pragma once

#include <cstring>

#include "group.hpp"
#include "lanes.hpp"
#include "sha512.hpp"

namespace ringforge {
void wipe(void* data, std::size_t bytes) noexcept;
}

namespace ringforge::oprf {
namespace {

template <class L>
struct Batch {
  using F = Field<L>;
  using G = Group<L>;
  using H = Sha512<L>;
  using U = typename L::U;
  using M = typename L::M;
  using Fe = typename F::Fe;
  using Point = typename G::Point;

  static constexpr size_t kGroups = kLanesChunk / 8;

  /// Wipes a workspace, and the stack below, where the frames of those who worked in it were.
  template <class T>
  struct Wiped {
    T value;
    Wiped() noexcept {}
    ~Wiped() {
      wipe(&value, sizeof(value));
      scrub();
    }
    Wiped(const Wiped&) = delete;
    Wiped& operator=(const Wiped&) = delete;
  };
  static __attribute__((noinline)) void scrub() noexcept {
    std::uint8_t block[16384];
    wipe(block, sizeof(block));
  }

  // ---- multiplication ---------------------------------------------------------------------------------------------

  struct Work {
    u64 words[4][8];
    Point points[kGroups];
    typename G::Doubled doubled[kGroups];
    Fe before[kGroups];
    typename G::Encoded encoded[kGroups];
    typename G::Table table;
    typename G::Digits digits;
  };

  /// Words 0 to 3 of byte strings, `step` bytes apart; lanes from `count` on are those of the first.
  static void gather(U* out, u64 (*words)[8], const std::uint8_t* from, size_t step, size_t count) noexcept {
    for (size_t j = 0; j < 8; ++j) {
      const std::uint8_t* at = from + (j < count ? j : 0) * step;
      for (size_t k = 0; k < 4; ++k) std::memcpy(&words[k][j], at + 8 * k, 8);
    }
    for (size_t k = 0; k < 4; ++k) out[k] = L::load(words[k]);
  }

  /// scalar / 2 modulo the order, plus 0x888...8: below 2^253 + 2^255 + ..., so of 256 bits.
  static void halve_and_shift(u64 (*words)[8], size_t lane, const std::uint8_t* scalar) noexcept {
    static constexpr u64 kOrder[4] = {0x5812631a5cf5d3ed, 0x14def9dea2f79cd6, 0, 0x1000000000000000};
    u64 s[5];
    std::memcpy(s, scalar, 32);
    const u64 is_odd = mask_of_bit(s[0]);
    unsigned __int128 sum = 0;
    for (int k = 0; k < 4; ++k) {
      sum += s[k];
      sum += kOrder[k] & is_odd;
      s[k] = static_cast<u64>(sum);
      sum >>= 64;
    }
    s[4] = static_cast<u64>(sum);
    sum = 0;
    for (int k = 0; k < 4; ++k) {
      sum += s[k] >> 1 | s[k + 1] << 63;
      sum += 0x8888888888888888;
      words[k][lane] = static_cast<u64>(sum);
      sum >>= 64;
    }
    wipe(s, sizeof(s));
  }

  /// Multiplies points[0 .. groups) by the scalars and writes the encodings.
  static void multiply(std::uint8_t* elements, Work& w, const std::uint8_t* scalars, size_t step,
                       size_t count) noexcept {
    const size_t groups = (count + 7) / 8;
    for (size_t g = 0; g < groups; ++g) {
      for (size_t j = 0; j < 8; ++j) halve_and_shift(w.words, j, scalars + (8 * g + j < count ? 8 * g + j : 0) * step);
      for (size_t k = 0; k < 4; ++k) w.digits.word[k] = L::load(w.words[k]);
      G::multiply(w.points[g], w.table, w.digits);
    }
    // One inversion for all. The identity's product, 0, is left out: its inverse is taken for 0.
    const Fe one = F::small(1), zero = F::small(0);
    M none[kGroups];
    Fe running = one;
    for (size_t g = 0; g < groups; ++g) {
      G::begin_encoding(w.doubled[g], w.points[g]);
      Fe product = F::mul(w.doubled[g].eg, w.doubled[g].fh);
      none[g] = F::is_zero(product);
      product = F::select(none[g], one, product);
      w.before[g] = running;
      running = F::mul(running, product);
    }
    F::invert(&running, &running);
    for (size_t g = groups; g-- > 0;) {
      const Fe inverse = F::select(none[g], zero, F::mul(running, w.before[g]));
      const Fe product = F::mul(w.doubled[g].eg, w.doubled[g].fh);
      running = F::mul(running, F::select(none[g], one, product));
      const auto encoded = G::end_encoding(w.doubled[g], inverse);
      for (size_t k = 0; k < 4; ++k) L::store(w.words[k], encoded.word[k]);
      for (size_t j = 0; j < 8 && 8 * g + j < count; ++j)
        for (size_t k = 0; k < 4; ++k) std::memcpy(elements + 32 * (8 * g + j) + 8 * k, &w.words[k][j], 8);
    }
  }

  static void hash_multiply(std::uint8_t* elements, const std::uint8_t* uniform, const std::uint8_t* scalars,
                            size_t step, size_t count) noexcept {
    Wiped<Work> room;
    hash_multiply_in(room.value, elements, uniform, scalars, step, count);
  }
  static __attribute__((noinline)) void hash_multiply_in(Work& w, std::uint8_t* elements, const std::uint8_t* uniform,
                                                         const std::uint8_t* scalars, size_t step,
                                                         size_t count) noexcept {
    for (size_t g = 0; 8 * g < count; ++g) {
      typename G::Encoded half[2];
      gather(half[0].word, w.words, uniform + 512 * g, 64, count - 8 * g);
      gather(half[1].word, w.words, uniform + 512 * g + 32, 64, count - 8 * g);
      const Fe t[2] = {G::from_words(half[0]), G::from_words(half[1])};
      Point two[2];
      G::template elligator<2>(two, t);
      w.points[g] = two[0];
      G::template add_in_place<true>(w.points[g], G::addend(two[1]));
    }
    multiply(elements, w, scalars, step, count);
  }

  static u64 decode_multiply(std::uint8_t* elements, const std::uint8_t* encoded, const std::uint8_t* scalars,
                             size_t step, size_t count) noexcept {
    Wiped<Work> room;
    return decode_multiply_in(room.value, elements, encoded, scalars, step, count);
  }
  static __attribute__((noinline)) u64 decode_multiply_in(Work& w, std::uint8_t* elements, const std::uint8_t* encoded,
                                                          const std::uint8_t* scalars, size_t step,
                                                          size_t count) noexcept {
    const size_t groups = (count + 7) / 8;
    for (size_t g = 0; g < groups; ++g) gather(w.encoded[g].word, w.words, encoded + 256 * g, 32, count - 8 * g);
    if (groups % 2 != 0) w.encoded[groups] = w.encoded[groups - 1];
    u64 refused = 0;
    for (size_t g = 0; g < groups; g += 2) {
      M bad[2];
      G::template decode<2>(bad, w.points + g, w.encoded + g);
      refused |= u64{L::bits(bad[0])} << (8 * g) | u64{L::bits(bad[1])} << (8 * g + 8);
    }
    multiply(elements, w, scalars, step, count);
    return count == 64 ? refused : refused & ((u64{1} << count) - 1);
  }

  // ---- hashes -----------------------------------------------------------------------------------------------------

  struct HashWork {
    typename H::Work sha;
    std::uint8_t hashed[8 * 64];
    std::uint8_t head[8][2];
  };

  // "HashToGroup-" || "OPRFV1-" || 0x00 || "-ristretto255-SHA512" || its length, behind 64 || 0x00, the length wanted.
  static constexpr std::uint8_t kTail[] = {0,   64,  0,   'H', 'a', 's', 'h', 'T', 'o', 'G', 'r', 'o', 'u', 'p', '-',
                                           'O', 'P', 'R', 'F', 'V', '1', '-', 0,   '-', 'r', 'i', 's', 't', 'r', 'e',
                                           't', 't', 'o', '2', '5', '5', '-', 'S', 'H', 'A', '5', '1', '2', 40};
  static_assert(sizeof(kTail) == 3 + 40 + 1);

  static void expand(std::uint8_t* uniform, const Text* texts, size_t count) noexcept {
    Wiped<HashWork> room;
    expand_in(room.value, uniform, texts, count);
  }
  static __attribute__((noinline)) void expand_in(HashWork& w, std::uint8_t* uniform, const Text* texts,
                                                  size_t count) noexcept {
    static constexpr std::uint8_t kOne[] = {1};
    // The first block is zeros for all.
    typename H::State start;
    H::start(start);
    std::memset(w.sha.words, 0, sizeof(w.sha.words));
    H::compress(start, w.sha.words);
    for (size_t at = 0; at < count; at += 8) {
      const size_t some = count - at < 8 ? count - at : 8;
      Message m[8] = {};
      for (size_t j = 0; j < some; ++j)
        m[j] = {{texts[at + j].data, kTail, kTail}, {texts[at + j].size, sizeof(kTail), 0}};
      typename H::State state = start;
      H::add(state, w.sha, m, some, H::kBlock);
      H::finish(w.hashed, state, w.sha, some);
      for (size_t j = 0; j < some; ++j) m[j] = {{w.hashed + 64 * j, kOne, kTail + 3}, {64, 1, sizeof(kTail) - 3}};
      H::start(state);
      H::add(state, w.sha, m, some, 0);
      H::finish(uniform + 64 * at, state, w.sha, some);
    }
  }

  static void finish(std::uint8_t* outputs, const Text* texts, const std::uint8_t* elements, size_t count) noexcept {
    Wiped<HashWork> room;
    finish_in(room.value, outputs, texts, elements, count);
  }
  static __attribute__((noinline)) void finish_in(HashWork& w, std::uint8_t* outputs, const Text* texts,
                                                  const std::uint8_t* elements, size_t count) noexcept {
    static constexpr char kName[] = "Finalize";
    for (size_t at = 0; at < count; at += 8) {
      const size_t some = count - at < 8 ? count - at : 8;
      Message m[8] = {};
      for (size_t j = 0; j < some; ++j) {
        const size_t size = texts[at + j].size;
        w.head[j][0] = static_cast<std::uint8_t>(size >> 8);
        w.head[j][1] = static_cast<std::uint8_t>(size);
        // 32, the element's length, the element, the name
        std::uint8_t* tail = w.hashed + 64 * j;
        tail[0] = 0;
        tail[1] = 32;
        std::memcpy(tail + 2, elements + 32 * (at + j), 32);
        std::memcpy(tail + 34, kName, 8);
        m[j] = {{w.head[j], texts[at + j].data, tail}, {2, size, 42}};
      }
      typename H::State state;
      H::start(state);
      H::add(state, w.sha, m, some, 0);
      H::finish(outputs + 64 * at, state, w.sha, some);
    }
  }

  // ---- for tests --------------------------------------------------------------------------------------------------

  static void probe(unsigned operation, u64* out, const u64* a, const u64* b) noexcept {
    Fe x, y;
    for (size_t k = 0; k < 5; ++k) {
      x.limb[k] = L::load(a + 8 * k);
      y.limb[k] = L::load(b + 8 * k);
    }
    if (operation == kProbeMultiply) x = F::mul(x, y);
    if (operation == kProbeSquare) x = F::square(x);
    if (operation == kProbeCarry) x = F::carry(x);
    if (operation == kProbeFreeze) x = F::freeze(x);
    if (operation == kProbeInvert) F::invert(&x, &x);
    if (operation == kProbePower) F::template power_p58<1>(&x, &y);
    for (size_t k = 0; k < 5; ++k) L::store(out + 8 * k, x.limb[k]);
  }

  static constexpr Lanes table(const char* name) noexcept {
    return {name, expand, hash_multiply, decode_multiply, finish, probe};
  }
};

}  // namespace
}  // namespace ringforge::oprf
