# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Attack all services for so many seconds, and print a table in Markdown of what that cost honest clients.

    make attack ATTACK_SECONDS=300

Services run as processes on this machine: all, or those that are named after the seconds. One attack after the other
goes to all of them at once; honest clients of each call all the time. Whoever is not answered tries again; an answer
that does not come within PATIENCE seconds is lost. Exit code 1 when one is lost or wrong, or a service does not end
when it is told to.
"""

from __future__ import annotations

import http.client
import shutil
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from ringforge.errors import Error
from ringforge.serving.quota import QuotaError
from ringforge.serving.sessions import BusyError
from tests.attack import kinds
from tests.attack.services import PATIENCE, Service, WrongError, all_services, room

#: Seconds of one round of all attacks, about; longer runs have more rounds.
ROUND = 240.0


@dataclass
class Row:
    """Of one service under one attack."""

    counts: Counter[str] = field(default_factory=Counter)
    longest: float = 0.0


class Field:
    """Services, honest clients, and the attack that is going on."""

    def __init__(self, services: list[Service]) -> None:
        self.services, self.now, self.over = services, "none", threading.Event()
        self.rows: dict[tuple[str, str], Row] = {}
        self._lock = threading.Lock()
        self.said: list[str] = []

    def count(self, service: Service, attack: str, what: str, seconds: float = 0.0) -> None:
        """Count one of something."""
        with self._lock:
            row = self.rows.setdefault((service.name, attack), Row())
            row.counts[what] += 1
            row.longest = max(row.longest, seconds)

    def say(self, service: Service, attack: str, words: object) -> None:
        """Keep what must be looked at."""
        with self._lock:
            self.said.append(f"{time.strftime('%H:%M:%S')} {service.name}, {attack}: {words}"[:300])

    def call(self, service: Service) -> bool:
        """One call of an honest client, tried again until it is answered or refused with a word."""
        attack, start, tries = self.now, time.monotonic(), 0
        self.count(service, attack, "calls")
        while True:
            try:
                service.call()
                self.count(service, attack, "right", time.monotonic() - start)
                return True
            except WrongError as e:
                self.count(service, attack, "wrong")
                self.say(service, attack, e)
                return False
            except (BusyError, QuotaError) as e:
                self.count(service, attack, "refused")
                self.say(service, attack, e)
                return False
            except (Error, OSError, AssertionError) as e:
                tries += 1
                self.count(service, attack, "again")
                if time.monotonic() - start > PATIENCE:
                    self.count(service, attack, "lost")
                    self.say(service, attack, f"lost after {tries}: {e!r}")
                    return False
                time.sleep(0.5)

    def honest(self, service: Service) -> None:
        """Calls all the time."""
        while not self.over.is_set():
            with service.lock:
                pass  # it is being started again
            self.call(service)
            self.over.wait(0.3)

    def watch(self, service: Service) -> None:
        """Starts what has ended; compares what /readyz says with what a client finds."""
        while not self.over.wait(1):
            attack = self.now
            if service.supervise():
                self.count(service, attack, "restarts")
                continue
            for attempt in range(3):  # both may change between one and the other
                if ready(service) == self._served(service):
                    self.count(service, attack, "agreed")
                    break
                if attempt == 2:
                    self.count(service, attack, "disagreed")
                    self.say(service, attack, "readyz did not agree")
                time.sleep(0.5)

    def _served(self, service: Service) -> bool:
        try:
            service.call()
        except (Error, OSError, WrongError, AssertionError):
            return False
        return True


def ready(service: Service) -> bool:
    """What /readyz says."""
    host, _, port = service.metrics.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=8)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def attack(ground: Field, name: str, seconds: float) -> None:
    """One attack on all services at once."""
    ground.now, over = name, threading.Event()
    kind = {**kinds.ALL, **kinds.GRPC}[name]

    def one(service: Service) -> None:
        try:
            kind(service, over)
        except Exception as e:
            ground.say(service, name, f"the attack itself failed: {e!r}")

    hit = [s for s in ground.services if s.methods or name in kinds.ALL]
    threads = [threading.Thread(target=one, args=(s,)) for s in hit]
    for t in threads:
        t.start()
    time.sleep(seconds)
    over.set()
    for t in threads:
        t.join()


def table(ground: Field) -> str:
    """What it was, in Markdown."""
    heads = ["service", "attack", "calls", "right", "refused", "wrong", "lost", "tried again", "longest s"]
    heads += ["restarts", "readyz agreed"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for service in ground.services:
        for name in [*kinds.ALL, *kinds.GRPC]:
            row = ground.rows.get((service.name, name))
            if row is None:
                continue
            c = row.counts
            looks = c["agreed"] + c["disagreed"]
            cells = [service.name, name, *(str(c[k]) for k in ("calls", "right", "refused", "wrong", "lost", "again"))]
            cells += [f"{row.longest:.1f}", str(c["restarts"]), f"{c['agreed']} of {looks}"]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    """Entry point."""
    seconds, folder = float(sys.argv[1]), room()
    services = [s for s in all_services(folder) if not sys.argv[2:] or s.name in sys.argv[2:]]
    for service in services:
        service.start()
        service.call()
    ground = Field(services)
    threads = [threading.Thread(target=f, args=(s,)) for s in services for f in (ground.honest, ground.watch)]
    for t in threads:
        t.start()
    names = [*kinds.ALL, *kinds.GRPC]
    rounds = max(1, round(seconds / ROUND))
    start = time.monotonic()
    for _ in range(rounds):
        for name in names:
            attack(ground, name, seconds / rounds / len(names))
    took = time.monotonic() - start
    ground.now = "none"
    ground.over.set()
    for t in threads:
        t.join(PATIENCE + 30)
    codes = {s.name: (s.stop(), time.monotonic()) for s in services}
    print(table(ground))
    print(f"\n{took:.0f} s, {rounds} rounds of {len(names)} attacks; exit codes at SIGTERM:", end=" ")
    print(", ".join(f"{name} {code}" for name, (code, _) in codes.items()))
    for line in ground.said[:60]:
        print(line, file=sys.stderr)
    bad = sum(r.counts["wrong"] + r.counts["lost"] for r in ground.rows.values())
    if not bad and all(code is not None for code, _ in codes.values()):
        shutil.rmtree(folder, ignore_errors=True)
        return 0
    print(f"see {folder}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
