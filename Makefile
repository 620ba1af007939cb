PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: run test lint types install clean

# Train and evaluate the default experiment on the embedded digits, next to its baselines.
run: $(VENV)/installed
	$(BIN)/tfssl study --splits 1

# Lint, types and tests.
test: $(VENV)/installed lint types
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed
	$(BIN)/mypy

install: $(VENV)/installed

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV)
