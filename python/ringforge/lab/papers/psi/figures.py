# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The paper's numbers as printed: Tables 1 to 5 and the figures of its text. Nothing here is computed."""

from __future__ import annotations

from dataclasses import dataclass

#: Clock of the accelerator on its AWS F1 card.
CLOCK_HZ = 125e6


@dataclass(frozen=True, slots=True)
class GateRow:
    """A row of Tables 1 and 2.

    Attributes:
        name: as printed.
        ours: the same set in `params/fhew.json`.
        n, q, degree, log_modulus: LWE dimension and modulus, ring degree N, log2 Q.
        switch_base: B_ks.
        log_base: log2 of B_G.
        ap_base: B_r.
        processing_us, stream_us: time of one accumulation, amortised over 12; streaming its result out.
        software_us: PALISADE on the host.
        improvement: the printed speed-up.
    """

    name: str
    ours: str
    n: int
    q: int
    degree: int
    log_modulus: int
    switch_base: int
    log_base: int
    ap_base: int
    processing_us: int
    stream_us: int
    software_us: int
    improvement: float

    @property
    def digits(self) -> int:
        """dc: digits of a coefficient to base B_G."""
        return -(-self.log_modulus // self.log_base)

    @property
    def ap_digits(self) -> int:
        """d_r: digits of an LWE coefficient to base B_r."""
        count, power = 0, 1
        while power < self.q:
            count, power = count + 1, power * self.ap_base
        return count

    @property
    def products(self) -> int:
        """External products of one gate, n·d_r: the accelerator skips no digit."""
        return self.n * self.ap_digits

    @property
    def key_bytes(self) -> int:
        """Bootstrapping key in the card's memory: 64-bit words, an entry for every digit value."""
        return self.products * self.ap_base * 2 * self.digits * 2 * self.degree * 8


GATE_ROWS: tuple[GateRow, ...] = (
    GateRow("MEDIUM", "paper-medium", 256, 512, 1024, 27, 25, 9, 23, 6615, 49, 141100, 21.1),
    GateRow("STD128_AP", "paper-std128-ap", 512, 512, 1024, 27, 25, 9, 23, 13238, 48, 283800, 21.3),
    GateRow("STD192", "paper-std192", 512, 512, 2048, 37, 25, 13, 23, 26253, 54, 578400, 22.0),
    GateRow("STD256", "paper-std256", 1024, 1024, 2048, 29, 25, 10, 32, 52523, 54, 1180800, 22.4),
    GateRow("STD192Q", "paper-std192q", 1024, 1024, 2048, 35, 25, 12, 32, 52524, 59, 1270500, 24.2),
    GateRow("STD256Q", "paper-std256q", 1024, 1024, 2048, 27, 25, 7, 32, 70031, 58, 1571500, 22.4),
)


@dataclass(frozen=True, slots=True)
class OperationRow:
    """A row of Table 3: an operation at the PSI parameters, and its latency alone, from the text."""

    name: str
    accelerator_us: float
    software_us: float
    improvement: float
    scaled: float
    latency_us: float


SUBSTITUTION = OperationRow("RLWE substitution", 105, 17616, 167.8, 27.9, 350)
PRODUCT = OperationRow("RLWE x RGSW", 105, 14739, 140.4, 23.4, 309)

#: Of the latencies, streaming in and out; inputs in flight; the time per input that the text expects.
STREAMING_US, IN_FLIGHT, IDEAL_US = 120, 13, 17
#: How much slower the authors' software is than PALISADE, and the share of software in their PSI.
SOFTWARE_FACTOR, SOFTWARE_SHARE, CLAIMED_REDUCTION = 6, 0.5, 0.42

# The PSI parameters.
PSI_DEGREE, PSI_LOG_MODULUS, PSI_SIGMA, PSI_LOG_BASE, PSI_DIGITS = 2048, 54, 3.19, 9, 6
#: Bytes of keys as stated: key-switch keys in MB, RGSW(-z) in KB.
KEY_SWITCH_MB, RGSW_KB = 2.1, 384


@dataclass(frozen=True, slots=True)
class PsiRow:
    """A row of Tables 4 and 5.

    Attributes:
        bits: b, of an element.
        log_bins: k.
        seconds: the sender's time.
        to_sender_mb, to_receiver_mb: communication.
        bound: "attainable bound", s.
    """

    bits: int
    log_bins: int
    seconds: int
    to_sender_mb: float
    to_receiver_mb: float
    bound: int

    @property
    def cell_bits(self) -> int:
        """w: bits of an element that are left in its bin."""
        return self.bits - self.log_bins


PSI_ROWS: tuple[PsiRow, ...] = (
    PsiRow(32, 14, 1642, 27.0, 256, 273),
    PsiRow(32, 12, 814, 7.5, 64, 135),
    PsiRow(32, 10, 585, 2.1, 16, 97),
    PsiRow(30, 14, 1148, 24.0, 256, 191),
    PsiRow(30, 12, 410, 6.8, 64, 68),
    PsiRow(30, 10, 203, 1.9, 16, 33),
    PsiRow(28, 14, 935, 21.0, 256, 155),
    PsiRow(28, 12, 287, 6.0, 64, 47),
    PsiRow(28, 10, 102, 1.7, 16, 17),
)


# ---- the structure (Sections 4.2 to 4.4) ----------------------------------------------------------

#: Butterflies in an inverse transform and in a stage of the forward one; multipliers of a digit by a row of a key.
BUTTERFLIES, ROW_MULTIPLIERS = 2, 8
#: LUTs that the pipelined transform saves; how many times fewer multipliers by rows at N = 2048; how many times less
#: twiddle memory "in practice"; share of polynomial buffers saved.
SAVED_LUTS, FEWER_MULTIPLIERS, LESS_TWIDDLES, SAVED_BUFFERS = 0.23, 11, 10, 0.5

#: The parts of Figure 10. It is a drawing whose numbers are not in the text, but for "about 50 %" of the last one.
PARTS = ("RLWE substitution", "RLWE x RGSW", "RGSW transfer", "software post process")
