# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Refusals of arguments by the native module, in words: the argument, its kind, and the kind that is needed.

The native module calls `explained` where none of a function's signatures fits. Values are not shown: they may be
secret.
"""

from __future__ import annotations

import math
import numbers
import operator
import re
import sys
from collections.abc import Iterable
from typing import Any

from ringforge.errors import ParameterError

_Parameter = tuple[str, str, bool]


def explained(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
    """Return the exception for a call that no signature of a native function fits.

    Returns:
        a ParameterError where a whole number is out of range; else a TypeError.
    """
    overloads = [_parameters(s[0]) for s in function.__nb_signature__]
    method = bool(overloads[0]) and overloads[0][0][0] == "self"
    name = _name(function)
    if method:
        args, overloads = args[1:], [o[1:] for o in overloads]
    found = [_problem(o, args, kwargs) for o in overloads]
    # The overload that goes furthest is the one that was meant.
    _, problem, out_of_range = max(found, key=lambda f: f[0])
    if out_of_range:
        return ParameterError(f"{name}: {problem}")
    return TypeError(f"{name}: {problem}")


def whole(value: Any, what: str, least: int = 0, most: int | None = None) -> int:
    """Return a whole number that a caller gives as an option, not one of the data.

    Args:
        value: an int, one of numpy's, or whatever else is an index.
        what: the option, for the message.
        least, most: the range; None: no end.

    Raises:
        ParameterError: it is no whole number, or outside the range.
    """
    if _is_array(value) or not _is_whole(value):
        raise ParameterError(f"{what} is {_described(value)}: a whole number is needed")
    number = operator.index(value)
    if number < least or (most is not None and number > most):
        raise ParameterError(
            f"{what} is {number}: {f'{least} to {most}' if most is not None else f'{least} or more'} is needed"
        )
    return number


def positive(value: Any, what: str) -> float:
    """Return a number above 0 that a caller gives as an option, not one of the data.

    Raises:
        ParameterError: it is no number, not positive, or not finite.
    """
    if not isinstance(value, numbers.Real):
        raise ParameterError(f"{what} is {_described(value)}: a number above 0 is needed")
    found = float(value)
    if not 0 < found < math.inf:
        raise ParameterError(f"{what} must be positive and finite, not {value}")
    return found


def _name(function: Any) -> str:
    """Return the function's name as users know it: a class for its constructor."""
    qualified = str(getattr(function, "__qualname__", function.__name__))
    return qualified.removesuffix(".__init__").removesuffix(".__new__")


def _parameters(signature: str) -> list[_Parameter]:
    """Return names, annotations and whether there is a default, of a signature as stubs have it."""
    inner = signature[signature.index("(") + 1 : signature.rindex(")" + (" ->" if " ->" in signature else ""))]
    parts, depth, start = [], 0, 0
    for i, c in enumerate(inner + ","):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(inner[start:i].strip())
            start = i + 1
    out = []
    for part in parts:
        if part in ("", "/", "*") or part.startswith("*"):
            continue
        name, _, rest = part.partition(": ")
        annotation, default, _ = rest.partition(" = ")
        out.append((name.partition(" = ")[0], annotation, bool(default) or " = " in name))
    return out


def _problem(parameters: list[_Parameter], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, str, bool]:
    """Return how many arguments fit, what is wrong with the next, and whether it is only out of range."""
    known = [name for name, _, _ in parameters]
    if len(args) > len(parameters):
        return 0, f"{_count(len(args), 'argument')} given, and it takes {len(parameters)}: {_listed(parameters)}", False
    given = dict(zip(known, args, strict=False))
    for name, value in kwargs.items():
        if name not in known:
            return 0, f"it takes no argument {name!r}: {_listed(parameters)}", False
        given[name] = value
    for fitting, (name, annotation, default) in enumerate(parameters):
        if name not in given:
            if default:
                continue
            return fitting, f"the argument {_shown(name)} is missing: it takes {_listed(parameters)}", False
        needed = _lacks(given[name], annotation)
        if needed:
            return fitting, f"{_shown(name)} is {_described(given[name])}; {needed} is needed", False
    for name, annotation, _ in parameters:
        if name in given:
            wrong = _out_of_range(given[name], annotation)
            if wrong:
                return len(parameters), f"{_shown(name)} {wrong}", True
    kinds = ", ".join(_described(v) for v in given.values()) or "none"
    return len(parameters), f"it does not take these arguments ({kinds}): it takes {_listed(parameters)}", False


def _shown(name: str) -> str:
    """Return a parameter's name; those without one have their number."""
    number = re.fullmatch(r"arg(\d*)", name)
    return f"argument {int(number[1] or 0) + 1}" if number else name


def _listed(parameters: list[_Parameter]) -> str:
    return ", ".join(f"{_shown(n)}{' (optional)' if default else ''}" for n, _, default in parameters) or "none"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def _described(value: Any) -> str:
    """Return the kind of a value, never the value."""
    if value is None:
        return "None"
    if _is_array(value):
        return f"an array of {value.dtype}, shape {value.shape}"
    name = type(value).__name__
    return f"{'an' if name[:1] in 'aeiouAEIOU' else 'a'} {name}"


def _without_none(annotation: str) -> tuple[str, bool]:
    return annotation.removesuffix(" | None"), annotation.endswith(" | None")


def _is_array(value: Any) -> bool:
    """Return whether a value is one of numpy's arrays; numpy is not imported for the question."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _is_whole(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _element(annotation: str) -> str | None:
    """Return the annotation of a sequence's elements, if it is one of a sequence."""
    found = re.fullmatch(r"(?:collections\.abc\.(?:Sequence|Iterable)|list|tuple)\[(.*?)(?:, \.\.\.)?\]", annotation)
    return found[1] if found else None


def _lacks(value: Any, annotation: str) -> str:
    """Return what is needed where a value is not of an annotated kind; empty where it is, or where nobody can tell."""
    wanted, optional = _without_none(annotation)
    if value is None:
        if optional or wanted in ("object", "None"):
            return ""
        return _array_lacks(value, wanted) if wanted.startswith(("ndarray", "numpy")) else _phrase(wanted)
    if wanted == "int":
        return "" if _is_whole(value) else _phrase(wanted)
    if wanted == "float":
        fits = hasattr(value, "__float__")
        return "" if fits else _phrase(wanted)
    if wanted in ("str", "bool", "bytes"):
        return "" if type(value).__name__ == wanted or (wanted == "str" and isinstance(value, str)) else _phrase(wanted)
    if wanted.startswith(("ringforge._native.", "_native.")):
        names = [f"{t.__module__}.{t.__qualname__}" for t in type(value).__mro__]
        return "" if any(n.endswith(wanted) for n in names) else _phrase(wanted)
    if wanted.startswith(("ndarray", "numpy")):
        return _array_lacks(value, wanted)
    if wanted.startswith("collections.abc.Callable"):
        return "" if callable(value) else _phrase(wanted)
    element = _element(wanted)
    if element is not None:
        if isinstance(value, str | bytes) or not isinstance(value, Iterable):
            return _phrase(wanted)
        if isinstance(value, list | tuple):
            return next(
                (f"{_phrase(wanted)}, with {needed} in it," for v in value if (needed := _lacks(v, element))), ""
            )
    return ""


def _array_lacks(value: Any, wanted: str) -> str:
    """Return what is needed where a value is no array of an annotated kind."""
    dtype = re.search(r"dtype=(\w+)|numpy\.(\w+\d)\]", wanted)
    shape = re.search(r"shape=\(([^)]*)\)", wanted)
    needed = "an array"
    if dtype:
        needed += f" of {dtype[1] or dtype[2]}"
    if shape:
        needed += f" with {_count(len([x for x in shape[1].split(',') if x.strip()]), 'axis').replace('axiss', 'axes')}"
    if "order='C'" in wanted:
        needed += ", contiguous"
    if not _is_array(value):
        return needed
    fits = (
        (not dtype or value.dtype == sys.modules["numpy"].dtype(dtype[1] or dtype[2]))
        and (not shape or value.ndim == len([x for x in shape[1].split(",") if x.strip()]))
        and ("order='C'" not in wanted or value.flags.c_contiguous)
        and (value.flags.writeable or "writable=False" in wanted)
    )
    return "" if fits else needed


def _out_of_range(value: Any, annotation: str) -> str:
    """Return what is wrong with a whole number, or one in a sequence, that no machine word of the kind holds."""
    wanted, _ = _without_none(annotation)
    element = _element(wanted)
    if element is not None and isinstance(value, list | tuple):
        return next((f"has a number that {w}" for v in value if (w := _out_of_range(v, element))), "")
    if wanted != "int" or value is None:
        return ""
    number = operator.index(value)
    if number < 0:
        return "is negative: a whole number from 0 on is needed"
    if number >= 1 << 31:
        return f"is a number of {number.bit_length()} bits, which is above the largest that it may be"
    return ""


def _phrase(wanted: str) -> str:
    """Return what an annotation stands for, in words."""
    element = _element(wanted)
    if element is not None:
        return f"a list ({_phrase(element)} each)"
    if wanted.startswith("collections.abc.Callable"):
        return "a function"
    words = {
        "int": "a whole number",
        "float": "a number",
        "str": "text",
        "bool": "True or False",
        "bytes": "bytes",
    }
    name = wanted.rpartition(".")[2]
    return words.get(wanted, f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}")
