PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# A demo has a part of it.
PART := $(VENV)/.serving
EXTRAS := bench nuts reports river scale service
LOCK = $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header \
  --no-annotate --no-emit-index-url --no-emit-find-links --upgrade --output-file
FABCOST_DATA ?= $(wildcard ../shared/data)
export FABCOST_DATA
# Tests start some hundreds of processes, and to read sources anew doubles what each start costs.
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/bytecode
unexport PYTHONDONTWRITEBYTECODE
# Numba paints messages that nobody reads while it compiles, for 4 % of the time.
export NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test check suite lint types layers docs studies benchmarks lock format clean

help:  ## Show what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

# $(1) pins what $(2) needs. uv takes a tenth of pip's time, but does not know where pip was told to look.
define INSTALL
	@$(PYTHON) -c 'import sys; sys.exit("fabcost needs Python 3.11 or later" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || { echo "making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing what $(2) needs into $(VENV): $$(grep -c == $(1)) packages at most, those of $(1)"
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.txt
	@$(BIN)/python -m pip install --quiet --require-hashes --requirement $(VENV)/uv.txt
	@$(BIN)/uv pip install --python $(BIN)/python --require-hashes --requirement $(1) \
	  || $(BIN)/python -m pip install --require-hashes --requirement $(1)
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
endef

$(STAMP): requirements.lock pyproject.toml
	$(call INSTALL,requirements.lock,the whole)
	@touch $(STAMP) $(PART)

$(PART): requirements-service.lock pyproject.toml
	$(call INSTALL,requirements-service.lock,a server)
	@touch $(PART)

setup: $(STAMP)  ## Make .venv with the pinned versions

demo: $(PART)  ## A server with car adverts and simulated visitors, until Ctrl-C
	@$(BIN)/fabcost demo

test: setup  ## Set everything up and run tests, lint, types and layer contracts
	@# The longest first: the others are done while kernels are compiled.
	$(MAKE) --no-print-directory --jobs 2 suite lint types layers

check: lint types layers  ## What can be checked without running it, in less than a minute

suite: setup
	@# By files, in their order: what all tests of one share is made once.
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

lint: setup  ## Style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup  ## Static types, strictly
	$(BIN)/mypy

layers: setup  ## Which module may import which
	$(BIN)/lint-imports

docs: setup  ## The documentation as a site in site/, strictly
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

studies: setup  ## Every measurement that the documentation quotes
	for name in inference inference.calls accuracy moments peers full_replay catalogue clicks rules rules.rare level priors raw_data own_effects wide sparse weights forgetting warm_starts lift staleness replays scale service service.workers service.startup kills kills.replicas kills.network; do \
	  $(BIN)/python -m studies.$$name || exit 1; done

benchmarks: studies

format: setup  ## Rewrite the sources in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: setup  ## Pin the newest versions that fit pyproject.toml
	$(LOCK) requirements.lock pyproject.toml --group dev $(foreach e,$(EXTRAS),--extra $(e))
	@# The image builds its wheel, too.
	echo hatchling | $(LOCK) requirements-service.lock --constraint requirements.lock \
	  pyproject.toml --extra service -

clean:  ## Remove what was made
	rm -rf $(VENV) site .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
