# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The units of deploy/systemd: systemd accepts them, they shut services in, and what they start answers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from ringforge.cli import main
from tests.deploy.units import FOLDER, INSTANCE, PROGRAM, ROOT, Place, Unit, get, started, units
from tests.psi.conftest import openssl

_UNITS = {u.stem: u for u in units()}

#: Where services listen here: anywhere.
_ANYWHERE = {"LISTEN": "127.0.0.1:0", "METRICS": "127.0.0.1:0", "PORT": "0", "HTTP": "127.0.0.1:0"}

_TOKEN = "0123456789abcdef0123456789abcdef"


# ---- what systemd says ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The units, as files of a system whose programs are there."""
    folder = tmp_path_factory.mktemp("units")
    for name in _UNITS:
        (path,) = FOLDER.glob(f"ringforge-{name}*.service")
        (folder / path.name).write_text(path.read_text().replace(PROGRAM, "/bin/true"))
    return folder


def test_systemd_accepts_the_units(installed: Path) -> None:
    paths = sorted(installed.iterdir())
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, paths)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_wrong_unit_is_not_accepted(tmp_path: Path) -> None:
    """The check above can fail."""
    text = (FOLDER / "ringforge-aes.service").read_text().replace(PROGRAM, "/bin/true")
    wrong = tmp_path / "ringforge-wrong.service"
    wrong.write_text(text.replace("MemoryMax=", "MemoryMost="))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", wrong], capture_output=True, text=True, check=False)
    assert "MemoryMost" in done.stdout + done.stderr


def test_exposure_is_low(installed: Path) -> None:
    for path in sorted(installed.iterdir()):
        done = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", "--threshold=15", "--no-pager", path],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:]
        assert float(done.stdout.rsplit("level for", 1)[1].split()[1]) <= 1.5


def test_all_units_are_shut_in_alike() -> None:
    assert len({u.hardening for u in units()}) == 1
    assert len(units()) == 6
    for unit in units():
        assert int(unit.one("MemoryMax").rstrip("GM")) > 0
        assert unit.one("MemorySwapMax") == "0"
        assert unit.one("LimitCORE") == "0"
        assert unit.one("Restart") == "on-failure"


def test_every_service_has_a_user_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    users = FOLDER / "ringforge.sysusers"
    subprocess.run(["systemd-sysusers", f"--root={tmp_path}", users], capture_output=True, check=True)
    made = re.findall(r"^u (\S+) ", (FOLDER / "ringforge.sysusers").read_text(), re.MULTILINE)
    assert sorted(made) == sorted(u.one("User") for u in units())
    assert len(set(made)) == len(made)


def test_what_listens_for_others_has_tls_and_tokens() -> None:
    for unit in units():
        local = unit.settings.get("IPAddressDeny") == ["any"]
        words = unit.one("ExecStart")
        assert local == (unit.stem in {"matmul", "page"})
        for option in ("--tls-cert %d/", "--tls-key %d/", "--token-file %d/"):
            assert (option in words) == (not local), unit.name


# ---- what they start -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A machine with everything that the services need."""
    folder = tmp_path_factory.mktemp("machine")
    new = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    openssl(folder, f"{new} -x509 -days 2 -subj /CN=ca -keyout ca.key -out ca.pem")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl(folder, f"{new} -subj /CN=x -keyout s.key -out s.csr")
    openssl(folder, "x509 -req -in s.csr -CA ca.pem -CAkey ca.key -days 2 -extfile names -out s.pem")
    (folder / "tokens").write_text(f"{_TOKEN}\n")
    place = Place(folder)
    for unit in units():
        files = {}
        for line in unit.settings.get("LoadCredential", []):
            name = line.partition(":/etc/ringforge/")[2]
            kind = name.partition(".")[2]
            made = {"pem": "s.pem", "key": "s.key", "board-ca.pem": "ca.pem"}.get(kind, "tokens")
            files[name] = folder / made
        place.load(unit, files)
    return place


def healthy(address: str, authority: Path) -> bool:
    """Whether a service with TLS says by gRPC that it serves, to anybody."""
    credentials = grpc.ssl_channel_credentials(authority.read_bytes())
    with grpc.secure_channel(address, credentials) as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=60)
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def check(unit: Unit, place: Place, **changes: str) -> None:
    """Runs a service as its unit does; it answers for its health, and tells systemd how it stands."""
    with started(unit, place, **{**_ANYWHERE, **changes}) as service:
        assert get(service.metrics, "/healthz")[0] == 200
        assert get(service.metrics, "/readyz")[0] == 200
        assert "ringforge" in get(service.metrics, "/metrics")[1]
        if unit.settings.get("LoadCredential"):
            assert service.ready["tls"] is True
            assert service.ready["tokens"] is True
            assert healthy(f"localhost:{service.ready['port']}", place.folder / "ca.pem")
    assert unit.one("Type") == "notify"
    assert service.told[0] == "READY=1"
    assert service.told[-1] == "STOPPING=1"
    assert _TOKEN not in (place.folder / f"{unit.stem}.log").read_text()


def test_psi(place: Place) -> None:
    (place.folder / "elements").write_text("a\nb\nc\n")
    table = place.state / "ringforge-psi" / INSTANCE
    table.parent.mkdir()
    assert main(["psi", "build", str(table), "--set", str(place.folder / "elements")]) == 0
    check(_UNITS["psi"], place)


def test_board_and_detector(place: Place) -> None:
    board = _UNITS["board"]
    with started(board, place, **_ANYWHERE) as service:
        check(_UNITS["detector"], place, BOARD=f"localhost:{service.ready['port']}")
        assert healthy(f"localhost:{service.ready['port']}", place.folder / "ca.pem")
        assert get(service.metrics, "/healthz")[0] == 200
    assert service.told[0] == "READY=1"
    assert service.told[-1] == "STOPPING=1"
    assert (place.state / "ringforge-board/board.sqlite").exists()


def test_aes(place: Place) -> None:
    check(_UNITS["aes"], place)


def test_matmul(place: Place) -> None:
    state = place.state / "ringforge-matmul"
    state.mkdir()
    words = f"matmul plan --shape 2x2x2 --out {state / INSTANCE}.json"
    assert main(words.split()) == 0
    check(_UNITS["matmul"], place)


def test_the_health_check_of_the_image(place: Place) -> None:
    """As the Dockerfile has it, but for the port: good while a service runs, bad afterwards."""
    (words,) = re.findall(r"^  CMD (\[.*\])$", (ROOT / "deploy/docker/Dockerfile").read_text(), re.MULTILINE)
    _, option, program = json.loads(words)

    def status(port: str) -> int:
        command = [sys.executable, option, program.replace("9464", port)]
        return subprocess.run(command, capture_output=True, check=False).returncode

    with started(_UNITS["board"], place, **_ANYWHERE) as service:
        port = service.metrics.rpartition(":")[2]
        assert status(port) == 0
    assert status(port) != 0


def test_page(place: Place) -> None:
    with started(_UNITS["page"], place, **_ANYWHERE) as service:
        status, page = get(f"127.0.0.1:{service.ready['port']}", "/")
    assert status == 200
    assert "<html" in page
