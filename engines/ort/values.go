package ort

import (
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
	"ferrum_mem/internal/dl"
)

// newValue makes an OrtValue over memory of the caller, on the device of the session.
func (s *session) newValue(op string, b compute.Bound) (value uintptr, err error) {
	number := operator.ONNXNumber(b.Type)
	if number == 0 {
		return 0, device.Errorf(device.CodeUnsupported, op, "%q: ONNX Runtime has no type %s", b.Name, b.Type)
	}
	elements := uint64(1)
	for _, length := range b.Shape {
		elements *= uint64(length)
	}
	size, err := b.Type.Size(elements)
	if err != nil {
		return 0, device.Errorf(device.CodeOf(err), op, "%q: %w", b.Name, err)
	}
	shape := append([]int64{}, b.Shape...)
	shape = append(shape, 0) // so that it has an address
	addr := uintptr(b.Addr)
	err = s.library.call(op, createTensor, s.memoryInfo, addr, uintptr(size), dl.Pointer(&shape[0]), uintptr(len(shape)-1), uintptr(number), dl.Pointer(&value))
	return value, err
}

// describe reads the type, the shape and the address of an OrtValue that a run has made.
func (r *runtimeLibrary) describe(value uintptr, b *compute.Bound) error {
	var info, addr uintptr
	if err := r.call(opRun, tensorTypeAndShape, value, dl.Pointer(&info)); err != nil {
		return err
	}
	defer r.release(releaseTensorTypeAndShape, info)
	var err error
	if b.Type, b.Shape, err = r.typeAndShape(opRun, b.Name, info); err != nil {
		return err
	}
	if err := r.call(opRun, tensorData, value, dl.Pointer(&addr)); err != nil {
		return err
	}
	b.Addr = device.Addr(addr)
	return nil
}

// typeAndShape reads an OrtTensorTypeAndShapeInfo.
func (r *runtimeLibrary) typeAndShape(op, name string, info uintptr) (kind dtype.DType, shape []int64, err error) {
	var number int32
	if err := r.call(op, elementType, info, dl.Pointer(&number)); err != nil {
		return 0, nil, err
	}
	kind, isKnown := operator.FromONNX(int64(number))
	if !isKnown {
		return 0, nil, device.Errorf(device.CodeUnsupported, op, "%q has the element type %d of ONNX, which is no type of a tensor here", name, number)
	}
	var rank uintptr
	if err := r.call(op, dimensionCount, info, dl.Pointer(&rank)); err != nil {
		return 0, nil, err
	}
	if rank > operator.MaxRank {
		return 0, nil, device.Errorf(device.CodeUnsupported, op, "%q has %d dimensions: there can be %d", name, rank, operator.MaxRank)
	}
	shape = make([]int64, rank+1)
	if err := r.call(op, dimensions, info, dl.Pointer(&shape[0]), rank); err != nil {
		return 0, nil, err
	}
	return kind, shape[:rank], nil
}

// graphValue describes an input or an output of a session.
func (r *runtimeLibrary) graphValue(session uintptr, at int, nameOf, kindOf function) (v compute.GraphValue, err error) {
	var name, info, tensor uintptr
	if err := r.call(opOpen, nameOf, session, uintptr(at), r.texts, dl.Pointer(&name)); err != nil {
		return v, err
	}
	v.Name = dl.TextAt(name, maxText)
	if err := r.call(opOpen, freeText, r.texts, name); err != nil {
		return v, err
	}
	if err := r.call(opOpen, kindOf, session, uintptr(at), dl.Pointer(&info)); err != nil {
		return v, err
	}
	defer r.release(releaseTypeInfo, info)
	if err := r.call(opOpen, castToTensor, info, dl.Pointer(&tensor)); err != nil {
		return v, err
	}
	if tensor == 0 {
		return v, device.Errorf(device.CodeUnsupported, opOpen, "%q is no tensor", v.Name)
	}
	if v.Type, v.Shape, err = r.typeAndShape(opOpen, v.Name, tensor); err != nil {
		return v, err
	}
	v.Dims = make([]string, len(v.Shape))
	if len(v.Shape) == 0 {
		return v, nil
	}
	names := make([]uintptr, len(v.Shape))
	if err := r.call(opOpen, symbolicDimensions, tensor, dl.Pointer(&names[0]), uintptr(len(names))); err != nil {
		return v, err
	}
	for axis := range v.Shape {
		if v.Shape[axis] < 0 {
			v.Shape[axis], v.Dims[axis] = -1, dl.TextAt(names[axis], maxText)
		}
	}
	return v, nil
}
