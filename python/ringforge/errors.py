# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Ringforge's exceptions. Each message names the value, the limit and the remedy; none carries secrets."""

from ringforge._native import (
    Error,
    FormatError,
    LevelError,
    MemoryLimitError,
    MismatchError,
    MissingKeyError,
    ParameterError,
    ScaleError,
    ShapeError,
    ValueError,
)

__all__ = [
    "ClusterError",
    "DuplicateError",
    "Error",
    "FormatError",
    "HardwareError",
    "IllegalInstructionError",
    "IntervalWarning",
    "LevelError",
    "MemoryLimitError",
    "MismatchError",
    "MissingKeyError",
    "NamesWarning",
    "NetlistError",
    "NoiseError",
    "ParameterError",
    "PrecisionWarning",
    "ScaleError",
    "ShapeError",
    "SizeWarning",
    "StorageError",
    "TooManyMessagesError",
    "UnidentifiedWarning",
    "UnsupportedModelError",
    "ValueError",
]


class PrecisionWarning(UserWarning):
    """Results may carry errors as large as they are; the message names the remedy."""


class IntervalWarning(PrecisionWarning):
    """Values may leave the interval on which a polynomial stands for another function; the message names the remedy."""


class NamesWarning(UserWarning):
    """Columns are taken by their position, or a line for a header or a row; the message says how to be sure."""


class UnidentifiedWarning(UserWarning):
    """A file does not say what it holds, so that nothing of it can be checked."""


class SizeWarning(UserWarning):
    """Something takes very much memory before it is made; the message says how much, and the remedy."""


class UnsupportedModelError(Error):
    """A model uses something that has no encrypted counterpart here; the message names it."""


class TooManyMessagesError(Error):
    """A digest was made for fewer messages than there are; the message says how many there are, and how to ask again.

    Attributes:
        count: pertinent entries.
    """

    def __init__(self, message: str, count: int = 0) -> None:
        super().__init__(message)
        self.count = count


class NoiseError(Error):
    """By its predicted noise a ciphertext may decrypt to wrong numbers; the message says by how much."""


class NetlistError(FormatError):
    """A netlist is no combinational circuit of known gates; the message names cell, net or line."""


class IllegalInstructionError(Error):
    """A program for an accelerator does what the machine refuses; the message names the instruction."""


class HardwareError(Error):
    """A simulated accelerator cannot be built, or reports an error; the message names the cause."""


class ClusterError(Error):
    """Workers that compute for this process fail, or are gone; the message is for who runs them, and says where.
    Clients of a service are not told it."""


class DuplicateError(Error):
    """Something is there already, and may be there once; the message says where."""


class StorageError(Error):
    """A database cannot be used now, or not any more; the message says why, and what is lost: nothing that was
    acknowledged."""
