# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Proofs of the aes machine: streams, queues, link, addresses, tables; they hold, and seeded defects break them."""

import re

import pytest

from ringforge.hw.core import formal, resources
from ringforge.hw.core import machine as descriptors

AES = descriptors.machine("aes")
PROOFS = [proof for proof in formal.proofs(AES) if proof.module.name.startswith("aes_")]
DEFECTS = [(proof, defect) for proof in PROOFS for defect in proof.defects]
needs_tools = pytest.mark.skipif(formal.missing() is not None, reason=f"needs {formal.missing()}")


def test_what_is_proved():
    """For ever, not for some cycles."""
    assert {proof.module.name for proof in PROOFS} >= {
        *("aes_read", "aes_write", "aes_queue", "aes_fill", "aes_link"),
        *("aes_address", "aes_root_map"),
    }
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
        assert resources.design(AES).texts[defect.module].count(defect.text) == 1


@needs_tools
@pytest.mark.parametrize(
    "proof",
    [pytest.param(p, marks=[] if p.module.name == "aes_link" else pytest.mark.long) for p in PROOFS],
    ids=lambda p: p.module.name,
)
def test_proofs_hold(proof):
    outcome = formal.check(AES, proof)
    assert (outcome.status, outcome.failed) == ("proved", ())
    assert set(outcome.checked) >= {label for label, _ in proof.properties}


@needs_tools
@pytest.mark.long
@pytest.mark.parametrize(("proof", "defect"), DEFECTS, ids=lambda x: x.module.name if hasattr(x, "mode") else x.breaks)
def test_every_defect_breaks_its_property(proof, defect):
    outcome = formal.check(AES, proof, defect)
    assert outcome.status == "fails"
    assert defect.breaks in outcome.failed
