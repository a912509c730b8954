package library

import "ferrum_mem/core/pool"

// PoolCaptureBegin has a pool serve a capture, of which the stream (0: the default one)
// is one, from a private pool: a new one, or that of the graph shared. It gives the
// number of the graph in the pool.
func (l *Library) PoolCaptureBegin(id, stream, shared uint64) (graph uint64, err error) {
	entry, captures, err := l.onStream("pool.capture_begin", id, stream)
	if err != nil {
		return 0, err
	}
	graph, err = entry.pool.BeginCapture(captures, shared)
	return graph, l.lateOn(stream, err, entry)
}

// PoolCaptureEnd ends what PoolCaptureBegin began.
func (l *Library) PoolCaptureEnd(id, graph uint64) error {
	return do(l, l.pools, "pool.capture_end", id, func(p *openPool) error { return p.pool.EndCapture(graph) })
}

// PoolCaptureRelease gives back what a graph keeps, after the work that is queued on
// the stream (0: the default one).
func (l *Library) PoolCaptureRelease(id, graph, stream uint64) error {
	entry, last, err := l.onStream("pool.capture_release", id, stream)
	if err != nil {
		return err
	}
	return l.lateOn(stream, entry.pool.ReleaseGraph(graph, last), entry)
}

// PoolCaptureGetInfo describes a graph.
func (l *Library) PoolCaptureGetInfo(id, graph uint64) (pool.GraphInfo, error) {
	return ask(l, l.pools, "pool.capture_info", id, func(p *openPool) (pool.GraphInfo, error) { return p.pool.GraphInfo(graph) })
}
