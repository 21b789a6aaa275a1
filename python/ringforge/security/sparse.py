# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Attacks on LWE with ternary secrets of a fixed weight, which gain from coefficients that are probably 0.

All of them take `zeta` coefficients out of the lattice and hope that at most `w` of these are not 0, which holds with
the hypergeometric probability of `_guesses`; otherwise they start again with others (Albrecht, EUROCRYPT 2017). The
right ones among the sum over i <= w of C(zeta, i) 2^i guesses are found

- by nearest planes, or by one sieve each (Howgrave-Graham, CRYPTO 2007; Albrecht, Curtis, Wunderer, SAC 2019);
- by a meet in the middle, of as many as meet (Son, Cheon, eprint 2019/1019);
- by short dual vectors (Espitau, Joux, Kharchenko, INDOCRYPT 2020), further coefficients by FFT (MATZOV, 2022).

The tests hold them against published runs of the lattice estimator. Two choices are more cautious than its own. A
meet in the middle needs one pair of halves that meet among all into which a guess can be cut, not a certain one: few of
them meet, and there are many (with cancelling coefficients, as many as wanted: May, CRYPTO 2021). And where errors are
so small that most are 0, samples without one are guessed as well: taking an error out of the lattice is worth as much
as taking a coefficient of the secret out.

Left out: a meet in the middle of sieves all of which meet, which has no analysis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ringforge.security import attacks
from ringforge.security.attacks import Attack, Instance
from ringforge.security.reduction import MIN_BETA, Array, CostModel, log2_sum, log_delta

#: Guesses have at most this weight: more are never the best for secrets that are sparse.
_MAX_GUESSED_WEIGHT = 64


def _log2_choose(n: float | Array, k: float | Array) -> Array:
    gamma = np.vectorize(math.lgamma)
    return np.asarray((gamma(np.add(n, 1)) - gamma(np.add(k, 1)) - gamma(np.subtract(n, k) + 1)) / math.log(2))


@lru_cache(maxsize=64)
def _guesses(n: int, weight: int, zeta: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """For each zeta, and w = 0, 1, ...: log2 of the guesses; log2 of the probability that one of them is right; w."""
    w = np.arange(min(weight, _MAX_GUESSED_WEIGHT) + 1, dtype=np.float64)
    z = np.array(zeta, dtype=np.float64)[:, None]
    possible = (w <= z) & (weight - w <= n - z)
    k = np.where(possible, w, 0)
    rest = np.where(possible, weight - k, 0)
    terms = np.where(possible, _log2_choose(z, k) + k, -np.inf)
    hits = np.where(possible, _log2_choose(z, k) + _log2_choose(n - z, np.minimum(rest, n - z)), -np.inf)
    probability = np.logaddexp2.accumulate(hits, axis=1) - _log2_choose(n, weight)
    return np.maximum(np.logaddexp2.accumulate(terms, axis=1), 0), np.minimum(probability, 0), w


def _zetas(instance: Instance, points: int) -> Array:
    return np.unique(np.round(np.linspace(0, 0.9 * instance.n, points)))


def _populations(instance: Instance) -> list[tuple[int, int, str]]:
    """What coefficients may be taken out of: how many there are, how many of them are not 0, in words."""
    assert instance.weight is not None
    found = [(instance.n, instance.weight, "")]
    if instance.error_weight is not None:
        found.append((2 * instance.n, instance.weight + instance.error_weight, " of secret and errors"))
    return found


def _primal_cost(
    instance: Instance, cost: CostModel, beta: Array, zeta: Array, search: Array
) -> tuple[Array, list[tuple[Array, str]]]:
    """Dimensions [beta, zeta], and log2 of the operations of one try [beta, zeta, w] by each way to find the guess."""
    sigma = instance.sigma
    d, volume = attacks._basis(instance, beta[:, None], zeta[None, :])
    delta, fixed = log_delta(beta[:, None]), cost.bkz(beta[:, None], d)[:, :, None]
    # Nearest planes, with and without a meet in the middle; as in attacks.primal_hybrid.
    middle, reach = volume / d - math.log(sigma * math.sqrt(2)), (d - 1) * delta
    decode = attacks._log2_probability(middle - reach, middle + reach, d, 1)[:, :, None]
    same = attacks._log2_probability(middle - reach, middle + reach, d, 2)[:, :, None]
    plane = 2 * np.log2(d)[:, :, None]
    # A sieve in the last eta dimensions for each guess, the least that finds the error.
    eta = np.arange(MIN_BETA, beta[-1] + 1, 4)[None, None, :]
    projected = volume[:, :, None] * eta / d[:, :, None] - eta * (d[:, :, None] - eta) * delta[:, :, None]
    shortest = (projected + math.log(sigma) - attacks._log_ball(eta + 1)) / (eta + 1)
    works = (shortest >= math.log(sigma) + np.log(eta + 1) / 2) & (eta < d[:, :, None])
    least = eta[0, 0, np.argmax(works, axis=2)]
    sieve = np.where(works.any(axis=2), cost.sieve(cost.sieve_dimension(least)), np.inf)[:, :, None]
    return d, [
        (log2_sum(fixed, search + plane) - decode, "nearest planes"),
        (log2_sum(fixed, (search - same) / 2 + plane) - decode, "meet in the middle"),
        (log2_sum(fixed, search + sieve), "a sieve each"),
    ]


def primal_hybrid(instance: Instance, cost: CostModel) -> Attack:
    """Drop or guess coefficients, reduce the rest's lattice, decode each guess."""
    result = Attack("primal hybrid", math.inf)
    for size, weight, what in _populations(instance):
        zetas, betas, best = _zetas(instance, 47), attacks._betas(instance, 12), result
        for _ in range(2):
            search, right, _w = _guesses(size, weight, tuple(int(z) for z in zetas))
            d, found = _primal_cost(instance, cost, betas, zetas, search)
            least = Attack("", math.inf)
            for bits, how in found:
                i, j, k = (int(x) for x in np.unravel_index(int(np.argmin(bits - right)), bits.shape))
                if bits[i, j, k] - right[j, k] < least.bits:
                    detail = f"{int(zetas[j])}{what} taken out, of weight {k} at most, {how}"
                    least = Attack(
                        "primal hybrid", float(bits[i, j, k] - right[j, k]), int(betas[i]), int(d[i, j]), detail
                    )
                    at = zetas[j]
            best = min(best, least, key=lambda attack: attack.bits)
            zetas = _near(instance, at, 0.02, 21)
            betas = np.arange(max(MIN_BETA, least.beta - 12), least.beta + 13, 2.0)
        result = best
    return result


def _near(instance: Instance, value: float, part: float, points: int) -> Array:
    reach = instance.n * part
    return np.unique(np.round(np.clip(np.linspace(value - reach, value + reach, points), 0, 0.9 * instance.n)))


def dual_hybrid(instance: Instance, cost: CostModel) -> Attack:
    """Short dual vectors distinguish right guesses of the coefficients that were taken out, with a light secret."""
    result = Attack("dual hybrid", math.inf)
    for size, weight, what in _populations(instance):
        zetas, betas, best = _zetas(instance, 31), attacks._betas(instance, 24), result
        ffts = np.array([0.0, 10.0, 20.0, 40.0, 60.0, 80.0])
        for _ in range(2):
            search, right, w = _guesses(size, weight, tuple(int(z) for z in zetas))
            least = Attack("", math.inf)
            for p in (2, 3):
                bits, d = _dual_cost(
                    instance,
                    cost,
                    betas[:, None, None, None],
                    zetas[None, :, None, None],
                    np.minimum(w, instance.weight or 0)[None, None, :, None],
                    search[None, :, :, None],
                    ffts[None, None, None, :],
                    p,
                )
                bits = bits - right[None, :, :, None]
                i, j, k, m = (int(x) for x in np.unravel_index(int(np.argmin(bits)), bits.shape))
                if bits[i, j, k, m] < least.bits:
                    how = f", {int(ffts[m])} by FFT modulo {p}" if ffts[m] else ""
                    detail = f"{int(zetas[j])}{what} taken out, of weight {k} at most{how}"
                    dimension = int(np.broadcast_to(d, bits.shape)[i, j, k, m])
                    least = Attack("dual hybrid", float(bits[i, j, k, m]), int(betas[i]), dimension, detail)
                    at = zetas[j], ffts[m]
            best = min(best, least, key=lambda attack: attack.bits)
            zetas = _near(instance, at[0], 0.03, 15)
            ffts = np.unique(np.clip(at[1] + np.array([-10.0, -5.0, 0.0, 5.0, 10.0]), 0, None))
            betas = np.arange(max(MIN_BETA, least.beta - 24), least.beta + 25, 4.0)
        result = best
    return result


def _dual_cost(
    instance: Instance, cost: CostModel, beta: Array, zeta: Array, weight: Array, search: Array, fft: Array, p: int
) -> tuple[Array, Array]:
    """log2 of the operations of one try, and the dimension: attacks._dual_cost with guesses of low weight.

    The secret left in the lattice has the weight that the guess leaves it.
    """
    assert instance.weight is not None
    sigma, log_q = instance.sigma, instance.log_q * math.log(2)
    rest = np.maximum(instance.n - zeta - fft, 16)
    secret = np.sqrt(np.maximum(instance.weight - weight, 1) / np.maximum(instance.n - zeta, 1))
    log_delta_beta = log_delta(beta)
    ratio = np.log(secret / sigma) + log_q
    m = np.clip(np.sqrt(rest * ratio / log_delta_beta) - rest, 1, min(attacks._samples(instance), 1e9))
    d = np.maximum(m + rest, beta + 1)
    log_length = (
        (math.log(sigma) * (d - rest) + (np.log(secret) + log_q) * rest) / d
        + math.log(4 / 3) / 2
        + np.log(beta / (2 * math.pi * math.e)) / 2
        + (d - beta) * log_delta_beta
    )
    with np.errstate(over="ignore"):
        noise = 4 * np.exp(2 * (log_length + math.log(math.pi) - log_q))
    wanted = (
        noise / math.log(2)
        + fft / 3 * (secret * math.pi / p) ** 2 / math.log(2)
        + np.log2(search * math.log(2) + fft * math.log(p) + math.log(2))
    )
    dimension = cost.second_sieve_dimension(beta, d)
    batches = np.maximum(0, wanted - 0.2075 * dimension)
    sample = batches + log2_sum(cost.bkz(beta, d), cost.sieve(dimension))
    transform = 10 + np.log2(np.maximum(fft, 1)) + (fft + 1) * math.log2(p)
    update = math.log2(4 * 5 * 32) + wanted
    guess = search + log2_sum(transform, update)
    return np.where(instance.n - zeta - fft >= 16, log2_sum(sample, guess), np.inf), d


#: What an estimate of a secret of fixed weight consists of.
ALL: tuple[Callable[[Instance, CostModel], Attack], ...] = (
    attacks.primal_usvp,
    attacks.primal_bdd,
    primal_hybrid,
    attacks.dual,
    dual_hybrid,
    attacks.combinatorial,
)
