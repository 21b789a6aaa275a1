# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""No secret key is anywhere in a cluster, in any encoding: in no store, and in the memory of no process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ringforge.scale.device import RayDevice
from tests.scale import works
from tests.scale.clusters import cluster
from tests.scale.memory import check_memory


@pytest.fixture(scope="module")
def device() -> Iterator[RayDevice]:
    """A cluster of this file's: a test of another one has planted keys in its own."""
    with cluster(2) as (_, opened):
        yield opened


@pytest.mark.long
@pytest.mark.parametrize("name", ["omr", "psi", "gates", "matmul", "batches", "ltv"])
def test_no_secret_key_is_in_the_cluster(device: RayDevice, name: str) -> None:
    check_memory(device, getattr(works, name)(), whole=True)
