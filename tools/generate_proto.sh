#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# Makes the Python code of every .proto file. Usage: tools/generate_proto.sh PYTHON, one that has grpcio-tools. Those of
# 1.62 write code for protobuf 4.25, which all later releases run too: later tools write a check into it that refuses
# the releases before, and so whatever else is installed beside us and needs one of them.
set -eu
cd "$(dirname "$0")/.."
"${1:?usage: generate_proto.sh PYTHON}" -m grpc_tools.protoc -I python --python_out=python --pyi_out=python \
  python/ringforge/aes/proto/aes.proto python/ringforge/psi/proto/psi.proto python/ringforge/omr/proto/*.proto
