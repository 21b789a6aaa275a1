# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Public types of the native module as bytes, in pickles and as copies.

Parameters and contexts say all of themselves, so that pickles have them. Ciphertexts and keys do not say their
parameters: `x.to_bytes(context)` and `from_bytes(data, context)` move them. These never change, so that a copy is the
object itself; of Galois keys together a copy is another list of the same keys. What is left (evaluators, tables,
plans) is made anew where it is needed, and says so.
"""

from __future__ import annotations

import copyreg
import enum
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

from ringforge import _native
from ringforge.errors import FormatError, MismatchError, ParameterError
from ringforge.native_types import types_of

if TYPE_CHECKING:
    from ringforge.bytes_form import Bytes, File

#: By scheme: its module, and what its parameters are made of.
_SCHEMES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "ckks": (_native, ("name", "log_n", "q", "p", "limbs_per_digit", "log_scale", "insecure")),
    "bfv": (_native.bfv, ("name", "log_n", "t", "q", "p", "limbs_per_digit", "insecure")),
    "bgv": (_native.bgv, ("name", "m", "q", "p", "limbs_per_digit", "insecure")),
    "ltv": (_native.ltv, ("m", "q", "insecure", "drop", "gadget", "window", "name", "ring")),
}

#: Objects that belong to a context.
_OF_CONTEXT = (
    *(_native.Ciphertext, _native.Plaintext, _native.PublicKey, _native.RelinKey, _native.GaloisKey),
    *(_native.bfv.Ciphertext, _native.bfv.Plaintext, _native.bgv.Ciphertext),
    *(_native.ltv.Ciphertext, _native.ltv.PublicKey, _native.ltv.EvalKey),
)

# ---- parameters and contexts ---------------------------------------------------------------------


def _fields(scheme: str, p: Any) -> tuple[Any, ...]:
    values = (getattr(p, name) for name in _SCHEMES[scheme][1])
    return tuple(tuple(v) if isinstance(v, list) else v for v in values)


def parameters(scheme: str, fields: tuple[Any, ...]) -> Any:
    """Return the parameters of a pickle."""
    module, names = _SCHEMES[scheme]
    return module.Parameters(**dict(zip(names, fields, strict=True)))


@lru_cache(maxsize=8)
def context(scheme: str, fields: tuple[Any, ...], security: int | None) -> Any:
    """Return the context of a pickle: one for all who ask."""
    made = parameters(scheme, fields)
    return _SCHEMES[scheme][0].Context(made, *(() if security is None else (security,)))


def gate_parameters(name: str, insecure: str, parameter_hash: bytes) -> Any:
    """Return the parameters of gates of a pickle.

    Raises:
        MismatchError: this release has another set of this name.
    """
    found = _native.fhew.parameters(name, insecure)
    if found.hash != parameter_hash:
        raise MismatchError(f'the set "{name}" is another one here: take the same release of Ringforge on both sides')
    return found


def _gate_fields(p: Any) -> tuple[Any, ...]:
    try:
        gate_parameters(p.name, p.insecure, p.hash)
    except (MismatchError, ParameterError):
        raise TypeError(
            "parameters of gates that are no shipped set are not pickled: make them in the other process as here"
        ) from None
    return gate_parameters, (p.name, p.insecure, p.hash)


def _register_parameters() -> None:
    for scheme, (module, _) in _SCHEMES.items():
        secured = scheme in ("bfv", "bgv")

        def of_parameters(p: Any, scheme: str = scheme) -> tuple[Any, ...]:
            return parameters, (scheme, _fields(scheme, p))

        def of_context(c: Any, scheme: str = scheme, secured: bool = secured) -> tuple[Any, ...]:
            return context, (scheme, _fields(scheme, c.params), c.rules.security if secured else None)

        for kind, reduce in ((module.Parameters, of_parameters), (module.Context, of_context)):
            copyreg.pickle(kind, reduce)
            _unchanging(kind)
    copyreg.pickle(_native.fhew.GateParameters, _gate_fields)
    copyreg.pickle(_native.BinarySlots, lambda slots: (_native.BinarySlots, (slots.index,)))
    for kind in (_native.fhew.GateParameters, _native.BinarySlots):
        _unchanging(kind)


def _unchanging(kind: Any) -> None:
    kind.__copy__ = lambda self: self
    kind.__deepcopy__ = lambda self, memo: self  # noqa: ARG005


# ---- ciphertexts and keys ------------------------------------------------------------------------


def _context_of(owner: Any, what: str) -> tuple[Any, str]:
    """Return a context, or that of a session, a client or a program, and its scheme."""
    found = getattr(owner, "context", owner)
    for scheme, (module, _) in _SCHEMES.items():
        if isinstance(found, module.Context):
            return found, scheme
    raise ParameterError(f"{what} needs the context, or what has one, such as a session: not {type(owner).__name__}")


def _to_bytes(self: Any, context: Any) -> bytes:
    """Return the object as a record (docs/formats.md).

    Args:
        context: of its parameters, or an object that has it: a session, a program.

    Raises:
        ParameterError: no context. MismatchError: a context of other parameters.
    """
    found, scheme = _context_of(context, "to_bytes")
    try:
        return bytes(_native.io.to_bytes(found, self))
    except TypeError:
        raise MismatchError(f"a {_name(type(self))} has no context of {scheme}: take its own") from None


def _save(self: Any, path: File, context: Any) -> int:
    """Write what `to_bytes` gives to a new file or an open binary file; return the number of bytes."""
    from ringforge.bytes_form import write

    return write(path, [_to_bytes(self, context)])


def _from_bytes(kind: Any, data: Bytes, context: Any) -> Any:
    """Read and check what `to_bytes` gave.

    Raises:
        ParameterError: no bytes, or no context. FormatError: damaged, cut off, or something else. MismatchError: it is
        of other parameters.
    """
    from ringforge.bytes_form import content

    found, scheme = _context_of(context, "from_bytes")
    record = content(data).read()
    module, what = _SCHEMES[scheme][0], kind.__name__
    shared = (_native.PublicKey, _native.RelinKey, _native.GaloisKey) if scheme != "ltv" else ()
    if getattr(module, what, None) is not kind and kind not in shared:
        raise MismatchError(f"a {_name(kind)} has no context of {scheme}: take its own")
    if scheme == "ltv" and kind is not module.Ciphertext:
        return _by_reader(record, found, "public_key" if kind is module.PublicKey else "eval_key")
    names = {"RelinKey": "relin_key", "GaloisKey": "galois_key", "PublicKey": "public_key"}
    return getattr(_native.io, f"{names.get(what, what.lower())}_from_bytes")(record, found)


def _by_reader(record: bytes, found: Any, method: str) -> Any:
    from ringforge.bytes_form import as_path, content

    with as_path(content(record)) as path:
        reader = _native.io.Reader(str(path))
        made = getattr(reader, method)(found)
        if not reader.at_end():
            raise FormatError("bytes follow the object: the file is damaged, copy it again")
        return made


def _load(kind: Any, path: File, context: Any) -> Any:
    """Read and check what `save` wrote, as `from_bytes`."""
    from ringforge.bytes_form import reading

    with reading(path) as (f, _):
        return _from_bytes(kind, f.read(), context)


def _name(kind: Any) -> str:
    """Return a native type's name for people."""
    inside = kind.__module__.removeprefix(f"{_native.__name__}").strip(".")
    return f"{inside or 'ckks'}.{kind.__name__}"


def _not_alone(self: Any, _: int) -> NoReturn:
    """Refuse pickles of what does not say its parameters."""
    name = type(self).__name__
    raise TypeError(
        f"a {_name(type(self))} does not say its parameters, so it is not pickled by itself: data = "
        f"x.to_bytes(context) here, and {name}.from_bytes(data, context) there; contexts are pickled"
    )


def _equip(kind: Any) -> None:
    kind.to_bytes, kind.save = _to_bytes, _save
    kind.from_bytes, kind.load = classmethod(_from_bytes), classmethod(_load)
    kind.__reduce_ex__ = _not_alone
    _unchanging(kind)


def _keys_save(self: Any, path: File, context: Any) -> int:
    """Write all keys to a new file or an open binary file, by element; return the number of bytes."""
    from ringforge.bytes_form import write

    return write(path, (_to_bytes(self.key(element), context) for element in self.elements))


def _keys_to_bytes(self: Any, context: Any) -> bytes:
    """Return what `save` writes. Raises as `GaloisKey.to_bytes`."""
    return b"".join(_to_bytes(self.key(element), context) for element in self.elements)


def _keys_load(kind: Any, path: File, context: Any) -> Any:
    """Read keys of one context and one secret key, each of another element.

    Raises:
        FormatError, MismatchError: damaged, of other parameters, of several secret keys, or an element comes twice.
    """
    from ringforge.bytes_form import reading, records

    found, made = _context_of(context, "load")[0], kind()
    with reading(path) as (f, _):
        for _, record in records(f):
            key = _from_bytes(_native.GaloisKey, record, found)
            if key.element in made:
                raise FormatError(f"the key of element {key.element} comes twice: the file is damaged, copy it again")
            made.insert(key)
    if len({made.key_id(element) for element in made.elements}) > 1:
        raise MismatchError("these Galois keys belong to different secret keys: save those of one session")
    return made


def _keys_from_bytes(kind: Any, data: Bytes, context: Any) -> Any:
    """Read what `to_bytes` gave. Raises as `load`; ParameterError: no bytes, or no context."""
    from ringforge.bytes_form import content

    return _keys_load(kind, content(data), context)


def _keys_copy(self: Any, *_: object) -> Any:
    """Return keys of their own list, which share the keys themselves."""
    made = type(self)()
    for element in self.elements:
        made.insert(self.key(element))
    return made


def _equip_keys() -> None:
    kind: Any = _native.GaloisKeys
    kind.to_bytes, kind.save = _keys_to_bytes, _keys_save
    kind.from_bytes, kind.load = classmethod(_keys_from_bytes), classmethod(_keys_load)
    kind.__reduce_ex__ = _not_alone
    kind.__copy__ = kind.__deepcopy__ = _keys_copy


# ---- evaluation keys of gates --------------------------------------------------------------------


_write_gate_key, _read_gate_key = _native.fhew.EvaluationKey.save, _native.fhew.EvaluationKey.load


def _gate_key_bytes(self: Any) -> bytes:
    """Return the evaluation key as a record: what `save` writes."""
    from ringforge.bytes_form import from_writer

    return from_writer(lambda path: _write_gate_key(self, str(path)))


def _gate_key_save(self: Any, path: File) -> int:
    """Write the evaluation key to a new file or an open binary file; return the number of bytes."""
    from ringforge.bytes_form import is_name, write
    from ringforge.files import new_file

    if not is_name(path):
        return write(path, [_gate_key_bytes(self)])
    with new_file(os.fspath(path)) as temporary:
        _write_gate_key(self, str(temporary))
    return os.stat(path).st_size


def _gate_key_load(path: File, parameters: Any, threads: int = 1) -> Any:
    """Read an evaluation key of gates from a file's name or an open binary file.

    Args:
        parameters: that it must be of; :func:`ringforge.gates.load_evaluation_key` finds those of shipped sets.

    Raises:
        FormatError: damaged or cut off. MismatchError: it is of other parameters.
    """
    from ringforge.bytes_form import as_path

    with as_path(path) as name:
        return _read_gate_key(str(name), parameters, threads)


def gate_key(data: Bytes, parameters: Any, threads: int = 1) -> Any:
    """Read an evaluation key of gates from the bytes that its `to_bytes` gave; parameters and errors as of `load`."""
    from ringforge.bytes_form import content

    return _gate_key_load(content(data), parameters, threads)


def _equip_gate_key() -> None:
    kind: Any = _native.fhew.EvaluationKey
    kind.to_bytes, kind.save = _gate_key_bytes, _gate_key_save
    kind.from_bytes, kind.load = staticmethod(gate_key), staticmethod(_gate_key_load)
    kind.__reduce_ex__ = lambda self, _: (gate_key, (self.to_bytes(), self.params))
    _unchanging(kind)


# ---- the others ----------------------------------------------------------------------------------


def _made_anew(self: Any, *_: object) -> NoReturn:
    """Refuse pickles and copies of what is made of other objects."""
    raise TypeError(
        f"{type(self).__name__} is neither copied nor pickled: make another one, of parameters, keys and ciphertexts, "
        "which move by to_bytes and from_bytes, or by save and load"
    )


def equip() -> None:
    """Give the types of the native module what is said above. Types of secrets have been guarded before."""
    _register_parameters()
    for kind in _OF_CONTEXT:
        _equip(kind)
    _equip_keys()
    _equip_gate_key()
    for kind in types_of(_native):
        of_its_own = {"__reduce__", "__reduce_ex__", "__getstate__"} & vars(kind).keys()
        if not of_its_own and not issubclass(kind, BaseException | enum.Enum):
            kind.__reduce_ex__ = _made_anew
