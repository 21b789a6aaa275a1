# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Numbers as printed in the paper's text; its Tables 1 to 4 and Algorithms 1 to 4 are not in our copy.

Nothing here is computed.
"""

from __future__ import annotations

from typing import Final

# Sections 4 and 5: the ring and the modulus.
DEGREE: Final = 32_768
LOG_Q: Final = 1_271
PRIMES: Final = 41
WORD_BITS: Final = 32
WINDOW_BITS: Final = 16
WINDOWS: Final = 80
SLOTS: Final = 2_048
DEPTH: Final = 40

# Section 4: the machine, with K multipliers, and "64 modular adders and 64 modular subtractors".
MULTIPLIERS: Final = 256
ADDERS: Final = 64
BANKS: Final = 64
CLOCK_HZ: Final = 250e6
#: Cycles of filling the pipeline and of its tail; of one multiplication.
FILL: Final = 4
TAIL: Final = 15
MULTIPLIER_CYCLES: Final = 4
#: "531 clock cycles for this and the rest of the stages".
LEVEL_CYCLES: Final = 531
INNER_CYCLES: Final = 1_039
SCALING_CYCLES: Final = 1_039
#: "12720 cycles, which translates to 152 usec", of a product modulo one prime.
PRODUCT_CYCLES: Final = 12_720
PRODUCT_US: Final = 152
RESIDUE_IO_US: Final = 79

# Section 5: bytes and milliseconds.
PCIE_LANES: Final = 8
PCIE_GBIT: Final = 8
CIPHERTEXT_MB: Final = 5
TRANSFER_MS: Final = 0.65
#: "two polynomials of 5 MB each along with the NTT parameters of 5 MB and receive a polynomial of 10 MB".
MULTIPLY_CIPHERTEXTS: Final = 5
MULTIPLY_IO_MS: Final = 3.25
MULTIPLY_COMPUTE_MS: Final = 6.25
MULTIPLY_MS: Final = 9.51
REDUCTION_MS: Final = 19
CRT_MS: Final = 89
SWITCH_MS: Final = 89
RELINEARISE_NTT_MS: Final = 331
RELINEARISE_IO_MS: Final = 52
RELINEARISE_MS: Final = 526
KEY_GB: Final = 64

# Section 6: AES and speed-ups.
SBOXES: Final = 160
ROUNDS: Final = 10
RELINEARISATIONS_SBOX: Final = 18
RELINEARISATIONS: Final = 2_880
PRODUCTS: Final = 5_760
SWITCHES: Final = 6_080
AES_MINUTES: Final = 15
BLOCK_MS: Final = 439
CPU_TIMES: Final = 28
GPU_TIMES: Final = 17
AES_TIMES: Final = 28
