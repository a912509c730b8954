package weights

import (
	"compress/flate"
	"errors"
	"io"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/weights/header"
)

const opRead = "weights.read"

// Bounds of what is read at a time.
const (
	// gatherBytes is the longest part of a file that elements with gaps between them are
	// picked from at once.
	gatherBytes = 1 << 20
	// maxDecoded is the longest tensor that is decoded as a whole, because its encoding can
	// only be read from its beginning.
	maxDecoded = 1 << 28
)

// tiles reads parts of the result of a plan. It is used by one thread at a time.
type tiles struct {
	*plan
	// whole is the tensor's bytes, if its encoding can only be read from the beginning.
	whole  []byte
	gather []byte
	// numbers are the elements of the blocks from firstBlock on that were read last.
	numbers    []float32
	firstBlock uint64
	values     [2][]byte
}

// encoded says whether the tensor can only be read from its beginning.
func (p *plan) encoded() bool { return p.tensor.Compressed != nil || p.tensor.Varints != 0 }

// open prepares reading. A tensor that is stored encoded is decoded here.
func (p *plan) open() (*tiles, error) {
	t := &tiles{plan: p}
	if !p.encoded() {
		return t, nil
	}
	if p.tensor.Size > maxDecoded {
		return nil, device.Errorf(device.CodeUnsupported, opRead, "%s: %q: %v are stored encoded, and at most %v can be read so", p.tensor.File(), p.tensor.Name, device.Size(p.tensor.Size), device.Size(maxDecoded))
	}
	var err error
	if p.tensor.Varints != 0 {
		t.whole, err = header.Varints(p.tensor.file.input(), &p.tensor.Tensor)
	} else {
		t.whole, err = p.inflated()
	}
	return t, err
}

// inflated is a tensor of a deflated member of an archive.
func (p *plan) inflated() ([]byte, error) {
	of := p.tensor
	wrong := func(what string) error {
		return device.Errorf(device.CodeInvalidFormat, opRead, "%s: %q: the compressed data %s", of.File(), of.Name, what)
	}
	section := io.NewSectionReader(of.file.reader, int64(of.Offset), int64(of.Compressed.Bytes))
	reader := flate.NewReader(section)
	if _, err := io.CopyN(io.Discard, reader, int64(of.Compressed.Skip)); err != nil {
		return nil, wrong("ends before its first element, or is damaged")
	}
	// Memory grows with what is inflated, not with what the archive states.
	data, err := io.ReadAll(io.LimitReader(reader, int64(of.Size)))
	if err != nil {
		return nil, wrong("is damaged: " + err.Error())
	}
	if uint64(len(data)) != of.Size {
		return nil, wrong("ends too early")
	}
	return data, nil
}

// readAt reads stored bytes of the tensor.
func (t *tiles) readAt(out []byte, offset uint64) error {
	if t.whole != nil {
		copy(out, t.whole[offset:])
		return nil
	}
	n, err := t.tensor.file.reader.ReadAt(out, int64(t.tensor.Offset+offset))
	switch {
	case n == len(out):
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return device.Errorf(device.CodeIO, opRead, "%s: %q: the file became shorter while it was read", t.tensor.File(), t.tensor.Name)
	}
	return fileError(t.tensor.File(), err)
}

// read writes the elements [first, first+count) of the result into out. Both bounds are whole
// blocks of the types of the result and of every step.
func (t *tiles) read(out []byte, first, count uint64) error {
	if len(t.steps) == 0 {
		return t.stored(out, first, count)
	}
	size, err := t.plan.read.Size(count)
	if err != nil {
		return err
	}
	value := grown(&t.values[0], size)
	if err := t.stored(value, first, count); err != nil {
		return err
	}
	from := t.plan.read
	for i, s := range t.steps {
		into := out
		if i < len(t.steps)-1 {
			size, err := s.to.Size(count)
			if err != nil {
				return err
			}
			into = grown(&t.values[(i+1)%2], size)
		}
		if s.scales {
			err = dtype.Scale(from, into, value, s.factor)
		} else {
			err = dtype.Convert(s.to, into, from, value)
		}
		if err != nil {
			return err
		}
		from, value = s.to, into
	}
	return nil
}

// grown gives a buffer of a size, which keeps its memory.
func grown(buffer *[]byte, size uint64) []byte {
	*buffer = slices.Grow((*buffer)[:0], int(size))[:size]
	return *buffer
}

// stored writes elements as they are before the steps.
func (t *tiles) stored(out []byte, first, count uint64) error {
	each, width := t.tensor.Type.Block()
	switch {
	case t.unit > 1:
		return t.picked(out, first/t.unit, count/t.unit, width)
	case t.tensor.Type.CanDequantise():
		return t.dequantised(out, first, count, each, width)
	case each > 1:
		return t.nibbles(out, first, count)
	}
	if err := t.picked(out, first, count, width); err != nil {
		return err
	}
	if t.tensor.IsBigEndian {
		for i := uint64(0); i < count*width; i += width {
			slices.Reverse(out[i : i+width])
		}
	}
	return nil
}

// picked writes elements of whole bytes.
func (t *tiles) picked(out []byte, first, count, width uint64) error {
	return t.view.runs(first, count, func(r run) error {
		part := out[:r.count*width]
		out = out[r.count*width:]
		if r.step == 1 || r.count == 1 {
			return t.readAt(part, r.first*width)
		}
		// Elements with gaps: what lies between them is read too, up to a bound.
		for r.count > 0 {
			n := min(r.count, max(1, gatherBytes/(max(r.step, 1)*width)))
			span := ((n-1)*r.step + 1) * width
			buffer := grown(&t.gather, span)
			if err := t.readAt(buffer, r.first*width); err != nil {
				return err
			}
			for i := range n {
				copy(part[i*width:(i+1)*width], buffer[i*r.step*width:])
			}
			part, r.first, r.count = part[n*width:], r.first+n*r.step, r.count-n
		}
		return nil
	})
}

// nibbles writes elements of 4 bits, of which two share a byte.
func (t *tiles) nibbles(out []byte, first, count uint64) error {
	at := uint64(0)
	return t.view.runs(first, count, func(r run) error {
		if r.step == 1 && r.first%2 == 0 && r.count%2 == 0 && at%2 == 0 {
			part := out[at/2 : (at+r.count)/2]
			at += r.count
			return t.readAt(part, r.first/2)
		}
		for i := range r.count {
			place := r.first + i*r.step
			var b [1]byte
			if err := t.readAt(b[:], place/2); err != nil {
				return err
			}
			value := b[0] >> (place % 2 * 4) & 0xF
			if at%2 == 0 {
				out[at/2] = value
			} else {
				out[at/2] |= value << 4
			}
			at++
		}
		return nil
	})
}

// dequantised writes elements of blocks as 32-bit floating point.
func (t *tiles) dequantised(out []byte, first, count, each, width uint64) error {
	return t.view.runs(first, count, func(r run) error {
		for r.count > 0 {
			// The blocks of elements that follow each other, or the block of one element.
			n := uint64(1)
			if r.step == 1 {
				n = min(r.count, gatherBytes/width*each-r.first%each)
			}
			block, skip := r.first/each, r.first%each
			blocks := (skip + n + each - 1) / each
			if err := t.blocks(block, blocks, each, width); err != nil {
				return err
			}
			for _, value := range t.numbers[skip : skip+n] {
				dtype.PutF32(out, value)
				out = out[4:]
			}
			r.first, r.count = r.first+n*r.step, r.count-n
		}
		return nil
	})
}

// blocks reads blocks as numbers, unless they are the ones that were read last.
func (t *tiles) blocks(first, count, each, width uint64) error {
	if len(t.numbers) != 0 && t.firstBlock == first && uint64(len(t.numbers)) == count*each {
		return nil
	}
	t.numbers = t.numbers[:0]
	raw := grown(&t.gather, count*width)
	if err := t.readAt(raw, first*width); err != nil {
		return err
	}
	numbers := slices.Grow(t.numbers, int(count*each))[:count*each]
	if err := dtype.Dequantise(t.tensor.Type, numbers, raw); err != nil {
		return err
	}
	t.numbers, t.firstBlock = numbers, first
	return nil
}
