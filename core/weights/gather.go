package weights

import (
	"encoding/binary"
	"slices"

	"ferrum_mem/core/dtype"
)

// Gathering: elements that are far apart in the file or in the result are read in windows. A window
// is a part of the stored tensor and holds elements of one or more strips.

const (
	// windowBytes bounds a window.
	windowBytes = 1 << 20
	// gapBytes is the longest gap of unused bytes that is read rather than skipped: reading it
	// takes less time than another read.
	gapBytes = 32 << 10
	// straightBytes is the shortest part that is read without a window.
	straightBytes = 4096
)

// elements reads and writes elements that are stored in one way.
type elements interface {
	// perBytes returns how many elements a number of bytes of the file has, at least 1.
	perBytes(bytes uint64) uint64
	// straight reads adjacent elements of the file to adjacent places of the result, from an
	// element of the result on. done is false if the caller has to use the window.
	straight(out []byte, at, place, count uint64) (done bool, err error)
	// load reads the elements [place, place+count) into the window.
	load(place, count uint64) error
	// put writes elements of the window into the result. The window begins at the stored element
	// from.
	put(out []byte, p strip, from uint64)
}

// gathered writes the elements [first, first+count) of the view.
func (t *tiles) gathered(by elements, out []byte, first, count uint64) error {
	most, gap := by.perBytes(windowBytes), by.perBytes(gapBytes)
	from, end := uint64(0), uint64(0)
	pending := t.pending[:0]
	flush := func() error {
		if len(pending) == 0 {
			return nil
		}
		if err := by.load(from, end-from); err != nil {
			return err
		}
		for _, p := range pending {
			by.put(out, p, from)
		}
		pending = pending[:0]
		return nil
	}
	add := func(p strip) error {
		last, skip := p.place+(p.count-1)*p.step+1, gap
		if p.step == 1 && p.apart == 1 {
			skip = 0 // a rank that loads its slice of each row reads no other bytes
		}
		near := p.place <= end+skip && last+skip >= from
		if len(pending) > 0 && (!near || max(end, last)-min(from, p.place) > most) {
			if err := flush(); err != nil {
				return err
			}
		}
		if len(pending) == 0 {
			from, end = p.place, last
		}
		from, end = min(from, p.place), max(end, last)
		pending = append(pending, p)
		return nil
	}
	err := t.view.strips(first, count, func(p strip) error {
		if p.count == 1 || p.step == 1 && p.apart == 1 {
			if done, err := by.straight(out, p.at, p.place, p.count); done || err != nil {
				return err
			}
		}
		// A part of a strip is in one window. Elements with long gaps are read one by one.
		per := uint64(1)
		if p.step <= gap {
			per = max(1, most/max(p.step, 1))
		}
		for p.count > 0 {
			part := p
			part.count = min(per, p.count)
			if err := add(part); err != nil {
				return err
			}
			p.place, p.at, p.count = p.place+part.count*p.step, p.at+part.count*p.apart, p.count-part.count
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	t.pending = pending[:0]
	return err
}

// bytesOf handles elements of whole bytes.
type bytesOf struct {
	*tiles
	width uint64
}

func (b bytesOf) perBytes(bytes uint64) uint64 { return max(1, bytes/b.width) }

func (b bytesOf) straight(out []byte, at, place, count uint64) (bool, error) {
	if count*b.width < straightBytes {
		return false, nil
	}
	return true, b.readAt(out[at*b.width:(at+count)*b.width], place*b.width)
}

func (b bytesOf) load(place, count uint64) error {
	return b.readAt(grown(&b.gather, count*b.width), place*b.width)
}

func (b bytesOf) put(out []byte, p strip, from uint64) {
	width := b.width
	in, to := b.gather[(p.place-from)*width:], out[p.at*width:]
	if p.step == 1 && p.apart == 1 {
		copy(to[:p.count*width], in)
		return
	}
	step, apart := p.step*width, p.apart*width
	switch width {
	case 2:
		for i := range p.count {
			binary.NativeEndian.PutUint16(to[i*apart:], binary.NativeEndian.Uint16(in[i*step:]))
		}
	case 4:
		for i := range p.count {
			binary.NativeEndian.PutUint32(to[i*apart:], binary.NativeEndian.Uint32(in[i*step:]))
		}
	default:
		for i := range p.count {
			copy(to[i*apart:i*apart+width], in[i*step:])
		}
	}
}

// nibblesOf handles elements of 4 bits, two in a byte.
type nibblesOf struct{ *tiles }

func (n nibblesOf) perBytes(bytes uint64) uint64 { return 2 * bytes }

func (n nibblesOf) straight(out []byte, at, place, count uint64) (bool, error) {
	if (at|place|count)%2 != 0 || count/2 < straightBytes {
		return false, nil
	}
	return true, n.readAt(out[at/2:(at+count)/2], place/2)
}

func (n nibblesOf) load(place, count uint64) error {
	first, end := place/2, (place+count+1)/2
	return n.readAt(grown(&n.gather, end-first), first)
}

func (n nibblesOf) put(out []byte, p strip, from uint64) {
	first := from / 2 * 2
	for i := range p.count {
		place, at := p.place+i*p.step-first, p.at+i*p.apart
		value := n.gather[place/2] >> (place % 2 * 4) & 0xF
		shift := at % 2 * 4
		out[at/2] = out[at/2]&(0xF0>>shift) | value<<shift
	}
}

// numbersOf handles elements of quantised blocks, which it dequantises to 32-bit floating point.
type numbersOf struct {
	*tiles
	each, width uint64
}

func (n *numbersOf) perBytes(bytes uint64) uint64 { return max(1, bytes/n.width) * n.each }

// straight always returns false: the bytes pass through a window before they become numbers.
func (n *numbersOf) straight([]byte, uint64, uint64, uint64) (bool, error) { return false, nil }

func (n *numbersOf) load(place, count uint64) error {
	first, end := place/n.each, (place+count+n.each-1)/n.each
	raw := grown(&n.gather, (end-first)*n.width)
	if err := n.readAt(raw, first*n.width); err != nil {
		return err
	}
	n.numbers = slices.Grow(n.numbers[:0], int((end-first)*n.each))[:(end-first)*n.each]
	return dtype.Dequantise(n.tensor.Type, n.numbers, raw)
}

func (n *numbersOf) put(out []byte, p strip, from uint64) {
	first := from / n.each * n.each
	for i := range p.count {
		dtype.PutF32(out[(p.at+i*p.apart)*4:], n.numbers[p.place+i*p.step-first])
	}
}
