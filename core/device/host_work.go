package device

// HostWorker is the capability of a stream to run functions that can fail.
type HostWorker interface {
	// HostWork is HostFunction for a function that can fail. The next Synchronize of the stream returns its
	// error, as for other failures of queued work.
	HostWork(fn func() error) error
}

// QueueHostWork queues a function that can fail. A stream without the capability runs it too, and drops its
// error.
func QueueHostWork(s Stream, fn func() error) error {
	if worker, can := s.(HostWorker); can {
		return worker.HostWork(fn)
	}
	return s.HostFunction(func() { _ = fn() })
}
