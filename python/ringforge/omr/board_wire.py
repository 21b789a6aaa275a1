# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What both ends of a board's service agree on beyond `serving.framing`: methods and sizes."""

from __future__ import annotations

from ringforge.omr.proto import board_pb2 as pb
from ringforge.omr.sets import Set
from ringforge.serving.framing import CHUNK, Method

SERVICE = "ringforge.omr.board.v1.Board"

#: Bulletins in one reply.
BULLETINS = 4096

#: The methods: request, reply, whether requests and replies are streams.
METHODS: dict[str, Method] = {
    "Info": (pb.InfoRequest, pb.InfoReply, False, False),
    "Post": (pb.PostRequest, pb.PostReply, True, True),
    "Bulletins": (pb.BulletinsRequest, pb.BulletinsReply, False, False),
    "Signals": (pb.RangeRequest, pb.RangeReply, False, True),
    "Payloads": (pb.RangeRequest, pb.RangeReply, False, True),
    "Encoding": (pb.EncodingRequest, pb.RangeReply, False, True),
}


def batch(s: Set) -> int:
    """Entries in one batch, at most: about what fills a chunk."""
    return max(1, CHUNK // (s.signal_bytes + s.payload_bytes))
