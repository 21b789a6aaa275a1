# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The image and the compose file of deploy/docker: linted, valid, shut in; their commands are commands of ours."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.main
from compose_spec import PyCompose, PyOptions

from ringforge.cli import app
from tests.deploy.units import ROOT, units, variables

_FOLDER = ROOT / "deploy/docker"
_COMPOSE = (_FOLDER / "compose.yaml").read_text()
_EXAMPLE = variables((_FOLDER / "example.env").read_text())


def lint(path: Path) -> str:
    """What hadolint complains of."""
    program = Path(sys.executable).with_name("hadolint")
    return subprocess.run([program, "--no-color", path], capture_output=True, text=True, check=False).stdout


def interpolated(given: dict[str, str]) -> str:
    """The compose file with its variables replaced by values, or by their defaults."""
    return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda m: given.get(m[1], m[2]), _COMPOSE)


def services(given: dict[str, str]) -> dict[str, Any]:
    """The services of a valid compose file.

    Raises:
        ValueError: it is none.
    """
    options = PyOptions()
    options.apply_merge = True
    compose = options.from_yaml(interpolated(given))
    compose.validate()
    return dict(compose.to_dict()["services"])


# ---- the image -----------------------------------------------------------------------------------


def test_the_image_is_linted(tmp_path: Path) -> None:
    assert lint(_FOLDER / "Dockerfile") == ""
    wrong = tmp_path / "Dockerfile"
    wrong.write_text("FROM debian:bookworm-slim\nRUN cd /tmp && sudo apt-get install python3\n")
    assert "DL3004" in lint(wrong), "the check can fail"


def test_the_image_runs_as_nobody_and_checks_health() -> None:
    final = (_FOLDER / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert re.search(r"^USER 10001:10001$", final, re.MULTILINE)
    assert re.search(r"^HEALTHCHECK .*\\\n  CMD \[\"python3\", .*/healthz", final, re.MULTILINE)
    assert "pip" not in final, "what installs stays behind"


# ---- compose -------------------------------------------------------------------------------------


def test_compose_is_valid() -> None:
    assert set(services({})) == {u.stem for u in units()}, "a service for each unit"
    assert services(_EXAMPLE) == services({}), "the example has the defaults"
    for wrong in ("services:\n  a:\n    mem_limit: many\n", "services:\n  a:\n    ports: 5\n"):
        with pytest.raises(ValueError, match=r"services\.a"):
            PyCompose.from_yaml(wrong)


def test_the_example_has_every_variable() -> None:
    assert set(_EXAMPLE) == set(re.findall(r"\$\{(\w+):-", _COMPOSE))
    assert not re.search(r"\$(?!\{\w+:-)", _COMPOSE), "every variable has a default"


def test_containers_are_shut_in() -> None:
    for name, service in services({}).items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["pids_limit"] <= 2048
        assert "mem_limit" in service
        assert "privileged" not in service
        assert "user" not in service, "the image's"
        local = name in {"matmul", "page"}
        for port in service.get("ports", []):
            assert str(port).startswith("127.0.0.1:") == local
        if not local:
            files = {s["target"] for s in service["secrets"]}
            assert {"server.pem", "server.key", "tokens"} <= files
            assert "--plaintext" not in service["command"]


def test_commands_are_ours() -> None:
    root: Any = typer.main.get_command(app)
    for name, service in services({}).items():
        words = list(service["command"])
        command, context = root, typer.Context(root)
        while hasattr(command, "get_command"):
            command = command.get_command(context, words.pop(0))
            assert command is not None, name
            context = typer.Context(command, parent=context)
        known = {o for p in command.params for o in p.opts}
        given = {w.partition("=")[0] for w in words if w.startswith("--")}
        assert given <= known, name
        if name != "page":
            host = "127.0.0.1" if name == "matmul" else "0.0.0.0"
            assert f"--metrics={host}:9464" in words, "where the image's health check asks"
            command.make_context(name, words, parent=context, resilient_parsing=True)
