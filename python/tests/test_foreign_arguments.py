# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What if an argument belongs to another context? One row for each function of the native module.

A row is a good call. The test exchanges each of its objects, the callee included, for the like of another world
(another ring, other primes, other digits, another secret key) and expects the error that stands here. A function that
takes an object and has no row fails the test, so a new binding brings its row.
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ringforge as rf
from ringforge import _native, devices, gates, matmul, matvec
from ringforge._native import Lines, Schedule
from ringforge.matvec.kernels import MatvecOperands
from tests.foreign_world import (
    LEVEL,
    SCALE,
    Bfv,
    Bgv,
    Blinds,
    Compressions,
    Gates,
    Lookups,
    Ltv,
    Polynomials,
    Signalling,
    Systems,
    World,
    parameters,
)

MISMATCH, SHAPE, FORMAT = rf.MismatchError, rf.ShapeError, rf.FormatError
NONE = np.zeros(0, np.uint32)
Errors = tuple[type[Exception], ...]

#: Types that belong to no context: numbers, names and enumerations by another name.
VALUES = {
    "Parameters",
    "OpCounts",
    "Lines",
    "Schedule",
    "Algorithm",
    "Span",
    "fhew.Cut",
    "fhew.Method",
    "psi.Counts",
    "psi_poly.Counts",
}
VALUES |= {"bfv.Parameters", "bfv.Noise", "bfv.NoiseRules", "Metadata", "MatvecSums", "GadgetShape", "Work", "TestSeed"}
VALUES |= {"ltv.Parameters", "ltv.Noise", "ltv.NoiseRules", "bgv.Parameters", "bgv.Noise", "bgv.NoiseRules"}


def functions(module: types.ModuleType, prefix: str = "") -> Iterator[tuple[str, list[str]]]:
    """Names and signatures of everything that can be called."""
    for name, value in vars(module).items():
        if name.startswith("__"):
            continue
        if isinstance(value, types.ModuleType):
            yield from functions(value, f"{prefix}{name}.")
        elif isinstance(value, type):
            for member, f in vars(value).items():
                f = getattr(value, member) if isinstance(f, staticmethod) else f
                signatures = getattr(f, "__nb_signature__", None)
                if signatures and member != "__new__":
                    yield f"{prefix}{name}.{member}", [s[0] for s in signatures]
        elif hasattr(value, "__nb_signature__"):
            yield prefix + name, [s[0] for s in value.__nb_signature__]


def objects(signature: str) -> list[str]:
    """The types of the native objects that a signature takes, the callee left out."""
    arguments = signature[signature.index("(") : signature.rindex(") ->")]
    found = re.findall(r"ringforge\._native\.([\w.]+)", arguments)
    return [t for t in found if t not in VALUES]


@dataclass(frozen=True)
class Row:
    """A good call of one overload.

    Attributes:
        name: as in the native module.
        args: "@x" is the world's object x, which is exchanged, "#x" one that is not, "[@x]" a list of one; anything
            else is taken as it is.
        on: the callee, for methods.
        error: what an exchanged object is answered with; by its place in `args` where they differ, -1 the callee's.
            None: nothing can tell, or nothing needs to.
        kinds: of other worlds that it is tried with.
    """

    name: str
    args: tuple[Any, ...]
    on: str = ""
    error: Errors | dict[int, Errors | None] = (MISMATCH,)
    kinds: tuple[str, ...] = ("smaller", "larger", "primes")

    def places(self) -> list[int]:
        return [-1] * bool(self.on) + [i for i, a in enumerate(self.args) if isinstance(a, str) and "@" in a]

    def named(self, place: int) -> str:
        return str(self.on if place == -1 else self.args[place]).strip("[@]")

    def call(self, here: Any, place: int | None = None, other: Any = None) -> Any:
        """With `other` in one place."""

        def get(i: int, text: Any) -> Any:
            if not isinstance(text, str) or text[:1] not in "@#[":
                return text
            found = other if i == place else getattr(here, text.strip("[@#]"))
            return [found] if text.startswith("[") else found

        args = [get(i, a) for i, a in enumerate(self.args)]
        *path, name = self.name.split(".")
        if self.on:
            return getattr(get(-1, self.on), name)(*args)
        owner: Any = _native
        for part in [*path, *([] if name == "__init__" else [name])]:
            owner = getattr(owner, part)
        return owner(*args)

    def expected(self, place: int) -> Errors | None:
        return self.error.get(place, (MISMATCH,)) if isinstance(self.error, dict) else self.error


def ev(name: str, *args: Any, **more: Any) -> Row:
    return Row(f"Evaluator.{name}", args, "@evaluator", **more)


def bfv_ev(name: str, *args: Any, **more: Any) -> Row:
    return Row(f"bfv.Evaluator.{name}", args, "@evaluator", **more)


#: A larger ring's automorphisms have other elements.
MISSING = (MISMATCH, rf.MissingKeyError)
RINGS = ("smaller", "larger")
RECORDS = ("plaintext", "ciphertext", "secret_key", "public_key", "relin", "galois_key")
ANY_WRITER: dict[int, Errors | None] = {-1: None}

CKKS = [
    Row("Context.decode", ("@plaintext",), "@context"),
    Row("Client.public_key", ("@secret_key",), "@client"),
    Row("Client.relin_key", ("@secret_key",), "@client"),
    Row("Client.galois_key", ("@secret_key", 5), "@client"),
    Row("Client.encrypt", ("@plaintext", "@secret_key"), "@client"),
    Row("Client.encrypt", ("@plaintext", "@public_key"), "@client"),
    Row("Client.decrypt", ("@ciphertext", "@secret_key"), "@client"),
    Row("Client.decrypt_to_share", ("@ciphertext", "@secret_key", 10.0), "@client"),
    ev("add", "@ciphertext", "@ciphertext"),
    ev("sub", "@ciphertext", "@ciphertext"),
    ev("negate", "@ciphertext"),
    ev("add_plain", "@ciphertext", "@plaintext"),
    ev("sub_plain", "@ciphertext", "@plaintext"),
    ev("add_scalar", "@ciphertext", 1.0),
    ev("mul_plain", "@ciphertext", "@plaintext"),
    ev("mul_scalar", "@ciphertext", 1.0),
    ev("mul", "@ciphertext", "@ciphertext"),
    ev("relinearize", "@three", "@relin"),
    ev("rescale", "@three"),
    ev("drop_to_level", "@ciphertext", 1),
    ev("read_as", "@ciphertext", SCALE, 1.0),
    ev("rotate", "@ciphertext", 1, "@keys"),
    ev("replicate", "@ciphertext", [1], "@keys"),
    ev("double_real", "@ciphertext", "@keys", error={-1: MISSING, 1: MISSING}),
    ev("conjugate", "@ciphertext", "@keys", error={-1: MISSING, 1: MISSING}),
    ev("rotate_hoisted", "@ciphertext", [1], "@keys"),
    Row("Hlt.__init__", ("@context", "@map", 3, Schedule.mo, NONE), error=(SHAPE,), kinds=RINGS),
    Row("Hlt.run", ("@ciphertext", "@keys"), "@hlt"),
    Row("Hlt.check_input", ("@ciphertext",), "@hlt"),
    Row("Hlt.assemble", ("@ciphertext", "#hlt_parts"), "@hlt"),
    Row("Matvec.__init__", ("@context", "@plan", LEVEL), error=(SHAPE,), kinds=RINGS),
    Row("Matvec.run", ("[@ciphertext]", "@keys"), "@matvec"),
    Row("Matvec.check_inputs", ("[@ciphertext]",), "@matvec"),
    Row("Matvec.assemble", ("[@ciphertext]", "#parts"), "@matvec"),
    # A plan for fewer slots is one for several vectors at once.
    Row("Matvec.cost", ("@context", "@plan", LEVEL), error={0: None, 1: (SHAPE,)}, kinds=("larger",)),
    Row("PairSum.__init__", ("@context", "@pair_plan", LEVEL), error=None, kinds=()),
    Row("PairSum.run", ("[@ciphertext]", "[@ciphertext]", "@keys", "@relin"), "@pairs", error={2: MISSING}),
    Row("PairSum.check_inputs", ("[@ciphertext]", "[@ciphertext]"), "@pairs"),
    Row("PairSum.assemble", ("[@ciphertext]", "[@ciphertext]", "#pair_parts"), "@pairs"),
    Row("assemble_product", ("@context", "@ciphertext", "@ciphertext", "#product_parts")),
    Row("BatchMatmul.encrypt", ("@client", "@secret_key", "#matrices", Lines.rows, SCALE, LEVEL), "@batches"),
    Row("BatchMatmul.encrypt", ("@client", "@public_key", "#matrices", Lines.rows, SCALE, LEVEL), "@batches"),
    Row("BatchMatmul.decrypt", ("@client", "@secret_key", "@batch"), "@batches"),
    Row("BatchMatmul.decode", ("#lines", Lines.rows), "@batches"),
    Row("BatchMatmul.multiply", ("@batch", "@batch", "@keys", "@relin"), "@batches", error={2: MISSING}),
    Row("BatchMatmul.convert", ("@batch", Lines.rows, "@keys"), "@batches", error={2: MISSING}),
    Row("BatchMatmul.drop_to_level", ("@batch", 1), "@batches"),
    Row("BatchMatmul.error_bound", ("@batch",), "@batches"),
    *[Row("io.to_bytes", ("@context", f"@{x}")) for x in RECORDS],
    *[Row("io.Writer.write", ("@context", f"@{x}"), "@writer", error=ANY_WRITER) for x in RECORDS],
    *[Row(f"io.{x.replace('relin', 'relin_key')}_from_bytes", (f"@record_{x}", "@context")) for x in RECORDS],
    Row("io.Reader.next_ciphertext", ("@context",), "@reader_ciphertext"),
    Row("io.Reader.next_galois_key", ("@context",), "@reader_galois_key"),
    Row("io.Reader.next_relin_key", ("@context",), "@reader_relin"),
    Row("io.Reader.public_key", ("@context",), "@reader_public_key"),
    Row("io.Reader.secret_key", ("@context",), "@reader_secret_key"),
    *[Row("frozen.check", ("@context", f"@{x}")) for x in ("ciphertext", "relin", "keys")],
]

#: A plaintext knows N and t, not the primes.
OF_PLAIN: dict[int, Errors | None] = {0: None, -1: (MISMATCH, SHAPE)}
OF_CIPHER: dict[int, Errors | None] = {1: None, -1: (MISMATCH, SHAPE), 0: (MISMATCH, SHAPE)}
WRITER_OF_PLAIN: dict[int, Errors | None] = {-1: None, 0: (MISMATCH, SHAPE), 1: (MISMATCH, SHAPE)}
BFV = [
    Row("bfv.Context.decode", ("@plaintext",), "@context", error=(MISMATCH, SHAPE), kinds=RINGS),
    Row("bfv.Context.multiplier", ("@plaintext",), "@context", error=(MISMATCH, SHAPE), kinds=RINGS),
    Row("bfv.Client.public_key", ("@secret_key",), "@client"),
    Row("bfv.Client.relin_key", ("@secret_key",), "@client"),
    Row("bfv.Client.galois_key", ("@secret_key", 5), "@client"),
    Row("bfv.Client.encrypt", ("@plaintext", "@secret_key"), "@client", error=OF_PLAIN),
    Row("bfv.Client.encrypt", ("@plaintext", "@public_key"), "@client", error=OF_PLAIN),
    Row("bfv.Client.encrypt", ("@plaintext", "#secret_key"), "@client", error=(MISMATCH, SHAPE), kinds=RINGS),
    Row("bfv.Client.decrypt", ("@ciphertext", "@secret_key"), "@client"),
    Row("bfv.Client.decrypt_to_share", ("@ciphertext", "@secret_key", 10.0), "@client"),
    Row("bfv.Client.measure", ("@ciphertext", "@secret_key"), "@client"),
    Row("bfv.Client.noise_budget", ("@ciphertext", "@secret_key"), "@client"),
    bfv_ev("budget", "@ciphertext"),
    bfv_ev("add", "@ciphertext", "@ciphertext"),
    bfv_ev("sub", "@ciphertext", "@ciphertext"),
    bfv_ev("negate", "@ciphertext"),
    bfv_ev("add_plain", "@ciphertext", "@plaintext", error=OF_CIPHER),
    bfv_ev("add_plain", "#ciphertext", "@plaintext", error=(MISMATCH, SHAPE), kinds=RINGS),
    bfv_ev("sub_plain", "@ciphertext", "@plaintext", error=OF_CIPHER),
    bfv_ev("sub_plain", "#ciphertext", "@plaintext", error=(MISMATCH, SHAPE), kinds=RINGS),
    bfv_ev("add_constant", "@ciphertext", 1),
    bfv_ev("mul_plain", "@ciphertext", "@plaintext", error=OF_CIPHER),
    bfv_ev("mul_plain", "#ciphertext", "@plaintext", error=(MISMATCH, SHAPE), kinds=RINGS),
    bfv_ev("mul_plain", "@ciphertext", "@multiplier"),
    bfv_ev("mul_constant", "@ciphertext", 3),
    bfv_ev("combine", "[@ciphertext]", [2]),
    bfv_ev("mul", "@ciphertext", "@ciphertext"),
    bfv_ev("square", "@ciphertext"),
    bfv_ev("relinearize", "@three", "@relin"),
    bfv_ev("rotate_rows", "@ciphertext", 1, "@keys"),
    bfv_ev("swap_rows", "@ciphertext", "@keys", error={-1: MISSING, 1: MISSING}),
    bfv_ev("apply_galois", "@ciphertext", 5, "@keys"),
    bfv_ev("rotate_hoisted", "@ciphertext", [1], "@keys"),
    bfv_ev("mod_switch_to", "@three", 2),
    Row("bfv.IntegerMatvec.__init__", ("@context", 4, "@plan", LEVEL + 1), error=(SHAPE,), kinds=RINGS),
    Row("bfv.IntegerMatvec.run", ("[@ciphertext]", "@keys"), "@matvec"),
    Row("bfv.IntegerMatvec.check_inputs", ("[@ciphertext]",), "@matvec"),
    Row("bfv.IntegerMatvec.assemble", ("[@ciphertext]", "#limbs"), "@matvec", error=(MISMATCH, SHAPE), kinds=RINGS),
    Row("bfv.Context.check_key", ("@keys", 5, LEVEL + 1), "@context"),
    Row("io.to_bytes", ("@context", "@plaintext"), error=(MISMATCH, SHAPE), kinds=RINGS),
    *[Row("io.to_bytes", ("@context", f"@{x}")) for x in RECORDS[1:]],
    Row("io.Writer.write", ("@context", "@plaintext"), "@writer", error=WRITER_OF_PLAIN, kinds=RINGS),
    *[Row("io.Writer.write", ("@context", f"@{x}"), "@writer", error=ANY_WRITER) for x in RECORDS[1:]],
    *[Row(f"io.{x.replace('relin', 'relin_key')}_from_bytes", (f"@record_{x}", "@context")) for x in RECORDS],
    Row("io.Reader.next_ciphertext", ("@context",), "@reader_ciphertext"),
    Row("io.Reader.next_galois_key", ("@context",), "@reader_galois_key"),
    Row("io.Reader.next_relin_key", ("@context",), "@reader_relin"),
    Row("io.Reader.public_key", ("@context",), "@reader_public_key"),
    Row("io.Reader.secret_key", ("@context",), "@reader_secret_key"),
    *[Row("frozen.check", ("@context", f"@{x}")) for x in ("ciphertext", "relin", "keys")],
]


def bgv_ev(name: str, *args: Any, **more: Any) -> Row:
    return Row(f"bgv.Evaluator.{name}", args, "@evaluator", **more)


BGV = [
    Row("bgv.Client.public_key", ("@secret_key",), "@client"),
    Row("bgv.Client.relin_key", ("@secret_key",), "@client"),
    Row("bgv.Client.galois_key", ("@secret_key", 2), "@client"),
    Row("bgv.Client.encrypt", ("#bits", "@secret_key"), "@client"),
    Row("bgv.Client.encrypt", ("#bits", "@public_key"), "@client"),
    Row("bgv.Client.decrypt", ("@ciphertext", "@secret_key"), "@client"),
    Row("bgv.Client.decrypt_to_share", ("@ciphertext", "@secret_key", 10.0), "@client"),
    Row("bgv.Client.measure", ("@ciphertext", "@secret_key"), "@client"),
    Row("bgv.Client.noise_budget", ("@ciphertext", "@secret_key"), "@client"),
    bgv_ev("budget", "@ciphertext"),
    bgv_ev("add", "@ciphertext", "@ciphertext"),
    bgv_ev("add_plain", "@ciphertext", "@multiplier"),
    bgv_ev("add_plain", "@ciphertext", "#bits"),
    bgv_ev("add_one", "@ciphertext"),
    bgv_ev("mul_plain", "@ciphertext", "@multiplier"),
    bgv_ev("mul_plain", "@ciphertext", "#bits"),
    bgv_ev("mul", "@ciphertext", "@ciphertext"),
    bgv_ev("square", "@ciphertext"),
    bgv_ev("relinearize", "@three", "@relin"),
    bgv_ev("multiply", "@ciphertext", "@ciphertext", "@relin"),
    bgv_ev("apply_galois", "@ciphertext", 2, "@keys"),
    bgv_ev("apply_hoisted", "@ciphertext", [2], "@keys"),
    bgv_ev("frobenius_sums", "@ciphertext", "@sums", "@keys"),
    bgv_ev("mod_switch_to", "@three", 2),
    bgv_ev("drop_to", "@three", 2),
    *[Row("io.to_bytes", ("@context", f"@{x}")) for x in RECORDS[1:]],
    *[Row("io.Writer.write", ("@context", f"@{x}"), "@writer", error=ANY_WRITER) for x in RECORDS[1:]],
    *[Row(f"io.{x.replace('relin', 'relin_key')}_from_bytes", (f"@record_{x}", "@context")) for x in RECORDS[1:]],
    Row("io.Reader.next_ciphertext", ("@context",), "@reader_ciphertext"),
    Row("io.Reader.next_galois_key", ("@context",), "@reader_galois_key"),
    Row("io.Reader.next_relin_key", ("@context",), "@reader_relin"),
    Row("io.Reader.public_key", ("@context",), "@reader_public_key"),
    Row("io.Reader.secret_key", ("@context",), "@reader_secret_key"),
    *[Row("frozen.check", ("@context", f"@{x}")) for x in ("ciphertext", "relin", "keys")],
]
#: Which objects know their t.
OF_T = {"plaintext", "ciphertext", "three", "multiplier", "context", "client", "evaluator", "matvec"}
OF_T |= {"record_plaintext", "record_ciphertext"}

#: Which objects a world of other digits, or of another secret key, must be told by, and where.
OF_DIGITS = {"keys", "relin", "galois_key", "record_relin", "record_galois_key"}
OF_KEY = {"keys", "relin"}
BY_KEY = {"Client.decrypt": 1, "Client.decrypt_to_share": 1, "Evaluator.add": 1, "Evaluator.sub": 1, "Evaluator.mul": 1}
BY_KEY |= {f"bfv.{name}": 1 for name in (*BY_KEY, "Client.measure", "Client.noise_budget")}
BY_KEY |= {f"bgv.{name}": 1 for name in (*BY_KEY, "Client.measure", "Client.noise_budget") if name != "Evaluator.sub"}
BY_KEY |= {"BatchMatmul.decrypt": 1, "BatchMatmul.multiply": 1, "PairSum.run": 1}

GATES = [
    Row("fhew.SecretKey.decrypt", ("@bits",), "@secret", error=(SHAPE,)),
    Row("fhew.SecretKey.errors", ("@bits", "#one"), "@secret", error=(SHAPE,)),
    Row("fhew.SecretKey.load", ("@params", "@saved"), error=(MISMATCH, FORMAT)),
    Row("fhew.evaluate", ("@key", "#kinds", "#inputs", "@wires", "#outputs"), error=(SHAPE,)),
    Row("fhew.trace", ("@key", "@secret", 2, "@bits"), error={0: (SHAPE,), 1: (MISMATCH,), 3: (SHAPE,)}),
    Row("fhew.RingSecret.phase", ("@rlwe",), "@ring_secret", error=(SHAPE,)),
    Row("fhew.RingSecret.encrypt", ("@messages",), "@ring_secret", error=(SHAPE,)),
    Row("fhew.SubstitutionKey.substitute", ("@rlwe",), "@substitution", error=(SHAPE,)),
]
LOOKUPS = [
    Row("psi.SessionKeys.__init__", ("@plan", "@keys")),
    Row("psi.Table.__init__", ("@plan", "@offsets", "#no_cells"), error=(SHAPE,)),
    Row("psi.evaluate", ("@session", "@request", "@table"), error={1: (MISMATCH, FORMAT)}),
    Row("psi.cut_request", ("@plan", "@request"), error=(MISMATCH, FORMAT)),
    Row(
        "psi.evaluate_part",
        ("@session", "@row", "@part_offsets", "#no_cells", None, 0, 0, 0),
        error={0: (SHAPE,), 1: None, 2: (SHAPE,)},
    ),
    Row("psi.open_request", ("@plan", "@request"), error=(MISMATCH, FORMAT)),
    Row("psi.ClientKey.query", ("@cells",), "@client", error=(SHAPE,)),
    Row("psi.ClientKey.decode", ("@reply",), "@client", error=(MISMATCH, FORMAT)),
    Row("psi.ClientKey.margins", ("@reply",), "@client", error=(MISMATCH, FORMAT)),
]
_MEMBERS = ("#counts", "#roots", "#labels")
POLYNOMIALS = [
    Row("psi_poly.SessionKeys.__init__", ("@plan", "@keys"), error=(MISMATCH, FORMAT)),
    Row("psi_poly.Table.__init__", ("@plan", "@counts", "@plain"), error=(SHAPE,)),
    Row("psi_poly.evaluate", ("@session", "@request", "@table"), error=(MISMATCH, FORMAT)),
    Row("psi_poly.cut_request", ("@session", "@request"), error=(MISMATCH, FORMAT)),
    Row("psi_poly.evaluate_part", ("@session", "@column", "#part_counts", "#part_plain", 2), error={0: None, 1: None}),
    Row("psi_poly.seal_reply", ("@session", "@values"), error=(SHAPE, FORMAT)),
    Row("psi_poly.ClientKey.query", ("@felts",), "@client", error=(SHAPE,)),
    Row("psi_poly.ClientKey.decode", ("@reply",), "@client", error=(MISMATCH, FORMAT)),
    Row("psi_poly.ClientKey.margin", ("@reply",), "@client", error=(MISMATCH, FORMAT)),
    Row("psi_poly.insert", ("@plan", *_MEMBERS, "#bins", "#residues", "#words", "#touched"), error=(SHAPE,)),
    Row("psi_poly.remove", ("@plan", *_MEMBERS, "#bins", "#residues", "#touched"), error=(SHAPE,)),
    Row("psi_poly.interpolate", ("@plan", *_MEMBERS, "@touched", "@plain"), error=(SHAPE,)),
]
ANSWER = ("@keys", "[@part]", 0)
COMPRESSIONS = [
    Row("omr.CompressionSecret.from_bytes", ("@secret_record", "@context")),
    Row("omr.CompressionKeys.__init__", ("@bfv", "@secret")),
    Row("omr.CompressionKeys.from_bytes", ("@keys_record", "@context")),
    Row("omr.CompressionPlan.part", ("@keys", "@u", "@words", 0, 1), "@plan", error={-1: (SHAPE,), 2: (SHAPE,)}),
    Row("omr.CompressionPlan.digest", ANSWER, "@plan"),
    Row("omr.CompressionPlan.open", ("@digest", "@secret"), "@plan", error=(MISMATCH, FORMAT)),
    Row("omr.CompressionPlan.margin", ("@digest", "@secret"), "@plan", error=(MISMATCH, FORMAT)),
]
BLINDS = [Row("oprf.finalize_batch", ("@inputs", "@blinds", "@evaluated"), error=(SHAPE,))]
LTV_RECORDS = ("ciphertext", "secret_key", "public_key", "eval_key")
LTV = [
    Row("ltv.Client.eval_key", ("@secret_key", "@public_key", 1), "@client"),
    Row("ltv.Client.encrypt", ("#bits", "@public_key"), "@client"),
    Row("ltv.Client.decrypt", ("@ciphertext", "@secret_key"), "@client"),
    Row("ltv.Client.measure", ("@ciphertext", "@secret_key"), "@client"),
    Row("ltv.Client.noise_budget", ("@ciphertext", "@secret_key"), "@client"),
    Row("ltv.Evaluator.budget", ("@ciphertext",), "@evaluator"),
    Row("ltv.Evaluator.add", ("@ciphertext", "@ciphertext"), "@evaluator"),
    Row("ltv.Evaluator.add_plain", ("@ciphertext", "#bits"), "@evaluator"),
    Row("ltv.Evaluator.mul_plain", ("@ciphertext", "#bits"), "@evaluator"),
    Row("ltv.Evaluator.mul", ("@ciphertext", "@ciphertext"), "@evaluator"),
    Row("ltv.Evaluator.relinearize", ("@product", "@eval_key"), "@evaluator"),
    Row("ltv.Evaluator.mod_switch", ("@relinearized",), "@evaluator"),
    Row("ltv.BatchEvaluator.sums", ("[@ciphertext]", [[0]]), "@batch"),
    Row("ltv.BatchEvaluator.products", ("[@ciphertext]", [[0]], [[(0, 0)]]), "@batch"),
    Row("ltv.BatchEvaluator.mod_switch", ("[@relinearized]",), "@batch"),
    Row("ltv.BatchEvaluator.carry", ("[@ciphertext]", 1), "@batch"),
    Row("ltv.BatchEvaluator.operands", ("[@ciphertext]", [[0]], [[(0, 0)]]), "@batch"),
    Row("ltv.BatchEvaluator.assemble", ("[@ciphertext]", [[0]], [[(0, 0)]], [], "#products"), "@batch"),
    Row("ltv.KeyParts.__init__", ("@context", "@eval_key")),
    Row("ltv.KeyParts.digits", ("@product",), "@parts"),
    Row("ltv.KeyParts.assemble", ("@product", "#sums"), "@parts"),
    Row("ltv.digits", ("@context", "@product")),
    Row("ltv.Relinearizer.load", ("@eval_key",), "@relinearizer"),
    Row("ltv.Relinearizer.relinearize", ("[@product]",), "@loaded"),
    Row("io.Reader.eval_key_into", ("@relinearizer",), "@reader_eval_key"),
    Row("io.eval_key_into", ("#key_record", "@relinearizer")),
    *[Row("io.to_bytes", ("@context", f"@{x}")) for x in LTV_RECORDS],
    *[Row("io.Writer.write", ("@context", f"@{x}"), "@writer", error=ANY_WRITER) for x in LTV_RECORDS],
    Row("io.ciphertext_from_bytes", ("@record_ciphertext", "@context")),
    Row("io.Reader.next_ciphertext", ("@context",), "@reader_ciphertext"),
    Row("io.Reader.eval_key", ("@context",), "@reader_eval_key"),
    Row("io.Reader.public_key", ("@context",), "@reader_public_key"),
    Row("io.Reader.secret_key", ("@context",), "@reader_secret_key"),
]
SIGNALS = [
    Row("omr.SignalKey.__init__", ("@parameters", bytes(32), "@words"), error=(SHAPE,)),
    Row("omr.SignalSecret.errors", ("@a", "@b"), "@secret", error=(SHAPE,)),
    Row("omr.pack_signals", ("@parameters", "@a", "@b"), error=(SHAPE,)),
    Row("omr.unpack_signals", ("@parameters", "@packed"), error=(FORMAT,)),
    Row("omr.count_hits", ("@parameters", "@a", "@b", 49, 1), error=(SHAPE,)),
]

#: Functions that take an object of any world, and why that is right.
ANY = {
    "Context.__init__": "made from values",
    "Client.__init__": "of whatever context it is given",
    "Evaluator.__init__": "of whatever context it is given",
    "MetadataRules.__init__": "of whatever context it is given",
    "Matvec.sums": "a plan is arithmetic of slots, without a context; shapes are checked",
    "Matvec.describe": "numbers for any plan; the level is checked",
    "BatchMatmul.__init__": "of whatever context it is given",
    "MatrixBatch.__init__": "a list of ciphertexts, checked where it is used",
    "GaloisKeys.insert": "a list of keys, each checked where it is used",
    "Plan.__init__": "a packing is arithmetic of slots, without a context",
    "plan_matrix_product": "of whatever context it is given",
    "bfv.Context.__init__": "made from values",
    "bfv.Client.__init__": "of whatever context it is given",
    "bfv.Evaluator.__init__": "of whatever context it is given",
    "bfv.NoiseRules.__init__": "made from values",
    "bgv.Context.__init__": "made from values",
    "bgv.Client.__init__": "of whatever context it is given",
    "bgv.Evaluator.__init__": "of whatever context it is given",
    "bgv.NoiseRules.__init__": "made from values",
    "ltv.Context.__init__": "made from values",
    "ltv.Client.__init__": "of whatever context it is given",
    "ltv.Evaluator.__init__": "of whatever context it is given",
    "ltv.BatchEvaluator.__init__": "of whatever context it is given",
    "ltv.Relinearizer.__init__": "of whatever context it is given",
    "ltv.NoiseRules.__init__": "made from values",
    "ltv.ciphertext": "made from values; scale/test_ltv.py",
    "fhew.SecretKey.__init__": "of whatever parameters it is given",
    "fhew.EvaluationKey.make": "of whatever secret it is given",
    "fhew.SubstitutionKey.make": "of whatever secret it is given",
    "fhew.accumulate": "words carry no name: type, shape, range and indices are checked",
    "fhew.extract": "words carry no name: type, shape and range are checked",
    "fhew.rgsw_rows": "indices carry no name: their range is checked",
    "psi.ClientKey.__init__": "of whatever plan it is given",
    "psi_poly.ClientKey.__init__": "of whatever plan it is given",
    "psi.join_parts": "words carry no name: shape and range are checked",
    "psi.seal_reply": "the same",
    "psi.part_results": "a formula; the depth is checked",
    "omr.Affine.__init__": "worlds of its own: test_what_does_not_fit_is_refused of omr/test_affine.py",
    "omr.Affine.babies": "the same",
    "omr.Affine.run": "the same",
    "omr.Affine.combine": "the same",
    "omr.Affine.check_babies": "worlds of its own: test_checks_refuse_what_runs_would of omr/test_affine.py",
    "omr.Affine.check_run": "the same",
    "omr.Affine.assemble_babies": "the same",
    "omr.Affine.assemble": "the same",
    "omr.Affine.assemble_of": "the suite of devices in omr/test_shards.py",
    "omr.Affine.check_giants": "the same",
    "omr.Affine.key_of": "the same",
    "omr.Affine.horner": "the same",
    "omr.SignalSecret.__init__": "of whatever parameters it is given",
    "omr.SignalSecret.from_bytes": "any 32 bytes are a secret for any parameters",
    "omr.CompressionSecret.__init__": "of whatever context it is given",
    "omr.CompressionKeys.saved_bytes": "a formula for any context",
    "omr.CompressionPlan.__init__": "of whatever context it is given",
    **{f"frozen.{name}": "says what any object is made of" for name in ("key", "ciphertext", "babies", "gate_key")},
    "oprf.blind_with": "any blind is right for any input",
    "oprf.finalize": "elements are uniform whatever the blind: a foreign one gives another output, and nothing tells",
}


def test_every_function_that_takes_an_object_has_a_row() -> None:
    rows = [r.name for r in (*CKKS, *BFV, *BGV, *GATES, *LOOKUPS, *POLYNOMIALS, *COMPRESSIONS, *BLINDS, *SIGNALS, *LTV)]
    known = dict(functions(_native))
    assert set(rows) | set(ANY) <= set(known), "rows of functions that are gone"
    for name, signatures in known.items():
        wanted = sum(bool(objects(s)) for s in signatures)
        if wanted and name not in ANY:
            assert rows.count(name) >= wanted, f"{name} takes an object: give it a row for each of {signatures}"


WORLDS: dict[str, dict[str, int]] = {
    "here": {},
    "smaller": {"log_n": 10},
    "larger": {"log_n": 12},
    "primes": {"bits": 44},
    "digits": {"limbs_per_digit": 3},
    "key": {"seed": 8},
}


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, World]:
    return {name: World(tmp_path_factory.mktemp(name), **options) for name, options in WORLDS.items()}


@pytest.fixture(scope="module")
def bytes_of_aes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Bgv]:
    rings = {"smaller": {"m": 255}, "larger": {"m": 65_535}}
    return {name: Bgv(tmp_path_factory.mktemp(name), **(rings.get(name, options))) for name, options in WORLDS.items()}


@pytest.fixture(scope="module")
def integers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Bfv]:
    worlds = {**WORLDS, "t": {"t": 65537}}
    return {name: Bfv(tmp_path_factory.mktemp(name), **options) for name, options in worlds.items()}


def check(row: Row, here: Any, there: Any, places: list[int]) -> None:
    for place in places:
        errors, name = row.expected(place), row.named(place)
        if errors is None:
            continue
        with pytest.raises(errors):
            row.call(here, place, getattr(there, name))


def ids(rows: list[Row]) -> list[str]:
    return [f"{r.name}-{i}" for i, r in enumerate(rows)]


def refuse_other_worlds(row: Row, worlds: Any) -> None:
    here = worlds["here"]
    row.call(here)
    for kind in row.kinds:
        check(row, here, worlds[kind], row.places())
    check(row, here, worlds["digits"], [i for i in row.places() if row.named(i) in OF_DIGITS])
    # Files, and a key's own check, know no secret to hold a key against.
    keyless = row.name.startswith("io.") or row.name in ("bfv.Context.check_key", "frozen.check")
    of_key = [i for i in row.places() if row.named(i) in OF_KEY and not keyless]
    check(row, here, worlds["key"], of_key + ([BY_KEY[row.name]] if row.name in BY_KEY else []))


@pytest.mark.parametrize("row", CKKS, ids=ids(CKKS))
def test_objects_of_other_worlds_are_refused(row: Row, worlds: dict[str, World]) -> None:
    refuse_other_worlds(row, worlds)


@pytest.mark.parametrize("row", BFV, ids=ids(BFV))
def test_objects_of_other_worlds_are_refused_by_bfv(row: Row, integers: dict[str, Bfv]) -> None:
    """As above; and a plaintext is N numbers modulo t, whatever the primes, and keys serve every t."""
    refuse_other_worlds(row, integers)
    knowing = [i for i in row.places() if row.named(i) in OF_T]
    if len(knowing) > 1 and not row.name.endswith("Writer.write"):
        check(row, integers["here"], integers["t"], knowing)


@pytest.mark.parametrize("row", BGV, ids=ids(BGV))
def test_objects_of_other_worlds_are_refused_by_bgv(row: Row, bytes_of_aes: dict[str, Bgv]) -> None:
    refuse_other_worlds(row, bytes_of_aes)


@pytest.mark.filterwarnings("ignore:nanobind")
@pytest.mark.parametrize("row", BGV, ids=ids(BGV))
def test_nothing_is_refused_by_bgv(row: Row, bytes_of_aes: dict[str, Bgv]) -> None:
    refuse_nothing(row, bytes_of_aes["here"])


@pytest.mark.filterwarnings("ignore:nanobind")
@pytest.mark.parametrize("row", CKKS, ids=ids(CKKS))
def test_nothing_is_refused(row: Row, worlds: dict[str, World]) -> None:
    refuse_nothing(row, worlds["here"])


@pytest.mark.filterwarnings("ignore:nanobind")
@pytest.mark.parametrize("row", BFV, ids=ids(BFV))
def test_nothing_is_refused_by_bfv(row: Row, integers: dict[str, Bfv]) -> None:
    refuse_nothing(row, integers["here"])


def refuse_nothing(row: Row, here: Any) -> None:
    """None, and an object whose constructor never ran."""
    for place in row.places():
        cls = type(getattr(here, row.named(place)))
        if place != -1 and cls is not bytes:
            for other in (None, cls.__new__(cls)):
                with pytest.raises((TypeError, SHAPE)):
                    row.call(here, place, other)


def test_predictions_refuse_what_does_not_exist(worlds: dict[str, World]) -> None:
    """Numbers for levels beyond the parameters, and for operands that are not there."""
    w = worlds["here"]
    rules, known = _native.MetadataRules(w.context), w.ciphertext
    sums = _native.Matvec.sums(w.plan, np.full((4, 4), 0.25), np.zeros(0), 1.0)
    for limbs in (0, LEVEL + 2, 1 << 40):
        for call in (rules.switched, rules.rescaled, rules.squared, rules.doubled_real):
            with pytest.raises(rf.LevelError):
                call(known, limbs)
        with pytest.raises(rf.LevelError):
            rules.replicated(known, limbs, 1)
        with pytest.raises(rf.LevelError):
            _native.Matvec.describe(w.context, w.plan, limbs and limbs - 1, SCALE, SCALE, 1.0, True, sums, known)
    with pytest.raises(rf.LevelError):
        rules.rescaled(known, 1)
    for bases in ([], [None]):
        with pytest.raises((TypeError, SHAPE)):
            w.pairs.describe(bases, [known], SCALE, SCALE, SCALE, 1.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("small")
    return {
        "gates": (Gates("paper-medium", 10, folder), Gates("gates-128", 11, folder)),
        "lookups": (Lookups(3), Lookups(4)),
        "polynomials": (Polynomials(1), Polynomials(2)),
        "compressions": (Compressions(10), Compressions(11)),
        "blinds": (Blinds(2), Blinds(3)),
        "signals": (Signalling(4), Signalling(5)),
        "ltv": (Ltv(0, tmp_path_factory.mktemp("ltv")), Ltv(3, tmp_path_factory.mktemp("other_ltv"))),
    }


SMALL = [("gates", r) for r in GATES] + [("lookups", r) for r in LOOKUPS] + [("polynomials", r) for r in POLYNOMIALS]
SMALL += [("compressions", r) for r in COMPRESSIONS] + [("blinds", r) for r in BLINDS]
SMALL += [("signals", r) for r in SIGNALS] + [("ltv", r) for r in LTV]


@pytest.mark.parametrize(("kind", "row"), SMALL, ids=[r.name for _, r in SMALL])
def test_small_rings_and_the_oprf_refuse(kind: str, row: Row, small: dict[str, Any]) -> None:
    here, there = small[kind]
    row.call(here)
    check(row, here, there, row.places())
    check(row, there, here, row.places())


@pytest.mark.filterwarnings("ignore:nanobind")
@pytest.mark.parametrize("row", LTV, ids=[r.name for r in LTV])
def test_nothing_is_refused_by_ltv(row: Row, small: dict[str, Any]) -> None:
    refuse_nothing(row, small["ltv"][0])


# ---- systems -------------------------------------------------------------------------------------


def compute(s: Systems, keys: Any) -> Any:
    return matvec.Server(s.model, s.program, keys).evaluate(s.vectors)


def contributed(s: Systems, public_key: Path) -> Any:
    return matmul.Contributor.load(s.traced, public_key, accept_insecure="x").encrypt("B", np.zeros((2, 2)))


#: Each row: what is called, with the world's own objects `w` and the foreign ones `f`.
SYSTEMS: dict[str, Any] = {
    "ckks.Session.decrypt": lambda w, f: w.session.decrypt(f.encrypted),
    "ckks.Session.decrypt to share": lambda w, f: w.session.decrypt(f.encrypted, share_bits=4),
    "ckks.Session.evaluator": lambda w, f: w.session.evaluator.mul(w.encrypted, f.encrypted),
    "bfv.Session.decrypt": lambda w, f: w.integers.decrypt(f.exact),
    "bfv.Session.decrypt to share": lambda w, f: w.integers.decrypt(f.exact, share_bits=4),
    "bfv.Session.noise_budget": lambda w, f: w.integers.noise_budget(f.exact),
    "bfv.Session.evaluator": lambda w, f: w.integers.evaluator.mul(w.exact, f.exact),
    "bfv.PreparedLinear.run": lambda w, f: w.prepared.run(f.laid_out),
    "bfv.Linear.prepare keys": lambda w, f: w.layer.prepare(w.linear, f.integers.galois_keys).run(w.laid_out),
    "matvec.Server keys": lambda w, f: compute(w, f.keys),
    "matvec.Server.evaluate": lambda w, f: w.server.evaluate(f.vectors),
    "matvec.Server.layer_reports": lambda w, f: w.server.layer_reports(f.vectors.groups[0]),
    "matvec.Client.decrypt": lambda w, f: w.client.decrypt(f.result),
    "matvec.Client.load": lambda w, f: matvec.Client.load(w.program, f.folder / "secret", accept_insecure="x").decrypt(
        w.result
    ),
    "matvec.EvaluationKeys.load": lambda w, f: compute(w, matvec.EvaluationKeys.load(f.folder / "keys", w.program)),
    "matvec.EncryptedVectors.load": lambda w, f: w.server.evaluate(
        matvec.EncryptedVectors.load(f.folder / "vectors", w.program, "input")
    ),
    "matmul.EncryptedMatrix @": lambda w, f: w.matrix @ f.matrix,
    "matmul.EncryptedMatrix +": lambda w, f: w.matrix + f.matrix,
    "matmul.EncryptedMatrix -": lambda w, f: w.matrix - f.matrix,
    "matmul.Session.decrypt": lambda w, f: w.machine.decrypt(f.matrix),
    "matmul.BatchProduct.multiply": lambda w, f: w.batches.multiply(w.batch, f.batch, w.batch_keys),
    "matmul.BatchProduct keys": lambda w, f: w.batches.multiply(w.batch, w.batch, f.batch_keys),
    "matmul.BatchProduct.convert": lambda w, f: w.batches.convert(w.batch, "rows", f.batch_keys),
    "matmul.BatchProduct.decrypt": lambda w, f: w.batches.decrypt(w.session.client, w.session.secret_key, f.batch),
    "matmul.Server keys": lambda w, f: matmul.Server(w.traced, f.holder.evaluation_keys()).run(w.parcels),
    "matmul.Server.run": lambda w, f: w.computer.run([w.parcels[0], f.parcels[1]]),
    "matmul.KeyHolder.decrypt": lambda w, f: w.holder.decrypt(f.product),
    "matmul.KeyHolder.decrypt_to_share": lambda w, f: w.holder.decrypt_to_share(f.product, 4.0),
    "matmul.Parcel.load": lambda w, f: w.holder.decrypt(matmul.Parcel.load(f.folder / "product", w.traced, "result")),
    "matmul.Contributor": lambda w, f: w.computer.run([w.parcels[0], contributed(w, f.folder / "public")]),
    "devices.Device.run": lambda w, f: w.device.run(w.handle, f.vectors.groups[0]),
    "devices.Device.prepare": lambda w, f: w.device.run(
        w.device.prepare(w.kernel, f.keys, MatvecOperands(w.model.weights, w.model.bias)), w.vectors.groups[0]
    ),
}


@pytest.fixture(scope="module")
def systems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Systems]:
    kinds = {"here": (11, 45, 7), "smaller": (10, 45, 7), "primes": (11, 44, 7), "key": (11, 45, 8)}
    made = {}
    for kind, (log_n, bits, seed) in kinds.items():
        made[kind] = Systems(parameters(log_n, bits, 2), tmp_path_factory.mktemp(kind), seed)
    return made


@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_refuse_objects_of_other_worlds(name: str, systems: dict[str, Systems]) -> None:
    call, here = SYSTEMS[name], systems["here"]
    call(here, here)
    for kind in ("smaller", "primes", "key"):
        with pytest.raises(MISSING if kind == "smaller" else MISMATCH):
            call(here, systems[kind])


def test_devices_refuse_what_others_prepared(systems: dict[str, Systems]) -> None:
    s = systems["here"]
    for device in ("cpu", "clear"):
        foreign = dataclasses.replace(s.handle, device="another")
        with pytest.raises(MISMATCH, match="prepared for device another"):
            devices.open_device(device).run(foreign, s.vectors.groups[0])
    with pytest.raises(SHAPE):
        s.device.run(s.handle, [])


def test_bits_of_other_sets_are_refused(small: dict[str, Any]) -> None:
    here, there = small["gates"]
    mine, theirs = (gates.encrypt(g.secret, [0, 1]) for g in (here, there))
    evaluator = gates.Evaluator(here.key)
    rows: list[Any] = [
        lambda f: gates.decrypt(here.secret, f),
        lambda f: evaluator.nand(mine, f),
        lambda f: evaluator.mux(f, mine, mine),
        lambda f: evaluator.bind(f),
        lambda f: evaluator.bind(mine) & f,
        lambda f: gates.concatenate([mine, f]),
        lambda f: gates.stack([mine, f]),
    ]
    for row in rows:
        with pytest.raises(MISMATCH):
            row(theirs)


# ---- arrays --------------------------------------------------------------------------------------

Q = _native.kernels.primes_below(45, 1, 1 << 18)[0]
SMALL_Q = _native.kernels.primes_below(26, 1, 1 << 13)[0]


def a(n: int = 16) -> npt.NDArray[np.uint64]:
    return np.zeros(n, np.uint64)


@dataclass(frozen=True)
class Kernel:
    """A good call of a kernel.

    Attributes:
        args: after the name of the kernel set.
        modulus: place of a modulus.
        wide: places of arrays that may hold any words.
    """

    args: tuple[Any, ...]
    modulus: int | None = -1
    wide: tuple[int, ...] = ()


N = 256
KERNELS = {
    "ntt": Kernel((a(), Q)),
    "intt": Kernel((a(), Q)),
    "ntt_lift": Kernel((a(), Q, Q)),
    "add": Kernel((a(), a(), Q)),
    "sub": Kernel((a(), a(), Q)),
    "mul": Kernel((a(), a(), Q)),
    "mul_add": Kernel((a(), a(), a(), Q)),
    "neg": Kernel((a(), Q)),
    "reduce": Kernel((a(), Q), wide=(0,)),
    "reduce_signed": Kernel((np.zeros(16, np.int64), Q)),
    "add_scalar": Kernel((a(), 1, Q)),
    "mul_scalar": Kernel((a(), 1, Q)),
    "sub_mul_scalar": Kernel((a(), a(), 1, Q)),
    "dot2": Kernel(([a(), a()], [a(), a()], [a(), a()], a(), a(), True, Q)),
    "matmul": Kernel((a(32), a(32), 16, 16, Q)),
    "automorphism_coeff": Kernel((a(), 3, Q)),
    "automorphism_eval": Kernel((a(), 3), None, wide=(0,)),
    "automorphism_eval_add": Kernel((a(), a(), 3, Q)),
    "lift_centered": Kernel((a(), Q, Q)),
    "convert_quotient": Kernel(([a(), a()], [2.0**-45, 2.0**-45]), None),
    "base_convert": Kernel(([a(), a()], [1, 1], 45, a(), 1, Q)),
    "fft": Kernel((np.zeros(16), np.zeros(16), np.zeros(16), np.zeros(16), True), None, wide=(0, 1, 2, 3)),
    "scale_round": Kernel((np.zeros(16), 1.0), None, wide=(0,)),
    "small_forward": Kernel((a(N), SMALL_Q, 32), -2),
    "small_inverse": Kernel((a(N), SMALL_Q, 32), -2),
    "small_add": Kernel((a(N), a(N), SMALL_Q, 32), -2),
    "small_sub": Kernel((a(N), a(N), SMALL_Q, 32), -2),
    "small_mul": Kernel((a(N), a(N), SMALL_Q, 32), -2),
    "small_mul_scalar": Kernel((a(N), 1, SMALL_Q, 32), -2),
    "small_rotate": Kernel((a(N), 1, SMALL_Q, 32), -2),
    "small_rotate_sub": Kernel((a(N), 1, SMALL_Q, 32), -2),
    "small_automorphism": Kernel((a(N), 3, SMALL_Q, 32), -2),
    "small_cut": Kernel((a(N), 9, 3, 0, True, SMALL_Q, 32), -2),
    "small_dot": Kernel((a(2 * N), a(4 * N), a(N), a(N), True, SMALL_Q, 32), -2),
    "small_gadget_product": Kernel(([a(N), a(N)], a(12 * N), 9, 3, 0, True, SMALL_Q, 32), -2),
}


def test_every_kernel_has_a_row() -> None:
    taking = {name for name, signatures in functions(_native.kernels) if "ndarray" in signatures[0].split("->")[0]}
    # No operation of a set: lab/bench/test_bench_aes.py has its refusals.
    assert taking - {"ring_product"} == set(KERNELS)


def spoiled(args: tuple[Any, ...], place: int, item: int, value: Any) -> list[Any]:
    """The arguments with another value in one place, or in one item of the list there."""
    new = value if not isinstance(args[place], list) else [value if i == item else x for i, x in enumerate(args[place])]
    return [new if i == place else x for i, x in enumerate(args)]


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_refuse_what_their_contract_does_not_name(name: str) -> None:
    """Foreign moduli, lengths and residues: the kernels themselves check nothing."""
    k, f = KERNELS[name], getattr(_native.kernels, name)
    f("ref", *k.args)
    if k.modulus is not None:
        place = len(k.args) + k.modulus
        for q in (0, 1, 4, (1 << 61) + 1, (1 << 64) - 1):
            with pytest.raises(rf.ParameterError):
                f("ref", *spoiled(k.args, place, 0, q))
    for place, x in enumerate(k.args):
        for i, array in enumerate(x if isinstance(x, list) else [x]):
            if not isinstance(array, np.ndarray):
                continue
            for length in (len(array) - 1, len(array) + 1):
                with pytest.raises((SHAPE, rf.ParameterError)):
                    f("ref", *spoiled(k.args, place, i, np.zeros(length, array.dtype)))
            if place not in k.wide:
                high = array.copy()
                high[-1] = (1 << 63) - 1 if array.dtype == np.int64 else (1 << 64) - 1
                with pytest.raises(rf.ValueError):
                    f("ref", *spoiled(k.args, place, i, high))
