# Needs Python 3.11 or newer, make, and a network to the package index. `make` alone lists what there is.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help run test test-all lint check bench reference messages screenshots dist lock clean

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

run: $(VENV)/.for-run  ## start the server on http://127.0.0.1:8200 (ARGS="--port 9000" and so on)
	$(BIN)/helpdesk serve $(ARGS)

test: .work/for-tests  ## run the tests (ARGS="-k mail" picks some, ARGS=--store=postgresql uses PostgreSQL, WORKERS=4 more cores)
	$(BIN)/python -m tests -n $(WORKERS) $(ARGS)

test-all: .work/for-tests  ## run the exhaustive tests as well (ARGS="-m exhaustive" runs only these)
	$(BIN)/python -m tests --all -n $(WORKERS) $(ARGS)

.PHONY: .work/for-tests
.work/for-tests: $(VENV)/.for-dev .work/samples .work/node .work/browser .work/dovecot $(if $(findstring postgresql,$(ARGS)),.work/postgresql)

lint: $(VENV)/.for-dev  ## ruff, mypy, and the patterns of STYLE.md
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/python build/style.py

bench: $(VENV)/.for-dev  ## measure speed beside a bare handler (ARGS="--help" shows choices)
	$(BIN)/python -m tests.bench $(ARGS)

reference: $(VENV)/.for-run  ## write the tables of the help pages and the completions from the code
	$(BIN)/python build/reference.py
	$(BIN)/python build/completions.py

messages: $(VENV)/.for-dev  ## collect what people are shown, for translators (resources/languages/)
	$(BIN)/python build/messages.py

screenshots: $(VENV)/.for-dev .work/samples .work/browser  ## take the pictures of README.md anew
	HELPDESK_SCREENSHOTS=yes $(BIN)/python -m pytest -q tests/console/test_journeys.py -k pictures

dist: $(VENV)/.for-dev  ## build the one-file executable dist/helpdesk (ARGS=--twice compares two builds)
	$(BIN)/python build/make_exe.py $(ARGS)

lock:  ## pin the newest packages that setup.py allows, with their hashes (build/requirements/)
	$(PYTHON) -m venv .work/lock
	.work/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(call pin,--all-extras,dev.txt)
	grep -o '^[^ ]*==[^ ]*' build/requirements/dev.txt > .work/lock/pinned.txt
	$(call pin,--constraint .work/lock/pinned.txt,run.txt)
	$(call pin,--extra postgresql --constraint .work/lock/pinned.txt,postgresql.txt)

check:  ## what CI runs: lint, tests, executable, a walk through it
	.ci/run

clean:  ## remove everything that these targets made
	rm -rf $(VENV) .work dist

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; choose one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Each stamp says: installed since the pinned packages last changed. What is downloaded must have the hashes told there.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PINNED := build/requirements

$(VENV)/.for-run: setup.py $(PINNED)/run.txt | $(BIN)/python
	$(INSTALL) --require-hashes --requirement $(PINNED)/run.txt
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.for-dev: setup.py $(PINNED)/dev.txt | $(BIN)/python
	$(INSTALL) --require-hashes --requirement $(PINNED)/dev.txt
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/.for-run

# setuptools is not a package of the program, and builds it.
pin = echo setuptools | .work/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	--generate-hashes --no-annotate --no-emit-index-url --custom-compile-command 'make lock' \
	$(1) --output-file $(PINNED)/$(2) setup.py -

# Other people's mail and files, for the tests. Unpacked, not installed; moved into place whole, so that a broken download is repeated.
.work/samples: tests/samples.txt | $(BIN)/python
	rm -rf $@ $@.new
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile \
		--target $@.new --requirement tests/samples.txt
	mv $@.new $@
	@touch $@

# The browser that tests/console drives, from Debian's packages; elsewhere name one by HELPDESK_TEST_BROWSER. Chromium works,
# too, and takes three times as long.
.work/browser: Makefile
	@mkdir -p .work
	@if [ -z "$$HELPDESK_TEST_BROWSER" ] && ! command -v chromium-headless-shell >/dev/null; then \
		echo "installing chromium-headless-shell for the tests of the console"; \
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null; } \
		|| command -v chromium >/dev/null \
		|| { echo "install chromium-headless-shell, or set HELPDESK_TEST_BROWSER to a browser of its kind" >&2; exit 1; }; \
	fi
	@touch $@

# PostgreSQL's programs, from Debian's packages; the tests start a server of their own, Debian's is neither made nor started.
.work/postgresql:
	@mkdir -p .work
	@if ! command -v postgres >/dev/null && ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then \
		echo "installing postgresql for the tests"; \
		mkdir -p /etc/postgresql-common && { test -e /etc/postgresql-common/createcluster.conf \
			|| echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.conf; } \
		&& apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql >/dev/null \
		|| { echo "install postgresql, so that its programs are on PATH" >&2; exit 1; }; \
	fi
	@touch $@

# An IMAP server that signs in by OAuth 2, from Debian's packages; the tests start one of their own, Debian's is masked. Where it
# cannot be installed, its tests are skipped.
.work/dovecot:
	@mkdir -p .work
	@if ! command -v dovecot >/dev/null && ! test -x /usr/sbin/dovecot; then \
		echo "installing dovecot for the tests"; \
		{ mkdir -p /etc/systemd/system && { test -e /etc/systemd/system/dovecot.service \
			|| ln -s /dev/null /etc/systemd/system/dovecot.service; } \
		&& apt-get update -qq && apt-get install -y -qq --no-install-recommends dovecot-imapd >/dev/null; } \
		|| echo "without dovecot, the tests of an IMAP server with OAuth 2 are skipped"; \
	fi
	@touch $@

# What tests run in Node.js. Without it the folder is empty and those tests do not exist.
.work/node: tests/node/package-lock.json
	rm -rf $@ $@.new
	mkdir -p $@.new
	cp tests/node/package.json tests/node/package-lock.json $@.new
	if command -v npm >/dev/null; then npm ci --prefix $@.new --ignore-scripts --no-audit --no-fund --silent; fi
	mv $@.new $@
	@touch $@
