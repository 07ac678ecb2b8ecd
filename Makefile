PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: serve test test-every-case test-partitions test-pooler bench faults fuzz soak mutants picture docs screenshots sdks clean

serve: $(VENV)/.installed
	@$(BIN)/relayboard demo $(if $(PORT),--port $(PORT))

test: $(VENV)/.tox-installed
	@$(BIN)/tox -q run

test-every-case: export RELAYBOARD_EVERY_CASE := 1
test-every-case: export RELAYBOARD_EVERY_MEETING := 1
test-every-case: export RELAYBOARD_EVERY_OPERATION := 1
test-every-case: test

test-partitions: $(VENV)/.tox-installed
	@$(BIN)/tox -q run -e partitions

test-pooler: $(VENV)/.tox-installed
	@$(BIN)/tox -q run -e pooler

bench: $(VENV)/.dev-installed
	@$(BIN)/python -m bench

faults: $(VENV)/.dev-installed
	@$(BIN)/python -m bench.faults --write

fuzz: $(VENV)/.dev-installed
	@$(BIN)/python -m tests.fuzz --write

soak: $(VENV)/.dev-installed
	@$(BIN)/python -m bench.soak --write

mutants: $(VENV)/.dev-installed
	@$(BIN)/python -m mutmut run $(if $(ONLY),'$(ONLY)')
	@$(BIN)/python -m mutmut results

picture: $(VENV)/.dev-installed
	@$(BIN)/python -m tools.picture > docs/architecture.svg

docs: $(VENV)/.docs-installed
	@$(BIN)/python -m tools.docs_site

sdks: $(VENV)/.sdks-installed
	@$(BIN)/python -m tools.sdks

screenshots: $(VENV)/.dev-installed
	@$(BIN)/python -m tools.console.screenshots

$(VENV)/bin/python:
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "Installing Relayboard into $(VENV) (about half a minute, once)..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev-installed: pyproject.toml | $(BIN)/python
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(VENV)/.docs-installed: pyproject.toml | $(BIN)/python
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[docs]'
	@touch $@

$(VENV)/.sdks-installed: pyproject.toml | $(BIN)/python
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[dev,sdks]'
	@touch $@

$(VENV)/.tox-installed: pyproject.toml tox.ini | $(BIN)/python
	@$(BIN)/python -m pip install -qq --disable-pip-version-check 'tox>=4.30' 'tox-uv>=1.20'
	@touch $@

clean:
	rm -rf $(VENV) .tox var build dist site mutants *.egg-info
