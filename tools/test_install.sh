#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# The C++ library as its users have it.
#   tools/test_install.sh          installed from build/tests, found by CMake and pkg-config, moved, removed again
#   tools/test_install.sh shared   the same with a shared library, and built from source within another project
set -eu
cd "$(dirname "$0")/.."
root=$PWD
cmake=$root/.venv/bin/cmake
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-2}

configure() { # SOURCES BUILD OPTION...
  sources=$1 built=$2
  shift 2
  "$cmake" -G Ninja -DCMAKE_MAKE_PROGRAM="$root/.venv/bin/ninja" -S "$sources" -B "$built" "$@" > /dev/null
}
run_tests() { "$root/.venv/bin/ctest" --test-dir "$1" --output-on-failure --no-tests=error; }
fail() {
  echo "test_install: $1" >&2
  exit 1
}

if [ "${1:-}" = shared ]; then
  library=$root/build/shared
  configure "$root" "$library" -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_TYPE=Release
else
  library=$root/build/tests
fi
prefix=$root/build/prefix${1:+-$1}
moved=$root/build/moved${1:+-$1}
rm -rf "$prefix" "$moved"
"$cmake" --build "$library" --target ringforge
"$cmake" --install "$library" --prefix "$prefix" > /dev/null

# Every project in examples/ that finds the library.
for project in examples/*/CMakeLists.txt; do
  project=${project%/CMakeLists.txt}
  configure "$project" "build/$project${1:+-$1}" -DCMAKE_PREFIX_PATH="$prefix"
  "$cmake" --build "build/$project${1:+-$1}" --parallel "$jobs" > /dev/null
  run_tests "build/$project${1:+-$1}"
done

# No file of it knows where it was built or put: a copy elsewhere serves as well.
if grep -rIl -e "$root" "$prefix"; then
  fail "these files of the installation name a folder of this machine"
fi
cp -a "$prefix" "$moved"
mv "$prefix" "$prefix.away"
pc=$(dirname "$(find "$moved" -name ringforge.pc)")
static=""
[ "${1:-}" = shared ] || static=--static
# shellcheck disable=SC2046
g++ -std=c++20 examples/cpp/encrypted_dot.cpp -o "$moved/encrypted_dot" \
  $(PKG_CONFIG_PATH=$pc pkg-config $static --cflags --libs ringforge) -Wl,-rpath,"${pc%/pkgconfig}"
"$moved/encrypted_dot" > /dev/null
configure examples/cpp "build/examples/moved${1:+-$1}" -DCMAKE_PREFIX_PATH="$moved"
"$cmake" --build "build/examples/moved${1:+-$1}" --target encrypted_dot > /dev/null
"build/examples/moved${1:+-$1}/encrypted_dot" > /dev/null
mv "$prefix.away" "$prefix"

# What was installed goes, and what others put beside it stays.
echo kept > "$prefix/include/ringforge/of_somebody_else.hpp"
"$cmake" --build "$library" --target uninstall > /dev/null
left=$(find "$prefix" -type f -o -type l)
[ "$left" = "$prefix/include/ringforge/of_somebody_else.hpp" ] || fail "after uninstalling there is still: $left"

# Within another project, built with it; the fast run stops before the compiler.
configure examples/cpp/fetch "build/examples/fetch${1:+-$1}"
if [ "${1:-}" = shared ]; then
  "$cmake" --build build/examples/fetch-shared --parallel "$jobs" > /dev/null
  run_tests build/examples/fetch-shared
  "$cmake" --install build/examples/fetch-shared --prefix "$prefix" > /dev/null
  [ -z "$(find "$prefix" -name 'libringforge*')" ] || fail "a project with the sources installs the library as its own"
fi
echo "installation${1:+ ($1)}: found, moved and removed"
