# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The demo: what it claims is what happens, and what it refuses."""

from __future__ import annotations

import base64
import functools
import http.client
import json
import re
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from ringforge import local_http, matvec
from ringforge.cli import main
from ringforge.errors import Error, FormatError, MissingKeyError, ParameterError
from ringforge.local_server import BoundedServer
from ringforge.matvec import demo, digits, service
from ringforge.matvec.demo_result import DemoResult
from ringforge.matvec.onnx_import import load_onnx
from ringforge.matvec.report import entropy, png
from ringforge.matvec.roles import Client
from tests.answers import printed
from tests.lying.order import asks_before_it_reads, written_down

pytest.importorskip("sklearn")
pytest.importorskip("onnx")


#: What the demo asked the server and decrypted, in order.
ORDER: list[str] = []


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DemoResult]:
    """The demo itself, at full size."""
    out = tmp_path_factory.mktemp("demo")
    server = local_http.Connection
    with written_down((server, "request", "ask"), (server, "close", "close"), (Client, "decrypt", "decrypt")) as events:
        result = demo.run_demo(images=300, out=out, threads=2)
    ORDER.extend(events)
    return out, result


def test_the_server_is_asked_before_anything_is_decrypted(shown: tuple[Path, DemoResult]) -> None:
    del shown
    assert ORDER.count("decrypt") == demo.SINGLE_RUNS + 1
    assert asks_before_it_reads(ORDER)


def test_predictions_agree_and_are_good(shown: tuple[Path, DemoResult]) -> None:
    _, r = shown
    assert r.disagreements == 0
    np.testing.assert_array_equal(r.plain, r.encrypted)
    assert r.encrypted_accuracy >= 0.96
    assert r.encrypted_accuracy == r.plain_accuracy == np.mean(r.plain == r.labels)
    assert (r.backend, r.device) == ("ckks", "cpu")
    assert r.client_pid != r.server_pid


def test_precision_is_as_predicted(shown: tuple[Path, DemoResult]) -> None:
    _, r = shown
    error = np.abs(r.batch.scores - r.plain_scores).max()
    assert error == pytest.approx(r.precision.max_error)
    assert error <= r.batch.error_bound
    assert np.abs(r.single.scores - r.plain_scores[0]).max() <= r.single.error_bound
    assert r.precision.min_bits > 14
    assert r.batch.program.context.params.secure


def test_counted_operations_are_those_of_the_plans(shown: tuple[Path, DemoResult]) -> None:
    out, r = shown
    model = load_onnx(out / "server" / "model.onnx")
    for e in (r.single, r.batch):
        compiled = matvec.compile_model(model, e.program.context.params, batch=e.program.batch)
        rotations = sum(c.chosen.cost.ops.rotation for c in compiled.choices)
        groups = -(-e.images // e.program.batch)
        assert e.operations["rotation"] == rotations * groups
        assert e.ciphertexts == groups


def test_the_models_on_both_sides_are_the_exported_one(shown: tuple[Path, DemoResult]) -> None:
    out, r = shown
    model = load_onnx(out / "server" / "model.onnx")
    np.testing.assert_array_equal(model(r.images), r.plain_scores)
    assert [type(layer).__name__ for layer in model.layers] == ["Linear", "Square", "Linear"]


def test_the_report_stands_alone(shown: tuple[Path, DemoResult]) -> None:
    out, r = shown
    page = (out / "report.html").read_text()
    assert "Every encrypted prediction equals" in page
    assert "300 of 300" in page
    assert len(re.findall(r'class="tile[ "]', page)) == 300
    for address in re.findall(r"""(?:src|href)\s*=\s*["']?([^"'\s>]+)""", page) + re.findall(r"url\(([^)]*)", page):
        assert address.startswith("data:"), address
    for word in (
        "prefers-color-scheme",
        "encode model",
        "make keys",
        "evaluate 2: square",
        "transfer",
        "decrypt",
    ):
        assert word in page
    assert page.count("outlined") == 1
    assert len(re.findall(r'class="tile wrong', page)) == int((r.encrypted != r.labels).sum())
    # The bytes shown are bytes that the server received.
    shown_bytes = bytes.fromhex(re.search(r"<pre>([0-9a-f\s]+)</pre>", page).group(1))  # type: ignore[union-attr]
    assert shown_bytes in (out / "server" / "single.evaluate").read_bytes()
    assert len(page) < 1 << 19


def test_the_summary_for_programs(shown: tuple[Path, DemoResult]) -> None:
    out, r = shown
    summary = json.loads((out / "summary.json").read_text())
    assert summary["disagreements"] == 0
    assert summary["backend"] == "ckks"
    assert summary["parameters"]["security"] == "128 bits"
    assert summary["single"]["bytes"]["evaluation keys"] == (out / "server" / "single.keys").stat().st_size
    assert summary["batch"]["bytes"]["ciphertexts sent"] == (out / "server" / "batch.evaluate").stat().st_size
    assert summary["amortised_seconds"] == pytest.approx(r.batch.latency / 300)


def test_nothing_of_the_client_is_left(shown: tuple[Path, DemoResult]) -> None:
    out, r = shown
    assert sorted(p.name for p in out.iterdir()) == [".ringforge-demo", "report.html", "server", "summary.json"]
    kinds = {f"{name}.{what}" for name in ("single", "batch") for what in ("keys", "evaluate", "results")}
    assert {p.name for p in (out / "server").iterdir()} == kinds | {"model.onnx"}
    assert not Path(f"/proc/{r.server_pid}").exists(), "the server has ended"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that is trained for a moment only."""
    monkeypatch.setattr(digits, "train", functools.partial(digits.train, epochs=5, hidden=16))


@pytest.mark.usefixtures("quick")
def test_as_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["matvec", "demo", "--images", "70", "--params", "set-b", "--threads", "1", "--out", str(tmp_path)])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    for word in (
        "ckks on device cpu",
        "set-b",
        "128 bits",
        "agree on 70 of 70",
        "accuracy",
        "for one image alone",
        "per image",
        "bits after the point",
        "predicted bound",
        "evaluation keys",
        "ciphertexts sent",
        "key switch",
        "encode model",
        "every encrypted prediction equals the plain one",
        "report.html",
    ):
        assert word in out, word


@pytest.mark.usefixtures("quick")
def test_one_differing_prediction_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    decrypt = matvec.Client.decrypt

    def wrong(self: matvec.Client, *args: object, **kwargs: object) -> np.ndarray:
        scores = decrypt(self, *args, **kwargs)  # type: ignore[arg-type]
        if len(scores) > 1:
            scores[3] = -scores[3]
        return scores

    monkeypatch.setattr(matvec.Client, "decrypt", wrong)
    assert main(["matvec", "demo", "--images", "10", "--out", str(tmp_path)]) == 1
    assert "FAILED: 1 predictions differ" in printed(capsys)
    page = (tmp_path / "report.html").read_text()
    assert "1 encrypted predictions differ" in page
    assert page.count("tile differs") + page.count("tile wrong differs") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--backend clear", 'refuses backend "clear"'),
        ("--backend none", "refuses backend"),
        ("--images 0", "1 ... 600"),
        ("--images 601", "1 ... 600"),
        ("--params set-b-54", "not secure"),
        ("--params nothing", "nothing"),
        ("--threads -2", "-2"),
    ],
)
def test_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str, message: str) -> None:
    out = tmp_path / "out"
    assert main(["matvec", "demo", "--out", str(out), *words.split()]) == 1
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert not out.exists()


@pytest.mark.usefixtures("quick")
def test_a_set_with_too_few_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matvec", "demo", "--params", "set-a", "--out", str(tmp_path)]) == 1
    assert "levels 0 ... 2" in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()


# ---- the service ----

MODEL = matvec.Sequential([matvec.Linear(np.full((2, 3), 0.5))])
Serve = Callable[[dict[str, matvec.Program]], int]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts the service in a thread and returns its port."""
    running: list[tuple[BoundedServer, threading.Thread, service.Service]] = []

    def start(programs: dict[str, matvec.Program]) -> int:
        served = service.Service(MODEL, programs, tmp_path, 1)
        httpd = BoundedServer(("127.0.0.1", 0), type("H", (service.Handler,), {"service": served}))
        thread = threading.Thread(target=httpd.serve_forever, args=(0.05,))
        thread.start()
        running.append((httpd, thread, served))
        return int(httpd.server_address[1])

    yield start
    for httpd, thread, served in running:
        httpd.shutdown()
        thread.join()
        httpd.server_close()
        served.close()


def test_the_client_refuses_what_a_server_must_not_offer(serve: Serve) -> None:
    """Whatever the server publishes: no clear backend, no set below 128 bits."""
    clear = matvec.compile_model(MODEL, "set-a", backend="clear").program
    weak = matvec.compile_model(MODEL, demo.parameter_sets.named("set-b-54", "a test of refusals")).program
    connection = demo.Connection(serve({"clear": clear, "weak": weak}))
    with pytest.raises(ParameterError, match='refuses backend "clear"'):
        connection.program("clear")
    with pytest.raises(ParameterError, match="below 128 bits: a test of refusals"):
        connection.program("weak")
    connection.close()


def test_the_service_refuses_with_typed_errors(serve: Serve, tmp_path: Path) -> None:
    program = matvec.compile_model(MODEL, "set-a").program
    port = serve({"single": program})
    client = matvec.Client(program)
    client.encrypt([0.1, 0.2, 0.3]).save(tmp_path / "x", program)
    (tmp_path / "junk").write_bytes(b"junk" * 100)

    def fresh() -> demo.Connection:
        return demo.Connection(port)

    with pytest.raises(MissingKeyError, match="send them first"):
        fresh().evaluate("single", tmp_path / "x", tmp_path / "y")
    with pytest.raises(FormatError, match="the server refused"):
        fresh().send_keys("single", tmp_path / "junk")
    client.save_evaluation_keys(tmp_path / "keys")
    fresh().send_keys("single", tmp_path / "keys")
    with pytest.raises(FormatError, match="the server refused"):
        fresh().evaluate("single", tmp_path / "junk", tmp_path / "y")
    with pytest.raises(Error, match="no such program"):
        fresh().program("other")
    with pytest.raises(Error, match="no such"):
        fresh().send_keys("../single", tmp_path / "keys")
    assert not (tmp_path / "y").exists()
    # After all this it still works.
    connection = fresh()
    connection.evaluate("single", tmp_path / "x", tmp_path / "y")
    result = matvec.EncryptedVectors.load(tmp_path / "y", program, "output")
    np.testing.assert_allclose(client.decrypt(result)[0], [0.3, 0.3], atol=1e-4)
    connection.close()


@pytest.mark.parametrize("length", ["0", "-1", "abc", str(1 << 40)])
def test_the_service_trusts_no_length(serve: Serve, tmp_path: Path, length: str) -> None:
    raw = http.client.HTTPConnection("127.0.0.1", serve({"single": matvec.compile_model(MODEL, "set-a").program}))
    raw.putrequest("POST", "/programs/single/keys")
    raw.putheader("Content-Length", length)
    raw.endheaders()
    answer = raw.getresponse()
    assert answer.status == 400
    assert b"Content-Length" in answer.read()
    raw.close()
    assert list(tmp_path.iterdir()) == []


def test_a_body_cut_short_leaves_no_file(serve: Serve, tmp_path: Path) -> None:
    raw = http.client.HTTPConnection("127.0.0.1", serve({"single": matvec.compile_model(MODEL, "set-a").program}))
    raw.putrequest("POST", "/programs/single/keys")
    raw.putheader("Content-Length", "1000")
    raw.endheaders(b"only this")
    raw.sock.shutdown(1)
    answer = raw.getresponse()
    assert answer.status == 400
    assert b"early" in answer.read()
    raw.close()
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"no model")
    with (
        pytest.raises(ParameterError, match=r"m\.onnx is not an ONNX model"),
        demo.server_process(tmp_path / "m.onnx", tmp_path, "auto", 1),
    ):
        pass


# ---- data and pictures ----


def test_held_out_images_are_held_out() -> None:
    data = digits.load_digits()
    assert len(data.test) == digits.HELD_OUT
    assert len(data.train) + len(data.test) == 1797
    assert data.train.min() >= 0
    assert max(data.train.max(), data.test.max()) <= 1
    assert np.bincount(data.test_labels).min() > 30
    again = digits.load_digits()
    np.testing.assert_array_equal(data.test, again.test)


def test_training_repeats_itself() -> None:
    data = digits.load_digits()
    before = data.train.copy()
    one, two = (digits.train(data, epochs=2, hidden=8)(data.test) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(data.train, before)


def test_png_holds_the_image() -> None:
    image = np.linspace(0, 1, 64).reshape(8, 8)
    data = base64.b64decode(png(image).split(",")[1])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", data[16:24]) == (8, 8)
    length = struct.unpack(">I", data[33:37])[0]
    rows = np.frombuffer(zlib.decompress(data[41 : 41 + length]), np.uint8).reshape(8, 9)
    assert not rows[:, 0].any()
    np.testing.assert_allclose(1 - rows[:, 1:] / 255, image, atol=1 / 500)


def test_entropy() -> None:
    assert entropy(bytes(range(256))) == 8
    assert entropy(b"aaaa") == 0
