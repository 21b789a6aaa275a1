# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What both ends of the private set intersection service agree on beyond `serving.framing`: methods, sizes.

Evaluation keys, requests, replies and the table info travel in chunks; whoever receives one knows its size from the
plan beforehand.
"""

from __future__ import annotations

from ringforge.psi.proto import psi_pb2 as pb
from ringforge.serving.framing import CHUNK, Method

#: Bytes of a group element of ristretto255, and how many of them fill a message.
ELEMENT_BYTES = 32
PRF_BATCH = CHUNK // ELEMENT_BYTES

TABLE_BYTES = 32

SERVICE = "ringforge.psi.v1.Psi"

#: What the daily quota counts, and how messages call it.
QUOTAS = {"prf": "evaluations of the pseudorandom function", "bins": "bins"}

#: The methods: request, reply, whether requests and replies are streams.
METHODS: dict[str, Method] = {
    "Info": (pb.InfoRequest, pb.InfoReply, False, True),
    "EvaluatePrf": (pb.PrfRequest, pb.PrfReply, False, True),
    "OpenSession": (pb.OpenRequest, pb.OpenReply, True, True),
    "Query": (pb.QueryRequest, pb.QueryReply, True, True),
    "CloseSession": (pb.CloseRequest, pb.CloseReply, False, False),
}
