# Every target sets up what it needs: a virtual environment in .venv with the package in it.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
CASE ?=
POSTERIORDB ?=
MODELS ?=

# The extras that the demo and the development targets need.
DEMO_EXTRAS := sampling,viz
DEV_EXTRAS := dev

DEMO_READY := $(VENV)/.installed-demo
DEV_READY := $(VENV)/.installed-dev

# Without bytecode every import compiles the libraries' sources anew.
unexport PYTHONDONTWRITEBYTECODE

# The lowest versions that pyproject.toml declares, and tests of what touches other libraries.
LOWEST := .venv-lowest
LOWEST_TESTS := tests/kernels/native/test_native.py tests/backends tests/interop \
	tests/compile/test_levels.py tests/compile/test_backends.py \
	tests/model/test_sampling.py tests/model/test_backends.py tests/dims tests/display

# Tests of what depends most on instructions, for each kind of processor that is not the one here.
PROCESSOR ?= $(shell $(BIN)/python -m tests.processors)
PROCESSOR_TESTS := tests/kernels tests/optimize tests/ops tests/tensor tests/dist

# The long tests draw examples by the day, and of many cases run a share each day: by the day of the
# last commit, so that a commit that passes once passes again.
DIMTENSOR_DAY ?= $(shell git log -1 --format=%cs 2>/dev/null || date +%F)
SHARE := --days 7 --hypothesis-seed=$(subst -,,$(DIMTENSOR_DAY))

.PHONY: help demo test slow processor lowest suite lint format docs bench race clean

help:
	@echo "make demo     sample the radon model of examples/radon.py"
	@echo "make test     run the tests (WORKERS=2 processes)"
	@echo "make slow     run the long tests that 'make test' leaves out, of many cases a share (DIMTENSOR_DAY=2026-01-31)"
	@echo "make processor  run tests with code as on processors with other instructions (PROCESSOR=znver4)"
	@echo "make lowest   run tests with the lowest versions of all dependencies, in $(LOWEST)"
	@echo "make suite    run PyTensor's own tests in our mode, SOURCE=/path/to/its/sources"
	@echo "make lint     ruff, typos, mypy"
	@echo "make format   let ruff mend what it can"
	@echo "make docs     build the documentation into docs/_build/html"
	@echo "make race     our models of posteriordb beside Stan's and some of PyMC's and NumPyro's, POSTERIORDB=/path/to/a/copy (MODELS=arK,dogs)"
	@echo "make bench    run the benchmarks, or one with CASE=name"
	@echo "make clean    remove .venv and everything built"
	@echo "Set PYTHON=/path/to/python for a Python that is not on the PATH."

demo: $(DEMO_READY)
	$(BIN)/python examples/radon.py

test: $(DEV_READY)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

slow: $(DEV_READY)
	DIMTENSOR_DAY=$(DIMTENSOR_DAY) HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -q -n $(WORKERS) \
		--dist worksteal -m "(slow or fuzz) and not built" $(SHARE) tests

processor: $(DEV_READY)
	for cpu in $(PROCESSOR); do \
		DIMTENSOR_DAY=$(DIMTENSOR_DAY) HYPOTHESIS_PROFILE=ci $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal \
			--processor $$cpu --sharing "$$(echo $(PROCESSOR) | tr ' ' ,)" $(PROCESSOR_TESTS) || exit 1; \
	done

lowest:
	@python=$$(tools/find_python.sh lowest) || exit 1; \
	"$$python" -m venv --clear $(LOWEST) && \
	"$$python" tools/lowest.py > $(LOWEST)/constraints.txt && \
	echo "installing the lowest versions into $(LOWEST) with $$python" && \
	$(LOWEST)/bin/python -m pip install -q --disable-pip-version-check --prefer-binary \
		--only-binary=numpy,scipy,pandas,numba,llvmlite -c $(LOWEST)/constraints.txt -e ".[jax,sampling,testing,viz]" pytest pytest-xdist
	$(LOWEST)/bin/python -m pytest -q -n $(WORKERS) --dist worksteal $(LOWEST_TESTS)

suite: $(DEV_READY)
	$(BIN)/python tools/pytensor_suite.py --source $(SOURCE)

lint: $(DEV_READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/typos
	$(BIN)/mypy

format: $(DEV_READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(DEV_READY)
	$(BIN)/python -m sphinx -j $(WORKERS) -T -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(DEV_READY)
	$(BIN)/python tests/benchmarks/run.py $(CASE)

race: $(DEV_READY)
	$(call install,race)
	$(BIN)/python -m tests.benchmarks.posteriordb.race --posteriordb "$(POSTERIORDB)" --models "$(MODELS)"

clean:
	rm -rf $(VENV) $(LOWEST) build dist docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis

# A .venv whose interpreter has gone is made anew; one that works is kept.
define make_venv
	@if ! $(BIN)/python -c "" >/dev/null 2>&1; then \
		python=$$(tools/find_python.sh) || exit 1; \
		echo "making $(VENV) with $$python"; \
		"$$python" -m venv --clear $(VENV) || { \
			echo "could not make $(VENV): is the venv module of $$python complete?" >&2; exit 1; }; \
	fi
endef

define install
	@echo "installing dimtensor[$(1)] into $(VENV) (the first time takes some minutes)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e ".[$(1)]" || { \
		echo "pip could not install the dependencies: a package index must be reachable" >&2; \
		echo "(behind a proxy or a mirror, see 'pip config')." >&2; exit 1; }
endef

# Keyed on pyproject.toml: a second call costs nothing. The development set contains the demo's.
$(DEV_READY): pyproject.toml
	$(make_venv)
	$(call install,$(DEV_EXTRAS))
	@touch $(DEMO_READY) $(DEV_READY)

$(DEMO_READY): pyproject.toml
	$(make_venv)
	$(call install,$(DEMO_EXTRAS))
	@touch $(DEMO_READY)
