# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Parameters, cycles, times, relinearisation, keys, circuits and AES: printed numbers beside those that follow."""

from __future__ import annotations

from collections.abc import Iterable
from math import log2, prod

from ringforge import _native
from ringforge.aes import sbox
from ringforge.binary_slots import PAPER_INDEX, BinarySlots
from ringforge.errors import ParameterError
from ringforge.lab.tables import Cell, Table, Value

from . import cycles, times
from .figures import (
    AES_MINUTES,
    AES_TIMES,
    BLOCK_MS,
    CIPHERTEXT_MB,
    CPU_TIMES,
    CRT_MS,
    DEGREE,
    DEPTH,
    GPU_TIMES,
    INNER_CYCLES,
    LEVEL_CYCLES,
    LOG_Q,
    MULTIPLIERS,
    MULTIPLY_COMPUTE_MS,
    MULTIPLY_IO_MS,
    MULTIPLY_MS,
    PRIMES,
    PRODUCT_CYCLES,
    PRODUCT_US,
    PRODUCTS,
    REDUCTION_MS,
    RELINEARISATIONS,
    RELINEARISATIONS_SBOX,
    RELINEARISE_IO_MS,
    RELINEARISE_MS,
    RELINEARISE_NTT_MS,
    RESIDUE_IO_US,
    ROUNDS,
    SBOXES,
    SCALING_CYCLES,
    SLOTS,
    SWITCH_MS,
    SWITCHES,
    TRANSFER_MS,
    WINDOWS,
    WORD_BITS,
)

ALL = ("parameters", "cycles", "transform", "times", "relinearisation", "keys", "circuit", "round-keys", "aes")


def _paper(number: float, unit: str = "") -> Value:
    return Value(number, unit, "paper")


def _derived(number: float, unit: str = "") -> Value:
    return Value(number, unit, "derived")


def _model(number: float, unit: str = "") -> Value:
    return Value(number, unit, "model")


def table_parameters() -> Table:
    """Ring, modulus and slots."""
    slots = BinarySlots(PAPER_INDEX)
    primes = _native.kernels.primes_below(times.PRIME_BITS, PRIMES, cycles.POINTS)
    rows: tuple[tuple[Cell, ...], ...] = (
        ("degree", _paper(DEGREE), _model(slots.degree)),
        ("index", None, _model(slots.index)),
        ("slots", _paper(SLOTS), _model(slots.size)),
        ("degree of a slot's field", None, _model(slots.field_degree)),
        ("points of a transform", _paper(cycles.POINTS), _derived(2 * DEGREE)),
        ("primes", _paper(PRIMES), _derived(LOG_Q // times.PRIME_BITS)),
        ("bits of a prime", None, _derived(times.PRIME_BITS)),
        ("bits of a word", _paper(WORD_BITS), None),
        ("log2 q", _paper(LOG_Q), _model(log2(prod(primes)))),
        ("windows of 16 bits", _paper(WINDOWS), _derived(times.windows(PRIMES))),
        ("depth", _paper(DEPTH), _derived(PRIMES - 1)),
    )
    return Table(
        "Parameters",
        ("", "paper", "ours"),
        rows,
        (
            f"log2 q of ours: the {PRIMES} largest primes below 2^{times.PRIME_BITS} that are 1 modulo "
            f"{cycles.POINTS:,}. A level drops one of them; the last has one prime left.",
            "The paper writes X^N + 1, which has no slots modulo 2; index 65,535 is the only odd one of this degree.",
        ),
    )


def table_cycles() -> Table:
    """Multiplications of a transform, level by level."""
    rows: list[tuple[Cell, ...]] = []
    for level in range(2, cycles.LEVELS + 1):
        rows.append(
            (
                str(level),
                _derived(cycles.multiplications(level)),
                _derived(cycles.formula_cycles(level)),
                _derived(min(cycles.readable(level), MULTIPLIERS)),
                _derived(cycles.port_cycles(level)),
                _paper(LEVEL_CYCLES),
            )
        )
    totals = [sum(f(m) for m in range(2, cycles.LEVELS + 1)) for f in (cycles.formula_cycles, cycles.port_cycles)]
    return Table(
        "Cycles of multiplications by level",
        ("level", "multiplications", "formula", "operands in 4 cycles", "by ports", "text"),
        tuple(rows),
        (
            "Formula: 4 + 4 floor(M / (a floor(K/a))) + 15 up to level 8, 4 + 4 (b/K + 1) 2^(16-m) + 15 above. By "
            "ports: coefficient i in memory i mod 64, two reads of each a cycle, at most 256.",
            f"All levels: {totals[0]:,} by the formula, {totals[1]:,} by ports, which is 15 * {LEVEL_CYCLES}.",
        ),
    )


def table_transform() -> Table:
    """A transform and a product in cycles and microseconds."""

    def row(name: str, count: int, printed: Cell = None, microseconds: Cell = None) -> tuple[Cell, ...]:
        return name, printed, _derived(count), microseconds, _derived(cycles.microseconds(count), "us")

    needed = cycles.sum_results()
    rows = [
        row("transform: 16 * (531 + 264)", cycles.LEVELS * cycles.level_share(), _paper(PRODUCT_CYCLES)),
        row("three of them", cycles.TRANSFORMS * PRODUCT_CYCLES, None, _paper(PRODUCT_US, "us")),
        row("inner product: 1,024 + 15", cycles.POINTS * 4 // MULTIPLIERS + 15, _paper(INNER_CYCLES)),
        row("scaling: 1,024 + 15", cycles.POINTS * 4 // MULTIPLIERS + 15, _paper(SCALING_CYCLES)),
        row("product, all of these", cycles.product_cycles()),
        row(f"transform, {needed} results a cycle", cycles.transform_cycles(needed)),
        row("transform, 64 + 64 units", cycles.transform_cycles(128)),
    ]
    rows += [row(f"sums by the formula, 2^{t} units", cycles.sum_cycles(1 << t)) for t in (6, 7, 8)]
    return Table(
        "A transform and a product at 250 MHz",
        ("", "printed", "cycles", "printed time", "time"),
        tuple(rows),
        (
            f'The paper says {PRODUCT_CYCLES:,} cycles and {PRODUCT_US} us of "the product": the cycles are of one '
            "transform, the time of three.",
            "Transforms with results a cycle: 15 levels of 531 cycles, and sums of 16 levels, nothing overlapped.",
        ),
    )


def table_times() -> Table:
    """Section 5's times of primitives, each from its parts."""
    rows: tuple[tuple[Cell, ...], ...] = (
        (
            "ciphertext",
            _paper(CIPHERTEXT_MB, "MB"),
            _derived(times.CIPHERTEXT / 1e6, "MB"),
            "32,768 * 1,271 bits",
        ),
        (
            "its transfer",
            _paper(TRANSFER_MS, "ms"),
            _derived(times.transfer_ms(times.CIPHERTEXT), "ms"),
            "8 lanes of 8 Gbit/s",
        ),
        (
            "transfers of a product",
            _paper(MULTIPLY_IO_MS, "ms"),
            _derived(times.multiply_io_ms(), "ms"),
            "2 + 1 + 2 ciphertexts' size",
        ),
        (
            "the same, a prime",
            _paper(RESIDUE_IO_US / 1e3, "ms"),
            _derived(times.multiply_io_ms() / PRIMES, "ms"),
            "over 41",
        ),
        (
            "computing a product",
            _paper(MULTIPLY_COMPUTE_MS, "ms"),
            _derived(times.multiply_compute_ms(), "ms"),
            "41 * 3 transforms",
        ),
        ("product", _paper(MULTIPLY_MS, "ms"), _derived(times.multiply_ms(), "ms"), "both"),
        (
            "product, nothing left out",
            None,
            _derived(times.full_multiply_ms(), "ms"),
            "with inner product, scaling",
        ),
        ("reduction modulo Phi", _paper(REDUCTION_MS, "ms"), _derived(2 * times.multiply_ms(), "ms"), "two products"),
        ("CRT, or its inverse", _paper(CRT_MS, "ms"), None, "measured by the paper on its CPU"),
        ("modulus switching", _paper(SWITCH_MS, "ms"), _derived(CRT_MS, "ms"), "one inverse CRT"),
        ("product on the paper's CPU", None, _derived(CPU_TIMES * MULTIPLY_MS, "ms"), "28 times"),
        ("product on the paper's GPU", None, _derived(GPU_TIMES * MULTIPLY_MS, "ms"), "17 times, GTX 680"),
    )
    return Table(
        "Times of primitives",
        ("", "printed", "derived", "from"),
        rows,
        ("All are of the paper's machines; none was measured here. `ringforge bench aes` has ours.",),
    )


def table_relinearisation() -> Table:
    """The total by three accounts."""
    crt = _paper(CRT_MS, "ms")
    rows: tuple[tuple[Cell, ...], ...] = (
        ("inverse CRT", crt, crt, crt),
        (
            "transforms",
            _paper(RELINEARISE_NTT_MS, "ms"),
            _derived(times.relinearise_ntt_ms(), "ms"),
            _derived(times.accumulated_ntt_ms(), "ms"),
        ),
        ("products with keys", None, None, _derived(times.inner_ms(), "ms")),
        (
            "transfers",
            _paper(RELINEARISE_IO_MS, "ms"),
            _derived(times.fitting_io_ms(), "ms"),
            _derived(times.key_io_ms(), "ms"),
        ),
        (
            "sum",
            _derived(times.printed_sum_ms(), "ms"),
            _derived(CRT_MS + times.relinearise_ntt_ms() + times.fitting_io_ms(), "ms"),
            _derived(times.accumulated_ms(), "ms"),
        ),
        ("printed total", _paper(RELINEARISE_MS, "ms"), _paper(RELINEARISE_MS, "ms"), None),
    )
    return Table(
        "Relinearisation",
        ("", "printed parts", "keys of twice the size", "sums in the transform domain"),
        rows,
        (
            "First column: the parts of the text, which do not add up to its total. Second: 2 * 80 * 41 transforms "
            "from cycles, and keys as they are kept. Third: Algorithm 2, (80 + 1) * 41 transforms, with 80 * 41 "
            "products.",
        ),
    )


def table_keys() -> Table:
    """Bytes of evaluation keys with windows of 16 bits, in the transform domain."""
    rows: list[tuple[Cell, ...]] = []
    for level in (*range(0, DEPTH, 8), DEPTH - 1):
        primes = PRIMES - level
        rows.append(
            (
                str(level),
                _derived(primes),
                _derived(times.windows(primes)),
                _derived(times.key_bytes(primes) / 1e9, "GB"),
                _derived(times.transfer_ms(times.key_bytes(primes)), "ms"),
            )
        )
    return Table(
        "Evaluation keys",
        ("level", "primes", "windows", "bytes", "transfer"),
        tuple(rows),
        (
            f"All {DEPTH} levels: {times.all_key_bytes() / 1e9:.1f} GB. A key is 65,536 words of 32 bits for each "
            f"prime, {times.TRANSFORMED_KEY / 1e6:.1f} MB at the top. The paper's 64 GB are of windows of one bit.",
        ),
    )


def table_circuit() -> Table:
    """What an S-box and the whole of AES take, and the same counted in our circuits."""
    box, whole = sbox.sbox().counts(), sbox.cipher().circuit.counts()
    rows: tuple[tuple[Cell, ...], ...] = (
        ("S-boxes", _paper(SBOXES), _derived(16 * ROUNDS), None),
        ("depth", _paper(DEPTH), _model(whole.depth), _derived(ROUNDS * box.depth)),
        ("relinearisations, an S-box", _paper(RELINEARISATIONS_SBOX), _model(box.relinearizations), None),
        (
            "relinearisations",
            _paper(RELINEARISATIONS),
            _model(whole.relinearizations),
            _derived(SBOXES * RELINEARISATIONS_SBOX),
        ),
        ("products, an S-box", _derived(PRODUCTS / SBOXES), _model(box.products), None),
        ("products", _paper(PRODUCTS), _model(whole.products), _derived(SBOXES * box.products)),
        ("switches, an S-box", _derived(SWITCHES / SBOXES), _model(box.switches_added_after), None),
        ("switches", _paper(SWITCHES), _model(whole.switches_added_after), _derived(SBOXES * box.switches_added_after)),
        ("switches, values added before", None, _model(whole.switches), _derived(SBOXES * box.switches)),
        ("exclusive sums", None, _model(whole.additions), None),
    )
    return Table(
        "Counts of AES-128",
        ("", "paper", "our circuit", "S-boxes alone"),
        rows,
        (
            "Our circuit is `ringforge.aes.sbox.cipher()`, counted operation by operation; the one that is run. A "
            "switch is of a relinearised result, or of a value that is carried to a level where it is used: the "
            "paper's count, if what is added to a result is carried as well, fewer if it is added before.",
        ),
    )


def table_round_keys() -> Table:
    """Bytes of encrypted round keys, all at the top level and where they are used."""
    rows: list[tuple[Cell, ...]] = []
    for i in range(times.ROUND_KEYS):
        primes = PRIMES - times.ROUND_LEVELS * i
        rows.append(
            (
                f"{i}",
                _derived(times.ROUND_LEVELS * i),
                _derived(primes),
                _derived(times.STATE_BITS * times.word_bytes(PRIMES) / 1e6, "MB"),
                _derived(times.STATE_BITS * times.word_bytes(primes) / 1e6, "MB"),
            )
        )
    totals = [_derived(times.round_key_bytes(leveled) / 1e9, "GB") for leveled in (False, True)]
    return Table(
        "Encrypted round keys",
        ("round", "level", "primes", "at the top level", "where it is used"),
        (*rows, ("all", None, None, *totals)),
        (
            f"{times.STATE_BITS} ciphertexts a round, one for each bit, in words of {WORD_BITS} bits: what the paper's "
            "client sends before anything is computed. The paper has no number for them.",
        ),
    )


def table_aes() -> Table:
    """Times from the paper's parts."""
    rows: list[tuple[Cell, ...]] = [
        ("printed", None, None, _paper(float(AES_MINUTES), "min"), _paper(BLOCK_MS, "ms")),
    ]
    for a in times.accounts():
        rows.append(
            (
                a.name,
                _derived(float(a.relinearise), "ms"),
                _derived(a.multiply, "ms"),
                _derived(a.seconds / 60, "min"),
                _derived(a.block_ms, "ms"),
            )
        )
    return Table(
        "AES-128 of 2,048 blocks",
        ("times of primitives", "relinearisation", "product", "whole", "a block"),
        tuple(rows),
        (
            f"({RELINEARISATIONS:,} relinearisations + {PRODUCTS:,} products + {SWITCHES:,} switches of {SWITCH_MS} "
            f"ms) / 2: {SBOXES} S-boxes of {RELINEARISATIONS_SBOX}, {PRODUCTS // SBOXES} and {SWITCHES // SBOXES}; "
            "halved as in the paper, for operands that shrink.",
            f"{BLOCK_MS} ms * 2,048 are {BLOCK_MS * SLOTS / 60e3:.2f} minutes. The last row is no claim of the paper. "
            f"Its factor of {AES_TIMES} over software makes that {AES_TIMES * BLOCK_MS / 1e3:.1f} s a block.",
        ),
    )


def tables(wanted: Iterable[str] = ALL) -> list[Table]:
    """The tables by name, of :data:`ALL`.

    Raises:
        ParameterError: there is no such table.
    """
    makers = {
        "parameters": table_parameters,
        "cycles": table_cycles,
        "transform": table_transform,
        "times": table_times,
        "relinearisation": table_relinearisation,
        "keys": table_keys,
        "circuit": table_circuit,
        "round-keys": table_round_keys,
        "aes": table_aes,
    }
    made = []
    for name in wanted:
        if name not in makers:
            raise ParameterError(f'there is no table "{name}": take one of {", ".join(ALL)}')
        made.append(makers[name]())
    return made
