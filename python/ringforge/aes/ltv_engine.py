# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES-128 under LTV, which is broken: a reproduction, no protection.

A state is 128 ciphertexts, one for each bit; between rounds they are the bits that `sbox.Cipher` keeps. A round is four
levels for all sixteen S-boxes together, so that the evaluation key of a level is read once.

Coordinates of an S-box's input are multiplied three levels further down with values that come from there. They are not
relinearised on the way: their modulus is switched, their secret stays, and the level's evaluation key is made for the
product of both secrets (`lags`). So an S-box takes 18 relinearisations, with a secret of its own for each level.

Products and relinearisations are kernels (`ringforge.ltv.kernels`) and run on a device; sums, carries and switches of
the modulus are this machine's.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import numpy as np

from ringforge import _native
from ringforge._native.ltv import (
    BatchEvaluator,
    Ciphertext,
    Client,
    Context,
    Evaluator,
    PublicKey,
    SecretKey,
)
from ringforge.aes import clear
from ringforge.aes.circuit import Circuit
from ringforge.aes.engine import (
    FRESH,
    ROUNDS,
    Blocks,
    Direction,
    Progress,
    State,
    as_blocks,
    as_direction,
    as_key,
)
from ringforge.aes.sbox import Cipher, cipher
from ringforge.binary_slots import BinarySlots
from ringforge.devices import Device, Handle, KeySet, Report, open_device
from ringforge.devices.base import CPU_RUNS_IT
from ringforge.devices.sharding import ShardedDevice
from ringforge.errors import MismatchError, NoiseError, ParameterError, ShapeError
from ringforge.ltv.keys import KeyDirectory, Room, StoredKey
from ringforge.ltv.shards import ProductSumsKernel, RelinearizeKernel
from ringforge.secrecy import Secret

#: Levels of a round, and of all.
DEPTH: Final = 4
LEVELS: Final = DEPTH * ROUNDS

#: Ciphertexts of a state: bits of a block.
BITS: Final = 128

#: Relinearisations between two calls of a progress function, on devices without workers.
_AT_ONCE: Final = 32

Ciphertexts = list[Ciphertext]

#: Takes the part of a device's run that is done.
Part = Callable[[float], None]


@cache
def _cipher(direction: Direction) -> Cipher:
    return cipher(direction)


# ---- plans -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LevelPlan:
    """A level of a circuit as kernels take it. Values have the circuit's numbers.

    Attributes:
        carried: values that are brought down to this level.
        sums: values that are made and kept: (value, terms, constant).
        inputs: what products take.
        forms, outputs, linear: sums of inputs by place, products of forms for each result, forms that are added.
        results: values of the next level.
        lag: of its evaluation key.
        done: values that nobody takes after this level.
    """

    carried: tuple[int, ...]
    sums: tuple[tuple[int, tuple[int, ...], int], ...]
    inputs: tuple[int, ...]
    forms: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[tuple[int, int], ...], ...]
    linear: tuple[tuple[int, ...], ...]
    results: tuple[int, ...]
    lag: int
    done: tuple[int, ...]

    def products(self, context: Context, level: int, count: int = 1) -> ProductSumsKernel:
        """The kernel of its products, on ciphertexts of a level, for so many circuits side by side. Noise adds as that
        of ciphertexts with randomness of their own: docs/ltv.md, "AES"."""
        inputs, forms = len(self.inputs), len(self.forms)
        return ProductSumsKernel(
            context,
            level,
            tuple(tuple(inputs * k + v for v in form) for k in range(count) for form in self.forms),
            tuple(
                tuple((forms * k + a, forms * k + b) for a, b in terms) for k in range(count) for terms in self.outputs
            ),
            tuple(tuple(forms * k + v for v in row) for k in range(count) for row in self.linear),
            independent=True,
        )


@cache
def plan(circuit: Circuit) -> tuple[LevelPlan, ...]:
    """The levels of a circuit of one secret a level.

    Sums of few ciphertexts that only products of one level take are made of transforms; others, of coefficients.
    """
    last: dict[int, int] = {}
    for at, level in enumerate(circuit.levels):
        used = [v for s in level.sums for v in s.terms] + [v for p in level.products for v in p]
        last.update(dict.fromkeys([*used, *(v for r in level.results for v in r.values)], at))
    last.update({v: circuit.depth for s in circuit.outputs for v in s.terms})
    secret = dict.fromkeys(range(circuit.inputs), 0)
    carries = circuit.carries()
    number, found = circuit.inputs, []
    for at, level in enumerate(circuit.levels):
        local: dict[int, list[int]] = {}
        sums = []
        taken = {v for pair in level.products for v in pair} | {v for r in level.results for v in r.values}
        # Sums of sums, down to values that are there before this level, and the constant.
        whole: dict[int, tuple[set[int], int]] = {}
        for s in level.sums:
            flat, constant = set[int](), s.constant
            for v in s.terms:
                terms, one = whole.get(v, ({v}, 0))
                flat, constant = flat ^ terms, constant ^ one
            whole[number] = flat, constant
            secret[number] = secret[s.terms[0]]
            kept = last.get(number, -1) > at
            if kept or (number in taken and (at == 0 or constant)):
                sums.append((number, tuple(sorted(flat)), constant))
            elif number in taken:
                local[number] = sorted(flat)
            number += 1
        operands = [v for pair in level.products for v in pair] + [v for r in level.results for v in r.values]
        forms = list(dict.fromkeys(operands))
        inputs = list(dict.fromkeys(v for f in forms for v in local.get(f, (f,))))
        place, form = {v: k for k, v in enumerate(inputs)}, {v: k for k, v in enumerate(forms)}
        apart = {abs(secret[a] - secret[b]) for a, b in level.products}
        if len(apart) != 1:
            raise ParameterError(f"{circuit.name}: products of level {at} are of several pairs of levels")
        results = tuple(range(number, number + len(level.results)))
        secret.update(dict.fromkeys(results, at + 1))
        number += len(results)
        found.append(
            LevelPlan(
                carried=tuple(c.value for c in carries if c.end == at),
                sums=tuple(sums),
                inputs=tuple(inputs),
                forms=tuple(tuple(place[v] for v in local.get(f, (f,))) for f in forms),
                outputs=tuple(
                    tuple((form[a], form[b]) for a, b in (level.products[p] for p in r.products)) for r in level.results
                ),
                linear=tuple(tuple(form[v] for v in r.values) for r in level.results),
                results=results,
                lag=apart.pop(),
                done=tuple(v for v in range(number) if last.get(v, -1) <= at),
            )
        )
    return tuple(found)


@cache
def lags() -> dict[int, int]:
    """The lag of each level's evaluation key, 1 to 40: what `KeyDirectory.write` is to make for AES."""
    found: dict[int, int] = {}
    for direction in ("encrypt", "decrypt"):
        at = 0
        for step in _cipher(direction).rounds:
            for level in plan(step.box):
                at += 1
                if found.setdefault(at, level.lag) != level.lag:
                    raise ParameterError(f"the circuits of both directions need other evaluation keys at level {at}")
    return found


def check_device(context: Context, device: str | Device, rounds: int = ROUNDS) -> Device:
    """A device, held against the rounds of AES in both directions.

    Args:
        device: or its name.

    Raises:
        ParameterError: there is no such device, or it cannot run them.
    """
    found = open_device(device) if isinstance(device, str) else device
    directions: tuple[Direction, ...] = ("encrypt", "decrypt")
    steps = [(i, step) for direction in directions for i, step in enumerate(_cipher(direction).rounds[:rounds])]
    for i, step in steps:
        for at, level in enumerate(plan(step.box), DEPTH * i):
            for kernel in (level.products(context, at), RelinearizeKernel(context, at + 1, level.lag)):
                try:
                    found.check(kernel)
                except ParameterError as e:
                    raise ParameterError(f"{str(e).removesuffix(CPU_RUNS_IT)}{CPU_RUNS_IT}") from None
    return found


# ---- both sides ------------------------------------------------------------------------------------


class LtvCodec:
    """What ciphertexts of AES under LTV are.

    Args:
        context: of a set with 40 levels and slots.
        rounds: how many there will be, from the first; fewer than 10 take four levels each, and are no AES.

    Raises:
        ParameterError: fewer levels; the ring has no slots of bits; no such number of rounds.
    """

    scheme: Final = "ltv"
    ciphertexts: Final = BITS

    def __init__(self, context: Context, rounds: int = ROUNDS) -> None:
        params = context.params
        if not 1 <= rounds <= ROUNDS:
            raise ParameterError(f"{rounds} rounds: AES has 1 to {ROUNDS} that can be asked for")
        if params.levels < DEPTH * rounds:
            raise ParameterError(
                f"{params.name or 'the set'} has {params.levels} levels, {rounds} rounds of AES take {DEPTH * rounds}: "
                "take ltv-paper"
            )
        self.context, self.rounds = context, rounds
        self._binary = BinarySlots(params.m)
        self.slots = self._binary.size
        self.parameter_hash = bytes(params.hash)
        self.max_record_bytes = 4 * params.degree * params.limbs(0) + (1 << 12)
        self._evaluator = Evaluator(context)

    def to_bytes(self, ciphertext: Ciphertext) -> bytes:
        """A ciphertext's record."""
        return bytes(_native.io.to_bytes(self.context, ciphertext))

    def from_bytes(self, record: bytes) -> Ciphertext:
        """Raises FormatError: damaged, or something else; MismatchError: of other parameters."""
        return _native.io.ciphertext_from_bytes(record, self.context)

    def predicted_budget(self, state: State) -> float:
        """Bits of noise budget that are left by prediction, the least of all ciphertexts. docs/ltv.md says what is
        taken for independent."""
        return min(self._evaluator.budget(c) for c in _bits_of(state))

    def _coefficients(self, blocks: Blocks) -> Iterator[Any]:
        """A message for each bit of blocks (n, 16), zero blocks behind them."""
        wide = np.zeros((self.slots, 16), np.uint8)
        wide[: len(blocks)] = blocks
        for bits in clear.bits_of(wide):
            yield self._binary.encode_bits(bits)


def _bits_of(state: State) -> Sequence[Ciphertext]:
    if state.scheme != LtvCodec.scheme:
        raise MismatchError(f"a state of {state.scheme}: this engine has states of {LtvCodec.scheme}")
    if len(state.ciphertexts) != BITS:
        raise ShapeError(f"a state of {len(state.ciphertexts)} ciphertexts: it has {BITS}")
    return state.ciphertexts


class LtvClient(Secret, LtvCodec):
    """Holds the secret key.

    Args:
        context, secret_key, public_key: of `KeyDirectory` and `load_secret`.
        threads: for each ciphertext. rounds: as `LtvCodec`.

    Raises:
        ParameterError: as `LtvCodec`.
    """

    saved_by = "its key is in the file that `ringforge aes keygen` wrote"

    def __init__(
        self, context: Context, secret_key: SecretKey, public_key: PublicKey, threads: int = 1, rounds: int = ROUNDS
    ) -> None:
        super().__init__(context, rounds)
        self._client, self._secret, self._public, self._threads = Client(context), secret_key, public_key, threads

    def encrypt_blocks(self, blocks: Blocks, direction: Direction = "encrypt") -> State:
        """Raises ShapeError, ringforge.ValueError, ParameterError: as `as_blocks` and `as_direction`."""
        good = as_blocks(blocks, self.slots)
        made = [self._client.encrypt(m, self._public, 0, self._threads) for m in self._coefficients(good)]
        return State(self.scheme, len(good), FRESH, as_direction(direction), made)

    def encrypt_round_key(self, i: int, key: bytes, direction: Direction = "encrypt") -> Ciphertexts:
        """The bits that round i adds, each in all slots, at level 4 i. From round 1 on they are switched from the
        level above: noise of a fresh ciphertext, four times that of a state, would be most of what the next round has.

        Raises:
            ParameterError: no such round or direction. ShapeError: not 16 bytes.
        """
        bits = _cipher(as_direction(direction)).key_bits(as_key(key), i)
        if i > self.rounds:
            raise ParameterError(f"round {i}: this client was made for {self.rounds} rounds")
        at = (self._public, DEPTH * i, self._threads)
        if i == 0:
            return [self._client.encrypt(bits[k : k + 1], *at) for k in range(BITS)]
        return [self._evaluator.mod_switch(self._client.encrypt(bits[k : k + 1], *at, True)) for k in range(BITS)]

    def decrypt_blocks(self, state: State) -> Blocks:
        """The blocks of a state, after whichever round.

        Raises:
            NoiseError: by its predicted noise a bit may come out wrong. LevelError: the noise has filled the modulus.
            MismatchError: of another key. ringforge.ValueError: a slot holds no bit.
        """
        left = self.predicted_budget(state)
        if left <= 0:
            raise NoiseError(f"the predicted noise budget is {left:.1f} bits, so bits may come out wrong")
        bits = np.empty((BITS, state.blocks), np.uint8)
        for k, c in enumerate(_bits_of(state)):
            message = self._client.decrypt(c, self._secret, self._threads)
            bits[k] = self._binary.decode_bits(message)[: state.blocks]
        return _cipher(state.direction).state_bytes(bits, max(0, state.round))

    def measured_budget(self, state: State) -> float:
        """Bits of noise budget that are left, measured; the least of all ciphertexts."""
        return min(self._client.noise_budget(c, self._secret, self._threads) for c in _bits_of(state))


class _OnDevice:
    """The steps of circuits that a device takes."""

    def __init__(self, keys: KeyDirectory, threads: int, device: Device) -> None:
        self.device, self.report = device, Report(device.name, 0.0)
        self._keys, self._threads, self._room = keys, threads, Room()
        self._stored: dict[tuple[int, int], StoredKey] = {}
        self._lock = threading.Lock()

    @property
    def sharded(self) -> bool:
        """Whether the device has workers, which are to get as much at a time as there is."""
        return isinstance(self.device, ShardedDevice)

    def read_key(self, level: int, lag: int) -> Handle:
        """For `relinearize`. Whoever lets go of it first leaves its memory to the next."""
        with self._lock:  # one object for each key: a device that has stored it knows it again
            key = self._stored.setdefault((level, lag), self._keys.stored(level, lag, self._room))
        kernel = RelinearizeKernel(self._keys.context, level, lag)
        return self.device.prepare(kernel, KeySet(own=(key,)), threads=self._threads)

    def prepare(self, kernel: ProductSumsKernel) -> Handle:
        """For `multiply`."""
        return self.device.prepare(kernel, KeySet(), threads=self._threads)

    def multiply(self, handle: Handle, inputs: Ciphertexts, progress: Part | None = None) -> list[Any]:
        """Products, wherever the device has them. What `progress` raises ends a device's run, if it calls it."""
        return self._run(handle, inputs, progress)

    def relinearize(self, handle: Handle, products: list[Any], progress: Part | None = None) -> Ciphertexts:
        """Of `multiply`; on the host."""
        return [self.device.download(c) for c in self._run(handle, products, progress)]

    def _run(self, handle: Handle, inputs: list[Any], progress: Part | None) -> list[Any]:
        outputs, report = self.device.run(handle, inputs, threads=self._threads, progress=progress)
        with self._lock:
            self.report += report
        return outputs


class CircuitRunner:
    """Runs circuits on lists of inputs side by side, level by level, so that each evaluation key is read once.

    A device with workers gets all products of a level at a time, and all relinearisations; others, those of a list, and
    a few, which takes less memory.

    Args:
        keys: with the lags of the circuits' plans.
        threads: for everything.
        device: where products and relinearisations run, or its name.
        at_once: runs at a time, each with a key in memory; others wait.

    Raises:
        ParameterError: there is no such device.
    """

    def __init__(self, keys: KeyDirectory, threads: int = 1, device: str | Device = "cpu", at_once: int = 1) -> None:
        self._context, self._places = keys.context, threading.BoundedSemaphore(at_once)
        self._kernels = _OnDevice(keys, threads, open_device(device) if isinstance(device, str) else device)
        # Sums of ciphertexts with randomness of their own: docs/ltv.md, "AES".
        self.batch = BatchEvaluator(keys.context, threads, independent=True)

    @property
    def report(self) -> Report:
        """What the device took for all runs."""
        return self._kernels.report

    def run(
        self, circuit: Circuit, inputs: list[Ciphertexts], first: int, progress: Progress | None
    ) -> list[dict[int, Ciphertext]]:
        """The values that the circuit's outputs take, for each list of inputs, of level `first` and under its secret.

        Raises:
            as `KeyDirectory.read_into` and the device's kernels, and what `progress` raises, which is called with 0 to
            16 of 16, by devices that tell how far they are within a run too.
        """
        with self._places:
            return self._run(circuit, inputs, first, progress)

    def _run(
        self, circuit: Circuit, inputs: list[Ciphertexts], first: int, progress: Progress | None
    ) -> list[dict[int, Ciphertext]]:
        values = [dict(enumerate(each)) for each in inputs]
        levels = plan(circuit)
        total, done = sum(len(level.results) for level in levels) * len(values), 0

        def within(count: int) -> Part | None:
            """For a run of the device that makes so many results."""
            if progress is None:
                return None
            return lambda part: progress(int(16 * (done + part * count)) // total, 16)

        if progress is not None:
            progress(0, 16)
        for at, level in enumerate(levels):
            key = self._kernels.read_key(first + at + 1, level.lag)
            side = len(values) if self._kernels.sharded else 1
            multiply = self._kernels.prepare(level.products(self._context, first + at, side))
            waiting: deque[tuple[int, int, Any]] = deque()
            for start in range(0, len(values), side):
                group = range(start, start + side)
                operands = [c for number in group for c in self._operands(level, values[number], first + at)]
                products = self._kernels.multiply(multiply, operands, within(0))
                named = [(number, v) for number in group for v in level.results]
                waiting.extend((number, v, c) for (number, v), c in zip(named, products, strict=True))
                for number in group:
                    for v in level.done:
                        values[number].pop(v, None)
            most = len(waiting) if self._kernels.sharded else _AT_ONCE
            while waiting:
                now = [waiting.popleft() for _ in range(min(most, len(waiting)))]
                made = self._kernels.relinearize(key, [c for _, _, c in now], within(len(now)))
                switched = self.batch.mod_switch(made)
                for (number, v, _), c in zip(now, switched, strict=True):
                    values[number][v] = c
                done += len(now)
                if progress is not None:
                    progress(16 * done // total, 16)
            del key  # its memory is for the next one
        return values

    def _operands(self, level: LevelPlan, values: dict[int, Ciphertext], at: int) -> Ciphertexts:
        """What products of one circuit's level take; values that are carried or summed are put in place."""
        if level.carried:
            carried = self.batch.carry([values[v] for v in level.carried], at)
            values.update(zip(level.carried, carried, strict=True))
        if level.sums:
            inputs = list(dict.fromkeys(v for _, terms, _ in level.sums for v in terms))
            place = {v: k for k, v in enumerate(inputs)}
            rows = [[place[v] for v in terms] for _, terms, _ in level.sums]
            made = self.batch.sums([values[v] for v in inputs], rows, [constant for _, _, constant in level.sums])
            values.update(zip([v for v, _, _ in level.sums], made, strict=True))
        return [values[v] for v in level.inputs]


class LtvServer(LtvCodec):
    """Computes. Holds no secret.

    Args:
        context: as that of `keys`.
        keys: evaluation keys with the lags of `lags()`; each is read where it is used.
        threads: for everything.
        device: where products and relinearisations run, or its name. rounds: as `LtvCodec`.
        at_once: as `CircuitRunner`.

    Raises:
        ParameterError: as `LtvCodec`; there is no such device, or it cannot run them.
    """

    def __init__(
        self,
        context: Context,
        keys: KeyDirectory,
        threads: int = 1,
        device: str | Device = "cpu",
        rounds: int = ROUNDS,
        at_once: int = 1,
    ) -> None:
        super().__init__(context, rounds)
        self._runner = CircuitRunner(keys, threads, check_device(context, device, rounds), at_once)

    @property
    def device_name(self) -> str:
        """Where products and relinearisations run."""
        return self._runner.report.device

    @property
    def report(self) -> Report:
        """What the device took for all rounds so far."""
        return self._runner.report

    @cached_property
    def shares(self) -> list[float]:
        """Relative times of the rounds: digits times primes of each relinearisation."""
        p = self.context.params
        return [
            float(
                sum(
                    len(level.results) * p.digits(DEPTH * i + at + 1) * (p.limbs(DEPTH * i + at) + 20)
                    for at, level in enumerate(plan(step.box))
                )
            )
            for i, step in enumerate(_cipher("encrypt").rounds[: self.rounds])
        ]

    def start(self, state: State, key: Ciphertexts) -> State:
        """AddRoundKey 0 on a `FRESH` state. Raises as `AesServer.start`."""
        if state.round != FRESH:
            raise MismatchError(f"a state after round {state.round}: AES starts with a fresh one")
        return self._with_key(state, 0, [[k] for k in range(BITS)], (), _bits_of(state), key)

    def start_clear(self, blocks: Blocks, key: Ciphertexts, direction: Direction = "encrypt") -> State:
        """AddRoundKey 0 on blocks that everybody may know. Raises as `AesServer.start_clear`."""
        good = as_blocks(blocks, self.slots)
        return self._plain_added(
            State(self.scheme, len(good), 0, as_direction(direction), self._of_round(key, 0)), good
        )

    def add_clear(self, state: State, blocks: Blocks) -> State:
        """XOR with blocks that everybody may know, of a state that has the bits of blocks: before round 1 or after
        round 10. Raises as `AesServer.add_clear`; MismatchError for other states."""
        good = as_blocks(blocks, self.slots)
        if len(good) != state.blocks:
            raise ShapeError(f"{len(good)} blocks are added to a state of {state.blocks}: give as many")
        if state.round not in (FRESH, 0, ROUNDS):
            raise MismatchError(f"a state after round {state.round} keeps no bits of blocks: finish its rounds first")
        return self._plain_added(state, good)

    def round(self, state: State, i: int, key: Ciphertexts, progress: Progress | None = None) -> State:
        """A round of AES. Raises as `AesServer.round`; LevelError for ciphertexts of other levels."""
        if state.round != i - 1 or not 1 <= i <= self.rounds:
            raise MismatchError(
                f"round {i} on a state after round {state.round}: rounds 1 to {self.rounds} follow each other"
            )
        bits = self._of_level(_bits_of(state), DEPTH * (i - 1), f"a state after round {i - 1}")
        step = _cipher(state.direction).rounds[i - 1]
        inputs = [[bits[k] for k in reads] for reads in step.reads]
        boxes = self._runner.run(step.box, inputs, DEPTH * (i - 1), progress)
        outputs = step.box.outputs
        flat: Ciphertexts = []
        rows: list[list[int]] = []
        for values in boxes:
            place = {v: len(flat) + k for k, v in enumerate(values)}
            flat += values.values()
            rows += [[place[v] for v in s.terms] for s in outputs]
        constants = [s.constant for s in outputs] * len(boxes)
        done = self._with_key(state, i, rows, constants, flat, key)
        left = self.predicted_budget(done)
        if left <= 0:
            raise NoiseError(f"after round {i} the predicted noise budget is {left:.1f} bits: the set is too small")
        return done

    # ---- parts ----

    def _with_key(
        self,
        state: State,
        i: int,
        rows: list[list[int]],
        constants: Sequence[int],
        values: Sequence[Ciphertext],
        key: Ciphertexts,
    ) -> State:
        """Sums of values and of round key i."""
        keys = self._of_round(key, i)
        rows = [[*row, len(values) + k] for k, row in enumerate(rows)]
        made = self._runner.batch.sums([*values, *keys], rows, list(constants))
        return State(self.scheme, state.blocks, i, state.direction, made)

    def _plain_added(self, state: State, blocks: Blocks) -> State:
        bits = _bits_of(state)
        made = [self._evaluator.add_plain(c, m) for c, m in zip(bits, self._coefficients(blocks), strict=True)]
        return State(self.scheme, state.blocks, state.round, state.direction, made)

    def _of_round(self, key: Ciphertexts, i: int) -> Ciphertexts:
        if len(key) != BITS:
            raise ShapeError(f"a round key of {len(key)} ciphertexts: it has {BITS}")
        return self._of_level(key, DEPTH * i, f"round key {i}")

    @staticmethod
    def _of_level(ciphertexts: Sequence[Ciphertext], level: int, what: str) -> Ciphertexts:
        for c in ciphertexts:
            if c.level != level:
                raise MismatchError(f"{what} has a ciphertext of level {c.level}; all are of level {level}")
        return list(ciphertexts)
