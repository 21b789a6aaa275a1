# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Options that several commands of aes have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringforge.cli import completion

KeysDirectory = Annotated[
    Path, typer.Option("--keys", help="Directory of evaluation keys, which `keygen` made; no secret.")
]
RoundKeysDirectory = Annotated[
    Path, typer.Option("--round-keys", help="Directory of encrypted round keys, which `encrypt` made; no secret.")
]
SecretFile = Annotated[Path, typer.Option("--secret", help="The secret key, which `keygen` made.")]
SchemeName = Annotated[
    str,
    typer.Option("--scheme", help="bgv, which holds; or ltv, which is broken.", autocompletion=lambda: ["bgv", "ltv"]),
]
SetName = Annotated[str | None, typer.Option("--set", help="Parameter set; default: the scheme's for AES.")]
DeviceName = Annotated[
    str,
    typer.Option(
        "--device",
        help="Where products and relinearisations of ltv, or bytes of bgv, run; `ringforge info` lists devices.",
        autocompletion=completion.devices,
    ),
]
StreamFile = Annotated[Path | None, typer.Option("--stream", help="AES-CTR stream, which `stream` made.")]
Compute = Annotated[
    str,
    typer.Option(
        help="Compute on the bytes: below:N gives 1 for each byte below N; sums, those of each two bytes. Under bgv."
    ),
]
