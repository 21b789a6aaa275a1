# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What `ringforge aes evaluate` says of the machine that computed."""

from __future__ import annotations

from ringforge.aes.texts import machine_object, machine_text
from ringforge.devices import Report


def test_what_a_machine_took():
    report = Report("model:aes-fast", 0.002, 500_000, 250e6, {"keys": 3_000_000, "output": 1000}, {"key_switch": 3})
    assert machine_text(report) == (
        "500,000 cycles, 0.002 s at 250 MHz, 3.0 MB moved: what model:aes-fast took of this"
    )
    made = machine_object(report)
    assert made is not None
    assert (made["cycles"], made["seconds"], made["clock_hz"]) == (500_000, 0.002, 250e6)
    assert made["bytes"] == {"keys": 3_000_000, "output": 1000}
    assert made["operations"] == {"key_switch": 3}


def test_what_has_no_clock_is_not_shown():
    for report in (None, Report("cpu", 1.0)):
        assert machine_text(report) == ""
        assert machine_object(report) is None
