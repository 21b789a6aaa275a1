# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw job matvec`: a layer as a job file for a card's host program, with the result that must come out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringforge import _native
from ringforge import params as parameter_sets
from ringforge.cli.console import say, size_text
from ringforge.cli.output import WORK, prints
from ringforge.hw.core.card_job import CardJob, Segment
from ringforge.hw.machines.matvec import Compiled, Options, compile_matvec
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.layers import encrypted_layer, layer_kernel
from ringforge.hw.machines.matvec.machine import MACHINE
from ringforge.hw.machines.matvec.run_cli import Insecure, Machine, ParameterSet, layer_shape
from ringforge.hw.vector.interpreter import Interpreter


def card_job(
    config: MatvecConfig, params: _native.Parameters, rows: int, cols: int, schedule: str = "bsgs", seed: int = 1
) -> CardJob:
    """An encrypted random layer as a job: programs, tables, keys, matrix, inputs, and the interpreter's results.

    Args:
        rows, cols, schedule, seed: as `layers.run_layer`.

    Raises:
        ParameterError: the machine cannot run it.
    """
    context = _native.Context(params)
    kernel, _ = layer_kernel(context, rows, cols, params.max_level, schedule)
    case = encrypted_layer(context, kernel, rows, cols, seed)
    compiled: Compiled = compile_matvec(config, kernel, has_bias=True, options=Options())
    memory = compiled.memory_image(kernel.encoded(case.operands, 2, None), case.keys.galois, case.inputs)
    segments = [
        Segment.clear(s.address, s.words.nbytes) if s.writable else Segment.load(s.address, s.words) for s in memory
    ]
    Interpreter(config, memory).run(compiled.programs)
    job, size = compiled.job, compiled.job.target.degree
    for block in range(job.row_blocks):
        for part in (0, 1):
            for limb in range(job.limbs - 1):
                address = job.output(block, part, limb)
                segments.append(Segment.expect(address, memory.read(address, size)))
    return CardJob(MACHINE.identity, shape(config), compiled.base, compiled.stride, segments)


def shape(config: MatvecConfig) -> int:
    """What the machine's register SHAPE holds: groups, elements, lanes, word width, a byte each."""
    return config.groups | config.pes << 8 | config.lanes << 16 | config.word_bits << 24


@prints(WORK)
def job_command(
    out: Annotated[Path, typer.Option(help="File to write.")],
    layer: Annotated[str, typer.Option(help="A layer of the paper's Table IV, or a shape ROWSxCOLS.")] = "64x100",
    params: ParameterSet = "set-a",
    machine: Machine = "matvec-b",
    schedule: Annotated[str, typer.Option(help="diagonal (the paper's), horner, or bsgs.")] = "bsgs",
    seed: Annotated[int, typer.Option(help="Of matrix, vector and bias; keys are fresh.")] = 1,
    insecure: Insecure = "",
) -> None:
    """Writes an encrypted layer as a job file, for the host program of `ringforge hw package`.

    The file holds everything that the card's memory needs, and what must be in it afterwards, computed by the reference
    interpreter, which takes minutes for a layer of the paper.

    Example: `ringforge hw job matvec --out layer.job`
    """
    rows, cols = layer_shape(layer)
    job = card_job(MatvecConfig.named(machine), parameter_sets.named(params, insecure), rows, cols, schedule, seed)
    job.write(out)
    say(f"{layer} at {params} for {machine}: {size_text(job.size)} of card memory, written to {out}")
