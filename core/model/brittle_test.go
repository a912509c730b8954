package model_test

import (
	"sync"
	"time"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/operator"
	"ferrum_mem/engines"
)

// brittle is the host device. It counts the calls that take or map memory, and can make one of them fail.
type brittle struct {
	device.Device
	device.VirtualMemory
	first *brittleStream

	mu             sync.Mutex
	calls, failing int
	// taken counts the calls that take memory.
	taken int
}

var errBroken = device.Errorf(device.CodeResourceExhausted, "brittle", "this call is broken")

func (d *brittle) call() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls++; d.calls == d.failing {
		return errBroken
	}
	return nil
}

// take is call for a call that takes memory.
func (d *brittle) take() error {
	d.mu.Lock()
	d.taken++
	d.mu.Unlock()
	return d.call()
}

// failAt makes one call fail, by its number counted from now; 0: none.
func (d *brittle) failAt(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.failing = 0, n
}

// counted returns the number of calls since failAt, and lets all calls succeed again.
func (d *brittle) counted() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.calls
	d.calls, d.failing = 0, 0
	return n
}

func (d *brittle) Info() device.Info {
	inner := d.Device.Info()
	return device.Info{
		ID: inner.ID, Name: "brittle", TotalBytes: inner.TotalBytes, GranularityBytes: inner.GranularityBytes,
		AlignmentBytes: inner.AlignmentBytes, HostAddressable: true, VirtualMemory: true,
	}
}

func (d *brittle) Alloc(size uint64) (device.Addr, error) {
	if err := d.take(); err != nil {
		return 0, err
	}
	return d.Device.Alloc(size)
}

func (d *brittle) DefaultStream() device.Stream { return d.first }

func (d *brittle) NewStream() (device.Stream, error) {
	if err := d.call(); err != nil {
		return nil, err
	}
	inner, err := d.Device.NewStream()
	return &brittleStream{Stream: inner, of: d}, err
}

type brittleStream struct {
	device.Stream
	of *brittle
}

func (s *brittleStream) HostWork(fn func() error) error {
	if err := s.of.call(); err != nil {
		return err
	}
	return s.Stream.(device.HostWorker).HostWork(fn)
}

func (s *brittleStream) Synchronize(timeout time.Duration) error {
	if err := s.of.call(); err != nil {
		return err
	}
	return s.Stream.Synchronize(timeout)
}

func (s *brittleStream) Idle() (bool, error) {
	if err := s.of.call(); err != nil {
		return false, err
	}
	return s.Stream.Idle()
}

func (s *brittleStream) RecordEvent() (device.Event, error) {
	if err := s.of.call(); err != nil {
		return nil, err
	}
	return s.Stream.RecordEvent()
}

func (d *brittle) Reserve(size, align uint64) (device.Addr, error) {
	if err := d.take(); err != nil {
		return 0, err
	}
	return d.VirtualMemory.Reserve(size, align)
}

func (d *brittle) Create(pages []device.Page, pageBytes uint64, backing device.Backing) error {
	if err := d.take(); err != nil {
		return err
	}
	return d.VirtualMemory.Create(pages, pageBytes, backing)
}

func (d *brittle) Map(addr device.Addr, pages []device.Page) error {
	if err := d.take(); err != nil {
		return err
	}
	return d.VirtualMemory.Map(addr, pages)
}

func (d *brittle) SetAccess(addr device.Addr, size uint64, access device.Access) error {
	if err := d.call(); err != nil {
		return err
	}
	return d.VirtualMemory.SetAccess(addr, size, access)
}

func (d *brittle) Unmap(addr device.Addr, size uint64) error {
	if err := d.call(); err != nil {
		return err
	}
	return d.VirtualMemory.Unmap(addr, size)
}

// brittleEngine is an engine whose calls can be made to fail.
type brittleEngine struct {
	compute.Engine
	call func() error
}

func (e brittleEngine) Plan(r compute.Request) (compute.Plan, error) {
	if err := e.call(); err != nil {
		return nil, err
	}
	return e.Engine.Plan(r)
}

func (e brittleEngine) Divides(whole, part compute.Plan) bool {
	return e.Engine.(compute.Divider).Divides(whole, part)
}

func (e brittleEngine) Bind(steps []compute.Step) (func() error, error) {
	if err := e.call(); err != nil {
		return nil, err
	}
	return e.Engine.Bind(steps)
}

func (e brittleEngine) Pack(o *operator.Operator, input int, from compute.Operand) (compute.Packed, error) {
	if err := e.call(); err != nil {
		return compute.Packed{}, err
	}
	packed, err := e.Engine.Pack(o, input, from)
	write := packed.Write
	packed.Write = func(from, to device.Addr) error {
		if err := e.call(); err != nil {
			return err
		}
		return write(from, to)
	}
	return packed, err
}

// engines returns the engines of this build, with calls that can be made to fail.
func (d *brittle) engines() []backend.Engine {
	list := engines.List()
	for i := range list {
		open := list[i].New
		if open == nil {
			continue // an engine of graphs takes memory of this device
		}
		list[i].New = func(o compute.Options) (compute.Engine, error) {
			made, err := open(o)
			return brittleEngine{made, d.call}, err
		}
	}
	return list
}
