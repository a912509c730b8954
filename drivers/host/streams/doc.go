// Package streams has the ordered queues of work of one host device. A stream has a worker
// of its own, which starts with the first operation and sleeps while the queue is empty.
// An external stream has the same queue and no worker: its owner calls for each operation
// to run (foreign_stream.go). The package knows no device, only its gate and the memory
// that work uses (Memory).
//
// Every range is checked when work is queued, and held until the work has run. So a wrong
// range is an error of the call, and never a crash in the worker.
//
// Lock order: Stream.mu, then mark.mu or a lock of Memory; Set.mu and Stream.hostMu are
// leaves, except for the reservation of a thread under Stream.hostMu. No lock is held
// while bytes are copied, or while a host function or the owner of an adopted stream is
// called.
//
// # Files in reading order
//
// deadline.go, thread_linux.go, set.go, queue.go, move.go, stream.go, event.go,
// foreign_stream.go, enqueue.go.
package streams
