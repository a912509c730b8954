package host

import (
	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/gate"
	"ferrum_mem/drivers/host/segments"
	"ferrum_mem/drivers/host/streams"
	"ferrum_mem/drivers/host/virtual"
)

// openDevice is the result of one call that opened a device. Each of its parts has its own
// lock. The gate states whether the device is open.
type openDevice struct {
	*segments.Allocator
	*streams.Set
	device.VirtualMemory
	device.ContentKeeper
	device.Exporter

	driver   *Driver
	info     device.Info
	capacity deviceCapacity
	gate     *gate.Gate
	// foreign is external memory that was adopted or linked.
	foreign *segments.Foreign
	// virtual implements the methods of device.VirtualMemory, device.ContentKeeper and
	// device.Exporter.
	virtual *virtual.Memory
}

var (
	_ device.Device        = (*openDevice)(nil)
	_ device.Peer          = (*openDevice)(nil)
	_ device.HostVisible   = (*openDevice)(nil)
	_ device.VirtualMemory = (*openDevice)(nil)
	_ device.ContentKeeper = (*openDevice)(nil)
	_ device.PinnedHost    = (*openDevice)(nil)
	_ device.Adopter       = (*openDevice)(nil)
	_ device.Linker        = (*openDevice)(nil)
	_ device.Exporter      = (*openDevice)(nil)
	_ device.Prefetcher    = (*openDevice)(nil)
	_ device.StreamAdopter = (*openDevice)(nil)
)

func newOpenDevice(d *Driver, index int) *openDevice {
	info := d.info(index)
	id, capacity, gate := info.ID, deviceCapacity{driver: d, memory: d.memories[index], id: info.ID}, gate.New(info.ID)
	o := &openDevice{driver: d, info: info, capacity: capacity, gate: gate}
	o.Allocator = segments.New(id, &d.mapper, d.granularity, capacity, gate, d.system.lockLimits)
	o.foreign = segments.NewForeign(id, &d.mapper, gate)
	o.virtual = virtual.New(d.virtual, id, capacity, gate)
	o.VirtualMemory, o.ContentKeeper, o.Exporter = o.virtual, o.virtual, o.virtual
	o.Set = streams.New(id, o, gate, d.start)
	return o
}

func (o *openDevice) Info() device.Info { return o.info }

// errorf creates an error about this device.
func (o *openDevice) errorf(code device.Code, op, format string, args ...any) error {
	return device.Errorf(code, op, format, args...).On(o.info.ID)
}

// Memory returns the capacity of the device and its free memory: the free capacity, but at
// most its part of the system's available memory. That is MemAvailable and the free bytes
// under the limits of the control groups, minus allocated memory that was not touched yet.
// Several devices share the system's memory in proportion to their free capacity. A forced
// capacity is not compared with the system.
func (o *openDevice) Memory() (device.MemoryReading, error) {
	if err := o.gate.Check("host.memory"); err != nil {
		return device.MemoryReading{}, err
	}
	return device.MemoryReading{TotalBytes: o.capacity.Bytes(), FreeBytes: o.driver.free(o.capacity.memory)}, nil
}

// Close drains and stops the default stream, unless something keeps the device open.
func (o *openDevice) Close() error {
	if err := o.CloseDefault("host.close"); err != nil {
		return err
	}
	o.virtual.Close()
	return nil
}
