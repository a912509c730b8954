package engine

// Register adds a pool. It returns CodeInvalidState after Close.
func (e *Engine) Register(p Pool) error {
	e.PublishLone()
	e.mu.Lock()
	if e.closed {
		defer e.mu.Unlock()
		return e.closedError("engine.register")
	}
	e.pools.Add(p)
	place := e.published.add(p)
	e.mu.Unlock()
	if place != nil {
		p.(publisher).PublishAt(place)
	}
	return nil
}

// Unregister removes a pool without memory and keeps its counts.
func (e *Engine) Unregister(p Pool) {
	final := p.Statistics()
	if s, ok := p.(publisher); ok {
		s.PublishAt(nil)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.pools.Remove(p) {
		return
	}
	e.published.remove(p)
	e.retired.Allocations += final.Allocations
	e.retired.Frees += final.Frees
	e.retired.Failures += final.Failures
}
