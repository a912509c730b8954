package host

import (
	"errors"
	"strconv"
	"strings"
	"syscall"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// AllocPinned maps a segment and has the system lock all of it in memory.
func (o *openDevice) AllocPinned(size uint64) (device.PinnedMemory, error) {
	const op = "host.alloc_pinned"
	if err := o.startAllocation(op, size); err != nil {
		return device.PinnedMemory{}, err
	}
	found, err := o.take(op, size)
	if err != nil {
		o.ended()
		return device.PinnedMemory{}, err
	}
	if err := o.driver.mapper.Lock(found.Base, size); err != nil {
		failure := o.refusedLock(op, size, err)
		if err := o.driver.mapper.Release(found.MapBase, found.MapSize); err != nil {
			// It stays mapped, and counted as held, until the process ends.
			failure = errors.Join(failure, err)
		} else {
			o.capacity.GiveBack(size)
		}
		o.ended()
		return device.PinnedMemory{}, failure
	}
	found.locked = true
	o.segments.insert(found)
	return device.PinnedMemory{Addr: device.Addr(found.Base), HostAddr: device.HostAddr(found.Base)}, nil
}

// FreePinned unlocks and unmaps a segment of AllocPinned.
func (o *openDevice) FreePinned(addr device.Addr, size uint64) error {
	return o.free("host.free_pinned", addr, size, true)
}

// refusedLock says why memory could not be locked: the bound, where there is one
// that the size would break, or else a lack of memory.
func (o *openDevice) refusedLock(op string, size uint64, err error) error {
	number := mapping.Errno(err)
	limit, locked := o.driver.system.memlockLimit(), o.driver.system.lockedBytes()
	if number == syscall.EPERM || limit != unlimited && (locked > limit || size > limit-locked) {
		return device.Errorf(device.CodeResourceExhausted, op,
			"size %d: the system refused to lock it in memory: the limit on locked memory (RLIMIT_MEMLOCK, ulimit -l) "+
				"is %d bytes, of which %d are in use: %w", size, limit, locked, err).On(o.info.ID).
			WithNative(int64(number))
	}
	return device.Errorf(device.CodeOutOfMemory, op, "size %d: the system refused to lock it in memory: %w", size, err).
		On(o.info.ID).WithNative(int64(number))
}

// lockedBytes is how much memory the process has locked, 0 where that is not known.
func (s *system) lockedBytes() uint64 {
	for line := range strings.Lines(s.read("proc/self/status")) {
		rest, found := strings.CutPrefix(line, "VmLck:")
		words := strings.Fields(rest)
		if !found || len(words) < 1 {
			continue
		}
		kib, err := strconv.ParseUint(words[0], 10, 53)
		if err != nil {
			return 0
		}
		return kib << 10
	}
	return 0
}
