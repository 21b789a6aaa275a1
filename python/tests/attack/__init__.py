# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""An attack on all services at once for as long as is asked: `make attack ATTACK_SECONDS=300`."""
