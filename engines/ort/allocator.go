package ort

import (
	"sync"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// An allocator gives the memory of a session. ONNX Runtime knows it as a struct with functions. There is
// one set of these functions for the process, because a process can have only a few functions of Go that C
// calls. They find the allocator by the address of its struct.

// allocator is the memory of one session.
type allocator struct {
	memory compute.Memory
	// table is the struct that ONNX Runtime has.
	table uintptr

	mu sync.Mutex
	// failure is the first error since it was taken.
	failure error
}

// callbacks are the functions of Go that C calls.
type callbacks struct {
	allocate, release, compute uintptr
	err                        error
	// known has each allocator by the address of its table, and functions each function of a graph by that of its
	// struct.
	known, functions sync.Map
}

// calls makes the functions once.
var calls = sync.OnceValue(func() *callbacks {
	c := &callbacks{}
	c.allocate, c.err = dl.Returning(func(table, size uintptr) uintptr { return uintptr(c.alloc(table, uint64(size))) })
	if c.err == nil {
		c.release, c.err = dl.Returning(func(table, block uintptr) uintptr { c.free(table, device.Addr(block)); return 0 })
	}
	if c.err == nil {
		c.compute, c.err = dl.Returning(func(kernel, call uintptr) uintptr {
			if c.computeFunction(kernel, (*customCall)(pointerTo(call))) {
				return 1
			}
			return 0
		})
	}
	return c
})

func (c *callbacks) find(table uintptr) *allocator {
	found, _ := c.known.Load(table)
	a, _ := found.(*allocator)
	return a
}

// alloc returns memory; 0: there is none.
func (c *callbacks) alloc(table uintptr, size uint64) (addr device.Addr) {
	a := c.find(table)
	if a == nil {
		return 0
	}
	defer func() {
		if value := recover(); value != nil {
			addr = 0
			a.fail(device.Errorf(device.CodeInternal, opRun, "the memory of a session panicked: %v", value))
		}
	}()
	addr, err := a.memory.Alloc(size)
	if err != nil {
		a.fail(err)
		return 0
	}
	return addr
}

func (c *callbacks) free(table uintptr, block device.Addr) {
	a := c.find(table)
	if a == nil {
		return
	}
	defer func() {
		if value := recover(); value != nil {
			a.fail(device.Errorf(device.CodeInternal, opRun, "the memory of a session panicked: %v", value))
		}
	}()
	a.memory.Free(block)
}

func (a *allocator) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failure == nil {
		a.failure = err
	}
}

// takeFailure returns the first error of the memory since the last call, or else err.
func (a *allocator) takeFailure(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	failure := a.failure
	a.failure = nil
	if failure != nil && err != nil {
		return failure
	}
	return err
}

// newAllocator makes an allocator over memory, which memoryInfo describes. The library is prepared.
func (r *runtimeLibrary) newAllocator(memory compute.Memory, memoryInfo uintptr) (*allocator, error) {
	c := calls()
	if c.err != nil {
		return nil, unavailable("%w", c.err)
	}
	a := &allocator{memory: memory, table: newTable(c.allocate, c.release, r.throw, memoryInfo)}
	if a.table == 0 {
		return nil, device.Errorf(device.CodeOutOfMemory, opOpen, "the process has no memory for a session of ONNX Runtime")
	}
	c.known.Store(a.table, a)
	return a, nil
}

// close ends the allocator. No session has it.
func (a *allocator) close() {
	calls().known.Delete(a.table)
	freeTable(a.table)
}

// checkUnregistered returns an error if another part of the process has registered an allocator for the memory,
// which a session would then take from it. The library is prepared.
func (r *runtimeLibrary) checkUnregistered(memoryInfo uintptr) error {
	if r.api < sharedAllocatorSince {
		return nil // registerAllocator fails
	}
	var found uintptr
	if err := r.call(opOpen, sharedAllocator, r.environment, memoryInfo, dl.Pointer(&found)); err != nil || found == 0 {
		return err
	}
	// ONNX Runtime has an allocator of its own there from the beginning.
	theirs := (*struct {
		version  uint32
		allocate uintptr
	})(pointerTo(found))
	if dl.FileOf(theirs.allocate, "") == r.path {
		return nil
	}
	return device.Errorf(device.CodeUnsupported, opOpen, anotherAllocator)
}

const anotherAllocator = "another part of the process has an allocator for all sessions of ONNX Runtime"
