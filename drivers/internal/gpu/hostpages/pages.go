package hostpages

import (
	"math"
	"sync"
	"syscall"

	"ferrum_mem/core/device"
)

// HugeBytes is the alignment of pages, and the least size for which they are worth their calls: the
// size of a huge page on amd64 and, with pages of 4 KiB, on arm64.
const HugeBytes = 2 << 20

// Calls are the calls of the system. Tests replace them by calls that fail.
type Calls struct {
	// Map maps size bytes of zeroed memory; nil: this system has no such memory. A page gets memory
	// when it is first touched.
	Map func(size uint64) (address uint64, err error)
	// Unmap unmaps what Map returned.
	Unmap func(address, size uint64) error
	// KeepFromChildren leaves a range out of children made by fork().
	KeepFromChildren func(address, size uint64) error
	// AdviseHuge requests huge pages. The system may ignore the request.
	AdviseHuge func(address, size uint64)
	// Populate gives memory to all pages of a range. A system without this call changes nothing.
	Populate func(address, size uint64) error
	// Available returns how much memory the process can still touch. false: that is not known.
	Available func() (bytes uint64, known bool)
}

// Mapper maps pages for all devices of a runtime.
type Mapper struct {
	System Calls

	mu sync.Mutex
	// used is the size of all pages. Of these, populating do not have all their memory yet.
	used, populating uint64
}

// Pages are mapped pages. The zero value stands for none.
type Pages struct {
	// Addr is their address, a multiple of HugeBytes.
	Addr, Size uint64

	mapper *Mapper
	// mapping is the address of a mapping of Size+HugeBytes that contains the pages. The rest is
	// never touched. It separates the mapping from the next one, so that the kernel neither joins
	// the two nor has to split them to unmap one, which can fail.
	mapping uint64
}

// UsedBytes returns the size of all pages.
func (m *Mapper) UsedBytes() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// Map maps pages that have their memory. Errors: CodeOutOfMemory; CodeUnsupported if the caller has
// to use memory of the runtime, because this system has no such pages, or because they would be more
// than half of what the process can use. Also after an error, the caller unmaps the pages if they
// exist.
func (m *Mapper) Map(size uint64) (Pages, error) {
	const op = "hostpages.map"
	if m.System.Map == nil {
		return Pages{}, device.Errorf(device.CodeUnsupported, op, "this system has no such pages")
	}
	if size == 0 || size > math.MaxInt64-HugeBytes || !m.admit(size) {
		return Pages{}, device.Errorf(device.CodeUnsupported, op,
			"%v more would be above half of the memory that the process can use", device.Size(size))
	}
	p, err := m.prepare(size)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.populating -= size
	if !p.Exist() {
		m.used -= size
	}
	switch err {
	case nil:
		return p, nil
	case syscall.ENOMEM:
		return p, device.Errorf(device.CodeOutOfMemory, op, "the system did not provide %v: %w", device.Size(size), err)
	}
	return p, device.Errorf(device.CodeUnsupported, op, "the system did not map %v: %w", device.Size(size), err)
}

// admit counts pages that do not exist yet. false: they would be more than half of the memory that the
// process could use without any pages.
func (m *Mapper) admit(size uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	available, known := m.System.Available()
	if !known {
		return false
	}
	usable := available - min(available, m.populating)
	usable += min(m.used, math.MaxUint64-usable)
	if m.used > usable/2 || size > usable/2-m.used {
		return false
	}
	m.used += size
	m.populating += size
	return true
}

// prepare maps pages and gives them memory. On an error the pages may exist.
func (m *Mapper) prepare(size uint64) (Pages, error) {
	mapping, err := m.System.Map(size + HugeBytes)
	if err != nil {
		return Pages{}, err
	}
	p := Pages{Addr: (mapping + HugeBytes - 1) / HugeBytes * HugeBytes, Size: size, mapper: m, mapping: mapping}
	if err := m.System.KeepFromChildren(p.Addr, size); err != nil {
		return p, err
	}
	m.System.AdviseHuge(p.Addr, size)
	return p, m.System.Populate(p.Addr, size)
}

// Exist states whether there are pages.
func (p Pages) Exist() bool { return p.mapper != nil }

// Unmap releases the memory of the pages. On an error nothing changes.
func (p Pages) Unmap() error {
	if !p.Exist() {
		return nil
	}
	if err := p.mapper.System.Unmap(p.mapping, p.Size+HugeBytes); err != nil {
		return err
	}
	p.mapper.mu.Lock()
	defer p.mapper.mu.Unlock()
	p.mapper.used -= p.Size
	return nil
}
