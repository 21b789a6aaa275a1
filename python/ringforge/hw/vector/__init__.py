# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The vector family: instruction set, interpreter (the reference), allocator, key switching, replica of its timing, closed form."""
