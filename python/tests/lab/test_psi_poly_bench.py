# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The measurement of PSI by polynomials: what it prints belongs to the run."""

from __future__ import annotations

from ringforge.lab.bench import psi_poly


def test_a_record_has_what_was_sent_and_found() -> None:
    record = psi_poly.measure(psi_poly.PolyCase(elements=9, client=5, label_bytes=3), rounds=1)
    x = record.extra
    assert x["matches"] == 16
    assert x["total_bytes"] == sum(x[f"{kind}_bytes"] for kind in ("key", "request", "reply", "prf"))
    assert x["false_positive_log2"] <= -40
    assert (record.clock, record.seconds) == ("processor", x["rounds_cpu_seconds"][0])
    assert record.wall_seconds == x["rounds_wall_seconds"][0] > 0
    assert psi_poly.details([record]).row_count == 1
