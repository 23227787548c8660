# Every target sets up what it needs: Rust, Python 3.11, a C linker and make are all it asks for; the tests of Spark and
# Kafka ask for Java 17 and Maven as well, those of object stores for Node.js.

PYTHON ?= python3
VENV := $(CURDIR)/.venv
TARGET := $(or $(CARGO_TARGET_DIR),target)
# The extension module is tested as the wheel that maturin makes of it. Here it only adds features, so that libraries
# are not compiled again for that.
TESTED := --workspace
TOOLS := .venv/requirements-dev.txt
DEMO := .venv/requirements-demo.txt
ORCHESTRATORS := .cache/orchestrators/requirements-orchestrators.txt
# Servers of objects, in an environment of their own; the one for Azure is a package for Node.js.
OBJECTS := .cache/objects/requirements-objects.txt
AZURITE := azurite@3.37.0
AZURITE_PLACE := .cache/$(subst @,-,$(AZURITE))
# Loads from an object store that are killed in `make objects`; `make test` has 5.
KILLS_OBJECTS ?= 50
KAFKA := .cache/cluster/kafka/fetched
# Builds the program, and puts it where maturin takes it from into the wheel.
BUILD_PROGRAM := python crates/py/program.py --locked
# Installs Python packages several times as fast as pip.
UV := uv==0.13.9
# `release` is quick to build; `dist` is what wheels and releases have, and what is measured.
PROFILE := release
FUZZ_SECONDS ?= 60
# `make check` reports the prose that was added since then, and fails for docs of functions without a verb.
PROSE_BASE ?= $(or $(shell git merge-base HEAD origin/main 2>/dev/null),HEAD)
# The benchmarks that `make bench` runs.
CASE ?= correctness hash800 lineitem files python relation move spark kafka objects uuids there leaves few grid network lanes rejects null writing stages
FUZZ_TARGETS := $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs)))
# The servers that `make test` tries; those that `make test-matrix` tries, one after the other.
PGSLUICE_TEST_MAJORS ?= 15 18
MATRIX ?= 13 14 15 16 17 18
# The random trees, and the random loads of rows that are there, that `make test-matrix` tries on each server.
RANDOM_TREES ?= 1000
# How often two loads and a writer meet there.
CONFLICT_ROUNDS ?= 100
# Where `make lab` keeps its records and its report, how large it measures, and the older servers that it tries
# as well. The committed page is of `medium`: `make lab-page`.
LAB ?= .cache/lab
SCALE ?= small
LAB_MAJORS ?= 13
# Many tests wait for a server, a lock or the clock: more at once than there are processors.
TEST_THREADS ?= $(shell expr 1 + $$(nproc))
# What is not tried is counted as filtered out, not as passed.
untried = $(patsubst %,--skip pg%,$(filter-out $(1),13 14 15 16 17 18))
NEWEST := $(lastword $(sort $(PGSLUICE_TEST_MAJORS)))
# Modules whose results depend on the server's version: `make test` tries them on each server of PGSLUICE_TEST_MAJORS,
# all others on the newest only, and `make test-matrix` all of them on each version.
OF_SERVER := changes claims::privileges codecs codecs::invalid codecs::reasons conflicts::comparisons \
    conflicts::oracle conflicts::partial conflicts::triggers connect connect::certificates ddl edges encodings \
    exchange::carried exchange::trees expressions json lanes ledger::durable ledger::published ledger::records \
    ledger::trusted::owners ledger::trusted::shared library moving::carried moving::definitions moving::published \
    oracle partitions partitions::failed qualified random relation::keys relation::random relation::types \
    resume::terms retry round_trips selftest sorting verify
# Runs tests with a server of this version only.
on_server = PGSLUICE_TEST_MAJORS=$(1) PGSLUICE_PROGRAM=$(TARGET)/debug/pgsluice \
    scripts/count_skips.sh scripts/with_servers.sh cargo test --locked $(TESTED) --no-fail-fast
# Tests by the wheel, and by the program that was built with it; what is behind PYTHON_TESTS chooses some.
UNITTEST = PATH="$(abspath $(TARGET))/debug:$$PATH" PYTHONPATH=$(abspath $(TARGET))/wheel-test/site python -m unittest
PYTHON_TESTS = $(UNITTEST) discover --start-directory python/tests
# The server that `make violence` does violence to, and what it does: killed stopped cut full dirty salvaged.
VIOLENCE_ON ?= 18
VIOLENCE ?=
# Spark and Kafka, in an environment of their own, and what the tests need of Java.
CLUSTER := .cache/cluster/requirements-cluster.txt
JDBC := org.postgresql:postgresql:42.7.14
JARS := .cache/cluster/jars/postgresql-$(lastword $(subst :, ,$(JDBC))).jar
# In `make cluster`: jobs whose tasks are killed, streams that start again, consumers that are killed, and events;
# `make test` has some of each.
JOBS ?= 100
RESTARTS ?= 50
KILLS ?= 100
EVENTS ?= 1000000
CLUSTER_TESTS = PGSLUICE_JARS=$(dir $(abspath $(JARS))) PGSLUICE_PG_BIN="$$(python scripts/fetch_postgres.py 18)" \
    PATH="$(abspath $(TARGET))/debug:$$PATH" PYTHONPATH=$(abspath $(TARGET))/wheel-test/site \
    .cache/cluster/bin/python -m unittest discover --start-directory python/tests/cluster \
    --top-level-directory python/tests
# How often, for some kinds: full, or a number.
TIMES ?= full

export PGSLUICE_TEST_MAJORS
export RUST_TEST_THREADS := $(TEST_THREADS)
export VIRTUAL_ENV := $(VENV)
export PATH := $(VENV)/bin:$(PATH)
unexport CONDA_PREFIX PYTHONHOME PYTHONPATH

.DEFAULT_GOAL := help
.PHONY: help build wheel static demo test test-matrix wheel-test orchestrators orchestrators-test objects objects-test violence check audit fuzz docs lanes command-line bench bench-report lab lab-page lab-report format clean cluster

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

build: $(TOOLS) ## Build the program and the Python package into .venv
	$(BUILD_PROGRAM) --profile $(PROFILE)
	maturin develop --locked --profile $(PROFILE) --quiet

wheel: $(TOOLS) ## Build the wheel and the sdist into dist/, and try the wheel in an environment of its own
	rm -rf dist
	$(BUILD_PROGRAM) --profile dist
	maturin build --locked --profile dist --out dist
	maturin sdist --out dist
	python scripts/try_wheel.py dist/*.whl

static: ## Build the program for Linux without shared libraries into dist/; it needs musl-gcc
	scripts/static_program.sh $$(uname -m)-unknown-linux-musl dist

demo: $(DEMO) ## Load TPC-H lineitem with psql and with pgsluice, and compare
	$(BUILD_PROGRAM) --release
	install -m 755 target/wheel/scripts/pgsluice .venv/bin/pgsluice
	@PYTHONPATH=python python -m demo.lineitem $(ARGS)

test: $(TOOLS) ## Run every test on PostgreSQL 18, and those of the server's behaviour on 15
	cargo test --locked $(TESTED) --no-run
	$(call on_server,$(NEWEST)) -- $(call untried,$(NEWEST))
	$(foreach major,$(filter-out $(NEWEST),$(PGSLUICE_TEST_MAJORS)),\
	    $(call on_server,$(major)) --test integration -- $(OF_SERVER:%=%::pg$(major)::) &&) true
	$(MAKE) --no-print-directory wheel-test
	$(PYTHON_TESTS)
	$(UNITTEST) discover --start-directory bench/tests --top-level-directory .
	$(MAKE) --no-print-directory orchestrators-test
	$(MAKE) --no-print-directory objects-test KILLS_OBJECTS=5
	$(MAKE) --no-print-directory $(CLUSTER)
	$(MAKE) --no-print-directory $(JARS) $(KAFKA)
	$(CLUSTER_TESTS)

# The release program has no failpoints; the tests of conflicts need them for their kills.
test-matrix: $(TOOLS) ## Run every test that needs a server on 13 to 18 (MATRIX="13 14"), and the oracle on the release program
	cargo clippy --locked -p pgsluice --no-default-features --features arrow -- -D warnings
	cargo test --locked -p pgsluice-cli --test integration --no-run
	@for major in $(MATRIX); do \
	    echo "PostgreSQL $$major"; \
	    PGSLUICE_TEST_MAJORS=$$major PGSLUICE_PROGRAM=$(TARGET)/debug/pgsluice PROPTEST_CASES=$(RANDOM_TREES) \
	    CONFLICT_CASES=$(RANDOM_TREES) CONFLICT_ROUNDS=$(CONFLICT_ROUNDS) \
	        scripts/count_skips.sh scripts/with_servers.sh \
        cargo test --locked --quiet -p pgsluice-cli --test integration ::pg$$major:: || exit 1; \
	done
	$(BUILD_PROGRAM) --quiet --release
	PGSLUICE_BIN=$(abspath $(TARGET))/release/pgsluice PROPTEST_CASES=$(RANDOM_TREES) \
	    PGSLUICE_TEST_MAJORS=$(lastword $(MATRIX)) PGSLUICE_PROGRAM=$(TARGET)/debug/pgsluice \
	    scripts/with_servers.sh cargo test --locked --quiet -p pgsluice-cli --test integration -- \
	    oracle::pg$(lastword $(MATRIX)):: random::pg$(lastword $(MATRIX)):: --skip conflicts::
	$(MAKE) --no-print-directory wheel-test
	@for major in $(MATRIX); do \
	    echo "PostgreSQL $$major, from Python"; \
	    export PGSLUICE_PG_BIN="$$(python scripts/fetch_postgres.py $$major)"; \
	    $(PYTHON_TESTS)/loads --top-level-directory python/tests || exit 1; \
	done

cluster: $(TOOLS) $(CLUSTER) $(JARS) $(KAFKA) wheel-test ## Test Spark and Kafka themselves, all cases (JOBS=100 RESTARTS=50 KILLS=100)
	JOBS=$(JOBS) RESTARTS=$(RESTARTS) KILLS=$(KILLS) EVENTS=$(EVENTS) $(CLUSTER_TESTS)

# With the features of the tests of Rust, so that nothing but the extension module is compiled again.
wheel-test: $(TOOLS)
	rm -rf $(TARGET)/wheel-test
	$(BUILD_PROGRAM) --quiet --features pgsluice-py/failpoints
	maturin build --locked --profile dev --features failpoints --quiet --compatibility linux --out $(TARGET)/wheel-test
	pip install --quiet --no-deps --target $(TARGET)/wheel-test/site $(TARGET)/wheel-test/*.whl

orchestrators: wheel-test ## Test the helpers for orchestrators against the real packages
	$(MAKE) --no-print-directory orchestrators-test

# By the wheel that is there.
orchestrators-test: $(ORCHESTRATORS)
	export PATH="$(CURDIR)/.cache/orchestrators/bin:$$PATH" && \
	    $(PYTHON_TESTS)/orchestrators --top-level-directory python/tests

objects: wheel-test ## Test reading from object stores against real servers (KILLS_OBJECTS=50)
	$(MAKE) --no-print-directory objects-test

# By the wheel that is there.
objects-test: $(OBJECTS) $(AZURITE_PLACE)/installed
	export PATH="$(CURDIR)/.cache/objects/bin:$(CURDIR)/$(AZURITE_PLACE)/node_modules/.bin:$$PATH" \
	    KILLS_OBJECTS=$(KILLS_OBJECTS) && \
	    $(PYTHON_TESTS)/objects --top-level-directory python/tests

check: $(TOOLS) docs ## Check format, lints, types, documentation and its links, workflows, and the licences and origins of libraries
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo clippy --locked -p pgsluice --no-default-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet
	ruff check .
	ruff format --check .
	zizmor --offline --quiet --strict-collection --persona pedantic .github/workflows
	mypy
	basedpyright
	cargo deny --locked check --hide-inclusion-graph bans licenses sources
	@python scripts/prose.py --added $(PROSE_BASE)

violence: $(TOOLS) ## Kill loads of a million rows, stop their server, cut them off, fill the disk (VIOLENCE=killed TIMES=20)
	$(BUILD_PROGRAM) --release
	cargo test --locked -p pgsluice-cli --test integration --no-run
	PGSLUICE_VIOLENCE=$(TIMES) PGSLUICE_BIN=$(abspath $(TARGET))/release/pgsluice PGSLUICE_TEST_MAJORS=$(VIOLENCE_ON) \
	    PGSLUICE_PROGRAM=$(TARGET)/release/pgsluice scripts/with_servers.sh cargo test --locked --quiet -p pgsluice-cli \
	    --test integration violence::$(VIOLENCE) -- $(call untried,$(VIOLENCE_ON)) --test-threads=1 --nocapture

audit: $(TOOLS) ## Look for known vulnerabilities of libraries, in a list that is fetched
	cargo deny --locked check advisories

fuzz: ## Run every fuzz target for FUZZ_SECONDS (60) each, on nightly Rust
	@cargo +nightly --version >/dev/null 2>&1 || { echo "make: fuzzing needs nightly Rust; get it by: rustup toolchain install nightly" >&2; exit 1; }
	cargo fuzz --version >/dev/null 2>&1 || cargo install cargo-fuzz --locked
	cargo +nightly fuzz build
	for target in $(FUZZ_TARGETS); do cargo +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) || exit; done

docs: $(TOOLS) ## Build the site of the documentation, with search, in .cache/site/html
	python scripts/links.py
	python scripts/site.py .cache/site/pages
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict --quiet

lanes: $(TOOLS) ## Write docs/manual/routing.md: the lane of each type and expression, and what proves it
	cargo build --locked -p pgsluice-cli
	PGSLUICE_WRITE_LANES=1 PGSLUICE_TEST_MAJORS="15 18" PGSLUICE_PROGRAM=$(TARGET)/debug/pgsluice scripts/with_servers.sh \
	    cargo test --locked --quiet -p pgsluice-cli --test integration lanes:: -- --test-threads=1

command-line: ## Write docs/manual/command-line.md: all commands and options
	PGSLUICE_WRITE_COMMAND_LINE=1 cargo test --locked --quiet -p pgsluice-cli --test integration command_line::the_page

bench bench-report lab: PROFILE := dist

bench: build $(if $(filter spark kafka,$(CASE)),$(CLUSTER) $(JARS) $(KAFKA)) $(if $(filter objects,$(CASE)),$(OBJECTS)) ## Time loads against psql and the floor, and the stages alone (CASE="hash800 lineitem")
	@for case in $(CASE); do echo "$$case"; python -m bench $$case $(ARGS) || exit; done
	@python -m bench.goals $(CASE)

bench-report: build ## Put the newest figures of bench/records into README.md, docs/benchmarks.md, bench/GOALS.md and the chart
	@python -m bench.report

lab: build ## Run every experiment of the lab at SCALE (small, 15 min), and write the report into LAB (.cache/lab)
	@python -m pgsluice_lab run all --embedded --scale $(SCALE) --records $(LAB)/records
	@for major in $(LAB_MAJORS); do \
	    bin=$$(python scripts/fetch_postgres.py $$major) && \
	    python -m pgsluice_lab run copy-order --server-bin $$bin --scale $(SCALE) --records $(LAB)/records || exit; \
	done
	@python -m pgsluice_lab report --records $(LAB)/records --output $(LAB)/report.html

lab-page: ## Measure the committed page anew, at medium: some three hours on two quiet cores
	@$(MAKE) --no-print-directory lab SCALE=medium LAB=docs/lab
	@$(MAKE) --no-print-directory lab-report

lab-report: $(TOOLS) ## Make the committed page of the lab and its charts of the newest records
	@PYTHONPATH=python python -m pgsluice_lab report --records docs/lab/records --output docs/lab/report.html \
	    --charts docs/lab/charts

format: $(TOOLS) ## Format all sources
	cargo fmt --all
	ruff check --fix .
	ruff format .

clean: ## Remove all that was built, downloaded or generated here
	rm -rf $(TARGET) .venv .cache dist fuzz/target fuzz/corpus fuzz/artifacts

# The jars of a Kafka broker, for `make cluster` and `make bench CASE=kafka`.
$(KAFKA): python/tests/cluster/pom.xml
	mvn --batch-mode --quiet --file $< dependency:copy-dependencies -DoutputDirectory=$(abspath $(dir $@))
	touch $@

$(TOOLS): requirements-dev.txt requirements-demo.txt
	$(call install,requirements-dev.txt,.venv,--clear)

# Where all the tools are installed, so is what the demo needs.
$(DEMO): requirements-demo.txt
	$(call install,requirements-demo.txt,.venv)

$(ORCHESTRATORS): requirements-orchestrators.txt
	$(call install,requirements-orchestrators.txt,.cache/orchestrators,--clear)

$(OBJECTS): requirements-objects.txt
	$(call install,requirements-objects.txt,.cache/objects,--clear)

$(AZURITE_PLACE)/installed:
	npm install --no-save --no-audit --no-fund --loglevel=error --prefix $(dir $@) $(AZURITE)
	touch $@

$(CLUSTER): requirements-cluster.txt
	$(call install,requirements-cluster.txt,.cache/cluster,--clear)

$(JARS):
	mvn -B -q org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -Dartifact=$(JDBC) -DoutputDirectory=$(dir $(abspath $@))

define install
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "make: Python 3.11 or later is needed; name one by PYTHON=...")'
	$(PYTHON) -m venv $(3) $(2)
	$(2)/bin/pip install --quiet --disable-pip-version-check $(UV)
	$(2)/bin/uv pip install --quiet --link-mode copy --python $(2)/bin/python --requirement $(1)
	cp $(1) $@
endef
