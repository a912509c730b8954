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

// Graph is the state of a graph from Begin to Release. Its methods are safe for
// concurrent use.
type Graph[P comparable] struct {
	number  uint64
	private P
	// capture is the device's number of the capture; stream is the stream on which the
	// capture began.
	capture uint64
	stream  device.Stream
	// over is set when the capture has ended.
	ended atomic.Bool

	mu sync.Mutex
	// branches stand for the streams of the capture.
	branches map[device.Stream]*Branch[P]
	// parked are blocks of other pools that were freed during the capture.
	parked   []*Parked[P]
	released bool
}

// Number returns the graph's number.
func (g *Graph[P]) Number() uint64 { return g.number }

// Private returns the private pool of the graph.
func (g *Graph[P]) Private() P { return g.private }

// BranchOf returns the branch of a stream in the graph's capture.
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

// has reports whether the stream has taken part in the capture.
func (g *Graph[P]) has(stream device.Stream) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stream == stream || g.branches[stream] != nil
}

// parkedBytes returns the size of the blocks that are parked with the graph.
func (g *Graph[P]) parkedBytes() (bytes uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range g.parked {
		bytes += b.Bytes
	}
	return bytes
}

// captureOf queries whether a stream captures. A closed stream does not.
func captureOf(stream device.Stream) (device.Capture, error) {
	now, err := device.CaptureOf(stream)
	if errors.Is(err, device.CodeInvalidState) {
		return device.Capture{}, nil
	}
	return now, err
}

// Branch stands for a stream during one capture. A block that is freed on it waits for
// the end of the capture. The same branch may reuse the block at once, because the edges
// of the graph keep the order. Callers may call only its methods Idle and RecordEvent.
type Branch[P comparable] struct {
	device.Stream
	graph *Graph[P]
}

// Graph returns the graph of the capture.
func (b *Branch[P]) Graph() *Graph[P] { return b.graph }

// HasEnded reports whether the capture has ended.
func (b *Branch[P]) HasEnded() bool { return b.graph.ended.Load() }

// Idle reports whether the capture has ended.
func (b *Branch[P]) Idle() (bool, error) { return b.HasEnded(), nil }

// RecordEvent returns an event for the end of the capture. It does not call the stream.
func (b *Branch[P]) RecordEvent() (device.Event, error) { return b.graph.End(), nil }

// End returns an event that completes when the graph's capture has ended. No thread waits
// for it, because the waiting thread may be the one that captures.
func (g *Graph[P]) End() device.Event { return captureEnd[P]{g} }

type captureEnd[P comparable] struct{ graph *Graph[P] }

var _ inflight.Deferred = captureEnd[int]{}

// InOrder is false: the work of a capture runs with its graph.
func (e captureEnd[P]) InOrder() bool { return false }

// IsMarked reports whether the capture has ended.
func (e captureEnd[P]) IsMarked() bool { return e.graph.ended.Load() }

func (e captureEnd[P]) Done() (bool, error) { return e.graph.ended.Load(), nil }

// Synchronize does not wait. It returns CodeTimeout if the capture has not ended.
func (e captureEnd[P]) Synchronize(timeout time.Duration) error {
	if e.graph.ended.Load() {
		return nil
	}
	return device.Errorf(device.CodeTimeout, "pool.capture", "graph %d: its capture has not ended after %v",
		e.graph.number, timeout)
}

// PassedAt returns CodeUnsupported: the event is not in a queue.
func (e captureEnd[P]) PassedAt() (time.Duration, error) {
	return 0, device.Errorf(device.CodeUnsupported, "pool.capture", "the end of a capture has no time")
}

func (e captureEnd[P]) Close() error { return nil }

// Parked has the blocks that one free has parked. They belong to another pool than the
// private pool of the graph, and the graph that was being captured uses them.
type Parked[P comparable] struct {
	// Owner is the pool of the blocks at Addrs. Bytes is the sum of their sizes.
	Owner P
	Addrs []device.Addr
	Bytes uint64
	// Graphs are the graphs that use the blocks and were not released at the time of the
	// free. The first of them that is not released yet has the blocks in its list.
	Graphs []*Graph[P]
	// Streams are the streams of captures, whose earlier work may also use the blocks.
	// Events are the other events for which the blocks wait.
	Streams []device.Stream
	Events  []device.Event
}
