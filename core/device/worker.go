package device

import (
	"runtime/debug"
	"sync/atomic"
)

var onWorkerPanic atomic.Pointer[func(name string, value any, stack []byte)]

// OnWorkerPanic sets the hook that is called when a worker panics. nil restores the
// default, which panics again and so ends the process with both traces.
func OnWorkerPanic(hook func(name string, value any, stack []byte)) {
	if hook == nil {
		onWorkerPanic.Store(nil)
		return
	}
	onWorkerPanic.Store(&hook)
}

// Go starts a goroutine; the library starts none in another way. The caller owns it: it
// must be able to make body return, and must wait on the returned channel, which is
// closed when body has returned or panicked.
func Go(name string, body func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			value := recover()
			if value == nil {
				return
			}
			hook := onWorkerPanic.Load()
			if hook == nil {
				panic(value)
			}
			(*hook)(name, value, debug.Stack())
		}()
		body()
	}()
	return done
}
