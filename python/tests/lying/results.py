# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Servers that compute on files and lie in their results: AES, matrix-vector and matrix products, gates."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ringforge import _native, bgv, gates, matvec
from ringforge import params as parameter_sets
from ringforge.aes import files, transcipher, wire
from ringforge.aes.bgv_engine import BgvClient
from ringforge.aes.client import Connection
from ringforge.aes.engine import ROUNDS, State
from ringforge.aes.ledger import Ledger
from ringforge.aes.proto import aes_pb2 as pb
from ringforge.aes.sources import decrypted
from ringforge.aes.texts import stream_key
from ringforge.errors import Error
from ringforge.gates.bits import Bits
from ringforge.matvec import demo
from ringforge.matvec.service import REPORT_HEADER
from ringforge.serving import framing
from tests.lying.command import printing
from tests.lying.liar import CIPHERTEXTS, CLIENTS, Lie
from tests.lying.records import Layout, two_parts
from tests.lying.servers import RefusedError, Seen, Tap, speaking_grpc, speaking_http

#: Bytes before the polynomials of ciphertexts.
CKKS_HEAD, BGV_HEAD = 48, 32

FORGED = [kind for kind in CIPHERTEXTS if kind != "replay"]


class Computing:
    """A client that sends what it encrypted, takes results, hangs up, and decrypts; with the same keys each time."""

    def __init__(self, name: str, layout: Layout) -> None:
        self.name, self.layout = name, layout
        self.degree, self.log_modulus = layout.degree, layout.log_modulus
        self.seen, self._who, self._lie = Seen(), 0, Lie("honest")
        self.honest: list[bytes] = []
        self.run: Callable[[], Hashable] = lambda: None
        self.tap: Tap | None = None

    def once(self, client: int, lie: Lie) -> tuple[tuple[Any, ...], Hashable]:
        self.seen, self._who, self._lie = Seen(), client, lie
        opened = self.tap.opened if self.tap else 0
        outcome = self.run()
        assert self.tap is None or not self.tap.left()
        return self.seen.transcript(self.tap.opened - opened if self.tap else 0), outcome

    def decrypting(self) -> None:
        """Called before a result is decrypted: what is open then?"""
        self.seen.decrypting(*([self.tap] if self.tap else []))

    def file(self) -> bytes:
        """The file of a result that the lie makes: of its first ciphertext, for it is what is decrypted first."""
        lie, honest = self._lie, self.honest[self._who]
        if lie.kind == "refused":
            raise RefusedError("ParameterError")
        if lie.kind == "stranger":
            return self.honest[1 - self._who]
        if lie.kind == "checksum":
            return honest[:-1] + bytes([honest[-1] ^ 1])
        if lie.kind == "short":
            return honest[: len(honest) // 2]
        return self.forged(honest) if lie.kind in FORGED else honest

    def forged(self, honest: bytes) -> bytes:
        """A file whose last record is forged."""
        size = _native.io.HEADER_BYTES + self.body_bytes() + 32
        lie = self._lie
        return honest[:-size] + self.layout.forge(lie.kind, honest[-size:], lie.position, lie.amount, lie.rng)

    def body_bytes(self) -> int:
        last = self.layout.mask[-1]
        return last.offset + last.size


def said(work: Callable[[], Any]) -> Hashable:
    """Return what a client has in the end: a hash of the values, or an error."""
    try:
        found = np.asarray(work())
    except Error as e:
        return f"{type(e).__name__}: {e}"[:160]
    return hashlib.sha256(found.tobytes()).hexdigest()[:16]


# ---- AES -----------------------------------------------------------------------------------------


class Blocks(Computing):
    """A client of transciphering: its stream goes, a result comes, which has the stream's bytes and their check."""

    def __init__(self, name: str, folder: Path) -> None:
        context = bgv.Context(bgv.Parameters.named("bgv-test", insecure="tests"))
        primes = context.params.q[:2]
        super().__init__(name, two_parts(BGV_HEAD, context.params.degree, primes, other_ring=True))
        self._evaluator, self._folder = bgv.Evaluator(context), folder
        self._records: list[list[bytes]] = []
        self.sides: list[BgvClient] = []
        self.streams: list[transcipher.Stream] = []
        self.keys: list[transcipher.StreamKey] = []
        for who in range(CLIENTS):
            made = bgv.Client(context)
            secret = made.secret_key()
            side = BgvClient(context, secret)
            key = stream_key(bytes([who]) * 16)
            text = bytes(range(16 * who, 16 * who + 32))
            stream = transcipher.encrypt(key, text, Ledger(folder / f"{who}.ledger"), 5)
            (folder / f"{who}.stream").write_bytes(stream.to_bytes())
            check = transcipher.check_block(key, stream, side.slots, 0)
            rows = np.frombuffer(text + check, np.uint8).reshape(-1, 16)
            whole = [self._both(made, secret, side.column(rows, j)) for j in range(16)]
            self._records.append([side.to_bytes(c) for c in whole])
            self.sides.append(side)
            self.streams.append(stream)
            self.keys.append(key)
            self.honest.append(self._written(who, self._records[who]))
            parts = {wire.EVALUATION: ["all.rgfg"], wire.ROUND_KEYS: [*files.ROUND_FILES, files.TAG_FILE]}
            for kind, names in parts.items():
                (folder / f"{who} {kind}").mkdir()
                for each in names:
                    (folder / f"{who} {kind}" / each).write_bytes(b"the server says that it has this file")
                    (folder / f"{who} {kind}" / each).chmod(0o600)
        self.run = self._run

    def _both(self, made: Any, secret: Any, plain: Any) -> Any:
        """A ciphertext of few primes, no half of which is a seed: as results are."""
        return self._evaluator.add(*(made.encrypt(p, secret, 2) for p in (plain, np.zeros_like(plain))))

    def _written(self, who: int, records: list[bytes]) -> bytes:
        side, path = self.sides[who], self._folder / "made"
        state = State("bgv", 3, ROUNDS, "encrypt", [])
        head = files.head_of(side, state, "0" * 64, 3)
        path.unlink(missing_ok=True)
        files.write(path, side.parameter_hash, head, records)
        return path.read_bytes()

    def forged(self, honest: bytes) -> bytes:
        """The first ciphertext of the result is another one; the file's digest is made anew, too."""
        del honest
        lie, records = self._lie, self._records[self._who]
        made = self.layout.forge(lie.kind, records[0], lie.position, lie.amount, lie.rng)
        return self._written(self._who, [made, *records[1:]])

    def _run(self) -> Hashable:
        assert self.tap is not None
        who, out = self._who, self._folder / "result"
        out.unlink(missing_ok=True)
        stream = self.streams[who].to_bytes()
        self.seen.blanks = [stream, hashlib.sha256(stream).digest()]
        try:
            with Connection(self.tap.address) as c:
                evaluation = c.put(wire.EVALUATION, self._folder / f"{who} {wire.EVALUATION}")
                round_keys = c.put(wire.ROUND_KEYS, self._folder / f"{who} {wire.ROUND_KEYS}")
                job = c.submit(evaluation, round_keys, wire.STREAM, self._folder / f"{who}.stream")
                c.watch(job)
                c.fetch(job, out)
        except Error as e:
            return f"{type(e).__name__}: {e}"[:160]
        self.decrypting()
        side, made = self.sides[who], (self.keys[who], self.streams[who])
        return said(lambda: [list(data) for data, _ in decrypted(side, files.File(out, side), made)])

    def answer(self, method: str, messages: list[bytes]) -> Iterable[Any]:
        del messages
        if method == "Offer":
            yield pb.OfferReply(set=bytes(16))
        elif method == "Submit":
            yield pb.SubmitReply(job=bytes(16))
        elif method == "Watch":
            yield pb.WatchReply(state="done")
        else:
            data = self.file()
            yield pb.FetchReply(header=pb.Header(total_bytes=len(data)))
            for chunk in framing.chunks(data):
                yield pb.FetchReply(chunk=chunk)


@contextlib.contextmanager
def blocks(name: str, folder: Path, patch: Any) -> Iterator[Computing]:
    """A client of AES against a server that lies."""
    del patch
    made = Blocks(name, folder)
    with speaking_grpc(lambda: made.seen, made.answer) as made.tap:
        yield made


# ---- matrices ------------------------------------------------------------------------------------


@contextlib.contextmanager
def vectors(name: str, folder: Path, patch: Any) -> Iterator[Computing]:
    """A client of a model, twice in a run, over HTTP."""
    del patch
    rng = np.random.default_rng(1)
    model = matvec.Sequential([matvec.Linear(rng.normal(size=(4, 6)) / 8, np.zeros(4))])
    program = matvec.compile_model(model, parameter_sets.named("set-a")).program
    params = program.context.params
    made = Computing(name, two_parts(CKKS_HEAD, params.degree, params.q[: program.output_level + 1]))
    clients = [matvec.Client(program) for _ in range(CLIENTS)]
    rows = [rng.uniform(-1, 1, (1, 6)) for _ in range(CLIENTS)]
    source, target = folder / "x.ct", folder / "y.ct"
    for client, x in zip(clients, rows, strict=True):
        answer, _ = matvec.Server(model, program, client.evaluation_keys()).evaluate(client.encrypt(x))
        answer.save(target, program)
        made.honest.append(target.read_bytes())

    def run() -> Hashable:
        assert made.tap is not None
        client, connection = clients[made._who], demo.Connection(made.tap.port)
        try:
            for number in range(2):
                client.encrypt(rows[made._who]).save(source, program)
                connection.evaluate("single", source, folder / f"{number}.ct")
        except Error as e:
            return f"{type(e).__name__}: {e}"[:160]
        finally:
            connection.close()
        made.decrypting()
        return tuple(
            said(lambda n=n: client.decrypt(matvec.EncryptedVectors.load(folder / f"{n}.ct", program, "output"), 1))  # type: ignore[misc]
            for n in range(2)
        )

    made.run = run
    with speaking_http(lambda: made.seen, lambda _, __: (made.file(), {REPORT_HEADER: "{}"})) as made.tap:
        yield made


@contextlib.contextmanager
def matrices(name: str, folder: Path, patch: Any) -> Iterator[Computing]:
    """A key holder: `matmul encrypt`, `send`, `fetch`, `decrypt`."""
    patch.chdir(folder)
    reason = ("--accept-insecure", "tests")

    def go(*words: str) -> None:
        answer = printing("matmul", *words)
        assert isinstance(answer, tuple)
        assert answer[0] == 0, answer

    go("plan", "--shape", "4x6x3", "--params", "fame-small", "--insecure", "tests", "--out", "p.json")
    for who in range(CLIENTS):
        for matrix, shape in (("A", (4, 6)), ("B", (6, 3))):
            np.save(f"{matrix}{who}.npy", np.random.default_rng(who).uniform(-1, 1, shape))
        keys = ("--secret", f"{who}.key", "--public", f"{who}.public", "--eval-keys", f"{who}.eval")
        go("keygen", "--program", "p.json", *keys, *reason)
        for matrix in "AB":
            data = ("--name", matrix, "--in", f"{matrix}{who}.npy", "--out", f"{matrix}{who}.ct")
            go("encrypt", "--program", "p.json", "--secret", f"{who}.key", *data, *reason)
        inputs = ("--in", f"A=A{who}.ct", "--in", f"B=B{who}.ct", "--out", f"{who}.ct")
        go("multiply", "--program", "p.json", "--keys", f"{who}.eval", *inputs)
    from ringforge.matmul.program import Program

    program = Program.load(Path("p.json"))
    params, level = program.context.params, program.traced.results["result"].level
    made = Computing(name, two_parts(CKKS_HEAD, params.degree, params.q[: level + 1]))
    made.honest = [Path(f"{who}.ct").read_bytes() for who in range(CLIENTS)]

    def run() -> Hashable:
        assert made.tap is not None
        who, port = made._who, str(made.tap.port)
        key = ("--program", "p.json", "--secret", f"{who}.key", *reason)
        go("encrypt", *key, "--name", "A", "--in", f"A{who}.npy", "--out", "A.ct", "--overwrite")
        printing("matmul", "send", "--port", port, "--in", "A=A.ct")
        fetched = printing("matmul", "fetch", "--port", port, "--out", "c.ct", "--overwrite")
        assert isinstance(fetched, tuple)
        if fetched[0]:
            return fetched
        made.decrypting()
        outcome = printing("matmul", "decrypt", *key, "--in", "c.ct", "--out", "c.npy", "--overwrite")
        assert isinstance(outcome, tuple)
        return outcome if outcome[0] else hashlib.sha256(Path("c.npy").read_bytes()).hexdigest()[:16]

    def answer(what: str, body: bytes) -> tuple[bytes, dict[str, str]]:
        if what.startswith("POST /inputs"):
            return b'{"bytes": %d}' % len(body), {}
        return (b'{"compute_seconds": 1}', {}) if what == "POST /run" else (made.file(), {})

    made.run = run
    with speaking_http(lambda: made.seen, answer) as made.tap:
        yield made


# ---- gates ---------------------------------------------------------------------------------------


class Words(Layout):
    """Bits are LWE ciphertexts: n words that meet the key, and one that is added."""

    def __init__(self, params: Any) -> None:
        self.params = params

    @property
    def degree(self) -> int:
        return int(self.params.n)

    @property
    def log_modulus(self) -> int:
        return int(self.params.log_q)


@contextlib.contextmanager
def circuits(name: str, folder: Path, patch: Any) -> Iterator[Computing]:
    """A key holder of gates, and a server that shares a folder with it: files are all that goes between them."""
    del patch
    from ringforge.gates.storage import parameters

    params = parameters("gates-128")
    keys = [_native.fhew.SecretKey(params) for _ in range(CLIENTS)]
    made = Computing(name, Words(params))
    numbers = [7, 200]
    results = []
    for who, key in enumerate(keys):
        results.append(gates.encrypt(key, gates.to_bits(numbers[who], 8)))
        gates.save_bits(folder / "y.ct", {"y": results[who]})
        made.honest.append((folder / "y.ct").read_bytes())

    def forged(honest: bytes) -> bytes:
        del honest
        lie, bits = made._lie, results[made._who]
        words = bits.words.copy()
        modulus = 1 << params.log_q
        if lie.kind == "garbage":
            words = np.random.default_rng(lie.number).integers(0, modulus, words.shape).astype(np.uint32)
        elif lie.kind == "probe":
            words[:] = 0
            words[:, lie.position] = lie.amount % modulus
        else:
            at = params.n if lie.kind == "monomial" else lie.position
            words[:, at] = (words[:, at] + lie.amount) % modulus
        gates.save_bits(folder / "y.ct", {"y": Bits(words, params, key_id=bits.key_id)})
        return (folder / "y.ct").read_bytes()

    made.forged = forged  # type: ignore[method-assign]

    def run() -> Hashable:
        key = keys[made._who]
        gates.save_bits(folder / "x.ct", {"x": gates.encrypt(key, gates.to_bits(numbers[made._who], 8))})
        made.seen("x.ct", made.seen.message((folder / "x.ct").read_bytes()))
        try:
            (folder / "y.ct").write_bytes(made.file())
        except RefusedError:
            (folder / "y.ct").unlink(missing_ok=True)
            return "no result"
        made.decrypting()
        return said(lambda: gates.from_bits(gates.decrypt(key, gates.load_bits(folder / "y.ct", key)["y"])))

    made.run = run
    yield made


WAYS = {"aes": blocks, "matvec": vectors, "matmul": matrices, "gates": circuits}
