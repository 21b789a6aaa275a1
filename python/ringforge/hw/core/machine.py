# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a machine is to the flow, and which machines there are.

A machine is described once, by a :class:`Machine`: its files, its configurations, its registers' name, and the modules
that hold what only it has. Build, simulation, lint, synthesis, reports, the command line and the devices `rtl:CONFIG`
are made from descriptors. Ours lie in `ringforge.hw.machines.NAME.machine` as MACHINE; other packages name theirs as
entry points of the group `ringforge.machines`, under the machine's name. A machine is imported when it is asked for.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from ringforge.errors import FormatError, HardwareError, ParameterError
from ringforge.hw.core.config import MachineConfig
from ringforge.hw.core.slices import Slices
from ringforge.hw.core.sources import sources
from ringforge.registered import load, registered

_ROOMS: Final = "ringforge.hw.machines"
_GROUP: Final = "ringforge.machines"

#: Common cells with independent lanes.
LANE_CELLS: Final = frozenset({"rf_mac", "rf_butterfly"})
#: Where designs are cut for synthesis: those of the common cells and of the shell.
COMMON_PARTS: Final = frozenset({"rf_axi_read", "rf_axi_write", "rf_axil_regs", "rf_bank", "rf_transform", *LANE_CELLS})


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine.

    Attributes:
        name: the word for it in commands, and the name of its room.
        about: what it computes, in one line.
        room: folder with `files.f`, `rtl`, `config`, `dv`, `syn` and a README.
        config: its configurations.
        top: module of the whole machine, with the ports of docs/adding.md.
        identity: what its register ID holds, 32 bits.
        default: configuration that commands take where none is named.
        libraries: folders of hw/ whose files it uses, each with a `files.f`, in the order of reading.
        errors: words for its own codes in the register ERROR; those of the shell are known.
        parts: modules at which synthesis cuts it; those of `lane_cells` are among them.
        lane_cells: parts whose lanes are independent: synthesised with one lane, counted once a lane.
        slices: parts that are synthesised with one slice and with two: what the second one adds counts for all others.
        resized: parts that one module may instantiate with several sizes.
        family: of the FPGA that synthesis is for, as Yosys names it: xcup (UltraScale+), xc7 (Virtex-7).
        kernels: module that registers how its devices run kernels (kind `rtl:NAME`); "" if it runs none.
        model: module that registers how devices `model:CONFIG` run kernels (kind `model:NAME`); "" if nothing models
            its timing.
        commands: functions "MODULE:FUNCTION" for Typer, by the command: `ringforge hw COMMAND NAME` calls one.
        figures: "MODULE:OBJECT", a :class:`ringforge.hw.core.resources.Figures`; "" for none.
        spaces: functions "MODULE:FUNCTION" that give a :class:`ringforge.hw.core.explore.Space`, by a word for its
            models, the usual ones first: `ringforge explore NAME` searches it.
        tests: folders of tests in a checkout, next to the benches in `dv` of the room and of the libraries.
    """

    name: str
    about: str
    room: Path
    config: type[MachineConfig]
    top: str
    identity: int
    default: str
    libraries: tuple[str, ...] = ("common", "shell")
    errors: Mapping[int, str] = field(default_factory=dict)
    parts: frozenset[str] = COMMON_PARTS
    lane_cells: frozenset[str] = LANE_CELLS
    slices: Mapping[str, Slices] = field(default_factory=dict)
    resized: frozenset[str] = frozenset()
    family: str = "xcup"
    kernels: str = ""
    model: str = ""
    commands: Mapping[str, str] = field(default_factory=dict)
    figures: str = ""
    spaces: Mapping[str, str] = field(default_factory=dict)
    tests: tuple[str, ...] = ()

    def files(self) -> list[Path]:
        """The machine's SystemVerilog files in order: those of the libraries, then its own.

        Raises:
            HardwareError: a folder has no list of files, or a file is missing; the message names it.
        """
        found: list[Path] = []
        for folder in (*(sources() / name for name in self.libraries), self.room):
            try:
                found += [folder / line for line in (folder / "files.f").read_text(encoding="utf-8").split()]
            except OSError as e:
                raise HardwareError(f"machine {self.name} lacks its list of files {folder / 'files.f'}: {e}") from None
        if missing := [path for path in found if not path.is_file()]:
            raise HardwareError(f"machine {self.name} lacks {missing[0]}, which its folder's files.f names")
        return found

    def command(self, name: str) -> Callable[..., Any]:
        """The function of a command, imported now.

        Raises:
            ParameterError: the machine has no such command; the message lists those it has.
            HardwareError: its module cannot be imported, or lacks it.
        """
        if name not in self.commands:
            having = ", ".join(self.commands) or "none of its own"
            raise ParameterError(f"machine {self.name} has no command {name}; it has {having}")
        found: Callable[..., Any] = self.load(self.commands[name])
        return found

    def load(self, where: str) -> Any:
        """What "MODULE:OBJECT" or "MODULE" names, imported now.

        Raises:
            HardwareError: it cannot be imported.
        """
        module, _, name = where.partition(":")
        try:
            found = importlib.import_module(module)
            return getattr(found, name) if name else found
        except (ImportError, AttributeError) as e:
            raise HardwareError(
                f"{where}, which the descriptor of machine {self.name} names, cannot be imported ({e}): "
                "install its package anew, or remove it"
            ) from e


@cache
def _rooms() -> Mapping[str, Callable[[], Any]]:
    """How to get each descriptor, by the machine's name: ours first; other packages replace none."""
    ours = (info.name for info in pkgutil.iter_modules(importlib.import_module(_ROOMS).__path__) if info.ispkg)
    found: dict[str, Callable[[], Any]] = {name: partial(_ours, name) for name in ours}
    for name, entry in registered(_GROUP).items():
        found.setdefault(name, partial(load, entry))
    return MappingProxyType(found)


def _ours(name: str) -> Any:
    return importlib.import_module(f"{_ROOMS}.{name}.machine").MACHINE


def names() -> list[str]:
    """Names of the machines; imports none of them."""
    return list(_rooms())


@cache
def machine(name: str) -> Machine:
    """A machine by name.

    Raises:
        ParameterError: there is none; the message lists those there are.
        HardwareError: what its package registers is no descriptor, or that of another machine.
        Error: its package cannot be imported.
    """
    rooms = _rooms()
    if name not in rooms:
        raise ParameterError(f'there is no machine "{name}"; there are {", ".join(rooms)}')
    found = rooms[name]()
    if not isinstance(found, Machine):
        raise HardwareError(
            f"what is registered as machine {name} is no ringforge.hw.core.machine.Machine but a {type(found).__name__}"
        )
    if found.name != name:
        raise HardwareError(
            f'the machine that is registered as {name} calls itself "{found.name}": register it under that name'
        )
    return found


def machines() -> Iterator[Machine]:
    """All machines, ours first, each imported when its turn comes.

    Raises:
        HardwareError, Error: as `machine`.
    """
    return (machine(name) for name in _rooms())


def of_configuration(name: str) -> Machine:
    """The machine that has a configuration of this name.

    Raises:
        ParameterError: none has; the message lists those there are.
        HardwareError, Error: as `machine`.
    """
    for found in machines():
        if name in found.config.names():
            return found
    raise ParameterError(f'no machine has a configuration "{name}"; there are {", ".join(configurations())}')


def described(path: str | Path) -> MachineConfig:
    """The configuration in a file, of whichever machine has such ones.

    Raises:
        FormatError: it is no configuration of any machine; the message has what the likeliest one says.
        OSError: it cannot be read.
    """
    refused: list[FormatError] = []
    for found in machines():
        try:
            return found.config.load(path)
        except FormatError as e:
            refused.append(e)
    # Whoever knows all the fields says what is wrong with their values.
    known = [e for e in refused if "Extra inputs" not in str(e) and "Field required" not in str(e)]
    raise (known or refused)[0]


def of(config: MachineConfig) -> Machine:
    """The machine that a configuration, read or made, is of.

    Raises:
        ParameterError: no machine has configurations of this type.
        HardwareError, Error: as `machine`.
    """
    for found in machines():
        if type(config) is found.config:
            return found
    raise ParameterError(
        f"no machine has configurations of type {type(config).__name__}; the machines are {', '.join(names())}"
    )


def configurations() -> list[str]:
    """Names of the configurations of all machines."""
    return [name for found in machines() for name in found.config.names()]
