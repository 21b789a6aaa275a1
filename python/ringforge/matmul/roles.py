# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Who is who in a product of encrypted matrices.

The key holder makes all keys and alone can decrypt. Contributors encrypt their matrices with its public key. The
server has ciphertexts and evaluation keys, and computes. A `Session` is all of them in one object, for experiments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ringforge import _native
from ringforge._native import Ciphertext, GaloisKey, PublicKey, RelinKey, SecretKey
from ringforge.arrays import real_numbers
from ringforge.bundles import Wanted, load_ciphertexts, save_ciphertexts
from ringforge.bytes_form import Bytes, File, Remade, as_path, content, saved
from ringforge.ckks import flood_deviation
from ringforge.devices import Device, Report
from ringforge.errors import FormatError, LevelError, MismatchError, ParameterError, ScaleError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.evaluation_keys import ProgramKeys
from ringforge.matmul.layout import Layout
from ringforge.matmul.machine import Tile
from ringforge.matmul.matrix import EncryptedMatrix, PlainMatrix
from ringforge.matmul.program import Program, counted
from ringforge.matmul.scratch import Block, Scratch, loaded
from ringforge.matmul.session import Computer, Session, encrypt_tiles, real_slots
from ringforge.matmul.steps import Step
from ringforge.parties import Progress, load_secret_key, make_keys, save_secret_key, write_records
from ringforge.secrecy import Secret


class EvaluationKeys(ProgramKeys):
    """What the server needs to compute, and nothing that decrypts.

    `save` writes what :meth:`KeyHolder.save_evaluation_keys` does, and `load` reads both.
    """


@dataclass(frozen=True)
class Parcel:
    """The ciphertexts of one matrix on their way, row by row of its grid.

    Args:
        name: of the program's input or output.
        ciphertexts: as many as the program says; blocks of a scratch file where there is one.
        program: digest of the program, or empty where that is not known.
        agreed: the program itself, where it is known.
    """

    name: str
    ciphertexts: Sequence[Ciphertext | Block]
    program: str = ""
    agreed: Program | None = field(default=None, repr=False, compare=False)

    def save(self, path: File, program: Program | None = None) -> int:
        """Write all ciphertexts to one file that says what they are; return its size in bytes.

        Args:
            path: a file's name, or an open binary file.
            program: that they belong to; may be left away for parcels that `encrypt`, `run` or `load` gave.

        Raises:
            MismatchError, FormatError, LevelError: they are not what the program says. ParameterError: nothing tells
            the program.
        """
        program = program or self.agreed
        if program is None:
            raise ParameterError("this parcel was put together by hand: name its program, save(path, program)")
        self.check(program)
        label = _wanted(program, self.name).label(1, len(self.ciphertexts))
        return save_ciphertexts(path, label, program.context, map(loaded, self.ciphertexts))

    def to_bytes(self, program: Program | None = None) -> bytes:
        """Return what `save` writes. Raises as `save`."""
        return saved(lambda f: self.save(f, program))

    @classmethod
    def from_bytes(cls, data: Bytes, program: Program, name: str, threads: int = 1) -> Parcel:
        """Read what `to_bytes` gave. Raises as `load`; ParameterError: no bytes."""
        return cls.load(content(data), program, name, threads)

    def __reduce__(self) -> Any:
        if self.agreed is None:
            raise TypeError(
                "a parcel that does not know its program is not pickled: data = x.to_bytes(program), and "
                "Parcel.from_bytes(data, program, name) on the other side"
            )
        return Parcel.from_bytes, (self.to_bytes(), self.agreed, self.name)

    def __copy__(self) -> Parcel:
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parcel:
        return replace(self, ciphertexts=list(self.ciphertexts))

    @classmethod
    def load(cls, path: File, program: Program, name: str, threads: int = 1, scratch: Scratch | None = None) -> Parcel:
        """Read a file of ciphertexts of the input or output `name`, into a scratch file if there is one.

        The file is named, or an open binary file.

        Raises:
            FormatError: it is damaged, or has another number of ciphertexts. MismatchError: it belongs to another
            program, holds another matrix, or is for other parameters. LevelError: of another level than the program
            says. ParameterError: the program has no matrix of this name.
        """
        found, label = load_ciphertexts(
            path, _wanted(program, name), program.context, threads, None if scratch is None else scratch.keep
        )
        parcel = cls(name, found, "" if label is None else label.program, program)
        parcel.check(program)
        return parcel

    def check(self, program: Program) -> None:
        """Holds program, number, level and scale of the ciphertexts against the program."""
        if self.program and self.program != program.digest:
            raise MismatchError(
                f"{self.name} was encrypted for another program (digest {self.program[:8]}, this one has "
                f"{program.digest[:8]}): encrypt it for this one"
            )
        if self.name in program.outputs:
            result = program.traced.results[self.name]
            wanted, level = math.prod(result.step.grid), result.level
        else:
            spec = program.input(self.name)
            wanted, level = math.prod(spec.ciphertexts), spec.level
        if len(self.ciphertexts) != wanted:
            raise FormatError(f"{self.name} has {counted(len(self.ciphertexts))}, the program says {wanted}")
        scale = 2.0**program.context.params.log_scale
        for c in self.ciphertexts:
            if c.level < level or (c.level != level and self.name not in program.outputs):
                raise LevelError(f"ciphertexts of {self.name} must have level {level}, this one has {c.level}")
            if abs(c.scale / scale - 1) > 2**-30:
                raise ScaleError(
                    f"ciphertexts of {self.name} must have scale 2^{math.log2(scale):.2f}, this one has "
                    f"2^{math.log2(c.scale):.2f}"
                )


def _wanted(program: Program, name: str) -> Wanted:
    if name in program.outputs:
        return Wanted(program.digest, "output", name, program.traced.results[name].shape)
    return Wanted(program.digest, "input", name, tuple(program.input(name).shape))


def _refuse_insecure(program: Program, reason: str) -> None:
    params = program.context.params
    if not params.secure and not reason:
        raise ParameterError(
            f"this program has less than 128 bits: {params.insecure}; state why it is used all the same: "
            'accept_insecure="..."'
        )


class _Encryptor:
    """Encrypts inputs of a program."""

    program: Program

    def _encrypt(self, name: str, values: npt.ArrayLike, key: Any, client: _native.Client, threads: int) -> Parcel:
        spec = self.program.input(name)
        if spec.plain:
            raise ParameterError(f"input {name} is plain: the server is given it as it is")
        a = real_numbers(values, f"entries of input {name}")
        if a.shape != tuple(spec.shape):
            raise ShapeError(f"input {name} has shape {tuple(spec.shape)}, this array {a.shape}")
        grid = encrypt_tiles(
            a,
            spec.tile or spec.sides,
            self.program.context,
            spec.level,
            spec.bound,
            lambda plaintext, bound: client.encrypt(plaintext, key, bound),
            threads,
        )
        return Parcel(name, [t.value for row in grid for t in row], self.program.digest, self.program)


class Contributor(_Encryptor):
    """Who encrypts a matrix for somebody else: has the key holder's public key, and can decrypt nothing.

    Args:
        program: what was agreed on.
        public_key: the key holder's.
        accept_insecure: why parameters below 128 bits are used all the same.

    Raises:
        ParameterError: the parameters are insecure and no reason was given.
    """

    def __init__(self, program: Program, public_key: PublicKey, *, accept_insecure: str = "") -> None:
        _refuse_insecure(program, accept_insecure)
        self.program = program
        self._key = public_key
        self._client = _native.Client(program.context)

    @classmethod
    def load(cls, program: Program, public_key_path: File, *, accept_insecure: str = "") -> Contributor:
        """Return a contributor with a stored public key, from a file's name or an open binary file."""
        with as_path(public_key_path) as path:
            key = _native.io.Reader(str(path)).public_key(program.context)
        return cls(program, key, accept_insecure=accept_insecure)

    def encrypt(self, name: str, values: npt.ArrayLike, threads: int = 1) -> Parcel:
        """Encrypts the input `name`.

        Raises:
            ShapeError: another shape. ringforge.ValueError: NaN, infinity, or an entry above the bound.
        """
        return self._encrypt(name, values, self._key, self._client, threads)


@dataclass(frozen=True)
class Shared:
    """A result that may be shown to others.

    Args:
        values: the numbers, with noise.
        bits: how well the noise hides what decryption errors tell of the secret key.
        ciphertexts: that this answer counts; more answers under the same key cost log2 of their number in bits.
        error_bound: predicted largest error, with the noise.
    """

    values: Any
    bits: float
    ciphertexts: int
    error_bound: float

    def __str__(self) -> str:
        return (
            f"hides decryption errors to {self.bits:g} bits over {counted(self.ciphertexts)}; error up to "
            f"{self.error_bound:.2g}"
        )


class KeyHolder(Secret, _Encryptor):
    """Who makes all keys, and alone can decrypt.

    Args:
        program: what was agreed on.
        secret_key: an existing key; by default a new one is made.
        accept_insecure: why parameters below 128 bits are used all the same.
        fixed_seed_for_tests: a `ckks.TestSeed`, which makes everything reproducible, and nothing secret.

    Raises:
        ParameterError: the parameters are insecure and no reason was given.
    """

    saved_by = "`save_secret_key` writes its key to a file, and `KeyHolder.load` reads it"

    def __init__(
        self,
        program: Program,
        secret_key: SecretKey | None = None,
        *,
        accept_insecure: str = "",
        fixed_seed_for_tests: _native.TestSeed | None = None,
    ) -> None:
        _refuse_insecure(program, accept_insecure)
        self.program = program
        self._client = _native.Client(program.context, fixed_seed_for_tests)
        self._secret = self._client.secret_key() if secret_key is None else secret_key

    @classmethod
    def load(cls, program: Program, secret_key_path: str | Path, *, accept_insecure: str = "") -> KeyHolder:
        """A key holder with a stored secret key."""
        key = load_secret_key(secret_key_path, program.context)
        return cls(program, key, accept_insecure=accept_insecure)

    # ---- keys ----

    def public_key(self) -> PublicKey:
        """What contributors encrypt with."""
        return self._client.public_key(self._secret)

    def evaluation_keys(self, threads: int = 1, progress: Progress | None = None) -> EvaluationKeys:
        """The keys the program needs, each for the level it is used at."""
        return EvaluationKeys.collected(self.program, self._keys(threads, progress))

    def save_evaluation_keys(self, path: File, threads: int = 1, progress: Progress | None = None) -> int:
        """Make and write the evaluation keys one by one, to a file's name or an open binary file; return bytes."""
        return write_records(path, self.program.context, self._keys(threads, progress))

    def _keys(self, threads: int, progress: Progress | None) -> Iterator[GaloisKey | RelinKey]:
        return make_keys(self._client, self._secret, self.program, threads, progress)

    def save_public_key(self, path: File) -> int:
        """Write the public key to a file's name or to an open binary file; return bytes."""
        return write_records(path, self.program.context, [self.public_key()])

    def save_secret_key(self, path: str | Path) -> None:
        """Writes the secret key, readable by its owner only."""
        save_secret_key(path, self.program.context, self._secret)

    # ---- data ----

    def encrypt(self, name: str, values: npt.ArrayLike, threads: int = 1) -> Parcel:
        """Encrypts the input `name` with the secret key: smaller files and less noise than with the public one.

        Raises:
            ShapeError: another shape. ringforge.ValueError: NaN, infinity, or an entry above the bound.
        """
        return self._encrypt(name, values, self._secret, self._client, threads)

    def decrypt(self, result: Parcel, threads: int = 1) -> Any:
        """A result in the clear, for the key holder itself; for others see `decrypt_to_share`.

        Raises:
            ParameterError: it is no output of the program. MismatchError: it belongs to another program or key.
            FormatError, LevelError, ScaleError: the ciphertexts are not as the program says.
        """
        self._check_result(result)
        plain = [self._client.decrypt(loaded(c), self._secret) for c in result.ciphertexts]
        return self.program.unpack(result.name, lambda i: real_slots(self.program.context, plain[i], threads))

    def decrypt_to_share(self, result: Parcel, bits: float, *, answers: int = 1, threads: int = 1) -> Shared:
        """A result in the clear, with noise that lets it be shown to others (docs/security.md).

        The noise follows from the error that the program predicts, not from what a file says of itself.

        Args:
            result: of the server.
            bits: how well the noise hides what decryption errors tell of the key.
            answers: results of this size that will ever be shown under this key.

        Raises:
            LevelError: the noise would leave nothing of the result. Others as `decrypt`.
        """
        self._check_result(result)
        context = self.program.context
        degree, count = context.params.degree, len(result.ciphertexts) * answers
        error, plain = 0.0, []
        for c, tile in zip(result.ciphertexts, self.program.traced.results[result.name].every_tile(), strict=True):
            known = tile.value
            sigma = flood_deviation(known.variance, degree, bits, count)
            error = max(error, known.error_bound + float(_native.slot_error_bound(sigma**2, degree)) / known.scale)
            if error > known.bound:
                raise LevelError(
                    f"hiding {bits:g} bits over {counted(count)} adds noise of up to {error:.3g} to results of at "
                    f"most {known.bound:.3g}: nothing would be left. Ask for fewer bits, or choose parameters with "
                    "larger primes and a larger default scale"
                )
            plain.append(self._client.decrypt_to_share(loaded(c), self._secret, bits, count, known.variance))
        values = self.program.unpack(result.name, lambda i: real_slots(context, plain[i], threads))
        return Shared(values, bits, count, error)

    def _check_result(self, result: Parcel) -> None:
        if result.name not in self.program.outputs:
            raise ParameterError(
                f"{result.name} is no output of the program; its outputs are {', '.join(self.program.outputs)}"
            )
        result.check(self.program)

    def error_bound(self, name: str) -> float:
        """Predicted largest error of an output's entries."""
        return self.program.traced.results[name].error_bound


class Server(Remade):
    """Computes a program on ciphertexts.

    Args:
        program: what was agreed on.
        keys: the key holder's evaluation keys.
        device: name of a device, or a device.
        threads: threads to use.
        scratch: where ciphertexts go that do not stay in memory.

    Raises:
        MissingKeyError: the keys are not those of the program.
    """

    remade_by = "Server(program, keys) makes another one; program and keys have to_bytes, and are pickled"

    def __init__(
        self,
        program: Program,
        keys: EvaluationKeys,
        *,
        device: str | Device = "cpu",
        threads: int = 1,
        scratch: Scratch | None = None,
    ) -> None:
        self.program = program
        self.machine = Computer(program.context, keys, program.planning, threads, device, scratch)
        self.machine.require(program.key_levels, program.relin_level)

    def run(
        self,
        inputs: Iterable[Parcel],
        plain: Mapping[str, npt.ArrayLike] | None = None,
        progress: Progress | None = None,
    ) -> tuple[dict[str, Parcel], Report]:
        """The encrypted outputs by name, and what the kernels took.

        Args:
            inputs: the encrypted inputs.
            plain: the plain ones by name.
            progress: called with the fraction done.

        Raises:
            ParameterError: an input is missing, unknown, or there twice. FormatError, LevelError: a parcel is not what
            the program says. MismatchError: inputs under different keys. ShapeError, ringforge.ValueError: a plain
            input is not as declared.
        """
        given: dict[str, EncryptedMatrix | PlainMatrix] = {}
        for parcel in inputs:
            parcel.check(self.program)
            if parcel.name in given:
                raise ParameterError(f"input {parcel.name} is given twice: give each input once")
            given[parcel.name] = self._matrix(parcel)
        for name, values in (plain or {}).items():
            if name in given:
                raise ParameterError(f"input {name} is given twice, encrypted and plain: give each input once")
            given[name] = self._plain(name, values)
        missing = [x.name for x in self.program.inputs if x.name not in given]
        if missing:
            raise ParameterError(f"input {missing[0]} is missing: the program takes all of its inputs")
        machine, total = self.machine, self.program.traced.tracer.work
        machine.reports.clear()
        machine.work = 0.0
        machine.progress = (lambda done: progress(min(1.0, done / total))) if progress and total else None
        results = self.program.run(given)
        report = Report(machine.device.name, 0.0)
        for _, part in machine.reports:
            report = report + part
        digest, kept = self.program.digest, machine.scratch is not None
        host: Callable[[Any], Any] = (lambda x: x) if kept else machine.device.download
        found = {
            n: Parcel(n, [host(t.value) for t in m.every_tile()], digest, self.program) for n, m in results.items()
        }
        return found, report

    def _matrix(self, parcel: Parcel) -> EncryptedMatrix:
        spec = self.program.input(parcel.name)
        relin = self.machine.keys.relin
        for c in parcel.ciphertexts:
            if relin is not None and c.key_id != relin.key_id:
                raise MismatchError(
                    f"input {parcel.name} was encrypted under another key than the evaluation keys: all parties must "
                    "use the key holder's public key"
                )
            if c.bound > spec.bound * (1 + 1e-9):
                raise RingforgeValueError(
                    f"input {parcel.name} declares entries up to {c.bound:g}, the program up to {spec.bound:g}"
                )
        rows, cols = spec.ciphertexts
        layout = Layout.column_major(*(spec.tile or spec.sides))
        it = iter(parcel.ciphertexts)
        tiles = [[Tile(next(it), layout) for _ in range(cols)] for _ in range(rows)]
        return EncryptedMatrix(
            self.machine, tiles, *spec.sides, len(spec.shape), Step("input", (), {"name": spec.name})
        )

    def _plain(self, name: str, values: npt.ArrayLike) -> PlainMatrix:
        spec, made = self.program.input(name), PlainMatrix.constant(values)
        if not spec.plain:
            raise ParameterError(f"input {name} must come encrypted")
        if made.shape != tuple(spec.shape):
            raise ShapeError(f"input {name} has shape {tuple(spec.shape)}, this array {made.shape}")
        if made.step.bound > spec.bound:
            raise RingforgeValueError(f"an entry of input {name} exceeds its bound {spec.bound:g}")
        return made


__all__ = ["Contributor", "EvaluationKeys", "KeyHolder", "Parcel", "Server", "Session", "Shared"]
