# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The kernels of encrypted inference, and how `cpu` and `clear` run them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge._native import Algorithm, Context, GaloisKeys, Metadata, Plan, RelinKey
from ringforge.devices import (
    ClearVector,
    Execution,
    Implementation,
    Needs,
    Preparation,
    Progress,
    Report,
    register,
    register_cases,
)
from ringforge.devices.clear import vectors_of
from ringforge.devices.cpu import counted
from ringforge.errors import LevelError, ParameterError, ScaleError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec.polynomial import MAX_DEGREE, series_bound
from ringforge.matvec.polynomial_circuit import Circuit, NativeOperations, Symbol, SymbolOperations, depth


@dataclass(frozen=True)
class MatvecKernel:
    """Plain matrix x encrypted vector, plus bias, by a plan. Results are one level lower than inputs.

    Operands are :class:`MatvecOperands`; keys the Galois keys of the plan. Inputs are one ciphertext for each column
    block, results one for each row block.

    Attributes:
        context: parameters; for the clear device too, which then uses only their slot count.
        plan: packing and algorithm.
        level: of the inputs, at least 1.
        batch: vectors interleaved in each ciphertext, a power of two.
        input_scale, output_scale: scales of inputs and results.
        input_bound: declared bound of the inputs' slots.
        fresh_inputs: inputs come straight from encryption; an earlier matrix's results share their errors, and
            noise is then predicted accordingly.
        promised: a bound of the results that is known otherwise, below what the matrix could make of any inputs; None
            for none. Where the promise is broken, results may wrap around.
    """

    context: Context
    plan: Plan
    level: int
    batch: int
    input_scale: float
    output_scale: float
    input_bound: float
    fresh_inputs: bool
    promised: float | None = None

    def needs(self) -> Needs:
        """What it asks of a device."""
        return Needs.of(self.context, self.level)

    def encoded(self, operands: MatvecOperands | None, threads: int, progress: Progress | None) -> _native.Matvec:
        """The library's object for it, with its matrix encoded.

        Raises:
            ShapeError: no matrix, or of another shape. LevelError, ringforge.ValueError: as the scales deserve.
        """
        if operands is None:
            raise ShapeError("a matrix-vector kernel needs its matrix")
        made = _native.Matvec(self.context, self.plan, self.level, self.batch)
        made.encode(
            operands.matrix,
            operands.bias,
            self.input_scale,
            self.output_scale,
            self.input_bound,
            self.fresh_inputs,
            threads,
            progress,
            self.promised,
        )
        return made


@dataclass(frozen=True)
class MatvecOperands:
    """The plain side of a matvec kernel: matrix (m, n) and bias (m,) or empty, float64."""

    matrix: npt.NDArray[np.float64]
    bias: npt.NDArray[np.float64]


@dataclass(frozen=True)
class SquareKernel:
    """Every slot squared: product, relinearisation, rescale. Results are one level lower.

    Keys: the relinearisation key. Inputs are any number of ciphertexts.
    """

    context: Context
    level: int

    def needs(self) -> Needs:
        """What it asks of a device."""
        return Needs.of(self.context, self.level)


@dataclass(frozen=True)
class PolynomialKernel:
    """A polynomial of every slot, by Paterson and Stockmeyer's method. Results are ceil(log2(degree + 1)) levels lower.

    Keys: the relinearisation key. Inputs are any number of ciphertexts. docs/ckks.md has the method.

    Attributes:
        context: parameters.
        level: of the inputs.
        series: Chebyshev coefficients c_0 ... c_d on [-input_bound, input_bound], c_d not 0.
        baby: a power of two, at least 2: how many Chebyshev polynomials are made at most before products with larger
            ones; the results do not depend on it but for noise.
        input_scale, output_scale: scales of inputs and results.
        input_bound: declared bound of the inputs' slots.
    """

    context: Context
    level: int
    series: tuple[float, ...]
    baby: int
    input_scale: float
    output_scale: float
    input_bound: float

    def needs(self) -> Needs:
        """What it asks of a device."""
        return Needs.of(self.context, self.level)

    @property
    def circuit(self) -> Circuit:
        """What is done, operation by operation.

        Raises:
            ShapeError: no polynomial. LevelError: too few levels. ParameterError: no power of two, or no bound.
        """
        degree, params = len(self.series) - 1, self.context.params
        if not 1 <= degree <= MAX_DEGREE or not self.series[-1] or not np.isfinite(self.series).all():
            raise ShapeError(f"a polynomial has a degree of 1 ... {MAX_DEGREE} and finite coefficients, the last not 0")
        if not depth(degree) <= self.level <= params.max_level:
            raise LevelError(
                f"a polynomial of degree {degree} takes {depth(degree)} levels; its inputs are at level {self.level} "
                f"of 0 ... {params.max_level}"
            )
        if self.baby < 2 or self.baby & (self.baby - 1) or not self.input_bound > 0:
            raise ParameterError("baby steps are a power of two from 2 on, and inputs have a positive bound")
        return Circuit(self.series, self.level, self.baby, self.input_scale, self.output_scale, self.input_bound)

    def described(self, known: Metadata) -> tuple[Metadata, SymbolOperations]:
        """Metadata of the results for inputs of this one, and the operations that made it, counted.

        Raises:
            ScaleError, ringforge.ValueError: inputs of another scale or a larger bound.
        """
        check_input(self, self.level, known.scale, known.bound)
        ops = SymbolOperations(self.context)
        found: Symbol = self.circuit.run(ops, Symbol(self.level, known), self.context.params.q)
        return found.known, ops


class _CpuMatvec(Implementation):
    def prepare(self, p: Preparation[MatvecKernel]) -> tuple[_native.Matvec, GaloisKeys]:
        return p.kernel.encoded(p.operands, p.threads, p.progress), p.keys.galois

    def run(self, r: Execution[MatvecKernel, tuple[_native.Matvec, GaloisKeys]]) -> tuple[list[Any], Report]:
        native, galois = r.state
        return counted(r.kernel.context, r.inputs, lambda: list(native.run(list(r.inputs), galois, r.threads)))

    def storage(self, state: tuple[_native.Matvec, GaloisKeys]) -> int:
        return int(state[0].storage)


class _CpuSquare(Implementation):
    def prepare(self, p: Preparation[SquareKernel]) -> RelinKey:
        return p.keys.required_relin()

    def run(self, r: Execution[SquareKernel, RelinKey]) -> tuple[list[Any], Report]:
        if not r.inputs:
            raise ShapeError("0 inputs, where the kernel takes at least 1")
        ev = _native.Evaluator(r.kernel.context, r.threads)
        return counted(
            r.kernel.context, r.inputs, lambda: [ev.rescale(ev.relinearize(ev.mul(c, c), r.state)) for c in r.inputs]
        )


class _CpuPolynomial(Implementation):
    def prepare(self, p: Preparation[PolynomialKernel]) -> tuple[Circuit, RelinKey]:
        return p.kernel.circuit, p.keys.required_relin()

    def run(self, r: Execution[PolynomialKernel, tuple[Circuit, RelinKey]]) -> tuple[list[Any], Report]:
        if not r.inputs:
            raise ShapeError("0 inputs, where the kernel takes at least 1")
        kernel, (circuit, relin) = r.kernel, r.state
        ops, primes = NativeOperations(kernel.context, relin, r.threads), kernel.context.params.q
        for c in r.inputs:
            check_input(kernel, c.level, c.scale, c.bound)
        return counted(kernel.context, r.inputs, lambda: [circuit.run(ops, c, primes) for c in r.inputs])


def check_input(kernel: PolynomialKernel | MatvecKernel, level: int, scale: float, bound: float) -> None:
    """Holds an input against what a kernel is for.

    Raises:
        LevelError, ScaleError, ringforge.ValueError: another level, scale, or a larger bound.
    """
    if level != kernel.level:
        raise LevelError(f"the kernel takes inputs of level {kernel.level}, this one has {level}")
    if abs(scale / kernel.input_scale - 1) > 2.0**-30:
        raise ScaleError(f"the kernel takes inputs of scale {kernel.input_scale:g}, this one has {scale:g}")
    if bound > kernel.input_bound * (1 + 1e-9):
        raise RingforgeValueError(
            f"the kernel is for inputs bounded by {kernel.input_bound:g}, this one declares {bound:g}"
        )


class _ClearMatvec(Implementation):
    def prepare(self, p: Preparation[MatvecKernel]) -> Any:
        packing, operands = p.kernel.plan.packing, p.operands
        if operands is None or operands.matrix.shape != (packing.rows, packing.cols):
            raise ShapeError(f"the plan is for a matrix of {packing.rows} x {packing.cols}")
        if p.progress:
            p.progress(1.0)
        return operands

    def run(self, r: Execution[MatvecKernel, MatvecOperands]) -> tuple[list[Any], Report]:
        start = time.perf_counter()
        packing = r.kernel.plan.packing
        given = vectors_of(r.inputs, r.kernel.level, packing.slots * r.kernel.batch, len(packing.blocks))
        found = _clear_matvec(r.kernel.plan, r.kernel.batch, r.state, given)
        bias = np.abs(r.state.bias) if r.state.bias.size else 0.0
        bound = float((np.abs(r.state.matrix).sum(axis=1) * r.kernel.input_bound + bias).max())
        if r.kernel.promised is not None:
            bound = min(bound, r.kernel.promised)
        out = [ClearVector(s, r.kernel.level - 1, r.kernel.output_scale, bound) for s in found]
        return out, Report(r.device.name, time.perf_counter() - start)


class _ClearSquare(Implementation):
    def run(self, r: Execution[SquareKernel, None]) -> tuple[list[Any], Report]:
        start = time.perf_counter()
        params = r.kernel.context.params
        vectors_of(r.inputs, r.kernel.level, params.slots)
        prime = params.q[r.kernel.level]
        out = [ClearVector(v.slots**2, v.level - 1, v.scale**2 / prime, v.bound**2) for v in r.inputs]
        return out, Report(r.device.name, time.perf_counter() - start)


class _ClearPolynomial(Implementation):
    def prepare(self, p: Preparation[PolynomialKernel]) -> Circuit:
        return p.kernel.circuit

    def run(self, r: Execution[PolynomialKernel, Circuit]) -> tuple[list[Any], Report]:
        start = time.perf_counter()
        kernel = r.kernel
        vectors_of(r.inputs, kernel.level, kernel.context.params.slots)
        out = []
        for v in r.inputs:
            check_input(kernel, v.level, v.scale, v.bound)
            slots = np.polynomial.chebyshev.chebval(v.slots / kernel.input_bound, np.array(kernel.series))
            level, bound = kernel.level - r.state.depth, series_bound(kernel.series)
            out.append(ClearVector(slots, level, kernel.output_scale, bound))
        return out, Report(r.device.name, time.perf_counter() - start)


def _clear_matvec(
    plan: Plan, batch: int, operands: MatvecOperands, inputs: Sequence[Any]
) -> list[npt.NDArray[np.float64]]:
    """The plan's rotations and products on plain slots."""
    packing = plan.packing
    period, size = packing.row_period, packing.slots
    padded = np.zeros((packing.row_blocks * period, packing.cols + 1))
    padded[: packing.rows, : packing.cols] = operands.matrix
    columns = [packing.columns(c) for c in range(len(packing.blocks))]
    rows = np.arange(size) % period
    x = [v.reshape(size, batch) for v in inputs]
    results = []
    terms = plan.terms
    for block in range(packing.row_blocks):
        acc = np.zeros((size, batch))
        inner = np.zeros((plan.giants, size, batch))
        for t in (t for t in terms if t.row_block == block):
            diagonal = padded[block * period + rows, np.roll(columns[t.block], -t.index)]
            if plan.algorithm == Algorithm.bsgs:
                inner[t.giant] += np.roll(diagonal, t.shift)[:, None] * np.roll(x[t.block], -t.baby, axis=0)
            else:
                inner[t.giant] += np.roll(diagonal, t.shift)[:, None] * x[t.block]
        for giant in range(plan.giants):
            acc += np.roll(inner[giant], -giant * plan.baby, axis=0)
        for h in packing.folds:
            acc = acc + np.roll(acc, -h, axis=0)
        if operands.bias.size:
            bias = np.zeros(packing.row_blocks * period)
            bias[: packing.rows] = operands.bias
            acc = acc + bias[block * period + rows][:, None]
        results.append(acc.reshape(-1))
    return results


register(MatvecKernel, "cpu", _CpuMatvec())
register(SquareKernel, "cpu", _CpuSquare())
register(PolynomialKernel, "cpu", _CpuPolynomial())
register(MatvecKernel, "clear", _ClearMatvec())
register(SquareKernel, "clear", _ClearSquare())
register(PolynomialKernel, "clear", _ClearPolynomial())
register_cases(MatvecKernel, "ringforge.matvec.cases")
register_cases(SquareKernel, "ringforge.matvec.cases")
register_cases(PolynomialKernel, "ringforge.matvec.cases")
