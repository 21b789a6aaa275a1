# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables of our machines beside the paper's: sizes, loops, traffic, all benchmarks, and 160 x 160 x 160 stage by stage.

Figure 6 has latencies of processors and speed-ups in its bars, whose numbers the text has not: of it there are the
mean, the best and one latency. Figure 5 is a drawing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ringforge.errors import FormatError
from ringforge.hw.core.synthesis import Resources
from ringforge.hw.machines.matmul.stages import Planned
from ringforge.lab.tables import Cell, Table, Value
from ringforge.runs import Record

from . import machines
from .counts import product_counts
from .cycles import cycle_model
from .machines import MACHINES
from .memory import MemoryModel
from .parameters import (
    BENCHMARKS,
    CLAIMS,
    CONFIGS,
    HOST_BYTES_PER_SECOND,
    RESOURCES,
    SETS,
    U280,
    WORD_BITS,
    Benchmark,
    benchmark,
)
from .resources import consistency

_GIB = 2**30


def _paper(number: float, unit: str = "") -> Value:
    return Value(number, unit, "paper")


def _model(number: float, unit: str = "") -> Value:
    return Value(number, unit, "model")


def _derived(number: float, unit: str = "") -> Value:
    return Value(number, unit, "derived")


def sizes() -> Table:
    """Tables IV and V beside the machines that the generator finds."""
    rows: list[tuple[Cell, ...]] = []
    for name, made in CONFIGS.items():
        c, used = consistency(name), RESOURCES[name]
        found = machines.generated(name).chosen
        factor = round(c.ratio)
        permutation = c.lanes
        rows.append(
            (
                made.name,
                f"{made.pes} x {made.lanes}",
                f"{used.bram:,} + {used.uram:,} (p)",
                f"{factor * (used.bram - permutation) + permutation:,} + {factor * used.uram:,} (d)",
                _derived(permutation),
                machines.generated(name).same or "-",
                f"{found.name} (m)",
                f"{found.bram18:,} + {found.uram:,} (m)",
                _paper(c.limbs),
                _model(machines.limbs_of(name)),
                _derived(c.limbs_needed),
                _model(machines.peak_limbs(name)),
            )
        )
    return Table(
        "Tables IV and V in blocks: the paper's designs, and the machines that the parameter generator finds",
        (
            *("design", "PE x dp", "BRAM18 + URAM, V", "by Table IV", "of them permutation", "generator", "PE x dp"),
            *("BRAM18 + URAM", "limbs, IV", "ours", "Eq 24", "our program"),
        ),
        tuple(rows),
        (
            "By Table IV: scratchpads of the stated size in every PE, of ultra RAM and blocks in Table V's proportion, "
            "and a block for each lane's permutation buffer: twice Table V's for FAME-M.",
            "Ours have no permutation buffers (permutations are addresses), but two twiddle tables and a stream buffer "
            "each; blocks by width: a bank of 256 rows wastes half of 18-kbit blocks of 512.",
            "Our program: limbs of ciphertexts that a memory-optimised transform keeps on chip at most.",
        ),
    )


def synthesised(results: Path) -> list[Table]:
    """Table V beside the newest saved synthesis of each machine; none where none is saved.

    Args:
        results: a folder of saved results.

    Raises:
        FormatError: a file in it is damaged.
    """
    rows: list[tuple[Cell, ...]] = []
    for name in SETS:
        paper = RESOURCES[name]
        machine, newest = MACHINES[name][0], sorted(results.glob(f"hw-{MACHINES[name][0]}-synth-*.json"))
        if not newest:
            continue
        try:
            kinds = json.loads(newest[-1].read_text(encoding="utf-8"))["machines"]
            # Names of the files end with the date.
            for kind, found in kinds.items():
                ours = Resources(**found["total"])
                pairs = (
                    (paper.dsp, ours.dsp),
                    (paper.bram, 2 * ours.bram36),
                    (paper.uram, ours.uram),
                    (1000 * paper.kilo_luts, ours.lut),
                    (1000 * paper.kilo_flip_flops, ours.flip_flops),
                )
                rows.append((f"{machine}, {kind}", *(v for p, o in pairs for v in (_paper(p), _derived(o)))))
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise FormatError(f"{newest[-1]} holds no synthesis: {e}; delete it or save it anew") from None
    if not rows:
        return []
    card = (U280.dsp, 2 * U280.bram36, U280.uram, 1000 * U280.kilo_luts, 1000 * U280.kilo_flip_flops)
    rows.append(("the card", *(v for c in card for v in (_paper(c), None))))
    return [
        Table(
            "Table V beside syntheses of our machines by Yosys, kinds of multipliers apart",
            ("machine", *(h for what in ("DSP", "BRAM18", "URAM", "LUT", "FF") for h in (what, "ours"))),
            tuple(rows),
            (
                "Parts are synthesised alone and added up; Yosys packs no adders or registers into DSP slices and "
                "merges nothing across parts, so LUTs and flip-flops come out too high (hw/README.md).",
                "montgomery-luts: 9 DSP slices a lane in place of 12, LUTs for the others; the same cycles.",
            ),
        )
    ]


def loops() -> Table:
    """Rotation loops and hoisted parts beside their bounds; transforms of few rows."""
    rows: list[tuple[Cell, ...]] = []
    for name, served in (*((n, n) for n in SETS), ("A", "C")):
        p, machine = machines.loop_price(name, served), machines.config(served)
        rows.append(
            (
                f"Set-{name} on {machine.name}",
                _model(p.rows),
                _derived(p.bound.rotation),
                _model(round(p.rotation)),
                _model(100 * p.bound.rotation / p.rotation, "%"),
                _derived(p.bound.hoisted),
                _model(round(p.hoisted)),
                _model(100 * p.bound.hoisted / p.hoisted, "%"),
                _model(100 * p.alone, "%"),
                _model(100 * p.paired, "%"),
            )
        )
    return Table(
        "Rotation loop and hoisted part of a transform at the highest level: cycles beside what the array is bound to",
        (
            *("set", "rows", "rotation, bound", "cycles", "reached", "hoisted, bound", "cycles", "reached"),
            *("transform alone", "interleaved"),
        ),
        tuple(rows),
        (
            "Bound of a rotation: (L + k + 1)(2 beta + 2) N/dp. Hoisted: transforms of log2 N · N/dp, and conversions "
            "in mixed radix, which are exact where the paper's are not and take more products.",
            "Transform: share of its cycles in which the array works, one at a time and two interleaved, as the "
            "replica counts. Stages of few rows wait for the pipeline.",
        ),
    )


def traffic() -> Table:
    """A linear transform's traffic with and without the memory-optimised order."""
    rows: list[tuple[Cell, ...]] = []
    for name in SETS:
        entry = benchmark(f"IV-{name}")
        x = product_counts(entry.shape, entry.parameters.slots)
        rotations = max(len(x.steps(d)) for d in x.step1)
        if name == "C":
            rotations += 1  # the text's 319, which counts the diagonal at 0
        with_mo, without = (machines.transform_traffic(name, rotations, o) for o in (True, False))
        for label, t in (("memory-optimised", with_mo), ("each rotation through memory", without)):
            e = t.entities
            rows.append(
                (
                    f"Set-{name}",
                    _derived(rotations),
                    label,
                    _paper(CLAIMS.traffic_mb_per_transform, "MB") if name == "C" and t is with_mo else None,
                    _model(t.ciphertexts / 1e6, "MB"),
                    _model((e["input"] + e["output"]) / 1e6, "MB"),
                    _model(e["intermediates"] / 1e6, "MB"),
                    _model(e["keys"] / 1e6, "MB"),
                    _model(e["masks"] / 1e6, "MB"),
                    _model(e["twiddles"] / 1e6, "MB"),
                    _derived(t.ciphertexts / with_mo.ciphertexts, "x"),
                )
            )
    return Table(
        "Near memory's traffic of one linear transform (sigma or tau of type IV), words of 54 bits",
        (
            *("set", "rotations", "order", "paper", "ciphertexts", "in, out", "meanwhile", "keys", "masks", "twiddles"),
            "ratio",
        ),
        tuple(rows),
        (
            "Counted in compiled programs of a few rotations and continued in a line. Without: Algorithm 1, every "
            "sub-operation from memory to memory. The paper's figure is without keys.",
        ),
    )


def benchmarks() -> Table:
    """The paper's schedule on our machines, twelve shapes, keys in a column of their own."""
    rows: list[tuple[Cell, ...]] = []
    for entry in BENCHMARKS:
        p, afar = machines.paper_schedule(entry), machines.from_afar(entry)
        floor = cycle_model(entry.set_name).falling(entry.shape).total
        rows.append(
            (
                entry.name,
                str(entry.shape),
                p.machine,
                _paper(CLAIMS.seconds_160, "s") if entry.name == "IV-C" else None,
                _model(floor, "s"),
                _model(p.bound_cycles / machines.config(entry.set_name).clock_hz, "s"),
                _model(round(p.cycles), "cycles"),
                _model(p.seconds, "s"),
                _model(p.stored["keys"] / _GIB, "GiB"),
                _model(p.stored["masks"] / _GIB, "GiB"),
                _model(p.bytes["keys"] / 1e9, "GB"),
                "all near"
                if not afar.crossing
                else None
                if afar.far_seconds is None
                else _model(afar.far_seconds, "s"),
                None if not afar.crossing else _model(afar.host_seconds, "s"),
            )
        )
    return Table(
        "Twelve benchmarks: the paper's schedule at falling levels on fame-s, -m, -l, by the closed form",
        (
            *("type", "m-l-n", "machine", "paper", "bound, paper's", "bound, ours", "cycles", "time"),
            *("keys", "masks", "keys read", "link: DDR4", "link: host"),
        ),
        tuple(rows),
        (
            "Bounds: the array never waits; the paper's has fast base conversion and rotations by Equations 12 to 15, "
            "ours exact conversion and the rotations there are. Time: keys and masks near, as the paper assumes.",
            "Link: what of keys and masks near memory (8 GiB) has no room for, over 38.4 GB/s where 32 GiB hold it, or "
            f"from the host at {HOST_BYTES_PER_SECOND / 1e9:.2f} GB/s; it overlaps, so a product takes the longer one.",
        ),
    )


def our_plans() -> Table:
    """Our plans on the same machines."""
    rows: list[tuple[Cell, ...]] = []
    for entry in BENCHMARKS:
        clock = machines.config(entry.set_name).clock_hz
        choice, cycles = machines.our_plan(entry, None)
        low, low_cycles = machines.our_plan(entry, machines.least_level(entry))
        paper = machines.paper_schedule(entry).seconds
        rows.append(
            (
                entry.name,
                str(entry.shape),
                _model(choice.level),
                _model(choice.chosen.cost.ops.key_switch),
                _model(len(choice.chosen.cost.keys) + 1),
                _model(cycles / clock, "s"),
                _derived(paper * clock / cycles, "x"),
                _model(low.level),
                _model(low.chosen.cost.ops.key_switch),
                _model(low_cycles / clock, "s"),
            )
        )
    return Table(
        "Twelve benchmarks: our plans on the same machines, keys and masks from far memory where near has no room",
        (
            *("type", "m-l-n", "level", "key switches", "keys", "time", "paper's schedule"),
            *("least level", "key switches", "time"),
        ),
        tuple(rows),
        (
            "Prices of `ringforge.hw.machines.matmul.stages`, the link to far memory by its rate. Paper's schedule: "
            "its time over ours, its keys taken as near.",
        ),
    )


def _stage_rows(planned: Planned, clock: float) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for s in planned.stages:
        w = s.work.work
        rows.append(
            (
                f"{s.work.phase}: {s.work.name}" if s.work.phase != s.work.name else s.work.name,
                _model(s.work.limbs),
                _model(w.mod_up),
                _model(w.rotation),
                _model(w.key_switch - w.rotation),
                _model(w.mod_down),
                _model(w.ntt + w.intt),
                _model(w.converted + s.mixed),
                _model(w.multiplied),
                _model(s.keys),
                _model(s.masks),
                _model(1e3 * s.array / clock, "ms"),
                _model(1e3 * s.memory / clock, "ms"),
                _model(1e3 * s.cycles / clock, "ms"),
            )
        )
    return rows


def stage_tables(entry: Benchmark) -> list[Table]:
    """A product by the plan that suits the machine, stage by stage, from the highest level and the least."""
    made = []
    machine = machines.config(entry.set_name)
    limb = MemoryModel(entry.parameters, WORD_BITS).limb
    for level in (None, machines.least_level(entry)):
        planned = machines.machine_plan(entry, level)
        cpu, bound = machines.our_plan(entry, level)
        far = planned.far
        share = planned.choice.options.pricing
        moved = sum(s.keys + s.masks for s in planned.stages) * limb / 1e9
        notes = [
            f"{planned.cycles / machine.clock_hz:.3f} s in all; keys and masks are {moved:.1f} GB of near memory's "
            "traffic. Array and memory: floors, if each worked alone. Transforms, conversions and products are counted "
            "in residue polynomials.",
            f"Baby steps {'as for a CPU' if share is None else 'chosen for the machine'}: plan "
            f"{planned.choice.chosen.name}, {planned.choice.chosen.cost.ops.key_switch} key switches; the CPU's plan "
            f"has {cpu.chosen.cost.ops.key_switch} and takes {bound / machine.clock_hz:.3f} s at least.",
        ]
        if far is not None:
            notes.append(
                f"Far memory: {len(far.far):,} of {len(far.far) + len(far.resident):,} polynomials of keys and masks "
                f"({len(far.far) * limb / 1e9:.1f} GB) are copied ahead of use, in {len(far.phases)} phases, through a "
                f"buffer of 2 x {far.half}; stalls {1e3 * far.stall / machine.clock_hz:.1f} ms."
            )
        made.append(
            Table(
                f"{entry.shape} on {machine.name} from level {planned.choice.level}: where the time goes",
                (
                    *("stage", "limbs", "ModUp", "rotations", "relin", "ModDown", "NTT", "conversion", "products"),
                    *("key limbs", "mask limbs", "array", "memory", "price"),
                ),
                tuple(_stage_rows(planned, machine.clock_hz)),
                tuple(notes),
            )
        )
    return made


def speedups(records: Sequence[Record]) -> Table:
    """Figure 6 as far as its numbers survive, with ours beside."""
    cube = benchmark("IV-C")
    processor = CLAIMS.best_speedup * CLAIMS.seconds_160
    paper, planned = machines.paper_schedule(cube), machines.machine_plan(cube, None)
    ours = planned.cycles / machines.config("C").clock_hz
    rows: list[tuple[Cell, ...]] = [
        ("160-160-160: accelerator", _paper(CLAIMS.seconds_160, "s"), _model(paper.seconds, "s"), _model(ours, "s")),
        (
            "160-160-160: over the paper's processor",
            _paper(CLAIMS.best_speedup, "x"),
            _derived(processor / paper.seconds, "x"),
            _derived(processor / ours, "x"),
        ),
    ]
    ratios: list[tuple[float, float]] = []
    for entry in BENCHMARKS:
        # Peers ran the paper's sets; whatever machine they ran on, one thread.
        name = f"matmul-{entry.set_name.lower()}"
        found = [r for r in records if r.case == str(entry.shape) and r.params == name and r.peer_seconds]
        if not found:
            continue
        seconds = min(float(r.peer_seconds or 0) for r in found)
        clock = machines.config(entry.set_name).clock_hz
        pair = seconds / machines.paper_schedule(entry).seconds, seconds * clock / machines.our_plan(entry, None)[1]
        ratios.append(pair)
        rows.append((f"{entry.shape}: over Lattigo, one thread", None, *(_derived(r, "x") for r in pair)))
    if ratios:
        rows.append(
            (
                f"mean: of twelve over processors; of {len(ratios)} over Lattigo",
                _paper(CLAIMS.mean_speedup, "x"),
                *(_derived(sum(r[i] for r in ratios) / len(ratios), "x") for i in (0, 1)),
            )
        )
    else:
        rows.append(("mean over processors", _paper(CLAIMS.mean_speedup, "x"), None, None))
    return Table(
        "Figure 6: what survives of it, and ours beside",
        ("what", "paper", "its schedule on our machine", "our plan on our machine"),
        tuple(rows),
        (
            "The paper's processor: 32 cores with Pyfhel, its best method; its seconds are the speed-up times about 3 "
            "s. Lattigo: saved measurements of this project, another processor, one thread.",
        ),
    )


def quick_tables() -> list[Table]:
    """What needs no planner."""
    return [sizes(), loops(), traffic(), benchmarks()]


def planned_tables(records: Sequence[Record]) -> list[Table]:
    """What needs the planner for every benchmark: half a minute."""
    return [our_plans(), *stage_tables(benchmark("IV-C")), speedups(records)]
