# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The simulated FHEW accelerator against its interpreter: random streams, slow memories, ends at any moment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pytest

from ringforge.errors import HardwareError
from ringforge.hw.core.registers import Register, counter, field, own
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.psi.config import PsiConfig
from ringforge.hw.machines.psi.program import Code, Command, execute, init, product, substitution
from ringforge.hw.machines.psi.settings import addresses
from tests.hw.psi_streams import INPUTS, KEYS, OUTPUTS, QUEUE, SILENCE, TABLE, Stream, by_host, drawn, interfaces

Machine = Simulation[PsiConfig]
#: The small machines: as published, and the leaner one.
NAMES = ["psi-small", "psi-small-lean"]
STALLS = 15
ABORTED, EXPIRED, BUS = 8, 7, 6
COUNTERS = {name: counter(n) for n, name in enumerate(own(PsiConfig.room / "registers.json").counters)}
#: What a run of random streams must have had in it.
ALL = {
    *(f"{op} {log_n}" for op in ("INIT", "STEP", "PRODUCT", "SUBSTITUTE") for log_n in (7, 8)),
    *(f"{op} {to}" for op in ("STEP", "PRODUCT", "SUBSTITUTE") for to in ("loop", "out")), "INIT loop",
    *(f"{kind} {cut}" for kind in ("plain", "balanced") for cut in "abs"), "dropped bits", "bootstrap", "one by one",
}  # fmt: skip


@pytest.fixture(scope="module")
def stalling() -> Iterator[Callable[[str], Machine]]:
    """Machines whose memory withholds handshakes at random; the same one each time, freshly reset."""
    opened: dict[str, Machine] = {}

    def get(name: str) -> Machine:
        if name not in opened:
            opened[name] = Simulation(PsiConfig.named(name), optimise="-O1", stall_percent=STALLS)
        opened[name].reset()
        return opened[name]

    yield get
    for sim in opened.values():
        sim.close()


@pytest.fixture
def sim(stalling: Callable[[str], Machine]) -> Machine:
    """The machine as published, freshly reset."""
    return stalling("psi-small")


def code(sim: Machine) -> tuple[int, int]:
    """Code and element of the last error."""
    error = sim.read(Register.ERROR)
    return field("ERROR", "CODE").of(error), field("ERROR", "ELEMENT").of(error)


# ---- results ------------------------------------------------------------------------------------------


def streams(sim: Machine, seeds: Iterable[int], length: int = 30) -> set[str]:
    """Holds streams one after the other, without a reset between them; gives what was among them."""
    met: set[str] = set()
    for seed in seeds:
        case = drawn(sim.config, seed, length)
        if seed % 4 == 3:
            case = by_host(case)
        case.hold(sim, by_queue=seed % 4 == 1)
        met |= case.met
    return met


@pytest.mark.parametrize(
    ("name", "first", "count"),
    [
        ("psi-small", 0, 8),
        ("psi-small-lean", 100, 8),
        *(pytest.param(name, 1000 * (k + 1), 150, marks=pytest.mark.long) for k, name in enumerate(NAMES)),
    ],
)
def test_random_streams(stalling: Callable[[str], Machine], name: str, first: int, count: int) -> None:
    assert streams(stalling(name), range(first, first + count)) == ALL


#: Latency and bytes per cycle of memories: quick, far, thin.
QUICK, FAR, THIN = (8, 64.0), (900, 64.0), (40, 6.0)


@pytest.mark.parametrize(
    ("keys", "rest"),
    [
        (FAR, QUICK), (THIN, QUICK), (QUICK, THIN), (QUICK, (900, 3.0)),
        *(pytest.param(k, r, marks=pytest.mark.long) for k in (QUICK, FAR, THIN) for r in (QUICK, FAR, THIN)),
    ],
)  # fmt: skip
def test_slow_interfaces(
    stalling: Callable[[str], Machine],
    request: pytest.FixtureRequest,
    keys: tuple[int, float],
    rest: tuple[int, float],
) -> None:
    """Keys far away or in drops; operands and results in drops: the machine waits, and loses nothing."""
    long = request.node.get_closest_marker("long") is not None
    for name in NAMES if long else NAMES[:1]:
        sim = stalling(name)
        try:
            interfaces(sim, keys, rest)
            streams(sim, range(200, 220 if long else 202), 20)
        finally:
            interfaces(sim, *[(sim.config.dram_latency, sim.config.dram_bytes_per_cycle)] * 2)


def test_lengths_and_moduli_follow_each_other(stalling: Callable[[str], Machine]) -> None:
    """Rings of both degrees in turn on one machine: each run brings its tables."""
    sim = stalling("psi-small-lean")
    for seed in range(300, 306):
        drawn(sim.config, seed, 12, log_n=7 + seed % 2).hold(sim, by_queue=bool(seed & 2))


def test_units_work_side_by_side(sim: Machine) -> None:
    """Counters tell of what streams are for: all instructions, several inverse transforms at once, digits that wait."""
    interfaces(sim, FAR, QUICK)
    case = drawn(sim.config, 310, 60, log_n=8)
    before = {name: sim.read(at) for name, at in COUNTERS.items()}
    cycles = case.hold(sim)
    told = {name: sim.read(at) - before[name] for name, at in COUNTERS.items()}
    assert told["INSTRUCTIONS"] == sum(c.code is Code.EXEC for c in case.commands)
    assert told["TRANSFORM_CYCLES"] > cycles
    assert 0 < told["KEY_WAITS"] < cycles
    assert 0 < told["IDLE_CYCLES"] < cycles


# ---- ends ---------------------------------------------------------------------------------------------


def ends(sim: Machine, seeds: range) -> None:
    """Runs that end at any moment, by abort, by either reset or by the watchdog; after each
    the next stream is right."""
    rng, early = np.random.default_rng(4), 0
    for seed in seeds:
        case = drawn(sim.config, seed, 20)
        case.place(sim, by_queue=bool(seed & 4))
        moment = int(rng.integers(1, 8000))
        if seed % 4 == 3:
            sim.watch(moment)
        sim.start(QUEUE)
        if sim.advance(moment if seed % 4 != 3 else moment + 20_000):
            assert seed % 4 != 3 or code(sim)[0] in (0, EXPIRED)
            early += code(sim)[0] == EXPIRED
        elif seed % 4 == 2:
            sim.reset()
            early += 1
        else:
            sim.write(Register.COMMAND, field("COMMAND", ("ABORT", "RESET")[seed % 4]).mask)
            assert sim.advance(20_000), "the machine does not come to rest"
            assert code(sim)[0] in (0, ABORTED)
            early += code(sim)[0] == ABORTED
        sim.watch(0)
        drawn(sim.config, seed + 50_000, 6).hold(sim)
    assert early > len(seeds) // 2, "most runs had ended before"


@pytest.mark.parametrize(
    ("name", "count"), [("psi-small", 8), *(pytest.param(name, 200, marks=pytest.mark.long) for name in NAMES)]
)
def test_ends_at_any_moment(stalling: Callable[[str], Machine], name: str, count: int) -> None:
    ends(stalling(name), range(400, 400 + count))


def without(case: Stream, what: str, at: int) -> int:
    """Takes a page out of a stream's memory; returns the port at which that shows."""
    if what == "keys":
        # Nothing is left of the keys from here on; the lowest instruction may name less.
        case.pieces[KEYS] = case.pieces[KEYS][:512].copy()
        return 0
    address = {"input": INPUTS, "table": TABLE}[what]
    words = case.pieces.pop(address)
    if what == "input" and at:
        case.pieces[address] = words[: 512 * at].copy()
    return 1


@pytest.mark.parametrize("what", ["keys", "input", "table", "output", "queue"])
def test_bus_errors(sim: Machine, what: str) -> None:
    """Memory that ends: the run ends with the port's error, whatever else is under way, and the next one is right."""
    for seed in range(500, 502):
        case = drawn(sim.config, seed, 16)
        if what in ("keys", "input", "table"):
            port = without(case, what, seed % 2)
            case.place(sim)
        else:
            port = 1
            case.place(sim)
            sim.unmap_all()
            for address, words in case.pieces.items():
                sim.map(address, words)
            if what == "output":
                sim.map(QUEUE, np.array([c.word for c in case.commands] + [0] * 16, np.uint64))
            else:
                sim.map(QUEUE, np.array([c.word for c in case.commands[:8]], np.uint64))
                sim.map(OUTPUTS, np.zeros(512 * case.results, np.uint64))
        with pytest.raises(HardwareError, match=f"port {port}"):
            sim.run(QUEUE, silence=SILENCE)
        assert code(sim) == (BUS, port)
        drawn(sim.config, seed + 50, 6).hold(sim)


BAD = {
    "gate 6": execute(init(5, 0, 0) + (1 << 27)),
    "gate 7": execute(init(5, 0, 0) + (2 << 27)),
    "b of 2^10 - 1": execute(init(0, 1023, 0)),
    "even element": execute(substitution(0)),
    "element of 2N and more": execute(substitution(1)),
    "command 9": 9 << 60,
    "bits above an instruction": execute(product(0)).word | 1 << 33,
    "address inside a page": Command(Code.INPUT, INPUTS + 64).word,
    "no such register": Command(Code.SET, 0xFFC, 0).word,
    "END with an operand": 1,
}


@pytest.mark.parametrize("what", BAD)
def test_illegal_at_any_moment(sim: Machine, what: str) -> None:
    """A word that is not legal, in the midst of a stream: the run ends with the reason, and the next one is right."""
    rng = np.random.default_rng(6)
    for seed in (600, 601):
        case = drawn(sim.config, seed, 16)
        while case.settings.log_lwe == 10:
            case = drawn(sim.config, seed := seed + 10, 16)
        case.place(sim)
        subst = min(a for n, a in addresses().items() if n.startswith("SUBST_"))
        sim.write(subst, 2)
        sim.write(subst + 4, 2 << case.settings.log_n | 1)
        words = [c.word for c in case.commands]
        # Between the table and END.
        bad = BAD[what]
        words.insert(int(rng.integers(1, len(words))), bad.word if isinstance(bad, Command) else bad)
        sim.map(QUEUE + 0x10_0000, np.array(words + [0] * 16, np.uint64))
        with pytest.raises(HardwareError):
            sim.run(QUEUE + 0x10_0000, silence=SILENCE)
        # Entries 0 and 1 of the table are not what they were: the stream may meet them first.
        wanted = {2} if isinstance(bad, Command) else {2, 3}
        assert code(sim)[0] in wanted
        drawn(sim.config, seed + 50, 6).hold(sim)


def test_settings_of_another_program(sim: Machine) -> None:
    """Keys, operands and tables that were made for another modulus: the run ends, with whatever results."""
    for seed in (700, 702, 704):
        case, other = (drawn(sim.config, s, 12, log_n=7) for s in (seed, seed + 1))
        case.place(sim)
        for address, value in other.settings.registers(sim.config).items():
            sim.write(address, value)
        sim.write(min(case.settings.registers(sim.config)), case.settings.bootstrap | 2)
        sim.run(QUEUE, silence=SILENCE)
        case.hold(sim)
