package tensor

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/strided"
)

const opCopy = "tensor.copy"

// mostMoves bounds the copies that a device makes for one tensor whose elements are apart.
const mostMoves = 4096

// tileElements is the largest number of elements that are converted at a time.
const tileElements = 1024

// Copy queues a copy of the elements of from on stream, and returns at once. Both tensors have
// the same shape and are on one device. Elements of another type are converted by the rules of
// core/dtype.
//
// On a device whose memory the host cannot address, the types must be equal, and the elements
// must lie in at most 4096 adjacent parts.
//
// The stream uses the memory of both tensors, which may be closed at once. Errors:
// CodeInvalidArgument for different shapes, elements of t that share a place, and tensors that
// overlap; CodeUnsupportedDevice for another device; CodeUnsupported; CodeBusy while the memory
// of one sleeps; CodeInvalidState for a closed tensor; those of the stream. After an error
// nothing was copied, unless the error is one of the stream.
func (t *Tensor) Copy(from *Tensor, stream device.Stream) error {
	if err := t.mayCopy(from); err != nil {
		return err
	}
	// The copies complete with the queued work, not when this call returns.
	to, err := t.Same()
	if err != nil {
		return err
	}
	source, err := from.Same()
	if err != nil {
		return closing(err, to)
	}
	job, err := newCopying(to, source)
	if err != nil {
		return closing(err, source, to)
	}
	if err := job.queue(stream); err != nil {
		job.end()
		return err
	}
	return nil
}

// closing closes tensors after an error, which it returns.
func closing(err error, tensors ...*Tensor) error {
	for _, t := range tensors {
		_ = t.Close() // another tensor over the storage is open
	}
	return err
}

// mayCopy checks the arguments of Copy.
func (t *Tensor) mayCopy(from *Tensor) error {
	wrong := func(code device.Code, format string, values ...any) error {
		return device.Errorf(code, opCopy, format, values...).On(t.storage.engine.ID())
	}
	to, source := t.layout, from.layout
	switch {
	case t.closed.Load():
		return t.isClosed()
	case from.closed.Load():
		return from.isClosed()
	case t.packing != "":
		return t.isOpaque(opCopy)
	case from.packing != "":
		return from.isOpaque(opCopy)
	case t.storage.engine != from.storage.engine:
		return wrong(device.CodeUnsupportedDevice, "the elements are on %s", from.storage.engine.ID())
	case !slices.Equal(to.Shape(), source.Shape()):
		return wrong(device.CodeInvalidArgument, "a shape of %s does not take the elements of %s", strided.Text(to.Shape()), strided.Text(source.Shape()))
	case !to.IsInjective():
		return wrong(device.CodeInvalidArgument, "%v: several elements have one place, so none can be written", to)
	case t.overlaps(from):
		return wrong(device.CodeInvalidArgument, "%v and %v are tensors over the same memory that overlap", to, source)
	case t.kind != from.kind && !(t.kind.IsConvertible() && from.kind.IsConvertible()):
		return wrong(device.CodeUnsupported, "elements of %s are not converted to %s", from.kind, t.kind)
	case (sharesBytes(t.kind) || sharesBytes(from.kind)) && !(to.IsContiguous() && source.IsContiguous()):
		return wrong(device.CodeUnsupported, "%s to %s with other strides than those of a contiguous tensor: several elements share bytes", from.kind, t.kind)
	case t.kind != from.kind && !t.storage.engine.Info().HostAddressable:
		return wrong(device.CodeUnsupported, "this device converts no elements: %s to %s", from.kind, t.kind)
	}
	return nil
}

// sharesBytes states whether several elements of a type share bytes.
func sharesBytes(kind dtype.DType) bool {
	each, _ := kind.Block()
	return each > 1
}

// overlaps states whether bytes of both tensors may be the same.
func (t *Tensor) overlaps(other *Tensor) bool {
	first, end := t.reach()
	from, to := other.reach()
	return first < to && from < end
}

// reach returns the addresses from the first byte of an element to the end of the last.
func (t *Tensor) reach() (first, end device.Addr) {
	if t.packing != "" {
		return t.storage.addr, t.storage.addr + device.Addr(t.storage.bytes)
	}
	lowest, highest, some := t.layout.Span()
	if !some {
		return 0, 0
	}
	each, width := t.kind.Block()
	start := uint64(lowest) / each * width
	return t.storage.addr + device.Addr(start), t.storage.addr + device.Addr((uint64(highest)/each+1)*width)
}

// copying is a copy with its own tensors, which it closes when it has run.
type copying struct {
	to, from *Tensor
	// awake ends the holds.
	awake []func()
}

func newCopying(to, from *Tensor) (*copying, error) {
	c := &copying{to: to, from: from}
	for _, t := range []*Tensor{to, from} {
		release, err := t.Hold()
		if err != nil {
			c.wake()
			return nil, err
		}
		c.awake = append(c.awake, release)
	}
	return c, nil
}

func (c *copying) wake() {
	for _, release := range c.awake {
		release()
	}
}

// end closes the tensors. It runs after the work, or if there is none.
func (c *copying) end() {
	c.wake()
	_ = closing(nil, c.from, c.to)
}

// queue queues the work.
func (c *copying) queue(stream device.Stream) error {
	if c.to.layout.Elements() == 0 {
		c.end()
		return nil
	}
	for _, t := range []*Tensor{c.to, c.from} {
		if t.storage.record != nil {
			if err := t.storage.record(stream); err != nil {
				return err
			}
		}
	}
	if c.to.storage.engine.Info().HostAddressable {
		return stream.HostFunction(func() {
			defer c.end()
			c.run()
		})
	}
	moves, err := c.moves()
	if err != nil {
		return err
	}
	if err := stream.CopyBatch(moves); err != nil {
		return err
	}
	// The pools know by now that the stream uses the memory, and a sleep waits for streams.
	c.end()
	return nil
}

// moves returns the adjacent parts to copy on a device.
func (c *copying) moves() (moves []device.Move, err error) {
	each, width := c.to.kind.Block()
	bytes := func(elements int64) uint64 { return uint64(elements) / each * width }
	to, from := c.to.layout, c.from.layout
	err = strided.Pairs(&from, &to, func(r strided.Run) error {
		count, parts := int64(1), r.Count
		if r.Count == 1 || r.FromStep == 1 && r.ToStep == 1 {
			count, parts = r.Count, 1
		}
		if int64(len(moves))+parts > mostMoves {
			return device.Errorf(device.CodeUnsupported, opCopy, "%v to %v takes more than %d copies, because the elements are apart", from, to, mostMoves).
				On(c.to.storage.engine.ID())
		}
		for i := range parts {
			moves = append(moves, device.Move{
				Dst:       c.to.storage.addr + device.Addr(bytes(r.To+i*r.ToStep)),
				Src:       c.from.storage.addr + device.Addr(bytes(r.From+i*r.FromStep)),
				SizeBytes: max(bytes(count), width),
			})
		}
		return nil
	})
	return moves, err
}

// run copies elements in memory that this process addresses.
func (c *copying) run() {
	to, from := c.to.layout, c.from.layout
	toBytes, fromBytes := c.to.memory(), c.from.memory()
	var tile [2][]byte
	_ = strided.Pairs(&from, &to, func(r strided.Run) error {
		if r.FromStep == 1 && r.ToStep == 1 {
			convert(c.to.kind, toBytes, r.To, c.from.kind, fromBytes, r.From, r.Count)
			return nil
		}
		for r.Count > 0 {
			part := min(r.Count, tileElements)
			c.scattered(r, part, toBytes, fromBytes, &tile)
			r.From, r.To, r.Count = r.From+part*r.FromStep, r.To+part*r.ToStep, r.Count-part
		}
		return nil
	})
}

// memory returns the bytes of the storage.
func (t *Tensor) memory() []byte { return offheap.View(uintptr(t.storage.addr), int(t.storage.bytes)) }

// convert converts adjacent elements.
func convert(toKind dtype.DType, to []byte, toAt int64, fromKind dtype.DType, from []byte, fromAt, count int64) {
	out, in := part(toKind, to, toAt, count), part(fromKind, from, fromAt, count)
	if toKind == fromKind {
		copy(out, in)
		return
	}
	// mayCopy has checked the types, and the sizes agree.
	_ = dtype.Convert(toKind, out, fromKind, in)
}

// part returns the bytes of adjacent elements.
func part(kind dtype.DType, memory []byte, at, count int64) []byte {
	each, width := kind.Block()
	return memory[uint64(at)/each*width : (uint64(at+count)+each-1)/each*width]
}

// scattered copies elements that are apart: it gathers them, converts them and spreads them.
func (c *copying) scattered(r strided.Run, count int64, to, from []byte, tile *[2][]byte) {
	_, toWidth := c.to.kind.Block()
	_, fromWidth := c.from.kind.Block()
	if tile[0] == nil {
		tile[0], tile[1] = make([]byte, tileElements*fromWidth), make([]byte, tileElements*toWidth)
	}
	in, out := tile[0][:uint64(count)*fromWidth], tile[1][:uint64(count)*toWidth]
	for i := range uint64(count) {
		at := uint64(r.From+int64(i)*r.FromStep) * fromWidth
		copy(in[i*fromWidth:(i+1)*fromWidth], from[at:])
	}
	convert(c.to.kind, out, 0, c.from.kind, in, 0, count)
	for i := range uint64(count) {
		at := uint64(r.To+int64(i)*r.ToStep) * toWidth
		copy(to[at:], out[i*toWidth:(i+1)*toWidth])
	}
}
