# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_wide_issue: random instructions start in order, each beside none that it stands against, with room for its all.

What an instruction reads and writes is told here by sets of places; units, polynomials and ends come when they like.
"""

import random
from collections import deque

import cocotb
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from wide_bench import begin, pack, run, unpack

TABLE, LOAD, STORE, PRODUCT, LINEAR, PLAIN, CELLS = range(1, 8)
NONE, OPERATION, PLACE, OPERAND = 0, 1, 2, 3
COUNTS = [3, 1, 5, 2] + [0] * 12
MONOMIALS = 64  # of a row of numbers, N = 128


def drawn(rng, slots, rows):
    """Fields of an instruction that is legal in most cases."""
    odd = rng.random() < 0.02
    op = rng.choice((LOAD, STORE, LINEAR, LINEAR, PRODUCT, PRODUCT, PRODUCT, PLAIN, CELLS))
    op = rng.choice((0, 8, 15, TABLE)) if rng.random() < 0.02 else op
    both = rng.getrandbits(1)
    values = {
        "op": op, "take": rng.randrange(4), "times": rng.randrange(3), "s1": rng.randrange(slots),
        "s2": rng.randrange(slots), "element": 2 * rng.randrange(128) + 1, "power": rng.randrange(256),
        "gadget_a": rng.randrange(4), "gadget_b": rng.randrange(4), "both": both, "negate": rng.getrandbits(1),
        "has_init": rng.getrandbits(1), "init": rng.randrange(slots), "beside": 0 if both else rng.randrange(3),
        "to_row": rng.getrandbits(1), "fence": rng.random() < 0.2, "row": rng.randrange(rows - 10),
        "target": rng.randrange(slots), "address": rng.getrandbits(40),
    }  # fmt: skip
    if op in (LOAD, STORE):
        values |= {"target": rng.randrange(slots - 3), "s1": rng.randrange(1, 4)}
    if op in (PLAIN, CELLS):
        values |= {"s1": rng.randrange(1, 6), "s2": rng.randrange(1, 6), "beside": 0}
    if op == CELLS and rng.random() < 0.1:
        values["s1"] = rng.choice((MONOMIALS, MONOMIALS // 2, MONOMIALS // 2 + 1, MONOMIALS + 1))
    if op == TABLE:
        values["s1"] = rng.randrange(4)
    if op == LINEAR and values["target"] in (values["s1"], values["s2"]) and not values["to_row"]:
        values["element"] = 1
    if odd:
        name = rng.choice(("s1", "s2", "init", "target", "row", "gadget_a", "gadget_b", "element", "beside", "times"))
        widths = {"gadget_a": 15, "gadget_b": 15, "element": 4095, "beside": 3, "times": 3}
        values[name] = rng.randrange(widths.get(name, 255) + 1)
    return values


def touched(i):
    """What it reads and what it writes, places as (file, number)."""
    op, reads, writes = i["op"], set(), set()
    count = i["s1"]
    if op in (PRODUCT, LINEAR):
        reads.add(("slot", i["s1"]))
        if i["take"]:
            reads.add(("slot", i["s2"]))
    if op in (PRODUCT, PLAIN, CELLS) and i["has_init"]:
        reads.add(("slot", i["init"]))
    digits = COUNTS[i["gadget_a"]] + (COUNTS[i["gadget_b"]] if i["both"] else 0)
    many = {PRODUCT: digits, PLAIN: count, CELLS: i["s2"]}.get(op, 0)
    reads |= {("row", i["row"] + k) for k in range(many)}
    if op == STORE:
        reads |= {("slot", i["target"] + k) for k in range(count)}
    if op in (PRODUCT, LINEAR, PLAIN, CELLS, LOAD):
        writes |= {
            ("row" if i["to_row"] else "slot", i["target"] + k) for k in range(count if op == LOAD else 1)
        }  # fmt: skip
    return reads, writes


def verdict(i, slots, rows, monomials):
    """The error of an instruction."""
    op, count = i["op"], i["s1"]
    if not TABLE <= op <= CELLS:
        return OPERATION
    first, second = COUNTS[i["gadget_a"]], COUNTS[i["gadget_b"]]
    reads, writes = touched(i)
    bad = (
        (op in (LOAD, STORE, PLAIN, CELLS) and count == 0)
        or (op == CELLS and (i["s2"] == 0 or count > monomials))
        or (op == TABLE and count > 2)
        or (op in (PRODUCT, LINEAR) and (i["element"] % 2 == 0 or i["times"] == 3))
        or (op == PRODUCT and (first == 0 or (i["both"] and second == 0)))
        or (op == PRODUCT and (i["beside"] == 3 or (i["both"] and i["beside"])))
        or (op in (PLAIN, CELLS) and i["beside"])
        or (op == LINEAR and i["element"] != 1 and writes & reads)
    )
    if bad:
        return OPERAND
    sizes = {"slot": slots, "row": rows}
    return PLACE if any(number >= sizes[file] for file, number in reads | writes) else NONE


@cocotb.test()
async def starts(dut):
    slots, rows, polys, depth = (parameter(name, 0) for name in ("Slots", "Rows", "Polys", "LinearDepth"))
    rng = random.Random(29)
    inputs = (
        "start", "halt", "short", "valid", "gather_ready", "job_ready", "load_ready", "store_ready", "poly_free",
        "beside_free", "linear_done", "done",
    )  # fmt: skip
    gadgets = [pack("gadget_t", count=count) for count in COUNTS]
    await begin(dut, gadget_i=gadgets, done_id_i=[0] * 4, **{f"{name}_i": 0 for name in inputs})
    seen = set()
    for _ in range(24):
        eager = rng.choice((1.0, 0.5, 0.1))
        short = rng.getrandbits(1)
        given = [drawn(rng, slots, rows) for _ in range(60)]
        errors = [verdict(i, slots, rows, MONOMIALS >> short) for i in given]
        legal = next((k for k, error in enumerate(errors) if error), len(given))
        seen.add(errors[legal] if legal < len(given) else NONE)
        dut.short_i.value, dut.start_i.value = short, 1
        dut.rst_ni.value = 0
        await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        await FallingEdge(dut.clk_i)
        dut.start_i.value = 0
        waiting, expected = deque(given), deque(given[:legal])
        flying: dict[int, dict[str, int]] = {}
        linears = depth
        used_polys = used_besides = clock = halted = 0
        offered = False
        while expected or flying or (legal < len(given) and not int(dut.error_o.value)):
            assert clock < 20_000, "it stands still"
            halted = halted - 1 if halted else rng.choice((0,) * 50 + (30,))
            dut.halt_i.value = int(halted > 0)
            offered = bool(waiting) and (offered or rng.random() < max(eager, 0.3))
            dut.valid_i.value = int(offered)
            dut.instruction_i.value = pack("instruction_t", **waiting[0]) if offered else rng.getrandbits(128)
            ready = {name: rng.random() < eager for name in ("gather", "job", "load", "store")}
            for name, value in ready.items():
                getattr(dut, f"{name}_ready_i").value = int(value)
            # What is under way frees its places, and ends.
            gives = used_polys > 0 and rng.random() < eager / 2
            gives_beside = used_besides > 0 and rng.random() < eager / 2
            dut.poly_free_i.value, dut.beside_free_i.value = int(gives), int(gives_beside)
            used_polys, used_besides = used_polys - gives, used_besides - gives_beside
            ends = [[], [], [], []]
            for name, i in flying.items():
                kind = {LINEAR: 1, LOAD: 2, TABLE: 2, STORE: 3}.get(i["op"], 0)
                if not ends[kind] and rng.random() < eager / 6:
                    ends[kind].append(name)
            dut.done_i.value = sum(bool(e) << k for k, e in enumerate(ends))
            dut.done_id_i.value = [e[0] if e else rng.randrange(16) for e in ends]
            dut.linear_done_i.value = int(bool(ends[1]))
            await ReadOnly()
            if offered and int(dut.ready_o.value):
                waiting.popleft()
                offered = False
            went = [
                int(getattr(dut, f"{name}_o").value) for name in ("gather_go", "job_valid", "load_valid", "store_valid")
            ]
            if any(went):
                i = expected.popleft()
                assert not halted
                op, name = i["op"], int(dut.id_o.value)
                got = unpack("instruction_t", int(dut.issued_o.value))
                assert {key: got[key] for key in i} == i, "not the next one"
                want = [
                    op in (PRODUCT, LINEAR),
                    op in (PRODUCT, PLAIN, CELLS),
                    op in (TABLE, LOAD, PLAIN, CELLS),
                    op == STORE,
                ]
                assert went == want, "the units of its operation"
                assert int(dut.linear_go_o.value) == (op == LINEAR)
                # A linear one and what has no job does without that unit; the others take all of theirs at once.
                assert all(ready[unit] for unit, goes in zip(ready, went, strict=True) if goes)
                assert name not in flying
                reads, writes = touched(i)
                for other in flying.values():
                    other_reads, other_writes = touched(other)
                    assert not writes & (other_reads | other_writes), "it writes what another uses"
                    assert not reads & other_writes, "it reads what another writes"
                    assert TABLE not in (op, other["op"]), "something beside a table"
                    assert not (i["fence"] and other["op"] == STORE), "a store behind a fence"
                flying[name] = i
                used_polys += (op == PRODUCT) * (1 + i["both"])
                used_besides += op == PRODUCT and i["beside"] > 0
                linears -= op == LINEAR
                assert max(used_polys, used_besides) <= polys, "no room for what it gives"
                assert linears >= 0, "no room for its lines"
                job, move = unpack("job_t", int(dut.job_o.value)), unpack("move_t", int(dut.move_o.value))
                if went[1]:
                    wanted = {key: i[key] for key in job if key in i}
                    own = {"id": name, "plain": int(op != PRODUCT), "cells": int(op == CELLS)}
                    assert job == wanted | own | {"rows": i["s1"], "limit": i["s2"]}
                if went[2] or went[3]:
                    assert move == {
                        "id": name, "op": PLAIN if op == CELLS else op, "to_row": i["to_row"], "first": i["target"],
                        "count": 1 if op == CELLS else i["s1"], "address": i["address"],
                    }  # fmt: skip
            error = int(dut.error_o.value)
            # It tells of one that it refuses when those before it have ended.
            assert not error or (error == errors[legal] and not expected and not flying)
            for kind in ends:
                for name in kind:
                    linears += flying.pop(name)["op"] == LINEAR
            await FallingEdge(dut.clk_i)
            clock += 1
        for name in ("valid", "done", "poly_free", "beside_free", "linear_done", "halt"):
            getattr(dut, f"{name}_i").value = 0
        await FallingEdge(dut.clk_i)
        assert int(dut.count_o.value) == legal
        assert int(dut.idle_o.value) == 1
        assert int(dut.error_o.value) == (errors[legal] if legal < len(given) else NONE)
    assert seen >= {NONE, OPERATION, PLACE, OPERAND}


def test_psi_wide_issue():
    parameters = {"Slots": 8, "Rows": 32, "MaxLogN": 7, "Polys": 4, "LinearDepth": 2, "Entries": 9}
    run("psi_wide_issue", parameters, __file__)
