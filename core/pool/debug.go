package pool

import (
	"fmt"

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

// DebugFlags say what a pool checks.
type DebugFlags = memcheck.Flags

// The checks; see package memcheck.
const (
	DebugRedZones   = memcheck.RedZones
	DebugPoison     = memcheck.Poison
	DebugQuarantine = memcheck.Quarantine
	DebugCallSites  = memcheck.CallSites
	DebugAll        = memcheck.All
)

const (
	// quarantineBytes and a share of what the pool holds bound what is in
	// quarantine.
	quarantineBytes = 64 << 20
	quarantineShare = 8
)

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

// unguard ends the lives of blocks for the checks. The caller holds mu.
func (p *Pool) unguard(j *pendingFree, found []located) {
	for _, l := range found {
		if report := p.debug.Free(opFree, l.addr()); report != nil {
			j.reports = append(j.reports, report)
		}
	}
}

// told brings what a free has found to the log, and gives its error: err if it
// was refused, CodeCorrupted if the blocks were freed and bytes beside one were
// overwritten. The caller holds no lock.
func (p *Pool) told(j *pendingFree, err error) error {
	if len(j.reports) == 0 {
		return err
	}
	if err != nil && j.foreign {
		p.askSiblings(j.reports[0], j.addrs[j.wrong])
	}
	found := p.tell(j.reports)
	if err != nil && j.batch {
		return device.Errorf(device.CodeOf(found), opFree, "addresses[%d]: %w", j.wrong, found).On(p.engine.ID())
	}
	return found
}

// askSiblings adds to a report which other pool of the device an address belongs
// to. The caller holds no lock.
func (p *Pool) askSiblings(report *memcheck.Report, addr device.Addr) {
	for _, other := range p.engine.Pools(p) {
		sibling, ok := other.(*Pool)
		if !ok {
			continue
		}
		info, ok := sibling.OwnerOf(addr)
		if !ok {
			continue
		}
		if info.State != BlockLive {
			report.Add(fmt.Sprintf("it is in pool %q, in no live block", sibling.config.Name), nil)
			return
		}
		what := fmt.Sprintf("it is in pool %q, in the block of %d bytes at %#x, tag %q",
			sibling.config.Name, info.RequestedBytes, uint64(info.Addr), info.Tag)
		frames := sibling.allocatedAt(info.Addr)
		if len(frames) > 0 {
			what += ", allocated at"
		}
		report.Add(what, frames)
		return
	}
}

// landed makes the memory of a retired block, which no queued work uses any
// more, free in its segment, or holds it back for a while.
func (p *Pool) landed(l located) {
	if p.debug == nil {
		p.giveToSegment(l)
		p.books.Land(l.Size)
		return
	}
	bound := min(p.held/quarantineShare, quarantineBytes)
	p.debug.Land(l.addr(), bound)
	p.evict(bound)
}

// evict takes blocks out of quarantine until no more than boundBytes are in it,
// and says whether there were any. The caller holds mu.
func (p *Pool) evict(boundBytes uint64) (some bool) {
	for base, ok := p.debug.Evict(boundBytes); ok; base, ok = p.debug.Evict(boundBytes) {
		l, there := p.locate(base)
		if !there {
			p.broken("pool.quarantine", device.Errorf(device.CodeInternal, "pool.quarantine",
				"a block in quarantine is not there"))
		}
		l.setInfo(0)
		p.giveToSegment(l)
		p.books.Land(l.Size)
		some = true
	}
	return some
}

// flushQuarantine empties the quarantine, and says whether anything was in it.
// The caller holds no lock.
func (p *Pool) flushQuarantine() bool {
	p.lockLanded()
	some := p.evict(0)
	p.mu.Unlock()
	p.changed()
	return some
}

// changed ends every call that changes the pool. The caller holds no lock.
func (p *Pool) changed() {
	if p.debug != nil {
		p.tellPending()
	}
	p.engine.Changed()
}

// tellPending brings reports to the log that no call returns. The caller holds
// no lock.
func (p *Pool) tellPending() {
	p.mu.Lock()
	pending := p.debug.Pending()
	p.mu.Unlock()
	_ = p.tell(pending)
}

// tell brings reports to the log and gives the first as an error. The caller
// holds no lock.
func (p *Pool) tell(reports []*memcheck.Report) (first error) {
	for _, report := range reports {
		err := p.debug.Tell(report, func(level memcheck.Level, message string) {
			p.engine.Log(engine.Level(level), message)
		})
		if first == nil {
			first = err
		}
	}
	return first
}

// checkLast looks at all blocks before their memory goes. The caller holds no
// lock.
func (p *Pool) checkLast() {
	if p.debug == nil {
		return
	}
	p.mu.Lock()
	found := p.debug.CheckLast()
	p.mu.Unlock()
	_ = p.tell(found)
}

// Check looks at all blocks, live and in quarantine, at once:
// CodeCorrupted for the first beside which, or after the free of which, bytes
// were overwritten. All of them are in the log, and none is reported again.
// Without debug mode there is nothing to look at.
func (p *Pool) Check() error {
	if p.debug == nil {
		return nil
	}
	p.mu.Lock()
	found := p.debug.Check()
	p.mu.Unlock()
	return p.tell(found)
}

// CallSite is where the live block at an address was allocated, the innermost
// function first; nil: not known.
func (p *Pool) CallSite(addr device.Addr) []string {
	if p.debug == nil {
		return nil
	}
	return p.debug.Describe(p.allocatedAt(addr))
}

// allocatedAt is CallSite as return addresses.
func (p *Pool) allocatedAt(addr device.Addr) []uintptr {
	if p.debug == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.debug.AllocatedAt(addr)
}
