# make setup   .venv/ with weft (release build) and everything that its tests need
# make study   measure this machine, fit it, hold it against the catalogue: study/report.html
# make test    every test, Rust and Python
# make loom    rings, mailboxes and fences of crates/threads under a model checker
# make fuzz    a minute of broken input for every format that weft reads; faults in fuzz-faults/
# make bench   lists the benchmarks; one of them: make bench NAME=shifts ARGS="--rounds 3 --no-record"
# make wheel   dist/: the source distribution, and the wheel built from it, for glibc 2.17 and later
# make check-wheel   that wheel, installed into empty environments and used; all of them: PYTHONS="python3.11 python3.13"
# make check-install   the same for continuous integration: with what make setup has compiled, any size, one paper
# make docs    the documentation site, to be opened from the disk: site/index.html
# make lint    formatting, clippy, ruff, mypy
# make clean   removes what make made
#
# Needs Python >= 3.11, a Rust toolchain, a C compiler, make. An existing pip or cargo configuration is honoured.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# PyO3 leaves Python's symbols open for the interpreter to fill, in every build of the workspace.
export PYO3_BUILD_EXTENSION_MODULE := 1
export PYO3_PYTHON := $(abspath $(BIN)/python)

# The library that programs are loaded with in place of MPI, beside the Python sources that load it.
STAND_IN := python/weft/hosting/lib

# The library for programs in C, C++ and Fortran, beside the header.
FOREIGN := python/weft/capi/lib

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name '*.toml' -o -name 'functions.txt' -o -name 'handles.txt' 2>/dev/null)

.PHONY: setup wheel check-wheel check-install study test test-rust test-python fuzz loom bench docs lint format clean

setup: $(VENV)/installed

$(VENV)/python-ready: Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "weft needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12" >&2; exit 1; }
	@command -v cargo >/dev/null \
	  || { echo "weft needs a Rust toolchain: no cargo in PATH." >&2; exit 1; }
	test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@touch $@

# Python packages, exactly as tested. Rebuilt only when what is wanted changes.
$(VENV)/packages-ready: $(VENV)/python-ready pyproject.toml constraints.txt
	$(BIN)/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	  print(*project["dependencies"], *(line for extra in "mpi report meshes fem jax run watch hdf5 zarr compile docs test".split() \
	      for line in project["optional-dependencies"][extra]), sep="\n")' > $(VENV)/requirements.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --requirement $(VENV)/requirements.txt
	@touch $@

# The native half, release build, and weft itself: Python sources are used in place, so only Rust asks for a rebuild.
$(VENV)/installed: $(VENV)/packages-ready $(RUST_SOURCES)
	VIRTUAL_ENV=$(abspath $(VENV)) PIP_CONSTRAINT=constraints.txt PIP_NO_DEPS=1 $(BIN)/maturin develop --release --locked
	cargo build --release --locked --package weft-virtual-mpi --package weft-virtual-openmpi \
	  --package weft-virtual-standard --package weft-capi
	mkdir -p $(STAND_IN)
	cp $${CARGO_TARGET_DIR:-target}/release/libweft_virtual_mpi.so $(STAND_IN)/libmpi.so.12
	cp $${CARGO_TARGET_DIR:-target}/release/libweft_virtual_openmpi.so $(STAND_IN)/libmpi.so.40
	cp $${CARGO_TARGET_DIR:-target}/release/libweft_virtual_standard.so $(STAND_IN)/libmpi_abi.so.1
	mkdir -p $(FOREIGN)
	cp $${CARGO_TARGET_DIR:-target}/release/libweft.so $(FOREIGN)/libweft.so
	@touch $@

# A linker that knows the symbols of older C libraries; large, and needed for wheels alone.
$(VENV)/zig-ready: $(VENV)/packages-ready
	$(BIN)/pip install --quiet --constraint constraints.txt 'maturin[zig]' cargo-zigbuild
	@touch $@

wheel: $(VENV)/zig-ready
	$(BIN)/python scripts/wheel.py build --zig

check-install: setup
	$(BIN)/python scripts/wheel.py build --quick
	$(BIN)/python scripts/wheel.py check --quick

PYTHONS ?= $(PYTHON)
check-wheel:
	$(PYTHON) scripts/wheel.py check $(addprefix --python ,$(PYTHONS))

study: setup
	$(BIN)/weft study -o study --force

# Rust's tests of launched ranks run with the MPI of .venv, unless the environment names another.
RUST_TEST := cargo test --locked --workspace --no-fail-fast
ifeq ($(WEFT_MPI_LIBRARY)$(WEFT_MPIEXEC),)
RUST_TEST := WEFT_MPI_LIBRARY='$(abspath $(VENV)/lib/libmpi.so)' WEFT_MPIEXEC='$(abspath $(BIN)/mpiexec)' $(RUST_TEST)
endif

# Tests that start ranks go to one worker, the others to the rest; what measures times and fits them runs after them alone.
PYTHON_TEST := $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadgroup -m 'not alone'
PYTHON_TEST_ALONE := $(BIN)/python -m pytest -m alone

# Primitives and shifts again at each narrower level of vector instructions that this processor has; the tests of stencils
# try all levels by themselves.
RUST_TEST_LEVELS := for level in $$(cargo run --locked --quiet -p weft-simd --example levels | sed '$$d'); do \
	  WEFT_SIMD=$$level cargo test --locked --quiet -p weft-kernels --lib -- primitives shift || exit 1; done

# Both halves always run; either failing fails the whole.
test: setup
	@$(RUST_TEST) && ($(RUST_TEST_LEVELS)); rust=$$?; \
	scripts/loom.sh; loom=$$?; \
	$(PYTHON_TEST); python=$$?; \
	$(PYTHON_TEST_ALONE); alone=$$?; \
	if [ $$rust -ne 0 ]; then echo "cargo test failed (above pytest's output)" >&2; fi; \
	if [ $$loom -ne 0 ]; then echo "scripts/loom.sh failed (above pytest's output)" >&2; fi; \
	[ $$rust -eq 0 ] && [ $$loom -eq 0 ] && [ $$python -eq 0 ] && [ $$alone -eq 0 ]

test-rust: setup
	$(RUST_TEST)
	$(RUST_TEST_LEVELS)
	scripts/loom.sh

loom:
	scripts/loom.sh

test-python: setup
	$(PYTHON_TEST)
	$(PYTHON_TEST_ALONE)

fuzz: setup
	$(BIN)/python -m benches fuzz --keep fuzz-faults --no-record

bench: setup
	$(BIN)/python -m benches $(NAME) $(ARGS)

# Warnings are errors: links that lead nowhere, names that are not found, pages that would load something from elsewhere.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

lint: setup
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff check python tests/python benches scripts
	$(BIN)/ruff check --select F programs
	$(BIN)/ruff format --check python tests/python benches scripts
	$(BIN)/mypy

format: setup
	cargo fmt --all
	$(BIN)/ruff check --fix python tests/python benches scripts
	$(BIN)/ruff format python tests/python benches scripts

clean:
	rm -rf $(VENV) dist site fuzz-faults target .pytest_cache .hypothesis .ruff_cache .mypy_cache python/weft/_core*.so
	find python tests benches -name __pycache__ -type d -prune -exec rm -rf {} +
