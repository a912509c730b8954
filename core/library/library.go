package library

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/discover"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/memcheck"
)

// Settings are what the caller of Init may choose. The zero value is the
// default of each.
type Settings struct {
	// HostDevices is the number of host devices; 0 leaves it to the driver.
	HostDevices int
	// HostMemoryBytes is the capacity of all host devices together; 0 leaves it
	// to the driver.
	HostMemoryBytes uint64
	// HostMemoryForced accepts a capacity above the memory of the machine.
	HostMemoryForced bool
	// ProbeInProcess asks the libraries of vendors in this process, whatever the
	// environment says.
	ProbeInProcess bool
	// LeaveHandlers adds SA_ONSTACK to no handler of the program's, whatever the
	// environment says.
	LeaveHandlers bool
}

// String gives the settings by their names in the C ABI.
func (s Settings) String() string {
	probing := ""
	if s.ProbeInProcess {
		probing = ", probing in process"
	}
	if s.LeaveHandlers {
		probing += ", signal handlers left as they are"
	}
	return fmt.Sprintf("host_devices %d, host_memory_bytes %d, forced %t%s",
		s.HostDevices, s.HostMemoryBytes, s.HostMemoryForced, probing)
}

// Options are what a Library needs from the program that it is part of. Only
// Drivers is required.
type Options struct {
	// Drivers makes the drivers of this build at every start.
	Drivers func(Settings) ([]device.Driver, error)
	// Prepare gets what the runtime will need of the process, at every start, or says
	// what the process cannot give; nil: nothing is got ahead.
	Prepare func() error
	// WatchHandlers begins to look at the program's handlers of signals, which
	// ReportHandler is told of; with leave none is changed. nil: nobody looks.
	WatchHandlers func(leave bool)
	// InsideCallback says whether the calling thread runs the callback that was
	// registered with that token or, for 0, any callback of the library: a
	// registered one, the receiver of the log or a host function. nil: never.
	InsideCallback func(token uint64) bool
	// MayNotWait says whether the calling thread may not wait for memory, because
	// it runs a reclaim callback or a host function. nil: never.
	MayNotWait func() bool
	// ThreadCaches makes the thread caches in front of pools; nil: there are none.
	ThreadCaches ThreadCaches
	// Mirrors is where the books of devices can be read from outside of the library;
	// nil: nowhere.
	Mirrors Mirrors
	// Lending is where pools lend their tables, for large blocks to be placed outside of
	// Go; nil: nowhere.
	Lending Lending
	// Host describes the machine; nil: nothing is known of it.
	Host func() HostInfo
	// Surveyors look for the devices of vendors.
	Surveyors []device.Surveyor
	// ProbeHelpers are the places of the program in which surveyors run; the first
	// that is there is used.
	ProbeHelpers []string
	// Environ is the environment for that program; nil: os.Environ.
	Environ func() []string
	// Getenv reads the environment; nil: os.Getenv.
	Getenv func(name string) string
	// Stderr is where messages go when FERRUM_LOG or FERRUM_DEBUG asks for them
	// and nobody has set a receiver; nil: os.Stderr.
	Stderr io.Writer
	// CallSites are how debugging pools find out who calls; the zero value: they
	// do not.
	CallSites memcheck.Hooks
}

// run is one start of the library, until it stops.
type run struct {
	settings  Settings
	backends  *discover.Registry
	startedAt time.Time
	// startedClock is the same moment on the clock of track.Now.
	startedClock time.Duration
	// debug is what all pools check, as FERRUM_DEBUG asks.
	debug memcheck.Flags
}

// Library is the library. It is made by New.
type Library struct {
	options  Options
	log      *logger
	registry registry
	running  *running

	// current is nil while the library is stopped or stopping. It is written
	// with mu held.
	current atomic.Pointer[run]

	mu sync.Mutex
	// changed is signalled when a stop or the closing of a device has ended.
	changed *sync.Cond
	// users is the number of Inits that have not been undone.
	users int
	// stopping says that a forced stop is under way.
	stopping bool
	// opened finds the open devices by their identity.
	opened map[device.ID]*Device
	// lastLeaks is what was alive when the library stopped last.
	lastLeaks leakReport

	// handlersMu is for handlers only, and a leaf.
	handlersMu sync.Mutex
	// handlers are those that ReportHandler was told of.
	handlers []Handler
}

// New makes a library that is not started. It takes no memory and starts no
// thread.
func New(o Options) *Library {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	l := &Library{
		options: o, log: newLogger(), running: newRunning(o.InsideCallback),
		opened: map[device.ID]*Device{}, lastLeaks: newLeakReport(),
	}
	l.registry.init()
	l.changed = sync.NewCond(&l.mu)
	return l
}

// object is what devices, pools, managers and registrations have in common.
type object struct {
	// library is what has made it.
	library *Library
	// handle is 0 until the object is in its table.
	handle    atomic.Uint64
	createdAt time.Time
	// destroying is held by the one call that destroys the object.
	destroying sync.Mutex
}

func (o *object) base() *object { return o }
func (o *object) id() uint64    { return o.handle.Load() }

// started gives the present run, or CodeNotInitialized.
func (l *Library) started(op string) (*run, error) {
	if r := l.current.Load(); r != nil {
		return r, nil
	}
	return nil, notStarted(op)
}

func notStarted(op string) error {
	return device.Errorf(device.CodeNotInitialized, op,
		"the library is not started: ferrum_init has not been called, or ferrum_shutdown has")
}

// on names the device in an error that does not name one yet.
func on(err error, e *engine.Engine) error {
	if err == nil {
		return nil
	}
	var typed *device.Error
	if !errors.As(err, &typed) || typed.Device != "" {
		return err
	}
	named := *typed
	return named.On(e.ID())
}
