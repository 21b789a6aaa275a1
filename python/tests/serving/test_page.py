# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Every service as a process, started by its command, told of by files and endpoints; and the page, in a browser."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client.parser import text_string_to_metric_families

from ringforge import matmul
from ringforge.cli import main
from ringforge.omr import sets
from ringforge.omr.board import Board
from ringforge.omr.detector_client import Connection
from ringforge.psi.store import Store
from ringforge.serving import runtime
from tests.omr.detecting import key_file, request
from tests.psi.processes import PATIENCE, environment
from tests.serving.telling import ask

#: What test parameter sets are used for.
REASON = "tests of what services tell"

#: Commands that serve, by the name under which they are told of.
COMMANDS: dict[str, tuple[str, ...]] = {
    "psi": ("psi", "serve", "table", "--listen", "127.0.0.1:0"),
    "omr board": (
        *("omr", "board", "serve", "--database", "board.sqlite", "--listen", "127.0.0.1:0"),
        *("--set", "test", "--insecure", REASON),
    ),
    "omr detect": (
        *("omr", "detect", "serve", "--board", "board.sqlite", "--listen", "127.0.0.1:0"),
        *("--set", "test", "--insecure", REASON),
    ),
    "aes": ("aes", "serve", "--listen", "127.0.0.1:0"),
    "matmul": ("matmul", "serve", "--program", "program.json", "--folder", "received"),
}

#: Names that a page must not take for anything but text.
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"


#: What the card of a detector shows of its work at one moment: values of bars, their words, its state.
RUNNING = """
return [...document.querySelectorAll("article")]
  .filter(a => a.querySelector("h2").textContent === "omr detect"
    && a.querySelector(".address").textContent === arguments[0])
  .flatMap(a => [...a.querySelectorAll(".task")]
    .map(t => [t.querySelector("progress").value, t.textContent, a.querySelector(".state").textContent]));
"""


@dataclass
class Process:
    """A service."""

    process: subprocess.Popen[str]
    ready: dict[str, Any]

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@dataclass
class Fleet:
    """All services, and the page's server."""

    folder: Path
    services: dict[str, Process]
    page: Process

    @property
    def url(self) -> str:
        return f"http://{self.page.ready['listening']}/"

    def known(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(ask(self.page.ready["listening"], "/services.json").body)
        return {s["service"]: s for s in found["services"]}


def begin(folder: Path, *words: str, **more: str) -> subprocess.Popen[str]:
    with (folder / f"{'-'.join(words[:4]).replace('/', '-')[:60]}.log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, "-m", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=folder,
            env=environment(RINGFORGE_RUNTIME_DIR=str(folder / "run"), **more),
        )


def ready(process: subprocess.Popen[str]) -> Process:
    assert process.stdout is not None
    return Process(process, json.loads(process.stdout.readline()))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """The services of all commands, one whose steps are hashes and wait to be let go, and the page."""
    folder = tmp_path_factory.mktemp("fleet")
    Store.build(folder / "table", [f"element {i}".encode() for i in range(50)], log_bins=7)
    Board.open(str(folder / "board.sqlite"), sets.named("test", REASON)).close()
    matmul.trace("matmul-a-128", lambda A, B: A @ B, {"A": (2, 2), "B": (2, 2)}).save(folder / "program.json")
    (folder / "received").mkdir()
    (folder / "slow").mkdir()
    begun = {
        name: begin(folder, "ringforge.cli", *words, "--metrics", "127.0.0.1:0") for name, words in COMMANDS.items()
    }
    begun["slow"] = begin(folder, "tests.omr.detector_process", "slow", "0", "0", HOLD="slow")
    page = begin(folder, "ringforge.cli", "serve", "--http", "127.0.0.1:0")
    try:
        yield Fleet(folder, {name: ready(p) for name, p in begun.items()}, ready(page))
    finally:
        for p in [*begun.values(), page]:
            p.kill()
            p.wait(PATIENCE)
            assert p.stdout is not None
            p.stdout.close()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_service_answers(fleet: Fleet, name: str) -> None:
    """At the address that it says: well, ready, metrics that the library reads, the page's record; gRPC health too."""
    service = fleet.services[name].ready
    at = service["metrics"]
    assert (ask(at, "/healthz").body, ask(at, "/readyz").body) == (b"ok\n", b"ready\n")
    families = {f.name: f for f in text_string_to_metric_families(ask(at, "/metrics").body.decode())}
    (build,) = families["ringforge_build_info"].samples
    assert build.labels["service"] == name
    assert {"release", "kernels", "python", "device"} <= build.labels.keys()
    assert all(f.documentation for f in families.values())
    status = json.loads(ask(at, "/status").body)
    assert (status["service"], status["pid"], status["metrics"]) == (name, service["pid"], at)
    if "listening" in service:
        assert status["address"] == service["listening"]
        with grpc.insecure_channel(service["listening"]) as channel:
            health: Any = health_pb2
            answer = health_pb2_grpc.HealthStub(channel).Check(health.HealthCheckRequest(), timeout=30)
            assert answer.status == health.HealthCheckResponse.SERVING


def test_the_page_knows_all(fleet: Fleet) -> None:
    known = fleet.known()
    assert set(COMMANDS) <= set(known)
    assert {s["state"] for s in known.values()} == {"ready"}


def test_the_pages_server_answers_this_machine_alone(fleet: Fleet) -> None:
    address = fleet.page.ready["listening"]
    for path in ("/", "/services.json", "/services.js", "/services.css", "/icon.svg"):
        found = ask(address, path)
        assert found.status == 200
        policy = found.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert ask(address, path, Host="evil.example").status == 403
        assert ask(address, path, "POST", Content_Length="0").status == 405
    for path in ("/../status.py", "/templates/", "/services.json/", "/%2e%2e/page.py"):
        assert ask(address, path).status == 404
    for name in ("services.html", "services.js", "services.css"):
        text = ask(address, f"/{name.replace('services.html', '')}").body.decode()
        assert not re.findall(r"https?://(?!HOST)", text), "nothing comes from elsewhere"
        assert "innerHTML" not in text


# ---- in a browser --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in (
        "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--window-size=1240,1000",
        f"--user-data-dir={tmp_path_factory.mktemp('browser')}",
    ):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield found
    found.quit()


def until(browser: Any, condition: Callable[[Any], Any]) -> Any:
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 60, 0.1, [StaleElementReferenceException]).until(condition)


def cards(browser: Any) -> dict[str, Any]:
    """Articles of the page by service and address."""
    found = {}
    for a in browser.find_elements("css selector", "article"):
        found[a.find_element("tag name", "h2").text, a.find_element("class name", "address").text] = a
    return found


def complaints(browser: Any) -> list[Any]:
    return [e for e in browser.get_log("browser") if e["level"] == "SEVERE"]


def state(card: Any) -> str:
    text: str = card.find_element("class name", "state").text
    return text


def working(browser: Any, address: str, stage: str) -> Any:
    """What the page shows of a detector's request in this stage: bar, words, state; None while it shows none."""
    shown = browser.execute_script(RUNNING, address)
    return next((s for s in shown if f"request: {stage}" in s[1]), None)


def test_the_page_in_a_browser(fleet: Fleet, browser: Any) -> None:
    """A running job's progress is seen, a killed service is shown as dead, hostile names stay text: all without a
    reload."""
    browser.get(fleet.url)
    until(browser, lambda b: len(cards(b)) == len(fleet.services))
    browser.execute_script("window.kept = document.querySelector('article'); document.title = 'not loaded again'")
    assert {state(c) for c in cards(browser).values()} == {"ready"}

    slow = fleet.services["slow"].ready
    address = f"127.0.0.1:{slow['port']}"
    key = key_file(fleet.folder)
    with Connection(address, timeout=60) as c:
        c.put_key(key)
        job = c.submit(request(key))
        before = 0.0
        for stage, after in (("affine", "combination"), ("combination", "range check"), ("range check", "compression")):
            (fleet.folder / "slow" / stage).touch()
            value, words, at = until(browser, lambda b: working(b, address, after))  # noqa: B023
            assert before < value < 1
            assert re.search(rf"request: {after}.*\d+ %", words)
            assert at == "computing"
            before = value
        for stage in ("compression", "digest"):
            (fleet.folder / "slow" / stage).touch()
        c.watch(job)
    until(browser, lambda b: state(cards(b)["omr detect", address]) == "ready")
    until(browser, lambda b: "1" in cards(b)["omr detect", address].find_element("class name", "quotas").text)

    psi = fleet.services["psi"]
    psi.process.kill()
    psi.process.wait(PATIENCE)
    dead = until(browser, lambda b: [c for (name, _), c in cards(b).items() if name == "psi" and "dead" in state(c)])
    assert "ended without saying so" in dead[0].text

    (found,) = [f for f in runtime.found(fleet.folder / "run") if f.status and f.status.service == "matmul"]
    assert found.status is not None
    work = [{"what": HOSTILE[:100], "stage": HOSTILE, "fraction": 0.5, "seconds_left": 1.0}]
    forged = json.loads(found.status.to_json())
    forged.update(service=HOSTILE[:90], address=HOSTILE[:80], facts={HOSTILE[:50]: HOSTILE})
    forged["load"].update(work=work, queues={HOSTILE[:40]: {"waiting": 1, "most": 2}})
    (fleet.folder / "run" / "forged-1-00000000.json").write_text(json.dumps(forged))
    until(browser, lambda b: any("<img" in name for name, _ in cards(b)))
    (card,) = [c for (name, _), c in cards(browser).items() if "<img" in name]
    assert HOSTILE in card.text
    assert not browser.find_elements("css selector", "img, article script")
    assert browser.title == "not loaded again"
    assert browser.execute_script("return document.contains(window.kept)")
    assert complaints(browser) == []


def test_the_page_on_a_phone_and_in_the_dark(fleet: Fleet, browser: Any) -> None:
    """Nothing is wider than the screen; colours follow the system."""
    size = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    colours = {}
    for scheme in ("light", "dark"):
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        browser.get(fleet.url)
        until(browser, lambda b: len(cards(b)) >= len(fleet.services))
        assert browser.execute_script("return document.documentElement.scrollWidth") == 360
        colours[scheme] = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert colours["light"] != colours["dark"]
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_they_end_as_they_should(fleet: Fleet, browser: Any) -> None:
    """SIGTERM: exit code 0, nothing left behind; the page says when its own server has gone."""
    for name, service in fleet.services.items():
        if name != "psi":  # killed above
            assert service.end(signal.SIGTERM) == 0, name
    left = {f.name.rpartition("-")[0].rpartition("-")[0] for f in runtime.found(fleet.folder / "run")}
    assert left <= {"psi", "forged"}
    browser.get(fleet.url)
    assert fleet.page.end(signal.SIGTERM) == 0
    until(browser, lambda b: "does not answer" in b.find_element("id", "trouble").text)


# ---- the command ---------------------------------------------------------------------------------


def test_what_the_command_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["--http", "0.0.0.0:8790"], "--plaintext"),
        (["--http", "8790"], "HOST:PORT"),
        (["--service", "file:///etc/passwd"], "write http://HOST:PORT"),
    ):
        assert main(["serve", *words]) == 1
        assert said in capsys.readouterr().err
