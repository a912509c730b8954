package weights

import (
	"cmp"
	"context"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/weights/diskfile"
)

const opPreload = "weights.preload"

// Preloaded is what one Preload has read into the page cache.
type Preloaded struct {
	// Bytes are those that were read, in parts of a megabyte; the others were in the cache.
	Bytes uint64
	parts []part
}

// part is a part of a file, at most preloadBytes long.
type part struct {
	file         *diskfile.File
	offset, size int64
}

// preloadBytes is how much of a file is looked up and read at a time.
const preloadBytes = 1 << 20

// preloadAhead is how many parts the system is asked to read ahead. More of them would make the call
// deaf to the end of its context.
const preloadAhead = 32

// Preload reads the bytes of tensors into the page cache of the system, so that a later load needs no
// disk. Without names it reads all tensors. It needs no memory of the process or of a device, and the
// system may give the pages to others at any time. tell is called with the bytes that are there; nil:
// nobody listens. After an error the pages that were read are given back, except those that the system
// is reading at that moment, at most 32 MiB.
//
// Errors: CodeNotFound for a name; CodeIO; CodeCancelled.
func (s *Source) Preload(ctx context.Context, names []string, tell func(done, all uint64)) (*Preloaded, error) {
	parts, all, err := s.partsOf(names)
	if err != nil {
		return nil, err
	}
	// What is missing is known before the first read: reading ahead changes it.
	missing := make([]bool, len(parts))
	for at, of := range parts {
		missing[at] = !of.file.Holds(of.offset, of.size)
	}
	p, done, ahead := &Preloaded{}, uint64(0), 0
	for at, of := range parts {
		for ; ahead < len(parts) && ahead <= at+preloadAhead; ahead++ {
			if next := parts[ahead]; missing[ahead] {
				// The system may read it although the call stops before it.
				p.parts = append(p.parts, next)
				next.file.Ahead(next.offset, next.size)
			}
		}
		if ctx.Err() != nil {
			p.Undo()
			return nil, cancelled(opPreload, s.Name, done, all)
		}
		err := of.file.Warm(of.offset, of.size)
		if missing[at] {
			p.Bytes += uint64(of.size)
		}
		if err != nil {
			p.Undo()
			return nil, device.Errorf(device.CodeIO, opPreload, "%s: the file cannot be read, or became shorter: %w", s.Name, err)
		}
		done += uint64(of.size)
		if tell != nil {
			tell(done, all)
		}
	}
	return p, nil
}

// Undo gives the pages back that Preload has read. Pages that were in the cache before stay there.
// The source is still open.
func (p *Preloaded) Undo() {
	// Parts that follow each other are given back together, because the cache keeps several pages in
	// one piece, and gives back whole pieces only.
	for at := 0; at < len(p.parts); {
		of := p.parts[at]
		for at++; at < len(p.parts) && p.parts[at].file == of.file && p.parts[at].offset == of.offset+of.size; at++ {
			of.size += p.parts[at].size
		}
		of.file.Forget(of.offset, of.size)
	}
	p.parts, p.Bytes = nil, 0
}

// partsOf gives the parts of files that tensors are stored in, each byte once.
func (s *Source) partsOf(names []string) (parts []part, all uint64, err error) {
	var chosen []*Tensor
	for _, name := range names {
		t, err := s.Find(name)
		if err != nil {
			return nil, 0, err
		}
		chosen = append(chosen, t)
	}
	if len(names) == 0 {
		for i := range s.tensors {
			chosen = append(chosen, &s.tensors[i])
		}
	}
	slices.SortFunc(chosen, func(a, b *Tensor) int {
		return cmp.Or(cmp.Compare(a.file.number, b.file.number), cmp.Compare(a.Offset, b.Offset))
	})
	end, of := uint64(0), -1
	for _, t := range chosen {
		reader, isFile := t.file.reader.(*diskfile.File)
		if !isFile {
			continue // it is in memory already
		}
		if t.file.number != of {
			end, of = 0, t.file.number
		}
		last := min(t.Offset+t.storedBytes(), t.file.size)
		for at := max(t.Offset, end); at < last; {
			next := min(last, (at/preloadBytes+1)*preloadBytes)
			parts = append(parts, part{file: reader, offset: int64(at), size: int64(next - at)})
			all += next - at
			at = next
		}
		end = max(end, last)
	}
	return parts, all, nil
}

// storedBytes is the length of the tensor in its file.
func (t *Tensor) storedBytes() uint64 {
	switch {
	case t.Compressed != nil:
		return t.Compressed.Bytes
	case t.Varints != 0:
		return t.Varints
	}
	return t.Size
}
