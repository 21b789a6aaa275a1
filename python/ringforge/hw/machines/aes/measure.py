# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Instructions, products and relinearisation of any size on the aes machine, beside results computed another way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge._native.kernels import primes_below
from ringforge.errors import HardwareError, ParameterError
from ringforge.hw.machines.aes import replica
from ringforge.hw.machines.aes.config import NARROW_WORDS, PRIME_BITS, PRIME_STEP_LOG, WORD_BYTES, AesConfig
from ringforge.hw.machines.aes.jobs import Job, product, relinearise
from ringforge.hw.machines.aes.layout import (
    RADIX_BITS,
    Memory,
    Target,
    Words32,
    constants,
    powers,
    reversed_bits,
    root_of,
    twiddles,
)  # fmt: skip
from ringforge.hw.machines.aes.program import Builder, Op
from ringforge.hw.machines.aes.runner import BUSY, Executor, Run

Words = npt.NDArray[np.uint64]

_SEED: Final = 20
#: Instructions that are measured alone, those of both engines, and those that only one has.
SINGLE: Final = ("transform", "inverse", "multiply", "scale")
_FAST, _PAPER = ("padded",), ("reverse",)


def singles(config: AesConfig) -> tuple[str, ...]:
    """Names of what `single` measures on a machine."""
    return SINGLE + (_FAST if config.fast else _PAPER)


@dataclass(frozen=True)
class Size:
    """What is worked on.

    Attributes:
        log_n: log2 of N. primes: how many. count: of single instructions. terms: products of a sum.
        digits, ciphertexts: of a relinearisation. batch: ciphertexts that share a reading of the keys; None: as usual.
    """

    log_n: int
    primes: int = 1
    count: int = 1
    terms: int = 1
    digits: int = 1
    ciphertexts: int = 1
    batch: int | None = None

    def target(self, config: AesConfig) -> Target:
        """The largest primes, on a machine.

        Raises:
            ParameterError: it does not take this length.
        """
        found = tuple(int(q) for q in primes_below(PRIME_BITS, self.primes, 1 << PRIME_STEP_LOG))
        return Target(config, self.log_n, found, tuple(root_of(q, 1 << self.log_n) for q in found))


@dataclass(frozen=True)
class Measured:
    """What was run.

    Attributes:
        case: its name. cycles: of the run. each: of one instruction, where these are measured, else 0.
        busy: cycles in which units had instructions. words: that were compared.
    """

    case: str
    cycles: int
    each: float = 0
    busy: dict[str, int] = field(default_factory=dict)
    words: int = 0


# ---- another way --------------------------------------------------------------------------------------


def values(x: npt.NDArray[np.uint32], w: int, q: int) -> Words:
    """Values of a polynomial at 1, w, w^2 ..., by two products of matrices: no butterflies.

    Args:
        x: N coefficients, a power of two. w: of order N modulo q.
    """
    n = x.size
    low = 1 << (n.bit_length() - 1) // 2
    high, modulus = n // low, np.uint64(q)
    table = powers(w, n, q)
    a, b = np.arange(low, dtype=np.int64), np.arange(high, dtype=np.int64)
    # Coefficient low * j + i, value high * k + l: w^((low j + i)(high k + l)) = w^(low j l) w^(i l) w^(high i k).
    inner = _product(table[low * np.outer(b, b) % n], x.reshape(high, low).astype(np.uint64), q)
    inner = inner * table[np.outer(b, a) % n] % modulus
    made = _product(inner, table[high * np.outer(a, a) % n], q)
    return np.ascontiguousarray(made.T).reshape(-1)


def _product(a: Words, b: Words, q: int) -> Words:
    """A product of matrices modulo q: sums of at most 2^16 words of 31 by 16 bits fit."""
    modulus, half, low = np.uint64(q), np.uint64(16), np.uint64(0xFFFF)
    made: Words = ((a @ (b >> half) % modulus << half) + a @ (b & low)) % modulus
    return made


def coefficients(x: npt.NDArray[np.uint32], w: int, q: int) -> Words:
    """The polynomial with these values at 1, w, w^2 ..."""
    return values(x, pow(w, -1, q), q) * np.uint64(pow(x.size, -1, q)) % np.uint64(q)


def _compared(got: Words32, want: npt.NDArray[np.uint64], what: str) -> int:
    """Words that were compared.

    Raises:
        HardwareError: one differs.
    """
    differing = int((got != want).sum())
    if differing:
        raise HardwareError(f"{what}: {differing} of {want.size} words differ from those computed another way")
    return want.size


# ---- runs ---------------------------------------------------------------------------------------------


def single(config: AesConfig, executor: Executor | None, size: Size, case: str) -> Measured:
    """One kind of instruction, on random words each time; all words of the results are compared.

    Args:
        executor: None: by the model of its timing, nothing is computed.

    Raises:
        ParameterError: there is no such case on this machine. HardwareError: a word differs.
    """
    if case not in singles(config):
        raise ParameterError(f"{config.name} has {', '.join(singles(config))} to measure alone, not {case}")
    target, rng = size.target(config), np.random.default_rng(_SEED)
    n, q, w = target.n, target.primes[0], target.roots[0]
    given = rng.integers(0, q, (size.count, n), dtype=np.uint32)
    other = rng.integers(0, q, n, dtype=np.uint32)
    job = _single_job(target, case, given, other)
    measured = _run(executor, job, case)
    unit = "MOVE" if case == "reverse" else "EXEC"
    words = 0
    if executor is not None:
        order = reversed_bits(n)
        factor = pow(2, -RADIX_BITS, q) if config.fast else 1
        for at, x in enumerate(given):
            match case:
                case "transform":
                    want = values(x, w, q)[order] if config.fast else values(x[order], w, q)
                case "padded":
                    want = values(np.concatenate([x[: n // 2], np.zeros(n // 2, np.uint32)]), w, q)[order]
                case "inverse":
                    # The published engine leaves the factor N.
                    want = coefficients(x[order], w, q)
                    want = want if config.fast else want * np.uint64(n) % np.uint64(q)
                case "reverse":
                    want = x[order].astype(np.uint64)
                case _:
                    row = constants(config, q, size.log_n)
                    y = other.astype(np.uint64) if case == "multiply" else np.uint64(row[3])
                    want = x * y % np.uint64(q) * np.uint64(factor) % np.uint64(q)
            words += _compared(job.results()[at], want, f"{case} {at}")
    return Measured(case, measured.cycles, measured.busy[unit] / size.count, measured.busy, words)


def _single_job(target: Target, case: str, given: Words32, other: Words32) -> Job:
    """Loads words, works one instruction on them, and stores what it gives, so often as there are words."""
    config, n, rows = target.config, target.n, target.n // 2 // NARROW_WORDS
    memory = Memory(config)
    x, key = memory.put("input", given), memory.put("keys", other)
    table = memory.put("tables", twiddles(config, target.primes[0], target.roots[0], target.log_n))
    row = memory.put("tables", constants(config, target.primes[0], target.log_n))
    out, size = memory.reserve("output", given.nbytes), n * WORD_BYTES
    b = Builder(target.log_n, config.fast, [range(out, out + given.nbytes)])
    b.add(Op.LOADC, addr=row)
    for inverse in (0, 1):
        b.add(Op.LOADT, inverse=inverse, rows=rows, addr=table + inverse * size // 2)
    b.add(Op.LOADK, addr=key)
    for at in range(len(given)):
        src = 2 * (at % 2)
        dst = src if case in ("transform", "inverse") and not config.fast else src + 1
        if case == "padded":
            b.add(Op.LOADS, dst=src, addr=x + at * size)
            b.add(Op.NTT, dst=dst, src=src, half=1)
        else:
            b.add(Op.LOADX, dst=src, addr=x + at * size)
        if case in ("transform", "inverse"):
            b.add(Op.NTT, dst=dst, src=src, inverse=case == "inverse")
        elif case == "reverse":
            b.add(Op.REVX, dst=dst, src=src)
        elif case == "multiply":
            b.add(Op.MUL, dst=dst, src=src, key=1, init=1)
        elif case == "scale":
            b.add(Op.SCALE, dst=dst, src=src)
        b.add(Op.STORE, src=dst, addr=out + at * size)
    return Job(b.program(), memory, out, given.shape, target, 1)


def products(config: AesConfig, executor: Executor | None, size: Size) -> Measured:
    """A sum of `terms` products of random polynomials of N/2 coefficients, modulo each prime.

    Raises:
        HardwareError: a word differs.
    """
    target, rng = size.target(config), np.random.default_rng(_SEED)
    outputs = [[(2 * t, 2 * t + 1) for t in range(size.terms)]]
    if executor is None:
        return _run(None, product(target, 2 * size.terms, outputs), "product")
    half = target.n // 2
    given = np.stack([rng.integers(0, q, (2 * size.terms, half), dtype=np.uint32) for q in target.primes], axis=1)
    job = product(target, given, outputs)
    measured, words = _run(executor, job, "product"), 0
    for r, (q, w) in enumerate(zip(target.primes, target.roots, strict=True)):
        sums = np.zeros(target.n, np.uint64)
        for a, b in outputs[0]:
            sums = (sums + _padded(given[a, r], w, q) * _padded(given[b, r], w, q)) % np.uint64(q)
        words += _compared(job.results()[0, r], coefficients(sums.astype(np.uint32), w, q), f"product, prime {r}")
    return Measured("product", measured.cycles, busy=measured.busy, words=words)


def relinearisation(config: AesConfig, executor: Executor | None, size: Size) -> Measured:
    """Random digits of ciphertexts times random keys, summed, modulo each prime.

    Raises:
        HardwareError: a word differs.
    """
    target, rng = size.target(config), np.random.default_rng(_SEED)
    if executor is None:
        return _run(None, relinearise(target, size.digits, size.ciphertexts, size.batch), "relinearisation")
    natural = [
        np.stack([rng.integers(0, q, target.n, dtype=np.uint32) for q in target.primes]) for _ in range(size.digits)
    ]
    # Keys come in the library's order.
    keys = [target.words(key[..., reversed_bits(target.n)]) for key in natural]
    digits = [rng.integers(0, 1 << 16, (size.digits, target.n // 2), dtype=np.uint16) for _ in range(size.ciphertexts)]
    job = relinearise(target, keys, digits, size.batch)
    measured, words = _run(executor, job, "relinearisation"), 0
    for c, given in enumerate(digits):
        for r, (q, w) in enumerate(zip(target.primes, target.roots, strict=True)):
            sums = np.zeros(target.n, np.uint64)
            for d in range(size.digits):
                sums = (sums + _padded(given[d].astype(np.uint32), w, q) * natural[d][r]) % np.uint64(q)
            want = coefficients(sums.astype(np.uint32), w, q)
            words += _compared(job.results()[c, r], want, f"ciphertext {c}, prime {r}")
    return Measured("relinearisation", measured.cycles, busy=measured.busy, words=words)


def _padded(x: Words32, w: int, q: int) -> Words:
    return values(np.concatenate([x, np.zeros_like(x)]), w, q)


def _run(executor: Executor | None, job: Job, case: str) -> Measured:
    if executor is None:
        timed = replica.run(job.target.config, job.program)
        return Measured(case, timed.cycles, busy={unit.name: timed.busy[unit] for unit in timed.busy})
    run: Run = executor.run(job)
    return Measured(case, run.cycles or 0, busy=dict(run.busy) or dict.fromkeys(BUSY, 0))


#: Whole operations, by name.
WHOLE: Final[dict[str, Callable[[AesConfig, Executor | None, Size], Measured]]] = {
    "product": products,
    "relinearisation": relinearisation,
}
