# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""From a model to a program: bounds, parameters, levels, scales, plans."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ringforge import _native, frames
from ringforge import params as parameter_sets
from ringforge._native import Context, Matvec, Metadata, Parameters
from ringforge.arrays import rows_in_order
from ringforge.bytes_form import Remade
from ringforge.ckks import flood_deviation
from ringforge.devices import Device, open_device
from ringforge.errors import FormatError, IntervalWarning, LevelError, ParameterError, PrecisionWarning, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec.calibration import SAFETY, Bounds, find_bounds
from ringforge.matvec.intervals import Departure, departures, refuse_hopeless, warning_text
from ringforge.matvec.kernels import MatvecKernel, PolynomialKernel, SquareKernel
from ringforge.matvec.model import Linear, Model, Sequential, Square, as_sequential
from ringforge.matvec.planner import Choice, choose
from ringforge.matvec.polynomial import Polynomial
from ringforge.matvec.polynomial_circuit import best_baby
from ringforge.matvec.program import Backend, Program
from ringforge.matvec.scales import MIN_LOG_SCALE, common_scales, layer_depth, model_depth, own_scales
from ringforge.matvec.steps import LinearStep, PolynomialStep, SquareStep, Step
from ringforge.programs import ParameterSpec
from ringforge.shown import ShownGroup, ShownTable

#: Results that may err by more than this part of their largest size are warned of.
MAX_RELATIVE_ERROR = 1 / 16

#: Bits after the point that can be asked for.
MAX_PRECISION = 40

#: What runs layers.
_KERNELS: dict[type, type] = {Linear: MatvecKernel, Square: SquareKernel, Polynomial: PolynomialKernel}

#: Precisions that parameters are suggested for.
_LEAST_BITS, _MOST_BITS = 18, 44


@dataclass(frozen=True)
class Compiled(Remade):
    """A program and the reasons for its choices."""

    remade_by: ClassVar[str] = "its `program` is, and has to_bytes and save"

    program: Program
    choices: tuple[Choice, ...]
    notes: tuple[str, ...]
    bounds: Bounds

    def explain(self) -> ShownGroup:
        """What was considered and why it was chosen, for a terminal or `print`."""
        tables = [self.program.summary(), *(c.explain() for c in self.choices)]
        if self.bounds.measured or self.program.promises:
            tables.append(bounds_table(self.program, self.bounds))
        return ShownGroup(*tables, *self.notes)


def bounds_table(program: Program, bounds: Bounds) -> ShownTable:
    """Sizes along the model: of any inputs, of samples, and those planned for."""
    table = ShownTable(title="largest |value|")
    for name in ("after", "of any inputs", "of samples", "planned for"):
        table.add_column(name)
    for i, name in enumerate(["inputs", *step_names(program)]):
        measured = f"{bounds.measured[i]:.4g}" if bounds.measured else ""
        promised = i > 0 and bounds.promised[i - 1] is not None
        used = f"{bounds.used[i]:.4g}{', promised' if promised else ''}"
        table.add_row(name, f"{bounds.worst[i]:.4g}", measured, used)
    return table


def step_names(program: Program) -> list[str]:
    """What tables call the steps."""
    return [
        f"linear {s.rows} x {s.cols}"
        if isinstance(s, LinearStep)
        else f"polynomial {s.degree}"
        if isinstance(s, PolynomialStep)
        else "square"
        for s in program.steps
    ]


def compile_model(
    model: Model,
    parameters: Parameters | str | None = None,
    *,
    batch: int = 1,
    level: int | None = None,
    algorithm: str = "auto",
    memory: int | None = None,
    input_bound: float | None = None,
    backend: Backend = "ckks",
    samples: npt.ArrayLike | None = None,
    bounds: Sequence[float | None] | None = None,
    safety: float = SAFETY,
    precision: float | None = None,
    share_bits: float | None = None,
    device: str | None = None,
    features: Sequence[str] | None = None,
) -> Compiled:
    """Plans the encrypted evaluation of a model.

    Args:
        model: a Linear layer or a Sequential.
        parameters: a set, the name of one, or None to have the smallest suitable one suggested.
        batch: input vectors per ciphertext, rounded up to a power of two; more throughput for the same latency.
        level: level of the inputs; the default is the lowest at which all results fit.
        algorithm: "auto", "bsgs", "diagonal" or "horner".
        memory: bytes the server may use for keys, encoded matrices and temporaries.
        input_bound: largest |input|; public, and enforced when encrypting. Default: 1, or with samples `safety` times
            the largest of them.
        backend: "ckks", or "clear" for tests without encryption.
        samples: inputs as rows, like those that will be encrypted; the model is run on them in the clear. Results of
            linear layers are then planned for `safety` times what they reach, where any inputs could reach more. The
            program says so: with other inputs results may be garbage, within the bound or not.
        bounds: the same as a promise, without samples: a bound for each linear layer's results, None where none is
            known.
        safety: what measured sizes are multiplied by, 1 or more.
        precision: bits after the point that every result shall have, up to 40: parameters and scales are chosen so
            that the predicted error is at most 2^-precision.
        share_bits: the same error shall include the noise of `decrypt(share_bits=...)`, for one group of results.
        device: name of a device that shall run it: parameters are chosen that it takes.
        features: names of the inputs' columns, in order; by default those of `samples`, if they are a data frame.
            Clients' data frames are put in this order, or refused.

    Values that may leave the interval of a polynomial (an approximation) are warned of (`IntervalWarning`), but for
    samples, which must stay inside, and promised bounds that do. If for inputs drawn evenly within their bound more
    than three quarters of the values before a polynomial are outside, the model is refused (ParameterError).

    Raises:
        LevelError: the parameters have too few levels; the message says how many are needed. Or the precision cannot
            be had.
        ParameterError, ShapeError, MemoryLimitError: as the arguments deserve.
    """
    seq = as_sequential(model)
    known = features if features is not None else frames.column_names(samples)
    names = None if known is None else [str(n) for n in known]
    if samples is not None:
        samples = rows_in_order(samples, names, "samples")
    sizes = find_bounds(seq, input_bound, samples, bounds, safety)
    beyond = departures(seq, sizes)
    refuse_hopeless(beyond)
    if precision is not None and not 1 <= precision <= MAX_PRECISION:
        raise ParameterError(f"a precision is 1 ... {MAX_PRECISION} bits after the point, not {precision:g}")
    if share_bits is not None and precision is None:
        raise ParameterError(
            "share_bits needs the precision that shall be left of results: give it too (precision=..., --precision)"
        )
    request = _Request(
        seq,
        sizes,
        _places(batch),
        level,
        algorithm,
        memory,
        backend,
        own=precision is not None or _own_scales(seq, sizes),
        precision=precision,
        share_bits=share_bits,
        device=None if device is None else open_device(device),
        beyond=tuple(beyond),
        features=names,
    )
    compiled = _compiled(request, parameters)
    if beyond:
        warnings.warn(warning_text(beyond), IntervalWarning, stacklevel=2)
    return compiled


def compile_inside(
    model: Model,
    parameters: Parameters | None = None,
    *,
    batch: int = 1,
    input_bound: float | None = None,
    features: list[str] | None = None,
) -> Compiled:
    """Plans a model whose inputs are looked at in the clear before each use: nothing is said of intervals.

    Arguments and other errors are those of `compile_model`.
    """
    seq = as_sequential(model)
    sizes = find_bounds(seq, input_bound)
    own = _own_scales(seq, sizes)
    request = _Request(seq, sizes, batch, None, "auto", None, "ckks", own, None, None, None, (), features)
    return _compiled(request, parameters)


def _own_scales(model: Sequential, bounds: Bounds) -> bool:
    """Whether each layer has a scale of its own, if nothing else asks for it."""
    plain = all(not isinstance(x, Polynomial) for x in model.layers) and isinstance(model.layers[0], Linear)
    return not plain or any(p is not None for p in bounds.promised)


def _compiled(request: _Request, parameters: Parameters | str | None) -> Compiled:
    request.check()
    compiled = _with(request, parameter_sets.resolve(parameters)) if parameters is not None else _search(request)
    doubt = _doubt(compiled.program)
    if doubt:
        warnings.warn(doubt, PrecisionWarning, stacklevel=3)
    return compiled


def _places(batch: int) -> int:
    """The power of two that holds a batch.

    Raises:
        ParameterError: no whole number of at least 1.
    """
    if not isinstance(batch, int | np.integer) or isinstance(batch, bool) or batch < 1:
        raise ParameterError(f"batch is {batch!r}; a number of vectors is needed, 1 or more")
    return 1 << (int(batch) - 1).bit_length()


@dataclass(frozen=True)
class _Request:
    """What is asked for, whatever the parameters."""

    model: Sequential
    bounds: Bounds
    batch: int
    level: int | None
    algorithm: str
    memory: int | None
    backend: Backend
    #: Whether each layer has a scale of its own.
    own: bool
    precision: float | None
    share_bits: float | None
    device: Device | None
    #: Polynomials whose intervals inputs may leave.
    beyond: tuple[Departure, ...]
    features: list[str] | None

    @property
    def depth(self) -> int:
        return model_depth(self.model.layers)

    @property
    def slots(self) -> int:
        """Slots that a ciphertext should have, at least."""
        widths = [x for layer in self.model.layers if isinstance(layer, Linear) for x in (layer.rows, layer.cols)]
        return (1 << (max(widths) - 1).bit_length()) * self.batch

    def check(self) -> None:
        if self.features is not None and len(self.features) != self.model.inputs:
            raise ShapeError(f"{len(self.features)} names of features for a model of {self.model.inputs} inputs")
        if self.device is None:
            return
        if not self.device.encrypts and self.backend == "ckks":
            raise ParameterError(f'device {self.device.name} does not encrypt: plan with backend "clear" for it')
        runs = self.device.capabilities().kernels
        for i, layer in enumerate(self.model.layers):
            kernel = _KERNELS[type(layer)]
            if kernel not in runs:
                raise ParameterError(
                    f"device {self.device.name} does not run {kernel.__name__}, which layer {i}, {layer!r}, needs. "
                    "Device cpu runs every model; simulated machines run linear layers: plan each of these by itself"
                )

    def scales(self, parameters: Parameters, top: int) -> list[float] | None:
        """log2 of the scale before each layer and after the last, or None where they do not fit."""
        log_q = [math.log2(q) for q in parameters.q]
        find = own_scales if self.own else common_scales
        return find(self.model.layers, self.bounds.used, log_q, parameters.log_scale, top)

    def error(self, program: Program) -> float:
        """Predicted largest error, with noise for sharing if it is wanted."""
        known, error = program.foreseen, program.error_bound
        assert known is not None
        assert error is not None
        return error if self.share_bits is None else error + flood_error(program, known, self.share_bits)

    def wanted_error(self, program: Program) -> float:
        """What the error should not exceed."""
        if self.precision is not None:
            return float(2.0**-self.precision)
        known = program.foreseen
        assert known is not None
        return MAX_RELATIVE_ERROR * float(known.bound)


def flood_error(program: Program, known: Metadata, share_bits: float) -> float:
    """Largest error that noise for sharing one group of results adds.

    Raises:
        LevelError: the noise would not fit the modulus.
    """
    degree, blocks = program.context.params.degree, program.plans[-1].packing.row_blocks
    sigma = flood_deviation(known.variance, degree, share_bits, blocks)
    error = float(_native.slot_error_bound(sigma**2, degree)) / known.scale
    room = sum(math.log2(q) for q in program.context.params.q[: program.output_level + 1]) - 1
    if math.log2(known.scale * (known.bound + error)) > room:
        raise LevelError(f"noise that hides {share_bits:g} bits does not fit the results' modulus: ask for fewer bits")
    return error


def _with(request: _Request, chosen: Parameters) -> Compiled:
    """The program for given parameters.

    Raises:
        LevelError: it is less precise than wanted.
    """
    compiled, error = _best(request, chosen)
    if request.precision is None or error <= request.wanted_error(compiled.program):
        return compiled
    raise LevelError(
        f"with {chosen.name} results may err by {error:.3g}, that is {-math.log2(error):.1f} bits after the point, and "
        f"{request.precision:g} are wanted: let parameters be chosen (params=None, --params auto), or ask for fewer"
    )


def _best(request: _Request, chosen: Parameters) -> tuple[Compiled, float]:
    """The program for given parameters, and its error: at the lowest level that holds and, if asked for, is precise
    enough; else at the most precise one."""
    depth, level, batch = request.depth, request.level, request.batch
    if batch > chosen.slots:
        raise ParameterError(
            f"a batch of {batch} vectors (a power of two) does not fit into the {chosen.slots} slots of {chosen.name}: "
            "ask for fewer; further vectors make further ciphertexts"
        )
    if depth > chosen.max_level:
        raise LevelError(
            f"the model rescales {depth} times and {chosen.name} has levels 0 ... {chosen.max_level}: choose "
            f"parameters with at least {depth + 1} primes (params=None suggests some)"
        )
    if level is not None and not depth <= level <= chosen.max_level:
        raise LevelError(f"level {level} is outside {depth} ... {chosen.max_level} for this model")
    best, least = None, math.inf
    for top in [level] if level is not None else range(depth, chosen.max_level + 1):
        scales = request.scales(chosen, top)
        if scales is None:
            continue
        try:
            compiled = _at(request, chosen, top, scales)
            error = request.error(compiled.program) if request.own else 0.0
        except (FormatError, LevelError):
            if not request.own:
                raise
            continue
        if error < least or best is None:
            best, least = compiled, error
        if request.precision is None or error <= request.wanted_error(compiled.program):
            return compiled, error
    if best is None:
        largest = max(request.bounds.used)
        raise LevelError(
            f"results may reach 2^{math.log2(largest):.1f}, which does not fit {chosen.name} at "
            f"{'any level' if level is None else f'level {level}'} with 2^{MIN_LOG_SCALE:.0f} of scale: scale "
            "weights or inputs down, say what layers really reach (samples=..., --samples), or choose larger first "
            "primes or a higher level"
        )
    return best, least


def _at(request: _Request, chosen: Parameters, top: int, scales: Sequence[float]) -> Compiled:
    """The program for parameters, a level of inputs, and scales."""
    context, bounds, depth = Context(chosen), request.bounds, request.depth
    steps: list[Step] = []
    choices: list[Choice] = []
    period, at = 0, top
    for i, layer in enumerate(request.model.layers):
        if isinstance(layer, Linear):
            step, choice = _linear(request, context, i, at, period, scales)
            steps.append(step)
            choices.append(choice)
            period = choice.chosen.plan.packing.row_period
        elif isinstance(layer, Polynomial):
            series = layer.on(-bounds.used[i], bounds.used[i])
            if not series[-1]:
                raise RingforgeValueError(
                    f"layer {i}, {layer!r}: for inputs up to {bounds.used[i]:g} its highest power is below what "
                    "doubles hold: take a polynomial of a lower degree, or scale the layer before it"
                )
            steps.append(
                PolynomialStep(
                    level=at,
                    coefficients=series.tolist(),
                    baby=best_baby(tuple(series.tolist())),
                    log_input_scale=scales[i],
                    log_output_scale=scales[i + 1],
                    input_bound=bounds.used[i],
                    interval=next((d.interval for d in request.beyond if d.layer == i), None),
                )
            )
        else:
            steps.append(SquareStep(level=at, log_input_scale=None if i else scales[0]))
        at -= layer_depth(layer)
    new = any(isinstance(s, PolynomialStep) or (isinstance(s, LinearStep) and s.promised is not None) for s in steps)
    program = Program(
        version=3 if new or not isinstance(steps[0], LinearStep) else 2,
        backend=request.backend,
        parameters=ParameterSpec.of(chosen),
        batch=request.batch,
        input_bound=bounds.used[0],
        steps=steps,
        features=request.features,
    )
    program.__dict__["context"] = context
    program.check()
    if request.device is not None:
        _check_device(request.device, program)
    note = (
        f"inputs enter at level {top}: the lowest of {depth} ... {chosen.max_level} that holds every result"
        if request.level is None
        else f"inputs enter at level {top}, as asked"
    )
    return Compiled(program, tuple(choices), (note, *_bound_notes(request)), bounds)


def _linear(
    request: _Request, context: Context, i: int, at: int, period: int, scales: Sequence[float]
) -> tuple[LinearStep, Choice]:
    layer, bounds = request.model.layers[i], request.bounds
    assert isinstance(layer, Linear)
    choice = choose(
        context,
        layer.rows,
        layer.cols,
        at,
        batch=request.batch,
        input_period=period,
        algorithm=request.algorithm,
        memory=request.memory,
    )
    plan = choice.chosen.plan
    sums = Matvec.sums(plan, layer.weights, layer.bias, bounds.used[i])
    step = LinearStep(
        rows=layer.rows,
        cols=layer.cols,
        span="spread" if choice.chosen.span == "spread" else "compact",
        input_period=period,
        algorithm=choice.chosen.algorithm,  # type: ignore[arg-type]
        baby=plan.baby,
        level=at,
        log_input_scale=scales[i],
        log_output_scale=scales[i + 1],
        input_bound=bounds.used[i],
        output_bound=sums.bound if bounds.promised[i] is not None else bounds.used[i + 1],
        square=sums.square,
        norm=sums.norm,
        rotated_norm=sums.rotated_norm,
        promised=bounds.promised[i],
    )
    return step, choice


def _check_device(device: Device, program: Program) -> None:
    """Refuses a program that a device does not run.

    Raises:
        ParameterError: says which step, why, and what to do.
    """
    for name, kernel in zip(step_names(program), program.kernels, strict=True):
        try:
            device.check(kernel)
        except ParameterError as e:
            raise ParameterError(f"{name} with {program.parameters.name}: {e}") from None


def _bound_notes(request: _Request) -> list[str]:
    bounds = request.bounds
    notes = [str(departure) for departure in request.beyond]
    if any(p is not None for p in bounds.promised):
        source = f"measured on {bounds.samples} samples, times {bounds.safety:g}" if bounds.samples else "promised"
        notes.append(
            f"bounds are {source}: predicted errors hold for inputs that keep them; with others results may wrap around"
        )
    return notes


# ---- parameters nobody named ----


def _search(request: _Request) -> Compiled:
    """The smallest suggested parameters that do what is asked for."""
    if not request.own and request.device is None:
        suggestion = _suggested(request)
        compiled = _with(request, suggestion.parameters)
        return replace(compiled, notes=(suggestion.why, *compiled.notes))
    found: list[tuple[float, Compiled, str]] = []
    refused: list[ParameterError | LevelError] = []
    for chosen, why in _candidates(request):
        if found and not _smaller(chosen, found):
            continue
        try:
            compiled, error = _best(request, chosen)
        except (ParameterError, LevelError) as e:
            refused.append(e)
            continue
        enough = not request.own or error <= request.wanted_error(compiled.program)
        found.append((error, replace(compiled, notes=(*([why] if why else []), *compiled.notes)), why))
        if enough:
            return found[-1][1]
    if not found:
        raise _remedied(request, refused)
    error, compiled, _ = min(found, key=lambda entry: entry[0])
    if request.precision is not None:
        raise LevelError(
            f"the best parameters there are leave an error of {error:.3g}, that is {-math.log2(error):.1f} bits after "
            f"the point, and {request.precision:g} are wanted: ask for fewer"
            + (", or hide fewer bits" if request.share_bits else "")
            + ("" if request.bounds.samples else ", or give samples of the inputs, whose bounds are lower")
        )
    return compiled


def _smaller(chosen: Parameters, found: Sequence[tuple[float, Compiled, str]]) -> bool:
    """Whether a candidate differs from all that were tried."""
    return all(list(chosen.q) != list(c.program.parameters.q) for _, c, _ in found)


def _remedied(request: _Request, refused: Sequence[ParameterError | LevelError]) -> ParameterError | LevelError:
    first = refused[0] if refused else None
    if request.device is not None:
        limit = request.device.max_degree
        small = limit is not None and parameter_sets.max_log_qp(limit.bit_length() - 1) < 100
        return ParameterError(
            f"no parameters were found that device {request.device.name} runs this model with"
            + (f": {first}. " if first is not None else ". ")
            + (
                f"Its rings, of degree {limit} at most, are below 128 bits: for tests name such a set (--params "
                "set-small --insecure WHY). "
                if small
                else ""
            )
            + "Device cpu runs every model; simulated machines run linear layers, within their limits"
        )
    return first or LevelError(f"no parameters have the {request.depth} levels that the model needs")


def _candidates(request: _Request) -> Iterator[tuple[Parameters, str]]:
    """Parameters to try, small ones first, and why."""
    slots = min(request.slots, 1 << 14)
    size = max(2, math.ceil(math.log2(max(request.bounds.used[-1], 1.0))) + 2)
    device = request.device
    limit = None if device is None else device.max_prime_bits
    degree = None if device is None else device.max_degree
    start = _LEAST_BITS
    if request.precision is not None:
        start = min(_MOST_BITS, max(4, math.ceil(request.precision)))
    for bits in range(start, _MOST_BITS + 1, 2):
        for spare in range(4):
            try:
                s = parameter_sets.suggest(request.depth + spare, bits, slots, 2 if spare else size)
            except ParameterError:
                continue
            p = s.parameters
            if degree is not None and p.degree > degree:
                break
            if limit is None or max(q.bit_length() for q in (*p.q, *p.p)) <= limit:
                yield p, s.why
    if device is not None:
        for name in parameter_sets.names():
            p = parameter_sets.named(name, "looked at, not used")
            fits = degree is None or p.degree <= degree
            if fits and p.secure and p.slots >= slots and p.max_level >= request.depth:
                yield p, f"{name}: a shipped set that {device.name} takes"


def _suggested(request: _Request) -> parameter_sets.Suggestion:
    bounds, depth, slots = request.bounds.used, request.depth, min(request.slots, 1 << 14)
    headroom = max(9, math.ceil(math.log2(bounds[-1])) + 2)
    found: list[tuple[bool, parameter_sets.Suggestion]] = []
    for spare in range(63 - depth):  # results too large for one prime end at a higher level
        try:
            suggestion = parameter_sets.suggest(depth + spare, 18, slots, 9 if spare else headroom)
        except ParameterError:
            if spare == 0:  # no prime is so large
                continue
            if not found:
                raise
            break
        p = suggestion.parameters
        fits = any(request.scales(p, top) is not None for top in range(depth, p.max_level + 1))
        found.append((fits, suggestion))
        if fits and not _wide(p):
            break
    if not found:
        raise LevelError(f"no parameters have the {depth} levels that the model needs")
    # The smallest ring, then primes of the fast size, then the fewest; if nothing fits, the error says what is short.
    return min(
        (s for fits, s in found if fits or not any(f for f, _ in found)),
        key=lambda s: (s.parameters.log_n, _wide(s.parameters), len(s.parameters.q)),
    )


def _wide(p: Parameters) -> bool:
    """Whether primes are beyond the 50 bits that kernels are fastest for."""
    return max(p.q).bit_length() > 50


def _doubt(program: Program) -> str:
    """What to say of a program whose results may be lost in errors; nothing if they are not."""
    known, error = program.foreseen, program.error_bound
    if known is None or error is None or program.backend == "clear" or error <= MAX_RELATIVE_ERROR * known.bound:
        return ""
    return (
        f"results of size up to {known.bound:.3g} may err by {error:.3g}, so little or nothing is left of them: scale "
        "the weights up and divide the decrypted results, or choose parameters with larger primes and a larger "
        "default scale"
    )


__all__ = ["Compiled", "bounds_table", "compile_inside", "compile_model", "flood_error", "step_names"]
