package vmm

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/roster"
	"ferrum_mem/core/vmm/extent"
)

// Model is one model of an elastic pool. It has its own address space and a share of
// the pool's physical memory. All methods are safe for concurrent use. After the model
// was unregistered, every call that can fail fails with CodeModelNotFound.
type Model struct {
	shared *Elastic
	id     string
	space  *space
	// stage enforces the model's maximum.
	stage stage

	// Elastic.mu guards the fields below.
	share *share
	// gone states that the model is being registered or unregistered, or was
	// unregistered. leaving is closed when the registration or unregistration has
	// ended.
	gone     bool
	leaving  chan struct{}
	reclaims roster.List[*Reclaim]
	counts   ModelCounts
}

// ModelCounts counts what a model has done so far.
type ModelCounts struct {
	// Frees counts the freed ranges; Failures counts the allocations that found no memory.
	Frees    uint64 `json:"frees"`
	Failures uint64 `json:"failures"`
	// Waits counts the allocations that waited in a queue, WaitedNs the sum of their
	// waits.
	Waits    uint64 `json:"waits"`
	WaitedNs uint64 `json:"waited_ns"`
	// ReclaimCalls counts the calls of the model's reclaim callbacks. ReclaimedBytes is
	// the sum that they reported as freed.
	ReclaimCalls   uint64 `json:"reclaim_calls"`
	ReclaimedBytes uint64 `json:"reclaimed_bytes"`
}

func modelOp(name string) string { return modelKind + "." + name }

// Allocation is a mapped range of a model.
type Allocation struct {
	Addr device.Addr
	// OffsetBytes counts from the model's base address.
	OffsetBytes uint64
	SizeBytes   uint64
}

// ID returns the id of the model's registration.
func (m *Model) ID() string { return m.id }

// BaseAddress returns the start of the model's address space.
func (m *Model) BaseAddress() device.Addr { return m.space.table.extent.Base }

// CapacityBytes returns the size of the model's address space, in whole pages.
func (m *Model) CapacityBytes() uint64 { return m.space.table.extent.Bytes() }

// PageBytes is the size of a page.
func (m *Model) PageBytes() uint64 { return m.space.table.extent.PageBytes }

// Alloc maps size bytes, in whole pages, at the lowest offset of the model's address
// space where they fit. The range is readable and writable. Its initial contents are
// zeros or earlier writes of this model. They are never the writes of another model,
// unless both are unscrubbed.
//
// Retiring ranges are not free. If no free run is long enough, but the retiring ranges
// would make one, Alloc waits for them for at most 10 s. When pages are short it waits
// for its turn and looks for pages, see Elastic.
//
// Errors: CodeInvalidSize for 0; CodeOutOfVirtualMemory when no free run is long
// enough; CodeOutOfPhysicalMemory, with the requested and the available bytes, when the
// limits allow no more; the same when the device has no more and nothing can be
// reclaimed (then also CodeOutOfMemory with the engine's report); CodeModelNotFound
// when the model is unregistered during the call; those of the device. A failed call
// changes nothing.
func (m *Model) Alloc(size uint64) (Allocation, error) {
	return m.allocate(placing{op: "alloc", targets: only(extent.Span{Size: size}), anywhere: true})
}

// AllocAt is Alloc at a given offset: it maps every page that the range touches. It
// waits while the range is retiring. More errors: CodeInvalidOffset for a range that
// ends outside the address space, CodeAlreadyMapped with the first page that is mapped.
func (m *Model) AllocAt(offset, size uint64) (Allocation, error) {
	return m.allocate(placing{op: "alloc", targets: only(extent.Span{Offset: offset, Size: size})})
}

// AllocTagged is Alloc with a tag for reports and for sleep; "" means the model's id.
// The offset of the request must be 0.
func (m *Model) AllocTagged(r AllocRequest) (Allocation, error) {
	const op = "alloc"
	if r.OffsetBytes != 0 {
		return Allocation{}, m.space.table.extent.BadRange(op, extent.Span{Offset: r.OffsetBytes, Size: r.SizeBytes}, "offset %d: the pool chooses the offset; want 0", r.OffsetBytes)
	}
	return m.allocate(placing{op: op, targets: only(extent.Span{Size: r.SizeBytes}), anywhere: true, tag: r.Tag, stream: r.Stream, wait: r.Wait})
}

// AllocTaggedAt is AllocAt with a tag.
func (m *Model) AllocTaggedAt(r AllocRequest) (Allocation, error) {
	return m.allocate(placing{op: "alloc", targets: only(extent.Span{Offset: r.OffsetBytes, Size: r.SizeBytes}), tag: r.Tag, stream: r.Stream, wait: r.Wait})
}

func (m *Model) allocate(p placing) (Allocation, error) {
	var at extent.Span
	err := p.prepare(&m.space.table.extent)
	if err == nil {
		err = m.space.whileAwake(p, func() (err error) {
			at, err = m.attempt(p)
			return err
		})
	}
	if err != nil {
		s := m.shared
		s.mu.Lock()
		defer s.mu.Unlock()
		if isShort(err) || errors.Is(err, device.CodeOutOfVirtualMemory) {
			m.counts.Failures++
		}
		return Allocation{}, m.goneInstead(p.op, err)
	}
	return Allocation{Addr: m.space.table.extent.Base + device.Addr(at.Offset), OffsetBytes: at.Offset, SizeBytes: at.Size}, nil
}

// goneInstead replaces the error of a call whose model was unregistered during the
// call. The caller holds Elastic.mu.
func (m *Model) goneInstead(op string, err error) error {
	if gone := m.check(op); gone != nil && errors.Is(err, device.CodeInvalidState) {
		return gone
	}
	return err
}

func (m *Model) attempt(p placing) (extent.Span, error) {
	pages, err := m.space.look(p)
	if err != nil {
		return extent.Span{}, err
	}
	s, o := m.shared, &admission{
		placing: p, model: m, pages: pages, serve: func() (extent.Span, error) { return m.space.allocate(p) },
	}
	if err := s.admit(o); err != nil {
		return extent.Span{}, err
	}
	at, err := s.place(o)
	if err != nil {
		s.discharge(m, pages)
	}
	return at, err
}

// Free frees the memory of whole pages. The offset and the size are multiples of the
// page size, or those of one allocation of which nothing was freed yet. Like Pool.Free
// it does not wait: the range retires until the work of the streams that use it has
// completed, and its pages count as used. Errors: as for Pool.Free, and
// CodeModelNotFound. A failed call changes nothing.
func (m *Model) Free(offset, size uint64, stream device.Stream) error {
	return m.free(only(extent.Span{Offset: offset, Size: size}), stream)
}

func (m *Model) free(ranges targets, stream device.Stream) error {
	const op = "free"
	err := m.space.deallocate(op, ranges, stream)
	s := m.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		return m.goneInstead(op, err)
	}
	m.counts.Frees += uint64(len(ranges.all))
	return nil
}

// IsMapped reports whether every page that the range touches is mapped. It returns
// false for a range that ends outside the address space or has no bytes.
func (m *Model) IsMapped(offset, size uint64) bool {
	return m.space.isMapped(extent.Span{Offset: offset, Size: size})
}

// Synchronize waits until no range of the model is retiring.
func (m *Model) Synchronize() error {
	err := m.space.synchronize()
	m.shared.scale.engine.Changed()
	return err
}

// check returns an error if the model was unregistered. The caller holds Elastic.mu.
func (m *Model) check(op string) error {
	if m.gone {
		return device.Errorf(device.CodeModelNotFound, modelOp(op), "model %q was unregistered from %q", m.id,
			m.shared.scale.name).On(m.shared.scale.engine.ID()).OfModel(m.id)
	}
	return nil
}
