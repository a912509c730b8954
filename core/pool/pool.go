package pool

import (
	"sync"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/track"
)

// Pool hands out blocks by address. All methods are safe for concurrent use.
// After Close every call that can fail fails with CodeInvalidState.
type Pool struct {
	engine        *engine.Engine
	config        Config
	defaultStream device.Stream

	layout sync.Mutex

	mu    sync.Mutex
	state state
	// maxSize is the live value of config.MaxSizeBytes.
	maxSize uint64
	// segments is sorted by address.
	segments []*segment
	// held is the sum of the segments; it changes under layout and mu. Segments
	// that are on their way to the device still count.
	held uint64
	// born counts the segments that the pool ever had.
	born uint64
	// relaid counts how often a segment came or went.
	relaid  uint64
	blocks  blockTable
	books   *track.Books
	tags    track.Tags
	flights flights
}

type state uint8

const (
	stateOpen state = iota
	stateClosing
	stateClosed
)

// Request is a block as asked for.
type Request struct {
	// SizeBytes is not 0; it is rounded up to the pool's alignment.
	SizeBytes uint64
	// AlignmentBytes is a power of two up to MaxAlignmentBytes; 0, and less than
	// the pool's, mean the pool's.
	AlignmentBytes uint64
	// Stream will use the block first; nil: the default one. A block is handed
	// out only once all work of its former life has passed, so that any stream
	// may use it; the stream bears on nothing else here.
	Stream device.Stream
	// Tag names the holder in the books; "": the pool's name.
	Tag string
}

// Block is a live block.
type Block struct {
	Addr device.Addr
	// SizeBytes is the size after rounding.
	SizeBytes      uint64
	RequestedBytes uint64
	Tag            string
	// AllocatedAt is on the clock of track.Now.
	AllocatedAt time.Duration
}

// New makes a pool on an engine. Errors: CodeInvalidConfig,
// CodeInvalidAlignment, CodeNotFound for an unknown strategy; with PreAllocate
// also those of an allocation.
func New(e *engine.Engine, c Config) (*Pool, error) {
	return NewInGroup(e, c, nil)
}

// NewInGroup is New for a pool whose books are added up in group as well; nil:
// no group. The group then knows the peaks of its pools together.
func NewInGroup(e *engine.Engine, c Config, group *track.Totals) (*Pool, error) {
	c = c.withDefaults()
	if err := c.check(e); err != nil {
		return nil, err
	}
	totals := []*track.Totals{e.Totals()}
	if group != nil {
		totals = append(totals, group)
	}
	p := &Pool{
		engine: e, config: c, maxSize: c.MaxSizeBytes,
		defaultStream: e.Device().DefaultStream(),
		books:         track.NewBooks(c.Stats, totals...),
	}
	if err := e.Register(p); err != nil {
		return nil, err
	}
	if c.PreAllocate {
		if err := p.preAllocate(); err != nil {
			p.mu.Lock()
			p.state = stateClosed
			p.mu.Unlock()
			e.Unregister(p)
			return nil, err
		}
	}
	return p, nil
}

// Name is the pool's name.
func (p *Pool) Name() string { return p.config.Name }

// Engine is the engine that the pool draws on.
func (p *Pool) Engine() *engine.Engine { return p.engine }

// Config is the settings, with their defaults filled in and the present
// maximum.
func (p *Pool) Config() Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.config
	c.MaxSizeBytes = p.maxSize
	return c
}

// Statistics is the books of the pool.
func (p *Pool) Statistics() track.Statistics {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.statisticsLocked()
}

func (p *Pool) statisticsLocked() track.Statistics {
	stats := p.books.Statistics()
	for _, s := range p.segments {
		stats.LargestFreeBytes = max(stats.LargestFreeBytes, s.strategy.Stats().LargestFreeBytes)
	}
	return stats
}

// Tags is the use by tag of the live blocks.
func (p *Pool) Tags() []track.TagUse {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tags.Uses(nil)
}

func (p *Pool) closedError(op string) error {
	return device.Errorf(device.CodeInvalidState, op, "pool %q is closed", p.config.Name).On(p.engine.ID())
}

// broken reports a state that the pool's own rules exclude. It panics: the
// export layer stops the library then, rather than hand out memory twice.
func (p *Pool) broken(op string, err error) {
	panic(device.Errorf(device.CodeInternal, op, "pool %q: %w", p.config.Name, err).On(p.engine.ID()))
}
