# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The streaming accelerator's instructions and programs in the interpreter, against the library."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest

from ringforge import _native
from ringforge._native import fhew, psi
from ringforge.devices import KeySet, Progress, conformance, open_device
from ringforge.errors import Error, FormatError, HardwareError, MissingKeyError, ParameterError
from ringforge.gates.kernels import AccumulateKernel, GateLevelKernel
from ringforge.gates.kinds import GateKind
from ringforge.hw.core.device import RtlDevice
from ringforge.hw.core.registers import own
from ringforge.hw.core.small_ring import Gadget, Ring
from ringforge.hw.machines.psi_wide import kernels as wide_kernels
from ringforge.hw.machines.psi_wide.batches import chains, substitution_setup, substitutions
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.gates import GinxMachine, Level
from ringforge.hw.machines.psi_wide.layout import Setup, Words, ciphertexts, image, plain, plain_rows
from ringforge.hw.machines.psi_wide.leaves import Leaves, row_bytes
from ringforge.hw.machines.psi_wide.lookup import LookupMachine
from ringforge.hw.machines.psi_wide.lookup import checked as checked_lookup
from ringforge.hw.machines.psi_wide.program import Beside, Instruction, Op, Program, Take, Times
from ringforge.hw.machines.psi_wide.runner import Executor, Interpreted, Memory, load_tables
from ringforge.psi.kernels import LookupKernel, LookupKeys, LookupTable, SubstitutionKernel
from ringforge.psi.table import Arrays
from tests.hw.wide_programs import GADGETS, case, with_monomials

SMALL_PRIME = 134215681  # 27 bits, 1 modulo 2^11


def seed(number: int) -> _native.TestSeed:
    return _native.TestSeed(bytes([number]) * 32)


class Counting(Interpreted):
    """Keeps the last program."""

    program: Program

    def run(self, setup: Setup, program: Program, memory: Memory, progress: Progress | None = None) -> int | None:
        self.program = program
        return super().run(setup, program, memory, progress)


@cache
def gate_key(name: str, method: fhew.Method = fhew.Method.GINX) -> tuple[fhew.SecretKey, fhew.EvaluationKey]:
    secret = fhew.SecretKey(fhew.parameters(name, "" if name == "gates-128" else "a test"), seed(5))
    return secret, fhew.EvaluationKey.make(secret, method)


def run_gates(name: str, config: WideConfig, executor: Executor, steps: int, gates: int) -> float | None:
    """NANDs whose LWE ciphertexts end after `steps` numbers, on a machine and by the library; cycles a product."""
    secret, key = gate_key(name)
    machine = GinxMachine(config, key, steps=steps)
    wires = np.zeros((3 * gates, secret.params.n + 1), np.uint32)
    wires[: 2 * gates] = secret.encrypt(np.random.default_rng(1).integers(0, 2, 2 * gates).astype(np.uint8))
    wires[:, steps : secret.params.n] = 0
    sources = np.full((gates, 3), -1, np.int32)
    sources[:, 0], sources[:, 1] = np.arange(gates), gates + np.arange(gates)
    targets = np.arange(2 * gates, 3 * gates, dtype=np.int32)
    kinds = np.full(gates, int(GateKind.NAND), np.uint8)
    want, got, levels = wires.copy(), wires.copy(), []
    fhew.evaluate(key, kinds, sources, want, targets)
    fhew.evaluate(key, kinds, sources, got, targets, rotate=lambda a, e: levels.extend(machine.rotate(executor, a, e)))
    np.testing.assert_array_equal(got, want)
    assert want[2 * gates :].any()
    cycles = [level.cycles for level in levels if level.cycles is not None]
    return sum(cycles) / sum(level.products for level in levels) if cycles else None


def lookup_plan(
    log_n: int, modulus: int, log_bins: int, cell_bits: int, log_cell: int, log_onehot: int,
    algorithm: str = "ringforge", log_t: int = 3,
) -> psi.Plan:  # fmt: skip
    bits = modulus.bit_length()
    third, half = fhew.Cut(-(-bits // 3), 3), fhew.Cut(-(-bits // 2), 2)
    expansion = [third, half] * (log_n // 2) + [third] * (log_n % 2)
    return psi.Plan(
        algorithm, log_n, modulus, log_bins, cell_bits, log_cell, log_t, log_onehot, fhew.Cut(9, 2, bits - 18),
        expansion, half, 10 + log_t, "a test",
    )  # fmt: skip


def random_table(plan: psi.Plan, number: int = 3, *, ones: bool = False) -> Arrays:
    """1 to 8 cells in each bin.

    Args:
        ones: all words are 1.
    """
    rng = np.random.default_rng(number)
    counts = rng.integers(1, 9, plan.bins)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)
    cells = np.concatenate([np.sort(rng.choice(plan.cells, c, replace=False)) for c in counts]).astype(np.uint32)
    words = rng.integers(0, 1 << plan.log_t, (len(cells), plan.cell_words)).astype(np.uint16)
    if ones:
        words[:] = 1
    return Arrays(offsets, cells, words, np.zeros(0, np.uint16))


def run_lookup(
    plan: psi.Plan, config: WideConfig, executor: Executor, table: Arrays | None = None, most: int | None = None
) -> int | None:
    """A query on a table, on a machine and by the library: the reply's bytes are equal. Returns cycles.

    Args:
        table: a random one if None is given. most: cells of a bin at most, as everybody knows.
    """
    table = table or random_table(plan)
    client = psi.ClientKey(plan, seed(1))
    keys = psi.SessionKeys(plan, client.evaluation_keys())
    first = np.minimum(table.offsets[:-1].astype(np.int64), max(len(table.cells) - 1, 0))
    request = client.query(table.cells[first].copy() if len(table.cells) else np.zeros(plan.bins, np.uint32))
    native = psi.Table(plan, table.offsets, table.cells, table.words)
    want = psi.evaluate(keys, request, native, fixed_seed_for_tests=seed(9))
    machine = LookupMachine(config, keys, executor)
    results = machine.results(request, Leaves(config, plan, table, most))
    assert psi.seal_reply(keys, np.ascontiguousarray(results), fixed_seed_for_tests=seed(9)) == want
    counts = plan.counts()
    for name, count in machine.operations.items():
        assert getattr(counts, name, count) == count, name
    return machine.cycles


def test_instructions_are_what_they_were_before_encoding():
    rng = random.Random(1)
    for _ in range(200):
        given = Instruction(
            rng.choice(list(Op)), rng.choice(list(Take)), rng.choice(list(Times)), rng.randrange(256), rng.randrange(9),
            rng.randrange(4096), rng.randrange(4096), rng.randrange(16), rng.randrange(16), rng.random() < 0.5,
            rng.random() < 0.5, rng.random() < 0.5, rng.choice(list(Beside)), rng.random() < 0.5, rng.random() < 0.5,
            rng.randrange(256), rng.randrange(256), rng.randrange(256), rng.randrange(1 << 40),
        )  # fmt: skip
        assert Instruction.decode(given.encode()) == given


def test_instructions_that_are_none():
    with pytest.raises(ParameterError, match="power of an instruction is 4096"):
        Instruction(Op.LINEAR, power=4096).encode()
    with pytest.raises(FormatError, match="no instruction"):
        Instruction.decode(15)
    with pytest.raises(ParameterError, match="no multiple of 64"):
        Program().load(0x1008, first=0)


@pytest.mark.parametrize("name", WideConfig.names())
def test_layouts_are_inverses(name):
    config, rng = WideConfig.named(name), np.random.default_rng(1)
    for log_n in (config.min_log_n, config.max_log_n):
        given = rng.integers(0, 1 << 18, (3, 2, 1 << log_n)).astype(np.uint64)
        words = image(config, given)
        assert words.nbytes == 3 * config.rlwe_bytes(log_n)
        np.testing.assert_array_equal(ciphertexts(config, words, log_n), given)
        rows = rng.integers(0, 1 << 16, (2, 1 << log_n))
        np.testing.assert_array_equal(plain_rows(config, plain(config, rows), log_n), rows)
    # A line is of a, then of b, at the same places.
    line = words.view(config.word_type)[2 * config.lanes :]
    np.testing.assert_array_equal(line[: config.lanes], given[0, 0, config.lanes : 2 * config.lanes])
    np.testing.assert_array_equal(line[config.lanes : 2 * config.lanes], given[0, 1, config.lanes : 2 * config.lanes])


@pytest.mark.parametrize(("name", "steps", "gates"), [("gates-128", 6, 3), ("paper-medium", 4, 2)])
def test_gates_are_those_of_the_library(name, steps, gates):
    assert run_gates(name, WideConfig.named("psi-wide"), Interpreted(), steps, gates) is None


@pytest.mark.parametrize(
    ("log_bins", "cell_bits", "log_cell", "log_onehot"), [(1, 11, 0, 1), (2, 9, 1, 0), (2, 8, 2, 1), (0, 9, 0, 1)]
)
def test_lookups_are_those_of_the_library(log_bins, cell_bits, log_cell, log_onehot):
    plan = lookup_plan(8, SMALL_PRIME, log_bins, cell_bits, log_cell, log_onehot)
    assert run_lookup(plan, WideConfig.named("psi-wide-small"), Interpreted()) is None


def tables(plan: psi.Plan) -> list[Arrays]:
    """Nothing; cells of one leaf, as many as the fullest of the random ones has; random ones; full words."""

    def bins_of(cells: list[int], word: int) -> Arrays:
        every = np.tile(np.array(cells, np.uint32), plan.bins)
        offsets = np.arange(plan.bins + 1, dtype=np.uint64) * np.uint64(len(cells))
        words = np.full((len(every), plan.cell_words), word, np.uint16)
        return Arrays(offsets, every, words, np.zeros(0, np.uint16))

    return [bins_of([], 1), bins_of(list(range(8)), 1), random_table(plan, ones=True), random_table(plan, 4)]


@pytest.mark.parametrize(
    ("log_bins", "cell_bits", "log_cell", "log_onehot", "log_t", "most"),
    [(2, 12, 0, 4, 1, 8), (1, 10, 1, 2, 3, 8), (1, 11, 0, 3, 1, 8), (1, 10, 0, 1, 3, None)],
)
def test_instructions_do_not_tell_what_a_table_holds(log_bins, cell_bits, log_cell, log_onehot, log_t, most):
    plan = lookup_plan(8, SMALL_PRIME, log_bins, cell_bits, log_cell, log_onehot, log_t=log_t)
    found, sums = set(), set()
    for table in tables(plan):
        executor = Counting()
        run_lookup(plan, WideConfig.named("psi-wide-small"), executor, table, most)
        found.add(executor.program.words().tobytes())
        sums |= {(i.op, i.s1) for i in executor.program.instructions if i.op in (Op.PLAIN, Op.CELLS)}
    # Addresses too.
    assert len(found) == 1
    # Monomials where a leaf has room for a whole bin, of words that are 1 at most.
    by_monomials = most is not None and log_t == 1 and most < 1 << log_onehot
    assert sums == ({(Op.CELLS, most)} if by_monomials else {(Op.PLAIN, 1 << log_onehot)})


def test_a_bin_that_is_fuller_than_everybody_knows_is_refused() -> None:
    plan = lookup_plan(8, SMALL_PRIME, 1, 11, 0, 3, log_t=1)
    config, table = WideConfig.named("psi-wide-small"), tables(plan)[1]
    Leaves(config, plan, table, 8)
    with pytest.raises(ParameterError, match="build the table again"):
        Leaves(config, plan, table, 7)


@pytest.mark.parametrize("shape", [(2, 10, 0, 1), (0, 9, 2, 0), (3, 11, 0, 0)])
def test_no_more_slots_are_needed_than_a_machine_is_asked_for(shape):
    plan = lookup_plan(8, SMALL_PRIME, *shape)
    config = WideConfig.named("psi-wide-small")
    places = checked_lookup(config, plan)[1]
    run_lookup(plan, config.model_copy(update={"slots": places.slots}), Interpreted())
    run_lookup(plan, config.model_copy(update={"key_rows": places.rows}), Interpreted())


def test_look_ups_report_and_stop() -> None:
    plan = lookup_plan(8, SMALL_PRIME, 1, 9, 0, 0)
    client, seen = psi.ClientKey(plan, seed(1)), list[float]()
    keys = psi.SessionKeys(plan, client.evaluation_keys())
    machine = LookupMachine(WideConfig.named("psi-wide-small"), keys, Interpreted())
    request = client.query(np.zeros(plan.bins, np.uint32))
    leaves = Leaves(machine.config, plan, random_table(plan), None)
    machine.results(request, leaves, progress=seen.append)
    assert seen == [0.0] * plan.bins + [1.0]
    with pytest.raises(Error, match="cancelled"):
        machine.results(request, leaves, progress=lambda _: False)
    with pytest.raises(FormatError):
        machine.results(request[:-1], leaves)


class Touched:
    """Leaves of a table that notes what is asked of them."""

    def __init__(self, leaves: Leaves) -> None:
        self.leaves, self.asked = leaves, list[int]()

    @property
    def monomials(self) -> int:
        return self.leaves.monomials

    def words(self, index: int) -> Words:
        self.asked.append(index)
        return self.leaves.words(index)


def test_a_query_reads_nothing_of_a_table_but_its_leaves() -> None:
    """Which are laid out once, of one size for all tables, and shared by the sessions of a table."""
    plan = lookup_plan(8, SMALL_PRIME, 2, 12, 0, 4, log_t=1)
    config, sizes = WideConfig.named("psi-wide-small"), set()
    client = psi.ClientKey(plan, seed(1))
    data = client.evaluation_keys()
    keys, request = psi.SessionKeys(plan, data), client.query(np.zeros(plan.bins, np.uint32))
    for arrays in tables(plan):
        touched = Touched(Leaves(config, plan, arrays, 8))
        sizes.add(touched.leaves.nbytes)
        for field in (arrays.offsets, arrays.cells, arrays.words):
            field[:] = 0
        LookupMachine(config, keys, Counting()).results(request, touched)  # type: ignore[arg-type]
        assert sorted(touched.asked) == list(range(plan.bins))
    assert sizes == {row_bytes(plan, 8)}
    device, given = open_device("rtl:psi-wide-small"), KeySet(own=(LookupKeys(data),))
    table, other = (LookupTable(plan, random_table(plan), 8) for _ in range(2))
    seen: list[float] = []
    first = device.prepare(LookupKernel(plan), given, table, progress=lambda x: seen.append(x) or True)
    assert first.storage == plan.session_bytes + row_bytes(plan, 8)
    assert len(seen) >= plan.bins
    assert device.prepare(LookupKernel(plan), given, table).state[1] is first.state[1]
    assert device.prepare(LookupKernel(plan), given, other).state[1] is not first.state[1]
    with pytest.raises(Error, match="cancelled"):
        device.prepare(LookupKernel(plan), given, LookupTable(plan, random_table(plan)), progress=lambda _: False)


def test_tables_that_do_not_fit_are_refused_for_what_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Monomials take less than rows: the same plan fits with a bound, and not without."""
    plan = lookup_plan(8, SMALL_PRIME, 2, 12, 0, 4, log_t=1)
    device = open_device("rtl:psi-wide-small")
    given = KeySet(own=(LookupKeys(psi.ClientKey(plan, seed(1)).evaluation_keys()),))
    assert row_bytes(plan, None) == row_bytes(plan, 8) << plan.log_onehot
    monkeypatch.setattr(wide_kernels, "MAX_ROW_BYTES", row_bytes(plan, None) - 1)
    device.check(LookupKernel(plan, 8))
    with pytest.raises(ParameterError, match="fewer bins or cells"):
        device.check(LookupKernel(plan, 1 << plan.log_onehot))
    device.prepare(LookupKernel(plan), given, LookupTable(plan, random_table(plan), 8))
    with pytest.raises(ParameterError, match="fewer bins or cells"):
        device.prepare(LookupKernel(plan), given, LookupTable(plan, random_table(plan)))


def test_loads_are_moved_only_where_nothing_needs_them() -> None:
    program, size = Program(), 4096
    program.load(0, first=1)
    program.load(size, first=2)
    program.product(1, row=3, gadgets=(0,), target=1)
    program.load(2 * size, first=3, to_row=True)
    program.load(3 * size, first=5, to_row=True)
    program.product(4, row=0, gadgets=(0,), target=4)
    program.load(4 * size, first=6)
    program.store(4 * size, first=4)
    program.load(5 * size, first=7, fence=True)
    program.load(6 * size, first=8)
    program.loads_late(1, [4], size, 1)
    found = [(i.op.name, i.target) for i in program.instructions]
    # Row 3 is read by the second product, and what slot 6 gets is overwritten in memory.
    assert found == [
        ("LOAD", 1), ("PRODUCT", 1), ("LOAD", 2), ("LOAD", 3), ("PRODUCT", 4), ("LOAD", 5), ("LOAD", 6), ("STORE", 4),
        ("LOAD", 7), ("LOAD", 8),
    ]  # fmt: skip


def chained(params: fhew.GateParameters, key: fhew.EvaluationKey, count: int, length: int) -> list[Level]:
    """Chains on the interpreter and by the library."""
    rng = np.random.default_rng(1)
    dtype = np.uint32 if params.modulus < 1 << 31 else np.uint64
    accumulators = rng.integers(0, params.modulus, (count, 2, 1 << params.log_n)).astype(dtype)
    indices = rng.integers(0, params.n * params.ap_digits * params.ap_base, (count, length)).astype(np.uint32)
    indices[0, 0] -= indices[0, 0] % params.ap_base
    kernel, keys, cpu = AccumulateKernel(params, count, length), KeySet(own=(key,)), open_device("cpu")
    (want,), _ = cpu.run(cpu.prepare(kernel, keys), [accumulators, indices])
    config = WideConfig.named("psi-wide-small" if params.log_n < 9 else "psi-wide")
    made, levels = chains(config, key, Interpreted(), accumulators, indices)
    np.testing.assert_array_equal(made, want)
    assert sum(level.products for level in levels) == np.count_nonzero(indices % params.ap_base)
    return levels


def test_chains_are_those_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    secret, key = gate_key("gates-toy", fhew.Method.AP)
    assert len(chained(secret.params, key, 3, 5)) == 1
    # Keys that are too many for one run come in parts, and so do more chains than there are slots.
    monkeypatch.setattr("ringforge.hw.machines.psi_wide.batches._KEY_ROOM", 1 << 16)
    assert len(chained(secret.params, key, 130, 2)) == 4


@pytest.mark.long
def test_conformance_on_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    conformance.import_kernels()
    device = RtlDevice("psi-wide-small")
    monkeypatch.setattr("ringforge.hw.machines.psi_wide.kernels._Turns", lambda _: Interpreted())
    for _, check in conformance.checks(device):
        check()


@pytest.mark.parametrize(("element", "batch"), [(5, 3), (257, 1), (511, 130)])
def test_substitutions_are_those_of_the_library(element: int, batch: int) -> None:
    config, cut = WideConfig.named("psi-wide-small"), fhew.Cut(9, 3, 0, True)
    key = fhew.SubstitutionKey.make(fhew.RingSecret(SMALL_PRIME, 8, seed(2)), element, cut)
    given = np.random.default_rng(element).integers(0, SMALL_PRIME, (batch, 2, 256)).astype(np.uint32)
    kernel, cpu = SubstitutionKernel(8, SMALL_PRIME, element, cut, batch), open_device("cpu")
    (want,), _ = cpu.run(cpu.prepare(kernel, KeySet(own=(key,))), [given])
    setup, seen = substitution_setup(config, SMALL_PRIME, 8, element, cut), list[float]()
    rows = np.array(key.rows(), np.uint64)
    made, levels = substitutions(config, setup, Interpreted(), given, element, rows, seen.append)
    np.testing.assert_array_equal(made, want)
    assert sum(level.products for level in levels) == batch
    assert seen == sorted(seen)
    assert seen[-1] == 1


@pytest.mark.long
def test_lookups_of_several_groups_are_those_of_the_library():
    plan = lookup_plan(8, SMALL_PRIME, 9, 8, 0, 0)
    run_lookup(plan, WideConfig.named("psi-wide-small"), Interpreted())


def test_what_a_machine_does_not_take():
    small, wide = WideConfig.named("psi-wide-small"), WideConfig.named("psi-wide")
    secret, _ = gate_key("gates-128")
    with pytest.raises(MissingKeyError, match="method ginx"):
        GinxMachine(wide, fhew.EvaluationKey.make(secret, fhew.Method.AUTOMORPHISM))
    with pytest.raises(ParameterError, match=r"degrees 2\^8 to 2\^9"):
        GinxMachine(small, gate_key("gates-128")[1])
    with pytest.raises(ParameterError, match="primes of 20 to 27 bits"):
        small.check_ring(12289, 8)
    with pytest.raises(ParameterError, match="cuts 27 bits"):
        small.check_gadget(Gadget(9, 2), SMALL_PRIME)
    with pytest.raises(ParameterError, match="16 entries"):
        Setup(Ring.of(SMALL_PRIME, 8), GADGETS * 3).check(small)
    plan = lookup_plan(8, SMALL_PRIME, 1, 11, 0, 3)
    keys = psi.SessionKeys(plan, psi.ClientKey(plan, seed(1)).evaluation_keys())
    with pytest.raises(ParameterError, match=r"key rows.*device cpu"):
        LookupMachine(small.model_copy(update={"key_rows": 16}), keys, Interpreted())


@pytest.mark.parametrize("log_n", [8, 9])
def test_plans_in_small_rings_need_a_reason(log_n: int) -> None:
    given = lookup_plan(log_n, SMALL_PRIME, 1, 9, 0, 0)
    expansion, cut = list(given.expansion), given.gadget
    shape = (log_n, SMALL_PRIME, 1, 9, 0, 3, 0, cut, expansion, given.reconstruction, 13)
    assert psi.Plan("ringforge", *shape, "a test").insecure == "a test"
    with pytest.raises(ParameterError, match="state a reason"):
        psi.Plan("ringforge", *shape)


def _cut(log_base: int, count: int, drop: int = 0) -> fhew.Cut:
    return fhew.Cut(log_base, count, drop, True)


@pytest.mark.parametrize(
    ("name", "kernel", "message"),
    [
        ("psi-wide-54", LookupKernel(lookup_plan(8, SMALL_PRIME, 1, 9, 0, 0)), r"2\^8: take rtl:psi-wide-small or"),
        ("psi-wide-54", LookupKernel(lookup_plan(9, SMALL_PRIME, 1, 9, 0, 0)), "rtl:psi-wide or rtl:psi-wide-small or"),
        ("psi-wide-small", LookupKernel(lookup_plan(8, SMALL_PRIME, 1, 9, 0, 0, "paper")), "--algorithm ringforge"),
        ("psi-wide", LookupKernel(lookup_plan(9, SMALL_PRIME, 1, 11, 0, 1)), "slots, and the plan needs"),
        (
            "psi-wide-small",
            LookupKernel(lookup_plan(8, SMALL_PRIME, 1, 13, 0, 5)),
            "slots, and the plan needs|key rows",
        ),
        ("psi-wide", GateLevelKernel(fhew.parameters("gates-128"), fhew.Method.AP), "method ginx"),
        ("psi-wide-small", GateLevelKernel(fhew.parameters("gates-128")), "degree up to 512"),
        ("psi-wide-small", AccumulateKernel(fhew.parameters("gates-128"), 1, 1), "degree up to 512"),
        ("psi-wide-small", SubstitutionKernel(8, SMALL_PRIME, 4, _cut(9, 3), 1), "odd number"),
        ("psi-wide-small", SubstitutionKernel(8, SMALL_PRIME, 5, _cut(9, 2), 1), "choose other digits"),
        ("psi-wide-small", SubstitutionKernel(8, SMALL_PRIME, 5, _cut(14, 3), 1), "choose other digits"),
    ],
)
def test_kernels_that_do_not_fit_are_refused_with_a_remedy(name: str, kernel: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        RtlDevice(name).check(kernel)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"min_log_n": 9, "max_log_n": 11}, "one less"),
        ({"lanes": 32}, "32 lines"),
        ({"polys": 6}, "power of two"),
        ({"slots": 96}, "power of two"),
        ({"ports": 2}, "1 port"),
    ],
)
def test_configurations_that_are_none(change, message):
    values = WideConfig.named("psi-wide-small").model_dump()
    with pytest.raises(ValueError, match=message):
        WideConfig.model_validate(values | change)


def test_the_interpreter_refuses_what_the_machine_refuses():
    config = WideConfig.named("psi-wide-small")

    def refused(message: str, *, tables: bool = True, **given: object) -> None:
        setup, memory, program = Setup(Ring.of(SMALL_PRIME, 8), GADGETS), Memory(config), Program()
        if tables:
            load_tables(program, memory, setup)
        source = memory.put(image(config, np.zeros((4, 2, 256), np.uint64)))
        program.load(source, first=0, count=2)
        program.load(source, first=0, count=4, to_row=True)
        program.instructions.append(Instruction(**({"op": Op.PRODUCT, "element": 1} | given)))
        with pytest.raises(HardwareError, match=message):
            Interpreted().run(setup, program, memory)

    refused("never written: slot 5", s1=5)
    refused("never written: key row 4", row=3)
    refused("no slot 130", s1=130)
    refused("no place 128", op=Op.LINEAR, to_row=True, target=128)
    refused("even element", element=2)
    refused("gadget without digits", gadget_a=9)
    refused("b beside digits", both=True, beside=Beside.B)
    refused("count of 0", op=Op.STORE)
    refused("FORWARD was not loaded", tables=False)
    refused("count of 0", op=Op.CELLS, s1=1)
    refused("129 monomials, but a row of numbers holds 128", op=Op.CELLS, s1=129, s2=1)
    refused("no key row 128", op=Op.CELLS, s1=1, s2=3, row=126)


@pytest.mark.parametrize("row", [2, 3, 255, 256, 1 << 15])
@pytest.mark.parametrize("at", [0, 1, 6])
def test_monomials_that_name_no_key_row_are_refused(row, at):
    config = WideConfig.named("psi-wide-small")
    given = with_monomials(config, SMALL_PRIME, 8, [0] * at + [row])
    with pytest.raises(HardwareError, match=f"names key row {row} of 2"):
        Interpreted().run(given.setup, given.program, given.memory)


def test_loads_of_what_was_stored_need_a_fence():
    config = WideConfig.named("psi-wide-small")
    for fence in (True, False):
        given = case(config, SMALL_PRIME, 8, 1, 0)
        address = given.memory.reserve(config.rlwe_bytes(8))
        given.program.store(address, first=0)
        given.program.load(address, first=1, fence=fence)
        if fence:
            Interpreted().run(given.setup, given.program, given.memory)
        else:
            with pytest.raises(HardwareError, match="no fence"):
                Interpreted().run(given.setup, given.program, given.memory)


def test_registers_have_the_fields_of_the_setup():
    config = WideConfig.named("psi-wide-small")
    setup = Setup(Ring.of(SMALL_PRIME, 8), [Gadget(8, 2, 11)], 77)
    names = {e.address: e.name for e in own(config.room / "registers.json").entries}
    writes = setup.writes(config, 9)
    # The last entries of the table of gadgets have no digits.
    assert [value for address, value in writes if names[address] == "GADGET"][1:] == [i << 28 for i in range(1, 16)]
    found = {names[address]: value for address, value in writes[:-15]}
    want = {"Q": SMALL_PRIME, "LOG_N": 8, "SHIFT": 0, "SCALAR": 77, "INSTRUCTIONS": 9}
    want |= {"GADGET": 8 | 2 << 8 | 11 << 16 | 1 << 24, "OFFSET": (1 << 10) + (1 << 18) + (1 << 26)}
    assert {name: found[name] for name in want} == want
