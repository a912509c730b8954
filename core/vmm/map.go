package vmm

import (
	"errors"
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
)

// placing is the allocations of one call in a space: one allocation, or a list of which all
// are made or none.
type placing struct {
	op string
	// targets has the ranges; each becomes an allocation. With anywhere only their sizes
	// count. In the order of the caller's list, each gets the first free run that is long
	// enough; then they have their offsets.
	targets
	anywhere bool
	// tag names the allocations in reports; "" means the space's own name.
	tag string
	// stream uses the ranges first; nil means the default stream.
	stream device.Stream
	// wait is the longest time that the allocation waits while pages that it needs are
	// asleep.
	wait time.Duration
}

// prepare finds the pages of a placing, or their number. It is called first.
func (p *placing) prepare(e *extent.Extent) (err error) {
	if !p.anywhere {
		return p.locate(e, p.op)
	}
	return p.measure(e, p.op)
}

// claim is a placing that has its offsets and its charge. Its thread holds no lock.
type claim struct {
	placing
	// runs has the pages of all targets, records the numbers of their allocations.
	runs    []pageset.Run
	records []uint32
	tag     uint32
	// oneRun and oneRecord are the memory of runs and records for a single range.
	oneRun    [1]pageset.Run
	oneRecord [1]uint32
	// revived has the parked runs in the ranges, which keep their physical pages; fresh
	// has the other runs.
	revived, fresh []pageset.Run
	// stuck has the parts of revived that are stuck.
	stuck []pageset.Run
	// mapped has the runs of fresh that are mapped, pages the pages of fresh.
	mapped []pageset.Run
	pages  []device.Page
}

// allocate maps pages for ranges, all or none: if any call fails, the space, the
// counters and the device are as before. It waits while a range is retiring. It returns
// the first range.
func (s *space) allocate(p placing) (extent.Span, error) {
	c, err := s.claim(p)
	if err != nil {
		return extent.Span{}, err
	}
	if err := s.back(c); err != nil {
		s.abandon(c)
		s.physical.engine.Changed()
		return extent.Span{}, err
	}
	s.commit(c)
	s.physical.engine.Changed()
	return c.all[0].span, nil
}

// claim finds the offsets and claims the ranges for the calling thread.
func (s *space) claim(p placing) (*claim, error) {
	c := &claim{placing: p}
	for completed := false; ; completed = true {
		err := s.claimNow(c)
		if err == nil || !errors.Is(err, device.CodeOutOfPhysicalMemory) {
			return c, err
		}
		if completed {
			s.physical.failed()
			return nil, err
		}
		// The work of retiring ranges in other spaces may have completed.
		s.physical.CompleteFrees()
	}
}

func (s *space) claimNow(c *claim) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.place(c); err != nil {
		return err
	}
	c.runs = c.targets.runs(c.oneRun[:0])
	err := s.secure(c)
	if err != nil {
		s.table.putFree(c.runs)
		s.changed.Broadcast()
		return err
	}
	s.table.used += c.targets.pages()
	s.peak = max(s.peak, s.table.used)
	s.claims++
	for _, r := range c.revived {
		s.table.parked.Remove(r)
	}
	return nil
}

// place removes the address ranges of a claim from the free map. The caller holds mu,
// which is released while place waits.
func (s *space) place(c *claim) error {
	s.completeFrees(pollBudget)
	var wait placeWait
	for {
		if s.table.state != stateOpen {
			return s.table.extent.Closed(c.op)
		}
		if err := s.table.sleeping(c.placing); err != nil {
			return err
		}
		if c.anywhere {
			again, err := s.findPlaces(c, &wait)
			if again {
				continue
			}
			return err
		}
		if err := s.table.clash(c.placing); err != nil {
			return err
		}
		held := s.table.takeAll(c.all)
		if held == nil {
			return nil
		}
		if err := s.waitForRange(c, held); err != nil {
			return err
		}
	}
}

// takeAll removes all ranges from the free map and returns nil, or removes none and returns
// a range with a page that is not free.
func (t *pageTable) takeAll(all []target) (held *target) {
	for i := range all {
		if t.free.Take(all[i].run) {
			continue
		}
		t.putTargets(all[:i])
		return &all[i]
	}
	return nil
}

// clash returns an error if a page of the ranges is live, and nil otherwise.
func (t *pageTable) clash(p placing) error {
	return p.each(func(at *target) error {
		page, clash := t.live.FirstIn(at.run)
		if !clash {
			return nil
		}
		return t.extent.BadPage(device.CodeAlreadyMapped, p.op, page, at.span)
	})
}

// waitForRange waits for what blocks a range: the work of a retiring range, or a thread
// that has claimed a part.
func (s *space) waitForRange(c *claim, held *target) error {
	f := s.retirees.fenceOver(held.run)
	if f == nil && s.unparking > 0 {
		s.changed.Wait() // a thread that unmaps never waits for queued work
		return nil
	}
	if !s.physical.engine.MayWait() {
		return c.named(held, s.table.extent.Fault(device.CodeBusy, c.op,
			"offset %d, size %d: queued work still uses the range, and this thread must not wait for it", held.span.Offset, held.span.Size))
	}
	if f == nil {
		s.changed.Wait()
		return nil
	}
	passed, err := s.awaitLocked(f, device.Forever)
	if passed {
		return nil
	}
	return err
}

// secure charges the pages of a claim that has its offsets, and adds its records.
func (s *space) secure(c *claim) error {
	c.revived, c.fresh, c.stuck = c.revived[:0], c.fresh[:0], c.stuck[:0]
	pages, revived := uint64(0), uint64(0)
	for _, run := range c.runs {
		pages += run.Pages
		at := run.Start
		s.table.parked.RunsIn(run, func(r pageset.Run) bool {
			if at < r.Start {
				c.fresh = append(c.fresh, pageset.Run{Start: at, Pages: r.Start - at})
			}
			c.revived = append(c.revived, r)
			revived += r.Pages
			at = r.End()
			return true
		})
		if at < run.End() {
			c.fresh = append(c.fresh, pageset.Run{Start: at, Pages: run.End() - at})
		}
		s.table.stuck.RunsIn(run, func(r pageset.Run) bool {
			c.stuck = append(c.stuck, r)
			return true
		})
	}
	if !s.physical.charge(pages, revived) {
		return s.physical.overLimit(s.table.extent.Op(c.op), pages)
	}
	if err := s.table.enlist(c); err != nil {
		s.physical.discharge(pages, revived)
		return err
	}
	return nil
}

// enlist adds the records and a tag for a claim.
func (t *pageTable) enlist(c *claim) (err error) {
	if c.tag, err = t.tagOf(c.op, c.placing.tag); err != nil {
		return err
	}
	c.records = c.oneRecord[:0]
	for _, at := range c.all {
		record, err := t.records.add(allocation{offset: at.span.Offset, size: at.span.Size, tag: c.tag, at: track.Now()})
		if err != nil {
			t.unlist(c)
			return err
		}
		c.records = append(c.records, record)
	}
	t.tags.Add(c.tag, t.sizes(c), uint64(len(c.records)))
	return nil
}

// unlist removes the records of a claim.
func (t *pageTable) unlist(c *claim) {
	for _, record := range c.records {
		t.records.remove(record)
	}
}

func (t *pageTable) tagOf(op, tag string) (uint32, error) {
	if tag == "" {
		return 0, nil
	}
	if len(tag) > MaxNameBytes {
		return 0, t.extent.Fault(device.CodeInvalidArgument, op, "tag %q has %v, at most %d are allowed", tag, device.Size(len(tag)), MaxNameBytes)
	}
	number, ok := t.tags.Number(tag)
	if !ok {
		return 0, t.extent.Fault(device.CodeResourceExhausted, op, "tag %q: %d other tags exist, which is the most", tag, track.MaxTags)
	}
	return number, nil
}

// sizes is the sum of the sizes of a claim.
func (t *pageTable) sizes(c *claim) track.Block {
	return track.Block{RequestedBytes: c.targets.bytes(), AllocatedBytes: c.targets.pages() * t.extent.PageBytes}
}

// back maps physical pages for a claim. If it fails, abandon undoes its work.
func (s *space) back(c *claim) error {
	f := &fetching{space: s, op: s.table.extent.Op(c.op)}
	for _, r := range c.fresh {
		f.pages += r.Pages
	}
	if f.pages > 0 {
		pages, err := s.physical.fetch(f)
		if err != nil {
			return err
		}
		c.pages = pages
	}
	at := uint64(0)
	for i, r := range c.fresh {
		if err := s.physical.virtual.Map(s.table.extent.Addr(r.Start), c.pages[at:at+r.Pages]); err != nil {
			return err
		}
		c.mapped = c.fresh[:i+1]
		at += r.Pages
		if err := s.table.grant(s.physical.virtual, r); err != nil {
			return err
		}
	}
	for _, r := range c.stuck {
		err := s.table.grant(s.physical.virtual, r)
		if err == nil {
			err = s.table.wipe(s.physical.engine.Device(), r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wipe writes zeros to mapped pages.
func (t *pageTable) wipe(on device.Device, r pageset.Run) error {
	visible, ok := on.(device.HostVisible)
	if !ok {
		return t.extent.Fault(device.CodeUnsupported, "wipe", "the device cannot write zeros to a mapped page")
	}
	return visible.FillNow(t.extent.Addr(r.Start), 0, r.Pages*t.extent.PageBytes)
}

// grant gives the device, and the host, read and write access to a run.
func (t *pageTable) grant(virtual device.VirtualMemory, r pageset.Run) error {
	return virtual.SetAccess(t.extent.Addr(r.Start), r.Pages*t.extent.PageBytes, device.AccessReadWrite)
}

// commit makes the pages of a claim live.
func (s *space) commit(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := 0
	for _, r := range c.fresh {
		at += copy(s.table.numbers[r.Start:r.End()], c.pages[at:])
	}
	for i, record := range c.records {
		run := c.all[i].run
		allocated := s.table.allocated[run.Start:run.End()]
		for page := range allocated {
			allocated[page] = record + 1
		}
		s.table.records.all[record].left = uint32(run.Pages)
	}
	for _, run := range c.runs {
		if len(c.stuck) > 0 {
			s.table.stuck.Remove(run)
		}
		s.table.live.Add(run)
		s.table.users.Begin(run, c.stream)
	}
	sizes, count := s.table.sizes(c), uint64(len(c.records))
	s.table.requested += sizes.RequestedBytes
	s.allocations += count
	s.physical.countAllocations(sizes, count)
	s.unclaim()
}

// unclaim ends a claim. The caller holds mu.
func (s *space) unclaim() {
	s.claims--
	s.changed.Broadcast()
}

// abandon undoes a claim. A run that cannot be unmapped stays parked, without access
// rights.
func (s *space) abandon(c *claim) {
	var stuck []pageset.Run
	var loose, kept []device.Page
	at := uint64(0)
	for i, r := range c.fresh {
		if c.pages == nil {
			break
		}
		pages := c.pages[at : at+r.Pages]
		at += r.Pages
		if i < len(c.mapped) && s.physical.virtual.Unmap(s.table.extent.Addr(r.Start), r.Pages*s.table.extent.PageBytes) != nil {
			stuck, kept = append(stuck, r), append(kept, pages...)
		} else {
			loose = append(loose, pages...)
		}
	}
	s.physical.returnPages(s.owner, loose)
	s.mu.Lock()
	defer s.mu.Unlock()
	parked := uint64(0)
	for _, r := range slices.Concat(stuck, c.revived) {
		s.table.parked.Add(r)
		parked += r.Pages
	}
	at = 0
	for _, r := range stuck {
		s.table.stuck.Add(r)
		at += uint64(copy(s.table.numbers[r.Start:r.End()], kept[at:]))
	}
	s.table.tags.Remove(c.tag, s.table.sizes(c), uint64(len(c.records)))
	s.table.unlist(c)
	pages := c.targets.pages()
	s.table.used -= pages
	s.physical.discharge(pages, parked)
	s.table.putFree(c.runs)
	s.unclaim()
}
