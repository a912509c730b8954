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

// note remembers an error with the number of a vendor's runtime or of the system; other
// errors, and nil, are no refusals.
func (r *refusals) note(err error) {
	var refused *device.Error
	if !errors.As(err, &refused) || refused.Native == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	r.last = refused
}

// counted is how many there were.
func (r *refusals) counted() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// since is the last one, unless there were only so many.
func (r *refusals) since(count uint64) *device.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == count {
		return nil
	}
	return r.last
}
