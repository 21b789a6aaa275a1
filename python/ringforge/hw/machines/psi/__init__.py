# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The FHEW accelerator: products RLWE x RGSW and substitutions, for gates and private set intersection.

`config` describes the machines.
"""
