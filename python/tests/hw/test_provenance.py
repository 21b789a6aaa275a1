# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Saved figures know their sources: what changes a digest, and what does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ringforge.hw.core import build, provenance
from ringforge.hw.core import machine as descriptors
from ringforge.hw.machines.matvec.config import MatvecConfig

CONFIG = MatvecConfig.named("matvec-small")


def test_digests_follow_sources_and_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = descriptors.machine("matvec")
    room = tmp_path / "matvec"
    room.mkdir()
    (room / "top.sv").write_text("module top;  // a comment\nendmodule\n")
    (room / "files.f").write_text("top.sv\n")
    driver = tmp_path / "sim.cpp"
    driver.write_text("int cycles = 1;")
    monkeypatch.setattr(descriptors, "of", lambda _: replace(machine, room=room, libraries=()))
    monkeypatch.setattr(build, "drivers", lambda: [driver])

    def both(config: MatvecConfig = CONFIG) -> tuple[str, str]:
        return provenance.digest(config, simulated=False), provenance.digest(config, simulated=True)

    synthesis, simulation = both()
    assert synthesis != simulation
    (room / "top.sv").write_text("module top;\n  /* another */\nendmodule")
    assert both() == (synthesis, simulation), "comments and blanks are no sources"
    assert all(a != b for a, b in zip(both(), both(CONFIG.model_copy(update={"lanes": 4})), strict=True))
    driver.write_text("int cycles = 2;")
    assert both()[0] == synthesis, "what simulates is no source of a synthesis"
    assert both()[1] != simulation
    (room / "top.sv").write_text("module top; logic more; endmodule")
    assert both()[0] != synthesis


def test_records_of_other_sources_name_their_command() -> None:
    fresh = provenance.of_run(CONFIG, "cycles matvec --machine matvec-small")
    assert provenance.is_current(fresh, CONFIG)
    assert not provenance.is_current(fresh, MatvecConfig.named("matvec-small-montgomery"))
    assert not provenance.is_current({}, CONFIG)
    assert provenance.commands([fresh, {}, fresh]) == ["ringforge hw cycles matvec --machine matvec-small"]
