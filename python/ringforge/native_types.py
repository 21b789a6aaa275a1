# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Types of the native module, for those who give all of some kind the same behaviour."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any


def types_of(module: ModuleType) -> Iterator[Any]:
    """Yield the classes in a native module and in the modules inside it."""
    for found in list(vars(module).values()):
        if inspect.ismodule(found) and found.__name__.startswith(f"{module.__name__}."):
            yield from types_of(found)
        elif inspect.isclass(found):
            yield found
