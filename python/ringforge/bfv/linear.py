# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Plain integer matrix x encrypted integer vector, exact modulo t: y = W x + b.

A `LinearPlan` is what both sides know: shape, parameters, rotations, counts. The client encodes and decodes by it; the
server has the `Linear` layer, whose numbers nobody else sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ringforge import devices
from ringforge._native import Algorithm, GaloisKeys, Packing, Plan, Span
from ringforge._native.bfv import Ciphertext, Context, IntegerMatvec, IntegerMatvecCost, Noise, Plaintext
from ringforge.bfv.encoding import Ints, decode, encode, integers
from ringforge.bfv.kernels import IntegerMatvecKernel, IntegerOperands
from ringforge.errors import MemoryLimitError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.shown import ShownTable


@dataclass(frozen=True)
class Candidate:
    """One way to apply a matrix, with what it costs."""

    plan: Plan
    span: str
    cost: IntegerMatvecCost
    #: Why it may not be used, or empty.
    refused: str = ""

    @property
    def memory(self) -> int:
        """Bytes: keys, encoded matrix and temporaries."""
        return int(self.cost.key_storage + self.cost.plaintext_storage + self.cost.working)


@dataclass(frozen=True)
class LinearPlan:
    """How a matrix of one shape is applied: known to both sides, made before anything is encrypted.

    Attributes:
        context: the parameters.
        rows, cols: shape of the matrix.
        limbs: of the inputs, and of the results.
        compact: diagonals are kept as coefficients, a limb made at each use: least memory, more time.
        candidates, chosen: what was compared, and taken.
    """

    context: Context
    rows: int
    cols: int
    limbs: int
    compact: bool
    candidates: tuple[Candidate, ...]
    chosen: Candidate

    @cached_property
    def kernel(self) -> IntegerMatvecKernel:
        """What a device is given."""
        return IntegerMatvecKernel(self.context, self.rows, self.chosen.plan, self.limbs, self.compact)

    @property
    def elements(self) -> list[int]:
        """Galois elements that need a key of `limbs` limbs: `Session.add_galois_keys` makes them."""
        return list(self.kernel.native().elements)

    @property
    def cost(self) -> IntegerMatvecCost:
        """Exact counts of operations, and bytes of keys and encoded matrix."""
        return self.chosen.cost

    def noise(self, fresh: Noise) -> Noise:
        """Predicted noise of results for inputs with this one."""
        return self.kernel.native().describe(fresh)

    def encode(self, vector: npt.ArrayLike) -> list[Plaintext]:
        """The vector (cols,) laid out in the slots of the inputs: one plaintext for each to encrypt.

        Raises:
            ShapeError, ringforge.ValueError: another length, or numbers that are no integers modulo t.
        """
        x = integers(vector, self.context.params.t, "the vector's entries")
        if x.shape != (self.cols,):
            raise ShapeError(f"the vector has shape {x.shape}, the plan is for ({self.cols},)")
        padded, packing = np.append(x, 0), self.chosen.plan.packing
        return [encode(self.context, np.tile(padded[packing.columns(b)], 2)) for b in range(len(packing.blocks))]

    def decode(self, plaintexts: Sequence[Plaintext], *, signed: bool = True) -> Ints:
        """The product (rows,) from the decrypted results; `signed` as for `bfv.decode`.

        Raises:
            ShapeError: another number of plaintexts.
        """
        packing = self.chosen.plan.packing
        if len(plaintexts) != packing.row_blocks:
            raise ShapeError(f"{len(plaintexts)} results, the plan gives {packing.row_blocks}")
        slots = np.array([decode(self.context, p, signed=signed).reshape(2, -1) for p in plaintexts])
        halves = slots[:, :, : packing.row_period].transpose(1, 0, 2).reshape(2, -1)
        return halves[:, : packing.rows].reshape(-1)[: self.rows]

    def explain(self, everything: bool = False) -> ShownTable:
        """The candidates as a table, the chosen one marked; the best of each packing unless `everything`."""
        table = ShownTable(title=f"{self.rows} x {self.cols} integer matrix at {self.limbs} limbs", show_lines=False)
        for name in ("", "plan", "packing"):
            table.add_column(name, no_wrap=True)
        for name in ("rot", "KS", "NTT", "pt·ct", "keys", "key MiB", "pt MiB", "weight"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", overflow="fold")
        for c in self.candidates if everything else self._best():
            ops = c.cost.ops
            table.add_row(
                "→" if c is self.chosen else "",
                f"bsgs {c.plan.baby}x{c.plan.giants}",
                c.span,
                str(ops.rotation),
                str(ops.key_switch),
                str(ops.ntt + ops.intt),
                str(ops.plain_mul),
                str(c.cost.keys),
                f"{c.cost.key_storage / 2**20:.1f}",
                f"{c.cost.plaintext_storage / 2**20:.1f}",
                f"{c.cost.weight / 1e6:.1f} M",
                "chosen" if c is self.chosen else c.refused,
            )
        return table

    def _best(self) -> list[Candidate]:
        """The chosen one, its neighbours, and the best of each packing."""
        near = {self.chosen.plan.baby // 2, self.chosen.plan.baby * 2}
        best = {self.chosen.span: self.chosen}
        for c in self.candidates:
            if c.cost.weight < best.setdefault(c.span, c).cost.weight and not c.refused:
                best[c.span] = c
        shown = [self.chosen, *best.values()]
        return [c for c in self.candidates if c in shown or (c.span == self.chosen.span and c.plan.baby in near)]


def plan_linear(
    context: Context,
    rows: int,
    cols: int,
    *,
    limbs: int | None = None,
    memory: int | None = None,
    compact: bool = False,
) -> LinearPlan:
    """Compares packings and numbers of baby steps by counted cost and takes the cheapest that fits.

    Args:
        rows, cols: shape of the matrix.
        limbs: of the inputs; all of Q by default.
        memory: bytes that keys, encoded matrix and temporaries may take together.
        compact: keep coefficients of the diagonals, and make limbs when they are used.

    Raises:
        ShapeError: an empty matrix. LevelError: limbs that Q has not. ParameterError: t without slots.
        MemoryLimitError: nothing fits; the message names the smallest.
    """
    if rows < 1 or cols < 1:
        raise ShapeError(f"a matrix of {rows} x {cols} has no entries")
    params = context.params
    limbs = len(params.q) if limbs is None else limbs
    half, slots = (rows + 1) // 2, params.degree // 2
    packings = [("compact", Packing(half, cols, slots, Span.compact))]
    spread = Packing(half, cols, slots, Span.spread)
    if spread.span != packings[0][1].span:
        packings.insert(0, ("spread", spread))
    candidates = []
    for span, packing in packings:
        baby = 1
        while baby <= packing.diagonals:
            plan = Plan(packing, Algorithm.bsgs, baby)
            c = Candidate(plan, span, IntegerMatvec(context, rows, plan, limbs).cost(compact))
            if memory is not None and c.memory > memory:
                c = Candidate(plan, span, c.cost, f"needs {c.memory / 2**20:.0f} MiB of {memory / 2**20:.0f}")
            candidates.append(c)
            baby *= 2
    usable = [c for c in candidates if not c.refused]
    if not usable:
        least = min(candidates, key=lambda c: c.memory)
        raise MemoryLimitError(
            f"no plan for the {rows} x {cols} matrix fits in {(memory or 0) / 2**20:.1f} MiB; the smallest needs "
            f"{-(-least.memory // 2**20)} MiB: raise the limit, use fewer limbs"
            + ("" if compact else ", or keep coefficients only (compact=True)")
        )
    chosen = min(usable, key=lambda c: c.cost.weight)
    return LinearPlan(context, rows, cols, limbs, compact, tuple(candidates), chosen)


class Linear:
    """The server's side of y = W x + b, exact modulo t.

    Args:
        weights: integers of shape (m, n), of any size that 64 bits hold; they are taken modulo t.
        bias: integers of shape (m,), or None for zero.

    Raises:
        ShapeError, ringforge.ValueError: wrong shapes, or entries that are no integers.
    """

    def __init__(self, weights: npt.ArrayLike, bias: npt.ArrayLike | None = None) -> None:
        w = integers(weights, 1 << 63, "weights")
        if w.ndim != 2 or 0 in w.shape:
            raise ShapeError(f"weights must be a matrix with rows and columns, not of shape {w.shape}")
        b = np.zeros(0, np.int64) if bias is None else integers(bias, 1 << 63, "the bias's entries")
        if bias is not None and b.shape != (w.shape[0],):
            raise ShapeError(f"the bias has shape {b.shape}, a matrix of shape {w.shape} needs ({w.shape[0]},)")
        self.weights: Ints = w
        self.bias: Ints = b

    @property
    def rows(self) -> int:
        return int(self.weights.shape[0])

    @property
    def cols(self) -> int:
        return int(self.weights.shape[1])

    def output_bound(self, input_bound: int) -> int:
        """Largest |y| over the integers for entries of x of size at most `input_bound`."""
        sums = [sum(abs(int(w)) for w in row) * input_bound for row in self.weights]
        return max(s + abs(int(b)) for s, b in zip(sums, self.bias if self.bias.size else [0] * self.rows, strict=True))

    def check_range(self, t: int, input_bound: int) -> None:
        """That results over the integers are results modulo t.

        Raises:
            ringforge.ValueError: some could reach t/2 and wrap around.
        """
        reach = self.output_bound(input_bound)
        if 2 * reach >= t:
            raise RingforgeValueError(
                f"results reach {reach} for inputs up to {input_bound}, and t = {t} holds {-(t // 2)} ... "
                f"{(t - 1) // 2}: take a set with t above {2 * reach}, or compute modulo two different t and put the "
                "residues together"
            )

    def __call__(self, x: npt.ArrayLike, t: int) -> Ints:
        """The product in the clear, in [-t/2, t/2)."""
        y = self.weights.astype(object) @ np.asarray(x).astype(object) + (
            self.bias.astype(object) if self.bias.size else 0
        )
        residues = np.asarray([int(v) % t for v in y], np.int64)
        return np.where(residues >= (t + 1) // 2, residues - t, residues)

    def plan(
        self, context: Context, *, limbs: int | None = None, memory: int | None = None, compact: bool = False
    ) -> LinearPlan:
        """`plan_linear` for this layer's shape."""
        return plan_linear(context, self.rows, self.cols, limbs=limbs, memory=memory, compact=compact)

    def prepare(
        self,
        plan: LinearPlan,
        keys: GaloisKeys,
        device: devices.Device | str = "cpu",
        threads: int = 1,
        progress: devices.Progress | None = None,
    ) -> PreparedLinear:
        """The layer encoded on a device, for any number of inputs.

        Raises:
            ShapeError: a plan for another shape. ParameterError: a device that does not run the kernel.
        """
        if (self.rows, self.cols) != (plan.rows, plan.cols):
            raise ShapeError(f"a plan of {plan.rows} x {plan.cols} for a matrix of {self.rows} x {self.cols}")
        opened = devices.open_device(device) if isinstance(device, str) else device
        operands = IntegerOperands(self.weights, self.bias)
        handle = opened.prepare(plan.kernel, devices.KeySet(keys), operands, threads=threads, progress=progress)
        return PreparedLinear(opened, handle)

    def __repr__(self) -> str:
        return f"Linear({self.rows} x {self.cols}{', bias' if self.bias.size else ''})"


@dataclass(frozen=True)
class PreparedLinear:
    """A layer that waits for inputs."""

    device: devices.Device
    handle: devices.Handle

    def run(self, inputs: Sequence[Ciphertext], threads: int = 1) -> tuple[list[Ciphertext], devices.Report]:
        """Encrypted results, one for each row block of the plan, and what the device did.

        Raises:
            MissingKeyError, LevelError, ShapeError, MismatchError: keys or inputs are not the plan's.
        """
        results, report = self.device.run(self.handle, list(inputs), threads=threads)
        return list(results), report
