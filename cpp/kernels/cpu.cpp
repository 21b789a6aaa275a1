// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What the processor can run, asked by CPUID: the compiler's __builtin_cpu_supports answers "no" to everything where
// its runtime has but a stub of it, as Zig's has, with which wheels are built.
#include "sets.hpp"

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstdint>

namespace ringforge::kernels {
namespace {

/// Bits of XCR0: registers that the operating system saves.
constexpr std::uint32_t kSavesYmm = 0x06, kSavesZmm = 0xe6;

/// Features by their bits in CPUID's leaves 1 (ECX) and 7 (EBX).
constexpr std::uint32_t kFma = 1u << 12, kOsxsave = 1u << 27;
constexpr std::uint32_t kAvx2 = 1u << 5;
constexpr std::uint32_t kAvx512 = 1u << 16 | 1u << 17 | 1u << 21 | 1u << 30 | 1u << 31;  // F, DQ, IFMA, BW, VL

struct Features {
  std::uint32_t leaf1 = 0, leaf7 = 0, saved = 0;
  Features() noexcept {
    std::uint32_t a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) != 0) leaf1 = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) leaf7 = b;
    if ((leaf1 & kOsxsave) != 0) __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
  }
  bool has(std::uint32_t in1, std::uint32_t in7, std::uint32_t registers) const noexcept {
    return (leaf1 & in1) == in1 && (leaf7 & in7) == in7 && (saved & registers) == registers;
  }
};

const Features& features() noexcept {
  static const Features found;
  return found;
}

}  // namespace

bool cpu_has_avx2() noexcept { return features().has(kFma, kAvx2, kSavesYmm); }
bool cpu_has_avx512() noexcept { return features().has(kFma, kAvx2 | kAvx512, kSavesZmm); }

}  // namespace ringforge::kernels
#endif
