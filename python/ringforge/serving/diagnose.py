# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Why no connection came about: tried once more without gRPC, whose words do not tell the cases apart."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from ringforge.serving.access import split_address

#: Seconds for a try.
_SECONDS = 5.0

#: OpenSSL's codes for a certificate of another host name or address.
_OTHER_NAME = (62, 64)


def why_not(address: str, ca: str | Path | None, text: str, program: str) -> str:
    """One line on what keeps this client from the server, and what to do.

    Args:
        address: HOST:PORT. ca: file of the authority, with TLS. text: gRPC's own words, already clean.
        program: that should answer there.
    """
    host, port = split_address(address)
    host = host.strip("[]")
    try:
        connection = socket.create_connection((host, port), _SECONDS)
    except OSError as e:
        reason = e.strerror or type(e).__name__
        return f"nobody answers at {address}: check host, port, and that {program} runs there ({reason})"
    with connection:
        return (
            _protected(address, host, ca, connection) if ca is not None else _plain(address, connection, text, program)
        )


def _protected(address: str, host: str, ca: str | Path, connection: socket.socket) -> str:
    context = ssl.create_default_context(cafile=str(ca))
    context.set_alpn_protocols(["h2"])
    begin = f"no protected connection to {address}: "
    try:
        context.wrap_socket(connection, server_hostname=host).close()
    except ssl.SSLCertVerificationError as e:
        if e.verify_code in _OTHER_NAME:
            return begin + (
                f'the server\'s certificate is not for "{host}": give --server with a name that is in it, or have the '
                "operator add this one (subjectAltName)"
            )
        return begin + (
            f"the server's certificate is not trusted by --tls-ca ({e.verify_message}): take the file of the authority "
            "that signed it"
        )
    except ssl.SSLError as e:
        reason = (e.reason or "no TLS").replace("_", " ").lower()
        return begin + f"the server does not talk TLS as this client does ({reason}): ask its operator"
    except OSError:
        return begin + "the server takes connections and does not answer: run again, or ask its operator"
    return begin + "it broke before the server had said anything: run again"


def _plain(address: str, connection: socket.socket, text: str, program: str) -> str:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is sent: this only asks whether there is TLS
    context.set_alpn_protocols(["h2"])
    try:
        context.wrap_socket(connection).close()
    except OSError:
        return (
            f"the connection to {address} broke before the server had said anything: it is no {program}, or has just "
            f"ended; run again ({text})"
        )
    return f"the server at {address} expects TLS: give --tls-ca with the file of its authority"
