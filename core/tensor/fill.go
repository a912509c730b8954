package tensor

import (
	"encoding/binary"
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/strided"
)

const opFill = "tensor.fill"

// Fill queues work on stream that gives every element a value, converted by the rules of
// core/dtype. On a device whose memory the host cannot address, the elements must lie in at
// most 4096 adjacent parts, and the bytes of an element must be a pattern of at most 8 bytes.
// Errors: CodeUnsupported; those of Write.
func (t *Tensor) Fill(value float64, stream device.Stream) error {
	if err := t.mayWrite(opFill); err != nil {
		return err
	}
	block, err := t.blockOf(value)
	if err != nil {
		return err
	}
	same, err := t.Same()
	if err != nil {
		return err
	}
	job, err := newCopying(same)
	if err != nil {
		return closing(err, same)
	}
	if err := job.fill(block, stream); err != nil {
		job.end()
		return err
	}
	return nil
}

// blockOf returns the bytes of the smallest number of elements that fill whole bytes.
func (t *Tensor) blockOf(value float64) ([]byte, error) {
	if !t.kind.IsConvertible() {
		return nil, device.Errorf(device.CodeUnsupported, opFill, "numbers are not converted to elements of %s", t.kind).On(t.storage.engine.ID())
	}
	each, width := t.kind.Block()
	var number []byte
	for range each {
		number = binary.LittleEndian.AppendUint64(number, math.Float64bits(value))
	}
	block := make([]byte, width)
	return block, dtype.Convert(t.kind, block, dtype.F64, number)
}

// fill queues the work.
func (c *copying) fill(block []byte, stream device.Stream) error {
	t := c.tensors[0]
	if t.layout.Elements() == 0 {
		c.end()
		return nil
	}
	if err := c.record(stream); err != nil {
		return err
	}
	if t.storage.engine.Info().HostAddressable {
		return stream.HostFunction(func() {
			defer c.end()
			t.fillHere(block)
		})
	}
	pattern, err := t.patternOf(block)
	if err != nil {
		return err
	}
	dense, err := strided.Contiguous(t.layout.Shape()...)
	if err != nil {
		return err
	}
	parts, err := t.parts(opFill, &dense)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := stream.Fill(p.addr, pattern, p.size); err != nil {
			return c.after(stream, err)
		}
	}
	return c.endOn(stream)
}

// patternOf returns the pattern that repeats in elements with these bytes.
func (t *Tensor) patternOf(block []byte) (device.Pattern, error) {
	for _, width := range []int{1, 2, 4, 8} {
		if len(block)%width != 0 {
			continue
		}
		repeats := true
		for i := range block {
			repeats = repeats && block[i] == block[i%width]
		}
		if repeats {
			var low [8]byte
			copy(low[:], block[:width])
			return device.Pattern{Value: binary.LittleEndian.Uint64(low[:]), WidthBytes: width}, nil
		}
	}
	return device.Pattern{}, device.Errorf(device.CodeUnsupported, opFill, "this device fills with patterns of at most 8 bytes, and an element has the bytes %x", block).
		On(t.storage.engine.ID())
}

// fillHere writes the elements in memory that this process addresses.
func (t *Tensor) fillHere(block []byte) {
	to, one := t.layout, t.layout
	each, width := t.kind.Block()
	bytes := t.memory()
	_ = strided.Pairs(&one, &to, func(r strided.Run) error {
		if r.ToStep != 1 {
			for i := range r.Count {
				copy(bytes[uint64(r.To+i*r.ToStep)/each*width:], block)
			}
			return nil
		}
		adjacent := part(t.kind, bytes, r.To, r.Count)
		for done := copy(adjacent, block); done < len(adjacent); done *= 2 {
			copy(adjacent[done:], adjacent[:done])
		}
		return nil
	})
}
