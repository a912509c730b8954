package main

/*
#include "guest.h"
#include "signals.h"
#include "threads.h"
*/
import "C"

import (
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ferrum_mem/capi/mappedfiles"
	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/weights/diskfile"
)

// runtimeNeeds has the resources of the process that the Go runtime needs. The runtime ends
// the process when one of them is not available. So C code first tries to allocate memory
// and descriptors. If the program uses them up between this try and the call of the runtime,
// the runtime still fails. C code creates the threads and passes them to the runtime on
// request.
type runtimeNeeds struct {
	mu sync.Mutex
	// polls states that the runtime has the two descriptors of its poller. ballast states
	// that it has its first heap. Both are permanent.
	polls, ballast bool
	// threads is the known number of threads of the runtime, including those that sleep
	// until they are needed. reserved is their number.
	threads, reserved int
}

var needs runtimeNeeds

func init() {
	// The runtime's own limit of 10,000 is against runaway programs. Threads of the caller
	// count against it.
	debug.SetMaxThreads(1 << 30)
	device.OnReserveThread(needs.reserveThread)
}

// prepare is called by each start of the library, after fm_guest_start has tried in C
// whether all resources are available.
func (n *runtimeNeeds) prepare() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.ballast {
		// The memory is tried again after the threads, which have taken memory as well.
		if number := C.fm_try_memory(C.FM_START_BYTES); number != 0 {
			return refused("library.init", int(number), "%v of address space for its runtime", device.Size(int64(C.FM_START_BYTES)))
		}
		<-device.Go("ballast", func() { mapBallast(false) })
		n.ballast = true
	}
	if !n.polls {
		// A timer of a function starts the poller at once. A timer of a channel starts it
		// only when a goroutine waits.
		time.AfterFunc(time.Hour, func() {}).Stop()
		n.polls = true
	}
	return nil
}

// mapBallast makes the runtime map this much more memory for its heap, untouched, as the
// stack of the goroutine that calls it with false. When the goroutine ends, the stack
// becomes free pages of the heap. It does not count as heap, so no collection starts for
// it.
//
//go:noinline
func mapBallast(never bool) {
	if never {
		largeResult(1)
	}
}

// largeResult makes its caller reserve space for the result, which is a little less than
// the size of a stack. If it also held a pointer, the library would contain a pointer map
// of that space, of 800,000 bytes.
//
//go:noinline
func largeResult(value byte) (result [C.FM_BALLAST_BYTES * 3 / 4]byte) {
	result[len(result)/2] = value
	return result
}

// reserveThread is the implementation of device.ReserveThread for this program.
func (n *runtimeNeeds) reserveThread(op string) (release func(), err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := runtime.GOMAXPROCS(0) + C.FM_SPARE_THREADS + C.FM_RUNTIME_THREADS + n.reserved + 1
	if count > n.threads {
		var had C.int
		if number := C.fm_threads_have(C.int(count), &had); number != 0 {
			return nil, refused(op, int(number),
				"a thread: the library has %d and needs %d (RLIMIT_NPROC, pids.max of the control group, address space for stacks)",
				int(had), count)
		}
		n.threads = count
	}
	n.reserved++
	return sync.OnceFunc(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.reserved--
	}), nil
}

// refused is the error for a resource that the system did not provide, with its number.
func refused(op string, number int, format string, args ...any) error {
	code := device.CodePermissionDenied
	switch errno := syscall.Errno(number); errno {
	case syscall.ENOMEM:
		code = device.CodeOutOfMemory
	case syscall.EAGAIN, syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC:
		code = device.CodeResourceExhausted
	case syscall.ENOSYS, syscall.EINVAL:
		code = device.CodeUnsupported
	}
	args = append(args, syscall.Errno(number))
	return device.Errorf(code, op, "the system did not provide "+format+": %w", args...).WithNative(int64(number))
}

// watchHandlers starts to check the handlers of signals. Files that are mapped from now on are
// watched, unless no handler may be changed.
func watchHandlers(leave bool) {
	if leave {
		C.fm_handlers_choose(C.FM_HANDLERS_LEAVE)
		diskfile.OnMap(nil)
	} else {
		C.fm_handlers_choose(C.FM_HANDLERS_MEND)
		diskfile.OnMap(mappedfiles.Watch)
	}
}

//export fmgo_handler_found
func fmgo_handler_found(number C.int, handler C.uintptr_t, symbol, file *C.char, repaired C.int32_t) {
	var status C.int32_t
	defer guard(&status)
	lib.ReportHandler(library.Handler{
		Signal: int(number), Name: unix.SignalName(syscall.Signal(number)),
		Address: uint64(handler), Symbol: C.GoString(symbol), File: C.GoString(file), Repaired: repaired != 0,
	})
}
