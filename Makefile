# Commands on a machine with Python (3.11 or later), pip and make:
#   make demo   set up and run the whole path on what the package carries
#   make test   set up and run all checks, and all tests that need no browser
#   make test-browser   the board's tests in a real browser; make test-all: all tests, soaks and second looks as well
#   make test-lowest   the tests with the lowest versions that pyproject.toml allows
#   make test-extras   whether each extra can be installed with the base, alone and together
#   make test-harnesses   installs lm-eval and TRL too, and runs the integrations in them
#   make docs   set up and build the documentation site into site/
# Nothing outside this folder is changed; the environment is .venv.

PYTHON ?= python3
VENV := .venv
# uv installs in seconds what takes pip a minute. Only pip follows its own configuration, which may name a CPU build of torch.
# Neither compiles: a module is compiled when it is first imported, and of the libraries' thousands most never are.
INSTALL := $(VENV)/bin/uv pip install --quiet --python $(VENV)/bin/python --constraint constraints.txt

# Without compiled modules, each of the hundreds of interpreters that tests start would compile DivBench again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-browser test-all test-lowest test-extras test-harnesses check style types layers pytest docs clean help

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/demo.stamp
	$(VENV)/bin/divbench demo --out demo-run

# mypy has one thread, and so have the import layers: they run beside the tests.
test: export MARKED := not browser
test-all: export DIVBENCH_TESTS := all
test test-all: style
	$(MAKE) --no-print-directory --jobs 3 types layers pytest

test-browser: export MARKED := browser
test-browser: pytest

check: style types layers

style: $(VENV)/dev.stamp
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(VENV)/dev.stamp
	$(VENV)/bin/mypy

layers: $(VENV)/dev.stamp
	$(VENV)/bin/lint-imports

pytest: $(VENV)/dev.stamp
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder \
		-m "$(MARKED)"

# The lower bounds of pyproject.toml, in an environment of their own; TESTS=tests/benchmark/models for a part.
LOWEST := .venv-lowest
TESTS ?= tests
test-lowest: $(LOWEST)/stamp
	OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -p no:cacheprovider --numprocesses auto --dist loadfile \
		--no-loadscope-reorder $(TESTS)

$(LOWEST)/stamp: pyproject.toml
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --editable '.[dev]'
	@touch $@

# The integrations in the harnesses themselves, which no extra needs: every night.
test-harnesses: $(VENV)/bin/uv
	$(PYTHON) -m venv .venv-harnesses
	$(VENV)/bin/uv pip install --quiet --python .venv-harnesses/bin/python --constraint constraints.txt --editable '.[dev]' lm-eval trl
	OMP_NUM_THREADS=1 .venv-harnesses/bin/python -m pytest -p no:cacheprovider tests/divbench \
		-k "inspect or lm_eval or rollouts or callback"

# Each extra with the base by itself, and all of them, with this file's versions and with the newest: minutes, every night.
test-extras: $(VENV)/bin/uv
	extras=$$($(VENV)/bin/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies'])"); \
	for extra in $$extras "all --extra dev --extra peers"; do for versions in "" "--constraint constraints.txt"; do \
		$(VENV)/bin/uv pip compile --quiet --no-header $$versions --extra $$extra pyproject.toml -o /dev/null \
			&& echo "resolves: $$extra $$versions" || exit 1; \
	done; done

docs: $(VENV)/dev.stamp
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict

clean:
	rm -rf $(VENV) $(LOWEST) .venv-harnesses demo-run site

$(VENV)/bin/uv: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt torch uv
	@touch $@

$(VENV)/demo.stamp: pyproject.toml constraints.txt | $(VENV)/bin/uv
	$(INSTALL) --editable '.[score,board,offline]'
	@touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(VENV)/bin/uv
	$(INSTALL) --editable '.[dev]'
	@touch $@
