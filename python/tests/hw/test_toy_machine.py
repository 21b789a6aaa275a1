# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A machine in a package of its own (examples/hw/toy_machine) goes through the flow, and touches no file of ours."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ringforge
from ringforge import registered
from ringforge.cli import main
from ringforge.devices import names, open_device
from ringforge.errors import HardwareError, ParameterError
from ringforge.hw.core import build
from ringforge.hw.core import machine as descriptors
from ringforge.hw.core.registers import Register
from ringforge.hw.core.simulator import Simulation

ROOT = Path(__file__).parents[3]
TOY = ROOT / "examples" / "hw" / "toy_machine"
MODULUS = (1 << 50) - 27


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like one that the package is installed to: what pyproject.toml says, without copying a file."""
    folder = tmp_path_factory.mktemp("site")
    project = tomllib.loads((TOY / "pyproject.toml").read_text())["project"]
    notes = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    notes.mkdir()
    (notes / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items()) for group, entries in groups]
    (notes / "entry_points.txt").write_text("\n".join(lines))
    (folder / "toy_machine").symlink_to(TOY)
    return folder


@pytest.fixture(scope="module")
def toy(installed: Path) -> Iterator[descriptors.Machine]:
    """The machine in this process."""
    caches = (registered.registered, descriptors._rooms, descriptors.machine)
    sys.path.insert(0, str(installed))
    for cache in caches:
        cache.cache_clear()
    yield descriptors.machine("toy")
    sys.path.remove(str(installed))
    for cache in caches:
        cache.cache_clear()


@pytest.fixture(scope="module")
def sim(toy: descriptors.Machine) -> Iterator[Simulation]:
    with Simulation(toy.config.named(toy.default), optimise="-O1") as opened:
        yield opened


def operands(size: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(size)
    left, right = (rng.integers(0, MODULUS, size, np.uint64) for _ in range(2))
    return left, right


def command(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`ringforge hw ...` where the package is installed."""
    return subprocess.run(
        [sys.executable, "-c", "import sys; from ringforge.cli import main; sys.exit(main())", "hw", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), str(Path(ringforge.__file__).parents[1])])},
        capture_output=True,
        text=True,
        check=False,
    )


def test_commands_find_it_and_no_other_file_is_touched(installed: Path, tmp_path: Path) -> None:
    listed = command(installed, tmp_path, "list")
    assert listed.returncode == 0, listed.stderr
    for word in ("matvec-b (default)", "toy-8 (default)", "an example: adds two polynomials"):
        assert word in listed.stdout
    done = command(installed, tmp_path, "run", "toy", "--log-n", "9")
    assert done.returncode == 0, done.stderr
    assert "the same words as numpy" in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []
    ours = [p for p in (ROOT / "python" / "ringforge").rglob("*.py") if "toy_machine" in p.read_text()]
    assert ours == [], "nothing of ours knows it"


def test_lint_is_clean(toy: descriptors.Machine) -> None:
    from ringforge.hw.core import lint

    subjects = lint.configurations(toy)
    assert [s.name for s in subjects] == ["toy-1", "toy-8"], "without multipliers, so each comes once"
    assert [f.messages for f in lint.lint(subjects)] == [(), ()]


def test_its_parts_are_those_of_the_shell(toy: descriptors.Machine) -> None:
    from ringforge.hw.core import resources

    config = toy.config.named("toy-8")
    design = resources.design(toy)
    top = resources.top(toy, config)
    assert set(dict(top.parameters)) == design.parameter_names("toy_top")
    assert {"rf_axi_read", "rf_axi_write", "rf_shell_control", "rf_fifo", "rf_mod_add"} <= set(design.needed("toy_top"))


@pytest.mark.long
def test_its_bench(installed: Path, tmp_path: Path) -> None:
    done = command(installed, tmp_path, "test", "toy", "-k", "toy_top")
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


@pytest.mark.long
def test_synthesis(toy: descriptors.Machine) -> None:
    from ringforge.hw.core import report, resources

    config = toy.config.named("toy-8")
    found = resources.gather(config, resources.design(toy).synthesise, want_cells=False)
    total = resources.total(found.machines["machine"])
    assert total.dsp == total.uram == 0
    assert total.lut > 0
    assert found.elements == {}
    assert report.beside_paper(found) is None
    assert report.machine_parts(found).rows[-1][0] == "the machine"
    assert resources.Synthesis.from_dict(toy, found.to_dict()) == found


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run other", 'there is no machine "other"; there are aes, matmul, matvec, omr, psi, psi_wide, toy'),
        ("cycles toy", "machine toy has no command cycles; machines that have it: aes, matmul, matvec"),
        ("report toy --config toy-9", "there are toy-1, toy-8"),
        ("synth toy --multiplier barrett", '"barrett" is no kind of machine toy: write machine or both'),
    ],
)
def test_commands_refuse_what_there_is_not(capsys: pytest.CaptureFixture[str], words: str, said: str) -> None:
    assert main(["hw", *words.split()]) == 1
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("size", [8, 248, 256, 264, 4096])
def test_sums_are_numpys(sim: Simulation, size: int) -> None:
    from toy_machine.driver import add

    left, right = operands(size)
    result, cycles = add(sim, left, right, MODULUS)
    assert np.array_equal(result, (left + right) % np.uint64(MODULUS))
    assert cycles >= 2 * size // 8


def test_its_device(toy: descriptors.Machine) -> None:
    assert "rtl:toy-8" in names()
    device = open_device("rtl:toy-8")
    assert device.capabilities().kernels == frozenset(), "no kernel of another machine"
    assert device.description == "adds 8 residues a cycle, simulated"
    assert descriptors.of_configuration("toy-1") is toy
    with device.turn():
        device._process = 0  # as in a child that was forked off meanwhile
        assert not device.turn().locked(), "what a thread of the parent holds is free here"


# ---- what holds of every simulated machine ------------------------------------------------------------


def test_bad_registers_stop_it_and_the_next_run_is_right(sim: Simulation) -> None:
    from toy_machine.driver import add

    left, right = operands(64)
    with pytest.raises(HardwareError, match="no beats, or an address"):
        add(sim, left[:0], right[:0], MODULUS)
    with pytest.raises(HardwareError, match=r"with an error to reading register 0x124"):
        sim.read(0x124)
    with pytest.raises(ParameterError, match="a multiple of 8"):
        add(sim, left[:5], right[:5], MODULUS)
    assert np.array_equal(add(sim, left, right, MODULUS)[0], (left + right) % np.uint64(MODULUS))


@pytest.mark.parametrize("how", ["limit", "progress", "watchdog", "register"])
def test_a_run_that_is_given_up_leaves_a_machine_that_works(
    sim: Simulation, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toy_machine.driver import add

    from ringforge.hw.core import simulator

    left, right = operands(1 << 12)
    monkeypatch.setattr(simulator, "_STEP", 100)
    expected = (left + right) % np.uint64(MODULUS)

    def interrupt(cycles: int) -> None:
        if cycles >= 300:
            raise KeyboardInterrupt

    if how == "limit":
        with pytest.raises(HardwareError, match="not done after 300 cycles"):
            add(sim, left, right, MODULUS, limit=300)
    elif how == "progress":
        with pytest.raises(KeyboardInterrupt):
            add(sim, left, right, MODULUS, progress=interrupt)
    elif how == "watchdog":
        sim.watch(300)
        with pytest.raises(HardwareError, match="watchdog"):
            add(sim, left, right, MODULUS)
        sim.watch(0)
    else:
        add(sim, left, right, MODULUS, progress=lambda _: None)
        sim.start()
        with pytest.raises(HardwareError, match="is in a run"):
            sim.start()
        assert not sim.advance(100)
        sim._end()
        assert sim.read(Register.STATUS) & 15 == 0b1110, "done, in error, aborted"
        with pytest.raises(HardwareError, match="aborted by the host"):
            sim.check()
    assert np.array_equal(add(sim, left, right, MODULUS)[0], expected)


def test_memory_that_never_answers_is_given_up(toy: descriptors.Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be carried through then, so an abort does not end either: reset does."""
    from toy_machine.driver import add

    from ringforge.hw.core import simulator

    left, right = operands(64)
    monkeypatch.setattr(simulator, "_STEP", 100)
    monkeypatch.setattr(simulator, "_DRAIN", 500)
    with Simulation(toy.config.named(toy.default), optimise="-O1", stall_percent=100) as silent:
        for _ in range(2):
            with pytest.raises(HardwareError, match="moved nothing for 1000 cycles"):
                add(silent, left, right, MODULUS, silence=1000)
        with pytest.raises(ParameterError, match="0 cycles or more, not -1"):
            silent.run(limit=-1)


def test_another_thread_is_refused_and_may_abort(sim: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    from toy_machine.driver import add

    from ringforge.hw.core import simulator

    left, right = operands(1 << 12)
    monkeypatch.setattr(simulator, "_STEP", 100)
    said: list[str] = []

    def other() -> None:
        for attempt in (sim.unmap_all, sim.start, sim.reset, sim.close):
            try:
                attempt()
            except HardwareError as e:
                said.append(str(e))
        sim.abort()

    def progress(cycles: int) -> None:
        if cycles == 300:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

    with pytest.raises(HardwareError, match=r"was aborted after 400 cycles"):
        add(sim, left, right, MODULUS, progress=progress)
    assert len(said) == 4
    assert all("another thread is using" in text for text in said)
    assert np.array_equal(add(sim, left, right, MODULUS)[0], (left + right) % np.uint64(MODULUS))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_is_refused(sim: Simulation) -> None:
    from toy_machine.driver import add

    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            sim.read(Register.ID)
        except HardwareError as e:
            os.write(write, str(e).encode())
        sim.close()
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    assert b"before a fork" in os.read(read, 1000)
    os.close(read)
    left, right = operands(64)
    assert np.array_equal(add(sim, left, right, MODULUS)[0], (left + right) % np.uint64(MODULUS))


def test_a_closed_machine_says_so(toy: descriptors.Machine) -> None:
    opened = Simulation(toy.config.named(toy.default), optimise="-O1")
    opened.close()
    opened.close()
    with pytest.raises(HardwareError, match="is closed"):
        opened.read(Register.ID)


# ---- what is wrong with a machine or a cache ----------------------------------------------------------


def test_an_interrupted_or_failed_build_leaves_nothing(
    toy: descriptors.Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGFORGE_CACHE", str(tmp_path / "cache"))
    config = toy.config.named("toy-1")
    calls: list[str] = []

    def broken(_: object, folder: Path, what: str) -> None:
        calls.append(what)
        (folder / "libtoy.so").write_bytes(b"half")
        if what == "linking the simulation":
            raise KeyboardInterrupt

    monkeypatch.setattr(build, "_run", broken)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            build.library(config)
    assert len(calls) == 6, "the second build begins anew"
    assert [p.name for p in (tmp_path / "cache").rglob("*") if p.is_file()] == ["lock"]

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(build, "_run", full)
    with pytest.raises(HardwareError, match=r"No space left.*RINGFORGE_CACHE"):
        build.library(config)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RINGFORGE_CACHE", str(tmp_path / "file"))
    with pytest.raises(HardwareError, match="RINGFORGE_CACHE"):
        build.library(config)


def test_a_damaged_library_is_named(toy: descriptors.Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "libtoy.so").write_bytes(b"half")
    monkeypatch.setattr(build, "library", lambda *_, **__: tmp_path / "libtoy.so")
    with pytest.raises(HardwareError, match=r"libtoy\.so cannot be loaded .*: delete it"):
        Simulation(toy.config.named("toy-1"))


def test_wrong_descriptors_are_refused(toy: descriptors.Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    for wrong, said in (
        (lambda: 5, "is no ringforge.hw.core.machine.Machine but a int"),
        (lambda: replace(toy, name="else"), 'calls itself "else"'),
    ):
        monkeypatch.setattr(descriptors, "_rooms", lambda wrong=wrong: {"toy": wrong})
        with pytest.raises(HardwareError, match=said):
            descriptors.machine.__wrapped__("toy")
    with pytest.raises(HardwareError, match="lacks its list of files"):
        replace(toy, room=Path("/nowhere")).files()
    with pytest.raises(HardwareError, match="cannot be imported"):
        replace(toy, commands={"run": "toy_machine.nothing:f"}).command("run")
    with pytest.raises(HardwareError, match="cannot be imported"):
        replace(toy, commands={"run": "toy_machine.driver:f"}).command("run")
    with pytest.raises(ParameterError, match="it has run"):
        toy.command("cycles")
    wide = toy.config.named("toy-8").model_copy(update={"lanes": 3})
    with pytest.raises(ParameterError, match="ports of 24 bytes"):
        build.header(wide)


def test_ringforge_help_asks_for_no_machine() -> None:
    code = (
        "import sys; from ringforge.cli import main; main(['--help']); "
        "print([m for m in sys.modules if m.startswith('ringforge.hw.') and m.endswith('.machine')], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(ringforge.__file__).parents[1])},
        check=False,
    )
    assert done.stderr.splitlines()[-1] == "['ringforge.hw.core.machine']", done.stderr
