# A thin front end for Meson, Ninja and scripts/test. `make help` prints the lines that begin with ##.

PREFIX ?= /usr/local
FUZZ_RUNS ?= 1000000
SIM_SEEDS ?= 100
DATA ?= data
BERTH_FLAGS ?=
T ?=
SUITE ?=
LOGIN ?=

RELEASE := build/release
BERTH := $(RELEASE)/src/berth

.PHONY: build program run demo install deb check test-quick test asan tsan fuzz soak
.PHONY: vm sim-coverage bench lint format docs clean help

## make              build the release program and print its size
build: program
	@strip -o $(RELEASE)/berth.stripped $(BERTH)
	@echo "$(BERTH): $$(stat -c %s $(RELEASE)/berth.stripped) bytes stripped"

# Installs missing packages (scripts/deps says which) and compiles what has changed.
program:
	@scripts/deps build
	@scripts/build $(RELEASE)

## make run          build, then run the server in the foreground; DATA=DIR, BERTH_FLAGS="--listen ADDR:PORT"
run: program
	@exec $(BERTH) serve --data $(DATA) $(BERTH_FLAGS)

## make demo         a narrated tour in a temporary directory; DEMO_PACE=SECONDS per step
demo: program
	@scripts/demo

## make install      install below PREFIX (default /usr/local); DESTDIR for staging
install: program
	@scripts/install $(RELEASE) $(PREFIX) $(if $(DESTDIR),$(abspath $(DESTDIR)))

## make deb          build the Debian package, build/deb/berth_*.deb; DEB_REVISION=N
deb: program
	@scripts/deps deb
	@deploy/debian/build

## make check T=X    build and run one test: T=tree, T=test_tree, T="base_text NAME" for some of its cases
check:
	@scripts/deps test
	@scripts/test --only $(or $(T),$(error make check needs T=NAME, for example: make check T=base_text))

## make test-quick   unit tests, rules of tests/tidy, clang-format, some integration tests: 2 minutes
test-quick:
	@scripts/deps test
	@scripts/test quick

## make test         build and test everything: 12 minutes on two cores, less when little has changed
test:
	@scripts/deps test
	@scripts/test

## make asan, tsan   unit tests under the address and undefined-behaviour, or the thread sanitizer
asan:
	@scripts/deps test
	@scripts/test unit

tsan:
	@scripts/deps test
	@scripts/test tsan

## make fuzz         run each fuzz target FUZZ_RUNS times (default 1000000)
fuzz:
	@scripts/deps test
	@scripts/test fuzz --fuzz-runs $(FUZZ_RUNS)

## make soak         TSan, Debian package, deep lint, load at full size, bare Debian 12, 13: an hour, root
soak: program
	@scripts/deps test
	@TMPDIR=$${TMPDIR:-/tmp} LINT_DEEP=1 scripts/test deb gcc sim-soak tsan lint integration
	@BERTH_ROUNDS=120 BERTH_LOAD_SECONDS=120 tests/integration/test_durability
	@BERTH_WATCHERS=1000 BERTH_WRITES=30000 BERTH_RATE=1000 tests/integration/test_many_watchers
	@BERTH_CRASHES=100 tests/integration/test_node_crash
	@BERTH_KILLS=100 tests/integration/test_csi_walks
	@scripts/build $(RELEASE) tests/unit/test_path_races
	@BERTH_RACE_ROUNDS=10000 $(RELEASE)/tests/unit/test_path_races
	@VM_CUTS=30 $(MAKE) vm
	@tests/distro/first_steps bookworm
	@tests/distro/first_steps trixie test_http_watch test_http_bad_input test_slow_clients test_client_network

## make vm           tests in virtual machines with Debian's kernel, root; SUITE=nfs, SUITE=nfs/CASE, LOGIN=1
vm: program
	@scripts/deps test
	@scripts/build $(RELEASE) $$(tests/vm/run --targets)
	@tests/vm/run $(if $(LOGIN),--login) $(SUITE)

## make sim-coverage what simulated runs reach of the code: a table, and a list of the rest; SIM_SEEDS=N
sim-coverage:
	@scripts/deps test
	@scripts/coverage --seeds $(SIM_SEEDS)

## make bench        benchmarks, among them the server under wrk
bench: program
	@scripts/deps bench
	@$(BERTH) bench micro
	@BERTH=$(abspath $(BERTH)) tests/bench/apiserver
	@BERTH=$(abspath $(BERTH)) tests/bench/node

## make lint         clang-format, clang-tidy, cppcheck and the rules of tests/tidy on all files
lint:
	@scripts/deps test
	@LINT_DEEP=1 scripts/test lint tidy

## make format       reformat the C files
format:
	@scripts/deps test
	@find src tests -name '*.[ch]' -exec clang-format -i {} +

## make docs         regenerate docs/reference.md and the manual pages
docs: program
	@scripts/docs $(BERTH)

## make clean        remove build/
clean:
	rm -rf build

## make help         print this list
help:
	@sed -n 's/^## //p' Makefile
