# make serve: everything set up and running.  make test: everything set up and tested.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: serve test check bench try-model build lock openapi clean

serve: $(VENV)/serve.ok
	@$(BIN)/cairn serve

test: $(VENV)/dev.ok
	$(BIN)/python -m pytest -n 2 --dist loadgroup

check: $(VENV)/dev.ok
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/python -m pytest -q tests/test_imports.py

bench: $(VENV)/dev.ok
	$(BIN)/python -m bench $(BENCH)

# What it needs besides lies in $(VENV)/model: the locks know nothing of it.
try-model: $(VENV)/serve.ok
	$(BIN)/python scripts/try_model.py

build: $(VENV)/dev.ok
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python scripts/check_wheel.py dist

# Pins what pyproject.toml asks for, with hashes and without the address of any registry.
COMPILE := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
lock: $(VENV)/dev.ok
	$(COMPILE) --group build pyproject.toml -o requirements.lock
	$(COMPILE) -c requirements.lock --extra otel --group build --group dev --group bench pyproject.toml -o requirements-dev.lock

openapi: $(VENV)/dev.ok
	$(BIN)/python tests/test_openapi.py

clean:
	rm -rf $(VENV) dist .pytest_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Cairn needs Python 3.11 or newer: make PYTHON=python3.12 serve"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "This Python has no venv module: install it (Debian, Ubuntu: apt install python3-venv)."; exit 1; }

$(VENV)/serve.ok: requirements.lock pyproject.toml | $(VENV)/bin/python
	@echo "Installing Cairn into $(VENV) …"
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/dev.ok: requirements-dev.lock $(VENV)/serve.ok
	@echo "Installing what the tests need …"
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $@
