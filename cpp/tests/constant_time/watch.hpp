// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Secrets as undefined memory, and operations that memcheck watches one by one.
#pragma once

#include <valgrind/memcheck.h>

#include <cstdio>
#include <vector>

#include "ringforge/random.hpp"
#include "ringforge/ring.hpp"

namespace ringforge {

/// Bytes that `declassify` has made public so far although secrets had reached them; of builds with RINGFORGE_MEMCHECK.
std::size_t declassified_bytes() noexcept;

namespace watch {

/// Makes memory secret.
inline void taint(void* data, std::size_t bytes) { VALGRIND_MAKE_MEM_UNDEFINED(data, bytes); }
template <class T>
void taint(std::vector<T>& v) {
  taint(v.data(), v.size() * sizeof(T));
}

/// Whether secrets have reached some of it.
inline bool tainted(const void* data, std::size_t bytes) {
  std::vector<unsigned char> bits(bytes);
  if (VALGRIND_GET_VBITS(data, bits.data(), bytes) != 1) return false;
  for (const unsigned char b : bits)
    if (b != 0) return true;
  return false;
}
template <class T>
bool tainted(const std::vector<T>& v) {
  return tainted(v.data(), v.size() * sizeof(T));
}
template <class Form, class Word>
bool tainted(const Poly<Form, Word>& p) {
  return tainted(p.words().data(), p.words().size_bytes());
}

/// Runs operations under memcheck and prints a line for each: its name, "clean" or what is wrong, reports of memcheck,
/// bytes declassified.
class Watch {
 public:
  /// `body` gives whether secrets reached its results: else nothing was checked.
  template <class Body>
  void operator()(const char* name, Body&& body) {
    const unsigned before = VALGRIND_COUNT_ERRORS;
    const std::size_t declassified = declassified_bytes();
    const bool reached = body();
    const unsigned reports = VALGRIND_COUNT_ERRORS - before;
    const char* verdict = RUNNING_ON_VALGRIND == 0 ? "unwatched"
                          : reports != 0           ? "REPORTED"
                          : reached                ? "clean"
                                                   : "UNREACHED";
    if (reports != 0 || !reached || RUNNING_ON_VALGRIND == 0) good_ = false;
    std::printf("%-34s %-10s %7u %8zu\n", name, verdict, reports, declassified_bytes() - declassified);
    std::fflush(stdout);
  }
  /// 0 when every operation was clean.
  int result() const { return good_ ? 0 : 1; }

 private:
  bool good_ = true;
};

}  // namespace watch
}  // namespace ringforge
