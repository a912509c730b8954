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

// target is one range of a call: an allocation that is made, or pages that are freed.
type target struct {
	span extent.Span
	// run is the pages that it touches.
	run pageset.Run
	// index is its place in the list of the caller.
	index int
}

// targets are the ranges of one call, in the order of their offsets. No two of them have
// a page in common.
type targets struct {
	all []target
	// listed says that the caller gave a list, so that errors name an element of it.
	listed bool
}

// only is the one range of a call that has no list.
func only(b extent.Span) targets { return targets{all: []target{{span: b}}} }

// listOf is the ranges of a list, in any order.
func listOf(ranges []ByteRange) targets {
	list := targets{all: make([]target, len(ranges)), listed: true}
	for i, r := range ranges {
		list.all[i] = target{span: extent.Span{Offset: r.OffsetBytes, Size: r.SizeBytes}, index: i}
	}
	return list
}

// locate finds the pages of all ranges, and puts them in the order of their offsets. Errors:
// those of extent.RunOf, and CodeInvalidOffset for two ranges with a page in common.
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

// named names the element of the list that an error is about.
func (l *targets) named(t *target, err error) error {
	if err == nil || !l.listed {
		return err
	}
	return device.AtIndex("ranges", t.index, err)
}

// each calls fn for the ranges until one has an error, which names it.
func (l *targets) each(fn func(*target) error) error {
	for i := range l.all {
		if err := fn(&l.all[i]); err != nil {
			return l.named(&l.all[i], err)
		}
	}
	return nil
}

// pages is how many pages the ranges have.
func (l *targets) pages() (pages uint64) {
	for i := range l.all {
		pages += l.all[i].run.Pages
	}
	return pages
}

// bytes is the sum of their sizes as the caller gave them.
func (l *targets) bytes() (bytes uint64) {
	for i := range l.all {
		bytes += l.all[i].span.Size
	}
	return bytes
}

// runs is their pages; ranges that lie side by side are one run.
func (l *targets) runs() (runs []pageset.Run) {
	for i := range l.all {
		runs = addRun(runs, l.all[i].run)
	}
	return runs
}

// addRun adds a run behind others. It joins the last one if it begins where that ends.
func addRun(runs []pageset.Run, r pageset.Run) []pageset.Run {
	if last := len(runs) - 1; last >= 0 && runs[last].End() == r.Start {
		runs[last].Pages += r.Pages
		return runs
	}
	return append(runs, r)
}
