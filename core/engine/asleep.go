package engine

import "sync/atomic"

// Asleep counts what sleeping models and pools keep outside the device's memory.
type Asleep struct {
	// HostBytes counts the host memory, and FileBytes the disk space, that keep their
	// contents.
	HostBytes uint64 `json:"asleep_host_bytes"`
	FileBytes uint64 `json:"asleep_file_bytes"`
	// DiscardedBytes counts allocations whose contents were discarded.
	DiscardedBytes uint64 `json:"asleep_discarded_bytes"`
}

// Plus returns the sum.
func (a Asleep) Plus(other Asleep) Asleep {
	return Asleep{
		HostBytes: a.HostBytes + other.HostBytes, FileBytes: a.FileBytes + other.FileBytes,
		DiscardedBytes: a.DiscardedBytes + other.DiscardedBytes,
	}
}

// Minus returns the difference.
func (a Asleep) Minus(other Asleep) Asleep {
	return Asleep{
		HostBytes: a.HostBytes - other.HostBytes, FileBytes: a.FileBytes - other.FileBytes,
		DiscardedBytes: a.DiscardedBytes - other.DiscardedBytes,
	}
}

// asleep is the sum over the spaces of the device.
type asleep struct{ host, file, discarded atomic.Uint64 }

func (s *asleep) add(a Asleep) {
	s.host.Add(a.HostBytes)
	s.file.Add(a.FileBytes)
	s.discarded.Add(a.DiscardedBytes)
}

func (s *asleep) remove(a Asleep) {
	s.host.Add(-a.HostBytes)
	s.file.Add(-a.FileBytes)
	s.discarded.Add(-a.DiscardedBytes)
}

func (s *asleep) sum() Asleep {
	return Asleep{HostBytes: s.host.Load(), FileBytes: s.file.Load(), DiscardedBytes: s.discarded.Load()}
}
