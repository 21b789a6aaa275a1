# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""An element with other lanes and bursts than our machines have: a program of every unit, against the interpreter."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from modular import BARRETT, MONTGOMERY
from runner import environment, find, run_bench

from ringforge._native import kernels
from ringforge.hw.core.dram import Dram
from ringforge.hw.vector import constants
from ringforge.hw.vector.config import VectorConfig
from ringforge.hw.vector.interpreter import Interpreter
from ringforge.hw.vector.isa import Instruction, encode, slot

PROGRAM_BYTES, BITS = 8192, 50


def element(lanes: int, burst_rows: int, log_n: int, kind: int) -> VectorConfig:
    """A machine of one element whose banks hold two polynomials each."""
    return VectorConfig(
        name="element", about="", groups=1, pes=1, lanes=lanes, banks=3, bank_rows=2 * (1 << log_n) // lanes,
        twiddle_rows=2 * (1 << log_n) // lanes, word_bits=54, multiplier="montgomery" if kind else "barrett",
        min_log_n=log_n, max_log_n=log_n, stream_rows=4 * burst_rows, burst_rows=burst_rows, ports=1, clock_hz=1e8,
        dram_latency=20, dram_bytes_per_second=1e12, dram_bytes=1 << 24,
    )  # fmt: skip


def program(config: VectorConfig, q: int, log_n: int) -> tuple[list[Instruction], int]:
    """Loads, transforms, an automorphism, products with stream, slot and immediate; each result stored."""
    i, size, rows = Instruction, 8 << log_n, config.rows(log_n)
    shift = config.shift(BITS)

    def s(bank: int, place: int) -> int:
        return slot(bank, place * rows)

    def at(k: int) -> int:
        return PROGRAM_BYTES + k * size

    table = s(7, 1)
    steps = [
        i.ntt(s(0, 1), s(0, 0), table, 0),
        i.auto(s(1, 1), s(0, 1), 5),
        i.mac(s(2, 0), s(1, 1), 0, stream=True),
        i.mac(s(2, 1), s(2, 0), 0, imm=constants.scalar(config, 12345, q), c=s(1, 0), pre_sub=True),
        i.mac(s(2, 0), s(1, 1), 0, b=s(2, 1), c=s(0, 1), post_add=True),
        i.intt(s(1, 0), s(2, 0), table, 0),
    ]
    out = [
        i.conf(log_n, shift),
        i.modulus(0, q << shift, constants.multiplier_constant(config, q)),
        i.stream(at(3)),
        i.load(table, at(0)),
        i.load(s(0, 0), at(1)),
        i.load(s(1, 0), at(2)),
    ]
    for k, step in enumerate(steps):
        out += [step, i.store(step.dst, at(4 + k))]
    return [*out, i.end()], 4 + len(steps)


def check(tmp_path: Path, lanes: int, burst_rows: int, log_n: int, kind: int = BARRETT) -> None:
    config, n = element(lanes, burst_rows, log_n, kind), 1 << log_n
    q = kernels.primes_below(BITS, 1, 1 << 18)[0]
    instructions, polynomials = program(config, q, log_n)
    rng = np.random.default_rng(lanes)
    data = [rng.integers(0, q, n, dtype=np.uint64) for _ in range(3)]
    inputs = [constants.twiddles(config, q, log_n), *data[:2], constants.multiplier(config, data[2], q)]
    code = encode(instructions).reshape(-1)

    dram = Dram(config.dram_bytes)
    for k, words in enumerate(inputs):
        dram.map(PROGRAM_BYTES + 8 * n * k, words.copy())
    dram.reserve(PROGRAM_BYTES + 8 * n * len(inputs), 8 * n * (polynomials - len(inputs)))
    Interpreter(config, dram).run([code.reshape(-1, 4)])
    expected = dram.read(PROGRAM_BYTES + 8 * n * len(inputs), n * (polynomials - len(inputs)))

    image = np.zeros(PROGRAM_BYTES // 8 + n * polynomials, np.uint64)
    image[: code.size] = code
    image[PROGRAM_BYTES // 8 :][: n * len(inputs)] = np.concatenate(inputs)
    path = tmp_path / "memory"
    path.write_text("\n".join(f"{w:x}" for w in image.tolist()))
    parameters = {
        "Image": f'"{path}"', "Words": image.size, "Lanes": lanes, "BankRows": config.bank_rows, "MinLogN": log_n,
        "MaxLogN": log_n, "StreamRows": config.stream_rows, "BurstRows": burst_rows, "Kind": kind,
    }  # fmt: skip
    run_bench("vector_pe_bench", parameters, __file__, optimise="-O0")
    lines = [x for x in Path(f"{path}.out").read_text().split() if not x.startswith(("/", "@"))]
    got = np.array([int(x, 16) for x in lines], np.uint64)
    assert np.array_equal(got[-expected.size :], expected)


def test_an_element_of_16_lanes_is_bit_exact(tmp_path: Path) -> None:
    check(tmp_path, 16, 8, 9)


@pytest.mark.long
@pytest.mark.parametrize(
    ("lanes", "burst_rows", "log_n", "kind"),
    [
        (4, 64, 9, BARRETT),
        (8, 64, 9, BARRETT),
        (16, 16, 9, MONTGOMERY),
        (32, 8, 10, BARRETT),
        (32, 16, 11, MONTGOMERY),
        (64, 8, 12, BARRETT),
        (128, 4, 14, BARRETT),
    ],
)
def test_elements_of_other_shapes_are_bit_exact(
    tmp_path: Path, lanes: int, burst_rows: int, log_n: int, kind: int
) -> None:
    check(tmp_path, lanes, burst_rows, log_n, kind)


@pytest.mark.parametrize(
    "bad",
    [
        {"Lanes": 12, "StreamRows": 0, "Banks": 9, "Pes": 40, "Kind": 2},
        {"Lanes": 8, "BurstRows": 128, "StreamRows": 64, "MinLogN": 5, "BankRows": 64, "W": 20},
        {"Lanes": 512, "BurstRows": 24, "MaxLogN": 7},
    ],
)
def test_impossible_parameters_do_not_elaborate(bad: dict[str, int]) -> None:
    """Every one of them is named by a message of its own."""
    words = {
        "Lanes": "Lanes must",
        "BurstRows": "BurstRows must",
        "StreamRows": "StreamRows must",
        "Banks": "Banks must",
    }
    words |= {"Pes": "Pes must", "Kind": "Kind must", "BankRows": "BankRows and", "W": "W must", "MinLogN": "degrees"}
    words |= {"MaxLogN": "degrees"}
    files, args = find("vector_pe", Path(__file__).parent, [], [])
    sets = [f"-G{name}={value}" for name, value in bad.items()]
    with environment("-O0"):
        done = subprocess.run(
            ["verilator", "--lint-only", "--top-module", "vector_pe", *args, *sets, *map(str, files)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode
    for name in bad.keys() - ({"Lanes"} if bad["Lanes"] == 8 else set()):
        assert f"vector_pe: {words[name]}" in done.stderr, name
