package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/pool"
	"ferrum_mem/core/weights"
)

// Backend is an open backend on a device, with a memory manager of its own. All methods are safe for
// concurrent use.
type Backend struct {
	name    string
	config  Config
	version string
	device  *engine.Engine
	// isHost states that the host addresses the memory of the device.
	isHost bool
	engine compute.Engine
	// operators has the operators of the program.
	operators    operator.Vocabulary
	capabilities Capabilities
	// custom is nil for an engine of this build.
	custom  UserBackend
	manager *manager.Manager
	memory  *memory
	gate    *gate
	// release ends the use of a registered backend.
	release func()

	// completed counts operations, and planned the plans of runs.
	completed, planned atomic.Uint64
	// prepared and sequences count open operations and sequences.
	prepared, sequences atomic.Int64
	// sessions counts open sessions of graphs.
	sessions atomic.Int64
	failure  atomic.Pointer[string]

	// closeMu: one Close at a time. isClosed is set by the one that succeeds.
	closeMu            sync.Mutex
	isClosed, hasEnded atomic.Bool
}

// Open opens a backend on an open device. Its manager belongs to the factory, so that calls by
// handle accept its blocks. Errors: those of Config.Validate; CodeUnsupportedDevice for a device on
// which the backend does not compute, or that is not the one of the settings; CodeNotFound for the
// name of a backend; those of the engine, the manager and the pool. After an error nothing is left.
func (r *Registry) Open(f *manager.Factory, on *engine.Engine, c Config) (*Backend, error) {
	if err := c.Validate(); err != nil {
		return nil, device.About(on.ID(), err)
	}
	if c.Device != "" {
		if id, _ := device.ParseID(c.Device); id != on.ID() {
			return nil, device.Errorf(device.CodeUnsupportedDevice, opOpen, "the settings name the device %s", id).On(on.ID())
		}
	}
	b := &Backend{name: c.Type.String(), config: c, device: on, isHost: on.Info().HostAddressable, operators: r.settings.Operators, gate: newGate(), release: func() {}}
	if err := b.attach(r); err != nil {
		return nil, err
	}
	if err := b.provide(f); err != nil {
		b.engine.Close()
		b.release()
		return nil, err
	}
	return b, nil
}

// attach opens the engine, or takes a registered backend.
func (b *Backend) attach(r *Registry) error {
	if b.config.Type == Custom {
		return b.attachCustom(r)
	}
	kind, isThere := r.engineOf(b.config.Type)
	if isThere && !slices.Contains(kind.DeviceBackends, b.device.ID().Backend) {
		return b.wrongDevice()
	}
	options := b.config.engine()
	options.Device = b.device.ID()
	opened, err := r.openEngine(b.config.Type, options)
	if err != nil {
		return device.About(b.device.ID(), err)
	}
	of := opened.Capabilities()
	b.engine, b.version = opened, of.Version
	if b.capabilities, err = capabilitiesOf(of, r.devicesOf(kind, of)); err != nil {
		opened.Close()
		return err
	}
	return nil
}

func (b *Backend) attachCustom(r *Registry) error {
	made, release, err := r.take(opOpen, b.config.Name)
	if err != nil {
		return err
	}
	b.name, b.custom, b.version, b.capabilities = b.config.Name, made.backend, made.version, made.capabilities.clone()
	supports, err := b.SupportsDevice(b.device.ID())
	if err == nil && !supports {
		err = b.wrongDevice()
	}
	if err != nil {
		release()
		return err
	}
	b.engine, b.release = &customEngine{name: b.name, of: b.custom, device: b.device.ID()}, release
	return nil
}

func (b *Backend) wrongDevice() error {
	return device.Errorf(device.CodeUnsupportedDevice, opOpen, "backend %s does not compute on this device", b.name).On(b.device.ID())
}

// provide creates the manager with its pool.
func (b *Backend) provide(f *manager.Factory) error {
	plan := b.config.plan(b.device.Capacity())
	made, err := f.CreateMemoryManager(b.device, plan.manager)
	if err != nil {
		return err
	}
	b.manager = made
	p := made.Pools()[0]
	if plan.limitBytes != 0 {
		err = p.SetLimit(plan.limitBytes)
	}
	if err == nil {
		b.memory = newMemory(p, b.gate)
		if of, isOfGraphs := b.engine.(*graphOperations); isOfGraphs {
			of.memory.of, of.device = b.memory, b.device.Device()
		}
		_, err = made.OnClose(b.memory.end)
	}
	if err != nil {
		return errors.Join(err, made.Close(true))
	}
	return nil
}

// Name returns the name of the type, or that under which the backend is registered.
func (b *Backend) Name() string { return b.name }

// Version returns the version of the engine.
func (b *Backend) Version() string { return b.version }

// Config returns the settings.
func (b *Backend) Config() Config { return b.config }

// Capabilities returns the properties of the backend.
func (b *Backend) Capabilities() Capabilities { return b.capabilities.clone() }

// Device returns the device of the backend.
func (b *Backend) Device() *engine.Engine { return b.device }

// Manager returns the memory manager of the backend. The backend owns it: only Close closes it.
func (b *Backend) Manager() *manager.Manager { return b.manager }

// Pool returns the pool of the manager.
func (b *Backend) Pool() *pool.Pool { return b.memory.pool }

// Memory returns the memory of the backend for tensors, which Close counts.
func (b *Backend) Memory() weights.Memory { return b.memory }

// HasEnded states that the backend is closed, or that a forced close has begun.
func (b *Backend) HasEnded() bool { return b.hasEnded.Load() }

// SupportsDevice states whether the backend computes on a device. Errors: those of a registered
// backend.
func (b *Backend) SupportsDevice(id device.ID) (supports bool, err error) {
	if b.custom == nil {
		for _, has := range b.capabilities.Devices {
			supports = supports || has == id
		}
		return supports || id == b.device.ID(), nil
	}
	err = guarded(b.name, "supports device", func() (err error) {
		supports, err = b.custom.SupportsDevice(id)
		return err
	})
	return supports && err == nil, b.note(err)
}

// Synchronize waits until all work of the device is done, at most for the timeout (device.Forever: no
// limit). Errors: CodeUnsupportedDevice for a device that is not that of the backend; CodeTimeout;
// those of a registered backend; CodeInvalidHandle for a closed backend.
func (b *Backend) Synchronize(id device.ID, timeout time.Duration) error {
	const op = "backend.synchronize"
	if err := b.enter(op); err != nil {
		return err
	}
	defer b.gate.exit()
	if id != b.device.ID() {
		return device.Errorf(device.CodeUnsupportedDevice, op, "the backend is open on %s", b.device.ID()).On(id)
	}
	if err := b.device.Synchronize(timeout); err != nil {
		return b.note(err)
	}
	if b.custom == nil {
		return nil
	}
	return b.note(guarded(b.name, "synchronize", func() error { return b.custom.Synchronize(id) }))
}

// enter begins a call. Errors: CodeInvalidHandle for a closed backend.
func (b *Backend) enter(op string) error {
	if b.gate.enter() {
		return nil
	}
	return device.Errorf(device.CodeInvalidHandle, op, "the backend %s has been closed", b.name).On(b.device.ID())
}

// note stores an error as the last one of the backend, and returns it.
func (b *Backend) note(err error) error {
	if err != nil {
		text := err.Error()
		b.failure.Store(&text)
	}
	return err
}

// Status is the state of a backend.
type Status struct {
	Initialized bool `json:"is_initialized"`
	// Ready states that the backend accepts work.
	Ready         bool    `json:"is_ready"`
	ActiveDevices Devices `json:"active_devices"`
	// MemoryUsage is what the backend holds from each device, in bytes.
	MemoryUsage         map[string]uint64 `json:"memory_usage"`
	OperationsCompleted uint64            `json:"operations_completed"`
	// LastError is the text of the last failed call or queued work; nil: none has failed.
	LastError *string `json:"last_error"`
	// Specific has further numbers as values of JSON.
	Specific map[string]json.RawMessage `json:"backend_specific"`
}

// Status returns the present state. It does not wait for the device.
func (b *Backend) Status() Status {
	isOpen := !b.HasEnded()
	s := Status{
		Initialized: isOpen, Ready: isOpen, ActiveDevices: Devices{}, MemoryUsage: map[string]uint64{},
		OperationsCompleted: b.completed.Load(), LastError: b.failure.Load(),
	}
	if isOpen {
		s.ActiveDevices = Devices{b.device.ID()}
	}
	counters := b.manager.Statistics()
	if !b.isClosed.Load() {
		s.MemoryUsage[b.device.ID().String()] = counters.Reserved.Current
	}
	s.Specific = map[string]json.RawMessage{}
	for name, number := range map[string]uint64{
		"allocated_bytes": counters.Allocated.Current, "workspace_bytes": b.memory.workspaces.held(),
		"tensors": uint64(b.memory.tensors.Load()), "operations": uint64(b.prepared.Load()), "sequences": uint64(b.sequences.Load()),
		"plans": b.planned.Load(),
	} {
		s.Specific[name] = json.RawMessage(fmt.Sprint(number))
	}
	return s
}

// Close ends the backend and releases its memory. Without force it returns CodeBusy, and changes
// nothing, while operations, sequences, tensors or blocks of its manager exist, or calls are in
// progress. With force it waits for calls and queued work; operations, sequences and tensors can then
// only be closed. If it fails with force, or the driver fails to release memory, the backend cannot be
// used any more, but Close may be called again. It must not be called with force from a host function of a stream with
// queued operations.
func (b *Backend) Close(force bool) error {
	const op = "backend.close"
	b.closeMu.Lock()
	defer b.closeMu.Unlock()
	if b.isClosed.Load() {
		return device.Errorf(device.CodeInvalidHandle, op, "the backend %s has been closed", b.name).On(b.device.ID())
	}
	if force {
		b.hasEnded.Store(true)
		b.gate.close()
		b.trim()
		b.memory.end()
		if err := b.closeManager(true); err != nil {
			return b.note(err)
		}
	} else if running, err := b.gate.tryClose(b.closeUnused); err != nil || running > 0 {
		if b.hasEnded.Load() {
			b.gate.close()
		}
		if err == nil {
			err = device.Errorf(device.CodeBusy, op, "%s of backend %s or its memory in progress", device.Count(uint64(running), "use"), b.name).On(b.device.ID())
		}
		if errors.Is(err, device.CodeBusy) {
			return err // nothing has failed: the backend is in use
		}
		return b.note(err)
	}
	b.hasEnded.Store(true)
	b.isClosed.Store(true)
	return nil
}

// closeUnused closes a backend of which nothing exists.
func (b *Backend) closeUnused() error {
	prepared, sequences, tensors := b.prepared.Load(), b.sequences.Load(), b.memory.tensors.Load()
	if prepared+sequences+tensors > 0 && !b.hasEnded.Load() {
		return device.Errorf(device.CodeBusy, "backend.close", "%s, %s and %s of backend %s are open",
			device.Count(uint64(prepared), "operation"), device.Count(uint64(sequences), "sequence"), device.Count(uint64(tensors), "tensor"), b.name).
			On(b.device.ID())
	}
	if sessions := b.sessions.Load(); sessions > 0 && !b.hasEnded.Load() {
		return device.Errorf(device.CodeBusy, "backend.close", "%s of backend %s for models are open", device.Count(uint64(sessions), "session"), b.name).On(b.device.ID())
	}
	b.trim()
	err := b.closeManager(false)
	if err != nil && b.manager.HasEnded() {
		b.hasEnded.Store(true)
	}
	return err
}

// trim frees what the engine keeps between runs. No run is in progress, and later runs make it again.
func (b *Backend) trim() {
	if of, isOfGraphs := b.engine.(*graphOperations); isOfGraphs {
		of.trim()
	}
}

// closeManager closes the manager, and then the engine. The caller has closed the gate.
func (b *Backend) closeManager(force bool) error {
	if err := b.manager.Close(force); err != nil && !b.hasManagerEnded(err) {
		return err
	}
	b.engine.Close()
	b.release()
	return nil
}

// hasManagerEnded states that the manager was closed by its device, before the backend.
func (b *Backend) hasManagerEnded(err error) bool {
	return errors.Is(err, device.CodeInvalidHandle)
}
