#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# The C++ tests, and the native module driven from Python threads, under the sanitizers.
#   tools/sanitize.sh [asan|tsan ...]     both by default; needs what `make sanitize` installs
#
# Python and its packages are not instrumented: the sanitizer's runtime is preloaded, and sees what the native module
# does and every lock, thread and allocation of the process. The package is read from a folder of links, so that an
# installed or editable ringforge stays out of the way.
set -eu
cd "$(dirname "$0")/.."
python=$PWD/.venv/bin/python
site=$($python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

for kind in ${*:-asan tsan}; do
  build=build/$kind
  .venv/bin/cmake -G Ninja -DCMAKE_MAKE_PROGRAM="$PWD/.venv/bin/ninja" --preset "$kind" -DRINGFORGE_PYTHON=ON \
    -DPython_EXECUTABLE="$python" -Dnanobind_DIR="$($python -m nanobind --cmake_dir)" > /dev/null
  .venv/bin/cmake --build "$build" --target ringforge_tests _native
  echo "$kind: C++ tests"
  "$build/cpp/ringforge_tests" --gtest_brief=1

  package=$build/site/ringforge
  rm -rf "$build/site"
  mkdir -p "$build/site"
  cp -rs "$PWD/python/ringforge" "$package"
  rm -rf "$package"/_native*
  ln -s "$PWD/$build"/python/bindings/ringforge/_native*.so "$package"
  ln -sf "$PWD/params/fhew.json" "$package/gates/fhew.json"

  # libstdc++ comes with it: the runtime looks for the exception functions before Python has loaded them.
  case $kind in
    asan) runtime=libasan.so skip="none" ;;
    tsan) runtime=libtsan.so skip="fork" ;; # the thread sanitizer does not follow a fork of a process with threads
  esac
  echo "$kind: the native module under Python threads"
  env LD_PRELOAD="$(c++ -print-file-name=$runtime) $(c++ -print-file-name=libstdc++.so.6)" \
    ASAN_OPTIONS="detect_leaks=0" \
    TSAN_OPTIONS="suppressions=$PWD/tools/tsan.supp halt_on_error=1" \
    PYTHONMALLOC=malloc PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$PWD/$build/site:$PWD/python:$site" \
    "$python" -S -m pytest -p no:cacheprovider -q -m "not long" -k "not $skip" \
    python/tests/concurrency/test_threads.py python/tests/concurrency/test_random.py
done
