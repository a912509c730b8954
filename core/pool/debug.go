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
func (h *heap) startDebug() {
	_, hooks := h.engine.Debug()
	h.debug = memcheck.New(memcheck.Options{
		Flags: h.config.Debug, Pool: h.config.Name, Device: h.engine.Device(), Hooks: hooks,
	})
	if h.debug != nil {
		h.tellPending()
	}
}

func (h *heap) endDebug() {
	if h.debug != nil {
		h.debug.Close()
	}
}

// pad makes room for the zones in a request.
func (h *heap) pad(n *need) error {
	mask := h.config.AlignmentBytes - 1
	padded, ok := h.debug.Padded(n.requested, n.Align)
	if n.Size = (padded + mask) &^ mask; !ok || n.Size < padded {
		return device.Errorf(device.CodeOverflow, opAlloc, "size_bytes %d leaves no room for red zones",
			n.requested).On(h.engine.ID())
	}
	return nil
}

// fixedBytes is the block size of the strategy "fixed", zones included.
func (h *heap) fixedBytes() uint64 {
	n := need{requested: h.config.FixedBlockBytes}
	n.Size, n.Align = n.requested, h.config.AlignmentBytes
	if h.debug == nil || n.Size == 0 || h.pad(&n) != nil {
		return h.config.FixedBlockBytes
	}
	return n.Size
}

// locateGiven is locate for an address that the caller has; in debug mode it
// finds live blocks only. The caller holds mu.
func (h *heap) locateGiven(addr device.Addr) (located, bool) {
	if h.debug != nil {
		base, ok := h.debug.Base(addr)
		if !ok {
			return located{}, false
		}
		addr = base
	}
	return h.locate(addr)
}

// guard takes a new block into the checks and gives it the address for the
// caller. The caller holds mu.
func (h *heap) guard(l located, n *need, b *Block) {
	h.debug.Enter(memcheck.Block{
		Base: l.addr(), SizeBytes: l.Size, RequestedBytes: n.requested, AlignmentBytes: n.Align, Tag: b.Tag,
	})
	b.Addr = l.addr()
	h.show(&b.Addr, &b.SizeBytes)
}

// show turns a block's range in its segment into what the caller has of it. The
// caller holds mu.
func (h *heap) show(addr *device.Addr, sizeBytes *uint64) {
	if view, ok := h.debug.View(*addr); ok {
		*addr, *sizeBytes = view.Addr, view.SizeBytes
	}
}

// changed ends every call that changes the pool. The caller holds no lock.
func (h *heap) changed() {
	if h.debug != nil {
		h.tellPending()
	}
	h.engine.Changed()
}
