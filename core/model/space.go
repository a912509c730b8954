package model

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/vmm"
	"ferrum_mem/core/weights"

	"ferrum_mem/core/dtype"
)

// The address space of a model in its elastic pool: first the segment with the parameters, then the arena
// with the activations, which grows at its end, so that addresses in it stay. While the parameters are
// placed, the room of the arena is scratch memory.

// The tags of the memory of a model.
const (
	// ParametersTag is the tag of the segment with the parameters.
	ParametersTag = "parameters"
	// ArenaTag is the tag of the arena with the activations.
	ArenaTag = "arena"
	// scratchTag is the tag of memory that exists only during a build.
	scratchTag = "build"
)

// alignmentBytes is the alignment of parameters and buffers. It suffices for the vector loads of every
// device.
const alignmentBytes = 256

func up(n, alignment uint64) uint64 { return (n + alignment - 1) / alignment * alignment }

// zone is memory of a model with a tag. It grows at its end and is freed as a whole.
type zone struct {
	model  *vmm.Model
	engine *engine.Engine
	tag    string
	// offset is the start in the address space of the model, and most how far the zone may grow.
	offset, most uint64
	// bytes is the present size: whole pages.
	bytes uint64
	// pieces are the allocations.
	pieces []vmm.Allocation
}

// addr returns the address of an offset.
func (z *zone) addr(offset uint64) device.Addr {
	return z.model.BaseAddress() + device.Addr(z.offset+offset)
}

// grow makes the zone at least that large. Errors: CodeOutOfVirtualMemory above its maximum; those of the
// pool. After an error the zone is as before.
func (z *zone) grow(bytes uint64, stream device.Stream) error {
	if bytes <= z.bytes {
		return nil
	}
	if bytes > z.most {
		return aboutModel(z.model.ID(), device.CodeOutOfVirtualMemory, opPlan, "the memory %q of %v would be above %v", z.tag, device.Size(bytes), device.Size(z.most)).
			On(z.engine.ID())
	}
	more := up(bytes, z.model.PageBytes()) - z.bytes
	got, err := z.model.AllocTaggedAt(vmm.AllocRequest{OffsetBytes: z.offset + z.bytes, SizeBytes: more, Tag: z.tag, Stream: stream})
	if err != nil {
		code := device.CodeOf(err)
		if code == device.CodeInvalidState && z.model.IsAsleep(z.tag) {
			code = device.CodeBusy // somebody has put the memory to sleep through the pool
		}
		return aboutModel(z.model.ID(), code, opPlan, "memory %q: %w", z.tag, err).On(z.engine.ID())
	}
	z.pieces = append(z.pieces, got)
	z.bytes += more
	return nil
}

// free frees the zone. After an error it can be called again for the memory that remains.
func (z *zone) free() error {
	for len(z.pieces) > 0 {
		last := z.pieces[len(z.pieces)-1]
		if err := z.model.Free(last.OffsetBytes, last.SizeBytes, nil); err != nil {
			return err
		}
		z.bytes -= last.SizeBytes
		z.pieces = z.pieces[:len(z.pieces)-1]
	}
	return nil
}

// isAsleep states whether the zone has memory that sleeps.
func (z *zone) isAsleep() bool { return len(z.pieces) > 0 && z.model.IsAsleep(z.tag) }

// view makes a tensor of all bytes of the zone.
func (z *zone) view() (*tensor.Tensor, error) {
	layout, err := strided.Contiguous(int64(z.bytes)) // a zone is smaller than an address space
	if err != nil {
		return nil, err
	}
	return tensor.Wrap(tensor.Foreign{
		Engine: z.engine, Addr: z.addr(0), SizeBytes: z.bytes, Hold: func() (func(), error) { return z.model.KeepAwake(z.tag) },
	}, dtype.U8, layout)
}

// slot is the place of a parameter in a zone. It implements weights.Memory for one tensor.
type slot struct {
	*zone
	at uint64
}

var _ weights.Memory = slot{}

// sleeper identifies a zone.
type sleeper struct {
	model *vmm.Model
	tag   string
}

// Engine returns the device.
func (s slot) Engine() *engine.Engine { return s.engine }

// KeepAwake keeps the zone awake until release is called.
func (s slot) KeepAwake() (release func(), err error) { return s.model.KeepAwake(s.tag) }

// Sleeper identifies the zone.
func (s slot) Sleeper() any { return sleeper{s.model, s.tag} }

// Alloc returns the address of the slot, whose memory the zone has.
func (s slot) Alloc(uint64, device.Stream) (device.Addr, error) { return s.addr(s.at), nil }

// RecordStream states that work of a stream uses the memory.
func (s slot) RecordStream(addr device.Addr, size uint64, stream device.Stream) error {
	return s.model.RecordStream(uint64(addr-s.model.BaseAddress()), size, stream)
}

// Free does nothing: the zone is freed as a whole.
func (s slot) Free(device.Addr, uint64) error { return nil }

// closeAll closes tensors. Errors: those of the memory; the other tensors are closed.
func closeAll(tensors []*tensor.Tensor) error {
	var failed error
	for _, t := range tensors {
		if t != nil && !t.IsClosed() {
			failed = errors.Join(failed, t.Close())
		}
	}
	return failed
}
