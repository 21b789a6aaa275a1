// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Cache-line aligned arrays of residues, and the wiping of secrets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace ringforge {

/// Overwrites memory in a way the compiler may not remove.
void wipe(void* data, std::size_t bytes) noexcept;

/// Words aligned to 64 bytes. Large blocks come from a process-wide pool of recently freed ones, because
/// handing megabytes back to the system and faulting them in again costs more than the arithmetic on them.
/// Words that are freed while an exception passes are wiped, whatever they held.
std::uint64_t* allocate_words(std::size_t words);
void free_words(std::uint64_t* data, std::size_t words) noexcept;
/// Returns the pool's idle blocks to the system.
void trim_word_pool() noexcept;
/// Bytes in word arrays now, and the most since the last reset. Borrowed words are not among them.
struct WordMemory {
  std::size_t now = 0, most = 0;
};
WordMemory word_memory() noexcept;
void reset_word_memory() noexcept;

/// @throws Error: who asked to write has words that something else owns.
[[noreturn]] void refuse_borrowed_words();

/// A fixed-size array of words W, aligned to 64 bytes. Contents start undefined.
///
/// An array may borrow its words from an owner, such as memory that several processes share. Borrowed words are for
/// reading: they belong into objects that are const from the start. A copy owns its words; a move still borrows.
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
  WordArray(WordArray&& o) noexcept
      : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)), owner_(std::move(o.owner_)) {}
  WordArray& operator=(WordArray o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    std::swap(owner_, o.owner_);
    return *this;
  }
  ~WordArray() {
    if (!owner_) free_words(reinterpret_cast<std::uint64_t*>(data_), blocks(size_));
  }

  /// Words that nobody changes while `owner` lives, which is as long as arrays borrow them. Words that do not lie at a
  /// multiple of 64 bytes are copied.
  static WordArray borrow(const W* words, std::size_t size, std::shared_ptr<const void> owner) {
    if (size == 0 || !owner || reinterpret_cast<std::uintptr_t>(words) % 64 != 0) {
      WordArray copy(size);
      if (size > 0) std::memcpy(copy.data_, words, copy.bytes());
      return copy;
    }
    WordArray array;
    array.data_ = const_cast<W*>(words);  // data() gives no way to write to them
    array.size_ = size;
    array.owner_ = std::move(owner);
    return array;
  }
  bool borrowed() const noexcept { return owner_ != nullptr; }

  /// For writing. @throws Error for borrowed words.
  W* data() {
    if (owner_) [[unlikely]]
      refuse_borrowed_words();
    return data_;
  }
  const W* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept { return size_ * sizeof(W); }
  /// @throws Error for borrowed words.
  void zero() {
    if (size_ > 0) std::memset(data(), 0, bytes());
  }
  /// Borrowed words stay: they are their owner's to wipe, and no secrets.
  void wipe() noexcept {
    if (!owner_) ringforge::wipe(data_, bytes());
  }

 private:
  /// 64-bit words that hold `size` words W.
  static std::size_t blocks(std::size_t size) noexcept {
    return (size * sizeof(W) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
  }
  W* data_ = nullptr;
  std::size_t size_ = 0;
  std::shared_ptr<const void> owner_;
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
