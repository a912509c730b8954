package library

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/discover"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/memcheck"
)

// Settings has the options of Init. The zero value selects all defaults.
type Settings struct {
	// HostDevices is the number of host devices; with 0 the driver decides.
	HostDevices int
	// HostMemoryBytes is the capacity of all host devices together; with 0 the driver
	// decides.
	HostMemoryBytes uint64
	// HostMemoryForced accepts a capacity above the memory of the machine.
	HostMemoryForced bool
	// ProbeInProcess queries the vendor libraries in this process, regardless of the
	// environment.
	ProbeInProcess bool
	// LeaveHandlers never adds SA_ONSTACK to handlers of the program, regardless of the
	// environment.
	LeaveHandlers bool
}

// String lists the settings by their names in the C ABI.
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

// Options has the settings and functions that a host program gives to a Library. Only
// Drivers is required.
type Options struct {
	// Drivers creates the drivers of this build at every start.
	Drivers func(Settings) ([]device.Driver, error)
	// Prepare allocates, at every start, the resources of the process that the runtime
	// needs, or returns an error if the process does not have them; nil: nothing is
	// preallocated.
	Prepare func() error
	// WatchHandlers starts the watch of the program's signal handlers, and reports them
	// to ReportHandler. With leave it changes none. nil: no watch.
	WatchHandlers func(leave bool)
	// InsideCallback reports whether the calling thread runs the callback with that
	// token, also around another one, or a callback of work that was begun in it. For 0 it reports whether the thread runs any callback of the library: a
	// registered callback, the receiver of the log or a host function. nil: never.
	InsideCallback func(token uint64) bool
	// MayNotWait reports whether the calling thread must not wait for memory, because
	// it runs a reclaim callback or a host function. nil: never.
	MayNotWait func() bool
	// ThreadCaches creates the thread caches in front of pools; nil: there are none.
	ThreadCaches ThreadCaches
	// Mirrors has the memory for the published counters of devices; nil: the counters
	// are not published.
	Mirrors Mirrors
	// Lending has the memory in which pools lend their tables, so that C code can
	// allocate large blocks; nil: pools lend no tables.
	Lending Lending
	// Engines compute operations; nil: there are none.
	Engines []backend.Engine
	// DLPack makes and reads the structs of DLPack; nil: the program uses no DLPack.
	DLPack DLPackStructs
	// Host describes the machine; nil: nothing is known.
	Host func() HostInfo
	// Surveyors find the devices of vendors.
	Surveyors []device.Surveyor
	// ProbeHelpers are the possible paths of the program that runs surveyors; the first
	// existing one is used.
	ProbeHelpers []string
	// Environ is the environment for that program; nil: os.Environ.
	Environ func() []string
	// Getenv reads the environment; nil: os.Getenv.
	Getenv func(name string) string
	// Stderr receives messages if FERRUM_LOG or FERRUM_DEBUG requests them and no
	// receiver is set; nil: os.Stderr.
	Stderr io.Writer
	// CallSites are the functions that find the callers for debug pools; the zero
	// value: none.
	CallSites memcheck.Hooks
}

// run is one start of the library until its stop.
type run struct {
	settings  Settings
	backends  *discover.Registry
	startedAt time.Time
	// startedClock is the same moment on the clock of track.Now.
	startedClock time.Duration
	// debug has the checks of all pools, as FERRUM_DEBUG requests.
	debug memcheck.Flags
}

// Library is the whole library. New creates it.
type Library struct {
	options  Options
	log      *logger
	registry registry
	running  *running

	// current is nil while the library is stopped or stopping. It is written with mu
	// held.
	current atomic.Pointer[run]

	mu sync.Mutex
	// changed is signalled when a stop or the close of a device has ended.
	changed *sync.Cond
	// users counts the Inits that have not been undone.
	users int
	// stopping states that a forced stop is in progress.
	stopping bool
	// opened has the open devices by id.
	opened map[device.ID]*Device
	// lastLeaks lists what was live at the last stop of the library.
	lastLeaks leakReport

	// Loader opens files of weights.
	Loader Loader
	// Tensors makes tensors.
	Tensors Tensors
	// Computes opens backends.
	Computes Computes
	// Executors builds models.
	Executors Executors
	// Layers has the layer types of the program.
	Layers Layers
	// KVCaches makes KV caches.
	KVCaches KVCaches

	// handlersMu guards only handlers. It is a leaf in the lock order.
	handlersMu sync.Mutex
	// handlers has the handlers reported to ReportHandler.
	handlers []Handler
}

// New returns a library that is not started. It allocates no device memory and starts
// no thread.
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
	l.Loader.library = l
	l.Tensors.library = l
	l.Computes.library = l
	l.Executors.library = l
	l.Executors.builder.Operators = &l.Layers
	l.Layers.library = l
	l.KVCaches.library = l
	l.changed = sync.NewCond(&l.mu)
	return l
}

// object has the common fields of devices, pools, managers and registrations.
type object struct {
	// library is the library that created it.
	library *Library
	// handle is 0 until the object is in its table.
	handle    atomic.Uint64
	createdAt time.Time
	// destroying is held by the one call that destroys the object.
	destroying sync.Mutex
}

func (o *object) base() *object { return o }
func (o *object) id() uint64    { return o.handle.Load() }

// started returns the present run, or CodeNotInitialized.
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

// on sets the device of an error that has none yet.
func on(err error, e *engine.Engine) error {
	if err == nil {
		return nil
	}
	var typed *device.Error
	if e == nil || !errors.As(err, &typed) || typed.Device != "" {
		return err
	}
	named := *typed
	return named.On(e.ID())
}
