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
// overlap; CodePermissionDenied for memory that is read-only; CodeUnsupportedDevice for another
// device; CodeUnsupported; CodeBusy while the memory of one sleeps; CodeInvalidState for a
// closed tensor; those of the stream. After an error nothing was copied, unless the error is
// one of the stream.
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
		return wrong(device.CodeInvalidArgument, "a shape of %s cannot have the elements of a shape of %s", strided.Text(to.Shape()), strided.Text(source.Shape()))
	case t.mayWrite(opCopy) != nil:
		return t.mayWrite(opCopy)
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

// mayWrite checks that elements can be written.
func (t *Tensor) mayWrite(op string) error {
	switch {
	case t.closed.Load():
		return t.isClosed()
	case t.packing != "":
		return t.isOpaque(op)
	case t.storage.readOnly:
		return device.Errorf(device.CodePermissionDenied, op, "the memory of the tensor is read-only").On(t.storage.engine.ID())
	case !t.layout.IsInjective():
		return device.Errorf(device.CodeInvalidArgument, op, "%v: several elements have one place, so none can be written", t.layout).On(t.storage.engine.ID())
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
	low, high := Extent(t.kind, &t.layout)
	if low == high {
		return 0, 0
	}
	return t.storage.addr + device.Addr(low), t.storage.addr + device.Addr(high)
}

// Extent returns the bytes that elements reach: the first one, and the one after the last, counted from
// place 0 of the layout. Both are 0 without elements.
func Extent(kind dtype.DType, layout *strided.Layout) (low, high int64) {
	lowest, highest, some := layout.Span()
	if !some {
		return 0, 0
	}
	each, width := kind.Block()
	return lowest / int64(each) * int64(width), (highest/int64(each) + 1) * int64(width)
}

// copying is work with its own tensors, which it closes when it has run: of a copy the
// destination and the source, of a fill the destination.
type copying struct {
	tensors []*Tensor
	// awake ends the holds.
	awake []func()
}

func newCopying(tensors ...*Tensor) (*copying, error) {
	c := &copying{tensors: tensors}
	for _, t := range tensors {
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
	_ = closing(nil, c.tensors...)
}

// record states that the stream uses the memory.
func (c *copying) record(stream device.Stream) error {
	for _, t := range c.tensors {
		if t.storage.record != nil {
			if err := t.storage.record(stream); err != nil {
				return err
			}
		}
	}
	return nil
}

// endOn ends the work of a device, which is queued.
func (c *copying) endOn(stream device.Stream) error {
	for _, t := range c.tensors {
		if t.storage.record == nil {
			// The owner of the memory does not know of the stream.
			return c.after(stream, stream.HostFunction(c.end))
		}
	}
	// The pools know by now that the stream uses the memory, and a sleep waits for streams.
	c.end()
	return nil
}

// after returns an error. Before that it waits for the work that was queued, which must not
// outlast the tensors.
func (c *copying) after(stream device.Stream, err error) error {
	if err != nil {
		_ = stream.Synchronize(device.Forever) // the first error says more
	}
	return err
}

// queue queues the copy.
func (c *copying) queue(stream device.Stream) error {
	to, from := c.tensors[0], c.tensors[1]
	if to.layout.Elements() == 0 {
		c.end()
		return nil
	}
	if err := c.record(stream); err != nil {
		return err
	}
	if to.storage.engine.Info().HostAddressable {
		return stream.HostFunction(func() {
			defer c.end()
			transfer(side{to.kind, to.layout, to.memory()}, side{from.kind, from.layout, from.memory()})
		})
	}
	moves, err := to.moves(from)
	if err != nil {
		return err
	}
	if err := stream.CopyBatch(moves); err != nil {
		return c.after(stream, err)
	}
	return c.endOn(stream)
}

// moves returns the adjacent parts to copy on a device.
func (t *Tensor) moves(source *Tensor) (moves []device.Move, err error) {
	each, width := t.kind.Block()
	bytes := func(elements int64) uint64 { return uint64(elements) / each * width }
	to, from := t.layout, source.layout
	err = strided.Pairs(&from, &to, func(r strided.Run) error {
		count, parts := int64(1), r.Count
		if r.Count == 1 || r.FromStep == 1 && r.ToStep == 1 {
			count, parts = r.Count, 1
		}
		if int64(len(moves))+parts > mostMoves {
			return device.Errorf(device.CodeUnsupported, opCopy, "%v to %v takes more than %d copies, because the elements are apart", from, to, mostMoves).
				On(t.storage.engine.ID())
		}
		for i := range parts {
			moves = append(moves, device.Move{
				Dst:       t.storage.addr + device.Addr(bytes(r.To+i*r.ToStep)),
				Src:       source.storage.addr + device.Addr(bytes(r.From+i*r.FromStep)),
				SizeBytes: max(bytes(count), width),
			})
		}
		return nil
	})
	return moves, err
}

// side is one side of a copy that this process makes.
type side struct {
	kind   dtype.DType
	layout strided.Layout
	bytes  []byte
}

// transfer copies elements, and converts them if the types differ.
func transfer(to, from side) {
	var tile [2][]byte
	_ = strided.Pairs(&from.layout, &to.layout, func(r strided.Run) error {
		if r.FromStep == 1 && r.ToStep == 1 {
			convert(to.kind, to.bytes, r.To, from.kind, from.bytes, r.From, r.Count)
			return nil
		}
		for r.Count > 0 {
			part := min(r.Count, tileElements)
			scattered(r, part, to, from, &tile)
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
func scattered(r strided.Run, count int64, to, from side, tile *[2][]byte) {
	_, toWidth := to.kind.Block()
	_, fromWidth := from.kind.Block()
	if tile[0] == nil {
		tile[0], tile[1] = make([]byte, tileElements*fromWidth), make([]byte, tileElements*toWidth)
	}
	in, out := tile[0][:uint64(count)*fromWidth], tile[1][:uint64(count)*toWidth]
	for i := range uint64(count) {
		at := uint64(r.From+int64(i)*r.FromStep) * fromWidth
		copy(in[i*fromWidth:(i+1)*fromWidth], from.bytes[at:])
	}
	convert(to.kind, out, 0, from.kind, in, 0, count)
	for i := range uint64(count) {
		at := uint64(r.To+int64(i)*r.ToStep) * toWidth
		copy(to.bytes[at:], out[i*toWidth:(i+1)*toWidth])
	}
}
