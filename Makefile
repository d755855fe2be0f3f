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
EXTRAS_supply := supply
EXTRAS_sbom := plot,cli,report,dask
EXTRAS_bench := bench,plot,cli
EXTRAS_frontier := bench,plot
EXTRAS_reproduce := reproduce
EXTRAS_fuzz := test

# What `make oldest` runs with the oldest versions that pyproject.toml allows, unless ARGS says else.
OLDEST_TESTS := tests/golden tests/test_estimator.py tests/test_import.py tests/laws/test_order.py \
	tests/stability tests/storage tests/cli tests/distributed
# Old packages use what the newest packages that they need themselves have deprecated.
OLD_WARNINGS := -W default::DeprecationWarning -W default::FutureWarning

# Two pips must not write to one environment at a time, so `make -j` runs the goals in turn.
.NOTPARALLEL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help demo test browser lint bench frontier reproduce fuzz oldest lock sbom clean

help:
	@echo "make demo    cluster the Wine data, compare with the classic methods, write demo-report.html"
	@echo "make test    run all tests but those that need a browser"
	@echo "make browser drive the report page in Chromium; installs it from the system's packages"
	@echo "make lint    check style, types, licences and known vulnerabilities"
	@echo "make bench   measure speed and memory against other clusterers"
	@echo "make frontier  measure cost against movement, for holdfast and its peers"
	@echo "make reproduce   run the paper's experiments into results/ (ARGS=--quick: a first look)"
	@echo "make fuzz    try new inputs on the fuzz targets, a minute each; ARGS=\"--minutes 5\""
	@echo "make oldest  run the main tests with the oldest versions of all dependencies"
	@echo "make lock    write requirements-dev.lock anew: versions and hashes for development"
	@echo "make sbom    write sbom.cdx.json: what an installation of holdfast consists of"
	@echo "make clean   remove .venv and everything else that can be made again"

demo: $(VENV)/.ready-demo
	@$(RUN) -m holdfast.cli.demo $(ARGS)

# Two processes; both must list the tests in the same order, whatever the order of sets.
# scikit-learn's checks of array API support are skipped unless SCIPY_ARRAY_API is set.
test: $(VENV)/.ready-test
	@PYTHONHASHSEED=0 SCIPY_ARRAY_API=1 MPLBACKEND=Agg $(RUN) -m pytest \
		--numprocesses 2 --dist worksteal $(ARGS)

# HOLDFAST_PICTURES=folder keeps its screenshots.
browser: $(VENV)/.ready-browser
	@tests/browser/get_chromium.sh
	@$(RUN) -m pytest tests/browser $(ARGS)

lint: $(VENV)/.ready-lint
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy
	@$(RUN) supply/licences.py
	@$(RUN) supply/audit.py

bench: $(VENV)/.ready-bench
	@$(RUN) benchmarks/run.py $(ARGS)

frontier: $(VENV)/.ready-frontier
	@$(RUN) benchmarks/frontier/run.py $(ARGS)

reproduce: $(VENV)/.ready-reproduce
	@$(RUN) -m holdfast_paper $(ARGS)

fuzz: $(VENV)/.ready-fuzz
	@$(RUN) tests/fuzz/run.py $(ARGS)

# In an environment of its own, with a cache of its own for what numba compiles.
oldest:
	@mkdir -p .venv-oldest
	@$(PYTHON) supply/lower_bounds.py >.venv-oldest/constraints.txt
	@NUMBA_CACHE_DIR=$(CURDIR)/.venv-oldest/numba $(MAKE) --no-print-directory VENV=.venv-oldest \
		CONSTRAINTS=.venv-oldest/constraints.txt ARGS="$(or $(ARGS),$(OLDEST_TESTS)) $(OLD_WARNINGS)" test

lock: $(VENV)/.created
	@$(RUN) supply/lock.py

# Of an environment that holds what users install and nothing else.
sbom: $(VENV)/.ready-supply
	@$(MAKE) --no-print-directory VENV=.venv-sbom .venv-sbom/.ready-sbom
	@$(RUN) -m cyclonedx_py environment --pyproject pyproject.toml --mc-type library \
		--output-reproducible --output-format JSON --output-file sbom.cdx.json $(ARGS) \
		.venv-sbom/bin/python

clean:
	@rm -rf $(VENV) .venv-oldest .venv-sbom sbom.cdx.json build dist fuzz-failures .mypy_cache \
		.pytest_cache .ruff_cache .hypothesis benchmarks/work
	@rm -f demo-report.html
	@find src tests benchmarks -type d \( -name __pycache__ -o -name '*.egg-info' \) \
		-prune -exec rm -rf {} + 2>/dev/null || true

$(VENV)/.ready-%: pyproject.toml $(VENV)/.created
	@echo "Installing what 'make $*' needs into $(VENV) (once)"
	@$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.$(if $(EXTRAS_$*),[$(EXTRAS_$*)])' \
		$(if $(CONSTRAINTS),--constraint $(CONSTRAINTS)) \
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
