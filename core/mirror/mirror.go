package mirror

import "sync/atomic"

// PoolCount is how many pools of a device can be shown.
const PoolCount = 32

// Device is what is shown of a device. The zero value shows nothing. Only the holder
// of the Lock that it is shown by writes it.
type Device struct {
	// Version is odd while all below is the present state.
	Version atomic.Uint64
	// Handle is the device's. 0: nothing was shown yet.
	Handle atomic.Uint64
	// TotalBytes and AvailableBytes are the last reading of the device, brought up to
	// date with what was taken since and cut at what the limit allows.
	TotalBytes, AvailableBytes atomic.Uint64
	// TakenAt is when the device was asked, in nanoseconds on the clock of track.Now.
	TakenAt atomic.Uint64
	// Bandwidth is BandwidthKnown and, in the low half, the bits of a float32.
	Bandwidth atomic.Uint64
	// Pools has a bit for each of the Pool below that belongs to the device.
	Pools atomic.Uint64
	// Partial is 1 when not all of the device's books can be shown, or the device was
	// never asked: a reader has to ask for them.
	Partial atomic.Uint64

	_ [8]uint64

	Pool [PoolCount]Pool
}

// BandwidthKnown is set in Device.Bandwidth once it was measured.
const BandwidthKnown uint64 = 1 << 32

// Pool is what is shown of one pool: its own part of the books, without what the
// thread caches in front of it hold.
type Pool struct {
	// Version is odd while all below is the present state.
	Version atomic.Uint64
	// Cache is the handle of the thread caches in front of the pool; 0: none.
	Cache atomic.Uint64
	// The own parts of the gauges. One may wrap below 0 while the caches' part, which
	// the pool has last heard of, is more than the whole.
	ActiveBytes, CachedBytes, UnusableBytes, LiveBlocks atomic.Uint64
	// LargestFreeBytes is the longest free run of any segment.
	LargestFreeBytes atomic.Uint64
	// LeasedBytes went out to the caches and ReturnedBytes came back, since the
	// beginning.
	LeasedBytes, ReturnedBytes atomic.Uint64

	_ [7]uint64
}

// PoolBooks is what a pool shows.
type PoolBooks struct {
	Cache                                               uint64
	ActiveBytes, CachedBytes, UnusableBytes, LiveBlocks uint64
	LargestFreeBytes                                    uint64
	LeasedBytes, ReturnedBytes                          uint64
}

// Write fills in what a pool shows. Its lock is held, and it is hidden.
func (p *Pool) Write(b *PoolBooks) {
	put(&p.Cache, b.Cache)
	put(&p.ActiveBytes, b.ActiveBytes)
	put(&p.CachedBytes, b.CachedBytes)
	put(&p.UnusableBytes, b.UnusableBytes)
	put(&p.LiveBlocks, b.LiveBlocks)
	put(&p.LargestFreeBytes, b.LargestFreeBytes)
	put(&p.LeasedBytes, b.LeasedBytes)
	put(&p.ReturnedBytes, b.ReturnedBytes)
}

// DeviceBooks is what a device shows beside its pools.
type DeviceBooks struct {
	Handle                     uint64
	TotalBytes, AvailableBytes uint64
	TakenAt                    uint64
	Bandwidth                  uint64
	Pools                      uint64
	Partial                    bool
}

// Write fills in what a device shows. Its lock is held, and it is hidden.
func (d *Device) Write(b *DeviceBooks) {
	put(&d.Handle, b.Handle)
	put(&d.TotalBytes, b.TotalBytes)
	put(&d.AvailableBytes, b.AvailableBytes)
	put(&d.TakenAt, b.TakenAt)
	put(&d.Bandwidth, b.Bandwidth)
	put(&d.Pools, b.Pools)
	partial := uint64(0)
	if b.Partial {
		partial = 1
	}
	put(&d.Partial, partial)
}

// put stores a number that has changed: to store costs many times what to look does.
func put(to *atomic.Uint64, value uint64) {
	if to.Load() != value {
		to.Store(value)
	}
}
