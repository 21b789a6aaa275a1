# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""One round of AES under LTV on a device, in few primes: encrypted, computed, decrypted, held against the clear.

    .venv/bin/python -P tools/tests_module.py tests.aes.one_round --device rtl:aes-small

Four levels want five primes, those of `ltv-paper` from the top. At index 255 (transforms of 256 words, 16 blocks) and
at 65535 (65,536 words, 2,048 blocks) the noise rules leave bits after the round; `make` refuses what they do not.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ringforge import ltv
from ringforge.aes import clear
from ringforge.aes.engine import State
from ringforge.aes.ltv_engine import DEPTH, LtvClient, LtvServer, lags
from ringforge.devices import Device, Report

#: FIPS-197, appendix B.
KEY = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
BLOCK = bytes.fromhex("3243f6a8885a308d313198a2e0370734")

_WHY = "one round of AES, for tests of devices"


@dataclass(frozen=True)
class OneRound:
    """What a round takes.

    Attributes:
        blocks: in the clear, as many as there are slots. start: the state after AddRoundKey 0. key: round key 1.
        folder: of evaluation keys.
    """

    client: LtvClient
    keys: ltv.KeyDirectory
    blocks: clear.Bytes
    start: State
    key: list[ltv.Ciphertext]

    @classmethod
    def make(cls, folder: Path, m: int = 255, primes: int = DEPTH + 1, seed: int = 1, threads: int = 1) -> OneRound:
        """Makes keys and encrypts.

        Args:
            folder: for evaluation keys. m: index of the ring, an odd one with slots of bytes. primes: five or more.
        """
        q = ltv.Parameters.named("ltv-paper", insecure=_WHY).q[:primes]
        context = ltv.Context(ltv.Parameters(m, q, insecure=_WHY))
        owner = ltv.Client(context, ltv.TestSeed(seed.to_bytes(32, "little")))
        secret, public = owner.keys(threads)
        keys = ltv.KeyDirectory(folder, context)
        keys.write(owner, secret, public, range(1, DEPTH + 1), threads, lags=lags())
        client = LtvClient(context, secret, public, threads, rounds=1)
        blocks = np.random.default_rng(seed).integers(0, 256, (client.slots, 16), np.uint8)
        blocks[0] = list(BLOCK)
        state = client.encrypt_blocks(blocks)
        server = LtvServer(context, keys, threads, rounds=1)
        start = server.start(state, client.encrypt_round_key(0, KEY))
        return cls(client, keys, blocks, start, client.encrypt_round_key(1, KEY))

    def on(self, device: str | Device = "cpu", threads: int = 1) -> tuple[State, Report]:
        """The round on a device, and what it took there.

        Raises:
            NoiseError: by the noise rules nothing is left.
        """
        server = LtvServer(self.keys.context, self.keys, threads, device, rounds=1)
        return server.round(self.start, 1, self.key), server.report

    def right(self, state: State) -> bool:
        """Whether a state is what the round makes of the blocks."""
        expected = clear.encryption_states(KEY, self.blocks)[1]
        return bool(np.array_equal(self.client.decrypt_blocks(state), expected))


def words(state: State) -> list[Any]:
    """All residues of a state's ciphertexts."""
    return [c.words for c in state.ciphertexts]


def main() -> int:
    """Runs the round, prints what it took; returns 1 if it is not right, or not what `cpu` makes of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--m", type=int, default=255, help="index of the ring: 255, or 65535")
    parser.add_argument("--primes", type=int, default=DEPTH + 1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = OneRound.make(Path(folder), given.m, given.primes, given.seed, given.threads)
        begin = time.perf_counter()
        state, report = world.on(given.device, given.threads)
        seconds = time.perf_counter() - begin
        same = all(map(np.array_equal, words(state), words(world.on(threads=given.threads)[0])))
        right = world.right(state)
        found = {
            "device": report.device,
            "blocks": state.blocks,
            "right": right,
            "as_cpu": same,
            "host_seconds": round(seconds, 3),
            "device_seconds": report.seconds,
            "cycles": report.cycles,
            "operations": dict(report.operations),
            "bytes": dict(report.bytes),
            "predicted_budget": round(world.client.predicted_budget(state), 1),
            "measured_budget": round(world.client.measured_budget(state), 1),
        }
    print(json.dumps(found))
    return 0 if right and same else 1


if __name__ == "__main__":
    sys.exit(main())
