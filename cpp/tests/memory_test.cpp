// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Arrays of words: owned, borrowed, copied, moved.
#include "ringforge/memory.hpp"

#include <memory>
#include <vector>

#include "ringforge/error.hpp"
#include "support.hpp"

namespace ringforge::test {
namespace {

/// Words 0, 1, 2 ... at a multiple of 64 bytes, plus `shift` words; who lends them, and how often they were given back.
struct Lender {
  explicit Lender(std::size_t size, std::size_t shift = 0) : words(size + shift) {
    for (std::size_t i = 0; i < words.size(); ++i) words.data()[i] = i;
    first = words.data() + shift;
    owner = std::shared_ptr<const void>(first, [this](const void*) { ++returned; });
  }
  WordBuffer words;
  const u64* first = nullptr;
  int returned = 0;
  std::shared_ptr<const void> owner;
};

const u64* place(const WordBuffer& w) { return w.data(); }

TEST(Memory, BorrowedWordsStayWhereTheyAre) {
  Lender lender(100);
  const std::size_t before = word_memory().now;
  {
    const WordBuffer borrowed = WordBuffer::borrow(lender.first, 100, lender.owner);
    EXPECT_TRUE(borrowed.borrowed());
    EXPECT_EQ(borrowed.data(), lender.first);
    EXPECT_EQ(borrowed.size(), 100U);
    EXPECT_EQ(word_memory().now, before);
    lender.owner.reset();
    EXPECT_EQ(lender.returned, 0);
    EXPECT_EQ(borrowed.data()[99], 99U);
  }
  EXPECT_EQ(lender.returned, 1);
  EXPECT_EQ(word_memory().now, before);
}

TEST(Memory, CopiesOwnTheirWords) {
  Lender lender(64);
  WordBuffer copy;
  {
    const WordBuffer borrowed = WordBuffer::borrow(lender.first, 64, std::move(lender.owner));
    copy = borrowed;
  }
  EXPECT_EQ(lender.returned, 1);
  EXPECT_FALSE(copy.borrowed());
  EXPECT_NE(place(copy), lender.first);
  copy.data()[5] = 77;
  EXPECT_EQ(lender.first[5], 5U);
  EXPECT_EQ(copy.data()[63], 63U);
}

TEST(Memory, MovesStillBorrow) {
  Lender lender(64);
  WordBuffer a = WordBuffer::borrow(lender.first, 64, std::move(lender.owner));
  WordBuffer b = std::move(a);
  EXPECT_FALSE(a.borrowed());  // NOLINT(bugprone-use-after-move): what is moved from is empty
  EXPECT_EQ(a.size(), 0U);
  EXPECT_EQ(place(a), nullptr);
  EXPECT_TRUE(b.borrowed());
  WordBuffer c(8);
  c = std::move(b);
  EXPECT_TRUE(c.borrowed());
  EXPECT_EQ(place(c), lender.first);
  EXPECT_EQ(lender.returned, 0);
  c = WordBuffer(8);
  EXPECT_EQ(lender.returned, 1);
  EXPECT_FALSE(c.borrowed());
  c.data()[7] = 1;
}

TEST(Memory, BorrowedWordsAreNotWritten) {
  Lender lender(32);
  WordBuffer borrowed = WordBuffer::borrow(lender.first, 32, lender.owner);
  EXPECT_THROW((void)borrowed.data(), Error);
  EXPECT_THROW(borrowed.zero(), Error);
  borrowed.wipe();
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(lender.first[i], i);
  // Nor by what a polynomial does.
  const auto primes = primes_below(40, 2, 32);
  const Basis basis(Ring::negacyclic(4), primes);
  Poly<Eval> p(basis, WordBuffer::borrow(lender.first, 32, lender.owner));
  EXPECT_TRUE(p.borrowed());
  EXPECT_EQ(std::as_const(p).limb(1), lender.first + 16);
  EXPECT_THROW((void)p.limb(0), Error);
  EXPECT_THROW((void)p.words(), Error);
  EXPECT_THROW(p.zero(), Error);
  EXPECT_THROW(add(p, p, p), Error);
  Poly<Eval> copy = p;
  add(copy, p, p);
  EXPECT_EQ(copy.limb(1)[3], 2U * 19);
  EXPECT_EQ(p.prefix(1).borrowed(), false);
}

TEST(Memory, WordsThatAnErrorPassesAreWiped) {
  constexpr std::size_t kWords = std::size_t{1} << 14;  // a block that the pool keeps, and hands out next
  for (const bool fails : {false, true}) {
    const u64* first = nullptr;
    try {
      WordBuffer secret(kWords);
      std::fill_n(secret.data(), kWords, 42);
      first = secret.data();
      if (fails) throw Error("in the middle");
    } catch (const Error&) {
    }
    WordBuffer next(kWords);
    if (next.data() != first) GTEST_SKIP() << "no pool: a sanitizer sees every block";
    EXPECT_EQ(next.data()[kWords / 2], fails ? 0U : 42U);
  }
}

TEST(Memory, WordsElsewhereAreCopied) {
  for (const std::size_t shift : {std::size_t{1}, std::size_t{4}, std::size_t{7}}) {
    Lender lender(24, shift);
    const WordBuffer copied = WordBuffer::borrow(lender.first, 24, std::move(lender.owner));
    EXPECT_EQ(lender.returned, 1);
    EXPECT_FALSE(copied.borrowed());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copied.data()) % 64, 0U);
    for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(copied.data()[i], i + shift);
  }
  Lender lender(8, 8);
  EXPECT_FALSE(WordBuffer::borrow(lender.first, 8, nullptr).borrowed());
  EXPECT_EQ(WordBuffer::borrow(nullptr, 0, lender.owner).size(), 0U);
}

TEST(Memory, PolynomialsTakeAsManyWordsAsTheyHave) {
  const auto primes = primes_below(40, 2, 32);
  const Basis basis(Ring::negacyclic(4), primes);
  EXPECT_THROW(Poly<Eval>(basis, WordBuffer(31)), ShapeError);
  EXPECT_THROW(Poly<Eval>(basis, WordBuffer(48)), ShapeError);
  EXPECT_EQ(Poly<Eval>(basis, WordBuffer(32)).limbs(), 2U);
}

}  // namespace
}  // namespace ringforge::test
