package vmm

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/extent"
)

// Pool is a virtual pool: reserved address space, and memory that is mapped and
// unmapped in it by offset. All methods are safe for concurrent use. After Close every
// call that can fail fails with CodeInvalidState.
type Pool struct {
	physical *Physical
	space    *space
}

// NewPool reserves the address space; Alloc maps memory. Errors: CodeUnsupportedDevice,
// CodeInvalidPageSize, CodeInvalidSize for a capacity of 0 or one that overflows,
// CodeOutOfVirtualMemory, CodeOutOfPhysicalMemory for a limit above the device's
// memory, CodeInvalidConfig.
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
	// Tag names the allocation in reports and for sleep; "": the pool's name.
	Tag string
	// Stream uses the range first, and a free waits for its work; nil: the default
	// stream.
	Stream device.Stream
	// Wait is the longest wait while the tag, the whole pool or the range is asleep.
	// After it the call returns CodeTimeout. 0: such a call returns CodeInvalidState at
	// once; device.Forever: no limit.
	Wait time.Duration
}

// Alloc maps memory for every page that the range touches, readable and writable, and
// returns the address of the offset. If the offset is not a multiple of the page size,
// the address lies inside a page. The initial contents are not defined: zeros, or
// earlier writes of this pool. Alloc waits while the range is retiring.
//
// Errors: CodeInvalidSize for 0, CodeInvalidOffset for a range that ends outside the
// pool, CodeAlreadyMapped with the first page that is mapped, CodeOutOfPhysicalMemory
// over the limit, CodeOutOfMemory when the device has no more and Engine.FindRoom could
// not reclaim any, CodeBusy on a thread that may not wait, those of the device. A
// failed call changes nothing.
func (p *Pool) Alloc(offset, size uint64) (device.Addr, error) {
	return p.AllocTagged(AllocRequest{OffsetBytes: offset, SizeBytes: size})
}

// AllocTagged is Alloc with a tag.
func (p *Pool) AllocTagged(r AllocRequest) (device.Addr, error) {
	err := p.allocate(placing{
		op: "allocate", targets: only(extent.Span{Offset: r.OffsetBytes, Size: r.SizeBytes}), tag: r.Tag, stream: r.Stream, wait: r.Wait,
	})
	if err != nil {
		return 0, err
	}
	return p.space.table.extent.Base + device.Addr(r.OffsetBytes), nil
}

func (p *Pool) allocate(place placing) error {
	if err := place.prepare(&p.space.table.extent); err != nil {
		return err
	}
	return p.space.whileAwake(place, func() error {
		_, err := p.space.allocate(place)
		return err
	})
}

// Free frees the memory of whole pages. The offset and the size are multiples of the
// page size, or those of one allocation of which nothing was freed yet. Free does not
// wait. The range retires until the work has completed that is queued now on three
// kinds of streams: the stream of its allocation, the streams that RecordStream
// recorded for its pages, and the stream passed here (nil: none). A closed stream has
// no queued work.
//
// Errors: CodeInvalidSize, CodeInvalidOffset, CodeNotMapped with the first page that is
// not mapped, CodeBusy while a Sleep or Wake of the range is in progress, those of the
// streams. A failed call changes nothing.
func (p *Pool) Free(offset, size uint64, stream device.Stream) error {
	return p.space.deallocate("deallocate", only(extent.Span{Offset: offset, Size: size}), stream)
}

// IsMapped reports whether every page that the range touches is mapped. It returns
// false for a range that ends outside the pool or has no bytes.
func (p *Pool) IsMapped(offset, size uint64) bool {
	return p.space.isMapped(extent.Span{Offset: offset, Size: size})
}

// Stats returns the pool's counters.
func (p *Pool) Stats() Stats { return p.space.stats() }

// BaseAddress returns the start of the address space.
func (p *Pool) BaseAddress() device.Addr { return p.space.table.extent.Base }

// CapacityBytes returns the size of the address space, in whole pages.
func (p *Pool) CapacityBytes() uint64 { return p.space.table.extent.Bytes() }

// PageBytes returns the size of a page.
func (p *Pool) PageBytes() uint64 { return p.space.table.extent.PageBytes }

// PhysicalBytes returns the memory of mapped and retiring pages.
func (p *Pool) PhysicalBytes() uint64 {
	p.space.mu.Lock()
	defer p.space.mu.Unlock()
	return p.space.table.physicalBytes()
}

// Physical returns the pages of the pool, with their limit, worker and counters.
func (p *Pool) Physical() *Physical { return p.physical }

// Compact calls Physical.Compact.
func (p *Pool) Compact() (CompactReport, error) { return p.physical.Compact() }

// SetLimit calls Physical.SetLimit.
func (p *Pool) SetLimit(limitBytes uint64) error { return p.physical.SetLimit(limitBytes) }

// Synchronize waits until no range is retiring.
func (p *Pool) Synchronize() error {
	err := p.space.synchronize()
	p.physical.engine.Changed()
	return err
}

// HasEnded reports whether the pool is closed or closing. Close accepts a pool in these
// states.
func (p *Pool) HasEnded() bool {
	p.space.mu.Lock()
	defer p.space.mu.Unlock()
	return p.space.table.state != stateOpen
}

// Close releases all memory and the address space. Without force it returns CodeBusy,
// and changes nothing, while pages are mapped. With force it first waits for all work
// of the device. It waits for the work that retiring ranges wait for. If the driver
// fails, the pool keeps what could not be released, and Close may be called again.
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
