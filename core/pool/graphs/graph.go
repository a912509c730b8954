package graphs

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool/inflight"
)

// The calls of a pool that errors name.
const (
	opBegin   = "pool.capture_begin"
	opEnd     = "pool.capture_end"
	opRelease = "pool.capture_release"
	opInfo    = "pool.capture_info"
	opClose   = "pool.close"
)

// Graph is what is known of a graph from Begin to Release. Its methods are safe for
// concurrent use.
type Graph[P comparable] struct {
	number  uint64
	private P
	// capture is the device's number of its capture, which began on stream.
	capture uint64
	stream  device.Stream
	// over says that the capture has ended.
	over atomic.Bool

	mu sync.Mutex
	// branches stand for the streams of the capture.
	branches map[device.Stream]*Branch[P]
	// parked are blocks of other pools that were freed during the capture.
	parked   []*Parked[P]
	released bool
}

// Number is the graph's number.
func (g *Graph[P]) Number() uint64 { return g.number }

// Private is the private pool of the graph.
func (g *Graph[P]) Private() P { return g.private }

// BranchOf is the branch of a stream in the graph's capture.
func (g *Graph[P]) BranchOf(stream device.Stream) *Branch[P] {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.branches[stream]
	if b == nil {
		b = &Branch[P]{Stream: stream, graph: g}
		g.branches[stream] = b
	}
	return b
}

// has says whether the stream was seen in the capture.
func (g *Graph[P]) has(stream device.Stream) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stream == stream || g.branches[stream] != nil
}

// parkedBytes is what is parked with the graph.
func (g *Graph[P]) parkedBytes() (bytes uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range g.parked {
		bytes += b.Bytes
	}
	return bytes
}

// captureOf asks a stream whether it captures. One that is closed does not.
func captureOf(stream device.Stream) (device.Capture, error) {
	now, err := device.CaptureOf(stream)
	if errors.Is(err, device.CodeInvalidState) {
		return device.Capture{}, nil
	}
	return now, err
}

// Branch stands for a stream during one capture: what is freed on it waits for the
// end of the capture, and is for the same branch at once, which the edges of the
// graph keep in order. Only Idle and RecordEvent of it are to be called.
type Branch[P comparable] struct {
	device.Stream
	graph *Graph[P]
}

// Graph is the graph of the capture.
func (b *Branch[P]) Graph() *Graph[P] { return b.graph }

// IsOver says that the capture has ended.
func (b *Branch[P]) IsOver() bool { return b.graph.over.Load() }

// Idle says whether the capture has ended.
func (b *Branch[P]) Idle() (bool, error) { return b.IsOver(), nil }

// RecordEvent marks the end of the capture. It asks nothing of the stream.
func (b *Branch[P]) RecordEvent() (device.Event, error) { return b.graph.End(), nil }

// End is an event that passes when the graph's capture has ended. It is never waited for:
// the thread that waits may be the one that captures.
func (g *Graph[P]) End() device.Event { return captureEnd[P]{g} }

type captureEnd[P comparable] struct{ graph *Graph[P] }

var _ inflight.Deferred = captureEnd[int]{}

// InOrder is false: the work of a capture runs with its graph.
func (e captureEnd[P]) InOrder() bool { return false }

// IsMarked says that the capture is over.
func (e captureEnd[P]) IsMarked() bool { return e.graph.over.Load() }

func (e captureEnd[P]) Done() (bool, error) { return e.graph.over.Load(), nil }

// Synchronize does not wait.
func (e captureEnd[P]) Synchronize(timeout time.Duration) error {
	if e.graph.over.Load() {
		return nil
	}
	return device.Errorf(device.CodeTimeout, "pool.capture", "graph %d: its capture has not ended after %v",
		e.graph.number, timeout)
}

// PassedAt is CodeUnsupported: it is a point of no queue.
func (e captureEnd[P]) PassedAt() (time.Duration, error) {
	return 0, device.Errorf(device.CodeUnsupported, "pool.capture", "the end of a capture has no time")
}

func (e captureEnd[P]) Close() error { return nil }

// Parked is blocks that one free has parked: a graph uses them that was being captured
// then, but they are of another pool than its private one.
type Parked[P comparable] struct {
	// Owner is the pool that Addrs, together of Bytes, are of.
	Owner P
	Addrs []device.Addr
	Bytes uint64
	// Graphs are those that use the blocks and were not released when they were freed. The
	// first that is not released yet has them in its list.
	Graphs []*Graph[P]
	// Streams are those of captures, whose earlier work may use the blocks as well, and
	// Events what the blocks wait for besides.
	Streams []device.Stream
	Events  []device.Event
}
