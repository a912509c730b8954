package library

// CaptureBegin makes the pool serve a capture from a private pool. stream (0: the
// default one) takes part in the capture. The private pool is new, or that of the graph
// shared. It returns the number of the graph in the pool.
func (p *Pool) CaptureBegin(stream, shared uint64) (graph uint64, err error) {
	captures, err := p.streamOf("pool.capture_begin", stream)
	if err != nil {
		return 0, err
	}
	graph, err = p.Pool.CaptureBegin(captures, shared)
	return graph, p.callErrorOn(stream, err)
}

// CaptureRelease frees the memory that a graph keeps, after the work that is queued on
// the stream (0: the default one).
func (p *Pool) CaptureRelease(graph, stream uint64) error {
	last, err := p.streamOf("pool.capture_release", stream)
	if err != nil {
		return err
	}
	return p.callErrorOn(stream, p.Pool.CaptureRelease(graph, last))
}
