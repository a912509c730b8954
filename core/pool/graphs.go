package pool

import "ferrum_mem/core/device"

// Graphs. A stream that captures records its work instead of running it. The resulting
// graph runs later, more than once, on the addresses of the capture. So the memory that a
// graph uses must not change until the graph is released, even if its blocks were freed
// long before.
//
// From CaptureBegin to CaptureEnd, allocations for all streams of a capture come from a
// private pool. It is a Pool of its own. No other allocation gets blocks of it, and it
// releases no memory before the last of its graphs was released and the last run of that
// graph has completed. Graphs may share a private pool.
//
// The event of a capturing stream must not be queried. So a free on such a stream puts
// the block behind an event that completes when the capture ends (package graphs). A
// block of another pool that is freed there is parked until the graph is released
// (graph_parked.go).

// CaptureBegin makes allocations for the streams of a capture come from a private pool
// until CaptureEnd. stream (nil: the default one) is one of these streams and captures
// already. shared is the number of a graph whose private pool is to be used; 0 means a
// new private pool. The result is the number of the graph, for CaptureEnd and
// CaptureRelease. Thread caches are paused until CaptureEnd.
//
// Graphs that share a private pool use the same memory. They must run in the order in
// which they were captured, one after the other. A run of one graph overwrites what
// another graph left in blocks that are not live.
//
// Errors: CodeUnsupported if streams of the device cannot capture; CodeInvalidState if
// this stream does not capture or its capture is invalidated; CodeAlreadyExists if this
// capture has begun in the pool; CodeNotFound if shared is not a graph; CodeBusy while
// another graph of that private pool is being captured.
func (p *Pool) CaptureBegin(stream device.Stream, shared uint64) (number uint64, err error) {
	if stream == nil {
		stream = p.heap.defaultStream
	}
	if info := p.heap.engine.Info(); !info.Capture {
		return 0, device.Errorf(device.CodeUnsupported, "pool.capture_begin",
			"streams of the device %q cannot capture, or cannot report a capture", info.Name).On(p.heap.engine.ID())
	}
	return p.family.graphs.Begin(stream, shared, p.newPrivate)
}

// CaptureEnd ends what CaptureBegin began, after the capture itself has ended. Memory
// that the capture left free is available to later captures that share the private pool.
// Errors: CodeNotFound; CodeInvalidState if the stream still captures, or CaptureEnd was
// called before.
func (p *Pool) CaptureEnd(number uint64) error {
	private, err := p.family.graphs.End(number)
	if err == nil {
		private.CompleteFrees()
	}
	return err
}

// CaptureRelease states that the graph runs no more after the work that is queued on the
// stream now (nil: the default one). When that work has completed, the memory of the
// private pool is released to the device, if this was the last graph of that pool and no
// block in it is live. Otherwise it is released with the last graph and the last live
// block. The call does not wait: a later call releases what is not free yet. A capture
// that was invalidated and has no graph must be released as well; CaptureEnd need not
// have been called.
//
// Errors: CodeNotFound; CodeInvalidState while the capture or the stream still captures;
// those of the stream. After an error nothing has changed.
func (p *Pool) CaptureRelease(number uint64, stream device.Stream) error {
	if stream == nil {
		stream = p.heap.defaultStream
	}
	r, err := p.family.graphs.Release(number, stream)
	if err != nil {
		return err
	}
	r.Private.CompleteFrees()
	for _, unused := range r.HandOver() {
		unused.Owner.unpark(unused)
	}
	if r.Last {
		r.Private.heap.setLastRun(r.End)
	} else if r.End != nil {
		err = r.End.Close()
	}
	p.family.sweepGraphs()
	return err
}
