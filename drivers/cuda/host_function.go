package cuda

import (
	"maps"
	"runtime"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
)

// hostCall is a host function that is queued.
type hostCall struct {
	stream   *stream
	function func()
}

// hostCalls are the functions that streams of this process will run. C code cannot
// hold a Go function: it is given a number, and calls the one entry with it.
var hostCalls struct {
	mu      sync.Mutex
	entry   uintptr
	last    uintptr
	queued  map[uintptr]hostCall
	threads map[int64]struct{}
}

// hostCallsRunning is len(hostCalls.threads), for who wants to know without the lock
// that there is none.
var hostCallsRunning atomic.Int64

// HostFunction runs fn on a thread that is its own while it runs. Calls of this driver
// from there, which CUDA does not allow, are CodeInvalidState (on Linux). If fn
// panics, the panic is reported as one of a worker, the stream goes on, and the next
// Synchronize returns CodeInternal. A device that is lost never runs it. In a stream
// that captures it is CodeInvalidState: it would run as often as the graph does, and
// for as long as that is there. While device.MaxQueued of the stream's functions have
// not begun it is CodeResourceExhausted.
func (s *stream) HostFunction(fn func()) error {
	const op = "cuda.host_function"
	o := s.owner
	if fn == nil {
		return o.ctx.errorf(device.CodeNullPointer, op, "function: must not be nil")
	}
	if !o.ctx.api.hostFunction.Found() {
		return o.ctx.errorf(device.CodeUnsupported, op, "the driver lacks %v", o.driver.lacking[groupHostFn])
	}
	return s.use(op, func() error {
		if captures, err := s.captures(op); captures || err != nil {
			if err == nil {
				err = o.ctx.errorf(device.CodeInvalidState, op, "the stream is capturing: a graph would run the function more than once")
			}
			return err
		}
		entry, number, err := queueHostCall(op, hostCall{s, fn})
		if err != nil {
			return err
		}
		if err := o.ctx.call(op, "", &o.ctx.api.hostFunction, s.handle, entry, number); err != nil {
			takeHostCall(number)
			return err
		}
		return nil
	})
}

func queueHostCall(op string, call hostCall) (entry, number uintptr, err error) {
	h := &hostCalls
	h.mu.Lock()
	defer h.mu.Unlock()
	if queued := call.stream.hostCalls; queued >= device.MaxQueued {
		return 0, 0, call.stream.owner.ctx.errorf(device.CodeResourceExhausted, op,
			"%d functions of the stream are queued already, as many as may be", queued)
	}
	if h.entry == 0 {
		if h.entry, err = dl.Callback(runHostCall); err != nil {
			return 0, 0, call.stream.owner.ctx.errorf(device.CodeUnsupported, op, "%v", err)
		}
		h.queued, h.threads = make(map[uintptr]hostCall), make(map[int64]struct{})
	}
	h.last++
	h.queued[h.last] = call
	call.stream.hostCalls++
	return h.entry, h.last, nil
}

func takeHostCall(number uintptr) (hostCall, bool) {
	hostCalls.mu.Lock()
	defer hostCalls.mu.Unlock()
	call, found := hostCalls.queued[number]
	if found {
		delete(hostCalls.queued, number)
		call.stream.hostCalls--
	}
	return call, found
}

// forgetHostCalls drops the functions that a device which was lost never ran.
func forgetHostCalls(of *openDevice) {
	hostCalls.mu.Lock()
	defer hostCalls.mu.Unlock()
	maps.DeleteFunc(hostCalls.queued, func(_ uintptr, call hostCall) bool {
		if call.stream.owner != of {
			return false
		}
		call.stream.hostCalls--
		return true
	})
}

// runHostCall is called by the driver. The function runs on a worker, which a panic
// ends instead of the driver's thread.
func runHostCall(number uintptr) {
	call, found := takeHostCall(number)
	if !found {
		return
	}
	returned := false
	<-device.Go("cuda host function", func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread := threadID()
		noteThread(thread, true)
		defer noteThread(thread, false)
		call.function()
		returned = true
	})
	if !returned {
		call.stream.hostFunctionFailed()
	}
}

func (s *stream) hostFunctionFailed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.failure = s.owner.ctx.errorf(device.CodeInternal, "cuda.host_function",
			"a host function panicked or ended its goroutine")
	}
}

func noteThread(thread int64, runs bool) {
	hostCalls.mu.Lock()
	defer hostCalls.mu.Unlock()
	if runs && thread != 0 {
		hostCalls.threads[thread] = struct{}{}
	} else {
		delete(hostCalls.threads, thread)
	}
	hostCallsRunning.Store(int64(len(hostCalls.threads)))
}

// insideHostFunction says whether the calling thread runs a host function.
func insideHostFunction() bool {
	if hostCallsRunning.Load() == 0 {
		return false
	}
	thread := threadID()
	hostCalls.mu.Lock()
	defer hostCalls.mu.Unlock()
	_, inside := hostCalls.threads[thread]
	return inside
}
