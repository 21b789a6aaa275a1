# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Control registers of the machines: addresses, fields, error codes, and texts made from the one description.

`hw/shell/registers.json` describes the registers that every machine has. The hardware's package of constants
(`systemverilog_package`), the header of the simulator and of host programs (`c_header`) and the documentation's table
(`document`) are made from it. What a machine adds stands in `registers.json` of its room: its counters, and registers
of its own from 0x100 on (`own`).

>>> hex(Register.STATUS), field("STATUS", "BUSY").mask
('0x1c', 1)
>>> field("ERROR", "ELEMENT").of(0x0302)
3
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

from ringforge.errors import FormatError
from ringforge.files import writing
from ringforge.hw.core.sources import sources

#: Bits of the counters: CYCLES, the watchdog, beats, waits, and those of a machine.
COUNTER_BITS: Final = 48


class Register(IntEnum):
    """Byte addresses of the registers that every machine has; those of registers.json."""

    CTRL = 0x00
    GIE = 0x04
    IER = 0x08
    ISR = 0x0C
    ID = 0x10
    VERSION = 0x14
    COMMAND = 0x18
    STATUS = 0x1C
    ERROR = 0x20
    PC = 0x24
    PROGRAM = 0x28
    PROGRAM_HIGH = 0x2C
    STRIDE = 0x30
    CYCLES = 0x34
    CYCLES_HIGH = 0x38
    SHAPE = 0x3C
    RANGE = 0x40
    WATCHDOG = 0x44
    WATCHDOG_HIGH = 0x48
    PORTS = 0x4C
    READ_BEATS = 0x80
    READ_BEATS_HIGH = 0x84
    WRITE_BEATS = 0x88
    WRITE_BEATS_HIGH = 0x8C
    READ_WAITS = 0x90
    READ_WAITS_HIGH = 0x94
    WRITE_WAITS = 0x98
    WRITE_WAITS_HIGH = 0x9C


@dataclass(frozen=True, slots=True)
class Field:
    """`width` bits of a register from bit `lsb` on."""

    name: str
    lsb: int
    width: int
    about: str

    @property
    def mask(self) -> int:
        """Ones where the field is."""
        return ((1 << self.width) - 1) << self.lsb

    def of(self, word: int) -> int:
        """The field's value in a register's word."""
        return (word & self.mask) >> self.lsb


@dataclass(frozen=True, slots=True)
class Entry:
    """One register: `access` is "ro", "rw" or "wo" (reads 0)."""

    name: str
    address: int
    access: str
    about: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Own:
    """What one machine adds: names and meanings of its counters in order, and its own registers."""

    counters: Mapping[str, str]
    entries: tuple[Entry, ...]


def _entry(value: Mapping[str, Any], low: int, high: int) -> Entry:
    fields = tuple(Field(f["name"], f["lsb"], f["width"], f["about"]) for f in value["fields"])
    entry = Entry(value["name"], int(value["address"], 16), value["access"], value["about"], fields)
    if entry.address % 4 or not low <= entry.address < high:
        raise FormatError(f"register {entry.name} at {entry.address:#x} is not a word of {low:#x} ... {high - 1:#x}")
    if entry.access not in ("ro", "rw", "wo"):
        raise FormatError(f'register {entry.name} has access "{entry.access}"; there are ro, rw, wo')
    taken = 0
    for f in fields:
        if f.lsb < 0 or f.width < 1 or f.lsb + f.width > 32 or taken & f.mask:
            raise FormatError(f"field {f.name} of register {entry.name} overlaps another or leaves the 32 bits")
        taken |= f.mask
    return entry


def _entries(values: list[Mapping[str, Any]], low: int, high: int) -> tuple[Entry, ...]:
    entries = tuple(_entry(value, low, high) for value in values)
    for what in ([e.address for e in entries], [e.name for e in entries]):
        if len(set(what)) != len(what):
            raise FormatError("two registers have one address or one name")
    return entries


@cache
def description() -> Mapping[str, Any]:
    """registers.json of the shell, as read.

    Raises:
        FormatError: it has other registers than `Register`, or they or their fields overlap.
    """
    text: dict[str, Any] = json.loads((sources() / "shell" / "registers.json").read_text())
    found = {e.name: e.address for e in _entries(text["registers"], 0, int(text["counter_base"], 16))}
    if found != {r.name: r.value for r in Register}:
        raise FormatError("registers.json has other registers than ringforge.hw.core.registers: one is out of date")
    return text


@cache
def table() -> Mapping[str, Entry]:
    """The registers that every machine has, by name, in the order of addresses."""
    text = description()
    entries = _entries(text["registers"], 0, int(text["counter_base"], 16))
    return {e.name: e for e in sorted(entries, key=lambda e: e.address)}


def field(register: str, name: str) -> Field:
    """A field of a register.

    Raises:
        KeyError: there is none.
    """
    return {f.name: f for f in table()[register].fields}[name]


def counter(index: int) -> int:
    """Address of a machine's own counter; its upper word is 4 further on."""
    return int(description()["counter_base"], 16) + 8 * index


@cache
def errors() -> Mapping[int, str]:
    """Meaning of the error codes that every machine has."""
    return {e["code"]: e["about"] for e in description()["errors"].values()}


@cache
def own(path: Path) -> Own:
    """What a machine adds: reads `registers.json` of its room.

    Raises:
        FormatError: more counters than the shell has places for, or registers outside a machine's own addresses.
    """
    text = json.loads(path.read_text())
    shell = description()
    counters = {c["name"]: c["about"] for c in text["counters"]}
    if len(counters) != len(text["counters"]) or len(counters) > shell["counters"]:
        raise FormatError(f"{path.name}: at most {shell['counters']} counters, of different names")
    return Own(counters, _entries(text["registers"], int(shell["own_base"], 16), 1 << shell["address_bits"]))


# ---- texts made from the description ------------------------------------------------------------------


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.lower().split("_"))


def systemverilog_package() -> str:
    """The SystemVerilog package `rf_shell_pkg`: addresses, fields, error codes, and who may be read and written."""
    text = description()
    width = text["address_bits"]
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Copyright 2026 The Ringforge authors",
        "//",
        "// Control registers of every machine. Made from hw/shell/registers.json (edit that file) by",
        "// `python -m ringforge.hw.core.registers`.",
        "package rf_shell_pkg;",
        "  /* verilator lint_off UNUSEDPARAM */  // the description has more than one module needs",
        "",
        f"  localparam int unsigned RegisterAddrW = {width};",
        f"  localparam int unsigned CounterW = {COUNTER_BITS};",
        f"  localparam int unsigned MostCounters = {text['counters']};",
        f"  localparam logic [31:0] MapVersion = 32'd{text['version']};",
        f"  localparam logic [{width - 1}:0] CounterBase = {width}'h{int(text['counter_base'], 16):03x};",
        f"  localparam logic [{width - 1}:0] OwnBase = {width}'h{int(text['own_base'], 16):03x};",
        "",
        "  // Addresses of registers, and bits of their fields.",
    ]
    for e in table().values():
        lines.append(f"  localparam logic [{width - 1}:0] Addr{_camel(e.name)} = {width}'h{e.address:03x};")
        for f in e.fields:
            name = _camel(e.name) + _camel(f.name)
            lines.append(f"  localparam int unsigned {name}Lsb = {f.lsb};")
            if f.width > 1:
                lines.append(f"  localparam int unsigned {name}Width = {f.width};")
    lines += ["", "  // Error codes that every machine has."]
    lines += [f"  localparam logic [7:0] Code{_camel(n)} = 8'd{e['code']};" for n, e in text["errors"].items()]
    for function, accesses, what in (("readable", ("ro", "rw", "wo"), "reads"), ("writable", ("rw", "wo"), "writes")):
        kept = [f"Addr{_camel(e.name)}" for e in table().values() if e.access in accesses]
        rows = [", ".join(kept[k : k + 5]) for k in range(0, len(kept), 5)]
        lines += [
            "",
            f"  // Is there a register that {what} at this word address? Neither counters nor a machine's own.",
            f"  function automatic logic {function}(input logic [{width - 1}:0] addr);",
            "    case (addr)",
            "      " + ",\n      ".join(rows) + f": {function} = 1'b1;",
            f"      default: {function} = 1'b0;",
            "    endcase",
            "  endfunction",
        ]
    return "\n".join([*lines, "", "  /* verilator lint_on UNUSEDPARAM */", "endpackage", ""])


def c_header() -> str:
    """The C header `rf_registers.h` of the simulator and of host programs."""
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Copyright 2026 The Ringforge authors",
        "//",
        "// Control registers of every machine: byte addresses, masks and lowest bits of fields. Made from",
        "// hw/shell/registers.json (edit that file) by `python -m ringforge.hw.core.registers`.",
        "#ifndef RINGFORGE_REGISTERS_H",
        "#define RINGFORGE_REGISTERS_H",
        "",
        f"#define RF_MAP_VERSION {description()['version']}u",
        f"#define RF_REG_COUNTER(n) ({counter(0):#05x}u + 8u * (n))",
        f"#define RF_REG_OWN {description()['own_base']}u",
        "",
    ]
    for e in table().values():
        lines.append(f"#define RF_REG_{e.name} {e.address:#05x}u")
        for f in e.fields:
            lines.append(f"#define RF_{e.name}_{f.name}_LSB {f.lsb}")
            lines.append(f"#define RF_{e.name}_{f.name} {f.mask:#x}u")
    lines += ["", *(f"#define RF_CODE_{n} {e['code']}u  // {e['about']}" for n, e in description()["errors"].items())]
    return "\n".join([*lines, "", "#endif", ""])


def markdown(entries: Mapping[str, Entry]) -> str:
    """Registers and their fields as a Markdown table."""
    lines = ["| address | name | bits | access | |", "|---|---|---|---|---|"]
    for e in entries.values():
        lines.append(f"| `{e.address:#04x}` | {e.name} | | {e.access} | {e.about} |")
        for f in e.fields:
            bits = f"{f.lsb + f.width - 1}..{f.lsb}" if f.width > 1 else str(f.lsb)
            lines.append(f"| | .{f.name} | {bits} | | {f.about} |")
    return "\n".join(lines) + "\n"


def document() -> str:
    """docs/hw/registers.md."""
    text = description()
    codes = "\n".join(f"| {code} | {words} |" for code, words in errors().items())
    last = counter(text["counters"]) - 1
    return f"""<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Copyright 2026 The Ringforge authors -->
<!-- Made by: python -m ringforge.hw.core.registers -->

# Control registers

{text["about"]}
Addresses are bytes. Bits that no field names read 0 and are ignored when written. A write may carry any of its four
bytes: the others of a register stay as they are, and count as 0 where a 1 commands something (CTRL, ISR, COMMAND). The
two low address bits are ignored. Reading where there is no register, and writing there or to a register that is only
read, is answered SLVERR and changes nothing. [hw/shell](../../hw/shell/README.md) says what the machine does.

{markdown(table())}
Counters have {COUNTER_BITS} bits in two words; they are cleared by a start and stand still between runs. A read of both
words is not one moment: read them when the run has ended. `{counter(0):#04x}` ... `{last:#04x}` are a machine's own
counters (as many as PORTS.COUNTERS, two words each), `{text["own_base"]}` ... its own registers: `registers.json` of
its room.

| error | meaning |
|---|---|
{codes}

Other codes are a machine's own.
"""


def texts() -> dict[Path, str]:
    """Every file of a checkout that is made from the description, and what it must hold."""
    shell = sources().resolve() / "shell"
    return {
        shell / "rtl" / "rf_shell_pkg.sv": systemverilog_package(),
        shell / "rf_registers.h": c_header(),
        shell.parents[1] / "docs" / "hw" / "registers.md": document(),
    }


if __name__ == "__main__":
    for path, content in texts().items():
        with writing(path, replace=True) as out:
            out.write(content.encode())
