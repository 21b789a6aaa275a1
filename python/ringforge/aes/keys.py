# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Keys of AES's two schemes: made once, kept in files; clients and servers are opened from them.

The secret key is a file for its owner. All that evaluators need is a directory, `parameters.rgfg` among it, by which
the scheme is known; it holds no secret.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ringforge import _native
from ringforge._native.ltv import WARNING as LTV_WARNING
from ringforge.aes.engine import BLOCK_BYTES, AesClient, AesServer, Codec
from ringforge.devices import Device
from ringforge.errors import DuplicateError, FormatError, MismatchError, MissingKeyError, ParameterError
from ringforge.files import make_folder, naming, new_file

#: The file by which a directory of keys is known.
PARAMETERS = "parameters.rgfg"

_EVALUATION = "evaluation.rgfg"

#: Bytes that a record has beside its polynomials, at the very most.
_SMALL = 1 << 14

#: Takes the fraction of the keys that has been made.
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Records:
    """How ciphertexts of a parameter set become bytes, without keys (`engine.Codec`)."""

    scheme: str
    slots: int
    ciphertexts: int
    parameter_hash: bytes
    max_record_bytes: int
    context: Any = field(repr=False)

    def to_bytes(self, ciphertext: Any) -> bytes:
        return bytes(_native.io.to_bytes(self.context, ciphertext))

    def from_bytes(self, record: bytes) -> Any:
        return _native.io.ciphertext_from_bytes(record, self.context)


@dataclass(frozen=True)
class Shape:
    """What a parameter set fixes, without keys.

    Attributes:
        set: its name. codec: of its ciphertexts.
        key_files: names of the files of evaluation keys, and the most bytes of each.
    """

    set: str
    codec: Codec
    key_files: Mapping[str, int] = field(repr=False)

    @property
    def max_state_bytes(self) -> int:
        """Bytes of a file of one state, or of a round key, at the most."""
        return self.codec.ciphertexts * self.codec.max_record_bytes + (1 << 13)


class Scheme(Protocol):
    """A scheme's keys."""

    #: "bgv" or "ltv"; the set that is taken when none is named; what is said at every use, if anything.
    name: str
    default: str
    warning: str
    #: Type of the record in `parameters.rgfg`.
    parameters_code: int

    def shape(self, name: str, insecure: str = "") -> Shape:
        """What a set fixes.

        Raises:
            ParameterError: there is no such set, or it is below 128 bits and there is no reason; the device does not
            take it.
        """

    def make(
        self,
        name: str,
        insecure: str,
        secret: Path,
        directory: Path,
        threads: int,
        progress: Progress | None = None,
        *,
        reuse: bool = True,
    ) -> None:
        """Make a secret key and evaluation keys.

        Args:
            reuse: a secret key that is there already is taken; then evaluation keys that are there stay, so that an
                interrupted run goes on.

        Raises:
            FileExistsError: there is a secret key, and it is not to be taken. ParameterError: as `shape`.
            MismatchError: keys of another secret key, or another set, are there. OSError: no room.
        """

    def client(self, secret: Path, directory: Path, threads: int) -> AesClient:
        """The side with the secret key.

        Raises:
            FileNotFoundError, FormatError, MismatchError: no such file, damaged, not of these parameters.
        """

    def on(self, device: str, at_once: int = 1) -> Scheme:
        """The same, with servers that compute on a device.

        Args:
            at_once: requests that are computed at a time, of one server or of several: each has its share of a device's
                workers.

        Raises:
            ParameterError: there is no such device, or it runs nothing of this scheme.
        """

    def server(self, directory: Path, threads: int) -> AesServer:
        """The side that computes.

        Raises:
            MissingKeyError: a key is not there. FormatError, MismatchError: damaged, or of other parameters.
            ParameterError: the device does not take these parameters.
        """


class Bgv:
    """Keys of BGV: `parameters.rgfg` and `evaluation.rgfg`, a relinearisation key and seven Galois keys.

    Args:
        device: where servers compute.
    """

    name, default, warning, parameters_code = "bgv", "bgv-aes", "", 0x0701

    def __init__(self, device: Device | str = "cpu") -> None:
        self._device = device

    def shape(self, name: str, insecure: str = "") -> Shape:
        from ringforge.bgv import Context
        from ringforge.bgv.explained import key_bytes
        from ringforge.binary_slots import BinarySlots
        from ringforge.params import named_bgv

        params = named_bgv(name, insecure)
        record = 2 * params.degree * sum(q.bit_length() for q in params.q) // 8 + _SMALL
        codec = Records("bgv", BinarySlots(params.m).size, BLOCK_BYTES, params.hash, record, Context(params))
        return Shape(name, codec, {PARAMETERS: _SMALL, _EVALUATION: 8 * (int(key_bytes(params)) + _SMALL)})

    def make(
        self,
        name: str,
        insecure: str,
        secret: Path,
        directory: Path,
        threads: int,
        progress: Progress | None = None,
        *,
        reuse: bool = True,
    ) -> None:
        from ringforge.aes.bgv_engine import POWERS
        from ringforge.bgv import Client, Context
        from ringforge.params import named_bgv

        params = named_bgv(name, insecure)
        context = Context(params)
        client = Client(context)
        if (directory / PARAMETERS).exists():
            if self._context(directory).params.hash != params.hash:
                raise MismatchError(f"the keys in {directory} are not of set {name}: name another directory")
            if reuse and (directory / _EVALUATION).exists() and secret.exists():
                return
        if reuse and secret.exists():
            key = _load_secret(secret, context)
        else:
            key = client.secret_key()
            with new_file(secret, secret=True) as temporary:
                _write(temporary, (context, key))
        if not (directory / PARAMETERS).exists():
            with new_file(directory / PARAMETERS) as temporary:
                _write(temporary, (params,))
        with new_file(directory / _EVALUATION, replace=reuse) as temporary:
            writer = _native.io.Writer(str(temporary))
            writer.write(context, client.relin_key(key, None, threads))
            for done, k in enumerate(POWERS, 1):
                writer.write(context, client.galois_key(key, context.frobenius_element(k), None, threads))
                if progress is not None:
                    progress(done / len(POWERS))
            writer.close()

    @staticmethod
    def _context(directory: Path) -> Any:
        from ringforge.bgv import Context

        path = directory / PARAMETERS
        reader = _native.io.Reader(str(path))
        with naming(path):
            params = reader.next_bgv_parameters()
            if params is None or not reader.at_end():
                raise FormatError("one BGV parameter set is expected, and nothing behind it")
        return Context(params)

    def client(self, secret: Path, directory: Path, threads: int) -> AesClient:
        from ringforge.aes.bgv_engine import BgvClient

        context = self._context(directory)
        return BgvClient(context, _load_secret(secret, context), threads)

    def on(self, device: str, at_once: int = 1) -> Scheme:
        if device == "cpu":
            return self if self._device == "cpu" else Bgv()
        from ringforge.aes.shards import BytesKernel
        from ringforge.devices import open_device

        opened = open_device(device)
        if BytesKernel not in opened.capabilities().kernels:
            raise ParameterError(
                f"AES under bgv computes on cpu and on ray devices, not on {device[:64]}: leave --device away, or take "
                "keys of ltv"
            )
        return Bgv(_share(opened, at_once))

    def server(self, directory: Path, threads: int) -> AesServer:
        from ringforge.aes.bgv_engine import BgvServer, EvaluationKeys
        from ringforge.bgv import GaloisKeys

        context, path = self._context(directory), directory / _EVALUATION
        if not path.exists():
            raise MissingKeyError(f"there is no {_EVALUATION} in {directory}: `ringforge aes keygen --reuse` makes it")
        reader, galois = _native.io.Reader(str(path)), GaloisKeys()
        with naming(path):
            relin = reader.next_relin_key(context, threads)
            if relin is None:
                raise FormatError("it holds no relinearisation key")
            while (key := reader.next_galois_key(context, threads)) is not None:
                galois.insert(key)
        return BgvServer(context, EvaluationKeys(relin, galois), threads, device=self._device)


class Ltv:
    """Keys of LTV, which is broken: `parameters.rgfg`, `public.rgfg`, a file for each level.

    Args:
        device: where servers compute. at_once: rounds that each of them computes at a time, with a key in memory each.
    """

    name, default, warning, parameters_code = "ltv", "ltv-paper", LTV_WARNING, 0x0601

    def __init__(self, device: Device | str = "cpu", at_once: int = 1) -> None:
        self._device, self._at_once = device, at_once

    def shape(self, name: str, insecure: str = "") -> Shape:
        from ringforge.aes.ltv_engine import LEVELS, LtvCodec, check_device
        from ringforge.ltv import Context, Parameters

        params = Parameters.named(name, insecure=insecure)
        context = Context(params)
        codec = LtvCodec(context)
        check_device(context, self._device)
        public = 8 * params.degree * sum(params.limbs(i) for i in range(params.levels + 1))  # of every level
        files = {PARAMETERS: _SMALL, "public.rgfg": public + _SMALL}
        for level in range(1, LEVELS + 1):
            files[f"level-{level:02}.rgfg"] = params.key_bytes(level) + _SMALL
        return Shape(name, codec, files)

    def make(
        self,
        name: str,
        insecure: str,
        secret: Path,
        directory: Path,
        threads: int,
        progress: Progress | None = None,
        *,
        reuse: bool = True,
    ) -> None:
        from ringforge.aes.ltv_engine import LEVELS, lags
        from ringforge.ltv import Parameters
        from ringforge.ltv.keys import open_or_make

        params = Parameters.named(name, insecure=insecure)
        keys, client, secret_key, public_key = open_or_make(secret, directory, params, threads, reuse=reuse)
        if keys.context.params != params:
            raise MismatchError(f"the keys in {directory} are not of set {name}: name another directory")
        levels = range(1, LEVELS + 1)
        whole, done = sum(map(params.key_bytes, levels)), 0

        def told(level: int, size: int) -> None:
            nonlocal done
            del level
            done += size
            if progress is not None:
                progress(min(1.0, done / whole))

        keys.write(client, secret_key, public_key, levels, threads, told, lags())

    def client(self, secret: Path, directory: Path, threads: int) -> AesClient:
        from ringforge.aes.ltv_engine import LtvClient
        from ringforge.ltv import KeyDirectory
        from ringforge.ltv.keys import load_secret

        keys = KeyDirectory(directory)
        return LtvClient(keys.context, load_secret(secret, keys.context), keys.public_key(), threads)

    def on(self, device: str, at_once: int = 1) -> Scheme:
        from ringforge.devices import open_device
        from ringforge.ltv.shards import ProductSumsKernel, RelinearizeKernel

        opened = open_device(device)
        lacks = {ProductSumsKernel, RelinearizeKernel} - opened.capabilities().kernels
        if lacks:
            raise ParameterError(
                f"device {device} runs no {' and no '.join(sorted(k.__name__ for k in lacks))}: take cpu, or another "
                "device with both, which `ringforge info` lists"
            )
        return Ltv(_share(opened, at_once), at_once)

    def server(self, directory: Path, threads: int) -> AesServer:
        from ringforge.aes.ltv_engine import LtvServer
        from ringforge.ltv import KeyDirectory

        keys = KeyDirectory(directory)
        return LtvServer(keys.context, keys, threads, self._device, at_once=self._at_once)


def _share(device: Device, at_once: int) -> Device:
    """The part of a device's workers that one of so many requests has."""
    from ringforge.devices.sharding import ShardedDevice

    return device.shared(at_once) if isinstance(device, ShardedDevice) else device


def _load_secret(path: Path, context: Any) -> Any:
    reader = _native.io.Reader(str(path))
    with naming(path):
        return reader.secret_key(context)


def _write(path: Path, *objects: tuple[Any, ...]) -> None:
    writer = _native.io.Writer(str(path))
    for one in objects:
        writer.write(*one)
    writer.close()


#: Schemes by name; the first is what people should take.
SCHEMES: dict[str, Scheme] = {"bgv": Bgv(), "ltv": Ltv()}


def scheme(name: str) -> Scheme:
    """A scheme by its name.

    Raises:
        ParameterError: there is no such.
    """
    if name not in SCHEMES:
        raise ParameterError(f'AES runs under {" or ".join(SCHEMES)}, not under "{name[:32]}"')
    return SCHEMES[name]


def scheme_of(directory: Path) -> Scheme:
    """The scheme of a directory of keys.

    Raises:
        MissingKeyError: it has no parameters. FormatError: they are of nothing that does AES here.
    """
    if not (directory / PARAMETERS).exists():
        raise MissingKeyError(
            f"there are no keys in {directory}: `ringforge aes keygen --keys` makes them, or name the directory it made"
        )
    path = directory / PARAMETERS
    with naming(path):
        code = _native.io.Reader(str(path)).peek().code
        for found in SCHEMES.values():
            if found.parameters_code == code:
                return found
        raise FormatError("it holds parameters of a scheme that AES does not run under here")


def new_keys(secret: Path, directory: Path) -> None:
    """Refuses to make new keys where there are some.

    Raises:
        DuplicateError: the directory is not empty.
    """
    make_folder(directory)
    if not secret.exists() and any(directory.iterdir()):
        raise DuplicateError(
            f"{directory} is not empty, and its secret key is not {secret.name}: name another directory for new keys"
        )
