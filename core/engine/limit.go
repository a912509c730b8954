package engine

import (
	"math"
	"math/bits"

	"ferrum_mem/core/device"
)

// RoundUp rounds a size up to the device's granularity; false: the result overflows.
func (e *Engine) RoundUp(size uint64) (uint64, bool) {
	granularity := e.info.GranularityBytes
	rest := size % granularity
	if rest == 0 {
		return size, true
	}
	sum, carry := bits.Add64(size, granularity-rest, 0)
	return sum, carry == 0
}

// RoundDown rounds a size down to the device's granularity.
func (e *Engine) RoundDown(size uint64) uint64 {
	return size - size%e.info.GranularityBytes
}

// Limit returns the present limit; 0: none. It takes no lock.
func (e *Engine) Limit() uint64 { return e.limit.Load() }

// Capacity returns TotalBytes as a bound: math.MaxUint64 if it is not known.
func (e *Engine) Capacity() uint64 {
	if total := e.TotalBytes(); total != 0 {
		return total
	}
	return math.MaxUint64
}

// TotalBytes returns the most that this library may ever hold of the device: its size
// or the limit, whichever is less; 0 if neither is known.
func (e *Engine) TotalBytes() uint64 { return totalWithin(e.info.TotalBytes, e.Limit()) }

// totalWithin returns the total for utilization and pressure: the limit (0: none), or
// the size of the device (0: not known) if that is less.
func totalWithin(deviceBytes, limitBytes uint64) uint64 {
	if deviceBytes == 0 || limitBytes == 0 {
		return max(deviceBytes, limitBytes)
	}
	return min(deviceBytes, limitBytes)
}

// room is a reading of the device, restricted by the limit.
type room struct {
	device     device.MemoryReading
	limitBytes uint64
	// totalBytes is the total, availableBytes the part that can still be allocated from
	// the device.
	totalBytes, availableBytes uint64
}

// roomOf compares a reading with the limit. If the device knows neither its size nor
// its free memory, the result is the rest of the limit. The caller holds Engine.mu.
func roomOf(reading device.MemoryReading, e *Engine) room {
	limit, headroom := e.limit.Load(), e.headroom()
	r := room{
		device: reading, limitBytes: limit, totalBytes: totalWithin(reading.TotalBytes, limit),
		availableBytes: min(reading.FreeBytes, headroom),
	}
	if limit != 0 && reading == (device.MemoryReading{}) {
		r.availableBytes = headroom
	}
	return r
}

// NeverFits returns an error if a segment of that size is above the capacity or the
// limit of the device, and nil otherwise. The limit does not apply to a source that the
// device does not hold. what names the argument that requests it, and its value.
func (e *Engine) NeverFits(from Source, op, what string, size uint64) error {
	if total := e.info.TotalBytes; total != 0 && size > total {
		return device.Errorf(device.CodeOutOfMemory, op,
			"%s can never fit: that takes %v, the device has %v", what, device.Size(size), device.Size(total)).On(e.ID()).
			Stating(device.FactRequestedBytes, size).Stating(device.FactCapacityBytes, total)
	}
	if limit := e.Limit(); limit != 0 && size > limit && e.Holds(from) {
		return device.Errorf(device.CodeOutOfMemory, op,
			"%s can never fit: that takes %v, the limit of the device is %v", what, device.Size(size), device.Size(limit)).On(e.ID()).
			Stating(device.FactRequestedBytes, size).Stating(device.FactCapacityBytes, limit)
	}
	return nil
}

// charge counts as much of a segment as the limit allows.
func (e *Engine) charge(want Want) (uint64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return 0, e.closedError("engine.reserve")
	}
	if !e.Holds(want.Source) {
		return want.PreferredBytes, nil
	}
	granted := want.PreferredBytes
	if e.limit.Load() != 0 {
		granted = min(granted, e.RoundDown(e.headroom()))
	}
	if granted < want.MinBytes {
		return 0, device.Errorf(device.CodeOutOfMemory, "engine.reserve",
			"a segment of %v: the limit of the device is %v and %v are held",
			device.Size(want.MinBytes), device.Size(e.limit.Load()), device.Size(e.held)).On(e.ID()).Stating(device.FactRequestedBytes, want.MinBytes).
			Stating(device.FactAvailableBytes, e.headroom())
	}
	after, carry := bits.Add64(e.held, granted, 0)
	if carry != 0 {
		return 0, device.Errorf(device.CodeOverflow, "engine.reserve",
			"a segment of %v: with the %v held that overflows", device.Size(granted), device.Size(e.held)).On(e.ID())
	}
	e.held = after
	return granted, nil
}

func (e *Engine) discharge(size uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held -= size
}

// headroom returns how much the limit still allows to allocate. The caller holds mu.
func (e *Engine) headroom() uint64 {
	limit := e.limit.Load()
	if limit == 0 {
		return math.MaxUint64
	}
	return limit - min(e.held, limit)
}

// uncharge subtracts a segment from the held bytes.
func (e *Engine) uncharge(size uint64, from Source) {
	if e.Holds(from) {
		e.discharge(size)
	}
}
