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

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
)

// runtimeNeeds is what the runtime takes from the process, got ahead. The runtime
// ends the process when it is refused any of this, so memory and descriptors are tried
// in C first, and what the program takes between the try and the runtime's own call
// stays a gap; threads are made in C, and handed to the runtime when it wants them.
type runtimeNeeds struct {
	mu sync.Mutex
	// polls says that the runtime has the two descriptors of its poller, and ballast
	// that it has its first heap. Both are for good.
	polls, ballast bool
	// threads is how many it is known to have, those that sleep until it wants them
	// included; reserved is how many of them are spoken for.
	threads, reserved int
}

var needs runtimeNeeds

func init() {
	// The bound of the runtime, 10,000, is for runaway programs of its own; threads
	// of the caller count.
	debug.SetMaxThreads(1 << 30)
	device.OnReserveThread(needs.reserveThread)
}

// prepare is called by each start of the library, after fm_guest_start has tried in C
// whether all of this is to be had.
func (n *runtimeNeeds) prepare() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.ballast {
		// Again, beside the threads, which have taken memory as well.
		if number := C.fm_try_memory(C.FM_START_BYTES); number != 0 {
			return refused("library.init", int(number), "%d bytes of address space for its runtime", int64(C.FM_START_BYTES))
		}
		<-device.Go("ballast", func() { mapBallast(false) })
		n.ballast = true
	}
	if !n.polls {
		// A function's timer starts the poller at once, a channel's only when it is
		// waited for.
		time.AfterFunc(time.Hour, func() {}).Stop()
		n.polls = true
	}
	return nil
}

// mapBallast has the runtime map that much more for its heap, untouched: as the stack
// of the goroutine that calls it, with false. A stack goes back to the heap's free pages
// when its goroutine ends, and is not counted as heap, so no collection starts for it.
//
//go:noinline
func mapBallast(never bool) {
	if never {
		largeResult(1)
	}
}

// largeResult has its caller keep room for the result, which is not quite the size of a
// stack. With a pointer beside it the library would have a map of the pointers in all of
// that room, of 800,000 bytes.
//
//go:noinline
func largeResult(value byte) (result [C.FM_BALLAST_BYTES * 3 / 4]byte) {
	result[len(result)/2] = value
	return result
}

// reserveThread is device.ReserveThread of this program.
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

// refused is the error of something that the system did not give, with its number.
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
	return device.Errorf(code, op, "the system refused "+format+": %w", args...).WithNative(int64(number))
}

// watchHandlers looks at the handlers of signals from now on.
func watchHandlers(leave bool) {
	if leave {
		C.fm_handlers_choose(C.FM_HANDLERS_LEAVE)
	} else {
		C.fm_handlers_choose(C.FM_HANDLERS_MEND)
	}
}

//export fmgo_handler_found
func fmgo_handler_found(number C.int, handler C.uintptr_t, symbol, file *C.char, mended C.int32_t) {
	var status C.int32_t
	defer guard(&status)
	lib.ReportHandler(library.Handler{
		Signal: int(number), Name: unix.SignalName(syscall.Signal(number)),
		Address: uint64(handler), Symbol: C.GoString(symbol), File: C.GoString(file), Mended: mended != 0,
	})
}
