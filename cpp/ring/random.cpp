// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/random.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "limb_kernels.hpp"
#include "ringforge/constant_time.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"

namespace ringforge {

static_assert(std::endian::native == std::endian::little, "seed expansion is defined on little-endian words");

void wipe(void* data, std::size_t bytes) noexcept {
  if (data != nullptr) OPENSSL_cleanse(data, bytes);
}

struct Stream::Cipher {
  EVP_CIPHER_CTX* ctx = EVP_CIPHER_CTX_new();
  Cipher() = default;
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;
  ~Cipher() { EVP_CIPHER_CTX_free(ctx); }
};

Stream::Stream(const Seed& seed, StreamObject object, u32 digit, u32 limb) : cipher_(std::make_unique<Cipher>()) {
  static constexpr char kName[] = "ringforge-xof-1";
  const std::array<u32, 3> domain{static_cast<u32>(object), digit, limb};
  std::array<std::uint8_t, 48> key{};
  EVP_MD_CTX* md = EVP_MD_CTX_new();
  const bool ok =
      md != nullptr && cipher_->ctx != nullptr && EVP_DigestInit_ex(md, EVP_shake256(), nullptr) == 1 &&
      EVP_DigestUpdate(md, kName, sizeof(kName) - 1) == 1 && EVP_DigestUpdate(md, seed.data(), seed.size()) == 1 &&
      EVP_DigestUpdate(md, domain.data(), sizeof(domain)) == 1 && EVP_DigestFinalXOF(md, key.data(), key.size()) == 1 &&
      EVP_EncryptInit_ex(cipher_->ctx, EVP_aes_256_ctr(), nullptr, key.data(), key.data() + 32) == 1;
  EVP_MD_CTX_free(md);
  wipe(key.data(), key.size());
  if (!ok) throw Error("SHAKE256 or AES-256-CTR is not available in the installed OpenSSL");
}

Stream::~Stream() { wipe(words_.data(), sizeof(words_)); }

void Stream::refill() noexcept {
  words_.fill(0);
  int written = 0;
  auto* bytes = reinterpret_cast<unsigned char*>(words_.data());
  // In-place CTR encryption of zeros; it cannot fail once the cipher is initialised.
  EVP_EncryptUpdate(cipher_->ctx, bytes, &written, bytes, static_cast<int>(sizeof(words_)));
  used_ = 0;
}

struct Randomness::Fixed {
  Seed root;
  std::atomic<u64> drawn{0};
  ~Fixed() {
    wipe(root.data(), root.size());
  }  // it stands for the secret seeds where tests look for what is left of them
};

TestRandomness::TestRandomness(const Seed& root) {
  fixed_ = std::make_shared<Fixed>();
  fixed_->root = root;
}

// The kernel is asked each time: a generator in this process would have a state, and a state is what forks, copies
// and restored snapshots repeat.
SecretSeed Randomness::next_seed() const {
  SecretSeed seed;
  if (!fixed_) {
    if (::getentropy(seed.data(), sizeof(Seed)) != 0)
      throw Error(std::string("the operating system's random generator failed: ") + std::strerror(errno));
    return seed;
  }
  const u64 index = fixed_->drawn.fetch_add(1, std::memory_order_relaxed);
  Stream s(fixed_->root, StreamObject::fork, static_cast<u32>(index), static_cast<u32>(index >> 32));
  for (std::size_t i = 0; i < sizeof(Seed); i += 8) {
    const u64 w = s.next();
    std::memcpy(seed.data() + i, &w, 8);
  }
  return seed;
}

Seed Randomness::next_public_seed() const {
  const Seed seed = next_seed();
  declassify(seed.data(), seed.size());
  return seed;
}

template <class Word>
Poly<Eval, Word> SmallPoly::lift(const BasisOf<Word>& basis, unsigned threads) const {
  if (c_.size() != basis.ring().degree())
    throw MismatchError(std::to_string(c_.size()) + " coefficients for a ring of degree " +
                        std::to_string(basis.ring().degree()) + ": take primes of the polynomial's ring");
  const std::size_t blocks = c_.size() / 16 * 16;  // of 16 words, as kernels take them
  SecretArray<i64> rest(16);
  rest.zero();
  std::copy(c_.begin() + static_cast<std::ptrdiff_t>(blocks), c_.end(), rest.data());
  Poly<Eval, Word> r(basis);
  parallel_for(threads, basis.size(), [&](std::size_t i) {
    const auto reduce = limb_kernels<Word>().reduce_signed;
    reduce(r.limb(i), c_.data(), blocks, basis[i].mod());
    if (blocks < c_.size()) reduce(r.limb(i) + blocks, std::as_const(rest).data(), rest.size(), basis[i].mod());
    ntt(r.limb(i), r.limb(i), basis[i]);
  });
  return r;
}
template Poly<Eval, u32> SmallPoly::lift(const BasisOf<u32>&, unsigned) const;
template Poly<Eval, u64> SmallPoly::lift(const BasisOf<u64>&, unsigned) const;

template <class Word>
Poly<Eval, Word> sample_uniform(const BasisOf<Word>& basis, const Seed& seed, StreamObject object, u32 digit,
                                u32 first_limb, unsigned threads) {
  const bool coefficients = basis.ring().kind() == RingKind::padded;
  const std::size_t count = basis.ring().degree();
  Poly<Eval, Word> r(basis);
  parallel_for(threads, basis.size(), [&](std::size_t i) {
    Stream s(seed, object, digit, first_limb + static_cast<u32>(i));
    const u64 q = basis[i].value(), mask = (u64{1} << basis[i].mod().bits) - 1;
    Word* dst = r.limb(i);
    for (std::size_t k = 0; k < count;) {
      const u64 x = s.next() & mask;
      dst[k] = static_cast<Word>(x);
      k += x < q ? 1 : 0;
    }
    if (coefficients) ntt(dst, dst, basis[i]);
  });
  return r;
}
template Poly<Eval, u32> sample_uniform(const BasisOf<u32>&, const Seed&, StreamObject, u32, u32, unsigned);
template Poly<Eval, u64> sample_uniform(const BasisOf<u64>&, const Seed&, StreamObject, u32, u32, unsigned);

SmallPoly sample_ternary(std::size_t n, const Seed& seed, StreamObject object) {
  SmallPoly p(n);
  Stream s(seed, object);
  for (std::size_t i = 0; i < n;) {
    u64 word = s.next();
    // Draws are independent: which are rejected tells nothing of the values of the others.
    u64 rejected = word & (word >> 1) & 0x5555555555555555;
    declassify(&rejected, sizeof(rejected));
    for (unsigned draw = 0; draw < 32 && i < n; ++draw, word >>= 2, rejected >>= 2) {
      p.coeffs()[i] = static_cast<i64>(word & 3) - 1;
      i += 1 - (rejected & 1);
    }
  }
  return p;
}

SmallPoly sample_error(std::size_t n, const Seed& seed, u32 digit) {
  SmallPoly p(n);
  Stream s(seed, StreamObject::error, digit);
  for (auto& c : p.coeffs()) c = error_of(s.next());
  return p;
}

}  // namespace ringforge
