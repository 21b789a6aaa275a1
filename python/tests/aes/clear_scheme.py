# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Keys of the engine that encrypts nothing, so that commands and services can be tested with it."""

from __future__ import annotations

import os
from pathlib import Path

from ringforge import _native
from ringforge.aes.engine import AesClient, AesServer
from ringforge.aes.keys import PARAMETERS, SCHEMES, Progress, Scheme, Shape
from ringforge.errors import MissingKeyError, ParameterError
from ringforge.files import writing
from tests.aes.clear_engine import PARAMETERS as HASH
from tests.aes.clear_engine import ClearClient, ClearServer

#: What the secret file holds.
SECRET = b"a secret of 24 bytes ...."


class Clear:
    """Stands for a scheme. Rounds take CLEAR_SECONDS of the environment."""

    name, default, warning, parameters_code = "clear", "clear-test", "", int(_native.io.LABEL)

    def shape(self, name: str, insecure: str = "") -> Shape:
        if name != self.default:
            raise ParameterError(f"no set {name}")
        if not insecure:
            raise ParameterError("this set encrypts nothing: say why it may be used, --insecure")
        return Shape(name, ClearClient(), {PARAMETERS: 1 << 10, "evaluation.rgfg": 3 << 20})

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
        del threads
        self.shape(name, insecure)
        if not (reuse and secret.exists()):
            with writing(secret, secret=True) as f:
                f.write(SECRET)
        (directory / PARAMETERS).write_bytes(_native.io.seal(_native.io.LABEL, HASH, b"parameters"))
        record = _native.io.seal(_native.io.LABEL, HASH, b"evaluation key" * 250)
        count = 1 if os.environ.get("CLEAR_SMALL") else 600
        (directory / "evaluation.rgfg").write_bytes(count * record)
        if progress is not None:
            progress(1.0)

    def client(self, secret: Path, directory: Path, threads: int) -> AesClient:
        del directory, threads
        if secret.read_bytes() != SECRET:
            raise MissingKeyError(f"{secret.name} is no secret key")
        return ClearClient()

    def on(self, device: str, at_once: int = 1) -> Scheme:
        assert device == "cpu"
        assert at_once >= 1
        return self

    def server(self, directory: Path, threads: int) -> AesServer:
        del threads
        if not (directory / "evaluation.rgfg").exists():
            raise MissingKeyError("there is no evaluation key")
        _native.io.Reader(str(directory / "evaluation.rgfg")).verify()
        return ClearServer(float(os.environ.get("CLEAR_SECONDS", "0")))


SCHEMES["clear"] = Clear()
