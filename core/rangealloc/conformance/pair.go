package conformance

import (
	"errors"
	"fmt"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
)

// pair is a strategy and its model. Its methods perform one operation on both, and return
// an error if the strategy was wrong.
type pair struct {
	strategy rangealloc.Strategy
	model    *model
	options  Options
	// slots has the slots of the live blocks by offset; holders has the offsets by slot.
	slots   map[uint64]uint32
	holders map[uint32]uint64
	// highestSlot is the highest slot so far; mostBlocks is the most blocks of any walk.
	highestSlot uint32
	mostBlocks  int
	claims      claims
	// scan is a scan that continues between the operations.
	scan scan
	// quick disables the walk after each step, for long runs that call verify from time
	// to time.
	quick bool
}

// scan is a scan in slices between which the strategy changes. staying has the blocks
// that have been live since it began, and whether each was visited.
type scan struct {
	place   uint64
	begun   bool
	staying map[uint64]bool
}

func newPair(construct Make, c rangealloc.Config, o Options) (*pair, error) {
	s, err := construct(c)
	if err != nil {
		return nil, fmt.Errorf("make %+v: %w", c, err)
	}
	p := &pair{
		strategy: s, model: newModel(c), options: o,
		slots: make(map[uint64]uint32), holders: make(map[uint32]uint64),
		claims: claimsOf(s),
	}
	if err := p.verify(); err != nil {
		s.Close()
		return nil, err
	}
	return p, nil
}

// alloc returns whether the request succeeded.
func (p *pair) alloc(r Request) (got rangealloc.Range, served bool, wrong error) {
	defer func() { wrong = p.after("alloc %+v", r, wrong) }()
	got, err := p.strategy.Alloc(r)
	if want := requestCode(r); want != device.CodeOK {
		return got, false, expectCode(want, err)
	}
	if err != nil {
		return got, false, p.refused(r, err)
	}
	if wrong := p.placed(r, got); wrong != nil {
		return got, true, wrong
	}
	return got, true, p.accept(r, got)
}

// placed checks the place of a block.
func (p *pair) placed(r Request, got rangealloc.Range) error {
	c := p.model.config
	if p.options.Placement != nil {
		offset, ok := p.options.Placement(c, p.model.free(), r)
		if !ok || offset != got.Offset {
			return fmt.Errorf("put at %d, where the naive placement says %d, %v", got.Offset, offset, ok)
		}
	}
	if p.options.Monotonic {
		offset, ok := FirstAligned(c, p.model.tail(), r)
		if !ok || offset != got.Offset {
			return fmt.Errorf("put at %d, and not at %d, %v, as all live blocks end at %d", got.Offset, offset, ok, p.model.bump)
		}
	}
	if p.options.Admits != nil {
		return p.options.Admits(c, p.model.free(), r, got)
	}
	return nil
}

// accept checks a block and makes it live in the model.
func (p *pair) accept(r Request, got rangealloc.Range) error {
	c := p.model.config
	rounded := r.Size - 1 - (r.Size-1)%c.GranuleBytes + c.GranuleBytes
	exact := p.options.Exact || p.options.ExactSize
	switch {
	case got.Offset%c.GranuleBytes != 0 || got.Size%c.GranuleBytes != 0:
		return fmt.Errorf("%+v is not in whole granules of %d", got, c.GranuleBytes)
	case (c.BaseAddr+got.Offset)%r.Align != 0:
		return fmt.Errorf("%+v: address %#x is not a multiple of %d", got, c.BaseAddr+got.Offset, r.Align)
	case got.Size < rounded || exact && got.Size != rounded:
		return fmt.Errorf("%+v: the size rounds up to %d", got, rounded)
	}
	if err := p.claims.served(c, r, got); err != nil {
		return err
	}
	if holder, taken := p.holders[got.Slot]; taken {
		return fmt.Errorf("%+v has the slot of the live block at %d", got, holder)
	}
	if err := p.model.take(got); err != nil {
		return err
	}
	p.slots[got.Offset], p.holders[got.Slot] = got.Slot, got.Offset
	p.highestSlot = max(p.highestSlot, got.Slot)
	return nil
}

// refused checks the error of a valid request.
func (p *pair) refused(r Request, err error) error {
	if !errors.Is(err, rangealloc.ErrNoRoom) {
		return fmt.Errorf("failed with %w, not ErrNoRoom", err)
	}
	c, o := p.model.config, p.options
	p.claims.refused(c, r)
	if _, fits := FirstAligned(c, p.model.tail(), r); o.Monotonic && fits {
		return fmt.Errorf("refused, though the range is free from %d on", p.model.bump)
	}
	if o.Exact && p.model.holds(r) || o.MayRefuse != nil && !o.MayRefuse(c, p.model.free(), r) {
		return fmt.Errorf("refused, though there is room: %+v", p.model.free())
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
	if freer, ok := p.strategy.(rangealloc.SlotFreer); ok && code == device.CodeOK && p.claims.bySlot() {
		err := p.claims.freedSlot(p.model, offset, freer.FreeSlot(p.slots[offset]))
		p.forget(offset)
		return err
	}
	got, err := p.strategy.Free(offset)
	if code != device.CodeOK {
		return expectCode(code, err)
	}
	if err != nil || got != want {
		return fmt.Errorf("gave %d, %w, where %v were live", got, err, device.Size(want))
	}
	p.claims.freed()
	p.forget(offset)
	return nil
}

// forget removes the slot of a freed block.
func (p *pair) forget(offset uint64) {
	delete(p.scan.staying, offset)
	delete(p.holders, p.slots[offset])
	delete(p.slots, offset)
}

// largest requests the size that the statistics state as the largest, and then more.
func (p *pair) largest() error {
	if !p.options.ServesLargest {
		return nil
	}
	c := p.model.config
	most := p.strategy.Stats().LargestFreeBytes
	if most < c.SizeBytes {
		if got, served, wrong := p.alloc(Request{Size: most + 1, Align: 1}); served || wrong != nil {
			return fmt.Errorf("the largest request to be served is said to be %d, and got %+v, %w", most, got, wrong)
		}
	}
	if most == 0 {
		return nil
	}
	got, served, wrong := p.alloc(Request{Size: most, Align: 1})
	if !served || wrong != nil {
		return fmt.Errorf("the largest request to be served is said to be %d, and it is refused, %w", most, wrong)
	}
	return p.free(got.Offset)
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

// expectCode checks for a typed error with the code.
func expectCode(code device.Code, err error) error {
	var typed *device.Error
	if !errors.As(err, &typed) || typed.Code != code || typed.Op == "" || typed.Message == "" {
		return fmt.Errorf("gave %v, where %v is due", err, code)
	}
	return nil
}

// after adds the operation to the error. If there is no error, it checks that the
// operation changed nothing else.
func (p *pair) after(format string, argument any, wrong error) error {
	if wrong == nil && !p.quick {
		wrong = p.verify()
	}
	if wrong != nil {
		return fmt.Errorf(format+": %w", argument, wrong)
	}
	return nil
}

// verify compares everything visible of the strategy with the model.
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
	got, want := p.strategy.Stats(), p.model.stats()
	longest, runs := want.LargestFreeBytes, want.FreeRuns
	want.FreeRuns, want.LargestFreeBytes = walked.FreeRuns, walked.LargestFreeBytes
	if p.options.ServesLargest && got.LargestFreeBytes <= longest {
		want.LargestFreeBytes = got.LargestFreeBytes // largest requests it
	}
	if got != want {
		return fmt.Errorf("the statistics are %+v, where %+v are due", got, want)
	}
	if p.options.Coalesces && walked.FreeRuns != runs {
		return fmt.Errorf("the %d free blocks are not coalesced: %+v are due", walked.FreeRuns, p.model.free())
	}
	return nil
}

// slotsInProportion checks that slots of freed blocks are reused.
func (p *pair) slotsInProportion() error {
	if most := 2*p.mostBlocks + 1000; int(p.highestSlot) > most {
		return fmt.Errorf("slot %d was given to a block, and there never were more than about %d blocks", p.highestSlot, p.mostBlocks)
	}
	return nil
}

// walk returns the walk with free neighbours merged, and the numbers of free blocks as
// they were visited.
func (p *pair) walk() (walked rangealloc.Stats, merged []rangealloc.Block) {
	blocks := 0
	p.strategy.Walk(func(b rangealloc.Block) bool {
		blocks++
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
	p.mostBlocks = max(p.mostBlocks, blocks)
	return walked, merged
}
