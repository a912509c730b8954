//go:build cgo && (amd64 || arm64) && !windows

package cpu

/*
#cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -O2 -fvisibility=hidden -Wall -Wextra
#cgo LDFLAGS: -lpthread
#cgo noescape fk_run
#cgo nocallback fk_run
#cgo noescape fk_run_steps
#cgo nocallback fk_run_steps
#cgo noescape fk_first_wrong
#cgo nocallback fk_first_wrong
#cgo noescape fk_division
#cgo nocallback fk_division
#include "general/general.h"
#include "steps.h"

static int64_t fk_division(const struct fk_kernel *kernel, uintptr_t request, int64_t *workspace) {
	*workspace = kernel->workspace((const void *)request);
	return kernel->parts((const void *)request);
}
static int64_t fk_first_wrong(const struct fk_kernel *kernel, uintptr_t request) {
	return kernel->check ? kernel->check((const void *)request) : -1;
}
static void fk_run(struct fk_threads *threads, const struct fk_kernel *kernel, uintptr_t request, int64_t parts,
                   uintptr_t workspace, int64_t step) {
	fk_threads_run(threads, kernel, (const void *)request, parts, (char *)workspace, step);
}
static int64_t fk_run_steps(struct fk_threads *threads, uintptr_t steps, int64_t count, const uint64_t *inputs,
                            const uint64_t *outputs, uintptr_t workspace, int64_t *place) {
	return fk_steps_run(threads, (const struct fk_step *)steps, count, inputs, outputs, workspace, place);
}
static int64_t fk_packed(const struct fk_table *table, int64_t type, int64_t n, int64_t k) {
	return table->packed_bytes(type, n, k);
}
*/
import "C"

import (
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/engines/cpu/general"
)

// The layouts of the requests in Go and in C are equal.
const (
	_ = uint(unsafe.Sizeof(MatMul{}) - C.sizeof_struct_fk_matmul)
	_ = uint(C.sizeof_struct_fk_matmul - unsafe.Sizeof(MatMul{}))
	_ = uint(unsafe.Offsetof(MatMul{}.Batch) - unsafe.Offsetof(C.struct_fk_matmul{}.batch))
	_ = uint(unsafe.Sizeof(Pack{}) - C.sizeof_struct_fk_pack)
	_ = uint(C.sizeof_struct_fk_pack - unsafe.Sizeof(Pack{}))
	_ = uint(unsafe.Sizeof(Map{}) - C.sizeof_struct_fk_map)
	_ = uint(C.sizeof_struct_fk_map - unsafe.Sizeof(Map{}))
	_ = uint(unsafe.Offsetof(Map{}.YType) - unsafe.Offsetof(C.struct_fk_map{}.y_type))
	_ = uint(unsafe.Sizeof(Rows{}) - C.sizeof_struct_fk_rows)
	_ = uint(C.sizeof_struct_fk_rows - unsafe.Sizeof(Rows{}))
	_ = uint(unsafe.Sizeof(Attention{}) - C.sizeof_struct_fk_attention)
	_ = uint(C.sizeof_struct_fk_attention - unsafe.Sizeof(Attention{}))
	_ = uint(unsafe.Offsetof(Attention{}.YType) - unsafe.Offsetof(C.struct_fk_attention{}.y_type))
	_ = uint(unsafe.Sizeof(CopyElements{}) - C.sizeof_struct_fk_copy)
	_ = uint(C.sizeof_struct_fk_copy - unsafe.Sizeof(CopyElements{}))
	_ = uint(unsafe.Sizeof(Gather{}) - C.sizeof_struct_fk_gather)
	_ = uint(C.sizeof_struct_fk_gather - unsafe.Sizeof(Gather{}))
	_ = uint(unsafe.Sizeof(Reduce{}) - C.sizeof_struct_fk_reduce)
	_ = uint(C.sizeof_struct_fk_reduce - unsafe.Sizeof(Reduce{}))
	_ = uint(unsafe.Sizeof(Rotary{}) - C.sizeof_struct_fk_rotary)
	_ = uint(C.sizeof_struct_fk_rotary - unsafe.Sizeof(Rotary{}))
	_ = uint(unsafe.Sizeof(Where{}) - C.sizeof_struct_fk_where)
	_ = uint(C.sizeof_struct_fk_where - unsafe.Sizeof(Where{}))
	_ = uint(unsafe.Sizeof(Top{}) - C.sizeof_struct_fk_top)
	_ = uint(C.sizeof_struct_fk_top - unsafe.Sizeof(Top{}))
	_ = uint(unsafe.Sizeof(step{}) - C.sizeof_struct_fk_step)
	_ = uint(C.sizeof_struct_fk_step - unsafe.Sizeof(step{}))
	_ = uint(unsafe.Sizeof(link{}) - C.sizeof_struct_fk_link)
	_ = uint(C.sizeof_struct_fk_link - unsafe.Sizeof(link{}))
	_ = uint(unsafe.Offsetof(Rows{}.ScaleType) - unsafe.Offsetof(C.struct_fk_rows{}.scale_type))
)

// Engine computes requests. All methods but Close may be called by any number of threads at
// the same time; if the engine's threads are in use by another call, a call computes alone.
type Engine struct {
	set     set
	count   int
	threads *C.struct_fk_threads
	closed  atomic.Bool
}

// Open starts an engine. Errors: CodeUnsupported for an instruction set that this machine or
// build lacks, CodeInvalidConfig for an unknown one or a number of threads out of range,
// CodeResourceExhausted if the system has no more threads.
func Open(c Config) (*Engine, error) {
	name := c.Instructions
	if name == "" {
		name = os.Getenv(EnvInstructions)
	}
	s, err := choose(name)
	if err != nil {
		return nil, err
	}
	count := c.Threads
	if count < 0 || count > maxThreads {
		return nil, device.Errorf(device.CodeInvalidConfig, opOpen, "%d threads; there can be 1 to %d, or 0 for as many as are useful", count, maxThreads)
	}
	if count == 0 {
		processors := int(C.fk_processors())
		if processors == 0 {
			processors = runtime.NumCPU()
		}
		count = useful(processors, quota(readFile))
	}
	var native C.int
	threads := C.fk_threads_open(C.int(count), &native)
	if threads == nil {
		return nil, device.Errorf(device.CodeResourceExhausted, opOpen, "%d threads cannot be started (error %d)", count, native).WithNative(int64(native))
	}
	return &Engine{set: s, count: count, threads: threads}, nil
}

// Instructions returns the name of the instruction set.
func (e *Engine) Instructions() string { return e.set.name }

// Threads returns the number of threads, the caller of Run among them.
func (e *Engine) Threads() int { return e.count }

func (e *Engine) table() *C.struct_fk_table { return (*C.struct_fk_table)(e.set.table) }

// PackedBytes returns the size of a matrix of k rows and n columns that Pack has packed.
// Errors: CodeOverflow.
func (e *Engine) PackedBytes(t dtype.DType, n, k int64) (int64, error) {
	if err := (&Pack{N: n, K: k, BType: Type(t)}).check(); err != nil {
		return 0, err
	}
	size := C.fk_packed(e.table(), C.int64_t(t), C.int64_t(n), C.int64_t(k))
	if size < 0 {
		return 0, device.Errorf(device.CodeOverflow, opRun, "a matrix of %d rows and %d columns is too large to pack", k, n)
	}
	return int64(size), nil
}

// division returns the number of parts of a request, and the workspace of each thread in bytes.
func (e *Engine) division(r Request, at uintptr) (kernel *C.struct_fk_kernel, parts, step int64) {
	if k := r.kernel(); k < setKernels {
		kernel = &e.table().kernels[k]
	} else {
		kernel = &(*[C.FK_GENERALS]C.struct_fk_kernel)(general.Table())[k-setKernels]
	}
	var bytes C.int64_t
	parts = int64(C.fk_division(kernel, C.uintptr_t(at), &bytes))
	if e.count == 1 {
		return kernel, 1, int64(bytes)
	}
	return kernel, min(parts, int64(e.count)*C.FK_PARTS_OF_THREAD), int64(bytes)
}

// addressOf returns the address of a request as a number: a request may be a field of a struct
// with Go pointers, which cgo refuses to pass. A request is in the heap, as the call of its
// method lets it escape, and the heap does not move. The caller keeps it alive.
func addressOf(r Request) uintptr { return uintptr(r.address()) }

// Workspace returns how many bytes of workspace a request needs; it is 0 for many. The
// addresses of the request are not read. Errors: CodeInvalidArgument, CodeUnsupported.
func (e *Engine) Workspace(r Request) (int64, error) {
	if err := r.check(); err != nil {
		return 0, err
	}
	_, parts, step := e.division(r, addressOf(r))
	runtime.KeepAlive(r)
	return e.workspaceOf(parts, step), nil
}

// Run computes a request and returns when it is complete. workspace has bytes bytes and is
// aligned to 64 bytes; its contents are of no use later. Nothing is allocated. Errors, with
// nothing written: CodeInvalidArgument, also for an index out of range, CodeUnsupported, CodeBufferTooSmall for the
// workspace, CodeInvalidState if the engine is closed.
func (e *Engine) Run(r Request, workspace uint64, bytes int64) error {
	if err := r.check(); err != nil {
		return err
	}
	if e.closed.Load() {
		return device.Errorf(device.CodeInvalidState, opRun, "the engine is closed")
	}
	at := addressOf(r)
	kernel, parts, step := e.division(r, at)
	if needed := e.workspaceOf(parts, step); bytes < needed {
		return device.Errorf(device.CodeBufferTooSmall, opRun, "the workspace has %v, and %v are needed", device.Size(bytes), device.Size(needed))
	}
	if step > 0 && workspace%64 != 0 {
		return invalid("the workspace is at %#x, which is not a multiple of 64", workspace)
	}
	if kernel.check != nil {
		if wrong := int64(C.fk_first_wrong(kernel, C.uintptr_t(at))); wrong >= 0 {
			r := r.(indexed)
			return r.outOfRange(wrong, r.indices())
		}
	}
	C.fk_run(e.threads, kernel, C.uintptr_t(at), C.int64_t(parts), C.uintptr_t(workspace), C.int64_t(step))
	runtime.KeepAlive(r)
	return nil
}

// prepare returns the kernel of a request, its parts and the workspace of each thread.
func (e *Engine) prepare(r Request) (kernel uintptr, parts, threadBytes int64) {
	k, parts, threadBytes := e.division(r, addressOf(r))
	runtime.KeepAlive(r)
	return uintptr(unsafe.Pointer(k)), parts, threadBytes
}

// Run computes all requests in their order, and returns when they are complete. Nothing is
// allocated. Errors: CodeInvalidArgument for an index out of range, with nothing written by its
// request and those after it; CodeInvalidState if the engine is closed.
func (p *Program) Run(o *Operands) error {
	e := p.engine
	if e.closed.Load() {
		return device.Errorf(device.CodeInvalidState, opRun, "the engine is closed")
	}
	var place C.int64_t
	at := int64(C.fk_run_steps(e.threads, C.uintptr_t(uintptr(unsafe.Pointer(unsafe.SliceData(p.steps)))), C.int64_t(len(p.steps)),
		(*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(o.Inputs))), (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(o.Outputs))),
		C.uintptr_t(o.Workspace), &place))
	runtime.KeepAlive(p)
	if at >= 0 {
		return p.wrong(at, int64(place), o)
	}
	return nil
}

// Close ends the threads. The caller makes sure that no other call is in progress.
func (e *Engine) Close() {
	if !e.closed.Swap(true) {
		C.fk_threads_close(e.threads)
	}
}
