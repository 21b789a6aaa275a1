# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What services and systemd tell each other: how a service stands, and secrets that are handed over."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from ringforge.errors import ParameterError
from ringforge.serving import notify
from ringforge.serving.access import read_tokens

_TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("abstract", [False, True])
def test_a_manager_is_told(abstract: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "manager")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + path if abstract else path)
        monkeypatch.setenv(notify.SOCKET, "@" + path if abstract else path)
        assert notify.ready()
        assert notify.reloading()
        assert notify.stopping()
        told = [manager.recv(4096).decode() for _ in range(3)]
    assert told[0] == "READY=1"
    assert told[1].startswith("RELOADING=1\nMONOTONIC_USEC=")
    assert told[1].rpartition("=")[2].isdigit()
    assert told[2] == "STOPPING=1"


def test_without_a_manager_nothing_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(notify.SOCKET, raising=False)
    assert not notify.ready()
    for address in ("", "relative", "@", str(tmp_path / "nobody"), "/" + "x" * 4096, "@" + "x" * 4096):
        monkeypatch.setenv(notify.SOCKET, address)
        assert not notify.ready(), address


def test_a_manager_that_does_not_listen_does_not_hold_a_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "manager")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        monkeypatch.setenv(notify.SOCKET, path)
        while notify.ready():  # until the socket takes no more
            pass
        assert not notify.stopping()


def test_credentials_of_systemd_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their mode is 0440 where an access list lets the service read them."""
    folder = tmp_path / "credentials"
    folder.mkdir()
    tokens = folder / "tokens"
    tokens.write_text(f"{_TOKEN}\n")

    def modes(directory: int, file: int) -> None:
        tokens.chmod(file)
        folder.chmod(directory)

    modes(0o550, 0o440)
    with pytest.raises(ParameterError, match="chmod 600"):  # no service of systemd
        read_tokens(tokens)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder))
    for directory in (0o500, 0o550, 0o700):
        modes(directory, 0o440)
        assert read_tokens(tokens) == [_TOKEN]
    for directory, file in ((0o550, 0o444), (0o550, 0o460), (0o555, 0o440), (0o570, 0o440), (0o551, 0o440)):
        modes(directory, file)
        with pytest.raises(ParameterError, match="chmod 600"):
            read_tokens(tokens)


def test_only_files_of_that_directory_are_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "credentials"
    (folder / "below").mkdir(parents=True)
    folder.chmod(0o550)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder))
    for tokens in (tmp_path / "tokens", folder / "below" / "tokens"):
        tokens.write_text(f"{_TOKEN}\n")
        tokens.chmod(0o440)
        with pytest.raises(ParameterError, match="chmod 600"):
            read_tokens(tokens)
