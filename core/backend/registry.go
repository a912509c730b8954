package backend

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/similar"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/operator"
)

// Engine is a kind of engine that a registry can open.
type Engine struct {
	// Type is the type of its backends. Each type has at most one engine.
	Type Type
	// DeviceBackends are the backends of the devices on which it can compute, such as "cpu".
	DeviceBackends []string
	// New opens an engine of operations, and NewGraphs one of graphs. One of them is given.
	New       func(compute.Options) (compute.Engine, error)
	NewGraphs func(compute.Options) (compute.GraphEngine, error)
	// Variables are the variables of the environment that the engine reads when it is opened.
	Variables []string
}

// Settings configure a registry.
type Settings struct {
	Engines []Engine
	// Devices lists the devices of this machine. It is called by each Find and List.
	Devices func() []device.ID
	// Operators has the operators of the program, whose Custom is a UserOperator; nil: there are none.
	Operators operator.Vocabulary
}

// Registry has the backends of a process: those of its engines, and those that the program
// registers. All methods are safe for concurrent use.
type Registry struct {
	settings Settings

	// probing is held while the capabilities of an engine are read for the first time.
	probing sync.Mutex

	mu sync.Mutex
	// custom has the registered backends by name.
	custom map[string]*registered
	// probed has the result of the first use of an engine by type.
	probed map[Type]probe
}

// registered is a backend that the program has registered.
type registered struct {
	backend      UserBackend
	capabilities Capabilities
	version      string
	// opened counts the open backends, and calls of the registry in progress.
	opened int
	// ending states that a call of Unregister closes it.
	ending bool
}

// probe is what an engine has stated about itself, or why it cannot be opened.
type probe struct {
	capabilities compute.Capabilities
	err          error
}

// NewRegistry creates a registry.
func NewRegistry(s Settings) *Registry {
	return &Registry{settings: s, custom: map[string]*registered{}, probed: map[Type]probe{}}
}

// Entry describes a backend of a registry.
type Entry struct {
	Name string `json:"name"`
	Type Type   `json:"backend_type"`
	// Available states that the backend can be opened; otherwise Reason states why not, and the
	// fields below are empty.
	Available bool   `json:"available"`
	Reason    string `json:"reason,omitempty"`
	Version   string `json:"version,omitempty"`
	// Capabilities is nil for a backend that is not available.
	Capabilities *Capabilities `json:"capabilities,omitempty"`
	// Environment has the variables that the engine reads, with their values; nil: the variable is not set.
	Environment map[string]*string `json:"environment,omitempty"`
}

// Usable is an engine of this build, or a backend that the program has registered. It may be that the engine
// cannot be opened on this machine: Entry states that.
type Usable struct {
	Name string `json:"name"`
	// RunsGraphs states that the engine runs whole graphs: a model becomes a session.
	RunsGraphs   bool `json:"runs_graphs"`
	IsRegistered bool `json:"is_registered"`
}

// Register adds a backend under a name. The registry owns it until Unregister. Errors, after which
// the caller owns it: CodeInvalidArgument for a name that is empty, too long, or not of letters,
// digits, '_', '-' and '.'; CodeAlreadyExists for a name in use, also that of a type;
// CodeNullPointer; CodeInvalidConfig for its capabilities, and those that it returns.
func (r *Registry) Register(name string, backend UserBackend) error {
	if err := checkName(name); err != nil {
		return err
	}
	if backend == nil {
		return device.Errorf(device.CodeNullPointer, opRegister, "backend %s is nil", shortened(name))
	}
	made := &registered{backend: backend}
	err := guarded(name, "capabilities", func() (err error) {
		if made.capabilities, err = backend.Capabilities(); err != nil {
			return err
		}
		made.version = backend.Version()
		return made.capabilities.validate()
	})
	if err != nil {
		return err
	}
	made.capabilities = made.capabilities.clone()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.custom[name] != nil {
		return device.Errorf(device.CodeAlreadyExists, opRegister, "a backend %s is registered already", shortened(name))
	}
	r.custom[name] = made
	return nil
}

func checkName(name string) error {
	if name == "" || len(name) > MaxNameBytes {
		return device.Errorf(device.CodeInvalidArgument, opRegister, "name %s has %v: want 1 to %d", shortened(name), device.Size(len(name)), MaxNameBytes)
	}
	for _, letter := range name {
		isPlain := letter >= 'a' && letter <= 'z' || letter >= 'A' && letter <= 'Z' || letter >= '0' && letter <= '9'
		if !isPlain && !strings.ContainsRune("_-.", letter) {
			return device.Errorf(device.CodeInvalidArgument, opRegister, "name %s has %q: want letters, digits, '_', '-' and '.'", shortened(name), letter)
		}
	}
	if slices.Contains(typeNames(), name) {
		return device.Errorf(device.CodeAlreadyExists, opRegister, "name %q is that of a type of backends", name)
	}
	return nil
}

// Unregister removes a registered backend and closes it. Errors: CodeNotFound, which names the
// nearest; CodeBusy while an opened backend of it exists; those of its Close, after which it is
// registered as before.
func (r *Registry) Unregister(name string) error {
	r.mu.Lock()
	made := r.custom[name]
	if made == nil || made.ending {
		defer r.mu.Unlock()
		return r.notFound(opUnregister, name)
	}
	if made.opened > 0 {
		defer r.mu.Unlock()
		return device.Errorf(device.CodeBusy, opUnregister, "backend %q is open %d times", name, made.opened)
	}
	made.ending = true
	r.mu.Unlock()
	err := guarded(name, "close", made.backend.Close)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		made.ending = false
		return err
	}
	delete(r.custom, name)
	return nil
}

// notFound is the error for an unknown name. The caller holds mu.
func (r *Registry) notFound(op, name string) error {
	known := typeNames()
	for other, made := range r.custom {
		if !made.ending {
			known = append(known, other)
		}
	}
	slices.Sort(known)
	return device.Errorf(device.CodeNotFound, op, "there is no backend %s; the nearest is %q", shortened(name), similar.Names(name, known, 1)[0])
}

// take keeps a registered backend until release. Errors: CodeNotFound.
func (r *Registry) take(op, name string) (made *registered, release func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	made = r.custom[name]
	if made == nil || made.ending {
		return nil, nil, r.notFound(op, name)
	}
	made.opened++
	return made, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		made.opened--
	}, nil
}

// engineOf returns the engine of a type; false: the registry has none.
func (r *Registry) engineOf(t Type) (Engine, bool) {
	at := slices.IndexFunc(r.settings.Engines, func(e Engine) bool { return e.Type == t })
	if at < 0 {
		return Engine{}, false
	}
	return r.settings.Engines[at], true
}

// openEngine opens the engine of a type. Errors: CodeUnsupported for a type without one.
func (r *Registry) openEngine(t Type, o compute.Options) (compute.Engine, error) {
	if err := t.Availability(); err != nil {
		return nil, err
	}
	e, isThere := r.engineOf(t)
	if !isThere {
		return nil, device.Errorf(device.CodeUnsupported, "backend.open", "backend %s: not available: this build has no engine of the type", t)
	}
	if e.New != nil {
		return e.New(o)
	}
	graphs, err := e.NewGraphs(o)
	if err != nil {
		return nil, err
	}
	return newGraphOperations(graphs), nil
}

// probeOf reads the capabilities of an engine once, with the default options. An engine that could
// not be opened is tried again.
func (r *Registry) probeOf(t Type) (compute.Capabilities, error) {
	r.probing.Lock()
	defer r.probing.Unlock()
	r.mu.Lock()
	known, isKnown := r.probed[t]
	r.mu.Unlock()
	if isKnown {
		return known.capabilities, known.err
	}
	made, err := r.openEngine(t, compute.Options{Level: DefaultConfig().OptimizationLevel})
	if err != nil {
		return compute.Capabilities{}, err
	}
	defer made.Close()
	found := probe{capabilities: made.Capabilities()}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.probed[t] = found
	return found.capabilities, nil
}

// devicesOf lists the devices of this machine on which an engine computes.
func (r *Registry) devicesOf(e Engine, of compute.Capabilities) Devices {
	list := Devices{}
	if r.settings.Devices == nil {
		return list
	}
	for _, id := range r.settings.Devices() {
		if slices.Contains(e.DeviceBackends, id.Backend) && (of.DeviceBackends == nil || slices.Contains(of.DeviceBackends, id.Backend)) {
			list = append(list, id)
		}
	}
	return list
}

// Get describes the backend with a name: that of a type, or a registered one. Errors:
// CodeNotFound, which names the nearest.
func (r *Registry) Get(name string) (Entry, error) {
	if t, err := ParseType(name); err == nil && t != Custom {
		return r.entryOf(t), nil
	}
	made, release, err := r.take("backend.get", name)
	if err != nil {
		return Entry{}, err
	}
	defer release()
	return made.entry(name), nil
}

func (m *registered) entry(name string) Entry {
	c := m.capabilities.clone()
	return Entry{Name: name, Type: Custom, Available: true, Version: m.version, Capabilities: &c}
}

// entryOf describes the backend of a type other than Custom.
func (r *Registry) entryOf(t Type) Entry {
	entry := Entry{Name: t.String(), Type: t, Reason: types[t].absence}
	if entry.Reason != "" {
		return entry
	}
	e, _ := r.engineOf(t)
	entry.Environment = environmentOf(e.Variables)
	found, err := r.probeOf(t)
	if err != nil {
		entry.Reason = reasonOf(err)
		return entry
	}
	c, err := capabilitiesOf(found, r.devicesOf(e, found))
	if err != nil {
		entry.Reason = reasonOf(err)
		return entry
	}
	entry.Available, entry.Version, entry.Capabilities = true, found.Version, &c
	return entry
}

// reasonOf returns the message of an error.
func reasonOf(err error) string {
	var typed *device.Error
	if errors.As(err, &typed) {
		return typed.Message
	}
	return err.Error()
}

func environmentOf(variables []string) map[string]*string {
	if len(variables) == 0 {
		return nil
	}
	set := map[string]*string{}
	for _, name := range variables {
		set[name] = nil
		if value, isSet := os.LookupEnv(name); isSet {
			set[name] = &value
		}
	}
	return set
}

// List describes all backends in alphabetical order, with those that are not available.
func (r *Registry) List() []Entry {
	var list []Entry
	for _, t := range Types() {
		if t != Custom {
			list = append(list, r.entryOf(t))
		}
	}
	r.mu.Lock()
	for name, made := range r.custom {
		if !made.ending {
			list = append(list, made.entry(name))
		}
	}
	r.mu.Unlock()
	sorting.By(list, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Usable lists the engines of this build and the registered backends in alphabetical order. It opens and
// loads nothing.
func (r *Registry) Usable() []Usable {
	list := []Usable{}
	for _, e := range r.settings.Engines {
		list = append(list, Usable{Name: e.Type.String(), RunsGraphs: e.NewGraphs != nil})
	}
	r.mu.Lock()
	for name, made := range r.custom {
		if !made.ending {
			list = append(list, Usable{Name: name, IsRegistered: true})
		}
	}
	r.mu.Unlock()
	sorting.By(list, func(a, b Usable) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// SupportedTypes lists the types of which this build can open backends.
func (r *Registry) SupportedTypes() []Type {
	var list []Type
	for _, t := range Types() {
		if _, hasEngine := r.engineOf(t); t.Availability() == nil && (hasEngine || t == Custom) {
			list = append(list, t)
		}
	}
	return list
}
