PYTHON ?= python3
BIN := .venv/bin
PYTEST := pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder --durations 10
# Of the tests that are `full`, and of the formats to lint: 2/5 is the second of five parts that take as long.
SHARE ?= 1/1
SQLFLUFF := sqlfluff lint --processes 0
PIP := pip install --quiet --disable-pip-version-check --constraint constraints.txt
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help setup run docs test test-all timings lint lint-formats broker bench soak screenshots check-machine

help: ## show what there is to type
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST)

run: .venv/.runs ## land the sample topics, build silver and gold, show what came out
	lakehouse run files samples/landing --show
	@test -e .venv/.archived || { lakehouse setup && touch .venv/.archived; }

docs: .venv/.runs ## write two sites: the pages (target/site), and all tables and columns with their lineage (target/docs)
	dbt docs generate --static --target docs --target-path target/docs
	@$(PIP) mkdocs
	mkdocs build --strict
	@echo "Open target/docs/static_index.html in a browser. It is one file, needs no server, and can be sent or copied."
	@echo "The pages: target/site/index.html. Their search needs a server: python3 -m http.server --directory target/site"

test: setup lint ## lint, the formats, the sample, the rules of the merge: some twenty minutes, before each commit
	$(PYTEST) -m "not full and not long"

test-all: test lint-formats broker ## and kills, brokers, servers, wide tables, many histories: an hour or two; CI runs a sixteenth of it
	$(PYTEST) -m "full and not long" --share $(SHARE)

timings: setup broker ## run what `make test-all` runs, and keep how long each test took in tests/timings.json
	$(PYTEST) -m "not long" --record-timings

soak: export KILL_ROUNDS ?= 100
soak: export MAINTAIN_RUNS ?= 500
soak: export HOSTILE_SCALE ?= 1
soak: export HOSTILE_MESSAGES ?= 250
soak: export CONVERGENCE_SEEDS ?= 10
soak: export CONVERGENCE_EVENTS ?= 2000
soak: export CONVERGENCE_BATCHES ?= 20
soak: export KILLS ?= 20
soak: export SERVE_SECONDS ?= 600
soak: export TEAM_KILLS ?= 20
soak: export ERASE_KILLS ?= 7
soak: export HISTORY_RUNS ?= 3
soak: export FOLLOWS_RUNS ?= 30
soak: export CHANGING_TABLES ?= 9
soak: export WIDE_COLUMNS ?= 1017
soak: export MOMENT_SEEDS ?= 3
soak: export MOMENT_KILLS ?= 20
soak: export SEED ?= random
soak: export HISTORY_SEED ?= random
soak: export HOSTILE_SEED ?= random
soak: export KILL_SEED ?= random
soak: setup broker ## every test, the long ones too, in long rounds and with histories of its own; takes hours
	pytest

bench: setup ## this project beside others, over the same bytes; BENCH="--messages 100000" for less; takes hours
	pip install --quiet --disable-pip-version-check --requirement bench/requirements.txt
	python -m bench.run $(BENCH)

screenshots: setup ## take the pictures of docs/images, of a lakehouse of the sample topics
	python tests/support/browser.py
	python docs/screenshots.py
	python docs/recording.py

lint: ## the checks that take a minute: names, format and types of Python, SQL
	ruff check .
	ruff format --check .
	mypy
	$(SQLFLUFF) models/bronze models/gold models/silver/*.sql tests/*.sql tests/generic

lint-formats: setup ## lint the models of the formats, whose macros render to much SQL: some minutes; CI lints a sixteenth
	$(SQLFLUFF) $$(ls -d models/silver/*/ | awk 'BEGIN { split("$(SHARE)", share, "/") } NR % share[2] == share[1] % share[2]')

broker: setup
	python tests/support/broker.py
	python tests/support/directory.py
	python tests/support/metastore.py
	python tests/support/object_storage.py
	python tests/support/browser.py

setup: .venv/.complete ## make the environment in .venv, with what the tests need

define install
@echo "Installing Spark, dbt and others into .venv: 1.2 GB, some minutes."
@$(PYTHON) -m venv .venv || { echo "make: python3 has no venv (Debian, Ubuntu: apt-get install python3-venv)"; exit 2; }
@$(PIP) --editable '$(1)'
@rm -f .venv/.archived
endef

NEEDED := pyproject.toml constraints.txt src/cdc_lakehouse/runtime/jars.xml

.venv/.complete: $(NEEDED) | check-machine
	$(call install,.[dev])
	@lakehouse setup
	@touch .venv/.archived .venv/.runs $@

.venv/.runs: $(NEEDED) | check-machine
	$(call install,.)
	@lakehouse setup --no-archive
	@touch $@

check-machine:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("make: Python 3.11 or later is needed, $(PYTHON) is " + sys.version.split()[0] + "; name another: make PYTHON=python3.12 ...")'
	@PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m cdc_lakehouse.runtime.java
