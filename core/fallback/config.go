package fallback

import (
	"math"
	"math/bits"
	"slices"

	"ferrum_mem/core/device"
)

// The bounds of MemoryConfig.GPUMemoryFraction.
const (
	MinGPUMemoryFraction = 0.1
	MaxGPUMemoryFraction = 1.0
)

const mib = 1 << 20

// MemoryConfig has the settings of a pool and of a manager. All bounds apply together.
type MemoryConfig struct {
	// GPUMemoryFraction is the share of the device's capacity that the pool may hold,
	// from 0.1 to 1, in millionths. There is no bound if the capacity is unknown.
	GPUMemoryFraction float64
	// CPUFallback makes a manager allocate a buffer on the host if the device has no
	// memory for it.
	CPUFallback bool
	// MinFreeBytes of the device stay free: the pool does not grow if less would
	// remain.
	MinFreeBytes uint64
	// TrackAllocations records every buffer in use.
	TrackAllocations bool
	// MaxPooledPerBucket bounds the free buffers that a bucket keeps; 0: it keeps none.
	MaxPooledPerBucket uint64
	// MaxPooledBytes bounds the free bytes over all buckets; 0: no bound.
	MaxPooledBytes uint64
	// PreAllocate creates the pool with a free buffer of each of PreAllocSizes; if one
	// cannot be allocated, the creation fails.
	PreAllocate   bool
	PreAllocSizes []uint64
}

// DefaultMemoryConfig returns the default settings. They do not depend on the build of
// the library: tracking is off.
func DefaultMemoryConfig() MemoryConfig {
	return MemoryConfig{
		GPUMemoryFraction: 0.9, CPUFallback: true, MinFreeBytes: 512 * mib, MaxPooledPerBucket: 8, MaxPooledBytes: 1024 * mib,
	}
}

// ForInference uses the most memory.
func ForInference() MemoryConfig {
	return MemoryConfig{
		GPUMemoryFraction: 0.95, CPUFallback: true, MinFreeBytes: 256 * mib, MaxPooledPerBucket: 4, MaxPooledBytes: 512 * mib,
	}
}

// ForTraining leaves more memory free, and fails instead of falling back. Add
// WithTracking to find leaks.
func ForTraining() MemoryConfig {
	return MemoryConfig{GPUMemoryFraction: 0.8, MinFreeBytes: 1024 * mib, MaxPooledPerBucket: 16, MaxPooledBytes: 4096 * mib}
}

// ForConstrained is for devices with little memory.
func ForConstrained() MemoryConfig {
	return MemoryConfig{
		GPUMemoryFraction: 0.7, CPUFallback: true, MinFreeBytes: 128 * mib, MaxPooledPerBucket: 2, MaxPooledBytes: 64 * mib,
	}
}

// Preset names ready-made settings.
type Preset int32

// The presets of the C ABI.
const (
	PresetDefault     Preset = 0
	PresetInference   Preset = 1
	PresetTraining    Preset = 2
	PresetConstrained Preset = 3
)

// Config returns the settings; CodeInvalidArgument for an unknown preset.
func (p Preset) Config() (MemoryConfig, error) {
	switch p {
	case PresetDefault:
		return DefaultMemoryConfig(), nil
	case PresetInference:
		return ForInference(), nil
	case PresetTraining:
		return ForTraining(), nil
	case PresetConstrained:
		return ForConstrained(), nil
	}
	return MemoryConfig{}, device.Errorf(device.CodeInvalidArgument, "fallback.preset", "preset %d is not from 0 to 3", int32(p))
}

// WithGPUMemoryFraction sets the share of the device, limited to the range 0.1 to 1.
// NaN stays, and is rejected where the settings are used.
func (c MemoryConfig) WithGPUMemoryFraction(fraction float64) MemoryConfig {
	c.GPUMemoryFraction = min(max(fraction, MinGPUMemoryFraction), MaxGPUMemoryFraction)
	return c
}

// WithCPUFallback allows or forbids the fallback.
func (c MemoryConfig) WithCPUFallback(enabled bool) MemoryConfig {
	c.CPUFallback = enabled
	return c
}

// WithMinFreeBytes sets the bytes that stay free.
func (c MemoryConfig) WithMinFreeBytes(bytes uint64) MemoryConfig {
	c.MinFreeBytes = bytes
	return c
}

// WithTracking turns the records of buffers on or off.
func (c MemoryConfig) WithTracking(enabled bool) MemoryConfig {
	c.TrackAllocations = enabled
	return c
}

// WithMaxPooled sets the maximum number of free buffers in a bucket.
func (c MemoryConfig) WithMaxPooled(perBucket uint64) MemoryConfig {
	c.MaxPooledPerBucket = perBucket
	return c
}

// WithMaxPooledBytes bounds the free buffers of all buckets together.
func (c MemoryConfig) WithMaxPooledBytes(bytes uint64) MemoryConfig {
	c.MaxPooledBytes = bytes
	return c
}

// WithPreAllocation sets the sizes to preallocate, and enables it.
func (c MemoryConfig) WithPreAllocation(sizes []uint64) MemoryConfig {
	c.PreAllocate, c.PreAllocSizes = true, slices.Clone(sizes)
	return c
}

// Check returns an error for invalid settings.
func (c MemoryConfig) Check() error {
	const op = "fallback.config"
	f := c.GPUMemoryFraction
	if math.IsNaN(f) || f < MinGPUMemoryFraction || f > MaxGPUMemoryFraction {
		return device.Errorf(device.CodeInvalidConfig, op, "gpu_memory_fraction %v is not from %v to %v",
			f, MinGPUMemoryFraction, MaxGPUMemoryFraction)
	}
	if c.MaxPooledPerBucket > math.MaxInt32 {
		return device.Errorf(device.CodeInvalidConfig, op, "max_pooled_per_bucket %d is more than %d", c.MaxPooledPerBucket, math.MaxInt32)
	}
	if !c.PreAllocate {
		return nil
	}
	if len(c.PreAllocSizes) == 0 {
		return device.Errorf(device.CodeInvalidConfig, op, "pre_allocate is set and pre_allocate_sizes is empty")
	}
	perBucket, bytes := map[uint64]uint64{}, uint64(0)
	for i, size := range c.PreAllocSizes {
		if size == 0 {
			return device.Errorf(device.CodeInvalidConfig, op, "pre_allocate_sizes[%d] is 0", i)
		}
		class, err := SizeClass(size)
		if err != nil {
			return device.Errorf(device.CodeInvalidConfig, op, "pre_allocate_sizes[%d]: %w", i, err)
		}
		if perBucket[class]++; perBucket[class] > c.MaxPooledPerBucket {
			return device.Errorf(device.CodeInvalidConfig, op,
				"pre_allocate_sizes[%d] is %d: its bucket of up to %v keeps %d free buffers (max_pooled_per_bucket)",
				i, size, device.Size(class), c.MaxPooledPerBucket)
		}
		if bytes = capped(bytes, size); c.MaxPooledBytes != 0 && bytes > c.MaxPooledBytes {
			return device.Errorf(device.CodeInvalidConfig, op,
				"pre_allocate_sizes up to [%d] are %v: max_pooled_bytes is %d", i, device.Size(bytes), c.MaxPooledBytes)
		}
	}
	return nil
}

// millionths is the unit of the share of a device. A floating-point number cannot
// represent 0.7 exactly; in millionths it means 70 %.
const millionths = 1_000_000

// bound returns how much of a device the pool may hold; there is no bound for a
// capacity of 0, which means unknown.
func (c MemoryConfig) bound(totalBytes uint64) uint64 {
	if totalBytes == 0 {
		return math.MaxUint64
	}
	hi, lo := bits.Mul64(totalBytes, uint64(math.Round(c.GPUMemoryFraction*millionths)))
	quotient, _ := bits.Div64(hi, lo, millionths)
	return quotient
}
