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

// Manager is what a monitor needs of a memory manager.
type Manager interface {
	Engine() *engine.Engine
	Defragment() (manager.DefragmentationStats, error)
	// OnClose has fn called when the manager has been closed; see
	// manager.Manager.
	OnClose(fn func()) (forget func(), err error)
}

var _ Manager = (*manager.Manager)(nil)

// DefaultInterval is how often devices are looked at while a callback is set.
const DefaultInterval = time.Second

// Config is the settings of a monitor.
type Config struct {
	// Profile is what levels are by.
	Profile pressure.Profile
	// Interval is how often, while a callback is set, the devices and the system
	// are looked at for what others have changed; what this library itself changes
	// is heard of at once. 0: DefaultInterval; below 0: never.
	Interval time.Duration
	// IgnoreSystem leaves the system's own pressure out.
	IgnoreSystem bool
	// Log receives messages, on any thread, with no lock held; nil: none.
	Log func(level engine.Level, message string)
	// Ticks makes the clock of the looks, and what ends it; nil: a ticker.
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
	// byManager has the same.
	byManager map[Manager]*entry
	// watched is the devices of the entries, in the order of their coming.
	watched  []*watched
	callback *callback
	looker   *looker
}

// entry is a registered manager.
type entry struct {
	manager Manager
	device  *watched
	// forget takes back the registration to hear of the manager's end.
	forget func()
}

// watched is a device that managers are registered of. Its fields but engine are
// guarded by Monitor.mu, and listener by Monitor.changing.
type watched struct {
	engine   *engine.Engine
	managers int
	// listener is there while a callback is set.
	listener *engine.Registration
	// bytes is the level by bytes: as last heard of while there is a listener, and
	// as of the last look otherwise.
	bytes pressure.Level
	heard bool
	// meter and system are of the system's own pressure, as read at readAt; reading
	// is nil before the first time.
	meter   pressure.SystemMeter
	system  pressure.Level
	reading *device.SystemPressure
	readAt  time.Duration
	// memory is the last information that there was.
	memory engine.MemoryInfo
	known  bool
}

func (w *watched) level() pressure.Level { return max(w.bytes, w.system) }

// DeviceLevel is the pressure level of a device.
type DeviceLevel struct {
	Device device.ID
	// Engine is the device itself.
	Engine *engine.Engine
	Level  pressure.Level
}

// callback is the receiver of changes. Its fields but fn are guarded by
// Monitor.mu.
type callback struct {
	fn func([]DeviceLevel)
	// told is what was handed over last, or is waiting to be.
	told    []DeviceLevel
	pending [][]DeviceLevel
	// missed is changes that gave way to later ones and are not reported yet.
	missed  uint64
	running bool
	removed bool
	idle    *sync.Cond
}

// looker is the worker that looks at the devices from time to time.
type looker struct {
	stop chan struct{}
	done <-chan struct{}
}

// New makes a monitor with no manager. Errors: CodeInvalidArgument for a profile
// that is none.
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

// Profile is what levels are by.
func (m *Monitor) Profile() pressure.Profile { return m.config.Profile }

func closedError(op string) error {
	return device.Errorf(device.CodeInvalidState, op, "the monitor is closed")
}

// Managers is how many managers are registered.
func (m *Monitor) Managers() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries.Len()
}

// IsOver says that Close was called.
func (m *Monitor) IsOver() bool {
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

// Devices is how many devices are watched.
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
