# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The page of services: files that come with the package, and what is known, as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources

from ringforge.serving.overview import Overview
from ringforge.serving.web import Web

_FILES = {
    "/": ("services.html", "text/html; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    "/services.css": ("services.css", "text/css; charset=utf-8"),
    "/services.js": ("services.js", "text/javascript; charset=utf-8"),
}


def page(address: str, overview: Overview) -> Web:
    """A server of the page.

    Args:
        address: HOST:PORT; port 0 takes a free one.

    Raises:
        ParameterError, Error: nothing can listen there.
    """
    folder = resources.files("ringforge.serving") / "templates"

    def file(name: str, kind: str) -> Callable[[], tuple[int, str, bytes]]:
        data = (folder / name).read_bytes()
        return lambda: (200, kind, data)

    routes = {path: file(name, kind) for path, (name, kind) in _FILES.items()}
    routes["/services.json"] = lambda: (200, "application/json", json.dumps(overview.known()).encode())
    return Web(address, routes, "--http")
