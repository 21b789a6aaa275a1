# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The cluster of deploy/ray: linted, valid, shut in; its commands are Ray's and ours."""

from __future__ import annotations

import re
from typing import Any

import ray.scripts.scripts
from compose_spec import PyOptions

from tests.deploy.test_docker import lint
from tests.deploy.units import ROOT

_FOLDER = ROOT / "deploy/ray"


def compose() -> dict[str, Any]:
    """The valid compose file with its defaults."""
    text = re.sub(r"\$\{(\w+):-([^}]*)\}", lambda m: m[2], (_FOLDER / "compose.yaml").read_text())
    text = text.replace("$$", "\0")
    assert "$" not in text, "every variable has a default"
    text = text.replace("\0", "$")
    options = PyOptions()
    options.apply_merge = True
    found = options.from_yaml(text)
    found.validate()
    return dict(found.to_dict())


def test_the_image_is_linted() -> None:
    assert lint(_FOLDER / "Dockerfile") == ""
    final = (_FOLDER / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert re.search(r"^USER 10001:10001$", final, re.MULTILINE)


def test_nodes_are_shut_in_and_want_a_token() -> None:
    found = compose()
    assert found["networks"]["cluster"]["internal"] is True
    assert set(found["services"]) == {"head", "worker", "driver"}
    assert found["services"]["worker"]["deploy"]["replicas"] == 2
    for name, service in found["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert not service.get("ports"), "nobody outside reaches Ray"
        assert set(service["networks"]) == {"cluster"}
        assert service["environment"]["RAY_AUTH_MODE"] == "token"
        assert service["environment"]["RAY_AUTH_TOKEN_PATH"] == "/run/secrets/ray.token"


def test_commands_are_those_of_ray() -> None:
    known = {o for p in ray.scripts.scripts.cli.commands["start"].params for o in p.opts}
    for name in ("head", "worker"):
        words = compose()["services"][name]["command"]
        assert words[0] == "start"
        assert {w.partition("=")[0] for w in words[1:]} <= known, name


def test_a_driver_is_a_node_first() -> None:
    """Ray connects a driver to the node manager of its own machine."""
    driver = compose()["services"]["driver"]
    shell, option, script, *_ = driver["entrypoint"]
    assert (shell, option) == ("/bin/sh", "-c")
    start, _, program = script.partition(" >&2 && ")
    known = {o for p in ray.scripts.scripts.cli.commands["start"].params for o in p.opts}
    assert start.startswith("ray start --address=head:6379 ")
    assert {w.partition("=")[0] for w in start.split()[2:]} <= known
    assert program == 'exec ringforge "$@"'
