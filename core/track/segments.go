package track

// Segment has the sizes of the two parts of a segment.
type Segment struct {
	UsableBytes   uint64
	UnusableBytes uint64
	// VirtualBytes is address space without memory of its own.
	VirtualBytes uint64
}

// AddSegment counts a segment without blocks.
func (b *Counters) AddSegment(segment Segment) {
	b.rise(reserved, segment.UsableBytes+segment.UnusableBytes)
	b.rise(cached, segment.UsableBytes)
	b.rise(unusable, segment.UnusableBytes)
	b.rise(virtualReserved, segment.VirtualBytes)
	b.rise(segments, 1)
	b.publish()
}

// RemoveSegment subtracts a segment without blocks.
func (b *Counters) RemoveSegment(segment Segment) {
	b.now[cached] -= segment.UsableBytes
	b.now[unusable] -= segment.UnusableBytes
	b.now[reserved] -= segment.UsableBytes + segment.UnusableBytes
	b.now[virtualReserved] -= segment.VirtualBytes
	b.now[segments]--
	b.publish()
}

// AddPages counts physical pages that no block uses yet.
func (b *Counters) AddPages(bytes uint64) {
	b.rise(reserved, bytes)
	b.rise(cached, bytes)
	b.publish()
}

// RemovePages subtracts pages that are cached.
func (b *Counters) RemovePages(bytes uint64) {
	b.now[cached] -= bytes
	b.now[reserved] -= bytes
	b.publish()
}
