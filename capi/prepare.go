package main

/*
#include "guest.h"
#include "signals.h"
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
// ends the process when it is refused any of this, so that is tried in C first;
// what the program takes between the try and the runtime's own call stays a gap.
type runtimeNeeds struct {
	mu sync.Mutex
	// polls says that the runtime has the two descriptors of its poller, and ballast
	// that it has its first heap. Both are for good.
	polls, ballast bool
	// threads is how many it has had at once besides those of callers: it never ends
	// one. reserved is how many of them are spoken for.
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
		runtime.KeepAlive(make([]byte, C.FM_BALLAST_BYTES))
		n.ballast = true
	}
	if !n.polls {
		// A function's timer starts the poller at once, a channel's only when it is
		// waited for.
		time.AfterFunc(time.Hour, func() {}).Stop()
		n.polls = true
	}
	if count := runtime.GOMAXPROCS(0) + C.FM_SPARE_THREADS + C.FM_HOST_THREADS; count > n.threads {
		occupyThreads(count)
		n.threads = count
	}
	return nil
}

// haveThreads sees to it that the runtime has that many threads. The caller holds mu.
func (n *runtimeNeeds) haveThreads(op string, count int) error {
	if count <= n.threads {
		return nil
	}
	var made C.int
	if number := C.fm_try_threads(C.int(count-n.threads), &made); number != 0 {
		return refused(op, int(number),
			"a thread: the library has %d, needs %d, and could make %d more (RLIMIT_NPROC, pids.max of the control group, address space for stacks)",
			n.threads, count, int(made))
	}
	occupyThreads(count)
	n.threads = count
	return nil
}

// occupyThreads has as many goroutines each hold a thread at the same moment.
func occupyThreads(count int) {
	var ready sync.WaitGroup
	ready.Add(count)
	gate, over := make(chan struct{}), make([]<-chan struct{}, count)
	for i := range over {
		over[i] = device.Go("thread", func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			<-gate
		})
	}
	ready.Wait()
	close(gate)
	// Until it is let go a thread is no other goroutine's.
	for _, done := range over {
		<-done
	}
	// The last thread that was asked for may still have to be made, by a thread of the
	// runtime's that makes others. It has a processor of the runtime's already, and so
	// stopping the world waits for it.
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
}

// reserveThread is device.ReserveThread of this program. Threads are made some at a
// time: making one means to occupy all others for a moment.
func (n *runtimeNeeds) reserveThread(op string) (release func(), err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := runtime.GOMAXPROCS(0) + C.FM_SPARE_THREADS + n.reserved + 1
	if count > n.threads && n.haveThreads(op, max(count, n.threads+n.reserved/2)) != nil {
		if err := n.haveThreads(op, count); err != nil {
			return nil, err
		}
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
