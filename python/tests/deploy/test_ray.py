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


_RAYS = {o: p for p in ray.scripts.scripts.cli.commands["start"].params for o in p.opts}


def starts() -> dict[str, list[str]]:
    """The options that each service gives `ray start`."""
    services = compose()["services"]
    script = services["driver"]["entrypoint"][2]
    words = {name: services[name]["command"] for name in ("head", "worker")}
    words["driver"] = script.partition(" >&2 && ")[0].removeprefix("ray ").split()
    assert all(given[0] == "start" for given in words.values())
    return {name: given[1:] for name, given in words.items()}


def test_commands_are_those_of_ray() -> None:
    for name, options in starts().items():
        for option, _, value in (word.partition("=") for word in options):
            assert option in _RAYS, name
            if not _RAYS[option].is_flag:
                _RAYS[option].type.convert(value, None, None)


def test_stores_fit_the_shared_memory_of_their_nodes() -> None:
    """Where a store is larger than /dev/shm, Ray has it among the temporary files."""
    name = "--object-store-memory="
    stores = [int(w.removeprefix(name)) for options in starts().values() for w in options if w.startswith(name)]
    assert stores == [6_000_000_000] * 3
    for service in compose()["services"].values():
        shared = int(service["shm_size"].rstrip("b"))
        assert 11 * stores[0] <= 10 * shared
        assert shared + (2 << 30) < int(service["mem_limit"].rstrip("gb")) << 30, "with the temporary files"


def test_a_driver_is_a_node_first() -> None:
    """Ray connects a driver to the node manager of its own machine."""
    shell, option, script, *_ = compose()["services"]["driver"]["entrypoint"]
    assert (shell, option) == ("/bin/sh", "-c")
    assert script.startswith("ray start --address=head:6379 ")
    assert script.partition(" >&2 && ")[2] == 'exec ringforge "$@"'
