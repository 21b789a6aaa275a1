# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Exchange between elements in the replica: the bus of a group, the reduction unit, barriers."""

from __future__ import annotations

from typing import Final, Protocol

from ringforge.hw.vector.replica_memory import ARRIVE, DECIDE, NEVER, Events

# Cycles from the grant, besides the rows of the polynomial.
#: Sender seen idle, bus free for the next transfer, receiver seen idle.
SEND_DRAIN: Final = 5
BUS_DRAIN: Final = 5
RECEIVE_DRAIN: Final = 8
#: Reduction unit free and receiving side idle, besides a cycle per level of the adder tree.
REDUCTION_DRAIN: Final = 6
REDUCED_DRAIN: Final = 9


class Member(Protocol):
    """An element, as those between elements see it."""

    @property
    def pe(self) -> int:
        """Index in its group."""

    @property
    def rows(self) -> int:
        """Rows of a polynomial."""

    def exchanged(self, out: int | None, into: int | None) -> None:
        """A transfer was granted: when its units will be idle."""

    def met(self, now: int, _: int) -> None:
        """The barrier is open."""


class Bus:
    """The bus of a group (vector_bus): the lowest sender all of whose receivers wait for it goes first."""

    __slots__ = ("_events", "_free", "_members", "_planned", "_receivers", "_senders", "busy")

    def __init__(self, events: Events, pes: int) -> None:
        self._events = events
        #: Of each member, when it asks to send and to whom, and when it waits for whom.
        self._senders: list[tuple[int, int]] = [(NEVER, 0)] * pes
        self._receivers: list[tuple[int, int]] = [(NEVER, -1)] * pes
        self._members: list[Member] = []
        self._free = 0
        self._planned = NEVER
        self.busy = 0

    def attach(self, element: Member) -> None:
        """Adds the next member."""
        self._members.append(element)

    def send(self, element: Member, time: int, mask: int) -> None:
        """An element asks to send from a cycle on."""
        self._senders[element.pe] = (time, mask)
        self._plan(time)

    def receive(self, element: Member, time: int, source: int) -> None:
        """An element waits for a sender from a cycle on."""
        self._receivers[element.pe] = (time, source)
        self._plan(time)

    def _plan(self, time: int) -> None:
        self._events.at(max(time, self._free), DECIDE, self._decide)

    def _decide(self, now: int, _: int) -> None:
        if now < self._free:
            return  # a decision is planned for when the bus is free
        for source, (asked, mask) in enumerate(self._senders):
            if asked > now:
                continue
            receivers = [pe for pe in range(len(self._members)) if mask >> pe & 1]
            if all(self._receivers[pe][0] <= now and self._receivers[pe][1] == source for pe in receivers):
                self._transfer(now, source, receivers)
                return

    def _transfer(self, now: int, source: int, receivers: list[int]) -> None:
        rows = self._members[source].rows
        self._free = now + rows + BUS_DRAIN
        self.busy += self._free - now
        self._events.at(self._free, DECIDE, self._decide)
        self._senders[source] = (NEVER, 0)
        for pe in receivers:
            self._receivers[pe] = (NEVER, -1)
        self._members[source].exchanged(now + rows + SEND_DRAIN, None)
        for pe in receivers:
            self._members[pe].exchanged(None, now + rows + RECEIVE_DRAIN)


class Reduction:
    """The partial-sum reduction unit (matvec_reduce): the lowest element index for which all groups ask goes first."""

    __slots__ = ("_asked", "_events", "_free", "_groups", "_levels", "busy")

    def __init__(self, events: Events, groups: int, pes: int) -> None:
        self._events = events
        self._groups = groups
        self._levels = (groups - 1).bit_length()
        self._asked: list[list[tuple[int, Member]]] = [[] for _ in range(pes)]
        self._free = 0
        self.busy = 0

    def ask(self, element: Member, time: int) -> None:
        """An element asks from a cycle on."""
        asked = self._asked[element.pe]
        asked.append((time, element))
        if len(asked) == self._groups:
            self._events.at(max(self._free, *(t for t, _ in asked), 0), DECIDE, self._decide)

    def _decide(self, now: int, _: int) -> None:
        if now < self._free:
            return
        for asked in self._asked:
            if len(asked) == self._groups and max(t for t, _ in asked) <= now:
                rows = asked[0][1].rows
                self._free = now + rows + REDUCTION_DRAIN + self._levels
                self.busy += self._free - now
                self._events.at(self._free, DECIDE, self._decide)
                elements = [e for _, e in asked]
                asked.clear()
                for e in elements:
                    e.exchanged(now + rows + SEND_DRAIN, now + rows + REDUCED_DRAIN + self._levels)
                return


class Barrier:
    """A barrier of a group or of the machine: it opens the cycle after the last member has come."""

    __slots__ = ("_arrived", "_events", "_latest", "_members")

    def __init__(self, events: Events, members: int) -> None:
        self._events = events
        self._members = members
        self._arrived: list[Member] = []
        self._latest = 0

    def arrive(self, element: Member, time: int) -> None:
        """A member waits from a cycle on."""
        self._arrived.append(element)
        self._latest = max(self._latest, time)
        if len(self._arrived) == self._members:
            for e in self._arrived:
                self._events.at(self._latest + 1, ARRIVE, e.met)
            self._arrived.clear()
