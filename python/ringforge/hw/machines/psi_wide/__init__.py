# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The streaming accelerator for third-generation schemes: gates and private set intersection, all in Eval form."""
