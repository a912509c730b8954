package discover

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
)

// Config has the drivers and surveyors of a Registry.
type Config struct {
	// Drivers open devices. A driver whose backend has no surveyor is queried for its
	// devices in this process. Of two drivers of one backend the first is used.
	Drivers []device.Driver
	// Surveyors find the devices of backends whose libraries are not trusted.
	Surveyors []device.Surveyor
	// Isolation selects how surveyors run.
	Isolation Isolation
}

// Registry has the backends of this build. It is safe for concurrent use.
type Registry struct {
	drivers   []device.Driver
	surveyors []device.Surveyor
	isolation Isolation
	names     []string

	// discovering is held by the one call that queries the backends.
	discovering sync.Mutex

	mu sync.Mutex
	// started counts the discoveries that have begun.
	started uint64
	// last is the result of discovery number lastNumber, the latest.
	last       *Discovery
	lastNumber uint64
	// hanging has the surveys in this process that have not returned.
	hanging map[string]<-chan struct{}
}

// New creates a registry with drivers only.
func New(drivers ...device.Driver) *Registry { return NewRegistry(Config{Drivers: drivers}) }

// NewRegistry creates a registry. It queries nothing yet.
func NewRegistry(c Config) *Registry {
	r := &Registry{surveyors: c.Surveyors, isolation: c.Isolation, hanging: map[string]<-chan struct{}{}}
	for _, driver := range c.Drivers {
		if r.driver(driver.Backend()) == nil {
			r.drivers = append(r.drivers, driver)
			r.names = append(r.names, driver.Backend())
		}
	}
	for _, surveyor := range c.Surveyors {
		if !slices.Contains(r.names, surveyor.Backend()) {
			r.names = append(r.names, surveyor.Backend())
		}
	}
	sorting.StableBy(r.names, func(a, b string) int { return rank(a) - rank(b) })
	return r
}

// Discover returns the backends and devices. The first call queries all backends; later
// calls return the same result. The result is shared and must not be changed.
func (r *Registry) Discover() *Discovery {
	if found := r.cached(0); found != nil {
		return found
	}
	return r.discover(1)
}

// Refresh queries all backends again. Its result is from a discovery that began after
// the call did; other callers may share it.
func (r *Registry) Refresh() *Discovery {
	r.mu.Lock()
	wanted := r.started + 1
	r.mu.Unlock()
	return r.discover(wanted)
}

// cached returns the latest result, if it is from that discovery or a later one.
func (r *Registry) cached(wanted uint64) *Discovery {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil || r.lastNumber < wanted {
		return nil
	}
	return r.last
}

func (r *Registry) discover(wanted uint64) *Discovery {
	r.discovering.Lock()
	defer r.discovering.Unlock()
	if found := r.cached(wanted); found != nil {
		return found
	}
	r.mu.Lock()
	r.started++
	number := r.started
	r.mu.Unlock()

	found := &Discovery{At: time.Now(), Backends: r.askAll()}
	found.Took = time.Since(found.At)

	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.lastNumber = found, number
	return found
}

// askAll queries all backends concurrently.
func (r *Registry) askAll() []Backend {
	backends := make([]Backend, len(r.names))
	asking := make([]<-chan struct{}, len(r.names))
	for i, name := range r.names {
		asking[i] = device.Go("discover "+name, func() { backends[i] = r.ask(name) })
	}
	for i, done := range asking {
		<-done
		if backends[i].Name == "" {
			// Its worker has panicked, which is reported elsewhere.
			backends[i] = Backend{Name: r.names[i], Absence: device.AbsenceUnusable,
				Err: device.Errorf(device.CodeInternal, "discover.ask", "the query of the backend %q panicked", r.names[i])}
		}
	}
	return backends
}

func (r *Registry) ask(name string) Backend {
	at := slices.IndexFunc(r.surveyors, func(s device.Surveyor) bool { return s.Backend() == name })
	driver := r.driver(name)
	if at < 0 {
		return askDriver(driver)
	}
	found := fromSurvey(name, r.survey(r.surveyors[at]))
	found.Usable = found.Available && driver != nil
	return found
}

// askDriver queries a trusted driver.
func askDriver(driver device.Driver) Backend {
	found := Backend{Name: driver.Backend()}
	infos, err := []device.Info(nil), driver.Probe()
	if err == nil {
		infos, err = driver.Devices()
	}
	if err == nil && len(infos) == 0 {
		found.Absence = device.AbsenceNoDevice
		err = device.Errorf(device.CodeBackendUnavailable, found.Name+".probe", "no device")
	}
	if err != nil {
		found.Err = err
		if found.Absence == device.AbsenceNone {
			found.Absence = device.AbsenceUnusable
		}
		return found
	}
	reader, reads := driver.(device.MemoryReader)
	for _, info := range infos {
		one := Device{Info: info, UnifiedMemory: info.HostAddressable}
		if reads {
			if reading, err := reader.ReadMemory(info.ID.Index); err == nil {
				one.FreeBytes, one.FreeKnown = reading.FreeBytes, true
			}
		}
		found.Devices = append(found.Devices, one)
	}
	found.Available, found.Usable = true, true
	return found
}

// fromSurvey converts a survey.
func fromSurvey(name string, s device.Survey) Backend {
	found := Backend{Name: name, Absence: s.Absence, Err: s.Err(name), Library: s.Library, Version: s.Version}
	if found.Err != nil {
		return found
	}
	for _, one := range s.Devices {
		found.Devices = append(found.Devices, Device{
			Info: device.Info{
				ID: device.ID{Backend: name, Index: one.Index}, Name: one.Name, TotalBytes: one.TotalBytes,
				AlignmentBytes: one.AlignmentBytes,
			},
			FreeBytes: one.FreeBytes, FreeKnown: one.FreeKnown, ComputeCapability: one.ComputeCapability,
			UnifiedMemory: one.UnifiedMemory, MaxAllocationBytes: one.MaxAllocationBytes,
			Processes: one.Processes,
		})
	}
	found.Available = true
	return found
}

// Open opens a device; each call returns a separate one. Errors: CodeDeviceNotFound for
// an unknown backend or number; the reason of a backend that cannot be used here;
// CodeBackendUnavailable for a backend without a driver in this build.
func (r *Registry) Open(id device.ID) (device.Device, error) {
	const op = "discover.open"
	driver := r.driver(id.Backend)
	switch {
	case driver == nil && slices.Contains(r.names, id.Backend):
		if _, err := r.Discover().Device(id); err != nil {
			return nil, err
		}
		return nil, device.Errorf(device.CodeBackendUnavailable, op, "device id %q: %s", id.String(), noDriver).On(id)
	case driver == nil:
		return nil, device.Errorf(device.CodeDeviceNotFound, op, "device id %q: this build has no backend %q, it has: %s",
			id.String(), id.Backend, r.namesText()).On(id)
	}
	if err := driver.Probe(); err != nil {
		return nil, err
	}
	return driver.Open(id.Index)
}

func (r *Registry) driver(backend string) device.Driver {
	for _, driver := range r.drivers {
		if driver.Backend() == backend {
			return driver
		}
	}
	return nil
}

func (r *Registry) namesText() string {
	if len(r.names) == 0 {
		return "none"
	}
	return strings.Join(r.names, ", ")
}

// survey runs a surveyor in the selected mode.
func (r *Registry) survey(s device.Surveyor) device.Survey {
	switch r.isolation.Mode {
	case ModeOff:
		return device.Absent(device.AbsenceSwitchedOff, 0, "not probed: probing is switched off")
	case ModeInProcess:
		return r.surveyHere(s)
	}
	if err := r.isolation.unsupportedHere(s); err != nil {
		return *err
	}
	return r.isolation.ask(s.Backend())
}

// surveyHere runs a surveyor in this process. It waits for a hanging library until the
// limit, and does not query it again before it has returned.
func (r *Registry) surveyHere(s device.Surveyor) device.Survey {
	r.mu.Lock()
	hanging := r.hanging[s.Backend()]
	r.mu.Unlock()
	if hanging != nil {
		select {
		case <-hanging:
		default:
			return device.Absent(device.AbsenceTimedOut, 0, "the vendor library has not returned from the previous query")
		}
	}
	answer := make(chan device.Survey, 1)
	done := device.Go("survey "+s.Backend(), func() { answer <- s.Survey() })
	limit := time.NewTimer(r.isolation.timeout())
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
		r.mu.Lock()
		r.hanging[s.Backend()] = done
		r.mu.Unlock()
		return device.Absent(device.AbsenceTimedOut, 0, fmt.Sprintf("no reply within %v, in this process", r.isolation.timeout()))
	}
	select {
	case survey := <-answer:
		return checked(s.Backend(), survey)
	default:
		return device.Absent(device.AbsenceCrashed, 0, "the query of the vendor library panicked")
	}
}

// checked applies the checks for a survey from another process to one of this process.
func checked(backend string, survey device.Survey) device.Survey {
	line, err := device.EncodeSurvey(backend, survey)
	if err == nil {
		survey, err = device.DecodeSurvey(backend, line)
	}
	var typed *device.Error
	if errors.As(err, &typed) {
		return device.Absent(device.AbsenceDriverError, 0, typed.Message)
	}
	return survey
}

// Current is Discover with the free memory read again for backends that are queried in
// this process, which takes microseconds. The caller owns the result.
func (r *Registry) Current() *Discovery {
	found := *r.Discover()
	found.Backends = slices.Clone(found.Backends)
	for i := range found.Backends {
		b := &found.Backends[i]
		reader, reads := r.driver(b.Name).(device.MemoryReader)
		if !reads || !b.Available {
			continue
		}
		b.Devices = slices.Clone(b.Devices)
		for j := range b.Devices {
			if reading, err := reader.ReadMemory(b.Devices[j].ID.Index); err == nil {
				b.Devices[j].FreeBytes, b.Devices[j].FreeKnown = reading.FreeBytes, true
			}
		}
	}
	return &found
}
