// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/memory.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "fork.hpp"
#include "ringforge/error.hpp"

namespace ringforge {
namespace {

constexpr std::align_val_t kAlign{64};
constexpr std::size_t kPooledBytes = std::size_t{64} << 10;  // smaller blocks are cheap to allocate
constexpr std::size_t kPoolLimit = std::size_t{192} << 20;   // idle bytes kept at most,
constexpr std::size_t kPoolShare = 8;                        // or this part of the bytes in use, if more
constexpr std::size_t kHugeBytes = std::size_t{4} << 20;     // worth asking for huge pages

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kUsePool = false;  // let the sanitizer see every allocation
#else
constexpr bool kUsePool = true;
#endif

ForkMutex pool_mutex(ForkMutex::Rank::memory);

struct WordPool {
  std::map<std::size_t, std::vector<void*>> free;  // by size in bytes
  std::size_t idle = 0;
};

// Never destroyed: buffers in other static objects may be freed after it would have been.
WordPool& pool() {
  static auto* p = new WordPool;
  return *p;
}

std::atomic<std::size_t> live{}, most_live{};

void note(std::size_t bytes) noexcept {
  const std::size_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::size_t most = most_live.load(std::memory_order_relaxed);
  while (most < now && !most_live.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
}

}  // namespace

void refuse_borrowed_words() {
  throw Error("these words are shared and for reading only: copy the object, and change the copy");
}

WordMemory word_memory() noexcept { return {live, most_live}; }
void reset_word_memory() noexcept { most_live = live.load(); }

std::uint64_t* allocate_words(std::size_t words) {
  const std::size_t bytes = words * sizeof(std::uint64_t);
  note(bytes);
  if (kUsePool && bytes >= kPooledBytes) {
    WordPool& p = pool();
    const std::lock_guard lock(pool_mutex);
    if (const auto it = p.free.find(bytes); it != p.free.end() && !it->second.empty()) {
      void* block = it->second.back();
      it->second.pop_back();
      p.idle -= bytes;
      return static_cast<std::uint64_t*>(block);
    }
  }
  void* block = ::operator new(bytes, kAlign);
#ifdef MADV_HUGEPAGE
  if (bytes >= kHugeBytes) {
    constexpr std::uintptr_t page = std::uintptr_t{2} << 20;
    const auto begin = (reinterpret_cast<std::uintptr_t>(block) + page - 1) & ~(page - 1);
    const auto end = (reinterpret_cast<std::uintptr_t>(block) + bytes) & ~(page - 1);
    if (end > begin) (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  }
#endif
  return static_cast<std::uint64_t*>(block);
}

void free_words(std::uint64_t* data, std::size_t words) noexcept {
  if (data == nullptr) return;
  const std::size_t bytes = words * sizeof(std::uint64_t);
  // An error, or an interruption, skips what would have wiped secrets, and nobody knows here which words are some.
  if (std::uncaught_exceptions() > 0) [[unlikely]]
    wipe(data, bytes);
  live.fetch_sub(bytes, std::memory_order_relaxed);
  if (kUsePool && bytes >= kPooledBytes) {
    WordPool& p = pool();
    const std::lock_guard lock(pool_mutex);
    if (p.idle + bytes <= std::max(kPoolLimit, live.load(std::memory_order_relaxed) / kPoolShare)) {
      p.free[bytes].push_back(data);
      p.idle += bytes;
      return;
    }
  }
  ::operator delete(data, kAlign);
}

void trim_word_pool() noexcept {
  WordPool& p = pool();
  const std::lock_guard lock(pool_mutex);
  for (auto& [bytes, blocks] : p.free)
    for (void* b : blocks) ::operator delete(b, kAlign);
  p.free.clear();
  p.idle = 0;
#ifdef __GLIBC__
  // Blocks below the allocator's own threshold lie on its heap, which keeps them otherwise.
  (void)malloc_trim(0);
#endif
}

}  // namespace ringforge
