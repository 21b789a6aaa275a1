# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""TenSEAL's side at tiny sizes. RINGFORGE_TENSEAL_PYTHON may name the Python that has it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ringforge.lab.peers import PeerError, PeerMissingError
from ringforge.lab.peers import tenseal as peer
from ringforge.lab.peers.tenseal import MatmulRequest, matmul


@pytest.fixture(scope="module")
def python() -> str:
    chosen = os.environ.get("RINGFORGE_TENSEAL_PYTHON", sys.executable)
    try:
        peer.version(chosen)
    except PeerMissingError as missing:
        pytest.skip(str(missing))
    return chosen


def small(m: int, n: int, split_columns: int | None = None) -> MatmulRequest:
    """4096 coefficients hold 2048 values: the smallest ring that has room for a product."""
    return MatmulRequest(
        m,
        n,
        seed=7,
        scale_bits=25,
        poly_modulus_degree=4096,
        coeff_mod_bit_sizes=(40, 25, 40),
        split_columns=split_columns,
        budget_s=0.01,
    )


def test_missing_package_says_what_to_install(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(PeerMissingError, match=r"pip install tenseal==0\.3\.18"):
        matmul(small(2, 2), python=bare)


@pytest.mark.parametrize(("m", "n"), [(4, 4), (3, 7), (7, 3), (1, 1)])
def test_products_are_right(python: str, m: int, n: int) -> None:
    result = matmul(small(m, n), python=python)
    assert result.max_rel_error < 1e-2
    assert (result.split_columns, result.split_rows) == (1, 1)
    assert (result.peer, result.peer_version, result.threads) == ("tenseal", peer.version(python), 1)
    assert result.seconds > 0
    assert result.cpu_seconds > 0
    assert result.peak_mib > 1


def test_columns_are_split_on_request(python: str) -> None:
    result = matmul(small(3, 10, split_columns=3), python=python)
    assert result.split_columns == 3
    assert result.max_rel_error < 1e-2


def test_long_results_are_split_into_rows(python: str) -> None:
    result = matmul(small(2050, 2), python=python)
    assert result.split_rows == 2
    assert result.max_rel_error < 1e-2


@pytest.mark.parametrize("split_columns", [0, 1, 3000])
def test_impossible_splits_are_refused(python: str, split_columns: int) -> None:
    with pytest.raises(PeerError, match="split_columns"):
        matmul(small(1, 2049, split_columns=split_columns), python=python)


def test_bad_parameters_are_refused(python: str) -> None:
    with pytest.raises(PeerError, match="refused"):
        matmul(MatmulRequest(2, 2, poly_modulus_degree=1024, coeff_mod_bit_sizes=(60, 40, 60)), python=python)


def test_child_does_not_take_its_neighbour_for_the_library(python: str) -> None:
    code = f"import runpy; runpy.run_path({str(peer.CHILD)!r}); import tenseal; print(tenseal.__version__)"
    run = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, cwd=peer.CHILD.parent)
    assert run.stdout.strip() == peer.version(python)
