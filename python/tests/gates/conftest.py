# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The stand-in for the native engine, put in its place."""

from __future__ import annotations

from types import ModuleType

import pytest

from ringforge import _native
from tests.gates import fake_native


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Runs a test with `tests.gates.fake_native`, whose ciphertexts hide nothing and cost nothing."""
    monkeypatch.setattr(_native, "fhew", fake_native, raising=False)
    fake_native.LEVELS.clear()
    return fake_native
