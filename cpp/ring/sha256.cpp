// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/sha256.hpp"

#include <openssl/evp.h>

#include "ringforge/error.hpp"

namespace ringforge {
namespace {

EVP_MD_CTX* context(void* p) noexcept { return static_cast<EVP_MD_CTX*>(p); }

}  // namespace

void Sha256::Free::operator()(void* p) const noexcept { EVP_MD_CTX_free(context(p)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (!context_ || EVP_DigestInit_ex(context(context_.get()), EVP_sha256(), nullptr) != 1)
    throw Error("SHA-256 is not available in the installed OpenSSL");
}

void Sha256::update(const void* data, std::size_t bytes) {
  if (EVP_DigestUpdate(context(context_.get()), data, bytes) != 1)
    throw Error("SHA-256 failed in the installed OpenSSL");
}

Hash Sha256::finish() {
  Hash digest;
  if (EVP_DigestFinal_ex(context(context_.get()), digest.data(), nullptr) != 1)
    throw Error("SHA-256 failed in the installed OpenSSL");
  return digest;
}

Hash sha256(const void* data, std::size_t bytes) {
  Sha256 hash;
  hash.update(data, bytes);
  return hash.finish();
}

}  // namespace ringforge
