package vmm

import (
	"cmp"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/vmm/extent"
	"ferrum_mem/core/vmm/pageset"
)

// ByteRange is a range of a pool or of a model's address space.
type ByteRange struct{ OffsetBytes, SizeBytes uint64 }

// target is one range of a call: an allocation in progress, or pages that are being
// freed.
type target struct {
	span extent.Span
	// run has the pages that the range touches.
	run pageset.Run
	// users has the streams that use the pages, of a range that is being freed.
	users []device.Stream
	// index is its index in the caller's list.
	index int
}

// targets has the ranges of one call, in the order of their offsets. No two of them
// have a page in common.
type targets struct {
	all []target
	// list is the name of the caller's list, so that errors name an element of it; ""
	// means that the caller passed no list.
	list string
}

// only returns the one range of a call without a list.
func only(b extent.Span) targets { return targets{all: []target{{span: b}}} }

// listOf returns the ranges of a list, in any order.
func listOf(ranges []ByteRange) targets {
	list := targets{all: make([]target, len(ranges)), list: "ranges"}
	for i, r := range ranges {
		list.all[i] = target{span: extent.Span{Offset: r.OffsetBytes, Size: r.SizeBytes}, index: i}
	}
	return list
}

// sizesOf returns ranges of a list of sizes, whose offsets are not known yet.
func sizesOf(sizes []uint64) targets {
	list := targets{all: make([]target, len(sizes)), list: "sizes"}
	for i, size := range sizes {
		list.all[i] = target{span: extent.Span{Size: size}, index: i}
	}
	return list
}

// measure finds the numbers of pages of ranges without offsets. Errors: those of
// extent.PagesFor, and CodeOutOfVirtualMemory for more pages than the address space has.
func (l *targets) measure(e *extent.Extent, op string) error {
	total := uint64(0)
	return l.each(func(t *target) (err error) {
		if t.run.Pages, err = e.PagesFor(op, t.span.Size); err != nil {
			return err
		}
		if total += t.run.Pages; total > e.Pages {
			return e.Fault(device.CodeOutOfVirtualMemory, op, "size %d: with the sizes before it, it takes %s of %v, and the capacity is %v",
				t.span.Size, device.Count(total, "page"), device.Size(e.PageBytes), device.Size(e.Bytes())).Stating(device.FactRequestedBytes, total*e.PageBytes).
				Stating(device.FactCapacityBytes, e.Bytes())
		}
		return nil
	})
}

// inListOrder sorts the ranges by their index in the caller's list.
func (l *targets) inListOrder() {
	slices.SortFunc(l.all, func(a, b target) int { return cmp.Compare(a.index, b.index) })
}

// inOffsetOrder sorts the ranges by their pages.
func (l *targets) inOffsetOrder() {
	slices.SortFunc(l.all, func(a, b target) int { return cmp.Compare(a.run.Start, b.run.Start) })
}

// locate finds the pages of all ranges, and sorts the ranges by offset. Errors: those
// of extent.RunOf, and CodeInvalidOffset for two ranges with a page in common.
func (l *targets) locate(e *extent.Extent, op string) (err error) {
	for i := range l.all {
		t := &l.all[i]
		if t.run, err = e.RunOf(op, t.span); err != nil {
			return l.named(t, err)
		}
	}
	byStart := func(a, b target) int {
		return cmp.Or(cmp.Compare(a.run.Start, b.run.Start), cmp.Compare(a.index, b.index))
	}
	if !slices.IsSortedFunc(l.all, byStart) {
		slices.SortFunc(l.all, byStart)
	}
	for i := 1; i < len(l.all); i++ {
		before, after := &l.all[i-1], &l.all[i]
		if after.run.Start >= before.run.End() {
			continue
		}
		if before.index > after.index {
			before, after = after, before
		}
		return l.named(after, e.BadRange(op, after.span,
			"offset %d, size %d, capacity %d: it has the page at offset %d in common with ranges[%d] (offset %d, size %d)",
			after.span.Offset, after.span.Size, e.Bytes(), l.all[i].run.Start*e.PageBytes, before.index, before.span.Offset, before.span.Size))
	}
	return nil
}

// named adds the element of the list to the error that is about it.
func (l *targets) named(t *target, err error) error {
	if err == nil || l.list == "" {
		return err
	}
	return device.AtIndex(l.list, t.index, err)
}

// each calls fn for the ranges until one returns an error, and adds the range to that
// error.
func (l *targets) each(fn func(*target) error) error {
	for i := range l.all {
		if err := fn(&l.all[i]); err != nil {
			return l.named(&l.all[i], err)
		}
	}
	return nil
}

// pages returns the number of pages of the ranges.
func (l *targets) pages() (pages uint64) {
	for i := range l.all {
		pages += l.all[i].run.Pages
	}
	return pages
}

// bytes returns the sum of the sizes that the caller passed.
func (l *targets) bytes() (bytes uint64) {
	for i := range l.all {
		bytes += l.all[i].span.Size
	}
	return bytes
}

// runs appends the pages of the ranges to runs; adjacent ranges are one run.
func (l *targets) runs(runs []pageset.Run) []pageset.Run {
	for i := range l.all {
		runs = addRun(runs, l.all[i].run)
	}
	return runs
}

// addRun appends a run. It extends the last run if the new one begins at its end.
func addRun(runs []pageset.Run, r pageset.Run) []pageset.Run {
	if last := len(runs) - 1; last >= 0 && runs[last].End() == r.Start {
		runs[last].Pages += r.Pages
		return runs
	}
	return append(runs, r)
}
