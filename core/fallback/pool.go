package fallback

import (
	"ferrum_mem/core/pressure"
)

// GpuMemoryPool is what the pools of all backends have in common. All methods are
// safe for concurrent use; none needs the pool for itself alone.
type GpuMemoryPool interface {
	// BackendName is the backend of the device, such as "cpu" or "cuda".
	BackendName() string
	Stats() MemoryStats
	// TotalMemory is the capacity of the device, or its limit where that is less; 0 means
	// unknown.
	TotalMemory() uint64
	// FreeMemory is what can still be had from the device, now.
	FreeMemory() (uint64, error)
	// Pressure is the level of the device by the profile pressure.Early, without
	// hysteresis; Low when the capacity is unknown.
	Pressure() (pressure.Level, error)
	// ClearPool empties the buckets. The memory is ready for buffers of any size,
	// and may still be held from the device.
	ClearPool() error
	// Shrink empties the buckets and gives what holds no buffer back to the device.
	// The result is what the device has taken back.
	Shrink() (releasedBytes uint64, err error)
}
