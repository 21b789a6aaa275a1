# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What both ends of a service of AES agree on beyond `serving.framing`: methods, kinds and sizes."""

from __future__ import annotations

from ringforge.aes.proto import aes_pb2 as pb
from ringforge.serving.framing import Method

SERVICE = "ringforge.aes.v1.Aes"

#: What the daily quota counts, and how messages call it.
QUOTAS = {"blocks": "blocks"}

#: Bytes that name a set of files, or a job.
NAME_BYTES = 16

#: Sets of files.
EVALUATION, ROUND_KEYS = "evaluation", "round keys"

#: What a job is done on.
BLOCKS, STREAM = "blocks", "stream"

#: The largest description of a server that a client takes.
MAX_INFO = 1 << 24

#: The methods: request, reply, whether requests and replies are streams.
METHODS: dict[str, Method] = {
    "Info": (pb.InfoRequest, pb.InfoReply, False, True),
    "Offer": (pb.OfferRequest, pb.OfferReply, False, False),
    "PutFile": (pb.PutFileRequest, pb.PutFileReply, True, True),
    "Drop": (pb.DropRequest, pb.DropReply, False, False),
    "Submit": (pb.SubmitRequest, pb.SubmitReply, True, True),
    "Watch": (pb.WatchRequest, pb.WatchReply, False, True),
    "Fetch": (pb.FetchRequest, pb.FetchReply, False, True),
    "Cancel": (pb.CancelRequest, pb.CancelReply, False, False),
}
