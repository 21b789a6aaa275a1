# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Client and server of encrypted inference.

The client holds the secret key: it encrypts inputs and decrypts results. The server holds the model and the
client's evaluation keys: it computes, and nothing it has or writes opens a ciphertext.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge._native import Ciphertext, Matvec, Metadata, SecretKey
from ringforge.arrays import rows_in_order
from ringforge.bundles import Label, Role, Wanted, load_ciphertexts, save_ciphertexts, wanted_label, warn_unlabelled
from ringforge.bytes_form import Bytes, File, Remade, content, reading, saved, write
from ringforge.ckks import flood_deviation
from ringforge.devices import ClearVector, Device, Handle, Report, open_device
from ringforge.errors import (
    FormatError,
    IntervalWarning,
    LevelError,
    MismatchError,
    ParameterError,
    PrecisionWarning,
    ScaleError,
    ShapeError,
)
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.evaluation_keys import ProgramKeys
from ringforge.files import load_npy, naming, writing
from ringforge.hidden import HiddenWhole
from ringforge.matvec.compiler import step_names
from ringforge.matvec.kernels import MatvecKernel, MatvecOperands
from ringforge.matvec.model import Linear, Model, Square, as_sequential
from ringforge.matvec.polynomial import Polynomial
from ringforge.matvec.program import Program
from ringforge.matvec.steps import LinearStep, PolynomialStep
from ringforge.parties import Progress, load_secret_key, make_keys, save_secret_key, write_records
from ringforge.secrecy import Secret

Array = npt.NDArray[np.float64]
Item = Ciphertext | ClearVector

#: What files of the clear backend start with.
CLEAR_MAGIC = b"ringforge CLEAR (not encrypted)\n"


class EvaluationKeys(ProgramKeys):
    """What the server needs to compute, and nothing that decrypts."""

    def save(self, path: File) -> int:
        """Write the keys as `Client.save_evaluation_keys` does, to a file's name or to an open binary file."""
        clear = self.agreed is not None and self.agreed.backend == "clear"
        return write(path, [CLEAR_MAGIC]) if clear else super().save(path)

    @classmethod
    def load(cls, path: File, program: Program, threads: int = 1, progress: Progress | None = None) -> Self:
        """Read what `save` or `Client.save_evaluation_keys` wrote, one key at a time.

        Args:
            path: a file's name or an open binary file; `from_bytes` takes bytes.

        Raises:
            FormatError, MismatchError: the file is damaged, or for other parameters.
        """
        return (
            cls.collected(program, []) if program.backend == "clear" else super().load(path, program, threads, progress)
        )


@dataclass(frozen=True, eq=False)
class EncryptedVectors(HiddenWhole):
    """Encrypted vectors on their way: for each group of up to `batch` vectors, a ciphertext per block.

    Args:
        groups: the ciphertexts.
        count: vectors in them; None where that is not known: the last group has room for more.
        role: input or output of the program.
        program: digest of the program, or empty where that is not known.
        agreed: the program itself, where it is known.
    """

    revealed_by = "Client.decrypt gives the numbers to whoever has the key"

    groups: list[list[Item]]
    count: int | None = None
    role: Role = "input"
    program: str = ""
    agreed: Program | None = field(default=None, repr=False, compare=False)

    def save(self, path: File, program: Program | None = None) -> int:
        """Write all ciphertexts to one file that says what they are; return its size in bytes.

        Args:
            path: a file's name, or an open binary file.
            program: that they belong to; may be left away for vectors that a client, a server or `load` gave.

        Raises:
            MismatchError: they belong to another program. ParameterError: nothing tells the program.
        """
        program = program or self.agreed
        if program is None:
            raise ParameterError("these vectors were put together by hand: name their program, save(path, program)")
        self.check(program, self.role)
        items = [c for g in self.groups for c in g]
        label = _wanted(program, self.role).label(self.count, len(items))
        if program.backend == "clear":
            clear = [v for v in items if isinstance(v, ClearVector)]
            arrays = np.array([[v.level, v.scale, v.bound] for v in clear]), np.array([v.slots for v in clear])
            return write(path, [label.bytes(), CLEAR_MAGIC, *(saved(partial(_save_npy, a)) for a in arrays)])
        return save_ciphertexts(path, label, program.context, (c for c in items if isinstance(c, Ciphertext)))

    def to_bytes(self, program: Program | None = None) -> bytes:
        """Return what `save` writes. Raises as `save`."""
        return saved(lambda f: self.save(f, program))

    @classmethod
    def from_bytes(cls, data: Bytes, program: Program, role: Role = "input", threads: int = 1) -> EncryptedVectors:
        """Read what `to_bytes` gave. Raises as `load`; ParameterError: no bytes."""
        return cls.load(content(data), program, role, threads)

    def __reduce__(self) -> Any:
        if self.agreed is None:
            raise TypeError(
                "vectors that do not know their program are not pickled: data = x.to_bytes(program), and "
                "EncryptedVectors.from_bytes(data, program, role) on the other side"
            )
        return EncryptedVectors.from_bytes, (self.to_bytes(), self.agreed, self.role)

    def __copy__(self) -> EncryptedVectors:
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> EncryptedVectors:
        return replace(self, groups=copy.deepcopy(self.groups, memo))

    @classmethod
    def load(cls, path: File, program: Program, role: Role = "input", threads: int = 1) -> EncryptedVectors:
        """Read a file of a program's inputs or outputs, by its name or open.

        Raises:
            FormatError: the file is damaged or incomplete. MismatchError: it belongs to another program, has inputs
            where outputs are wanted or the other way round, or is for other parameters.
        """
        wanted = _wanted(program, role)
        items: list[Item] = []
        label: Label | None
        if program.backend == "clear":
            with reading(path) as (f, name):
                label = wanted_label(f, wanted)
                items.extend(_read_clear(f, name, program))
            if label is None:
                warn_unlabelled(name, wanted)
        else:
            found, label = load_ciphertexts(path, wanted, program.context, threads)
            items.extend(found)
        packing = program.plans[0 if role == "input" else -1].packing
        blocks = len(packing.blocks) if role == "input" else packing.row_blocks
        nothing = label is not None and label.count == 0
        if (not items and not nothing) or len(items) % blocks:
            raise FormatError(f"{len(items)} ciphertexts, where the program needs a multiple of {blocks}")
        groups = [items[i : i + blocks] for i in range(0, len(items), blocks)]
        count = None if label is None else label.count
        if count is not None and -(-count // program.batch) != len(groups):
            raise FormatError(
                f"{count} vectors in {len(groups)} groups, where the program puts {program.batch} into each"
            )
        return cls(groups, count, role, "" if label is None else label.program, program)

    def check(self, program: Program, role: Role) -> None:
        """Refuses vectors that are known to be others than the program's.

        Raises:
            MismatchError: they belong to another program, or are inputs where outputs are wanted, or the reverse.
        """
        if self.program and self.program != program.digest:
            raise MismatchError(
                f"these vectors were encrypted for another program (digest {self.program[:8]}, this one has "
                f"{program.digest[:8]}): encrypt them for this one"
            )
        if self.program and self.role != role:
            raise MismatchError(f"these are {self.role}s of the program, where {role}s are needed")


def _wanted(program: Program, role: Role) -> Wanted:
    size = program.inputs if role == "input" else program.outputs
    return Wanted(program.digest, role, "x" if role == "input" else "y", (size,))


def _save_npy(array: Array, f: IO[bytes]) -> None:
    np.save(f, array, allow_pickle=False)


def _read_clear(f: IO[bytes], name: str, program: Program) -> Iterator[ClearVector]:
    if f.read(len(CLEAR_MAGIC)) != CLEAR_MAGIC:
        raise FormatError(f"{name} is not a file of the clear backend")
    with naming(name):
        meta, slots = load_npy(f), load_npy(f)
    if meta.dtype.kind != "f" or slots.dtype.kind != "f":
        raise FormatError(f"{name} holds arrays of {meta.dtype} and {slots.dtype}; real numbers are needed")
    if meta.ndim != 2 or meta.shape[1] != 3 or slots.shape != (len(meta), program.context.params.slots):
        raise FormatError(f"{name} holds arrays of shape {meta.shape} and {slots.shape}")
    levels, top = meta[:, 0], program.context.params.max_level
    if not np.isfinite(meta).all() or ((levels < 0) | (levels > top) | (levels % 1 != 0)).any():
        raise FormatError(f"{name} holds a level that is none of 0 ... {top}, or numbers that are not finite")
    for m, s in zip(meta, slots, strict=True):
        yield ClearVector(np.asarray(s, dtype=np.float64), int(m[0]), float(m[1]), float(m[2]))


class Client(Secret):
    """Keys, encryption and decryption for one program.

    Args:
        program: what the server published.
        secret_key: an existing key; by default a new one is made.
        accept_insecure: why a program that does not protect data is used all the same: one for the clear
            backend, or with parameters below 128 bits. Without a reason such programs are refused.
        fixed_seed_for_tests: a `ckks.TestSeed`, which makes everything reproducible, and nothing secret.

    Raises:
        ParameterError: the program is insecure and no reason was given.
    """

    saved_by = "`save_secret_key` writes its key to a file, and `Client.load` reads it"

    def __init__(
        self,
        program: Program,
        secret_key: SecretKey | None = None,
        *,
        accept_insecure: str = "",
        fixed_seed_for_tests: _native.TestSeed | None = None,
    ) -> None:
        self.program = program
        self._clear = program.backend == "clear"
        params = program.context.params
        if not accept_insecure and (self._clear or not params.secure):
            what = "does not encrypt (backend clear)" if self._clear else f"has less than 128 bits: {params.insecure}"
            raise ParameterError(f'this program {what}; state why it is used all the same: accept_insecure="..."')
        if not self._clear:
            self._client = _native.Client(program.context, fixed_seed_for_tests)
            self._secret = secret_key if secret_key is not None else self._client.secret_key()

    # ---- keys ----

    def evaluation_keys(self, threads: int = 1, progress: Progress | None = None) -> EvaluationKeys:
        """The keys the program needs, each for the level it is used at."""
        if self._clear:
            return EvaluationKeys.collected(self.program, [])
        return EvaluationKeys.collected(
            self.program, make_keys(self._client, self._secret, self.program, threads, progress)
        )

    def save_evaluation_keys(self, path: File, threads: int = 1, progress: Progress | None = None) -> int:
        """Make and write the evaluation keys one by one, so that memory holds a single one; return bytes.

        Args:
            path: a file's name, or an open binary file.
        """
        if self._clear:
            return write(path, [CLEAR_MAGIC])
        keys = make_keys(self._client, self._secret, self.program, threads, progress)
        return write_records(path, self.program.context, keys)

    def save_secret_key(self, path: str | Path) -> None:
        """Writes the secret key, readable by its owner only."""
        if self._clear:
            with writing(path, secret=True) as f:
                f.write(CLEAR_MAGIC)
        else:
            save_secret_key(path, self.program.context, self._secret)

    @classmethod
    def load(cls, program: Program, secret_key_path: str | Path, *, accept_insecure: str = "") -> Client:
        """A client with a stored secret key."""
        if program.backend == "clear":
            return cls(program, accept_insecure=accept_insecure)
        secret_key = load_secret_key(secret_key_path, program.context)
        return cls(program, secret_key, accept_insecure=accept_insecure)

    # ---- data ----

    def encrypt(self, x: npt.ArrayLike, threads: int = 1) -> EncryptedVectors:
        """Encrypts one vector (n,) or rows of a matrix (k, n); k beyond the batch makes further groups.

        Columns of data frames are put in order where the program has names of features.

        Raises:
            MismatchError: a data frame with other columns than the program's. ShapeError: wrong length.
            ringforge.ValueError: complex numbers, text, NaN, infinity, or |x| above the program's bound.
        """
        p = self.program
        rows = rows_in_order(x, p.features, "inputs")
        if rows.ndim != 2 or rows.shape[1] != p.inputs:
            raise ShapeError(f"inputs must have length {p.inputs}; got an array of shape {rows.shape}")
        if not np.isfinite(rows).all():
            raise RingforgeValueError("inputs must be finite numbers: found NaN or infinity")
        if np.abs(rows).max(initial=0.0) > p.input_bound:
            # The value itself is secret: it is not named.
            raise RingforgeValueError(
                f"a value exceeds the declared bound {p.input_bound:g} of the program's inputs: scale the data down, "
                "or have the program planned for larger ones, compile_model(model, input_bound=...) or samples=rows "
                "like these (`ringforge matvec plan --input-bound`, `--samples`)"
            )
        packing = p.plans[0].packing
        columns = [packing.columns(c) for c in range(len(packing.blocks))]
        scale = 2.0**p.log_input_scale
        groups: list[list[Item]] = []
        for first in range(0, len(rows), p.batch):
            some = rows[first : first + p.batch]
            group: list[Item] = []
            for cols in columns:
                slots = np.zeros((packing.slots, p.batch))
                used = cols < p.inputs
                slots[used, : len(some)] = some[:, cols[used]].T
                group.append(self._encrypt_slots(slots.reshape(-1), scale, threads))
            groups.append(group)
        return EncryptedVectors(groups, len(rows), "input", p.digest, p)

    def _encrypt_slots(self, slots: Array, scale: float, threads: int) -> Item:
        p = self.program
        if self._clear:
            return ClearVector(slots, p.input_level, scale, p.input_bound)
        plaintext = p.context.encode(slots.astype(np.complex128), scale, p.input_level, threads)
        return self._client.encrypt(plaintext, self._secret, p.input_bound)

    def decrypt(
        self,
        result: EncryptedVectors,
        count: int | None = None,
        *,
        share_bits: float | None = None,
        threads: int = 1,
    ) -> Array:
        """The results as rows (k, m).

        With a program of promised bounds, results beyond the last of them are warned of (PrecisionWarning): inputs
        were not like those it was planned for. Garbage within the bound is not seen. A program whose inputs may leave
        the interval of an approximation is warned of too (IntervalWarning): no error that is predicted counts it.

        Args:
            result: what the server returned.
            count: number of vectors that were encrypted, by default what the result says. Further places of the
                last group hold nothing.
            share_bits: set it when the numbers will be shown to anyone else: noise that hides what decryption
                errors say of the key is added first (docs/security.md). It grows from the errors that the program
                predicts, not from what a ciphertext says of itself.

        Raises:
            MismatchError: the result belongs to another program or key, or these are inputs. ParameterError: the
            result does not say how many vectors it has, or a program of version 1 is to be shared. ShapeError,
            LevelError, ScaleError: the ciphertexts are not as the program says.
        """
        p = self.program
        packing = p.plans[-1].packing
        rows = []
        count = self._check_result(result, count)
        shared = 0 if share_bits is None else sum(len(g) for g in result.groups)
        if share_bits is not None:
            self._check_share(share_bits, shared)
        for group in result.groups:
            out = np.zeros((p.batch, packing.row_blocks * packing.row_period))
            for block, item in enumerate(group):
                slots = self._decrypt_slots(item, share_bits, shared, threads).reshape(packing.slots, p.batch)
                first = block * packing.row_period
                out[:, first : first + packing.row_period] = slots[: packing.row_period].T
            rows.append(out[:, : p.outputs])
        found = np.concatenate([np.zeros((0, p.outputs)), *rows])[:count]
        self._check_promise(found, result, share_bits)
        return found

    def reveal(self, group: Sequence[Item], linear: int, threads: int = 1) -> Array:
        """What a group of values holds after so many linear layers, for whoever plans: a row each place of the batch.

        Args:
            group: a ciphertext a block, in the packing that the last of these layers leaves, or that of inputs for 0.
        """
        p = self.program
        slots = [self._decrypt_slots(item, None, 0, threads).reshape(-1, p.batch) for item in group]
        packing = p.plans[max(linear - 1, 0)].packing
        if linear:
            return np.concatenate([s[: packing.row_period] for s in slots]).T
        out = np.zeros((p.batch, p.inputs))
        for block, values in enumerate(slots):
            columns = packing.columns(block)
            used = columns < p.inputs
            out[:, columns[used]] = values[used].T
        return out

    def _check_promise(self, rows: Array, result: EncryptedVectors, share_bits: float | None) -> None:
        """Warns of results that say by themselves that inputs were not as promised, or that cannot say it."""
        known = self.program.foreseen
        if self.program.leaves_intervals:
            warnings.warn(
                "inputs may leave the interval on which a polynomial of this program is an approximation: results of "
                "such inputs are wrong by any amount, which predicted errors do not count. Ask for a plan with samples "
                "of inputs like yours, or with an approximation on a wider interval",
                IntervalWarning,
                stacklevel=3,
            )
        if not self.program.promises or known is None:
            return
        beyond = np.abs(rows).max(axis=1) > known.bound + self.error_bound(result, share_bits)
        if beyond.any():
            # How far beyond is as secret as the values.
            warnings.warn(
                f"{int(beyond.sum())} of {len(rows)} results exceed {known.bound:.4g}, which the program promises for "
                "inputs like those it was planned for: these are garbage. Ask for a plan whose samples look like your "
                "inputs",
                PrecisionWarning,
                stacklevel=3,
            )

    def _check_result(self, result: EncryptedVectors, count: int | None) -> int:
        """Holds a result against the program; returns the number of its vectors."""
        if not isinstance(result, EncryptedVectors):
            raise ParameterError(
                f"a result is EncryptedVectors, not {type(result).__name__}: Server.evaluate returns it with a report, "
                "result, report = server.evaluate(inputs)"
            )
        p = self.program
        result.check(p, "output")
        places, blocks = len(result.groups) * p.batch, p.plans[-1].packing.row_blocks
        if (not result.groups and result.count != 0) or any(len(g) != blocks for g in result.groups):
            raise ShapeError(f"a result has {blocks} ciphertexts in each group, and one group at least")
        scale = None if self._clear or p.foreseen is None else p.foreseen.scale
        for c in (c for g in result.groups for c in g):
            if c.level != p.output_level:
                raise LevelError(f"results have level {p.output_level}, this one has {c.level}")
            if scale is not None and abs(c.scale / scale - 1) > 2**-30:
                raise ScaleError(f"results have scale 2^{math.log2(scale):.2f}, this one 2^{math.log2(c.scale):.2f}")
        known = places if p.batch == 1 and result.count is None else result.count
        if count is None and known is None:
            raise ParameterError(
                f"the result does not say how many of its {places} places hold vectors: give the number that was "
                "encrypted, count=..."
            )
        most = places if known is None else known
        if count is not None and not min(1, most) <= count <= most:
            raise ParameterError(f"count is {count}, the result has {min(1, most)} to {most} vectors")
        return most if count is None else count

    def _decrypt_slots(self, item: Item, share_bits: float | None, shared: int, threads: int) -> Array:
        if isinstance(item, ClearVector):
            return item.slots
        ctx = self.program.context
        if share_bits is None:
            plaintext = self._client.decrypt(item, self._secret)
        else:
            plaintext = self._client.decrypt_to_share(item, self._secret, share_bits, shared, self._foreseen.variance)
        return np.ascontiguousarray(np.asarray(ctx.decode(plaintext, threads)).real)

    def error_bound(self, result: EncryptedVectors, share_bits: float | None = None) -> float:
        """Predicted largest error of the decrypted values (probability of more: 2^-40), with the noise that
        `decrypt(share_bits=...)` adds when it is given.

        It follows from the program; for one of version 1, from what the ciphertexts say.
        """
        items = [c for g in result.groups for c in g if isinstance(c, Ciphertext)]
        if not items:
            return 0.0
        if self.program.version == 1 and share_bits is None:
            return max(c.error_bound for c in items)
        return self._error(share_bits, len(items))

    @property
    def _foreseen(self) -> Metadata:
        known = self.program.foreseen
        if known is None:
            raise ParameterError(
                "this program, of version 1, does not say how large errors get, so noise cannot cover them: ask for "
                "the model to be planned again"
            )
        return known

    def _error(self, share_bits: float | None, shared: int) -> float:
        known, degree = self._foreseen, self.program.context.params.degree
        error = float(_native.error_bound(known, degree))
        if share_bits is not None:
            sigma = flood_deviation(known.variance, degree, share_bits, shared)
            error += float(_native.slot_error_bound(sigma**2, degree)) / known.scale
        return error

    def _check_share(self, share_bits: float, shared: int) -> None:
        """Refuses to hand out nothing but noise."""
        if self._clear:
            return
        largest, error = self._foreseen.bound, self._error(share_bits, shared)
        if error > largest:
            raise LevelError(
                f"hiding {share_bits:g} bits over {shared} ciphertexts adds noise of up to {error:.3g} to results "
                f"of at most {largest:.3g}: nothing would be left. Ask for fewer share_bits, or choose parameters with "
                "larger primes and a larger default scale"
            )


class Server(Remade):
    """Evaluates a model on encrypted vectors.

    Args:
        model: the layers, in the clear; they must have the program's shapes.
        program: what was published to the client.
        keys: the client's evaluation keys.
        device: name of a device, or a device.
        threads: threads to use.
        progress: called with the fraction of the preparation done.

    Raises:
        ShapeError: the model is not of the shapes that the program was compiled for. MismatchError: its weights
        exceed what the program says of them, so that results might err more than the client is told.
        MissingKeyError: a square has no relinearisation key. Missing Galois keys show when evaluating.
    """

    remade_by = "Server(model, program, keys) makes another one; program and keys have to_bytes, and are pickled"

    def __init__(
        self,
        model: Model,
        program: Program,
        keys: EvaluationKeys,
        *,
        device: str | Device = "cpu",
        threads: int = 1,
        progress: Progress | None = None,
    ) -> None:
        self.program = program
        self.threads = threads
        if program.backend == "clear":
            device = "clear"
        self.device = open_device(device) if isinstance(device, str) else device
        if program.backend == "ckks" and not self.device.encrypts:
            raise MismatchError('the clear device cannot run a ckks program: compile with backend="clear"')
        layers = as_sequential(model).layers
        steps = program.steps
        if len(layers) != len(steps):
            raise ShapeError(f"the model has {len(layers)} layers, the program {len(steps)} steps")
        self._handles: list[Handle] = []
        linear_count = max(1, len(program.linear_steps))
        done = 0

        def share(base: int) -> Progress | None:
            if progress is None:
                return None
            whole = progress
            return lambda f: whole((base + f) / linear_count)

        for layer, step, kernel in zip(layers, steps, program.kernels, strict=True):
            operands = None
            if isinstance(kernel, MatvecKernel):
                packing = kernel.plan.packing
                if not isinstance(layer, Linear) or (layer.rows, layer.cols) != (packing.rows, packing.cols):
                    raise ShapeError(
                        f"the program has a {packing.rows} x {packing.cols} matrix where the model has {layer!r}"
                    )
                assert isinstance(step, LinearStep)
                _check_sums(layer, step, kernel)
                operands = MatvecOperands(layer.weights, layer.bias)
            elif isinstance(step, PolynomialStep):
                if not isinstance(layer, Polynomial):
                    raise ShapeError(f"the program has a polynomial where the model has {layer!r}")
                _check_polynomial(layer, step)
            elif not isinstance(layer, Square):
                raise ShapeError(f"the program squares where the model has {layer!r}")
            self._handles.append(
                self.device.prepare(
                    kernel,
                    keys,
                    operands,
                    threads=threads,
                    progress=share(done),
                )
            )
            done += operands is not None

    @property
    def device_name(self) -> str:
        """Name of the device that runs the kernels."""
        return self.device.name

    @property
    def prepare_seconds(self) -> float:
        """Time spent encoding the model."""
        return sum(h.prepare_seconds for h in self._handles)

    @property
    def input_blocks(self) -> int:
        """Ciphertexts per group of inputs."""
        return len(self.program.plans[0].packing.blocks)

    def evaluate(self, inputs: EncryptedVectors, progress: Progress | None = None) -> tuple[EncryptedVectors, Report]:
        """The encrypted results, and what it took."""
        outputs, layers = self.evaluate_layers(inputs, progress)
        return outputs, sum((report for _, report in layers), start=Report(self.device_name, 0.0))

    def evaluate_layers(
        self, inputs: EncryptedVectors, progress: Progress | None = None
    ) -> tuple[EncryptedVectors, list[tuple[str, Report]]]:
        """The encrypted results, and what each layer took over all groups; of no vectors, no results."""
        if not inputs.groups and inputs.count != 0:
            raise ShapeError("there is nothing to evaluate: no ciphertexts were given")
        inputs.check(self.program, "input")
        for group in inputs.groups:
            self._check(group)
        outputs: list[list[Item]] = []
        reports: list[Report | None] = [None] * len(self._handles)
        for i, group in enumerate(inputs.groups):
            values: Sequence[Any] = group
            for j, handle in enumerate(self._handles):
                values, r = self.device.run(handle, values, threads=self.threads)
                so_far = reports[j]
                reports[j] = r if so_far is None else so_far + r
                if progress:
                    progress((i + (j + 1) / len(self._handles)) / len(inputs.groups))
            outputs.append([self.device.download(v) for v in values])
        names = step_names(self.program)
        made = EncryptedVectors(outputs, inputs.count, "output", self.program.digest, self.program)
        return made, [(n, r) for n, r in zip(names, reports, strict=True) if r is not None]

    def step(self, index: int, group: Sequence[Any]) -> list[Any]:
        """One step of the program on a group of values, as the step before left them."""
        return self.device.run(self._handles[index], group, threads=self.threads)[0]

    def layer_reports(self, group: Sequence[Any]) -> list[tuple[str, Report]]:
        """Evaluates one group layer by layer, for a breakdown of where the time goes."""
        return self.evaluate_layers(EncryptedVectors([list(group)]))[1]

    def _check(self, group: Sequence[Any]) -> None:
        if len(group) != self.input_blocks:
            raise ShapeError(f"a group has {len(group)} ciphertexts, the program takes {self.input_blocks}")
        for c in group:
            if c.level != self.program.input_level:
                raise LevelError(f"inputs must be at level {self.program.input_level}, this one is at {c.level}")


def _check_sums(layer: Linear, step: LinearStep, kernel: MatvecKernel) -> None:
    """Holds weights against what the program says of them."""
    stated = step.sums
    if stated is None:
        return
    sums = Matvec.sums(kernel.plan, layer.weights, layer.bias, step.input_bound)
    for what in ("bound", "square", "norm", "rotated_norm"):
        have, most = getattr(sums, what), getattr(stated, what)
        if have > most * (1 + 1e-9):
            raise MismatchError(
                f"the weights of a {layer.rows} x {layer.cols} layer are larger than those that the program was "
                f"planned for ({what.replace('_', ' ')} {have:.4g}, stated {most:.4g}): plan the model again"
            )


def _check_polynomial(layer: Polynomial, step: PolynomialStep) -> None:
    """Holds a polynomial against the program's."""
    series, stated = layer.on(-step.input_bound, step.input_bound), np.array(step.coefficients)
    if len(series) != len(stated) or np.abs(series - stated).max() > 1e-12 * np.abs(stated).sum():
        raise MismatchError(
            f"{layer!r} of the model is another one than the program's, of degree {step.degree}: plan the model again"
        )


def exact_error(exact: npt.ArrayLike, got: npt.ArrayLike) -> float:
    """Largest |got - exact| relative to the largest |exact|."""
    a, b = np.asarray(exact), np.asarray(got)
    largest = float(np.abs(a).max())
    return float(np.abs(a - b).max()) / (largest if largest > 0 and math.isfinite(largest) else 1.0)
