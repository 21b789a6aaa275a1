# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw formal`: proofs hold, seeded defects break them, and lists are as they must be."""

import json
import re

import pytest

from ringforge.errors import HardwareError, ParameterError
from ringforge.hw.core import formal, resources
from ringforge.hw.core import machine as descriptors

MATVEC = descriptors.machine("matvec")
PROOFS = formal.proofs(MATVEC)
DEFECTS = [(proof, defect) for proof in PROOFS for defect in proof.defects]
needs_tools = pytest.mark.skipif(formal.missing() is not None, reason=f"needs {formal.missing()}")


def named(proof):
    return "-".join([proof.module.name, *(str(v) for _, v in proof.module.parameters)])


def quick(name):
    return next(proof for proof in PROOFS if proof.module.name == name)


@needs_tools
@pytest.mark.parametrize("name", ["rf_fifo", "rf_skid"])
def test_proved(name):
    proof = quick(name)
    outcome = formal.check(MATVEC, proof)
    assert (outcome.status, outcome.failed) == ("proved", ())
    assert set(outcome.checked) == {label for label, _ in proof.properties}


@needs_tools
def test_a_defect_breaks_its_property():
    proof = quick("rf_skid")
    outcome = formal.check(MATVEC, proof, proof.defects[0])
    assert outcome.status == "fails"
    assert proof.defects[0].breaks in outcome.failed


@needs_tools
@pytest.mark.long
@pytest.mark.parametrize("proof", PROOFS, ids=named)
def test_every_proof_holds(proof):
    outcome = formal.check(MATVEC, proof)
    assert outcome.good, outcome
    assert outcome.checked


@needs_tools
@pytest.mark.long
@pytest.mark.parametrize(("proof", "defect"), DEFECTS, ids=lambda x: named(x) if hasattr(x, "mode") else x.breaks)
def test_every_defect_breaks_its_property(proof, defect):
    outcome = formal.check(MATVEC, proof, defect)
    assert outcome.status == "fails"
    assert defect.breaks in outcome.failed


@pytest.mark.parametrize("proof", PROOFS, ids=named)
def test_lists(proof):
    """Every property has words, every proof a defect, every defect one place and a property that there is."""
    labels = [label for label, _ in proof.properties]
    assert labels
    assert len(labels) == len(set(labels))
    assert all(words for _, words in proof.properties)
    text = proof.checkers[0].read_text()
    assert len(re.findall(r"\bassert\b", text)) == len(labels)
    assert proof.defects
    texts = resources.design(MATVEC).texts
    for defect in proof.defects:
        assert defect.breaks in labels
        assert texts[defect.module].count(defect.text) == 1


def test_what_is_proved():
    """FIFOs, register slice, AXI masters and slave, lines over ports, scoreboard, run control."""
    names = {proof.module.name for proof in PROOFS}
    assert names >= {
        "rf_fifo", "rf_skid", "rf_axi_read", "rf_axi_write", "rf_line_read", "rf_line_write", "rf_axil_regs",
        "rf_shell_control", "vector_sequencer",
    }  # fmt: skip
    assert {proof.module.name for proof in PROOFS if proof.mode == "prove"} >= names - {"rf_async_fifo"}


def test_a_defect_without_a_place(monkeypatch):
    monkeypatch.setattr(formal, "require", lambda: "tools")
    proof = quick("rf_fifo")
    with pytest.raises(HardwareError, match="one place"):
        formal.check(MATVEC, proof, formal.Defect("p_order", "rf_fifo", "no such text", ""))


def test_no_such_proof():
    with pytest.raises(ParameterError, match=r"no proof of rf_none; there are proofs of .*rf_fifo"):
        formal.chosen(PROOFS, ["rf_none"])


def test_missing_solver(monkeypatch):
    monkeypatch.setattr(formal.shutil, "which", lambda *_, **__: None)
    with pytest.raises(HardwareError, match="pip install"):
        formal.require()


def test_saved_table(tmp_path):
    proof = quick("rf_skid")
    labels = tuple(label for label, _ in proof.properties)
    outcome = formal.Outcome("proved", labels, (), 1.5, "0" * 20, "tools")
    path = formal.save(MATVEC, [(proof, outcome)], tmp_path)
    document = json.loads(path.read_text())
    assert [p["property"] for p in document["properties"]] == list(labels)
    assert {p["result"] for p in document["properties"]} == {"proved, k = 2"}
    failed = formal.Outcome("fails", labels, (labels[1],), 1.5, "0" * 20, "tools")
    assert [row[3] for row in formal.grid([(proof, failed)]).rows][:2] == ["fails", "FAILS"]
