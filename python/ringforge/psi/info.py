# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a server tells everybody of its table. Public, and validated like any foreign input."""

from __future__ import annotations

import base64
import contextlib
import hashlib
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationError, field_validator, model_validator

from ringforge import _native
from ringforge.bytes_form import File, Portable, reading, write
from ringforge.errors import FormatError, MismatchError, ParameterError
from ringforge.programs import Frozen, first_problem
from ringforge.psi import poly
from ringforge.psi.forms import FORMS
from ringforge.psi.normalise import MAX_COLUMNS, canonical
from ringforge.psi.poly.plan import HASHES
from ringforge.psi.table import LONGEST_LABEL

Mode = Literal["oprf", "direct"]
Algorithm = Literal["ringforge", "paper"]

#: What a client may insist on: a mode, or the polynomial protocol, whose tables are of mode oprf.
AskedMode = Literal["oprf", "direct", "poly"]

#: Bytes of an info on the wire. The salts of 2^20 bins are 2.8 million characters.
MAX_INFO = 1 << 22

#: Bytes of an element in mode oprf (RFC 9497 has two bytes for the length).
MAX_ELEMENT = 65535

#: Bytes of a sealed label: one more than the longest label.
MAX_LABEL = LONGEST_LABEL + 1

#: Bins are cut from a word of 64 bits, one piece of 21 bits for each hash function.
MAX_LOG_BINS = 20


class CutFields(Frozen):
    """A gadget: `count` digits to base 2^log_base, around 0 if balanced, above `drop` bits that are rounded away."""

    log_base: Annotated[int, Field(ge=1, le=32)]
    count: Annotated[int, Field(ge=1, le=64)]
    drop: Annotated[int, Field(ge=0, le=63)]
    balanced: bool = True

    def native(self) -> Any:
        return _native.fhew.Cut(log_base=self.log_base, count=self.count, drop=self.drop, balanced=self.balanced)


class PlanFields(Frozen):
    """The constructor fields of the native plan: ring, gadgets, shape of the table."""

    algorithm: Algorithm
    log_n: Annotated[int, Field(ge=4, le=16)]
    modulus: Annotated[int, Field(ge=3, lt=1 << 63)]
    log_bins: Annotated[int, Field(ge=0, le=MAX_LOG_BINS)]
    cell_bits: Annotated[int, Field(ge=1, le=32)]
    log_cell: Annotated[int, Field(ge=0, le=16)]
    log_t: Annotated[int, Field(ge=1, le=16)]
    log_onehot: Annotated[int, Field(ge=0, le=16)]
    gadget: CutFields
    expansion: Annotated[list[CutFields], Field(max_length=64)]
    reconstruction: CutFields | None = None
    log_reply: Annotated[int, Field(ge=0, le=63)]
    insecure: Annotated[str, Field(max_length=256)] = ""

    def native(self) -> Any:
        """The native plan.

        Raises:
            ParameterError: the fields do not go together, or protect less than they must.
        """
        return _native.psi.Plan(
            algorithm=self.algorithm,
            log_n=self.log_n,
            modulus=self.modulus,
            log_bins=self.log_bins,
            cell_bits=self.cell_bits,
            log_cell=self.log_cell,
            log_t=self.log_t,
            log_onehot=self.log_onehot,
            gadget=self.gadget.native(),
            expansion=[c.native() for c in self.expansion],
            reconstruction=None if self.reconstruction is None else self.reconstruction.native(),
            log_reply=self.log_reply,
            insecure=self.insecure,
        )


class Limits(Frozen):
    """What one client may ask for: bytes of a request, and PRF evaluations and bins (dummies too) in a day.

    A request is counted without header and checksum.
    """

    request_bytes: Annotated[int, Field(ge=1, le=1 << 40)] = 1 << 30
    prf_per_day: Annotated[int, Field(ge=0, le=1 << 40)] = 1 << 20
    bins_per_day: Annotated[int, Field(ge=0, le=1 << 40)] = 1 << 24

    def allow(self, request_bytes: int) -> bool:
        """Whether a request of so many bytes in all is within the limit."""
        return request_bytes - _native.io.FRAME_BYTES <= self.request_bytes


class TableInfo(Portable, Frozen):
    """Everything a client must know to ask.

    `element_bits` is b in mode direct and 0 in mode oprf. `capacity` is the number of elements the table was
    planned for, a power of two: it does not tell the exact number, which clients of a polynomial table can find out by
    other means (docs/psi.md, "Who learns what"). `label_bytes` counts the bytes of a sealed label,
    one more than the longest label can have; 0: no labels. `seed` (32 bytes) is random;
    `salts` are 2 bytes for each bin, little-endian, in mode oprf, base64. `nonce` (8 bytes) is random for each state
    of a table with labels, and part of what seals them; tables of version 1 have none and seal by their seed.
    Tables of the polynomial protocol (`plan.algorithm` "poly") are of mode oprf, without salts and with `tag_bits` 0.
    `normalise`, `columns` and `forms` (one for each column, or none at all) say how elements are written
    (`ringforge.psi.normalise`, `ringforge.psi.forms`); none is written while it says nothing.
    """

    format: Literal["ringforge-psi-table"] = "ringforge-psi-table"
    version: Literal[1, 2] = 2
    mode: Mode
    element_bits: Annotated[int, Field(ge=0, le=64)]
    capacity: Annotated[int, Field(ge=1, le=1 << 32)]
    hashes: Annotated[int, Field(ge=1, le=3)]
    tag_bits: Annotated[int, Field(ge=0, le=64, multiple_of=8)]
    label_bytes: Annotated[int, Field(ge=0, le=MAX_LABEL)]
    seed: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    salts: Annotated[str, Field(max_length=(1 << MAX_LOG_BINS) * 2 * 4 // 3 + 4)] = ""
    nonce: Annotated[str, Field(pattern="^([0-9a-f]{16})?$")] = ""
    normalise: Annotated[str, Field(max_length=64)] = ""
    columns: Annotated[int, Field(ge=1, le=MAX_COLUMNS)] = 1
    forms: Annotated[tuple[str, ...], Field(max_length=MAX_COLUMNS)] = ()
    plan: Annotated[PlanFields | poly.PlanFields, Field(discriminator="algorithm")]
    plan_hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    limits: Limits = Limits()

    # ---- checks ----

    @field_validator("normalise")
    @classmethod
    def _known_steps(cls, steps: str) -> str:
        with contextlib.suppress(ParameterError):
            if canonical(steps) == steps:
                return steps
        raise ValueError("elements are normalised in a way that this release does not know")

    @field_validator("forms")
    @classmethod
    def _known_forms(cls, forms: tuple[str, ...]) -> tuple[str, ...]:
        if any(form not in ("", *FORMS) for form in forms):
            raise ValueError("elements are of a form that this release does not know")
        return forms

    @model_validator(mode="after")
    def _texts(self) -> TableInfo:
        if self.mode == "direct" and (self.normalise or self.forms or self.columns > 1):
            raise ValueError("mode direct has integers, which are neither normalised nor joined")
        if self.forms and len(self.forms) != self.columns:
            raise ValueError(f"{len(self.forms)} forms, where elements have {self.columns} columns")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> TableInfo:
        """Holds the fields against each other; messages name the fields, no values of the server's set."""
        if bool(self.nonce) != (self.version > 1 and self.label_bytes > 0):
            raise ValueError("a nonce belongs to labels, in tables of version 2")
        if self.capacity & (self.capacity - 1):
            raise ValueError(f"capacity {self.capacity} is no power of two")
        if isinstance(self.plan, poly.PlanFields):
            self._consistent_poly(self.plan)
        else:
            self._consistent_lookup(self.plan)
        return self

    def _consistent_poly(self, plan: poly.PlanFields) -> None:
        if self.mode != "oprf" or self.version < 2 or self.hashes != HASHES:
            raise ValueError(f"the polynomial protocol is for mode oprf, version 2, {HASHES} hash functions")
        if self.element_bits or self.tag_bits or self.salts:
            raise ValueError("the polynomial protocol has no element_bits, tags or salts")
        if not 1 <= plan.bins <= 1 << MAX_LOG_BINS:
            raise ValueError(f"{plan.bins} bins: from 1 to 2^{MAX_LOG_BINS} are possible")

    def _consistent_lookup(self, plan: PlanFields) -> None:
        k = plan.log_bins
        if self.mode == "direct":
            need = self.element_bits - k + (self.hashes - 1).bit_length()
            if self.element_bits < max(k, 1):
                raise ValueError(f"elements of {self.element_bits} bits cannot fill 2^{k} bins")
            if plan.cell_bits < need or plan.log_cell != 0:
                raise ValueError(f"a cell needs {need} bits and one word in mode direct")
            if self.tag_bits or self.label_bytes or self.salts:
                raise ValueError("mode direct has no tags, labels or salts")
        else:
            if self.element_bits:
                raise ValueError("element_bits is 0 in mode oprf")
            if self.tag_bits < 32:
                raise ValueError(f"tags of {self.tag_bits} bits: at least 32 are needed")
            have = plan.log_t << plan.log_cell
            if have < self.tag_bits:
                raise ValueError(f"a cell has room for {have} bits, the tag needs {self.tag_bits}")
            try:
                raw = base64.b64decode(self.salts, validate=True)
            except ValueError:
                raise ValueError("the salts are not base64") from None
            if len(raw) != 2 << k:
                raise ValueError(f"{len(raw)} bytes of salts, where 2^{k} bins have {2 << k}")

    # ---- derived ----

    @property
    def bins(self) -> int:
        """Bins of a query."""
        return self.plan.bins if isinstance(self.plan, poly.PlanFields) else 1 << self.plan.log_bins

    @property
    def parts(self) -> int:
        """Answers to one request: several where a cell has no room for tag and label, which follow each other then."""
        if isinstance(self.plan, poly.PlanFields) or self.mode == "direct":
            return 1
        return max(1, -(-(self.tag_bits + 8 * self.label_bytes) // (self.plan.log_t << self.plan.log_cell)))

    @property
    def words(self) -> int:
        """Words per cell, those of all parts; 0 where there are no cells."""
        return 0 if isinstance(self.plan, poly.PlanFields) else self.parts << self.plan.log_cell

    def reply_bytes(self, plan: Any) -> int:
        """Return the bytes of a reply, all parts of it, by the native plan."""
        return self.parts * int(plan.reply_bytes)

    @property
    def seed_bytes(self) -> bytes:
        return bytes.fromhex(self.seed)

    @property
    def salt_array(self) -> npt.NDArray[np.uint16]:
        """Salts (2^k,); empty in mode direct. Read-only."""
        return np.frombuffer(base64.b64decode(self.salts), dtype="<u2").astype(np.uint16, copy=False)

    def native(self) -> Any:
        """The native plan.

        Raises:
            MismatchError: its hash is another one than the info says. ParameterError: the fields are refused.
        """
        plan = self.plan.native()
        if plan.hash.hex() != self.plan_hash:
            raise MismatchError(
                f"the server's plan has the hash {self.plan_hash[:16]}..., here it is {plan.hash.hex()[:16]}...: "
                "server and client need the same release of ringforge"
            )
        if isinstance(self.plan, poly.PlanFields) and self.label_bytes > plan.label_bytes:
            raise ParameterError(
                f"the table's labels have {self.label_bytes} bytes, its plan has room for {plan.label_bytes}: its "
                "operator must build it again"
            )
        return plan

    def digest(self) -> str:
        """SHA-256 (hexadecimal) of all but the limits: two infos with one digest answer the same queries."""
        return hashlib.sha256(self.model_dump_json(exclude={"limits"} | self._unsaid()).encode()).hexdigest()

    # ---- on the wire ----

    def save(self, path: File) -> None:
        """Write what `to_json` gives to a file's name or to an open binary file."""
        write(path, [self.to_json()])

    @classmethod
    def load(cls, path: File) -> TableInfo:
        """Read what `save` wrote. Raises as `from_json`."""
        with reading(path) as (f, _):
            return cls.from_json(f.read())

    def to_json(self) -> bytes:
        return self.model_dump_json(exclude=self._unsaid()).encode()

    def _unsaid(self) -> set[str]:
        """Fields that older releases do not know, while they say nothing."""
        return {
            name
            for name, nothing in (("normalise", ""), ("columns", 1), ("forms", ()))
            if getattr(self, name) == nothing
        }

    @classmethod
    def from_json(cls, data: bytes) -> TableInfo:
        """Reads what `to_json` wrote.

        Raises:
            FormatError: too long, no JSON, or not the description of a table.
        """
        if len(data) > MAX_INFO:
            raise FormatError(f"{len(data)} bytes describe the table; at most {MAX_INFO} are read")
        try:
            return cls.model_validate_json(data)
        except ValidationError as e:
            raise FormatError(f"not the description of a table: {first_problem(e)}") from None

    def with_limits(self, limits: Limits) -> TableInfo:
        return self.model_copy(update={"limits": limits})


def encode_salts(salts: npt.NDArray[np.uint16]) -> str:
    return base64.b64encode(salts.astype("<u2").tobytes()).decode()
