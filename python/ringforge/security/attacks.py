# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Attacks on LWE, each the least cost over its own parameters.

All searches run over whole arrays of block sizes and guessed dimensions at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ringforge.security.reduction import MIN_BETA, Array, CostModel, log2_sum, log_delta

#: Secrets by name: log2 of the values of a coefficient (what guessing one costs), 0 where sigma decides.
SECRETS = {"binary": 1.0, "ternary": math.log2(3), "gaussian": 0.0}


@dataclass(frozen=True)
class Instance:
    """An LWE instance b = <a, s> + e modulo q.

    Attributes:
        n: dimension.
        log_q: log2 of the modulus.
        sigma: standard deviation of the error.
        secret: "binary" (uniform in {0, 1}), "ternary" (uniform in {-1, 0, 1}) or "gaussian" (as the error).
        samples: how many the attacker has; None: as many as wanted.
        weight: of a "ternary" secret, how many coefficients are not 0; None where each is uniform.
        error_weight: how many errors of n samples are not 0, for small errors with a secret of a weight; None: many.
    """

    n: int
    log_q: float
    sigma: float
    secret: str = "ternary"
    samples: int | None = None
    weight: int | None = None
    error_weight: int | None = None

    @property
    def secret_sigma(self) -> float:
        """Standard deviation of a secret coefficient; a binary one is centred by adding half the sum of a to b."""
        if self.weight is not None:
            return math.sqrt(self.weight / self.n)
        return {"binary": 0.5, "ternary": math.sqrt(2 / 3)}.get(self.secret, self.sigma)

    @property
    def entropy(self) -> float:
        """Bits of one secret coefficient."""
        if self.weight is not None:
            return (math.log2(math.comb(self.n, self.weight)) + self.weight) / self.n
        return SECRETS[self.secret] or max(0.0, math.log2(self.sigma * math.sqrt(2 * math.pi * math.e)))


@dataclass(frozen=True)
class Attack:
    """The cheapest form of an attack.

    Attributes:
        name: of the attack.
        bits: log2 of its operations; infinite where it does not apply.
        beta: block size of the reduction, 0 without one.
        dimension: of the reduced lattice, 0 without one.
        detail: further choices, in words.
    """

    name: str
    bits: float
    beta: int = 0
    dimension: int = 0
    detail: str = ""


def _betas(instance: Instance, step: int = 1) -> Array:
    top = max(1200, instance.n // 8)
    return np.arange(MIN_BETA, min(top, 6000) + 1, step, dtype=np.float64)


def _samples(instance: Instance) -> float:
    return math.inf if instance.samples is None else float(instance.samples)


def _log_scale(instance: Instance) -> float:
    """ln of the factor that makes secret and error equally long (Bai, Galbraith, ACISP 2014)."""
    return max(0.0, math.log(instance.sigma / instance.secret_sigma))


def primal_usvp(instance: Instance, cost: CostModel) -> Attack:
    """Kannan's embedding of (scaled s, e, sigma) as the unique shortest vector.

    BKZ-beta finds it if its projection to the last block, sigma sqrt(beta), is below that block's first Gram-Schmidt
    length delta^(2 beta - d - 1) vol^(1/d) (Alkim et al., USENIX 2016). The least d that does is taken.
    """
    n, log_q, log_sigma = instance.n, instance.log_q * math.log(2), math.log(instance.sigma)
    beta = _betas(instance)
    ld = log_delta(beta)
    missing = (n + 1) * log_q - n * _log_scale(instance) - log_sigma
    slope = ld * (2 * beta - 1) + log_q - log_sigma - np.log(beta) / 2
    discriminant = slope * slope - 4 * ld * missing
    root = (slope - np.sqrt(np.maximum(discriminant, 0))) / (2 * ld)
    d = np.maximum(np.ceil(root), beta + 1)
    works = (discriminant >= 0) & (slope > 0) & (root <= _samples(instance) + n + 1) & (d * (slope - ld * d) >= missing)
    bits = np.where(works, cost.bkz(beta, d), np.inf)
    i = int(np.argmin(bits))
    if not works[i]:
        return Attack("primal uSVP", math.inf)
    return Attack("primal uSVP", float(bits[i]), int(beta[i]), int(d[i]))


def _basis(instance: Instance, beta: Array, guessed: Array | float) -> tuple[Array, Array]:
    """Dimension that suits BKZ-beta once some coefficients are guessed, and ln of the lattice's volume."""
    rest, log_q = instance.n - guessed, instance.log_q * math.log(2)
    best = np.ceil(np.sqrt(rest * (log_q - _log_scale(instance)) / log_delta(beta)))
    d = np.maximum(np.minimum(best, rest + _samples(instance)), np.maximum(rest + 1, beta + 1))
    return np.asarray(d), np.asarray((d - rest) * log_q + rest * _log_scale(instance))


def _log_ball(k: Array) -> Array:
    """ln of the volume of the unit ball, by Stirling (k is at least 40 here)."""
    return np.asarray(k / 2 * np.log(2 * np.pi * np.e / k) - np.log(np.pi * k) / 2)


def primal_bdd(instance: Instance, cost: CostModel) -> Attack:
    """A weaker reduction, then one sieve in the last eta dimensions that finds the projected error."""
    beta = _betas(instance, 2)[:, None]
    d, volume = _basis(instance, beta, 0.0)
    eta = np.arange(MIN_BETA, _betas(instance)[-1] + 1, 4)[None, :]
    projected = volume * eta / d - eta * (d - eta) * log_delta(beta) + math.log(instance.sigma)
    shortest = (projected - _log_ball(eta + 1)) / (eta + 1)
    works = (shortest >= math.log(instance.sigma) + np.log(eta + 1) / 2) & (eta < d)
    sieve = cost.sieve(cost.sieve_dimension(eta))
    bits = np.where(works, log2_sum(cost.bkz(beta, d), sieve), np.inf)
    i, j = np.unravel_index(int(np.argmin(bits)), bits.shape)
    if not works[i, j]:
        return Attack("primal BDD", math.inf)
    return Attack("primal BDD", float(bits[i, j]), int(beta[i, 0]), int(d[i, 0]), f"eta {int(eta[0, j])}")


def _cell_tables() -> tuple[Array, Array, Array]:
    """Integrals over ln x of ln of two probabilities, for Gaussian errors in cells sqrt(2) x standard deviations wide.

    First that nearest planes decode a point (the error stays within the half cell), second that a random point and its
    sum with the error lie in the same cell, E max(0, 1 - |e| / r), which a meet in the middle needs (Son, Cheon, 2019).
    """
    logs = np.linspace(-12, 4, 1600)
    decode, same = [], []
    for log_x in logs:
        x = math.exp(log_x)
        decode.append(math.log(math.erf(x / 2)))
        value = math.erf(x) + math.expm1(-x * x) / (x * math.sqrt(math.pi)) if x > 0.01 else x / math.sqrt(math.pi)
        same.append(math.log(value))
    step = logs[1] - logs[0]

    def integral(values: list[float]) -> Array:
        y = np.array(values)
        return np.concatenate([[0.0], np.cumsum((y[1:] + y[:-1]) / 2 * step)])

    return logs, integral(decode), integral(same)


_CELLS = _cell_tables()


def _log2_probability(low: Array, high: Array, d: Array, which: int) -> Array:
    """log2 of a product of the table's probabilities over d cells whose ln x runs evenly from low to high.

    Cells below the table count as its first one, which is already hopeless; those above it never fail.
    """
    logs, integral = _CELLS[0], _CELLS[which]
    span = np.interp(high, logs, integral) - np.interp(low, logs, integral)
    return np.asarray(span / np.maximum(high - low, 1e-9) * d / math.log(2))


def primal_hybrid(instance: Instance, cost: CostModel) -> Attack:
    """Guess some secret coefficients, reduce the rest's lattice, decode each guess by nearest planes.

    With and without a meet in the middle over the guesses (Howgrave-Graham, CRYPTO 2007; probabilities after Son and
    Cheon, 2019). Guesses are exhausted: dense secrets gain nothing from trying likely ones first.
    """
    name, sigma = "primal hybrid", instance.sigma
    guessed = np.unique(
        np.round(np.concatenate([np.arange(0, 64, 8), np.geomspace(64, max(65, instance.n * 0.7), 24)]))
    )
    guessed = guessed[guessed < instance.n * 0.75]
    beta = _betas(instance, 12)[:, None]
    zeta = guessed[None, :]
    d, volume = _basis(instance, beta, zeta)
    # Gram-Schmidt lengths fall linearly in the logarithm: sums over them are integrals.
    middle, reach = volume / d - math.log(sigma * math.sqrt(2)), (d - 1) * log_delta(beta)
    decode = _log2_probability(middle - reach, middle + reach, d, 1)
    same = _log2_probability(middle - reach, middle + reach, d, 2)
    reduce, plane = cost.bkz(beta, d), 2 * np.log2(d)
    search = zeta * instance.entropy
    plain = log2_sum(reduce, search + plane) - decode
    # A birthday search must find one of the pairs that meet: 2^(search/2) guesses, more where few pairs do.
    meet = log2_sum(reduce, (search - same) / 2 + plane) - decode
    result = Attack(name, math.inf)
    for bits, words in ((plain, ""), (meet, ", meet in the middle")):
        i, j = np.unravel_index(int(np.argmin(bits)), bits.shape)
        if bits[i, j] < result.bits:
            detail = f"{int(guessed[j])} guessed{words}"
            result = Attack(name, float(bits[i, j]), int(beta[i, 0]), int(d[i, j]), detail)
    return result


def _dual_cost(
    instance: Instance,
    cost: CostModel,
    beta: Array,
    enumerated: Array,
    fft: Array,
    p: int,
    enumeration: float | None = None,
) -> Array:
    """log2 of (operations), and the dimension, of a dual attack with some coefficients enumerated and some by FFT.

    MATZOV, 2022, theorem 7.6, with beta_sieve = beta in the length of the dual vectors, as in the lattice estimator.
    An enumerated coefficient costs `enumeration` bits, its entropy by default. The lattice estimator prices it as a
    rounded Gaussian's even where the secret is uniform: 1.55 bits for a binary one, which adds 4 to 5 bits in all.
    """
    enumeration = instance.entropy if enumeration is None else enumeration
    sigma, secret = instance.sigma, instance.secret_sigma
    log_q = instance.log_q * math.log(2)
    rest = instance.n - enumerated - fft
    ld = log_delta(beta)
    ratio = math.log(secret / sigma) + log_q
    m = np.clip(np.sqrt(rest * ratio / ld) - rest, 1, min(_samples(instance), 1e9))
    d = np.maximum(m + rest, beta + 1)
    log_length = (
        (math.log(sigma) * (d - rest) + (math.log(secret) + log_q) * rest) / d
        + math.log(4 / 3) / 2
        + np.log(beta / (2 * math.pi * math.e)) / 2
        + (d - beta) * ld
    )
    with np.errstate(over="ignore"):
        noise = 4 * np.exp(2 * (log_length + math.log(math.pi) - log_q))
    wanted = (
        noise / math.log(2)
        + fft / 3 * (secret * math.pi / p) ** 2 / math.log(2)
        + np.log2(enumerated * instance.entropy + fft * math.log(p) + math.log(2))
    )
    dimension = cost.second_sieve_dimension(beta, d)
    batches = np.maximum(0, wanted - 0.2075 * dimension)
    sample = batches + log2_sum(cost.bkz(beta, d), cost.sieve(dimension))
    # 32-bit numbers cost 32^2 gates to multiply and 5 * 32 to add: an FFT of p^fft, and an update of its table.
    transform = 10 + np.log2(np.maximum(fft, 1)) + (fft + 1) * math.log2(p)
    update = math.log2(4 * 5 * 32) + wanted
    guess = enumerated * enumeration + log2_sum(transform, update)
    bits = np.where(rest >= 16, log2_sum(sample, guess), np.inf)
    return np.stack([bits, np.broadcast_to(d, bits.shape)])


def dual_hybrid(instance: Instance, cost: CostModel) -> Attack:
    """Short dual vectors distinguish right guesses of some coefficients (MATZOV, 2022).

    The heuristics behind its cost are doubted (Ducas, Pulles, CRYPTO 2023), so that it is a cautious bound.
    """
    result, chosen = Attack("dual hybrid", math.inf), (0, 0, 0, 2)
    enumerations = np.arange(0, min(instance.n // 2, 90), 6.0)
    ffts = np.arange(0, min(instance.n // 2, 220), 10.0)
    for p in (2, 3, 5):
        beta = _betas(instance, 24)
        for _ in range(2):
            grid = np.ix_(beta, enumerations, ffts)
            bits, d = _dual_cost(instance, cost, grid[0], grid[1], grid[2], p)
            i, j, k = np.unravel_index(int(np.argmin(bits)), bits.shape)
            if bits[i, j, k] < result.bits:
                chosen = (int(beta[i]), int(enumerations[j]), int(ffts[k]), p)
                detail = f"{chosen[1]} enumerated, {chosen[2]} by FFT modulo {p}"
                result = Attack("dual hybrid", float(bits[i, j, k]), chosen[0], int(d[i, j, k]), detail)
            beta = np.arange(max(MIN_BETA, beta[i] - 24), beta[i] + 25, 2.0)
    b, e, f, p = chosen
    near = (
        np.arange(max(MIN_BETA, b - 8), b + 9, 1.0),
        np.arange(max(0, e - 6), e + 7, 1.0),
        np.arange(max(0, f - 10), f + 11, 1.0),
    )
    grid = np.ix_(*near)
    bits, d = _dual_cost(instance, cost, grid[0], grid[1], grid[2], p)
    i, j, k = np.unravel_index(int(np.argmin(bits)), bits.shape)
    detail = f"{int(near[1][j])} enumerated, {int(near[2][k])} by FFT modulo {p}"
    return Attack("dual hybrid", float(bits[i, j, k]), int(near[0][i]), int(d[i, j, k]), detail)


def dual(instance: Instance, cost: CostModel) -> Attack:
    """Short dual vectors distinguish the instance from uniform; nothing is guessed."""
    beta = _betas(instance)
    none = np.zeros_like(beta)
    bits, d = _dual_cost(instance, cost, beta, none, none, 2)
    i = int(np.argmin(bits))
    return Attack("dual", float(bits[i]), int(beta[i]), int(d[i]))


def combinatorial(instance: Instance, _: CostModel) -> Attack:
    """A guard for small secret spaces: |S|^(1/4), what May's representation technique approaches (CRYPTO 2021).

    The plain meet in the middle, |S|^(1/2), is above it, and both ignore what the error's size adds.
    """
    space = instance.n * instance.entropy
    return Attack("combinatorial", space / 4, detail=f"meet in the middle alone: {space / 2:.0f} bits")


#: What an estimate consists of.
ALL: tuple[Callable[[Instance, CostModel], Attack], ...] = (
    primal_usvp,
    primal_bdd,
    primal_hybrid,
    dual,
    dual_hybrid,
    combinatorial,
)
