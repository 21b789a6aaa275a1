# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What services tell of themselves: health, metrics, files, the page."""
