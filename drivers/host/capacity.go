package host

import (
	"math/bits"
	"os"
	"sync/atomic"

	"ferrum_mem/core/device"
)

// The granularity is the same on machines with 4, 16 and 64 KiB pages, and
// coarse enough to stay far from the limit on the number of mappings.
const minGranularityBytes = 64 << 10

func granularity() uint64 {
	return max(minGranularityBytes, uint64(os.Getpagesize()))
}

// memory is the capacity of one device and what is taken of it, by all opens of
// the device together.
type memory struct {
	capacity uint64
	held     atomic.Uint64
}

// take counts size bytes as held, or says how many are left when there is no
// room for them.
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

func (m *memory) giveBack(size uint64) { m.held.Add(-size) }

func (m *memory) room() uint64 { return m.capacity - m.held.Load() }

// available is what the system can still give to all host devices together, or
// unlimited when it is not known or the capacity is forced. Memory that is
// handed out but has not been touched is still free for the system; it is
// promised already, so it is taken off, except for what the caller itself has
// just counted as held. The files of movable pages are no anonymous memory, and
// have theirs also while nothing is mapped.
func (d *Driver) available(ownBytes uint64) uint64 {
	if d.settings.forced {
		return unlimited
	}
	available := d.system.available()
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

// free is what can still be had from one device. The system's memory is shared
// by all of them, so where it does not reach for the room that they have left,
// each is given a part in proportion to its own: together they never promise
// more than there is.
func (d *Driver) free(m *memory) uint64 {
	var rooms uint64
	for _, other := range d.memories {
		rooms += other.room()
	}
	// A segment that is freed meanwhile must not make the part larger than the
	// whole.
	room := min(m.room(), rooms)
	if available := d.available(0); available < rooms {
		high, low := bits.Mul64(available, room)
		room, _ = bits.Div64(high, low, rooms)
	}
	return room - room%d.granularity
}

// deviceCapacity is the capacity of a device as its segments and pages are counted
// against it.
type deviceCapacity struct {
	driver *Driver
	memory *memory
	id     device.ID
}

// Hold counts bytes as held, if there is room for them under the capacity and in
// the system.
func (c deviceCapacity) Hold(op string, size uint64) error {
	if free, ok := c.memory.take(size); !ok {
		return device.Errorf(device.CodeOutOfMemory, op,
			"size %d: %d bytes of the capacity of %d are free", size, free, c.memory.capacity).On(c.id)
	}
	if available := c.driver.available(size); size > available {
		c.memory.giveBack(size)
		return device.Errorf(device.CodeOutOfMemory, op,
			"size %d: the system has %d bytes available for this process; %d of the capacity of %d are free",
			size, available, c.memory.room(), c.memory.capacity).On(c.id)
	}
	return nil
}

// GiveBack counts bytes as held no more.
func (c deviceCapacity) GiveBack(size uint64) { c.memory.giveBack(size) }

// Bytes is the capacity.
func (c deviceCapacity) Bytes() uint64 { return c.memory.capacity }

// Room is how many bytes of it are free.
func (c deviceCapacity) Room() uint64 { return c.memory.room() }
