// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Oblivious pseudo-random function: RFC 9497, suite ristretto255-SHA512, mode OPRF (0x00).
//
// F(k, x) = SHA-512(x, k * H(x)), H a hash to the group. The client sends blind * H(x), a uniform element; the
// server returns k times that; the client takes the blind off and hashes. The server learns nothing of x, the
// client nothing of k but F(k, x). The mode has no proof that the server used a certain key: a server may use
// another key for each request, and a client cannot tell.
//
// Everything that depends on a key, a blind or an input's bytes runs in constant time; lengths of inputs do not. The
// arithmetic is libsodium's; batches, on processors with AVX-512 IFMA, take eight elements side by side (kernel set
// avx512, about nine times as fast). Batches give the same bytes for every kernel set and number of threads. `progress`
// receives the fraction done now and then, from any of the threads, never from two at once; an exception it throws ends
// the call and is passed on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "ringforge/random.hpp"

namespace ringforge::oprf {

inline constexpr std::size_t kScalarBytes = 32;
inline constexpr std::size_t kElementBytes = 32;
inline constexpr std::size_t kOutputBytes = 64;
inline constexpr std::size_t kSeedBytes = 32;
inline constexpr std::size_t kMaxInputBytes = 65535;  ///< of an input, and of the info of `ServerKey::derive`

using Bytes = std::span<const std::uint8_t>;
/// Canonical encoding of a group element (RFC 9496, section 4.3.2).
using Element = std::array<std::uint8_t, kElementBytes>;
/// A pseudo-random value.
using Output = std::array<std::uint8_t, kOutputBytes>;
using Progress = std::function<void(double)>;

/// A secret non-zero scalar, modulo the group's order: move-only, wiped at the end, little-endian.
class Scalar {
 public:
  /// Uniform (RFC 9497, section 4.1: 64 random bytes reduced, zero rejected).
  static Scalar random(Randomness& rng);
  /// @throws ShapeError unless there are 32 bytes, FormatError unless they are a scalar in [1, order).
  static Scalar from_bytes(Bytes bytes);

  ~Scalar() { wipe(value_.data(), value_.size()); }
  Scalar(Scalar&& o) noexcept : value_(o.value_) { wipe(o.value_.data(), o.value_.size()); }
  Scalar& operator=(Scalar&& o) noexcept {
    if (this != &o) {
      value_ = o.value_;
      wipe(o.value_.data(), o.value_.size());
    }
    return *this;
  }
  Scalar(const Scalar&) = delete;
  Scalar& operator=(const Scalar&) = delete;
  /// The secret itself; 32 bytes, all zero once moved from.
  Bytes bytes() const noexcept { return value_; }

 private:
  Scalar() = default;
  friend class ServerKey;
  std::array<std::uint8_t, kScalarBytes> value_{};
};

/// The server's secret key.
class ServerKey {
 public:
  static ServerKey random(Randomness& rng) { return ServerKey(Scalar::random(rng)); }
  /// DeriveKeyPair (RFC 9497, section 3.2.1). The seed is as secret as the key.
  /// @throws ShapeError unless the seed has 32 bytes, ValueError for an info beyond 65535 bytes.
  static ServerKey derive(Bytes seed, Bytes info);
  /// @throws ShapeError unless there are 32 bytes, FormatError unless they are a scalar in [1, order).
  static ServerKey from_bytes(Bytes bytes) { return ServerKey(Scalar::from_bytes(bytes)); }
  /// The secret itself, little-endian.
  Bytes bytes() const noexcept { return scalar_.bytes(); }

 private:
  explicit ServerKey(Scalar&& scalar) noexcept : scalar_(std::move(scalar)) {}
  Scalar scalar_;
};

/// expand_message_xmd with SHA-512 (RFC 9380, section 5.3.1); `out` is filled.
/// @throws ValueError when `out` is empty or beyond 16320 bytes, or `dst` is empty or beyond 255.
void expand_message_xmd(std::span<std::uint8_t> out, Bytes message, std::string_view dst);

struct Blinded {
  Scalar blind;     ///< secret of the client
  Element element;  ///< for the server
};
/// Client, first step.
/// @throws ValueError for an input beyond 65535 bytes.
Blinded blind(Bytes input, Randomness& rng);
/// The same with a blind that was chosen before; a blind must never be used twice.
Element blind_with(Bytes input, const Scalar& blind);
/// Server: the key times the element.
/// @throws ShapeError unless there are 32 bytes, FormatError unless they encode an element other than the identity.
Element evaluate(const ServerKey& key, Bytes element);
/// Client, last step.
/// @throws as `blind` for the input and `evaluate` for the element.
Output finalize(Bytes input, const Scalar& blind, Bytes evaluated);
/// F(key, input), what the three steps give: for a server's own set.
/// @throws ValueError for an input beyond 65535 bytes.
Output prf(const ServerKey& key, Bytes input);

/// Byte strings one after the other: string i is bytes[offsets[i] .. offsets[i + 1]). Offsets are one more than
/// strings, begin with 0, do not fall, and end with bytes.size(). No offsets: no strings.
struct Inputs {
  Bytes bytes;
  std::span<const std::uint64_t> offsets;
  std::size_t size() const noexcept { return offsets.empty() ? 0 : offsets.size() - 1; }
  Bytes operator[](std::size_t i) const { return bytes.subspan(offsets[i], offsets[i + 1] - offsets[i]); }
};

/// The blinds of a batch: move-only, wiped at the end.
class Blinds {
 public:
  ~Blinds() { clear(); }
  Blinds(Blinds&& o) noexcept : data_(std::move(o.data_)) { o.data_.clear(); }
  Blinds& operator=(Blinds&& o) noexcept {
    if (this != &o) {
      clear();
      data_.swap(o.data_);
    }
    return *this;
  }
  Blinds(const Blinds&) = delete;
  Blinds& operator=(const Blinds&) = delete;
  std::size_t size() const noexcept { return data_.size() / kScalarBytes; }
  /// The secrets themselves, 32 bytes each.
  Bytes bytes() const noexcept { return data_; }

 private:
  explicit Blinds(std::size_t count) : data_(count * kScalarBytes) {}
  void clear() noexcept {
    wipe(data_.data(), data_.size());
    data_.clear();
  }
  friend struct BatchWork;
  std::vector<std::uint8_t> data_;
};

struct BlindedBatch {
  Blinds blinds;                       ///< secret of the client
  std::vector<std::uint8_t> elements;  ///< 32 bytes each, for the server
};
/// `blind` for each input.
/// @throws ShapeError for offsets that are none, ValueError for an input beyond 65535 bytes.
BlindedBatch blind_batch(const Inputs& inputs, Randomness& rng, unsigned threads = 1, const Progress& progress = {});
/// `evaluate` for each element of 32 bytes; all or none.
/// @throws ShapeError unless the length is a multiple of 32, FormatError naming the first bad element.
std::vector<std::uint8_t> evaluate_batch(const ServerKey& key, Bytes elements, unsigned threads = 1,
                                         const Progress& progress = {});
/// `finalize` for each input, 64 bytes each; all or none.
/// @throws ShapeError unless inputs, blinds and elements are equally many, otherwise as the two above.
std::vector<std::uint8_t> finalize_batch(const Inputs& inputs, const Blinds& blinds, Bytes evaluated,
                                         unsigned threads = 1, const Progress& progress = {});
/// `prf` for each input, 64 bytes each.
/// @throws ShapeError for offsets that are none, ValueError for an input beyond 65535 bytes.
std::vector<std::uint8_t> prf_batch(const ServerKey& key, const Inputs& inputs, unsigned threads = 1,
                                    const Progress& progress = {});

}  // namespace ringforge::oprf
