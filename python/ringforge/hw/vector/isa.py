# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The instructions of the vector family: encoder, decoder, and texts made from the one description.

`hw/vector/isa.json` describes the instruction word once; the encoder here, the hardware's package of constants
(`systemverilog_package`) and the documentation's table (`markdown`) are all read from it.

>>> word = encode([Instruction.load(dst=slot(1, 2048), addr=4096), Instruction.end()])
>>> word.shape, [i.op.name for i in decode(word)]
((2, 4), ['LOAD', 'END'])
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ringforge.errors import FormatError, IllegalInstructionError
from ringforge.files import overwriting, writing
from ringforge.hw.core.sources import sources

Words = npt.NDArray[np.uint64]


class Opcode(IntEnum):
    """Operations; the numbers are those of isa.json."""

    END = 1
    SYNC = 2
    CONF = 3
    MODULUS = 4
    STREAM = 16
    LOAD = 17
    STORE = 18
    COPY = 19
    SEND = 24
    RECV = 25
    REDUCE = 26
    NTT = 32
    INTT = 33
    AUTO = 34
    MAC = 48


class Scope(IntEnum):
    """Who meets at a SYNC."""

    ELEMENT = 0
    GROUP = 1
    MACHINE = 2


class BFrom(IntEnum):
    """Where a MAC's multiplier comes from."""

    IMM = 0
    STREAM = 1
    SLOT = 2


#: Bank number of twiddle slots.
TWIDDLE_BANK: Final = 7
#: Entries of the modulus table, where a machine's configuration says nothing else.
MODULI: Final = 32
#: Entries that an instruction can name.
MAX_MODULI: Final = 64
_ROW_BITS: Final = 13


def slot(bank: int, row: int) -> int:
    """Code of the slot that starts at a row of a bank."""
    return bank << _ROW_BITS | row


def bank_of(code: int) -> int:
    """Bank of a slot code."""
    return code >> _ROW_BITS


def row_of(code: int) -> int:
    """First row of a slot code."""
    return code & ((1 << _ROW_BITS) - 1)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the instruction word: `width` bits from bit `lsb` of 64-bit word `word`."""

    name: str
    word: int
    lsb: int
    width: int
    about: str

    @property
    def position(self) -> int:
        """Lowest bit in the whole instruction."""
        return 64 * self.word + self.lsb


@cache
def description() -> Mapping[str, Any]:
    """isa.json, as read.

    Raises:
        FormatError: it disagrees with this module's operations, or fields that one operation uses overlap.
    """
    isa: dict[str, Any] = json.loads((sources() / "vector" / "isa.json").read_text())
    if {name: i["op"] for name, i in isa["instructions"].items()} != {o.name: o.value for o in Opcode}:
        raise FormatError("isa.json has other operations than ringforge.hw.vector.isa: one of them is out of date")
    if (isa["twiddle_bank"], isa["moduli"], isa["max_moduli"]) != (TWIDDLE_BANK, MODULI, MAX_MODULI):
        raise FormatError("isa.json has another twiddle bank or modulus table than ringforge.hw.vector.isa")
    return isa


@cache
def field_table() -> Mapping[str, Field]:
    """The fields by name, in the order of isa.json."""
    return {n: Field(n, f["word"], f["lsb"], f["width"], f["about"]) for n, f in description()["fields"].items()}


_SLOTS: Final = frozenset({"dst", "a", "c", "b", "tw", "pair_dst", "pair_a", "pair_tw"})
#: Fields that texts leave out when they are zero: not all machines use them.
_OPTIONAL: Final = frozenset({"mod_high", "src_mod_high", "pair", "pair_dst", "pair_a", "pair_tw", "pair_mod"})


def _lift(entry: int | None) -> dict[str, int]:
    """Fields of a centred lift from an entry of the modulus table."""
    return {} if entry is None else {"lift": 1, "src_mod": entry & 31, "src_mod_high": entry >> 5}


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. Fields that an operation does not use are zero; slots are codes made by `slot`.

    `tw` and `b` share bits of the word, `imm` and the fields of a pair do too: an operation uses one of them at most.
    Entries of the modulus table are given to the constructors as one number, 0 ... 63; bit 5 has a field of its own.
    """

    op: Opcode
    mod: int = 0
    src_mod: int = 0
    lift: int = 0
    pre_sub: int = 0
    post_add: int = 0
    b_from: int = 0
    scope: int = 0
    src_pe: int = 0
    mask: int = 0
    dst: int = 0
    a: int = 0
    c: int = 0
    tw: int = 0
    b: int = 0
    imm: int = 0
    addr: int = 0
    mod_high: int = 0
    src_mod_high: int = 0
    pair_dst: int = 0
    pair_a: int = 0
    pair_tw: int = 0
    pair_mod: int = 0
    pair: int = 0

    @property
    def entry(self) -> int:
        """Entry of the modulus table, 0 ... 63."""
        return self.mod_high << 5 | self.mod

    @property
    def src_entry(self) -> int:
        """Entry of the source's modulus, 0 ... 63."""
        return self.src_mod_high << 5 | self.src_mod

    def beside(self, other: Instruction) -> Instruction:
        """This transform with another of the same kind and lift, their rows taking turns (machines with shared ALUs).

        Raises:
            IllegalInstructionError: these two are no pair.
        """
        alike = (self.op, self.lift, self.src_entry) == (other.op, other.lift, other.src_entry)
        if not alike or self.op not in (Opcode.NTT, Opcode.INTT) or self.pair or other.pair:
            raise IllegalInstructionError(f"[{self}] and [{other}] are no pair of single transforms of the same kind")
        return replace(self, pair=1, pair_dst=other.dst, pair_a=other.a, pair_tw=other.tw, pair_mod=other.entry)

    # ---- constructors, one per operation ----

    @classmethod
    def end(cls) -> Instruction:
        """Ends the program."""
        return cls(Opcode.END)

    @classmethod
    def sync(cls, scope: Scope | int) -> Instruction:
        """Meets the others of a scope; stores before it may be loaded after it."""
        return cls(Opcode.SYNC, scope=int(scope))

    @classmethod
    def conf(cls, log_n: int, shift: int) -> Instruction:
        """Sets the degree 2^log_n and the shift of residues."""
        return cls(Opcode.CONF, imm=log_n | shift << 8)

    @classmethod
    def modulus(cls, mod: int, prime: int, constant: int) -> Instruction:
        """Entry `mod` of the modulus table: shifted prime and the multiplier's constant."""
        return cls(Opcode.MODULUS, mod=mod & 31, mod_high=mod >> 5, imm=prime, addr=constant)

    @classmethod
    def stream(cls, addr: int) -> Instruction:
        """Starts reading a polynomial of multipliers."""
        return cls(Opcode.STREAM, addr=addr)

    @classmethod
    def load(cls, dst: int, addr: int) -> Instruction:
        """dst = polynomial at addr."""
        return cls(Opcode.LOAD, dst=dst, addr=addr)

    @classmethod
    def store(cls, a: int, addr: int) -> Instruction:
        """Polynomial at addr = a."""
        return cls(Opcode.STORE, a=a, addr=addr)

    @classmethod
    def copy(cls, addr: int, far: int) -> Instruction:
        """Polynomial at addr of near memory = polynomial at `far` of far memory."""
        return cls(Opcode.COPY, addr=addr, imm=far)

    @classmethod
    def send(cls, a: int, mask: int) -> Instruction:
        """Broadcasts a to the elements of mask."""
        return cls(Opcode.SEND, a=a, mask=mask)

    @classmethod
    def recv(cls, dst: int, src_pe: int) -> Instruction:
        """dst = polynomial sent by an element of the group."""
        return cls(Opcode.RECV, dst=dst, src_pe=src_pe)

    @classmethod
    def reduce(cls, dst: int, a: int, mod: int) -> Instruction:
        """dst = sum of a over all groups."""
        return cls(Opcode.REDUCE, dst=dst, a=a, mod=mod)

    @classmethod
    def ntt(cls, dst: int, a: int, tw: int, mod: int, lift_from: int | None = None) -> Instruction:
        """dst = NTT of a, after a centred lift from modulus `lift_from` when that is given."""
        return cls(Opcode.NTT, dst=dst, a=a, tw=tw, mod=mod & 31, mod_high=mod >> 5, **_lift(lift_from))

    @classmethod
    def intt(cls, dst: int, a: int, tw: int, mod: int) -> Instruction:
        """dst = inverse NTT of a."""
        return cls(Opcode.INTT, dst=dst, a=a, tw=tw, mod=mod & 31, mod_high=mod >> 5)

    @classmethod
    def auto(cls, dst: int, a: int, element: int) -> Instruction:
        """dst = a under X -> X^element."""
        return cls(Opcode.AUTO, dst=dst, a=a, imm=element)

    @classmethod
    def mac(
        cls,
        dst: int,
        a: int,
        mod: int,
        *,
        imm: int | None = None,
        b: int | None = None,
        stream: bool = False,
        c: int | None = None,
        pre_sub: bool = False,
        post_add: bool = False,
        lift_from: int | None = None,
    ) -> Instruction:
        """dst = (a or a - c) * B (or + c); B is `imm`, slot `b`, or the next streamed polynomial.

        With `lift_from` (machines with shared ALUs), c of a - c, else a, takes a centred lift from that modulus first.

        Raises:
            IllegalInstructionError: not exactly one multiplier, or c without a use or a use without c.
        """
        if (imm is not None) + (b is not None) + stream != 1:
            raise IllegalInstructionError("a MAC takes exactly one multiplier: imm, b or stream")
        if (c is None) == (pre_sub or post_add):
            raise IllegalInstructionError("a MAC takes c exactly when it subtracts or adds it")
        source = BFrom.STREAM if stream else BFrom.SLOT if b is not None else BFrom.IMM
        return cls(
            Opcode.MAC,
            dst=dst,
            a=a,
            c=c or 0,
            mod=mod & 31,
            mod_high=mod >> 5,
            pre_sub=int(pre_sub),
            post_add=int(post_add),
            b_from=int(source),
            b=b or 0,
            imm=imm or 0,
            **_lift(lift_from),
        )

    # ---- text ----

    def __str__(self) -> str:
        """The operation and the fields it uses."""
        uses: Sequence[str] = description()["instructions"][self.op.name]["uses"]
        parts = []
        for name in uses:
            value = int(getattr(self, name))
            if name in _OPTIONAL and not value:
                continue
            if name in _SLOTS:
                parts.append(f"{name}={bank_of(value)}:{row_of(value)}")
            elif name in {"addr", "imm"}:
                parts.append(f"{name}={value:#x}")
            else:
                parts.append(f"{name}={value}")
        return " ".join([self.op.name, *parts])


_NAMES: Final = tuple(f.name for f in fields(Instruction))
_SHARING: Final = (("tw", "b"), ("imm", "pair"), ("mask", "mod_high"), ("mask", "src_mod_high"))


def pack(columns: Mapping[str, npt.ArrayLike], count: int) -> Words:
    """Instruction words (count, 4) from a column of values per field; fields left out are zero.

    Raises:
        IllegalInstructionError: a value does not fit its field, or an operation sets two fields that share bits.
    """
    words = np.zeros((count, 4), np.uint64)
    for one, other in _SHARING:
        if (
            one in columns
            and other in columns
            and np.any((np.asarray(columns[one], np.uint64) != 0) & (np.asarray(columns[other], np.uint64) != 0))
        ):
            raise IllegalInstructionError(f"one instruction sets both {one} and {other}, which share bits")
    for name, column in columns.items():
        field = field_table()[name]
        values = np.asarray(column, np.uint64)
        if field.width < 64 and np.any(values >> np.uint64(field.width)):
            raise IllegalInstructionError(f"a value of field {name} has more than {field.width} bits")
        words[:, field.word] |= values << np.uint64(field.lsb)
    return words


def encode(instructions: Iterable[Instruction]) -> Words:
    """Instruction words, shape (n, 4), little-endian in memory as the machine reads them.

    Raises:
        IllegalInstructionError: as `pack`.
    """
    program = list(instructions)
    try:
        return pack(
            {n: np.fromiter((int(getattr(i, n)) for i in program), np.uint64, len(program)) for n in _NAMES},
            len(program),
        )
    except OverflowError:
        raise IllegalInstructionError("a field is negative or has more than 64 bits") from None


def decode(words: npt.ArrayLike) -> list[Instruction]:
    """Instructions from words (n, 4). Bits that an operation does not use are ignored, as in the machine.

    Raises:
        IllegalInstructionError: no operation has this number; the message names the position.
        FormatError: the array is not (n, 4).
    """
    array = np.asarray(words, np.uint64)
    if array.ndim != 2 or array.shape[1] != 4:
        raise FormatError(f"a program is an array (n, 4) of 64-bit words, not {array.shape}")
    columns = {
        f.name: (array[:, f.word] >> np.uint64(f.lsb) & np.uint64((1 << f.width) - 1)).tolist()
        for f in field_table().values()
    }
    uses: dict[int, tuple[Opcode, tuple[str, ...]]] = {
        i["op"]: (Opcode[name], tuple(i["uses"])) for name, i in description()["instructions"].items()
    }
    program = []
    for at, number in enumerate(columns["op"]):
        if number not in uses:
            raise IllegalInstructionError(f"instruction {at} has operation {number}, which does not exist")
        op, names = uses[number]
        program.append(Instruction(op, **{n: columns[n][at] for n in names}))
    return program


# ---- texts made from the description ------------------------------------------------------------------


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.lower().split("_"))


def systemverilog_package(path: str | Path | None = None) -> str:
    """The SystemVerilog package `vector_isa_pkg`: positions of the fields and numbers of the operations.

    Args:
        path: file to write the text to as well.
    """
    isa = description()
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Copyright 2026 The Ringforge authors",
        "//",
        "// Instruction set of the vector family. Made from hw/vector/isa.json (edit that file) by",
        "// `python -m ringforge.hw.vector.isa`.",
        "package vector_isa_pkg;",
        "  /* verilator lint_off UNUSEDPARAM */  // the description has more than one machine needs",
        "",
        f"  localparam int unsigned InstrBits = {isa['bits']};",
        f"  localparam int unsigned Moduli = {isa['moduli']};",
        f"  localparam int unsigned MaxModuli = {isa['max_moduli']};",
        f"  localparam logic [2:0] TwiddleBank = 3'd{isa['twiddle_bank']};",
        "",
        "  // Fields: lowest bit in the instruction, and width.",
    ]
    for f in field_table().values():
        name = _camel(f.name)
        lines += [
            f"  localparam int unsigned {name}Lsb = {f.position};  // {f.about}",
            f"  localparam int unsigned {name}Width = {f.width};",
        ]
    lines += ["", "  // Operations."]
    lines += [f"  localparam logic [7:0] Op{_camel(o.name)} = 8'd{o.value};" for o in Opcode]
    lines += ["", "  // Values of fields."]
    lines += [f"  localparam logic [1:0] Scope{_camel(s.name)} = 2'd{s.value};" for s in Scope]
    lines += [f"  localparam logic [1:0] BFrom{_camel(b.name)} = 2'd{b.value};" for b in BFrom]
    lines += ["", "  /* verilator lint_on UNUSEDPARAM */", "endpackage", ""]
    text = "\n".join(lines)
    if path is not None:
        with writing(path) as out:
            out.write(text.encode())
    return text


def markdown() -> str:
    """The instruction word and the operations as two Markdown tables."""
    lines = ["| field | word | bits | meaning |", "|---|---|---|---|"]
    for f in field_table().values():
        bits = f"{f.lsb + f.width - 1}..{f.lsb}" if f.width > 1 else str(f.lsb)
        lines.append(f"| `{f.name}` | {f.word} | {bits} | {f.about} |")
    lines += ["", "| operation | number | unit | fields | effect |", "|---|---|---|---|---|"]
    for name, i in description()["instructions"].items():
        used = ", ".join(f"`{n}`" for n in i["uses"])
        lines.append(f"| {name} | {i['op']} | {i['unit']} | {used} | {i['about']} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with overwriting():
        systemverilog_package(sources() / "vector" / "rtl" / "vector_isa_pkg.sv")
