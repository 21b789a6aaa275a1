// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Linear transforms of RLWE ciphertexts without a scheme, against exact integers: every schedule, with and without a
// division at the end. What a scheme adds (slots, scales, noise) is in hlt_test.cpp.
#include "ringforge/circuits/linear_transform.hpp"
#include "integer_phases.hpp"
#include "ringforge/error.hpp"

namespace ringforge::circuits {
namespace {

using namespace ringforge::test;

/// Polynomials as multipliers.
struct Polynomials final : Multipliers {
  std::vector<Poly<Eval>> polys;
  const u64* limb(std::size_t i, std::size_t j, u64*) const override { return polys[i].limb(j); }
};

class TransformSchedules : public testing::TestWithParam<std::tuple<Schedule, bool>> {};

TEST_P(TransformSchedules, GivesTheSumOfMappedPhases) {
  const auto [schedule, rescales] = GetParam();
  PhaseWorld w;
  const std::size_t n = w.n(), slots = n / 2, limbs = PhaseWorld::kLimbs;
  const Ring ring = w.gadget->q().ring();
  // The powers of 5 are a cycle of N/2 automorphisms.
  const auto element = [ring](std::uint32_t step) { return ring.power(5, step); };
  const std::vector<std::uint32_t> steps{0, 1, 5, 6, 31};
  const LinearTransform transform(w.gadget, {slots, steps, schedule, {0, 1, 1, 2, 31}, rescales}, element, limbs);
  rlwe::GaloisKeys keys;
  for (const auto step : transform.rotations()) keys.insert(w.encryptor.galois_key(w.sk, element(step), limbs));

  const rlwe::Ciphertext c = w.encrypt(random_small(n, 100, 1), w.sk);
  const auto x = w.phase(c);
  Polynomials diagonals;
  Integers expected(n);
  const auto last = rescales ? w.gadget->q()[limbs - 1].value() : 1;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto d = random_small(n, 5, 10 + static_cast<unsigned>(i));
    const auto term = schoolbook(d, mapped(x, element(steps[i])));
    for (std::size_t k = 0; k < n; ++k) expected[k] += term[k];
    // Before its giant step, and scaled by what will be divided by.
    const auto turned = mapped(d, ring.inverse(element(transform.shift(i))));
    Poly<Eval> poly = lifted(turned, transform.diagonal_basis());
    for (std::size_t j = 0; j < poly.limbs(); ++j) {
      const auto& m = poly.basis()[j].mod();
      kernels::active().mul_scalar(poly.limb(j), poly.limb(j), kernels::make_factor(last % m.q, m), n, m);
    }
    diagonals.polys.push_back(std::move(poly));
  }
  const rlwe::Ciphertext result = transform.run(c, diagonals, keys);
  EXPECT_EQ(result.limbs(), limbs - (rescales ? 1 : 0));
  EXPECT_EQ(result.key_id, c.key_id);
  // A coefficient gathers at most 5N errors of key switches and roundings for each diagonal.
  const double bound = static_cast<double>(steps.size()) * (5 * std::sqrt(static_cast<double>(n)) + 1) * w.switched();
  EXPECT_LT(static_cast<double>(distance(w.phase(result), expected)), bound);
  for (const unsigned threads : {2U, 3U}) {
    const auto again = transform.run(c, diagonals, keys, threads);
    EXPECT_TRUE(equal(again.parts[0], result.parts[0]) && equal(again.parts[1], result.parts[1]));
  }
}

INSTANTIATE_TEST_SUITE_P(All, TransformSchedules,
                         testing::Combine(testing::Values(Schedule::naive, Schedule::hoisted, Schedule::mo,
                                                          Schedule::bsgs),
                                          testing::Bool()),
                         [](const auto& info) {
                           return std::string(name(std::get<0>(info.param))) +
                                  (std::get<1>(info.param) ? "_rescales" : "_stays");
                         });

TEST(LinearTransform, RefusesWhatItCannotRun) {
  PhaseWorld w, f(7, 6, 44);
  const auto element = [](std::uint32_t step) { return step == 0 ? u64{1} : u64{5}; };
  const auto make = [&](LinearTransform::Plan plan, std::size_t limbs = 4) {
    return LinearTransform(w.gadget, std::move(plan), element, limbs);
  };
  EXPECT_THROW(make({32, {}, Schedule::naive, {}, true}), ShapeError);
  EXPECT_THROW(make({32, {32}, Schedule::naive, {}, true}), ShapeError);
  EXPECT_THROW(make({32, {1}, Schedule::bsgs, {}, true}), ShapeError);
  EXPECT_THROW(make({32, {1}, Schedule::bsgs, {32}, true}), ShapeError);
  EXPECT_THROW(make({32, {1}, Schedule::mo, {}, true}, 5), LevelError);
  EXPECT_THROW(make({32, {1}, Schedule::mo, {}, true}, 1), LevelError);
  EXPECT_NO_THROW(make({32, {1}, Schedule::mo, {}, false}, 1));
  const auto base =
      std::make_shared<const rlwe::Gadget>(w.gadget->q(), Basis(w.gadget->q().ring(), {}), rlwe::GadgetSpec{1, 10});
  EXPECT_THROW(LinearTransform(base, {32, {1}, Schedule::mo, {}, true}, element, 4), ParameterError);
  EXPECT_NO_THROW(LinearTransform(base, {32, {1}, Schedule::naive, {}, true}, element, 4));

  const LinearTransform t = make({32, {1}, Schedule::hoisted, {}, true});
  Polynomials diagonals;
  diagonals.polys.push_back(lifted(Integers(w.n(), 1), t.diagonal_basis()));
  rlwe::GaloisKeys keys, foreign;
  keys.insert(w.encryptor.galois_key(w.sk, 5, 4));
  foreign.insert(f.encryptor.galois_key(f.sk, 5, 4));
  const auto c = w.encryptor.zero(w.sk, 4);
  const rlwe::Evaluator ev(w.gadget);
  EXPECT_THROW((void)t.run(f.encryptor.zero(f.sk, 4), diagonals, keys), MismatchError);
  EXPECT_THROW((void)t.run(c, diagonals, foreign), MismatchError);
  EXPECT_THROW((void)t.run(c, diagonals, {}), MissingKeyError);
  EXPECT_THROW((void)t.run(ev.mul(c, c), diagonals, keys), ShapeError);
  EXPECT_THROW((void)t.run(ev.drop_to(c, 3), diagonals, keys), LevelError);
}

}  // namespace
}  // namespace ringforge::circuits
