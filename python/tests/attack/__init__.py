# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""An attack on all services at once for as long as is asked: `python -m tests.attack SECONDS`."""
