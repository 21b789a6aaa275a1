# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tells the service manager (systemd's Type=notify, Type=notify-reload) how a service stands.

Nothing is told, and nothing fails, where no manager listens.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time

#: Names the manager's socket; a path, or a name of the abstract space after "@".
SOCKET = "NOTIFY_SOCKET"


def ready() -> bool:
    """The service answers, for the first time or after reloading; returns whether a manager was told."""
    return _tell("READY=1")


def reloading() -> bool:
    """What has changed on disk is being taken up; `ready` follows."""
    return _tell(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")


def stopping() -> bool:
    """The service takes nothing more."""
    return _tell("STOPPING=1")


def _tell(state: str) -> bool:
    name = os.environ.get(SOCKET, "")
    if name[:1] not in ("/", "@"):
        return False
    address = "\0" + name[1:] if name[0] == "@" else name
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as s:
        s.settimeout(1.0)  # a manager that does not listen must not hold the service
        s.sendto(state.encode(), address)
        return True
    return False
