# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_wide_store: commands in order, bursts within pages, each ended when memory has acknowledged all of it."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from wide_bench import Reader, begin, pack, run

SLOTS = 8
PAGE = 64  # beats


@cocotb.test()
async def stores(dut):
    lanes, max_log_n, width, most = (parameter(name, 0) for name in ("Lanes", "MaxLogN", "W", "MaxBeats"))
    bits = 64 if width > 32 else 32
    rng = random.Random(23)
    await begin(dut, halt_i=0, move_valid_i=0, req_ready_i=0, data_ready_i=0, ack_i=0, store_ready_i=0)
    for log_n, shift, eager in ((max_log_n, 0, 1.0), (max_log_n - 1, 5, 0.5), (max_log_n, 7, 0.15)):
        n = 1 << log_n
        dut.short_i.value, dut.shift_i.value = int(log_n < max_log_n), shift
        slots = [[[rng.getrandbits(width - shift) for _ in range(n)] for _ in range(2)] for _ in range(SLOTS)]
        moves, want, sizes = deque(), deque(), deque()
        for number in range(12):
            count = rng.randrange(1, 4)
            first, beat = rng.randrange(SLOTS - count + 1), rng.randrange(1 << 34)
            moves.append(pack("move_t", id=number, op=3, first=first, count=count, address=beat))
            words = [
                part[i + lane] for slot in slots[first : first + count] for i in range(0, n, lanes) for part in slot
                for lane in range(lanes)
            ]  # fmt: skip
            per = 512 // bits
            packed = [
                sum(word << bits * k for k, word in enumerate(words[i : i + per])) for i in range(0, len(words), per)
            ]  # fmt: skip
            want.extend((beat + k, value) for k, value in enumerate(packed))
            sizes.append((number, len(packed)))
        port = Reader(dut, "line_i", [0] * 2 * lanes)
        # Beats of bursts that were granted, the bursts' lengths, and those of bursts that were written.
        granted: deque[int] = deque()
        lengths: deque[int] = deque()
        unanswered: deque[int] = deque()
        left, owed, answered, clock, offered = 0, 0, 0, 0, False
        while sizes:
            assert clock < 100_000, "it stands still"
            halt = eager < 1.0 and rng.random() < 0.05
            dut.halt_i.value = int(halt)
            offered = bool(moves) and (offered or rng.random() < eager)
            dut.move_valid_i.value = int(offered)
            dut.move_i.value = moves[0] if offered else rng.getrandbits(60)
            grant, takes, reads = (rng.random() < eager for _ in range(3))
            takes = takes and owed > 0
            dut.req_ready_i.value, dut.data_ready_i.value, dut.store_ready_i.value = int(grant), int(takes), int(reads)
            ack = bool(unanswered) and rng.random() < max(0.2, eager / 2)
            dut.ack_i.value = int(ack)
            if ack:
                answered += unanswered.popleft()
            await ReadOnly()
            if offered and int(dut.move_ready_o.value):
                moves.popleft()
                offered = False
            line = None
            if int(dut.store_read_o.value) and reads:
                slot, at = int(dut.store_slot_o.value), int(dut.store_line_o.value) * lanes
                line = [x << shift for part in slots[slot] for x in part[at : at + lanes]]
            port.step(line)
            asked = int(dut.req_valid_o.value)
            assert not (asked and halt), "it asks though it shall not"
            if asked:
                at, count = int(dut.req_addr_o.value), int(dut.req_beats_o.value)
                assert at % 64 == 0
                assert 1 <= count <= most
                assert at // 64 % PAGE + count <= PAGE, "a burst beyond 4 KiB"
            # What was granted is at hand: memory is not kept waiting.
            assert not owed or int(dut.data_valid_o.value), "a burst without its data"
            if takes:
                place, value = want.popleft()
                assert granted.popleft() == place
                assert int(dut.data_o.value) == value
                owed -= 1
                left -= 1
                if not left:
                    unanswered.append(lengths.popleft())
                    left = lengths[0] if lengths else 0
            if asked and grant:
                granted.extend(range(at // 64, at // 64 + count))
                lengths.append(count)
                owed += count
                left = left or count
            if int(dut.done_o.value):
                number, size = sizes.popleft()
                assert int(dut.done_id_o.value) == number
                assert answered == size, "done before memory has acknowledged"
                answered = 0
            await FallingEdge(dut.clk_i)
            port.show()
            clock += 1
        dut.move_valid_i.value = dut.ack_i.value = dut.halt_i.value = 0
        await FallingEdge(dut.clk_i)
        assert int(dut.idle_o.value) == 1
        assert not any((want, granted))


@pytest.mark.parametrize(
    ("lanes", "max_log_n", "width"), [(8, 7, 27), (8, 7, 54), pytest.param(32, 9, 27, marks=pytest.mark.long)]
)
def test_psi_wide_store(lanes, max_log_n, width):
    parameters = {"Lanes": lanes, "MaxLogN": max_log_n, "W": width, "Depth": 32, "MaxBeats": 8}
    run("psi_wide_store", parameters, __file__)
