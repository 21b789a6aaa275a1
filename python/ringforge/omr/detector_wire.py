# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What both ends of a detector agree on beyond `serving.framing`: methods and sizes."""

from __future__ import annotations

from ringforge.omr.proto import detector_pb2 as pb
from ringforge.serving.framing import Method

SERVICE = "ringforge.omr.detector.v1.Detector"

#: What the daily quota counts, and how messages call it.
QUOTAS = {"bulletins": "bulletins"}

KEY_BYTES, JOB_BYTES = 32, 16

#: The largest description of a detector that a receiver takes.
MAX_INFO = 1 << 24

#: The methods: request, reply, whether requests and replies are streams.
METHODS: dict[str, Method] = {
    "Info": (pb.InfoRequest, pb.InfoReply, False, True),
    "PutKey": (pb.PutKeyRequest, pb.PutKeyReply, True, True),
    "DropKey": (pb.DropKeyRequest, pb.DropKeyReply, False, False),
    "Submit": (pb.SubmitRequest, pb.SubmitReply, False, True),
    "Watch": (pb.WatchRequest, pb.WatchReply, False, True),
    "Fetch": (pb.FetchRequest, pb.FetchReply, False, True),
    "Cancel": (pb.CancelRequest, pb.CancelReply, False, False),
}
