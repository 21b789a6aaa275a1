# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What devices, kernels, keys, handles, buffers and reports are. Knows no kernel and no application.

A kernel is a value of its room. How devices of a kind run kernels of a type is an :class:`Implementation`, which a room
registers for its kernels, and a device's module for its device, when they are imported.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from ringforge._native import Context, GaloisKeys, RelinKey
from ringforge.errors import MismatchError, MissingKeyError, ParameterError

T = TypeVar("T")
K = TypeVar("K")
S = TypeVar("S")

#: What to do when a device cannot.
CPU_RUNS_IT = "; cpu runs it, other devices are listed by `ringforge info`"

#: Takes the fraction done; a result of False cancels a kernel that can be cancelled.
Progress = Callable[[float], bool | None]


@dataclass(frozen=True)
class Needs:
    """What a kernel asks of a device.

    Attributes:
        degree: of its ring.
        limbs: of its ciphertexts, special primes not counted.
        prime_bits: of its widest prime.
    """

    degree: int
    limbs: int
    prime_bits: int

    @classmethod
    def of(cls, context: Context, level: int) -> Needs:
        """Those of a kernel on ciphertexts of a level."""
        p = context.params
        return cls(p.degree, level + 1, max(q.bit_length() for q in (*p.q, *p.p)))


class Kernel(Protocol):
    """A frozen dataclass that says all that fixes the bits of a result, keys and inputs aside."""

    def needs(self) -> Needs:
        """What it asks of a device."""


@dataclass(frozen=True)
class Capabilities:
    """What a device can do; asked before anything is prepared."""

    name: str
    description: str
    #: Types of the kernels it runs, as far as their rooms are imported.
    kernels: frozenset[type]
    #: Largest ring degree, largest number of limbs of Q, widest prime in bits; None: as the library.
    max_degree: int | None = None
    max_limbs: int | None = None
    max_prime_bits: int | None = None


@dataclass(frozen=True)
class KeySet:
    """Evaluation keys a kernel may use.

    Attributes:
        galois, relin: of schemes whose ciphertexts are RLWE.
        own: keys of other kinds, at most one of each type.
    """

    galois: GaloisKeys = field(default_factory=GaloisKeys)
    relin: RelinKey | None = None
    own: tuple[Any, ...] = ()

    def of(self, kind: type[T]) -> T | None:
        """The key of this type among `own`, or None."""
        return next((key for key in self.own if isinstance(key, kind)), None)

    def required_relin(self) -> RelinKey:
        """The relinearisation key.

        Raises:
            MissingKeyError: there is none.
        """
        if self.relin is None:
            raise MissingKeyError("products need a relinearisation key, which this key set lacks")
        return self.relin

    @property
    def bytes(self) -> int:
        """Bytes in memory."""
        return int(self.galois.bytes) + sum(int(k.bytes) for k in (self.relin, *self.own) if k is not None)


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

        # Sums begin with a report of nothing, which has no clock.
        if not self.seconds:
            return Report(
                self.device,
                other.seconds,
                other.cycles,
                other.clock_hz,
                merge(self.bytes, other.bytes),
                merge(self.operations, other.operations),
            )
        if not other.seconds:
            return other + self
        cycles = None if self.cycles is None or other.cycles is None else self.cycles + other.cycles
        return Report(
            self.device,
            self.seconds + other.seconds,
            cycles,
            self.clock_hz,
            merge(self.bytes, other.bytes),
            merge(self.operations, other.operations),
        )


class Buffer:
    """A result that stays where a device has it: an input of its further kernels, until `Device.download`.

    Devices derive their own. What applications read of a host object without its words, they read of its buffer too: a
    buffer with a ciphertext has `level`, `scale`, `bound` and `key_id`.

    Args:
        device: name of the device.
    """

    def __init__(self, device: str) -> None:
        self.device = device


@dataclass(slots=True)
class Preparation(Generic[K]):
    """What `Implementation.prepare` gets; fields as of `Device.prepare`."""

    device: Any
    kernel: K
    keys: KeySet
    operands: Any
    threads: int
    progress: Progress | None


@dataclass(slots=True)
class Execution(Generic[K, S]):
    """What `Implementation.run` gets; fields as of `Device.run`, and the state that `prepare` returned."""

    device: Any
    kernel: K
    state: S
    inputs: Sequence[Any]
    threads: int
    progress: Progress | None


class Implementation(ABC):
    """How devices of one kind run one type of kernel.

    It has no state: what a prepared kernel needs is in its handle, what a device has is in the device.
    """

    def check(self, device: Any, kernel: Any) -> None:  # noqa: B027
        """Refuses what `Kernel.needs` cannot express, such as what does not fit into a memory.

        Raises:
            ParameterError: with the limit.
        """

    def prepare(self, p: Preparation[Any]) -> Any:  # noqa: ARG002
        """Does once what needs no inputs; returns the state that `run` gets.

        Raises:
            ShapeError, ringforge.ValueError, LevelError, MissingKeyError, MismatchError: as the kernel's preconditions
            demand.
        """
        return None

    @abstractmethod
    def run(self, r: Execution[Any, Any]) -> tuple[list[Any], Report]:
        """Applies the kernel to host objects and buffers of this device; any number of threads may be in it."""

    def storage(self, state: Any) -> int:  # noqa: ARG002
        """Bytes that a prepared kernel holds, its keys not counted."""
        return 0


_IMPLEMENTATIONS: dict[tuple[str, type], Implementation] = {}


def register(kernel: type, device: str, implementation: Implementation) -> None:
    """Says how devices of a kind run kernels of a type.

    Raises:
        ParameterError: it has been said already.
    """
    if (device, kernel) in _IMPLEMENTATIONS:
        raise ParameterError(f"{kernel.__name__} has an implementation for {device} already: name the device otherwise")
    _IMPLEMENTATIONS[device, kernel] = implementation


def implementation(kernel: type, device: str) -> Implementation | None:
    """How devices of a kind run kernels of a type; None if they do not."""
    return _IMPLEMENTATIONS.get((device, kernel))


def kernels(device: str) -> frozenset[type]:
    """Types of the kernels that devices of a kind run, as far as their rooms are imported."""
    return frozenset(kernel for kind, kernel in _IMPLEMENTATIONS if kind == device)


@dataclass(frozen=True, eq=False)
class Handle:
    """A prepared kernel. `state` belongs to the device that made it."""

    device: str
    kernel: Any
    implementation: Implementation
    #: Wall seconds that `prepare` took (encoding of operands).
    prepare_seconds: float
    state: Any
    #: Processor seconds of the same, of all threads of this process.
    prepare_cpu_seconds: float = 0.0

    @property
    def storage(self) -> int:
        """Bytes that it holds now, keys not counted."""
        return self.implementation.storage(self.state)


class Device:
    """A place where kernels run.

    Derived classes set these, as attributes or properties.

    Attributes:
        name: KIND, or KIND:WHICH; implementations are registered for the kind.
        description: one line.
        max_degree, max_limbs, max_prime_bits: limits as of :class:`Capabilities`.
        encrypts: results are ciphertexts, equal to those of `cpu` in every word.
    """

    name: str
    max_degree: int | None = None
    max_limbs: int | None = None
    max_prime_bits: int | None = None
    encrypts: bool = True

    @property
    def description(self) -> str:
        """What it is, in one line."""
        return ""

    @property
    def kind(self) -> str:
        """The name up to a colon."""
        return self.name.partition(":")[0]

    def capabilities(self) -> Capabilities:
        """What this device can do."""
        return Capabilities(
            self.name,
            self.description,
            kernels(self.kind),
            self.max_degree,
            self.max_limbs,
            self.max_prime_bits,
        )

    def check(self, kernel: Kernel) -> None:
        """Holds a kernel against what this device can do.

        Raises:
            ParameterError: the device cannot run it; the message says what is needed and what there is.
        """
        self._checked(kernel)

    def _checked(self, kernel: Kernel) -> Implementation:
        found = implementation(type(kernel), self.kind)
        if found is None:
            raise ParameterError(
                f"device {self.name} does not run {type(kernel).__name__}"
                + (CPU_RUNS_IT if implementation(type(kernel), "cpu") is not None else "")
            )
        needs = kernel.needs()
        for what, need, have in (
            ("ring degree", needs.degree, self.max_degree),
            ("limbs", needs.limbs, self.max_limbs),
            ("bits of a prime", needs.prime_bits, self.max_prime_bits),
        ):
            if have is not None and need > have:
                raise ParameterError(f"device {self.name} takes {what} up to {have}, the program needs {need}")
        found.check(self, kernel)
        return found

    def prepare(
        self,
        kernel: Kernel,
        keys: KeySet,
        operands: Any = None,
        *,
        threads: int = 1,
        progress: Progress | None = None,
    ) -> Handle:
        """Checks a kernel, and does once what needs no inputs: encodes operands, loads keys.

        Args:
            keys: what there is; a kernel takes what it needs.
            operands: what its room says of the kernel, or None.
            progress: called with the fraction done; a device may leave it alone.

        Raises:
            ParameterError: the device cannot run it. ShapeError, ringforge.ValueError, LevelError, MissingKeyError,
            MismatchError: as the kernel's preconditions demand.
        """
        found = self._checked(kernel)
        wall, cpu = time.perf_counter(), time.process_time()
        state = found.prepare(Preparation(self, kernel, keys, operands, threads, progress))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        return Handle(self.name, kernel, found, wall, state, cpu)

    def run(
        self, handle: Handle, inputs: Sequence[Any], *, threads: int = 1, progress: Progress | None = None
    ) -> tuple[list[Any], Report]:
        """Applies a prepared kernel to one group of inputs.

        Args:
            inputs: host objects, and buffers of this device, in any mixture. They stay as they are, but for those that
                the kernel takes over.

        Returns:
            host objects or buffers of this device, and what it took.

        Raises:
            MismatchError: the kernel was prepared for another device, or an input is in another device's memory.
        """
        if handle.device != self.name:
            raise MismatchError(f"the kernel was prepared for device {handle.device}, not {self.name}: prepare it here")
        for value in inputs:
            if isinstance(value, Buffer):
                self._own(value)
        return handle.implementation.run(Execution(self, handle.kernel, handle.state, inputs, threads, progress))

    def download(self, value: Any) -> Any:
        """A result as a host object; host objects stay what they are.

        Raises:
            MismatchError: it is in another device's memory.
        """
        if not isinstance(value, Buffer):
            return value
        self._own(value)
        return self.fetch(value)

    def fetch(self, buffer: Any) -> Any:
        """What a buffer of this device holds, as a host object: for devices with buffers of their own."""
        raise MismatchError(
            f"device {self.name} keeps no results in buffers: download this {type(buffer).__name__} where it was made"
        )

    def _own(self, buffer: Buffer) -> None:
        if buffer.device != self.name:
            raise MismatchError(
                f"the result is in the memory of device {buffer.device}, not of {self.name}: download it there first"
            )
