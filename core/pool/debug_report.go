package pool

import (
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/memcheck"
)

// unguard tells the checks that blocks were freed. The caller holds mu.
func (h *heap) unguard(j *pendingFree, found []located) {
	for _, l := range found {
		if report := h.debug.Free(opFree, l.addr()); report != nil {
			j.reports = append(j.reports, report)
		}
	}
}

// report writes the findings of a free to the log and returns the error of the free: a
// report about err if the free was rejected, or CodeCorrupted if the blocks were freed
// and bytes beside a block were overwritten. The caller holds no lock.
func (f *frees) report(j *pendingFree, err error) error {
	if len(j.reports) == 0 {
		return err
	}
	if err != nil && j.foreign {
		f.askSiblings(j.reports[0], j.addrs[j.wrong])
	}
	found := f.heap.tell(j.reports)
	if err != nil && j.batch {
		return device.Errorf(device.CodeOf(found), opFree, "addresses[%d]: %w", j.wrong, found).On(f.heap.engine.ID())
	}
	return found
}

// askSiblings adds to a report which other pool of the device contains an address. The
// caller holds no lock.
func (p *Pool) askSiblings(report *memcheck.Report, addr device.Addr) {
	for _, other := range p.heap.engine.Pools(p) {
		sibling, ok := other.(*Pool)
		if !ok {
			continue
		}
		info, ok := sibling.OwnerOf(addr)
		if !ok {
			continue
		}
		if info.State != BlockLive {
			report.Add(fmt.Sprintf("it is in pool %q, in no live block", sibling.heap.config.Name), nil)
			return
		}
		what := fmt.Sprintf("it is in pool %q, in the block of %v at %#x, tag %q",
			sibling.heap.config.Name, device.Size(info.RequestedBytes), uint64(info.Addr), info.Tag)
		frames := sibling.allocatedAt(info.Addr)
		if len(frames) > 0 {
			what += ", allocated at"
		}
		report.Add(what, frames)
		return
	}
}

// tell writes reports to the log and returns the first one as an error. The caller holds
// no lock.
func (h *heap) tell(reports []*memcheck.Report) (first error) {
	for _, report := range reports {
		err := h.debug.Tell(report, func(level memcheck.Level, message string) {
			h.engine.Log(engine.Level(level), message)
		})
		if first == nil {
			first = err
		}
	}
	return first
}

// logPending writes to the log the reports that no call returns. The caller holds no
// lock.
func (h *heap) logPending() {
	h.mu.Lock()
	pending := h.debug.Pending()
	h.mu.Unlock()
	_ = h.tell(pending)
}

// checkLast checks all blocks before their memory is released. The caller holds no lock.
func (h *heap) checkLast() {
	if h.debug == nil {
		return
	}
	h.mu.Lock()
	found := h.debug.CheckLast()
	h.mu.Unlock()
	_ = h.tell(found)
}

// Check checks all blocks at once, live and in quarantine. It returns CodeCorrupted for
// the first block whose red zones were overwritten, or which was written to after its
// free. All such blocks are written to the log, and none is reported again. Without debug
// mode it returns nil.
func (p *Pool) Check() error {
	if p.heap.debug == nil {
		return nil
	}
	p.heap.mu.Lock()
	found := p.heap.debug.Check()
	p.heap.mu.Unlock()
	return p.heap.tell(found)
}

// CallSite returns the functions that allocated the live block at an address, the
// innermost function first; nil means that they are not known.
func (p *Pool) CallSite(addr device.Addr) []string {
	if p.heap.debug == nil {
		return nil
	}
	return p.heap.debug.Describe(p.allocatedAt(addr))
}

// allocatedAt is CallSite with return addresses as the result.
func (p *Pool) allocatedAt(addr device.Addr) []uintptr {
	if private := p.family.privateOf(addr); private != nil {
		return private.allocatedAt(addr)
	}
	if p.heap.debug == nil {
		return nil
	}
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	return p.heap.debug.AllocatedAt(addr)
}
