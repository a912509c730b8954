package virtual

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/gate"
	"ferrum_mem/drivers/host/mapping"
)

// Capacity counts the pages of one device.
type Capacity interface {
	// Hold counts bytes as held, or returns why they do not fit.
	Hold(op string, size uint64) error
	ReleaseBytes(size uint64)
	// Bytes returns the limit of held bytes.
	Bytes() uint64
}

// Memory is the virtual memory of one open device.
type Memory struct {
	system   *System
	id       device.ID
	capacity Capacity
	gate     *gate.Gate

	// count is len(reservations). It can be read without the lock.
	count atomic.Int64

	mu sync.Mutex
	// reservations are sorted by base.
	reservations []*reservation
	stores       []*store
	// found is the buffer for the result of look.
	found []listed
	// lists are lists of runs that calls have returned for reuse.
	lists [][]run
}

// supported returns the calls of the system, or an error if the system has no virtual
// memory.
func (v *Memory) supported(op string) (*mapping.VirtualCalls, error) {
	if m := v.system.calls.Virtual; m != nil {
		return m, nil
	}
	return nil, v.errorf(device.CodeUnsupported, op,
		"reserving address space without memory needs memory files with holes, which only Linux has")
}

// usable returns an error if the system has no virtual memory, or the device is closed.
func (v *Memory) usable(op string) error {
	if _, err := v.supported(op); err != nil {
		return err
	}
	return v.gate.Check(op)
}

// Granularity returns 64 KiB, or the system's page size if that is larger, and the size of
// a huge page.
func (v *Memory) Granularity() device.Granularity {
	return device.Granularity{MinimumBytes: v.system.granularity, RecommendedBytes: max(mapping.HugePageBytes, v.system.granularity)}
}

// New returns the virtual memory of an open device.
func New(system *System, id device.ID, capacity Capacity, gate *gate.Gate) *Memory {
	return &Memory{system: system, id: id, capacity: capacity, gate: gate}
}

func (v *Memory) errorf(code device.Code, op, format string, args ...any) error {
	return device.Errorf(code, op, format, args...).On(v.id)
}

// about adds the device to an error that was created without it.
func (v *Memory) about(err error) error { return device.About(v.id, err) }

// checkRange returns an error for a size or address that cannot be a range of pages.
func (v *Memory) checkRange(op string, addr device.Addr, size uint64) error {
	if err := v.checkSize(op, size); err != nil {
		return err
	}
	return v.checkAddress(op, addr)
}

func (v *Memory) checkSize(op string, size uint64) error {
	if size == 0 || size%v.system.granularity != 0 {
		return v.errorf(device.CodeInvalidSize, op,
			"size %d: want a multiple of %d, not 0", size, v.system.granularity)
	}
	return nil
}

func (v *Memory) checkAddress(op string, addr device.Addr) error {
	if uint64(addr)%v.system.granularity != 0 {
		return v.errorf(device.CodeInvalidOffset, op,
			"address %#x: want a multiple of %d", uint64(addr), v.system.granularity)
	}
	return nil
}

// Reserve reserves address space. A reservation of at least 2 MiB starts at a multiple of 2
// MiB, whatever the alignment is.
func (v *Memory) Reserve(size, align uint64) (device.Addr, error) {
	const op = "host.reserve"
	m, err := v.supported(op)
	if err != nil {
		return 0, err
	}
	if err := v.checkSize(op, size); err != nil {
		return 0, err
	}
	if bits.OnesCount64(align) != 1 || align < v.system.granularity {
		return 0, v.errorf(device.CodeInvalidAlignment, op,
			"alignment %d: want a power of two of at least %d", align, v.system.granularity)
	}
	if err := v.gate.Add(op, gate.Reservations, 1); err != nil {
		return 0, err
	}
	if size >= mapping.HugePageBytes {
		align = max(align, mapping.HugePageBytes)
	}
	mapping, err := v.system.calls.Aligned(size, align, m.Reserve)
	if err != nil {
		v.gate.Remove(gate.Reservations, 1)
		return 0, v.systemError(op, device.CodeOutOfVirtualMemory, v.refused(err), fmt.Sprintf("size %d, alignment %d", size, align))
	}
	v.insert(&reservation{mapping: mapping})
	return device.Addr(mapping.Base), nil
}

func (v *Memory) insert(r *reservation) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reservations = slices.Insert(v.reservations, v.place(r), r)
	v.count.Add(1)
}

// place returns the index of a reservation in the table, or the index where it belongs.
func (v *Memory) place(r *reservation) int {
	i, _ := slices.BinarySearchFunc(v.reservations, r.base(), func(other *reservation, base uint64) int {
		return cmp.Compare(other.base(), base)
	})
	return i
}

// Unreserve unmaps the address space and frees the records about it.
func (v *Memory) Unreserve(addr device.Addr, size uint64) error {
	const op = "host.unreserve"
	if _, err := v.supported(op); err != nil {
		return err
	}
	if err := v.gate.Check(op); err != nil {
		return err
	}
	r, err := v.remove(op, uint64(addr), size)
	if err != nil {
		return v.about(err)
	}
	if err := v.system.calls.Release(r.mapping.MapBase, r.mapping.MapSize); err != nil {
		v.insert(r)
		return v.systemError(op, device.CodeUnmappingFailed, v.refused(err), fmt.Sprintf("address %#x, size %d", uint64(addr), size))
	}
	v.gate.Remove(gate.Reservations, 1)
	return nil
}

// remove removes a reservation from the table. insert undoes it.
func (v *Memory) remove(op string, address, size uint64) (*reservation, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.reservationAt(address)
	if r == nil || r.base() != address || r.size() != size {
		return nil, device.Errorf(device.CodeInvalidAddress, op,
			"address %#x, size %d: no reservation has this address and size", address, size)
	}
	if r.mapped > 0 {
		return nil, device.Errorf(device.CodeBusy, op,
			"address %#x, size %d: mapped there: %s", address, size, device.Count(r.mapped, "page"))
	}
	if r.dropping > 0 {
		return nil, device.Errorf(device.CodeBusy, op, "address %#x, size %d: another call drops contents there", address, size)
	}
	at := v.place(r)
	v.reservations = slices.Delete(v.reservations, at, at+1)
	v.count.Add(-1)
	return r, nil
}

// Close closes the files. The device has been closed, and no pages are left.
func (v *Memory) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range v.stores {
		if s.backing == device.BackingMovable {
			v.system.files.forgetFile(s.fd)
		}
	}
	v.stores = nil
}

// refusal is the reason why the system rejected a call, as it was at that moment.
type refusal struct {
	err error
	// mappings is the number of mappings of the process, if that may be the reason.
	mappings uint64
}

// refused must be called before anything is undone, because undoing lowers the number of
// mappings.
func (v *Memory) refused(err error) refusal {
	why := refusal{err: err}
	if mapping.Errno(err) == syscall.ENOMEM {
		m := v.system.calls.Virtual
		given := spare.give(m)
		why.mappings = m.Mappings() + given
	}
	return why
}

// systemError returns the error of a call that the system rejected, with the reason if it
// can be determined: the system has one number for a lack of memory and for too many
// mappings.
func (v *Memory) systemError(op string, code device.Code, why refusal, what string) error {
	number := mapping.Errno(why.err)
	switch number {
	case syscall.ENOMEM:
		if bound := v.system.mappings.bound; bound != 0 && why.mappings+mappingSlack >= bound {
			return device.Errorf(device.CodeResourceExhausted, op,
				"%s: this process has %d mappings and vm.max_map_count is %d: %w", what, why.mappings, bound, why.err).
				On(v.id).WithNative(int64(number))
		}
		if code != device.CodeOutOfVirtualMemory {
			code = device.CodeOutOfMemory
		}
	case syscall.ENOSPC:
		code = device.CodeOutOfMemory
	case syscall.EMFILE, syscall.ENFILE:
		code = device.CodeResourceExhausted
	}
	return device.Errorf(code, op, "%s: the system rejected the call: %w", what, why.err).On(v.id).WithNative(int64(number))
}

// reservationAt returns the reservation that contains an address, or nil. The caller holds
// v.mu.
func (v *Memory) reservationAt(address uint64) *reservation {
	i, exact := slices.BinarySearchFunc(v.reservations, address, func(r *reservation, target uint64) int {
		switch {
		case r.base() < target:
			return -1
		case r.base() > target:
			return 1
		}
		return 0
	})
	if !exact {
		i--
	}
	if i < 0 || address-v.reservations[i].base() >= v.reservations[i].size() {
		return nil
	}
	return v.reservations[i]
}

// reservationOf returns the reservation that contains a whole range, or nil. The caller
// holds v.mu.
func (v *Memory) reservationOf(address, size uint64) *reservation {
	r := v.reservationAt(address)
	if r == nil || size > r.size()-(address-r.base()) {
		return nil
	}
	return r
}

// find returns the store and the index of a page that exists.
func (v *Memory) find(page device.Page) (s *store, index uint64, ok bool) {
	index = uint64(page)&math.MaxUint32 - 1
	number := uint64(page) >> indexBits & (1<<storeBits - 1)
	if number >= uint64(len(v.stores)) {
		return nil, 0, false
	}
	s = v.stores[number]
	if index >= uint64(len(s.pages)) || s.pages[index].state == pageFree || s.page(index) != page {
		return nil, 0, false
	}
	return s, index, true
}

// of is like find, for a page that surely exists because it is mapped.
func (v *Memory) of(page device.Page) (s *store, index uint64) {
	return v.stores[uint64(page)>>indexBits&(1<<storeBits-1)], uint64(page)&math.MaxUint32 - 1
}

// takeMappings counts mappings that a call needs, or releases them if growth is negative.
func (v *Memory) takeMappings(op string, growth int64) error {
	m := &v.system.mappings
	if growth > 0 && m.bound != 0 {
		if err := spare.have(v.system.calls.Virtual); err != nil {
			return device.Errorf(device.CodeResourceExhausted, op,
				"%s more: the system did not provide a spare one (vm.max_map_count is %d, and memory or address space may be limited): %w",
				device.Count(growth, "mapping"), m.bound, err).WithNative(int64(mapping.Errno(err)))
		}
	}
	return m.take(op, growth)
}
