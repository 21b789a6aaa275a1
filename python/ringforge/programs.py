# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What program files of all systems have in common: strict fields, parameters, and how they are read."""

from __future__ import annotations

import copy
import json
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ringforge._native import Parameters
from ringforge.bytes_form import File, reading
from ringforge.errors import FormatError
from ringforge.files import first_line
from ringforge.unique import once_each

#: Bytes of a program file.
MAX_FILE = 1 << 22


class Frozen(BaseModel):
    """A part of a program: immutable, without fields that nobody knows, without infinities."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return a copy of the fields, without what was derived from them and kept."""
        fields = {name: copy.deepcopy(getattr(self, name), memo) for name in type(self).model_fields}
        return type(self).model_construct(set(self.model_fields_set), **fields)


#: What fits a word; whether it is a prime, `Parameters` says.
Prime = Annotated[int, Field(gt=1, lt=1 << 64)]


class ParameterSpec(Frozen):
    """A parameter set in a program file."""

    name: Annotated[str, Field(max_length=64)]
    log_n: Annotated[int, Field(ge=10, le=17)]
    q: Annotated[list[Prime], Field(min_length=1, max_length=64)]
    p: Annotated[list[Prime], Field(min_length=1, max_length=16)]
    limbs_per_digit: Annotated[int, Field(ge=1, le=64)]
    log_scale: float
    insecure: Annotated[str, Field(max_length=256)]

    @classmethod
    def of(cls, p: Parameters) -> ParameterSpec:
        return cls(
            name=p.name,
            log_n=p.log_n,
            q=p.q,
            p=p.p,
            limbs_per_digit=p.limbs_per_digit,
            log_scale=p.log_scale,
            insecure=p.insecure,
        )

    def parameters(self) -> Parameters:
        return Parameters(**self.model_dump())


Kind = TypeVar("Kind", bound=BaseModel)


def read_program(kind: type[Kind], path: File) -> Kind:
    """Read a JSON file, by its name or open, into a model. The caller still holds its parts against each other.

    Raises:
        FormatError: it is too large, no JSON, or not of this kind.
    """
    with reading(path, MAX_FILE) as (f, name):
        data = f.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise FormatError(f"{name} has more than {MAX_FILE} bytes; a program has at most so many")
    try:
        return kind.model_validate(json.loads(data, object_pairs_hook=once_each))
    except ValidationError as e:
        raise FormatError(f"{name} is not a program: {first_problem(e)}") from None
    except (ValueError, RecursionError) as e:  # numbers of thousands of digits too
        raise FormatError(f"{name} is not a program: {first_line(e)}") from None


def first_problem(error: ValidationError) -> str:
    """Where the first problem is, and what it is; without the value."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"
