# Two installs in one .venv: what a person needs to run Madang, and on top of it what a developer needs.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-header $(if $(UPGRADE),--upgrade)

.DEFAULT_GOAL := help
.PHONY: help setup run web bundle test cover fast format check bench hosts lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/.dev ## Install everything a developer needs into .venv (PYTHON=... names the interpreter)

run: ## Start Madang; installs only what it needs to run
	@exec env PYTHON="$(PYTHON)" MAKE="$(MAKE)" scripts/run # exec: a shell in between would tell of a Ctrl-C

web: $(BIN)/pip ## Build the front end of the web chat, if it has changed
	@$(BIN)/python scripts/web

bundle: .venv/.dev ## Pack dist/madang.mcpb, which Claude Desktop installs at a double click
	@scripts/bundle

test: .venv/.dev ## Run the checks and all tests on the built wheel, as CI does
	@scripts/system-packages
	@scripts/node-packages
	@scripts/check
	@$(BIN)/python scripts/web test
	@scripts/test

cover: .venv/.dev ## Run all tests with branch coverage, which takes half as long again
	@scripts/system-packages
	@scripts/node-packages
	@scripts/test cover

fast: .venv/.dev ## Run the tests that stay inside one process, against src/
	@scripts/test fast

format: .venv/.dev ## Format the code and sort its imports
	@$(BIN)/ruff check --quiet --select I --fix .
	@$(BIN)/ruff format .

check: .venv/.dev ## Check format, lint, types, imports and generated files
	@scripts/check

bench: .venv/.dev ## Measure
	@$(BIN)/python -m benchmarks

hosts: .venv/.dev ## Run Madang in real agents and frameworks; downloads over a gigabyte (NAMES="codex gemini" picks)
	@scripts/node-packages
	@$(BIN)/python -m hosts $(NAMES)

lock: $(BIN)/pip ## Write requirements/ anew from pyproject.toml (UPGRADE=1 takes newer versions)
	$(INSTALL) uv
	$(COMPILE) pyproject.toml --output-file requirements/run.txt
	$(COMPILE) pyproject.toml --all-extras --group dev --constraint requirements/run.txt --output-file requirements/dev.txt
	$(COMPILE) pyproject.toml --extra postgresql --constraint requirements/dev.txt --output-file requirements/server.txt
	$(COMPILE) --group build --constraint requirements/dev.txt --output-file requirements/build.txt
	$(COMPILE) --group web --output-file requirements/web.txt
	cd web && npm $(if $(UPGRADE),update,install) --package-lock-only
	cd requirements/node && npm $(if $(UPGRADE),update,install) --package-lock-only

clean: ## Remove .venv and everything made by tools
	rm -rf .venv .node web/node_modules src/madang/host/static .hosts .artefacts .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find benchmarks hosts scripts src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Madang needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 ...")'
	@echo "Making .venv with $(PYTHON) ..."
	@$(PYTHON) -m venv .venv

# The build tools come from a lock too, so nothing gets in here that is not pinned by its hash;
# pip's build isolation would fetch whatever is newest. `pip check` fails when a lock lags behind pyproject.toml.
# --no-deps: a lock is whole, and some versions of pip look for the newest of what a dependency asks for with an extra
# (coverage[toml]), though the lock pins it: the install fails on the day of its next release.
.venv/.run: pyproject.toml requirements/run.txt requirements/build.txt | $(BIN)/pip
	@echo "Installing what Madang needs into .venv: about 190 MB, a minute or two, once ..."
	@$(INSTALL) --require-hashes --no-deps -r requirements/run.txt -r requirements/build.txt
	@echo "Installing Madang ..."
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@$(PIP) --quiet check
	@touch $@
	@echo "Done. The command is $(CURDIR)/$(BIN)/madang"

.venv/.dev: .venv/.run requirements/dev.txt
	@echo "Installing what developers need: a minute or two, once ..."
	@$(INSTALL) --require-hashes --no-deps -r requirements/dev.txt
	@$(PIP) --quiet check
	@touch $@
