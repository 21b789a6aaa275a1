# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# Turns params/*.json into a C++ table, so that the security limits and the named sets have one source.

file(READ "${PROJECT_SOURCE_DIR}/params/security.json" security)
file(READ "${PROJECT_SOURCE_DIR}/params/sets.json" sets)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/params/security.json" "${PROJECT_SOURCE_DIR}/params/sets.json")

string(JSON source GET "${security}" source)
set(limits "")
string(JSON count LENGTH "${security}" max_log_qp)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  string(JSON log_n MEMBER "${security}" max_log_qp ${i})
  string(JSON bits GET "${security}" max_log_qp ${log_n})
  string(APPEND limits "    {${log_n}, ${bits}},\n")
endforeach()

set(rows "")
string(JSON count LENGTH "${sets}" sets)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  foreach(field name log_n q p digit log_scale insecure about)
    string(JSON ${field} GET "${sets}" sets ${i} ${field})
  endforeach()
  string(APPEND rows "    {\"${name}\", ${log_n}, \"${q}\", \"${p}\", ${digit}, ${log_scale}, \"${insecure}\",\n     \"${about}\"},\n")
endforeach()

file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/params_data.hpp" CONTENT
"// Generated from params/*.json by cmake/params.cmake.
#pragma once
namespace ringforge::ckks::data {
struct Limit { unsigned log_n; double max_log_qp; };
inline constexpr char kSecuritySource[] = \"@source@\";
inline constexpr Limit kLimits[] = {
@limits@};
// Primes of Q and P by size: 50 42*4 is one of 50 bits and then four of 42.
struct Set {
  const char* name; unsigned log_n; const char* q; const char* p; unsigned digit; double log_scale;
  const char* insecure; const char* about;
};
inline constexpr Set kSets[] = {
@rows@};
}  // namespace ringforge::ckks::data
" @ONLY)
