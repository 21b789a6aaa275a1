# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Encrypted bits in arrays, gates on them, and integers as bits."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from ringforge.arrays import refuse_masked, whole_numbers
from ringforge.bytes_form import Bytes, File, Remade, content, reading, write
from ringforge.devices import Device, KeySet, Progress, open_device
from ringforge.errors import FormatError, MismatchError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.gates import shards as _shards  # noqa: F401  # registers how pools run them
from ringforge.gates.bit_records import MAX_BITS_FILE, Words, key_text, pack, unpack
from ringforge.gates.clear import ClearKey
from ringforge.gates.kernels import GateLevelKernel
from ringforge.gates.kinds import GateKind
from ringforge.hidden import Hidden
from ringforge.refusals import whole

if TYPE_CHECKING:
    from ringforge._native.fhew import EvaluationKey, GateParameters, SecretKey

ClearBits = npt.NDArray[np.uint8]

#: Bits, and integers of them.
_Bound = TypeVar("_Bound", bound="Boundable")

_HIDDEN = "encrypted bits have no value here; gates.decrypt(secret_key, bits) gives it to the key's holder"


class Keyed(Protocol):
    """What belongs to a key: bits, keys, evaluators."""

    @property
    def params(self) -> GateParameters:
        """The parameters."""

    @property
    def key_id(self) -> int:
        """The secret key's public number, or 0 for what was made before keys had one."""


class Boundable(Keyed, Protocol):
    """What has operators that use an evaluator: bits, integers."""

    def bound(self, evaluator: Evaluator | None) -> Self:
        """The same with this evaluator."""


class Bits(Hidden):
    """An array of encrypted bits: LWE ciphertexts of one key, of any shape.

    Indexing, iteration and `reshape` work as with numpy, and share memory with the original. The operators
    `& | ^ ~` are gates; they broadcast, and need an evaluator: `evaluator.bind(bits)`, or bits that came from one.
    Numbers are rows of bits along the last axis, the least bit first.

    Args:
        words: (..., n + 1), n the parameters' LWE dimension.
        params: the parameters.
        evaluator: what the operators use.
        key_id: of the secret key; 0 where nobody knows it.

    Raises:
        ShapeError: the last axis has another length.
    """

    __slots__ = ("_evaluator", "key_id", "params", "words")
    __hash__ = None  # type: ignore[assignment]
    revealed_by = "gates.decrypt(secret_key, bits) gives it to the key's holder"

    def __init__(
        self, words: Words, params: GateParameters, evaluator: Evaluator | None = None, *, key_id: int = 0
    ) -> None:
        if words.ndim < 1 or words.shape[-1] != params.n + 1:
            raise ShapeError(f"ciphertexts of shape {words.shape}; (..., {params.n + 1}) is needed for {params.name}")
        self.words = np.asarray(words, dtype=np.uint32)
        self.params = params
        self.key_id = key_id
        self._evaluator = evaluator

    def _like(self, words: Words) -> Bits:
        """Other words of the same key and evaluator."""
        return Bits(words, self.params, self._evaluator, key_id=self.key_id)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array of bits."""
        return self.words.shape[:-1]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.words.ndim - 1

    @property
    def size(self) -> int:
        """Number of bits."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a single bit has no length")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Bits:
        index = index if isinstance(index, tuple) else (index,)
        if Ellipsis not in [i for i in index if not isinstance(i, np.ndarray)]:
            index = (*index, Ellipsis)
        # The words' axis stays out of reach: a trailing full slice takes it.
        words = self.words[(*index, slice(None))]
        if words.ndim < 1 or words.shape[-1] != self.params.n + 1:
            raise IndexError(f"index {index[:-1]} does not fit bits of shape {self.shape}")
        return self._like(words)

    def __iter__(self) -> Iterator[Bits]:
        return (self[i] for i in range(len(self)))

    def reshape(self, *shape: int) -> Bits:
        """The same bits in another shape; one length may be -1.

        Raises:
            ShapeError: the lengths do not fit.
        """
        try:
            found = np.empty(self.shape, dtype=np.bool_).reshape(shape).shape
        except ValueError:
            raise ShapeError(f"{self.size} bits do not fit shape {shape}") from None
        return self._like(self.words.reshape(*found, self.params.n + 1))

    def bound(self, evaluator: Evaluator | None) -> Self:
        """The same bits, with this evaluator for their operators."""
        return type(self)(self.words, self.params, evaluator, key_id=self.key_id)

    def to_bytes(self) -> bytes:
        """Return the bits as a record of encrypted bits, for another process; `from_bytes` reads it."""
        return pack({"bits": self.words}, self.params, self.key_id)

    @classmethod
    def from_bytes(cls, data: Bytes, owner: Keyed | GateParameters) -> Bits:
        """Read what `to_bytes` gave; with an evaluator, the bits are bound to it.

        Args:
            data: the bytes.
            owner: an evaluator or a key that they must belong to, or parameters.

        Raises:
            ParameterError: no bytes. FormatError: damaged, or several arrays. MismatchError: of other parameters or
            another key.
        """
        found, params, key_id = unpack(content(data).read(), owner)
        if len(found) != 1:
            raise FormatError(f"{len(found)} arrays of encrypted bits where one is needed: gates.load_bits reads them")
        (words,) = found.values()
        return cls(words, params, owner if isinstance(owner, Evaluator) else None, key_id=key_id)

    def save(self, path: File) -> int:
        """Write what `to_bytes` gives to a file's name or to an open binary file; return the number of bytes."""
        return write(path, [self.to_bytes()])

    @classmethod
    def load(cls, path: File, owner: Keyed | GateParameters) -> Bits:
        """Read what `save` wrote. Raises as `from_bytes`."""
        with reading(path, MAX_BITS_FILE) as (f, _):
            return cls.from_bytes(f.read(MAX_BITS_FILE + 1), owner)

    def __reduce__(self) -> Any:
        # Without the evaluator: who gets them binds them to one of its own.
        return type(self).from_bytes, (self.to_bytes(), self.params)

    def __copy__(self) -> Bits:
        return self._like(self.words)

    def __deepcopy__(self, memo: Any) -> Bits:
        return self._like(self.words.copy())

    def __and__(self, other: Bits) -> Bits:
        return self._operator(GateKind.AND, other)

    def __or__(self, other: Bits) -> Bits:
        return self._operator(GateKind.OR, other)

    def __xor__(self, other: Bits) -> Bits:
        return self._operator(GateKind.XOR, other)

    def __invert__(self) -> Bits:
        return self._operator(GateKind.NOT)

    def _operator(self, kind: GateKind, *others: Bits) -> Bits:
        if not all(isinstance(o, Bits) for o in others):
            raise TypeError("gates take encrypted bits; evaluator.constant makes them of known ones")
        for bits in (self, *others):
            if bits._evaluator is not None:
                return bits._evaluator.gate(kind, self, *others)
        raise ParameterError("these bits are bound to no evaluator: evaluator.bind(bits), or call its methods")

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError(_HIDDEN + "; evaluator.xnor compares encrypted bits")

    def __ne__(self, other: object) -> NoReturn:
        self.__eq__(other)

    def __repr__(self) -> str:
        return f"Bits(shape={self.shape}, {self.params.name}, encrypted)"


def _common(items: Sequence[Bits]) -> Bits:
    """The first of these, if all have its parameters and key."""
    if not items:
        raise ShapeError("no bits to put together: give at least one")
    for bits in items[1:]:
        check_same(items[0], bits)
    return items[0]


def check_same(a: Keyed, b: Keyed) -> None:
    """Refuses bits or keys of different parameters, or of different keys.

    What has no id goes with its like only: keys with an id give it to all that is made with them.

    Raises:
        MismatchError: they differ.
    """
    if a.params.hash != b.params.hash:
        raise MismatchError(
            f"bits or keys of {a.params.name} and of {b.params.name} do not go together: encrypt under one key"
        )
    if a.key_id != b.key_id:
        raise MismatchError(
            f"bits or keys of {key_text(a.key_id)} and of {key_text(b.key_id)} do not go together: take those of one "
            "keygen"
        )


def concatenate(items: Sequence[Bits], axis: int = 0) -> Bits:
    """Bits one after the other along an axis.

    Raises:
        ShapeError: their shapes do not fit, or there are none. MismatchError: parameters or keys differ.
    """
    return _joined(items, axis, np.concatenate)


def stack(items: Sequence[Bits], axis: int = 0) -> Bits:
    """Bits of one shape side by side along a new axis.

    Raises:
        ShapeError: their shapes differ, or there are none. MismatchError: parameters or keys differ.
    """
    return _joined(items, axis, np.stack)


def _joined(items: Sequence[Bits], axis: int, how: Any) -> Bits:
    first = _common(items)
    try:
        words = how([b.words for b in items], axis=axis if axis >= 0 else axis - 1)
        return first._like(words)
    except ValueError:
        raise ShapeError(f"bits of shapes {[b.shape for b in items]} cannot be joined along axis {axis}") from None


# ---- the key's holder ----------------------------------------------------------------------------


def encrypt(secret: SecretKey | ClearKey, bits: npt.ArrayLike) -> Bits:
    """Encrypts an array of zeros and ones, of any shape.

    Raises:
        ringforge.ValueError: something else is in it.
    """
    clear = _zeros_and_ones(bits, "bits to encrypt")
    flat = np.ascontiguousarray(clear, dtype=np.uint8).reshape(-1)
    words = secret.encrypt(flat).reshape(*clear.shape, secret.params.n + 1)
    return Bits(words, secret.params, key_id=secret.key_id)


def _zeros_and_ones(bits: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    clear = whole_numbers(bits, what)
    if not np.isin(clear, (0, 1)).all():
        raise RingforgeValueError(f"{what} are 0 and 1; gates.to_bits makes bits of numbers")
    return clear


def decrypt(secret: SecretKey | ClearKey, bits: Bits) -> ClearBits:
    """The bits, as an array of zeros and ones of the same shape.

    Raises:
        MismatchError: they were encrypted with other parameters or another key.
    """
    check_same(secret, bits)
    flat = np.ascontiguousarray(bits.words).reshape(-1, bits.params.n + 1)
    return np.asarray(secret.decrypt(flat), dtype=np.uint8).reshape(bits.shape)


def to_bits(values: int | Iterable[Any], width: int) -> ClearBits:
    """Bits of whole numbers, the least first, along a new last axis.

    Args:
        values: a number or nested lists of them, in -2^(width-1) ... 2^width - 1; negative ones as two's complement.
        width: bits of each, at least 1.

    Raises:
        ringforge.ValueError: a number does not fit. ParameterError: the width is no width.
    """
    width = whole(width, "the width", 1)
    refuse_masked(values, "numbers")
    numbers = np.asarray(values, dtype=object)
    out = np.empty((numbers.size, width), dtype=np.uint8)
    for row, number in zip(out, numbers.reshape(-1), strict=True):
        number = _whole(number)
        if not -(1 << (width - 1)) <= number < 1 << width:
            raise RingforgeValueError(f"{number} does not fit {width} bits: -2^{width - 1} ... 2^{width} - 1")
        row[:] = [number >> i & 1 for i in range(width)]
    return out.reshape(*numbers.shape, width)


def _whole(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise RingforgeValueError(f"{number!r} is no whole number")
    return int(number)


def from_bits(bits: npt.ArrayLike, signed: bool = False) -> Any:
    """Whole numbers of bits along the last axis, the least first: an int, or nested lists of them.

    Args:
        bits: (..., width) of zeros and ones.
        signed: the last bit counts negative, as in two's complement.
    """
    rows = np.asarray(bits, dtype=object)
    if rows.ndim < 1 or rows.shape[-1] == 0:
        raise ShapeError(f"bits of shape {rows.shape}: (..., width) is needed")
    weights = np.array([1 << i for i in range(rows.shape[-1])], dtype=object)
    if signed:
        weights[-1] = -weights[-1]
    numbers = (rows * weights).sum(axis=-1)
    return numbers.tolist() if isinstance(numbers, np.ndarray) else int(numbers)


# ---- the server ----------------------------------------------------------------------------------


class Evaluator(Remade):
    """Runs gates with an evaluation key. All inputs broadcast; every bit of the result is a gate of its own.

    Results are refreshed: they may be inputs of any gate, any number of times. Where inputs of a gate are the same
    ciphertext, wherever it came from, or one the other's NOT, or constants, the gate is replaced by what is left of
    it: `a & a` is `a`, without a bootstrap. So the noise that a gate adds up is always independent.

    Args:
        key: the evaluation key; with device "clear" a `ClearKey`.
        threads: threads for the gates of one call; results do not depend on it.
        device: name of a device, or a device.

    Raises:
        ParameterError: the device runs no gates. MissingKeyError: the key is none that it takes.
    """

    remade_by = "make another one with the key, which is: Evaluator(key)"

    def __init__(self, key: EvaluationKey | ClearKey, threads: int = 1, *, device: str | Device = "cpu") -> None:
        threads = whole(threads, "threads", 1)
        self.key = key
        self.device = open_device(device) if isinstance(device, str) else device
        self._handle = self.device.prepare(GateLevelKernel(key.params, key.method), KeySet(own=(key,)), threads=threads)
        self.params: GateParameters = key.params
        self.threads = threads
        #: Gates asked for so far, by kind.
        self.counts: Counter[GateKind] = Counter()
        #: Bootstraps run so far, fewer than those gates have where inputs were equal, complementary or known.
        self.bootstraps = 0
        self._counting = threading.Lock()

    @property
    def key_id(self) -> int:
        """The key's."""
        return self.key.key_id

    @property
    def method(self) -> str:
        """The accumulator that the key is for: ginx, ap or automorphism."""
        return self.key.method.name.lower()

    def bind(self, bits: _Bound) -> _Bound:
        """The same bits, or integers; their operators use this evaluator.

        Raises:
            ParameterError: neither. MismatchError: they were encrypted with other parameters or another key.
        """
        if not hasattr(bits, "bound"):
            raise ParameterError(f"{type(bits).__name__} is neither encrypted bits nor integers: encrypt it first")
        check_same(self, bits)
        return bits.bound(self)

    def gate(self, kind: GateKind, *inputs: Bits, progress: Progress | None = None) -> Bits:
        """A gate of any kind, on arrays that broadcast to one shape.

        Raises:
            ParameterError: too few or many inputs. ShapeError: they do not broadcast. MismatchError: other parameters,
            or another key.
        """
        if len(inputs) != kind.arity or not inputs:
            raise ParameterError(f"{kind.name} has {kind.arity} inputs, not {len(inputs)}")
        for bits in inputs:
            check_same(self, bits)
        try:
            shape = np.broadcast_shapes(*(b.shape for b in inputs))
        except ValueError:
            raise ShapeError(f"bits of shapes {', '.join(str(b.shape) for b in inputs)} do not broadcast") from None
        count, width = math.prod(shape), self.params.n + 1
        wires = np.empty((sum(b.size for b in inputs) + count, width), dtype=np.uint32)
        sources = np.full((count, 3), -1, dtype=np.int32)
        start = 0
        for i, bits in enumerate(inputs):
            wires[start : start + bits.size] = bits.words.reshape(-1, width)
            numbers = np.arange(start, start + bits.size, dtype=np.int32).reshape(bits.shape)
            sources[:, i] = np.broadcast_to(numbers, shape).reshape(-1)
            start += bits.size
        targets = np.arange(start, start + count)
        made = self.device.download(self.run(np.full(count, kind, dtype=np.uint8), sources, wires, targets, progress))
        return Bits(made[start:].reshape(*shape, width), self.params, self, key_id=self.key_id)

    def run(
        self,
        kinds: npt.NDArray[np.uint8],
        inputs: npt.NDArray[np.int32],
        wires: Any,
        outputs: npt.NDArray[Any],
        progress: Progress | None = None,
    ) -> Any:
        """Runs gates that do not depend on each other.

        Args:
            kinds: (gates,) of :class:`GateKind`.
            inputs: (gates, 3), rows of `wires`; -1 where a gate has fewer inputs.
            wires: (count, n + 1), contiguous, or what an earlier run returned. They are taken over: use the result.
            outputs: (gates,), rows of `wires` that are written, and read by none of these gates.
            progress: takes the fraction done.

        Returns:
            the wires with the outputs in them, as the device has them; the same array on `cpu`.
        """
        if len(kinds):
            targets = np.ascontiguousarray(outputs, dtype=np.int32)
            (wires,), report = self.device.run(
                self._handle, (kinds, inputs, wires, targets), threads=self.threads, progress=progress
            )
            with self._counting:
                self.bootstraps += report.operations["bootstrap"]
        numbers, times = np.unique(kinds, return_counts=True)
        with self._counting:
            self.counts.update({GateKind(int(k)): int(n) for k, n in zip(numbers, times, strict=True)})
        return wires

    def constant(self, bits: npt.ArrayLike) -> Bits:
        """Known bits as ciphertexts without noise or secret, to compute with; anybody can read them."""
        clear = _zeros_and_ones(bits, "constant bits")
        wires = np.zeros((clear.size, self.params.n + 1), dtype=np.uint32)
        kinds = np.where(clear.reshape(-1) > 0, GateKind.ONE, GateKind.ZERO).astype(np.uint8)
        made = self.device.download(
            self.run(kinds, np.full((clear.size, 3), -1, dtype=np.int32), wires, np.arange(clear.size))
        )
        return Bits(made.reshape(*clear.shape, self.params.n + 1), self.params, self, key_id=self.key_id)

    def and_(self, a: Bits, b: Bits) -> Bits:
        """a & b, one bootstrap."""
        return self.gate(GateKind.AND, a, b)

    def or_(self, a: Bits, b: Bits) -> Bits:
        """a | b, one bootstrap."""
        return self.gate(GateKind.OR, a, b)

    def nand(self, a: Bits, b: Bits) -> Bits:
        """~(a & b), one bootstrap."""
        return self.gate(GateKind.NAND, a, b)

    def nor(self, a: Bits, b: Bits) -> Bits:
        """~(a | b), one bootstrap."""
        return self.gate(GateKind.NOR, a, b)

    def xor(self, a: Bits, b: Bits) -> Bits:
        """a ^ b, one bootstrap."""
        return self.gate(GateKind.XOR, a, b)

    def xnor(self, a: Bits, b: Bits) -> Bits:
        """1 where a and b are equal, one bootstrap."""
        return self.gate(GateKind.XNOR, a, b)

    def not_(self, a: Bits) -> Bits:
        """~a, no bootstrap."""
        return self.gate(GateKind.NOT, a)

    def mux(self, select: Bits, if_one: Bits, if_zero: Bits) -> Bits:
        """`if_one` where `select` is 1, else `if_zero`; two bootstraps."""
        return self.gate(GateKind.MUX, select, if_one, if_zero)

    def majority(self, a: Bits, b: Bits, c: Bits) -> Bits:
        """1 where at least two are 1, one bootstrap."""
        return self.gate(GateKind.MAJ3, a, b, c)

    def xor3(self, a: Bits, b: Bits, c: Bits) -> Bits:
        """a ^ b ^ c, one bootstrap."""
        return self.gate(GateKind.XOR3, a, b, c)

    def __repr__(self) -> str:
        return f"Evaluator({self.params.name}, {self.threads} threads, {self.bootstraps} bootstraps so far)"
