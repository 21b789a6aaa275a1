# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The instruction word: encoder and decoder are inverse, fields do not overlap, and texts agree with the numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringforge.errors import FormatError, IllegalInstructionError, ParameterError
from ringforge.hw.core.sources import sources
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.vector import isa
from ringforge.hw.vector.config import VectorConfig
from ringforge.hw.vector.isa import Instruction, Opcode, decode, encode


def instructions() -> st.SearchStrategy[Instruction]:
    """Instructions with random values in the fields that their operation uses."""

    def fill(op: Opcode) -> st.SearchStrategy[Instruction]:
        uses = isa.description()["instructions"][op.name]["uses"]
        table = isa.field_table()
        values = {name: st.integers(0, (1 << table[name].width) - 1) for name in uses}
        return st.builds(Instruction, st.just(op), **values)

    return st.sampled_from(list(Opcode)).flatmap(fill)


@given(st.lists(instructions(), max_size=20))
def test_decode_inverts_encode(program: list[Instruction]) -> None:
    words = encode(program)
    assert words.shape == (len(program), 4)
    assert decode(words) == program


@given(instructions())
def test_words_hold_the_fields_where_the_description_says(i: Instruction) -> None:
    number = sum(int(w) << 64 * k for k, w in enumerate(encode([i])[0]))
    for name in isa.description()["instructions"][i.op.name]["uses"]:
        f = isa.field_table()[name]
        assert number >> f.position & ((1 << f.width) - 1) == getattr(i, name)
    assert number & 255 == i.op


@pytest.mark.parametrize("op", list(Opcode))
def test_fields_of_one_operation_do_not_overlap(op: Opcode) -> None:
    taken = 0
    for name in ["op", *isa.description()["instructions"][op.name]["uses"]]:
        f = isa.field_table()[name]
        bits = ((1 << f.width) - 1) << f.position
        assert not taken & bits, name
        assert f.lsb + f.width <= 64
        taken |= bits


def test_constructors_fill_the_fields_they_name() -> None:
    i = Instruction
    assert i.mac(1, 2, 3, imm=4) == i(Opcode.MAC, mod=3, dst=1, a=2, imm=4)
    assert i.mac(1, 2, 3, b=5, c=6, post_add=True) == i(Opcode.MAC, mod=3, post_add=1, b_from=2, dst=1, a=2, c=6, b=5)
    assert i.mac(1, 2, 3, stream=True, c=6, pre_sub=True) == i(Opcode.MAC, 3, pre_sub=1, b_from=1, dst=1, a=2, c=6)
    assert i.ntt(1, 2, 3, 4) == i(Opcode.NTT, 4, dst=1, a=2, tw=3)
    assert i.ntt(1, 2, 3, 4, lift_from=0) == i(Opcode.NTT, 4, 0, 1, dst=1, a=2, tw=3)
    assert i.conf(14, 4).imm == 14 | 4 << 8
    assert i.modulus(5, 6, 7) == i(Opcode.MODULUS, mod=5, imm=6, addr=7)
    assert isa.slot(2, 1024) == 2 << 13 | 1024
    assert (isa.bank_of(isa.slot(7, 8191)), isa.row_of(isa.slot(7, 8191))) == (7, 8191)
    assert str(i.load(isa.slot(1, 64), 4096)) == "LOAD dst=1:64 addr=0x1000"


def test_a_mac_takes_one_multiplier_and_uses_its_addend() -> None:
    for wrong in ({}, {"imm": 1, "stream": True}, {"imm": 1, "c": 2}, {"imm": 1, "post_add": True}):
        with pytest.raises(IllegalInstructionError):
            Instruction.mac(0, 1, 0, **wrong)


def test_values_that_do_not_fit_are_refused() -> None:
    for wrong in (
        Instruction(Opcode.NTT, mod=32),
        Instruction(Opcode.LOAD, dst=1 << 16),
        Instruction(Opcode.LOAD, addr=1 << 64),
        Instruction(Opcode.LOAD, addr=-1),
        Instruction(Opcode.MAC, b=1, tw=1),
    ):
        with pytest.raises(IllegalInstructionError):
            encode([wrong])


def test_unknown_operations_are_refused() -> None:
    words = encode([Instruction.end(), Instruction.end()])
    words[1, 0] = 99
    with pytest.raises(IllegalInstructionError, match="instruction 1 has operation 99"):
        decode(words)
    with pytest.raises(FormatError):
        decode(np.zeros((2, 3), np.uint64))


def test_the_package_names_every_field_and_operation(tmp_path: Path) -> None:
    text = isa.systemverilog_package(tmp_path / "vector_isa_pkg.sv")
    assert (tmp_path / "vector_isa_pkg.sv").read_text() == text
    numbers = dict(re.findall(r"localparam (?:int unsigned|logic \[\d:0\]) (\w+) = (?:\d'd)?(\d+);", text))
    assert numbers["SrcModLsb"] == "13"
    assert numbers["DstLsb"] == "64"
    assert numbers["AddrLsb"] == "192"
    assert numbers["OpMac"] == "48"
    assert numbers["OpEnd"] == "1"
    assert len(numbers) == 4 + 2 * len(isa.field_table()) + len(Opcode) + len(isa.Scope) + len(isa.BFrom)


def test_the_table_describes_every_operation() -> None:
    text = isa.markdown()
    for op in Opcode:
        assert f"| {op.name} | {op.value} |" in text


# ---- configurations -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MatvecConfig.names())
def test_configurations_load(name: str) -> None:
    config = MatvecConfig.named(name)
    assert config.name == name
    assert config.twiddle_slots(config.max_log_n) >= 1
    ports = {config.port_of(g, j) for g in range(config.groups) for j in range(config.pes)}
    assert ports == set(range(config.ports))


def test_the_papers_machine() -> None:
    config = MatvecConfig.named("matvec-b")
    assert config.scratchpad_bytes == 3 << 19  # 1.5 MiB
    assert config.slots(14) == 12
    assert config.slots(15) == 6
    assert config.shift(50) == 4
    assert MatvecConfig.named("matvec-b-montgomery").shift(50) == 0
    assert MatvecConfig.named("matvec-b-montgomery").montgomery_bits == 54
    with pytest.raises(ParameterError, match="47 to 54 bits, these have 46"):
        config.shift(46)


def test_bad_configurations_are_refused(tmp_path: Path) -> None:
    text = (sources() / "matvec" / "config" / "matvec-small.json").read_text()
    for old, new, why in (
        ('"lanes": 8', '"lanes": 12', "power of two"),
        ('"ports": 2', '"ports": 3', "same number of ports"),
        ('"bank_rows": 1024', '"bank_rows": 128', "smaller than the largest polynomial"),
        ('"groups": 2', '"groups": 0', "groups"),
        ('"lanes": 8', '"lanes": 16', "min_log_n must be at least 8"),
        ('"max_log_n": 11', '"max_log_n": 6', "max_log_n must be at least min_log_n"),
        ('"stream_rows": 128', '"stream_rows": 0', "stream_rows"),
        ('"stream_rows": 128', '"stream_rows": 16', "at least burst_rows, 32"),
        ('"burst_rows": 32', '"burst_rows": 24', "burst_rows must be a power of two"),
        ('"burst_rows": 32', '"burst_rows": 128', "burst_rows of at most 64"),
        ('"dram_latency": 64', '"dram_latency": -1', "dram_latency"),
        ('"name"', '"nom"', "name"),
        ("{", "", "not a machine configuration"),
    ):
        path = tmp_path / "machine.json"
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(FormatError, match=why):
            MatvecConfig.load(path)
    wide = json.loads(text) | {"lanes": 32, "min_log_n": 10, "burst_rows": 16}
    path.write_text(json.dumps(wide))
    with pytest.raises(FormatError, match="16 lanes or fewer"):
        MatvecConfig.load(path)
    assert VectorConfig.model_validate(wide).lanes == 32
    with pytest.raises(ParameterError, match='no machine is called "matvec-x"; there are matvec-a'):
        MatvecConfig.named("matvec-x")
