# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Negacyclic transforms in Python integers, straight from their definition, and the tables of the streaming ones."""


def reverse(x: int, bits: int) -> int:
    """x with its bits in reversed order."""
    return int(format(x, f"0{bits}b")[::-1], 2) if bits else 0


def is_prime(n: int) -> bool:
    """By Fermat's test to five bases: enough for what a test draws."""
    return all(pow(b, n - 1, n) == 1 for b in (2, 3, 5, 7, 11))


def prime(bits: int, log_n: int) -> int:
    """The largest prime of so many bits that is 1 modulo 2^(log_n + 1)."""
    q = (1 << bits) + 1
    while not is_prime(q := q - (2 << log_n)):
        pass
    return q


def root(q: int, log_n: int) -> int:
    """A primitive 2^(log_n + 1)-th root of unity."""
    x = 2
    while pow(x, (q - 1) // 2, q) == 1:
        x += 1
    return pow(x, (q - 1) >> (log_n + 1), q)


def forward(x: list[int], q: int, psi: int) -> list[int]:
    """Values at psi^(2 brv(j) + 1)."""
    n, bits = len(x), len(x).bit_length() - 1
    powers = [1]
    for _ in range(2 * n - 1):
        powers.append(powers[-1] * psi % q)
    return [sum(c * powers[(2 * reverse(j, bits) + 1) * i % (2 * n)] for i, c in enumerate(x)) % q for j in range(n)]


def tables(q: int, psi: int, log_n: int) -> tuple[list[int], list[int]]:
    """Twiddles of both directions as the stages take them: entry m + i is psi^brv(m + i), and minus its inverse."""
    w = [pow(psi, reverse(i, log_n), q) for i in range(1 << log_n)]
    return w, [q - pow(x, -1, q) for x in w]
