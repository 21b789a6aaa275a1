# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Synthesis of one module by Yosys, for UltraScale+: what it takes, and which parts it instantiates.

A design is cut at named modules, its parts. A run synthesises one module flat, with the parts in it left out as black
boxes, and lists them with the parameters that elaboration gave them; `ringforge.hw.core.resources` adds them up. Every
run is kept in the cache, named by a hash of the sources that it read, so that only what changed runs again. Wide parts
that are made of equal slices are not synthesised whole, but with one slice and with two.

What Yosys does not do, and a vendor's tool does: pack adders and pipeline registers into DSP slices, and merge logic
across parts. Its DSP, BRAM and URAM counts are good; LUTs and flip-flops come out too high.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from ringforge import yosys
from ringforge.errors import HardwareError
from ringforge.hw.core import build
from ringforge.hw.core.slices import Slices, Value

FLAGS: Final = "-family xcup -uram -noiopad -noclkbuf -flatten"
#: Passes that the loops of a block may take together where there are more lanes than these; Yosys' own limit is 4000.
_UNROLL: Final = 100_000
_MANY_LANES: Final = 128
_COUNT: Final = "tee -q -o cells.json stat -json"
_FLOW: Final = f"synth_xilinx {FLAGS} -top {{top}}\n{_COUNT}"
#: The same without its first step, which would cut connections of black boxes to the widths of the first of them.
_KEEPING: Final = (
    "read_verilog -lib -specify +/xilinx/cells_sim.v\nread_verilog -lib +/xilinx/cells_xtra.v\n"
    f"synth_xilinx {FLAGS} -top {{top}} -run prepare:\n{_COUNT}"
)


def flags(family: str) -> str:
    """Words for `synth_xilinx` on a family of FPGAs; only UltraScale+ has ultra RAM."""
    return FLAGS if family == "xcup" else FLAGS.replace("-family xcup -uram", f"-family {family}")


_DSP: Final = {"DSP48E2": 1, "DSP48E1": 1}
_BRAM: Final = {"RAMB36E2": 1.0, "RAMB18E2": 0.5, "RAMB36E1": 1.0, "RAMB18E1": 0.5}
_URAM: Final = {"URAM288": 1}
_FLIP_FLOPS: Final = dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), 1)
#: LUTs that a primitive takes: logic, shift registers, and memories made of LUTs.
_LUTS: Final = {
    **{f"LUT{n}": 1 for n in range(1, 7)},
    "LUT6_2": 1,
    "SRL16E": 1,
    "SRLC32E": 1,
    "RAM32X1S": 1,
    "RAM64X1S": 1,
    "RAM128X1S": 2,
    "RAM256X1S": 4,
    "RAM512X1S": 8,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM256X1D": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32M16": 8,
    "RAM64M8": 8,
}
#: Primitives that are free: carry chains and wide multiplexers sit beside LUTs; inverters are absorbed by them.
_FREE: Final = frozenset({"CARRY4", "CARRY8", "MUXF7", "MUXF8", "MUXF9", "INV", "$scopeinfo"})


@dataclass(frozen=True)
class Resources:
    """Primitives of the FPGA that something takes."""

    dsp: int = 0
    bram36: float = 0.0
    uram: int = 0
    lut: int = 0
    flip_flops: int = 0

    def __add__(self, other: Resources) -> Resources:
        return Resources(
            self.dsp + other.dsp,
            self.bram36 + other.bram36,
            self.uram + other.uram,
            self.lut + other.lut,
            self.flip_flops + other.flip_flops,
        )

    def __sub__(self, other: Resources) -> Resources:
        return self + other * -1

    def __mul__(self, count: int) -> Resources:
        return Resources(
            self.dsp * count, self.bram36 * count, self.uram * count, self.lut * count, self.flip_flops * count
        )

    @classmethod
    def of_cells(cls, cells: Mapping[str, int]) -> Resources:
        """Counts primitives.

        Raises:
            HardwareError: one is unknown, so something was not mapped.
        """
        known = {*_DSP, *_BRAM, *_URAM, *_FLIP_FLOPS, *_LUTS, *_FREE}
        if unknown := sorted(set(cells) - known):
            raise HardwareError(f"synthesis left cells that are no known primitives: {', '.join(unknown)}")
        return cls(
            dsp=sum(_DSP.get(c, 0) * n for c, n in cells.items()),
            bram36=sum(_BRAM.get(c, 0.0) * n for c, n in cells.items()),
            uram=sum(_URAM.get(c, 0) * n for c, n in cells.items()),
            lut=sum(_LUTS.get(c, 0) * n for c, n in cells.items()),
            flip_flops=sum(_FLIP_FLOPS.get(c, 0) * n for c, n in cells.items()),
        )


@dataclass(frozen=True)
class Module:
    """A module with values for its parameters (those left out keep their defaults)."""

    name: str
    parameters: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def make(cls, name: str, parameters: Mapping[str, int | Sequence[int]]) -> Module:
        """With parameters in the order of their names."""
        return cls(name, tuple((k, v if isinstance(v, int) else tuple(v)) for k, v in sorted(parameters.items())))

    def __getitem__(self, parameter: str) -> int:
        value = dict(self.parameters)[parameter]
        if not isinstance(value, int):
            raise KeyError(f"{parameter} of {self.name} is an array")
        return value

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{k}={written(v)}" for k, v in self.parameters)])


def written(value: Value) -> str:
    """A parameter's value as SystemVerilog has it, and Yosys' commands take it."""
    return str(value) if isinstance(value, int) else f"'{{{','.join(map(str, value))}}}"


@dataclass(frozen=True)
class Run:
    """The outcome of one synthesis: what the module takes by itself, and how many of which parts it instantiates."""

    module: Module
    own: Resources
    parts: tuple[tuple[Module, int], ...]
    seconds: float
    tool: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "module": self.module.name,
            "parameters": dict(self.module.parameters),
            "own": asdict(self.own),
            "parts": [{"module": m.name, "parameters": dict(m.parameters), "count": n} for m, n in self.parts],
            "seconds": self.seconds,
            "tool": self.tool,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Run:
        """Reads `to_dict` back."""
        return cls(
            Module.make(values["module"], values["parameters"]),
            Resources(**values["own"]),
            tuple((Module.make(p["module"], p["parameters"]), p["count"]) for p in values["parts"]),
            values["seconds"],
            values["tool"],
        )


# ---- designs ------------------------------------------------------------------------------------------


def code(text: str) -> str:
    """SystemVerilog without comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def _header(text: str) -> str:
    """A module with nothing after its port list: a black box."""
    end = re.search(r"^\);", text, flags=re.MULTILINE)
    return text[: end.end()] + "\nendmodule\n" if end else text


@dataclass(frozen=True)
class Design:
    """Sources in which modules are looked for, and where they are cut.

    Attributes:
        texts: sources by the name of the module or package that each holds, packages in the order of reading.
        cut: names of the parts.
        slices: parts of which one slice and two are synthesised: what the second adds counts for each of the others.
        resized: parts that a module may have in several sizes.
        family: of the FPGA, as Yosys names it; those other than UltraScale+ (xcup) have no ultra RAM.
    """

    texts: Mapping[str, str]
    cut: frozenset[str]
    slices: Mapping[str, Slices] = field(default_factory=dict)
    resized: frozenset[str] = frozenset()
    family: str = "xcup"

    @classmethod
    def of(
        cls,
        files: Sequence[Path],
        cut: frozenset[str],
        slices: Mapping[str, Slices] | None = None,
        resized: frozenset[str] = frozenset(),
    ) -> Design:
        """The design in these files."""
        return cls({path.stem: path.read_text(encoding="utf-8") for path in files}, cut, slices or {}, resized)

    def parameter_names(self, module: str) -> frozenset[str]:
        """Parameters of a module that can be set; local ones are not among them.

        Raises:
            HardwareError: no file holds such a module.
        """
        return self._parameters(module, "parameter")

    def kept(self, module: Module) -> Run | None:
        """The run of exactly these sources, if it was made before, by whatever version of Yosys."""
        return self._of_slices(module, self._kept) if self._few(module) else self._kept(module, self._flow(module))

    def synthesise(self, module: Module) -> Run:
        """Synthesises a module without the parts in it, or takes the run from the cache.

        Raises:
            HardwareError: Yosys is missing, fails, or leaves something unmapped; or the cache cannot be written.
        """
        run = self._of_slices(module, self._made) if self._few(module) else self._made(module, self._flow(module))
        assert run is not None  # what is not kept is made
        return run

    def _flow(self, module: Module) -> str:
        flow = _KEEPING if self.resized.intersection(self.needed(module.name)) - {module.name} else _FLOW
        return flow.replace(FLAGS, flags(self.family))

    def _few(self, module: Module) -> tuple[Module, Module, int] | None:
        found = self.slices[module.name].few(dict(module.parameters)) if module.name in self.slices else None
        return found and (Module.make(module.name, found[0]), Module.make(module.name, found[1]), found[2])

    def _of_slices(self, module: Module, run: Callable[[Module, str], Run | None]) -> Run | None:
        """What one slice and two say of a module, and the parts, if any, that elaboration finds in all of it."""
        few = self._few(module)
        assert few is not None
        flow = self._flow(module)
        one, two = run(few[0], flow), run(few[1], flow)
        if one is None or two is None:
            return None
        own = one.own + (two.own - one.own) * (few[2] - 1)
        seconds = one.seconds + two.seconds
        if not self.cut.intersection(self.needed(module.name)) - {module.name}:
            return Run(module, own, (), seconds, two.tool)
        whole = run(module, _COUNT)
        return whole and Run(module, own, whole.parts, seconds + whole.seconds, two.tool)

    def _kept(self, module: Module, flow: str) -> Run | None:
        try:
            return Run.from_dict(
                json.loads((_folder() / f"{self.key(module, flow)[0]}.json").read_text(encoding="utf-8"))
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _made(self, module: Module, flow: str) -> Run:
        tool = yosys.require()
        found = self._kept(module, flow)
        if found is not None and found.tool == tool:
            return found
        key, script, files = self.key(module, flow)
        try:
            _folder().mkdir(parents=True, exist_ok=True)
            # A folder of its own: another process may be at the same module.
            work = Path(tempfile.mkdtemp(prefix=f"work-{key}-", dir=_folder()))
            for name, text in files.items():
                (work / f"{name}.sv").write_text(text, encoding="utf-8")
            (work / "run.ys").write_text(script, encoding="utf-8")
            run = self._run(module, work, tool, mapped=flow != _COUNT)
            draft = work / "run.json"
            draft.write_text(json.dumps(run.to_dict(), indent=1), encoding="utf-8")
            draft.rename(_folder() / f"{key}.json")
        except OSError as e:
            raise HardwareError(f"the cache of syntheses cannot be written ({e}): {build.CACHE_REMEDY}") from None
        shutil.rmtree(work, ignore_errors=True)
        return run

    def _run(self, module: Module, work: Path, tool: str, *, mapped: bool) -> Run:
        start = time.monotonic()
        done = yosys.run(("-l", "run.log", "run.ys"), work)
        if done.returncode != 0 or not (work / "cells.json").is_file():
            tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
            raise HardwareError(f"Yosys failed on {module}; its log is {work / 'run.log'}:\n{tail}")
        cells: dict[str, int] = json.loads((work / "cells.json").read_text())["design"]["num_cells_by_type"]
        parts = work / "parts.txt"
        run = Run(
            module,
            Resources.of_cells({c: n for c, n in cells.items() if mapped and c not in self.cut}),
            self.parse_parts(parts.read_text()) if parts.is_file() else (),
            round(time.monotonic() - start, 1),
            tool,
        )
        if sum(n for _, n in run.parts) != sum(n for c, n in cells.items() if c in self.cut):
            raise HardwareError(f"Yosys lost or doubled parts of {module}; its log is {work / 'run.log'}")
        several = {name for name, n in Counter(m.name for m, _ in run.parts).items() if n > 1} - self.resized
        if mapped and several:
            raise HardwareError(
                f"{module.name} has parts of several sizes: the descriptor's `resized` must name "
                + ", ".join(sorted(several))
            )
        return run

    def _text(self, module: str) -> str:
        if module not in self.texts:
            raise HardwareError(f"there is no module {module} among the sources")
        return self.texts[module]

    def _parameters(self, module: str, keyword: str) -> frozenset[str]:
        header = _header(code(self._text(module)))
        return frozenset(re.findall(rf"\b{keyword}\s+(?:[\w\[\]:$ -]*\s)?(\w+)\s*(?:\[[^\]]*\]\s*)?=", header))

    def _arrays(self, module: str) -> frozenset[str]:
        """Parameters that are arrays of 32-bit numbers."""
        return frozenset(re.findall(r"\bparameter\s+int\s+unsigned\s+(\w+)\s*\[[^\]]*\]\s*=", code(self._text(module))))

    def needed(self, module: str) -> list[str]:
        """Names of the sources that synthesis of a module reads: packages first, then modules, parts among them."""
        found: set[str] = set()
        waiting = [module]
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found.add(name)
            body = code(self._text(name))
            if name in self.cut and name != module:
                body = _header(body)
            waiting += [word for word in set(re.findall(r"\b\w+\b", body)) if word in self.texts]
        packages = [name for name in self.texts if name.endswith("_pkg") and name in found]
        return [*packages, *sorted(found - set(packages))]

    def key(self, module: Module, flow: str) -> tuple[str, str, dict[str, str]]:
        """A module's run by a flow: a digest of all that goes in, the script for Yosys, and the files that it reads.

        The script elaborates the module without its parts and lists these in parts.txt.

        Args:
            flow: what Yosys does then, with {top} for the module's name.
        """
        files = self.needed(module.name)
        boxes = sorted(self.cut.intersection(files) - {module.name})
        script = self._script(module, files, boxes, flow.format(top=module.name))
        h = hashlib.sha256(script.encode())
        contents = {n: _header(self.texts[n]) if n in boxes else self.texts[n] for n in files}
        for name, text in contents.items():
            h.update(name.encode() + text.encode())
        return h.hexdigest()[:20], script, contents

    def _script(self, module: Module, files: Sequence[str], boxes: Sequence[str], flow: str) -> str:
        sets = " ".join(f"-G {k}={written(v)}" for k, v in module.parameters)
        without = " ".join(f"--blackboxed-module {name}" for name in boxes)
        # Of the widest modules only: runs of others keep their digests.
        lanes = dict(module.parameters).get("Lanes", 0)
        most = f"--unroll-limit {_UNROLL} " if isinstance(lanes, int) and lanes > _MANY_LANES else ""
        lines = [
            f"read_slang -j 1 -D SYNTHESIS {most}{sets} {without} --top {module.name} "
            f"{' '.join(f'{n}.sv' for n in files)}",
            f"hierarchy -top {module.name}{' -keep_portwidths' if self.resized.intersection(boxes) else ''}",
        ]
        if boxes:
            # Black boxes lose their parameters once these are written down: later passes know no parametric ones.
            types = " ".join(f"t:{name}" for name in boxes)
            names = sorted({n for name in boxes for n in self._parameters(name, "(?:parameter|localparam)")})
            unset = " ".join(f"-unset {n}" for n in names)
            lines += [f"tee -q -o parts.txt dump {types}", f"setparam {unset} {types}"]
        lines.append(flow)
        return "\n".join(lines) + "\n"

    def parse_parts(self, text: str) -> tuple[tuple[Module, int], ...]:
        """Cells in a dump, by module and parameters."""
        counts: dict[Module, int] = {}
        name = ""
        values: dict[str, int | Sequence[int]] = {}
        for line in text.splitlines():
            words = line.split()
            if words[:1] == ["cell"]:
                name, values = words[1].lstrip("\\"), {}
            elif words[:1] == ["parameter"]:
                key, value = words[-2].lstrip("\\"), words[-1]
                if key in self._arrays(name):
                    bits = value.split("'")[1]  # the first number is at the top
                    values[key] = [int(bits[i : i + 32], 2) for i in range(0, len(bits), 32)]
                elif key in self.parameter_names(name):
                    values[key] = int(value.split("'")[1], 2) if "'" in value else int(value)
            elif words == ["end"] and name:
                module = Module.make(name, values)
                counts[module] = counts.get(module, 0) + 1
                name = ""
        return tuple(sorted(counts.items(), key=lambda item: str(item[0])))


def _folder() -> Path:
    return build.cache_folder() / "synth"
