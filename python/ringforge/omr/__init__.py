# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Oblivious message retrieval: a receiver finds its messages on a public board through a server that learns nothing.

The server, called the detector, learns neither which messages are the receiver's nor how many of them there are.

>>> from ringforge import omr
>>> s = omr.named("test", insecure="a first look")
>>> secret = omr.ReceiverSecret.make(s)
>>> key = omr.DetectionKey.make(secret)
>>> with omr.Board.open("board.sqlite", s) as board:
...     board.post(*omr.entries(secret.address(), [b"See you at noon"]))
...     board.seal(pad=True)
...     digest = omr.detect(board, key)
>>> omr.read(secret, digest)
{0: b'See you at noon'}
"""

from ringforge.omr.address import Address
from ringforge.omr.board import Board
from ringforge.omr.keys import DetectionKey, ReceiverSecret
from ringforge.omr.poster import entries
from ringforge.omr.sets import Set, named
from ringforge.omr.trial import Digest, detect, read

__all__ = [
    "Address",
    "Board",
    "DetectionKey",
    "Digest",
    "ReceiverSecret",
    "Set",
    "detect",
    "entries",
    "named",
    "read",
]
