# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What every machine needs: descriptor, build, simulation, synthesis, lint, report, command line, device."""
