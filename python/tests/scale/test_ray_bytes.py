# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Traffic and stores of real clusters, as counted by node managers, beside what was predicted without one."""

from __future__ import annotations

import shutil

import pytest

from ringforge.lab.bench import scale

pytest.importorskip("ray")


@pytest.mark.long
@pytest.mark.parametrize(("system", "size"), [("matmul", "256"), ("psi", "12")])
def test_bytes_are_as_predicted(system: str, size: str) -> None:
    """Within 10 %, on two nodes. Of a query, parts of the table go where the parts are computed: as many to the other
    node as half of them on average, and 6 of 8 with one chance in seven."""
    cpu = scale.apart(system, size, scale.Turn("cpu", 2))
    for workers in (1, 2):
        took = scale.apart(system, size, scale.Turn("ray", workers))
        assert took["digest"] == cpu["digest"]
        counts, planned = took["counts"], took["planned"]
        assert not counts["lost"] + counts["wrong"] + counts["hung"]
        assert took["store"] == pytest.approx(planned["store"], rel=0.1)
        if workers == 1:
            assert planned["traffic"] == 0
        elif shutil.which("ss") is not None:
            assert took["first"]["received"] == pytest.approx(planned["traffic"], rel=0.1 if system == "matmul" else 0.4)
        for kind in counts["kinds"].values():
            for way in ("sent", "returned"):
                counted, said = kind[way], kind[f"predicted_{way}"]
                assert not said or counted == pytest.approx(said, rel=0.1, abs=1024 * kind["shards"])
