package engine

// discard gives something back to the driver for which nobody waits. What
// fails is tried again before the next segment is taken and before Close.
func (e *Engine) discard(giveBack func() error) {
	if err := giveBack(); err != nil {
		e.mu.Lock()
		e.discarded = append(e.discarded, giveBack)
		e.mu.Unlock()
	}
}

// retryDiscarded tries again to give back what failed before.
func (e *Engine) retryDiscarded() {
	e.mu.Lock()
	left := e.discarded
	e.discarded = nil
	e.mu.Unlock()
	for _, giveBack := range left {
		e.discard(giveBack)
	}
}
