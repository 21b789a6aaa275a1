// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The client of private set intersection, both sides of its OPRF, and receivers and senders of signals, for valgrind to
// watch;
// `constant_time_test.cpp` runs it.
//
//   constant_time secrets   Key, cells and all randomness are undefined memory: memcheck reports every branch and every
//                           address that depends on them. What goes to the server is declassified by the library.
//   constant_time leak      The same, and then one branch on a cell: memcheck must report it.
//   constant_time wiped     The same: no block of memory may be undefined still when it is freed.
//   constant_time signals   A receiver's seed is undefined memory, then a sender's: keys, signals, errors of signals.
//   constant_time oprf      The seed of key and blinds and the inputs are undefined memory. The lanes are those of
//   plain
//                           integers: AVX-512's, which valgrind does not know, are the same templates.
//   constant_time oprf-leak The same, and then one branch on a value: memcheck must report it.
//   constant_time zeros | ones | random    Makes one query for such cells, for callgrind to count instructions.
#include <valgrind/callgrind.h>
#include <valgrind/memcheck.h>

#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <string>

#include "oprf/batches.hpp"
#include "ringforge/circuits/omr_signal.hpp"
#include "ringforge/circuits/psi.hpp"
#include "ringforge/constant_time.hpp"

namespace {

bool watching = false;
int left_behind = 0;

/// New blocks are zero, so that only secrets make them undefined.
void* allocate(std::size_t bytes, std::size_t alignment) {
  bytes = (bytes / alignment + 1) * alignment;
  void* block = std::aligned_alloc(alignment, bytes);
  if (block == nullptr) throw std::bad_alloc();
  return std::memset(block, 0, bytes);
}

void release(void* block) noexcept {
  if (watching && block != nullptr) {
    static unsigned char bits[1 << 20];
    const std::size_t size = malloc_usable_size(block);
    std::size_t secret = 0;
    if (size <= sizeof(bits) && VALGRIND_GET_VBITS(block, bits, size) == 1)
      for (std::size_t i = 0; i < size; ++i) secret += bits[i] != 0 ? 1 : 0;
    if (secret != 0) {
      ++left_behind;
      std::fprintf(stderr, "%zu of %zu freed bytes are secret\n", secret, size);
    }
  }
  std::free(block);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t a) { return allocate(bytes, static_cast<std::size_t>(a)); }
void operator delete(void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete(void* block, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { release(block); }

namespace {

using namespace ringforge;
using namespace ringforge::circuits;
using namespace ringforge::fhew;

PsiPlan small_plan(PsiAlgorithm algorithm) {
  PsiPlan p;
  p.algorithm = algorithm;
  p.modulus = primes_below(50, 1, 4096)[0];
  p.log_bins = 3;
  p.cell_bits = 12;
  p.log_cell = 2;
  p.log_t = 4;
  p.log_onehot = algorithm == PsiAlgorithm::ringforge ? 1 : 0;
  p.gadget = {8, 2, 34, true};
  p.expansion.assign(11, Cut{12, 3, 14, true});
  p.reconstruction = {9, 5, 5, true};
  p.log_reply = 12;
  return p;
}

template <class T>
void taint(std::vector<T>& v) {
  VALGRIND_MAKE_MEM_UNDEFINED(v.data(), v.size() * sizeof(T));
}
/// Whether memcheck still takes some of it for undefined: secrets have reached it.
template <class T>
bool tainted(const std::vector<T>& v) {
  std::vector<unsigned char> bits(v.size() * sizeof(T));
  if (VALGRIND_GET_VBITS(v.data(), bits.data(), bits.size()) != 1) return false;
  for (const unsigned char b : bits)
    if (b != 0) return true;
  return false;
}

/// A reply with random residues: decoding takes any.
std::vector<std::uint8_t> random_reply(const PsiPlan& plan) {
  std::mt19937 random(5);
  std::vector<std::uint8_t> reply(plan.reply_bytes());
  std::uint8_t* body = io::begin_record(reply, kPsiReplyType, plan.hash());
  for (std::size_t i = 0; i < reply.size() - io::record_bytes(0); ++i) body[i] = static_cast<std::uint8_t>(random());
  io::seal_record(reply);
  return reply;
}

int watch_memory(PsiAlgorithm algorithm) {
  const PsiPlan plan = small_plan(algorithm);
  const std::vector<std::uint8_t> reply = random_reply(plan);
  std::vector<std::uint8_t> keys(plan.key_bytes()), request(plan.request_bytes());
  std::vector<u32> cells(plan.bins(), 0);
  std::vector<std::uint16_t> words(plan.bins() * plan.cell_words());
  Seed seed{3};
  VALGRIND_MAKE_MEM_UNDEFINED(seed.data(), seed.size());
  taint(cells);
  watching = true;
  {
    TestRandomness rng(seed);
    PsiClientKey key(plan, rng);
    key.evaluation_keys(keys.data());
    key.query(request.data(), cells.data());
    key.decode(words.data(), reply);
  }
  watching = false;
  return RUNNING_ON_VALGRIND == 0 || left_behind != 0 || !tainted(words) ? 1 : 0;
}

int watch_secrets(PsiAlgorithm algorithm, bool leak) {
  const PsiPlan plan = small_plan(algorithm);
  const std::vector<std::uint8_t> reply = random_reply(plan);
  Seed seed{3};
  VALGRIND_MAKE_MEM_UNDEFINED(seed.data(), seed.size());
  TestRandomness rng(seed);
  PsiClientKey key(plan, rng);
  std::vector<std::uint8_t> keys(plan.key_bytes()), request(plan.request_bytes());
  key.evaluation_keys(keys.data());
  std::vector<u32> cells(plan.bins(), 0);
  taint(cells);
  key.query(request.data(), cells.data());
  std::vector<std::uint16_t> words(plan.bins() * plan.cell_words());
  key.decode(words.data(), reply);
  if (RUNNING_ON_VALGRIND != 0 && (!tainted(keys) || !tainted(request) || !tainted(words))) {
    std::fputs("secrets did not reach the output: nothing was checked\n", stderr);
    return 1;
  }
  if (leak && cells[1] == 1) std::puts("cell 1");
  return 0;
}

int watch_signals() {
  const auto p = omr::SignalParameters::make(7, 786433, 2, 16, 0.5, true);
  Seed seed{3};
  VALGRIND_MAKE_MEM_UNDEFINED(seed.data(), seed.size());
  const auto secret = omr::SignalSecret::make(p, TestRandomness(seed));
  const omr::SignalKey key = secret.key();
  std::vector<u32> a(p.n()), b(p.clues);
  std::vector<std::int32_t> errors(p.clues);
  key.signals(a.data(), b.data(), 1, TestRandomness(seed));
  const bool sent = tainted(a) && tainted(b);
  std::fill(a.begin(), a.end(), 5);
  std::fill(b.begin(), b.end(), 7);
  secret.errors(errors.data(), a.data(), b.data(), 1);
  if (RUNNING_ON_VALGRIND != 0 && (!sent || !tainted(errors))) {
    std::fputs("secrets did not reach the output: nothing was checked\n", stderr);
    return 1;
  }
  return 0;
}

int watch_oprf(bool leak) {
  using namespace oprf;
  const Lanes* lanes = &portable_lanes();
  Seed seed{3};
  VALGRIND_MAKE_MEM_UNDEFINED(seed.data(), seed.size());
  TestRandomness rng(seed);
  const ServerKey key = ServerKey::random(rng);
  std::vector<std::uint8_t> bytes(300, 0);
  taint(bytes);
  std::vector<std::uint64_t> offsets{0, 0, 5};  // two groups, the second not full, blocks one and two
  while (offsets.size() < 12) offsets.push_back(20 * offsets.size());
  offsets.push_back(300);
  const Inputs inputs{bytes, offsets};
  watching = true;
  std::vector<std::uint8_t> evaluated, values, same;
  bool reached = false;
  {
    const BlindedBatch blinded = blind_batch(lanes, inputs, rng, 1, {});
    evaluated = evaluate_batch(lanes, key, blinded.elements, 1, {});
    reached = tainted(evaluated);
    declassify(evaluated.data(), evaluated.size());  // for the client
    values = finalize_batch(lanes, inputs, blinded.blinds, evaluated, 1, {});
    same = prf_batch(lanes, key, inputs, 1, {});
    reached = reached && tainted(values) && tainted(same);
  }
  if (RUNNING_ON_VALGRIND != 0 && !reached) {
    std::fputs("secrets did not reach the output: nothing was checked\n", stderr);
    return 1;
  }
  if (leak && values[0] == 1) std::puts("value 1");
  declassify(values.data(), values.size());
  declassify(same.data(), same.size());
  declassify(bytes.data(), bytes.size());
  return left_behind != 0 || values != same ? 1 : 0;
}

int count_work(const std::string& which) {
  const PsiPlan plan = small_plan(PsiAlgorithm::ringforge);
  TestRandomness rng(Seed{3});
  PsiClientKey key(plan, rng);
  std::vector<std::uint8_t> request(plan.request_bytes());
  std::vector<u32> cells(plan.bins(), which == "zeros" ? 0 : static_cast<u32>(plan.cells() - 1));
  std::mt19937 random(9);
  if (which == "random")
    for (auto& c : cells) c = static_cast<u32>(random() % plan.cells());
  CALLGRIND_TOGGLE_COLLECT;
  key.query(request.data(), cells.data());
  CALLGRIND_TOGGLE_COLLECT;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 2 ? argv[1] : "";
  if (mode == "zeros" || mode == "ones" || mode == "random") return count_work(mode);
  if (mode == "secrets")
    return watch_secrets(PsiAlgorithm::ringforge, false) + watch_secrets(PsiAlgorithm::paper, false);
  if (mode == "signals") return watch_signals();
  if (mode == "oprf" || mode == "oprf-leak") return watch_oprf(mode == "oprf-leak");
  if (mode == "wiped") return watch_memory(PsiAlgorithm::ringforge) + watch_memory(PsiAlgorithm::paper);
  if (mode == "leak") return watch_secrets(PsiAlgorithm::ringforge, true);
  std::fputs("usage: constant_time secrets|signals|oprf|oprf-leak|leak|wiped|zeros|ones|random\n", stderr);
  return 2;
}
