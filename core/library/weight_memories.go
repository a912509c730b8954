package library

import (
	"fmt"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/weights"
)

// TensorMemory names the memory for tensors by a handle. Exactly one of the handles is not 0.
type TensorMemory struct {
	Pool, VPool, ElasticPool, Device uint64
	// Model names a model of ElasticPool. OffsetBytes is the offset in VPool.
	Model       string
	OffsetBytes uint64
	Tag         string
}

// check rejects a request that does not name one memory. argument is the request in messages.
func (r *TensorMemory) check(op, argument string) error {
	wrong := func(format string, values ...any) error {
		return device.Errorf(device.CodeInvalidArgument, op, argument+" "+format, values...)
	}
	chosen := 0
	for _, handle := range []uint64{r.Pool, r.VPool, r.ElasticPool, r.Device} {
		if handle != 0 {
			chosen++
		}
	}
	switch {
	case chosen != 1:
		return wrong("has %d of pool, vpool, elastic_pool and device: want one", chosen)
	case r.Model != "" && r.ElasticPool == 0:
		return wrong("has the model %q and no elastic_pool", r.Model)
	case r.ElasticPool != 0 && r.Model == "":
		return wrong("has an elastic_pool and no model")
	case r.OffsetBytes != 0 && r.VPool == 0:
		return wrong("has offset_bytes %d and no vpool", r.OffsetBytes)
	}
	return nil
}

// heldMemory is memory in a pool that may be destroyed before the tensors are freed.
type heldMemory struct {
	weights.Memory
	// of is the pool.
	of member
	// isGone states that the pool, or the model, was destroyed.
	isGone func() bool
	// using is that of a pool of blocks; nil for pages, whose forced end waits for those who keep them awake.
	using *gate
}

func (m *heldMemory) KeepAwake() (release func(), err error) {
	if m.using != nil {
		return m.using.hold(m.of) // blocks do not sleep
	}
	release, err = m.Memory.KeepAwake()
	return release, CallError(err, m.of)
}

func (m *heldMemory) Alloc(size uint64, stream device.Stream) (device.Addr, error) {
	addr, err := m.Memory.Alloc(size, stream)
	return addr, CallError(err, m.of)
}

func (m *heldMemory) RecordStream(addr device.Addr, size uint64, stream device.Stream) error {
	return CallError(m.Memory.RecordStream(addr, size, stream), m.of)
}

// Free frees memory, unless it was freed with its pool.
func (m *heldMemory) Free(addr device.Addr, size uint64) error {
	err := m.Memory.Free(addr, size)
	if err != nil && m.isGone() {
		return nil
	}
	return CallError(err, m.of)
}

// callersMemory is a device whose tensors are all in memory of the caller.
type callersMemory struct{ device *Device }

func (m *callersMemory) Engine() *engine.Engine { return m.device.Engine }

func (m *callersMemory) KeepAwake() (release func(), err error) { return func() {}, nil }

// Sleeper is the memory itself.
func (m *callersMemory) Sleeper() any { return m }

func (m *callersMemory) Alloc(uint64, device.Stream) (device.Addr, error) {
	return 0, device.Errorf(device.CodeInvalidArgument, "weights.load", "the memory is a device: each of its tensors needs memory of the caller").On(m.device.Engine.ID())
}

func (m *callersMemory) RecordStream(device.Addr, uint64, device.Stream) error { return nil }

func (m *callersMemory) Free(device.Addr, uint64) error { return nil }

// memories finds the memories of a load, and adds their pools and devices to its set.
func (l *Loader) memories(op string, requests []TensorMemory, set *TensorSet) ([]weights.Memory, error) {
	memories := make([]weights.Memory, len(requests))
	for at := range requests {
		r := &requests[at]
		if err := r.check(op, fmt.Sprintf("request->memories[%d]", at)); err != nil {
			return nil, err
		}
		memory, of, err := l.memory(op, r, set)
		if err != nil {
			return nil, err
		}
		memories[at] = memory
		if !slices.Contains(set.devices, of) {
			set.devices = append(set.devices, of)
		}
	}
	return memories, nil
}

func (l *Loader) memory(op string, r *TensorMemory, set *TensorSet) (weights.Memory, *Device, error) {
	held := func(m weights.Memory, of member, isGone func() bool, holder *tensorHolder) *heldMemory {
		set.places = append(set.places, tensorPlace{holder: holder, model: r.Model, tag: r.Tag, isGone: isGone})
		return &heldMemory{Memory: m, of: of, isGone: isGone}
	}
	switch {
	case r.Pool != 0:
		p, err := l.library.Pool(op, r.Pool)
		if err != nil {
			return nil, nil, err
		}
		memory := held(weights.InPool(p.Pool, r.Tag), p, p.hasEnded, &p.held)
		memory.using = p.using
		return memory, p.device, nil
	case r.VPool != 0:
		p, err := l.library.VPool(op, r.VPool)
		if err != nil {
			return nil, nil, err
		}
		return held(weights.InRange(p.Pool, r.OffsetBytes, r.Tag), p, p.HasEnded, &p.held), p.device, nil
	case r.ElasticPool != 0:
		p, err := l.library.ElasticPool(op, r.ElasticPool)
		if err != nil {
			return nil, nil, err
		}
		model, err := p.held.callersModel(op, p.Elastic, r.Model)
		if err != nil {
			return nil, nil, CallError(err, p)
		}
		memory, err := weights.InModel(p.Elastic, r.Model, r.Tag)
		if err != nil {
			return nil, nil, CallError(err, p)
		}
		isGone := func() bool {
			now, err := p.Model(r.Model)
			return err != nil || now != model
		}
		return held(memory, p, isGone, &p.held), p.device, nil
	}
	d, err := l.library.Device(op, r.Device)
	if err != nil {
		return nil, nil, err
	}
	return &callersMemory{device: d}, d, nil
}
