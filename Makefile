PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: run test test-all test-browser check bench audit lint types install clean

# Train and evaluate the default experiment on the embedded digits, next to its baselines.
run: $(VENV)/installed
	$(BIN)/tfssl study --splits 1

# Lint, types and tests: at most eight minutes on two cores. Workers take tests from each other when
# they run out of their own.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal
test: $(VENV)/installed lint types
	$(PYTEST)

# The same, and the tests that take minutes each; some need real data or the network.
test-all: $(VENV)/installed lint types
	$(PYTEST) -m "slow or not slow"

# In half a minute: lint, types, the doors of every room, and the tests of what changed since the
# last commit; those that do not begin within 12 seconds of testing are skipped. pre-commit runs this.
check: $(VENV)/installed lint types
	$(PYTEST) --within 12 $$($(BIN)/python .ci/changed_tests)

# The page of `tfssl demo` in a headless Chromium: /usr/bin/chromium, or what CHROMIUM names. Needs
# Node.js 20 or later with npm.
test-browser: $(VENV)/installed
	cd tests/browser && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	TFSSL=$(abspath $(BIN))/tfssl node --test tests/browser/*.test.mjs

# Times against Pyro, PyTorch and plain TensorFlow; about 20 minutes on an idle machine.
bench: $(VENV)/installed .venv-peers/installed
	$(BIN)/python -m benchmarks.speed --peers-python .venv-peers/bin/python
	$(BIN)/python -m benchmarks.speed.cost
	$(BIN)/python -m benchmarks.tables

# Known vulnerabilities of the pinned packages: needs the network, for it asks the package index about
# each, or with AUDIT_SERVICE=osv the database of osv.dev.
AUDIT_SERVICE ?= pypi
audit:
	$(PYTHON) -m venv build/audit
	build/audit/bin/python -m pip install --quiet pip-audit==2.10.1
	@build/audit/bin/pip-audit --vulnerability-service $(AUDIT_SERVICE) --requirement constraints.txt \
	    --no-deps --disable-pip --strict 2> build/audit/errors.txt || { \
	    tail -n 1 build/audit/errors.txt; \
	    grep -q '^Found ' build/audit/errors.txt || echo "Not audited: the service" \
	        "$(AUDIT_SERVICE) did not answer for every package. Connect to the network, or try" \
	        "the other one: make audit AUDIT_SERVICE=osv (or pypi)."; \
	    exit 1; }
	@tail -n 1 build/audit/errors.txt

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

.venv-peers/installed: benchmarks/peers/requirements.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet -r benchmarks/peers/requirements.txt
	touch $@

clean:
	rm -rf $(VENV) .venv-peers build tests/browser/node_modules
