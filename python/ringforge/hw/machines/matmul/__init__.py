# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The accelerator of encrypted matrix products: configurations, memory layout, programs.

`config` describes the machines, `packing` how polynomials lie in the memory behind an element's ports.
"""
