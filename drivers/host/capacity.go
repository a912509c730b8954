package host

import (
	"math/bits"
	"os"
	"sync/atomic"

	"ferrum_mem/core/device"
)

// The granularity is the same on machines with pages of 4, 16 and 64 KiB. It is coarse
// enough to stay far from the limit on the number of mappings.
const minGranularityBytes = 64 << 10

func granularity() uint64 {
	return max(minGranularityBytes, uint64(os.Getpagesize()))
}

// memory is the capacity of one device and the part of it in use. All opens of the device
// share it.
type memory struct {
	capacity uint64
	held     atomic.Uint64
}

// take counts size bytes as held. If they do not fit, it returns how many are free.
func (m *memory) take(size uint64) (free uint64, ok bool) {
	for {
		held := m.held.Load()
		if size > m.capacity-held {
			return m.capacity - held, false
		}
		if m.held.CompareAndSwap(held, held+size) {
			return m.capacity - held - size, true
		}
	}
}

func (m *memory) release(size uint64) { m.held.Add(-size) }

func (m *memory) free() uint64 { return m.capacity - m.held.Load() }

// available is the number of bytes that the system can still provide to all host devices
// together. It is unlimited if that is not known or the capacity is forced. For the system,
// allocated memory that was not touched is still free. It is promised already, so it is
// subtracted, except for ownBytes, which the caller itself has just counted as held. The
// files of movable pages are not anonymous memory, and they have memory also while nothing
// is mapped.
func (d *Driver) available(ownBytes uint64) uint64 {
	if d.settings.forced {
		return unlimited
	}
	available := d.system.Available()
	if available == unlimited {
		return unlimited
	}
	var held uint64
	for _, m := range d.memories {
		held += m.held.Load()
	}
	held -= min(held, ownBytes)
	promised := held - min(held, d.system.anonymousResident()+d.virtual.FileBytes())
	return available - min(available, promised)
}

// free is the number of bytes that one device can still provide. All devices share the
// system's memory. If it is less than the sum of their free capacities, each device gets a
// part in proportion to its own free capacity. So together they never promise more than
// there is.
func (d *Driver) free(m *memory) uint64 {
	var allFree uint64
	for _, other := range d.memories {
		allFree += other.free()
	}
	// A segment that is freed meanwhile must not make the part larger than the whole.
	free := min(m.free(), allFree)
	if available := d.available(0); available < allFree {
		high, low := bits.Mul64(available, free)
		free, _ = bits.Div64(high, low, allFree)
	}
	return free - free%d.granularity
}

// deviceCapacity is the capacity of a device, against which its segments and pages are
// counted.
type deviceCapacity struct {
	driver *Driver
	memory *memory
	id     device.ID
}

// Hold counts bytes as held, if they fit in the capacity and in the free memory of the
// system.
func (c deviceCapacity) Hold(op string, size uint64) error {
	if free, ok := c.memory.take(size); !ok {
		return device.Errorf(device.CodeOutOfMemory, op,
			"size %d: %v of the capacity of %v are free", size, device.Size(free), device.Size(c.memory.capacity)).On(c.id)
	}
	if available := c.driver.available(size); size > available {
		c.memory.release(size)
		return device.Errorf(device.CodeOutOfMemory, op,
			"size %d: the system has %v available for this process; %v of the capacity of %v are free",
			size, device.Size(available), device.Size(c.memory.free()), device.Size(c.memory.capacity)).On(c.id)
	}
	return nil
}

// ReleaseBytes stops counting bytes as held.
func (c deviceCapacity) ReleaseBytes(size uint64) { c.memory.release(size) }

// Bytes returns the capacity.
func (c deviceCapacity) Bytes() uint64 { return c.memory.capacity }

// FreeBytes returns the free bytes of the capacity.
func (c deviceCapacity) FreeBytes() uint64 { return c.memory.free() }
