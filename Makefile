# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(wildcard _ext/*.pyx _ext/*.h) _ext/kernels.c setup.py pyproject.toml

FUZZ_SECONDS ?= 600

.PHONY: help demo test lint types aarch64 bench kill9 sanitize fuzz hostile boot powercut clean

help:  ## List the targets
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip

$(VENV)/.installed: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install -q -e .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install -q --group test --group lint
	@touch $@

demo: $(VENV)/.installed  ## Build, start a daemon on a temporary store, ingest the docs, ask
	@$(BIN)/python tools/demo.py

test: $(VENV)/.installed-test  ## Run the whole test suite
	$(BIN)/python -m pytest

lint: $(VENV)/.installed-test  ## ruff and cython-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(abspath $(BIN)):$$PATH" cython-lint _ext

types: $(VENV)/.installed-test  ## mypy, and the stubs against the built extensions
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest brain_daemon._ext.distance brain_daemon._ext.bm25 \
		brain_daemon._ext.ppr brain_daemon._ext.rrf brain_daemon._ext.framing \
		brain_daemon._ext.vocabulary brain_daemon._ext.excerpt brain_daemon._ext.wordpiece \
		brain_daemon._ext.checksum brain_daemon._ext.stems brain_daemon._ext.words

aarch64:  ## Compile the C kernels for aarch64 (needs gcc-aarch64-linux-gnu)
	aarch64-linux-gnu-gcc -std=c11 -O3 -Wall -Wextra -Werror -c _ext/kernels.c -o /dev/null

bench: $(VENV)/.installed-test  ## Benchmarks over the socket; one JSON in bench/results/
	$(BIN)/python -m pip install -q --group bench
	$(BIN)/python -m bench

kill9: $(VENV)/.installed-test  ## A hundred kill -9 in mid-ingest
	BRAIN_KILL_CYCLES=100 $(BIN)/python -m pytest tests/e2e/test_kill.py --timeout 1200

sanitize: $(VENV)/.installed-test  ## The kernels under AddressSanitizer and UBSan
	$(BIN)/python -m pip install -q --group sanitize
	bash tools/sanitize.sh $(abspath $(BIN)/python)

fuzz: $(VENV)/.installed-test  ## Fuzz framing and requests, guided by coverage, for FUZZ_SECONDS
	$(BIN)/python -m pip install -q --group fuzz
	$(BIN)/python -m tests.fuzz.run $(FUZZ_SECONDS)

hostile: $(VENV)/.installed-test  ## What a client notices while others attack
	$(BIN)/python -m bench.hostile

boot: $(VENV)/.installed  ## Boot a real systemd in a container and check the service (root)
	tests/boot/run $(abspath $(BIN)/python)

powercut: $(VENV)/.installed  ## Boot an emulated machine and cut its power and memory (Debian)
	tests/vm/run $(abspath $(BIN)/python)

clean:  ## Remove what the build made
	rm -rf build dist *.egg-info $(VENV) _ext/*.so
	rm -f $(patsubst %.pyx,%.c,$(wildcard _ext/*.pyx))
