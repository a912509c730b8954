package pool

import (
	"errors"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
)

// captureOf asks a stream whether it captures. One that is closed does not.
func captureOf(stream device.Stream) (device.Capture, error) {
	now, err := device.CaptureOf(stream)
	if errors.Is(err, device.CodeInvalidState) {
		return device.Capture{}, nil
	}
	return now, err
}

// branch stands for a stream during one capture: what is freed on it waits for the
// end of the capture, and is for the same branch at once, which the edges of the
// graph keep in order. Of the methods of a stream the pool calls these two.
type branch struct {
	device.Stream
	graph *graph
}

// branchOf is the branch of a stream.
func (g *graph) branchOf(stream device.Stream) *branch {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.branches[stream]
	if b == nil {
		b = &branch{Stream: stream, graph: g}
		g.branches[stream] = b
	}
	return b
}

// has says whether the stream was seen in the capture.
func (g *graph) has(stream device.Stream) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stream == stream || g.branches[stream] != nil
}

// Idle says whether the capture has ended.
func (b *branch) Idle() (bool, error) { return b.graph.over.Load(), nil }

// RecordEvent marks the end of the capture. It asks nothing of the stream.
func (b *branch) RecordEvent() (device.Event, error) { return captureEnd{b.graph}, nil }

// captureEnd is passed when a capture has ended. It is never waited for: the thread
// that waits may be the one that captures.
type captureEnd struct{ graph *graph }

func (e captureEnd) Done() (bool, error) { return e.graph.over.Load(), nil }

// Synchronize does not wait.
func (e captureEnd) Synchronize(timeout time.Duration) error {
	if e.graph.over.Load() {
		return nil
	}
	return device.Errorf(device.CodeTimeout, "pool.capture", "graph %d: its capture has not ended after %v",
		e.graph.number, timeout)
}

// PassedAt is CodeUnsupported: it is a point of no queue.
func (e captureEnd) PassedAt() (time.Duration, error) {
	return 0, device.Errorf(device.CodeUnsupported, "pool.capture", "the end of a capture has no time")
}

func (e captureEnd) Close() error { return nil }

var _ inflight.Deferred = captureEnd{}

// InOrder is false: the work of a capture runs with its graph.
func (e captureEnd) InOrder() bool { return false }

// IsMarked says that the capture is over.
func (e captureEnd) IsMarked() bool { return e.graph.over.Load() }
