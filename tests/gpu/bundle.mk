# The bundle for `make test-gpu`. It puts everything that the parts need into build/gpu,
# because they run on machines without Go, a compiler or a network. The Makefile includes
# this file.

# The largest size of the packed bundle, because it is copied to another machine.
GPU_MOST_MIB   := 24
GPU_PACKED     := build/gpu.tar.xz
GPU_BIN        := build/gpu/bin
GPU_TRACED     := arguments capture contexts kernels memory pools sharing streams virtual
GPU_TRACES     := $(GPU_TRACED:%=build/gpu/differential/test_%)
GPU_SIMULATORS := $(SIMCUDA_GENERATIONS:%=build/gpu/simcuda/%/libcuda.so.1)
GPU_PROGRAMS   := $(patsubst tests/gpu/%,$(GPU_BIN)/%,$(basename $(wildcard tests/gpu/*.c tests/gpu/*.cpp)))
# Programs of tests/c that run on any device.
GPU_C_NAMES    := device_load_faults device_loads device_tensors pool_calls random_owners random_pools random_programs \
    random_threads random_virtual thread_churn
GPU_C_PROGRAMS := $(GPU_C_NAMES:%=$(GPU_BIN)/test_%)
GPU_LIBRARY    := build/gpu/lib/$(FILE)
GPU_ALLOCATOR  := build/gpu/lib/libferrum_mem_allocator.so
GPU_FLAGS       = -D_GNU_SOURCE $(C_WARNINGS) -Iinclude \
    -isystem $$(echo build/venv/lib/python3*/site-packages/nvidia/cuda_runtime/include)

# The parity check of the adapter to gorgonia.org/cu. It is left out where it cannot be
# built.
GPU_PARITY     := build/gpu/suites/drivers.cuda.gorgonia.test

# Packages of core whose test suites run on any device.
GPU_SUITES = $(sort $(patsubst %/,%,$(dir $(shell grep -rl '"ferrum_mem/drivers/testdevice"' --include='*_test.go' core))))

.PHONY: gpu-bundle
gpu-bundle: gpu-programs ## build what test-gpu takes to a machine with a GPU, packed in build/gpu.tar.xz
	@rm -rf build/gpu/suites build/gpu/results
	@$(call gpu_suites,$(GPU_SUITES))
	@scripts/gorgonia.sh $(GPU_PARITY)
	@XZ_OPT=-9 tar -cJf $(GPU_PACKED) -C build gpu
	@size=$$(du -m $(GPU_PACKED) | cut -f1); echo "$(GPU_PACKED): $$size MiB"; \
	    [ $$size -le $(GPU_MOST_MIB) ] || { echo "gpu-bundle: it may have $(GPU_MOST_MIB) MiB" >&2; exit 1; }

# Everything except the test suites of core.
.PHONY: gpu-programs
gpu-programs: ready-test $(GPU_TRACES) $(GPU_SIMULATORS) $(GPU_PROGRAMS) $(GPU_C_PROGRAMS) $(GPU_LIBRARY) $(GPU_ALLOCATOR)

# $(call gpu_suites,PACKAGES): builds test suites. They have no debug information, which is
# two thirds of their size. Most of the rest is the same in each, so the packed bundle has it
# once.
define gpu_suites
mkdir -p build/gpu/suites; for package in $(1); do \
    suite=build/gpu/suites/$${package//\//.}.test; \
    $(GO) test -c -trimpath -ldflags '-s -w' -o $$suite ./$$package; \
done
endef

# The parts that use the simulated driver need only one suite to show that suites run.
.PHONY: gpu-one-suite
gpu-one-suite: ready-test
	@$(call gpu_suites,core/fallback)

# The results of unused calls are recorded too. With -z lazy, a program still runs with a
# driver that lacks one of the calls.
build/gpu/differential/%: tests/simcuda/%.c tests/gpu/trace.h $(SIMCUDA_HEADERS) $(SIMCUDA_LIBRARIES)
	@mkdir -p $(dir $@)
	$(CC) $(SIMCUDA_FLAGS) -Wno-unused-variable -Wno-maybe-uninitialized -DTRACE $< -o $@ \
	    -Wl,--as-needed,-z,lazy build/test/simcuda/12090/libcuda.so.1 -lpthread
build/gpu/simcuda/%: build/test/simcuda/%
	@mkdir -p $(dir $@)
	@cp $< $@
$(GPU_LIBRARY): $(LIBRARY) $(HELPER)
	@mkdir -p $(dir $@)
	@cp $^ $(dir $@)
	@$(call link_names,$(dir $@))
$(GPU_ALLOCATOR): build/lib/libferrum_mem_allocator.so $(GPU_LIBRARY)
	@cp $< $@
GPU_LINK := -Lbuild/gpu/lib -Wl,--as-needed -lferrum_mem_allocator -lferrum_mem -lpthread -ldl -lm '-Wl,-rpath,$$ORIGIN/../lib'
$(GPU_BIN)/test_%: tests/c/test_%.c build/test/c/libsupport.a $(C_HEADERS) $(GPU_ALLOCATOR)
	@mkdir -p $(dir $@)
	$(CC) $(C_FLAGS) $< build/test/c/libsupport.a -o $@ $(GPU_LINK)
$(GPU_BIN)/%: tests/gpu/%.c $(wildcard tests/gpu/*.h) $(HEADERS) $(GPU_ALLOCATOR)
	@mkdir -p $(dir $@)
	$(CC) -std=gnu11 $(GPU_FLAGS) $(CFLAGS) $< -o $@ $(GPU_LINK)
$(GPU_BIN)/%: tests/gpu/%.cpp $(wildcard tests/gpu/*.h) $(HEADERS) $(GPU_ALLOCATOR)
	@mkdir -p $(dir $@)
	$(CXX) -std=c++17 $(GPU_FLAGS) $(CXXFLAGS) $< -o $@ $(GPU_LINK)
