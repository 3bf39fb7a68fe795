# A thin front for Meson and Ninja: `make run` to try Berth, `make test` to prove it.

PREFIX ?= /usr/local
FUZZ_RUNS ?= 1000000
DATA ?= data
BERTH_FLAGS ?=

RELEASE := build/release
BERTH := $(RELEASE)/src/berth

.PHONY: build deps run demo test asan tsan fuzz soak bench lint format docs install deb clean

build: deps
	@test -f $(RELEASE)/build.ninja || meson setup $(RELEASE)
	@ninja --quiet -C $(RELEASE)
	@strip -o $(RELEASE)/berth.stripped $(BERTH)
	@echo "$(BERTH): $$(stat -c %s $(RELEASE)/berth.stripped) bytes stripped"

deps:
	@scripts/deps

# In the foreground, until Ctrl-C. BERTH_FLAGS="--listen 127.0.0.1:8000" for another address.
run: build
	@echo "$(BERTH) get pv,pvc --data $(DATA)    # in another terminal; or kubectl, with $(DATA)/kubeconfig"
	@exec $(BERTH) serve --data $(DATA) $(BERTH_FLAGS)

# What Berth does, in a minute and in a temporary directory. DEMO_PACE=5 to read slowly, 0 not to wait.
demo: build
	@scripts/demo

test: deps
	@scripts/test

asan: deps
	@scripts/test unit

tsan: deps
	@scripts/test tsan

fuzz: deps
	@scripts/test fuzz --fuzz-runs $(FUZZ_RUNS)

# The tests under load, at full size: some minutes.
soak: build
	@BERTH_ROUNDS=120 BERTH_LOAD_SECONDS=120 tests/integration/test_durability
	@BERTH_WATCHERS=1000 BERTH_WRITES=30000 BERTH_RATE=1000 tests/integration/test_many_watchers
	@BERTH_CRASHES=100 tests/integration/test_node_crash
	@BERTH_RACE_ROUNDS=10000 $(RELEASE)/tests/unit/test_path_races

bench: build
	@scripts/deps bench
	@$(BERTH) bench micro
	@BERTH=$(abspath $(BERTH)) tests/bench/apiserver
	@BERTH=$(abspath $(BERTH)) tests/bench/node

lint: deps
	@LINT_DEEP=1 scripts/test lint tidy

format: deps
	@find src tests -name '*.[ch]' -exec clang-format -i {} +

# docs/reference.md and the manual pages, from the program's own tables.
docs: build
	@scripts/docs $(BERTH)

install: build
	@meson configure $(RELEASE) -Dprefix=$(PREFIX)
	@meson install -C $(RELEASE) --quiet --strip $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

# A package of this tree, build/deb/berth_*.deb. DEB_REVISION=2 for another of the same version.
deb: build
	@deploy/debian/build

clean:
	rm -rf build
