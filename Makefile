# Targets for users and developers; `make` alone lists them. .ci/setup.sh installs what they need.

PYTHON := .venv/bin/python
# The pytest runs of one target collect in this file why they left out tests; the last one prints the sum.
export LEFT_OUT := $(CURDIR)/.venv/left-out
# The tests start hundreds of Python processes; without bytecode each one compiles all its modules anew.
unexport PYTHONDONTWRITEBYTECODE
SETUP := rm -f "$(LEFT_OUT)"; bash .ci/setup.sh

# Seconds until the demo ends; empty: it runs until Ctrl-C.
DEMO_SECONDS ?=
# Processes that run tests in parallel: two more than the processors, since many tests wait for a process or a timeout.
# 0 runs them in one process, for a debugger.
WORKERS ?= $(shell expr $$(nproc) + 2)
# More arguments for the program that a target runs, such as ARGS="-k goset -x".
ARGS ?=

# Runs the tests that the first argument selects (a marker expression; empty: all): first those marked `realtime`, one at
# a time, then the others in parallel. So the last line counts tests, also where none is marked. The second argument holds
# options for both. pytest exits with 5 if it has no test to run.
define run_tests
@$(PYTHON) -m pytest -m "$(if $(1),$(1) and )realtime" $(2) $(ARGS) || [ $$? = 5 ]
@$(PYTHON) -m pytest -n $(WORKERS) --dist loadfile -m "$(if $(1),$(1) and )not realtime" $(2) $(ARGS) || [ $$? = 5 ]
endef
TEST_PROGRAMS := dev java chromium dbus postgres mosquitto codec2 gcc micropython pzp-db

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow coverage lint format bench bench-gossip bench-sink torture torture-flood fuzz search-groups search-groups-live search-adversary languages diagrams docs deb release release-check clean

help:  ## list these targets
	@echo "tinySSB node: targets of make"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo:  ## run five nodes on a simulated LoRa channel, with a live page (DEMO_SECONDS=240 to see all once, and end)
	@$(SETUP) demo
	@.venv/bin/tinyssb demo $(if $(DEMO_SECONDS),--seconds $(DEMO_SECONDS))

test:  ## every test but the slow ones (ARGS="-k word" for some)
	@$(SETUP) $(TEST_PROGRAMS)
	$(call run_tests,not slow,)

test-slow:  ## the slow tests: kill and restart, power cuts, a Spark cluster
	@$(SETUP) $(TEST_PROGRAMS)
	$(call run_tests,slow,)

coverage:  ## every test, slow ones too, with branch coverage; takes three times as long
	@$(SETUP) $(TEST_PROGRAMS)
	@$(PYTHON) -m coverage erase
	$(call run_tests,,--cov --cov-branch --cov-append --cov-report=)
	@$(PYTHON) -m coverage report

lint:  ## check style, format, types (mypy --strict) and import layers
	@$(SETUP) dev
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m mypy --strict
	@.venv/bin/lint-imports

format:  ## fix style and format with ruff
	@$(SETUP) dev
	@$(PYTHON) -m ruff check --fix .
	@$(PYTHON) -m ruff format .

bench:  ## run the benchmarks and write docs/reference/benchmarks.md (ARGS="--only name" for one)
	@$(SETUP) dev java
	@$(PYTHON) -m tests.bench $(ARGS)

bench-gossip:  ## compare the airtime of gossip with the deployed rules and with flooding (ARGS="--seeds 2 --print" to try)
	@$(SETUP) dev
	@$(PYTHON) -m tests.bench --only gossip $(ARGS)

bench-sink:  ## benchmark the analytics: cost over plain reading, event to pixel, kills; one hour (ARGS="--parts paint --print" to try)
	@$(SETUP) dev java chromium
	@$(PYTHON) -m tests.bench --only sink $(ARGS)

torture:  ## kill nodes, inject faults and power cuts (20 minutes), attack each face for 10 minutes; 3 hours (ARGS="kills" for one sort)
	@$(SETUP) dev gcc
	@$(PYTHON) -m tests.torture $(ARGS)

torture-flood:  ## let strangers flood two nodes on disks of 48 MB for an hour (ARGS="--seconds 60" to try); needs unshare(1)
	@$(SETUP) dev
	@$(PYTHON) -m tests.torture.flood --seconds 3600 $(ARGS)

fuzz:  ## fuzz everything that parses bytes; 10 minutes (ARGS="--seconds 60 --target node" for some)
	@$(SETUP) dev
	@$(PYTHON) -m tests.fuzz $(ARGS)

search-groups:  ## search for faults in 1,000 random groups that split and merge; 10 minutes (ARGS="--seeds 50" for some)
	@$(SETUP) dev
	@$(PYTHON) -m tests.groups.search $(ARGS)

search-groups-live:  ## the same with 1,000 groups of real nodes in the simulator; 30 minutes (ARGS="--seeds 50" for some)
	@$(SETUP) dev
	@$(PYTHON) -m tests.groups.live $(ARGS)

search-adversary:  ## search the worst that a hostile station can do; 1,000 seeds in 10 minutes (ARGS="--scenario field30 --seeds 100" for a field)
	@$(SETUP) dev
	@.venv/bin/tinyssb sim adversary --seeds 1000 --jobs $$(nproc) $(ARGS)

languages:  ## bring the catalogues of translations up to date with the messages in the code (ARGS=it begins another language)
	@$(SETUP) dev
	@$(PYTHON) -m tests.languages $(ARGS)

diagrams:  ## draw the diagrams of the pages that have changed: docs/diagrams/*.dot to SVG, by Graphviz
	@$(SETUP) dev graphviz
	@$(PYTHON) -m tests.docs.diagrams

docs:  ## build the documentation as a site in build/site, offline and strict about links
	@$(SETUP) docs
	@$(PYTHON) -m sphinx -W --keep-going -q -b html -c docs/site . build/site $(ARGS)
	@echo "The site: build/site/index.html"

deb:  ## build a Debian package in dist/ (DEB_ARCH=arm64 DEB_PYTHON=3.13 for another machine)
	@DEB_ARCH=$(DEB_ARCH) DEB_PYTHON=$(DEB_PYTHON) hw/deb/build.sh

release:  ## build a release in dist/: source, wheels, Debian packages, an apt repository, checksums (docs/howto/release.md)
	@hw/release/build.sh

release-check:  ## install what `make release` built in empty environments, and use it (ARGS="wheels bookworm" for some)
	@hw/release/check.sh $(ARGS)

clean:  ## remove generated files (keeps the virtual environment: rm -r .venv)
	@rm -rf .demo .bench .fuzz .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage .coverage.* \
		htmlcov dist build spark-warehouse metastore_db derby.log
	@find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
