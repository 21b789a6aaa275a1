# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The streaming accelerator's instructions and programs in the interpreter, against the library."""

from __future__ import annotations

import random
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from ringforge import _native
from ringforge._native import fhew, psi
from ringforge.devices import Progress
from ringforge.errors import FormatError, HardwareError, MissingKeyError, ParameterError
from ringforge.gates.kinds import GateKind
from ringforge.hw.core.registers import own
from ringforge.hw.core.small_ring import Gadget, Ring
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.gates import GinxMachine
from ringforge.hw.machines.psi_wide.kernels import _Lookups
from ringforge.hw.machines.psi_wide.layout import Setup, ciphertexts, image, plain, plain_rows
from ringforge.hw.machines.psi_wide.lookup import LookupMachine
from ringforge.hw.machines.psi_wide.program import Beside, Instruction, Op, Program, Take, Times
from ringforge.hw.machines.psi_wide.runner import Executor, Interpreted, Memory, load_tables
from ringforge.psi.kernels import LookupKernel
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
    algorithm: str = "ringforge",
) -> psi.Plan:  # fmt: skip
    bits = modulus.bit_length()
    third, half = fhew.Cut(-(-bits // 3), 3), fhew.Cut(-(-bits // 2), 2)
    expansion = [third, half] * (log_n // 2) + [third] * (log_n % 2)
    return psi.Plan(
        algorithm, log_n, modulus, log_bins, cell_bits, log_cell, 3, log_onehot, fhew.Cut(9, 2, bits - 18), expansion,
        half, 13, "a test",
    )  # fmt: skip


def run_lookup(plan: psi.Plan, config: WideConfig, executor: Executor, *, ones: bool = False) -> int | None:
    """A query on a random table, on a machine and by the library: the reply's bytes are equal. Returns cycles.

    Args:
        ones: all words are 1, so that monomials are fewer than rows.
    """
    rng = np.random.default_rng(3)
    client = psi.ClientKey(plan, seed(1))
    keys = psi.SessionKeys(plan, client.evaluation_keys())
    counts = rng.integers(1, 9, plan.bins)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)
    cells = np.concatenate([np.sort(rng.choice(plan.cells, c, replace=False)) for c in counts]).astype(np.uint32)
    words = rng.integers(0, 1 << plan.log_t, (len(cells), plan.cell_words)).astype(np.uint16)
    if ones:
        words[:] = 1
    request = client.query(cells[offsets[:-1].astype(np.int64)].copy())
    want = psi.evaluate(keys, request, psi.Table(plan, offsets, cells, words), fixed_seed_for_tests=seed(9))
    machine = LookupMachine(config, keys, executor)
    results = machine.results(request, Arrays(offsets, cells, words, np.zeros(0, np.uint16)))
    assert psi.seal_reply(keys, np.ascontiguousarray(results), fixed_seed_for_tests=seed(9)) == want
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


@pytest.mark.parametrize(("log_bins", "cell_bits", "log_cell", "log_onehot"), [(2, 12, 0, 2), (1, 11, 1, 0)])
def test_lookups_by_monomials_are_those_of_the_library(log_bins, cell_bits, log_cell, log_onehot):
    plan = lookup_plan(8, SMALL_PRIME, log_bins, cell_bits, log_cell, log_onehot)
    executor = Counting()
    run_lookup(plan, WideConfig.named("psi-wide-small"), executor, ones=True)
    monomials = [i.s1 for i in executor.program.instructions if i.op == Op.CELLS]
    assert not any(i.op == Op.PLAIN for i in executor.program.instructions)
    # As many for every bin, whatever it holds.
    assert sum(monomials) % plan.bins == 0
    assert sum(monomials) // plan.bins <= 8 * plan.cell_words


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
    with pytest.raises(ParameterError, match="key rows"):
        LookupMachine(small.model_copy(update={"key_rows": 16}), keys, Interpreted())


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


def test_queries_beyond_the_simulated_memory_are_refused() -> None:
    device = SimpleNamespace(config=WideConfig.named("psi-wide-54"))
    modulus = 18014398509404161
    _Lookups().check(device, LookupKernel(lookup_plan(11, modulus, 12, 20, 0, 5)))
    with pytest.raises(ParameterError, match="fewer bins"):
        _Lookups().check(device, LookupKernel(lookup_plan(11, modulus, 14, 20, 0, 5)))
