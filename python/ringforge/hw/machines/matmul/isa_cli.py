# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw isa matmul`: the instruction set as docs/hw/matmul-isa.md holds it."""

from __future__ import annotations

from ringforge.cli.output import TEXT, prints
from ringforge.hw.vector import isa


def isa_document() -> str:
    """The instruction set of the matmul accelerator in Markdown."""
    text = isa.description()
    return f"""<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Copyright 2026 The Ringforge authors -->
<!-- Made by: ringforge hw isa matmul > docs/hw/matmul-isa.md -->

# Instruction set of the matmul accelerator

{text["about"]}
Those of this machine have shared ALUs, {text["max_moduli"]} entries of the modulus table, near memory of their own
and far memory behind it; there is one group, and no REDUCE.

An instruction has {text["bits"]} bits: four 64-bit words, little-endian, word 0 first. A slot is a polynomial of
N words in the scratchpad; its first row is a multiple of the rows that a polynomial takes. Bank
{text["twiddle_bank"]} is the twiddle bank. Addresses are an element's own, multiples of its line; polynomials in memory
are packed. Fields that an operation does not use are ignored.

{isa.markdown()}"""


@prints(TEXT)
def isa_command() -> None:
    """The instruction set as a document, made from the description that hardware and compiler read.

    Example: `ringforge hw isa matmul > docs/hw/matmul-isa.md`
    """
    print(isa_document(), end="")
