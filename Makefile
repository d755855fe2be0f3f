# Every target installs what it needs: .venv once, then its packages again if pyproject.toml changes.
# Options: PYTHON (Python 3.11 or newer) and ARGS, which is passed to the program that runs:
#   make test ARGS="tests/laws -k greedy"

PYTHON ?= python3
ARGS ?=

VENV := .venv
RUN := $(VENV)/bin/python
# The output of venv and pip, shown only when they fail.
LOG := $(VENV)/setup.log
PICTURES := build/pictures

# The extras in pyproject.toml that each target needs.
EXTRAS_demo :=
EXTRAS_test := test
EXTRAS_browser := browser
EXTRAS_pictures := browser,cli,docs
EXTRAS_peers := peers
EXTRAS_docs := docs
EXTRAS_lint := lint
EXTRAS_supply := supply
EXTRAS_sbom := plot,cli,report,dask
EXTRAS_bench := bench,plot,cli
EXTRAS_frontier := bench,plot
EXTRAS_drift := bench,plot
EXTRAS_reproduce := reproduce,cli
EXTRAS_fuzz := test

# The tests that `make oldest` runs with the oldest versions in pyproject.toml, unless ARGS is given.
OLDEST_TESTS := tests/golden tests/test_estimator.py tests/test_import.py tests/laws/test_order.py \
	tests/stability tests/storage tests/cli tests/distributed
# Old packages use features that their own newest dependencies have deprecated.
OLD_WARNINGS := -W default::DeprecationWarning -W default::FutureWarning

# Two pip processes must not write to one environment at once, so `make -j` runs targets in turn.
.NOTPARALLEL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help demo test browser pictures peers docs lint bench frontier drift reproduce fuzz oldest lock sbom \
	release-check clean

help:
	@echo "make demo       cluster the Wine data, compare methods, write demo-report.html"
	@echo "make test       run all tests except those that need a browser"
	@echo "make browser    test the report page in Chromium (installs it from system packages)"
	@echo "make pictures   take pictures of reports of real tables, into build/pictures"
	@echo "make peers      test the adapters of clusterers of other packages (installs these)"
	@echo "make docs       build the documentation site; runs the examples and checks every link"
	@echo "make lint       check style, types, workflows, licenses and known vulnerabilities"
	@echo "make bench      measure speed and memory relative to other clusterers"
	@echo "make frontier   measure cost and movement of all methods on many data sets"
	@echo "make drift      measure how much clusters move from release to release (ARGS=--quick for a first look)"
	@echo "make reproduce  run the experiments of the paper into results/ (ARGS=--quick for a first look)"
	@echo "make fuzz       run each fuzz target on new inputs for a minute (ARGS=\"--minutes 5\" for five)"
	@echo "make oldest     run the main tests with the oldest versions of all dependencies"
	@echo "make lock       update requirements-dev.lock: versions and hashes for development"
	@echo "make sbom       write sbom.cdx.json, the bill of materials of an installation"
	@echo "make release-check  build sdist and wheel, compare them with the tree, use the wheel alone"
	@echo "make clean      remove .venv and everything else that make creates"

demo: $(VENV)/.ready-demo
	@$(RUN) -m holdfast.cli.demo $(ARGS)

# Two processes run the tests. PYTHONHASHSEED makes both list the tests in the same order.
# scikit-learn skips its checks of array API support unless SCIPY_ARRAY_API is set.
test: $(VENV)/.ready-test
	@PYTHONHASHSEED=0 SCIPY_ARRAY_API=1 MPLBACKEND=Agg $(RUN) -m pytest \
		--numprocesses 2 --dist worksteal $(ARGS)

# The screenshots stay in build/pictures.
browser: $(VENV)/.ready-browser
	@tests/browser/get_chromium.sh
	@HOLDFAST_PICTURES=$(PICTURES) $(RUN) -m pytest tests/browser $(ARGS)

# Reports of real tables, one of a million rows: takes minutes. ARGS="--only towns" for one table.
pictures: $(VENV)/.ready-pictures
	@tests/browser/get_chromium.sh
	@PYTHONPATH=tests $(RUN) tests/browser/look_at_tables.py $(ARGS) $(PICTURES)

# Compiles their kernels: takes minutes.
peers: $(VENV)/.ready-peers
	@$(RUN) -m pytest tests/peers $(ARGS)

# Examples run again if they or the package changed; what they made is in docs/gallery.
docs: $(VENV)/.ready-docs
	@$(RUN) docs/_site/run_blocks.py
	@$(RUN) -m sphinx --fail-on-warning --keep-going --quiet --builder html \
		--doctree-dir build/docs/doctrees $(ARGS) docs build/docs/html
	@$(RUN) docs/_site/check_links.py build/docs/html
	@echo "The site is built. Open file://$(CURDIR)/build/docs/html/index.html"

lint: $(VENV)/.ready-lint
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy
	@$(VENV)/bin/zizmor --offline --no-progress --quiet .github/workflows
	@$(RUN) supply/licences.py
	@$(RUN) supply/audit.py

bench: $(VENV)/.ready-bench
	@$(RUN) benchmarks/run.py $(ARGS)

frontier: $(VENV)/.ready-frontier
	@$(RUN) benchmarks/frontier/run.py $(ARGS)

drift: $(VENV)/.ready-drift
	@$(RUN) benchmarks/drift/run.py $(ARGS)
	@$(RUN) benchmarks/drift/year.py $(filter --quick,$(ARGS))

reproduce: $(VENV)/.ready-reproduce
	@$(VENV)/bin/holdfast reproduce $(if $(findstring --quick,$(ARGS)),--out build/reproduce) $(ARGS)

fuzz: $(VENV)/.ready-fuzz
	@$(RUN) tests/fuzz/run.py $(ARGS)

# Uses a separate environment and a separate numba cache.
oldest:
	@mkdir -p .venv-oldest
	@$(PYTHON) supply/lower_bounds.py >.venv-oldest/constraints.txt
	@NUMBA_CACHE_DIR=$(CURDIR)/.venv-oldest/numba $(MAKE) --no-print-directory VENV=.venv-oldest \
		CONSTRAINTS=.venv-oldest/constraints.txt ARGS="$(or $(ARGS),$(OLDEST_TESTS)) $(OLD_WARNINGS)" test

lock: $(VENV)/.created
	@$(RUN) supply/lock.py

# Describes an environment that contains only what users install.
sbom: $(VENV)/.ready-supply
	@$(MAKE) --no-print-directory VENV=.venv-sbom .venv-sbom/.ready-sbom
	@$(RUN) -m cyclonedx_py environment --pyproject pyproject.toml --mc-type library \
		--output-reproducible --output-format JSON --output-file sbom.cdx.json $(ARGS) \
		.venv-sbom/bin/python

# ARGS="--tag v1.2.3" for the release itself; ARGS=--no-install builds and compares only.
release-check: $(VENV)/.ready-supply
	@$(RUN) supply/release_check.py $(ARGS)

clean:
	@rm -rf $(VENV) .venv-oldest .venv-sbom sbom.cdx.json build dist fuzz-failures .mypy_cache \
		.pytest_cache .ruff_cache .hypothesis benchmarks/work
	@rm -rf docs/_extra docs/_made docs/gallery docs/reference/api docs/tutorials
	@rm -f demo-report.html docs/reference/commands.md docs/reference/python.md
	@find src tests benchmarks docs -type d \( -name __pycache__ -o -name '*.egg-info' \) \
		-prune -exec rm -rf {} + 2>/dev/null || true

$(VENV)/.ready-%: pyproject.toml $(VENV)/.created
	@echo "Installing what 'make $*' needs into $(VENV) (once)"
	@$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.$(if $(EXTRAS_$*),[$(EXTRAS_$*)])' \
		$(if $(CONSTRAINTS),--constraint $(CONSTRAINTS)) \
		>$(LOG) 2>&1 || { cat $(LOG) >&2; exit 1; }
	@touch $@

$(VENV)/.created:
	@command -v $(PYTHON) >/dev/null || { \
		echo "make: no '$(PYTHON)' found; choose Python 3.11 or newer:" \
			"make PYTHON=/path/to/python3" >&2; \
		exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "make: holdfast needs Python 3.11 or newer, '$(PYTHON)' is" \
			"$$($(PYTHON) --version 2>&1); choose another: make PYTHON=python3.12" >&2; \
		exit 1; }
	@mkdir -p $(VENV)
	@$(PYTHON) -m venv $(VENV) >$(LOG) 2>&1 || { cat $(LOG) >&2; exit 1; }
	@touch $@
