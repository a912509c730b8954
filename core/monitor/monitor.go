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
	// forget takes back the wish to hear of the manager's end.
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

// Register has the monitor watch a manager and its device until Unregister or the
// manager's end. Errors: CodeAlreadyExists for one that is registered,
// CodeInvalidHandle for one that is being closed, CodeInvalidState after Close.
func (m *Monitor) Register(added Manager) error {
	const op = "monitor.register"
	m.changing.Lock()
	defer m.changing.Unlock()
	e := added.Engine()
	if err := m.mayRegister(op, added); err != nil {
		return err
	}
	made := &entry{manager: added}
	forget, err := added.OnClose(func() { m.drop(made) })
	if err != nil {
		return err
	}
	made.forget = forget
	w := m.find(e)
	if w == nil {
		w = &watched{engine: e}
		if m.listens() {
			if err := m.listen(w); err != nil {
				forget()
				return err
			}
		}
	}
	made.device = w
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries.Add(made)
	m.byManager[added] = made
	w.managers++
	if w.managers == 1 {
		m.watched = append(m.watched, w)
	}
	m.settle()
	return nil
}

func (m *Monitor) mayRegister(op string, added Manager) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return closedError(op)
	}
	if m.byManager[added] != nil {
		return device.Errorf(device.CodeAlreadyExists, op,
			"this manager of %v is registered already", added.Engine().ID()).On(added.Engine().ID())
	}
	return nil
}

func closedError(op string) error {
	return device.Errorf(device.CodeInvalidState, op, "the monitor is closed")
}

// find gives the watched device of an engine, or nil.
func (m *Monitor) find(e *engine.Engine) *watched {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.watched {
		if w.engine == e {
			return w
		}
	}
	return nil
}

// Unregister ends the watch over one manager; CodeNotFound for one that is not
// registered.
func (m *Monitor) Unregister(gone Manager) error {
	m.mu.Lock()
	found := m.byManager[gone]
	if found == nil {
		m.mu.Unlock()
		return device.Errorf(device.CodeNotFound, "monitor.unregister",
			"this manager of %v is not registered", gone.Engine().ID()).On(gone.Engine().ID())
	}
	m.mu.Unlock()
	found.forget()
	m.drop(found)
	return nil
}

// UnregisterDevice ends the watch over all managers of a device; CodeNotFound when
// none is registered.
func (m *Monitor) UnregisterDevice(e *engine.Engine) error {
	m.mu.Lock()
	var found []*entry
	for other := range m.entries.All() {
		if other.device.engine == e {
			found = append(found, other)
		}
	}
	m.mu.Unlock()
	if len(found) == 0 {
		return device.Errorf(device.CodeNotFound, "monitor.unregister_device",
			"no manager of %v is registered", e.ID()).On(e.ID())
	}
	for _, gone := range found {
		gone.forget()
		m.drop(gone)
	}
	return nil
}

// drop takes an entry out, if it is still there, and its device with the last one.
func (m *Monitor) drop(gone *entry) {
	m.changing.Lock()
	defer m.changing.Unlock()
	m.mu.Lock()
	if !m.entries.Remove(gone) {
		m.mu.Unlock()
		return
	}
	delete(m.byManager, gone.manager)
	w := gone.device
	w.managers--
	last := w.managers == 0
	if last {
		m.watched = slices.DeleteFunc(slices.Clone(m.watched), func(other *watched) bool { return other == w })
	}
	m.settle()
	m.mu.Unlock()
	if last {
		m.unlisten(w)
	}
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

// Close takes everything out and waits for a running callback, unless inside says
// that it is called from that. A second Close does nothing.
func (m *Monitor) Close(inside bool) {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.replaceCallback(nil, inside)
	m.mu.Lock()
	entries := m.entries.Copy()
	m.mu.Unlock()
	for _, gone := range entries {
		gone.forget()
		m.drop(gone)
	}
	if inside {
		m.dispatcher.Stop()
	} else {
		m.dispatcher.Close()
	}
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
