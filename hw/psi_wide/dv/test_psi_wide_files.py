# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_wide_files: results, linear lines and loads write at once, all ports read; every line is the last one written."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from wide_bench import begin, run

LINEAR_DEPTH = 2
SLOT, ROW = 0, 1


class Writer:
    """Lines of one place after the other, by one of the three ways; places that nobody else is about to write."""

    def __init__(self, files):
        self.files, self.work = files, deque()

    def open(self):
        """Chooses a place."""
        rng = self.files.rng
        free = [(kind, p) for kind in (SLOT, ROW) for p in range(self.files.places[kind])]
        free = [place for place in free if place not in self.files.busy]
        if free:
            place = rng.choice(free)
            self.files.busy.add(place)
            self.work.extend((place, k, self.files.line()) for k in range(self.files.lines))
            return place
        return None


class Files:
    """What must lie where, and who is about to write what."""

    def __init__(self, rng, lines, slots, rows, bits, lanes):
        self.rng, self.lines, self.bits, self.lanes = rng, lines, bits, lanes
        self.places = {SLOT: slots, ROW: rows}
        self.held: dict[tuple[int, int, int], list[int]] = {}
        self.busy: set[tuple[int, int]] = set()
        #: Lines of linear instructions that have not ended.
        self.pending: dict[tuple[int, int, int], list[int]] = {}

    def line(self):
        # Residues without the shift.
        return [self.rng.getrandbits(self.bits) for _ in range(2 * self.lanes)]


@cocotb.test()
async def files(dut):
    lanes, max_log_n, width = parameter("Lanes", 4), parameter("MaxLogN", 6), parameter("W", 27)
    slots, rows = parameter("Slots", 4), parameter("Rows", 4)
    rng = random.Random(17)
    names = (
        "gather_read",
        "mac_slot_read",
        "mac_row_read",
        "store_read",
        "result_valid",
        "linear_begin",
        "linear_valid",
    )
    await begin(dut, load_valid_i=0, **{f"{name}_i": 0 for name in names})
    for log_n, shift, results, loads in (
        (max_log_n, 0, 0.5, 0.9), (max_log_n - 1, 3, 0.9, 0.9), (max_log_n, 7, 0.1, 0.5), (max_log_n, 1, 0.0, 1.0),
    ):  # fmt: skip
        lines = (1 << log_n) // lanes
        files = Files(rng, lines, slots, rows, width - shift, lanes)
        dut.short_i.value, dut.shift_i.value = int(log_n < max_log_n), shift
        result, linear, load = (Writer(files) for _ in range(3))
        begun: deque[tuple[tuple[int, int], int]] = deque()
        coming: dict[str, deque] = {name: deque([None, None]) for name in ("gather_o", "slot_o", "row_o")}
        ended, clock = 0, 0
        for clock in range(40 * lines):
            # Results, which never wait.
            if not result.work and rng.random() < results:
                result.open()
            valid = bool(result.work) and rng.random() < max(results, 0.5)
            dut.result_valid_i.value = int(valid)
            written = []
            if valid:
                place, k, line = result.work.popleft()
                dut.result_to_row_i.value, dut.result_place_i.value, dut.result_line_i.value = place[0], place[1], k
                dut.result_i.value = [x << shift for x in line]
                written.append((result, place, k, line))
            # Linear instructions: a place first, then its lines, with pauses.
            start = None
            if len(begun) < LINEAR_DEPTH and rng.random() < 0.05:
                start = linear.open()
            dut.linear_begin_i.value = int(start is not None)
            if start is not None:
                begun.append((start, clock % 16))
                dut.linear_to_row_i.value, dut.linear_place_i.value = start
                dut.linear_id_i.value = clock % 16
            given = bool(linear.work) and start is None and rng.random() < 0.5
            dut.linear_valid_i.value = int(given)
            if given:
                place, k, line = linear.work.popleft()
                dut.linear_i.value = [x << shift for x in line]
                files.pending[(*place, k)] = line
            # Loads, which wait.
            if not load.work and rng.random() < loads:
                load.open()
            offered = bool(load.work)
            dut.load_valid_i.value = int(offered)
            if offered:
                place, k, line = load.work[0]
                dut.load_to_row_i.value, dut.load_place_i.value, dut.load_line_i.value = place[0], place[1], k
                dut.load_i.value = line
            # Reads of places that nobody writes.
            asked = dict.fromkeys(coming)
            still = [(kind, p, k) for kind, p, k in files.held if (kind, p) not in files.busy and k < lines]
            pick = {kind: [at for at in still if at[0] == kind] for kind in (SLOT, ROW)}

            def drawn(kind, pick=pick):
                return rng.choice(pick[kind]) if pick[kind] and rng.random() < 0.6 else None

            gather, stored, slot, row = drawn(SLOT), drawn(SLOT), drawn(SLOT), drawn(ROW)
            if slot and row:
                row = rng.choice([at for at in pick[ROW] if at[2] == slot[2]] or [None])
            for name, at in (("gather", gather), ("store", stored), ("mac_slot", slot), ("mac_row", row)):
                getattr(dut, f"{name}_read_i").value = int(at is not None)
            if gather:
                dut.gather_slot_i.value, dut.gather_line_i.value = gather[1:]
            if stored:
                dut.store_slot_i.value, dut.store_line_i.value = stored[1:]
            if slot:
                dut.mac_slot_i.value, dut.mac_line_i.value = slot[1:]
            if row:
                dut.mac_row_i.value, dut.mac_line_i.value = row[1:]
            await ReadOnly()
            assert bool(int(dut.store_ready_o.value)) == (slot is None)
            if gather:
                asked["gather_o"] = files.held[gather], SLOT
            if slot or stored:
                asked["slot_o"] = files.held[slot or stored], SLOT
            if row:
                asked["row_o"] = files.held[row], ROW
            for name, want in asked.items():
                coming[name].append(want)
                found = coming[name].popleft()
                if found:
                    line, kind = found
                    assert [int(x) for x in getattr(dut, name).value] == [
                        x << (shift if kind == SLOT else 0) for x in line
                    ]
            if offered and int(dut.load_ready_o.value):
                written.append((load, *load.work.popleft()))
            elif offered:
                # It waits for a result or for linear lines that go to the same file.
                assert (valid and written[0][1][0] == place[0]) or (begun and begun[0][0][0] == place[0])
            done = int(dut.linear_done_o.value)
            if done:
                place, number = begun.popleft()
                assert int(dut.linear_done_id_o.value) == number
                ended += 1
                for k in range(lines):
                    files.held[(*place, k)] = files.pending.pop((*place, k))
                files.busy.discard(place)
            for writer, place, k, line in written:
                files.held[(*place, k)] = line
                if not writer.work:
                    files.busy.discard(place)
            await FallingEdge(dut.clk_i)
        assert ended > 3
        # A linear instruction that is under way ends, the others' places are forgotten.
        for name in (*names, "load_valid"):
            getattr(dut, f"{name}_i").value = 0
        while begun:
            given = bool(linear.work)
            dut.linear_valid_i.value = int(given)
            if given:
                dut.linear_i.value = linear.work.popleft()[2]
            await ReadOnly()
            if int(dut.linear_done_o.value):
                begun.popleft()
            await FallingEdge(dut.clk_i)
        dut.linear_valid_i.value = 0


@pytest.mark.parametrize(("lanes", "max_log_n", "packed"), [(4, 6, 1), pytest.param(4, 8, 0, marks=pytest.mark.long)])
def test_psi_wide_files(lanes, max_log_n, packed):
    parameters = {"Lanes": lanes, "MaxLogN": max_log_n, "W": 27, "Slots": 4, "Rows": 4, "Packed": packed}
    run("psi_wide_files", parameters, __file__)
