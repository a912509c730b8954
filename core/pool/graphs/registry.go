package graphs

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
)

// Registry has the graphs that were captured for a pool, and their private pools. Its
// methods are safe for concurrent use.
type Registry[P comparable] struct {
	// pool and id name the pool and its device in errors.
	pool string
	id   device.ID
	// pause is called when the first capture begins and when the last one has ended.
	pause func(paused bool)

	// capturing is the number of captures in progress; private is the number of private
	// pools. If both are 0, the rest of the registry is not read.
	capturing, private atomic.Int32
	// closing is set while further captures are rejected.
	closing atomic.Bool
	// pools is replaced and never modified, so that it can be read without the lock.
	pools atomic.Pointer[[]P]

	mu   sync.Mutex
	last uint64
	all  []*Graph[P]
}

// Init names the pool. pause is called with true when the first capture begins, and with
// false when the last one ends.
func (t *Registry[P]) Init(pool string, id device.ID, pause func(paused bool)) {
	t.pool, t.id, t.pause = pool, id, pause
}

// AnyCapturing reports whether a capture is in progress. It costs one atomic read.
func (t *Registry[P]) AnyCapturing() bool { return t.capturing.Load() != 0 }

// AnyPrivate reports whether there are private pools. It costs one atomic read.
func (t *Registry[P]) AnyPrivate() bool { return t.private.Load() != 0 }

// Private returns the private pools, including those whose graphs were all released.
func (t *Registry[P]) Private() []P {
	if pools := t.pools.Load(); pools != nil {
		return *pools
	}
	return nil
}

// setPools replaces the list. The caller holds mu.
func (t *Registry[P]) setPools(pools []P) {
	t.pools.Store(&pools)
	t.private.Store(int32(len(pools)))
}

func (t *Registry[P]) errorf(code device.Code, op, format string, args ...any) error {
	return device.Errorf(code, op, format, args...).On(t.id)
}

// Begin creates a graph for the capture of a stream. shared is the number of a graph
// whose private pool is to be used; 0 means that newPrivate creates one. Errors: those of
// the pool's CaptureBegin.
func (t *Registry[P]) Begin(stream device.Stream, shared uint64, newPrivate func(number uint64) (P, error)) (number uint64, err error) {
	now, err := device.CaptureOf(stream)
	switch {
	case err != nil:
		return 0, err
	case now.State == device.CaptureInvalid:
		return 0, t.errorf(device.CodeInvalidState, opBegin, "the capture of the stream was invalidated by an earlier error")
	case now.State != device.CaptureActive:
		return 0, t.errorf(device.CodeInvalidState, opBegin, "the stream is not capturing")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing.Load() {
		return 0, t.errorf(device.CodeInvalidState, opBegin, "pool %q is closed", t.pool)
	}
	if g := t.ofCapture(now.ID); g != nil {
		return 0, t.errorf(device.CodeAlreadyExists, opBegin, "capture %d of the stream has begun in pool %q as graph %d",
			now.ID, t.pool, g.number)
	}
	g := &Graph[P]{number: t.last + 1, capture: now.ID, stream: stream, branches: map[device.Stream]*Branch[P]{}}
	if shared != 0 {
		g.private, err = t.share(shared)
	} else if g.private, err = newPrivate(g.number); err == nil {
		t.setPools(append(slices.Clone(t.Private()), g.private))
	}
	if err != nil {
		return 0, err
	}
	t.last = g.number
	t.all = append(t.all, g)
	if t.capturing.Add(1) == 1 {
		t.pause(true)
	}
	return g.number, nil
}

// share returns the private pool of a graph, for another capture. The caller holds mu.
func (t *Registry[P]) share(shared uint64) (private P, err error) {
	other := t.find(shared)
	if other == nil {
		return private, t.noGraph(opBegin, "shared_graph", shared)
	}
	for _, g := range t.all {
		if g.private == other.private && !g.ended.Load() {
			return private, t.errorf(device.CodeBusy, opBegin,
				"shared_graph %d: the capture of graph %d, which has the same private pool, has not ended", shared, g.number)
		}
	}
	return other.private, nil
}

// End ends what Begin began, and returns the private pool. Errors: those of the pool's
// CaptureEnd.
func (t *Registry[P]) End(number uint64) (private P, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.find(number)
	if g == nil {
		return private, t.noGraph(opEnd, "graph", number)
	}
	if g.ended.Load() {
		return private, t.errorf(device.CodeInvalidState, opEnd, "graph %d: its capture was ended before", number)
	}
	if err := t.stillCaptures(opEnd, g); err != nil {
		return private, err
	}
	t.end(g)
	return g.private, nil
}

// stillCaptures returns an error if the stream of a graph still captures.
func (t *Registry[P]) stillCaptures(op string, g *Graph[P]) error {
	now, err := captureOf(g.stream)
	if errors.Is(err, device.CodeDeviceLost) {
		return nil
	}
	if err != nil || now.State == device.CaptureNone || now.State == device.CaptureActive && now.ID != g.capture {
		return err
	}
	return t.errorf(device.CodeInvalidState, op,
		"graph %d: its stream still captures; end the capture first, also if it is invalidated", g.number)
}

// end records that the capture of a graph has ended. The caller holds mu.
func (t *Registry[P]) end(g *Graph[P]) {
	g.ended.Store(true)
	if t.capturing.Add(-1) == 0 {
		t.pause(false)
	}
}

// find returns the graph with a number, or nil. The caller holds mu.
func (t *Registry[P]) find(number uint64) *Graph[P] {
	for _, g := range t.all {
		if g.number == number {
			return g
		}
	}
	return nil
}

// ofCapture returns the graph of a capture in progress, or nil. The caller holds mu.
func (t *Registry[P]) ofCapture(id uint64) *Graph[P] {
	for _, g := range t.all {
		if g.capture == id && !g.ended.Load() {
			return g
		}
	}
	return nil
}

// sharing returns the number of graphs of a private pool that were not released. The
// caller holds mu.
func (t *Registry[P]) sharing(private P) (graphs uint64) {
	for _, g := range t.all {
		if g.private == private {
			graphs++
		}
	}
	return graphs
}

func (t *Registry[P]) noGraph(op, what string, number uint64) error {
	return t.errorf(device.CodeNotFound, op, "%s %d is not a graph of pool %q, or was released", what, number, t.pool)
}

// OfStream returns the graph for which a stream is captured, and whether the capture was
// invalidated. It returns nil if no capture that began in this pool includes the stream.
func (t *Registry[P]) OfStream(stream device.Stream) (g *Graph[P], spoilt bool, err error) {
	if !t.AnyCapturing() {
		return nil, false, nil
	}
	now, err := captureOf(stream)
	if err != nil || now.State == device.CaptureNone {
		return nil, false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.State == device.CaptureActive {
		return t.ofCapture(now.ID), false, nil
	}
	for _, g := range t.all {
		if !g.ended.Load() && g.has(stream) {
			return g, true, nil
		}
	}
	return nil, false, nil
}

// EndsOf returns the end events of the captures in progress in a private pool.
func (t *Registry[P]) EndsOf(private P) (ends []device.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.all {
		if g.private == private && !g.ended.Load() {
			ends = append(ends, g.End())
		}
	}
	return ends
}

// Info describes a graph at one moment.
type Info[P comparable] struct {
	Private P
	// Capturing is set until End was called.
	Capturing bool
	// Sharing is the number of graphs of its private pool, including this one.
	Sharing uint64
	// ParkedBytes is the size of the blocks that are parked with the graph.
	ParkedBytes uint64
}

// Info describes a graph that was not released. It returns CodeNotFound for any other.
func (t *Registry[P]) Info(number uint64) (Info[P], error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.find(number)
	if g == nil {
		return Info[P]{}, t.noGraph(opInfo, "graph", number)
	}
	return Info[P]{g.private, !g.ended.Load(), t.sharing(g.private), g.parkedBytes()}, nil
}

// Numbers returns the numbers of the graphs that were not released.
func (t *Registry[P]) Numbers() (numbers []uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.all {
		numbers = append(numbers, g.number)
	}
	return numbers
}

// Forget removes a private pool that has ended.
func (t *Registry[P]) Forget(private P) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setPools(slices.DeleteFunc(slices.Clone(t.Private()), func(other P) bool { return other == private }))
}

// Left returns the error of a pool that cannot be closed because of its graphs; nil if it
// can.
func (t *Registry[P]) Left() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left()
}

// left is Left. The caller holds mu.
func (t *Registry[P]) left() error {
	pools := t.Private()
	if len(pools) == 0 {
		return nil
	}
	return t.errorf(device.CodeBusy, opClose, "pool %q has %s not released and %s of graphs",
		t.pool, device.Count(len(t.all), "graph"), device.Count(len(pools), "private pool"))
}

// WhileNone calls do while no capture can begin. If graphs or private pools are left, it
// returns the error of Left instead.
func (t *Registry[P]) WhileNone(do func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if left := t.left(); left != nil {
		return left
	}
	return do()
}

// Shut rejects captures from now on. When it is called in the do of WhileNone, no capture
// is in progress.
func (t *Registry[P]) Shut() { t.closing.Store(true) }

// IsShut reports whether captures are rejected.
func (t *Registry[P]) IsShut() bool { return t.closing.Load() }

// Await waits until all calls of Begin that began before Shut have ended.
func (t *Registry[P]) Await() {
	t.mu.Lock()
	defer t.mu.Unlock()
}

// Open accepts captures again.
func (t *Registry[P]) Open() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closing.Store(false)
}
