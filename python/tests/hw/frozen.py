# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Figures of the matvec accelerator that changes leave as they are: cycles, digests, resources, by name.

`frozen.json` holds them and `test_frozen.py` holds the hardware against it. A change that is meant to alter some says
which and why, and writes those anew:

    .venv/bin/python python/tests/hw/frozen.py --quick                    # checks what takes seconds
    .venv/bin/python python/tests/hw/frozen.py --only programs rotations  # checks names that begin so
    .venv/bin/python python/tests/hw/frozen.py --write --only "product model"

programs MACHINE FIRST     25 random programs (`random_programs.py`), seeds from FIRST on, each after a reset: digest of
                           the encoded programs, digest of all memory as the simulated machine leaves it, cycles
cycles, primitives         cycles in RTL as `ringforge hw cycles` counts them
rotations                  the same of chains of rotations, each on a new machine; digest of the programs
product rtl, product model a layer's cycles and bytes by the simulated machine, result compared with the CPU; by the
                           cycle model, with the digest of the compiled programs. Of rnnt-fc0 by the paper's schedule,
                           a quarter of an hour in RTL, there is the model's figure alone
layer                      cycles and bytes of `ringforge hw layers`, by the cycle model from a few steps
synthesis                  DSP, BRAM36 and URAM must be equal, LUT and FF at most those here
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ringforge import _native
from ringforge import params as parameter_sets
from ringforge._native import kernels
from ringforge.hw.core import resources
from ringforge.hw.core.simulator import Simulation, place_programs
from ringforge.hw.core.synthesis import Module
from ringforge.hw.machines.matvec import Options, compile_matvec
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.layers import layer_kernel, run_layer
from ringforge.hw.machines.matvec.machine import MACHINE
from ringforge.hw.machines.matvec.measure import primitive_cycles, rotation_rates
from ringforge.hw.machines.matvec.published import LAYERS, MACHINES
from ringforge.hw.machines.matvec.replica_layers import STEADY, layer_latency
from ringforge.hw.machines.matvec.rotations import compile_rotations
from ringforge.hw.vector import replica
from tests.hw.random_programs import RandomPrograms

LIST = Path(__file__).with_suffix(".json")
SMALL = ("matvec-small", "matvec-small-montgomery")
#: Random programs of a figure, and seeds by machine: a thousand programs together.
BATCH = 25
SEEDS = {SMALL[0]: range(0, 700, BATCH), SMALL[1]: range(700, 1000, BATCH)}
PROGRAMS = 0x40000000

Value = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """Something to measure.

    Attributes:
        name: in the list.
        measure: gives the value anew.
        quick: in a second or so, with machines that other quick tests build as well.
    """

    name: str
    measure: Callable[[], Value]
    quick: bool = False


def machine(name: str) -> Simulation:
    """A new machine of one of the configurations, the small ones as other quick tests build them."""
    return Simulation(MatvecConfig.named(name), optimise="-O1" if name in SMALL else "-O3")


def digest(*pieces: Any) -> str:
    h = hashlib.sha256()
    for p in pieces:
        h.update(len(p).to_bytes(8, "little") + p.tobytes())
    return h.hexdigest()[:32]


# ---- random programs ----------------------------------------------------------------------------------


def random_programs(name: str, first: int) -> Value:
    programs, memories, cycles = [], [], []
    with machine(name) as sim:
        for seed in range(first, first + BATCH):
            case = RandomPrograms(sim.config, seed)
            words, memory = case.encoded(), case.memory()
            image, stride = place_programs(words)
            sim.reset()  # the ports' arbiters remember the last run
            sim.unmap_all()
            sim.map_dram(memory)
            sim.map(PROGRAMS, image)
            cycles.append(sim.run(PROGRAMS, stride, limit=2_000_000))
            programs += words
            memories += [segment.words for segment in memory]
    return {"programs": digest(*programs), "memory": digest(*memories), "cycles": cycles}


# ---- primitives and rotations -------------------------------------------------------------------------


def toy() -> _native.Parameters:
    """N = 2^10 and three limbs, for the small machines."""
    primes = kernels.primes_below(54, 4, 1 << 18)
    return _native.Parameters("toy", 10, primes[:3], primes[3:], 1, 40.0, "test")


def primitives(name: str, log_n: int, bits: int) -> Value:
    with machine(name) as sim:
        return dict(primitive_cycles(sim, log_n, bits))


def cycles(name: str, params: _native.Parameters, counts: tuple[int, ...]) -> Value:
    """As `ringforge hw cycles`, one after the other on one machine.

    A chain takes up to 0.5 % more or less with where earlier runs left the turns of ports and memory, which a reset
    does not bring back to those of a new machine.
    """
    with machine(name) as sim:
        out: Value = dict(primitive_cycles(sim, params.log_n, params.q[0].bit_length()))
        for rate in rotation_rates(sim, params, params.max_level, counts):
            out[f"{rate.count} rotations"] = rate.cycles
    return out


def rotations(name: str, params: _native.Parameters, counts: Sequence[int]) -> Value:
    """Each chain on a new machine, with the digest of its programs."""
    context, out = _native.Context(params), {}
    for count in counts:
        elements = [context.rotation_element(k + 1) for k in range(count)]
        with machine(name) as sim:
            (rate,) = rotation_rates(sim, params, params.max_level, (count,))
            compiled = compile_rotations(sim.config, params, params.max_level, elements)
        out[str(count)] = {"cycles": rate.cycles, "programs": digest(compiled.programs)}
    return out


# ---- products and layers ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Product:
    """A layer of some shape on a machine: `bandwidth` of memory in GB/s, `passes` of the compiler."""

    machine: str
    params: str
    rows: int
    cols: int
    algorithm: str
    level: int | None = None
    bandwidth: float | None = None
    passes: bool = True

    @property
    def name(self) -> str:
        extra = "" if self.level is None else f" level {self.level}"
        extra += "" if self.bandwidth is None else f" at {self.bandwidth:g} GB/s"
        extra += "" if self.passes else " without passes"
        return f"{self.machine} {self.params} {self.rows}x{self.cols} {self.algorithm}{extra}"

    @property
    def config(self) -> MatvecConfig:
        config = MatvecConfig.named(self.machine)
        if self.bandwidth is None:
            return config
        return config.model_copy(update={"dram_bytes_per_second": 1e9 * self.bandwidth})

    @property
    def options(self) -> Options:
        return Options(fusion=self.passes, tiling=self.passes)


PRODUCTS = (
    Product("matvec-a", "set-a", 64, 100, "bsgs"),
    Product("matvec-a", "set-a", 32, 32, "diagonal"),
    Product("matvec-a", "set-a", 256, 256, "bsgs"),
    Product("matvec-a", "set-a", 16, 16, "horner"),
    Product("matvec-b", "set-a", 64, 100, "bsgs"),
    Product("matvec-b", "set-b", 8, 16, "diagonal"),
    Product("matvec-b", "set-b", 64, 128, "bsgs"),
    Product("matvec-b", "set-b", 512, 1344, "bsgs"),
    Product("matvec-b", "set-b", 512, 1344, "bsgs", level=2),
    Product("matvec-b", "set-b", 64, 128, "bsgs", bandwidth=8.0),
    Product("matvec-b", "set-b", 8, 16, "diagonal", passes=False),
    Product("matvec-b", "set-b", 8, 16, "horner"),
    Product("matvec-b", "set-c", 4, 8, "diagonal"),
    Product("matvec-b", "set-c", 4, 8, "bsgs", level=4),
)
#: The paper's schedule on rnnt-fc0: 15 minutes in RTL, by the model alone.
LONGEST = Product("matvec-b", "set-b", 512, 1344, "diagonal")
#: What takes the model a second or more.
SLOW = (PRODUCTS[7], PRODUCTS[9], PRODUCTS[10], PRODUCTS[12], LONGEST)


def moved(traffic: Mapping[str, int]) -> dict[str, int]:
    """Bytes by entity, but for the programs: how far elements read ahead in those is no figure to hold."""
    return {k: n for k, n in sorted(traffic.items()) if n and k != "program"}


def by_model(p: Product) -> Value:
    context = _native.Context(parameter_sets.named(p.params))
    level = context.params.max_level if p.level is None else p.level
    kernel, _ = layer_kernel(context, p.rows, p.cols, level, p.algorithm, machine=p.config)
    compiled = compile_matvec(p.config, kernel, has_bias=True, options=p.options)
    report = replica.run(p.config, compiled.programs, entity_of=compiled.job.layout.entity)
    traffic = moved({k: t.read + t.written for k, t in report.traffic.items()})
    return {"cycles": report.cycles, "bytes": traffic, "programs": digest(*compiled.programs)}


def by_rtl(p: Product) -> Value:
    params = parameter_sets.named(p.params)
    run = run_layer(p.config, params, p.rows, p.cols, p.algorithm, level=p.level, options=p.options)
    return {"cycles": run.cycles, "bytes": moved(run.bytes), "exact": run.exact}


def steady(name: str, params: str, schedule: str) -> int:
    """Steps per group that the model runs: fewer where more take it minutes, as in the saved results."""
    if (params, schedule) == ("set-c", "diagonal"):
        return 2
    return 1 if (name, params, schedule) == ("alex-7", "set-c", "bsgs") else STEADY


def layer(name: str, params: str, schedule: str) -> Value:
    entry = next(e for e in LAYERS if e.name == name)
    config, chosen = MatvecConfig.named(MACHINES[params]), parameter_sets.named(params)
    found = layer_latency(entry, chosen, config, schedule, steady=steady(name, params, schedule))
    traffic = moved({k: t.read + t.written for k, t in found.traffic.items()})
    horner = {} if found.horner is None else {"horner": round(found.horner.cycles)}
    return {"cycles": round(found.cycles), "bytes": traffic, **horner}


#: Layers that the model times in a second.
QUICK_LAYERS = (("rnnt-fc0", "set-a", "diagonal"), ("rnnt-fc0", "set-a", "bsgs"))


# ---- synthesis ----------------------------------------------------------------------------------------


def synthesised(module: Module) -> Value:
    lines = resources.compose(module, resources.design(MACHINE).synthesise)
    assert lines is not None
    return asdict(resources.total(lines))


def syntheses(config: MatvecConfig) -> Iterator[tuple[str, Module]]:
    """Names and modules: cells, then one element and the machine with either multiplier."""
    for cell in resources.cells(MACHINE, config):
        if cell.module is not None:
            yield f"cell {cell.name} {cell.variant}".strip(), cell.module
    own = resources.figures(MACHINE)
    for kind, variant in own.variants(config).items():
        yield f"element {kind}", own.element(variant)
        yield f"machine {kind}", resources.top(MACHINE, variant)


# ---- all of them --------------------------------------------------------------------------------------


def figures() -> Iterator[Figure]:
    """All figures in the order of the list."""
    for name, seeds in SEEDS.items():
        for first in seeds:
            yield Figure(f"programs {name} {first}", partial(random_programs, name, first), first == seeds.start)
    for name in SMALL:
        for log_n in (8, 11):
            yield Figure(f"primitives {name} 2^{log_n}", partial(primitives, name, log_n, 54), log_n == 8)
        yield Figure(f"rotations {name} toy", partial(rotations, name, toy(), (1, 4)), True)
    set_b = parameter_sets.named("set-b")
    for name in ("matvec-b", "matvec-b-montgomery"):
        yield Figure(f"cycles {name} set-b", partial(cycles, name, set_b, (1, 16)))
        yield Figure(f"rotations {name} set-b", partial(rotations, name, set_b, (1, 16)))
    for p in (*PRODUCTS, LONGEST):
        yield Figure(f"product model {p.name}", partial(by_model, p), p not in SLOW)
    for p in PRODUCTS:
        yield Figure(f"product rtl {p.name}", partial(by_rtl, p))
    for params in MACHINES:
        for entry in LAYERS:
            for schedule in ("diagonal", "bsgs"):
                # The others of set-c take the model a quarter of an hour.
                if (params, schedule) != ("set-c", "bsgs") or entry.name not in {"alex-6", "vgg-6"}:
                    which = (entry.name, params, schedule)
                    yield Figure(f"layer {' '.join(which)}", partial(layer, *which), which in QUICK_LAYERS)
    for name in ("matvec-a", "matvec-b"):
        for what, module in syntheses(MatvecConfig.named(name)):
            yield Figure(f"synthesis {name} {what}", partial(synthesised, module))


def frozen() -> dict[str, Value]:
    """The list."""
    values: dict[str, Value] = json.loads(LIST.read_text()) if LIST.exists() else {}
    return values


def write(values: Mapping[str, Value]) -> None:
    """Writes the list, a figure a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items()]
    LIST.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def differences(name: str, was: Value, now: Value) -> list[str]:
    """What of a figure is not as it was, in words; LUT and FF may have fallen."""
    found = []
    for key in sorted({*was, *now}):
        old, new = was.get(key), now.get(key)
        fell = key in {"lut", "flip_flops"} and old is not None and new is not None and new < old
        if old == new or fell:
            continue
        if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
            first = int(name.split()[-1])
            seeds = zip(range(first, first + BATCH), old, new, strict=True)
            found += [f"{name}, {key} of seed {seed}: was {o}, is {n}" for seed, o, n in seeds if o != n]
        else:
            found.append(f"{name}, {key}: was {old}, is {new}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Holds the accelerator against frozen.json.")
    parser.add_argument("--write", action="store_true", help="write what is measured to the list")
    parser.add_argument("--quick", action="store_true", help="only what takes seconds")
    parser.add_argument("--only", nargs="+", default=[""], metavar="NAME", help="figures whose names begin so")
    chosen = parser.parse_args(arguments)
    known = frozen()
    everything = list(figures())
    missing = [] if chosen.write else [n for n in known if n not in {f.name for f in everything}]
    bad = [f"{n}: nothing measures it any more" for n in missing if n.startswith(tuple(chosen.only))]
    for f in everything:
        if not f.name.startswith(tuple(chosen.only)) or (chosen.quick and not f.quick):
            continue
        if not chosen.write and f.name not in known:
            continue
        start = time.process_time()
        value = f.measure()
        print(f"{f.name}: {time.process_time() - start:.1f} s of CPU", flush=True)
        found = differences(f.name, known.get(f.name, {}), value)
        if chosen.write:
            known[f.name] = value
            write({g.name: known[g.name] for g in everything if g.name in known})
        else:
            bad += found
            print("\n".join(found), end="\n" if found else "", flush=True)
    print(f"{len(bad)} differences" if not chosen.write else f"written to {LIST}")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
