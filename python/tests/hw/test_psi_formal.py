# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Proofs of the FHEW accelerators' FIFOs, orders and rooms: they hold, and seeded defects break them."""

import re

import pytest

from ringforge.hw.core import formal, resources
from ringforge.hw.core import machine as descriptors

MACHINES = {name: descriptors.machine(name) for name in ("psi", "psi_wide")}
PROOFS = [
    (machine, proof)
    for machine in MACHINES.values()
    for proof in formal.proofs(machine)
    if proof.module.name.startswith("psi_")
]
DEFECTS = [(machine, proof, defect) for machine, proof in PROOFS for defect in proof.defects]
needs_tools = pytest.mark.skipif(formal.missing() is not None, reason=f"needs {formal.missing()}")


def test_what_is_proved():
    """For ever, not for some cycles."""
    names = {proof.module.name for _, proof in PROOFS}
    assert names >= {"psi_fifo", "psi_rob", "psi_keys", "psi_wide_issue"}
    assert {proof.mode for _, proof in PROOFS} == {"prove"}


def named(given):
    return given.module.name if hasattr(given, "mode") else getattr(given, "breaks", "")


@pytest.mark.parametrize(("machine", "proof"), PROOFS, ids=named)
def test_lists(machine, proof):
    """Every property has words, every proof a defect, every defect one place and a property that there is."""
    labels = [label for label, _ in proof.properties]
    assert len(labels) == len(set(labels)) > 0
    assert all(words for _, words in proof.properties)
    assert len(re.findall(r"\bassert\b", proof.checkers[0].read_text())) == len(labels)
    assert proof.defects
    for defect in proof.defects:
        assert defect.breaks in labels
        assert resources.design(machine).texts[defect.module].count(defect.text) == 1


@needs_tools
@pytest.mark.parametrize(
    ("machine", "proof"),
    [pytest.param(m, p, marks=[] if p.module.name == "psi_fifo" else pytest.mark.long) for m, p in PROOFS],
    ids=named,
)
def test_proofs_hold(machine, proof):
    outcome = formal.check(machine, proof)
    assert (outcome.status, outcome.failed) == ("proved", ())
    assert set(outcome.checked) >= {label for label, _ in proof.properties}


@needs_tools
@pytest.mark.long
@pytest.mark.parametrize(("machine", "proof", "defect"), DEFECTS, ids=named)
def test_every_defect_breaks_its_property(machine, proof, defect):
    outcome = formal.check(machine, proof, defect)
    assert outcome.status == "fails"
    assert defect.breaks in outcome.failed
