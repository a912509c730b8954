package memcheck

import "ferrum_mem/core/device"

// Block is a block as the pool has placed it.
type Block struct {
	// Base and SizeBytes are the pool's range; its size is the result of Padded.
	Base           device.Addr
	SizeBytes      uint64
	RequestedBytes uint64
	AlignmentBytes uint64
	Tag            string
}

// Enter adds a new block and returns the address for the caller. No queued work may use
// the memory, unless NeedsFreed is false: then it may be a block in flight.
func (c *Checker) Enter(b Block) device.Addr {
	r := &record{
		base: b.Base, user: b.Base + device.Addr(c.front(b.AlignmentBytes)),
		size: b.SizeBytes, requested: b.RequestedBytes, tag: b.Tag, allocated: c.here(),
	}
	if before := c.bases[b.Base]; before != nil {
		// Its stream reuses a block in flight, see NeedsFreed.
		c.remember(before)
	}
	c.users[r.user], c.bases[r.base] = r, r
	if c.poison {
		c.fill(r, r.inside(), FreshByte)
	}
	if c.zones {
		r.guarded = c.fill(r, r.before(), ZoneByte) && c.fill(r, r.behind(), ZoneByte)
	}
	return r.user
}

// Base returns the start of the pool's range for the address that the caller has of a
// live block.
func (c *Checker) Base(user device.Addr) (device.Addr, bool) {
	r := c.users[user]
	if r == nil || r.state != live {
		return 0, false
	}
	return r.base, true
}

// View is the address and size that the caller has of the block whose range starts at
// base.
type View struct {
	Addr device.Addr
	// SizeBytes is the number of bytes that the caller may use.
	SizeBytes uint64
}

// View returns the caller's view of a block, live or freed, that the pool knows by base.
func (c *Checker) View(base device.Addr) (View, bool) {
	r := c.bases[base]
	if r == nil {
		return View{}, false
	}
	size := r.size
	if c.zones {
		size = r.requested
	}
	return View{Addr: r.user, SizeBytes: size}, true
}

// Free ends the life of a live block; base is the start of its range. It returns a report
// if the bytes beside the block were changed.
func (c *Checker) Free(op string, base device.Addr) *Report {
	r := c.bases[base]
	r.freed = c.here()
	r.state = inFlight
	return c.checkZones(op, r, "at its free")
}

// CompleteFree states that no queued work uses a freed block any more. The pool owns what Evict
// returns afterwards.
func (c *Checker) CompleteFree(base device.Addr, boundBytes uint64) {
	r := c.bases[base]
	if report := c.checkZones(opCompleteFree, r, "after the work that was queued at its free"); report != nil {
		c.pending = append(c.pending, report)
	}
	if c.poison {
		r.poisoned = c.fill(r, r.inside(), FreedByte)
	}
	r.state = quarantined
	if !c.holds {
		boundBytes = 0
	}
	if r.size > boundBytes {
		// The block leaves at once, so no write after the free could be detected.
		r.guarded, r.poisoned = false, false
	}
	c.held.push(r, boundBytes)
}

// Evict removes the next block from the quarantine, if more than boundBytes are in it,
// and returns its range; false if there is none.
func (c *Checker) Evict(boundBytes uint64) (base device.Addr, ok bool) {
	r := c.held.pop(boundBytes)
	if r == nil {
		return 0, false
	}
	c.pending = append(c.pending, c.checkHeld(opEvict, r, "when it left quarantine")...)
	c.remember(r)
	return r.base, true
}

// Drop removes a block whose segment was released.
func (c *Checker) Drop(base device.Addr) {
	if r := c.bases[base]; r != nil {
		c.forget(r)
	}
}

// remember forgets a freed block, except for what a later report of a double free states.
func (c *Checker) remember(r *record) {
	c.forget(r)
	c.past.add(past{user: r.user, requested: r.requested, tag: r.tag, allocated: r.allocated, freed: r.freed})
}

func (c *Checker) forget(r *record) {
	delete(c.users, r.user)
	delete(c.bases, r.base)
}

// Held returns what is in quarantine.
func (c *Checker) Held() (blocks int, bytes uint64) {
	return len(c.held.ready) + len(c.held.items) - c.held.head, c.held.bytes
}

// Check checks every block, live and in quarantine. It repairs the damage that it
// reports, so that each damage is reported once.
func (c *Checker) Check() []*Report { return c.checkAll(opCheck, "by a check") }

// CheckLast is Check for a pool that is about to be destroyed.
func (c *Checker) CheckLast() []*Report {
	return c.checkAll(opDestroy, "when its pool was destroyed")
}

func (c *Checker) checkAll(op, when string) []*Report {
	var found []*Report
	for _, r := range c.sorted() {
		if r.state == quarantined {
			found = append(found, c.checkHeld(op, r, when)...)
		} else if report := c.checkZones(op, r, when); report != nil {
			found = append(found, report)
		}
	}
	return found
}

// AllocatedAt returns the return addresses of the allocation of a block, by the address
// that the caller has; nil means unknown.
func (c *Checker) AllocatedAt(user device.Addr) []uintptr {
	if r := c.users[user]; r != nil {
		return c.depot.frames(r.allocated)
	}
	return nil
}
