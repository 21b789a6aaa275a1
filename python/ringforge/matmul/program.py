# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Programs: what key holder, contributors and server agree on before any data moves.

A program is an expression over named matrices, recorded by running a function on matrices that stand for encrypted
ones. It names the parameters, the plan and level of each product, and the keys. It is public and holds no data but
constants that the function itself contains.
"""

from __future__ import annotations

import base64
import binascii
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, ValidationError

from ringforge import bundles
from ringforge import params as parameter_sets
from ringforge._native import Context, Parameters
from ringforge.bytes_form import File, Shared, write
from ringforge.cli.console import properties, size_text
from ringforge.errors import (
    Error,
    FormatError,
    LevelError,
    MemoryLimitError,
    ParameterError,
    PrecisionWarning,
    ShapeError,
)
from ringforge.matmul.layout import Layout, even_tile
from ringforge.matmul.machine import Settings, Tile
from ringforge.matmul.matrix import EncryptedMatrix, PlainMatrix
from ringforge.matmul.steps import Step, explain_steps
from ringforge.matmul.tracer import Tracer
from ringforge.programs import Frozen, ParameterSpec, first_problem, read_program
from ringforge.refusals import whole
from ringforge.shown import ShownGroup, ShownTable

#: Prices of a level that are tried, from plans with the fewest levels to plans with the least work.
LEVEL_PRICES = (100.0, 1.5, 1.0)

#: Results that may err by more than this part of their largest size are warned of.
MAX_RELATIVE_ERROR = 1 / 16


# ---- what a program file holds -------------------------------------------------------------------


Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
Side = Annotated[int, Field(ge=1, le=1 << 18)]


class Input(Frozen):
    """A named operand.

    Args:
        name: as in the function.
        shape: (m, n) or (n,).
        bound: largest |entry|; public, enforced when encrypting.
        tile: rows and columns of each ciphertext.
        level: it is encrypted at.
        plain: given to the server in the clear, at run time.
    """

    name: Name = "x"
    shape: Annotated[tuple[Side, ...], Field(min_length=1, max_length=2)]
    bound: Annotated[float, Field(gt=0)] = 1.0
    tile: tuple[Side, Side] | None = None
    level: Annotated[int, Field(ge=0, le=63)] = 0
    plain: bool = False

    @property
    def sides(self) -> tuple[int, int]:
        """Rows and columns; a vector is a column."""
        return self.shape[0], (self.shape[1] if len(self.shape) == 2 else 1)

    @property
    def ciphertexts(self) -> tuple[int, int]:
        """Rows and columns of the grid of ciphertexts."""
        (m, n), (r, c) = self.sides, self.tile or self.sides
        return -(-m // r), -(-n // c)


Index = int | tuple[int | None, int | None, int | None]


class StepSpec(Frozen):
    """An operation: what it is, what it is applied to, and what planning made of it."""

    kind: Literal[
        "input",
        "constant",
        "product",
        "sum",
        "difference",
        "negative",
        "multiple",
        "clean",
        "transpose",
        "block",
        "entrywise",
        "total",
    ]
    of: list[Annotated[int, Field(ge=0)]] = Field(default_factory=list, max_length=2)
    name: Name | None = None
    by: float | None = None
    bound: Annotated[float, Field(gt=0)] | None = None
    index: Annotated[list[Index], Field(max_length=2)] | None = None
    axis: Annotated[int, Field(ge=-2, le=1)] | None = None
    keep: bool | None = None
    shape: Annotated[list[Side], Field(max_length=2)] | None = None
    values: str | None = None
    level: int | None = None
    plan: str = ""


class SettingsSpec(Frozen):
    """How it was planned."""

    method: str = "auto"
    memory: Annotated[int, Field(gt=0)] | None = None
    keys: Literal["all", "few"] = "all"
    schedule: str = "bsgs"
    level_price: Annotated[float, Field(ge=1, le=100)] = 1.5


@dataclass
class _Traced:
    tracer: Tracer
    results: dict[str, EncryptedMatrix]


class Program(Shared, Frozen):
    """Everything the parties must agree on. Made by :func:`trace`."""

    format: Literal["ringforge-matmul-program"] = "ringforge-matmul-program"
    #: 1 where all is decided and done as by the first version, else 2; each is always followed by its own rules.
    version: Literal[1, 2] = 1
    parameters: ParameterSpec
    parameter_hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    settings: SettingsSpec
    inputs: Annotated[list[Input], Field(min_length=1, max_length=64)]
    steps: Annotated[list[StepSpec], Field(min_length=1, max_length=512)]
    outputs: Annotated[dict[Name, Annotated[int, Field(ge=0)]], Field(min_length=1, max_length=64)]
    #: Galois elements, each with the highest level it is used at, and the level of the relinearisation key.
    galois_keys: list[tuple[int, int]]
    relin_level: int | None = None

    # ---- derived ----

    @cached_property
    def context(self) -> Context:
        return Context(self.parameters.parameters())

    @cached_property
    def digest(self) -> str:
        """What files of ciphertexts name the program by."""
        return bundles.digest(self)

    @property
    def planning(self) -> Settings:
        """How machines must plan to get the same plans."""
        return Settings(**self.settings.model_dump(), version=self.version)

    @property
    def key_levels(self) -> dict[int, int]:
        """Galois elements needed, each with the highest level it is used at."""
        return dict(self.galois_keys)

    @property
    def encrypted_inputs(self) -> list[Input]:
        return [x for x in self.inputs if not x.plain]

    def input(self, name: str) -> Input:
        """An operand by name.

        Raises:
            ParameterError: there is none; the message lists the names.
        """
        for x in self.inputs:
            if x.name == name:
                return x
        raise ParameterError(f'the program has no input "{name}"; it has {", ".join(x.name for x in self.inputs)}')

    @cached_property
    def traced(self) -> _Traced:
        """The program run on symbols."""
        tracer = Tracer(self.context, self.planning)
        return _Traced(tracer, self.run(symbols(tracer, self.inputs)))

    def run(self, inputs: Mapping[str, EncryptedMatrix | PlainMatrix]) -> dict[str, EncryptedMatrix]:
        """The outputs by name, from matrices of one machine."""
        values: list[Any] = []
        for spec in self.steps:
            values.append(_perform(spec, [values[i] for i in spec.of], inputs))
        return {name: values[i] for name, i in self.outputs.items()}

    def unpack(self, name: str, slots_of: Callable[[int], Any]) -> Any:
        """An output from the decrypted slots of its ciphertexts, by their number."""
        return self.traced.results[name].assemble_numbered(slots_of)

    # ---- files ----

    def save(self, path: File) -> None:
        """Write the program as JSON to a file's name or to an open binary file; `to_bytes` gives the same in memory."""
        write(path, [self.model_dump_json(indent=1, exclude_defaults=False, exclude_none=True).encode()])

    @classmethod
    def load(cls, path: File) -> Self:
        """Read a program and plan it again: levels, plans and keys must come out as they are written.

        Args:
            path: a file's name or an open binary file; `from_bytes` takes bytes.

        Raises:
            FormatError: the file is no valid program. ParameterError: its parameters are refused.
        """
        program = read_program(cls, path)
        program.check()
        return program

    def check(self) -> None:
        """Holds the parts against each other.

        Raises:
            FormatError: they do not fit together. ParameterError: the parameters are refused.
        """
        if self.context.params.hash.hex() != self.parameter_hash:
            raise FormatError("the program's parameters do not have the hash that it states")
        names = [x.name for x in self.inputs]
        if len(set(names)) != len(names):
            raise FormatError("two inputs of the program have the same name")
        for i, s in enumerate(self.steps):
            if any(j >= i for j in s.of) or (s.kind == "input") != (s.name is not None):
                raise FormatError(f"step {i} ({s.kind}) is applied to what does not come before it")
            if s.name is not None and s.name not in names:
                raise FormatError(f'step {i} is input "{s.name}", which the program does not list')
        needed = set(self.outputs.values())
        if any(i >= len(self.steps) for i in needed):
            raise FormatError("an output of the program is no step of it")
        for i in range(len(self.steps) - 1, -1, -1):
            if i not in needed:
                raise FormatError(f"step {i} ({self.steps[i].kind}) leads to no output")
            needed.update(self.steps[i].of)
        try:
            found = self.traced
        except (Error, TypeError, AttributeError) as e:
            if isinstance(e, ParameterError | MemoryLimitError):
                raise
            raise FormatError(f"the program cannot be planned: {e}") from None
        for name, i in self.outputs.items():
            if not found.results[name].clean:
                raise FormatError(f"output {name} would show more than the result: plan the program again")
            spec, step = self.steps[i], found.results[name].step
            if (spec.level, spec.plan) != (step.level, step.detail):
                raise FormatError(
                    f"output {name} is planned as level {step.level}, {step.detail}, where the file says level "
                    f"{spec.level}, {spec.plan}: it was made by another version; plan again"
                )
        tracer = found.tracer
        if tracer.novel and self.version == 1:
            raise FormatError("the program says version 1 and does what only programs of version 2 do: plan it again")
        if self.key_levels != tracer.key_levels or self.relin_level != tracer.relin_level:
            raise FormatError(
                "the program lists other keys than its plans need: it was made by another version; plan again"
            )

    # ---- for people ----

    @property
    def memory(self) -> dict[str, int]:
        """Bytes the server needs: for keys, encoded diagonals and masks, temporaries, the encrypted inputs."""
        gadget = self.context.gadget
        keys = sum(gadget.key_bytes(level + 1) for level in self.key_levels.values())
        keys += gadget.key_bytes(self.relin_level + 1) if self.relin_level is not None else 0
        t = self.traced.tracer
        cipher = sum(16 * gadget.degree * (x.level + 1) * math.prod(x.ciphertexts) for x in self.encrypted_inputs)
        return {"keys": keys, "diagonals and masks": t.storage + t.passing, "temporaries": t.working, "inputs": cipher}

    def summary(self) -> ShownTable:
        """Parameters, inputs, outputs, keys and memory as a table."""
        p = self.context.params
        verdict = "at least 128 bits" if p.secure else f"INSECURE: below 128 bits (used because: {p.insecure})"
        rows = {"parameters": f"{p.name}: N = 2^{p.log_n}, {len(p.q)} + {len(p.p)} primes; {verdict}"}
        for x in self.inputs:
            size = " x ".join(map(str, x.shape))
            how = "plain, the server's" if x.plain else f"{counted(math.prod(x.ciphertexts))} of level {x.level}"
            rows[f"input {x.name}"] = f"{size}, |entry| up to {x.bound:g}, {how}"
        for name, r in self.traced.results.items():
            size, count = " x ".join(map(str, r.shape)) or "a number", math.prod(r.step.grid)
            rows[f"output {name}"] = (
                f"{size}, |entry| up to {r.bound:.4g}, error up to {r.error_bound:.1e}, "
                f"{counted(count)} of level {r.level}"
            )
        relin = "" if self.relin_level is None else " and one relinearisation key"
        rows["keys"] = f"{len(self.galois_keys)} Galois keys{relin}"
        rows["server's memory"] = ", ".join(f"{k} {size_text(v)}" for k, v in self.memory.items())
        t = self.traced.tracer
        if t.least_bytes and t.operations > 16:
            least = max(2 * t.least_bytes, 64 * p.degree * (p.max_level + 1))
            total = size_text(self.memory["inputs"] + t.made_bytes)
            rows["ciphertexts"] = (
                f"{total} in all; with --scratch {size_text(least)} in memory suffice, and up to "
                f"{size_text(t.taken_bytes)} are read again"
            )
        return properties("program", rows)

    def explain(self) -> ShownGroup:
        """Summary, steps, and what was considered for each product."""
        return ShownGroup(self.summary(), explain_steps([r.step for r in self.traced.results.values()]))


def counted(ciphertexts: int) -> str:
    """So many ciphertexts, for people."""
    return f"{ciphertexts} ciphertext{'s' * (ciphertexts != 1)}"


def symbols(tracer: Tracer, inputs: list[Input]) -> dict[str, EncryptedMatrix | PlainMatrix]:
    """What stands for the inputs in a tracer."""
    out: dict[str, EncryptedMatrix | PlainMatrix] = {}
    for x in inputs:
        step = Step("input", (), {"name": x.name}, shape=tuple(x.shape), bound=x.bound)
        if x.plain:
            step.detail = "plain"
            out[x.name] = PlainMatrix(np.full(x.shape, x.bound), step)
            continue
        (m, n), (r, c) = x.sides, x.tile or x.sides
        if r * c > tracer.slots or x.level > tracer.context.params.max_level:
            raise FormatError(f"input {x.name}: tiles of {r} x {c} at level {x.level} do not exist in these parameters")
        layout = Layout.column_major(r, c)
        rows, cols = x.ciphertexts
        tiles = [[Tile(tracer.fresh(x.level, x.bound), layout) for _ in range(cols)] for _ in range(rows)]
        out[x.name] = EncryptedMatrix(tracer, tiles, m, n, len(x.shape), step)
    return out


def _perform(spec: StepSpec, of: list[Any], inputs: Mapping[str, EncryptedMatrix | PlainMatrix]) -> Any:
    """One step, on values of the steps before.

    Raises:
        FormatError: it lacks arguments.
    """
    kind = spec.kind
    wanted = {"input": 0, "constant": 0, "product": 2, "sum": 2, "difference": 2, "entrywise": 2}.get(kind, 1)
    if len(of) != wanted:
        raise FormatError(f"a {kind} has {wanted} operands, not {len(of)}")
    if kind == "input":
        return inputs[str(spec.name)]
    if kind == "constant":
        return PlainMatrix.constant(_decoded(spec))
    x: Any = of[0]
    if kind == "product":
        if not isinstance(x, EncryptedMatrix):
            return of[1].__rmatmul__(x)
        return x.matmul(of[1], bound=spec.bound)
    if kind == "sum":
        return x + of[1]
    if kind == "difference":
        return x - of[1]
    if kind == "entrywise":
        return x * of[1]
    if kind == "total":
        return x.sum(spec.axis, keepdims=bool(spec.keep))
    if kind == "negative":
        return -x
    if kind == "clean":
        return x.cleaned()
    if kind == "transpose":
        return x.T
    if kind == "multiple" and spec.by is not None:
        return x * spec.by
    if kind == "block" and spec.index is not None:
        return x[tuple(slice(*i) if isinstance(i, tuple) else i for i in spec.index)]
    raise FormatError(f"a {kind} lacks its argument")


def _decoded(spec: StepSpec) -> Any:
    try:
        raw = np.frombuffer(base64.b64decode(spec.values or "", validate=True), dtype="<f8")
        return raw.reshape(spec.shape or ())
    except (binascii.Error, ValueError) as e:
        raise FormatError(f"a constant of shape {spec.shape} is damaged: {e}") from None


def _described(step: Step, of: list[int]) -> StepSpec:
    """A step as programs hold it."""
    a = dict(step.arguments)
    plain = step.kind == "constant" or step.detail == "plain"
    if step.kind == "constant":
        values = np.ascontiguousarray(a.pop("values"), dtype="<f8")
        a = {"values": base64.b64encode(values.tobytes()).decode(), "shape": list(values.shape)}
    if "index" in a:
        a["index"] = [tuple(i) if isinstance(i, list) else i for i in a["index"]]
    return StepSpec(kind=step.kind, of=of, level=None if plain else step.level, plan="" if plain else step.detail, **a)  # type: ignore[arg-type]


# ---- tracing -------------------------------------------------------------------------------------

Shape = tuple[int, ...] | Input
Function = Callable[..., Any]


def trace(
    parameters: Parameters | str | None,
    function: Function,
    inputs: Mapping[str, Shape] | None = None,
    *,
    level: int | None = None,
    method: str = "auto",
    memory: int | None = None,
    keys: Literal["all", "few"] = "all",
    precision: float = 20,
    progress: Callable[[float], None] | None = None,
    **shapes: Shape,
) -> Program:
    """Records what a function does with encrypted matrices.

    Args:
        parameters: a set, its name, or None: the smallest secure one that suffices is suggested.
        function: called with the inputs by name; it returns a matrix, or several as a tuple or dict.
        inputs, shapes: shape of each encrypted input, or an `Input` with more to say of it.
        level: of the inputs; by default the one at which all the work is least.
        method, memory, keys: as of `Settings`; the limit holds for each product and for all together.
        precision: bits after the point, for parameters that are suggested.
        progress: called with the fraction of the planning that is done, roughly.

    Raises:
        LevelError: the parameters have too few levels. ShapeError, ParameterError, MemoryLimitError: as deserved.

    >>> program = trace("matmul-a-128", lambda A, B: A @ B, A=(3, 4), B=(4, 2))
    >>> [x.name for x in program.inputs], len(program.steps)
    (['A', 'B'], 3)
    """
    named = [_input(name, x) for name, x in {**(inputs or {}), **shapes}.items()]
    if not named:
        raise ParameterError("a program needs inputs: give the shape of each, as A=(3, 4)")
    base = Settings(method, memory, keys)
    if parameters is not None:
        _, found = _cheapest(Context(parameter_sets.resolve(parameters)), function, named, base, level, progress)
    else:
        if level is not None:
            raise ParameterError("a level is one of given parameters: name a set, or leave the level out")
        found = _suggested(function, named, base, precision, progress)
    if progress:
        progress(1.0)
    for name, r in found.traced.results.items():
        if r.error_bound > MAX_RELATIVE_ERROR * r.bound:
            warnings.warn(
                f"entries of {name}, of size up to {r.bound:.3g}, may err by {r.error_bound:.3g}, so little or nothing "
                "is left of them: scale the inputs up and divide the decrypted result, or choose parameters with "
                "larger primes and a larger default scale",
                PrecisionWarning,
                stacklevel=2,
            )
    return found


def _input(name: str, x: Shape) -> Input:
    try:
        if isinstance(x, Input):
            return Input(**{**x.model_dump(), "name": name})
        return Input(name=name, shape=tuple(x))
    except ValidationError as e:
        raise ShapeError(f"input {name}: {first_problem(e)}") from None


def _cheapest(
    context: Context,
    function: Function,
    inputs: list[Input],
    base: Settings,
    level: int | None,
    progress: Callable[[float], None] | None = None,
) -> tuple[float, Program]:
    """The least work and its program, over levels of the inputs and prices of levels."""
    best: tuple[float, Program] | None = None
    problem: Error | None = None
    highest = context.params.max_level
    if level is not None and not 0 <= whole(level, "level", -(1 << 63)) <= highest:
        raise LevelError(f"level {level} is outside 0 ... {highest} of {context.params.name}")
    for done, price in enumerate(LEVEL_PRICES):
        if progress:
            progress(done / len(LEVEL_PRICES))
        settings = replace(base, level_price=price)
        for at in range(0, highest + 1) if level is None else (level,):
            try:
                program, work = _recorded(context, function, inputs, settings, at)
                _check_memory(program, base.memory)
            except LevelError as e:
                if price == LEVEL_PRICES[0]:
                    problem = e
                continue
            except MemoryLimitError as e:
                problem = e
                break
            if best is None or work < best[0]:
                best = work, program
            break
    if best is None:
        assert problem is not None
        if isinstance(problem, MemoryLimitError):
            raise problem
        raise LevelError(
            f"{problem} (inputs enter at level {highest if level is None else level} of {highest}; params=None "
            "suggests some with enough)"
        )
    return best


def _check_memory(program: Program, limit: int | None) -> None:
    total = sum(program.memory.values())
    if limit is None or total <= limit:
        return
    parts = ", ".join(f"{k} {size_text(v)}" for k, v in program.memory.items())
    raise MemoryLimitError(
        f"the program takes {size_text(total)} ({parts}), the limit is {size_text(limit)}: raise the limit"
        + ("" if program.settings.keys == "few" else ', take keys="few",')
        + " or multiply smaller matrices"
    )


def _suggested(
    function: Function,
    inputs: list[Input],
    base: Settings,
    precision: float,
    progress: Callable[[float], None] | None,
) -> Program:
    """The program with the smallest parameters that suffice."""
    shown = 0.0

    def part(done: float) -> None:
        nonlocal shown
        # Parameters of up to three levels more than those of the best are tried.
        last = depth + 4 if best is None else best[1].context.params.max_level + 4
        shown = max(shown, min(1.0, (depth - 1 + done) / last))
        if progress:
            progress(shown)

    slots = min(max(math.prod(x.sides) for x in inputs), 1 << 13)
    problem: LevelError | None = None
    best: tuple[float, Program] | None = None
    for depth in range(1, 40):
        try:
            found = parameter_sets.suggest(depth, precision, slots).parameters
        except ParameterError as e:  # deeper ones need more still
            if best is None:
                raise ParameterError(f"{e}{f'; with fewer levels: {problem}' if problem else ''}") from None
            break
        if best is not None and (
            found.log_n > best[1].parameters.log_n or depth > best[1].context.params.max_level + 3
        ):
            break
        try:
            better = _cheapest(Context(found), function, inputs, base, None, part)
        except LevelError as e:
            problem = e
            continue
        if best is None or better[0] < best[0]:
            best = better
    if best is None:
        assert problem is not None
        raise problem
    return best[1]


def _recorded(
    context: Context, function: Function, inputs: list[Input], settings: Settings, level: int
) -> tuple[Program, float]:
    """The program for inputs of a level, and its work."""
    tracer = Tracer(context, settings)
    entered = [
        x if x.plain else x.model_copy(update={"level": level, "tile": even_tile(*x.sides, tracer.slots, x.tile)})
        for x in inputs
    ]
    given = symbols(tracer, entered)
    results = dict(_named(function(**given)))
    steps: dict[int, Step] = {}
    for name, r in results.items():
        if not isinstance(r, EncryptedMatrix) or r.machine is not tracer:
            raise ParameterError(f"the function returned {type(r).__name__}, where encrypted matrices are wanted")
        results[name] = r.cleaned()
        steps.update((id(s), s) for s in results[name].step.ancestors())
    unused = [name for name, x in given.items() if id(x.step) not in steps]
    if unused:
        raise ParameterError(f"the function does not use its input {unused[0]}: leave it out")
    number = {key: i for i, key in enumerate(steps)}
    p = context.params
    program = Program(
        version=2 if tracer.novel else 1,
        parameters=ParameterSpec.of(p),
        parameter_hash=p.hash.hex(),
        settings=SettingsSpec(**{k: v for k, v in settings.__dict__.items() if k != "version"}),
        inputs=entered,
        steps=[_described(s, [number[id(o)] for o in s.operands]) for s in steps.values()],
        outputs={name: number[id(r.step)] for name, r in results.items()},
        galois_keys=sorted(tracer.key_levels.items()),
        relin_level=tracer.relin_level,
    )
    program.__dict__["context"] = context
    program.__dict__["traced"] = _Traced(tracer, results)
    return program, tracer.work


def _named(returned: Any) -> Iterator[tuple[str, Any]]:
    """Outputs by name: "result" if there is one only."""
    if isinstance(returned, Mapping):
        yield from ((str(k), v) for k, v in returned.items())
    elif isinstance(returned, tuple | list):
        yield from ((f"result{i}", v) for i, v in enumerate(returned))
    else:
        yield "result", returned


__all__ = ["Input", "Program", "trace"]
