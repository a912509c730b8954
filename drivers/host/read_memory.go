package host

import "ferrum_mem/core/device"

var _ device.MemoryReader = (*Driver)(nil)

// ReadMemory returns the same values as Memory of the open device.
func (d *Driver) ReadMemory(index int) (device.MemoryReading, error) {
	if err := d.look(); err != nil {
		return device.MemoryReading{}, err
	}
	if index < 0 || index >= len(d.memories) {
		return device.MemoryReading{}, device.Errorf(device.CodeDeviceNotFound, "host.read_memory",
			"device %s:%d: this process has %s", Backend, index, device.Count(len(d.memories), "host device"))
	}
	m := d.memories[index]
	return device.MemoryReading{TotalBytes: m.capacity, FreeBytes: d.free(m)}, nil
}
