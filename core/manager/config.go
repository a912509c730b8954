package manager

import (
	"errors"
	"maps"
	"math"
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pool"
)

// MaxConcurrentTransfersLimit is the largest Config.MaxConcurrentTransfers.
const MaxConcurrentTransfersLimit = 1024

// Config has the settings of a manager.
type Config struct {
	// PoolConfigs has the pool settings by memory type. A type without settings shares
	// the pool of General. General without settings has the defaults.
	PoolConfigs map[MemoryType]pool.Config `json:"pool_configs"`
	// EnableTracking records the age and the tag of each block, peaks and counts. The
	// present values of the counters are always kept.
	EnableTracking bool `json:"enable_tracking"`
	// EnableAutoGC releases cached segments after an allocation that brings the
	// device's use to GCThreshold.
	EnableAutoGC bool `json:"enable_auto_gc"`
	// GCThreshold is the used share of the device, above 0 and at most 1.
	GCThreshold float32 `json:"gc_threshold"`
	// EnableDebug fills new blocks with NewBlockPattern and freed blocks with
	// FreedBlockPattern. Allocations then wait for the fill.
	EnableDebug bool `json:"enable_debug"`
	// MaxConcurrentTransfers bounds the copies of CopyAsync in flight to the blocks of
	// the manager, 1 to MaxConcurrentTransfersLimit.
	MaxConcurrentTransfers int `json:"max_concurrent_transfers"`
}

// DefaultConfig returns the default settings.
func DefaultConfig() Config {
	return Config{
		PoolConfigs:            map[MemoryType]pool.Config{General: pool.DefaultConfig()},
		EnableTracking:         true,
		EnableAutoGC:           true,
		GCThreshold:            0.85,
		EnableDebug:            false,
		MaxConcurrentTransfers: 4,
	}
}

// complete checks the settings and returns a copy with General filled in.
func (c Config) complete(e *engine.Engine) (Config, error) {
	const op = "manager.create"
	id := e.ID()
	threshold := float64(c.GCThreshold)
	if math.IsNaN(threshold) || threshold <= 0 || threshold > 1 {
		return c, device.Errorf(device.CodeInvalidConfig, op,
			"gc_threshold %v is not above 0 and at most 1", c.GCThreshold).On(id)
	}
	if c.MaxConcurrentTransfers < 1 || c.MaxConcurrentTransfers > MaxConcurrentTransfersLimit {
		return c, device.Errorf(device.CodeInvalidConfig, op,
			"max_concurrent_transfers %d is not from 1 to %d",
			c.MaxConcurrentTransfers, MaxConcurrentTransfersLimit).On(id)
	}
	for kind := range c.PoolConfigs {
		if !kind.known() {
			return c, device.Errorf(device.CodeInvalidConfig, op,
				"pool_configs has settings for memory_type %d, which is not from 0 to %d",
				int32(kind), MemoryTypeCount-1).On(id)
		}
		if err := kind.check(op, e); err != nil {
			return c, err
		}
	}
	c.PoolConfigs = maps.Clone(c.PoolConfigs)
	if c.PoolConfigs == nil {
		c.PoolConfigs = map[MemoryType]pool.Config{}
	}
	if _, ok := c.PoolConfigs[General]; !ok {
		c.PoolConfigs[General] = pool.DefaultConfig()
	}
	return c, nil
}

// forPool returns the settings of the pool of a memory type. Without a name the pool
// gets the name of the type. It keeps history and times only if the manager does.
func (c Config) forPool(kind MemoryType, settings pool.Config) pool.Config {
	if settings.Name == "" {
		settings.Name = kind.String()
	}
	settings.Stats = settings.Stats && c.EnableTracking
	settings.Tracking = c.EnableTracking
	return settings
}

// gcShare is the unit of the threshold: millionths. A float32 cannot represent 0.85
// exactly; in millionths it means 85 %.
const gcShare = 1_000_000

// shareToCollect returns the used share of a device that starts a collection, in parts
// of gcShare; 0: no collection.
func (c Config) shareToCollect() uint64 {
	if !c.EnableAutoGC {
		return 0
	}
	return max(uint64(math.Round(float64(c.GCThreshold)*gcShare)), 1)
}

// gcBytes returns the smallest number of used bytes that reaches a share of a total.
// For an unknown total or a share of 0 it is math.MaxUint64.
func gcBytes(share, totalBytes uint64) uint64 {
	if share == 0 || totalBytes == 0 {
		return math.MaxUint64
	}
	hi, lo := bits.Mul64(totalBytes, share)
	quotient, rest := bits.Div64(hi, lo, gcShare)
	if rest != 0 {
		quotient++
	}
	return quotient
}

// forType adds the memory type to an error about its settings.
func forType(err error, kind MemoryType) error {
	var said *device.Error
	if !errors.As(err, &said) {
		return err
	}
	named := *said
	named.Message = "pool of memory type " + kind.String() + ": " + said.Message
	named.Err = err
	return &named
}
