// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Diagonals of a bulletin, as polynomials modulo t.
#include <algorithm>
#include <bit>
#include <string>

#include "bits.hpp"
#include "ringforge/circuits/omr_affine.hpp"
#include "ringforge/error.hpp"
#include "ringforge/packing.hpp"
#include "ringforge/threads.hpp"

namespace ringforge::circuits {
namespace {

constexpr std::size_t kTile = 16;  // slots that are transposed at once

}  // namespace

OmrLayout::OmrLayout(const Ring& ring, u64 t, std::size_t columns, std::size_t outputs, std::size_t babies,
                     OmrMethod method)
    : ring_(ring), columns_(columns), outputs_(outputs), babies_(babies), method_(method) {
  const std::size_t n = ring.degree(), row = n / 2;
  if (!ring.permutes()) throw ParameterError("slots in two rows need a negacyclic ring, not " + ring.name());
  if (!std::has_single_bit(columns) || 2 * columns > row)
    throw ParameterError("signals of " + std::to_string(columns) + " words in rows of " + std::to_string(row) +
                         " slots: take a power of two, at most " + std::to_string(row / 2));
  if (outputs < 1 || outputs > 8 || outputs > columns)
    throw ParameterError(std::to_string(outputs) + " outputs; there can be 1 to 8, and at most as many as columns");
  if (babies < 1 || babies > columns)
    throw ParameterError(std::to_string(babies) + " baby steps for " + std::to_string(columns) +
                         " diagonals: take 1 to as many");
  if (t >> 32 != 0) throw ParameterError("the plaintext modulus " + std::to_string(t) + " is not below 2^32");
  plain_ = Prime::get(t, ring);
  const unsigned log_n = static_cast<unsigned>(std::countr_zero(n));
  slot_of_.resize(n);
  u64 power = 1;  // 5^i modulo 2N
  for (std::size_t i = 0; i < row; ++i, power = power * 5 % (2 * n)) {
    slot_of_[reverse_bits((power - 1) / 2, log_n)] = static_cast<u32>(i);
    slot_of_[reverse_bits((2 * n - power - 1) / 2, log_n)] = static_cast<u32>(row + i);
  }
}

std::size_t OmrLayout::terms(std::size_t g) const noexcept { return std::min(babies_, columns_ - g * babies_); }

std::size_t OmrLayout::diagonal_bytes() const noexcept { return packed_bytes(slots(), plain_->mod().bits); }

void OmrLayout::encode(std::uint8_t* dst, std::span<const u32> signals, std::size_t g, unsigned threads) const {
  const std::size_t n = slots(), row = n / 2, columns = columns_, mask = columns - 1;
  const u32 t = static_cast<u32>(plain_->value());
  if (signals.size() != n * columns)
    throw ShapeError("signals of " + std::to_string(signals.size()) + " words; a bulletin has " + std::to_string(n) +
                     " rows of " + std::to_string(columns));
  if (g >= giants()) throw LevelError("giant step " + std::to_string(g) + "; there are " + std::to_string(giants()));
  const std::size_t count = terms(g), shift = g * babies_ % row;
  for (std::size_t l = 0; l < matrices(); ++l) {
    WordBuffer words(count * n);
    // In the order of Eval form: a slot's words of all diagonals lie side by side in its message's row.
    parallel_for(threads, n / kTile, [&](std::size_t block) {
      for (std::size_t e = block * kTile; e < (block + 1) * kTile; ++e) {
        const std::size_t slot = slot_of_[e], i = slot % row;
        // What this slot is before the diagonal is rotated right.
        const u32* a = signals.data() + (slot - i + ((i - shift) & (row - 1))) * columns;
        const std::size_t last = (l - i) & (2 * columns - 1);  // l - i - b modulo 2n, b = 0
        u64* out = words.data() + e;
        u32 wrong = 0;
        for (std::size_t b = 0; b < count; ++b) {
          const std::size_t at = last - b, column = at & mask;
          const u32 x = a[column];
          wrong |= static_cast<u32>(x >= t);
          const bool minus = method_ == OmrMethod::paper ? column > l : (at & columns) != 0;
          out[b * n] = minus && x != 0 ? t - x : x;
        }
        if (wrong != 0) throw ValueError("a word of a signal is not below the plaintext modulus " + std::to_string(t));
      }
    });
    std::uint8_t* to = dst + l * count * diagonal_bytes();
    parallel_for(threads, count, [&](std::size_t b) {
      u64* x = words.data() + b * n;
      intt(x, x, *plain_);
      pack_bits(to + b * diagonal_bytes(), x, n, plain_->mod().bits);
    });
  }
}

std::vector<u64> OmrLayout::key_slots(std::span<const u32> key) const {
  if (key.size() != columns_)
    throw ShapeError("a key of " + std::to_string(key.size()) + " words; signals have " + std::to_string(columns_));
  const u64 t = plain_->value();
  std::vector<u64> v(slots());
  for (std::size_t i = 0; i < v.size(); ++i) {
    const u64 x = key[i % columns_];
    if (x >= t) throw ValueError("a word of the signal key is not below the plaintext modulus " + std::to_string(t));
    v[i] = method_ == OmrMethod::ringforge && (i / columns_) % 2 == 1 && x != 0 ? t - x : x;
  }
  return v;
}

}  // namespace ringforge::circuits
