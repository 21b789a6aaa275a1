# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The papers' tables and figures beside what we model or measure, a command for each system."""
