package installed

import (
	"encoding/json"
	"errors"
	"runtime"

	"ferrum_mem/internal/dl"
)

// Backend is a device with the engine that computes on it, and memory for models.
type Backend struct {
	l                     *Library
	device, pool, compute uint64
}

// Settings are the settings of a backend.
type Settings struct {
	// Device is the id, such as "cpu:0".
	Device string
	// Threads compute; 0: as many as the process may use.
	Threads uint32
	// LimitBytes is the most memory of models; 0: the memory of the device.
	LimitBytes uint64
}

// OpenBackend opens a device and its engine. Errors of ferrum_device_open,
// ferrum_elastic_pool_create and ferrum_compute_open; after one nothing is open.
func (l *Library) OpenBackend(s Settings) (*Backend, error) {
	b := &Backend{l: l}
	if err := b.open(s); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Backend) open(s Settings) error {
	id := text(s.Device)
	err := b.l.call(&b.l.deviceOpen, address(id), dl.Pointer(&b.device))
	runtime.KeepAlive(id)
	if err != nil {
		return err
	}
	pool := newStruct[elasticPoolConfig]()
	// The system gives huge pages to private memory only.
	pool.limitBytes, pool.readyPages, pool.backing = s.LimitBytes, ^uint32(0), backingPrivate
	if err := b.l.call(&b.l.poolCreate, uintptr(b.device), dl.Pointer(pool), dl.Pointer(&b.pool)); err != nil {
		return err
	}
	compute := newStruct[computeConfig]()
	compute.kind, compute.device, compute.threads = typeCPU, b.device, s.Threads
	compute.optimizationLevel, compute.growth, compute.enablePooling = defaultLevel, growthDynamic, 1
	return b.l.call(&b.l.computeOpen, dl.Pointer(compute), dl.Pointer(&b.compute))
}

// backingPrivate is FERRUM_BACKING_PRIVATE.
const backingPrivate = 1

// defaultLevel is the optimization level of backends and builds.
const defaultLevel = 2

// Close closes what is open. Executors of the backend end with it.
func (b *Backend) Close() error {
	var failures []error
	for _, end := range []struct {
		f      *dl.Function
		handle *uint64
	}{{&b.l.computeClose, &b.compute}, {&b.l.poolDestroy, &b.pool}, {&b.l.deviceClose, &b.device}} {
		if *end.handle != 0 {
			failures = append(failures, b.l.call(end.f, uintptr(*end.handle), force))
			*end.handle = 0
		}
	}
	return errors.Join(failures...)
}

// Backends lists the compute backends, as ferrum_compute_backends_json does.
func (l *Library) Backends() (json.RawMessage, error) {
	var list struct {
		Backends json.RawMessage `json:"backends"`
	}
	if err := l.object(&l.backends, &list); err != nil {
		return nil, err
	}
	return list.Backends, nil
}

// Plan is the memory of the activations of a model for given lengths of its dimensions.
type Plan struct {
	Dimensions      map[string]uint64 `json:"dimensions"`
	ArenaBytes      uint64            `json:"arena_bytes"`
	LowerBoundBytes uint64            `json:"lower_bound_bytes"`
	SumBytes        uint64            `json:"sum_bytes"`
	Buffers         []Buffer          `json:"buffers"`
	Loops           []Loop            `json:"loops"`
}

// Loop is steps that run tile by tile, from FirstTime to LastTime, both included.
type Loop struct {
	Dimension  string `json:"dimension"`
	FirstTime  int64  `json:"first_time"`
	LastTime   int64  `json:"last_time"`
	Tiles      int64  `json:"tiles"`
	Length     int64  `json:"length"`
	TileLength int64  `json:"tile_length"`
}

// Buffer is a part of the arena from FirstTime to LastTime, both included.
type Buffer struct {
	Name        string `json:"name"`
	Role        string `json:"role"`
	OffsetBytes uint64 `json:"offset_bytes"`
	SizeBytes   uint64 `json:"size_bytes"`
	FirstTime   int64  `json:"first_time"`
	LastTime    int64  `json:"last_time"`
}

// Plan plans a definition without building it, as ferrum_compute_plan_json does.
func (b *Backend) Plan(definition []byte, dims map[string]uint64) (*Plan, error) {
	lengths, err := json.Marshal(dims)
	if err != nil {
		return nil, err
	}
	var p Plan
	err = b.l.object(&b.l.plan, &p, uintptr(b.compute), address(bytesOf(definition)), uintptr(len(definition)), defaultLevel,
		address(bytesOf(lengths)), uintptr(len(lengths)))
	runtime.KeepAlive(definition)
	runtime.KeepAlive(lengths)
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// Source is the model to build: a path, or a definition without weights.
type Source struct {
	Path       string
	Definition []byte
	// Progress is called on a thread of the library, and must not panic; false cancels the build.
	// nil: not called.
	Progress func(Progress) (goOn bool)
}

// Build builds a model as ferrum_executor_build does.
func (b *Backend) Build(s Source) (*Executor, error) {
	request := newStruct[buildRequest]()
	request.path, request.compute, request.elasticPool = text(s.Path), b.compute, b.pool
	request.definitionJSON, request.definitionBytes = bytesOf(s.Definition), uint64(len(s.Definition))
	if s.Progress != nil {
		b.l.onProgress, request.progress = s.Progress, b.l.progress
		defer func() { b.l.onProgress = nil }()
	}
	e := &Executor{l: b.l, device: b.device}
	if err := b.l.call(&b.l.build, dl.Pointer(request), dl.Pointer(&e.handle)); err != nil {
		return nil, err
	}
	runtime.KeepAlive(request)
	return e, nil
}
