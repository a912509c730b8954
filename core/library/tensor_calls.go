package library

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/tensor"
)

// view assigns a handle to a view of the tensor.
func (t *Tensor) view(op string, build func(*tensor.Tensor) (*tensor.Tensor, error)) (uint64, error) {
	if err := t.usable(op); err != nil {
		return 0, err
	}
	return t.library.Tensors.add(op, t.home, func() (*tensor.Tensor, error) { return build(t.tensor) })
}

// Narrow is tensor.Tensor.Narrow.
func (t *Tensor) Narrow(axis int32, start, length int64) (uint64, error) {
	return t.view("tensor.narrow", func(own *tensor.Tensor) (*tensor.Tensor, error) { return own.Narrow(int(axis), start, length) })
}

// Slice is tensor.Tensor.Slice.
func (t *Tensor) Slice(axis int32, start, length, step int64) (uint64, error) {
	return t.view("tensor.slice", func(own *tensor.Tensor) (*tensor.Tensor, error) {
		return own.Slice(int(axis), start, length, step)
	})
}

// Permute is tensor.Tensor.Permute.
func (t *Tensor) Permute(axes []int32) (uint64, error) {
	order := make([]int, len(axes))
	for i, axis := range axes {
		order[i] = int(axis)
	}
	return t.view("tensor.permute", func(own *tensor.Tensor) (*tensor.Tensor, error) { return own.Permute(order...) })
}

// Reshape is tensor.Tensor.Reshape.
func (t *Tensor) Reshape(shape []int64) (uint64, error) {
	return t.view("tensor.reshape", func(own *tensor.Tensor) (*tensor.Tensor, error) { return own.Reshape(shape...) })
}

// Expand is tensor.Tensor.Expand.
func (t *Tensor) Expand(shape []int64) (uint64, error) {
	return t.view("tensor.expand", func(own *tensor.Tensor) (*tensor.Tensor, error) { return own.Expand(shape...) })
}

// on checks that the tensor can be used, and finds a stream of its device; 0: the default one.
func (t *Tensor) on(op string, stream uint64) (device.Stream, error) {
	if err := t.usable(op); err != nil {
		return nil, err
	}
	found, err := t.library.registry.streamOrDefault(op, stream, t.home.device)
	if err != nil {
		return nil, err
	}
	return orDefault(found, t.home.device), nil
}

// outcome is the error of a call that accesses the elements: that of usable if the tensor or its memory has
// ended during the call.
func (t *Tensor) outcome(op string, stream uint64, err error) error {
	if err == nil {
		return nil
	}
	if ended := t.usable(op); ended != nil {
		return ended
	}
	return t.library.registry.callErrorOn(stream, err, t)
}

// Copy is tensor.Tensor.Copy.
func (t *Tensor) Copy(from, stream uint64) error {
	const op = "tensor.copy"
	source, err := t.library.Tensors.Tensor(op, from)
	if err != nil {
		return err
	}
	queue, err := t.on(op, stream)
	if err != nil {
		return err
	}
	if err := source.usable(op); err != nil {
		return err
	}
	if err := t.tensor.Copy(source.tensor, queue); err != nil {
		return t.outcome(op, stream, source.outcome(op, stream, err))
	}
	return nil
}

// To is tensor.Tensor.To.
func (t *Tensor) To(m TensorMemory, kind int32, stream uint64) (uint64, error) {
	const op = "tensor.to"
	queue, err := t.on(op, stream)
	if err != nil {
		return 0, err
	}
	r, err := t.library.Tensors.request(op, &m, kind)
	if err != nil {
		return 0, err
	}
	made, err := t.library.Tensors.add(op, r.home, func() (*tensor.Tensor, error) { return t.tensor.To(r.memory, r.kind, queue) })
	return made, t.outcome(op, stream, err)
}

// Read is tensor.Tensor.Read.
func (t *Tensor) Read(to device.HostAddr, size, stream uint64) error {
	return t.exchange("tensor.read", to, size, stream, (*tensor.Tensor).Read)
}

// Write is tensor.Tensor.Write.
func (t *Tensor) Write(from device.HostAddr, size, stream uint64) error {
	return t.exchange("tensor.write", from, size, stream, (*tensor.Tensor).Write)
}

func (t *Tensor) exchange(op string, at device.HostAddr, size, stream uint64, call func(*tensor.Tensor, []byte, device.Stream) error) error {
	queue, err := t.on(op, stream)
	if err != nil {
		return err
	}
	if own := t.tensor.SizeBytes(); own != size {
		return device.Errorf(device.CodeInvalidSize, op, "size_bytes is %d: the elements have %v", size, device.Size(own)).On(t.home.device.Engine.ID())
	}
	var bytes []byte
	if size > 0 {
		bytes = offheap.View(uintptr(at), int(size))
	}
	return t.outcome(op, stream, call(t.tensor, bytes, queue))
}

// Fill is tensor.Tensor.Fill.
func (t *Tensor) Fill(value float64, stream uint64) error {
	const op = "tensor.fill"
	queue, err := t.on(op, stream)
	if err != nil {
		return err
	}
	return t.outcome(op, stream, t.tensor.Fill(value, queue))
}

// Describe describes the tensor.
func (t *Tensor) Describe() (TensorDesc, error) {
	if err := t.usable("tensor.describe"); err != nil {
		return TensorDesc{}, err
	}
	layout := t.tensor.Layout()
	desc := described(t.tensor.Type(), &layout)
	desc.ReadOnly, desc.Packed = t.tensor.ReadOnly(), t.tensor.Packing() != ""
	desc.SizeBytes, desc.Device = t.tensor.SizeBytes(), t.home.device.Engine.ID().String()
	if layout.Elements() > 0 {
		desc.Address = t.tensor.Addr()
	}
	return desc, nil
}

// described describes elements without a place.
func described(kind dtype.DType, layout *strided.Layout) TensorDesc {
	desc := TensorDesc{DType: kind, Rank: uint32(len(layout.Shape())), Contiguous: layout.IsContiguous()}
	copy(desc.Shape[:], layout.Shape())
	copy(desc.Strides[:], layout.Strides())
	for axis, length := range layout.Shape() {
		desc.Repeated = desc.Repeated || length > 1 && desc.Strides[axis] == 0 && layout.Elements() > 0
	}
	return desc
}
