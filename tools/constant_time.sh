#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# Every secret operation under valgrind's memcheck, by every set of kernels, in the builds given.
#   tools/constant_time.sh OUT NAME=FOLDER...    as in: tools/constant_time.sh table.txt "x86-64=build/tests"
#
# A folder is one that `cmake --preset tests` has made, with the targets constant_time and constant_time_schemes built,
# perhaps with other CMAKE_CXX_FLAGS. LONG=1 adds groups that take many minutes. Writes the table to OUT. Exit code 1 when an operation is not clean.
set -eu
cd "$(dirname "$0")/.."
out=$1
shift
groups="ckks bfv bgv ltv gates psi-poly omr oprf${LONG:+ ltv-long bgv-long}"
others="secrets signals oprf"
options="-q --error-limit=no --suppressions=cpp/tests/constant_time/memcheck.supp"
failed=0
{
  echo "Secret operations under memcheck: tools/constant_time.sh"
  echo "date      $(date -u +%Y-%m-%dT%H:%MZ)"
  echo "commit    $(git describe --always --dirty --abbrev=12 --exclude '*' 2> /dev/null || echo unknown)"
  echo "machine   $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(uname -srm)"
  echo "tools     $(c++ --version | head -1), $(valgrind --version)"
  echo
  echo "clean: no branch and no address depends on a secret. Columns: reports of memcheck, bytes declassified (public"
  echo "although secrets decide them). \"not runnable\": valgrind does not know the instructions."
} > "$out"
for build in "$@"; do
  folder=${build#*=}
  for kernels in ref avx2 avx512; do
    printf '\n== build %s, kernels %s\n' "${build%%=*}" "$kernels" >> "$out"
    if [ "$kernels" = avx512 ] || { [ "$kernels" = avx2 ] && ! grep -q ' avx2' /proc/cpuinfo; }; then
      echo "not runnable" >> "$out"
      continue
    fi
    for group in $groups; do
      # shellcheck disable=SC2086
      RINGFORGE_KERNELS=$kernels valgrind $options "$folder/cpp/constant_time_schemes" "$group" 2> /dev/null >> "$out" ||
        failed=1
    done
    for mode in $others; do
      verdict=clean
      # shellcheck disable=SC2086
      RINGFORGE_KERNELS=$kernels valgrind $options --soname-synonyms=somalloc=nouserintercepts --error-exitcode=99 \
        "$folder/cpp/constant_time" "$mode" > /dev/null 2>&1 || verdict=REPORTED failed=1
      printf '%-34s %s\n' "program constant_time, $mode" "$verdict" >> "$out"
    done
  done
  printf '\n== build %s, planted (must be reported)\n' "${build%%=*}" >> "$out"
  # shellcheck disable=SC2086
  RINGFORGE_KERNELS=ref valgrind $options "$folder/cpp/constant_time_schemes" planted 2> /dev/null >> "$out" || true
done
cat "$out"
exit $failed
