# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The asymmetric pipeline beside symmetric ones of the same throughput: what each takes on the FPGA.

`psi_pipe` has one pipelined forward transform, `psi_symmetric` one that is not for each digit, each with a multiplier
of a polynomial by a row of the key ("Hardware Acceleration for Third-Generation FHE and PSI Based on It", section 4.4,
Fig. 9). Both are synthesised from the same cells, for one size and width, without FIFOs and key loads, which are alike.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from ringforge.errors import HardwareError, ParameterError
from ringforge.files import writing
from ringforge.hw.core import machine as descriptors
from ringforge.hw.core import resources
from ringforge.hw.core.cells import LIBRARIES
from ringforge.hw.core.machine import COMMON_PARTS, LANE_CELLS
from ringforge.hw.core.report import Grid
from ringforge.hw.core.sources import sources
from ringforge.hw.core.synthesis import Design, Module, Resources

#: Where the two are cut for synthesis.
_PARTS: Final = COMMON_PARTS | {
    "psi_intt", "psi_source", "psi_ntt", "psi_stage", "psi_mac", "psi_buffer", "psi_digits", "psi_symmetric_ntt",
    "rf_mod_mul",
}  # fmt: skip
_LANES: Final = LANE_CELLS | {"rf_mod_mul"}
#: Parts that one module has in several sizes.
_RESIZED: Final = frozenset({"psi_stage", "rf_bank", "rf_mod_mul"})
_OWN: Final = ("psi_symmetric_ntt.sv", "psi_symmetric.sv")
#: Parts of the two, by what they do; what is not named is control, and sums.
_ROLES: Final = {
    "psi_intt": "inverse transforms",
    "psi_source": "source, digits",
    "psi_buffer": "source, digits",
    "psi_digits": "source, digits",
    "psi_ntt": "forward transform",
    "psi_symmetric_ntt": "forward transform",
    "psi_mac": "products, sums",
    "rf_mod_mul": "products, sums",
}
_REST: Final = "control, wide sum"
#: In tables, in this order.
ROLES: Final = ("inverse transforms", "source, digits", "forward transform", "products, sums", _REST)
_PREFIX: Final = "hw-psi-symmetric-"


@dataclass(frozen=True)
class Size:
    """What both pipelines are made for.

    Attributes:
        log_n: log2 of N, 8 to 15.
        word_bits: bits of a word, 16 to 54.
        digits: digits of a residue, 2 to 15.
        inverses: inverse transforms of the asymmetric pipeline.
        drain: cycles that its stages wait between polynomials, 0 or at least 13.
    """

    log_n: int = 10
    word_bits: int = 27
    digits: int = 3
    inverses: int = 4
    drain: int = 13

    def __post_init__(self) -> None:
        """Raises ParameterError for sizes that the modules refuse."""
        for name, low, high in (("log_n", 8, 11), ("word_bits", 16, 54), ("digits", 2, 15), ("inverses", 1, 8)):
            if not low <= (value := getattr(self, name)) <= high:
                raise ParameterError(f"{name} of the compared pipelines must be between {low} and {high}, not {value}")

    @property
    def asymmetric_cycles(self) -> int:
        """From one product to the next on psi_pipe: 2 dc polynomials, one in N/4 + drain cycles."""
        return 2 * self.digits * ((1 << self.log_n) // 4 + self.drain)

    @property
    def symmetric_cycles(self) -> int:
        """From one product to the next on psi_symmetric, which its bench counts."""
        return (2 * self.log_n + 1) * (1 << self.log_n) // 4 + 2

    @property
    def copies(self) -> float:
        """Symmetric pipelines that do as much as the asymmetric one, not rounded."""
        return self.symmetric_cycles / self.asymmetric_cycles

    @property
    def asymmetric(self) -> Module:
        """The asymmetric pipeline."""
        values = {"W": self.word_bits, "LogN": self.log_n, "Intts": self.inverses, "Kind": 0, "Twin": 0}
        return Module.make("psi_pipe", values)

    @property
    def symmetric(self) -> Module:
        """One symmetric pipeline."""
        values = {"W": self.word_bits, "LogN": self.log_n, "Digits": self.digits, "Kind": 0, "Twin": 0}
        return Module.make("psi_symmetric", values)


@cache
def _design() -> Design:
    machine = descriptors.machine("psi")
    cells = [p for library in LIBRARIES for p in sorted((sources() / library / "rtl").glob("*.sv"))]
    listed = [*machine.files(), *(machine.room / "rtl" / name for name in _OWN)]
    return Design.of([*listed, *(p for p in cells if p not in listed)], _PARTS, resized=_RESIZED)


def _roles(root: Module, run: resources.Runner) -> dict[str, Resources] | None:
    """What a pipeline takes, by role; None where `run` does not know a part."""
    whole = run(root)
    if whole is None:
        return None
    taken = dict.fromkeys(ROLES, Resources()) | {_REST: whole.own}
    for part, count in whole.parts:
        lines = resources.compose(part, run, _LANES)
        if lines is None:
            return None
        role = _ROLES.get(part.name, _REST)
        taken[role] = taken[role] + resources.total(lines) * count
    return taken


# ---- storage, counted from the sources' sizes ---------------------------------------------------------


@dataclass(frozen=True)
class Storage:
    """Words of forward transforms: of their tables of twiddles and of the memories that polynomials go through."""

    twiddles: int
    polynomials: int


@dataclass(frozen=True)
class Comparison:
    """Both pipelines.

    Attributes:
        size: what they are made for.
        asymmetric, symmetric: resources by role; `symmetric` is one copy.
        tool: version of Yosys.
    """

    size: Size
    asymmetric: Mapping[str, Resources]
    symmetric: Mapping[str, Resources]
    tool: str

    def storage(self) -> tuple[Storage, Storage]:
        """Words of the forward transforms of the asymmetric pipeline and of one symmetric one.

        A stage holds its own twiddles, together N, and two polynomials (it writes one while the next reads the other);
        a transform that is not pipelined holds N twiddles and the two polynomials that take turns.
        """
        n, log_n, digits = 1 << self.size.log_n, self.size.log_n, self.size.digits
        return Storage(n, 2 * n * log_n), Storage(n * digits, 2 * n * digits)

    def claims(self) -> list[tuple[str, str, str]]:
        """What the paper says, its figure, and what it is here, at equal throughput."""
        copies, ours, theirs = self.size.copies, *self.storage()
        lut = self.asymmetric["forward transform"].lut, self.symmetric["forward transform"].lut * copies
        whole = sum(r.lut for r in self.asymmetric.values()), sum(r.lut for r in self.symmetric.values()) * copies
        return [
            ("LUTs of forward transforms saved", "23 %", _saved(*lut)),
            ("LUTs of the pipelines saved", "-", _saved(*whole)),
            ("tables of twiddles, times smaller", "log2 N", f"{theirs.twiddles * copies / ours.twiddles:.1f}"),
            ("buffers of polynomials saved", "50 %", _saved(ours.polynomials, theirs.polynomials * copies)),
            ("multipliers by key rows, times fewer", "log2 N (11 at 2,048)", f"{self.size.digits * copies:.1f}"),
        ]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "size": asdict(self.size),
            "tool": self.tool,
            "copies": self.size.copies,
            "cycles": {"asymmetric": self.size.asymmetric_cycles, "symmetric": self.size.symmetric_cycles},
            "asymmetric": {role: asdict(r) for role, r in self.asymmetric.items()},
            "symmetric": {role: asdict(r) for role, r in self.symmetric.items()},
            "claims": [{"what": what, "paper": paper, "here": here} for what, paper, here in self.claims()],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Comparison:
        """Reads `to_dict` back.

        Raises:
            HardwareError: it was not written by this version.
        """
        try:
            sides = [{role: Resources(**values[side][role]) for role in ROLES} for side in ("asymmetric", "symmetric")]
            return cls(Size(**values["size"]), sides[0], sides[1], values["tool"])
        except (KeyError, TypeError, ParameterError) as e:
            raise HardwareError(
                f"the file was not written by this version ({e}): run `ringforge hw symmetric psi --save` again"
            ) from None

    def grids(self) -> list[Grid]:
        """Resources beside each other, and the paper's claims."""
        copies = self.size.copies
        rows = []
        for role in (*ROLES, "all"):
            one = _sum(self.asymmetric) if role == "all" else self.asymmetric[role]
            other = _sum(self.symmetric) if role == "all" else self.symmetric[role]
            row = [role]
            for name in ("lut", "dsp", "flip_flops", "bram36"):
                row += [_text(getattr(one, name)), _text(getattr(other, name) * copies)]
            rows.append(row)
        kinds = ("1", f"{copies:.2f}")
        labels = ("", *(f"{kind}\n{name}" for name in ("LUT", "DSP", "FF", "BRAM36") for kind in kinds))
        size = self.size
        title = f"N = {1 << size.log_n:,}, words of {size.word_bits} bits, {size.digits} digits: "
        title += f"1 asymmetric pipeline, {size.asymmetric_cycles:,} cycles a product, beside "
        title += f"{copies:.2f} symmetric ones, {size.symmetric_cycles:,} each"
        claims = [list(claim) for claim in self.claims()]
        return [
            Grid(title, labels, rows, sections=frozenset({len(rows) - 2})),
            Grid("at equal throughput", ("", "paper", "here"), claims),
        ]


def _sum(parts: Mapping[str, Resources]) -> Resources:
    return sum(parts.values(), Resources())


def _saved(ours: float, theirs: float) -> str:
    return f"{round(100 * (1 - ours / theirs))} %"


def _text(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or value > 100 else f"{value:,.1f}"


def compare(size: Size, *, only_kept: bool = False) -> Comparison | None:
    """Synthesises both, or takes the runs from the cache.

    Args:
        only_kept: look into the cache only; None where something is missing there.

    Raises:
        HardwareError: Yosys is missing or fails, or the cache cannot be written.
    """
    from ringforge import yosys

    design = _design()
    run = design.kept if only_kept else design.synthesise
    sides = [_roles(root, run) for root in (size.asymmetric, size.symmetric)]
    if sides[0] is None or sides[1] is None:
        return None
    return Comparison(size, sides[0], sides[1], yosys.version() or "")


# ---- saved comparisons --------------------------------------------------------------------------------


def save(found: Comparison, folder: Path) -> Path:
    """Writes a comparison with the environment it was made in; returns the file."""
    from ringforge.runs import environment

    env = environment()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{_PREFIX}{env['date'][:10]}.json"
    document = {"what": "ringforge hw symmetric psi", "environment": env, **found.to_dict()}
    with writing(path, replace=True) as f:  # of the same on the same day
        f.write(json.dumps(document, indent=1).encode() + b"\n")
    return path


def saved(folders: Sequence[Path]) -> tuple[Comparison, Path] | None:
    """The newest saved comparison and its file.

    Raises:
        HardwareError: the file cannot be read.
    """
    paths = sorted((p for folder in folders for p in folder.glob(f"{_PREFIX}*.json")), key=lambda p: p.name)
    if not paths:
        return None
    try:
        return Comparison.from_dict(json.loads(paths[-1].read_text(encoding="utf-8"))), paths[-1]
    except (OSError, ValueError) as e:
        raise HardwareError(f"{paths[-1]} cannot be read: {e}") from None
