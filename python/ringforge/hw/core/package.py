# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A machine as an RTL kernel for a card: the folder that the vendor's tools package, link and place.

The kernel's top is a plain Verilog module with the pins that Vitis expects: `ap_clk` (all AXI interfaces), `ap_clk_2`
(the machine, unless it runs at `ap_clk` too), `ap_rst_n`, `s_axi_control`, masters `m00_axi`, `m01_axi`, ..., and
`interrupt`. Inside are the machine and `rf_card` (hw/shell), which lies between it and the pins. Beside the sources the
folder holds constraints, Tcl for packaging, settings for linking, and a host program.

Nothing of this was ever built by the vendor's tools: what is checked here is that other tools accept it, and that the
kernel computes the right bits in simulation.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ringforge.errors import HardwareError, ParameterError
from ringforge.hw.core import registers
from ringforge.hw.core.config import MachineConfig
from ringforge.hw.core.machine import Machine
from ringforge.hw.core.sources import sources

#: Widths of a card's memory ports, in bits: DDR4 and HBM.
PORT_BITS: Final = (256, 512)
#: Bits of an address of s_axi_control: the machine's registers, then those of rf_card_control.
CONTROL_BITS: Final = 13
#: Where the ports' bases begin among the kernel's registers, 8 bytes each.
BASES: Final = 0x1000
_ADDRESS_BITS: Final = 48

_NEVER = "NEVER BUILT: no tool of the vendor has read this file."
_LICENCE = ("SPDX-License-Identifier: Apache-2.0", "Copyright 2026 The Ringforge authors", "")


@dataclass(frozen=True)
class Card:
    """What a kernel needs to know of its card.

    Attributes:
        port_bits: width of a memory port, 256 or 512.
        memory_hz: clock of the kernel's AXI interfaces; None: the machine's, and the kernel has that clock alone.
        memory: the memory that all ports see, in the words of the linker: "DDR[0]", "HBM[0:31]".
        far: the memory that ports to far memory see instead.
        slices: register slices in every channel between the machine and its ports.
        longest: words of a burst, at most.
    """

    port_bits: int = 512
    memory_hz: float | None = 300e6
    memory: str = "DDR[0]"
    slices: int = 1
    longest: int = 64
    far: str = "DDR[0]"

    def check(self, config: MachineConfig) -> None:
        """Whether a configuration's ports can be bridged to the card's.

        Raises:
            ParameterError: they cannot, or a value is out of range; the message says what is possible.
        """
        if self.port_bits not in PORT_BITS:
            raise ParameterError(f"a card's ports have {' or '.join(map(str, PORT_BITS))} bits, not {self.port_bits}")
        row = 8 * config.port_bytes
        if row % self.port_bits:
            fits = [str(bits) for bits in PORT_BITS if row % bits == 0]
            remedy = f"take ports of {' or '.join(fits)} bits" if fits else "take a configuration with wider rows"
            raise ParameterError(
                f"rows of {row} bits of {config.name} are no whole words of {self.port_bits} bits: {remedy}"
            )
        if self.memory_hz is not None and not 0 < self.memory_hz <= 1e9:
            raise ParameterError(f"a memory clock of {self.memory_hz:g} Hz is not between 0 and 1 GHz")
        if self.memory_hz is not None and not 1 / 8 <= config.clock_hz / self.memory_hz <= 8:
            raise ParameterError(
                f"the clocks of machine ({config.clock_hz / 1e6:g} MHz) and memory ({self.memory_hz / 1e6:g} MHz) may "
                "differ by a factor of 8 at most, else the kernel's reset is too short"
            )
        if not 0 <= self.slices <= 16:
            raise ParameterError(f"{self.slices} register slices are not between 0 and 16")
        if not 1 <= self.longest <= 256:
            raise ParameterError(f"bursts of {self.longest} words are not between 1 and 256, as AXI has them")
        for memory in (self.memory, self.far):
            if not memory or any(c in memory for c in "\r\n"):
                raise ParameterError(f'"{memory}" names no memory: write DDR[0] or HBM[0:31]')

    def memory_of(self, config: MachineConfig, port: int) -> str:
        """The memory that a port sees."""
        return self.memory if port < config.ports - config.ports_to_far else self.far


def kernel_name(config: MachineConfig) -> str:
    """The kernel's name: that of the configuration, as Verilog can write it."""
    return "".join(c if c.isalnum() else "_" for c in config.name)


def masters(config: MachineConfig) -> list[str]:
    """Names of the kernel's AXI masters."""
    return [f"m{n:02d}_axi" for n in range(config.ports)]


# ---- the kernel's top ---------------------------------------------------------------------------------

#: Signals of a master: name, whether the kernel drives it, and its width at the kernel's pins ("" for one bit).
_MASTER: Final = (
    ("arid", True, 1), ("araddr", True, 64), ("arlen", True, 8), ("arsize", True, 3), ("arburst", True, 2),
    ("arcache", True, 4), ("arprot", True, 3), ("arvalid", True, 1), ("arready", False, 1),
    ("rid", False, 1), ("rdata", False, -1), ("rresp", False, 2), ("rlast", False, 1), ("rvalid", False, 1),
    ("rready", True, 1),
    ("awid", True, 1), ("awaddr", True, 64), ("awlen", True, 8), ("awsize", True, 3), ("awburst", True, 2),
    ("awcache", True, 4), ("awprot", True, 3), ("awvalid", True, 1), ("awready", False, 1),
    ("wdata", True, -1), ("wstrb", True, -8), ("wlast", True, 1), ("wvalid", True, 1), ("wready", False, 1),
    ("bid", False, 1), ("bresp", False, 2), ("bvalid", False, 1), ("bready", True, 1),
)  # fmt: skip
#: Signals of the machine's ports that rf_card takes: name and width, negative for parts of a row; and those that it
#: does not need, for which the machine has outputs only.
_MACHINE: Final = (
    ("araddr", _ADDRESS_BITS), ("arlen", 8), ("arvalid", 1), ("arready", 1), ("rdata", -1), ("rresp", 2), ("rlast", 1),
    ("rvalid", 1), ("rready", 1), ("awaddr", _ADDRESS_BITS), ("awlen", 8), ("awvalid", 1), ("awready", 1),
    ("wdata", -1), ("wvalid", 1), ("wready", 1), ("bresp", 2), ("bvalid", 1), ("bready", 1),
)  # fmt: skip
_OPEN: Final = (
    "arid", "arsize", "arburst", "arcache", "arprot",
    "awid", "awsize", "awburst", "awcache", "awprot", "wstrb", "wlast",
)  # fmt: skip
#: Signals of an AXI4-Lite port: name, whether the slave drives it, width (0: of an address).
_LITE: Final = (
    ("awaddr", False, 0), ("awvalid", False, 1), ("awready", True, 1), ("wdata", False, 32), ("wstrb", False, 4),
    ("wvalid", False, 1), ("wready", True, 1), ("bresp", True, 2), ("bvalid", True, 1), ("bready", False, 1),
    ("araddr", False, 0), ("arvalid", False, 1), ("arready", True, 1), ("rdata", True, 32), ("rresp", True, 2),
    ("rvalid", True, 1), ("rready", False, 1),
)  # fmt: skip


def _comment(mark: str, *lines: str) -> str:
    return "".join(f"{mark} {line}".rstrip() + "\n" for line in (*_LICENCE, *lines))


def _range(bits: int) -> str:
    return "" if bits == 1 else f"[{bits - 1}:0] "


def _width(width: int, whole: int) -> int:
    return width if width > 0 else whole // -width


def top(machine: Machine, config: MachineConfig, card: Card, *, twin: bool = False) -> str:
    """The kernel's top module, in Verilog.

    Args:
        twin: with the models of the arithmetic cells, for simulation.
    """
    name, ports, row = kernel_name(config), config.ports, 8 * config.port_bytes
    clock = "ap_clk" if card.memory_hz is None else "ap_clk_2"
    pins = ["input  wire ap_clk", *([] if clock == "ap_clk" else [f"input  wire {clock}"]), "input  wire ap_rst_n"]
    pins += [
        f"{'output' if out else 'input '} wire {_range(width or CONTROL_BITS)}s_axi_control_{signal}"
        for signal, out, width in _LITE
    ]
    pins += [
        f"{'output' if out else 'input '} wire {_range(_width(width, card.port_bits))}{master}_{signal}"
        for master in masters(config)
        for signal, out, width in _MASTER
    ]
    # The name is the linker's; it happens to be a word of C++.
    last = (
        "    /* verilator lint_off SYMRSVDWORD */",
        "    output wire interrupt",
        "    /* verilator lint_on SYMRSVDWORD */",
    )

    wires = ["wire core_rst_n;", "wire core_irq;"]
    wires += [f"wire {_range(width or CONTROL_BITS - 1)}core_{signal};" for signal, _, width in _LITE]
    wires += [f"wire {_range(ports * _width(width, row))}data_{signal};" for signal, width in _MACHINE]

    def joined(signal: str) -> str:
        return "{" + ", ".join(f"{m}_{signal}" for m in reversed(masters(config))) + "}"

    links = [("clk_i", "ap_clk"), ("rst_ni", "ap_rst_n"), ("irq_o", "interrupt")]
    links += [(f"s_axil_{signal}", f"s_axi_control_{signal}") for signal, *_ in _LITE]
    links += [(f"m_axi_{signal}", joined(signal)) for signal, *_ in _MASTER]
    links += [("core_clk_i", clock), ("core_rst_no", "core_rst_n"), ("core_irq_i", "core_irq")]
    links += [(f"m_axil_{signal}", f"core_{signal}") for signal, *_ in _LITE]
    links += [(f"s_axi_{signal}", f"data_{signal}") for signal, _ in _MACHINE]

    inner = [("clk_i", clock), ("rst_ni", "core_rst_n"), ("irq_o", "core_irq")]
    inner += [(f"s_axil_{signal}", f"core_{signal}") for signal, *_ in _LITE]
    inner += [(f"m_axi_{signal}", f"data_{signal}") for signal, _ in _MACHINE]
    inner += [(f"m_axi_{signal}", "") for signal in _OPEN]
    inner += [(f"m_axi_{signal}", f"{{{ports}{{1'b0}}}}") for signal in ("rid", "bid")]

    bridge = {
        "Ports": ports,
        "RowW": row,
        "PortW": card.port_bits,
        "AddrW": _ADDRESS_BITS,
        "MaxWords": card.longest,
        "Slices": card.slices,
    }
    text = _comment(
        "//",
        f"Kernel {name}: machine {machine.name}, configuration {config.name}, behind {ports} memory ports of",
        f"{card.port_bits} bits. Written by `ringforge hw package`; make it again rather than edit it.",
        _NEVER,
        "",
        "ap_clk    all AXI interfaces" + (", and the machine" if clock == "ap_clk" else ""),
        *([] if clock == "ap_clk" else ["ap_clk_2  the machine, asynchronous to ap_clk"]),
        "ap_rst_n  at ap_clk, for both",
    )
    return "\n".join(
        [
            text + "`default_nettype none",
            f"module {name} (",
            *(f"    {pin}," for pin in pins),
            *last,
            ");",
            *(f"  {wire}" for wire in wires),
            "",
            *_instance("rf_card", bridge, "u_card", links),
            "",
            "  // One ID, whole rows, incrementing bursts: what says so stays open.",
            "  /* verilator lint_off PINCONNECTEMPTY */",
            *_instance(machine.top, config.parameters(twin=twin), "u_machine", inner),
            "  /* verilator lint_on PINCONNECTEMPTY */",
            "endmodule",
            "`default_nettype wire",
            "",
        ]
    )


def _instance(module: str, parameters: dict[str, int], name: str, links: list[tuple[str, str]]) -> Iterator[str]:
    yield f"  {module} #("
    yield ",\n".join(f"      .{key}({value})" for key, value in parameters.items())
    yield f"  ) {name} ("
    yield ",\n".join(f"      .{port}({net})" for port, net in links)
    yield "  );"


# ---- what goes with it --------------------------------------------------------------------------------


def kernel_xml(config: MachineConfig, card: Card) -> str:
    """The kernel's description for `package_xo`: ports, and a pointer for each master."""
    name = kernel_name(config)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<!-- {_NEVER} -->",
        '<root versionMajor="1" versionMinor="9">',
        f'  <kernel name="{name}" language="ip" vlnv="ringforge:kernel:{name}:1.0" attributes="" '
        'preferredWorkGroupSizeMultiple="0" workGroupSize="1" interrupt="true" hwControlProtocol="user_managed">',
        "    <ports>",
        f'      <port name="s_axi_control" mode="slave" range="{1 << CONTROL_BITS:#x}" dataWidth="32" '
        'portType="addressable" base="0x0"/>',
    ]
    for master in masters(config):
        lines.append(
            f'      <port name="{master}" mode="master" range="0xFFFFFFFFFFFFFFFF" dataWidth="{card.port_bits}" '
            'portType="addressable" base="0x0"/>'
        )
    lines += ["    </ports>", "    <args>"]
    for n, master in enumerate(masters(config)):
        lines.append(
            f'      <arg name="base{n}" addressQualifier="1" id="{n}" port="{master}" size="0x8" '
            f'offset="{BASES + 8 * n:#x}" type="void*" hostOffset="0x0" hostSize="0x8"/>'
        )
    return "\n".join([*lines, "    </args>", "  </kernel>", "</root>", ""])


def package_tcl(config: MachineConfig, card: Card) -> str:
    """The settings of package_kernel.tcl, and the call of it."""
    name = kernel_name(config)
    access = {"ro": "read-only", "rw": "read-write", "wo": "write-only"}
    rows = [f"{e.name} {e.address:#05x} 32 {access[e.access]} {{}}" for e in registers.table().values()]
    rows += [f"BASE{n} {BASES + 8 * n:#05x} 64 read-write {master}" for n, master in enumerate(masters(config))]
    clocks = "ap_clk" if card.memory_hz is None else "ap_clk ap_clk_2"
    return _comment(
        "#",
        f"Packages kernel {name}: vivado -mode batch -source package.tcl",
        "Written by `ringforge hw package`; make it again rather than edit it.",
        _NEVER,
    ) + "\n".join(
        [
            "",
            f"set kernel {name}",
            f"set masters {{{' '.join(masters(config))}}}",
            f"set clocks {{{clocks}}}",
            "set registers {",
            *(f"  {row}" for row in rows),
            "}",
            "source [file join [file dirname [file normalize [info script]]] package_kernel.tcl]",
            "",
        ]
    )


def link_settings(config: MachineConfig, card: Card) -> str:
    """Settings of the linker (`v++ --config`): one kernel, its ports' memory, its clocks."""
    name = kernel_name(config)
    clocks = [(config.clock_hz, "ap_clk")]
    if card.memory_hz is not None:
        clocks = [(card.memory_hz, "ap_clk"), (config.clock_hz, "ap_clk_2")]
    return _comment("#", f"Links kernel {name}: v++ --link --config link.cfg build/{name}.xo", _NEVER) + "\n".join(
        [
            "",
            "[connectivity]",
            f"nk={name}:1:{name}_1",
            *(f"sp={name}_1.{master}:{card.memory_of(config, n)}" for n, master in enumerate(masters(config))),
            "",
            "[clock]",
            *(f"freqHz={hz:.0f}:{name}_1.{clock}" for hz, clock in clocks),
            "",
        ]
    )


def constraints(config: MachineConfig, card: Card) -> str | None:
    """Timing between the clocks; None if there is one clock."""
    if card.memory_hz is None:
        return None
    period = 1e9 / max(card.memory_hz, config.clock_hz)
    text = (sources() / "shell" / "syn" / "card.xdc").read_text(encoding="utf-8")
    return text.replace("@KERNEL@", kernel_name(config)).replace("@PERIOD@", f"{period:.3f}")


def _readme(machine: Machine, config: MachineConfig, card: Card) -> str:
    name, memories = kernel_name(config), card.memory
    if config.ports_to_far:
        memories += f", but for those to far memory, the last {config.ports_to_far}, which see {card.far}"
    return f"""# Kernel {name}

Machine {machine.name}, configuration {config.name}: {config.about}.
{config.ports} memory ports of {card.port_bits} bits. Written by `ringforge hw package`.

**Never built.** No tool of the vendor has read these files, and no card has run them. Verilator and slang accept the
sources, and kernels of this kind compute the right bits in simulation; clocks, placement and the linker's settings are
assumptions.

1. `vivado -mode batch -source package.tcl` packages the sources as `build/{name}.xo`.
2. `v++ --link --platform PLATFORM --config link.cfg -o {name}.xclbin build/{name}.xo` links it. Change `link.cfg` to
   the card: all ports must see one memory, {memories} here.
3. `g++ -std=c++17 -I$XILINX_XRT/include host/rf_card_host.cpp -L$XILINX_XRT/lib -lxrt_coreutil -pthread
   -o rf_card_host` compiles the host program.
4. `ringforge hw job {machine.name} ...` writes a job file, where the machine has that command.
5. `./rf_card_host {name}.xclbin {name} JOB` runs it.

`hw/shell/README.md` and the room of the machine in Ringforge's sources say what is in here and what is assumed.
"""


# ---- the folder ---------------------------------------------------------------------------------------


def package(machine: Machine, config: MachineConfig, out: str | Path, card: Card | None = None) -> list[Path]:
    """Writes the kernel's folder, whole or not at all; the files' paths inside it.

    Args:
        out: the folder: it must not be there yet, or be empty.
        card: what the card is like.

    Raises:
        ParameterError: the configuration's ports do not fit the card's, or there is something in the folder.
        HardwareError: a source is missing.
    """
    card = card or Card()
    card.check(config)
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ParameterError(f"{out} is not empty: name a folder that is not there yet, or remove it")
    name, shell = kernel_name(config), sources() / "shell"
    texts: dict[str, str] = {
        f"rtl/{name}.v": top(machine, config, card),
        "kernel.xml": kernel_xml(config, card),
        "package.tcl": package_tcl(config, card),
        "link.cfg": link_settings(config, card),
        "README.md": _readme(machine, config, card),
    }
    if (timing := constraints(config, card)) is not None:
        texts[f"{name}.xdc"] = timing
    copies: dict[str, Path] = {"package_kernel.tcl": shell / "syn" / "package_kernel.tcl"}
    for path in machine.files():
        if copies.setdefault(f"rtl/{path.name}", path) != path:
            raise HardwareError(f"machine {machine.name} has two sources {path.name}: rename one")
    copies |= {f"host/{p.name}": p for p in sorted((shell / "host").glob("*.?pp"))}
    copies["host/rf_registers.h"] = shell / "rf_registers.h"
    copies |= {f"syn/{p.name}": p for p in sorted((machine.room / "syn").glob("*")) if p.is_file()}
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as draft:
        folder = Path(draft) / "kernel"
        for place, action in (
            *((place, _writer(text)) for place, text in texts.items()),
            *((place, _copier(path)) for place, path in copies.items()),
        ):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            action(folder / place)
        folder.rename(out)  # takes the place of an empty folder
    return sorted(out / place for place in (*texts, *copies))


def _writer(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text, encoding="utf-8")


def _copier(source: Path) -> Callable[[Path], object]:
    return lambda path: shutil.copyfile(source, path)
