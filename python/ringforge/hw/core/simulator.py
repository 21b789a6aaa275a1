# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The Verilated machine, driven through its control registers and its memory as a host drives a card."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge.errors import HardwareError, ParameterError
from ringforge.hw.core import build
from ringforge.hw.core.dram import ALIGNMENT, Dram
from ringforge.hw.machines.matvec.config import MatvecConfig

Words = npt.NDArray[np.uint64]

#: Entity numbers beyond this are refused by the simulated memory.
MAX_ENTITIES: Final = 16
_STEP: Final = 200_000
_ID: Final = 0x564D4652


class Register(IntEnum):
    """Addresses of the control registers (matvec_top)."""

    ID = 0x00
    CONTROL = 0x08
    STATUS = 0x0C
    ERROR = 0x10
    PC = 0x14
    PROGRAM = 0x18
    PROGRAM_HIGH = 0x1C
    STRIDE = 0x20
    CYCLES = 0x24
    CYCLES_HIGH = 0x28
    SHAPE = 0x2C
    RANGE = 0x30


_ERRORS: Final = {
    1: "unknown operation",
    2: "a slot outside the scratchpad, not aligned, or two sources in one bank",
    3: "no valid CONF: a degree, shift or modulus that this machine does not have",
    4: "a DRAM address that is not aligned to the polynomial",
    5: "a Galois element, element number or mask out of range",
    6: "DRAM answered with a bus error",
}


@dataclass(frozen=True)
class Traffic:
    """Bytes that crossed the data ports."""

    read: int
    written: int


class Simulation:
    """One simulated card: a machine and its DRAM.

    Args:
        config: the machine.
        twin, optimise: as `build.library`.
        waves: file for waveforms (VCD), which makes everything slower.
        stall_percent: for tests: chance per cycle that memory withholds a handshake.
        seed: of the stalls and of registers without a reset.

    Raises:
        HardwareError: it cannot be built.
    """

    def __init__(
        self,
        config: MatvecConfig,
        *,
        twin: bool = True,
        optimise: str = "-O3",
        waves: str | Path | None = None,
        stall_percent: int = 0,
        seed: int = 1,
    ) -> None:
        self.config = config
        lib = ctypes.CDLL(str(build.library(config, twin=twin, trace=waves is not None, optimise=optimise)))
        u32, u64, handle = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
        for name, result, arguments in (
            ("open", handle, (ctypes.c_uint, ctypes.c_double, ctypes.c_uint, u64)),
            ("close", None, (handle,)),
            ("reset", None, (handle,)),
            ("map", None, (handle, u64, handle, u64, ctypes.c_uint)),
            ("unmap_all", None, (handle,)),
            ("write", None, (handle, u32, u32)),
            ("read", u32, (handle, u32)),
            ("run", ctypes.c_int, (handle, u64)),
            ("bytes_read", u64, (handle, ctypes.c_uint)),
            ("bytes_written", u64, (handle, ctypes.c_uint)),
            ("clear_traffic", None, (handle,)),
            ("trace", ctypes.c_int, (handle, ctypes.c_char_p)),
        ):
            function = getattr(lib, f"rf_sim_{name}")
            function.restype, function.argtypes = result, arguments
        self._lib = lib
        self._handle = lib.rf_sim_open(config.dram_latency, config.dram_bytes_per_cycle, stall_percent, seed)
        self._mapped: list[Words] = []
        if waves is not None and not lib.rf_sim_trace(self._handle, str(waves).encode()):
            raise HardwareError(f"cannot write waveforms to {waves}")
        if self.read(Register.ID) != _ID:
            raise HardwareError("the simulated machine does not answer with its name")

    def close(self) -> None:
        """Frees the machine."""
        if self._handle:
            self._lib.rf_sim_close(self._handle)
            self._handle = None

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def read(self, register: Register) -> int:
        """A control register."""
        return int(self._lib.rf_sim_read(self._handle, int(register)))

    def write(self, register: Register, value: int) -> None:
        """Sets a control register."""
        self._lib.rf_sim_write(self._handle, int(register), value & 0xFFFFFFFF)

    def reset(self) -> None:
        """Pulls the reset line; memory keeps its contents."""
        self._lib.rf_sim_reset(self._handle)

    def map(self, address: int, words: Words, entity: int = 0) -> None:
        """Puts an array at a DRAM address, without a copy: the machine reads and writes the caller's memory.

        Raises:
            ParameterError: not contiguous 64-bit words, or too many entities.
        """
        if words.dtype != np.uint64 or not words.flags.c_contiguous:
            raise ParameterError("memory of the simulated card must be contiguous arrays of 64-bit words")
        if not 0 <= entity < MAX_ENTITIES:
            raise ParameterError(f"the simulated memory counts {MAX_ENTITIES} entities, not {entity + 1}")
        self._mapped.append(words)
        self._lib.rf_sim_map(self._handle, address, words.ctypes.data, words.nbytes, entity)

    def map_dram(self, dram: Dram, entity_of: Callable[[int], int] | None = None) -> None:
        """Maps every segment; `entity_of` gives the entity of an address."""
        for segment in dram:
            self.map(segment.address, segment.words, entity_of(segment.address) if entity_of else 0)

    def unmap_all(self) -> None:
        """Forgets all memory."""
        self._lib.rf_sim_unmap_all(self._handle)
        self._mapped.clear()

    def start(self, program: int, stride: int) -> None:
        """Starts the elements on programs at `program`, `program + stride`, ... (multiples of 4 KiB)."""
        if program % ALIGNMENT or stride % ALIGNMENT:
            raise ParameterError("programs start at multiples of 4 KiB")
        self.write(Register.PROGRAM, program)
        self.write(Register.PROGRAM_HIGH, program >> 32)
        self.write(Register.STRIDE, stride // ALIGNMENT)
        self.write(Register.CONTROL, 1)

    def advance(self, cycles: int) -> bool:
        """Runs at most so many cycles; True when the machine is done."""
        return bool(self._lib.rf_sim_run(self._handle, cycles))

    def run(
        self, program: int, stride: int, *, limit: int = 10**12, progress: Callable[[int], None] | None = None
    ) -> int:
        """Runs programs to their end and returns the cycles from the start write to done.

        Args:
            limit: cycles after which to give up.
            progress: called now and then with the cycles so far.

        Raises:
            HardwareError: the machine reports an error, or is not done within the limit.
        """
        self.start(program, stride)
        spent = 0
        while not self.advance(min(_STEP, limit - spent)):
            spent += _STEP
            if progress is not None:
                progress(spent)
            if spent >= limit:
                raise HardwareError(f"machine {self.config.name} was not done after {limit} cycles")
        self.check()
        return self.read(Register.CYCLES) | self.read(Register.CYCLES_HIGH) << 32

    def check(self) -> None:
        """Raises HardwareError when the status register says so."""
        if not self.read(Register.STATUS) & 4:
            return
        error = self.read(Register.ERROR)
        code, element = error & 15, error >> 8 & 255
        where = f"element {element}, after {self.read(Register.PC)} instructions: " if code != 6 else ""
        raise HardwareError(f"machine {self.config.name} stopped: {where}{_ERRORS.get(code, f'error {code}')}")

    def traffic(self, entities: Mapping[str, int]) -> dict[str, Traffic]:
        """Bytes by entity since the last `clear_traffic`."""
        return {
            name: Traffic(
                int(self._lib.rf_sim_bytes_read(self._handle, n)), int(self._lib.rf_sim_bytes_written(self._handle, n))
            )
            for name, n in entities.items()
        }

    def clear_traffic(self) -> None:
        """Starts counting anew."""
        self._lib.rf_sim_clear_traffic(self._handle)


def place_programs(programs: Sequence[Words]) -> tuple[Words, int]:
    """One array with the programs at equal distances, and that distance in bytes.

    Each is padded with zeros, at least one fetch buffer's worth, because elements read ahead.
    """
    words = max(p.size for p in programs) + 16 * 64
    stride = -(-8 * words // ALIGNMENT) * ALIGNMENT
    memory = np.zeros((len(programs), stride // 8), np.uint64)
    for row, program in zip(memory, programs, strict=True):
        row[: program.size] = program.reshape(-1)
    return memory.reshape(-1), stride
