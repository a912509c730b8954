package weights

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/weights/diskfile"
)

const opMap = "weights.map"

// Map returns tensors without copying them: each tensor is a part of its file in the address space
// of the process. The first use of a page reads it from the disk, and the page cache keeps it. The
// tensors are read-only; a write is a fault. They are valid until Set.Free, also after the source
// is closed.
//
// A tensor can be mapped if the file has its bytes in the form of the result: transformations may
// only reshape it, or slice it to adjacent bytes. Map ignores Memory and Into of the specs.
//
// Pages are lost if a program makes the file shorter while it is mapped, or if the disk fails. If
// the process watches its mappings (diskfile.OnMap), a lost page reads as zeros. Otherwise its use
// raises SIGBUS, which ends the process unless the process handles the signal. CheckMapped reports
// whether the files still have all their bytes. Replacing the file by another one with the same
// name does not change the tensors. Writing into the file does; use Load for such a file.
//
// Errors: those of Load; CodeUnsupported, with the reason, for a tensor that cannot be mapped.
func (s *Source) Map(specs []Spec) (*Set, error) {
	l, err := s.layoutOf(specs, noMemory{})
	if err != nil {
		return nil, err
	}
	set := &Set{mapped: map[*file]*diskfile.Mapping{}}
	for at := range l.items {
		if err := set.mapItem(&l.items[at]); err != nil {
			return nil, errors.Join(err, set.Free())
		}
	}
	set.Tensors = l.loaded(specs, func(*item) device.ID { return device.ID{Backend: hostBackend} })
	return set, nil
}

// hostBackend is the backend of host memory.
const hostBackend = "cpu"

// noMemory is the Memory of specs that need none.
type noMemory struct{ Memory }

func (s *Set) mapItem(it *item) error {
	p := it.job.plan
	t := p.tensor
	offset, err := p.mappedAt()
	if err != nil {
		return err
	}
	m := s.mapped[t.file]
	if m == nil {
		if m, err = diskfile.Map(t.file.opened, int64(t.file.size)); err != nil {
			return device.Errorf(device.CodeResourceExhausted, opMap, "%s: the system cannot map the file: %w", t.File(), err)
		}
		s.mapped[t.file] = m
		if m.IsShorter() {
			return device.Errorf(device.CodeIO, opMap, "%s: the file became shorter after it was opened", t.File())
		}
	}
	if it.job.size() > 0 {
		it.job.addr = device.Addr(offheap.AddressOf(m.Bytes()[offset:]))
	}
	return nil
}

// mappedAt returns where the file has the bytes of a result in their final form.
func (p *plan) mappedAt() (offset uint64, err error) {
	t := p.tensor
	cannot := func(why string) error {
		return device.Errorf(device.CodeUnsupported, opMap, "%s: %q: cannot be mapped: %s", t.File(), t.Name, why)
	}
	each, width := t.Type.Block()
	switch {
	case t.file.opened == nil:
		return 0, cannot("the source is memory")
	case p.encoded():
		return 0, cannot("the file has its bytes compressed, or as varints")
	case t.IsBigEndian && width > 1:
		return 0, cannot("the file has the highest byte of an element first")
	case len(p.steps) > 0 || p.kind != t.Type:
		return 0, cannot("the transformations change the elements")
	}
	runs, first, count := 0, uint64(0), p.view.elements()
	stop := errors.New("enough")
	if err := p.view.runs(0, count, func(r run) error {
		if runs++; runs > 1 || r.step != 1 && r.count > 1 {
			runs = 2
			return stop
		}
		first = r.first
		return nil
	}); err != nil && !errors.Is(err, stop) {
		return 0, err
	}
	if runs > 1 {
		return 0, cannot("the elements do not follow each other in the file")
	}
	if p.unit > 1 {
		return t.Offset + first*width, nil
	}
	if first%each != 0 {
		return 0, cannot("the first element does not begin with a byte")
	}
	offset = t.Offset + first/each*width
	if each == 1 && width <= 16 && offset%width != 0 {
		return 0, cannot("the file has it at a place that is not a multiple of the size of an element")
	}
	return offset, nil
}

// CheckMapped returns nil if the files of a mapped set still have all their bytes, and always for a
// set of Load. A program that calls it after it has read the tensors, and gets nil, has read no
// zeros of lost pages. Errors: CodeIO, which names the file.
func (s *Set) CheckMapped() error {
	for f, m := range s.mapped {
		switch {
		case m.IsDamaged():
			return device.Errorf(device.CodeIO, opMap, "%s: pages of the mapped file could not be read, because it became shorter or its disk fails: they are zeros now, so tensors of the file are wrong", f.name)
		case m.IsShorter():
			return device.Errorf(device.CodeIO, opMap, "%s: the file became shorter while it is mapped: its end must not be used", f.name)
		}
	}
	return nil
}
