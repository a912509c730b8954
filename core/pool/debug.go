package pool

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/memcheck"
)

// The debug mode of a pool. With red zones, a block starts behind the zone before it. So
// the address of the caller differs from the address of the block's range in its segment.
// locateGiven converts an address of the caller, and show converts an address for the
// caller. A freed block that no queued work uses passes through quarantine before it
// returns to its segment, even if it leaves the quarantine at once. If the checks use the
// memory of freed blocks, a block in flight is never reused, not even on its own stream,
// because the checks have to write to the block first.

// debugging adds the checks of the engine to the settings. It disables thread caches, so
// that every call reaches the core.
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

// startDebug creates the checker if any check is enabled.
func (h *heap) startDebug() {
	_, hooks := h.engine.Debug()
	h.debug = memcheck.New(memcheck.Options{
		Flags: h.config.Debug, Pool: h.config.Name, Device: h.engine.Device(), Hooks: hooks,
	})
	if h.debug != nil {
		h.logPending()
	}
}

func (h *heap) endDebug() {
	if h.debug != nil {
		h.debug.Close()
	}
}

// pad adds the red zones to the size of a request.
func (h *heap) pad(n *need) error {
	mask := h.config.AlignmentBytes - 1
	padded, ok := h.debug.Padded(n.requested, n.Align)
	if n.Size = (padded + mask) &^ mask; !ok || n.Size < padded {
		return device.Errorf(device.CodeOverflow, opAlloc, "size_bytes %d: the size with red zones does not fit 64 bits",
			n.requested).On(h.engine.ID())
	}
	return nil
}

// fixedBytes returns the block size of the strategy "fixed", including red zones.
func (h *heap) fixedBytes() uint64 {
	n := need{requested: h.config.FixedBlockBytes}
	n.Size, n.Align = n.requested, h.config.AlignmentBytes
	if h.debug == nil || n.Size == 0 || h.pad(&n) != nil {
		return h.config.FixedBlockBytes
	}
	return n.Size
}

// locateGiven is locate for an address of the caller. In debug mode it finds only live
// blocks. The caller holds mu.
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

// guard adds a new block to the checks and sets the address that the caller gets. The
// caller holds mu.
func (h *heap) guard(l located, n *need, b *Block) {
	h.debug.Enter(memcheck.Block{
		Base: l.addr(), SizeBytes: l.Size, RequestedBytes: n.requested, AlignmentBytes: n.Align, Tag: b.Tag,
	})
	b.Addr = l.addr()
	h.show(&b.Addr, &b.SizeBytes)
}

// show converts a block's range in its segment to the address and size that the caller
// has. The caller holds mu.
func (h *heap) show(addr *device.Addr, sizeBytes *uint64) {
	if view, ok := h.debug.View(*addr); ok {
		*addr, *sizeBytes = view.Addr, view.SizeBytes
	}
}

// changed is called at the end of every call that changed the pool. The caller holds no
// lock.
func (h *heap) changed() {
	if h.debug != nil {
		h.logPending()
	}
	h.engine.Changed()
}
