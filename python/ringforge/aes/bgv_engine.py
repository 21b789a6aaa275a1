# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES-128 under BGV, a byte of every block in each of 16 ciphertexts.

Slots of BGV modulo 2 have GF(2^8) in them, the field of AES. `byte_aes` has the circuits, `byte_plan` decides with how
many primes each stage computes; both follow from the parameters, so that clients and servers agree on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np

from ringforge import _native
from ringforge._native import GaloisKeys, RelinKey, SecretKey
from ringforge._native.bgv import Ciphertext, Client, Context, Multiplier
from ringforge.aes.byte_aes import added_key, check_round, halves, round_circuit, round_key
from ringforge.aes.byte_circuit import BITS, Circuit, Sum, run
from ringforge.aes.byte_machine import ByteMachine, Tools, log_peak
from ringforge.aes.byte_plan import LEVELS_LEFT, AesPlan, Plan, Segment, Sizes, Value, aes_plan, make_plan
from ringforge.aes.engine import (
    BLOCK_BYTES,
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
from ringforge.aes.shards import BytesKernel
from ringforge.binary_slots import BinarySlots, Bytes
from ringforge.devices import Device, Handle, KeySet, open_device
from ringforge.errors import Error, MismatchError, NoiseError, ShapeError
from ringforge.secrecy import Secret

SCHEME: Final = "bgv"

#: Exponents k of the maps x -> x^(2^k) that circuits over bytes take.
POWERS: Final = tuple(range(1, BITS))


@dataclass(frozen=True)
class EvaluationKeys:
    """What a server needs to compute: eight switching keys. No secret."""

    relin: RelinKey
    galois: GaloisKeys

    @classmethod
    def make(
        cls, context: Context, client: Client, key: SecretKey, threads: int = 1, limbs: int | None = None
    ) -> EvaluationKeys:
        """For ciphertexts of up to `limbs` primes; all of the parameters by default."""
        galois = GaloisKeys()
        for k in POWERS:
            galois.insert(client.galois_key(key, context.frobenius_element(k), limbs, threads))
        return cls(client.relin_key(key, limbs, threads), galois)


class _Bytes:
    """What both sides of a parameter set share. Thread-safe."""

    scheme: Final = SCHEME
    ciphertexts: Final = BLOCK_BYTES

    def __init__(self, context: Context, threads: int, levels_left: int) -> None:
        self.context, self.threads, self.levels_left = context, threads, levels_left
        params = context.params
        self.byte_slots = BinarySlots(params.m)
        self.slots = self.byte_slots.size
        self.parameter_hash: bytes = params.hash
        gadget = context.gadget
        self.sizes = Sizes(params.max_limbs, gadget.special, gadget.alpha)

    @cached_property
    def max_record_bytes(self) -> int:
        """Of a ciphertext of two parts at all primes, packed, and what is around it."""
        return 4096 + self.context.params.degree * 2 * sum(q.bit_length() for q in self.context.params.q) // 8

    def to_bytes(self, ciphertext: Ciphertext) -> bytes:
        return bytes(_native.io.to_bytes(self.context, ciphertext))

    def from_bytes(self, record: bytes) -> Ciphertext:
        found = _native.io.ciphertext_from_bytes(record, self.context)
        assert isinstance(found, Ciphertext)
        return found

    def constant_bits(self, value: int) -> Bytes:
        """A byte in all slots, as a plaintext."""
        return self.byte_slots.encode_bytes(np.full(self.slots, value, np.uint8))

    def plan(self, direction: Direction) -> AesPlan:
        """Primes of every stage. The same for all who have the parameters and `levels_left`."""
        return _plan(self.context.params.hash, self.levels_left, direction, _Hidden(self))

    def column(self, blocks: Blocks, j: int) -> Bytes:
        """Byte j of all blocks as a plaintext; slots without a block are 0."""
        values = np.zeros(self.slots, np.uint8)
        values[: len(blocks)] = blocks[:, j]
        return self.byte_slots.encode_bytes(values)

    def peak(self, value: int) -> float:
        """Of a byte in all slots: log2 of its largest value at a root of unity."""
        return log_peak(self.context, value, self.byte_slots)

    def check_state(self, state: State) -> None:
        """Raises MismatchError for a state of another scheme, ShapeError for another number of blocks."""
        if state.scheme != SCHEME:
            raise MismatchError(f"a state of {state.scheme} is none of {SCHEME}: use the engine of its scheme")
        if len(state.ciphertexts) != BLOCK_BYTES or not 0 <= state.blocks <= self.slots:
            raise ShapeError(
                f"a state has {BLOCK_BYTES} ciphertexts and up to {self.slots:,} blocks, not "
                f"{len(state.ciphertexts)} and {state.blocks:,}"
            )


@dataclass(frozen=True, eq=False)
class _Hidden:
    """Equal to all of its kind: what a cached function needs beside what it depends on."""

    side: _Bytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hidden)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=16)
def _plan(params: bytes, levels_left: int, direction: Direction, hidden: _Hidden) -> AesPlan:
    del params
    side = hidden.side
    return aes_plan(side.context.rules, side.sizes, side.peak, direction, levels_left)


class BgvClient(Secret, _Bytes):
    """Holds the secret key. Implements `engine.AesClient`.

    Args:
        context: of the parameters. levels_left: products that results of AES have to bear: as the server has it.

    Raises:
        ParameterError: the first use of `plan`, for a set of too few primes.
    """

    saved_by = "its key is in the file that `ringforge aes keygen` wrote"

    def __init__(
        self, context: Context, secret_key: SecretKey, threads: int = 1, levels_left: int = LEVELS_LEFT
    ) -> None:
        super().__init__(context, threads, levels_left)
        self._client, self._key = Client(context), secret_key

    def evaluation_keys(self) -> EvaluationKeys:
        """What the server needs."""
        return EvaluationKeys.make(self.context, self._client, self._key, self.threads)

    def encrypt_blocks(self, blocks: Blocks, direction: Direction = "encrypt") -> State:
        """A `FRESH` state, with half of each ciphertext a seed. Raises as `engine.AesClient.encrypt_blocks`."""
        good = as_blocks(blocks, self.slots)
        limbs = self.plan(as_direction(direction)).plan.start
        made = [self._client.encrypt(self.column(good, j), self._key, limbs) for j in range(BLOCK_BYTES)]
        return State(SCHEME, len(good), FRESH, direction, made)

    def encrypt_round_key(self, i: int, key: bytes, direction: Direction = "encrypt") -> list[Ciphertext]:
        """What round i adds, in all slots, at the primes where it is added; constants of the affine maps included.
        Raises as `engine.AesClient.encrypt_round_key`."""
        added = round_key(i, as_key(key), as_direction(direction))
        limbs = self.plan(direction).key_limbs(i)
        return [self._client.encrypt(self.constant_bits(int(b)), self._key, limbs) for b in added]

    def decrypt_blocks(self, state: State) -> Blocks:
        """The blocks, (state.blocks, 16). Raises as `engine.AesClient.decrypt_blocks`."""
        self.check_state(state)
        return np.stack([self.decrypt_bytes(c, state.blocks) for c in state.ciphertexts], axis=1)

    def decrypt_bytes(self, c: Ciphertext, blocks: int) -> Bytes:
        """The byte that a ciphertext has of each block, (blocks,).

        Raises:
            NoiseError: by its predicted noise a bit may come out wrong. ringforge.ValueError: a slot holds no byte.
        """
        left = self.context.rules.budget(c.noise, c.limbs)
        if left <= 0:
            raise NoiseError(
                f"the predicted noise budget is {left:.1f} bits, so bits may come out wrong: compute less on a "
                "ciphertext, or take a larger set"
            )
        bits = self._client.decrypt(c, self._key, self.threads)
        return self.byte_slots.decode_bytes(bits)[:blocks]

    def measured_budget(self, state: State) -> float:
        """Bits of budget left, the least of all ciphertexts, measured with the key."""
        self.check_state(state)
        return min(self._client.noise_budget(c, self._key, self.threads) for c in state.ciphertexts)


class BgvServer(_Bytes):
    """Computes; no secret. Implements `engine.AesServer`. Any threads may call.

    Args:
        keys: of the client. levels_left: as the client has it.
        device: where bytes are substituted: cpu, or one that computes several bytes at a time.

    Raises:
        ParameterError: there is no such device, or it computes no bytes.
    """

    def __init__(
        self,
        context: Context,
        keys: EvaluationKeys,
        threads: int = 1,
        levels_left: int = LEVELS_LEFT,
        device: str | Device = "cpu",
    ) -> None:
        super().__init__(context, threads, levels_left)
        self.keys, self.device = keys, open_device(device) if isinstance(device, str) else device
        self.tools = Tools(context, KeySet(keys.galois, keys.relin), threads, self.byte_slots)
        self.evaluator = self.tools.evaluator
        self._handles: dict[tuple[int, Direction], Handle] = {}

    def multiplier(self, value: int) -> Multiplier:
        """A byte in all slots, as a factor; made once."""
        return self.tools.multiplier(value)

    @property
    def shares(self) -> list[float]:
        """Transforms of rounds 1 to 10."""
        plan = self.plan("encrypt")
        shares = []
        for i in range(1, ROUNDS + 1):
            limbs, circuit = plan.limbs(i), round_circuit(i, "encrypt", 1)
            shares.append(float(sum(self.sizes.step(s, limbs[s.stage]) for s in circuit.steps)))
        return shares

    def start(self, state: State, key: list[Any]) -> State:
        """Raises as `engine.AesServer.start`."""
        self.check_state(state)
        if state.round != FRESH:
            raise MismatchError(f"the state has had round {state.round}; AES begins with a fresh one")
        self._check_key(key)
        limbs = self.plan(state.direction).limbs(0)
        made = run(added_key(), ByteMachine(self.tools, limbs), [*state.ciphertexts, *key])
        return State(SCHEME, state.blocks, 0, state.direction, made)

    def start_clear(self, blocks: Blocks, key: list[Any], direction: Direction = "encrypt") -> State:
        """Raises as `engine.AesServer.start_clear`."""
        good = as_blocks(blocks, self.slots)
        self._check_key(key)
        limbs = self.plan(as_direction(direction)).limbs(0)
        made = [self._added(k, good, j) for j, k in enumerate(ByteMachine(self.tools, limbs).at(k, 0) for k in key)]
        return State(SCHEME, len(good), 0, direction, made)

    def _added(self, c: Ciphertext, blocks: Blocks, j: int) -> Ciphertext:
        return self.evaluator.add_plain(c, self.column(blocks, j))

    def round(self, state: State, i: int, key: list[Any], progress: Progress | None = None) -> State:
        """Raises as `engine.AesServer.round`."""
        self.check_state(state)
        check_round(i, state.direction)
        if state.round != i - 1:
            raise MismatchError(f"round {i} comes after round {i - 1}; the state has had round {state.round}")
        self._check_key(key)
        plan = self.plan(state.direction)
        limbs = plan.limbs(i)
        self._check_level([*state.ciphertexts], limbs[0], f"the state before round {i}")
        self._check_level(key, limbs[-1], f"round key {i}")
        worst = max(c.noise.log_bound for c in state.ciphertexts)
        if worst > plan.noise(i - 1).log_bound + 1e-6:
            raise NoiseError(
                f"the state before round {i} has noise of {worst:.1f} bits, and {plan.noise(i - 1).log_bound:.1f} are "
                "planned: give the engine what it made itself"
            )
        if self.device.name == "cpu":
            made = self._alone(state, i, key, progress)
        else:
            made = self._on_device(state, i, key, progress)
        return State(SCHEME, state.blocks, i, state.direction, made)

    def _alone(self, state: State, i: int, key: list[Any], progress: Progress | None) -> list[Ciphertext]:
        """A round here, byte by byte."""
        circuit, limbs = round_circuit(i, state.direction), self.plan(state.direction).limbs(i)
        # Bytes are substituted one after another; then come sums only.
        each = next(n for n, s in enumerate(circuit.steps) if isinstance(s, Sum)) // BLOCK_BYTES
        told = -1

        def done(steps: int) -> None:
            nonlocal told
            count = min(steps // each, BLOCK_BYTES)
            if progress is not None and count != told:
                told = count
                progress(count, BLOCK_BYTES)

        done(0)
        return run(circuit, ByteMachine(self.tools, limbs), [*state.ciphertexts, *key], done)

    def _on_device(self, state: State, i: int, key: list[Any], progress: Progress | None) -> list[Ciphertext]:
        """The same with bytes substituted by the device, and the sums here."""
        cut, limbs = halves(i, state.direction), self.plan(state.direction).limbs(i)
        handle = self._handles.get((i, state.direction))
        if handle is None:
            kernel = BytesKernel(self.context, cut.byte, tuple(limbs[: cut.byte.stages + 1]), BLOCK_BYTES)
            handle = self.device.prepare(kernel, self.tools.keys, threads=self.threads)
            self._handles[i, state.direction] = handle
        stopped = list[BaseException]()

        def told(done: float) -> bool:
            try:
                if progress is not None:
                    progress(int(done * BLOCK_BYTES), BLOCK_BYTES)
            except BaseException as e:  # raised again, once the device has stopped
                stopped.append(e)
            return not stopped

        told(0.0)
        try:
            given = [state.ciphertexts[j] for j in cut.rows] if not stopped else []
            bytes_, _ = self.device.run(handle, given, threads=self.threads, progress=told)
        except Error:
            if stopped:
                raise stopped[0] from None
            raise
        if stopped:
            raise stopped[0]
        return run(cut.sums, ByteMachine(self.tools, limbs), [*map(self.device.download, bytes_), *key])

    def add_clear(self, state: State, blocks: Blocks) -> State:
        """Raises as `engine.AesServer.add_clear`."""
        self.check_state(state)
        good = as_blocks(blocks, self.slots)
        if len(good) != state.blocks:
            raise ShapeError(f"{len(good):,} blocks for a state of {state.blocks:,}")
        made = [self._added(c, good, j) for j, c in enumerate(state.ciphertexts)]
        return State(SCHEME, state.blocks, state.round, state.direction, made)

    def predicted_budget(self, state: State) -> float:
        """Bits of budget left by prediction, the least of all ciphertexts."""
        self.check_state(state)
        return min(self.evaluator.budget(c) for c in state.ciphertexts)

    # ---- computing on results ----

    def plan_circuit(self, circuit: Circuit, inputs: Sequence[Ciphertext]) -> Plan:
        """The plan of a circuit on these ciphertexts.

        Raises:
            ParameterError: they do not bear it. ShapeError: another number of inputs.
        """
        if len(inputs) != circuit.inputs or not inputs:
            raise ShapeError(f"{circuit.name} takes {circuit.inputs} inputs, not {len(inputs)}")
        limbs = min(c.limbs for c in inputs)
        noises = [self.context.rules.mod_switched(c.noise, c.limbs, limbs) for c in inputs]
        worst = max(noises, key=lambda n: n.log_bound)
        peaks = {c: self.multiplier(c).log_peak for c in circuit.constants}
        return make_plan(self.context.rules, self.sizes, [Segment(circuit)], peaks, [Value(worst, limbs)])

    def compute(self, circuit: Circuit, inputs: Sequence[Ciphertext]) -> list[Ciphertext]:
        """A circuit such as those of `byte_numbers`, slot by slot.

        Raises:
            ParameterError, ShapeError: as `plan_circuit`.
        """
        plan = self.plan_circuit(circuit, inputs)
        machine = ByteMachine(self.tools, plan.limbs[0])
        return run(circuit, machine, [machine.at(c, 0) for c in inputs])

    def _check_key(self, key: Sequence[Any]) -> None:
        if len(key) != BLOCK_BYTES:
            raise ShapeError(f"a round key is {BLOCK_BYTES} ciphertexts, not {len(key)}")

    @staticmethod
    def _check_level(ciphertexts: Sequence[Ciphertext], limbs: int, what: str) -> None:
        for c in ciphertexts:
            if c.limbs != limbs:
                raise MismatchError(
                    f"{what} has {c.limbs} primes, and the plan {limbs}: it is of another round or direction, or was "
                    "made for another number of levels left"
                )
