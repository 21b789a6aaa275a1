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

/// A fixed-size array of 64-bit words, aligned to 64 bytes. Contents start undefined.
class WordBuffer {
 public:
  using u64 = std::uint64_t;
  WordBuffer() = default;
  explicit WordBuffer(std::size_t words) : size_(words) {
    if (words > 0) data_ = allocate_words(words);
  }
  WordBuffer(const WordBuffer& o) : WordBuffer(o.size_) {
    if (size_ > 0) std::memcpy(data_, o.data_, size_ * sizeof(u64));
  }
  WordBuffer(WordBuffer&& o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  WordBuffer& operator=(WordBuffer o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
  }
  ~WordBuffer() { free_words(data_, size_); }

  u64* data() noexcept { return data_; }
  const u64* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  void zero() noexcept {
    if (size_ > 0) std::memset(data_, 0, size_ * sizeof(u64));
  }
  void wipe() noexcept { ringforge::wipe(data_, size_ * sizeof(u64)); }

 private:
  u64* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace ringforge
