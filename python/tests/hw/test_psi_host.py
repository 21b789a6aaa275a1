# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The host's side of the FHEW accelerator: what lies in memory, what instructions mean, and what is refused.

The reference interpreter is held against the processor's kernels here; RTL is held against it in test_psi_device.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ringforge import _native
from ringforge._native import fhew, kernels
from ringforge.arrays import aligned_copy
from ringforge.errors import FormatError, HardwareError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.hw.core.dram import Dram
from ringforge.hw.core.small_ring import Gadget, Ring, multiplied
from ringforge.hw.machines.psi.config import PsiConfig
from ringforge.hw.machines.psi.executors import Interpreted
from ringforge.hw.machines.psi.interpreter import Interpreter
from ringforge.hw.machines.psi.job import (
    Job,
    KeyMemory,
    bootstraps_job,
    chains_job,
    products_job,
    substitutions_job,
)
from ringforge.hw.machines.psi.layout import ciphertexts, image
from ringforge.hw.machines.psi.measure import Query, lookup_plan
from ringforge.hw.machines.psi.pipeline import gate_settings
from ringforge.hw.machines.psi.program import (
    Code,
    Command,
    Commands,
    Instruction,
    Op,
    init,
    product,
    queue,
    step,
    substitution,
)
from ringforge.hw.machines.psi.runtime import ap_indices
from ringforge.hw.machines.psi.settings import Settings, addresses, bounds

SMALL = PsiConfig.named("psi-small")
LOG_N, Q = 8, 134215681
RING = Ring.of(Q, LOG_N)
CUT = Gadget(9, 3)
SETTINGS = Settings(LOG_N, Q, CUT, CUT, CUT)
RNG = np.random.default_rng(18)

RINGS = [
    (Q, 8, 32, Gadget(9, 3, 0, False)),
    (Q, 10, 32, Gadget(9, 3)),
    (67104769, 10, 32, Gadget(6, 2, 14)),
    (137438822401, 11, 64, Gadget(13, 3, 0, False)),
    (0x3FFFFFFFFED001, 11, 64, Gadget(9, 6)),
]


def random(q: int, *shape: int) -> Any:
    """Residues, the largest among them."""
    x = RNG.integers(0, q, shape, dtype=np.uint64)
    x[..., 0] = q - 1
    return x


# ---- the ring and memory ----------------------------------------------------------------------------


@pytest.mark.parametrize(("q", "log_n", "word", "gadget"), RINGS, ids=lambda x: str(x))
def test_ring_is_the_librarys(q: int, log_n: int, word: int, gadget: Gadget) -> None:
    ring, x, y = Ring.of(q, log_n), random(q, 1 << log_n), random(q, 1 << log_n)
    assert ring.psi == kernels.psi(q, log_n)
    assert [int(v) for v in multiplied(x, y, q)] == [int(a) * int(b) % q for a, b in zip(x, y, strict=True)]
    values = ring.forward(np.stack([x, y]))
    assert np.array_equal(values[1], kernels.small_forward("ref", y, q, word))
    assert np.array_equal(ring.inverse(values)[0], x)
    assert np.array_equal(ring.mapped(x, 5), kernels.small_automorphism("ref", x, 5, q, word))
    turned = multiplied(ring.monomial(2 * ring.degree - 3), values[0], q)
    assert np.array_equal(ring.inverse(turned), kernels.small_rotate("ref", x, 2 * ring.degree - 3, q, word))
    g = gadget
    assert np.array_equal(
        g.cut(x, q).reshape(-1), kernels.small_cut("ref", x, g.log_base, g.count, g.drop, g.balanced, q, word)
    )


def test_rings_that_are_none_are_refused() -> None:
    for q in (Q + 2, 2, (1 << 60) + 1):
        with pytest.raises(ParameterError, match="take a prime"):
            Ring.of(q, LOG_N)


def test_a_beat_has_four_coefficients_of_each_polynomial() -> None:
    x = np.arange(3 * 2 * 16, dtype=np.uint32).reshape(3, 2, 16)
    words = image(x)
    assert words[1].reshape(4, 8)[2].tolist() == [*x[1, 0, 8:12].tolist(), *x[1, 1, 8:12].tolist()]
    assert np.array_equal(ciphertexts(words), x)
    for wrong in (x[:, :1], x[..., :6]):
        with pytest.raises(ShapeError, match="are \\(\\.\\.\\., 2, N\\)"):
            image(wrong)
    with pytest.raises(ShapeError, match="multiples of 8 words"):
        ciphertexts(np.zeros(12, np.uint64))


def test_rows_of_keys_are_those_that_the_processor_multiplies_by() -> None:
    secret = fhew.SecretKey(fhew.parameters("gates-toy", "tests"), _native.TestSeed(bytes(32)))
    p, key = secret.params, fhew.EvaluationKey.make(secret, fhew.Method.AP)
    base = p.ap_base
    rows = fhew.rgsw_rows(key, np.array([0, 5, base * 7], np.uint32))
    assert rows.shape == (3, 6, 2, 256)
    assert not rows.flags.writeable
    # RGSW(1): the gadget itself, a constant in every slot.
    for r in range(6):
        assert (rows[0, r, r // 3] == 512 ** (r % 3)).all()
        assert not rows[2, r, 1 - r // 3].any()
    x = random(p.modulus, 2, 256).astype(np.uint32)
    out = aligned_copy(x[None], (1, 2, 256), p.modulus)
    fhew.accumulate(key, out, np.array([[5]], np.uint32))
    plain = replace(CUT, balanced=False)
    memory = KeyMemory(SMALL, LOG_N, 6)
    memory.put([5], rows[1:2])
    settings = replace(SETTINGS, a=plain, b=plain, bootstrap=True)
    job = chains_job(SMALL, settings, RING.forward(x[None].astype(np.uint64)), [[5]], memory)
    assert np.array_equal(RING.inverse(run(job)), out)
    with pytest.raises(ShapeError, match="of 2944"):
        fhew.rgsw_rows(key, np.array([64 * 2 * base], np.uint32))


def test_the_ends_of_an_answer_refuse_what_is_none() -> None:
    query = Query(lookup_plan(SMALL, 0, 8))
    keys, plan = query.keys, query.plan
    rows = _native.psi.open_request(plan, query.request)
    assert rows.shape == (1, plan.outputs, 2, 256)
    for wrong in (query.request[:-1], query.reply):
        with pytest.raises(FormatError):
            _native.psi.open_request(plan, wrong)
    results = np.zeros((1, 2, 256), np.uint64)
    assert len(_native.psi.seal_reply(keys, results)) == plan.reply_bytes
    assert _native.psi.seal_reply(keys, results) != _native.psi.seal_reply(keys, results), "each reply is masked afresh"
    with pytest.raises(ShapeError, match="packed results"):
        _native.psi.seal_reply(keys, results[:, :1].copy())
    with pytest.raises(RingforgeValueError, match="not below"):
        _native.psi.seal_reply(keys, results + np.uint64(plan.modulus))
    assert keys.substitution_rows(7).shape == (9, 2, 256)
    assert keys.reconstruction_rows().shape == (14, 2, 256)
    with pytest.raises(ParameterError, match="stage 8 of 8"):
        keys.substitution_rows(8)


# ---- instructions -----------------------------------------------------------------------------------


def run(job: Job) -> Any:
    return Interpreted().run(None, job).results


def test_words_come_apart_as_they_were_put_together() -> None:
    assert Instruction.of(step(0xFFFFF, last=True)) == Instruction(Op.STEP, 0xFFFFF, True)
    assert Instruction.of(product(3)) == Instruction(Op.PRODUCT, 3)
    assert Instruction.of(substitution(15)) == Instruction(Op.SUBSTITUTE, entry=15)
    assert Instruction.of(init(5, 1023, 0x1FFFF)) == Instruction(Op.INIT, 0x1FFFF, gate=5, b=1023)
    for command in (Command(Code.END), Command(Code.EXEC, 0, step(7)), Command(Code.SET, 0x104, 9)):
        assert Command.of(command.word) == command
    assert Command.of(Command(Code.OUTPUT, 0x7000_0000_1000).word).operand == 0x7000_0000_1000
    for wrong in (lambda: step(1 << 20), lambda: init(6, 0, 0), lambda: init(0, 1024, 0), lambda: substitution(16)):
        with pytest.raises(ParameterError, match="outside"):
            wrong()
    with pytest.raises(ParameterError, match="command 9"):
        Command.of(9 << 60)


def test_places_of_results_are_named_late_and_all_of_them() -> None:
    commands = Commands(3)
    for i in range(5):
        commands.execute(step(i, last=True), 0x1000 * i)
    found = commands.end()
    codes = [c.code.name[:2] for c in found]
    assert codes == ["EX", "EX", "EX", "EX", "OU", "EX", "OU", "OU", "OU", "OU", "EN"]
    assert [c.operand for c in found if c.code is Code.OUTPUT] == [0x1000 * i for i in range(5)]
    words = queue(found)
    assert words.size % 8 == 0
    assert words.size >= len(found) + 8


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("log_n", [7, 8])
def test_products_and_substitutions_are_the_processors(log_n: int, balanced: bool) -> None:
    gadget, n = replace(CUT, balanced=balanced), 1 << log_n
    settings = Settings(log_n, Q, gadget, replace(CUT, log_base=7, count=4), gadget)
    ring = Ring.of(Q, log_n)
    operands, keys = random(Q, 6, 2, n), random(Q, 3, 7, 2, n)
    memory = KeyMemory(SMALL, log_n, 7)
    memory.put(range(3), keys)
    numbers = [0, 2, 1, 1, 0, 2]
    made = run(products_job(SMALL, settings, ring.forward(operands), numbers, memory))
    for x, number, found in zip(operands, numbers, made, strict=True):
        digits = [*settings.a.cut(x[0], Q), *settings.b.cut(x[1], Q)]
        rows = keys[number].astype(object)
        for part in range(2):
            wanted = sum(ring.forward(d).astype(object) * r[part] for d, r in zip(digits, rows, strict=True)) % Q
            assert (found[part] == wanted).all()
    if log_n < 8:
        return  # the library's rings begin there
    secret = fhew.RingSecret(Q, log_n, _native.TestSeed(bytes(32)))
    cut = fhew.Cut(9, 3, 0, balanced)
    elements = [3, 257, 511, 3, 257, 511]
    real = {k: fhew.SubstitutionKey.make(secret, k, cut) for k in set(elements)}
    job = substitutions_job(SMALL, settings, ring.forward(operands), elements, {k: v.rows() for k, v in real.items()})
    for x, element, found in zip(operands, elements, ring.inverse(run(job)), strict=True):
        wanted = aligned_copy(x[None].astype(np.uint32), (1, 2, n), Q)
        real[element].substitute(wanted)
        assert np.array_equal(found, wanted[0])


def test_chains_and_whole_gates_are_the_processors() -> None:
    secret = fhew.SecretKey(fhew.parameters("gates-toy", "tests"), _native.TestSeed(bytes(32)))
    p, key = secret.params, fhew.EvaluationKey.make(secret, fhew.Method.AP)
    log_lwe = p.rotation_modulus.bit_length() - 1
    settings = replace(gate_settings(p), log_lwe=log_lwe, bounds=bounds(log_lwe))
    # OR, AND, NOR, NAND, XOR, XNOR by their numbers in the library, in the order of instructions.
    kinds = np.array([1, 0, 3, 2, 4, 5], np.uint8)
    wires = np.zeros((2 + 6, p.n + 1), np.uint32)
    wires[:2] = secret.encrypt(np.array([1, 0], np.uint8))
    sources = np.array([[0, 1, -1]] * 6, np.int32)
    targets, expected = np.arange(2, 8, dtype=np.int32), wires.copy()
    fhew.evaluate(key, kinds, sources, expected, targets)

    def rotate(accumulators: Any, exponents: Any) -> None:
        memory = KeyMemory(SMALL, p.log_n, 6)
        indices = ap_indices(p, exponents[:, :-1])
        used = np.unique(indices)
        memory.put(used.tolist(), fhew.rgsw_rows(key, used))
        job = bootstraps_job(SMALL, settings, range(6), exponents[:, -1].tolist(), indices.tolist(), memory)
        found = RING.inverse(run(job))
        wanted = aligned_copy(accumulators, accumulators.shape, p.modulus)
        fhew.accumulate(key, wanted, indices)
        assert np.array_equal(found, wanted)
        accumulators[:] = found

    assert fhew.evaluate(key, kinds, sources, wires, targets, rotate=rotate) == 6
    assert np.array_equal(wires, expected)
    assert secret.decrypt(wires[2:]).tolist() == [1, 0, 0, 1, 1, 0]


# ---- what stops it ------------------------------------------------------------------------------------


def stopped(commands: list[Command], words: Any = None, settings: Settings = SETTINGS) -> str:
    memory = Dram(SMALL.dram_bytes)
    memory.map(0, queue(commands))
    memory.map(0x10000, np.zeros(512 * 16, np.uint64) if words is None else words)
    memory.reserve(0x40000, 1 << 16)
    with pytest.raises(HardwareError, match="psi-small stopped") as e:
        Interpreter(SMALL, settings, memory).run(0)
    return str(e.value)


def test_programs_that_stop_it() -> None:
    end = Command(Code.END)
    execute = [Command(Code.EXEC, 0, substitution(0)), end]
    assert "cannot go on" in stopped([Command(Code.OUTPUT, 0x40000), end])
    assert "cannot go on" in stopped(execute)
    assert "does not exist" in stopped([Command(Code.INPUT, 0x10000), *execute])
    assert "does not exist" in stopped([Command(Code.EXEC, 0, 2 << 30 | 7 << 27), end])
    assert "not a multiple" in stopped([Command(Code.INPUT, 0x10040), end])
    assert "no residue" in stopped([Command(Code.INPUT, 0x10000), end], np.full(512, Q, np.uint64))
    assert "twiddles" in stopped([Command(Code.TABLES, 0x10000), end])
    assert "setting" in stopped([Command(Code.SET, addresses()["MODE"], 0), end])
    memory = Dram(SMALL.dram_bytes)
    memory.map(0, np.full(8, 9 << 60, np.uint64))
    with pytest.raises(HardwareError, match="no such command"):
        Interpreter(SMALL, SETTINGS, memory).run(0)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"log_n": 10}, "choose another"),
        ({"q": Q + 2}, "take a prime"),
        ({"q": 1025}, "choose another"),
        ({"a": Gadget(32, 1)}, "choose other digits"),
        ({"b": Gadget(2, 16)}, "choose other digits"),
        ({"a": Gadget(9, 2)}, "just cover"),
        ({"s": Gadget(15, 2)}, "just cover"),
        ({"a": Gadget(31, 3, 0, False)}, "just cover"),
        ({"substitutions": [(4, 0)]}, "odd number"),
        ({"substitutions": [(513, 0)]}, "odd number"),
        ({"substitutions": [(3, 1 << 20)]}, "out of reach"),
        ({"substitutions": [(3, 0)] * 17}, "run them apart"),
        ({"log_lwe": 11}, "on the host"),
        ({"log_lwe": 9, "bounds": (512,) * 6}, "bounds of gates"),
        ({"key_base": 4096}, "keys begin"),
    ],
)
def test_settings_that_no_register_holds_are_refused(change: dict[str, Any], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        replace(SETTINGS, **change).registers(SMALL)


def test_registers_hold_the_settings() -> None:
    at, values = addresses(), replace(SETTINGS, substitutions=[(257, 5)], bootstrap=True).registers(SMALL)
    assert values[at["GADGET_S"]] == 9 | 3 << 8 | 1 << 24
    assert values[at["OFFSET_S"]] == 0x100 + (0x100 << 9) + (0x100 << 18)
    assert values[at["SUBST_0"]] == 257 | 5 << 12
    assert values[at["SUBST_15"]] == 1
    assert values[at["MODE"]] == 3
    assert values[at["BARRETT"]] == (1 << 54) // Q
    assert set(values) <= set(at.values())


def test_montgomery_machines_have_keys_and_tables_in_their_form() -> None:
    """In memory they carry 2^(11 ceil(27/11)); what the machine computes is the same."""
    config = SMALL.model_copy(update={"multiplier": "montgomery", "montgomery_word": 11})
    x, keys = random(Q, 2, 2, 256), random(Q, 1, 6, 2, 256)
    plain, formed = (KeyMemory(c, LOG_N, 6) for c in (SMALL, config))
    for memory in (plain, formed):
        memory.put([0], keys)
    jobs = [products_job(c, SETTINGS, x, [0, 0], m) for c, m in ((SMALL, plain), (config, formed))]
    assert np.array_equal(run(jobs[0]), run(jobs[1]))
    words = [next(p.words for p in job.pieces if p.entity == "keys") for job in jobs]
    assert [int(w) for w in words[1]] == [int(w) * 2**33 % Q for w in words[0]]
    tables = [job.pieces[0].words for job in jobs]
    assert [int(w) for w in tables[1]] == [int(w) * 2**33 % Q for w in tables[0]]
    with pytest.raises(ParameterError, match="modulo 2\\^11"):
        replace(SETTINGS, q=134212097).check(config)


def test_jobs_that_do_not_fit_are_refused() -> None:
    x = random(Q, 17, 2, 256)
    memory = KeyMemory(SMALL, LOG_N, 6)
    memory.put([0], random(Q, 1, 6, 2, 256))
    with pytest.raises(ParameterError, match="in groups"):
        chains_job(SMALL, replace(SETTINGS, bootstrap=True), x, [[0]] * 17, memory)
    with pytest.raises(ParameterError, match="two products"):
        bootstraps_job(SMALL, replace(SETTINGS, bootstrap=True, log_lwe=9), [0], [0], [[0]], memory)
    with pytest.raises(ParameterError, match="take a smaller set"):
        memory.address(1 << 19)
    with pytest.raises(ShapeError, match="is needed"):
        memory.put([1], random(Q, 1, 5, 2, 256))
