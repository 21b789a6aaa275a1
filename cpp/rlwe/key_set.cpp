// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/rlwe/key_set.hpp"

#include <string>
#include <utility>

#include "ringforge/error.hpp"

namespace ringforge::rlwe {

RelinKey RelinKey::make(const SecretKey& sk, const Gadget& gadget, std::size_t limbs, Randomness& rng,
                        unsigned threads) {
  sk.check(gadget);
  Poly<Eval> square(sk.eval().basis());
  mul(square, sk.eval(), sk.eval());
  RelinKey key(SwitchingKey::make(square, sk.eval(), sk.id(), gadget, limbs, rng, threads));
  square.wipe();
  return key;
}

std::string galois_elements(const Ring& ring) {
  const std::string range = "above 1 and below " + std::to_string(ring.index());
  if (ring.kind() == RingKind::negacyclic) return "odd, " + range;
  return range + ", and have no factor in common with it";
}

GaloisKey GaloisKey::make(const SecretKey& sk, u64 element, const Gadget& gadget, std::size_t limbs, Randomness& rng,
                          unsigned threads) {
  sk.check(gadget);
  const Ring& ring = gadget.q().ring();
  if (!ring.is_galois_element(element) || element == 1)
    throw ParameterError(std::to_string(element) + " is not the element of an automorphism other than 1: it must be " +
                         galois_elements(ring));
  Poly<Eval> target = automorphism(sk.eval(), ring.inverse(element));
  auto key =
      std::make_shared<const SwitchingKey>(SwitchingKey::make(sk.eval(), target, sk.id(), gadget, limbs, rng, threads));
  target.wipe();
  return {element, std::move(key)};
}

GaloisKeys::Keys GaloisKeys::held() const {
  const std::lock_guard lock(mutex_);
  return keys_;
}

GaloisKeys& GaloisKeys::operator=(const GaloisKeys& o) {
  Keys keys = o.held();
  const std::lock_guard lock(mutex_);
  keys_.swap(keys);
  return *this;
}

// Keys are freed after the lock is given back: their memory is large.
void GaloisKeys::insert(GaloisKey key) {
  if (!key.key) throw ParameterError("a Galois key without polynomials cannot be inserted: make it with galois_key");
  const std::lock_guard lock(mutex_);
  keys_[key.element].swap(key.key);
}

void GaloisKeys::erase(u64 element) {
  Keys::node_type gone;
  const std::lock_guard lock(mutex_);
  gone = keys_.extract(element);
}

bool GaloisKeys::contains(u64 element) const {
  const std::lock_guard lock(mutex_);
  return keys_.contains(element);
}

std::size_t GaloisKeys::size() const {
  const std::lock_guard lock(mutex_);
  return keys_.size();
}

std::shared_ptr<const SwitchingKey> GaloisKeys::at(u64 element) const {
  const std::lock_guard lock(mutex_);
  if (const auto it = keys_.find(element); it != keys_.end()) return it->second;
  std::string have;
  std::size_t shown = 0;
  for (const auto& [g, key] : keys_) {
    if (shown++ == 8) {
      have += ", ...";
      break;
    }
    have += (have.empty() ? "" : ", ") + std::to_string(g);
  }
  throw MissingKeyError("no Galois key for element " + std::to_string(element) + "; this set has " +
                        (have.empty() ? std::string("none") : have));
}

std::vector<u64> GaloisKeys::elements() const {
  std::vector<u64> out;
  for (const auto& [g, key] : held()) out.push_back(g);
  return out;
}

std::size_t GaloisKeys::bytes() const {
  std::size_t total = 0;
  for (const auto& [g, key] : held()) total += key->bytes();
  return total;
}

u64 rotation_element(const Ring& ring, i64 step) noexcept {
  const auto row = static_cast<i64>(ring.degree() / 2);
  return ring.power(5, static_cast<u64>(((step % row) + row) % row));
}

std::shared_ptr<const SwitchingKey> rotation_key(const GaloisKeys& keys, const Ring& ring, i64 step) {
  const u64 element = rotation_element(ring, step);
  if (keys.contains(element)) return keys.at(element);
  std::string have;
  const auto row = static_cast<i64>(ring.degree() / 2);
  for (i64 s = 1, shown = 0; s < row && shown <= 8; ++s)
    if (keys.contains(rotation_element(ring, s)))
      have += shown++ < 8 ? (have.empty() ? "" : ", ") + std::to_string(s) : std::string(", ...");
  throw MissingKeyError("rotation by " + std::to_string(step) + " needs a Galois key; this key set has " +
                        (have.empty() ? std::string("none for rotations") : "those for " + have));
}

const RelinKey& KeySet::relin() const {
  if (!relin_)
    throw MissingKeyError("products need a relinearisation key, which this key set lacks: make one with relin_key");
  return *relin_;
}

std::size_t KeySet::bytes() const { return galois_.bytes() + (relin_ ? relin_->key().bytes() : 0); }

}  // namespace ringforge::rlwe
