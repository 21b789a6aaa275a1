# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_wide_load: random commands in order, over memory that answers late and files that take lines when they like."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from wide_bench import begin, pack, run

TABLE, LOAD, PLAIN = 1, 2, 6
PAGE = 64  # beats


class Memory:
    """Beats of random bits, the same each time."""

    def __init__(self, rng):
        self.rng, self.beats = rng, {}

    def words(self, beat: int, count: int, bits: int) -> list[int]:
        found = []
        for at in range(beat, beat + -(-count * bits // 512)):
            value = self.beats.setdefault(at, self.rng.getrandbits(512))
            found += [value >> i & ((1 << bits) - 1) for i in range(0, 512, bits)]
        return found[:count]


def expected(memory, beat, n, lanes, width, number, *, op, first, to_row, count):
    """What a command gives: beats that it asks for, and lines, rows, words of tables in order."""
    bits, mask = (64 if width > 32 else 32), (1 << width) - 1
    if op == TABLE:
        words = memory.words(beat, n, bits)
        given = [("table", 1 << count, x, w & mask) for x, w in enumerate(words)]
        return n * bits // 512, [*given[:-1], (*given[-1], number)]
    if op == PLAIN:
        numbers = memory.words(beat, count * n, 16)
        return count * n // 32, [("row", numbers[i : i + lanes]) for i in range(0, count * n, lanes)]
    words = [w & mask for w in memory.words(beat, 2 * n * count, bits)]
    lines = [words[i : i + 2 * lanes] for i in range(0, 2 * n * count, 2 * lanes)]
    per = n // lanes
    given = [("line", to_row, first + k // per, k % per, line) for k, line in enumerate(lines)]
    return 2 * n * count * bits // 512, [*given[:-1], (*given[-1], number)]


@cocotb.test()
async def loads(dut):
    lanes, max_log_n, width = parameter("Lanes", 8), parameter("MaxLogN", 7), parameter("W", 27)
    plain_rows, depth, most = parameter("PlainRows", 4), parameter("Depth", 128), parameter("MaxBeats", 32)
    word = 64 if width > 32 else 32
    rng = random.Random(19)
    await begin(dut, halt_i=0, move_valid_i=0, req_ready_i=0, rsp_valid_i=0, line_ready_i=0, row_free_i=0)
    for log_n, eager in ((max_log_n, 1.0), (max_log_n - 1, 0.5), (max_log_n, 0.1)):
        n, memory = 1 << log_n, Memory(rng)
        dut.short_i.value = int(log_n < max_log_n)
        moves, beats, want = deque(), deque(), deque()
        for number in range(24):
            op, count = rng.choice((TABLE, LOAD, LOAD, PLAIN)), rng.randrange(1, 4)
            first, to_row, beat = rng.randrange(200), rng.getrandbits(1), rng.randrange(1 << 34)
            values = {"op": op, "first": first, "to_row": to_row, "count": count % 3 if op == TABLE else count}
            moves.append(pack("move_t", id=number % 16, address=beat, **values))
            total, given = expected(memory, beat, n, lanes, width, number % 16, **values)
            beats.extend(range(beat, beat + total))
            want.extend(given)
        coming: deque[int] = deque()
        inside, rows_out, clock, offered, row_lines = 0, 0, 0, False, 0
        while want:
            assert clock < 100_000, "it stands still"
            halt = eager < 1.0 and rng.random() < 0.05
            dut.halt_i.value = int(halt)
            offered = bool(moves) and (offered or rng.random() < eager)
            dut.move_valid_i.value = int(offered)
            dut.move_i.value = moves[0] if offered else rng.getrandbits(60)
            take, line_ready = rng.random() < eager, rng.random() < eager
            dut.req_ready_i.value, dut.line_ready_i.value = int(take), int(line_ready)
            answer = bool(coming) and rng.random() < max(eager, 0.3)
            dut.rsp_valid_i.value = int(answer)
            dut.rsp_data_i.value = memory.beats[coming.popleft()] if answer else rng.getrandbits(512)
            frees = rows_out > 0 and rng.random() < eager
            dut.row_free_i.value = int(frees)
            rows_out -= frees
            await ReadOnly()
            if offered and int(dut.move_ready_o.value):
                moves.popleft()
                offered = False
            asked = int(dut.req_valid_o.value)
            assert not (asked and halt), "it asks though it shall not"
            if asked:
                at, count = int(dut.req_addr_o.value), int(dut.req_beats_o.value)
                assert at % 64 == 0
                assert 1 <= count <= most
                assert at // 64 % PAGE + count <= PAGE, "a burst beyond 4 KiB"
                if take:
                    burst = [beats.popleft() for _ in range(count)]
                    assert burst == list(range(at // 64, at // 64 + count)), "not the beats that are next"
                    coming.extend(burst)
            inside += asked and take and len(burst)
            # A line's first beats have left the queue when it is given.
            assert inside < depth + 2 * lanes * word // 512, "more beats are asked for than there is room for"
            done = int(dut.done_o.value)
            found = None
            if int(dut.line_valid_o.value) and line_ready:
                places = [int(x.value) for x in (dut.line_to_row_o, dut.line_place_o, dut.line_o)]
                found = ("line", *places, [int(x) for x in dut.data_o.value])
                inside -= 2 * lanes * word // 512
            if int(dut.row_we_o.value):
                assert found is None
                found = ("row", [int(x) for x in dut.row_o.value])
                row_lines += 1
                rows_out += row_lines % (n // lanes) == 0
                inside -= row_lines * lanes * 16 % 512 == 0
                assert rows_out <= plain_rows, "more rows than there are places"
            if int(dut.table_we_o.value):
                assert found is None
                words = [int(x.value) for x in (dut.table_we_o, dut.table_addr_o, dut.table_data_o)]
                found = ("table", *words)
                inside -= (words[1] + 1) * word % 512 == 0
            if done:
                found = (*(found or ()), int(dut.done_id_o.value))
            if found:
                assert found == want.popleft()
            await FallingEdge(dut.clk_i)
            clock += 1
        dut.move_valid_i.value = dut.rsp_valid_i.value = dut.row_free_i.value = dut.halt_i.value = 0
        await FallingEdge(dut.clk_i)
        assert int(dut.idle_o.value) == 1
        assert not any((moves, beats, coming))
        while rows_out:
            dut.row_free_i.value = 1
            rows_out -= 1
            await FallingEdge(dut.clk_i)
        dut.row_free_i.value = 0


@pytest.mark.parametrize(
    ("lanes", "max_log_n", "width"), [(8, 7, 27), (8, 7, 54), pytest.param(32, 9, 27, marks=pytest.mark.long)]
)
def test_psi_wide_load(lanes, max_log_n, width):
    parameters = {"Lanes": lanes, "MaxLogN": max_log_n, "W": width, "PlainRows": 2, "Depth": 64, "MaxBeats": 16}
    run("psi_wide_load", parameters, __file__)
