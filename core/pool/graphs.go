package pool

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/device"
)

// Graphs. A stream that captures records its work instead of running it, and the
// graph that comes of it runs later, more than once, on the addresses that were
// used then. So what a graph uses must stay as it is until the graph is gone, though
// its blocks were freed long before.
//
// From CaptureBegin to CaptureEnd, allocations for all streams of a capture come
// from a private pool, which is a Pool of its own: no block of it ever goes to
// anybody else, and it gives no memory back before the last of its graphs was
// released and its last run is over. Graphs may share a private pool.
//
// No event of a stream that captures may be asked, and none is: a free there puts
// the block behind an event that passes when the capture ends (graph_stream.go). A
// block of another pool that is freed there is parked until the graph is released
// (graph_parked.go).

const (
	opBegin     = "pool.capture_begin"
	opEnd       = "pool.capture_end"
	opRelease   = "pool.capture_release"
	opGraphInfo = "pool.capture_info"
)

// graph is what a pool knows of a graph, from CaptureBegin to CaptureRelease.
type graph struct {
	number  uint64
	private *privatePool
	// capture is the device's number of its capture, which began on stream.
	capture uint64
	stream  device.Stream
	// over says that the capture has ended.
	over atomic.Bool

	mu sync.Mutex
	// branches stand for the streams of the capture.
	branches map[device.Stream]*branch
	// parked are blocks of other pools that were freed during the capture.
	parked   []*parkedBlocks
	released bool
}

// graphs is the graphs of a pool and their private pools.
type graphs struct {
	// capturing counts captures under way, and private the private pools: without
	// any, nothing else here is looked at.
	capturing, private atomic.Int32

	// mu is locked before all locks of pools.
	mu   sync.Mutex
	last uint64
	all  []*graph
	// closing refuses further captures. It is written with mu held.
	closing atomic.Bool
	// pools is never written, only replaced: it is read without the lock.
	pools atomic.Pointer[[]*privatePool]
}

// CaptureBegin has allocations for the streams of a capture come from a private
// pool until CaptureEnd: stream (nil: the default one) is one of them, and captures
// already. shared is a graph whose private pool it is to be; 0: a new one. The result
// numbers the graph, by which it is to be released. Thread caches stand still meanwhile.
//
// Graphs that share a private pool lie on the same memory: they have to be run in the order
// in which they were captured, one after the other, and what one of them leaves in a
// block that is not live is gone when another one has run.
//
// Errors: CodeUnsupported where streams of the device do not capture, CodeInvalidState
// when this one does not, or its capture is spoilt, CodeAlreadyExists when the capture
// has begun in the pool, CodeNotFound for a shared that is no graph, CodeBusy while
// another graph of that private pool is being captured.
func (p *Pool) CaptureBegin(stream device.Stream, shared uint64) (number uint64, err error) {
	if stream == nil {
		stream = p.defaultStream
	}
	fail := func(code device.Code, format string, args ...any) error {
		return device.Errorf(code, opBegin, format, args...).On(p.engine.ID())
	}
	if info := p.engine.Info(); !info.Capture {
		return 0, fail(device.CodeUnsupported, "streams of the device %q do not capture, or do not say so", info.Name)
	}
	now, err := device.CaptureOf(stream)
	switch {
	case err != nil:
		return 0, err
	case now.State == device.CaptureInvalid:
		return 0, fail(device.CodeInvalidState, "the capture of the stream was spoilt by an error before")
	case now.State != device.CaptureActive:
		return 0, fail(device.CodeInvalidState, "the stream is not capturing")
	}
	t := &p.graphs
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing.Load() {
		return 0, p.closedError(opBegin)
	}
	if g := t.ofCapture(now.ID); g != nil {
		return 0, fail(device.CodeAlreadyExists, "capture %d of the stream has begun in pool %q as graph %d",
			now.ID, p.config.Name, g.number)
	}
	g := &graph{number: t.last + 1, capture: now.ID, stream: stream, branches: map[device.Stream]*branch{}}
	if shared == 0 {
		g.private, err = p.newPrivate(g.number)
	} else {
		g.private, err = p.share(shared)
	}
	if err != nil {
		return 0, err
	}
	t.last = g.number
	g.private.graphs++
	t.all = append(t.all, g)
	if t.capturing.Add(1) == 1 {
		p.pauseCache(true)
	}
	return g.number, nil
}

// share is the private pool of a graph, for another capture. The caller holds graphs.mu.
func (p *Pool) share(shared uint64) (*privatePool, error) {
	other := p.graphs.find(shared)
	if other == nil {
		return nil, p.noGraph(opBegin, "shared_graph", shared)
	}
	for _, g := range p.graphs.all {
		if g.private == other.private && !g.over.Load() {
			return nil, device.Errorf(device.CodeBusy, opBegin,
				"shared_graph %d: the capture of graph %d, which has the same private pool, has not ended", shared, g.number).
				On(p.engine.ID())
		}
	}
	return other.private, nil
}

// CaptureEnd ends what CaptureBegin began, once the capture itself has ended. What
// the capture left free is for the captures that share the private pool. Errors:
// CodeNotFound; CodeInvalidState when the stream still captures, or CaptureEnd was called
// before.
func (p *Pool) CaptureEnd(number uint64) error {
	t := &p.graphs
	t.mu.Lock()
	g := t.find(number)
	if g == nil {
		t.mu.Unlock()
		return p.noGraph(opEnd, "graph", number)
	}
	if g.over.Load() {
		t.mu.Unlock()
		return device.Errorf(device.CodeInvalidState, opEnd, "graph %d: its capture was ended before", number).On(p.engine.ID())
	}
	err := p.stillCaptures(opEnd, g)
	if err == nil {
		p.end(g)
	}
	t.mu.Unlock()
	if err == nil {
		g.private.Land()
	}
	return err
}

// stillCaptures refuses to end a capture before its time.
func (p *Pool) stillCaptures(op string, g *graph) error {
	now, err := captureOf(g.stream)
	if errors.Is(err, device.CodeDeviceLost) {
		return nil
	}
	if err != nil || now.State == device.CaptureNone || now.State == device.CaptureActive && now.ID != g.capture {
		return err
	}
	return device.Errorf(device.CodeInvalidState, op,
		"graph %d: its stream still captures; end the capture first, also a spoilt one", g.number).On(p.engine.ID())
}

// end ends the capture of a graph here. The caller holds graphs.mu.
func (p *Pool) end(g *graph) {
	g.over.Store(true)
	if p.graphs.capturing.Add(-1) == 0 {
		p.pauseCache(false)
	}
}

// CaptureRelease says that the graph will not run again once what is queued on the
// stream now (nil: the default one) is done. Then the memory of its private pool goes back to the
// device, if it was the last graph of that pool and no block is live in it any more;
// otherwise with the last of these. It does not wait: what is not done yet goes back
// with a later call. A capture that was spoilt and has no graph is released as well;
// CaptureEnd need not have been called.
//
// Errors: CodeNotFound; CodeInvalidState while the capture or the stream still
// captures; those of the stream. Then nothing has changed.
func (p *Pool) CaptureRelease(number uint64, stream device.Stream) error {
	if stream == nil {
		stream = p.defaultStream
	}
	t := &p.graphs
	t.mu.Lock()
	g := t.find(number)
	if g == nil {
		t.mu.Unlock()
		return p.noGraph(opRelease, "graph", number)
	}
	var err error
	if !g.over.Load() {
		err = p.stillCaptures(opRelease, g)
	}
	var r *release
	if err == nil {
		r, err = prepareRelease(g, stream)
	}
	if err != nil {
		t.mu.Unlock()
		return err
	}
	if !g.over.Load() {
		p.end(g)
	}
	t.all = slices.DeleteFunc(t.all, func(other *graph) bool { return other == g })
	g.private.graphs--
	last := g.private.graphs == 0
	t.mu.Unlock()
	g.private.Land()
	err = r.commit(g, last)
	p.sweepGraphs()
	return err
}

// find is a graph by its number, or nil. The caller holds mu.
func (t *graphs) find(number uint64) *graph {
	for _, g := range t.all {
		if g.number == number {
			return g
		}
	}
	return nil
}

// ofCapture is the graph of a capture under way, or nil. The caller holds mu.
func (t *graphs) ofCapture(id uint64) *graph {
	for _, g := range t.all {
		if g.capture == id && !g.over.Load() {
			return g
		}
	}
	return nil
}

func (p *Pool) noGraph(op, what string, number uint64) error {
	return device.Errorf(device.CodeNotFound, op, "%s %d is no graph of pool %q, or was released",
		what, number, p.config.Name).On(p.engine.ID())
}

// pausable is a Cache that can be passed by for a while.
type pausable interface {
	// Pause has every allocation and every free come to the pool, until it is called
	// with false.
	Pause(paused bool)
}

// pauseCache stops the caches, which would hand out blocks to a stream that
// captures, or lets them go on.
func (p *Pool) pauseCache(paused bool) {
	p.mu.Lock()
	cache, ok := p.leases.cache.(pausable)
	p.mu.Unlock()
	if ok {
		cache.Pause(paused)
	}
}
