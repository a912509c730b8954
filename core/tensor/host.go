package tensor

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/weights"
)

const opRead, opWrite, opTo = "tensor.read", "tensor.write", "tensor.to"

// stagedBytes is about how much host memory To uses at a time.
const stagedBytes = 8 << 20

// Read copies the elements into to, in the order of the shape and without gaps. It waits for
// the work that is queued on stream, and for the copy. On a device whose memory the host cannot
// address, the elements must lie in at most 4096 adjacent parts. Errors: CodeInvalidSize if to
// has another size; CodeUnsupported; CodeBusy while the memory sleeps; CodeInvalidState for a
// closed tensor; those of the stream.
func (t *Tensor) Read(to []byte, stream device.Stream) error {
	return t.exchange(opRead, to, stream, func(tensor, host side) { transfer(host, tensor) },
		func(addr device.Addr, host device.HostAddr, size uint64) error {
			return stream.CopyToHost(host, addr, size)
		})
}

// Write copies from to the elements, in the order of the shape. It waits as Read does. Errors:
// those of Read and CodePermissionDenied for memory that is read-only, CodeInvalidArgument for
// elements that share a place.
func (t *Tensor) Write(from []byte, stream device.Stream) error {
	if err := t.mayWrite(opWrite); err != nil {
		return err
	}
	return t.exchange(opWrite, from, stream, transfer, func(addr device.Addr, host device.HostAddr, size uint64) error {
		return stream.CopyFromHost(addr, host, size)
	})
}

// exchange copies between the elements and bytes of the process: with here in memory that the
// process addresses, otherwise with one call of queued for each adjacent part.
func (t *Tensor) exchange(op string, bytes []byte, stream device.Stream, here func(tensor, host side),
	queued func(addr device.Addr, host device.HostAddr, size uint64) error) error {
	e := t.storage.engine
	if t.packing != "" {
		return t.isOpaque(op)
	}
	if size := t.SizeBytes(); uint64(len(bytes)) != size {
		return device.Errorf(device.CodeInvalidSize, op, "%v for the elements, which have %v", device.Size(len(bytes)), device.Size(size)).On(e.ID())
	}
	use, err := t.Use() // the tensor may be closed meanwhile
	if err != nil {
		return err
	}
	defer use.End()
	if len(bytes) == 0 {
		return nil
	}
	dense, err := strided.Contiguous(t.layout.Shape()...)
	if err != nil {
		return device.About(e.ID(), err)
	}
	if err := stream.Synchronize(device.Forever); err != nil {
		return err
	}
	if e.Info().HostAddressable {
		here(side{t.kind, t.layout, t.memory()}, side{t.kind, dense, bytes})
		return nil
	}
	parts, err := t.parts(op, &dense)
	if err != nil {
		return err
	}
	base := device.HostAddr(offheap.AddressOf(bytes))
	for _, p := range parts {
		if err = queued(p.addr, base+device.HostAddr(p.offset), p.size); err != nil {
			break
		}
	}
	// Copies that are queued use the bytes, also after an error.
	if late := stream.Synchronize(device.Forever); err == nil {
		err = late
	}
	return err
}

// piece is elements that are adjacent in memory, and in the order of the shape.
type piece struct {
	addr         device.Addr
	offset, size uint64
}

// parts returns the pieces of a tensor. dense is the contiguous layout of its shape.
func (t *Tensor) parts(op string, dense *strided.Layout) (parts []piece, err error) {
	each, width := t.kind.Block()
	bytes := func(elements int64) uint64 { return uint64(elements) / each * width }
	own := t.layout
	err = strided.Pairs(dense, &own, func(r strided.Run) error {
		count, calls := int64(1), r.Count
		if r.Count == 1 || r.ToStep == 1 {
			count, calls = r.Count, 1
		}
		if int64(len(parts))+calls > mostMoves {
			return device.Errorf(device.CodeUnsupported, op, "%v takes more than %d copies, because the elements are apart", own, mostMoves).
				On(t.storage.engine.ID())
		}
		for i := range calls {
			parts = append(parts, piece{
				addr:   t.storage.addr + device.Addr(bytes(r.To+i*r.ToStep)),
				offset: bytes(r.From + i*r.FromStep), size: max(bytes(count), width),
			})
		}
		return nil
	})
	return parts, err
}

// To makes a contiguous tensor with the same elements in memory, which may be of another device,
// as elements of the type kind. stream is of the device of t. The copy is queued on stream if
// both are on one device that can make it. Otherwise the elements go through memory of the
// host in parts, and the call waits for the work of stream and for the copies. Errors: those
// of New, Copy, Read and Write.
func (t *Tensor) To(memory weights.Memory, kind dtype.DType, stream device.Stream) (*Tensor, error) {
	switch {
	case t.closed.Load():
		return nil, t.isClosed()
	case t.packing != "":
		return nil, t.isOpaque(opTo)
	case t.kind != kind && !(t.kind.IsConvertible() && kind.IsConvertible()):
		return nil, device.Errorf(device.CodeUnsupported, opTo, "elements of %s are not converted to %s", t.kind, kind).On(t.storage.engine.ID())
	}
	isHere := memory.Engine() == t.storage.engine
	after := stream
	if !isHere {
		after = memory.Engine().Device().DefaultStream()
	}
	made, err := New(memory, kind, t.layout.Shape(), after)
	if err != nil {
		return nil, err
	}
	if isHere && (t.kind == kind || t.storage.engine.Info().HostAddressable) {
		err = made.Copy(t, stream)
		if device.CodeOf(err) == device.CodeUnsupported {
			err = t.stage(made, stream, after)
		}
	} else {
		err = t.stage(made, stream, after)
	}
	if err != nil {
		return nil, closing(err, made)
	}
	return made, nil
}

// stage copies the elements to a contiguous tensor through memory of the host.
func (t *Tensor) stage(to *Tensor, stream, after device.Stream) error {
	if t.layout.Elements() == 0 {
		return nil
	}
	if len(t.layout.Shape()) == 0 {
		return stagePart(t, to, stream, after)
	}
	rows := t.layout.Shape()[0]
	rowBytes := max(t.SizeBytes(), to.SizeBytes()) / uint64(rows)
	step := int64(max(stagedBytes/max(rowBytes, 1), 1))
	for at := int64(0); at < rows; at += step {
		count := min(step, rows-at)
		if err := stageRows(t, to, at, count, stream, after); err != nil {
			return err
		}
	}
	return nil
}

func stageRows(from, to *Tensor, at, count int64, stream, after device.Stream) error {
	source, err := from.Narrow(0, at, count)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // another tensor over the storage is open
	target, err := to.Narrow(0, at, count)
	if err != nil {
		return err
	}
	defer func() { _ = target.Close() }()
	return stagePart(source, target, stream, after)
}

func stagePart(from, to *Tensor, stream, after device.Stream) error {
	fromBytes, toBytes := int(from.SizeBytes()), 0
	if from.kind != to.kind {
		toBytes = int(to.SizeBytes())
	}
	block, err := offheap.NewBlock(fromBytes + toBytes)
	if err != nil {
		return device.About(from.storage.engine.ID(), err)
	}
	defer block.Free()
	read := block.Bytes()[:fromBytes]
	if err := from.Read(read, stream); err != nil {
		return err
	}
	if toBytes == 0 {
		return to.Write(read, after)
	}
	dense := to.layout
	if dense, err = strided.Contiguous(slices.Clone(dense.Shape())...); err != nil {
		return device.About(to.storage.engine.ID(), err)
	}
	written := block.Bytes()[fromBytes:]
	transfer(side{to.kind, dense, written}, side{from.kind, dense, read})
	return to.Write(written, after)
}
