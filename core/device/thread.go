package device

import "sync/atomic"

var onReserveThread atomic.Pointer[func(op string) (release func(), err error)]

// OnReserveThread sets the hook of ReserveThread; nil restores the default, which
// grants every thread.
func OnReserveThread(hook func(op string) (release func(), err error)) {
	if hook == nil {
		onReserveThread.Store(nil)
		return
	}
	onReserveThread.Store(&hook)
}

// ReserveThread ensures that there is a system thread for a worker that will stay in
// code of the caller, in addition to the threads that all other work needs. This
// matters because the runtime creates threads when it needs them, and ends the process
// when it cannot. release returns the thread, may be called more than once, and is nil
// only with an error.
//
// It returns CodeResourceExhausted, or the system's error, if no thread is available.
func ReserveThread(op string) (release func(), err error) {
	if hook := onReserveThread.Load(); hook != nil {
		return (*hook)(op)
	}
	return func() {}, nil
}
