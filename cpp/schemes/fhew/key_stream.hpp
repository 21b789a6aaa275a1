// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A stream of bytes that ends with their SHA-256. Keys of gigabytes pass without a second copy. Internal.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <istream>
#include <memory>
#include <ostream>

#include "ringforge/error.hpp"

namespace ringforge::fhew {

class RunningHash {
 public:
  RunningHash() {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
      throw Error("SHA-256 is not available in the installed OpenSSL");
  }
  void add(const void* data, std::size_t bytes) { EVP_DigestUpdate(context_.get(), data, bytes); }
  std::array<std::uint8_t, 32> value() {
    std::array<std::uint8_t, 32> sum{};
    EVP_DigestFinal_ex(context_.get(), sum.data(), nullptr);
    return sum;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* c) const noexcept { EVP_MD_CTX_free(c); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_{EVP_MD_CTX_new()};
};

class KeyWriter {
 public:
  explicit KeyWriter(std::ostream& out) : out_(out) {}
  void put(const void* data, std::size_t bytes) {
    hash_.add(data, bytes);
    write(data, bytes);
  }
  void finish() {
    const auto sum = hash_.value();
    write(sum.data(), sum.size());
  }

 private:
  void write(const void* data, std::size_t bytes) {
    out_.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    if (!out_) throw Error("writing the evaluation key failed");
  }
  std::ostream& out_;
  RunningHash hash_;
};

class KeyReader {
 public:
  explicit KeyReader(std::istream& in) : in_(in) {}
  void get(void* data, std::size_t bytes) {
    read(data, bytes);
    hash_.add(data, bytes);
  }
  /// @throws FormatError when the checksum differs, or bytes follow it.
  void finish() {
    const auto sum = hash_.value();
    std::array<std::uint8_t, 32> stored{};
    read(stored.data(), stored.size());
    if (stored != sum) throw FormatError("the evaluation key is damaged: its checksum differs");
    if (in_.peek() != std::istream::traits_type::eof()) throw FormatError("bytes follow the evaluation key");
  }

 private:
  void read(void* data, std::size_t bytes) {
    in_.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes));
    if (static_cast<std::size_t>(in_.gcount()) != bytes) throw FormatError("the evaluation key ends early");
  }
  std::istream& in_;
  RunningHash hash_;
};

}  // namespace ringforge::fhew
