package track

// Brief has the present values of the counters that a device's memory information needs.
type Brief struct {
	ActiveBytes, UnusableBytes, CachedBytes, LiveBlocks uint64
	// LargestFreeBytes is the longest free run of any segment.
	LargestFreeBytes uint64
}

// Brief returns the part of the record that a Brief has.
func (s Statistics) Brief() Brief {
	return Brief{
		ActiveBytes: s.Active.Current, UnusableBytes: s.Unusable.Current, CachedBytes: s.Cached.Current,
		LiveBlocks: s.LiveBlocks.Current, LargestFreeBytes: s.LargestFreeBytes,
	}
}

// Plus returns the values of two owners together.
func (b Brief) Plus(other Brief) Brief {
	b.ActiveBytes += other.ActiveBytes
	b.UnusableBytes += other.UnusableBytes
	b.CachedBytes += other.CachedBytes
	b.LiveBlocks += other.LiveBlocks
	b.LargestFreeBytes = max(b.LargestFreeBytes, other.LargestFreeBytes)
	return b
}

// Fragmentation is 1 - largest free run / total free; 0 when nothing is free.
func (b Brief) Fragmentation() float32 {
	if b.CachedBytes == 0 {
		return 0
	}
	largest := min(b.LargestFreeBytes, b.CachedBytes)
	return float32(1 - float64(largest)/float64(b.CachedBytes))
}

// Fragmentation is 1 - largest free run / total free; 0 when nothing is free.
func (s Statistics) Fragmentation() float32 { return s.Brief().Fragmentation() }
