# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Nothing the server has contains the client's secret key.

Every file the server reads or writes, and the memory of a running server process, is searched for the key in
every encoding we could think of. A search proves something only if it would have found the key: so the same
search must find a planted one, whole or in part, in each encoding.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ringforge import _native, matvec
from ringforge.cli import main
from ringforge.matvec.demo import Connection, server_process
from ringforge.matvec.onnx_import import save_onnx

#: Coefficients in a window that is searched for, and windows over the key: any eighth of it holds one whole.
WINDOW, WINDOWS = 64, 32

RNG = np.random.default_rng(11)


def pack(values: np.ndarray, bits: int) -> bytes:
    """Words of `bits` bits, the first in the lowest bits: how records hold residues and secrets."""
    unpacked = (values.astype(np.uint64)[:, None] >> np.arange(bits, dtype=np.uint64)) & np.uint64(1)
    return np.packbits(unpacked.astype(np.uint8).reshape(-1), bitorder="little").tobytes()


def encodings(s: np.ndarray, primes: list[int]) -> Iterator[tuple[str, bytes, bool]]:
    """The key as bytes in many ways: name, bytes, and whether bits are packed without regard to bytes."""
    for kind in ("i1", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "<f4", "<f8"):
        yield f"numbers {kind}", s.astype(kind).tobytes(), False
    for name, codes in (("s + 1", s + 1), ("s mod 3", s % 3), ("two's complement", s & 3)):
        yield f"2 bits of {name}", pack(codes, 2), True
        swapped = np.packbits(((codes[:, None] >> np.array([1, 0])) & 1).astype(np.uint8).reshape(-1))
        yield f"2 bits of {name}, first highest", swapped.tobytes(), True
        yield f"bytes of {name}", codes.astype(np.uint8).tobytes(), False
        yield f"nibbles of {name}", pack(codes, 4), True
    for name, mask in (("nonzero", s != 0), ("negative", s < 0), ("positive", s > 0)):
        for order in ("little", "big"):
            yield f"bits {name}, {order}", np.packbits(mask, bitorder=order).tobytes(), True
    trits = (s[: len(s) // 5 * 5].reshape(-1, 5) + 1) @ 3 ** np.arange(5)
    yield "five trits a byte", trits.astype(np.uint8).tobytes(), False
    for separator in ("", ",", ", ", " ", "\n"):
        yield f"text with {separator!r}", separator.join(map(str, s)).encode(), False
        yield f"digits with {separator!r}", separator.join(map(str, s + 1)).encode(), False
    record = pack(s + 1, 2)
    yield "hexadecimal", record.hex().encode(), False
    for shift in range(3):  # base64 depends on where in a text the key starts
        yield f"base64 at {shift}", base64.b64encode(bytes(shift) + record)[4:-4], False
    for q in primes:
        residues = (s % q).astype(np.uint64)
        values = np.asarray(_native.kernels.ntt("ref", residues, q), dtype=np.uint64)
        for form, x in (("Coeff", residues), ("Eval", values)):
            yield f"{form} mod {q}, words", x.tobytes(), False
            yield f"{form} mod {q}, words, highest first", x.byteswap().tobytes(), False
            yield f"{form} mod {q}, packed", pack(x, q.bit_length()), True


def variants(name: str, data: bytes, packed: bool) -> Iterator[tuple[str, bytes]]:
    """The same bytes as they are, in reverse, complemented; packed ones also at other bits of a byte."""
    if packed:
        number = int.from_bytes(data, "little")
        for shift in range(1, 8):
            yield f"{name}, {shift} bits on", (number << shift).to_bytes(len(data) + 1, "little")[1:-1]
    flipped = (~np.frombuffer(data, dtype=np.uint8)).tobytes()
    yield name, data
    yield f"{name}, reversed", data[::-1]
    yield f"{name}, complemented", flipped
    yield f"{name}, complemented and reversed", flipped[::-1]


def needles(data: bytes, coefficients: int) -> list[bytes]:
    """Windows of an encoding: as large as `WINDOW` coefficients or half of them all, and at least 16 bytes; none of an
    encoding that is shorter."""
    size = max(16, len(data) * min(WINDOW, coefficients // 2) // coefficients)
    last = len(data) - size
    return [data[at : at + size] for at in range(0, max(last, last == 0), max(1, len(data) // WINDOWS))]


class Search:
    """Looks for a key in bytes.

    Numpy compares all positions at once: a needle is looked up by its rarest eight bytes.
    """

    def __init__(self, s: np.ndarray, primes: list[int]) -> None:
        self.whole: dict[str, bytes] = {}
        self.needles: dict[str, list[bytes]] = {}
        for base, data, packed in encodings(s, primes):
            for name, varied in variants(base, data, packed):
                self.whole[name] = varied
                self.needles[name] = needles(varied, len(s))
        self._by_word: dict[int, list[tuple[str, bytes, int]]] = {}
        for name, windows in self.needles.items():
            for window in windows:
                # Eight bytes with the most different values: runs of zeros would match everywhere.
                at = max(range(0, len(window) - 7), key=lambda i: (len(set(window[i : i + 8])), -i))
                word = int.from_bytes(window[at : at + 8], "little")
                self._by_word.setdefault(word, []).append((name, window, at))
        self._words = np.array(sorted(self._by_word), dtype=np.uint64)

    def __call__(self, data: bytes) -> set[str]:
        """Names of the encodings of which a window occurs in the data."""
        found: set[str] = set()
        for offset in range(8):
            words = np.frombuffer(data, dtype="<u8", offset=offset, count=max(0, (len(data) - offset) // 8))
            places = np.minimum(np.searchsorted(self._words, words), len(self._words) - 1)
            for index in np.flatnonzero(self._words[places] == words):
                position = int(index) * 8 + offset
                for name, window, at in self._by_word[int(words[index])]:
                    if name not in found and data[position - at : position - at + len(window)] == window:
                        found.add(name)
        return found


def small_model() -> matvec.Sequential:
    layers = [
        matvec.Linear(RNG.normal(size=(8, 12)) * 0.2),
        matvec.Square(),
        matvec.Linear(np.ones((2, 8)) * 0.1),
    ]
    return matvec.Sequential(layers)


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A client's and a server's folder after one exchange by the command line; only files move."""
    root = tmp_path_factory.mktemp("secrecy")
    client, server = root / "client", root / "server"
    client.mkdir()
    server.mkdir()
    matvec.save_model(server / "model.npz", small_model())
    np.save(client / "x.npy", RNG.uniform(-1, 1, (3, 12)))

    def run(folder: Path, words: str) -> None:
        before = Path.cwd()
        os.chdir(folder)
        try:
            assert main(["matvec", *words.split()]) == 0
        finally:
            os.chdir(before)

    run(server, "plan --model model.npz --batch 4 --out program.json")
    shutil.copy(server / "program.json", client)
    run(client, "keygen --program program.json --secret secret.key --eval-keys eval.keys")
    run(client, "encrypt --program program.json --secret secret.key --in x.npy --out x.ct")
    for name in ("eval.keys", "x.ct"):
        shutil.copy(client / name, server)
    run(server, "evaluate --program program.json --model model.npz --keys eval.keys --in x.ct --out y.ct")
    return client, server


@pytest.fixture(scope="module")
def secret(rooms: tuple[Path, Path]) -> np.ndarray:
    program = matvec.Program.load(rooms[0] / "program.json")
    key = _native.io.Reader(str(rooms[0] / "secret.key")).secret_key(program.context)
    return np.asarray(key.coefficients())


@pytest.fixture(scope="module")
def search(rooms: tuple[Path, Path], secret: np.ndarray) -> Search:
    p = matvec.Program.load(rooms[0] / "program.json").context.params
    return Search(secret, [*p.q, *p.p])


def test_the_key_is_a_key(secret: np.ndarray) -> None:
    assert set(np.unique(secret)) == {-1, 0, 1}
    assert len(secret) >= 1 << 13


def test_the_server_has_no_secret(rooms: tuple[Path, Path], search: Search) -> None:
    files = sorted(p for p in rooms[1].rglob("*") if p.is_file())
    assert [p.name for p in files] == ["eval.keys", "model.npz", "program.json", "x.ct", "y.ct"]
    for path in files:
        assert search(path.read_bytes()) == set(), path.name
    # Across the seams of files that follow each other on a disk, too.
    assert search(b"".join(p.read_bytes() for p in files)) == set()


def test_the_search_finds_the_clients_own_file(rooms: tuple[Path, Path], search: Search) -> None:
    assert "2 bits of s + 1" in search((rooms[0] / "secret.key").read_bytes())


def test_the_search_finds_a_planted_key_in_every_encoding(rooms: tuple[Path, Path], search: Search) -> None:
    host = (rooms[1] / "x.ct").read_bytes()[:50_000]
    assert len(search.whole) > 400
    for number, (name, data) in enumerate(search.whole.items()):
        at = 1009 * number % len(host)
        assert name in search(host[:at] + data + host[at:]), name


def test_the_search_finds_parts(rooms: tuple[Path, Path], search: Search) -> None:
    """An eighth of the key, from anywhere."""
    host = (rooms[1] / "y.ct").read_bytes()[:10_000]
    for number, (name, data) in enumerate(search.whole.items()):
        start = len(data) * (number % 8) // 9
        part = data[start : start + len(data) // 8]
        assert name in search(host[:77] + part + host[77:]), name


def test_the_search_finds_a_key_planted_in_a_servers_file(rooms: tuple[Path, Path], search: Search) -> None:
    for path in rooms[1].iterdir():
        assert search(path.read_bytes() + search.whole["2 bits of s + 1"]), path.name


def test_another_key_is_not_mistaken_for_it(secret: np.ndarray, search: Search) -> None:
    other = Search(np.random.default_rng(5).integers(-1, 2, len(secret)), [])
    assert search(b"".join(other.whole.values())) == set()


def test_key_ids_say_nothing_of_the_key(rooms: tuple[Path, Path]) -> None:
    """The id is random: two saves of one key agree, two keys do not."""
    program = matvec.Program.load(rooms[0] / "program.json")
    ids = {matvec.Client(program)._secret.id for _ in range(8)}
    assert len(ids) == 8


# ---- memory of a running server ----


def writable_memory(pid: int) -> bytes:
    """What a process has written: its writable private memory."""
    out = []
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            span, permissions = line.split()[:2]
            if not permissions.startswith("rw") or "[v" in line:
                continue
            first, last = (int(x, 16) for x in span.split("-"))
            for at in range(first, last, 1 << 24):
                try:
                    memory.seek(at)
                    block = memory.read(min(1 << 24, last - at))
                except (OSError, ValueError, OverflowError):
                    continue
                if block.strip(b"\0"):
                    out.append(block)
    return b"".join(out)


def small_search(s: np.ndarray, primes: list[int]) -> list[bytes]:
    """The encodings a library would hold in memory, two windows each."""
    out = []
    for name, data, _ in encodings(s, primes):
        if name in {"numbers i1", "numbers <i4", "numbers <i8", "2 bits of s + 1"} or name.endswith(", words"):
            size = max(16, len(data) * WINDOW // len(s))
            out += [data[at : at + size] for at in (len(data) // 3, len(data) // 5 * 3 // 8 * 8)]
    return out


HOLDER = """
import sys
from ringforge import matvec
client = matvec.Client.load(matvec.Program.load(sys.argv[1]), sys.argv[2])
print("ready", flush=True)
sys.stdin.read()
"""


def test_the_server_process_has_no_secret_in_memory(tmp_path: Path) -> None:
    """As in the demo: a server process computes for a client; its memory is searched while it runs."""
    folder = tmp_path / "server"
    folder.mkdir()
    save_onnx(folder / "model.onnx", small_model())
    with server_process(folder / "model.onnx", folder, "auto", 1) as (port, pid):
        if not os.access(f"/proc/{pid}/mem", os.R_OK):
            pytest.skip("this system does not show the memory of processes")
        connection = Connection(port)
        program = connection.program("single")
        client = matvec.Client(program)
        client.save_evaluation_keys(tmp_path / "e.keys")
        connection.send_keys("single", tmp_path / "e.keys")
        client.encrypt(np.zeros(12)).save(tmp_path / "x.ct", program)
        connection.evaluate("single", tmp_path / "x.ct", tmp_path / "y.ct")
        try:
            memory = writable_memory(pid)
        except PermissionError:
            pytest.skip("this system does not let tests read the memory of processes they start")
        connection.close()
    assert len(memory) > 1 << 20
    p = program.context.params
    windows = small_search(np.asarray(client._secret.coefficients()), [*p.q, *p.p])
    assert not any(w in memory for w in windows)

    # The same search over a process that has the key finds it.
    client.save_secret_key(tmp_path / "s.key")
    program.save(tmp_path / "p.json")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(x for x in sys.path if x)}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "p.json"), str(tmp_path / "s.key")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n"
        held = writable_memory(holder.pid)
    finally:
        holder.communicate()
    assert any(w in held for w in windows)


def test_no_argument_of_the_server_names_a_secret() -> None:
    """The service's options: a model, parameters, batches, a folder, threads; no key."""
    page = subprocess.run(
        [sys.executable, "-m", "ringforge.matvec.service", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(x for x in sys.path if x)},
    ).stdout
    options = {w.strip("[],") for w in page.split() if w.strip("[],").startswith("--")}
    # Samples are those that the server has its model from.
    assert options == {
        "--help",
        "--header",
        "--no-header",
        "--model",
        "--params",
        "--batches",
        "--folder",
        "--samples",
        "--threads",
        "--metrics",
    }


def test_packing_is_the_records_packing(rooms: tuple[Path, Path], secret: np.ndarray) -> None:
    """The test's own packing is the library's: the body of a secret key's record ends with it."""
    body = (rooms[0] / "secret.key").read_bytes()[:-32]
    assert body.endswith(pack(secret + 1, 2))
    assert pack(np.array([5, 2]), 3) == bytes([0b010_101])
