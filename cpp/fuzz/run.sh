#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# Builds the fuzz targets, runs each in turn, and prints a summary. Fails when a target found something.
#   cpp/fuzz/run.sh SECONDS [TARGET...]      a target NAME is a file fuzz_NAME.cpp; default: all
# Corpora grow in cpp/fuzz/corpus, findings go to build/fuzz/findings.
set -eu

if [ $# -lt 1 ]; then
  sed -n '5,7s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
seconds=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
targets=${*:-$(cd "$here" && ls fuzz_*.cpp | sed 's/^fuzz_//; s/\.cpp$//')}
root=$(cd "$here/../.." && pwd)
build=$root/build/fuzz
corpus=$here/corpus
findings=$build/findings
cxx=${CXX:-clang++}
if ! command -v "$cxx" > /dev/null; then
  echo "run.sh: $cxx is missing; on Debian and Ubuntu: apt-get install clang" >&2
  exit 2
fi

cmake -S "$root" -B "$build" -DRINGFORGE_FUZZ=ON -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=None > /dev/null
cmake --build "$build" --target fuzz_all --parallel "${JOBS:-2}" > "$build/build.log" || {
  cat "$build/build.log" >&2
  exit 1
}
bin=$build/cpp/fuzz
mkdir -p "$findings"
"$bin/make_corpus" seeds "$corpus"

summary=$build/summary.txt
{
  echo "Fuzzing of the readers: $seconds s for each target, one process at a time"
  echo "date $(date -u +%Y-%m-%d), $("$cxx" --version | head -n 1), libFuzzer with ASan and UBSan, $(uname -m)"
  echo "commit $(git -C "$root" describe --always --dirty 2> /dev/null || echo unknown)"
  printf '%-12s %12s %8s %10s %10s %9s  %s\n' target inputs "per s" "coverage" "features" "peak MB" result
} > "$summary"
failed=0
for target in $targets; do
  mkdir -p "$corpus/$target"
  log=$build/$target.log
  result=clean
  max_len=65536
  if [ "$target" = gate_key ]; then max_len=131072; fi
  if ! ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=0 "$bin/fuzz_$target" "$corpus/$target" \
      -max_total_time="$seconds" -rss_limit_mb=1024 -malloc_limit_mb=64 -max_len="$max_len" -timeout=10 \
      -print_final_stats=1 -artifact_prefix="$findings/$target-" > "$log" 2>&1; then
    result="FOUND: see $log"
    failed=1
  fi
  stat() { sed -n "s/^stat::$1: *//p" "$log" | tail -n 1; }
  last=$(grep -E 'cov: [0-9]+' "$log" | tail -n 1)
  printf '%-12s %12s %8s %10s %10s %9s  %s\n' "$target" "$(stat number_of_executed_units)" \
    "$(stat average_exec_per_sec)" "$(echo "$last" | sed 's/.*cov: \([0-9]*\).*/\1/')" \
    "$(echo "$last" | sed 's/.*ft: \([0-9]*\).*/\1/')" "$(stat peak_rss_mb)" "$result" >> "$summary"
done
cat "$summary"
exit $failed
