# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The suite that every device passes: `python -m ringforge.devices.conformance NAME --import MODULE`.

It runs cases of each kernel that the device runs, with fixed seeds, and holds results against those of `cpu`: in every
word, or by value where the device does not encrypt. MODULE registers the device, if it is no installed one.

In a test: `for name, check in conformance.checks(device): check()`. A check raises AssertionError, with what is wrong.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import errors
from ringforge.devices.base import Buffer, Device, Handle, KeySet, Report, kernels
from ringforge.devices.registry import cases_of, import_kernels, open_device

Words = Sequence[npt.NDArray[Any]]


@dataclass(frozen=True)
class Given:
    """What one run takes.

    Attributes:
        keys, operands: for `prepare`.
        inputs: makes the inputs, new ones each time.
        reveal: what results mean, for comparisons by value.
    """

    keys: KeySet
    operands: Any
    inputs: Callable[[], list[Any]]
    reveal: Callable[[list[Any]], npt.NDArray[np.float64]]


@dataclass(frozen=True)
class Refusal:
    """Something that is wrong: it must be refused by `prepare` or by `run`.

    Attributes:
        what: in words.
        errors: the error must be one of these.
        given: of the run.
        secrecy: a device that does not encrypt may take it: keys are missing, or of others.
    """

    what: str
    errors: tuple[type[Exception], ...]
    given: Given
    secrecy: bool = False


@dataclass(frozen=True)
class Case:
    """A kernel with all that a run takes, and ways to look at its results.

    Attributes:
        name: of the case, after the kernel's.
        kernel: what is run.
        given: with encryption.
        clear: the same without, for devices that do not encrypt; None: values are not compared.
        words: all words of a host object, a result or an input.
        facts: its metadata.
        tolerance: of values.
        exact: results are determined to the last bit; False where each has fresh randomness, and values are compared.
        taken: numbers of the inputs that the kernel takes over; others stay as they are.
        then: the next kernel of a chain, and how its inputs come of the first one's results.
        refusals: what is wrong.
    """

    name: str
    kernel: Any
    given: Given
    clear: Given | None
    words: Callable[[Any], Words]
    facts: Callable[[Any], Any] = lambda _: None
    tolerance: float = 0.0
    exact: bool = True
    taken: frozenset[int] = frozenset()
    then: tuple[Any, Callable[[list[Any]], list[Any]]] | None = None
    refusals: Sequence[Refusal] = field(default_factory=tuple)

    @property
    def title(self) -> str:
        """Kernel and case."""
        return f"{type(self.kernel).__name__} {self.name}"


class _Elsewhere(Buffer):
    """A result in the memory of a device that there is not."""

    def __init__(self) -> None:
        super().__init__("elsewhere")


class _Unknown:
    """A kernel that no device runs."""

    def needs(self) -> Any:
        raise AssertionError("a device asks for the needs of a kernel only if it runs it")


class _Suite:
    """The checks of one case on one device."""

    def __init__(self, device: Device, case: Case) -> None:
        self.device, self.case = device, case
        given = case.given if device.encrypts else case.clear
        assert given is not None
        self.given = given
        self.exact = case.exact and device.encrypts

    @cached_property
    def cpu(self) -> Device:
        return open_device("cpu")

    @cached_property
    def handle(self) -> Handle:
        return self.device.prepare(self.case.kernel, self.given.keys, self.given.operands)

    @cached_property
    def expected(self) -> tuple[list[Any], Report]:
        """Of `cpu`, which encrypts."""
        given = self.case.given
        return self.cpu.run(self.cpu.prepare(self.case.kernel, given.keys, given.operands), given.inputs())

    def run(self, threads: int = 1) -> list[Any]:
        """Results on the host."""
        outputs, _ = self.device.run(self.handle, self.given.inputs(), threads=threads)
        return [self.device.download(x) for x in outputs]

    def equal(self, outputs: list[Any], expected: list[Any]) -> None:
        """Holds results against those of `cpu`."""
        case = self.case
        assert len(outputs) == len(expected), f"{len(outputs)} results, cpu has {len(expected)}"
        if not self.exact:
            got, want = self.given.reveal(outputs), case.given.reveal(expected)
            assert got.shape == want.shape, f"values of shape {got.shape}, on cpu {want.shape}"
            assert np.abs(got - want).max(initial=0.0) <= case.tolerance, "values differ from those of cpu"
            return
        for i, (a, b) in enumerate(zip(outputs, expected, strict=True)):
            assert case.facts(a) == case.facts(b), f"result {i} has {case.facts(a)}, on cpu {case.facts(b)}"
            for x, y in zip(case.words(a), case.words(b), strict=True):
                assert np.array_equal(x, y), f"words of result {i} differ from those of cpu"

    def same(self, a: list[Any], b: list[Any]) -> bool:
        """Two results of this device."""
        if not self.exact:
            return np.array_equal(self.given.reveal(a), self.given.reveal(b))
        return all(
            np.array_equal(x, y)
            for p, q in zip(a, b, strict=True)
            for x, y in zip(self.case.words(p), self.case.words(q), strict=True)
        )

    # ---- checks ----

    def results_are_those_of_cpu(self) -> None:
        for threads in (1, 2):
            self.equal(self.run(threads), self.expected[0])

    def inputs_stay(self) -> None:
        if not self.device.encrypts:
            return
        given, fresh = self.given.inputs(), self.given.inputs()
        self.device.run(self.handle, given)
        for i, (x, y) in enumerate(zip(given, fresh, strict=True)):
            if i not in self.case.taken:
                assert all(map(np.array_equal, self.case.words(x), self.case.words(y))), f"input {i} was changed"

    def threads_share_a_handle(self) -> None:
        once, found, start = self.run(), list[list[Any]](), threading.Barrier(2)

        def work() -> None:
            start.wait()
            found.append(self.run())

        both = [threading.Thread(target=work) for _ in range(2)]
        for t in both:
            t.start()
        for t in both:
            t.join()
        assert len(found) == 2, "a run failed beside another one of the same handle"
        assert all(self.same(once, x) for x in found), "two threads on one handle disturb each other"

    def results_are_inputs_without_a_download(self) -> None:
        if self.case.then is None:
            return
        kernel, inputs_of = self.case.then

        def chain(device: Device, given: Given) -> list[Any]:
            first = device.prepare(self.case.kernel, given.keys, given.operands)
            outputs, _ = device.run(first, given.inputs())
            second = device.prepare(kernel, given.keys, given.operands)
            outputs, _ = device.run(second, inputs_of(outputs))
            return [device.download(x) for x in outputs]

        self.equal(chain(self.device, self.given), chain(self.cpu, self.case.given))

    def downloads_are_host_objects(self) -> None:
        outputs, _ = self.device.run(self.handle, self.given.inputs())
        for x in outputs:
            assert not isinstance(x, Buffer) or x.device == self.device.name, "a result names another device"
            host = self.device.download(x)
            assert not isinstance(host, Buffer), "a download is a buffer"
            assert self.device.download(host) is host, "a host object changes when it is downloaded"

    def others_results_are_refused(self) -> None:
        inputs = self.given.inputs()
        for i in range(len(inputs)):
            _refused(
                (errors.MismatchError,),
                "an input in another device's memory",
                partial(self.device.run, self.handle, [*inputs[:i], _Elsewhere(), *inputs[i + 1 :]]),
            )
        _refused((errors.MismatchError,), "a download of another device's", partial(self.device.download, _Elsewhere()))

    def others_handles_are_refused(self) -> None:
        h = self.handle
        foreign = Handle("elsewhere", h.kernel, h.implementation, 0.0, h.state)
        _refused(
            (errors.MismatchError,), "another device's handle", partial(self.device.run, foreign, self.given.inputs())
        )

    def what_is_wrong_is_refused(self) -> None:
        for refusal in self.case.refusals:
            if refusal.secrecy and not self.device.encrypts:
                continue

            def attempt(given: Given = refusal.given) -> None:
                handle = self.device.prepare(self.case.kernel, given.keys, given.operands)
                self.device.run(handle, given.inputs())

            _refused(refusal.errors, refusal.what, attempt)
        self.run()

    def reports_are_honest(self) -> None:
        _, report = self.device.run(self.handle, self.given.inputs())
        assert report.device == self.device.name, f"the report names {report.device}"
        assert report.seconds > 0, "a run took no time"
        assert (report.cycles is None) == (report.clock_hz is None), "cycles and clock go together"
        for name, count in (*report.bytes.items(), *report.operations.items()):
            assert count >= 0, f"{name} is counted {count} times"
        theirs = self.expected[1].operations
        for name, count in report.operations.items():
            assert theirs.get(name, count) == count, f"{count} {name}, cpu counts {theirs[name]}"
        assert (report + report).seconds == 2 * report.seconds, "reports do not add up"

    def handles_know_their_kernel(self) -> None:
        assert self.handle.device == self.device.name
        assert self.handle.kernel is self.case.kernel
        assert self.handle.prepare_seconds >= 0
        assert self.handle.storage >= 0

    def progress_grows(self) -> None:
        seen: list[float] = []
        handle = self.device.prepare(self.case.kernel, self.given.keys, self.given.operands, progress=seen.append)
        assert seen == sorted(seen), "the fraction done falls while preparing"
        first = len(seen)
        self.device.run(handle, self.given.inputs(), progress=seen.append)
        assert seen[first:] == sorted(seen[first:]), "the fraction done falls while running"
        assert all(0 <= x <= 1 for x in seen), "a fraction done is outside 0 ... 1"


_CHECKS = (
    _Suite.results_are_those_of_cpu,
    _Suite.inputs_stay,
    _Suite.threads_share_a_handle,
    _Suite.results_are_inputs_without_a_download,
    _Suite.downloads_are_host_objects,
    _Suite.others_results_are_refused,
    _Suite.others_handles_are_refused,
    _Suite.what_is_wrong_is_refused,
    _Suite.reports_are_honest,
    _Suite.handles_know_their_kernel,
    _Suite.progress_grows,
)


def checks(device: Device | str) -> Iterator[tuple[str, Callable[[], None]]]:
    """All checks of a device, each with a name, over all kernels that it runs.

    Raises:
        ParameterError: the device runs no kernel that has cases, or none of a kernel's cases fits it.
    """
    target = open_device(device) if isinstance(device, str) else device
    yield (
        "unknown kernels are refused",
        partial(_refused, (errors.ParameterError,), "an unknown kernel", partial(target.check, _Unknown())),
    )
    count = 0
    for kernel in sorted(kernels(target.kind), key=lambda k: k.__name__):
        fitting = 0
        for case in _cases(kernel):
            if (not target.encrypts and case.clear is None) or not _fits(target, case):
                continue
            fitting += 1
            suite = _Suite(target, case)
            for check in _CHECKS:
                yield f"{case.title}: {check.__name__.replace('_', ' ')}", partial(check, suite)
        count += fitting
        if fitting == 0 and target.encrypts and cases_of(kernel) is not None:
            raise errors.ParameterError(f"device {target.name} refuses all cases of {kernel.__name__}")
    if count == 0:
        raise errors.ParameterError(
            f"device {target.name} runs no kernel that has cases: import the module that registers its implementations"
        )


def _cases(kernel: type) -> list[Case]:
    module = cases_of(kernel)
    if module is None:
        return []
    found: list[Case] = importlib.import_module(module).cases(kernel)
    return found


def _fits(device: Device, case: Case) -> bool:
    """Whether the case is within the device's limits."""
    try:
        device.check(case.kernel)
    except errors.ParameterError:
        return False
    return True


def _refused(kinds: tuple[type[Exception], ...], what: str, attempt: Callable[[], object]) -> None:
    try:
        attempt()
    except kinds:
        return
    except Exception as e:
        names = " or ".join(k.__name__ for k in kinds)
        raise AssertionError(f"{what}: refused with {type(e).__name__} ({e}), not with {names}") from e
    raise AssertionError(f"{what}: not refused")


def main(words: Sequence[str] | None = None) -> int:
    """Runs the suite, prints a line for each check; returns 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m ringforge.devices.conformance", description=__doc__)
    parser.add_argument("device", help="name of the device")
    parser.add_argument("--import", dest="module", help="module that registers it")
    given = parser.parse_args(words)
    import_kernels()
    if given.module:
        importlib.import_module(given.module)
    failed = total = 0
    for name, check in checks(given.device):
        total += 1
        try:
            check()
        except Exception as e:
            failed += 1
            print(f"FAILED  {name}: {type(e).__name__}: {e}")
        else:
            print(f"passed  {name}")
    print(f"{total - failed} of {total} checks passed on device {given.device}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
