// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Linear transforms by all schedules, and sums of products of shifted ciphertexts, against plain numbers.
#include "ringforge/circuits/hlt.hpp"

#include <array>
#include <cmath>
#include <set>

#include "ringforge/circuits/pair_sum.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/memory.hpp"
#include "ringforge/traffic.hpp"
#include "support.hpp"

namespace ringforge::circuits {
namespace {

using namespace ringforge::ckks;
using namespace ringforge::test;
using C = std::complex<double>;

struct Sizes {
  std::size_t limbs;
  unsigned bits;
  std::size_t special;
  unsigned alpha;
};

/// A random sparse map: some diagonals, the zeroth among them if asked, with few or many entries each.
linear::Diagonals random_map(std::size_t slots, std::size_t count, bool zeroth, unsigned seed, bool ones = false) {
  std::mt19937_64 rng(seed);
  std::set<std::uint32_t> steps;
  if (zeroth) steps.insert(0);
  while (steps.size() < count) steps.insert(1 + static_cast<std::uint32_t>(rng() % (slots - 1)));
  std::vector<std::size_t> offsets{0};
  std::vector<std::uint32_t> targets;
  std::vector<C> values;
  std::uniform_real_distribution<double> u(-1, 1);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::uint32_t s = 0; s < slots; ++s)
      if (rng() % 3 != 0) {
        targets.push_back(s);
        if (!ones) values.emplace_back(u(rng), u(rng));
      }
    offsets.push_back(targets.size());
  }
  return {slots, {steps.begin(), steps.end()}, offsets, targets, values};
}

std::vector<C> apply(const linear::Diagonals& map, const std::vector<C>& x) {
  const std::size_t n = map.slots();
  std::vector<C> out(n);
  std::vector<double> re(n), im(n);
  for (std::size_t i = 0; i < map.size(); ++i) {
    map.fill(i, 0, re.data(), im.data());
    for (std::size_t s = 0; s < n; ++s) out[s] += C(re[s], im[s]) * x[(s + map.steps()[i]) % n];
  }
  return out;
}

class Transforms : public testing::TestWithParam<Sizes> {
 protected:
  Transforms()
      : params(small_params(10, GetParam().limbs, GetParam().bits, GetParam().special, GetParam().alpha)),
        ctx(std::make_shared<const Context>(params)),
        client(ctx, fixed_randomness()),
        sk(client.secret_key()),
        scale(std::exp2(40)) {}
  Ciphertext encrypt(const std::vector<C>& x, std::size_t level) {
    return client.encrypt(ctx->encode(std::span<const C>(x), scale, level), sk);
  }
  std::vector<C> decrypt(const Ciphertext& c) { return ctx->decode(client.decrypt(c, sk)); }
  void add_key(GaloisKeys& keys, std::uint32_t step) {
    if (step != 0) keys.insert(client.galois_key(sk, ctx->rotation_element(step)));
  }
  Parameters params;
  ContextPtr ctx;
  Client client;
  SecretKey sk;
  double scale;
};

INSTANTIATE_TEST_SUITE_P(Sets, Transforms, testing::Values(Sizes{4, 50, 1, 1}, Sizes{5, 54, 2, 2}, Sizes{5, 45, 3, 3}),
                         [](const auto& info) {
                           return "limbs" + std::to_string(info.param.limbs) + "alpha" +
                                  std::to_string(info.param.alpha);
                         });

TEST_P(Transforms, AllSchedulesAgreeWithPlainNumbers) {
  const std::size_t slots = params.slots(), level = params.max_level() - 1;
  const auto x = random_slots(slots, 3);
  for (const bool zeroth : {true, false})
    for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{9}}) {
      const auto map = random_map(slots, count, zeroth, static_cast<unsigned>(count));
      const auto want = apply(map, x);
      std::vector<std::uint32_t> babies;
      for (const auto z : map.steps()) babies.push_back(z % 5);
      for (const auto schedule : {Schedule::naive, Schedule::hoisted, Schedule::mo, Schedule::bsgs})
        for (const bool compact : {false, true}) {
          Hlt hlt(ctx, map, level, schedule, babies);
          GaloisKeys keys;
          for (const auto step : hlt.steps()) add_key(keys, step);
          const Ciphertext in = encrypt(x, level);
          hlt.encode({in.scale, scale * 2, 1}, compact);
          const auto out = hlt.run(in, keys, 2);
          EXPECT_EQ(out.level(), level - 1);
          EXPECT_EQ(out.scale, scale * 2);
          const auto got = decrypt(out);
          double worst = 0;
          for (std::size_t s = 0; s < slots; ++s) worst = std::max(worst, std::abs(got[s] - want[s]));
          EXPECT_LE(worst, error_bound(out)) << name(schedule) << " " << count;
          EXPECT_GE(worst, error_bound(out) / 512) << name(schedule) << " " << count;
        }
    }
}

TEST_P(Transforms, ThreadsAndStorageDoNotChangeBits) {
  const std::size_t level = params.max_level();
  const auto map = random_map(params.slots(), 6, true, 5);
  const Ciphertext in = encrypt(random_slots(params.slots(), 6), level);
  for (const auto schedule : {Schedule::naive, Schedule::hoisted, Schedule::mo, Schedule::bsgs}) {
    Hlt hlt(ctx, map, level, schedule, std::vector<std::uint32_t>(6, 0));
    GaloisKeys keys;
    for (const auto step : hlt.steps()) add_key(keys, step);
    hlt.encode({in.scale, in.scale, 1});
    const auto one = hlt.run(in, keys, 1), two = hlt.run(in, keys, 2);
    hlt.encode({in.scale, in.scale, 1}, true);
    const auto compact = hlt.run(in, keys, 1);
    for (std::size_t part = 0; part < 2; ++part) {
      EXPECT_TRUE(equal(one.parts[part], two.parts[part])) << name(schedule);
      EXPECT_TRUE(equal(one.parts[part], compact.parts[part])) << name(schedule);
    }
  }
}

TEST_P(Transforms, FusedScheduleMovesLittleAndHoldsWhatItSays) {
  const std::size_t level = params.max_level(), n = params.degree(), limbs = level + 1;
  const auto map = random_map(params.slots(), 12, true, 8);
  const Ciphertext in = encrypt(random_slots(params.slots(), 6), level);
  const rlwe::Gadget& gadget = ctx->gadget();
  Traffic moved[2];
  std::size_t grown = 0;
  for (const auto schedule : {Schedule::naive, Schedule::mo}) {
    Hlt hlt(ctx, map, level, schedule);
    GaloisKeys keys;
    for (const auto step : hlt.steps()) add_key(keys, step);
    hlt.encode({in.scale, in.scale, 1});
    (void)hlt.run(in, keys);  // scratch buffers of the thread stay from here on
    const std::size_t before = word_memory().now;
    reset_word_memory();
    const CountScope counts;
    (void)hlt.run(in, keys);
    moved[schedule == Schedule::mo] = counts.traffic();
    grown = word_memory().most - before;
  }
  const std::size_t special = gadget.p().size(), limb = 8 * n;
  // Input once, and once more for a digit's own limbs; output; what the division needs, out and in.
  EXPECT_EQ(moved[1].read, (3 * limbs + 2 * (special + 1)) * limb);
  EXPECT_EQ(moved[1].written, (2 * (limbs - 1) + 2 * (special + 1)) * limb);
  EXPECT_GT(moved[0].read + moved[0].written, 10 * (moved[1].read + moved[1].written));
  // Equation 24: the input and beta + 1 limbs. Here: quotients of the base conversion, the key product's two
  // halves and P*c0 come on top.
  const std::size_t beta = gadget.digits(limbs);
  EXPECT_EQ(moved[1].working, (2 * limbs + beta + (GetParam().alpha > 1 ? beta : 0) + 5) * limb);
  // What was allocated beyond the thread's scratch: c1's coefficients and quotients, and what is put away.
  const std::size_t expected = (limbs + (GetParam().alpha > 1 ? beta : 0)) * limb + moved[1].held_out;
  EXPECT_LE(grown, expected + limb);
  EXPECT_GE(grown + limb, expected);
}

TEST_P(Transforms, CountsOfOperations) {
  const std::size_t level = params.max_level(), limbs = level + 1;
  const auto map = random_map(params.slots(), 7, true, 9);
  const Ciphertext in = encrypt(random_slots(params.slots(), 6), level);
  const rlwe::Gadget& gadget = ctx->gadget();
  const auto up = gadget.mod_up_cost(limbs);
  const std::size_t special = gadget.p().size();
  for (const auto schedule : {Schedule::hoisted, Schedule::mo}) {
    Hlt hlt(ctx, map, level, schedule);
    GaloisKeys keys;
    for (const auto step : hlt.steps()) add_key(keys, step);
    hlt.encode({in.scale, in.scale, 1});
    const CountScope counts;
    (void)hlt.run(in, keys);
    const OpCounts did = counts.operations();
    EXPECT_EQ(did.intt, up.intt + 2 * (special + 1));
    // The fused schedule transforms nothing that is there already.
    EXPECT_EQ(did.ntt, up.ntt + 2 * (limbs - 1));
    EXPECT_EQ(did.key_switch, 6u);
    EXPECT_EQ(did.mod_up, 1u);
    EXPECT_EQ(did.mod_down, 2u);
    EXPECT_EQ(did.plain_mul, 7u);
  }
}

/// Sum over two groups of two pairs, with masks on the right or on both sides, or none at all.
struct Shape {
  bool left_masked, right_masked, real_part;
  std::uint32_t outer, via;
};

TEST_P(Transforms, SumsOfProductsAgreeWithPlainNumbers) {
  const std::size_t slots = params.slots(), level = 3;
  const auto x = random_slots(slots, 21), y0 = random_slots(slots, 22), y1 = random_slots(slots, 23);
  const auto rot = [&](const std::vector<C>& v, std::size_t step) {
    std::vector<C> out(slots);
    for (std::size_t s = 0; s < slots; ++s) out[s] = v[(s + step) % slots];
    return out;
  };
  const std::uint32_t fold = static_cast<std::uint32_t>(slots / 2);
  for (const Shape& shape :
       {Shape{false, true, true, 96, 0}, Shape{true, true, false, 0, 0}, Shape{true, false, true, 5, 0},
        Shape{false, false, false, 7, 0}, Shape{false, true, false, 0, 8}}) {
    PairSumPlan plan;
    plan.right_bases = 2;
    plan.real_part = shape.real_part;
    plan.folds = {fold};
    // One periodic mask and its complement, and one without structure.
    plan.masks.resize(3);
    for (std::uint32_t s = 0; s < slots; ++s) {
      plan.masks[s % 16 < 5 ? 0 : 1].push_back(s);
      if ((s * 2654435761u) >> 30 != 0) plan.masks[2].push_back(s);
    }
    std::vector<C> want(slots);
    for (std::uint32_t g = 0; g < 2; ++g) {
      ShiftGroup group{g * shape.outer, {}};
      std::vector<C> sum(slots);
      for (std::uint32_t k = 0; k < 6; ++k) {
        ShiftPair pair;
        const auto term = [&](std::uint32_t base, std::uint32_t step, std::uint32_t mask) {
          return ShiftTerm{base, step, shape.via != 0 ? step - step % shape.via : 0, mask};
        };
        const std::uint32_t none = ShiftTerm::kNoMask;
        if (shape.left_masked)
          pair.left = {term(0, 3 * k, 0), term(0, 3 * k + 1, 1)};
        else
          pair.left = {term(0, k, none)};
        if (shape.right_masked)
          pair.right = {term(0, 11 * k, 0), term(1, 11 * k + 2, 1), term(1, 2 * k, 2)};
        else
          pair.right = {term(k % 2, 4 * k, none)};
        const auto side = [&](const std::vector<ShiftTerm>& terms, const std::vector<const std::vector<C>*>& bases) {
          std::vector<C> out(slots);
          for (const auto& t : terms) {
            const auto r = rot(*bases[t.base], t.step);
            if (t.mask == none) return r;
            for (const auto s : plan.masks[t.mask]) out[s] += r[s];
          }
          return out;
        };
        const auto a = side(pair.left, {&x}), b = side(pair.right, {&y0, &y1});
        for (std::size_t s = 0; s < slots; ++s) sum[s] += a[s] * b[s];
        group.pairs.push_back(std::move(pair));
      }
      sum = rot(sum, group.outer);
      for (std::size_t s = 0; s < slots; ++s) want[s] += shape.real_part ? C(sum[s].real()) : sum[s];
      plan.groups.push_back(std::move(group));
    }
    const auto turned = rot(want, fold);
    for (std::size_t s = 0; s < slots; ++s) want[s] += turned[s];

    PairSum pairs(ctx, plan, level);
    GaloisKeys keys;
    for (const auto& [element, at] : pairs.required_keys()) keys.insert(client.galois_key(sk, element, at));
    const RelinKey relin = client.relin_key(sk);
    const Ciphertext first = encrypt(x, level), second = encrypt(y0, level), third = encrypt(y1, level);
    const std::vector<const Ciphertext*> left{&first}, right{&second, &third};
    const bool masked = shape.left_masked || shape.right_masked;
    const auto last = static_cast<double>(ctx->basis(level)[level - masked].value());
    const double output = scale * scale / last * (shape.real_part ? 2 : 1) * (masked ? 16 : 1);
    for (const bool compact : {false, true}) {
      pairs.encode({scale, scale, output, 1, 1, 100}, compact);
      const auto out = pairs.run(left, right, {keys, relin}, 2);
      EXPECT_EQ(out.level(), level - 1 - masked);
      const auto got = decrypt(out);
      double worst = 0;
      for (std::size_t s = 0; s < slots; ++s) worst = std::max(worst, std::abs(got[s] - want[s]));
      EXPECT_LE(worst, error_bound(out));
      EXPECT_GE(worst, error_bound(out) / 4096);
    }
  }
}

TEST_P(Transforms, BadInputIsRefused) {
  const std::size_t level = params.max_level();
  const auto map = random_map(params.slots(), 3, true, 1);
  EXPECT_THROW(Hlt(ctx, map, 0, Schedule::mo), LevelError);
  EXPECT_THROW(Hlt(ctx, map, level, Schedule::bsgs), ShapeError);
  EXPECT_THROW(Hlt(ctx, random_map(params.slots() / 2, 2, true, 1), level, Schedule::mo), ShapeError);
  EXPECT_THROW(linear::Diagonals(12, {0}, {0, 1}, {0}, {}), ShapeError);
  EXPECT_THROW(linear::Diagonals(16, {3, 1}, {0, 1, 2}, {0, 1}, {}), ShapeError);
  EXPECT_THROW(linear::Diagonals(16, {1}, {0, 1}, {16}, {}), ShapeError);
  EXPECT_THROW(linear::Diagonals(16, {1}, {0, 1}, {1}, {C(NAN, 0)}), ValueError);
  Hlt hlt(ctx, map, level, Schedule::mo);
  GaloisKeys keys;
  const Ciphertext in = encrypt(random_slots(params.slots(), 6), level);
  EXPECT_THROW((void)hlt.run(in, keys), ShapeError);
  EXPECT_THROW(hlt.encode({in.scale, in.scale * 0x1p30, 1}), ScaleError);
  hlt.encode({in.scale, in.scale, 1});
  EXPECT_THROW((void)hlt.run(in, keys), MissingKeyError);
  Client other(ctx, TestRandomness(fixed_seed(9)));
  const auto foreign = other.secret_key();
  for (const auto step : hlt.steps()) keys.insert(other.galois_key(foreign, ctx->rotation_element(step)));
  EXPECT_THROW((void)hlt.run(in, keys), MismatchError);
  EXPECT_THROW((void)hlt.run(encrypt(random_slots(params.slots(), 6), level - 1), keys), LevelError);

  PairSumPlan plan;
  EXPECT_THROW(PairSum(ctx, plan, level), ShapeError);
  plan.groups = {{0, {{{ShiftTerm{}}, {ShiftTerm{}}}}}};
  EXPECT_THROW(PairSum(ctx, plan, 0), LevelError);
  PairSum pairs(ctx, plan, level);
  EXPECT_THROW(pairs.encode({scale, scale, scale, 1, 1, 1}), ScaleError);
  const auto last = static_cast<double>(ctx->basis(level)[level].value());
  EXPECT_THROW(pairs.encode({scale, scale, scale * scale / last, 1, 1, 0x1p300}), ValueError);
  pairs.encode({scale, scale, scale * scale / last, 1, 1, 1});
  const std::vector<const Ciphertext*> one{&in};
  const auto relin = client.relin_key(sk), strange = other.relin_key(foreign);
  EXPECT_THROW((void)pairs.run(one, one, {keys, strange}), MismatchError);
  EXPECT_THROW((void)pairs.run(one, {}, {keys, relin}), ShapeError);
  const Ciphertext theirs =
      other.encrypt(ctx->encode(std::span<const C>(random_slots(params.slots(), 1)), scale, level), foreign);
  const std::vector<const Ciphertext*> alien{&theirs};
  EXPECT_THROW((void)pairs.run(one, alien, {keys, relin}), MismatchError);
}

}  // namespace
}  // namespace ringforge::circuits
