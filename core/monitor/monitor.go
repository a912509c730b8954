package monitor

import (
	"slices"
	"sync"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/roster"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/notify"
	"ferrum_mem/core/pressure"
	"ferrum_mem/core/track"
)

// Manager is the part of a memory manager that a monitor uses.
type Manager interface {
	Engine() *engine.Engine
	Defragment() (manager.DefragmentationStats, error)
	// OnClose makes fn called when the manager was closed; see manager.Manager.
	OnClose(fn func()) (forget func(), err error)
}

var _ Manager = (*manager.Manager)(nil)

// DefaultInterval is the time between two queries of the devices while a callback is set.
const DefaultInterval = time.Second

// Config has the settings of a monitor.
type Config struct {
	// Profile is the profile of the levels.
	Profile pressure.Profile
	// Interval is the time between two queries of the devices and the system, for changes
	// by other processes. They are queried only while a callback is set. Changes by this
	// library are noticed at once. 0: DefaultInterval; below 0: no queries.
	Interval time.Duration
	// IgnoreSystem ignores the system's own pressure.
	IgnoreSystem bool
	// Log receives messages, on any thread, with no lock held; nil: none.
	Log func(level engine.Level, message string)
	// Ticks creates the clock of the queries and returns a function that stops the clock.
	// If it is nil, the monitor uses a time.Ticker.
	Ticks func(every time.Duration) (ticks <-chan time.Time, stop func())
}

// Monitor watches devices through the managers that are registered with it. All
// methods are safe for concurrent use.
type Monitor struct {
	config     Config
	dispatcher *notify.Dispatcher

	// changing is held while the list of managers or the callback changes.
	changing sync.Mutex

	mu      sync.Mutex
	closed  bool
	entries roster.List[*entry]
	// byManager has the same entries.
	byManager map[Manager]*entry
	// watched has the devices of the entries, in order of registration.
	watched  []*watched
	callback *callback
	looker   *looker
}

// entry is a registered manager.
type entry struct {
	manager Manager
	device  *watched
	// forget removes the function that is called when the manager is closed.
	forget func()
}

// watched is a device with registered managers. Monitor.mu guards its fields except
// engine, and except listener, which Monitor.changing guards.
type watched struct {
	engine   *engine.Engine
	managers int
	// listener is set while a callback is set.
	listener *engine.Registration
	// bytes is the level by bytes: from the last notification while there is a
	// listener, and otherwise from the last query.
	bytes pressure.Level
	heard bool
	// meter and system are for the system's own pressure, as read at readAt; reading is
	// nil before the first reading.
	meter   pressure.SystemMeter
	system  pressure.Level
	reading *device.SystemPressure
	readAt  time.Duration
	// memory is the last information of a successful query.
	memory engine.MemoryInfo
	known  bool
}

func (w *watched) level() pressure.Level { return max(w.bytes, w.system) }

// DeviceLevel is the pressure level of a device.
type DeviceLevel struct {
	Device device.ID
	// Engine is the engine of the device.
	Engine *engine.Engine
	Level  pressure.Level
}

// callback is the receiver of changes. Monitor.mu guards its fields except fn.
type callback struct {
	fn func([]DeviceLevel)
	// told is the last state that was delivered or is pending.
	told    []DeviceLevel
	pending [][]DeviceLevel
	// missed counts changes that were replaced by later ones and are not reported yet.
	missed  uint64
	running bool
	removed bool
	idle    *sync.Cond
}

// looker is the worker that queries the devices from time to time.
type looker struct {
	stop chan struct{}
	done <-chan struct{}
}

// New creates a monitor without managers. It returns CodeInvalidArgument for an unknown
// profile.
func New(c Config) (*Monitor, error) {
	if err := c.Profile.Check("monitor.create"); err != nil {
		return nil, err
	}
	if c.Interval == 0 {
		c.Interval = DefaultInterval
	}
	if c.Ticks == nil {
		c.Ticks = func(every time.Duration) (<-chan time.Time, func()) {
			ticker := time.NewTicker(every)
			return ticker.C, ticker.Stop
		}
	}
	return &Monitor{config: c, dispatcher: notify.New("monitor", 1), byManager: make(map[Manager]*entry)}, nil
}

// Profile returns the profile of the levels.
func (m *Monitor) Profile() pressure.Profile { return m.config.Profile }

func closedError(op string) error {
	return device.Errorf(device.CodeInvalidState, op, "the monitor is closed")
}

// Managers returns the number of registered managers.
func (m *Monitor) Managers() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries.Len()
}

// HasEnded reports whether Close was called.
func (m *Monitor) HasEnded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

func (m *Monitor) log(level engine.Level, message string) {
	if m.config.Log != nil {
		m.config.Log(level, "monitor: "+message)
	}
}

func now() time.Duration { return track.Now() }

// Devices returns the number of watched devices.
func (m *Monitor) Devices() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.watched)
}

func (m *Monitor) listWatched() []*watched {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.watched)
}
