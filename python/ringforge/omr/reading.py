# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a receiver's secret makes of digests and payloads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ringforge._native.omr import CompressionPlan
from ringforge.omr.compress import compression_plan
from ringforge.omr.decode import decode
from ringforge.omr.keys import ReceiverSecret
from ringforge.omr.payload import from_words
from ringforge.omr.sets import Set
from ringforge.omr.steps import Request
from ringforge.secrecy import Secret


@dataclass(frozen=True)
class Retrieved:
    """Positions in ascending order, and payloads where the digest carries them; empty for words that are no payload."""

    indices: list[int]
    payloads: list[bytes] | None


class SecretReader(Secret):
    """Reads digests and boxes for one receiver."""

    saved_by = "ReceiverSecret.save writes its secret to a file"

    def __init__(self, secret: ReceiverSecret) -> None:
        self._secret = secret

    @classmethod
    def load(cls, path: Path) -> SecretReader:
        """Reads a receiver's secret. Errors are those of `keys.ReceiverSecret.load`."""
        return cls(ReceiverSecret.load(path))

    @property
    def set(self) -> Set:
        """Parameters."""
        return self._secret.set

    def digest_bytes(self, request: Request) -> int:
        """Bytes of the answer to a request.

        Raises:
            ParameterError: a capacity that no digest has.
        """
        return self._plan(request).digest_bytes

    def _plan(self, request: Request) -> CompressionPlan:
        carried = self.set.payload_words if request.mode == "messages" else 0
        return compression_plan(self.set, request.capacity, 1 + carried)

    def decode(self, digest: bytes, request: Request) -> Retrieved:
        """Positions within the request's window, and payloads.

        Raises:
            TooManyMessagesError: more than it holds. FormatError: it is none, or damaged. MismatchError: it is another
            receiver's, or answers another request.
        """
        s = self.set
        carried = s.payload_words if request.mode == "messages" else 0
        rows = self._plan(request).open(digest, self._secret.compression).astype(np.int64)
        # The first value belongs to all entries, the second is 1 in the window.
        sums = rows.reshape(request.capacity + 1, 2 + carried)[:, 1:]
        found, words = decode(sums, s.entries, s.t)
        if not carried or not len(found):
            return Retrieved(found.tolist(), [] if carried else None)
        payloads, sound = from_words(words.astype(np.uint32), s)
        return Retrieved(
            found.tolist(), [row.tobytes() if ok else b"" for row, ok in zip(payloads, sound, strict=True)]
        )

    def open(self, payload: bytes) -> bytes | None:
        """A text, or None where the payload is not this receiver's."""
        return self._secret.box.open(payload)
