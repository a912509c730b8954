package host

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"ferrum_mem/core/device"
)

// Virtual memory: a reservation is address space that nobody may touch. Private
// pages are memory that comes into being in place, in the reservation itself.
// Movable pages are parts of one file of memory for each page size, mapped over
// the reservation.
//
// What a page can be accessed by is what the system has: a range without access
// is the bare reservation or, for private pages, protected. So Map is notes only,
// and SetAccess is one call of the system for each run of private pages or of
// pages that follow each other in their file.
//
// Calls mark what they change, and let go of the lock while the system works;
// who meets a mark meanwhile is CodeBusy. When the system refuses in the middle,
// what was done is undone from the notes, which are brought up to date only at
// the end.

// virtualMemory is the virtual memory of one open device.
type virtualMemory struct {
	owner *openDevice

	// count is len(reservations), for who wants to know without the lock that
	// there is none.
	count atomic.Int64

	mu sync.Mutex
	// reservations are sorted by base.
	reservations []*reservation
	stores       []*store
	// found is where look puts its answer.
	found []listed
	// lists are lists of runs that calls have done with.
	lists [][]run
}

// virtualMapper is the system's part, or why the call cannot be.
func (o *openDevice) virtualMapper(op string) (*virtualMapper, error) {
	if m := o.driver.mapper.virtual; m != nil {
		return m, nil
	}
	return nil, o.errorf(device.CodeUnsupported, op,
		"address space apart from memory needs files of memory with holes, which only Linux has")
}

// Granularity: 64 KiB, or the system's page where that is larger, and the size of
// a huge page.
func (o *openDevice) Granularity() device.Granularity {
	return device.Granularity{MinimumBytes: o.driver.granularity, RecommendedBytes: max(hugePageBytes, o.driver.granularity)}
}

// start begins a call that leaves more behind: an open device is busy with it
// from then on.
func (o *openDevice) start(op string, counter *int, n int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.check(op); err != nil {
		return err
	}
	*counter += n
	return nil
}

func (o *openDevice) drop(counter *int, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*counter -= n
}

// checkRange refuses a size or address that can be no range of pages.
func (o *openDevice) checkRange(op string, addr device.Addr, size uint64) error {
	if err := o.checkSize(op, size); err != nil {
		return err
	}
	return o.checkAddress(op, addr)
}

func (o *openDevice) checkSize(op string, size uint64) error {
	if size == 0 || size%o.driver.granularity != 0 {
		return o.errorf(device.CodeInvalidSize, op,
			"size %d: want a multiple of %d, not 0", size, o.driver.granularity)
	}
	return nil
}

func (o *openDevice) checkAddress(op string, addr device.Addr) error {
	if uint64(addr)%o.driver.granularity != 0 {
		return o.errorf(device.CodeInvalidOffset, op,
			"address %#x: want a multiple of %d", uint64(addr), o.driver.granularity)
	}
	return nil
}

// Reserve takes address space: of at least 2 MiB, it starts at a multiple of
// that, whatever the alignment.
func (o *openDevice) Reserve(size, align uint64) (device.Addr, error) {
	const op = "host.reserve"
	m, err := o.virtualMapper(op)
	if err != nil {
		return 0, err
	}
	if err := o.checkSize(op, size); err != nil {
		return 0, err
	}
	if bits.OnesCount64(align) != 1 || align < o.driver.granularity {
		return 0, o.errorf(device.CodeInvalidAlignment, op,
			"alignment %d: want a power of two of at least %d", align, o.driver.granularity)
	}
	if err := o.start(op, &o.reservations, 1); err != nil {
		return 0, err
	}
	if size >= hugePageBytes {
		align = max(align, hugePageBytes)
	}
	mapping, err := o.driver.mapAligned(size, align, m.reserve)
	if err != nil {
		o.drop(&o.reservations, 1)
		return 0, o.systemError(op, device.CodeOutOfVirtualMemory, o.refused(err), fmt.Sprintf("size %d, alignment %d", size, align))
	}
	o.virtual.insert(&reservation{mapping: mapping})
	return device.Addr(mapping.base), nil
}

func (v *virtualMemory) insert(r *reservation) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reservations = slices.Insert(v.reservations, v.place(r), r)
	v.count.Add(1)
}

// place is where a reservation is in the table, or belongs.
func (v *virtualMemory) place(r *reservation) int {
	i, _ := slices.BinarySearchFunc(v.reservations, r.base(), func(other *reservation, base uint64) int {
		return cmp.Compare(other.base(), base)
	})
	return i
}

// Unreserve unmaps the address space; what the notes about it took goes as well.
func (o *openDevice) Unreserve(addr device.Addr, size uint64) error {
	const op = "host.unreserve"
	if _, err := o.virtualMapper(op); err != nil {
		return err
	}
	if err := o.checkOpen(op); err != nil {
		return err
	}
	r, err := o.virtual.remove(op, uint64(addr), size)
	if err != nil {
		return o.about(err)
	}
	if err := o.driver.mapper.release(r.mapping.mapBase, r.mapping.mapSize); err != nil {
		o.virtual.insert(r)
		return o.systemError(op, device.CodeUnmappingFailed, o.refused(err), fmt.Sprintf("address %#x, size %d", uint64(addr), size))
	}
	o.drop(&o.reservations, 1)
	return nil
}

// remove takes a reservation out of the table; insert undoes it.
func (v *virtualMemory) remove(op string, address, size uint64) (*reservation, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.reservationAt(address)
	if r == nil || r.base() != address || r.size() != size {
		return nil, device.Errorf(device.CodeInvalidAddress, op,
			"address %#x, size %d: no reservation starts there and has that size", address, size)
	}
	if r.mapped > 0 {
		return nil, device.Errorf(device.CodeBusy, op,
			"address %#x, size %d: %d pages are mapped there", address, size, r.mapped)
	}
	at := v.place(r)
	v.reservations = slices.Delete(v.reservations, at, at+1)
	v.count.Add(-1)
	return r, nil
}

// closeFiles gives the files of a device back that has no pages left.
func (v *virtualMemory) closeFiles() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range v.stores {
		if s.backing == device.BackingMovable {
			v.owner.driver.forgetFile(s.fd)
		}
	}
	v.stores = nil
}

// refusal is why the system refused a call, as things were then.
type refusal struct {
	err error
	// mappings is how many the process had, if that may be why.
	mappings uint64
}

// refused is asked before anything is undone: that takes mappings away.
func (o *openDevice) refused(err error) refusal {
	why := refusal{err: err}
	if errnoOf(err) == syscall.ENOMEM {
		m := o.driver.mapper.virtual
		given := spare.give(m)
		why.mappings = m.mappings() + given
	}
	return why
}

// systemError says what the system refused, and why where that is to be found
// out: it has one number for no memory and for too many mappings.
func (o *openDevice) systemError(op string, code device.Code, why refusal, what string) error {
	number := errnoOf(why.err)
	switch number {
	case syscall.ENOMEM:
		if bound := o.driver.mappings.bound; bound != 0 && why.mappings+mappingSlack >= bound {
			return device.Errorf(device.CodeResourceExhausted, op,
				"%s: this process has %d mappings and vm.max_map_count is %d: %w", what, why.mappings, bound, why.err).
				On(o.info.ID).WithNative(int64(number))
		}
		if code != device.CodeOutOfVirtualMemory {
			code = device.CodeOutOfMemory
		}
	case syscall.ENOSPC:
		code = device.CodeOutOfMemory
	case syscall.EMFILE, syscall.ENFILE:
		code = device.CodeResourceExhausted
	}
	return device.Errorf(code, op, "%s: the system refused: %w", what, why.err).On(o.info.ID).WithNative(int64(number))
}

// listed is a page of a list that a call names.
type listed struct {
	store *store
	index uint64
}

// run is a range that one call of the system puts into its state: private pages,
// or movable ones that follow each other in a file or get no access.
type run struct {
	address, size uint64
	store         *store
	file          filePart
	access        device.Access
}

func (r *run) private() bool { return r.store.backing == device.BackingPrivate }
