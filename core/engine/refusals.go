package engine

import (
	"errors"
	"sync"

	"ferrum_mem/core/device"
)

// refusals remember what the driver refused last, for the report of a search that found
// no room for it: on its own that says what is free, and not why it cannot be had.
type refusals struct {
	mu    sync.Mutex
	count uint64
	last  *device.Error
}

// NoteRefusal remembers an error with the number of a vendor's runtime or of the system;
// other errors, and nil, are no refusals.
func (e *Engine) NoteRefusal(err error) {
	var refused *device.Error
	if !errors.As(err, &refused) || refused.Native == 0 {
		return
	}
	e.refusals.mu.Lock()
	defer e.refusals.mu.Unlock()
	e.refusals.count++
	e.refusals.last = refused
}

// countRefusals is how many there were.
func (e *Engine) countRefusals() uint64 {
	e.refusals.mu.Lock()
	defer e.refusals.mu.Unlock()
	return e.refusals.count
}

// refusalSince is the last one, unless there were only so many.
func (e *Engine) refusalSince(count uint64) *device.Error {
	e.refusals.mu.Lock()
	defer e.refusals.mu.Unlock()
	if e.refusals.count == count {
		return nil
	}
	return e.refusals.last
}
