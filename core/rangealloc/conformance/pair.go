package conformance

import (
	"errors"
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
)

// pair is a strategy and the model of it. Its methods do one operation on both
// and return an error when the strategy did not do what it must.
type pair struct {
	strategy rangealloc.Strategy
	model    *model
	options  Options
	// slots are those of the live blocks, by offset.
	slots map[uint64]uint32
	// quick leaves the walk out of each step, for long runs that call verify now
	// and then.
	quick bool
}

func newPair(construct Make, c rangealloc.Config, o Options) (*pair, error) {
	s, err := construct(c)
	if err != nil {
		return nil, fmt.Errorf("make %+v: %w", c, err)
	}
	p := &pair{strategy: s, model: newModel(c), options: o, slots: make(map[uint64]uint32)}
	return p, p.verify()
}

// alloc returns whether the request was served.
func (p *pair) alloc(r Request) (got rangealloc.Range, served bool, wrong error) {
	defer func() { wrong = p.after("alloc %+v", r, wrong) }()
	got, err := p.strategy.Alloc(r)
	if want := requestCode(r); want != device.CodeOK {
		return got, false, expectCode(want, err)
	}
	if err != nil {
		return got, false, p.refused(r, err)
	}
	c := p.model.config
	if p.options.Placement != nil {
		offset, ok := p.options.Placement(c, p.model.free(), r)
		if !ok || offset != got.Offset {
			return got, true, fmt.Errorf("put at %d, where the naive placement says %d, %v", got.Offset, offset, ok)
		}
	}
	rounded := r.Size - 1 - (r.Size-1)%c.GranuleBytes + c.GranuleBytes
	switch {
	case got.Offset%c.GranuleBytes != 0 || got.Size%c.GranuleBytes != 0:
		return got, true, fmt.Errorf("%+v is not in whole granules of %d", got, c.GranuleBytes)
	case (c.BaseAddr+got.Offset)%r.Align != 0:
		return got, true, fmt.Errorf("%+v: address %#x is not a multiple of %d", got, c.BaseAddr+got.Offset, r.Align)
	case got.Size < rounded || p.options.Exact && got.Size != rounded:
		return got, true, fmt.Errorf("%+v: the size rounds up to %d", got, rounded)
	}
	for offset, slot := range p.slots {
		if slot == got.Slot {
			return got, true, fmt.Errorf("%+v has the slot of the live block at %d", got, offset)
		}
	}
	p.slots[got.Offset] = got.Slot
	return got, true, p.model.take(got)
}

// refused judges an error for a request that has meaning.
func (p *pair) refused(r Request, err error) error {
	if !errors.Is(err, rangealloc.ErrNoRoom) {
		return fmt.Errorf("failed with %w, not ErrNoRoom", err)
	}
	if p.options.Exact && p.model.holds(r) {
		return fmt.Errorf("refused, though a free run holds it: %+v", p.model.free())
	}
	return nil
}

func requestCode(r Request) device.Code {
	switch {
	case r.Size == 0:
		return device.CodeInvalidSize
	case r.Align == 0 || r.Align&(r.Align-1) != 0:
		return device.CodeInvalidAlignment
	}
	return device.CodeOK
}

func (p *pair) free(offset uint64) (wrong error) {
	defer func() { wrong = p.after("free %d", offset, wrong) }()
	want, code := p.model.release(offset)
	got, err := p.strategy.Free(offset)
	if code != device.CodeOK {
		return expectCode(code, err)
	}
	if err != nil || got != want {
		return fmt.Errorf("gave %d, %w, where %d bytes were live", got, err, want)
	}
	delete(p.slots, offset)
	return nil
}

func (p *pair) lookup(offset uint64) error {
	var want rangealloc.Range
	live := false
	if i := p.model.at(offset); i >= 0 && p.model.blocks[i].Offset == offset && p.model.blocks[i].Live {
		want = rangealloc.Range{Offset: offset, Size: p.model.blocks[i].Size, Slot: p.slots[offset]}
		live = true
	}
	if got, ok := p.strategy.Lookup(offset); ok != live || live && got != want {
		return fmt.Errorf("lookup of %d is %+v, %v, where %+v, %v is due", offset, got, ok, want, live)
	}
	return nil
}

// expectCode wants a typed error of the code.
func expectCode(code device.Code, err error) error {
	var typed *device.Error
	if !errors.As(err, &typed) || typed.Code != code || typed.Op == "" || typed.Message == "" {
		return fmt.Errorf("gave %v, where %v is due", err, code)
	}
	return nil
}

// after adds the operation to what was wrong with it; if nothing was, it looks
// for traces that the operation left where it should not have.
func (p *pair) after(format string, argument any, wrong error) error {
	if wrong == nil && !p.quick {
		wrong = p.verify()
	}
	if wrong != nil {
		return fmt.Errorf(format+": %w", argument, wrong)
	}
	return nil
}

// verify compares everything that can be seen of the strategy with the model.
func (p *pair) verify() error {
	if err := p.strategy.Check(); err != nil {
		return err
	}
	walked, merged := p.walk()
	if len(merged) != len(p.model.blocks) {
		return fmt.Errorf("the walk is %+v, the model %+v", merged, p.model.blocks)
	}
	for i, b := range merged {
		if b != p.model.blocks[i] {
			return fmt.Errorf("the walk has %+v where the model has %+v", b, p.model.blocks[i])
		}
	}
	want := p.model.stats()
	want.FreeRuns, want.LargestFreeBytes = walked.FreeRuns, walked.LargestFreeBytes
	if got := p.strategy.Stats(); got != want {
		return fmt.Errorf("the statistics are %+v, where %+v are due", got, want)
	}
	if p.options.Coalesces && want != p.model.stats() {
		return fmt.Errorf("the free blocks %+v are not coalesced: %+v are due", want, p.model.stats())
	}
	return nil
}

// walk gives the walk with free neighbours merged, and the numbers of free
// blocks as they were walked.
func (p *pair) walk() (walked rangealloc.Stats, merged []rangealloc.Block) {
	p.strategy.Walk(func(b rangealloc.Block) bool {
		if !b.Live {
			walked.FreeRuns++
			walked.LargestFreeBytes = max(walked.LargestFreeBytes, b.Size)
		}
		if last := len(merged) - 1; last >= 0 && !b.Live && !merged[last].Live &&
			merged[last].Offset+merged[last].Size == b.Offset {
			merged[last].Size += b.Size
		} else {
			merged = append(merged, b)
		}
		return true
	})
	return walked, merged
}
