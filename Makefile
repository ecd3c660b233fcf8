# Two commands on a machine with Python (3.11 or later), pip and make:
#   make demo   set up and run the whole path on what the package carries
#   make test   set up and run all checks and tests; make test-all: soaks and second looks as well
#   make docs   set up and build the documentation site into site/
# Nothing outside this folder is changed; the environment is .venv.

PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# Without compiled modules, each of the hundreds of interpreters that tests start would compile DivBench again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all check docs clean help

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/demo.stamp
	$(VENV)/bin/divbench demo --out demo-run

test-all: export DIVBENCH_TESTS := all
test test-all: check
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

check: $(VENV)/dev.stamp
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

docs: $(VENV)/dev.stamp
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict

clean:
	rm -rf $(VENV) demo-run site

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable '.[score,board,offline]'
	@touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) --editable '.[dev]'
	@touch $@
