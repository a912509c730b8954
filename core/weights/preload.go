package weights

import (
	"cmp"
	"context"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/weights/diskfile"
)

const opPreload = "weights.preload"

// Preloaded describes what one Preload has read into the page cache.
type Preloaded struct {
	// Bytes is the number of bytes that were read, in parts of a megabyte. The other bytes were
	// already in the cache.
	Bytes uint64
	parts []part
}

// part is a part of a file, at most preloadBytes long.
type part struct {
	file         *diskfile.File
	offset, size int64
}

// preloadBytes is the size of the part of a file that is checked and read at a time.
const preloadBytes = 1 << 20

// preloadAhead is the number of parts that the system reads ahead. With more parts, the
// call would react too late to the end of its context.
const preloadAhead = 32

// Preload reads the bytes of tensors into the page cache of the system, so that a later load needs
// no disk. Without names it reads all tensors. It uses no memory of the process or of a device. The
// system may evict the pages at any time. tell is called with the number of bytes that are in the
// cache; nil: progress is not reported. After an error, the pages that were read are released,
// except those that the system is reading at that moment, at most 32 MiB.
//
// Errors: CodeNotFound for a name; CodeIO; CodeCancelled.
func (s *Source) Preload(ctx context.Context, names []string, tell func(done, all uint64)) (*Preloaded, error) {
	parts, all, err := s.partsOf(names)
	if err != nil {
		return nil, err
	}
	// Missing parts are determined before the first read, because reading ahead changes the cache.
	missing := make([]bool, len(parts))
	for at, of := range parts {
		missing[at] = !of.file.Holds(of.offset, of.size)
	}
	p, done, ahead := &Preloaded{}, uint64(0), 0
	for at, of := range parts {
		for ; ahead < len(parts) && ahead <= at+preloadAhead; ahead++ {
			if next := parts[ahead]; missing[ahead] {
				// The system may still read this part after the call stops, so it counts as read.
				p.parts = append(p.parts, next)
				next.file.Ahead(next.offset, next.size)
			}
		}
		if ctx.Err() != nil {
			p.Undo()
			return nil, cancelled(opPreload, s.Name, done, all)
		}
		if missing[at] {
			p.Bytes += uint64(of.size)
			err = of.file.Warm(of.offset, of.size)
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

// Undo releases the pages that Preload has read. Pages that were in the cache before stay there.
// The source must still be open.
func (p *Preloaded) Undo() {
	// Adjacent parts are released together: the cache keeps several pages in one unit and releases
	// only whole units.
	for at := 0; at < len(p.parts); {
		of := p.parts[at]
		for at++; at < len(p.parts) && p.parts[at].file == of.file && p.parts[at].offset == of.offset+of.size; at++ {
			of.size += p.parts[at].size
		}
		of.file.Forget(of.offset, of.size)
	}
	p.parts, p.Bytes = nil, 0
}

// partsOf returns the parts of files that store the tensors. Each byte is in one part only.
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
	sorting.By(chosen, func(a, b *Tensor) int {
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

// storedBytes returns the length of the tensor in its file.
func (t *Tensor) storedBytes() uint64 {
	switch {
	case t.Compressed != nil:
		return t.Compressed.Bytes
	case t.Varints != 0:
		return t.Varints
	}
	return t.Size
}
