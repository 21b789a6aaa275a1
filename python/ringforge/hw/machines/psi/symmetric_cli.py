# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw symmetric psi`: the asymmetric pipeline beside symmetric ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringforge.cli.console import console, say
from ringforge.cli.output import ROWS, AsJson, emit, prints
from ringforge.hw.machines.psi.answers import SymmetricAnswer
from ringforge.hw.machines.psi.symmetric import Size, compare, save


@prints(ROWS, SymmetricAnswer)
def symmetric_command(
    log_n: Annotated[int, typer.Option(help="log2 of N.")] = Size.log_n,
    word_bits: Annotated[int, typer.Option(help="Bits of a word.")] = Size.word_bits,
    digits: Annotated[int, typer.Option(help="Digits of a residue.")] = Size.digits,
    save_to: Annotated[
        Path | None, typer.Option("--save", help="Also write the results to this folder, such as bench/results.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What the pipeline takes on the FPGA beside symmetric ones of the same throughput, by Yosys.

    A symmetric pipeline has a forward transform that is not pipelined, and a multiplier by a row of the key, for each
    digit. Both are made from the same cells; FIFOs and key loads are left out. Runs are kept: only what changed runs
    again. The first time takes some ten minutes.

    Examples: `ringforge hw symmetric psi`, `ringforge hw symmetric psi --log-n 11 --word-bits 54 --digits 6`
    """
    found = compare(Size(log_n, word_bits, digits))
    assert found is not None  # what is not kept is made
    if as_json:
        emit(found.to_dict())
    else:
        for grid in found.grids():
            console().print(grid.rich())
        say(found.tool)
    if save_to is not None:
        say(f"written to {save(found, save_to)}")
