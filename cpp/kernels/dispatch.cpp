// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Chooses the kernel set at start-up by CPU feature, or by the environment variable RINGFORGE_KERNELS.
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ref/arith.hpp"
#include "ringforge/error.hpp"
#include "sets.hpp"

namespace ringforge::kernels {
namespace {

struct Sets {
  std::array<const Kernels*, 3> list{};
  std::size_t count = 0;
  Sets() {
    list[count++] = &ref_kernels();
#if defined(__x86_64__)
    if (cpu_has_avx2()) list[count++] = &avx2_kernels();
    if (cpu_has_avx512()) list[count++] = &avx512_kernels();
#endif
  }
};

const Sets& sets() {
  static const Sets s;
  return s;
}

const Kernels& choose() {
  const auto all = available();
  const char* wanted = std::getenv("RINGFORGE_KERNELS");
  if (wanted == nullptr || *wanted == '\0') return *all.back();
  if (const Kernels* k = find(wanted)) return *k;
  std::string names;
  for (const Kernels* k : all) names += std::string(names.empty() ? "" : ", ") + k->name;
  throw ParameterError("RINGFORGE_KERNELS=" + std::string(wanted) +
                       " is not a kernel set this CPU can run; choose one of: " + names);
}

}  // namespace

std::span<const Kernels* const> available() { return {sets().list.data(), sets().count}; }

const Kernels* find(const char* name) noexcept {
  for (const Kernels* k : available())
    if (std::strcmp(k->name, name) == 0) return k;
  return nullptr;
}

const Kernels& active() {
  static const Kernels& k = choose();
  return k;
}

const Kernels32* find32(const char* name) noexcept {
  const Kernels* k = find(name);
  if (k == nullptr) return nullptr;
#if defined(__x86_64__)
  if (k == &avx2_kernels()) return &avx2_kernels32();
  if (k == &avx512_kernels()) return &avx512_kernels32();
#endif
  return &ref_kernels32();
}

const Kernels32& active32() {
  static const Kernels32& k = *find32(active().name);
  return k;
}

template <class W>
const SmallKernels<W>* small_find(const char* name) noexcept {
  const Kernels* k = find(name);
  if (k == nullptr) return nullptr;
#if defined(__x86_64__)
  if (k == &avx2_kernels()) return &avx2_small<W>();
  if (k == &avx512_kernels()) return &avx512_small<W>();
#endif
  return &ref_small<W>();
}
template const SmallKernels<u32>* small_find<u32>(const char* name) noexcept;
template const SmallKernels<u64>* small_find<u64>(const char* name) noexcept;

template <class W>
const SmallKernels<W>& small_active() {
  static const SmallKernels<W>& k = *small_find<W>(active().name);
  return k;
}
template const SmallKernels<u32>& small_active<u32>();
template const SmallKernels<u64>& small_active<u64>();

const SignalKernels* signal_find(const char* name) noexcept {
  const Kernels* k = find(name);
  if (k == nullptr) return nullptr;
#if defined(__x86_64__)
  if (k == &avx2_kernels()) return &avx2_signal();
  if (k == &avx512_kernels()) return &avx512_signal();
#endif
  return &ref_signal();
}

const SignalKernels& signal_active() {
  static const SignalKernels& k = *signal_find(active().name);
  return k;
}

template <class W>
const TensorKernels<W>* tensor_find(const char* name) noexcept {
  const Kernels* k = find(name);
  if (k == nullptr) return nullptr;
#if defined(__x86_64__)
  if constexpr (sizeof(W) == 8)
    if (k == &avx512_kernels()) return &avx512_tensor();
#endif
  return &ref_tensor<W>();
}
template const TensorKernels<u32>* tensor_find<u32>(const char* name) noexcept;
template const TensorKernels<u64>* tensor_find<u64>(const char* name) noexcept;

template <class W>
const TensorKernels<W>& tensor_active() {
  static const TensorKernels<W>& k = *tensor_find<W>(active().name);
  return k;
}
template const TensorKernels<u32>& tensor_active<u32>();
template const TensorKernels<u64>& tensor_active<u64>();

const RaderKernels* rader_find(const char* name) noexcept {
  const Kernels* k = find(name);
  if (k == nullptr) return nullptr;
#if defined(__x86_64__)
  if (k == &avx512_kernels()) return &avx512_rader();
#endif
  return &ref_rader();
}

const RaderKernels& rader_active() {
  static const RaderKernels& k = *rader_find(active().name);
  return k;
}

const SpectralKernels* spectral_find(const char* name) noexcept {
  const Kernels* k = find(name);
  if (k == nullptr) return nullptr;
#if defined(__x86_64__)
  if (k == &avx2_kernels()) return &avx2_spectral();
  if (k == &avx512_kernels()) return &avx512_spectral();
#endif
  return &ref_spectral();
}

const SpectralKernels& spectral_active() {
  static const SpectralKernels& k = *spectral_find(active().name);
  return k;
}

Modulus make_modulus(u64 q) noexcept {
  using u128 = unsigned __int128;
  Modulus m;
  m.q = q;
  m.bits = 64 - static_cast<unsigned>(__builtin_clzll(q));
  // floor(2^128/q): q does not divide 2^128 - 1 + 1 unless q = 1, so floor((2^128-1)/q) is the same.
  const u128 ratio = ~static_cast<u128>(0) / q;
  m.ratio_hi = static_cast<u64>(ratio >> 64);
  m.ratio_lo = static_cast<u64>(ratio);
  if (m.bits <= kFastBits) m.mu52 = static_cast<u64>((static_cast<u128>(1) << (m.bits + 50)) / q);
  return m;
}

Factor make_factor(u64 w, const Modulus& m) noexcept {
  using u128 = unsigned __int128;
  return {w, static_cast<u64>((static_cast<u128>(w) << 64) / m.q),
          m.bits <= kFastBits ? static_cast<u64>((static_cast<u128>(w) << 52) / m.q) : 0};
}

}  // namespace ringforge::kernels
