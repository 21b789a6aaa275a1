#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# The C++ tests, and the native module driven from Python threads, under the sanitizers.
#   tools/sanitize.sh [asan|tsan ...]     both by default; needs what `make sanitize` installs
#
# Every part runs, whichever fails before it; a summary ends the output, and is build/sanitize.txt. Exit code 1 when a
# part failed: a test, or any report of a sanitizer.
#
# Python and its packages are not instrumented: the sanitizer's runtime is preloaded, and sees what the native module
# does and every lock, thread and allocation of the process. The package is read from a folder of links, so that an
# installed or editable ringforge stays out of the way.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
python=$root/.venv/bin/python
site=$($python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
summary=$root/build/sanitize.txt
failed=0

# The thread sanitizer refuses threads in a child of a process that had some, unless it is told to let them be; the
# tests that fork are there for what such a child does.
export TSAN_OPTIONS="suppressions=$root/tools/tsan.supp die_after_fork=0"
export UBSAN_OPTIONS="print_stacktrace=1"

build() {
  .venv/bin/cmake -G Ninja -DCMAKE_MAKE_PROGRAM="$root/.venv/bin/ninja" --preset "$kind" -DRINGFORGE_PYTHON=ON \
    -DPython_EXECUTABLE="$python" -Dnanobind_DIR="$($python -m nanobind --cmake_dir)" > /dev/null &&
    .venv/bin/cmake --build "$build" --target ringforge_tests _native
}

# The tests under valgrind (ConstantTime) are not in these builds: valgrind cannot run a sanitizer's program.
cpp_tests() {
  "$build/cpp/ringforge_tests" --gtest_brief=1
}

python_tests() {
  package=$build/site/ringforge
  rm -rf "$build/site"
  mkdir -p "$build/site"
  cp -rs "$root/python/ringforge" "$package"
  rm -rf "$package"/_native*
  ln -s "$root/$build"/python/bindings/ringforge/_native*.so "$package"
  ln -sf "$root/params/fhew.json" "$package/gates/fhew.json"
  [ -e "$package/hw/sources" ] || ln -s "$root/hw" "$package/hw/sources"

  # The thread sanitizer's runtime does not follow Python through a fork.
  case $kind in
    asan) runtime=libasan.so ;;
    tsan) runtime=libtsan.so && set -- -k "not fork" ;;
  esac
  # libstdc++ comes with it: the runtime looks for the exception functions before Python has loaded them.
  env LD_PRELOAD="$(c++ -print-file-name=$runtime) $(c++ -print-file-name=libstdc++.so.6)" ASAN_OPTIONS="detect_leaks=0" \
    PYTHONMALLOC=malloc PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root/$build/site:$root/python:$site" \
    "$python" -S -m pytest -p no:cacheprovider -q -m "not long" "$@" \
    python/tests/concurrency/test_threads.py python/tests/concurrency/test_random.py
}

# part NAME FUNCTION: a line of the summary: kind, name, seconds, passed or the exit code, reports, the runner's last word
part() {
  echo "== $kind: $1"
  begun=$(date +%s)
  { "$2" 2>&1 && echo 0 > "$build.code" || echo $? > "$build.code"; } | tee "$build.log"
  code=$(cat "$build.code")
  reports=$(grep -cE '(WARNING|ERROR): (Address|Leak|Thread)Sanitizer|runtime error:' "$build.log" || true)
  said=$(grep -E '^\[==========\] .* ran|^\[  (PASSED|FAILED)  \] [0-9]+ test|^[0-9]+ (passed|failed|error).* in ' \
    "$build.log" | sed 's/^\[[^]]*\] *//; s/\.$//' | paste -sd ';' | sed 's/;/; /g')
  result=passed
  if [ "$code" -ne 0 ] || [ "$reports" -ne 0 ]; then
    result="FAILED (exit code $code)" failed=1
  fi
  printf '%-5s %-16s %5d s  %s, %d reports%s\n' "$kind" "$1" "$(($(date +%s) - begun))" "$result" "$reports" \
    "${said:+; $said}" >> "$summary"
  [ "$code" -eq 0 ]
}

mkdir -p build
{
  echo "tools/sanitize.sh ${*:-asan tsan}"
  echo "date     $(date -u +%Y-%m-%dT%H:%MZ)"
  echo "commit   $(git describe --always --dirty --abbrev=12 --exclude '*' 2> /dev/null || echo unknown)"
  echo "machine  $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) CPUs, $(uname -srm)"
  echo "tools    $(c++ --version | head -1), $($python --version)"
  echo
} > "$summary"
for kind in ${*:-asan tsan}; do
  build=build/$kind
  part "build" build || continue
  part "C++ tests" cpp_tests || true
  part "Python threads" python_tests || true
done
echo
cat "$summary"
exit $failed
