# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Kernels for cards: what `ringforge hw package` writes, and the host program that runs jobs on them.

The host program runs here as it would beside a card, against the stand-in for XRT and the simulated machine.
"""

from __future__ import annotations

import re
import struct
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from ringforge import _native, yosys
from ringforge._native import kernels
from ringforge.errors import ParameterError
from ringforge.hw.core import build, registers
from ringforge.hw.core.card_job import CardJob, Kind, Segment
from ringforge.hw.core.cli import app
from ringforge.hw.core.machine import machine
from ringforge.hw.core.package import BASES, Card, kernel_name, masters, package
from ringforge.hw.core.simulator import place_programs
from ringforge.hw.core.sources import sources
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.job_cli import card_job, shape
from ringforge.hw.vector.isa import Instruction, slot
from tests.hw.machine import Bench

MATVEC = machine("matvec")
SMALL = MatvecConfig.named("matvec-small")
CARDS = (Card(), Card(256, 450e6, "HBM[0:31]", 2, 16), Card(memory_hz=None, slices=0))


# ---- the kernel's folder ------------------------------------------------------------------------------


@pytest.mark.parametrize("card", CARDS, ids=["ddr", "hbm", "one clock"])
@pytest.mark.parametrize("name", MatvecConfig.names())
def test_a_kernel_has_all_it_needs(tmp_path: Path, name: str, card: Card) -> None:
    config = MatvecConfig.named(name)
    out = tmp_path / "kernel"
    files = package(MATVEC, config, out, card)
    assert sorted(p for p in out.rglob("*") if p.is_file()) == files
    kernel = kernel_name(config)
    for path in files:
        text = path.read_text(encoding="utf-8")
        if path.parent.name not in ("rtl", "host") or path.name == f"{kernel}.v":
            assert re.search("never built", text, re.IGNORECASE), f"{path.name} does not say that it was never built"
        assert not re.search(r"@[A-Z]+@", text), f"{path.name} has holes"
    assert {p.name for p in MATVEC.files()} | {f"{kernel}.v"} == {p.name for p in (out / "rtl").iterdir()}
    assert (out / f"{kernel}.xdc").exists() == (card.memory_hz is not None)

    top = (out / "rtl" / f"{kernel}.v").read_text()
    pins = set(re.findall(r"^    (?:input |output) wire (?:\[\d+:0\] )?(\w+),?$", top, re.MULTILINE))
    assert {"ap_clk", "ap_rst_n", "interrupt", "s_axi_control_awaddr"} <= pins
    assert ("ap_clk_2" in pins) == (card.memory_hz is not None)
    root = ElementTree.parse(out / "kernel.xml").getroot()
    ports = {p.get("name"): p for p in root.iter("port")}
    assert list(ports) == ["s_axi_control", *masters(config)]
    for n, (master, arg) in enumerate(zip(masters(config), root.iter("arg"), strict=True)):
        assert f"{master}_araddr" in pins
        assert ports[master].get("dataWidth") == str(card.port_bits)
        assert (arg.get("port"), int(str(arg.get("offset")), 16)) == (master, BASES + 8 * n)
    assert not any(f"m{config.ports:02d}_axi" in pin for pin in pins)
    settings = (out / "link.cfg").read_text()
    assert settings.count(f":{card.memory}\n") == config.ports
    assert f"freqHz={config.clock_hz:.0f}:{kernel}_1." in settings


def test_tcl_is_complete(tmp_path: Path) -> None:
    tkinter = pytest.importorskip("tkinter")
    package(MATVEC, SMALL, tmp_path / "kernel", CARDS[1])
    tcl = tkinter.Tcl()
    for path in (tmp_path / "kernel").rglob("*.[tx][cd][lc]"):
        assert tcl.tk.call("info", "complete", path.read_text() + "\n"), path.name
    # The vendor's commands stand still; what is left runs: lists, loops, substitutions.
    calls = tcl.eval(
        """
        set calls {}
        rename unknown {}
        proc unknown {name args} { lappend ::calls $name; return $name }
        set script [list source %s]
        eval $script
        set calls
        """
        % (tmp_path / "kernel" / "package.tcl")
    ).split()
    assert calls.count("ipx::add_register") == len(registers.table()) + SMALL.ports
    assert calls.count("ipx::add_register_parameter") == SMALL.ports
    assert calls[-1] == "package_xo"


def test_what_is_refused(tmp_path: Path) -> None:
    for card, message in (
        (Card(port_bits=1024), "256 or 512 bits"),
        (Card(slices=17), "register slices"),
        (Card(longest=257), "bursts"),
        (Card(memory_hz=10e6), "factor of 8"),
        (Card(memory="DDR[0]\nx"), "no memory"),
    ):
        with pytest.raises(ParameterError, match=message):
            package(MATVEC, SMALL, tmp_path / "kernel", card)
    narrow = SMALL.model_copy(update={"lanes": 4})
    with pytest.raises(ParameterError, match="take ports of 256 bits"):
        package(MATVEC, narrow, tmp_path / "kernel", Card())
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    with pytest.raises(ParameterError, match="not empty"):
        package(MATVEC, SMALL, tmp_path / "full", Card())
    assert [p.name for p in tmp_path.iterdir()] == ["full"], "nothing was written"


@pytest.mark.parametrize("card", [CARDS[1], pytest.param(CARDS[0], marks=pytest.mark.long)])
def test_the_kernel_has_no_lint_warning(tmp_path: Path, card: Card) -> None:
    folder = tmp_path / "kernel"
    package(MATVEC, SMALL, folder, card)
    packages = [folder / "rtl" / p.name for p in MATVEC.files()]
    top = kernel_name(SMALL)
    command = [build.verilator(), "--lint-only", "-Wall", "--top-module", top, *packages, folder / "rtl" / f"{top}.v"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "%Warning" not in done.stderr


@pytest.mark.long
def test_slang_elaborates_the_kernel(tmp_path: Path) -> None:
    yosys.require()
    folder = tmp_path / "kernel"
    package(MATVEC, SMALL, folder, CARDS[1])
    names = [f"rtl/{p.name}" for p in MATVEC.files()] + [f"rtl/{kernel_name(SMALL)}.v"]
    script = f"read_slang -j 1 -D SYNTHESIS --top {kernel_name(SMALL)} {' '.join(names)}\nstat\n"
    (folder / "check.ys").write_text(script)
    done = yosys.run(["check.ys"], folder)
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]


def test_the_command(tmp_path: Path) -> None:
    out = str(tmp_path / "kernel")
    done = CliRunner().invoke(
        app, ["package", "matvec", "--config", "matvec-small", "--port-bits", "256", "--out", out]
    )
    assert done.exit_code == 0, done.output
    assert (tmp_path / "kernel" / "rtl" / "matvec_small.v").is_file()


# ---- the host program ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The host program, over the stand-in for XRT, with checks of memory and undefined behaviour."""
    shell, out = sources() / "shell", tmp_path_factory.mktemp("host") / "rf_card_host"
    command = ["g++", "-std=c++17", "-O0", "-g0", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    command += ["-fno-sanitize-recover=all", f"-I{shell}", f"-I{shell / 'host' / 'xrt_standin'}"]
    command += [str(shell / "host" / "rf_card_host.cpp"), "-ldl", "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


class Runner:
    """Runs jobs with the host program on the small machine."""

    def __init__(self, host: Path, folder: Path, library: Path) -> None:
        self.host, self.folder = host, folder
        self.settings = {
            "kernel": "matvec_small",
            "library": library,
            "ports": SMALL.ports,
            "latency": SMALL.dram_latency,
            "rate": SMALL.dram_bytes_per_cycle,
            "cycles_per_ms": SMALL.clock_hz / 1e3,
            "interrupts": 1,
        }

    def __call__(self, job: CardJob | bytes, *options: str, **settings: object) -> subprocess.CompletedProcess[str]:
        (self.folder / "job").write_bytes(job if isinstance(job, bytes) else job.to_bytes())
        lines = (f"{key} {value}\n" for key, value in (self.settings | settings).items())
        (self.folder / "xclbin").write_text("".join(lines))
        command = [self.host, self.folder / "xclbin", "matvec_small", self.folder / "job", *options]
        env = {"ASAN_OPTIONS": "detect_leaks=0"}  # the simulation keeps what it has until the process ends
        return subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=120)


@pytest.fixture
def run(host: Path, tmp_path: Path) -> Runner:
    return Runner(host, tmp_path, build.library(SMALL, optimise="-O1"))


PROGRAMS, OUTPUTS = 0x80000, 0x4000000


def job_of(program: list[Instruction] | None = None, watchdog: int = 0) -> CardJob:
    """Every operation on one element, and what it must leave in memory; or another program, which leaves nothing."""
    bench = Bench(SMALL, 8, 50)
    steps = bench.everything() if program is None else program
    image, stride = place_programs(bench.encoded(steps))
    segments = [
        Segment.clear(s.address, s.words.nbytes) if s.writable else Segment.load(s.address, s.words)
        for s in bench.memory()
    ]
    segments.append(Segment.load(PROGRAMS, image))
    if program is None:
        segments.append(Segment.expect(OUTPUTS, bench.expected(steps)))
    return CardJob(MATVEC.identity, shape(SMALL), PROGRAMS, stride, segments, watchdog)


@pytest.fixture(scope="module")
def good() -> CardJob:
    return job_of()


@pytest.mark.parametrize("options", [(), ("--poll",)])
def test_a_job_runs(run: Runner, good: CardJob, options: tuple[str, ...]) -> None:
    done = run(good, *options)
    assert done.returncode == 0, done.stderr
    assert "as expected" in done.stdout
    counts = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines()[:-1])
    assert int(counts["cycles"]) > 1000
    assert int(counts["beats written"]) == 10 * (8 << 8) // SMALL.port_bytes


def test_kernels_without_interrupts_are_polled(run: Runner, good: CardJob) -> None:
    done = run(good, interrupts=0)
    assert done.returncode == 0, done.stderr
    assert "polling" in done.stderr


def test_a_wrong_word_is_seen(run: Runner, good: CardJob) -> None:
    *others, last = good.segments
    assert last.words is not None
    words = last.words.copy()
    words[77] ^= np.uint64(1 << 40)
    done = run(replace(good, segments=[*others, Segment.expect(last.address, words)]))
    assert done.returncode == 1
    assert f"1 bytes differ, the first at {OUTPUTS + 8 * 77 + 5:x}" in done.stderr


def test_programs_that_never_end_are_aborted(run: Runner) -> None:
    bench = Bench(SMALL, 8, 50)
    waiting = [*bench.setup(), Instruction.recv(slot(0, 0), 1), Instruction.end()]
    done = run(job_of(waiting), "--timeout-ms", "2")
    assert (done.returncode, "aborting" in done.stderr) == (3, True), done.stderr
    done = run(job_of(waiting, watchdog=20_000))
    assert (done.returncode, "error 7" in done.stderr) == (5, True), done.stderr


def test_errors_of_the_machine_are_told(run: Runner) -> None:
    bench = Bench(SMALL, 8, 50)
    done = run(job_of([*bench.setup(), Instruction.load(bench.slot(2, 0), 0x70000000), Instruction.end()]))
    assert (done.returncode, "error 6" in done.stderr) == (5, True), done.stderr


def test_other_machines_are_refused(run: Runner, good: CardJob) -> None:
    for job, message in (
        (replace(good, identity=1), "kernel's ID"),
        (replace(good, shape=1), "SHAPE"),
    ):
        done = run(job)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert run(good, kernel="another").returncode == 6
    assert run(good, "--bank", "7").returncode == 6
    for options in (("--timeout-ms",), ("--timeout-ms", "soon"), ("--nothing",), ("more",), ("--bank", "-1")):
        assert run(good, *options).returncode == 2


def small_job() -> CardJob:
    """A job of a few pages, for the reader."""
    words = np.arange(512, dtype=np.uint64)
    segments = [Segment.load(4096, words), Segment.clear(8192, 4096), Segment.expect(8192, words[:8])]
    return CardJob(MATVEC.identity, shape(SMALL), 4096, 4096, segments)


def summed(data: bytes) -> bytes:
    """The file with a checksum that holds."""
    return data[:12] + struct.pack("<I", zlib.crc32(data[16:])) + data[16:]


def test_the_reader_refuses_all_else(host: Path, tmp_path: Path) -> None:
    """Files cut short, flipped bits, and numbers that lie, with a checksum that holds: told, never obeyed."""
    data, run = small_job().to_bytes(), Runner(host, tmp_path, tmp_path / "nothing")
    assert run(data).returncode == 6, "the job itself is well formed; there is no machine"
    rng = np.random.default_rng(1)
    cases = [data[:size] for size in (0, 7, 8, 15, 16, 63, 64, 100, 160, len(data) - 1)]
    for _ in range(10):
        flipped = bytearray(data)
        flipped[rng.integers(len(data))] ^= 1 << rng.integers(8)
        cases.append(bytes(flipped))
    huge = struct.pack("<Q", 2**64 - 8)
    table = 64
    lies = {
        24: [huge, bytes(8)], 32: [huge, struct.pack("<Q", 1 << 20)], 40: [struct.pack("<Q", 4097), huge],
        48: [huge], 56: [b"\xff" * 4, struct.pack("<I", 1 << 27)], 60: [b"\x01"],
        table: [huge, struct.pack("<Q", 4)], table + 8: [huge, bytes(8), struct.pack("<Q", 1 << 40)],
        table + 16: [huge, bytes(8), struct.pack("<Q", 168)], table + 24: [b"\x03", b"\x01"], table + 28: [b"\x01"],
        table + 32: [struct.pack("<Q", 4096)], table + 64: [struct.pack("<Q", 4096)],
    }  # fmt: skip
    for place, values in lies.items():
        cases += [summed(data[:place] + value + data[place + len(value) :]) for value in values]
    cases.append(summed(data + bytes(8)))
    for number, case in enumerate(cases):
        done = run(case)
        assert done.returncode == 2, f"case {number}: {done.returncode} {done.stderr}"
        assert "not a job file" in done.stderr


def test_the_writer_refuses_what_is_no_job() -> None:
    job, words = small_job(), np.zeros(512, np.uint64)
    for segments, message in (
        ([*job.segments, Segment.load(4096, words)], "overlaps"),
        ([*job.segments, Segment.load(4104 + 65536, words)], "multiples of 4 KiB"),
        ([*job.segments, Segment.expect(4096, words)], "not written"),
        ([*job.segments, Segment(Kind.LOAD, 65536, 8, words)], "other data"),
        ([*job.segments, Segment.clear(65536, 9)], "whole words"),
    ):
        with pytest.raises(ParameterError, match=message):
            replace(job, segments=segments).to_bytes()
    for change in ({"program": 8}, {"stride": 8}, {"program": 1 << 30}, {"watchdog": 1 << 48}):
        with pytest.raises(ParameterError):
            replace(job, **change).to_bytes()


def test_an_encrypted_layer_runs(run: Runner) -> None:
    """A product as `ringforge hw job matvec` writes it: the card's memory holds the interpreter's bits."""
    primes = kernels.primes_below(50, 3, 1 << 18)
    params = _native.Parameters("toy", 10, primes[:2], primes[2:], 1, 40.0, "hardware tests")
    job = card_job(SMALL, params, 8, 12)
    done = run(job)
    assert done.returncode == 0, done.stderr
    assert "as expected" in done.stdout
