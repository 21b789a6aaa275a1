// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// SHA-256, by OpenSSL: of parameters, which belong together by it, and of files, where it finds damage.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace ringforge {

using Hash = std::array<std::uint8_t, 32>;

/// The hash of bytes that come in pieces. @throws Error when OpenSSL has no SHA-256.
class Sha256 {
 public:
  Sha256();
  void update(const void* data, std::size_t bytes);
  /// Of all pieces; the object is used up.
  Hash finish();

 private:
  struct Free {
    void operator()(void* context) const noexcept;
  };
  std::unique_ptr<void, Free> context_;
};

/// Of bytes that lie together.
Hash sha256(const void* data, std::size_t bytes);

}  // namespace ringforge
