# make demo | test | lint | bench | clean: each sets up its own virtual environment first.
ROOT := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
VENV := $(ROOT).venv
BIN := $(VENV)/bin
PYTHON ?= python3
JOBS ?= $(shell nproc)

.PHONY: demo test slow lint bench clean
.DEFAULT_GOAL := demo

$(VENV)/.ready: $(ROOT)pyproject.toml
	@echo "Setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e "$(ROOT)[dev]"
	@touch $@

$(VENV)/.synth: $(VENV)/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e "$(ROOT)[dev,synth]"
	@touch $@

demo: $(VENV)/.ready
	@cd $(ROOT) && $(BIN)/stepgen demo

test: $(VENV)/.ready
	cd $(ROOT) && $(BIN)/python -m pytest -q -n $(JOBS)

slow: $(VENV)/.synth
	cd $(ROOT) && $(BIN)/python -m pytest -q -n $(JOBS) -m slow

lint: $(VENV)/.ready
	cd $(ROOT) && $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

bench: $(VENV)/.synth
	cd $(ROOT) && $(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) $(ROOT)build
