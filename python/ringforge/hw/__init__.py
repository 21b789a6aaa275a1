# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The host side of the accelerators.

`core` builds, simulates, synthesises and reports any machine, from its descriptor; `vector` is the family of machines
that run programs of polynomial instructions; `machines` has a room for each machine. The machines themselves are
SystemVerilog, in the folder that `core.sources` finds.
"""
