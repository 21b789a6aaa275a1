# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The same work done by other libraries, each in a child process of its own."""

from ringforge.lab.peers.child import PeerError, PeerMissingError

__all__ = ["PeerError", "PeerMissingError"]
