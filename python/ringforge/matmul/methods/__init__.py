# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The methods: each module turns a shape into a :class:`ringforge.matmul.plan.ProductPlan`."""
