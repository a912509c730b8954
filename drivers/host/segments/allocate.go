package segments

import (
	"errors"
	"math"
	"syscall"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/gate"
	"ferrum_mem/drivers/host/mapping"
)

// Capacity counts the segments of one device.
type Capacity interface {
	// Hold counts bytes as held, or returns why they do not fit.
	Hold(op string, size uint64) error
	ReleaseBytes(size uint64)
	// Bytes returns the limit of held bytes. FreeBytes returns how many more can be held.
	Bytes() uint64
	FreeBytes() uint64
}

// Allocator allocates the segments of one device.
type Allocator struct {
	id          device.ID
	calls       *mapping.Calls
	granularity uint64
	capacity    Capacity
	gate        *gate.Gate
	// lockLimits returns how much memory the process may lock (the largest value means no
	// limit), and how much it has locked.
	lockLimits func() (limit, locked uint64)

	segments table
}

// New returns an allocator without segments.
func New(
	id device.ID, calls *mapping.Calls, granularity uint64, capacity Capacity, gate *gate.Gate, lockLimits func() (limit, locked uint64),
) *Allocator {
	return &Allocator{id: id, calls: calls, granularity: granularity, capacity: capacity, gate: gate, lockLimits: lockLimits}
}

func (a *Allocator) errorf(code device.Code, op, format string, args ...any) error {
	return device.Errorf(code, op, format, args...).On(a.id)
}

// Alloc maps a segment. The system provides memory when a page is first touched. A segment
// of at least 2 MiB gets huge pages if the system has them; its address is a multiple of 2
// MiB for that. If the size does not fit in the capacity or, unless the capacity is forced,
// in the system's free memory, Alloc returns CodeOutOfMemory. Without that check the first
// touch would end the process.
func (a *Allocator) Alloc(size uint64) (device.Addr, error) {
	const op = "host.alloc"
	if err := a.startAllocation(op, size); err != nil {
		return 0, err
	}
	found, err := a.take(op, size)
	if err != nil {
		a.gate.Remove(gate.Segments, 1)
		return 0, err
	}
	a.segments.insert(found)
	return device.Addr(found.Base), nil
}

// startAllocation counts a segment before it exists.
func (a *Allocator) startAllocation(op string, size uint64) error {
	if err := a.gate.Check(op); err != nil {
		return err
	}
	if size == 0 || size%a.granularity != 0 {
		return a.errorf(device.CodeInvalidSize, op, "size %d: want a multiple of %d, not 0", size, a.granularity)
	}
	return a.gate.Add(op, gate.Segments, 1)
}

func (a *Allocator) take(op string, size uint64) (*Segment, error) {
	if err := a.capacity.Hold(op, size); err != nil {
		return nil, err
	}
	align := a.granularity
	if size >= mapping.HugePageBytes {
		align = max(align, mapping.HugePageBytes)
	}
	found, err := a.calls.Aligned(size, align, a.calls.Reserve)
	if err == nil {
		if size >= mapping.HugePageBytes {
			a.calls.AdviseHuge(found.Base, size)
		}
		return &Segment{Range: found}, nil
	}
	a.capacity.ReleaseBytes(size)
	number := mapping.Errno(err)
	code := device.CodeMappingFailed
	if number == syscall.ENOMEM {
		code = device.CodeOutOfMemory
	}
	return nil, device.Errorf(code, op,
		"size %d: the system did not map it, %v of the capacity of %v are free: %w",
		size, device.Size(a.capacity.FreeBytes()), device.Size(a.capacity.Bytes()), err).On(a.id).WithNative(int64(number))
}

// Free unmaps a segment, and its memory belongs to the system again when Free returns.
// Unless Alloc returned this address with this size and it was not freed since, the call
// returns CodeInvalidAddress. While queued work uses the segment, it returns CodeBusy.
func (a *Allocator) Free(addr device.Addr, size uint64) error {
	return a.free("host.free", addr, size, false)
}

func (a *Allocator) free(op string, addr device.Addr, size uint64, locked bool) error {
	if err := a.gate.Check(op); err != nil {
		return err
	}
	found, err := a.segments.remove(op, addr, size, locked)
	if err != nil {
		return device.About(a.id, err)
	}
	if err := a.calls.Release(found.MapBase, found.MapSize); err != nil {
		a.segments.insert(found)
		return device.Errorf(device.CodeUnmappingFailed, op,
			"address %#x, size %d: the system did not unmap it: %w", uint64(addr), size, err).
			On(a.id).WithNative(int64(mapping.Errno(err)))
	}
	a.capacity.ReleaseBytes(size)
	a.gate.Remove(gate.Segments, 1)
	return nil
}

// AllocPinned maps a segment and locks all of it in memory.
func (a *Allocator) AllocPinned(size uint64) (device.PinnedMemory, error) {
	const op = "host.alloc_pinned"
	if err := a.startAllocation(op, size); err != nil {
		return device.PinnedMemory{}, err
	}
	found, err := a.take(op, size)
	if err != nil {
		a.gate.Remove(gate.Segments, 1)
		return device.PinnedMemory{}, err
	}
	if err := a.calls.Lock(found.Base, size); err != nil {
		failure := a.refusedLock(op, size, err)
		if err := a.calls.Release(found.MapBase, found.MapSize); err != nil {
			// The segment stays mapped, and counted as held, until the process ends.
			failure = errors.Join(failure, err)
		} else {
			a.capacity.ReleaseBytes(size)
		}
		a.gate.Remove(gate.Segments, 1)
		return device.PinnedMemory{}, failure
	}
	found.locked = true
	a.segments.insert(found)
	return device.PinnedMemory{Addr: device.Addr(found.Base), HostAddr: device.HostAddr(found.Base)}, nil
}

// FreePinned unlocks and unmaps a segment of AllocPinned.
func (a *Allocator) FreePinned(addr device.Addr, size uint64) error {
	return a.free("host.free_pinned", addr, size, true)
}

// refusedLock returns why memory could not be locked: the limit, if the size would exceed
// it, or else a lack of memory.
func (a *Allocator) refusedLock(op string, size uint64, err error) error {
	number := mapping.Errno(err)
	limit, locked := a.lockLimits()
	if number == syscall.EPERM || limit != math.MaxUint64 && (locked > limit || size > limit-locked) {
		return device.Errorf(device.CodeResourceExhausted, op,
			"size %d: the system did not lock it in memory: the limit on locked memory (RLIMIT_MEMLOCK, ulimit -l) "+
				"is %v, of which %v are in use: %w", size, device.Size(limit), device.Size(locked), err).On(a.id).
			WithNative(int64(number))
	}
	return device.Errorf(device.CodeOutOfMemory, op, "size %d: the system did not lock it in memory: %w", size, err).
		On(a.id).WithNative(int64(number))
}

// Acquire finds the segment that contains the whole range, and counts an operation in
// flight on it.
func (a *Allocator) Acquire(op, what string, addr device.Addr, size uint64) (*Segment, error) {
	found, err := a.segments.acquire(op, what, addr, size)
	if err != nil {
		return nil, device.About(a.id, err)
	}
	return found, nil
}

// Overlaps states whether a range overlaps a segment. The end of the range must fit in 64
// bits.
func (a *Allocator) Overlaps(base, size uint64) bool { return a.segments.overlaps(base, size) }
