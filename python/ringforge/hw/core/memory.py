# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Kinds of memory behind a machine's ports: one with a latency and a rate, and two with banks, rows and refresh.

`simple`: reads answer after the configuration's latency, all ports together move what its rate says. Saved cycles are
of this kind.

`ddr4-2400` and `hbm2`: channels with banks, each with one open row. AXI bursts, which cross no 4 KiB border, go to
channel (address / 4 KiB) mod channels; a channel serves them in the order of their coming, and opens rows for those
that wait while data move. An access to an idle bank answers after the configuration's latency, one to an open row
earlier by tRCD; a bank with another row open precharges it first. A change between reading and writing costs the
bus's turnaround; every tREFI all banks of a channel are closed for tRFC. What is left out: reordering, tFAW and tRRD
(rows here are long enough not to meet them), bank groups (streams alternate between them), ranks.

Figures, and where they are from:

* ddr4-2400: JESD79-4B, speed bin 2400T (17-17-17), 8 Gb chips of 4 bits; as in `DDR4_8Gb_x4_2400.ini` of DRAMsim3
  (github.com/umd-memsys/DRAMsim3). A channel is 64 bits at 2,400 MT/s, 19.2 GB/s; a row is 1,024 columns, 8 KiB; 16
  banks. There are as many channels as the configuration's rate has room for: 4 on an Alveo U200, whose 77 GB/s are
  four channels by UG1393.
* hbm2: JESD235B, 8 Gb a channel; as in `HBM2_8Gb_x128.ini` of DRAMsim3, whose row of 64 columns of 128 bits is 1 KiB;
  16 banks. A port is a pseudo channel of 256 bits at 450 MHz, 14.4 GB/s; there are 32 of them (PG276, UG1393: "32
  pseudo channels", 460 GB/s), whatever the configuration's rate.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Final, Literal, get_args

from ringforge.hw.core.config import MachineConfig, MemoryPorts

Kind = Literal["simple", "ddr4-2400", "hbm2"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

#: Parts of a cycle in which such memory is timed, by simulation and replica alike.
UNIT: Final = 256
#: Bytes of consecutive addresses on one channel: the border that AXI bursts do not cross.
STRIPE: Final = 4096
#: Channel that simple memory asks first in the cycle of a run's start write, of 2 to a port: reads, then writes.
FIRST_TURN: Final = 6


@dataclass(frozen=True)
class Device:
    """A channel of memory: times in nanoseconds.

    Attributes:
        bytes_per_second: of its bus.
        banks: that may have a row open each.
        row_bytes: of a row.
        cl, rcd, rp, ras, wr: column access, activate to column, precharge, activate to precharge, end of written data
            to precharge.
        turnaround: of the bus between reading and writing: write to read, tWTR and the write latency over it.
        refi, rfc: from refresh to refresh, and how long one takes.
        channels: how many there are; 0: as many as the machine's rate has room for.
    """

    bytes_per_second: float
    banks: int
    row_bytes: int
    cl: float
    rcd: float
    rp: float
    ras: float
    wr: float
    turnaround: float
    refi: float
    rfc: float
    channels: int = 0


_CK: Final = 1 / 1.2  # of DDR4-2400
DEVICES: Final[dict[str, Device]] = {
    "ddr4-2400": Device(
        19.2e9, 16, 8192, 17 * _CK, 17 * _CK, 17 * _CK, 39 * _CK, 18 * _CK, 9 * _CK, 9360 * _CK, 420 * _CK
    ),
    "hbm2": Device(14.4e9, 16, 1024, 14.0, 14.0, 14.0, 34.0, 16.0, 8.0, 3900.0, 260.0, channels=32),
}


@dataclass(frozen=True)
class Timing:
    """A memory of banks in a machine's cycles: times in 1/256 cycle. The order is that of the simulation.

    Attributes:
        channels, banks, row_bytes: as in `Device`.
        front: from a request at the port to its first command.
        pace: of one beat of a port on a channel's bus.
        cl, rcd, rp, ras, wr, turnaround, refi, rfc: as in `Device`.
    """

    channels: int
    banks: int
    row_bytes: int
    front: int
    pace: int
    cl: int
    rcd: int
    rp: int
    ras: int
    wr: int
    turnaround: int
    refi: int
    rfc: int

    @classmethod
    def of(cls, config: MachineConfig, memory: MemoryPorts | None = None) -> Timing | None:
        """The timing of one of a machine's memories, by default of the first; None for the simple kind."""
        memory = memory or config.memories()[0]
        device = DEVICES.get(memory.kind)
        if device is None:
            return None

        def units(nanoseconds: float) -> int:
            return round(nanoseconds * 1e-9 * config.clock_hz * UNIT)

        pace = max(1, units(1e9 * config.port_bytes / device.bytes_per_second))
        cl, rcd = units(device.cl), units(device.rcd)
        return cls(
            channels=memory.channels
            or device.channels
            or max(1, round(memory.bytes_per_second / device.bytes_per_second)),
            banks=device.banks,
            row_bytes=device.row_bytes,
            front=max(0, memory.latency * UNIT - rcd - cl - pace),
            pace=pace,
            cl=cl,
            rcd=rcd,
            rp=units(device.rp),
            ras=units(device.ras),
            wr=units(device.wr),
            turnaround=units(device.turnaround),
            refi=units(device.refi),
            rfc=units(device.rfc),
        )

    @property
    def numbers(self) -> tuple[int, ...]:
        """All of them in order."""
        return astuple(self)

    @property
    def rate(self) -> float:
        """Beats of a port per cycle that all channels sustain at most, refreshes taken off."""
        return self.channels * UNIT / self.pace * (1 - self.rfc / self.refi)
