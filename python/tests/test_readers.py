# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Every reader of foreign bytes is in the list of docs/formats.md and has a fuzz target, and the other way round.

The targets in Python are run here too: on sound inputs, and on some hundreds that were changed.
"""

from __future__ import annotations

import ast
import fnmatch
import importlib
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ringforge

ROOT = Path(__file__).parents[2]
PACKAGE = Path(ringforge.__file__).parent

sys.path.insert(0, str(ROOT / "python" / "fuzz"))
mutators: Any = importlib.import_module("mutators")
targets: Any = importlib.import_module("targets")
sys.path.pop(0)


def table() -> dict[str, set[str]]:
    """The list: targets with their readers."""
    text = (ROOT / "docs" / "formats.md").read_text().partition("## Readers of foreign bytes")[2].partition("\n## ")[0]
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            readers, _, target = cells
            assert target.startswith("`"), line
            found.setdefault(target.strip("`"), set()).update(re.findall(r"`([^`]+)`", readers))
    assert found
    return found


# ---- C++ -----------------------------------------------------------------------------------------

#: Functions of public headers that take bytes of others.
CPP_READERS = re.compile(
    r"\b(load_\w+|next_\w+|from_bytes|peek|index|index_galois_keys|verify|load|decode|evaluate_batch|finalize_batch|"
    r"open_digest|digest_head|psi_answer|PsiSessionKeys|psi_poly_answer|PsiPolySessionKeys|RecordReader|open_record|secret_in|unpack_residues|"
    r"unpack_signals)\(([^;{]*)"
)

#: What an argument of foreign bytes looks like.
CPP_BYTES = re.compile(
    r"std::istream&|\bBytes (bytes|elements|evaluated)|span<const std::uint8_t> (reply|bytes|request|record|digest)|"
    r"psi_answer|const std::uint8_t\* src, std::size_t count"
)


def cpp_readers() -> set[str]:
    found = set()
    for header in (ROOT / "cpp/include/ringforge").rglob("*.hpp"):
        code = re.sub(r"//[^\n]*", "", header.read_text())
        for name, arguments in CPP_READERS.findall(code):
            if CPP_BYTES.search(arguments):
                found.add(name)
    return found


def test_the_list_has_every_target_in_cpp_and_no_other() -> None:
    files = {p.stem.removeprefix("fuzz_") for p in (ROOT / "cpp/fuzz").glob("fuzz_*.cpp")}
    assert {t.removeprefix("cpp/") for t in table() if t.startswith("cpp/")} == files
    # Nobody else keeps a list: CMake and the script take the files that are there.
    assert "GLOB targets" in (ROOT / "cpp/fuzz/CMakeLists.txt").read_text()
    script = (ROOT / "cpp/fuzz/run.sh").read_text()
    assert "fuzz_*.cpp" in script
    assert not [name for name in files if re.search(rf"^targets=.*\b{name}\b", script, re.MULTILINE)]


def test_every_reader_in_cpp_is_listed() -> None:
    listed = {name.rpartition("::")[2] for t, names in table().items() if t.startswith("cpp/") for name in names}
    found = cpp_readers()
    assert {"load_ciphertext", "from_bytes", "decode", "verify", "PsiSessionKeys"} <= found, "the search finds none"
    assert found <= listed, f"not in docs/formats.md: {sorted(found - listed)}"
    assert listed <= found, f"not in the headers: {sorted(listed - found)}"


# ---- Python --------------------------------------------------------------------------------------

#: Calls that take bytes apart. A function with one of them is a reader.
CALLS = {
    "json.loads", "json.load", "np.load", "np.loadtxt", "np.lib.format.read_array", "load_npy", "sqlite3.connect",
    "ZipFile", "ET.parse", "ET.fromstring", "struct.unpack", "struct.unpack_from", "base64.b64decode", "bytes.fromhex",
    "_native.io.Reader", "_native.io.peek", "_native.io.unseal", "io.unseal", "_native.io.secret_in",
    "_native.fhew.SecretKey.load", "_native.fhew.EvaluationKey.load", "native.ServerKey.from_bytes",
}  # fmt: skip
METHODS = {"read_bytes", "read_text", "model_validate_json", "ParseFromString", "FromString"}

#: Readers of what is our own, with the reason. Patterns of names below `ringforge`.
OWN = {
    "files._is_data": "whether a file may be replaced: any bytes get an answer",
    "files._like_a_key": "whether a file may be replaced: any bytes get an answer",
    "files.clear_demo": "the list of files that a demo of this user's made",
    "files.finish_demo": "the list of files that a demo of this user's made",
    "omr.cli._write_messages": "messages of earlier runs, compared byte by byte",
    "cli.options.log_file": "a log that it is to append to; a test has files that are none",
    "bytes_form.from_writer": "what it has just had written",
    "bundles.Label.bytes": "a digest that it has checked",
    "psi.clear.unwrap": "messages of tests, which the clear device alone takes",
    "lab.*": "measurements, processes, sources and results of this machine's own; tables that come with the package",
    "cli.health.*": "what the kernel and the installed packages of this machine say",
    "cli.explain_command.read_measured": "counts that a pool of this user's has written; a test has broken ones",
    "cli.records.emit_record": "a record that it has just made",
    "cli.self_test.with_kernels": "what a process of its own says",
    "runs.*": "records of this machine's own",
    "registered._ours": "pyproject.toml of the tree that this is run from",
    "hw.*": "sources, caches, results of this machine's own; configurations are read by MachineConfig.load",
    "*.demo.*": "what the demo's own processes say",
    "gates.sets.*": "parameter sets that come with the package",
    "gates.synth.*": "what Yosys has just written",
    "local_http.first_line": "the first line of a process that this one has started",
    "local_http.Connection.request": "a file that is sent as it is",
    "psi.members.write_members": "a database that it has just made",
    "psi.members.change_members": "a copy that it has just made, of a database that was verified",
    "psi.runs.Run._steps": "fields that TableInfo has checked",
    "psi.askers.PolyAsker.open": "fields that TableInfo has checked",
    "psi.service.*": "fields that TableInfo has checked; messages come through framing.parser",
    "scale.cluster._kill": "command lines, as the kernel of this machine has them",
    "scale.packing.installation": "the installed package's own sources: they are hashed",
    "scale.several.*": "what the kernel of this machine says of processes",
    "search.Search.file": "whatever bytes there are: they are compared, not taken apart",
    "serving.clock.boot": "what the kernel of this machine says",
    "serving.depot.Depot.__init__": "the service's own directory; its time is read by Mark.from_json",
    "serving.access._pem": "a certificate, which gRPC reads",
    "omr.depot.Depot.*": "the detector's own directory; results of steps and requests have a target",
    "omr.detector_client.Connection.*": "names that it has checked; messages come through framing.parser",
    "omr.detector_client.key_name": "a file that is sent as it is",
    "omr.detector_service.*": "files that are kept as they came; messages come through framing.parser",
    "omr.detector.*": "results of the detector's own steps, which its depot has checked; keys are read by DetectionKey",
    "omr.demo_postgres.*": "what its own server has written",
    "omr.jobs.*": "names that the service has checked",
    "omr.quotes.*": "texts that come with the system",
    "omr.describe.*": "what omr.depot has read",
    "matvec.report.*": "what the demo has just stored",
    "gates.cli._sixteen": "what was typed: 16 bytes or a refusal",
    "aes.cli.*": "bytes to encrypt; streams have a target",
    "aes.client.Connection.*": "names that it has checked; messages come through framing.parser",
    "aes.client._digests": "notes of its own; whatever they say, servers compare what comes",
    "aes.client.file_digest": "a file that is sent as it is",
    "aes.depot.Depot.*": "the server's own directory; requests have a target",
    "aes.service.*": "files that are kept as they came, or read by aes.files; messages come through framing.parser",
    "ltv.keys.KeyDirectory._reader": "opens what others read",
    "serving.jobs.*": "names that the service has checked",
    "serving.page.*": "files that come with the package",
    "serving.status.resident": "what the system says of this process",
    "serving.processes.*": "what processes of its own say",
}


def python_readers() -> Iterator[str]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if "sources" in path.parts or "proto" in path.parts:
            continue
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        yield from _below(ast.parse(path.read_text()), module)


def _below(node: ast.AST, name: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            inner = f"{name}.{child.name}"
            if isinstance(child, ast.ClassDef):
                yield from _below(child, inner)
            elif any(_reads(c) for c in ast.walk(child)):
                yield inner
        else:
            yield from _below(child, name)


def _reads(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = ast.unparse(node.func)
    if called in CALLS or called.rpartition(".")[2] in METHODS:
        return True
    return called.endswith(".open") and any(isinstance(a, ast.Constant) and a.value in ("r", "rb") for a in node.args)


def test_the_list_has_every_target_in_python_and_its_readers() -> None:
    listed = {t.removeprefix("python/"): names for t, names in table().items() if t.startswith("python/")}
    assert listed == {name: set(t.reads) for name, t in targets.TARGETS.items()}


def test_every_reader_in_python_has_a_target() -> None:
    reached = {name for t in targets.TARGETS.values() for name in t.reads}
    found = set(python_readers())
    assert {"files.load_npy", "serving.quota.Quota.__init__", "programs.read_program"} <= found
    missing = {n for n in found - reached if not any(fnmatch.fnmatch(n, own) for own in OWN)}
    assert not missing, f"without a fuzz target, or a reason in OWN: {sorted(missing)}"
    for name in reached:
        assert _exists(name), f"{name} is listed and is not there"


def _exists(name: str) -> bool:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        path = PACKAGE.joinpath(*parts[:cut]).with_suffix(".py")
        if path.is_file():
            node: Any = ast.parse(path.read_text())
            for part in parts[cut:]:
                inner = [n for n in ast.walk(node) if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == part]
                if not inner:
                    return False
                node = inner[0]
            return True
    return False


@pytest.mark.parametrize("name", targets.TARGETS)
def test_targets_hold(name: str) -> None:
    """No error but ours, on seeds and on changes of them; the longer run is `make fuzz`."""
    target = targets.TARGETS[name]
    rng = random.Random(name)
    change = mutators.havoc(rng)
    seeds = target.seeds()
    for seed in seeds:
        target(seed)
    for _ in range(120):
        data = rng.choice(seeds)
        for _ in range(rng.randint(1, 3)):
            data = target.mutate(data, rng, change)
        target(data)


def _npz_with_a_wild_offset() -> bytes:
    """A zip archive whose directory points before the file: zipfile seeks there, and the system says no."""
    sound = targets.TARGETS["npz_model"].seeds()[0]
    at = sound.rfind(b"PK\x01\x02")
    return bytes(sound[: at + 42] + b"\xff\xff\xff\x7f" + sound[at + 46 :])


def _clear(level: float) -> bytes:
    import io

    import numpy as np

    out = io.BytesIO(targets.matvec_roles.CLEAR_MAGIC)
    out.seek(0, 2)
    np.save(out, np.array([[level, 1.0, 1.0]]))
    np.save(out, np.zeros((1, targets.vector_program("clear").context.params.slots)))
    return out.getvalue()


def _program(field: str, value: str) -> bytes:
    sound = targets.TARGETS["matvec_program"].seeds()[0].decode()
    return re.sub(rf'"{field}":\s*\[?\d+', lambda m: m[0].rstrip("0123456789") + value, sound, count=1).encode()


def _npy(header: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


def _stored(data: bytes) -> Path:
    return Path(targets.stored("a.npy", data))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        pytest.param("npz_model", _npz_with_a_wild_offset(), id="zip offset"),
        pytest.param("clear_vectors", _clear(float("inf")), id="level inf"),
        pytest.param("clear_vectors", _clear(1e300), id="level 1e300"),
        pytest.param("clear_vectors", _clear(0.5), id="level 0.5"),
        pytest.param("matvec_program", _program("q", str(1 << 64)), id="prime of 65 bits"),
        pytest.param("matvec_program", _program("log_n", "9" * 5000), id="number of 5000 digits"),
        pytest.param("npy_array", _npy(b"(" * 200 + b"\n"), id="npy brackets"),
        pytest.param(
            "npy_array",
            _npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"9" * 30 + b",)}\n"),
            id="npy shape",
        ),
        pytest.param("npy_array", _npy(b"\x00\n"), id="npy null"),
        pytest.param("npy_array", _npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}\n"), id="npy pickle"),
    ],
)
def test_what_fuzzing_and_people_have_found(name: str, data: bytes) -> None:
    """Each is refused by an error of ours, on one line, and not believed."""
    run = targets.TARGETS[name].run if name != "npy_array" else lambda d: targets.files.load_vectors(_stored(d))
    with pytest.raises(ringforge.Error) as caught:
        run(data)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
