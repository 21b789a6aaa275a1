# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""An example of a machine in a package of its own: it adds the residues of two polynomials, from DRAM to DRAM."""
