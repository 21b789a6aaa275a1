# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The Verilated machine, driven through its control registers and its memory as a host drives a card."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from ringforge.errors import HardwareError, ParameterError
from ringforge.hw.core import build
from ringforge.hw.core import machine as descriptors
from ringforge.hw.core.config import MachineConfig
from ringforge.hw.core.dram import ALIGNMENT, Dram
from ringforge.hw.core.memory import FIRST_TURN, Timing
from ringforge.hw.core.registers import COUNTER_BITS, Register, errors, field

Words = npt.NDArray[np.uint64]
C = TypeVar("C", bound=MachineConfig)

#: Entity numbers beyond this are refused by the simulated memory.
MAX_ENTITIES: Final = 16
_STEP: Final = 200_000
#: Cycles from the driver's call that writes the start to the cycle in which the machine takes it.
_AHEAD: Final = 1
#: Cycles that an aborted run may take to its end: what memory has granted is carried through.
_DRAIN: Final = 1_000_000
#: Error code of the ports.
_BUS: Final = 6


@dataclass(frozen=True)
class Traffic:
    """Bytes that crossed the data ports."""

    read: int
    written: int


class Simulation(Generic[C]):
    """One simulated card: a machine and its DRAM.

    One thread at a time drives it: while one is in a call, calls of others are refused, but for `abort`. After a fork
    it stays with the process that opened it.

    Args:
        config: the machine.
        twin, optimise: as `build.library`.
        waves: file for waveforms (VCD), which makes everything slower.
        stall_percent: for tests: chance per cycle that memory withholds a handshake.
        seed: of the stalls and of registers without a reset.

    Raises:
        HardwareError: it cannot be built, or does not answer.
        ParameterError: no machine has such configurations, or its ports cannot be simulated.
    """

    def __init__(
        self,
        config: C,
        *,
        twin: bool = True,
        optimise: str = "-O3",
        waves: str | Path | None = None,
        stall_percent: int = 0,
        seed: int = 1,
    ) -> None:
        self._handle: int | None = None
        self._process = os.getpid()
        self._turn = threading.RLock()
        self._aborting = threading.Event()
        self._running = False
        self._mapped: list[Words] = []
        self.config = config
        self.machine = descriptors.of(config)
        self._lib = _open(build.library(config, twin=twin, trace=waves is not None, optimise=optimise))
        memories = config.memories()
        rates = [m.bytes_per_second / config.clock_hz for m in memories]
        self._handle = self._lib.rf_sim_open(memories[0].latency, rates[0], stall_percent, seed)
        if len(memories) > 1:
            numbers = ctypes.c_uint * len(memories)
            self._lib.rf_sim_memories(
                self._handle, len(memories), numbers(*(m.ports for m in memories)),
                numbers(*(m.latency for m in memories)), (ctypes.c_double * len(memories))(*rates),
            )  # fmt: skip
        for index, memory in enumerate(memories):
            timing = Timing.of(config, memory)
            if timing is not None:
                self._lib.rf_sim_banks(self._handle, index, (ctypes.c_int64 * len(timing.numbers))(*timing.numbers))
        if waves is not None and not self._lib.rf_sim_trace(self._handle, str(waves).encode()):
            raise HardwareError(f"cannot write waveforms to {waves}: name a file in a folder that can be written")
        if self.read(Register.ID) != self.machine.identity:
            raise HardwareError(
                f"the simulated machine {config.name} does not answer with its name: its top and the descriptor of "
                f"machine {self.machine.name} differ in the register ID"
            )

    @property
    def here(self) -> bool:
        """Whether this process may use it: it is open, and was opened here."""
        return self._handle is not None and self._process == os.getpid()

    @contextmanager
    def _alone(self) -> Iterator[int]:
        """The handle, for a thread that has the machine to itself meanwhile."""
        if self._process != os.getpid():
            raise HardwareError(
                f"the simulated machine {self.config.name} was opened before a fork: open another in this process"
            )
        if not self._turn.acquire(blocking=False):
            raise HardwareError(
                f"another thread is using the simulated machine {self.config.name}: take turns, or open another"
            )
        try:
            if self._handle is None:
                raise HardwareError(f"the simulated machine {self.config.name} is closed: open another")
            yield self._handle
        finally:
            self._turn.release()

    def close(self) -> None:
        """Frees the machine.

        Raises:
            HardwareError: another thread is using it.
        """
        if self._handle is None or self._process != os.getpid():
            return
        with self._alone() as handle:
            self._lib.rf_sim_close(handle)
            self._handle = None
            self._mapped.clear()

    def __enter__(self) -> Simulation[C]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    # ---- registers ----

    def read(self, register: int) -> int:
        """A control register.

        Raises:
            HardwareError: the machine answers with an error, or not at all.
        """
        value = ctypes.c_uint32()
        with self._alone() as handle:
            self._answered(self._lib.rf_sim_read(handle, int(register), ctypes.byref(value)), "reading", register)
        return int(value.value)

    def write(self, register: int, value: int) -> None:
        """Sets a control register.

        Raises:
            HardwareError: as `read`.
        """
        with self._alone() as handle:
            self._answered(self._lib.rf_sim_write(handle, int(register), value & 0xFFFFFFFF), "writing", register)

    def _answered(self, code: int, what: str, register: int) -> None:
        if code:
            how = "with an error" if code == 1 else "not at all"
            raise HardwareError(f"machine {self.config.name} answers {how} to {what} register {int(register):#x}")

    # ---- memory ----

    def map(self, address: int, words: Words, entity: int = 0) -> None:
        """Puts an array at a DRAM address, without a copy: the machine reads and writes the caller's memory.

        Raises:
            ParameterError: not contiguous 64-bit words that may be written, or too many entities.
        """
        if words.dtype != np.uint64 or not words.flags.c_contiguous:
            raise ParameterError("memory of the simulated card must be contiguous arrays of 64-bit words")
        if not 0 <= entity < MAX_ENTITIES:
            raise ParameterError(f"the simulated memory counts {MAX_ENTITIES} entities, not {entity + 1}")
        if not 0 <= address < 1 << build.ADDRESS_BITS:
            raise ParameterError(f"address {address:#x} is not one of {build.ADDRESS_BITS} bits")
        with self._alone() as handle:
            self._mapped.append(words)
            self._lib.rf_sim_map(handle, address, words.ctypes.data, words.nbytes, entity)

    def map_dram(self, dram: Dram, entity_of: Callable[[int], int] | None = None) -> None:
        """Maps every segment; `entity_of` gives the entity of an address."""
        for segment in dram:
            self.map(segment.address, segment.words, entity_of(segment.address) if entity_of else 0)

    def unmap_all(self) -> None:
        """Forgets all memory."""
        with self._alone() as handle:
            self._lib.rf_sim_unmap_all(handle)
            self._mapped.clear()

    def traffic(self, entities: Mapping[str, int]) -> dict[str, Traffic]:
        """Bytes by entity since the last `clear_traffic`."""
        with self._alone() as handle:
            return {
                name: Traffic(
                    int(self._lib.rf_sim_bytes_read(handle, n)), int(self._lib.rf_sim_bytes_written(handle, n))
                )
                for name, n in entities.items()
            }

    def clear_traffic(self) -> None:
        """Starts counting anew."""
        with self._alone() as handle:
            self._lib.rf_sim_clear_traffic(handle)

    # ---- runs ----

    def reset(self) -> None:
        """Pulls the reset line; memory keeps its contents."""
        with self._alone() as handle:
            self._lib.rf_sim_reset(handle)
            self._running = False

    def start(self, program: int = 0, stride: int = 0) -> None:
        """Starts the elements, on programs at `program`, `program + stride`, ... (multiples of 4 KiB) if they run any.

        Raises:
            ParameterError: they are none.
            HardwareError: the machine is in a run.
        """
        if program % ALIGNMENT or stride % ALIGNMENT:
            raise ParameterError("programs start at multiples of 4 KiB")
        with self._alone():
            if self._running:
                raise HardwareError(f"machine {self.config.name} is in a run: wait for its end, or abort it")
            self.write(Register.PROGRAM, program)
            self.write(Register.PROGRAM_HIGH, program >> 32)
            self.write(Register.STRIDE, stride // ALIGNMENT)
            self.write(Register.ISR, field("ISR", "DONE").mask)
            # Whatever ran before, memory does the same in every run.
            self._lib.rf_sim_begin(self._handle, _AHEAD, FIRST_TURN)
            self.write(Register.CTRL, field("CTRL", "START").mask)
            self._running = True

    def advance(self, cycles: int) -> bool:
        """Runs at most so many cycles; True when the machine is done."""
        with self._alone() as handle:
            done = bool(self._lib.rf_sim_run(handle, cycles))
            self._running = self._running and not done
            return done

    def run(
        self,
        program: int = 0,
        stride: int = 0,
        *,
        limit: int = 10**12,
        silence: int = 50_000_000,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Runs the elements (as `start`) to their end and returns the cycles from the start write to done.

        A run that does not come to its end, because a limit is reached, `abort` is called or `progress` raises, is
        ended: the next one starts from the machine's initial state.

        Args:
            limit: cycles after which to give up.
            silence: cycles without a beat from or to memory after which to give up.
            progress: called now and then with the cycles so far.

        Raises:
            ParameterError: a limit below 0, or programs as `start`.
            HardwareError: the machine reports an error, is not done within a limit, or is aborted.
        """
        if min(limit, silence) < 0:
            raise ParameterError(f"limits are 0 cycles or more, not {min(limit, silence)}")
        with self._alone() as handle:
            self._aborting.clear()
            self.start(program, stride)
            spent = quiet = 0
            beats = self._lib.rf_sim_beats(handle)
            try:
                while not self.advance(step := min(_STEP, limit - spent)):
                    spent += step
                    moved = self._lib.rf_sim_beats(handle)
                    quiet, beats = (0, moved) if moved != beats else (quiet + step, beats)
                    if self._aborting.is_set():
                        raise HardwareError(f"machine {self.config.name} was aborted after {spent} cycles")
                    if spent >= limit:
                        raise HardwareError(f"machine {self.config.name} was not done after {limit} cycles")
                    if quiet >= silence:
                        raise HardwareError(
                            f"machine {self.config.name} moved nothing for {quiet} cycles: its programs wait for each "
                            "other"
                        )
                    if progress is not None:
                        progress(spent)
            except BaseException:
                self._end()
                raise
            self.check()
            return self.read(Register.CYCLES) | self.read(Register.CYCLES_HIGH) << 32

    def abort(self) -> None:
        """Ends the run that another thread is in, if there is one: its `run` raises soon. Any thread may call it."""
        self._aborting.set()

    def _end(self) -> None:
        """Ends a run that was given up: by the machine's abort, or by reset where memory or machine do not answer."""
        if self.here and self._running:
            self.write(Register.COMMAND, field("COMMAND", "ABORT").mask)
            if not self.advance(_DRAIN):
                self.reset()

    def watch(self, cycles: int) -> None:
        """Sets the machine's watchdog: runs that take longer end with an error. 0: none.

        Raises:
            ParameterError: more cycles than its register holds.
        """
        if not 0 <= cycles < 1 << COUNTER_BITS:
            raise ParameterError(f"the watchdog counts up to 2^{COUNTER_BITS} cycles, not {cycles}")
        with self._alone():
            self.write(Register.WATCHDOG, cycles)
            self.write(Register.WATCHDOG_HIGH, cycles >> 32)

    def check(self) -> None:
        """Raises HardwareError when the status register says so."""
        with self._alone():
            if not self.read(Register.STATUS) & field("STATUS", "ERROR").mask:
                return
            error = self.read(Register.ERROR)
            code, element = field("ERROR", "CODE").of(error), field("ERROR", "ELEMENT").of(error)
            shell = errors()
            if code == _BUS:
                where = f"port {element}"
            else:
                where = f"element {element}, after {self.read(Register.PC)} instructions"
            words = shell.get(code) or self.machine.errors.get(code, f"error {code}")
            raise HardwareError(f"machine {self.config.name} stopped: {where}: {words}")


def _open(path: Path) -> ctypes.CDLL:
    try:
        lib = ctypes.CDLL(str(path))
    except OSError as e:
        raise HardwareError(f"the simulation {path} cannot be loaded ({e}): delete it, and it is built anew") from None
    u32, u64, handle = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
    for name, result, arguments in (
        ("open", handle, (ctypes.c_uint, ctypes.c_double, ctypes.c_uint, u64)),
        ("close", None, (handle,)),
        (
            "memories",
            None,
            (handle, ctypes.c_uint, *(ctypes.POINTER(t) for t in (ctypes.c_uint, ctypes.c_uint, ctypes.c_double))),
        ),
        ("banks", None, (handle, ctypes.c_uint, ctypes.POINTER(ctypes.c_int64))),
        ("begin", None, (handle, ctypes.c_uint, ctypes.c_uint)),
        ("reset", None, (handle,)),
        ("map", None, (handle, u64, handle, u64, ctypes.c_uint)),
        ("unmap_all", None, (handle,)),
        ("write", ctypes.c_int, (handle, u32, u32)),
        ("read", ctypes.c_int, (handle, u32, ctypes.POINTER(u32))),
        ("run", ctypes.c_int, (handle, u64)),
        ("beats", u64, (handle,)),
        ("bytes_read", u64, (handle, ctypes.c_uint)),
        ("bytes_written", u64, (handle, ctypes.c_uint)),
        ("clear_traffic", None, (handle,)),
        ("trace", ctypes.c_int, (handle, ctypes.c_char_p)),
    ):
        function = getattr(lib, f"rf_sim_{name}")
        function.restype, function.argtypes = result, arguments
    return lib


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
