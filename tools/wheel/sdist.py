# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Makes the source distribution, and with --build a wheel from it alone, to prove that it holds all that a build needs.

    python tools/wheel/sdist.py [--out dist] [--build]

The wheel that --build makes is for this machine, with its compiler and libraries; it is only looked at.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from scikit_build_core.build import build_sdist

ROOT = Path(__file__).resolve().parents[2]

#: What is not for who builds: measurements, pictures, the outputs of builds.
UNWANTED = ("bench/results/", "build/", "dist/", ".venv/", "docs/images/")


def make(out: Path) -> Path:
    """Writes the source distribution.

    Args:
        out: folder for it.

    Returns:
        Its path.
    """
    out.mkdir(parents=True, exist_ok=True)
    made = out / build_sdist(str(out))
    with tarfile.open(made) as tar:
        names = [name.partition("/")[2] for name in tar.getnames()]
    wrong = [name for name in names if name.startswith(UNWANTED)]
    if wrong:
        sys.exit(f"{made} has what it must not: {', '.join(wrong[:5])}")
    print(f"wrote {made} ({made.stat().st_size / 2**20:.1f} MiB, {len(names)} files)")
    return made


def build(source: Path) -> None:
    """Builds a wheel from the source distribution, in a folder of its own, and says what is in it.

    Args:
        source: the distribution.
    """
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder]
        subprocess.run([*pip, str(source)], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
        for part in ("ringforge/_native.", "ringforge/hw/sources/", "ringforge/gates/fhew.json", "ringforge/_native/"):
            if not any(name.startswith(part) for name in names):
                sys.exit(f"{wheel.name}, built from {source.name}, lacks {part}")
        print(f"built {wheel.name} from it: {len(names)} files")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the distribution")
    parser.add_argument("--build", action="store_true", help="build a wheel from it, too")
    options = parser.parse_args()
    source = make(options.out.resolve())
    if options.build:
        build(source)


if __name__ == "__main__":
    main()
