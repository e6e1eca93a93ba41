# make serve: everything set up and running.  make test: everything set up and tested.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
INSTALL := $(BIN)/python scripts/install.py

WEB := src/keepstone/surfaces/web/static/app/index.html
WEB_SOURCES := $(shell find web -name node_modules -prune -o -type f ! -name schema.d.ts -print)
TYPESCRIPT := clients/typescript/dist/index.js
TYPESCRIPT_SOURCES := openapi.json $(shell find clients/typescript/src clients/typescript/scripts clients/typescript/*.json -type f ! -name schema.ts)
# Clients of other makers, for npm, which the tests call the server with.
NPM := tests/npm/node_modules/.package-lock.json

.PHONY: serve run dashboard test test-citus check coverage docs bench hold suites train train-test try-model build release web typescript lock openapi schema pictures clean

# The server starts as soon as its packages are there. The dashboard is built beside it, and shown when it is ready; a machine
# that can't build it still serves.
serve: $(VENV)/bin/python
	@$(MAKE) --no-print-directory -j2 dashboard run

run: $(VENV)/serve.ok
	@$(BIN)/keepstone serve

dashboard: $(VENV)/bin/python
	@nice $(MAKE) --no-print-directory web || echo "The server works without the dashboard; \`make web\` tries again."

test: $(VENV)/dev.ok $(WEB) $(TYPESCRIPT) $(NPM)
	$(BIN)/python scripts/find_programs.py
	$(BIN)/python -m pytest -n 3

# What needs a database, on a Citus cluster of a coordinator and two workers. CITUS: where a Postgres with citus and vector
# is installed, if not in a usual place. TESTS: which, and pytest's options.
CITUS ?=
test-citus: $(VENV)/dev.ok
	citus=$$($(BIN)/python scripts/find_citus.py $(CITUS)) && KEEPSTONE_CITUS=$$citus $(BIN)/python -m pytest -n 3 $(TESTS)

check: $(VENV)/dev.ok $(WEB) $(TYPESCRIPT)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python scripts/build_web.py check
	$(BIN)/python scripts/build_client.py check
	$(BIN)/basedpyright --threads 2
	$(BIN)/python -m pytest -q tests/test_imports.py tests/test_shape.py

# How much of the source the tests in a process run: servers that they start are not counted.
coverage: $(VENV)/dev.ok $(WEB) $(TYPESCRIPT) $(NPM)
	$(BIN)/python scripts/find_programs.py
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term:skip-covered

# The documentation site, into site/. What builds it lies apart from what the server uses.
docs: $(VENV)/docs.ok
	@PYTHONPATH=$(VENV)/docs $(BIN)/python scripts/build_site.py

$(VENV)/docs.ok: requirements-docs.lock $(VENV)/serve.ok
	@echo "Installing what builds the documentation into $(VENV)/docs …"
	@$(INSTALL) --target $(VENV)/docs requirements-docs.lock
	@touch $@

bench: $(VENV)/dev.ok
	$(BIN)/python -m bench $(BENCH)

# Attacks on a server, and what somebody beside them notices. HOLD: further options, such as --seconds 5.
hold: $(VENV)/dev.ok
	$(BIN)/python -m bench.hold $(HOLD)

# The makers' own tests of stores, sessions and memory tools, on our adapters. SUITES: which of them, and pytest's options.
suites: $(VENV)/dev.ok
	$(BIN)/python -m bench.suites $(SUITES)

# The encoder, from the data in TRAINING_DATA to a folder: docs/encoder.md. PyTorch lies apart from what the server uses.
TRAINING_DATA ?= ../shared/encoder
ENCODER ?= build/encoder
train: $(VENV)/torch.ok
	PYTHONPATH=$(VENV)/torch $(BIN)/python -m training --data $(TRAINING_DATA) --out $(ENCODER)

train-test: $(VENV)/torch.ok
	PYTHONPATH=$(VENV)/torch $(BIN)/python -m pytest tests/test_training.py tests/test_training_with_torch.py

$(VENV)/torch.ok: requirements-torch.lock $(VENV)/dev.ok
	@echo "Installing PyTorch into $(VENV)/torch …"
	@$(INSTALL) --target $(VENV)/torch requirements-torch.lock
	@touch $@

# What it needs besides lies in $(VENV)/model: the locks know nothing of it.
try-model: $(VENV)/dev.ok
	$(BIN)/python scripts/try_model.py

web: $(WEB)

$(WEB): $(WEB_SOURCES) scripts/build_web.py scripts/npm.py | $(VENV)/bin/python
	@$(BIN)/python scripts/build_web.py

$(TYPESCRIPT): $(TYPESCRIPT_SOURCES) scripts/build_client.py scripts/npm.py | $(VENV)/bin/python
	@$(BIN)/python scripts/build_client.py

$(NPM): tests/npm/package-lock.json scripts/npm.py | $(VENV)/bin/python
	@$(BIN)/python scripts/npm.py tests/npm

# The npm package of the TypeScript client.
typescript: $(TYPESCRIPT)
	$(BIN)/python scripts/build_client.py pack dist

# The pictures of the README, of a server with made-up memories.
pictures: $(VENV)/dev.ok $(WEB)
	$(BIN)/python scripts/take_pictures.py

# PYTHONS: what the wheels are tried with, such as "python3.11 python3.14".
build: $(VENV)/dev.ok $(WEB) $(TYPESCRIPT)
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m build --no-isolation --outdir dist clients/python
	$(BIN)/python scripts/build_client.py pack dist
	$(BIN)/python scripts/check_wheel.py dist $(PYTHONS)

# All that a release is made of, in dist/, with notes and checksums; how to publish it is printed. SKIP_TESTS=1 where all
# tests have just passed.
release: $(VENV)/dev.ok
	$(BIN)/python scripts/release.py before
	$(MAKE) --no-print-directory check
	$(if $(SKIP_TESTS),@echo "Not running the tests.",$(MAKE) --no-print-directory test)
	$(BIN)/python -m pytest -q tests/test_openapi.py tests/test_deploy.py
	$(MAKE) --no-print-directory build
	$(BIN)/python scripts/release.py before
	$(BIN)/python scripts/release.py after

# Pins what pyproject.toml asks for, with hashes and without the address of any registry.
COMPILE := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-emit-package keepstone-client
lock: $(VENV)/dev.ok
	$(COMPILE) --group build pyproject.toml -o requirements.lock
	$(COMPILE) --group web -o requirements-web.lock
	$(COMPILE) --group uv -o requirements-uv.lock
	$(COMPILE) -c requirements.lock --extra otel --group web --group build --group dev --group bench pyproject.toml -o requirements-dev.lock
	$(COMPILE) -c requirements-dev.lock --group training -o requirements-torch.lock
	$(COMPILE) --group docs -o requirements-docs.lock
	echo mem0ai==2.2.1 | $(COMPILE) --no-deps --no-annotate - -o requirements-mem0.lock

openapi: $(VENV)/dev.ok
	$(BIN)/python tests/test_openapi.py

schema: $(VENV)/dev.ok
	$(BIN)/python tests/schema.py > tests/schema.txt

clean:
	rm -rf $(VENV) dist site web/node_modules clients/typescript/node_modules tests/npm/node_modules $(dir $(TYPESCRIPT)) $(dir $(WEB)) .pytest_cache .ruff_cache .hypothesis .coverage*

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Keepstone needs Python 3.11 or newer: make PYTHON=python3.12 serve"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "This Python has no venv module: install it (Debian, Ubuntu: apt install python3-venv)."; exit 1; }

$(VENV)/serve.ok: requirements.lock pyproject.toml clients/python/pyproject.toml | $(VENV)/bin/python
	@echo "Installing Keepstone into $(VENV) …"
	@$(INSTALL) requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e clients/python -e .
	@touch $@

# mem0's client, which the tests call us with, wants an older protobuf than we have, and never uses it: so it comes
# without what it asks for. What it does use is in the group `dev`.
$(VENV)/dev.ok: requirements-dev.lock requirements-mem0.lock $(VENV)/serve.ok
	@echo "Installing what the tests need …"
	@$(INSTALL) requirements-dev.lock
	@$(INSTALL) requirements-mem0.lock
	@touch $@
