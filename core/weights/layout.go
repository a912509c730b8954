package weights

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/strided"
)

// The layout of a load: which tensors share bytes, and where each tensor is in its segment.
//
// Two tensors are tied if they are the same bytes of a file with the same transformations. Tied
// tensors are loaded once and have the same address. The others are packed in the order of their
// bytes in the files, so that each file is read once, from front to back. All tensors of one memory
// are in one segment, up to maxSegment bytes.

// maxSegment bounds a segment that holds several tensors, because free space for a longer one is
// harder to find.
const maxSegment = 4 << 30

// item is one tensor to load, for one or more specs.
type item struct {
	job    job
	memory Memory
	// names are the names of the specs, the first spec first.
	names []int
	// segment is the index of its segment, -1 for memory of the caller.
	segment int
	offset  uint64
	into    *Range
}

// segment is one allocation of a memory.
type segment struct {
	memory Memory
	addr   device.Addr
	size   uint64
}

// layout is the plan of a whole load.
type layout struct {
	items    []item
	segments []segment
	// itemOf has the item of each spec.
	itemOf []int
}

// layoutOf checks specs and computes the places of the tensors. It allocates no memory and reads no
// tensor.
func (s *Source) layoutOf(specs []Spec, otherwise Memory) (*layout, error) {
	l := &layout{itemOf: make([]int, len(specs))}
	named := make(map[string]bool, len(specs))
	tied := make(map[tie]int, len(specs))
	l.items = make([]item, 0, len(specs))
	for at := range specs {
		spec := &specs[at]
		if spec.Name == "" || named[spec.Name] {
			return nil, device.Errorf(device.CodeInvalidArgument, opLoad, "spec %d: the name %q is empty, or another spec has it too", at, spec.Name)
		}
		named[spec.Name] = true
		p, err := s.checked(spec)
		if err != nil {
			return nil, err
		}
		it := item{job: job{plan: p}, memory: spec.Memory, names: []int{at}, segment: -1, into: spec.Into}
		if it.memory == nil {
			it.memory = otherwise
		}
		switch {
		case it.memory == nil:
			return nil, device.Errorf(device.CodeInvalidArgument, opLoad, "%q: neither the spec nor the load has a memory", spec.Name)
		case it.into != nil && it.into.SizeBytes < it.job.size():
			return nil, device.Errorf(device.CodeInvalidSize, opLoad, "%q: takes %v, and the memory of the caller has %v", spec.Name, device.Size(it.job.size()), device.Size(it.into.SizeBytes))
		case it.into == nil:
			key := tie{it.memory, p.key(spec.Transformations)}
			if other, is := tied[key]; is {
				l.items[other].names = append(l.items[other].names, at)
				continue
			}
			tied[key] = len(l.items)
		}
		l.items = append(l.items, it)
	}
	l.pack()
	return l, nil
}

// checked returns the plan of a spec, after it has checked the shape and type that the spec states.
func (s *Source) checked(spec *Spec) (*plan, error) {
	t, err := s.Find(spec.source())
	if err != nil {
		return nil, err
	}
	if spec.Shape != nil && !slices.Equal(spec.Shape, t.Shape) {
		return nil, device.Errorf(device.CodeInvalidArgument, opLoad, "%s: %q: has a shape of %s, not of %s", t.File(), t.Name, strided.Text(t.Shape), strided.Text(spec.Shape))
	}
	p, err := planOf(t, spec.Transformations)
	if err == nil && spec.Type != nil && *spec.Type != p.kind {
		err = device.Errorf(device.CodeInvalidArgument, opLoad, "%s: %q: the result has the type %s, not %s: add a cast", t.File(), t.Name, p.kind, *spec.Type)
	}
	return p, err
}

// tie is equal for two specs that share their bytes in one memory.
type tie struct {
	memory Memory
	plan   string
}

// key is equal for two plans of a source with the same result.
func (p *plan) key(transformations []Transformation) string {
	t := p.tensor
	key := make([]byte, 0, 128)
	for _, number := range []uint64{uint64(t.file.number), t.Offset, t.Size, uint64(t.Type), uint64(len(t.Shape))} {
		key = binary.LittleEndian.AppendUint64(key, number)
	}
	for _, side := range t.Shape {
		key = binary.LittleEndian.AppendUint64(key, side)
	}
	if len(t.Strides) > 0 || t.IsBigEndian || t.Compressed != nil {
		key = fmt.Appendf(key, "%d %v %v", t.Strides, t.IsBigEndian, t.Compressed != nil)
	}
	for _, of := range transformations {
		key = fmt.Appendf(key, " %s %d %d %d %d %v", of.Kind, of.Dim0, of.Dim1, of.Shape, of.Type, of.Factor)
		for _, bound := range []*uint64{of.Start, of.End} {
			if bound != nil {
				key = fmt.Append(key, " ", *bound)
			} else {
				key = append(key, " -"...)
			}
		}
	}
	return string(key)
}

// pack orders the items by file and offset, and computes the place of each item in a segment.
func (l *layout) pack() {
	order := func(a, b item) int {
		x, y := a.job.plan.tensor, b.job.plan.tensor
		return cmp.Or(cmp.Compare(x.file.number, y.file.number), cmp.Compare(x.Offset, y.Offset))
	}
	// Specs are usually in this order already, and items are large values to move.
	if !slices.IsSortedFunc(l.items, order) {
		sorting.StableBy(l.items, order)
	}
	open := map[Memory]int{}
	for at := range l.items {
		it := &l.items[at]
		for _, spec := range it.names {
			l.itemOf[spec] = at
		}
		size := it.job.size()
		if it.into != nil || size == 0 {
			continue
		}
		last, has := open[it.memory]
		offset := uint64(0)
		if has {
			offset = (l.segments[last].size + packBytes - 1) / packBytes * packBytes
		}
		if !has || offset+size > maxSegment {
			last, offset = len(l.segments), 0
			open[it.memory] = last
			l.segments = append(l.segments, segment{memory: it.memory})
		}
		it.segment, it.offset = last, offset
		l.segments[last].size = offset + size
	}
}
