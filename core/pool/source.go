package pool

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/track"
)

// NewPinned is NewInGroup for a pool of page-locked memory of the host, which the
// device addresses as well. It takes segments whole. Where that memory is not the
// device's own, it is in the books of the group only. A device without such memory
// is CodeUnsupported.
func NewPinned(e *engine.Engine, c Config, group *track.Totals) (*Pool, error) {
	return newFrom(e, c, group, engine.SourcePinned)
}

// NewManaged is NewPinned for a pool of managed memory.
func NewManaged(e *engine.Engine, c Config, group *track.Totals) (*Pool, error) {
	return newFrom(e, c, group, engine.SourceManaged)
}

// newFrom makes a pool whose segments come from one source. Only the device's own
// memory can come page by page.
func newFrom(e *engine.Engine, c Config, group *track.Totals, source engine.Source) (*Pool, error) {
	const op = "pool.new"
	if source == engine.SourceDevice {
		return newPool(e, c, group, source)
	}
	if err := e.Has(source); err != nil {
		return nil, err
	}
	if c.Paging == PagingOn {
		return nil, device.Errorf(device.CodeInvalidConfig, op,
			"paging is %d (on): %v is taken in segments", c.Paging, source).On(e.ID())
	}
	if c.StreamOrdered != (source == engine.SourceOrdered) {
		return nil, device.Errorf(device.CodeInvalidConfig, op,
			"segment_source is stream ordered: %v comes from elsewhere", source).On(e.ID())
	}
	c.Paging = PagingOff
	return newPool(e, c, group, source)
}

// HostAddr is where the process addresses an address of a pool of page-locked or
// managed memory; 0 for any other address and any other pool.
func (p *Pool) HostAddr(addr device.Addr) device.HostAddr {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.segmentOf(addr)
	if s == nil || s.had.HostAddr == 0 {
		return 0
	}
	return s.had.HostAddr + device.HostAddr(addr-s.had.Addr)
}
