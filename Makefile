# Everything here sets itself up: a virtual environment of its own in .venv, filled from pyproject.toml.

SHELL := /bin/bash
.DEFAULT_GOAL := help
DOCS_VENV ?= .venv-docs
HARBOR_VENV ?= .venv-harbor
HARBOR_PYTHON ?= python3.12
.PHONY: docs help setup demo spark test ray harbor lint format types layers check bench wheel bundle sbom licences clean

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# More than two for two cores: many tests wait.
WORKERS ?= 4
# Seconds that pip waits for an answer; slow mirrors need more than its own 15.
export PIP_DEFAULT_TIMEOUT ?= 120
export PIP_DISABLE_PIP_VERSION_CHECK := 1

help:
	@echo "make demo    see Pool work on a repository with bugs, against a simulated server"
	@echo "make spark   try Pool and its model server on your machine, and write a report (SPARK_FLAGS=--help)"
	@echo "make test    run the tests"
	@echo "make check   lint, types, layers and tests"
	@echo "make ray     install Ray and test pool batch --engine ray with it"
	@echo "make harbor  check the agent for Harbor with the real Harbor (HARBOR_PYTHON=python3.12)"
	@echo "make format  put the code in its standard form"
	@echo "make docs    build the documentation as a site, in website/build"
	@echo "make bench   measure start-up"
	@echo "make wheel   build wheel and sdist into dist/, twice, and compare"
	@echo "make bundle  all wheels for machines without a network, x86_64 and aarch64, into dist/"
	@echo "make sbom    list what Pool is made of (CycloneDX), into dist/; make licences: docs/licences.md"
	@echo "make clean   remove what these commands made"

setup:
	@if [ ! -x $(BIN)/python ]; then \
	  command -v $(PYTHON) >/dev/null || { \
	    echo "$(PYTHON) is missing. On Debian or Ubuntu: apt-get install -y python3 python3-venv" >&2; exit 1; }; \
	  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "$$($(PYTHON) --version) is too old: Pool needs 3.11 or newer. Name one with: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }; \
	  $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	    v=$$($(PYTHON) -c 'import sys; print("python%d.%d" % sys.version_info[:2])'); \
	    echo "$(PYTHON) cannot make virtual environments. On Debian or Ubuntu: apt-get install -y $$v-venv" >&2; exit 1; }; \
	  rm -rf $(VENV) && $(PYTHON) -m venv $(VENV); \
	fi
	@if [ ! -e $(VENV)/.installed ] || [ pyproject.toml -nt $(VENV)/.installed ]; then \
	  echo "Installing Pool and its tools into $(VENV) ..."; \
	  $(BIN)/python -m pip install --quiet --editable '.[dev]' && touch $(VENV)/.installed; \
	fi
	@if [ "$$(uname)" = Linux ] && ! command -v bwrap >/dev/null; then \
	  echo "Note: bubblewrap is missing, so commands run without a sandbox. On Debian or Ubuntu: apt-get install -y bubblewrap" >&2; \
	fi

demo: setup
	@$(BIN)/python examples/demo.py

# What only an owner's machine can tell: docs/doctor.md says what it does.
spark: setup
	@$(BIN)/python -m pool.lab.spark $(SPARK_FLAGS)

# Compiled first: hundreds of tests start Pool, and where Python may not write bytecode each start would compile it anew.
# Commands that tests let the agent run say `python`, and mean the one here, which has pytest.
test: setup
	@$(BIN)/python -m compileall -q -j 0 pool tools themes
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pytest -n $(WORKERS)

# Not a part of `make test`: Ray is large, and few need it.
ray: setup
	@$(BIN)/python -m pip install --quiet --editable '.[dev,ray]'
	@$(BIN)/python -m pytest tests/headless/batch/test_ray.py

# Not a part of `make test`: Harbor is large, and needs a newer Python than Pool.
harbor: setup
	@if [ ! -e $(HARBOR_VENV)/.installed ]; then \
	  $(HARBOR_PYTHON) -m venv $(HARBOR_VENV) && $(HARBOR_VENV)/bin/python -m pip install --quiet 'harbor>=0.26.0' && touch $(HARBOR_VENV)/.installed; \
	fi
	@$(HARBOR_VENV)/bin/python examples/harbor/check.py $(BIN)/pool

# An environment of its own: mkdocs brings click, with which httpx starts slower.
docs:
	@if [ ! -e $(DOCS_VENV)/.installed ]; then \
	  $(PYTHON) -m venv $(DOCS_VENV) && $(DOCS_VENV)/bin/python -m pip install --quiet 'mkdocs-material>=9.8.2' && touch $(DOCS_VENV)/.installed; \
	fi
	@NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --strict --clean --config-file website/mkdocs.yml

lint: setup
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

format: setup
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

types: setup
	@$(BIN)/pyright --pythonpath $(BIN)/python

layers: setup
	@$(BIN)/lint-imports

check: lint types layers test

bench: setup
	@$(BIN)/python benchmarks/startup.py

wheel: setup
	@$(BIN)/python -m release.wheel

bundle: wheel
	@$(BIN)/python -m release.bundle $(BUNDLE_FLAGS)

sbom: setup
	@$(BIN)/python -m release.sbom

licences: setup
	@$(BIN)/python -m release.licences

clean:
	@rm -rf .venv build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +
