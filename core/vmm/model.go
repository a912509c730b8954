package vmm

import (
	"errors"
	"strconv"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/roster"
	"ferrum_mem/core/vmm/extent"
)

// Model is one model of an elastic pool: address space of its own, and a share of
// the pool's physical memory. All methods are safe for concurrent use. Once it is
// unregistered every call that can fail fails with CodeModelNotFound.
type Model struct {
	shared *Elastic
	id     string
	space  *space
	// stage is the model's own maximum.
	stage stage

	// All below is under Elastic.mu.
	share *share
	// gone says that the model is being registered or unregistered, or was
	// unregistered. leaving is closed when that has come out.
	gone     bool
	leaving  chan struct{}
	reclaims roster.List[*Reclaim]
	counts   ModelCounts
}

// ModelCounts is what a model has done so far.
type ModelCounts struct {
	// Frees counts calls, Failures the allocations that found no memory.
	Frees    uint64 `json:"frees"`
	Failures uint64 `json:"failures"`
	// Waits counts the allocations that stood in a line, WaitedNs how long in all.
	Waits    uint64 `json:"waits"`
	WaitedNs uint64 `json:"waited_ns"`
	// ReclaimCalls counts the calls of the model's reclaim callbacks, and
	// ReclaimedBytes is what they said to have freed.
	ReclaimCalls   uint64 `json:"reclaim_calls"`
	ReclaimedBytes uint64 `json:"reclaimed_bytes"`
}

func modelOp(name string) string { return modelKind + "." + name }

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

// Allocation is a range of a model that is mapped.
type Allocation struct {
	Addr device.Addr
	// OffsetBytes counts from the model's base address.
	OffsetBytes uint64
	SizeBytes   uint64
}

// ID is the id that the model was registered with.
func (m *Model) ID() string { return m.id }

// BaseAddress is where the model's address space starts.
func (m *Model) BaseAddress() device.Addr { return m.space.table.extent.Base }

// CapacityBytes is the size of the model's address space, in whole pages.
func (m *Model) CapacityBytes() uint64 { return m.space.table.extent.Bytes() }

// PageBytes is the size of a page.
func (m *Model) PageBytes() uint64 { return m.space.table.extent.PageBytes }

// Alloc maps size bytes at the lowest place in the model's address space where
// they fit, in whole pages, readable and writable. What the memory holds at first is
// zeros, or what this model had written there before: never what another model
// wrote, unless both are unscrubbed. Ranges that are retiring are not free; where no
// free place is long enough, and they would make one, it waits for them, 10 s at most.
// When pages are short it waits for its turn and looks for room, see Elastic. Errors:
// CodeInvalidSize for 0, CodeOutOfVirtualMemory when no place is long enough,
// CodeOutOfPhysicalMemory with what was requested and what was available when the
// limits allow no more, or the device has no more and nothing can be had back (then
// it is CodeOutOfMemory too, with the engine's report), CodeModelNotFound when the
// model is unregistered meanwhile, those of the device. A failed call changes
// nothing.
func (m *Model) Alloc(size uint64) (Allocation, error) {
	return m.allocate(placing{op: "alloc", at: extent.Span{Size: size}, anywhere: true})
}

// AllocAt is Alloc at a place: it maps every page that the range touches.
// Errors besides: CodeInvalidOffset for a range that ends outside,
// CodeAlreadyMapped with the first page that is mapped. A range that is retiring is
// waited for.
func (m *Model) AllocAt(offset, size uint64) (Allocation, error) {
	return m.allocate(placing{op: "alloc", at: extent.Span{Offset: offset, Size: size}})
}

// AllocTagged is Alloc with a name for reports, and for sleep; "": the
// model's id. The offset of the request must be 0.
func (m *Model) AllocTagged(r AllocRequest) (Allocation, error) {
	const op = "alloc"
	if r.OffsetBytes != 0 {
		return Allocation{}, m.space.table.extent.BadRange(op, extent.Span{Offset: r.OffsetBytes, Size: r.SizeBytes}, "offset %d: the place is not the caller's", r.OffsetBytes)
	}
	return m.allocate(placing{op: op, at: extent.Span{Size: r.SizeBytes}, anywhere: true, tag: r.Tag, stream: r.Stream, wait: r.Wait})
}

// AllocTaggedAt is AllocAt with a name.
func (m *Model) AllocTaggedAt(r AllocRequest) (Allocation, error) {
	return m.allocate(placing{op: "alloc", at: extent.Span{Offset: r.OffsetBytes, Size: r.SizeBytes}, tag: r.Tag, stream: r.Stream, wait: r.Wait})
}

func (m *Model) allocate(p placing) (Allocation, error) {
	var at extent.Span
	err := m.space.whileAwake(p, func() (err error) {
		at, err = m.attempt(p)
		return err
	})
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

// goneInstead replaces the error of a call that lost its model on the way. The
// caller holds Elastic.mu.
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
	s, o := m.shared, &order{
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

// Free takes the memory of whole pages away: the offset and the size are
// multiples of the page size, or those of one allocation of which nothing was freed
// yet. It does not wait, as Pool.Free: until the work of the streams that use it is
// done, the range is retiring, and its pages count as used. Errors: as there, and
// CodeModelNotFound. A failed call changes nothing.
func (m *Model) Free(offset, size uint64, stream device.Stream) error {
	const op = "free"
	err := m.space.deallocate(op, extent.Span{Offset: offset, Size: size}, stream)
	s := m.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		return m.goneInstead(op, err)
	}
	m.counts.Frees++
	return nil
}

// IsMapped says whether every page that the range touches is mapped; false for a
// range that ends outside or has no bytes.
func (m *Model) IsMapped(offset, size uint64) bool {
	return m.space.isMapped(extent.Span{Offset: offset, Size: size})
}

// Synchronize waits until no range of the model is retiring any more.
func (m *Model) Synchronize() error {
	err := m.space.synchronize()
	m.shared.scale.engine.Changed()
	return err
}

// check says why a model can do nothing more. The caller holds Elastic.mu.
func (m *Model) check(op string) error {
	if m.gone {
		return device.Errorf(device.CodeModelNotFound, modelOp(op), "model %q was unregistered from %q", m.id,
			m.shared.scale.name).On(m.shared.scale.engine.ID()).OfModel(m.id)
	}
	return nil
}
