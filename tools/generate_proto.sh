#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# Makes the Python code of every .proto file. Usage: tools/generate_proto.sh PYTHON, one that has grpcio-tools.
set -eu
cd "$(dirname "$0")/.."
"${1:?usage: generate_proto.sh PYTHON}" -m grpc_tools.protoc -I python --python_out=python --pyi_out=python \
  python/ringforge/aes/proto/aes.proto python/ringforge/psi/proto/psi.proto python/ringforge/omr/proto/*.proto
