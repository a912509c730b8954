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
	const op = "pool.new"
	if _, err := e.PinnedHost(); err != nil {
		return nil, err
	}
	if c.Paging == PagingOn {
		return nil, device.Errorf(device.CodeInvalidConfig, op,
			"paging is %d (on): page-locked memory is taken in segments", c.Paging).On(e.ID())
	}
	c.Paging = PagingOff
	return newPool(e, c, group, true)
}

// HostAddr is where the process addresses an address of a pool of page-locked
// memory; 0 for any other address and any other pool.
func (p *Pool) HostAddr(addr device.Addr) device.HostAddr {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.segmentOf(addr)
	if s == nil || s.had.HostAddr == 0 {
		return 0
	}
	return s.had.HostAddr + device.HostAddr(addr-s.had.Addr)
}
