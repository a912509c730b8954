package memcheck

import (
	"cmp"
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
)

const (
	opCompleteFree = "pool.complete_free"
	opEvict        = "pool.quarantine"
	opDestroy      = "pool.destroy"
	opCheck        = "pool.check"
)

// checkZones checks the zones of a block. If a byte was overwritten, it reports that and
// fills the zones again. when describes the occasion of the check.
func (c *Checker) checkZones(op string, r *record, when string) *Report {
	if !r.guarded {
		return nil
	}
	before, behind := r.before(), r.behind()
	if d, bad := c.look(r, before, ZoneByte); bad {
		distance := before.size - d.OffsetBytes
		return c.damaged(op, r, fmt.Sprintf("the byte %d before its start is %#02x instead of %#02x, seen %s",
			distance, d.Found, ZoneByte, when))
	}
	if d, bad := c.look(r, behind, ZoneByte); bad {
		return c.damaged(op, r, fmt.Sprintf("the byte at %d, %d after its end, is %#02x instead of %#02x, seen %s",
			r.requested+d.OffsetBytes, d.OffsetBytes, d.Found, ZoneByte, when))
	}
	return nil
}

// damaged reports damage beside a block.
func (c *Checker) damaged(op string, r *record, what string) *Report {
	r.guarded = c.fill(r, r.before(), ZoneByte) && c.fill(r, r.behind(), ZoneByte)
	return &Report{
		Code: device.CodeCorrupted, Op: op, level: Error,
		Text:  fmt.Sprintf("overrun of the %v: %s", r, what),
		sites: c.sitesOf(r),
	}
}

// checkHeld checks a block in quarantine: its zones, and its inside for writes after the
// free.
func (c *Checker) checkHeld(op string, r *record, when string) (found []*Report) {
	if report := c.checkZones(op, r, when); report != nil {
		found = append(found, report)
	}
	if !r.poisoned {
		return found
	}
	if d, bad := c.look(r, r.inside(), FreedByte); bad {
		r.poisoned = c.fill(r, r.inside(), FreedByte)
		found = append(found, &Report{
			Code: device.CodeCorrupted, Op: op, level: Error,
			Text: fmt.Sprintf("write after the free of the %v: the byte at %d is %#02x instead of %#02x, seen %s",
				r, d.OffsetBytes, d.Found, FreedByte, when),
			sites: c.sitesOf(r),
		})
	}
	return found
}

// look finds the first byte of a range that differs from the value. A range that cannot
// be read is not checked again.
func (c *Checker) look(r *record, at span, value byte) (device.Difference, bool) {
	if at.size == 0 {
		return device.Difference{}, false
	}
	d, bad, err := c.visible.FirstOther(at.start, value, at.size)
	if err != nil {
		r.guarded, r.poisoned = false, false
		c.note(Warning, "the block of %v at %#x cannot be checked: %v", device.Size(r.requested), uint64(r.user), err)
		return device.Difference{}, false
	}
	return d, bad
}

// Refuse reports a free, or another use, of an address at which no live block starts. err
// is the pool's error.
func (c *Checker) Refuse(op string, addr device.Addr, err error) *Report {
	report := &Report{Code: device.CodeOf(err), Op: op, level: Error, Text: message(err)}
	here := c.mark("called from", c.here())
	if r := c.users[addr]; r != nil && r.state == live {
		report.sites = append(c.sitesOf(r), here)
		return report
	} else if r != nil {
		report.Code = device.CodeDoubleFree
		report.Text = fmt.Sprintf("address %#x: the %v, was freed before and is %s", uint64(addr), r, r.state)
		report.sites = append(c.sitesOf(r), here)
		return report
	}
	old, known := c.past.find(addr)
	if r := c.around(addr); r != nil {
		report.Code = device.CodeInvalidAddress
		report.Text = fmt.Sprintf("address %#x lies %s the %v, which is %s", uint64(addr), r.place(addr), r, r.state)
		report.sites = c.sitesOf(r)
	} else if known {
		report.Code = device.CodeDoubleFree
		report.Text = fmt.Sprintf("address %#x: the block of %v, tag %q, was freed before and its memory was released",
			uint64(addr), device.Size(old.requested), old.tag)
	}
	if known {
		report.sites = append(report.sites,
			c.mark(fmt.Sprintf("a block of %v at %#x was allocated at", device.Size(old.requested), uint64(addr)), old.allocated),
			c.mark("and freed at", old.freed))
	}
	report.sites = append(report.sites, here)
	return report
}

// around returns the block whose range contains an address, or nil. It examines all
// blocks.
func (c *Checker) around(addr device.Addr) *record {
	for _, r := range c.bases {
		if addr >= r.base && uint64(addr-r.base) < r.size {
			return r
		}
	}
	return nil
}

// sorted returns all blocks in order of address.
func (c *Checker) sorted() []*record {
	records := make([]*record, 0, len(c.bases))
	for _, r := range c.bases {
		records = append(records, r)
	}
	sorting.By(records, func(a, b *record) int { return cmp.Compare(a.base, b.base) })
	return records
}

func (c *Checker) mark(what string, at site) mark {
	return mark{what: what, frames: c.depot.frames(at)}
}

// sitesOf returns where a block was allocated and freed.
func (c *Checker) sitesOf(r *record) []mark {
	marks := []mark{c.mark("allocated at", r.allocated)}
	if r.state != live {
		marks = append(marks, c.mark("freed at", r.freed))
	}
	return marks
}
