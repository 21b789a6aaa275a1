# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# Turns params/*.json into a C++ table, so that the security limits and the named sets have one source.

file(READ "${PROJECT_SOURCE_DIR}/params/security.json" security)
file(READ "${PROJECT_SOURCE_DIR}/params/sets.json" sets)
file(READ "${PROJECT_SOURCE_DIR}/params/fhew.json" fhew)
file(READ "${PROJECT_SOURCE_DIR}/params/bfv.json" bfv)
file(READ "${PROJECT_SOURCE_DIR}/params/bgv.json" bgv)
file(READ "${PROJECT_SOURCE_DIR}/params/ltv.json" ltv)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/params/security.json" "${PROJECT_SOURCE_DIR}/params/sets.json"
  "${PROJECT_SOURCE_DIR}/params/fhew.json" "${PROJECT_SOURCE_DIR}/params/bfv.json" "${PROJECT_SOURCE_DIR}/params/bgv.json"
  "${PROJECT_SOURCE_DIR}/params/ltv.json")

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

set(bfv_rows "")
string(JSON count LENGTH "${bfv}" sets)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  foreach(field name log_n t q p digit insecure about)
    string(JSON ${field} GET "${bfv}" sets ${i} ${field})
  endforeach()
  string(APPEND bfv_rows "    {\"${name}\", ${log_n}, ${t}, \"${q}\", \"${p}\", ${digit}, \"${insecure}\",\n     \"${about}\"},\n")
endforeach()

set(bgv_rows "")
string(JSON count LENGTH "${bgv}" sets)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  foreach(field name m q p digit insecure about)
    string(JSON ${field} GET "${bgv}" sets ${i} ${field})
  endforeach()
  string(APPEND bgv_rows "    {\"${name}\", ${m}, \"${q}\", \"${p}\", ${digit}, \"${insecure}\",\n     \"${about}\"},\n")
endforeach()

set(ltv_rows "")
string(JSON count LENGTH "${ltv}" sets)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  foreach(field name ring m bits primes drop gadget window insecure about)
    string(JSON ${field} GET "${ltv}" sets ${i} ${field})
  endforeach()
  string(APPEND ltv_rows "    {\"${name}\", \"${ring}\", ${m}, ${bits}, ${primes}, ${drop}, \"${gadget}\", ${window},\n     \"${insecure}\",\n     \"${about}\"},\n")
endforeach()

# JSON's booleans reach us as ON and OFF.
function(boolean out value)
  if(value)
    set(${out} true PARENT_SCOPE)
  else()
    set(${out} false PARENT_SCOPE)
  endif()
endfunction()
set(gate_rows "")
string(JSON count LENGTH "${fhew}" sets)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  foreach(field name insecure about n log_q lwe_secret log_n modulus ap_base)
    string(JSON ${field} GET "${fhew}" sets ${i} ${field})
  endforeach()
  foreach(gadget a b)
    set(${gadget} "")
    foreach(field log_base count drop)
      string(JSON value GET "${fhew}" sets ${i} gadget ${gadget} ${field})
      list(APPEND ${gadget} ${value})
    endforeach()
    list(JOIN ${gadget} ", " ${gadget})
  endforeach()
  set(automorphism "")
  foreach(field log_base count drop)
    string(JSON value GET "${fhew}" sets ${i} automorphism ${field})
    list(APPEND automorphism ${value})
  endforeach()
  list(JOIN automorphism ", " automorphism)
  foreach(field modulus base count drop balanced)
    string(JSON ks_${field} GET "${fhew}" sets ${i} key_switch ${field})
  endforeach()
  string(JSON balanced GET "${fhew}" sets ${i} gadget balanced)
  boolean(balanced ${balanced})
  boolean(ks_balanced ${ks_balanced})
  string(APPEND gate_rows "    {\"${name}\", \"${insecure}\", \"${about}\", ${n}, ${log_q}, \"${lwe_secret}\", ${log_n}, ${modulus}u,\n"
    "     {${a}}, {${b}}, {${automorphism}}, ${balanced}, ${ap_base}, \"${ks_modulus}\", ${ks_base}, ${ks_count}, ${ks_drop}, ${ks_balanced}},\n")
endforeach()

file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/params_data.hpp" CONTENT
"// Generated from params/*.json by cmake/params.cmake.
#pragma once
namespace ringforge::data {
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
}  // namespace ringforge::data
namespace ringforge::bfv::data {
// Primes by the logarithm of what they are below: 49.565*23 is 23 primes just below 2^49.565.
struct Set {
  const char* name; unsigned log_n; unsigned long long t; const char* q; const char* p; unsigned digit;
  const char* insecure; const char* about;
};
inline constexpr Set kSets[] = {
@bfv_rows@};
}  // namespace ringforge::bfv::data
namespace ringforge::bgv::data {
// Primes as for BFV.
struct Set {
  const char* name; unsigned long long m; const char* q; const char* p; unsigned digit;
  const char* insecure; const char* about;
};
inline constexpr Set kSets[] = {
@bgv_rows@};
}  // namespace ringforge::bgv::data
namespace ringforge::ltv::data {
struct Set {
  const char* name; const char* ring; unsigned long long m; unsigned bits; unsigned primes; unsigned drop;
  const char* gadget; unsigned window; const char* insecure; const char* about;
};
inline constexpr Set kSets[] = {
@ltv_rows@};
}  // namespace ringforge::ltv::data
namespace ringforge::fhew::data {
// Cuts as log_base, count, drop.
struct GateSet {
  const char* name; const char* insecure; const char* about; unsigned n; unsigned log_q; const char* lwe_secret;
  unsigned log_n; unsigned long long modulus; unsigned a[3]; unsigned b[3]; unsigned automorphism[3]; bool balanced;
  unsigned ap_base; const char* ks_modulus; unsigned ks_base; unsigned ks_count; unsigned ks_drop; bool ks_balanced;
};
inline constexpr GateSet kGateSets[] = {
@gate_rows@};
}  // namespace ringforge::fhew::data
" @ONLY)
