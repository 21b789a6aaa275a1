# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The sender's side: texts become entries for a receiver's address.

Neither signal nor payload shows for whom it is. That several entries came in one call, from one address of the network
or at one time the board sees all the same.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.errors import FormatError
from ringforge.omr.address import Address
from ringforge.unique import once_each

#: Longest file of texts.
_MAX_FILE = 1 << 30


def entries(
    address: Address, texts: Sequence[bytes], threads: int = 1
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Packed signals and sealed payloads, one row for each text, in their order.

    Raises:
        ringforge.ValueError: a text is longer than the set's `text_bytes`.
    """
    payloads = b"".join(address.box.seal(text, address.set) for text in texts)
    signals = address.signal.signals(len(texts), threads).pack(threads)
    return signals, np.frombuffer(payloads, np.uint8).reshape(len(texts), -1)


def read_texts(path: str | Path, json_lines: bool) -> list[bytes]:
    """The texts of a file, or of standard input for "-": one on each line, in UTF-8.

    Args:
        json_lines: lines are objects {"text": "..."}, so that texts may have several lines.

    Raises:
        FormatError: there is none, or a line is none; the message has its number, not its text.
    """
    name = Path(path).name
    if str(path) == "-":
        data = sys.stdin.buffer.read(_MAX_FILE + 1)
    else:
        with Path(path).open("rb") as f:
            data = f.read(_MAX_FILE + 1)
    if len(data) > _MAX_FILE:
        raise FormatError(f"{name}: texts of more than {_MAX_FILE >> 30} GiB: post them in pieces")
    texts = []
    for number, line in enumerate(data.splitlines() if json_lines else data.split(b"\n"), 1):
        line = line.removesuffix(b"\r")
        if not line.strip():
            continue
        try:
            texts.append(_json_text(line) if json_lines else line.decode().encode())
        except (ValueError, RecursionError):
            what = 'no object {"text": "..."}' if json_lines else "no UTF-8"
            raise FormatError(f"{name}, line {number}, is {what}") from None
    if not texts:
        raise FormatError(f"{name} holds no text: one on each line is needed")
    return texts


def _json_text(line: bytes) -> bytes:
    found: Any = json.loads(line, object_pairs_hook=once_each)
    if not isinstance(found, dict) or not isinstance(found.get("text"), str) or len(found) != 1:
        raise ValueError
    text: str = found["text"]
    return text.encode()  # a lone surrogate is a UnicodeEncodeError, which is a ValueError
