package vmm

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/extent"
)

// Pool is a virtual pool: address space that is reserved as a whole, and memory
// that comes and goes behind it by offset. All methods are safe for concurrent use.
// After Close every call that can fail fails with CodeInvalidState.
type Pool struct {
	physical *Physical
	space    *space
}

// NewPool reserves the address space; memory comes with Alloc. Errors:
// CodeUnsupportedDevice, CodeInvalidPageSize, CodeInvalidSize for a capacity of 0 or
// one that overflows, CodeOutOfVirtualMemory, CodeOutOfPhysicalMemory for a limit
// above what the device has, CodeInvalidConfig.
func NewPool(e *engine.Engine, c Config) (*Pool, error) {
	return newPool(e, c, true)
}

func newPool(e *engine.Engine, c Config, hands bool) (*Pool, error) {
	physical, err := newPhysical("vpool.new", e, c.physical(), hands)
	if err != nil {
		return nil, err
	}
	s, err := newSpace(physical, spaceConfig{
		kind: "vpool", name: c.Name, capacityBytes: c.CapacityBytes, unscrubbed: c.Unscrubbed,
	})
	if err != nil {
		if failure := physical.Close(); failure != nil {
			e.Log(engine.Warning, failure.Error())
		}
		return nil, err
	}
	return &Pool{physical: physical, space: s}, nil
}

// AllocRequest is an allocation by offset.
type AllocRequest struct {
	OffsetBytes uint64
	SizeBytes   uint64
	// Tag names the allocation in reports, and for sleep; "": the pool's name.
	Tag string
	// Stream is what uses the range first, in whose order it is freed; nil: the
	// default stream.
	Stream device.Stream
	// Wait is how long to wait while the tag, everything, or what is at that place
	// sleeps: then it is CodeTimeout. 0: such a call is CodeInvalidState at once;
	// device.Forever: no limit.
	Wait time.Duration
}

// Alloc maps memory behind every page that the range touches, readable and
// writable, and gives the address of the offset. Where the offset is no multiple
// of the page size, that address lies inside a page. What the memory holds at first
// is not said: zeros, or what this pool had written there before. Errors:
// CodeInvalidSize for 0, CodeInvalidOffset for a range that ends outside,
// CodeAlreadyMapped with the first page that is mapped, CodeOutOfPhysicalMemory over
// the limit, CodeOutOfMemory when the device has no more and Engine.FindRoom found
// none, CodeBusy on a thread that may not wait, those of the device. A failed call
// changes nothing. A range that is retiring is waited for.
func (p *Pool) Alloc(offset, size uint64) (device.Addr, error) {
	return p.AllocTagged(AllocRequest{OffsetBytes: offset, SizeBytes: size})
}

// AllocTagged is Alloc with a tag.
func (p *Pool) AllocTagged(r AllocRequest) (device.Addr, error) {
	place := placing{op: "allocate", at: extent.Span{Offset: r.OffsetBytes, Size: r.SizeBytes}, tag: r.Tag, stream: r.Stream, wait: r.Wait}
	err := p.space.whileAwake(place, func() error {
		_, err := p.space.allocate(place)
		return err
	})
	if err != nil {
		return 0, err
	}
	return p.space.table.extent.Base + device.Addr(r.OffsetBytes), nil
}

// Free takes the memory of whole pages away: the offset and the size are
// multiples of the page size, or those of one allocation of which nothing was freed
// yet. It does not wait: the range is retiring until the work is done that is queued now
// on the stream that it was asked for on, those that RecordStream named for a page of it,
// and the one named here (nil: none besides). A stream that was closed has run dry.
// Errors: CodeInvalidSize, CodeInvalidOffset, CodeNotMapped with the first page that is
// not mapped, CodeBusy while a Sleep or Wake of the range is under way, those of the streams.
// A failed call changes nothing.
func (p *Pool) Free(offset, size uint64, stream device.Stream) error {
	return p.space.deallocate("deallocate", extent.Span{Offset: offset, Size: size}, stream)
}

// IsMapped says whether every page that the range touches is mapped; false for a
// range that ends outside or has no bytes.
func (p *Pool) IsMapped(offset, size uint64) bool {
	return p.space.isMapped(extent.Span{Offset: offset, Size: size})
}

// Stats is the pool's numbers.
func (p *Pool) Stats() Stats { return p.space.stats() }

// BaseAddress is where the address space starts.
func (p *Pool) BaseAddress() device.Addr { return p.space.table.extent.Base }

// CapacityBytes is the size of the address space, in whole pages.
func (p *Pool) CapacityBytes() uint64 { return p.space.table.extent.Bytes() }

// PageBytes is the size of a page.
func (p *Pool) PageBytes() uint64 { return p.space.table.extent.PageBytes }

// PhysicalBytes is the memory behind mapped and retiring pages.
func (p *Pool) PhysicalBytes() uint64 {
	p.space.mu.Lock()
	defer p.space.mu.Unlock()
	return p.space.table.physicalBytes()
}

// Physical is the pool's stock of pages: its limit, its worker and its books.
func (p *Pool) Physical() *Physical { return p.physical }

// Compact is Physical.Compact.
func (p *Pool) Compact() (CompactReport, error) { return p.physical.Compact() }

// SetLimit is Physical.SetLimit.
func (p *Pool) SetLimit(limitBytes uint64) error { return p.physical.SetLimit(limitBytes) }

// Synchronize waits until no range is retiring any more.
func (p *Pool) Synchronize() error {
	err := p.space.synchronize()
	p.physical.engine.Changed()
	return err
}

// IsOver says that the pool has ended or is ending: what Close does not refuse.
func (p *Pool) IsOver() bool {
	p.space.mu.Lock()
	defer p.space.mu.Unlock()
	return p.space.table.state != stateOpen
}

// Close gives all memory and the address space back. It is CodeBusy, and changes
// nothing, while something is mapped, unless force; then it waits for all work of
// the device first. It waits for the work that retiring ranges wait for. When the
// driver fails, what could not be given back stays in the pool, and Close may be
// called again.
func (p *Pool) Close(force bool) error {
	p.space.mu.Lock()
	gone := p.space.table.state == stateClosed
	p.space.mu.Unlock()
	if !gone {
		if err := p.space.close("close", force); err != nil {
			return err
		}
	}
	return p.physical.Close()
}
