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
	// MaxAlignmentBytes is the largest alignment that can be asked for.
	MaxAlignmentBytes = 1 << 30
	// MaxNameBytes bounds the name of a pool and a tag.
	MaxNameBytes = 63
	// ThreadCacheAuto leaves the size of thread caches to the export layer.
	ThreadCacheAuto = math.MaxUint64
	// NeverRelease as a release threshold leaves empty segments in the pool.
	NeverRelease = math.MaxUint64

	defaultAlignmentBytes = 256
)

// Paging says whether a pool gives its memory back page by page.
type Paging int32

const (
	// PagingAuto is paging where the device can do it and the pool may hold
	// autoPages at least: the loss by rounding would show in less.
	PagingAuto Paging = iota
	// PagingOff takes segments whole from the device.
	PagingOff
	// PagingOn is CodeUnsupported where the device cannot do it.
	PagingOn
)

const (
	// autoPages is how many pages a pool must be able to hold for PagingAuto.
	autoPages = 32
	// defaultReadyPages is how many idle pages stay when Config.ReadyPages is 0, and
	// readyShare the part of the pages in use that they are at most.
	defaultReadyPages = 8
	readyShare        = 64
	// KeepAllPages as ReadyPages leaves all idle pages mapped until they are asked
	// back.
	KeepAllPages = math.MaxInt32
)

// DebugFlags say what a pool checks.
type DebugFlags = memcheck.Flags

// The checks; see package memcheck.
const (
	DebugRedZones   = memcheck.RedZones
	DebugPoison     = memcheck.Poison
	DebugQuarantine = memcheck.Quarantine
	DebugCallSites  = memcheck.CallSites
	DebugAll        = memcheck.All
)

// Config are the settings of a pool.
type Config struct {
	// Name is the pool's name in reports and the tag of blocks that have none.
	Name string
	// Strategy is the placement; "": rangealloc.Default.
	Strategy string
	// InitialSizeBytes is the size of the first segment, taken at the first
	// allocation; 0: GrowthIncrementBytes. Where the device has less, smaller. Over
	// pages it is only the bound of a pool that does not grow, and what PreAlloc
	// takes.
	InitialSizeBytes uint64
	// MaxSizeBytes bounds what the pool holds; 0: no bound.
	MaxSizeBytes uint64
	// GrowthIncrementBytes is the size of each further segment, or more if a
	// request needs it; where the device has less, smaller. A pool over pages grows
	// by the pages that it lacks.
	GrowthIncrementBytes uint64
	// AlignmentBytes is a power of two, of which every address and size is a
	// multiple; 0: 256.
	AlignmentBytes uint64
	// AutoExpansion lets the pool grow beyond the initial size.
	AutoExpansion bool
	// PreAlloc takes MaxSizeBytes, or InitialSizeBytes where that is
	// unlimited, in New: all of it or nothing.
	PreAlloc bool
	// Stats keeps peaks and counts; without it they are 0.
	Stats bool
	// Tracking keeps the time of every allocation.
	Tracking bool
	// ThreadCacheBytes is what each thread's cache in front of the pool may hold;
	// 0: there are none. The pool only keeps it, for the export layer.
	ThreadCacheBytes uint64
	// MinHeldBytes is what neither Trim nor another pool's want nor a threshold
	// makes the pool give back.
	MinHeldBytes uint64
	// ReleaseThresholdBytes: while more is held, a segment that a free leaves
	// empty is given back at once.
	ReleaseThresholdBytes uint64
	// FixedBlockBytes is the block size of the strategy "fixed"; 0 for any other.
	FixedBlockBytes uint64
	// PageBytes is the page of the strategy "fixed", a power of two; 0: the
	// physical page, and without paging the strategy's default.
	PageBytes uint64
	// Paging says whether the pool maps its memory page by page, and gives back
	// pages that no block touches; see paging.go.
	Paging Paging
	// PhysicalPageBytes is the size of those pages, a power of two; 0: what the
	// device recommends. Not heeded without paging.
	PhysicalPageBytes uint64
	// StreamOrdered takes the segments from the pool of the device's runtime, of which
	// nothing is kept there: to give one back does not wait for work of others. A
	// device without is CodeUnsupported; PagingOn is CodeInvalidConfig.
	StreamOrdered bool
	// ReadyPages is how many pages that no block touches are left mapped for the
	// next allocations; more are given back in the background. 0: 8, and at most
	// one for 64 pages in use; less: none; KeepAllPages: all.
	ReadyPages int
	// Clock is the monotonic time by which idle pages are kept; nil: track.Now. It is
	// called with the pool locked.
	Clock func() time.Duration `json:"-"`
	// Debug is what the pool checks, besides what its engine asks for.
	Debug DebugFlags
	// unchecked is a pool that checks nothing, whatever its engine asks for.
	unchecked bool
}

// DefaultConfig is the settings of the C ABI's defaults.
func DefaultConfig() Config {
	return Config{
		InitialSizeBytes: 1 << 30, GrowthIncrementBytes: 1 << 29,
		AlignmentBytes: defaultAlignmentBytes, AutoExpansion: true, Stats: true,
		ThreadCacheBytes: ThreadCacheAuto, ReleaseThresholdBytes: NeverRelease,
	}
}

// withDefaults fills in what 0 stands for.
func (c Config) withDefaults() Config {
	if c.Strategy == "" {
		c.Strategy = rangealloc.Default
	}
	if c.AlignmentBytes == 0 {
		c.AlignmentBytes = defaultAlignmentBytes
	}
	if c.InitialSizeBytes == 0 {
		c.InitialSizeBytes = c.GrowthIncrementBytes
	}
	return c
}

// check says what makes no sense in settings that have their defaults.
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
		return device.Errorf(device.CodeInvalidConfig, op, "name %q has %d bytes, at most %d are allowed",
			c.Name, len(c.Name), MaxNameBytes).On(e.ID())
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
			"%s (initial_size_bytes %d, max_size_bytes %d, growth_increment_bytes %d, min_held_bytes %d, segments of the device are multiples of %d)",
			wrong, c.InitialSizeBytes, c.MaxSizeBytes, c.GrowthIncrementBytes, c.MinHeldBytes,
			e.Info().GranularityBytes).On(e.ID())
	}
	return nil
}

// oneSize says whether the strategy has blocks of one size, with settings for that.
func (c Config) oneSize() bool { return rangealloc.TraitsOf(c.Strategy).OneSize }

// checkFixed looks at the settings of a strategy with blocks of one size, which it
// would see only with the first segment.
func (c Config) checkFixed() error {
	switch {
	case !c.oneSize():
		if c.FixedBlockBytes != 0 || c.PageBytes != 0 {
			return fmt.Errorf("fixed_block_bytes %d and page_bytes %d are of strategies with blocks of one size, and %q is none: want 0",
				c.FixedBlockBytes, c.PageBytes, c.Strategy)
		}
	case c.FixedBlockBytes == 0 || c.FixedBlockBytes&(c.AlignmentBytes-1) != 0:
		return fmt.Errorf("fixed_block_bytes %d is not a positive multiple of alignment_bytes %d",
			c.FixedBlockBytes, c.AlignmentBytes)
	case c.PageBytes != 0 && (c.PageBytes&(c.PageBytes-1) != 0 || c.PageBytes < c.AlignmentBytes):
		return fmt.Errorf("page_bytes %d is not a power of two of at least alignment_bytes %d",
			c.PageBytes, c.AlignmentBytes)
	}
	return nil
}

func isAlignment(n uint64) bool {
	return n != 0 && n&(n-1) == 0 && n <= MaxAlignmentBytes
}
