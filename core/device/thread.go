package device

import "sync/atomic"

var onReserveThread atomic.Pointer[func(op string) (release func(), err error)]

// OnReserveThread sets what ReserveThread asks; nil puts back the default, which
// grants everything.
func OnReserveThread(hook func(op string) (release func(), err error)) {
	if hook == nil {
		onReserveThread.Store(nil)
		return
	}
	onReserveThread.Store(&hook)
}

// ReserveThread sees to it that there is a thread of the system for a worker that
// will stay in code of the caller's, beside those that all else needs: the runtime
// makes threads when it needs them, and ends the process when it cannot. release
// gives the thread back, may be called more than once, and is not nil when err is.
//
// Without room for a thread it is CodeResourceExhausted, or what the system said.
func ReserveThread(op string) (release func(), err error) {
	if hook := onReserveThread.Load(); hook != nil {
		return (*hook)(op)
	}
	return func() {}, nil
}
