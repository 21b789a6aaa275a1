# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Machines that compute on ciphertexts: the server's, and a session with all keys in one object."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, finalize, ref

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge import params as parameter_sets
from ringforge._native import (
    Context,
    Evaluator,
    Parameters,
)
from ringforge.arrays import real_numbers
from ringforge.bytes_form import Bytes, File, content
from ringforge.cli.console import size_text
from ringforge.devices import Device, Handle, KeySet, Report
from ringforge.devices.cpu import counted
from ringforge.devices.sharding import ShardedDevice
from ringforge.errors import LevelError, MissingKeyError, ShapeError, SizeWarning
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matmul import matrix_files, planner
from ringforge.matmul.cost import ProductCost
from ringforge.matmul.empty import EmptyMatrix, shaped
from ringforge.matmul.engine import Bases, Product
from ringforge.matmul.grids import grouped
from ringforge.matmul.kernels import HltKernel, MultiplyKernel
from ringforge.matmul.layout import Layout, even_tile
from ringforge.matmul.machine import Array, Grid, Kept, Machine, Settings, Tile
from ringforge.matmul.matrix import EncryptedMatrix
from ringforge.matmul.program import trace
from ringforge.matmul.scratch import Scratch, loaded
from ringforge.matmul.slots import SlotMatrix
from ringforge.matmul.steps import Step
from ringforge.matmul.store import Store
from ringforge.parties import load_secret_key, save_secret_key
from ringforge.refusals import positive, whole
from ringforge.secrecy import Secret


class Computer(Machine):
    """A machine that computes on ciphertexts with evaluation keys.

    Args:
        context, settings, threads: as of a machine.
        keys: what there is.
        device: where kernels run.
        scratch: where ciphertexts go that do not stay in memory; None: all stay.
    """

    def __init__(
        self,
        context: Context,
        keys: KeySet,
        settings: Settings | None = None,
        threads: int = 1,
        device: str | Device = "cpu",
        scratch: Scratch | None = None,
    ) -> None:
        super().__init__(context, settings, threads, device)
        self.keys = keys
        self.scratch = scratch
        self.evaluator = Evaluator(context, threads)
        #: What kernels took, in order, by what they did.
        self.reports: list[tuple[str, Report]] = []
        #: Seconds spent encoding diagonals and masks.
        self.prepare_seconds = 0.0
        self._handles: dict[HltKernel, Handle] = {}
        # The last one: what it keeps where workers read it, the keys above all, is there for the next.
        self._held: Handle | None = None

    def require(self, keys: Mapping[int, int], relin_level: int | None) -> None:
        """Refuses work for which a key is missing, before it starts.

        Raises:
            MissingKeyError: a key is missing, or made for a lower level.
        """
        galois, relin = self.keys.galois, self.keys.relin
        for element, level in keys.items():
            if element not in galois or galois.level(element) < level:
                raise MissingKeyError(
                    f"the evaluation keys lack the Galois key of element {element} for level {level}: the key holder "
                    "makes those of this program"
                )
        if relin_level is not None and (relin is None or relin.level < relin_level):
            raise MissingKeyError(f"the evaluation keys lack a relinearisation key for level {relin_level}")

    def run_transform(self, kernel: HltKernel, matrix: SlotMatrix, x: Any, again: bool) -> Any:  # noqa: ARG002
        handle = self._handles.get(kernel)
        if handle is None:
            handle = self._held = self.device.prepare(kernel, self.keys, threads=self.threads)
            self.prepare_seconds += handle.prepare_seconds
            if again:
                self._handles[kernel] = handle
        (y,), report = self.device.run(handle, [loaded(x)], threads=self.threads)
        self.reports.append(("transform", report))
        return self.kept(y)

    def here(self, x: Any) -> Any:
        """A value as a ciphertext in this machine's memory."""
        return self.device.download(loaded(x))

    def save(self, path: File, matrix: EncryptedMatrix) -> int:
        return matrix_files.save(path, self, matrix)

    def kept(self, x: Any) -> Any:
        """A value as it is kept: as it is, or as a block of the scratch file."""
        return x if self.scratch is None else self.scratch.keep(self.device.download(x))

    def run_bases(self, product: Product, side: str, x: Any) -> Any:
        self.prepare(product)
        made: Bases = product.left(loaded(x)) if side == "left" else product.right(loaded(x))
        self.reports.append((f"{side} operand", made.report))
        return replace(made, ciphertexts=[self.kept(c) for c in made.ciphertexts])

    def prepare(self, product: Product) -> None:
        """Encodes what a product needs, unless it has been done."""
        if not product.prepared:
            before = product.prepare_seconds
            product.prepare(self.keys)
            self.prepare_seconds += product.prepare_seconds - before

    def run_product(self, product: Product, cost: ProductCost, left: Any, right: Any) -> Any:  # noqa: ARG002
        self.prepare(product)
        sides = [replace(b, ciphertexts=[loaded(c) for c in b.ciphertexts]) for b in (left, right)]
        y, report = product.multiply(*sides)
        self.reports.append(("product", report))
        return self.kept(y)

    def products(self, a: Grid, b: Grid, bound: float | None) -> tuple[Grid, planner.Choice]:
        """All products of two grids at a time, where the device has workers; else one by one, with less memory."""
        if not isinstance(self.device, ShardedDevice):
            return super().products(a, b, bound)
        found = grouped(self, a, b, bound)
        if found is None:
            return super().products(a, b, bound)
        product = found.product
        given = [*self._all_bases(product, "left", found.left), *self._all_bases(product, "right", found.right)]
        totals = iter(self._at_once("products", found.kernel(), given, found.weight))
        return found.tiles(lambda: self.kept(next(totals))), found.choice

    def _all_bases(self, product: Product, side: str, tiles: list[Tile]) -> list[Any]:
        """The bases of all tiles; those that are not there yet are made at once."""
        key = (product, side)
        lacking = [t for t in tiles if key not in t.bases]
        if lacking:
            level = product.operand_level(side)
            inputs = [self.evaluator.drop_to_level(self.here(t.value), level) for t in lacking]
            made = iter(self._at_once(f"{side} operand", product.operands_kernel(side, len(inputs)), inputs, 0.0))
            each = len((product.plan.left if side == "left" else product.plan.right).bases)
            for tile in lacking:
                ciphertexts = [self.kept(next(made)) for _ in range(each)]
                tile.bases[key] = Bases(side, ciphertexts, Report(self.device.name, 0.0))
        for tile in tiles:
            self.kept_with(tile, key)
        return [self.here(c) for t in tiles for c in t.bases[key].ciphertexts]

    def _at_once(self, what: str, kernel: Any, inputs: list[Any], weight: float) -> list[Any]:
        """Results of a kernel of many blocks."""
        handle = self._held = self.device.prepare(kernel, self.keys, threads=self.threads)
        tell = self.progress

        def told(done: float) -> bool | None:
            return None if tell is None else tell(self.work + done * weight)

        outputs, report = self.device.run(handle, inputs, threads=self.threads, progress=told)
        self.reports.append((what, report))
        self.work += weight
        return outputs

    def run_sum(self, x: Any, y: Any) -> Any:
        return self.kept(self.evaluator.add(self.here(x), self.here(y)))

    def run_times(self, x: Any, y: Any) -> Any:
        kernel = MultiplyKernel(self.context, x.level)
        handle = self.device.prepare(kernel, self.keys, threads=self.threads)
        (z,), report = self.device.run(handle, [loaded(x), loaded(y)], threads=self.threads)
        self.reports.append(("product entry by entry", report))
        return self.kept(self.evaluator.rescale(self.device.download(z)))

    def run_rotate(self, x: Any, step: int) -> Any:
        return self._counted("rotation", x, lambda c: self.evaluator.rotate(c, step, self.keys.galois))

    def run_replicate(self, x: Any, steps: tuple[int, ...]) -> Any:
        return self._counted("copies", x, lambda c: self.evaluator.replicate(c, list(steps), self.keys.galois))

    def _counted(self, what: str, x: Any, run: Callable[[Any], Any]) -> Any:
        """Work of the host's, with what it took; beside a clocked device nothing of it is reported."""
        c = self.here(x)
        (y,), report = counted(self.context, [c], lambda: [run(c)])
        if self.device.name == report.device:
            self.reports.append((what, report))
        return self.kept(y)

    def run_negative(self, x: Any) -> Any:
        return self.kept(self.evaluator.negate(self.here(x)))

    def run_plain_sum(self, x: Any, values: Array) -> Any:
        plain = self.context.encode(values.astype(np.complex128), x.scale, x.level, self.threads)
        return self.kept(self.evaluator.add_plain(self.here(x), plain))

    def run_drop(self, x: Any, level: int) -> Any:
        return self.kept(self.evaluator.drop_to_level(self.here(x), level))

    def forget(self) -> None:
        for product in self._products.values():
            product.release()
        super().forget()
        self._handles.clear()
        self._held = None


def encrypt_tiles(
    values: Array,
    tile: tuple[int, int],
    context: Context,
    level: int,
    bound: float,
    encrypt: Callable[[Any, float], Any],
    threads: int = 1,
    remedy: str = "ask whoever planned the program for a larger bound",
) -> Grid:
    """A matrix as a grid of ciphertexts, (m, n) or (n,).

    Raises:
        ShapeError: no matrix or vector, or an empty one. ringforge.ValueError: NaN, infinity, or an entry above the
            bound.
    """
    if values.ndim not in (1, 2) or values.size == 0:
        raise ShapeError(f"an array of shape {values.shape} is neither a matrix nor a vector with entries")
    a = values.reshape(len(values), -1)
    if not np.isfinite(a).all():
        raise RingforgeValueError("a matrix with NaN or infinity cannot be encrypted")
    bound = positive(bound, "the bound")
    largest = float(np.abs(a).max())
    if largest > bound:
        # The entry itself is secret: it is not named.
        raise RingforgeValueError(f"an entry exceeds the declared bound {bound:g}: scale the matrix, or {remedy}")
    layout, (r, c) = Layout.column_major(*tile), tile
    p = context.params
    grid: Grid = []
    for top in range(0, a.shape[0], r):
        grid.append([])
        for left in range(0, a.shape[1], c):
            block = np.zeros(tile)
            part = a[top : top + r, left : left + c]
            block[: part.shape[0], : part.shape[1]] = part
            slots = layout.pack(block, p.slots).astype(np.complex128)
            grid[-1].append(Tile(encrypt(context.encode(slots, 2.0**p.log_scale, level, threads), bound), layout))
    return grid


def real_slots(context: Context, plaintext: Any, threads: int) -> Array:
    return np.ascontiguousarray(np.asarray(context.decode(plaintext, threads)).real)


#: Bytes of keys from which on a session says how large they get.
_MUCH = 1 << 30


class Session(Secret, Computer):
    """All roles in one object, with keys made when they are needed. Deployments keep the roles apart.

    Matrices move by their `to_bytes` and `from_bytes` here, or by `save` and `load`.

    Args:
        params: a parameter set or its name.
        method, keys, level_price: as of `Settings`; with keys "auto" rotations are composed where keys do not fit.
        memory: bytes that a product may take, and that keys, encoded diagonals and masks, and transformed operands
            may take that are kept for further use: what was not used for longest is freed, and made again when it is
            needed. By default 80 % of what is free when the session starts.
        insecure: why a named set below 128 bits may be used.
        level: at which matrices are encrypted by default; None: the highest. Keys grow with the square of it:
            `Session.for_work` takes the one that some work needs.
        scratch: a folder for ciphertexts that do not stay in memory; those used last stay, `blocks` bytes of them.
        blocks: by default half of `memory`.
        threads: threads to use.
        fixed_seed_for_tests: a `ckks.TestSeed`, which makes everything reproducible, and nothing secret.
        secret_key: the file of an existing key, of `save_secret_key`; by default a new key is made.

    >>> import numpy as np
    >>> s = Session("matmul-a-128")
    >>> a, b = np.array([[0.5, -0.5], [0.25, 0.0]]), np.array([[1.0, 0.5], [0.5, -0.5]])
    >>> np.round((s.encrypt(a) @ s.encrypt(b)).decrypt(), 4).tolist()
    [[0.25, 0.5], [0.25, 0.125]]
    """

    saved_by = "`save_secret_key` writes its key to a file, and `Session(..., secret_key=path)` reads it"

    def __init__(
        self,
        params: Parameters | str = "matmul-a-128",
        *,
        method: str = "auto",
        memory: int | None = None,
        keys: str = "auto",
        level_price: float = 1.5,
        insecure: str = "",
        level: int | None = None,
        scratch: str | Path | None = None,
        blocks: int | None = None,
        threads: int = 1,
        fixed_seed_for_tests: _native.TestSeed | None = None,
        secret_key: str | Path | None = None,
    ) -> None:
        context = Context(parameter_sets.resolve(params, insecure))
        memory = planner.free_memory() if memory is None else memory
        settings = Settings(method, memory, keys, level_price=level_price)
        place = None if scratch is None else Scratch(scratch, context, memory // 2 if blocks is None else blocks)
        super().__init__(context, KeySet(), settings, threads, scratch=place)
        #: Level at which matrices are encrypted by default.
        self.level = context.params.max_level if level is None else _checked_level(context, level)
        self._store = Store(memory)
        self._said = 0  # bytes of keys that were said last
        # Transformed operands by number: names that keep nothing alive.
        self._numbers: WeakKeyDictionary[Kept, dict[tuple[Any, str], int]] = WeakKeyDictionary()
        self._next = itertools.count()
        self._client = _native.Client(context, fixed_seed_for_tests)
        self._secret = self._client.secret_key() if secret_key is None else load_secret_key(secret_key, context)

    @property
    def key_id(self) -> int:
        """The secret key's public number, which ciphertexts carry."""
        return int(self._secret.id)

    def save_secret_key(self, path: str | Path) -> None:
        """Write the secret key to a new file that only its owner can read; `Session(..., secret_key=path)` reads it."""
        save_secret_key(path, self.context, self._secret)

    def load(self, path: File) -> EncryptedMatrix:
        """Read what `save` of a matrix wrote, from a file's name or an open binary file.

        Raises:
            FormatError: damaged, cut off, or something else. MismatchError: of other parameters or another key.
            LevelError, ScaleError: ciphertexts that no matrix of these parameters has.
        """
        return matrix_files.load(path, self)

    def from_bytes(self, data: Bytes) -> EncryptedMatrix:
        """Read what `to_bytes` of a matrix gave. Raises as `load`; ParameterError: no bytes."""
        return self.load(content(data))

    @classmethod
    def for_work(
        cls,
        function: Callable[..., Any],
        shapes: Mapping[str, Any],
        params: Parameters | str | None = None,
        *,
        precision: float = 20,
        **options: Any,
    ) -> Session:
        """Return a session whose matrices are encrypted at the level that some work needs, so that keys are small.

        Args:
            function: the work; called with stands-in of encrypted matrices by name, as `trace` does.
            shapes: the shape of each matrix, (m, n) or (n,), or a `matmul.Input`.
            params: a set or its name; None: the smallest secure one that suffices.
            precision: bits after the point, where no set is given.
            options: as of a session.

        Raises:
            LevelError: the set has too few levels. ShapeError, ParameterError, MemoryLimitError: as of `trace`.

        >>> s = Session.for_work(lambda A, B: A @ B, {"A": (4, 4), "B": (4, 4)}, "set-c")
        >>> s.level, s.params.max_level
        (2, 13)
        """
        program = trace(params, function, shapes, precision=precision)
        level = max((x.level for x in program.inputs if not x.plain), default=0)
        price = program.settings.level_price
        return cls(program.context.params, **{"level": level, "level_price": price, **options})

    @property
    def params(self) -> Parameters:
        return self.context.params

    @property
    def memory(self) -> dict[str, int]:
        """Bytes that are kept now, by kind, the limit, and how many times something was freed to stay below it."""
        return {**self._store.sizes(), "limit": self._store.limit, "freed": self._store.freed}

    def __repr__(self) -> str:
        kept = sum(self._store.sizes().values())
        return (
            f"Session({self.params.name}, {kept / 2**20:.0f} of {self._store.limit / 2**20:.0f} MiB kept, freed "
            f"{self._store.freed} times)"
        )

    def require(self, keys: Mapping[int, int], relin_level: int | None) -> None:
        """Makes the keys that are missing, and frees what was not used for longest where the limit asks for it."""
        galois, relin, gadget = self.keys.galois, self.keys.relin, self.context.gadget
        wanted = {("keys", element): gadget.key_bytes(level + 1) for element, level in keys.items()}
        self._say_size(keys, relin_level)
        self._store.make_room(wanted)
        for element, level in keys.items():
            if element in galois and galois.level(element) < level:
                galois.erase(element)
            if element not in galois:
                galois.insert(self._client.galois_key(self._secret, element, level, self.threads))
            taken = gadget.key_bytes(galois.level(element) + 1)
            self._store.keep(("keys", element), taken, partial(galois.erase, element))
        if relin_level is not None and (relin is None or relin.level < relin_level):
            self.keys = KeySet(galois, self._client.relin_key(self._secret, relin_level, self.threads))

    def _say_size(self, keys: Mapping[int, int], relin_level: int | None) -> None:
        """Warn before keys are made that take more than a GiB together, and again whenever they double."""
        galois, gadget = self.keys.galois, self.context.gadget
        levels = {e: galois.level(e) for e in galois.elements}
        levels |= {e: max(level, levels.get(e, 0)) for e, level in keys.items()}
        highest = max([*levels.values(), relin_level or 0])

        def size(most: int) -> int:
            each = [*levels.values(), *([] if relin_level is None else [relin_level])]
            return sum(gadget.key_bytes(min(level, most) + 1) for level in each)

        total = size(highest)
        if total <= max(_MUCH, 2 * self._said):
            return
        self._said = total
        less = max(highest // 2, 1)
        warnings.warn(
            f"the keys of this session grow to {size_text(total)}, {len(levels)} of up to level {highest} of "
            f"{self.params.name or 'the parameters'}: encrypt at the level that the work needs, with level= or a "
            f"session from Session.for_work (at level {less} they take {size_text(size(less))}), or have fewer keys "
            'with keys="few"',
            SizeWarning,
            stacklevel=_caller(),
        )

    def prepare(self, product: Product) -> None:
        super().prepare(product)
        self._store.keep(("diagonals and masks", product), product.storage, partial(self._drop_product, product))

    def _drop_product(self, product: Product) -> None:
        product.release()
        for key in [k for k, p in self._products.items() if p is product]:
            del self._products[key]
        # Its transformed operands would never be found again: the next product of the shape is another object.
        for bases in list(self._numbers):
            for name in [k for k in self._numbers[bases] if k[0] is product]:
                self._lose(bases, name)

    def run_transform(self, kernel: HltKernel, matrix: SlotMatrix, x: Any, again: bool) -> Any:
        y = super().run_transform(kernel, matrix, x, again)
        if again:
            taken = self._handles[kernel].storage
            self._store.keep(("diagonals and masks", kernel), taken, partial(self._drop_kernel, kernel))
        return y

    def _drop_kernel(self, kernel: HltKernel) -> None:
        self._handles.pop(kernel, None)
        for key in [k for k, found in self._kernels.items() if found is kernel]:
            del self._kernels[key]

    def kept_with(self, tile: Tile, key: tuple[Any, str]) -> None:
        if self.scratch is not None:
            return  # the scratch file takes what is too much
        made, numbers = tile.bases[key], self._numbers.setdefault(tile.bases, {})
        if key not in numbers:
            numbers[key] = next(self._next)
            finalize(tile.bases, self._store.lose, ("operands", numbers[key])).atexit = False
        parts = made.ciphertexts if isinstance(made, Bases) else [made.value]
        taken = sum(16 * self.context.gadget.degree * (c.level + 1) for c in parts)
        place = ref(tile.bases)

        def drop() -> None:
            there = place()
            if there is not None:
                self._lose(there, key)

        self._store.keep(("operands", numbers[key]), taken, drop)

    def _lose(self, bases: Kept, key: tuple[Any, str]) -> None:
        bases.pop(key, None)
        number = self._numbers.get(bases, {}).pop(key, None)
        if number is not None:
            self._store.lose(("operands", number))

    def forget_tile(self, tile: Tile) -> None:
        for key in list(tile.bases):
            self._lose(tile.bases, key)

    def forget(self) -> None:
        """Frees keys, encoded diagonals and masks, and transformed operands; they are made again when needed."""
        self._store.clear()
        self.keys = KeySet(self.keys.galois)
        super().forget()
        _native.trim_memory()

    def encrypt(
        self,
        values: npt.ArrayLike,
        *,
        bound: float = 1.0,
        level: int | None = None,
        tile: tuple[int, int] | None = None,
    ) -> EncryptedMatrix:
        """Encrypts a matrix (m, n) or a vector (n,).

        Args:
            values: real numbers: an array, nested lists, a data frame (columns stay in their order), a sparse matrix.
                Without entries the result has none either.
            bound: largest |entry|; public, enforced.
            level: levels it can be multiplied for; by default those of the session. Fewer are faster.
            tile: rows and columns of each ciphertext; by default all if they fit.

        Raises:
            ShapeError, LevelError, ringforge.ValueError: as the arguments deserve.
        """
        a = real_numbers(values, "entries of a matrix")
        at = self.level if level is None else _checked_level(self.context, level)
        if a.ndim in (1, 2) and a.size == 0:
            return EmptyMatrix(self, a.shape)
        rows, cols = _sides(a.shape)
        cut = even_tile(rows, cols, self.slots, tile)

        def encrypt(plaintext: Any, b: float) -> Any:
            return self.kept(self._client.encrypt(plaintext, self._secret, b))

        tiles = encrypt_tiles(a, cut, self.context, at, bound, encrypt, self.threads, "declare a larger bound=")
        return EncryptedMatrix(self, tiles, rows, cols, a.ndim, Step("input", detail="encrypted"))

    def without_entries(self, function: Callable[..., Any], *operands: Any) -> EncryptedMatrix:
        """Return the result of a numpy function where an operand, or the result, has no entries."""
        return shaped(self, function, *operands)

    def decrypt(self, matrix: EncryptedMatrix) -> Any:
        def slots_of(c: Any) -> Array:
            plaintext = self._client.decrypt(self.here(c), self._secret)
            return real_slots(self.context, plaintext, self.threads)

        return matrix.assemble(slots_of)


def _checked_level(context: Context, level: Any) -> int:
    at, most = whole(level, "the level", -(1 << 63)), context.params.max_level
    if not 0 <= at <= most:
        raise LevelError(f"level {at} is outside 0 ... {most} of {context.params.name}")
    return at


def _caller() -> int:
    """Return the number of calls up to whoever uses this package, for warnings."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("ringforge."):
        frame, depth = frame.f_back, depth + 1
    return depth


def _sides(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of an array; a vector is a column."""
    if len(shape) not in (1, 2) or 0 in shape:
        raise ShapeError(f"an array of shape {shape} is neither a matrix nor a vector with entries")
    return shape[0], (shape[1] if len(shape) == 2 else 1)
