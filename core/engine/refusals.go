package engine

import (
	"errors"
	"sync"

	"ferrum_mem/core/device"
)

// refusals records the last error of the driver, for the report of an allocation that
// found no memory. The free bytes alone do not explain why they cannot be allocated.
type refusals struct {
	mu    sync.Mutex
	count uint64
	last  *device.Error
}

// note records an error with the number of a vendor's runtime or of the system. It
// ignores other errors, and nil.
func (r *refusals) note(err error) {
	var driverError *device.Error
	if !errors.As(err, &driverError) || driverError.Native == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	r.last = driverError
}

// counted returns the number of recorded errors.
func (r *refusals) counted() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// since returns the last error, unless there are still only count of them.
func (r *refusals) since(count uint64) *device.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == count {
		return nil
	}
	return r.last
}
