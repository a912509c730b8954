package pool

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/memcheck"
	"ferrum_mem/core/rangealloc"
)

const (
	// MaxAlignmentBytes is the largest alignment that a request can have.
	MaxAlignmentBytes = 1 << 30
	// MaxNameBytes is the longest name of a pool or a tag, in bytes.
	MaxNameBytes = 63
	// ThreadCacheAuto lets the export layer choose the size of the thread caches.
	ThreadCacheAuto = math.MaxUint64
	// InitialSizeAuto, as Config.InitialSizeBytes, means 1 GiB, or MaxSizeBytes where that is
	// less.
	InitialSizeAuto = math.MaxUint64
	// NeverRelease, as Config.ReleaseThresholdBytes, keeps empty segments in the pool.
	NeverRelease = math.MaxUint64

	defaultAlignmentBytes   = 256
	defaultInitialSizeBytes = 1 << 30
)

// Paging states whether a pool maps its memory page by page.
type Paging int32

const (
	// PagingAuto uses pages if the device supports them and the pool may hold at least
	// autoPages. In a smaller pool, rounding to whole pages would waste a large share.
	PagingAuto Paging = iota
	// PagingOff allocates whole segments from the device.
	PagingOff
	// PagingOn uses pages. New returns CodeUnsupported if the device cannot map pages.
	PagingOn
)

const (
	// autoPages is the number of pages that a pool must be able to hold for PagingAuto.
	autoPages = 32
	// defaultReadyPages is the number of idle pages that stay mapped when
	// Config.ReadyPages is 0. They are at most 1/readyShare of the pages in use.
	defaultReadyPages = 8
	readyShare        = 64
	// KeepAllPages, as Config.ReadyPages, keeps every idle page mapped until the memory
	// is reclaimed.
	KeepAllPages = math.MaxInt32
)

// DebugFlags select the checks of a pool's debug mode.
type DebugFlags = memcheck.Flags

// The checks of the debug mode; package memcheck describes them.
const (
	DebugRedZones   = memcheck.RedZones
	DebugPoison     = memcheck.Poison
	DebugQuarantine = memcheck.Quarantine
	DebugCallSites  = memcheck.CallSites
	DebugAll        = memcheck.All
)

// Config has the settings of a pool.
type Config struct {
	// Name is the pool's name in reports. It is also the tag of blocks that have no tag.
	Name string
	// Strategy is the name of the placement strategy; "" means rangealloc.Default.
	Strategy string
	// InitialSizeBytes is the size of the first segment, which the first allocation
	// reserves: InitialSizeAuto, 0 (GrowthIncrementBytes, or MaxSizeBytes where that is less),
	// or bytes. The segment is smaller if the device has less free memory. In a paged pool it is only the bound of a pool that does not
	// grow, and the size that PreAlloc maps.
	InitialSizeBytes uint64
	// MaxSizeBytes is the largest size that the pool may hold; 0 means no bound.
	MaxSizeBytes uint64
	// GrowthIncrementBytes is the size of each further segment. It is larger if a request
	// needs more, and smaller if the device has less. A paged pool grows by the pages
	// that it lacks.
	GrowthIncrementBytes uint64
	// AlignmentBytes is a power of two; every address and size of the pool is a multiple
	// of it. 0 means 256.
	AlignmentBytes uint64
	// AutoExpansion lets the pool grow beyond its initial size.
	AutoExpansion bool
	// PreAlloc makes New allocate MaxSizeBytes, or InitialSizeBytes if there is no
	// maximum. New fails if the device cannot provide all of it.
	PreAlloc bool
	// Stats enables peaks and operation counts; without it they are 0.
	Stats bool
	// Tracking records the time of every allocation.
	Tracking bool
	// ThreadCacheBytes is the most that each thread's cache in front of the pool may
	// hold; 0 means no caches. The pool only stores the value, for the export layer.
	ThreadCacheBytes uint64
	// MinHeldBytes is the size that the pool keeps: neither Trim, nor a request of
	// another pool, nor the release threshold reduces the pool below it.
	MinHeldBytes uint64
	// ReleaseThresholdBytes: while the pool holds more than this, it releases a segment
	// as soon as a free leaves it empty.
	ReleaseThresholdBytes uint64
	// FixedBlockBytes is the block size of the strategy "fixed"; 0 for all others.
	FixedBlockBytes uint64
	// PageBytes is the page size of the strategy "fixed", a power of two. 0 means the
	// physical page, or the strategy's default in a pool without pages.
	PageBytes uint64
	// Paging states whether the pool maps its memory page by page and releases pages that
	// contain no part of a block; see paging.go.
	Paging Paging
	// PhysicalPageBytes is the page size, a power of two; 0 means the size that the
	// device recommends. A pool without pages ignores it.
	PhysicalPageBytes uint64
	// StreamOrdered allocates the segments from the memory pool of the vendor driver,
	// which is set to keep no freed memory. Releasing such a segment does not wait for
	// queued work of other streams. New returns CodeUnsupported on a device without such
	// a pool, and CodeInvalidConfig together with PagingOn.
	StreamOrdered bool
	// ReadyPages is the number of idle pages that stay mapped for the next allocations. A
	// background worker releases the pages above it. 0 means 8, but at most one for every
	// 64 pages in use; a negative number means none; KeepAllPages means all.
	ReadyPages int
	// Clock is the monotonic time that measures how long pages are idle; nil means
	// track.Now. It is called with the pool locked.
	Clock func() time.Duration `json:"-"`
	// Debug selects checks of this pool, in addition to those of its engine.
	Debug DebugFlags
	// unchecked disables all checks, including those of the engine.
	unchecked bool
}

// DefaultConfig returns the default settings of the C ABI.
func DefaultConfig() Config {
	return Config{
		InitialSizeBytes: InitialSizeAuto, GrowthIncrementBytes: 1 << 29,
		AlignmentBytes: defaultAlignmentBytes, AutoExpansion: true, Stats: true,
		ThreadCacheBytes: ThreadCacheAuto, ReleaseThresholdBytes: NeverRelease,
	}
}

// withDefaults replaces each 0, and InitialSizeAuto, by the default that it stands for. A caller
// who states only an upper bound gets a first segment within it.
func (c Config) withDefaults() Config {
	if c.Strategy == "" {
		c.Strategy = rangealloc.Default
	}
	if c.AlignmentBytes == 0 {
		c.AlignmentBytes = defaultAlignmentBytes
	}
	switch c.InitialSizeBytes {
	case InitialSizeAuto:
		c.InitialSizeBytes = defaultInitialSizeBytes
	case 0:
		c.InitialSizeBytes = c.GrowthIncrementBytes
	default:
		return c
	}
	if c.MaxSizeBytes != 0 {
		c.InitialSizeBytes = min(c.InitialSizeBytes, c.MaxSizeBytes)
	}
	return c
}

// check returns an error for invalid settings. Defaults are already filled in.
func (c Config) check(e *engine.Engine) error {
	const op = "pool.new"
	if !isAlignment(c.AlignmentBytes) {
		return device.Errorf(device.CodeInvalidAlignment, op,
			"alignment_bytes %d is not a power of two from 1 to %d", c.AlignmentBytes,
			MaxAlignmentBytes).On(e.ID())
	}
	if !slices.Contains(rangealloc.Names(), c.Strategy) {
		return device.Errorf(device.CodeNotFound, op, "strategy %q is not known; the strategies are %s",
			c.Strategy, strings.Join(rangealloc.Names(), ", ")).On(e.ID())
	}
	if unknown := c.Debug &^ DebugAll; unknown != 0 {
		return device.Errorf(device.CodeInvalidArgument, op, "debug is %#x: %#x is not known",
			uint32(c.Debug), uint32(unknown)).On(e.ID())
	}
	if c.Paging < PagingAuto || c.Paging > PagingOn {
		return device.Errorf(device.CodeInvalidConfig, op, "paging is %d: want %d (auto), %d (off) or %d (on)",
			c.Paging, PagingAuto, PagingOff, PagingOn).On(e.ID())
	}
	wrong := ""
	switch granularity := e.Info().GranularityBytes; {
	case len(c.Name) > MaxNameBytes:
		return device.Errorf(device.CodeInvalidConfig, op, "name %q has %v, at most %d are allowed",
			c.Name, device.Size(len(c.Name)), MaxNameBytes).On(e.ID())
	case c.AutoExpansion && c.GrowthIncrementBytes == 0:
		wrong = "auto expansion needs a growth_increment_bytes above 0"
	case c.InitialSizeBytes == 0:
		wrong = "initial_size_bytes and growth_increment_bytes are both 0, the pool could hold nothing"
	case c.MaxSizeBytes != 0 && c.InitialSizeBytes > c.MaxSizeBytes:
		wrong = "initial_size_bytes is above max_size_bytes"
	case c.MaxSizeBytes != 0 && c.MaxSizeBytes < granularity:
		wrong = "max_size_bytes is less than the smallest segment of the device"
	case c.MaxSizeBytes != 0 && c.MinHeldBytes > c.MaxSizeBytes:
		wrong = "min_held_bytes is above max_size_bytes"
	}
	if err := c.checkFixed(); err != nil {
		return device.Errorf(device.CodeInvalidConfig, op, "%w", err).On(e.ID())
	}
	if wrong != "" {
		return device.Errorf(device.CodeInvalidConfig, op,
			"%s (initial_size_bytes %v, max_size_bytes %v, growth_increment_bytes %v, min_held_bytes %v, segments of the device are multiples of %v)",
			wrong, device.Size(c.InitialSizeBytes), device.Size(c.MaxSizeBytes), device.Size(c.GrowthIncrementBytes),
			device.Size(c.MinHeldBytes), device.Size(e.Info().GranularityBytes)).On(e.ID())
	}
	return nil
}

// oneSize reports whether all blocks of the strategy have one size. Only such a strategy
// uses FixedBlockBytes and PageBytes.
func (c Config) oneSize() bool { return rangealloc.TraitsOf(c.Strategy).OneSize }

// checkFixed checks the settings of strategies with one block size. The strategy itself
// would check them only when the first segment is created.
func (c Config) checkFixed() error {
	switch {
	case !c.oneSize():
		if c.FixedBlockBytes != 0 || c.PageBytes != 0 {
			return fmt.Errorf("fixed_block_bytes %v and page_bytes %v are for strategies with blocks of one size, and strategy %q is not one: want 0",
				device.Size(c.FixedBlockBytes), device.Size(c.PageBytes), c.Strategy)
		}
	case c.FixedBlockBytes == 0 || c.FixedBlockBytes&(c.AlignmentBytes-1) != 0:
		return fmt.Errorf("fixed_block_bytes %v is not a positive multiple of alignment_bytes %v",
			device.Size(c.FixedBlockBytes), device.Size(c.AlignmentBytes))
	case c.PageBytes != 0 && (c.PageBytes&(c.PageBytes-1) != 0 || c.PageBytes < c.AlignmentBytes):
		return fmt.Errorf("page_bytes %v is not a power of two of at least alignment_bytes %v",
			device.Size(c.PageBytes), device.Size(c.AlignmentBytes))
	}
	return nil
}

func isAlignment(n uint64) bool {
	return n != 0 && n&(n-1) == 0 && n <= MaxAlignmentBytes
}
