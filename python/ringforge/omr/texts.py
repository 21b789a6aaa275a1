# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the commands of omr print: tables, JSON objects."""

from __future__ import annotations

import base64
from typing import Any

from ringforge.cli.console import seconds_text, size_text, visible
from ringforge.omr.detector_client import Info
from ringforge.omr.receiver import Message, Outcome

#: What kinds of traffic are called.
_KINDS = {"info": "about the detector", "keys": "detection key", "requests": "requests", "progress": "progress"}


def text_of(message: Message) -> str | None:
    """A message as text, or None if it is none."""
    try:
        return message.text.decode()
    except UnicodeDecodeError:
        return None


def message_object(message: Message) -> dict[str, Any]:
    """For JSON; what is no UTF-8 comes as base64."""
    about: dict[str, Any] = {"bulletin": message.bulletin, "entry": message.entry}
    text = text_of(message)
    if text is None:
        return {**about, "base64": base64.b64encode(message.text).decode()}
    return {**about, "text": text}


def outcome_object(outcome: Outcome, sent: dict[str, int], received: dict[str, int]) -> dict[str, Any]:
    """A run, for JSON."""
    return {
        "messages": [message_object(m) for m in outcome.messages],
        "bulletins": [vars(b) for b in outcome.bulletins],
        "seconds": outcome.seconds,
        "sent": sent,
        "received": received,
    }


def outcome_rows(outcome: Outcome, sent: dict[str, int], received: dict[str, int]) -> dict[str, str]:
    """A run, for people."""
    found = outcome.bulletins
    rows = {
        "bulletins": f"{len(found)}, {sum(b.requests for b in found)} digests of "
        f"{size_text(sum(b.bytes for b in found))} in all",
        "pertinent": f"{sum(b.count for b in found):,} entries, {len(outcome.messages):,} of them open",
        "sent": _sizes(sent),
        "received": _sizes(received),
        "time": ", ".join(f"{name} {seconds_text(took)}" for name, took in outcome.seconds.items()),
    }
    fetched = sum(b.fetched for b in found)
    if fetched:
        rows["from the board"] = f"{fetched:,} payloads"
    return rows


def _sizes(counts: dict[str, int]) -> str:
    parts = ", ".join(f"{_KINDS.get(kind, kind)} {size_text(n)}" for kind, n in counts.items() if n)
    return f"{size_text(sum(counts.values()))}: {parts}" if parts else "nothing"


def info_rows(info: Info) -> dict[str, str]:
    """What a detector says, for people."""
    about = info.detector
    numbers = sorted(info.bulletins)
    capacity = about.get("capacity", {})
    rows = {
        "parameters": f"{about.get('set', '?')} ({str(about.get('hash', ''))[:8]})",
        "bulletins": f"{len(numbers)} sealed, {numbers[0]} to {numbers[-1]}" if numbers else "none sealed yet",
        "digests": ", ".join(f"{mode}: up to {most}" for mode, most in capacity.items()),
        "left today": ", ".join(f"{n:,} {kind}" for kind, n in info.left.items()),
    }
    for name, key in info.keys.items():
        rows[f"key {name[:16]}"] = (
            f"{size_text(int(key.get('bytes', 0)))}, for up to {key.get('capacity', '?')} messages"
        )
    for job in info.jobs:
        first, last = job.get("window", [0, 0])
        rows[f"job {str(job.get('job', ''))[:16]}"] = (
            f"{job.get('state')}: bulletin {job.get('bulletin')}, {job.get('mode')}, up to {job.get('capacity')}, "
            f"entries {first} to {last}" + (f": {job['error']}" if job.get("error") else "")
        )
    return {k: visible(v, lines=False) for k, v in rows.items()}
