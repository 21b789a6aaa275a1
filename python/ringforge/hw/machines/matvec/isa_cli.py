# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw isa matvec`: the instruction set as docs/hw/matvec-isa.md holds it."""

from __future__ import annotations

from ringforge.cli.output import TEXT, prints
from ringforge.hw.vector import isa


def isa_document() -> str:
    """The instruction set of the matvec accelerator in Markdown."""
    text = isa.description()
    return f"""<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Copyright 2026 The Ringforge authors -->
<!-- Made by: ringforge hw isa matvec > docs/hw/matvec-isa.md -->

# Instruction set of the matvec accelerator

{text["about"]}

An instruction has {text["bits"]} bits: four 64-bit words, little-endian, word 0 first. A slot is a polynomial of
N words in the scratchpad; its first row is a multiple of the rows that a polynomial takes. Bank
{text["twiddle_bank"]} is the twiddle bank. Fields that an operation does not use are ignored.
[hw/matvec](../../hw/matvec/README.md) says when an instruction is issued and how long it takes.

{isa.markdown()}"""


@prints(TEXT)
def isa_command() -> None:
    """The instruction set as a document, made from the description that hardware and compiler read.

    Example: `ringforge hw isa matvec > docs/hw/matvec-isa.md`
    """
    print(isa_document(), end="")
