# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`detect serve` whose steps run in the workers of a cluster on this machine: killed, and started again."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from ringforge.omr.detector_client import Connection
from ringforge.omr.keys import DetectionKey, ReceiverSecret
from ringforge.omr.reading import SecretReader
from ringforge.omr.receiver import Run, Wanted
from ringforge.omr.steps import Request

from .test_detector_process import finish, serving
from .world import SMALL, Person, bulletin, new_board, posts, texts

PATIENCE = 240
DEVICE = ("--device", "ray:local?cpus=2&store=500000000", "--shards", "2")


@pytest.mark.long
def test_killed_with_its_cluster_it_goes_on_with_the_step_that_was_not_finished(tmp_path: Path) -> None:
    """Several requests; killed while it computes. No step is computed twice, by the journals of the requests."""
    secret = ReceiverSecret.make(SMALL)
    DetectionKey.make(secret).save(tmp_path / "key")
    found = texts(6)
    with new_board(tmp_path) as board:
        for i in range(3):
            bulletin(board, posts(Person(secret.signal, secret.box), found[2 * i : 2 * i + 2]))
    first, address = serving(tmp_path, *DEVICE)
    with Connection(address, timeout=PATIENCE) as c:
        name = c.put_key(tmp_path / "key")
        for number, digest in c.info().bulletins.items():
            c.submit(Request(name, number, digest, "messages", 50, 0, SMALL.entries))
        begun = time.monotonic()
        while (tmp_path / "log").read_text().count('"step"') < 4:
            assert time.monotonic() < begun + PATIENCE
            time.sleep(0.05)
        first.send_signal(signal.SIGKILL)
        assert first.wait(PATIENCE) == -signal.SIGKILL
    assert first.stdout is not None
    first.stdout.close()
    before = sum(len(p.read_text().splitlines()) for p in (tmp_path / "detector").glob("*/jobs/*.journal"))
    assert 4 <= before < 3 * 6
    second, address = serving(tmp_path, *DEVICE)
    with Connection(address, timeout=PATIENCE) as c:
        outcome = Run(c, SecretReader(secret), tmp_path / "key", SMALL.entries, Wanted())()
    assert [m.text for m in outcome.messages] == found
    finish(second)
    done = []
    for path in sorted((tmp_path / "detector").glob("*/jobs/*.journal")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        done += [(path.stem, line["stage"], line["first"]) for line in lines]
    assert len(done) == len(set(done)) == 3 * 6
