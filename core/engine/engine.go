package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/roster"
	"ferrum_mem/core/memcheck"
	"ferrum_mem/core/mirror"
	"ferrum_mem/core/notify"
	"ferrum_mem/core/track"
)

// Level is the level of a log message.
type Level int32

// The levels of the C ABI.
const (
	Debug   Level = 0
	Info    Level = 1
	Warning Level = 2
	Error   Level = 3
)

// Options has the functions and settings that the library passes to an engine.
type Options struct {
	// MayNotWait reports whether the calling thread must wait neither for queued work
	// nor for reclaim callbacks, because it runs inside one; nil: never.
	MayNotWait func() bool
	// Log receives messages, on any thread, with no lock held; nil: none.
	Log func(level Level, message string)
	// Debug has the checks of every pool, in addition to those of its own settings.
	Debug memcheck.Flags
	// CallSites are the functions with which pools find call sites; the zero value:
	// none.
	CallSites memcheck.Hooks
}

// Engine is one open device. All methods are safe for concurrent use.
type Engine struct {
	dev     device.Device
	info    device.Info
	options Options
	totals  track.Totals
	asleep  asleep

	mu        mirror.Lock
	closed    bool
	published published
	pools     roster.List[Pool]
	// retired has the counts of closed pools.
	retired track.Statistics
	// held is the memory allocated from the device, including scratch segments.
	held uint64
	// addressBytes is the address space of ReserveAddresses.
	addressBytes atomic.Uint64
	discards     discards
	// limit bounds held; 0: no limit. It is written under mu.
	limit       atomic.Uint64
	subscribers subscribers

	refusals refusals
	// last is the last reading of the device; nil before the first.
	last  atomic.Pointer[pastReading]
	watch watch
	// watchers lets one thread at a time begin to watch the use.
	watchers   sync.Mutex
	dispatcher *notify.Dispatcher
	// calling counts the callbacks that run now.
	calling atomic.Int64
	// round is the token of a reclaim round: a thread that has sent into it may call
	// the callbacks.
	round chan struct{}

	bandwidth struct {
		sync.Mutex
		measured atomic.Pointer[float64]
	}
}

// pressureQueue bounds the level changes that wait for delivery.
const pressureQueue = 1024

// New creates the engine of a device and owns the device from then on.
func New(dev device.Device, o Options) *Engine {
	e := &Engine{dev: dev, info: dev.Info(), options: o, round: make(chan struct{}, 1)}
	e.dispatcher = notify.New("pressure "+e.info.ID.String(), pressureQueue)
	e.subscribers.mu = &e.mu
	e.watch.totals, e.watch.subscribers, e.watch.dispatcher = &e.totals, &e.subscribers, e.dispatcher
	e.watch.sleep()
	return e
}

// Info describes the device.
func (e *Engine) Info() device.Info { return e.info }

// Device returns the device, for streams and copies.
func (e *Engine) Device() device.Device { return e.dev }

// ID returns the device's id.
func (e *Engine) ID() device.ID { return e.info.ID }

// Debug returns the checks of every pool, and the functions that find call sites.
func (e *Engine) Debug() (memcheck.Flags, memcheck.Hooks) {
	return e.options.Debug, e.options.CallSites
}

// Totals returns the sum of the counters of all pools.
func (e *Engine) Totals() *track.Totals { return &e.totals }

// Synchronize waits until every stream of the device is drained.
func (e *Engine) Synchronize(timeout time.Duration) error {
	return e.dev.Synchronize(timeout)
}

func (e *Engine) closedError(op string) error {
	return device.Errorf(device.CodeInvalidState, op, "the device is closed").On(e.ID())
}

// Pools lists the pools of the device, except one.
func (e *Engine) Pools(but Pool) []Pool {
	e.mu.LockToRead()
	defer e.mu.Unlock()
	pools := make([]Pool, 0, e.pools.Len())
	for p := range e.pools.All() {
		if p != but {
			pools = append(pools, p)
		}
	}
	return pools
}

func (e *Engine) mayWait() bool {
	return e.options.MayNotWait == nil || !e.options.MayNotWait()
}

// Log passes a message about the device to the log. Callers hold no lock.
func (e *Engine) Log(level Level, message string) {
	if e.options.Log != nil {
		e.options.Log(level, e.ID().String()+": "+message)
	}
}

// NoteRefusal records an error with the number of a vendor's runtime or of the system,
// for the report of an allocation that finds no memory. It ignores other errors, and
// nil.
func (e *Engine) NoteRefusal(err error) { e.refusals.note(err) }
