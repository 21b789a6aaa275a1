# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Bytes: the paper's formulas, and what our plans and keys take on the wire, on disk and in memory."""

from __future__ import annotations

from functools import cache
from typing import Any

from ringforge.gates import sets
from ringforge.gates.sets import GateSet
from ringforge.psi import planner
from ringforge.psi.info import PlanFields

from .figures import PSI_DEGREE, PSI_DIGITS, PsiRow

#: Elements that the tables of our plans for Table 4 may hold. Times do not depend on it, only error margins do.
CAPACITY = 1 << 20
#: Hash functions: one as in the paper; three, so that cuckoo hashing places nearly as many elements as there are bins.
PAPER_HASHES, OUR_HASHES = 1, 3

#: An RLWE ciphertext as the paper counts it: 2N words of 8 bytes.
CIPHERTEXT = 2 * PSI_DEGREE * 8

_HEADER, _SEED, _CHECKSUM = 8 + 32 + 1, 32, 32


def to_sender(row: PsiRow) -> float:
    """w·dc ciphertexts for N bins, and half of them for half as many."""
    return row.cell_bits * PSI_DIGITS * (1 << row.log_bins) / PSI_DEGREE * CIPHERTEXT


def to_sender_whole(row: PsiRow) -> int:
    """The same in ciphertexts that exist: 2^10 bins still need whole ones."""
    return row.cell_bits * PSI_DIGITS * max(1, (1 << row.log_bins) // PSI_DEGREE) * CIPHERTEXT


def to_receiver(row: PsiRow) -> int:
    """One LWE ciphertext of N + 1 words for each bin."""
    return (1 << row.log_bins) * (PSI_DEGREE + 1) * 8


def key_switch_keys() -> int:
    """log2 N keys of dc ciphertexts."""
    return (PSI_DEGREE.bit_length() - 1) * PSI_DIGITS * CIPHERTEXT


def rgsw_key() -> int:
    """RGSW(-z): 2·dc ciphertexts."""
    return 2 * PSI_DIGITS * CIPHERTEXT


@cache
def plan_fields(bits: int, log_bins: int, algorithm: str) -> PlanFields:
    """The plan of a row of Table 4 in mode direct: `paper` with one hash function, `ringforge` with three."""
    hashes = PAPER_HASHES if algorithm == "paper" else OUR_HASHES
    return planner.choose("direct", CAPACITY, log_bins, 0, 0, hashes, bits, algorithm)


def plan(row: PsiRow, algorithm: str) -> Any:
    """The native plan of a row."""
    return plan_fields(row.bits, row.log_bins, algorithm).native()


def entries(row: PsiRow, algorithm: str) -> int:
    """Cells set in a bin, at most, as the planner counts them."""
    hashes = PAPER_HASHES if algorithm == "paper" else OUR_HASHES
    return planner.shape("direct", CAPACITY, row.log_bins, 0, 0, hashes, row.bits, 1).entries


def gate_key_stored(s: GateSet) -> int:
    """Bytes of the file of an AP evaluation key: seeds for uniform halves, packed residues for the others."""
    digit_values = s.ap_base - 1
    ring_row = -(-s.ring_degree * s.modulus.bit_length() // 8)
    rows = s.n * s.ap_digits * digit_values * s.rows
    switch = s.key_switch
    bits = s.log_q if switch.modulus == "q" else s.modulus.bit_length()
    table = s.ring_degree * -(-switch.count * switch.rows * bits // 8)
    return _HEADER + 2 * _SEED + rows * ring_row + table + _CHECKSUM


def gate_key_expanded(s: GateSet) -> int:
    """Bytes of the same key in memory: rows in whole words, key-switching table, padding apart."""
    return s.bootstrap_key_bytes("ap") + s.table_bytes


def gate_set(name: str) -> GateSet:
    """A set of the paper's, as it is installed."""
    return sets.named(name, "reproduction of the paper's tables")
