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

// Level is the weight of a log message.
type Level int32

// The weights of the C ABI.
const (
	Debug   Level = 0
	Info    Level = 1
	Warning Level = 2
	Error   Level = 3
)

// Options are the hooks of the library around an engine.
type Options struct {
	// MayNotWait says whether the calling thread may wait neither for queued work
	// nor for reclaim callbacks, because it runs inside of one; nil: never.
	MayNotWait func() bool
	// Log receives messages, on any thread, with no lock held; nil: none.
	Log func(level Level, message string)
	// Debug is what every pool checks, besides what its own settings ask for.
	Debug memcheck.Flags
	// CallSites are how the pools find out who calls; the zero value: they do not.
	CallSites memcheck.Hooks
}

// Engine is one open device. All methods are safe for concurrent use.
type Engine struct {
	dev     device.Device
	info    device.Info
	options Options
	totals  track.Totals
	asleep  asleep

	mu     mirror.Lock
	closed bool
	shown  shown
	pools  roster.List[Pool]
	// retired is the counts of pools that are gone.
	retired track.Statistics
	// held is what was had from the device, scratch included.
	held uint64
	// addressBytes is the address space of ReserveAddresses.
	addressBytes atomic.Uint64
	discards     discards
	// limit bounds held; 0: none. It is written under mu.
	limit       atomic.Uint64
	subscribers subscribers

	refusals refusals
	// last is the last reading of the device; nil before the first.
	last  atomic.Pointer[pastReading]
	watch watch
	// watchers has those who begin to watch the use come one by one.
	watchers   sync.Mutex
	dispatcher *notify.Dispatcher
	// calling counts callbacks that run right now.
	calling atomic.Int64
	// round is the token of a reclaim round: whoever has sent into it asks.
	round chan struct{}

	bandwidth struct {
		sync.Mutex
		measured atomic.Pointer[float64]
	}
}

// pressureQueue bounds the level changes that wait for delivery.
const pressureQueue = 1024

// New makes the engine of a device and owns the device from then on.
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

// Device is the device itself, for streams and copies.
func (e *Engine) Device() device.Device { return e.dev }

// ID is the device's id.
func (e *Engine) ID() device.ID { return e.info.ID }

// Debug is what every pool checks, and how it finds out who calls.
func (e *Engine) Debug() (memcheck.Flags, memcheck.Hooks) {
	return e.options.Debug, e.options.CallSites
}

// Totals is where the pools add up.
func (e *Engine) Totals() *track.Totals { return &e.totals }

// Synchronize waits until every stream of the device has run dry.
func (e *Engine) Synchronize(timeout time.Duration) error {
	return e.dev.Synchronize(timeout)
}

func (e *Engine) closedError(op string) error {
	return device.Errorf(device.CodeInvalidState, op, "the device is closed").On(e.ID())
}

// Pools lists the pools of the device, one of them left out.
func (e *Engine) Pools(but Pool) []Pool {
	e.mu.Peek()
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

// Log hands a message about the device to the log. Callers hold no lock.
func (e *Engine) Log(level Level, message string) {
	if e.options.Log != nil {
		e.options.Log(level, e.ID().String()+": "+message)
	}
}

// NoteRefusal remembers an error with the number of a vendor's runtime or of the system,
// for the report of a search that finds no room; other errors, and nil, are no refusals.
func (e *Engine) NoteRefusal(err error) { e.refusals.note(err) }
