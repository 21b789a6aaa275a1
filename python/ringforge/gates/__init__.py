# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Gates on encrypted bits.

One party encrypts bits; another, which cannot read them, runs gates and whole circuits on them; every gate refreshes
its result, so that circuits may be of any depth. docs/gates.md is the guide.

    secret, key = gates.keygen()
    a = gates.encrypt(secret, gates.to_bits(23, 8))
    evaluator = gates.Evaluator(key)
    print(gates.decrypt(secret, evaluator.bind(a) & ~a))

`integers` has encrypted integers with operators, and arrays of them.

Parameter sets, noise, and the search that found the sets are in `sets`, `noise` and `search`.
"""

from ringforge.gates.bit_records import parameter_names, parameters
from ringforge.gates.bits import Bits, Evaluator, concatenate, decrypt, encrypt, from_bits, stack, to_bits
from ringforge.gates.circuit import Circuit
from ringforge.gates.clear import ClearKey
from ringforge.gates.formats import designs, parse_blif, parse_yosys, read_netlist
from ringforge.gates.integers import EncryptedArray, EncryptedInt
from ringforge.gates.kinds import GateKind
from ringforge.gates.netlist import Draft, Gate, Netlist, Port, Report
from ringforge.gates.noise import set_for
from ringforge.gates.optimise import optimise
from ringforge.gates.storage import (
    bits_from_bytes,
    bits_to_bytes,
    keygen,
    load_bits,
    load_evaluation_key,
    load_secret_key,
    make_evaluation_key,
    save_bits,
    save_evaluation_key,
    save_secret_key,
)

__all__ = [
    "Bits",
    "Circuit",
    "ClearKey",
    "Draft",
    "EncryptedArray",
    "EncryptedInt",
    "Evaluator",
    "Gate",
    "GateKind",
    "Netlist",
    "Port",
    "Report",
    "bits_from_bytes",
    "bits_to_bytes",
    "concatenate",
    "decrypt",
    "designs",
    "encrypt",
    "from_bits",
    "keygen",
    "load_bits",
    "load_evaluation_key",
    "load_secret_key",
    "make_evaluation_key",
    "optimise",
    "parameter_names",
    "parameters",
    "parse_blif",
    "parse_yosys",
    "read_netlist",
    "save_bits",
    "save_evaluation_key",
    "save_secret_key",
    "set_for",
    "stack",
    "to_bits",
]
