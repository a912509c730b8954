package mirror

import "sync/atomic"

// PoolCount is the number of pools of a device that can be published.
const PoolCount = 32

// Device is the published state of a device. The zero value publishes nothing.
type Device struct {
	// Version is odd while Counters is the present state.
	Version  atomic.Uint64
	Counters DeviceCounters
	_        [5]uint64
	Pool     [PoolCount]Pool
}

// DeviceCounters has the published counters of a device, without those of its pools. The
// holder of its Lock writes them while they are invalid. These stores need not be atomic:
// readers discard values that they have read while the version changed.
type DeviceCounters struct {
	// Handle is the device's handle. 0 means that nothing was published yet.
	Handle uint64
	// TotalBytes and AvailableBytes are the last reading of the device, minus what was
	// allocated since, and limited to what the device limit allows.
	TotalBytes, AvailableBytes uint64
	// LimitBytes is the device limit. DeviceTotalBytes and DeviceFreeBytes are the
	// reading without the limit.
	LimitBytes, DeviceTotalBytes, DeviceFreeBytes uint64
	// TakenAt is the time of the reading, in nanoseconds on the clock of track.Now.
	TakenAt uint64
	// Bandwidth is BandwidthKnown plus, in the low half, the bits of a float32.
	Bandwidth uint64
	// Pools has a bit for each Pool that belongs to the device.
	Pools uint64
	// Partial is 1 if not all counters of the device can be published, or the device was
	// never queried. A reader then has to call the core.
	Partial uint64
}

// BandwidthKnown is set in DeviceCounters.Bandwidth after the bandwidth was measured.
const BandwidthKnown uint64 = 1 << 32

// Pool is the published state of one pool.
type Pool struct {
	// Version is odd while Counters is the present state.
	Version  atomic.Uint64
	Counters PoolCounters
	_        [7]uint64
}

// PoolCounters is a pool's own part of the counters, without what the thread caches hold. It
// is written as DeviceCounters is.
type PoolCounters struct {
	// Cache is the handle of the thread caches in front of the pool; 0 means none.
	Cache uint64
	// The pool's own parts of the gauges. A part may be negative (and wrap) while the
	// caches' part that the pool knows is more than the whole.
	ActiveBytes, CachedBytes, UnusableBytes, LiveBlocks uint64
	// LargestFreeBytes is the longest free run of any segment.
	LargestFreeBytes uint64
	// LeasedBytes is the total that was leased to the caches, and ReturnedBytes the total
	// that came back.
	LeasedBytes, ReturnedBytes uint64
}
