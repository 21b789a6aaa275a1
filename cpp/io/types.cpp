// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The registry of types. Those of this library are in it from the first look on: they are listed by a function and
// do not register themselves, since a linker drops objects of a static library that nothing refers to.
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "header.hpp"
#include "ringforge/error.hpp"

namespace ringforge::io {
namespace {

std::string hex(TypeCode code) {
  char digits[8];
  std::snprintf(digits, sizeof(digits), "0x%04x", static_cast<unsigned>(code));
  return digits;
}

/// Types by code. Nodes of a map stay where they are, so that pointers to types stay valid.
class Registry {
 public:
  Registry() {
    for (RecordType& type : detail::built_in_types()) types_.emplace(type.code, std::move(type));
  }
  const RecordType* find(TypeCode code) const {
    const std::shared_lock lock(mutex_);
    const auto at = types_.find(code);
    return at == types_.end() ? nullptr : &at->second;
  }
  /// Types of others have no old magic: those of the library never change.
  const RecordType* find_old(const std::uint8_t* magic) const {
    const std::shared_lock lock(mutex_);
    for (const auto& [code, type] : types_)
      if (!type.old_magic.empty() && std::memcmp(magic, type.old_magic.data(), detail::kOldMagicBytes) == 0)
        return &type;
    return nullptr;
  }
  void add(const RecordType& type) {
    const std::unique_lock lock(mutex_);
    const auto [at, added] = types_.emplace(type.code, type);
    const RecordType& there = at->second;
    if (!added && (there.name != type.name || there.version != type.version || there.oldest != type.oldest ||
                   there.head_bytes != type.head_bytes || there.max_body != type.max_body ||
                   there.secret != type.secret || there.describe != type.describe))
      throw ParameterError("the type " + hex(type.code) + " stands for \"" + there.name +
                           "\" already: give each type a code of its own, and register one description of it");
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<TypeCode, RecordType> types_;
};

Registry& registry() {
  static Registry all;
  return all;
}

}  // namespace

void register_type(const RecordType& type) {
  if (type.code < kFirstForeignCode)
    throw ParameterError("the type " + hex(type.code) + " is kept for this library: choose a code from " +
                         hex(kFirstForeignCode) + " to 0xffff");
  bool printable = !type.name.empty();
  for (const char c : type.name) printable = printable && c >= ' ' && c <= '~';
  if (!printable) throw ParameterError("a type of records needs a name in printable ASCII");
  if (type.head_bytes > kMaxHeadBytes)
    throw ParameterError("the " + type.name + " has " + std::to_string(type.head_bytes) +
                         " bytes of fixed fields, at most " + std::to_string(kMaxHeadBytes) + " are possible");
  if (type.oldest > type.version)
    throw ParameterError("the " + type.name + " is written in version " + std::to_string(type.version) +
                         ", which its readers do not take: they take versions from " + std::to_string(type.oldest));
  if (!type.old_magic.empty())
    throw ParameterError("the " + type.name + " has an old magic: only types of this library are older than records");
  registry().add(type);
}

const RecordType* find_type(TypeCode code) { return registry().find(code); }

std::string name(TypeCode code) {
  const RecordType* type = find_type(code);
  return type == nullptr ? "unknown object" : type->name;
}

const RecordType& detail::registered(TypeCode code) {
  if (const RecordType* type = find_type(code)) return *type;
  throw ParameterError("nobody has registered the type " + hex(code) + ": call io::register_type first");
}

const RecordType* detail::find_old_magic(const std::uint8_t* magic) { return registry().find_old(magic); }

}  // namespace ringforge::io
