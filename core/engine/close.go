package engine

import "ferrum_mem/core/device"

// Close closes the device. It returns CodeBusy, and changes nothing, while pools,
// registrations, segments or streams exist.
func (e *Engine) Close() error {
	if err := e.beginClose(); err != nil {
		return err
	}
	e.discards.retry()
	if err := e.dev.Close(); err != nil {
		e.mu.Lock()
		e.closed = false
		e.mu.Unlock()
		return err
	}
	if e.calling.Load() > 0 {
		// A callback that removed itself is returning, perhaps on this thread. Its
		// worker ends after it.
		e.dispatcher.Stop()
		return nil
	}
	e.dispatcher.Close()
	return nil
}

func (e *Engine) beginClose() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.inUseLocked(); err != nil {
		return err
	}
	e.closed = true
	return nil
}

// InUse returns the error with which Close would fail now; nil: Close would not be
// rejected.
func (e *Engine) InUse() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.inUseLocked()
}

// inUseLocked implements InUse. The caller holds mu.
func (e *Engine) inUseLocked() error {
	if e.closed {
		return e.closedError("engine.close")
	}
	callbacks := e.subscribers.listeningLocked() + e.subscribers.reclaims.Len()
	if e.pools.Len() > 0 || callbacks > 0 {
		return device.Errorf(device.CodeBusy, "engine.close",
			"%s and %s still exist", device.Count(e.pools.Len(), "pool"), device.Count(callbacks, "registration")).On(e.ID())
	}
	return nil
}
