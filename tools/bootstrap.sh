#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# bootstrap.sh PYTHON PACKAGE...
# Makes sure that Python is new enough and has headers and venv, and that the Debian packages are there.
# Installs what is missing with apt when that needs no password; otherwise says in one line what to install.
set -eu
python=$1
shift

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "Ringforge needs Python 3.11 or newer as $python: install python3, or run make PYTHON=/path/to/python3" >&2
  exit 1
fi

missing=""
for package in "$@"; do
  case $package in
    g++) command -v g++ >/dev/null || missing="$missing g++" ;;
    cargo) command -v cargo >/dev/null || missing="$missing cargo" ;;
    clang) command -v clang++ >/dev/null || missing="$missing clang" ;;
    *) dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package" ;;
  esac
done
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
"$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
  missing="$missing python3-dev"

[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ]; then
  run=""
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  run="sudo"
else
  echo "Please install:$missing   (sudo apt-get install$missing)" >&2
  exit 1
fi
echo "installing$missing"
$run apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $run apt-get install -y -qq --no-install-recommends $missing >/dev/null
