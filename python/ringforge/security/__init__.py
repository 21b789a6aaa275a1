# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Security of lattice parameters: what the known attacks on an LWE instance cost."""

from ringforge.security.estimator import TARGET_BITS, Attack, Estimate, Instance, estimate, least_dimension

__all__ = ["TARGET_BITS", "Attack", "Estimate", "Instance", "estimate", "least_dimension"]
