# Every target makes the environment it needs in .venv: Python 3.11 or newer, make and a network are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test page mutants check format bench docs constraints clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-13s%s\n", $$1, $$2}' Makefile

demo: $(VENV)/with-plot $(VENV)/with-server  ## from two plain tables to an answer, its report and a picture; then a problem of the paper
	$(BIN)/probewise demo

# One thread of linear algebra per worker: pytest-xdist already uses every core.
test: export OPENBLAS_NUM_THREADS := 1
test: export OMP_NUM_THREADS := 1
test: export MKL_NUM_THREADS := 1
test: export MPLBACKEND := Agg
test: check  ## check, then run every test
	$(BIN)/pytest -n auto --dist worksteal

page: export PROBEWISE_BROWSER := 1
page: $(VENV)/with-dev $(VENV)/with-page  ## open the pages of the server in Chromium, click through them and look for faults
	$(BIN)/pytest -v tests/test_page_browser.py

mutants: $(VENV)/with-dev  ## change the sources harmfully, a little each time, and see that the tests notice; takes long
	$(BIN)/python tests/mutants.py

check: $(VENV)/with-dev  ## style, types and the one-way imports between layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/with-dev  ## rewrite the sources in the common style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/with-dev  ## measure speed and size against the goals of each script; says where longer measurements are quoted
	$(BIN)/python benchmarks/all.py

docs: $(VENV)/with-docs  ## build the pages in docs/_build/html; a warning is an error
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# Versions only, each for the version of Python that they were tried with; another one takes the newest that fit.
constraints: $(BIN)/python  ## renew this environment, and write its versions to constraints.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager --editable '.[dev,docs,plot]'
	@{ echo "# Exact versions of the development environment, written by 'make constraints'; other versions of Python are free."; \
	   $(BIN)/python -m pip --disable-pip-version-check freeze --exclude-editable | grep '^[A-Za-z0-9._-]*==' \
	     | sed "s/$$/; python_version == \"$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')\"/"; } \
	  > constraints.new && mv constraints.new constraints.txt
	@touch $(VENV)/with-dev $(VENV)/with-docs $(VENV)/with-plot

clean:  ## remove all that these targets made
	rm -rf $(VENV) docs/_build demo dist build mutants.jsonl .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

# with-NAME: the package, editable, with its extra NAME; renewed when pyproject.toml or constraints.txt changes.
$(VENV)/with-%: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing probewise[$*] into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --editable '.[$*]'
	@touch $@

# Some systems ship venv without ensurepip: then the pip of the system, if any, puts pip into the environment.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(v < (3, 11) and \
	  "probewise needs Python 3.11 or newer, $(PYTHON) is %d.%d; name another one: make PYTHON=python3.12" % v)'
	@$(PYTHON) -m venv --clear $(VENV) >/dev/null 2>&1 \
	  || { $(PYTHON) -m venv --clear --without-pip $(VENV) \
	       && $(PYTHON) -m pip --python $@ install --quiet --disable-pip-version-check pip; } \
	  || { echo "$(PYTHON) cannot make an environment with pip; install its venv package (python3-venv)." >&2; exit 1; }
