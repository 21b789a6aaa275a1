# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""An element with shared ALUs: programs of every operation against the interpreter, and how long they take."""

import random
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from runner import environment, find
from shared_element import ENTRIES, PRIMES, Element, Program

from ringforge.hw.vector import constants
from ringforge.hw.vector.isa import Instruction

i = Instruction
Programs = tuple[Element, dict[object, Program]]
#: Cycles from a row's read to its result's write.
MAC_LENGTH = 18
#: Cycles from a transform's read of a row on until it may be read again.
DRAIN = 28


def arithmetic(e: Element, log_n: int) -> list[Instruction]:
    """MACs of every kind, each with another modulus than the one before, results over sources."""

    def s(bank: int, place: int = 0) -> int:
        return e.s(log_n, bank, place)

    def scalar(value: int, prime: int) -> int:
        return constants.scalar(e.config, value, PRIMES[prime])

    out: list[Instruction] = []
    for prime, entry in enumerate(ENTRIES):
        lift = ENTRIES[(prime + 1) % 4]
        x = [e.data(log_n, prime, k) for k in range(4)]
        y = e.data(log_n, (prime + 1) % 4, 0)
        out += [i.load(s(0), x[0]), i.load(s(1), x[1]), i.load(s(2), x[2]), i.load(s(3), y), i.stream(x[3])]
        results = [
            i.mac(s(0, 1), s(0), entry, imm=scalar(12345, prime)),
            i.mac(s(1, 1), s(0), entry, stream=True, c=s(1), post_add=True),
            i.mac(s(2, 1), s(0), entry, b=s(1), c=s(2), post_add=True),
            i.mac(s(3, 1), s(1), entry, b=s(2)),
            i.mac(s(3, 0), s(3), entry, imm=scalar(99, prime), c=s(2), post_add=True, lift_from=lift),
            i.mac(s(2, 1), s(0), entry, imm=scalar(77, prime), c=s(2), pre_sub=True),
            i.mac(s(1, 1), s(2), entry, b=s(0), c=s(1), pre_sub=True),
            i.mac(s(0, 1), s(0), entry, b=s(0), c=s(1), pre_sub=True),
            i.mac(s(1), s(1), entry, imm=scalar(5, prime), c=s(2), post_add=True),
            i.mac(s(1), s(1), entry, imm=scalar(7, prime), c=s(2), post_add=True),
            i.mac(s(1), s(0), entry, imm=scalar(9, prime), c=s(1), post_add=True),
        ]
        out += results
        out += [i.store(dst, e.place(log_n)) for dst in dict.fromkeys(r.dst for r in results)]
        out += [
            i.load(s(3), y),
            i.mac(s(2), s(0), entry, imm=scalar(77, prime), c=s(3), pre_sub=True, lift_from=lift),
            i.store(s(2), e.place(log_n)),
        ]
    return out


def transforms(e: Element, log_n: int) -> list[Instruction]:
    """Both directions, in place, with a lift, an automorphism; MACs and loads beside them; a copy."""

    def s(bank: int, place: int = 0) -> int:
        return e.s(log_n, bank, place)

    a, b = ENTRIES[1], ENTRIES[2]
    copied = e.place(log_n)
    return [
        i.load(s(7, 0), e.table(log_n, 1)),
        i.load(s(7, 1), e.table(log_n, 2)),
        i.load(s(0), e.data(log_n, 1, 0)),
        i.load(s(2), e.data(log_n, 3, 1)),
        i.load(s(3), e.data(log_n, 3, 2)),
        i.ntt(s(1), s(0), s(7, 0), a),
        *[i.mac(s(3), s(2), ENTRIES[3], imm=17, c=s(3), post_add=True)] * 5,
        i.load(s(3, 1), e.data(log_n, 0, 3)),
        i.auto(s(2, 1), s(1), 5),
        *[i.mac(s(3), s(0), ENTRIES[3], imm=1 << 20, lift_from=a)] * 2,
        i.intt(s(2, 1), s(2, 1), s(7, 0), a),
        i.store(s(1), e.place(log_n)),
        i.ntt(s(1), s(0), s(7, 0), a).beside(i.ntt(s(1, 1), s(0), s(7, 0), a)),
        i.intt(s(1), s(1), s(7, 0), a).beside(i.intt(s(3), s(1, 1), s(7, 0), a)),
        i.store(s(1), e.place(log_n)),
        i.ntt(s(1), s(0), s(7, 1), b, lift_from=a),
        i.store(s(3, 1), e.place(log_n)),
        i.auto(s(3, 1), s(1), (2 << log_n) - 1),
        *[i.store(x, e.place(log_n)) for x in (s(1), s(2, 1), s(3), s(3, 1))],
        i.copy(copied, e.far(log_n)),
        i.sync(0),
        i.load(s(0), copied),
        i.store(s(0), e.place(log_n)),
    ]


class Draw:
    """A random program that the interpreter takes."""

    def __init__(self, e: Element, log_n: int, seed: int, length: int = 60) -> None:
        self.e, self.log_n, self.rng = e, log_n, random.Random(seed)
        places = min(2, e.config.bank_slots(log_n))
        self.slots = [e.s(log_n, b, k) for b in range(4) for k in range(places)]
        self.holds: dict[int, int] = {}
        self.streams: list[int] = []
        tables = min(4, e.config.twiddle_slots(log_n))
        self.primes = self.rng.sample(range(4), tables)
        self.code = [i.load(e.s(log_n, 7, k), e.table(log_n, p)) for k, p in enumerate(self.primes)]
        for slot in self.rng.sample(self.slots, len(self.slots) - 1):
            self._load(slot)
        while len(self.code) < length:
            rare = [self._load_any, self._stream, self._store, self._auto]
            self.rng.choice([*rare, *[self._mac] * 5, *[self._ntt] * 2])()
        while self.streams:
            self._mac(stream=True)
        self.code += [i.store(slot, e.place(log_n)) for slot in sorted(self.holds)]

    def _entry(self, prime: int) -> int:
        return ENTRIES[prime]

    def _load(self, slot: int) -> None:
        prime = self.rng.randrange(4)
        self.code.append(i.load(slot, self.e.data(self.log_n, prime, self.rng.randrange(self.e.inputs))))
        self.holds[slot] = prime

    def _load_any(self) -> None:
        self._load(self.rng.choice(self.slots))

    def _stream(self) -> None:
        if len(self.streams) < 6:
            prime = self.rng.randrange(4)
            self.code.append(i.stream(self.e.data(self.log_n, prime, self.rng.randrange(self.e.inputs))))
            self.streams.append(prime)

    def _store(self) -> None:
        self.code.append(i.store(self.rng.choice(list(self.holds)), self.e.place(self.log_n)))

    def _auto(self) -> None:
        a = self.rng.choice(list(self.holds))
        dst = self.rng.choice([x for x in self.slots if x != a])
        self.code.append(i.auto(dst, a, self.rng.randrange(1, 2 << self.log_n, 2)))
        self.holds[dst] = self.holds[a]

    def _transform(self) -> Instruction:
        a, dst = self.rng.choice(list(self.holds)), self.rng.choice(self.slots)
        k = self.rng.randrange(len(self.primes))
        prime, table = self.primes[k], self.e.s(self.log_n, 7, k)
        source = self.holds[a]
        if source == prime and self.rng.random() < 0.5:
            return i.intt(dst, a, table, ENTRIES[prime])
        return i.ntt(dst, a, table, ENTRIES[prime], lift_from=ENTRIES[source] if source != prime else None)

    def _ntt(self) -> None:
        one, two = self._transform(), self._transform()
        pair = (one.op, one.lift, one.src_entry) == (two.op, two.lift, two.src_entry)
        if pair and one.dst not in (two.dst, two.a) and two.dst != one.a:
            self.code.append(one.beside(two))
            self.holds[two.dst] = ENTRIES.index(two.entry)
        else:
            self.code.append(one)
        self.holds[one.dst] = ENTRIES.index(one.entry)

    def _mac(self, stream: bool | None = None) -> None:
        kind = self.rng.choice(["imm", "slot", "stream"])
        if stream or kind == "stream":
            if not self.streams:
                return
            prime = self.streams.pop(0)
        else:
            prime = self.rng.choice(list(self.holds.values()))
        own = [x for x, p in self.holds.items() if p == prime]
        others = [x for x, p in self.holds.items() if p != prime]
        pre, post = self.rng.choice([(False, False), (True, False), (False, True), (False, True)])
        lift = bool(others) and self.rng.random() < 0.3
        lifted = self.rng.choice(others) if lift else None
        picked: dict[str, int] = {}
        for name in ("a", *(["c"] if pre or post else []), *(["b"] if kind == "slot" and not stream else [])):
            if lifted is not None and name == ("c" if pre else "a"):
                picked[name] = lifted
                continue
            taken = {x >> 13 for x in (*picked.values(), *([lifted] if lifted is not None else []))}
            free = [x for x in own if x >> 13 not in taken]
            if not free:  # a multiplier at least, so that streams are used up
                if stream or kind == "stream":
                    self._load(self.rng.choice(self.slots))
                    self.code[-1] = replace(self.code[-1], addr=self.e.data(self.log_n, prime, 0))
                    self.holds[self.code[-1].dst] = prime
                    self.streams.insert(0, prime)
                return
            picked[name] = self.rng.choice(free)
        b: dict[str, object] = {"stream": True}
        if "b" in picked:
            b = {"b": picked["b"]}
        elif not (stream or kind == "stream"):
            b = {"imm": self.rng.randrange(PRIMES[prime])}
        dst = self.rng.choice(self.slots)
        self.code.append(
            i.mac(dst, picked["a"], ENTRIES[prime], c=picked.get("c"), pre_sub=pre, post_add=post,
                  lift_from=ENTRIES[self.holds[lifted]] if lifted is not None else None, **b)
        )  # fmt: skip
        self.holds[dst] = prime


def accumulate(e: Element, log_n: int, count: int, beside: Sequence[Instruction] = ()) -> list[Instruction]:
    """`count` MACs that add to the same slot, other instructions before the first."""
    s = e.s(log_n, 0), e.s(log_n, 1), e.s(log_n, 2)
    return [
        *[i.load(x, e.data(log_n, 0, k)) for k, x in enumerate(s)],
        i.load(e.s(log_n, 7), e.table(log_n, 0)),
        *beside,
        *[i.mac(s[1], s[0], 0, imm=k + 1, c=s[1], post_add=True) for k in range(count)],
        i.store(s[1], e.place(log_n)),
    ]


def rotations(e: Element, log_n: int, beta: int, count: int) -> list[Instruction]:
    """The loop of a linear transform: per rotation u and v from beta digits, mapped, masked and added up."""

    def s(bank: int, place: int = 0) -> int:
        return e.s(log_n, bank, place)

    digits = [s(0, j) for j in range(beta)] if e.config.bank_slots(log_n) >= beta + 2 else [s(0, 0)] * beta
    mask = [s(0, len(set(digits)) + k) for k in range(2)]
    pa, u, sum0, v, sum1, au, av = s(1, 2), s(1), s(1, 1), s(2), s(2, 1), s(3), s(3, 1)
    inputs = [*dict.fromkeys(digits), pa, sum0, sum1]
    head = [i.load(x, e.data(log_n, 0, k % e.inputs)) for k, x in enumerate(inputs)]
    streams = [i.stream(e.data(log_n, 0, k % e.inputs)) for k in range(2 * beta * count)]

    def keys(dst: int, c: int | None) -> list[Instruction]:
        """dst = c + sum of the digits times streamed keys."""
        out = []
        for digit in digits:
            out.append(i.mac(dst, digit, 0, stream=True, c=c, post_add=c is not None))
            out += streams[:1]
            del streams[:1]
            c = dst
        return out

    def add(total: int, x: int, t: int) -> Instruction:
        return i.mac(total, x, 0, b=mask[t % 2], c=total, post_add=True)

    body, ahead = [i.load(mask[0], e.data(log_n, 0, 3))], streams[:3]
    del streams[:3]
    for t in range(count):
        body += keys(u, pa)
        body += [i.auto(au, u, 5)]
        body += [add(sum1, av, t - 1)] if t else []
        if t + 1 < count:
            body += [i.load(mask[(t + 1) % 2], e.data(log_n, 0, t % e.inputs))]
        body += keys(v, None)
        body += [i.auto(av, v, 5), add(sum0, au, t)]
    body += [add(sum1, av, count - 1)]
    return [*head, *ahead, *body, i.store(sum0, e.place(log_n)), i.store(sum1, e.place(log_n))]


def fill(e: Element, draws: int, timed: Sequence[int], betas: Sequence[int]) -> dict[object, Program]:
    """Programs of an element, by name."""
    programs: dict[object, Program] = {}
    for log_n in e.log_ns:
        programs["arithmetic", log_n] = e.add(log_n, arithmetic(e, log_n))
        for quiet in (0, 200):
            programs["transforms", log_n, quiet] = e.add(log_n, transforms(e, log_n), quiet)
    for seed in range(draws):
        log_n = e.log_ns[seed % len(e.log_ns)]
        programs["draw", seed] = e.add(log_n, Draw(e, log_n, seed).code, (0, 0, 100, 240)[seed // 3 % 4])
    for log_n in timed:
        for count in (2, 10):
            programs["accumulate", log_n, count] = e.add(log_n, accumulate(e, log_n, count))
        one = i.ntt(e.s(log_n, 3), e.s(log_n, 2), e.s(log_n, 7), 0)
        two = replace(one, dst=e.s(log_n, 3, 1))
        for name, ntts in (("none", []), ("one", [one]), ("two", [one, two]), ("pair", [one.beside(two)])):
            for count in (0, 6):
                programs["ntt", log_n, name, count] = e.add(log_n, accumulate(e, log_n, count, ntts))
        for beta in betas:
            for count in (3, 7):
                programs["rotations", log_n, beta, count] = e.add(log_n, rotations(e, log_n, beta, count))
    return programs


#: Instructions that the element refuses, and with which error.
BAD = (
    (i.reduce(0, 1 << 13, 0), 1),
    (i.load(4 << 13, 0), 2),
    (i.load(4, 0), 2),
    (i.load(512, 0), 2),
    (i.mac(0, 0, 0, b=8), 2),
    (i.ntt(0, 8, 7 << 13, 0).beside(i.ntt(0, 8, 7 << 13, 0)), 2),
    (i.ntt(0, 8, 7 << 13, 0).beside(i.ntt(16, 0, 7 << 13, 0)), 2),
    (i.ntt(0, 8, 7 << 13, 0).beside(i.ntt(16, 8, 0, 0)), 2),
    (i.conf(6, 4), 3),
    (i.conf(12, 4), 3),
    (i.modulus(40, 12345, 0), 3),
    (i.load(0, 64), 4),
    (i.load(0, (1 << 32) - 128), 4),
    (i.copy(64, 0), 4),
    (i.copy(0, 64), 4),
    (i.copy(0, (1 << 34) - 128), 4),
    (i.auto(0, 8, 2), 5),
    (i.mac(0, 8, 0, imm=1, c=1 << 13, pre_sub=True, post_add=True), 5),
    (i.send(0, 1), 5),
    (i.recv(0, 0), 5),
)


@pytest.fixture(scope="module")
def small() -> Programs:
    """Programs on an element of 16 lanes, all run in one simulation."""
    e = Element("fame-small", (7, 8, 10), seed=3)
    programs = fill(e, 24, (7, 8, 10), (1, 3))
    for bad, _ in BAD:
        programs[bad] = e.add(7, [bad], valid=False)
    e.run("small")
    return e, programs


def test_programs_leave_what_the_interpreter_does(small: Programs) -> None:
    assert not [name for name, p in small[1].items() if isinstance(name, tuple) and (p.error or not p.cycles)]


def test_macs_follow_each_other_without_a_gap(small: Programs) -> None:
    """Where a polynomial has more rows than the array is long; else each waits for the one whose result it reads."""
    e, programs = small
    for log_n in (7, 8, 10):
        rows = e.config.rows(log_n)
        each = (programs["accumulate", log_n, 10].cycles - programs["accumulate", log_n, 2].cycles) / 8
        assert each == (rows if rows > MAC_LENGTH else rows + MAC_LENGTH + 2)


def test_transforms_wait_no_longer_than_they_must(small: Programs) -> None:
    """Stages follow each other as soon as rows are written; in pairs they seldom wait."""
    e, programs = small
    for log_n in (7, 8, 10):
        rows = e.config.rows(log_n)
        one, two, pair = (programs["ntt", log_n, name, 0].cycles for name in ("one", "two", "pair"))
        between = log_n * rows + (log_n - 1) * max(0, DRAIN - rows // 2 - 1)
        assert two - one == between + DRAIN + 2
        beside = 2 * log_n * rows + (log_n - 1) * max(0, DRAIN - rows - 1)
        assert pair - one == beside - between


def test_macs_take_the_cycles_that_a_short_transform_leaves(small: Programs) -> None:
    _, programs = small
    for log_n in (7, 8):
        assert programs["ntt", log_n, "none", 6].cycles > programs["ntt", log_n, "none", 0].cycles + 100
        assert programs["ntt", log_n, "one", 6].cycles == programs["ntt", log_n, "one", 0].cycles


def test_rotations_take_the_time_of_their_products(small: Programs) -> None:
    """(2 beta + 2) N/Lanes cycles: automorphisms, keys and masks come beside them."""
    e, programs = small
    for beta in (1, 3):
        each = (programs["rotations", 10, beta, 7].cycles - programs["rotations", 10, beta, 3].cycles) / 4
        assert each <= 1.05 * (2 * beta + 2) * e.config.rows(10)


def test_bad_instructions_are_named(small: Programs) -> None:
    for bad, error in BAD:
        assert small[1][bad].error == error, bad


def test_impossible_parameters_do_not_elaborate() -> None:
    """Every one of them is named by a message of its own."""
    wrong = {"Lanes": 6, "Banks": 8, "MaxLogN": 14, "W": 20, "ModuliEntries": 65, "StreamRows": 0, "Pes": 33, "Kind": 2}
    wrong |= {"NearBits": 49}
    files, args = find("vector_shared_pe", Path(__file__).parent, [], [])
    sets = [f"-G{name}={value}" for name, value in wrong.items()]
    with environment("-O0"):
        command = ["verilator", "--lint-only", "--top-module", "vector_shared_pe", *args, *sets, *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode
    named = ("Lanes", "polynomials", "Banks", "BankRows", "TwiddleRows", "W", "ModuliEntries", "StreamRows", "Pes")
    for name in (*named, "NearBits and FarBits", "Kind"):
        assert f"vector_shared_pe: {name} must" in done.stderr, name


@pytest.mark.long
@pytest.mark.parametrize("name", ["fame-s", "fame-s-montgomery"])
def test_an_element_of_128_lanes(name: str) -> None:
    """Bit-exact too, and rotations of 64 rows take their products' time."""
    e = Element(name, (10, 12, 13), seed=5)
    programs = fill(e, 12, (13,), (1, 2))
    e.run(name)
    assert not [n for n, p in programs.items() if p.error or not p.cycles]
    for beta in (1, 2):
        each = (programs["rotations", 13, beta, 7].cycles - programs["rotations", 13, beta, 3].cycles) / 4
        assert each <= 1.05 * (2 * beta + 2) * 64


@pytest.mark.long
def test_montgomery_multipliers() -> None:
    e = Element("fame-small-montgomery", (7, 8, 10, 11), seed=7)
    programs = fill(e, 60, (), ())
    e.run("montgomery")
    assert not [n for n, p in programs.items() if p.error or not p.cycles]
