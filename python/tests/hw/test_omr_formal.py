# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Proofs of the omr machine's streams and queues: they hold, and seeded defects break them."""

import re

import pytest

from ringforge.hw.core import formal, resources
from ringforge.hw.core import machine as descriptors

OMR = descriptors.machine("omr")
PROOFS = [proof for proof in formal.proofs(OMR) if proof.module.name.startswith("omr_")]
DEFECTS = [(proof, defect) for proof in PROOFS for defect in proof.defects]
needs_tools = pytest.mark.skipif(formal.missing() is not None, reason=f"needs {formal.missing()}")


def test_what_is_proved():
    """For ever, not for some cycles."""
    assert {proof.module.name for proof in PROOFS} >= {"omr_read", "omr_write", "omr_queue", "omr_sum_write"}
    assert {proof.mode for proof in PROOFS} == {"prove"}


@pytest.mark.parametrize("proof", PROOFS, ids=lambda p: p.module.name)
def test_lists(proof):
    """Every property has words, every proof a defect, every defect one place and a property that there is."""
    labels = [label for label, _ in proof.properties]
    assert len(labels) == len(set(labels)) > 0
    assert all(words for _, words in proof.properties)
    assert len(re.findall(r"\bassert\b", proof.checkers[0].read_text())) == len(labels)
    assert proof.defects
    for defect in proof.defects:
        assert defect.breaks in labels
        assert resources.design(OMR).texts[defect.module].count(defect.text) == 1


@needs_tools
@pytest.mark.parametrize(
    "proof",
    [pytest.param(p, marks=[] if p.module.name == "omr_read" else pytest.mark.long) for p in PROOFS],
    ids=lambda p: p.module.name,
)
def test_proofs_hold(proof):
    outcome = formal.check(OMR, proof)
    assert (outcome.status, outcome.failed) == ("proved", ())
    assert set(outcome.checked) >= {label for label, _ in proof.properties}


@needs_tools
@pytest.mark.long
@pytest.mark.parametrize(("proof", "defect"), DEFECTS, ids=lambda x: x.module.name if hasattr(x, "mode") else x.breaks)
def test_every_defect_breaks_its_property(proof, defect):
    outcome = formal.check(OMR, proof, defect)
    assert outcome.status == "fails"
    assert defect.breaks in outcome.failed
