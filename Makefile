# make demo | talk | docs | test | slow | fuzz | lint | compiled | simulator | bench | bench-check | clean: each sets up its own virtual environment first.
ROOT := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
VENV ?= $(ROOT).venv
BIN := $(VENV)/bin
PYTHON ?= python3
JOBS ?= $(shell nproc)
# Only the plugins that the tests use, whatever else is installed.
PYTEST := PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(BIN)/python -m pytest -q -p xdist.plugin -p pytest_timeout -n $(JOBS) --dist loadfile --durations 100 --durations-min 4

.PHONY: demo talk docs test slow fuzz lint compiled simulator bench bench-check clean
.DEFAULT_GOAL := demo

# Most modules of libraries are never imported: Python compiles those that are, when they are.
$(VENV)/.ready: $(ROOT)pyproject.toml
	@echo "Setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e "$(ROOT)[dev]"
	@touch $@

$(VENV)/.synth: $(VENV)/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e "$(ROOT)[dev,docs,synth,gowin,ice40]"
	@touch $@

$(VENV)/.docs: $(VENV)/.ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e "$(ROOT)[dev,docs]"
	@touch $@

demo: $(VENV)/.ready
	@cd $(ROOT) && $(BIN)/stepgen demo

talk: $(VENV)/.ready
	@cd $(ROOT) && $(BIN)/stepgen talk

docs: $(VENV)/.docs
	@cd $(ROOT) && $(BIN)/python -m sphinx -q -W --keep-going -c docs/site . build/docs
	@echo "The documentation is in build/docs/index.html"

test: $(VENV)/.ready
	cd $(ROOT) && $(PYTEST)

slow: $(VENV)/.synth
	cd $(ROOT) && $(PYTEST) -m slow --timeout=7200

# Drawn programs, new ones each time: MINUTES=600 for a long campaign, SEED=N for that of a number.
MINUTES ?= 2
ifndef SEED
SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
endif
FUZZ := build/fuzz

fuzz: $(VENV)/.ready
	@cd $(ROOT) && $(BIN)/stepgen fuzz --minutes $(MINUTES) --seed $(SEED) -j $(JOBS) -o $(FUZZ) || { \
		status=$$?; \
		for case in $(FUZZ)/crashers/$(SEED)-*.json; do echo "$$case:"; cat "$$case"; done; \
		exit $$status; }

# The cycle models and the timing on tiles, so that no run is interpreted.
compiled: $(VENV)/.ready
	@cd $(ROOT) && $(BIN)/python -m stepgen.timing

# What all simulations share, which stays in the cache: Verilator's library, and Yosys as machine code.
simulator: $(VENV)/.ready
	@cd $(ROOT) && NUMBA_DISABLE_JIT=1 $(BIN)/stepgen test perceptron --driver cpp -o build/simulator > /dev/null

lint: $(VENV)/.ready
	cd $(ROOT) && $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

bench: $(VENV)/.synth
	cd $(ROOT) && $(BIN)/python -m benchmarks

# A sample of the tables of benchmarks/RESULTS.md again: which numbers have moved.
bench-check: $(VENV)/.synth
	cd $(ROOT) && $(BIN)/python -m benchmarks.check

clean:
	rm -rf $(VENV) $(ROOT)build
