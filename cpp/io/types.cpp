// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The registry of types. Those of this library are in it from the first look on: they are listed by a function and
// do not register themselves, since a linker drops objects of a static library that nothing refers to.
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "fork.hpp"
#include "header.hpp"
#include "ringforge/error.hpp"

namespace ringforge::io {
namespace {

ForkMutex types_mutex(ForkMutex::Rank::types);

/// Types by code; the caller holds the mutex. Nodes of a map stay where they are, so that pointers to types stay valid.
std::map<TypeCode, RecordType>& types() {
  static std::map<TypeCode, RecordType> all = [] {
    std::map<TypeCode, RecordType> built_in;
    for (RecordType& type : detail::built_in_types()) built_in.emplace(type.code, std::move(type));
    return built_in;
  }();
  return all;
}

}  // namespace

void register_type(const RecordType& type) {
  if (type.code < kFirstForeignCode)
    throw ParameterError("the type " + detail::code_text(type.code) + " is kept for this library: choose a code from " +
                         detail::code_text(kFirstForeignCode) + " to 0xffff");
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
  const std::lock_guard lock(types_mutex);
  const auto [at, added] = types().emplace(type.code, type);
  const RecordType& there = at->second;
  if (!added && (there.name != type.name || there.version != type.version || there.oldest != type.oldest ||
                 there.head_bytes != type.head_bytes || there.max_body != type.max_body ||
                 there.secret != type.secret || there.describe != type.describe))
    throw ParameterError("the type " + detail::code_text(type.code) + " stands for \"" + there.name +
                         "\" already: give each type a code of its own, and register one description of it");
}

std::string detail::code_text(TypeCode code) {
  char digits[8];
  std::snprintf(digits, sizeof(digits), "0x%04x", static_cast<unsigned>(code));
  return digits;
}

const RecordType* find_type(TypeCode code) {
  const std::lock_guard lock(types_mutex);
  const auto at = types().find(code);
  return at == types().end() ? nullptr : &at->second;
}

std::string name(TypeCode code) {
  const RecordType* type = find_type(code);
  return type == nullptr ? "unknown object" : type->name;
}

const RecordType& detail::registered(TypeCode code) {
  if (const RecordType* type = find_type(code)) return *type;
  throw ParameterError("nobody has registered the type " + code_text(code) + ": call io::register_type first");
}

// Types of others have no old magic: those of the library never change.
const RecordType* detail::find_old_magic(const std::uint8_t* magic) {
  const std::lock_guard lock(types_mutex);
  for (const auto& [code, type] : types())
    if (!type.old_magic.empty() && std::memcmp(magic, type.old_magic.data(), kOldMagicBytes) == 0) return &type;
  return nullptr;
}

}  // namespace ringforge::io
