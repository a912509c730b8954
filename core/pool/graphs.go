package pool

import "ferrum_mem/core/device"

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
// the block behind an event that passes when the capture ends (package graphs). A
// block of another pool that is freed there is parked until the graph is released
// (graph_parked.go).

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
		stream = p.heap.defaultStream
	}
	if info := p.heap.engine.Info(); !info.Capture {
		return 0, device.Errorf(device.CodeUnsupported, "pool.capture_begin",
			"streams of the device %q do not capture, or do not say so", info.Name).On(p.heap.engine.ID())
	}
	return p.family.graphs.Begin(stream, shared, p.newPrivate)
}

// CaptureEnd ends what CaptureBegin began, once the capture itself has ended. What
// the capture left free is for the captures that share the private pool. Errors:
// CodeNotFound; CodeInvalidState when the stream still captures, or CaptureEnd was called
// before.
func (p *Pool) CaptureEnd(number uint64) error {
	private, err := p.family.graphs.End(number)
	if err == nil {
		private.Land()
	}
	return err
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
		stream = p.heap.defaultStream
	}
	r, err := p.family.graphs.Release(number, stream)
	if err != nil {
		return err
	}
	r.Private.Land()
	for _, unused := range r.HandOver() {
		unused.Owner.unpark(unused)
	}
	if r.Last {
		r.Private.heap.letGo(r.End)
	} else if r.End != nil {
		err = r.End.Close()
	}
	p.family.sweepGraphs()
	return err
}
