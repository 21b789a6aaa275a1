# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Fuzz targets of the readers in Python. A target may raise the errors that readers promise, and nothing else.

To add one: a function that takes bytes, marked with `@target` and the readers it reaches, and a row of the table
"Readers of foreign bytes" in docs/formats.md.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aes_targets  # noqa: F401  registers its own
import matvec_targets
import mutators
import numpy as np
import omr_targets  # noqa: F401  registers its own
import service_targets  # noqa: F401  registers its own
from registry import REASON, TARGETS, room, stored, target, written

from ringforge import _native, bfv, bundles, delimited, files, gates, local_http, ltv, matmul, matvec, params, psi
from ringforge.cli import info_command
from ringforge.errors import Error
from ringforge.gates import cli as gates_cli
from ringforge.gates import formats as netlists
from ringforge.gates import integers, storage
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.ltv import keys as ltv_key_files
from ringforge.matmul import program as matmul_program
from ringforge.matmul import roles as matmul_roles
from ringforge.matmul import service as matmul_service
from ringforge.matvec import model as models
from ringforge.matvec import model_files, onnx_import
from ringforge.matvec import roles as matvec_roles
from ringforge.matvec import service as matvec_service
from ringforge.psi import cells, oprf, sets, wire
from ringforge.psi.info import TableInfo
from ringforge.psi.store import Store
from ringforge.psi.table import Shape
from ringforge.serving import access, clock, framing, quota

__all__ = ["TARGETS"]

#: Longest input.
MAX_BYTES = 1 << 16

#: Of earlier states of the library.
OLD_FILES = Path(__file__).parents[1] / "tests" / "old_files"


# ---- what targets share --------------------------------------------------------------------------


@functools.cache
def tiny(limbs: int = 2) -> _native.Parameters:
    """The smallest parameters that programs have: N = 2^10."""
    q = params.named("set-b", REASON).q  # primes that are 1 mod 2^18 are 1 mod 2^11
    return params.Parameters(
        name="tiny", log_n=10, q=q[:limbs], p=q[limbs : limbs + 1], limbs_per_digit=1, log_scale=45.0, insecure=REASON
    )


@functools.cache
def vector_program(backend: str = "ckks") -> matvec.Program:
    model = matvec.Linear([[0.5, -1.0, 0.25], [0.0, 2.0, 1.0]], bias=[0.1, -0.1])
    return matvec.compile_model(model, tiny(), backend=backend).program  # type: ignore[arg-type]


@functools.cache
def polynomial_program() -> matvec.Program:
    model = matvec.Sequential([matvec.Polynomial([0.5, 0.25, 0.125, 1.0]), matvec.Linear([[0.5, -1.0, 0.25]])])
    return matvec.compile_model(model, tiny(4), samples=[[0.1, 0.2, 0.3]]).program


@functools.cache
def matrix_program() -> matmul.Program:
    return matmul.trace(tiny(), lambda A, B: A + B, {"A": (2, 2), "B": (2, 2)})


@functools.cache
def matrix_files() -> dict[str, bytes]:
    """Keys and ciphertexts of both programs."""
    holder = matmul_roles.KeyHolder(matrix_program(), accept_insecure=REASON)
    client = matvec.Client(vector_program(), accept_insecure=REASON)
    return {
        "secret": written("secret", holder.save_secret_key),
        "public": written("public", holder.save_public_key),
        "matrix": written("matrix", lambda p: holder.encrypt("A", np.eye(2)).save(p, matrix_program())),
        "vectors": written("vectors", lambda p: client.encrypt([0.1, 0.2, 0.3]).save(p, vector_program())),
        "keys": written("keys", client.save_evaluation_keys),
    }


_TABLES = ("oprf", "direct", "poly")


@functools.cache
def table(mode: str) -> psi.Store:
    """A table of three elements; mode "poly" has labels too."""
    folder = room() / f"table-{mode}"
    elements: Any = [1, 2, 77] if mode == "direct" else {b"alice": b"1", b"bob": b"", b"carol": b"3"}
    return Store.build(folder, elements, mode=mode, log_bins=4, bits=16)


# ---- programs, models, numbers -------------------------------------------------------------------


@target(
    "programs.read_program",
    "matvec.program.Program.load",
    seeds=lambda: [
        p.model_dump_json(exclude_none=True).encode()
        for p in (vector_program(), vector_program("clear"), polynomial_program())
    ],
    mutate=mutators.in_json,
)
def matvec_program(data: bytes) -> None:
    matvec.Program.load(stored("p.json", data))


@target(
    "matmul.program.Program.load",
    "matmul.program._decoded",
    seeds=lambda: [matrix_program().model_dump_json(exclude_none=True).encode()],
    mutate=mutators.in_json,
)
def matmul_program_file(data: bytes) -> None:
    matmul_program.Program.load(stored("p.json", data))


def _models() -> list[models.Sequential]:
    linear = models.Linear([[0.5, -1.0], [0.0, 2.0]], [0.25, 1.0])
    cubic, wavy = matvec.Polynomial([0.5, 1.0, 0.0, 2.0]), matvec.Polynomial.chebyshev([0.1, 1.0, 0.3], (-2.0, 2.0))
    return [
        models.as_sequential(linear),
        models.Sequential([linear, models.Square(), models.Linear([[1.0, 2.0]])]),
        models.Sequential([cubic, linear, wavy]),
    ]


@target(
    "matvec.onnx_import._read",
    "matvec.onnx_data._beside",
    seeds=lambda: (
        [written("m.onnx", functools.partial(onnx_import.save_onnx, model=m)) for m in _models()]
        + [make() for make in matvec_targets.ONNX]
    ),
)
def onnx_model(data: bytes) -> None:
    onnx_import.from_onnx(stored("m.onnx", data))


@target(
    "matvec.model_files._load",
    "matvec.model_files._archive",
    seeds=lambda: [
        written("m.npz", functools.partial(model_files.save_model, model=m))
        for m in (*_models(), *matvec_targets.estimators())
    ],
)
def npz_model(data: bytes) -> None:
    path = stored("m.npz", data)
    model_files.load_model(path)
    model_files.load_estimator(path)


def _npy() -> list[bytes]:
    arrays = np.eye(3), np.arange(4), np.ones((2, 2, 2)), np.zeros((2, 3), dtype="<f4"), np.array([1j]), np.array(["a"])
    return [written("a.npy", lambda p, a=a: p.write_bytes(_saved(a))) for a in arrays]


def _saved(array: np.ndarray[Any, Any]) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


@target("files.load_npy", "files.load_table", "matmul.cli._load", seeds=_npy)
def npy_array(data: bytes) -> None:
    path = stored("a.npy", data)
    for read in (files.load_vectors, model_files.load_model):
        with contextlib.suppress(Error):
            read(path)


@target(
    "files.load_table",
    "delimited.read_table",
    "delimited._fast",
    "delimited.read_columns",
    "delimited.header",
    seeds=lambda: [
        b"1,2\n3,4e5\n",
        b"# rows\n-0.5\n",
        b"nan,inf\n",
        b'\xef\xbb\xbf"a\nb";c\r\n1,5;2\r\n',
        b"a\tb\n1\t2\n",
    ],
)
def csv_vectors(data: bytes) -> None:
    path = stored("a.csv", data)
    for read in (files.load_vectors, delimited.header, lambda p: list(delimited.read_columns(p, [1, "a"]))):
        with contextlib.suppress(Error):
            read(path)


# ---- keys and ciphertexts of CKKS ----------------------------------------------------------------


@target(
    "parties.read_keys",
    "parties._stored_keys",
    "parties.load_secret_key",
    "parties.read_ciphertexts",
    "bundles.load_ciphertexts",
    "matvec.roles.EncryptedVectors.load",
    "matmul.roles.Contributor.load",
    "matmul.roles.KeyHolder.load",
    "matvec.roles.Client.load",
    seeds=lambda: [bytes([i]) + d for i, d in enumerate(matrix_files().values())],
    mutate=mutators.after(1, mutators.labelled),
)
def ckks_files(data: bytes) -> None:
    path, vectors, matrices = stored("r", data[1:]), vector_program(), matrix_program()
    match data[:1]:
        case b"\0":
            matmul_roles.KeyHolder.load(matrices, path, accept_insecure=REASON)
        case b"\1":
            matmul_roles.Contributor.load(matrices, path, accept_insecure=REASON)
        case b"\2":
            matmul_roles.Parcel.load(path, matrices, "A")
        case b"\3":
            matvec.EncryptedVectors.load(path, vectors)
        case b"\4":
            matvec.EvaluationKeys.load(path, vectors)
        case _:
            matvec.Client.load(vectors, path, accept_insecure=REASON)


@functools.cache
def matrix_session() -> Any:
    return matmul.Session(tiny())


def _session_bytes() -> list[bytes]:
    """What moves in memory: matrices of a session, keys and ciphertexts of programs, keys of schemes."""
    s, client = matrix_session(), matvec.Client(vector_program(), accept_insecure=REASON)
    given = matrix_files()
    wide = s.encrypt(np.eye(40), tile=(20, 20))
    return [
        *(b"\0" + m.to_bytes() for m in (s.encrypt([[0.5]]), wide, s.encrypt([0.5, 1.0]).T)),
        b"\1" + given["vectors"],
        b"\2" + client.evaluation_keys().to_bytes(),
        b"\3" + given["matrix"],
        b"\4" + ltv_session().public_key.to_bytes(ltv_session()),
        b"\5" + ltv_session().eval_key(1).to_bytes(ltv_session()),
    ]


@target(
    "bytes_form.reading",
    "bytes_form.records",
    "native_forms._by_reader",
    seeds=_session_bytes,
    mutate=mutators.after(1, mutators.labelled),
)
def bytes_in_memory(data: bytes) -> None:
    kind, given = data[:1], data[1:]
    match kind:
        case b"\0":
            matrix_session().from_bytes(given)
        case b"\1":
            matvec.EncryptedVectors.from_bytes(given, vector_program())
        case b"\2":
            matvec.EvaluationKeys.from_bytes(given, vector_program())
        case b"\3":
            matmul_roles.Parcel.from_bytes(given, matrix_program(), "A")
        case b"\4":
            ltv.PublicKey.from_bytes(given, ltv_session())
        case _:
            ltv.EvalKey.from_bytes(given, ltv_session())


@functools.cache
def bfv_records() -> list[bytes]:
    """Records of BFV, small ones."""
    primes = _native.kernels.primes_below(30, 3, 2048)
    session = bfv.Session(bfv.Parameters("", 10, 12289, primes[1:], primes[:1], 1, REASON))
    things = (session.encrypt([1]), bfv.encode(session.context, [2]), session.relin_key)
    return [_native.io.to_bytes(session.context, thing) for thing in things]


@functools.cache
def ltv_session() -> ltv.Session:
    primes = _native.kernels.primes_below(31, 2, 1 << 16)
    return ltv.Session(ltv.Parameters(85, primes, insecure=REASON, gadget="rns", window=31))


@functools.cache
def ltv_files() -> list[bytes]:
    """Parameters, public key, evaluation key and secret key."""
    s, folder = ltv_session(), room() / "ltv_seeds"
    folder.mkdir(exist_ok=True)
    directory = ltv.KeyDirectory(folder, s.context)
    directory.write_public(s.public_key)
    directory.write(s.client, s.secret_key, s.public_key)
    paths = (directory.parameters_path, directory.public_path, directory.path(1))
    secret = _native.io.to_bytes(s.context, s.secret_key)
    return [p.read_bytes() for p in paths] + [secret]


@target(
    "ltv.keys.KeyDirectory.__init__",
    "ltv.keys.KeyDirectory.public_key",
    "ltv.keys.KeyDirectory._check_header",
    "ltv.keys.KeyDirectory._reader",
    "ltv.keys.KeyDirectory.level",
    "ltv.keys.KeyDirectory.read_into",
    "ltv.keys.load_secret",
    seeds=lambda: [bytes([i]) + d for i, d in enumerate(ltv_files())],
    mutate=mutators.after(1, mutators.records),
)
def ltv_keys(data: bytes) -> None:
    s, folder = ltv_session(), room() / "ltv_keys"
    folder.mkdir(exist_ok=True)
    directory = ltv.KeyDirectory(folder, s.context)
    match data[:1]:
        case b"\0":
            directory.parameters_path.write_bytes(data[1:])
            ltv.KeyDirectory(folder)
        case b"\1":
            directory.public_path.write_bytes(data[1:])
            directory.public_key()
        case b"\2":
            directory.path(1).write_bytes(data[1:])
            with contextlib.suppress(Error):
                directory.read_into(ltv.Relinearizer(s.context), 1)
            directory.level(1)
            directory.write(s.client, s.secret_key, s.public_key)
        case _:
            ltv_key_files.load_secret(stored("s", data[1:]), s.context)


def _clear_vectors() -> list[bytes]:
    client = matvec.Client(vector_program("clear"), accept_insecure=REASON)
    return [written("c", lambda p: client.encrypt([0.1, 0.2, 0.3]).save(p, vector_program("clear")))]


@target("matvec.roles._read_clear", seeds=_clear_vectors, mutate=mutators.labelled)
def clear_vectors(data: bytes) -> None:
    matvec_roles.EncryptedVectors.load(stored("c", data), vector_program("clear"))


@target(
    "bundles.read_any_label",
    "bundles.parsed_label",
    "bundles._valid",
    seeds=lambda: [
        *(matrix_files()[name][:1024] for name in ("matrix", "vectors")),
        (OLD_FILES / "a2e2c85" / "matvec-ckks" / "input").read_bytes()[:1024],
    ],
    mutate=mutators.labelled,
)
def labels(data: bytes) -> None:
    bundles.read_label(io.BytesIO(data))


@target(
    "cli.info_command.describe_file",
    "gates.describe.describe",
    "cli.info_command._records",
    "cli.info_command._program",
    seeds=lambda: (
        [b"\0" + d for d in (*matrix_files().values(), *bfv_records(), *TARGETS["matvec_program"].seeds())]
        + [b"\0" + d for t in ("encrypted_bits", "gate_keys") for d in TARGETS[t].seeds()]
        + [bytes([i]) + TARGETS[t].seeds()[0] for i, t in ((1, "onnx_model"), (2, "npz_model"), (3, "npy_array"))]
    ),
    mutate=mutators.after(1, mutators.labelled),
)
def info(data: bytes) -> None:
    suffix = {b"\1": ".onnx", b"\2": ".npz", b"\3": ".npy"}.get(data[:1], ".file")
    for _ in info_command.describe_file(stored(f"shown{suffix}", data[1:])):
        pass


@target(
    "files.secret_in",
    seeds=lambda: [*matrix_files().values(), b"-----BEGIN PRIVATE KEY-----\n", b"f00ba4" * 8 + b"\n"],
)
def secret_files(data: bytes) -> None:
    path = stored("any", data)
    path.chmod(0o600)
    files.secret_in(path)


# ---- gates ---------------------------------------------------------------------------------------


@functools.cache
def gate_secret() -> Any:
    return _native.fhew.SecretKey(storage.parameters("gates-128"))


@target(
    "gates.storage.load_bits",
    "gates.storage.bits_from_bytes",
    "gates.bit_records.unpack",
    "gates.bit_records._Reader.number",
    "gates.bit_records._entry",
    seeds=lambda: [
        gates.bits_to_bytes(
            {"a": gates.encrypt(gate_secret(), [[0, 1], [1, 0]]), "b": gates.encrypt(gate_secret(), 1)}
        ),
        *((OLD_FILES / commit / "gates" / "x.ct").read_bytes() for commit in ("3d84ca5", "a2e2c85")),
    ],
    mutate=mutators.records,
)
def encrypted_bits(data: bytes) -> None:
    storage.load_bits(stored("x.ct", data), storage.parameters("gates-128"))


@target(
    "gates.integers.records.read",
    "gates.integers.records.type_of",
    seeds=lambda: [
        integers.encrypt(gate_secret(), [3, -5], "int4").to_bytes(),
        integers.encrypt(gate_secret(), True, "bool").to_bytes(),
        gates.bits_to_bytes({"uint4:sum": gates.encrypt(gate_secret(), [[0, 1, 1, 0]])}),
    ],
    mutate=mutators.records,
)
def encrypted_integers(data: bytes) -> None:
    found = integers.from_bytes(data, storage.parameters("gates-128"))
    integers.from_bytes(found.to_bytes(), storage.parameters("gates-128"))


@target(
    "gates.bit_records.read_header",
    "gates.storage.load_secret_key",
    "gates.storage.load_evaluation_key",
    seeds=lambda: [
        bytes(gate_secret().save()),
        *((OLD_FILES / commit / "gates" / "secret.key").read_bytes() for commit in ("3d84ca5", "a2e2c85")),
        _native.io.seal(_native.io.GATE_EVALUATION_KEY, gate_secret().params.hash, bytes(2000)),
    ],
    mutate=mutators.records,
)
def gate_keys(data: bytes) -> None:
    path = stored("k", data)
    for load in (storage.load_secret_key, storage.load_evaluation_key):
        with contextlib.suppress(Error):
            load(path)


def _designs() -> list[bytes]:
    found = [(netlists.DESIGNS / f"{name}.json").read_bytes() for name in netlists.designs()]
    small = [d for d in found if len(d) < MAX_BYTES]
    cells = {
        "g": {"type": "$_NAND_", "connections": {"A": [2], "B": [3], "Y": [4]}},
        "h": {"type": "$_MUX_", "connections": {"A": [2], "B": [4], "S": ["1"], "Y": [5]}},
    }
    ports = {
        "a": {"direction": "input", "bits": [2, 3]},
        "y": {"direction": "output", "bits": [4, 5, "0"]},
    }
    return [
        json.dumps({"creator": "Yosys 0.40", "modules": {"m": {"ports": ports, "cells": cells}}}).encode(),
        *small[:2],
    ]


@target("gates.formats.read_netlist", "gates.formats._parse_json", seeds=_designs, mutate=mutators.in_json)
def yosys_netlist(data: bytes) -> None:
    gates.Circuit(str(stored("n.json", data))).report()


@target(
    "gates.formats.read_netlist",
    seeds=lambda: [
        b".model m\n.inputs a b\n.outputs y z\n.names a b y\n11 1\n.names z\n.end\n",
        b".model m\n.inputs a b c\n.outputs y\n.names a b \\\n c y # sum\n1-0 1\n001 1\n.end\n",
    ],
)
def blif_netlist(data: bytes) -> None:
    gates.Circuit(str(stored("n.blif", data))).report()


@target("gates.cli._assignments", seeds=lambda: [b"a=1,2\nb=0x3\n", b"a=\n\n", b"@x"])
def gate_numbers(data: bytes) -> None:
    path = stored("numbers", data)
    for where, text in gates_cli._assignments([f"@{path}"]):
        with contextlib.suppress(Error):
            gates_cli._numbers(where, text.partition("=")[2], 8)


# ---- private set intersection --------------------------------------------------------------------


@target(
    "psi.info.TableInfo.from_json",
    "psi.info.TableInfo._consistent_lookup",
    "psi.info.TableInfo.salt_array",
    "psi.info.TableInfo.seed_bytes",
    "psi.table.Shape.of",
    seeds=lambda: [table(mode).info.to_json() for mode in _TABLES],
    mutate=mutators.in_json,
)
def table_info(data: bytes) -> None:
    info = TableInfo.from_json(data)
    assert len(info.seed_bytes) == 32
    assert len(info.salt_array) in (0, info.bins)
    info.native()
    if info.plan.algorithm != "poly":
        Shape.of(info)


@target(
    "psi.oprf.ServerKey.load",
    "psi.oprf._old_key",
    seeds=lambda: [
        written("oprf.key", lambda p: shutil.copyfile(table("oprf").directory / "oprf.key", p)),
        (OLD_FILES / "3d84ca5" / "psi-oprf" / "state-1" / "oprf.key").read_bytes(),
    ],
    mutate=mutators.records,
)
def oprf_key(data: bytes) -> None:
    oprf.ServerKey.load(stored("oprf.key", data))


#: Files of a state, and CURRENT; an input begins with the mode and the number of the file that it stands for.
_STATE = (
    "manifest.json",
    "info.json",
    "offsets.npy",
    "cells.npy",
    "words.npy",
    "elements.sqlite",
    "oprf.key",
    "CURRENT",
    "counts.npy",
    "roots.npy",
    "labels.npy",
    "plain.npy",
)


def _state_files() -> list[bytes]:
    found = []
    for number, mode in enumerate(_TABLES):
        store = table(mode)
        for i, name in enumerate(_STATE):
            path = store.path / name if name == "CURRENT" else store.directory / name
            if path.exists() and path.stat().st_size < MAX_BYTES:
                found.append(bytes([number, i]) + path.read_bytes())
    return found


@target(
    "psi.store.Store._open",
    "psi.store.Store.key",
    "psi.store._read_current",
    "psi.store._read_array",
    "psi.store._read_arrays",
    "psi.members.read_members",
    "psi.store._sha256",
    seeds=_state_files,
    mutate=mutators.after(
        2, lambda data, rng, havoc: (mutators.in_json if data[:1] == b"{" else mutators.bare)(data, rng, havoc)
    ),
)
def psi_store(data: bytes) -> None:
    if len(data) < 2:
        return
    source = table(_TABLES[data[0] % len(_TABLES)])
    folder, name = room() / "store", _STATE[data[1] % len(_STATE)]
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source.path, folder)
    state = folder / source.state
    place = (folder if name == "CURRENT" else state) / name
    place.write_bytes(data[2:])
    # Lengths and checksums are put in order, so that the content itself is read.
    if name not in {"manifest.json", "CURRENT"}:
        manifest = json.loads((state / "manifest.json").read_bytes())
        entry = manifest["files"].get(name)
        if entry is not None:
            entry.update(bytes=place.stat().st_size, sha256=_sha256(place))
        (state / "manifest.json").write_text(json.dumps(manifest))
    if name != "CURRENT":
        (folder / "CURRENT").write_text(f"ringforge-psi-store 1\n{source.state} {_sha256(state / 'manifest.json')}\n")
    store = Store(folder)
    for use in (store.members, store.key, store.newest):
        with contextlib.suppress(Error):
            use()


def _sha256(path: Path) -> str:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()


def _messages() -> list[bytes]:
    return [bytes([i]) + kind().SerializeToString() for i, kind in enumerate(_kinds())] + [
        b"\0\x0a\x04abcd",
        b"\2\x12\x10" + bytes(16),
    ]


def _kinds() -> list[Any]:
    return [kind for request, reply, _, _ in wire.METHODS.values() for kind in (request, reply)]


@target("serving.framing.parser", "serving.framing.assemble", seeds=_messages)
def psi_messages(data: bytes) -> None:
    kinds = _kinds()
    message: Any = framing.parser(kinds[data[0] % len(kinds)] if data else kinds[0])(data[1:])
    if isinstance(message, framing.Malformed) or "part" not in message.DESCRIPTOR.oneofs_by_name:
        return
    framing.assemble([message], 4, "a test")


@target(
    "psi.sets.read_elements",
    "psi.sets._opened",
    "psi.sets._json_line",
    seeds=lambda: [
        b"\0alice\nbob\r\n",
        b"\1alice\tx\n",
        b'\2{"element": "a"}\n',
        b'\3{"element": 17, "label": "x"}\n',
        b"\x0417\n0x1f\n",
        b'\x08\xef\xbb\xbfa;element\r\n1;"x\n"" y"\r\n',
        b"\x19b,a\nX ,l\nx,l\n",
    ],
)
def psi_elements(data: bytes) -> None:
    flags = data[0] if data else 0
    labels = bool(flags & 1)
    name = "e.jsonl" if flags & 2 else "e.csv" if flags & 8 else "e.txt"
    wanted = cells.Wanted((2, "1"), "b" if labels else None) if flags & 24 == 24 else None
    steps = "nfkc,casefold,strip" if flags & 16 else ""
    found = sets.read_elements(
        stored(name, data[1:]), direct=bool(flags & 4), labels=labels, wanted=wanted, normalise=steps, keep=True
    )
    sets.small_domain(found.elements)
    assert found.own is not None
    out = room() / "out.csv"
    out.unlink(missing_ok=True)
    cells.write_rows(out, found.own, range(len(found.of_rows)), None)


def _parquet() -> list[bytes]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        return [b"PAR1" + bytes(20) + b"PAR1"]
    table = pa.table({"element": ["a", None, "b"], "n": [1, 2, 3], "label": ["x", "y", None]})
    files = []
    for options in ({"compression": "none"}, {"use_dictionary": False, "compression": "snappy"}):
        out = io.BytesIO()
        parquet.write_table(table, out, **options)
        files.append(out.getvalue())
    return files


@target("psi.cells.read_parquet", seeds=_parquet)
def psi_parquet(data: bytes) -> None:
    sets.read_elements(stored("e.parquet", data), keep=True)


@target(
    "serving.access.read_tokens",
    "serving.access.read_private",
    seeds=lambda: [b"# tokens\n" + b"0123456789abcdef" * 2 + b"\n", b"127.0.0.1:8760", b"ipv6:%5B::1%5D:1"],
)
def psi_tokens(data: bytes) -> None:
    text = data.decode("latin-1")
    for read in (lambda: access.read_tokens(stored("t", data)), lambda: access.split_address(text)):
        with contextlib.suppress(Error):
            read()
    access.peer_identity(text)


def _quota() -> list[bytes]:
    def make(path: Path) -> None:
        made = quota.Quota(path, {"prf": 10, "bins": 10})
        made.charge(made.client("a"), "prf", 3)
        made.close()

    return [written("quota.sqlite", make)]


@target("serving.quota.Quota.__init__", seeds=_quota)
def psi_quota(data: bytes) -> None:
    for old in room().glob("q.sqlite*"):
        old.unlink()
    with contextlib.closing(quota.Quota(stored("q.sqlite", data), {"prf": 10, "bins": 10})) as opened:
        client = opened.client("a")
        opened.left(client)
        opened.charge(client, "prf", 1)


@target("serving.clock.Mark.from_json", seeds=lambda: [clock.Clock().mark().to_json()], mutate=mutators.in_json)
def clock_mark(data: bytes) -> None:
    found = clock.Mark.from_json(data)
    made = clock.Clock()
    made.resume(found, believe_wall=False)
    assert 0 <= made() < 2e12


# ---- local services ------------------------------------------------------------------------------


class _Socket:
    """Stands for a socket on which a request has come."""

    def __init__(self, request: bytes) -> None:
        self.request, self.answer = request, b""

    def makefile(self, *_: object) -> io.BytesIO:
        return io.BytesIO(self.request)

    def sendall(self, data: bytes) -> None:
        self.answer += data

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", 8750

    def settimeout(self, _: float) -> None: ...
    def shutdown(self, _: int) -> None: ...


@functools.cache
def _handlers() -> list[type[local_http.BodyHandler]]:
    folder = room() / "served"
    folder.mkdir(exist_ok=True)
    layers = models.as_sequential(models.Linear([[0.5, -1.0, 0.25], [0.0, 2.0, 1.0]], [0.1, -0.1]))
    vectors = matvec_service.Service(layers, {"single": vector_program()}, folder, 1)
    matrices = matmul_service.Service(matrix_program(), folder, 1)
    kinds = (matvec_service.Handler, vectors), (matmul_service.Handler, matrices)
    return [type("Handler", (kind,), {"service": service}) for kind, service in kinds]


def _requests() -> Iterator[bytes]:
    head = b" HTTP/1.1\r\nHost: 127.0.0.1:8750\r\n"
    yield b"\0GET /programs/single" + head + b"\r\n"
    yield b"\1GET /program" + head + b"\r\n"
    yield b"\1GET /outputs/result" + head + b"Origin: http://evil.example\r\n\r\n"
    yield b"\1POST /run" + head + b"Content-Length: 0\r\n\r\n"
    bodies = {b"\0POST /programs/single/keys": "keys", b"\0POST /programs/single/evaluate": "vectors"}
    for start, name in {**bodies, b"\1POST /inputs/A": "matrix", b"\1POST /keys": "keys"}.items():
        body = matrix_files()[name]
        yield start + head + b"Content-Length: %d\r\n\r\n" % len(body) + body


@target(
    "local_http.BodyHandler.receiving",
    "matvec.service.Service.accept_keys",
    "matvec.service.Service.evaluate",
    "matmul.service.Service.accept_keys",
    "matmul.service.Service.run",
    "matmul.service.Handler.do_POST",
    "matmul.service.Handler.do_GET",
    seeds=lambda: list(_requests()),
)
def http_requests(data: bytes) -> None:
    handlers = _handlers()
    peer = _Socket(data[1:])
    handlers[data[0] % 2 if data else 0](peer, ("127.0.0.1", 1), None)  # type: ignore[arg-type]
    assert b"Traceback" not in peer.answer


@target(
    "local_http.read_report",
    seeds=lambda: [b'{"bytes": 3, "load_seconds": 0.1}', b"FormatError: no record", b"[1]"],
    mutate=mutators.in_json,
)
def http_answers(data: bytes) -> None:
    with contextlib.suppress(Error):
        local_http.read_report(data)
    assert isinstance(local_http._refusal(data.decode(errors="replace")), Error)


# ---- accelerators --------------------------------------------------------------------------------


@target(
    "hw.core.config.MachineConfig.load",
    seeds=lambda: [MatvecConfig.named("matvec-small").model_dump_json().encode()],
    mutate=mutators.in_json,
)
def machine_config(data: bytes) -> None:
    MatvecConfig.load(stored("m.json", data))
