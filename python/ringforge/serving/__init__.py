# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the services of all systems have in common, over gRPC.

Who is let in, and how (`access`, `quota`), what surrounds a call (`calls`, `limits`), what is held and computed for
clients (`sessions`, `work`), how messages are cut (`framing`), the listening service (`service`, `listener`), and the
connection to one (`remote`, `diagnose`).
"""
