# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The published systems: what they print, what their models give, where they contradict themselves."""
