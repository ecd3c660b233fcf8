# Two commands on a machine with Python (3.11 or later), pip and make:
#   make demo   set up and run the whole path on what the package carries
#   make test   set up and run all checks and tests; make test-all: soaks and second looks as well
#   make docs   set up and build the documentation site into site/
# Nothing outside this folder is changed; the environment is .venv.

PYTHON ?= python3
VENV := .venv
# A module is compiled when it is first imported; of the libraries' thousands most never are.
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt

# Without compiled modules, each of the hundreds of interpreters that tests start would compile DivBench again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all check style types layers pytest docs clean help

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/demo.stamp
	$(VENV)/bin/divbench demo --out demo-run

# mypy has one thread, and so have the import layers: they run beside the tests.
test-all: export DIVBENCH_TESTS := all
test test-all: style
	$(MAKE) --no-print-directory --jobs 3 types layers pytest

check: style types layers

style: $(VENV)/dev.stamp
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(VENV)/dev.stamp
	$(VENV)/bin/mypy

layers: $(VENV)/dev.stamp
	$(VENV)/bin/lint-imports

pytest: $(VENV)/dev.stamp
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

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
