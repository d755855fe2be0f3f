# Every goal sets up what it needs: .venv once, then its packages once for each pyproject.toml.
# Options: PYTHON (a Python 3.11 or newer) and ARGS, which is handed to the program that runs:
#   make test ARGS="tests/laws -k greedy"

PYTHON ?= python3
ARGS ?=

VENV := .venv
RUN := $(VENV)/bin/python
# The output of venv and pip, shown only when they fail.
LOG := $(VENV)/setup.log

# The extras of pyproject.toml that each goal needs.
EXTRAS_demo :=
EXTRAS_test := test
EXTRAS_browser := browser
EXTRAS_lint := lint
EXTRAS_bench := bench,plot
EXTRAS_frontier := bench,plot
EXTRAS_reproduce := reproduce
EXTRAS_fuzz := test

# Two pips must not write to one environment at a time, so `make -j` runs the goals in turn.
.NOTPARALLEL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help demo test browser lint bench frontier reproduce fuzz clean

help:
	@echo "make demo    cluster the Wine data, compare with the classic methods, write demo-report.html"
	@echo "make test    run all tests but those that need a browser"
	@echo "make browser drive the report page in Chromium; installs it from the system's packages"
	@echo "make lint    check style, formatting and types"
	@echo "make bench   measure speed and memory against other clusterers"
	@echo "make frontier  measure cost against movement, ours and the peers'"
	@echo "make reproduce   run the paper's experiments into results/ (ARGS=--quick: a first look)"
	@echo "make fuzz    try new inputs on the fuzz targets, a minute each; ARGS=\"--minutes 5\""
	@echo "make clean   remove .venv and everything else that can be made again"

demo: $(VENV)/.ready-demo
	@$(RUN) -m holdfast.demo $(ARGS)

# scikit-learn's checks of array API support are skipped unless SCIPY_ARRAY_API is set.
test: $(VENV)/.ready-test
	@SCIPY_ARRAY_API=1 MPLBACKEND=Agg $(RUN) -m pytest $(ARGS)

# HOLDFAST_PICTURES=folder keeps its screenshots.
browser: $(VENV)/.ready-browser
	@tests/browser/get_chromium.sh
	@$(RUN) -m pytest tests/browser $(ARGS)

lint: $(VENV)/.ready-lint
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy

bench: $(VENV)/.ready-bench
	@$(RUN) benchmarks/run.py $(ARGS)

frontier: $(VENV)/.ready-frontier
	@$(RUN) benchmarks/frontier/run.py $(ARGS)

reproduce: $(VENV)/.ready-reproduce
	@$(RUN) -m holdfast.experiments $(ARGS)

fuzz: $(VENV)/.ready-fuzz
	@$(RUN) tests/fuzz/run.py $(ARGS)

clean:
	@rm -rf $(VENV) build dist fuzz-failures .mypy_cache .pytest_cache .ruff_cache .hypothesis benchmarks/work
	@rm -f demo-report.html
	@find src tests benchmarks -type d \( -name __pycache__ -o -name '*.egg-info' \) \
		-prune -exec rm -rf {} + 2>/dev/null || true

$(VENV)/.ready-%: pyproject.toml $(VENV)/.created
	@echo "Installing what 'make $*' needs into $(VENV) (once)"
	@$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.$(if $(EXTRAS_$*),[$(EXTRAS_$*)])' \
		>$(LOG) 2>&1 || { cat $(LOG) >&2; exit 1; }
	@touch $@

$(VENV)/.created:
	@command -v $(PYTHON) >/dev/null || { \
		echo "make: no '$(PYTHON)' found; choose a Python 3.11 or newer:" \
			"make PYTHON=/path/to/python3" >&2; \
		exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "make: holdfast needs Python 3.11 or newer, '$(PYTHON)' is" \
			"$$($(PYTHON) --version 2>&1); choose another: make PYTHON=python3.12" >&2; \
		exit 1; }
	@mkdir -p $(VENV)
	@$(PYTHON) -m venv $(VENV) >$(LOG) 2>&1 || { cat $(LOG) >&2; exit 1; }
	@touch $@
