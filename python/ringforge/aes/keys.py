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
from typing import Protocol

from ringforge import _native
from ringforge.aes.engine import ROUNDS, AesClient, AesServer
from ringforge.errors import DuplicateError, FormatError, MissingKeyError, ParameterError
from ringforge.files import naming

#: The file by which a directory of keys is known.
PARAMETERS = "parameters.rgfg"

#: Takes the fraction of the keys that has been made.
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Shape:
    """What a parameter set fixes, without keys.

    Attributes:
        scheme, set: names. parameter_hash: 32 bytes.
        slots, ciphertexts, max_record_bytes: as `engine.Codec`.
        key_files: names of the files of evaluation keys, and the most bytes of each.
    """

    scheme: str
    set: str
    parameter_hash: bytes
    slots: int
    ciphertexts: int
    max_record_bytes: int
    key_files: Mapping[str, int] = field(repr=False)

    @property
    def max_state_bytes(self) -> int:
        """Bytes of a file of one state, or of a round key, at the most."""
        return self.ciphertexts * self.max_record_bytes + (1 << 13)

    @property
    def max_round_keys_bytes(self) -> int:
        return (ROUNDS + 1) * self.max_state_bytes


class Scheme(Protocol):
    """A scheme's keys."""

    #: "bgv" or "ltv"; the set that is taken when none is named; what is said at every use, if anything.
    name: str
    default: str
    warning: str
    #: Type of the record in `parameters.rgfg`.
    parameters_code: int

    def sets(self) -> list[str]:
        """Names of parameter sets that AES fits into."""

    def shape(self, name: str, insecure: str = "") -> Shape:
        """What a set fixes.

        Raises:
            ParameterError: there is no such set, or it is below 128 bits and there is no reason.
        """

    def make(
        self, name: str, insecure: str, secret: Path, directory: Path, threads: int, progress: Progress | None = None
    ) -> None:
        """Makes a secret key and evaluation keys. A secret key that is there already is taken; then evaluation keys
        that are there stay, so that an interrupted run goes on.

        Raises:
            ParameterError: as `shape`. MismatchError: keys of another secret key, or another set, are there.
            OSError: no room.
        """

    def client(self, secret: Path, directory: Path, threads: int) -> AesClient:
        """The side with the secret key.

        Raises:
            FileNotFoundError, FormatError, MismatchError: no such file, damaged, not of these parameters.
        """

    def server(self, directory: Path, threads: int) -> AesServer:
        """The side that computes.

        Raises:
            MissingKeyError: a key is not there. FormatError, MismatchError: damaged, or of other parameters.
        """


class Ltv:
    """Keys of LTV, which is broken."""

    name, default, parameters_code = "ltv", "ltv-paper", 0x0601

    @property
    def warning(self) -> str:
        from ringforge import ltv

        return ltv.WARNING

    def sets(self) -> list[str]:
        from ringforge.aes.ltv_engine import LEVELS
        from ringforge.ltv import Parameters

        names = Parameters.names()
        return [n for n in names if Parameters.named(n, insecure="a look at its levels").levels >= LEVELS]

    def shape(self, name: str, insecure: str = "") -> Shape:
        from ringforge.aes.ltv_engine import LtvCodec
        from ringforge.ltv import Context, Parameters

        params = Parameters.named(name, insecure=insecure)
        codec = LtvCodec(Context(params))
        small = 1 << 16
        files = {PARAMETERS: small, "public.rgfg": codec.max_record_bytes + small}
        for level in range(1, params.levels + 1):
            files[f"level-{level:02}.rgfg"] = params.key_bytes(level) + small
        return Shape(
            self.name, name, codec.parameter_hash, codec.slots, codec.ciphertexts, codec.max_record_bytes, files
        )

    def make(
        self, name: str, insecure: str, secret: Path, directory: Path, threads: int, progress: Progress | None = None
    ) -> None:
        from ringforge.ltv import Parameters
        from ringforge.ltv.keys import open_or_make

        params = Parameters.named(name, insecure=insecure)
        keys, client, secret_key, public_key = open_or_make(secret, directory, params, threads)
        if keys.context.params != params:
            raise ParameterError(f"the keys there are of {keys.context.params.name}, not of {name}")
        whole, done = sum(params.key_bytes(i) for i in range(1, params.levels + 1)), 0

        def told(level: int, size: int) -> None:
            nonlocal done
            del level
            done += size
            if progress is not None:
                progress(min(1.0, done / whole))

        keys.write(client, secret_key, public_key, threads=threads, progress=told)

    def client(self, secret: Path, directory: Path, threads: int) -> AesClient:
        from ringforge.aes.ltv_engine import LtvClient
        from ringforge.ltv import KeyDirectory
        from ringforge.ltv.keys import load_secret

        keys = KeyDirectory(directory)
        return LtvClient(keys.context, load_secret(secret, keys.context), keys.public_key(), threads)

    def server(self, directory: Path, threads: int) -> AesServer:
        from ringforge.aes.ltv_engine import LtvServer
        from ringforge.ltv import KeyDirectory

        return LtvServer(KeyDirectory(directory).context, KeyDirectory(directory), threads)


#: Schemes by name; the first is what people should take.
SCHEMES: dict[str, Scheme] = {"ltv": Ltv()}


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
    directory.mkdir(exist_ok=True)
    if not secret.exists() and any(directory.iterdir()):
        raise DuplicateError(
            f"{directory} is not empty, and its secret key is not {secret.name}: name another directory for new keys"
        )
