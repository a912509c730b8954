package mirror

import "sync/atomic"

// PoolCount is how many pools of a device can be shown.
const PoolCount = 32

// Device is what is shown of a device. The zero value shows nothing.
type Device struct {
	// Version is odd while Books is the present state.
	Version atomic.Uint64
	Books   DeviceBooks
	_       [5]uint64
	Pool    [PoolCount]Pool
}

// DeviceBooks is what a device shows beside its pools. The holder of the Lock that it
// is shown by writes it while it is hidden. Those stores need not be atomic: readers
// throw away what they have read while the version changed.
type DeviceBooks struct {
	// Handle is the device's. 0: nothing was shown yet.
	Handle uint64
	// TotalBytes and AvailableBytes are the last reading of the device, brought up to
	// date with what was taken since and cut at what the limit allows.
	TotalBytes, AvailableBytes uint64
	// LimitBytes is the limit, DeviceTotalBytes and DeviceFreeBytes that reading without
	// it.
	LimitBytes, DeviceTotalBytes, DeviceFreeBytes uint64
	// TakenAt is when the device was asked, in nanoseconds on the clock of track.Now.
	TakenAt uint64
	// Bandwidth is BandwidthKnown and, in the low half, the bits of a float32.
	Bandwidth uint64
	// Pools has a bit for each Pool that belongs to the device.
	Pools uint64
	// Partial is 1 when not all of the device's books can be shown, or the device was
	// never asked: a reader has to ask for them.
	Partial uint64
}

// BandwidthKnown is set in DeviceBooks.Bandwidth once it was measured.
const BandwidthKnown uint64 = 1 << 32

// Pool is what is shown of one pool.
type Pool struct {
	// Version is odd while Books is the present state.
	Version atomic.Uint64
	Books   PoolBooks
	_       [7]uint64
}

// PoolBooks is a pool's own part of the books, without what the thread caches in front
// of it hold. It is written as DeviceBooks is.
type PoolBooks struct {
	// Cache is the handle of the thread caches in front of the pool; 0: none.
	Cache uint64
	// The own parts of the gauges. One may wrap below 0 while the caches' part, which
	// the pool has last heard of, is more than the whole.
	ActiveBytes, CachedBytes, UnusableBytes, LiveBlocks uint64
	// LargestFreeBytes is the longest free run of any segment.
	LargestFreeBytes uint64
	// LeasedBytes went out to the caches and ReturnedBytes came back, since the
	// beginning.
	LeasedBytes, ReturnedBytes uint64
}
