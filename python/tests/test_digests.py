# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Fixed seeds give the keys, ciphertexts, results and files of `digests.json`, by every kernel set and thread count."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable

import pytest

from ringforge._native import kernels
from tests import digests

LISTED: dict[str, dict[str, str]] = json.loads(digests.LIST.read_text())

#: What every kernel set computes in seconds.
QUICK = [
    "tables",
    "rings",
    "signals",
    "compression",
    "files",
    "lookups",
    "polynomials",
    "gates GINX",
    "ckks",
    "bfv",
    "bgv",
    "ltv",
]


def check(found: dict[str, dict[str, str]], parts: Iterable[str]) -> None:
    for part in parts:
        differ = [name for name, digest in LISTED[part].items() if found[part].get(name) != digest]
        assert not differ, f"{part}: {len(differ)} of {len(LISTED[part])} differ: {', '.join(differ[:12])}"
        assert found[part].keys() == LISTED[part].keys()


def test_the_list_has_every_part() -> None:
    assert LISTED.keys() == digests.PARTS.keys()


def test_fixed_seeds_give_the_listed_bits() -> None:
    parts = [part for part in digests.PARTS if part != "gates AP"]
    check(digests.compute(parts, 2), parts)


@pytest.mark.long
def test_an_ap_key_and_its_gates_have_the_listed_bits() -> None:
    check(digests.compute(["gates AP"], 2), ["gates AP"])


@pytest.mark.parametrize(("threads", "name"), list(enumerate(kernels.available(), 1)))
def test_every_kernel_set_gives_the_listed_bits(threads: int, name: str) -> None:
    out = subprocess.run(
        [sys.executable, digests.__file__, f"--threads={threads}", *QUICK],
        env={**os.environ, "RINGFORGE_KERNELS": name},
        check=True,
        capture_output=True,
        text=True,
    )
    check(json.loads(out.stdout), QUICK)
