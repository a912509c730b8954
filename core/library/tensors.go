package library

import (
	"errors"
	"slices"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/weights"
)

// Tensors makes tensors, and finds them by their handles. It is a part of a Library.
type Tensors struct{ library *Library }

// TensorDesc describes a tensor.
type TensorDesc struct {
	DType dtype.DType
	Rank  uint32
	// Contiguous states that Strides are those of the shape; as an argument: they are ignored.
	Contiguous, ReadOnly, Packed, Absent bool
	// Repeated states that a dimension of several indices has the stride 0; as an argument: that strides
	// which are all 0 are meant.
	Repeated       bool
	Shape, Strides [strided.MostDimensions]int64
	// Address is that of the element whose indices are all 0.
	Address   device.Addr
	SizeBytes uint64
	Device    string
	// Elements are those of an input with a shape, axes or sizes; nil: not known.
	Elements []int64
}

// layout returns the layout of a description, whose first element is at a number of bytes.
func (d *TensorDesc) layout(op string, firstBytes int64) (strided.Layout, error) {
	if d.Packed {
		return strided.Layout{}, device.Errorf(device.CodeInvalidArgument, op, "desc->flags has FERRUM_ELEMENTS_PACKED: only an engine packs elements")
	}
	if d.Absent {
		return strided.Layout{}, device.Errorf(device.CodeInvalidArgument, op, "desc->flags has FERRUM_ELEMENTS_ABSENT: only an operation has absent operands")
	}
	if d.Rank > strided.MostDimensions {
		return strided.Layout{}, device.Errorf(device.CodeInvalidArgument, op, "desc->rank is %d: want at most %d", d.Rank, strided.MostDimensions)
	}
	each, width := d.DType.Block()
	if each == 0 {
		return strided.Layout{}, device.Errorf(device.CodeInvalidArgument, op, "desc->dtype is %d, which is not a type", int32(d.DType))
	}
	if firstBytes%int64(width) != 0 {
		return strided.Layout{}, device.Errorf(device.CodeInvalidAlignment, op, "the first element is at the offset %d: want a multiple of %v, the size of %d elements of %s",
			firstBytes, device.Size(width), each, d.DType)
	}
	shape, strides := d.Shape[:d.Rank], d.Strides[:d.Rank]
	// A caller who sets no strides does not mean one element that is repeated.
	hasNone := !d.Repeated && !slices.ContainsFunc(strides, func(s int64) bool { return s != 0 })
	if d.Contiguous || hasNone {
		dense, err := strided.Contiguous(shape...)
		if err != nil {
			return dense, err
		}
		strides = slices.Clone(dense.Strides())
	}
	return strided.Strided(shape, strides, firstBytes/int64(width)*int64(each))
}

// tensorRequest is a request for a new tensor, with what its handles name.
type tensorRequest struct {
	memory weights.Memory
	home   *tensorHome
	kind   dtype.DType
}

// request checks the memory and the type of a new tensor.
func (x *Tensors) request(op string, m *TensorMemory, kind int32) (*tensorRequest, error) {
	if _, err := x.library.started(op); err != nil {
		return nil, err
	}
	if err := x.handles(op, m); err != nil {
		return nil, err
	}
	r := &tensorRequest{kind: dtype.DType(kind)}
	if !r.kind.IsKnown() {
		return nil, device.Errorf(device.CodeInvalidArgument, op, "dtype is %d, which is not a type", kind)
	}
	if err := m.check(op, "memory"); err != nil {
		return nil, err
	}
	if m.Device != 0 {
		return nil, device.Errorf(device.CodeInvalidArgument, op, "memory->device is set: a tensor is made in a pool, a virtual pool or an elastic pool")
	}
	var found TensorSet
	memory, of, err := x.library.Loader.memory(op, m, &found)
	if err != nil {
		return nil, err
	}
	if held, is := memory.(*heldMemory); is && held.of.hasEnded() {
		return nil, endedError(held.of) // a tensor without elements would not ask the memory
	}
	r.memory, r.home = memory, &tensorHome{device: of, place: found.places[0]}
	return r, nil
}

// handles rejects handles that name nothing.
func (x *Tensors) handles(op string, m *TensorMemory) (err error) {
	if m.Pool != 0 {
		_, err = x.library.Pool(op, m.Pool)
	}
	if err == nil && m.VPool != 0 {
		_, err = x.library.VPool(op, m.VPool)
	}
	if err == nil && m.ElasticPool != 0 {
		_, err = x.library.ElasticPool(op, m.ElasticPool)
	}
	if err == nil && m.Device != 0 {
		_, err = x.device(op, m.Device)
	}
	return err
}

// device finds a device that accepts new tensors.
func (x *Tensors) device(op string, id uint64) (*Device, error) {
	d, err := x.library.Device(op, id)
	if err == nil && d.hasEnded() {
		err = endedError(d)
	}
	return d, err
}

// Create allocates memory for a contiguous tensor. Errors: those of tensor.New.
func (x *Tensors) Create(m TensorMemory, kind int32, shape []int64, stream uint64) (uint64, error) {
	const op = "tensor.create"
	if _, err := x.library.started(op); err != nil {
		return 0, err
	}
	if stream != 0 {
		if _, _, err := x.library.registry.factory.Stream(manager.StreamHandle(stream)); err != nil {
			return 0, err
		}
	}
	r, err := x.request(op, &m, kind)
	if err != nil {
		return 0, err
	}
	first, err := x.library.registry.streamOrDefault(op, stream, r.home.device)
	if err != nil {
		return 0, err
	}
	return x.add(op, r.home, func() (*tensor.Tensor, error) {
		return tensor.New(r.memory, r.kind, shape, orDefault(first, r.home.device))
	})
}

// add makes a tensor and assigns a handle to it.
func (x *Tensors) add(op string, home *tensorHome, build func() (*tensor.Tensor, error)) (uint64, error) {
	made, err := x.insert(op, home, false, build)
	if err != nil {
		return 0, err
	}
	return made.id(), nil
}

func (x *Tensors) insert(op string, home *tensorHome, isExport bool, build func() (*tensor.Tensor, error)) (*Tensor, error) {
	if err := home.device.pass(op); err != nil {
		return nil, err
	}
	defer home.device.gate.exit()
	built, err := build()
	if err != nil {
		return nil, on(err, home.device.Engine)
	}
	made := &Tensor{tensor: built, home: home, isExport: isExport}
	home.place.holder.keep(made)
	if _, err := insert(x.library, x.library.registry.tensors, made); err != nil {
		home.place.holder.forget(made)
		return nil, on(errors.Join(err, built.Close()), home.device.Engine)
	}
	return made, nil
}

// FromMemory makes a tensor over a block of a manager, which is pinned meanwhile. Errors: those of
// tensor.Wrap.
func (x *Tensors) FromMemory(memory, offset uint64, desc TensorDesc) (uint64, error) {
	const op = "tensor.from_memory"
	if _, err := x.library.started(op); err != nil {
		return 0, err
	}
	factory, block := x.library.registry.factory, manager.MemoryHandle(memory)
	addr, err := factory.Pin(block)
	if err != nil {
		return 0, err
	}
	info, err := x.library.MemoryGetHandleInfo(memory)
	made := uint64(0)
	if err == nil {
		made, err = x.overBlock(op, block, addr, offset, &info, &desc)
	}
	if err != nil {
		return 0, errors.Join(err, factory.Unpin(block))
	}
	return made, nil
}

func (x *Tensors) overBlock(op string, block manager.MemoryHandle, addr device.Addr, offset uint64, info *HandleInfo, desc *TensorDesc) (uint64, error) {
	d, err := x.library.Device(op, info.Device)
	if err != nil {
		return 0, err
	}
	if offset > info.SizeBytes {
		return 0, device.Errorf(device.CodeInvalidOffset, op, "offset_bytes is %d: the block has %v", offset, device.Size(info.SizeBytes)).On(d.Engine.ID())
	}
	layout, err := desc.layout(op, int64(offset))
	if err != nil {
		return 0, on(err, d.Engine)
	}
	factory := x.library.registry.factory
	holds, err := x.holdersOf(op, info)
	if err != nil {
		return 0, err
	}
	isGone := func() bool {
		_, err := factory.HandleInfo(block)
		return err != nil || slices.ContainsFunc(holds, (*Manager).hasEnded)
	}
	release := func() error {
		if err := factory.Unpin(block); err != nil && !isGone() {
			return err
		}
		return nil
	}
	return x.add(op, &tensorHome{device: d, place: tensorPlace{isGone: isGone}}, func() (*tensor.Tensor, error) {
		return tensor.Wrap(tensor.Foreign{
			Engine: d.Engine, Addr: addr, SizeBytes: info.SizeBytes, Release: release, ReadOnly: info.ReadOnly || desc.ReadOnly,
			Hold: func() (func(), error) { return holdAll(holds) },
		}, desc.DType, layout)
	})
}

// holdersOf lists the managers whose forced end ends a block: its own, and that of the block it is linked to.
func (x *Tensors) holdersOf(op string, info *HandleInfo) ([]*Manager, error) {
	own, err := x.library.Manager(op, info.Manager)
	if err != nil || info.Linked == 0 {
		return []*Manager{own}, err
	}
	linked, err := x.library.MemoryGetHandleInfo(info.Linked)
	if err != nil {
		return []*Manager{own}, nil // the other block has ended, and this one keeps the memory
	}
	other, err := x.library.Manager(op, linked.Manager)
	return []*Manager{own, other}, err
}

// Wrap makes a tensor over memory of the program. release, if it is not nil, is called once after the
// last tensor, and never after an error. Errors: CodeInvalidAddress; those of tensor.Wrap.
func (x *Tensors) Wrap(deviceID uint64, addr device.Addr, size uint64, desc TensorDesc, release func()) (uint64, error) {
	const op = "tensor.wrap"
	d, err := x.device(op, deviceID)
	if err != nil {
		return 0, err
	}
	if addr+device.Addr(size) < addr {
		return 0, device.Errorf(device.CodeOverflow, op, "address %#x + size_bytes %d does not fit 64 bits", uint64(addr), size).On(d.Engine.ID())
	}
	first := int64(0)
	if desc.Address != 0 {
		first = int64(desc.Address - addr)
	}
	layout, err := desc.layout(op, first)
	if err != nil {
		return 0, on(err, d.Engine)
	}
	return x.wrap(op, d, tensor.Foreign{Addr: addr, SizeBytes: size, ReadOnly: desc.ReadOnly}, desc.DType, layout, release)
}

// wrap makes a tensor over memory of the program. Work of the device may use the memory until the last
// tensor over it is closed.
func (x *Tensors) wrap(op string, d *Device, memory tensor.Foreign, kind dtype.DType, layout strided.Layout, release func()) (uint64, error) {
	disown := func() error { return nil }
	if layout.Elements() > 0 {
		var err error
		if disown, err = adoptShared(op, d, &memory); err != nil {
			return 0, on(err, d.Engine)
		}
	}
	callRelease := func() {
		if release != nil {
			x.library.running.during(d, release)
		}
	}
	// The program's release is not called after an error. So the first of this call and the end of the tensor
	// leaves it to the second.
	var isFirstDone atomic.Bool
	memory.Engine = d.Engine
	memory.Release = func() error {
		// A device that is lost or closed has forgotten the range.
		if err := disown(); errors.Is(err, device.CodeBusy) {
			return err
		}
		if isFirstDone.Swap(true) {
			callRelease()
		}
		return nil
	}
	made, err := x.add(op, &tensorHome{device: d}, func() (*tensor.Tensor, error) { return tensor.Wrap(memory, kind, layout) })
	hasEnded := isFirstDone.Swap(true)
	switch {
	case err != nil && !hasEnded:
		return 0, errors.Join(err, disown())
	case err == nil && hasEnded:
		callRelease()
	}
	return made, err
}

// adoptShared lets work of the device use memory of the program, as far as the device can check that it may.
// disown ends that, and does nothing if the device knows the memory already or needs no such permission.
func adoptShared(op string, d *Device, memory *tensor.Foreign) (disown func() error, err error) {
	nothing := func() error { return nil }
	if memory.Addr == 0 {
		return nil, device.Errorf(device.CodeInvalidAddress, op, "address is 0")
	}
	adopter, is := d.Engine.Device().(device.Adopter)
	if !is {
		return nothing, nil
	}
	access := device.AccessReadWrite
	if memory.ReadOnly {
		access = device.AccessRead
	}
	addr, size := memory.Addr, memory.SizeBytes
	err = adopter.Adopt(addr, size, access, device.Shared)
	switch {
	case errors.Is(err, device.CodeAlreadyExists):
		return nothing, nil
	case err != nil:
		return nil, err
	}
	return func() error { return adopter.Disown(addr, size, device.Shared) }, nil
}

// FromSet makes a tensor over a tensor of a set. Errors: CodeInvalidArgument, CodeInvalidState.
func (x *Tensors) FromSet(set, index uint64) (uint64, error) {
	const op = "tensor.from_set"
	s, err := x.library.Loader.TensorSet(op, set)
	if err != nil {
		return 0, err
	}
	// The set is not freed meanwhile.
	if !s.destroying.TryLock() {
		return 0, device.Errorf(device.CodeBusy, op, "tensor set handle %#x: another call is freeing the set", s.id())
	}
	defer s.destroying.Unlock()
	loaded, err := s.at(op, index)
	if err != nil {
		return 0, CallError(err, s)
	}
	d, err := x.deviceOf(op, loaded.Device, len(s.devices) == 0)
	if err != nil {
		return 0, err
	}
	shape := make([]int64, len(loaded.Shape))
	for i, length := range loaded.Shape {
		shape[i] = int64(length) // an element of a loaded tensor takes memory, so the length fits
	}
	layout, err := strided.Contiguous(shape...)
	if err != nil {
		return 0, on(err, d.Engine)
	}
	isGone := func() bool {
		_, err := s.loaded(op)
		return err != nil
	}
	home := &tensorHome{device: d, place: tensorPlace{holder: &s.held, isGone: isGone}}
	return x.add(op, home, func() (*tensor.Tensor, error) {
		return tensor.Wrap(tensor.Foreign{
			Engine: d.Engine, Addr: loaded.Addr, SizeBytes: loaded.SizeBytes, ReadOnly: s.set.IsMapped(),
			Hold: func() (func(), error) { return s.holdTensor(int(index)) },
		}, loaded.Type, layout)
	})
}

// deviceOf finds the open device with an id; anyHost: the first open host device.
func (x *Tensors) deviceOf(op string, id device.ID, anyHost bool) (*Device, error) {
	l := x.library
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := l.opened[id]; d != nil && !anyHost {
		return d, nil
	}
	var first *Device
	for _, d := range l.opened {
		if anyHost && d.Engine.ID().Backend == id.Backend && (first == nil || d.Engine.ID().Index < first.Engine.ID().Index) {
			first = d
		}
	}
	if first == nil {
		return nil, device.Errorf(device.CodeInvalidState, op, "the memory is of device %v, which is not open", id)
	}
	return first, nil
}

// holdTensor keeps the memory of a tensor awake, and the set from freeing it, until release is called.
func (s *TensorSet) holdTensor(index int) (release func(), err error) {
	if !s.using.TryRLock() {
		return nil, device.Errorf(device.CodeBusy, "tensor.use", "tensor set handle %#x: another call is freeing the set", s.id())
	}
	if _, err := s.loaded("tensor.use"); err != nil {
		s.using.RUnlock()
		return nil, err
	}
	awake, err := s.set.KeepAwake(index)
	if err != nil {
		s.using.RUnlock()
		return nil, err
	}
	return func() {
		awake()
		s.using.RUnlock()
	}, nil
}
