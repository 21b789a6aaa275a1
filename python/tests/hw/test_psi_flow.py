# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The FHEW accelerator in the flow: configurations and their limits, lint, the kernel for a card."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from pydantic import ValidationError

from ringforge.errors import ParameterError
from ringforge.hw.core import build, lint, registers
from ringforge.hw.core.machine import machine
from ringforge.hw.core.package import Card, package
from ringforge.hw.machines.psi.config import PsiConfig

PSI = machine("psi")
SMALL = PsiConfig.named("psi-small")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"min_log_n": 8}, "min_log_n must be max_log_n - 1"),
        ({"min_log_n": 6, "max_log_n": 7}, "greater than or equal"),
        ({"drain": 5}, "at least 13"),
        ({"drain": 32}, "less than or equal to 31"),
        ({"ports": 1}, "ports must be 2"),
        ({"lanes": 8}, "Input should be 4"),
        ({"multiplier": "montgomery", "word_bits": 64}, "less than or equal to 54"),
        ({"key_rows": 1}, "greater than or equal"),
        ({"intts": 0}, "greater than or equal"),
    ],
)
def test_what_no_machine_may_be(change: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        PsiConfig.model_validate({**SMALL.model_dump(), **change})


def test_moduli_and_degrees_that_a_machine_takes() -> None:
    assert SMALL.shift(134215681) == 0
    assert SMALL.shift(12289) == 13
    for q in (1 << 20, (1 << 27) + 1, 2047):
        with pytest.raises(ParameterError, match="odd moduli of 12 to 27 bits"):
            SMALL.shift(q)
    montgomery = PsiConfig.model_validate({**SMALL.model_dump(), "multiplier": "montgomery"})
    assert montgomery.shift(134215681) == 0
    for q, why in ((12289, "27 to 27 bits"), ((1 << 27) - 1, "1 modulo 2\\^11")):
        with pytest.raises(ParameterError, match=why):
            montgomery.shift(q)
    for log_n in (6, 9):
        with pytest.raises(ParameterError, match="takes N = 2\\^7 to 2\\^8"):
            SMALL.check_log_n(log_n)


def test_cycles_of_the_published_machine() -> None:
    paper, lean = PsiConfig.named("psi-27"), PsiConfig.named("psi-27-lean")
    assert [paper.interval(k) for k in (10, 11)] == [269, 525]
    assert [paper.key_cycles(k) for k in (10, 11)] == [261, 521]
    assert [lean.interval(k) for k in (10, 11)] == [256, 512]
    assert [lean.key_cycles(k) for k in (10, 11)] == [256, 512]
    assert paper.key_bytes(11, 6) == 6 * 32768
    assert SMALL.key_bytes(7, 6) == 16384


def test_names_of_registers_and_of_the_package() -> None:
    """Addresses in psi_pkg are those of registers.json."""
    text = (PSI.room / "rtl" / "psi_pkg.sv").read_text()
    found = {e.name: e.address for e in registers.own(PSI.room / "registers.json").entries}
    names = {
        "Mode": "MODE", "LogN": "LOG_N", "Q": "Q", "Barrett": "BARRETT", "Shift": "SHIFT", "Lwe": "LWE",
        "KeyBase": "KEY_BASE", "Gadget": "GADGET_A", "Offset": "OFFSET_A", "Bound": "BOUND_OR", "Subst": "SUBST_0",
        "Instruction": "INSTRUCTION", "Input": "INPUT", "Output": "OUTPUT", "Tables": "TABLES", "Finish": "FINISH",
        "FifoState": "FIFO_STATE", "TwiddleIndex": "TWIDDLE_INDEX", "Twiddle": "TWIDDLE",
    }  # fmt: skip
    for camel, name in names.items():
        assert f"Addr{camel} = 12'h{found[name]:x};" in text
    assert set(PSI.errors) == {1, 2, 3, 4}


def clean(subjects: list[lint.Subject]) -> None:
    assert [(f.subject.name, f.messages) for f in lint.lint(subjects) if f.messages] == []


def test_the_small_machine_is_clean() -> None:
    clean([s for s in lint.configurations(PSI) if s.name == "psi-small, real multipliers"])


@pytest.mark.long
def test_every_configuration_is_clean() -> None:
    clean(lint.configurations(PSI))


@pytest.mark.long
def test_the_kernel_has_no_lint_warning(tmp_path: Path) -> None:
    package(PSI, SMALL, tmp_path / "kernel", Card())
    rtl = tmp_path / "kernel" / "rtl"
    files = [*(rtl / p.name for p in PSI.files()), rtl / "psi_small.v"]
    command = [str(build.verilator()), "--lint-only", "-Wall", "--top-module", "psi_small", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "%Warning" not in done.stderr
