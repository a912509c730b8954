package cuda

import (
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/gpu/hostcalls"
	"ferrum_mem/internal/dl"
)

// hostCalls are the functions that streams of this process will run. The vendor driver gets
// one entry point, created on first use, and a number for each function.
var hostCalls = hostcalls.New[*stream]("cuda host function", threadID)

var hostEntry = sync.OnceValues(func() (uintptr, error) {
	return dl.Callback(func(number uintptr) { hostCalls.Run(number, (*stream).hostFunctionFailed) })
})

// HostFunction queues fn. A thread that runs nothing else meanwhile runs it. Calls of this
// driver from fn, which CUDA does not allow, return CodeInvalidState (on Linux). If fn
// panics, the panic is reported like a panic of a worker, the stream continues, and the
// next Synchronize returns CodeInternal. A lost device never runs fn. In a stream that
// captures the call returns CodeInvalidState: the graph would run fn as often as the graph
// runs, for as long as the graph exists. The call returns CodeResourceExhausted while
// device.MaxQueued functions of the stream have not begun.
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
		entry, number, err := s.queueHostCall(op, fn)
		if err != nil {
			return err
		}
		if err := o.ctx.call(op, "", &o.ctx.api.hostFunction, s.handle, entry, number); err != nil {
			hostCalls.Drop(number)
			return err
		}
		return nil
	})
}

func (s *stream) queueHostCall(op string, fn func()) (entry, number uintptr, err error) {
	entry, err = hostEntry()
	if err != nil {
		return 0, 0, s.owner.ctx.errorf(device.CodeUnsupported, op, "%v", err)
	}
	number, full := hostCalls.Queue(s, device.MaxQueued, fn)
	if full {
		return 0, 0, s.owner.ctx.errorf(device.CodeResourceExhausted, op,
			"%d functions of the stream are queued already, which is the most", device.MaxQueued)
	}
	return entry, number, nil
}

func (s *stream) hostFunctionFailed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.failure = s.owner.ctx.errorf(device.CodeInternal, "cuda.host_function",
			"a host function panicked or ended its goroutine")
	}
}
