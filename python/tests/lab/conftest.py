# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Peers that several tests measure."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringforge.lab.peers import PeerError, PeerMissingError, lattigo


@pytest.fixture(scope="session")
def built() -> Path:
    """Lattigo's program; tests that need it are skipped where it cannot be built."""
    try:
        return lattigo.program()
    except PeerMissingError as missing:
        pytest.skip(f"no Go toolchain: {missing}")
    except PeerError as failed:
        if "dial tcp" in str(failed) or "no such host" in str(failed):
            pytest.skip("Lattigo's modules cannot be fetched here")
        raise
