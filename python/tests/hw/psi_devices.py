# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Simulated FHEW accelerators that share their builds with other tests of the machine; look-ups in a small ring."""

from __future__ import annotations

from typing import Any

import numpy as np

from ringforge import _native
from ringforge._native import fhew, psi
from ringforge.hw.core.device import RtlDevice
from ringforge.hw.core.simulator import Simulation
from ringforge.psi.kernels import LookupTable
from ringforge.psi.table import Arrays

SEED = _native.TestSeed(bytes([3]) * 32)


class QuickDevice(RtlDevice):
    """`rtl:CONFIG` of a build that compiles quickly and runs slowly."""

    def simulation(self) -> Simulation[Any]:
        if self._simulation is None or not self._simulation.here:
            self._simulation = Simulation(self.config, optimise="-O1", waves=self.waves)
        return self._simulation


class Asked:
    """A client's keys and request, and a random table: five cells set in each bin, every other bin asks for one.

    Args:
        log_bins, cell_bits, log_cell: of the plan, whose ring has degree 256.
    """

    def __init__(self, log_bins: int, cell_bits: int, log_cell: int = 0) -> None:
        cut, log_n = fhew.Cut(4, 7, 0, True), 8
        modulus = int(_native.kernels.primes_below(27, 1, 2 << log_n)[0])
        expansion = [fhew.Cut(3, 9, 0, True)] * log_n
        self.plan = psi.Plan(
            "paper", log_n, modulus, log_bins, cell_bits, log_cell, 1, 0, cut, expansion, insecure="tests"
        )
        rng = np.random.default_rng(4)
        plan = self.plan
        cells = np.array([np.sort(rng.choice(plan.cells, 5, replace=False)) for _ in range(plan.bins)], np.uint32)
        words = rng.integers(0, 2, (cells.size, plan.cell_words)).astype(np.uint16)
        offsets = np.arange(plan.bins + 1, dtype=np.uint64) * np.uint64(5)
        self.table = LookupTable(plan, Arrays(offsets, cells.reshape(-1), words, np.zeros(0, np.uint16)))
        self.client = psi.ClientKey(plan, _native.TestSeed(bytes([6]) * 32))
        self.keys = psi.SessionKeys(plan, self.client.evaluation_keys())
        asked = np.where(np.arange(plan.bins) % 2 == 0, cells[:, 2], (cells[:, 2] + 1) % plan.cells)
        self.request = self.client.query(asked.astype(np.uint32))
        self.counts = psi.Counts()
        self.reply = psi.evaluate(
            self.keys, self.request, self.table.native, counts=self.counts, fixed_seed_for_tests=SEED
        )
