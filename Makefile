# make demo · make test · make check · make docs · make plugins · make prove · make bench · make eval
# Everything that is made or downloaded stays inside this folder.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   := .demo
TOOLS  := .cache/tools
SOURCES := pyproject.toml requirements/demo.txt $(shell find tars_memory vault-template completions man -type f ! -name '*.pyc' | sed 's/ /\\ /g')

# An empty environment has no PATH at all.
export PATH := $(or $(PATH),/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
export PIP_CACHE_DIR := $(CURDIR)/.cache/pip
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export TMPDIR := $(CURDIR)/.cache/tmp
# Else each worker of the tests would compile each of them at each run: seven seconds of a processor.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check docs plugins lock release mermaid prove bench eval screens transcripts sessions format clean
.DEFAULT_GOAL := help

help:  ## what can be made
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

demo: $(DEMO)/.installed  ## install into an environment of its own, make a vault, write, search; offline once installed
	@sh scripts/demo.sh $(DEMO)

test: $(VENV)/.installed  ## the tests, the same cases each time (three minutes)
	@mkdir -p $(TMPDIR)
	$(BIN)/pytest -n 3 --dist worksteal -m "not prove"

check: $(VENV)/.installed  ## ruff, mypy, import contracts, unused code, docs in step with the code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=. $(BIN)/lint-imports --no-cache
	@mkdir -p $(TMPDIR)
	$(BIN)/pytest -q -p no:cacheprovider tests/test_docs.py tests/test_architecture.py tests/cli/test_commands_page.py

docs: $(VENV)/.installed  ## make docs/commands.md and the man page from the commands
	PYTHONPATH=. $(BIN)/python scripts/commands_page.py
	PYTHONPATH=. $(BIN)/python scripts/man_page.py

lock: $(TOOLS)/.installed  ## pin every dependency with its hashes, and make the bill of materials anew
	sh scripts/lock.sh $(TOOLS)/bin

release: $(TOOLS)/.installed  ## build wheel and sdist twice to the byte, install them offline by uv and pipx
	sh scripts/release.sh $(TOOLS)/bin

plugins: $(VENV)/.installed  ## make plugins/ from the hooks that are installed, and scripts/SKILL.md
	PYTHONPATH=. $(BIN)/python scripts/plugins.py

mermaid: .cache/mermaid/node_modules/mermaid  ## fetch Mermaid, whose parser then checks charts in make prove (needs npm)

.cache/mermaid/node_modules/mermaid:
	@command -v npm > /dev/null || { echo "npm is not installed: charts are not checked by Mermaid's parser"; exit 0; }; \
	npm install --prefix .cache/mermaid --no-audit --no-fund --silent mermaid@11.17.2 jsdom@29.1.1

# Its random cases are others each time: TARS_PROVE_SEED=N tries those of a run again, TARS_PROVE_SCALE=0.05 fewer.
prove: $(VENV)/.installed  ## the heavy proofs: fault injection at every system call, 20,000 documents, long races
	@mkdir -p $(TMPDIR)
	@seed=$${TARS_PROVE_SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; export TARS_PROVE_SEED=$$seed; \
	echo "The random cases begin with TARS_PROVE_SEED=$$seed"; \
	$(BIN)/pytest -m prove --hypothesis-seed=$$seed && \
	$(BIN)/pytest -n 3 --dist worksteal -m "(hypothesis or timed) and not prove" --hypothesis-seed=$$seed

bench: $(VENV)/.installed  ## start-up and throughput as ratios of CPU time, in one interleaved run
	@mkdir -p $(TMPDIR)
	$(BIN)/python -m bench

eval: $(VENV)/.installed  ## how well search answers: labelled questions in all modes, by category
	@mkdir -p $(TMPDIR)
	$(BIN)/python -m eval

screens: $(VENV)/.installed  ## make the pictures of docs/screens.md anew
	cd tests && PYTHONPATH=..:.:cli ../$(VENV)/bin/python -m cli.screens
	PYTEST_LIVE_SCREENS=write $(BIN)/pytest -q -p no:cacheprovider tests/doors/test_live.py -k sitting

transcripts: $(VENV)/.installed  ## write down anew what the sessions of tests/cli/transcripts say
	cd tests && PYTHONPATH=..:.:cli ../$(VENV)/bin/python -m cli.tesh

sessions: $(VENV)/.installed  ## record anew what clients of the MCP SDK 1.x and 2.x say (needs PyPI)
	cd tests && PYTHONPATH=..:. ../$(VENV)/bin/python doors/sessions.py

format: $(VENV)/.installed  ## let ruff format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove all that was made here
	rm -rf $(VENV) $(DEMO) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist

# All that is installed is named by a lock, with its hashes; the package itself brings nothing along.
$(VENV)/.installed: pyproject.toml requirements/dev.txt
	@mkdir -p $(TMPDIR)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .
	@touch $@

$(TOOLS)/.installed: requirements/tools.txt
	@mkdir -p $(TMPDIR)
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install -q --require-hashes -r requirements/tools.txt
	@touch $@

$(DEMO)/.installed: $(SOURCES)
	@mkdir -p $(TMPDIR) $(DEMO)
	$(PYTHON) -m venv $(DEMO)/venv
	$(DEMO)/venv/bin/python -m pip install -q --require-hashes -r requirements/demo.txt
	$(DEMO)/venv/bin/python -m pip install -q --no-deps --no-build-isolation .
	@touch $@
