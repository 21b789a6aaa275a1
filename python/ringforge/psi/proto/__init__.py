# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Messages of private set intersection on the wire: psi.proto, and what `make proto` makes of it."""
