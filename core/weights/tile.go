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

// maxDecoded bounds a tensor that is decoded as a whole because its encoding can only be read from
// the beginning.
const maxDecoded = 1 << 28

// tiles reads parts of the result of a plan. It is used by one thread at a time.
type tiles struct {
	*plan
	// whole has the decoded bytes of a tensor whose encoding can only be read from the beginning.
	whole []byte
	// gather has the stored bytes of a window. numbers has its elements if they are dequantised.
	gather  []byte
	numbers []float32
	// pending are the strips of the window that is being collected.
	pending []strip
	values  [2][]byte
}

// encoded states whether the tensor can only be read from the beginning.
func (p *plan) encoded() bool { return p.tensor.Compressed != nil || p.tensor.Varints != 0 }

// open prepares reading. It decodes a tensor that is stored encoded.
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

// inflated returns a tensor of a deflated archive member.
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
	// The buffer grows with the inflated bytes, because the stated size may be false.
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

// read writes the elements [first, first+count) of the result into out. Both bounds are multiples
// of the block sizes of the result's type and of the types of all steps.
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

// grown returns a buffer of a given size. It reuses the memory of the old buffer if it suffices.
func grown(buffer *[]byte, size uint64) []byte {
	*buffer = slices.Grow((*buffer)[:0], int(size))[:size]
	return *buffer
}

// stored writes elements as they are before the steps.
func (t *tiles) stored(out []byte, first, count uint64) error {
	each, width := t.tensor.Type.Block()
	switch {
	case t.unit > 1:
		return t.gathered(bytesOf{t, width}, out, first/t.unit, count/t.unit)
	case t.tensor.Type.CanDequantise():
		return t.gathered(&numbersOf{tiles: t, each: each, width: width}, out, first, count)
	case each > 1:
		return t.gathered(nibblesOf{t}, out, first, count)
	}
	if err := t.gathered(bytesOf{t, width}, out, first, count); err != nil {
		return err
	}
	if t.tensor.IsBigEndian {
		for i := uint64(0); i < count*width; i += width {
			slices.Reverse(out[i : i+width])
		}
	}
	return nil
}
