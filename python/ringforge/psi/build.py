# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""From a server's set to a table: PRF outputs, plan, arrays."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.parties import Progress
from ringforge.psi import oprf, planner, poly
from ringforge.psi.hashing import Bytes, room
from ringforge.psi.info import MAX_ELEMENT, MAX_LABEL, MAX_LOG_BINS, Limits, TableInfo, encode_salts
from ringforge.psi.normalise import MAX_COLUMNS, canonical, implied, normalised
from ringforge.psi.poly.plan import HASHES
from ringforge.psi.table import (
    LONGEST_LABEL,
    Allocate,
    Arrays,
    SaltsExhaustedError,
    Shape,
    check_integers,
    compile_direct,
    compile_prf,
    in_memory,
    pad_labels,
)

#: A set to build from: elements, or elements with labels. Byte strings (mode oprf) or integers (mode direct).
Elements = Iterable[bytes | int] | Mapping[bytes, bytes]

#: Elements whose PRF outputs are computed in one call.
BATCH = 1 << 14

#: Fewest elements that a table of the polynomial protocol is planned for.
LEAST_POLY = 16

#: Share of the time of building that the PRF takes, for the progress bar.
_PRF_SHARE = 0.85


@dataclass(frozen=True)
class Members:
    """The set as a table keeps it: different members, ascending.

    Args:
        values: PRF outputs (n, 64) bytes, or integers (n,) in mode direct.
        labels: one for each, or none at all.
    """

    values: npt.NDArray[Any] = field(repr=False)
    labels: list[bytes] = field(repr=False)

    def __len__(self) -> int:
        return len(self.values)

    def padded(self, length: int) -> Bytes:
        """Labels as rows (n, length)."""
        if not length:
            return np.zeros((len(self), 0), dtype=np.uint8)
        return pad_labels(self.labels or [b""] * len(self), length)


def check_elements(elements: Iterable[bytes | int]) -> Iterator[bytes]:
    """The elements of mode oprf, one by one.

    Raises:
        ringforge.ValueError: one is not bytes, or too long.
    """
    for x in elements:
        if not isinstance(x, bytes):
            raise RingforgeValueError(f"elements are byte strings in mode oprf, not {type(x).__name__}")
        if len(x) > MAX_ELEMENT:
            raise RingforgeValueError(f"an element has {len(x)} bytes; at most {MAX_ELEMENT} are allowed")
        yield x


def prf_outputs(
    key: Any, elements: Iterable[bytes | int], threads: int, progress: Progress | None = None, total: int = 0
) -> Bytes:
    """PRF outputs (n, 64) in the order of the elements, which are taken batch by batch.

    Args:
        total: the number of elements, for the progress; 0: unknown.
    """
    blocks: list[Bytes] = []
    source, done = check_elements(elements), 0
    while batch := list(islice(source, BATCH)):
        blocks.append(key.prf(batch, threads))
        done += len(batch)
        if progress and total:
            progress(done / max(total, done))
    return np.concatenate(blocks) if blocks else np.zeros((0, 64), dtype=np.uint8)


def different(prf: Bytes, labels: Sequence[bytes]) -> Members:
    """Sorted, each once; of several labels the last."""
    if len(prf) == 0:
        return Members(prf, [])
    order = np.argsort(np.ascontiguousarray(prf[:, :8]).view(">u8")[:, 0], kind="stable")
    head = np.ascontiguousarray(prf[order, :8]).view(">u8")[:, 0]
    same_head = np.flatnonzero(head[1:] == head[:-1])
    last = np.ones(len(prf), dtype=bool)
    if len(same_head):
        # Rows with one beginning are one element, up to accidents of probability n^2 / 2^65, which get this too.
        repeated: dict[bytes, int] = {}
        for at in np.unique(np.concatenate([same_head, same_head + 1])).tolist():
            row = prf[order[at]].tobytes()
            if row in repeated:
                last[repeated[row]] = False
            repeated[row] = at
        order = order[last]
    return Members(prf[order], [labels[i] for i in order.tolist()] if labels else [])


def prf_members(key: Any, elements: Elements, threads: int, progress: Progress | None = None) -> Members:
    """The set of mode oprf, with labels if `elements` is a mapping."""
    labels: list[bytes] = []
    if isinstance(elements, Mapping):
        labels = list(elements.values())
        for label in labels:
            if not isinstance(label, bytes):
                raise RingforgeValueError(f"labels are byte strings, not {type(label).__name__}")
    total = len(elements) if isinstance(elements, Sized) else 0
    return different(prf_outputs(key, elements, threads, progress, total), labels)


def compile_members(
    shape: Shape, members: Members, *, allocate: Allocate = in_memory, progress: Progress | None = None
) -> tuple[Shape, Arrays]:
    """A table with a fresh seed, which the returned shape has.

    Raises:
        ParameterError: no seed gives every bin a salt.
    """
    for _ in range(3):
        shape = replace(shape, seed=secrets.token_bytes(32)).renewed()
        if shape.mode == "direct":
            return shape, compile_direct(shape, members.values, allocate=allocate, progress=progress)
        labels = members.padded(shape.label_bytes)
        with contextlib.suppress(SaltsExhaustedError):
            return shape, compile_prf(shape, members.values, labels, allocate=allocate, progress=progress)
    raise ParameterError(
        f"no salts separate the entries of 2^{shape.log_bins} bins of 2^{shape.cell_bits} cells: build with more bins "
        "or a larger capacity"
    )


def compiled_info(info: TableInfo, shape: Shape, arrays: Arrays) -> TableInfo:
    """The info of a newer state of a table."""
    return TableInfo.model_validate(
        {
            **info.model_dump(),
            "version": 2,
            "seed": shape.seed.hex(),
            "nonce": shape.nonce.hex(),
            "salts": encode_salts(arrays.salts),
        }
    )


def compile_poly(
    fields: poly.PlanFields,
    members: Members,
    label_bytes: int,
    threads: int,
    *,
    allocate: Allocate = in_memory,
    progress: Progress | None = None,
) -> tuple[bytes, poly.Arrays]:
    """A table of the polynomial protocol, and the nonce of its labels; without labels an empty one.

    Raises:
        ParameterError: some bin takes no more elements.
    """
    nonce = secrets.token_bytes(8) if label_bytes else b""
    labels = members.padded(label_bytes) if label_bytes else None
    arrays = poly.compile_table(
        fields, members.values, labels, nonce=nonce, threads=threads, allocate=allocate, progress=progress
    )
    return nonce, arrays


def check_limit(limits: Limits | None, plan: Any) -> None:
    """Holds a plan against limits.

    Raises:
        ParameterError: it has larger requests.
    """
    if limits is not None and not limits.allow(plan.request_bytes):
        raise ParameterError(
            f"requests have {plan.request_bytes} bytes, the limit is {limits.request_bytes}: raise it, or take fewer "
            "bins"
        )


@dataclass(frozen=True)
class Built:
    """A new table with all that belongs to it."""

    info: TableInfo
    arrays: Arrays | poly.Arrays
    members: Members
    key: Any = field(repr=False)


@dataclass(frozen=True)
class BuildSpec:
    """What table to build.

    Attributes:
        mode: "oprf": any byte strings, clients need not be trusted; "direct": integers, trusted clients; "poly": oprf,
            with the algorithm "poly".
        log_bins: k; queries have 2^k bins, one for each of the client's elements.
        hashes: bins every element is put into.
        bits: b, in mode direct: elements are integers below 2^b.
        tag_bits: in mode oprf; a multiple of 8.
        label_bytes: length of the longest label, now or after updates; by default of those given. 0: no labels.
        capacity: number of elements after updates; by default the next power of two.
        algorithm: "ringforge", or "paper" for the plan of the publication: look-up of a cell; "poly": the polynomial
            protocol, in mode oprf.
        client_size: algorithm poly: elements that clients ask for at once; by default what 2^log_bins bins take.
        limits: what a client may ask for.
        normalise: how elements are written, for example "nfc,lower,strip" (`ringforge.psi.normalise`), in mode oprf.
            They are normalised here and by clients.
        columns: texts that each element joins, with U+001F between them.
        forms: of the columns' texts (`ringforge.psi.forms`), where all values of a column are of one.
        insecure: why the published look-ups may be used, whose parameters are below 128 bits; clients see it.
    """

    mode: str = "oprf"
    log_bins: int = 14
    hashes: int = 3
    bits: int = 32
    tag_bits: int = 40
    label_bytes: int | None = None
    capacity: int | None = None
    algorithm: str = "ringforge"
    client_size: int | None = None
    limits: Limits | None = None
    normalise: str = ""
    columns: int = 1
    forms: tuple[str, ...] = ()
    insecure: str = ""


def as_written(elements: Elements, steps: str, columns: int, forms: tuple[str, ...] = ()) -> Elements:
    """Elements as a table that normalises has them; labels stay with theirs.

    Raises:
        ringforge.ValueError: as `normalised`; or elements that are one when they are normalised have different labels.
    """
    if not steps and columns == 1 and not forms:
        return elements
    if not isinstance(elements, Mapping):
        written = normalised(elements, steps, columns, forms)
        return list(written) if isinstance(elements, Sized) else written
    found: dict[bytes, bytes] = {}
    for x, label in zip(normalised(elements, steps, columns, forms), elements.values(), strict=True):
        if found.setdefault(x, label) != label:  # type: ignore[arg-type]
            raise RingforgeValueError(
                f"two elements are one when they are normalised ({steps or 'by their form'}) but have different "
                "labels: keep one of them"
            )
    return found


def build(
    elements: Elements,
    spec: BuildSpec,
    *,
    threads: int,
    progress: Progress | None,
    allocate: Allocate = in_memory,
) -> Built:
    """Builds a table with a new key.

    Raises:
        as `Store.build`, but for what concerns files.
    """
    if spec.mode == "poly":
        spec = replace(spec, mode="oprf", algorithm="poly")
    mode, log_bins, hashes, bits = spec.mode, spec.log_bins, spec.hashes, spec.bits
    tag_bits, label_bytes, capacity, limits = spec.tag_bits, spec.label_bytes, spec.capacity, spec.limits
    if mode not in ("oprf", "direct"):
        raise ParameterError(f"mode {mode!r} is none: choose oprf, direct, or poly for oprf with that algorithm")
    if spec.algorithm not in ("ringforge", "paper", "poly"):
        raise ParameterError(f"algorithm {spec.algorithm!r} is none: choose ringforge, paper or poly")
    if spec.algorithm == "paper" and not spec.insecure:
        raise ParameterError(
            "the published look-ups have parameters below 128 bits: take algorithm ringforge, or state why they may be "
            'used with insecure="..."'
        )
    if spec.algorithm == "poly" and (mode == "direct" or hashes != HASHES):
        raise ParameterError(f"algorithm poly is for mode oprf and {HASHES} hash functions: leave both away")
    if spec.client_size is not None and not 1 <= spec.client_size <= 1 << 32:
        raise ParameterError(f"clients that ask for {spec.client_size} elements: 1 to 2^32 are possible")
    if not 0 <= log_bins <= MAX_LOG_BINS:
        raise ParameterError(f"2^{log_bins} bins: from 2^0 to 2^{MAX_LOG_BINS} are possible")
    if hashes not in (1, 2, 3):
        raise ParameterError(f"{hashes} hash functions: 1, 2 or 3 are possible")
    steps, columns = canonical(spec.normalise), spec.columns
    forms = implied(spec.forms, steps, columns)
    if not 1 <= columns <= MAX_COLUMNS:
        raise ParameterError(f"elements of {columns} columns: 1 to {MAX_COLUMNS} are possible")
    key = None
    if mode == "direct":
        if steps or forms or columns > 1:
            raise ParameterError("mode direct has integers, which are neither normalised nor joined: use mode oprf")
        if isinstance(elements, Mapping) or label_bytes:
            raise ParameterError("mode direct has no labels: use mode oprf")
        if not max(log_bins, 1) <= bits <= 64:
            raise ParameterError(f"elements of {bits} bits in 2^{log_bins} bins: {max(log_bins, 1)} to 64 are possible")
        members = Members(check_integers(elements, bits), [])
        bits_used, tag_bits, sealed, fill = bits, 0, 0, False
    else:
        if not 32 <= tag_bits <= 64 or tag_bits % 8:
            raise ParameterError(f"tags of {tag_bits} bits: 32, 40, 48, 56 or 64 are possible")
        key = oprf.ServerKey.random()
        elements = as_written(elements, steps, columns, forms)
        members = prf_members(key, elements, threads, part(progress, 0.0, _PRF_SHARE))
        longest = max(map(len, members.labels), default=0)
        fill = label_bytes is None and bool(members.labels)
        if label_bytes is None:
            label_bytes = longest if members.labels else 0
            sealed = label_bytes + 1 if members.labels else 0
        else:
            sealed = label_bytes + 1 if label_bytes else 0
        if label_bytes > LONGEST_LABEL:
            raise ParameterError(
                f"labels of {label_bytes:,} bytes: {LONGEST_LABEL:,} are the most; a number can stand for what is "
                "longer"
            )
        if longest > label_bytes:
            raise ParameterError(f"a label has {longest} bytes, label_bytes says {label_bytes}: raise it, or shorten")
        bits_used = 0
    count = max(len(members), 1)
    if capacity is not None and capacity < len(members):
        raise ParameterError(f"{len(members)} elements exceed the capacity {capacity}: raise it, or leave it away")
    rounded = 1 << (max(count, capacity or 0) - 1).bit_length()
    if spec.algorithm == "poly":
        done = part(progress, _PRF_SHARE, 1.0)
        found = _build_poly(
            spec, members, rounded, sealed, key, fill=fill, threads=threads, allocate=allocate, progress=done
        )
        return replace(
            found, info=found.info.model_copy(update={"normalise": steps, "columns": columns, "forms": forms})
        )
    fields = planner.choose(mode, rounded, log_bins, tag_bits, sealed, hashes, bits_used, spec.algorithm)
    if spec.algorithm == "paper":
        fields = fields.model_copy(update={"insecure": spec.insecure})
    plan = fields.native()
    if fill:
        # All that the cells have room for: the length of the longest label stays the server's, up to its class.
        room_bits = planner.parts(fields, tag_bits, sealed) * (fields.log_t << fields.log_cell)
        sealed = min((room_bits - tag_bits) // 8, MAX_LABEL)
    check_limit(limits, plan)
    shape = Shape(
        mode,
        bits_used,
        log_bins,
        hashes,
        fields.cell_bits,
        fields.log_cell,
        fields.log_t,
        tag_bits,
        sealed,
        b"",
        parts=planner.parts(fields, tag_bits, sealed),
    )
    share = _PRF_SHARE if mode == "oprf" else 0.0
    shape, arrays = compile_members(shape, members, allocate=allocate, progress=part(progress, share, 1.0))
    info = TableInfo(
        mode="direct" if mode == "direct" else "oprf",
        element_bits=bits_used,
        capacity=rounded,
        hashes=hashes,
        tag_bits=tag_bits,
        label_bytes=sealed,
        seed=shape.seed.hex(),
        nonce=shape.nonce.hex(),
        normalise=steps,
        columns=columns,
        forms=forms,
        salts=encode_salts(arrays.salts),
        plan=fields,
        plan_hash=bytes(plan.hash).hex(),
        limits=limits or Limits(request_bytes=plan.request_bytes),
    )
    return Built(info, arrays, members, key)


def _build_poly(
    spec: BuildSpec,
    members: Members,
    capacity: int,
    sealed: int,
    key: Any,
    *,
    fill: bool,
    threads: int,
    allocate: Allocate,
    progress: Progress | None,
) -> Built:
    """A table of the polynomial protocol for so many elements and bytes of sealed labels; fill: labels get all that the
    plan has room for, so that the length of the longest one stays the server's."""
    capacity = max(capacity, LEAST_POLY)
    wanted = spec.client_size or room(1 << spec.log_bins, HASHES)
    suggested = poly.suggest(capacity, wanted, label_bytes=sealed)
    plan = suggested.native
    check_limit(spec.limits, plan)
    if fill:
        sealed = min(int(plan.label_bytes), MAX_LABEL)
    nonce, arrays = compile_poly(suggested.fields, members, sealed, threads, allocate=allocate, progress=progress)
    info = TableInfo(
        mode="oprf",
        element_bits=0,
        capacity=capacity,
        hashes=HASHES,
        tag_bits=0,
        label_bytes=sealed,
        seed=secrets.token_hex(32),
        nonce=nonce.hex(),
        plan=suggested.fields,
        plan_hash=bytes(plan.hash).hex(),
        limits=spec.limits or Limits(request_bytes=plan.request_bytes),
    )
    return Built(info, arrays, members, key)


def part(progress: Progress | None, first: float, last: float) -> Progress | None:
    """A progress for one stage of a longer work."""
    if progress is None:
        return None
    whole = progress
    return lambda f: whole(first + (last - first) * f)
