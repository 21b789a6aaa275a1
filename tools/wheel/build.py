# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Builds a wheel for every x86-64 Linux with glibc 2.28 or newer, on one that is newer, without a container.

    python tools/wheel/build.py [--out dist]

Zig's C++ compiler, a package of PyPI, has the headers and symbols of every glibc: what it links asks for nothing newer
than it is told. libc++, OpenSSL's libcrypto and libsodium are linked into the native module, from sources that are
pinned by SHA-256 (tools/wheel/sources); only the module's entry is visible. The wheel has their licences and a bill of
materials. auditwheel checks every symbol and names the wheel.

Needs the Python packages of the target `wheel` in the Makefile, cargo (to fetch one source), perl and make.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import nanobind
import ziglang
from elftools.elf.elffile import ELFFile

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORK = ROOT / "build" / "wheel"
GLIBC = "2.28"
PLATFORM = "manylinux_2_28_x86_64"
ZIG = Path(ziglang.__file__).parent

#: libcrypto computes SHA-256, SHAKE256 and AES-256-CTR here: no protocols, no files, and no configuration of the
#: machine it runs on.
OPENSSL_OPTIONS = (
    "no-shared", "no-apps", "no-tests", "no-docs", "no-module", "no-dso", "no-legacy", "no-autoload-config",
    "no-quic", "no-ui-console", "no-stdio", "no-http", "no-cmp", "no-cms", "no-ct", "no-ocsp", "no-ts", "no-srp",
    "no-dgram", "no-sock", "no-dh", "no-dsa", "no-ec", "no-scrypt", "no-ml-dsa", "no-ml-kem", "no-slh-dsa",
    "no-lms", "no-sm2", "no-sm3", "no-sm4", "no-aria", "no-camellia", "no-cast", "no-des", "no-idea", "no-rc2",
    "no-rc4", "no-seed", "no-bf", "no-md4", "no-mdc2", "no-rmd160", "no-whirlpool", "no-blake2", "no-chacha",
    "no-poly1305", "no-siphash", "no-siv", "no-ocb", "no-comp", "-fPIC", "--openssldir=/etc/ssl", "--libdir=lib",
)  # fmt: skip
SODIUM_OPTIONS = ("--host=x86_64-linux-gnu", "--disable-shared", "--with-pic", "--disable-debug")


def run(command: Sequence[str | Path], where: Path = ROOT, **variables: str) -> None:
    """Runs a command quietly; where it fails, shows what it said and ends.

    Args:
        command: its words.
        where: the folder it runs in.
        variables: added to the environment.
    """
    words = [os.fspath(word) for word in command]
    done = subprocess.run(
        words, cwd=where, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        sys.exit(f"{done.stdout[-6000:]}\n{' '.join(words)}: ended with {done.returncode}")


def ziglang_version() -> str:
    """The compiler's version."""
    return subprocess.run([ZIG / "zig", "version"], capture_output=True, text=True, check=True).stdout.strip()


def compilers() -> dict[str, str]:
    """Writes the compiler's programs as CMake and configure scripts want them; returns their variables."""
    folder = WORK / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    target = f" -target x86_64-linux-gnu.{GLIBC}"
    variables = {}
    for variable, word, options in (
        ("CC", "cc", target),
        ("CXX", "c++", target),
        ("AR", "ar", ""),
        ("RANLIB", "ranlib", ""),
    ):
        program = folder / f"zig-{word}"
        program.write_text(f'#!/bin/sh\nexec "{ZIG / "zig"}" {word}{options} "$@"\n')
        program.chmod(0o755)
        variables[variable] = os.fspath(program)
    # What Zig keeps of libc++ and of the symbols of glibc.
    variables["ZIG_GLOBAL_CACHE_DIR"] = variables["ZIG_LOCAL_CACHE_DIR"] = os.fspath(WORK / "zig")
    return variables


def fetch() -> tuple[Path, Path]:
    """The sources of OpenSSL and libsodium, held against their SHA-256."""
    place = WORK / "sources"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(HERE / "sources", place)
    run(["cargo", "vendor", "--quiet", "--locked", "crates"], place)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:all:", "--require-hashes"]
    run([*pip, "--dest", ".", "-r", "requirements.txt"], place)
    (archive,) = place.glob("pynacl-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(place, filter="data")
    (sodium,) = place.glob("pynacl-*/src/libsodium")
    return place / "crates" / "openssl-src" / "openssl", sodium


def libraries(variables: dict[str, str]) -> Path:
    """Builds libcrypto and libsodium as archives, unless they stand as these sources and options make them."""
    prefix, jobs = WORK / "prefix", os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count()))
    made_of = hashlib.sha256(repr((OPENSSL_OPTIONS, SODIUM_OPTIONS, ziglang_version(), GLIBC)).encode())
    for part in sorted((HERE / "sources").iterdir()):
        made_of.update(part.read_bytes())
    stamp = prefix / "made-of"
    if stamp.is_file() and stamp.read_text() == made_of.hexdigest():
        return prefix
    shutil.rmtree(prefix, ignore_errors=True)
    openssl, sodium = fetch()
    print("building libcrypto", flush=True)
    # It keeps the paths that it is configured with: those of no machine.
    run(["perl", "Configure", "linux-x86_64", *OPENSSL_OPTIONS, "--prefix=/usr"], openssl, **variables)
    run(["make", f"-j{jobs}", "build_libs"], openssl, **variables)
    run(["make", "install_dev", f"DESTDIR={WORK / 'staged'}"], openssl, **variables)
    shutil.copytree(WORK / "staged" / "usr", prefix)
    print("building libsodium", flush=True)
    options = [*SODIUM_OPTIONS, f"--prefix={prefix}"]
    run(["./configure", "-q", *options], sodium, **variables, CFLAGS="-O3 -fPIC")
    run(["make", f"-j{jobs}", "install"], sodium, **variables)
    carried(prefix, openssl, sodium)
    stamp.write_text(made_of.hexdigest())
    return prefix


def carried(prefix: Path, openssl: Path, sodium: Path) -> None:
    """Licences of what is linked into the module, and its bill of materials, as the wheel will have them."""
    folder = prefix / "about"
    licences = folder / "licenses"
    licences.mkdir(parents=True)
    (folder / "sboms").mkdir()
    about = Path(nanobind.__file__).parent
    (binding,) = about.parent.glob("nanobind-*.dist-info/licenses/LICENSE")
    version = dict(re.findall(r"(MAJOR|MINOR|PATCH)=(\d+)", (openssl / "VERSION.dat").read_text()))
    found = re.search(r"^PACKAGE_VERSION='(.*)'", (sodium / "configure").read_text(), re.MULTILINE)
    zig = ziglang_version()
    parts = [
        ("openssl", ".".join(version.values()), "Apache-2.0", openssl / "LICENSE.txt"),
        ("libsodium", found[1] if found else "", "ISC", sodium / "LICENSE"),
        ("libcxx-of-zig", zig, "Apache-2.0 WITH LLVM-exception", ZIG / "lib" / "libcxx" / "LICENSE.TXT"),
        ("libcxxabi-of-zig", zig, "Apache-2.0 WITH LLVM-exception", ZIG / "lib" / "libcxxabi" / "LICENSE.TXT"),
        ("libunwind-of-zig", zig, "Apache-2.0 WITH LLVM-exception", ZIG / "lib" / "libunwind" / "LICENSE.TXT"),
        ("nanobind", nanobind.__version__, "BSD-3-Clause", binding),
        ("robin-map-of-nanobind", nanobind.__version__, "MIT", about / "ext/robin_map/include/tsl/robin_map.h"),
    ]
    components = []
    for name, number, licence, text in parts:
        words = text.read_text()
        # A header that opens with its licence.
        shown = (
            words.split("*/")[0].replace("/**", "").replace("\n *", "\n").strip() + "\n"
            if text.suffix == ".h"
            else words
        )
        (licences / f"{name}.txt").write_text(shown)
        component = {"type": "library", "name": name, "version": number, "licenses": [{"expression": licence}]}
        components.append(component)
    (licences / "libgcc.txt").write_text(
        "The division of 128-bit integers is of GCC's runtime library libgcc: GPL-3.0-or-later WITH GCC-exception-3.1,\n"
        "which allows to distribute what it is linked into under any licence.\n"
    )
    runtime = {"expression": "GPL-3.0-or-later WITH GCC-exception-3.1"}
    components.append({"type": "library", "name": "libgcc", "licenses": [runtime]})
    document = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": components}
    (folder / "sboms" / "linked.cdx.json").write_text(json.dumps(document, indent=1) + "\n")


def multiarch_headers() -> Path | None:
    """A folder for Debian's pyconfig.h, which includes another by a path below /usr/include; None: not needed.

    /usr/include itself would bring the headers of this machine's glibc.
    """
    triple = Path("x86_64-linux-gnu") / f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not (Path("/usr/include") / triple).is_dir():
        return None
    link = WORK / "include" / triple
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(Path("/usr/include") / triple)
    return WORK / "include"


def wheel(prefix: Path, variables: dict[str, str]) -> Path:
    """Builds the wheel as scikit-build-core does, with this compiler and these libraries."""
    raw = WORK / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    headers = multiarch_headers()
    settings = [f"-DCMAKE_TOOLCHAIN_FILE={HERE / 'toolchain.cmake'}", f"-DRINGFORGE_WHEEL={prefix}"]
    gcc = shutil.which("g++") or sys.exit("g++ is missing: it compiles the vector kernels")
    runtime = subprocess.run(
        [gcc, "-print-libgcc-file-name"], capture_output=True, text=True, check=True
    ).stdout.strip()
    # GCC's code for the vector kernels is the faster one by 7 to 14 %.
    settings += [f"-DRINGFORGE_KERNEL_COMPILER={gcc}", f"-DRINGFORGE_WHEEL_RUNTIME={runtime}"]
    if headers is not None:
        settings.append(f"-DRINGFORGE_WHEEL_HEADERS={headers}")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", raw]
    options = [f"-Cbuild-dir={WORK / 'cmake-{wheel_tag}'}", f"-Ccmake.args={';'.join(settings)}"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run([*pip, *options, ROOT], **variables, PATH=path)
    (made,) = raw.glob("*.whl")
    return made


def check(finished: Path) -> None:
    """Refuses a module that has a C library of its own: its cosine would give other bits, its memcpy takes longer.

    Args:
        finished: the wheel.
    """
    with zipfile.ZipFile(finished) as archive:
        (name,) = (n for n in archive.namelist() if n.startswith("ringforge/_native.") and n.endswith(".so"))
        module = ELFFile(io.BytesIO(archive.read(name)))
        symbols = list(module.get_section_by_name(".dynsym").iter_symbols())
    asked = {s.name for s in symbols if s["st_shndx"] == "SHN_UNDEF"}
    shown = {s.name for s in symbols if s["st_shndx"] != "SHN_UNDEF"}
    own = {"cos", "sin", "cosl", "sinl", "log2", "exp2", "memcpy"} - asked
    if own or shown != {"PyInit__native"}:
        sys.exit(f"{finished.name}: the module has its own {sorted(own)} and shows {sorted(shown)[:5]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the wheel")
    out = parser.parse_args().out.resolve()
    WORK.mkdir(parents=True, exist_ok=True)
    variables = compilers()
    prefix = libraries(variables)
    print("building the wheel", flush=True)
    made = wheel(prefix, variables)
    out.mkdir(parents=True, exist_ok=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    audit = [sys.executable, "-m", "auditwheel"]
    # Fails where a symbol is newer than the platform allows.
    run([*audit, "repair", "--plat", PLATFORM, "--only-plat", "--wheel-dir", out, made], PATH=path)
    (finished,) = out.glob(f"{made.name.rsplit('-', 1)[0]}-*{PLATFORM}*.whl")
    check(finished)
    subprocess.run([*audit, "show", finished], check=True)
    print(f"wrote {finished} ({finished.stat().st_size / 2**20:.1f} MiB)")


if __name__ == "__main__":
    main()
