# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The map of the control registers: one description, and everything that is made from it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ringforge.errors import FormatError
from ringforge.hw.core import registers
from ringforge.hw.core.registers import Register
from ringforge.hw.core.sources import sources

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("path", registers.texts(), ids=lambda p: p.name)
def test_what_is_made_from_the_description_is_up_to_date(path: Path) -> None:
    """Made anew by: python -m ringforge.hw.core.registers"""
    place = ROOT / "docs" / "hw" / path.name if path.suffix == ".md" else path
    assert place.read_text() == registers.texts()[path]


def test_the_block_that_tools_of_cards_expect() -> None:
    """Offsets and bits of ap_ctrl_hs."""
    assert [Register.CTRL, Register.GIE, Register.IER, Register.ISR] == [0, 4, 8, 12]
    bits = {f.name: f.lsb for f in registers.table()["CTRL"].fields}
    assert bits == {"START": 0, "DONE": 1, "IDLE": 2, "READY": 3}
    assert registers.errors().keys() == {6, 7, 8}


def test_the_header_says_what_the_description_says(tmp_path: Path) -> None:
    """A C compiler reads the header; every address and mask is the description's."""
    names = [(f"RF_REG_{e.name}", e.address) for e in registers.table().values()]
    names += [(f"RF_{e.name}_{f.name}", f.mask) for e in registers.table().values() for f in e.fields]
    names += [("RF_REG_COUNTER(3)", registers.counter(3)), ("RF_CODE_WATCHDOG", 7)]
    source = tmp_path / "check.c"
    checks = "".join(f'_Static_assert({name} == {value}u, "{name}");\n' for name, value in names)
    source.write_text(f'#include "rf_registers.h"\n{checks}')
    subprocess.run(["gcc", "-std=c11", "-fsyntax-only", f"-I{sources() / 'shell'}", source], check=True)


def test_the_package_has_every_register() -> None:
    text = registers.systemverilog_package()
    addresses = dict(re.findall(r"Addr(\w+) = 12'h(\w+);", text))
    assert sorted(int(a, 16) for a in addresses.values()) == sorted(Register)
    assert "localparam int unsigned ErrorElementLsb = 8;" in text


def test_fields_are_read_out_of_words() -> None:
    assert registers.field("ERROR", "ELEMENT").of(0x12340D07) == 13
    assert registers.field("ERROR", "CODE").of(0x12340D07) == 7
    with pytest.raises(KeyError):
        registers.field("ERROR", "NOBODY")


def test_what_a_machine_adds() -> None:
    own = registers.own(sources() / "matvec" / "registers.json")
    assert list(own.counters) == ["ELEMENT_CYCLES", "BARRIER_CYCLES"]
    assert registers.counter(1) == 0xC8


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"counters": [], "registers": [{"name": "A", "address": "0xfc", ACCESS}]}', "is not a word of 0x100"),
        ('{"counters": [], "registers": [{"name": "A", "address": "0x102", ACCESS}]}', "is not a word of 0x100"),
        ('{"counters": [], "registers": [{"name": "A", "address": "0x100", ACCESS}, '
         '{"name": "B", "address": "0x100", ACCESS}]}', "two registers"),
        ('{"counters": [COUNTERS], "registers": []}', "at most 8 counters"),
    ],
)  # fmt: skip
def test_registers_that_a_machine_cannot_add(tmp_path: Path, text: str, why: str) -> None:
    counters = ", ".join(f'{{"name": "C{k}", "about": ""}}' for k in range(9))
    text = text.replace("ACCESS", '"access": "rw", "about": "", "fields": []').replace("COUNTERS", counters)
    path = tmp_path / "registers.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=why):
        registers.own(path)
