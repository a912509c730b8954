package vmm

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
)

// placing is an allocation in a space.
type placing struct {
	op string
	// at is the range. With anywhere only its size counts, and the first free run that
	// is long enough is used.
	at       extent.Span
	anywhere bool
	// tag names the allocation in reports; "" means the space's own name.
	tag string
	// stream uses the range first; nil means the default stream.
	stream device.Stream
	// wait is how long the allocation waits while the pages that it needs are asleep.
	wait time.Duration
}

// claim is an allocation that has its offset and its charge. Its thread holds no lock.
type claim struct {
	placing
	run    pageset.Run
	record uint32
	tag    uint32
	// revived has the parked runs in the range, which keep their physical pages; fresh
	// has the other runs.
	revived, fresh []pageset.Run
	// stuck states that some of the revived runs need access rights.
	stuck bool
	// mapped has the runs of fresh that are mapped, pages the pages of fresh.
	mapped []pageset.Run
	pages  []device.Page
}

// allocate maps pages for a range, all or none: if any call fails, the space, the
// counters and the device are as before. It waits while the range is retiring.
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
	return c.at, nil
}

// claim finds the offset and claims the range for the calling thread.
func (s *space) claim(p placing) (*claim, error) {
	c := &claim{placing: p}
	var err error
	if p.anywhere {
		c.run.Pages, err = s.table.extent.PagesFor(p.op, p.at.Size)
	} else {
		c.run, err = s.table.extent.RunOf(p.op, p.at)
	}
	if err != nil {
		return nil, err
	}
	for landed := false; ; landed = true {
		err := s.claimNow(c)
		if err == nil || !errors.Is(err, device.CodeOutOfPhysicalMemory) {
			return c, err
		}
		if landed {
			s.physical.failed()
			return nil, err
		}
		// The work of retiring ranges in other spaces may have completed.
		s.physical.Land()
	}
}

func (s *space) claimNow(c *claim) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.place(c); err != nil {
		return err
	}
	err := s.secure(c)
	if err != nil {
		s.table.free.Put(c.run)
		s.changed.Broadcast()
		return err
	}
	s.table.used += c.run.Pages
	s.peak = max(s.peak, s.table.used)
	s.claims++
	for _, r := range c.revived {
		s.table.parked.Remove(r)
	}
	return nil
}

// place removes the address range of a claim from the free map. The caller holds mu,
// which is released while place waits.
func (s *space) place(c *claim) error {
	s.land(pollBudget)
	var wait placeWait
	for {
		if s.table.state != stateOpen {
			return s.table.extent.Closed(c.op)
		}
		if err := s.table.sleeping(c.placing); err != nil {
			return err
		}
		if c.anywhere {
			start, ok := s.table.free.FirstFit(c.run.Pages)
			if !ok && s.landEach() {
				continue
			}
			if !ok && s.unparking > 0 {
				s.changed.Wait()
				continue
			}
			if !ok {
				again, err := s.awaitPlace(c.run.Pages, &wait)
				if again {
					continue
				}
				return cmp.Or(err, s.table.noPlace(c.placing))
			}
			c.run.Start, c.at.Offset = start, start*s.table.extent.PageBytes
		} else if err := s.table.clash(c.placing, c.run); err != nil {
			return err
		}
		if s.table.free.Take(c.run) {
			return nil
		}
		if err := s.waitForRange(c); err != nil {
			return err
		}
	}
}

// noPlace is the error of an allocation for which no free run is long enough.
func (t *pageTable) noPlace(p placing) error {
	return t.extent.Fault(device.CodeOutOfVirtualMemory, p.op,
		"size %d: the longest free run of %q is %d of %d bytes, %d are retiring", p.at.Size, t.extent.Name,
		t.free.Longest()*t.extent.PageBytes, t.extent.Bytes(), t.retiring*t.extent.PageBytes).
		Stating(device.FactRequestedBytes, p.at.Size).Stating(device.FactCapacityBytes, t.extent.Bytes()).
		Stating(device.FactLargestFreeBytes, t.free.Longest()*t.extent.PageBytes)
}

// clash returns an error if a page of a run is live, and nil otherwise.
func (t *pageTable) clash(p placing, r pageset.Run) error {
	page, clash := t.live.FirstIn(r)
	if !clash {
		return nil
	}
	return t.extent.BadPage(device.CodeAlreadyMapped, p.op, page, p.at)
}

// waitForRange waits for what blocks a range: the work of a retiring range, or a thread
// that has claimed a part.
func (s *space) waitForRange(c *claim) error {
	f := s.retirees.fenceOver(c.run)
	if f == nil && s.unparking > 0 {
		s.changed.Wait() // a thread that unmaps never waits for queued work
		return nil
	}
	if !s.physical.engine.MayWait() {
		return s.table.extent.Fault(device.CodeBusy, c.op, "offset %d, size %d: queued work still uses the range, and this thread may not wait for it",
			c.at.Offset, c.at.Size)
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

// secure charges the pages of a claim that has its offset, and adds its record.
func (s *space) secure(c *claim) error {
	c.revived, c.fresh = c.revived[:0], c.fresh[:0]
	revived, at := uint64(0), c.run.Start
	s.table.parked.RunsIn(c.run, func(r pageset.Run) bool {
		if at < r.Start {
			c.fresh = append(c.fresh, pageset.Run{Start: at, Pages: r.Start - at})
		}
		c.revived = append(c.revived, r)
		revived += r.Pages
		at = r.End()
		return true
	})
	if at < c.run.End() {
		c.fresh = append(c.fresh, pageset.Run{Start: at, Pages: c.run.End() - at})
	}
	_, c.stuck = s.table.stuck.FirstIn(c.run)
	if !s.physical.charge(c.run.Pages, revived) {
		return s.physical.overLimit(s.table.extent.Op(c.op), c.run.Pages)
	}
	if err := s.table.enlist(c); err != nil {
		s.physical.discharge(c.run.Pages, revived)
		return err
	}
	return nil
}

// enlist adds a record and a tag for a claim.
func (t *pageTable) enlist(c *claim) (err error) {
	if c.tag, err = t.tagOf(c.op, c.placing.tag); err != nil {
		return err
	}
	c.record, err = t.records.add(allocation{offset: c.at.Offset, size: c.at.Size, tag: c.tag, at: track.Now()})
	if err != nil {
		return err
	}
	t.tags.Add(c.tag, t.sizes(c), 1)
	return nil
}

func (t *pageTable) tagOf(op, tag string) (uint32, error) {
	if tag == "" {
		return 0, nil
	}
	if len(tag) > MaxNameBytes {
		return 0, t.extent.Fault(device.CodeInvalidArgument, op, "tag %q has %d bytes, at most %d are allowed", tag, len(tag), MaxNameBytes)
	}
	number, ok := t.tags.Number(tag)
	if !ok {
		return 0, t.extent.Fault(device.CodeResourceExhausted, op, "tag %q: there are %d others", tag, track.MaxTags)
	}
	return number, nil
}

func (t *pageTable) sizes(c *claim) track.Block {
	return track.Block{RequestedBytes: c.at.Size, AllocatedBytes: c.run.Pages * t.extent.PageBytes}
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
		if err := s.grant(r); err != nil {
			return err
		}
	}
	if !c.stuck {
		return nil
	}
	for _, r := range c.revived {
		if err := s.grant(r); err != nil {
			return err
		}
	}
	return nil
}

// grant gives the device, and the host, read and write access to a run.
func (s *space) grant(r pageset.Run) error {
	return s.physical.virtual.SetAccess(s.table.extent.Addr(r.Start), r.Pages*s.table.extent.PageBytes, device.AccessReadWrite)
}

// commit makes the pages of a claim live.
func (s *space) commit(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := 0
	for _, r := range c.fresh {
		at += copy(s.table.numbers[r.Start:r.End()], c.pages[at:])
	}
	allocated := s.table.allocated[c.run.Start:c.run.End()]
	for i := range allocated {
		allocated[i] = c.record + 1
	}
	if c.stuck {
		s.table.stuck.Remove(c.run)
	}
	s.table.live.Add(c.run)
	s.table.users.Begin(c.run, c.stream)
	s.table.records.all[c.record].left = uint32(c.run.Pages)
	s.table.requested += c.at.Size
	s.allocations++
	s.physical.enter(s.table.sizes(c))
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
	s.physical.give(s.owner, loose)
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
	s.table.tags.Remove(c.tag, s.table.sizes(c), 1)
	s.table.records.remove(c.record)
	s.table.used -= c.run.Pages
	s.physical.discharge(c.run.Pages, parked)
	s.table.free.Put(c.run)
	s.unclaim()
}
