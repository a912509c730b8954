package fallback

import (
	"ferrum_mem/core/pressure"
)

// GpuMemoryPool is the common interface of the pools of all backends. All methods are
// safe for concurrent use; none needs exclusive access.
type GpuMemoryPool interface {
	// BackendName returns the backend of the device, such as "cpu" or "cuda".
	BackendName() string
	Stats() MemoryStats
	// TotalMemory returns the capacity of the device, or its limit if that is less; 0
	// means unknown.
	TotalMemory() uint64
	// FreeMemory returns the bytes that can still be allocated from the device now.
	FreeMemory() (uint64, error)
	// Pressure returns the level of the device by the profile pressure.Early, without
	// hysteresis; Low if the capacity is unknown.
	Pressure() (pressure.Level, error)
	// ClearPool empties the buckets. Their memory can then serve buffers of any size;
	// the pool may still hold it from the device.
	ClearPool() error
	// Shrink empties the buckets and releases memory without a buffer to the device. It
	// returns the bytes that were released to the device.
	Shrink() (releasedBytes uint64, err error)
}
