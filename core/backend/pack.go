package backend

import (
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/weights"
)

// Packing states where a packed tensor goes.
type Packing struct {
	// Memory is the memory of the packed tensor, which sleeps and wakes with it; nil: that of the
	// backend. It is on the device of the backend.
	Memory weights.Memory
	// Stream orders the work; nil: the default stream.
	Stream device.Stream
}

// packing is the work of one Pack.
type packing struct {
	op     *Op
	packed compute.Packed
	from   *tensor.Tensor
	to     *tensor.Tensor
	uses   [2]tensor.Use
}

func (o *Op) pack(input int, from *tensor.Tensor, p Packing) (*tensor.Tensor, error) {
	b := o.backend
	if p.Memory == nil {
		p.Memory = b.memory
	}
	if p.Stream == nil {
		p.Stream = b.device.Device().DefaultStream()
	}
	switch {
	case o.custom != nil:
		return nil, o.packsNothing()
	case input < 0 || input >= len(o.operator.Inputs):
		return nil, o.wrong("there is no input %d: the operator has %d", input, len(o.operator.Inputs))
	case from == nil:
		return nil, o.wrong("input %q: a tensor to pack is required", o.inputName(input))
	case p.Memory.Engine() != b.device:
		return nil, device.Errorf(device.CodeUnsupportedDevice, opPack, "the memory is on %s", p.Memory.Engine().ID()).On(b.device.ID())
	case from.Engine() != b.device:
		return nil, device.Errorf(device.CodeUnsupportedDevice, opPack, "the tensor is on %s", from.Engine().ID()).On(b.device.ID())
	case from.Packing() != "":
		return nil, device.Errorf(device.CodeUnsupported, opPack, "input %q of %s is packed already, as %q", o.inputName(input), o.Name(), from.Packing()).On(b.device.ID())
	}
	work := &packing{op: o, from: from}
	err := work.start(input, p)
	if err != nil {
		if work.to != nil {
			_ = work.to.Close() // has just been allocated
		}
		work.end()
		return nil, err
	}
	return work.to, nil
}

// start packs now, or queues the work. After an error, the caller ends it.
func (w *packing) start(input int, p Packing) (err error) {
	b := w.op.backend
	if w.uses[0], err = w.from.Use(); err != nil {
		return w.op.about("input", w.op.inputName(input), err)
	}
	if w.packed, err = b.engine.Pack(w.op.operator, input, operandOf(w.from)); err != nil {
		return device.About(b.device.ID(), err)
	}
	// The memory must not fall asleep between its allocation and the use of the tensor.
	release, err := p.Memory.KeepAwake()
	if err != nil {
		return device.About(b.device.ID(), err)
	}
	defer release()
	layout := w.from.Layout()
	w.to, err = tensor.NewOpaque(p.Memory, tensor.Opaque{
		Type: w.from.Type(), Shape: layout.Shape(), Packing: w.packed.Packing, SizeBytes: w.packed.SizeBytes,
	}, p.Stream)
	if err != nil {
		return w.op.about("packed input", w.op.inputName(input), err)
	}
	if w.uses[1], err = w.to.Use(); err != nil {
		return err
	}
	atOnce, err := b.mayRunNow(p.Stream)
	if err != nil {
		return err
	}
	if atOnce {
		if err := w.write(); err != nil {
			return err
		}
		w.end()
		return nil
	}
	// The work keeps the backend open.
	b.gate.running.Add(1)
	if err := device.QueueHostWork(p.Stream, func() error {
		defer b.gate.exit()
		defer w.end()
		return b.note(w.write())
	}); err != nil {
		b.gate.exit()
		return err
	}
	return nil
}

func (w *packing) write() error {
	if err := w.packed.Write(w.from.Addr(), w.to.Addr()); err != nil {
		return device.Errorf(device.CodeOf(err), opPack, "%s: %w", w.op.Name(), err).On(w.op.backend.device.ID())
	}
	return nil
}

func (w *packing) end() {
	w.uses[0].End()
	w.uses[1].End()
}
