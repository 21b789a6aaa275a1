# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Our times, alternating with the peers' on the same machine."""
