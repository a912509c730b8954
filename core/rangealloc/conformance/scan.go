package conformance

import (
	"fmt"

	"ferrum_mem/core/rangealloc"
)

// scanned compares a scan in slices with the live blocks of the model.
func (p *pair) scanned(budget int) error {
	seen := make(map[uint64]bool, len(p.slots))
	var wrong error
	for place, first := uint64(0), true; first || place != 0; first = false {
		place = p.strategy.Scan(place, budget, func(r rangealloc.Range) {
			slot, live := p.slots[r.Offset]
			if !live || slot != r.Slot || seen[r.Offset] {
				wrong = fmt.Errorf("the scan met %+v, live: %v, slot %d, met before: %v", r, live, slot, seen[r.Offset])
			}
			if got, ok := p.strategy.Lookup(r.Offset); !ok || got != r {
				wrong = fmt.Errorf("the scan met %+v, which is %+v, %v", r, got, ok)
			}
			seen[r.Offset] = true
		})
	}
	if wrong == nil && len(seen) != len(p.slots) {
		return fmt.Errorf("the scan met %d of %d live blocks", len(seen), len(p.slots))
	}
	return wrong
}

// scanOn is the next slice of a scan that continues during the test. Blocks that were
// live from its beginning to its end must have been visited once.
func (p *pair) scanOn(budget int) (wrong error) {
	c := &p.scan
	if !c.begun {
		c.begun, c.place, c.staying = true, 0, make(map[uint64]bool, len(p.slots))
		for offset := range p.slots {
			c.staying[offset] = false
		}
	}
	looked := 0
	c.place = p.strategy.Scan(c.place, budget, func(r rangealloc.Range) {
		looked++
		met, stays := c.staying[r.Offset]
		if stays && met {
			wrong = fmt.Errorf("the scan met %+v twice", r)
		}
		if stays {
			c.staying[r.Offset] = true
		}
	})
	if wrong != nil || looked > budget {
		return fmt.Errorf("a slice of %d places met %d blocks: %w", budget, looked, wrong)
	}
	if c.place != 0 {
		return nil
	}
	c.begun = false
	for offset, met := range c.staying {
		if !met {
			return fmt.Errorf("the scan never met the block at %d, which was live all the time", offset)
		}
	}
	return nil
}

// around compares the block found at an offset with the walk, searched from the start and
// from a live block before it.
func (p *pair) around(offset uint64) error {
	const all = 1 << 30
	var want rangealloc.Block
	behind, due := rangealloc.FromStart, false
	p.strategy.Walk(func(b rangealloc.Block) bool {
		if want, due = b, offset-b.Offset < b.Size; !due && b.Live {
			behind = b.Offset
		}
		return !due
	})
	for _, from := range []uint64{rangealloc.FromStart, behind} {
		got, ok := p.strategy.Around(offset, from, all)
		if ok != due || due && got != want {
			return fmt.Errorf("around %d from %d is %+v, %v, where the walk has %+v, %v", offset, from, got, ok, want, due)
		}
		if few, ok := p.strategy.Around(offset, from, 1); ok && few != want {
			return fmt.Errorf("around %d from %d is %+v in one step, where the walk has %+v", offset, from, few, want)
		}
	}
	return nil
}
