package pool

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/memcheck"
)

// The debug mode of a pool. With red zones a block starts behind the zone before
// it, so the address that the caller has is not that of the block's range in its
// segment: what comes from the caller goes through locateGiven, what goes to the
// caller through show. A freed block that no queued work uses goes through
// quarantine on its way back to its segment, even if it leaves it at once. None
// is handed to a stream while its work is queued, since the checks want to write
// to it before.

// debugging adds what the engine asks for to the settings. Every call of a pool
// that debugs comes to the core.
func (c Config) debugging(e *engine.Engine) Config {
	if c.unchecked {
		return c
	}
	flags, _ := e.Debug()
	if c.Debug |= flags; c.Debug != 0 {
		c.ThreadCacheBytes = 0
	}
	return c
}

// startDebug makes the checker, if there is anything to check.
func (p *Pool) startDebug() {
	_, hooks := p.engine.Debug()
	p.debug = memcheck.New(memcheck.Options{
		Flags: p.config.Debug, Pool: p.config.Name, Device: p.engine.Device(), Hooks: hooks,
	})
	if p.debug != nil {
		p.tellPending()
	}
}

func (p *Pool) endDebug() {
	if p.debug != nil {
		p.debug.Close()
	}
}

// pad makes room for the zones in a request.
func (p *Pool) pad(n *need) error {
	mask := p.config.AlignmentBytes - 1
	padded, ok := p.debug.Padded(n.requested, n.Align)
	if n.Size = (padded + mask) &^ mask; !ok || n.Size < padded {
		return device.Errorf(device.CodeOverflow, opAlloc, "size_bytes %d leaves no room for red zones",
			n.requested).On(p.engine.ID())
	}
	return nil
}

// fixedBytes is the block size of the strategy "fixed", zones included.
func (p *Pool) fixedBytes() uint64 {
	n := need{requested: p.config.FixedBlockBytes}
	n.Size, n.Align = n.requested, p.config.AlignmentBytes
	if p.debug == nil || n.Size == 0 || p.pad(&n) != nil {
		return p.config.FixedBlockBytes
	}
	return n.Size
}

// locateGiven is locate for an address that the caller has; in debug mode it
// finds live blocks only. The caller holds mu.
func (p *Pool) locateGiven(addr device.Addr) (located, bool) {
	if p.debug != nil {
		base, ok := p.debug.Base(addr)
		if !ok {
			return located{}, false
		}
		addr = base
	}
	return p.locate(addr)
}

// guard takes a new block into the checks and gives it the address for the
// caller. The caller holds mu.
func (p *Pool) guard(l located, n *need, b *Block) {
	p.debug.Enter(memcheck.Block{
		Base: l.addr(), SizeBytes: l.Size, RequestedBytes: n.requested, AlignmentBytes: n.Align, Tag: b.Tag,
	})
	b.Addr = l.addr()
	p.show(&b.Addr, &b.SizeBytes)
}

// show turns a block's range in its segment into what the caller has of it. The
// caller holds mu.
func (p *Pool) show(addr *device.Addr, sizeBytes *uint64) {
	if view, ok := p.debug.View(*addr); ok {
		*addr, *sizeBytes = view.Addr, view.SizeBytes
	}
}

// changed ends every call that changes the pool. The caller holds no lock.
func (p *Pool) changed() {
	if p.debug != nil {
		p.tellPending()
	}
	p.engine.Changed()
}
