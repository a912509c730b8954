package graphs

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
)

// Registry is the graphs that were captured for a pool, and their private pools. Its
// methods are safe for concurrent use.
type Registry[P comparable] struct {
	// pool and id name the pool and its device in errors.
	pool string
	id   device.ID
	// pause is told when the first capture begins, and when the last has ended.
	pause func(paused bool)

	// capturing counts captures under way, and private the private pools: without
	// any, nothing else here is looked at.
	capturing, private atomic.Int32
	// closing refuses further captures.
	closing atomic.Bool
	// pools is never written, only replaced: it is read without the lock.
	pools atomic.Pointer[[]P]

	mu   sync.Mutex
	last uint64
	all  []*Graph[P]
}

// Init names the pool. pause is called with true as the first capture begins, and with
// false as the last one ends.
func (t *Registry[P]) Init(pool string, id device.ID, pause func(paused bool)) {
	t.pool, t.id, t.pause = pool, id, pause
}

// AnyCapturing says that a capture is under way, and AnyPrivate that there are private
// pools. They cost one look.
func (t *Registry[P]) AnyCapturing() bool { return t.capturing.Load() != 0 }

// AnyPrivate says that there are private pools.
func (t *Registry[P]) AnyPrivate() bool { return t.private.Load() != 0 }

// Private lists the private pools, also those whose graphs were all released.
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

// Begin makes a graph of the capture of a stream. shared is a graph whose private pool it
// is to have; 0: newPrivate makes one. Errors: as the pool's CaptureBegin.
func (t *Registry[P]) Begin(stream device.Stream, shared uint64, newPrivate func(number uint64) (P, error)) (number uint64, err error) {
	now, err := device.CaptureOf(stream)
	switch {
	case err != nil:
		return 0, err
	case now.State == device.CaptureInvalid:
		return 0, t.errorf(device.CodeInvalidState, opBegin, "the capture of the stream was spoilt by an error before")
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

// share is the private pool of a graph, for another capture. The caller holds mu.
func (t *Registry[P]) share(shared uint64) (private P, err error) {
	other := t.find(shared)
	if other == nil {
		return private, t.noGraph(opBegin, "shared_graph", shared)
	}
	for _, g := range t.all {
		if g.private == other.private && !g.over.Load() {
			return private, t.errorf(device.CodeBusy, opBegin,
				"shared_graph %d: the capture of graph %d, which has the same private pool, has not ended", shared, g.number)
		}
	}
	return other.private, nil
}

// End ends what Begin began, and is the private pool. Errors: as the pool's CaptureEnd.
func (t *Registry[P]) End(number uint64) (private P, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.find(number)
	if g == nil {
		return private, t.noGraph(opEnd, "graph", number)
	}
	if g.over.Load() {
		return private, t.errorf(device.CodeInvalidState, opEnd, "graph %d: its capture was ended before", number)
	}
	if err := t.stillCaptures(opEnd, g); err != nil {
		return private, err
	}
	t.end(g)
	return g.private, nil
}

// stillCaptures refuses to end a capture before its time.
func (t *Registry[P]) stillCaptures(op string, g *Graph[P]) error {
	now, err := captureOf(g.stream)
	if errors.Is(err, device.CodeDeviceLost) {
		return nil
	}
	if err != nil || now.State == device.CaptureNone || now.State == device.CaptureActive && now.ID != g.capture {
		return err
	}
	return t.errorf(device.CodeInvalidState, op,
		"graph %d: its stream still captures; end the capture first, also a spoilt one", g.number)
}

// end ends the capture of a graph here. The caller holds mu.
func (t *Registry[P]) end(g *Graph[P]) {
	g.over.Store(true)
	if t.capturing.Add(-1) == 0 {
		t.pause(false)
	}
}

// find is a graph by its number, or nil. The caller holds mu.
func (t *Registry[P]) find(number uint64) *Graph[P] {
	for _, g := range t.all {
		if g.number == number {
			return g
		}
	}
	return nil
}

// ofCapture is the graph of a capture under way, or nil. The caller holds mu.
func (t *Registry[P]) ofCapture(id uint64) *Graph[P] {
	for _, g := range t.all {
		if g.capture == id && !g.over.Load() {
			return g
		}
	}
	return nil
}

// sharing counts the graphs of a private pool that were not released. The caller holds mu.
func (t *Registry[P]) sharing(private P) (graphs uint64) {
	for _, g := range t.all {
		if g.private == private {
			graphs++
		}
	}
	return graphs
}

func (t *Registry[P]) noGraph(op, what string, number uint64) error {
	return t.errorf(device.CodeNotFound, op, "%s %d is no graph of pool %q, or was released", what, number, t.pool)
}

// OfStream is the graph that a stream is captured for, and whether its capture was
// spoilt; nil: for none that began in this pool.
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
		if !g.over.Load() && g.has(stream) {
			return g, true, nil
		}
	}
	return nil, false, nil
}

// EndsOf is the ends of the captures under way in a private pool.
func (t *Registry[P]) EndsOf(private P) (ends []device.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.all {
		if g.private == private && !g.over.Load() {
			ends = append(ends, g.End())
		}
	}
	return ends
}

// Info is a graph at one moment.
type Info[P comparable] struct {
	Private P
	// Capturing says that End was not called yet.
	Capturing bool
	// Sharing counts the graphs of its private pool, this one included.
	Sharing uint64
	// ParkedBytes is what is parked with it.
	ParkedBytes uint64
}

// Info describes a graph that was not released: CodeNotFound for any other.
func (t *Registry[P]) Info(number uint64) (Info[P], error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.find(number)
	if g == nil {
		return Info[P]{}, t.noGraph(opInfo, "graph", number)
	}
	return Info[P]{g.private, !g.over.Load(), t.sharing(g.private), g.parkedBytes()}, nil
}

// Numbers lists the graphs that were not released.
func (t *Registry[P]) Numbers() (numbers []uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.all {
		numbers = append(numbers, g.number)
	}
	return numbers
}

// Forget takes a private pool out that has ended.
func (t *Registry[P]) Forget(private P) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setPools(slices.DeleteFunc(slices.Clone(t.Private()), func(other P) bool { return other == private }))
}

// Left is the error of a pool that cannot be closed because of its graphs.
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
	return t.errorf(device.CodeBusy, opClose, "pool %q has %d graphs that were not released and %d private pools of graphs",
		t.pool, len(t.all), len(pools))
}

// WhileNone does something while no capture can begin, or says what is left: Left.
func (t *Registry[P]) WhileNone(do func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if left := t.left(); left != nil {
		return left
	}
	return do()
}

// Shut refuses captures that begin from now on; in do of WhileNone there is none that is
// under way.
func (t *Registry[P]) Shut() { t.closing.Store(true) }

// IsShut says that captures are refused.
func (t *Registry[P]) IsShut() bool { return t.closing.Load() }

// Await returns when all calls of Begin have ended that began before Shut.
func (t *Registry[P]) Await() {
	t.mu.Lock()
	defer t.mu.Unlock()
}

// Open lets captures begin again.
func (t *Registry[P]) Open() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closing.Store(false)
}
