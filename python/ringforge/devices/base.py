# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The device interface and the kernels of the systems: matvec, matmul, and those of gates and set intersection."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge._native import Context, Diagonals, GaloisKeys, PairSumPlan, Plan, RelinKey, Schedule
from ringforge.errors import MismatchError, ParameterError

if TYPE_CHECKING:
    from ringforge._native.fhew import Cut, EvaluationKey, GateParameters, SubstitutionKey


@dataclass(frozen=True)
class Capabilities:
    """What a device can do; asked before anything is prepared."""

    name: str
    description: str
    #: Kernel types it runs.
    kernels: frozenset[type]
    #: Largest ring degree, largest number of limbs of Q, widest prime in bits; None: as the library.
    max_degree: int | None = None
    max_limbs: int | None = None
    max_prime_bits: int | None = None


@dataclass(frozen=True)
class MatvecKernel:
    """Plain matrix x encrypted vector, plus bias, by a plan. Results are one level lower than inputs.

    Attributes:
        context: parameters; for the clear device too, which then uses only their slot count.
        plan: packing and algorithm.
        level: of the inputs, at least 1.
        batch: vectors interleaved in each ciphertext, a power of two.
        input_scale, output_scale: scales of inputs and results.
        input_bound: declared bound of the inputs' slots.
        fresh_inputs: inputs come straight from encryption; an earlier matrix's results share their errors, and
            noise is then predicted accordingly.
    """

    context: Context
    plan: Plan
    level: int
    batch: int
    input_scale: float
    output_scale: float
    input_bound: float
    fresh_inputs: bool


@dataclass(frozen=True)
class SquareKernel:
    """Every slot squared: product, relinearisation, rescale. Results are one level lower."""

    context: Context
    level: int


@dataclass(frozen=True, eq=False)
class HltKernel:
    """A linear transform of one ciphertext's slots, one level lower.

    Attributes:
        context: parameters.
        map: the non-zero diagonals.
        level: of the input, at least 1.
        schedule: naive, hoisted, mo or bsgs.
        babies: for bsgs the baby step of each diagonal, uint32.
        input_scale, output_scale: scales of input and result.
        input_bound: declared bound of the input's slots.
        compact: keep coefficients of the encoded diagonals only.
    """

    context: Context
    map: Diagonals
    level: int
    schedule: Schedule
    babies: npt.NDArray[np.uint32]
    input_scale: float
    output_scale: float
    input_bound: float
    compact: bool = False

    def native(self) -> _native.Hlt:
        """The library's object, not encoded yet."""
        return _native.Hlt(self.context, self.map, self.level, self.schedule, self.babies)


@dataclass(frozen=True)
class PairSumKernel:
    """The sum of products of shifted ciphertexts that ends a matrix product.

    Inputs are the left bases, then the right bases, all of one level.

    Attributes:
        context: parameters.
        plan: shifts, masks, groups.
        level: of the bases.
        left_scale, right_scale, output_scale: of bases and result.
        left_bound, right_bound, output_bound: declared bounds of the slots of bases and result.
        compact: keep coefficients of the encoded masks only.
    """

    context: Context
    plan: PairSumPlan
    level: int
    left_scale: float
    right_scale: float
    output_scale: float
    left_bound: float
    right_bound: float
    output_bound: float
    compact: bool = False

    def native(self) -> _native.PairSum:
        """The library's object, not encoded yet."""
        return _native.PairSum(self.context, self.plan, self.level)


@dataclass(frozen=True)
class MultiplyKernel:
    """The slot-wise product of two ciphertexts, relinearised and not rescaled."""

    context: Context
    level: int


@dataclass(frozen=True)
class AccumulateKernel:
    """Accumulation chains: acc <- acc (x) key[index] for each index in turn, with the evaluation key of `ap`.

    Inputs are the accumulators, (batch, 2, N), a then b, coefficients modulo Q, and the indices, (batch, length)
    uint32: (i d_r + j) B_r + v stands for the RGSW ciphertext of v B_r^j s_i; v = 0 may be skipped. Words have 32 bits
    for Q below 2^31, else 64. The result is the accumulators.

    Attributes:
        params: parameters of the gates.
        batch: accumulators.
        length: products for each, n d_r for a gate.
    """

    params: GateParameters
    batch: int
    length: int

    @property
    def degree(self) -> int:
        """N."""
        return 1 << self.params.log_n

    @property
    def modulus(self) -> int:
        """Q."""
        return self.params.modulus


@dataclass(frozen=True)
class SubstitutionKernel:
    """RLWE substitution X -> X^element of a batch of ciphertexts: the map, then a key switch of the a-parts.

    The input is the ciphertexts, (batch, 2, N), a then b, coefficients modulo Q, in words as of
    :class:`AccumulateKernel`; so is the result.

    Attributes:
        log_n: log2 N.
        modulus: the prime Q.
        element: odd, below 2N.
        cut: the key's gadget.
        batch: ciphertexts.
    """

    log_n: int
    modulus: int
    element: int
    cut: Cut
    batch: int

    @property
    def degree(self) -> int:
        """N."""
        return 1 << self.log_n


#: Kernels over one small prime, whose ciphertexts are arrays.
SmallKernel = AccumulateKernel | SubstitutionKernel
Kernel = MatvecKernel | SquareKernel | HltKernel | PairSumKernel | MultiplyKernel | SmallKernel


@dataclass(frozen=True)
class MatvecOperands:
    """The plain side of a matvec kernel: matrix (m, n) and bias (m,) or empty, float64."""

    matrix: npt.NDArray[np.float64]
    bias: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Keys:
    """Evaluation keys a kernel may use."""

    galois: GaloisKeys = field(default_factory=GaloisKeys)
    relin: RelinKey | None = None
    gates: EvaluationKey | None = None
    substitution: SubstitutionKey | None = None

    @property
    def bytes(self) -> int:
        """Bytes in memory."""
        return int(self.galois.bytes) + sum(int(k.bytes) for k in (self.relin, self.gates, self.substitution) if k)


@dataclass(frozen=True)
class Report:
    """What one run took.

    Attributes:
        device: name of the device.
        seconds: wall time, or time by the device's clock when it has cycles.
        cycles, clock_hz: for clocked devices.
        bytes: bytes read or written per entity ("keys", "matrix", "input", "output").
        operations: counts by name, the planner's names.
    """

    device: str
    seconds: float
    cycles: int | None = None
    clock_hz: float | None = None
    bytes: Mapping[str, int] = field(default_factory=dict)
    operations: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: Report) -> Report:
        def merge(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
            return {k: a.get(k, 0) + b.get(k, 0) for k in {**a, **b}}

        cycles = None if self.cycles is None or other.cycles is None else self.cycles + other.cycles
        return Report(
            self.device,
            self.seconds + other.seconds,
            cycles,
            self.clock_hz,
            merge(self.bytes, other.bytes),
            merge(self.operations, other.operations),
        )


@dataclass(frozen=True)
class Handle:
    """A prepared kernel. `state` belongs to the device that made it."""

    device: str
    kernel: Kernel
    #: Seconds that `prepare` took (encoding of operands).
    prepare_seconds: float
    state: Any


Progress = Callable[[float], None]


class Device(ABC):
    """A place where kernels run."""

    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What this device can do."""

    def check(self, kernel: Kernel) -> None:
        """Holds a kernel against the capabilities.

        Raises:
            ParameterError: the device cannot run it; the message says what is needed and what there is.
        """
        can = self.capabilities()
        if type(kernel) not in can.kernels:
            raise ParameterError(f"device {can.name} does not run {type(kernel).__name__}")
        if isinstance(kernel, SmallKernel):
            degree, limbs, bits = kernel.degree, 1, kernel.modulus.bit_length()
        else:
            params = kernel.context.params
            degree, limbs = params.degree, kernel.level + 1
            bits = max(q.bit_length() for q in (*params.q, *params.p))
        for what, need, have in (
            ("ring degree", degree, can.max_degree),
            ("limbs", limbs, can.max_limbs),
            ("bits of a prime", bits, can.max_prime_bits),
        ):
            if have is not None and need > have:
                raise ParameterError(f"device {can.name} takes {what} up to {have}, the program needs {need}")

    @abstractmethod
    def prepare(
        self,
        kernel: Kernel,
        keys: Keys,
        operands: MatvecOperands | None = None,
        *,
        threads: int = 1,
        progress: Progress | None = None,
    ) -> Handle:
        """Encodes operands. `check` has been called before.

        Raises:
            ShapeError, ValueError, LevelError, MissingKeyError: as the kernel's preconditions demand.
        """

    @staticmethod
    def own(handle: Handle, name: str) -> None:
        """Refuses a handle of another device, whose state means nothing here.

        Raises:
            MismatchError: it was prepared by another device than `name`.
        """
        if handle.device != name:
            raise MismatchError(f"the kernel was prepared for device {handle.device}, not {name}: prepare it here")

    @abstractmethod
    def run(
        self, handle: Handle, inputs: Sequence[Any], *, threads: int = 1, progress: Progress | None = None
    ) -> tuple[list[Any], Report]:
        """Applies a prepared kernel to one group of inputs."""
