package engine

import "sync/atomic"

// Asleep is what models and pools that sleep keep outside of the device's memory.
type Asleep struct {
	// HostBytes is host memory that holds their bytes, FileBytes disk space.
	HostBytes uint64 `json:"asleep_host_bytes"`
	FileBytes uint64 `json:"asleep_file_bytes"`
	// DiscardedBytes is allocations of which nothing is kept.
	DiscardedBytes uint64 `json:"asleep_discarded_bytes"`
}

// Plus adds up.
func (a Asleep) Plus(other Asleep) Asleep {
	return Asleep{
		HostBytes: a.HostBytes + other.HostBytes, FileBytes: a.FileBytes + other.FileBytes,
		DiscardedBytes: a.DiscardedBytes + other.DiscardedBytes,
	}
}

// Minus takes away what was added before.
func (a Asleep) Minus(other Asleep) Asleep {
	return Asleep{
		HostBytes: a.HostBytes - other.HostBytes, FileBytes: a.FileBytes - other.FileBytes,
		DiscardedBytes: a.DiscardedBytes - other.DiscardedBytes,
	}
}

// asleep is the sum over the spaces of the device.
type asleep struct{ host, file, discarded atomic.Uint64 }

// AddAsleep enters what a space keeps while it sleeps.
func (e *Engine) AddAsleep(a Asleep) {
	e.asleep.host.Add(a.HostBytes)
	e.asleep.file.Add(a.FileBytes)
	e.asleep.discarded.Add(a.DiscardedBytes)
}

// RemoveAsleep takes out what AddAsleep has entered.
func (e *Engine) RemoveAsleep(a Asleep) {
	e.asleep.host.Add(-a.HostBytes)
	e.asleep.file.Add(-a.FileBytes)
	e.asleep.discarded.Add(-a.DiscardedBytes)
}

// Asleep is what all that sleeps on this device keeps elsewhere. It is no part of
// Statistics, which is about the device's own memory.
func (e *Engine) Asleep() Asleep {
	return Asleep{
		HostBytes: e.asleep.host.Load(), FileBytes: e.asleep.file.Load(), DiscardedBytes: e.asleep.discarded.Load(),
	}
}
