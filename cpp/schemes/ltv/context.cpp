// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/error.hpp"
#include "ringforge/ltv/ltv.hpp"

namespace ringforge::ltv {
namespace {

void require(bool right, const char* what) {
  if (!right)
    throw MismatchError(std::string("the ") + what +
                        " belongs to other parameters than the context: load it with the context it was made in");
}

template <class Form>
bool over(const Poly<Form, u32>& p, const Context& context, std::size_t limbs) {
  return p.limbs() == limbs && p.basis() == context.basis(limbs);
}

}  // namespace

Context::Context(const Parameters& params)
    : rules_(params), basis_(params.ring(), params.spec().q), one_(params.degree(), 0) {
  one_[0] = 1;
  if (params.ring().kind() != RingKind::tensor) return;
  tensor_.emplace(params.ring());
  one_ = tensor_->from_power_basis(one_);
}

BasisOf<u32> Context::basis(std::size_t limbs) const {
  if (limbs < 1) throw LevelError("a polynomial has at least one limb");
  return basis_.prefix(limbs);
}

u64 EvalKey::bytes() const noexcept {
  u64 words = 0;
  for (const auto& d : digits) words += d.words().size();
  return words * sizeof(u32);
}

void check(const Context& context, const Ciphertext& c) {
  const Parameters& params = context.params();
  require(c.limbs() >= 1 && c.limbs() <= params.limbs(0) && over(c.poly, context, c.limbs()), "ciphertext");
  if (c.level > params.levels() || c.degree < 1 || c.degree > 2)
    throw LevelError("a ciphertext of level " + std::to_string(c.level) + " and degree " + std::to_string(c.degree) +
                     ": there are levels 0 ... " + std::to_string(params.levels()) + " and degrees 1 and 2");
  const std::size_t own = params.limbs(c.level);
  const bool above = c.degree == 1 && c.level > 0 && c.limbs() == params.limbs(c.level - 1);
  const bool below = c.limbs() <= own && (own - c.limbs()) % params.spec().drop == 0;
  if (!above && !below)
    throw LevelError("a ciphertext of level " + std::to_string(c.level) + " and " + std::to_string(c.limbs()) +
                     " limbs, where that level has " + std::to_string(own));
  if (c.lag > c.level || (c.lag > 0 && c.degree != 2))
    throw LevelError("a ciphertext of level " + std::to_string(c.level) + " and degree " + std::to_string(c.degree) +
                     " over " + std::to_string(c.lag) + " levels: only products are, and of levels that there are");
}

void check(const Context& context, const SecretKey& key) {
  bool fits = key.parameters == context.params().hash() && key.u.size() == context.params().levels() + 1;
  for (const SmallPoly& u : key.u) fits = fits && u.coeffs().size() == context.params().degree();
  require(fits, "secret key");
}

void check(const Context& context, const PublicKey& key) {
  const Parameters& params = context.params();
  bool fits = key.h.size() == params.levels() + 1;
  for (std::size_t i = 0; fits && i < key.h.size(); ++i)
    fits = over(key.h[i], context, params.limbs(i == 0 ? 0 : i - 1));
  require(fits, "public key");
}

void check(const Context& context, const EvalKey& key) {
  const Parameters& params = context.params();
  bool fits = key.level >= 1 && key.level <= params.levels() && key.lag < key.level &&
              key.digits.size() == params.digits(key.level);
  for (std::size_t d = 0; fits && d < key.digits.size(); ++d)
    fits = over(key.digits[d], context, params.limbs(key.level - 1));
  require(fits, "evaluation key");
}

}  // namespace ringforge::ltv
