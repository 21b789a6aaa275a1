// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Cache-line aligned arrays of residues, and the wiping of secrets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace ringforge {

/// Overwrites memory in a way the compiler may not remove.
void wipe(void* data, std::size_t bytes) noexcept;

/// Words aligned to 64 bytes. Large blocks come from a process-wide pool of recently freed ones, because
/// handing megabytes back to the system and faulting them in again costs more than the arithmetic on them.
std::uint64_t* allocate_words(std::size_t words);
void free_words(std::uint64_t* data, std::size_t words) noexcept;
/// Returns the pool's idle blocks to the system.
void trim_word_pool() noexcept;
/// Bytes in word arrays now, and the most since the last reset.
struct WordMemory {
  std::size_t now = 0, most = 0;
};
WordMemory word_memory() noexcept;
void reset_word_memory() noexcept;

/// A fixed-size array of words W, aligned to 64 bytes. Contents start undefined.
template <class W>
class WordArray {
 public:
  WordArray() = default;
  explicit WordArray(std::size_t size) : size_(size) {
    if (size > 0) data_ = reinterpret_cast<W*>(allocate_words(blocks(size)));
  }
  WordArray(const WordArray& o) : WordArray(o.size_) {
    if (size_ > 0) std::memcpy(data_, o.data_, bytes());
  }
  WordArray(WordArray&& o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  WordArray& operator=(WordArray o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
  }
  ~WordArray() { free_words(reinterpret_cast<std::uint64_t*>(data_), blocks(size_)); }

  W* data() noexcept { return data_; }
  const W* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept { return size_ * sizeof(W); }
  void zero() noexcept {
    if (size_ > 0) std::memset(data_, 0, bytes());
  }
  void wipe() noexcept { ringforge::wipe(data_, bytes()); }

 private:
  /// 64-bit words that hold `size` words W.
  static std::size_t blocks(std::size_t size) noexcept {
    return (size * sizeof(W) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
  }
  W* data_ = nullptr;
  std::size_t size_ = 0;
};
using WordBuffer = WordArray<std::uint64_t>;

/// A WordArray for secrets: wiped at the end, however the block that has it is left.
template <class W>
class SecretArray : public WordArray<W> {
 public:
  using WordArray<W>::WordArray;
  ~SecretArray() { this->wipe(); }
  SecretArray(const SecretArray&) = delete;
  SecretArray& operator=(const SecretArray&) = delete;
};

}  // namespace ringforge
