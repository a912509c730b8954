// Code generated from include/ferrum_mem/tensor.h by scripts/genabi.py; DO NOT EDIT.

package main

/*
#include "bridge.h"
*/
import "C"

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
)

//export fmgo_tensor_create
func fmgo_tensor_create(memory *C.ferrum_weights_memory, dtype C.int32_t, shape *C.int64_t, count C.uint64_t, stream C.uint64_t, tensorOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	memoryGiven, err := weightsMemoryOf("memory", memory)
	if err != nil {
		return fail(err)
	}
	shapeGiven, err := arrayOf[int64]("shape", shape, count)
	if err != nil {
		return fail(err)
	}
	tensor, err := tensors.Create(memoryGiven, numberOf[int32](dtype), shapeGiven, uint64(stream))
	return give(tensorOut, tensor, err)
}

//export fmgo_tensor_from_memory
func fmgo_tensor_from_memory(memory C.uint64_t, offsetBytes C.uint64_t, desc *C.ferrum_tensor_desc, tensorOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	descGiven, err := tensorDescOf("desc", desc)
	if err != nil {
		return fail(err)
	}
	tensor, err := tensors.FromMemory(uint64(memory), uint64(offsetBytes), descGiven)
	return give(tensorOut, tensor, err)
}

//export fmgo_tensor_wrap
func fmgo_tensor_wrap(dev C.uint64_t, address C.uint64_t, sizeBytes C.uint64_t, desc *C.ferrum_tensor_desc, release C.ferrum_release_fn, userData C.uintptr_t, tensorOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	descGiven, err := tensorDescOf("desc", desc)
	if err != nil {
		return fail(err)
	}
	tensor, err := tensors.Wrap(uint64(dev), device.Addr(address), uint64(sizeBytes), descGiven, releaseOf(release, userData))
	return give(tensorOut, tensor, err)
}

//export fmgo_tensor_from_set
func fmgo_tensor_from_set(set C.uint64_t, index C.uint64_t, tensorOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	tensor, err := tensors.FromSet(uint64(set), uint64(index))
	return give(tensorOut, tensor, err)
}

//export fmgo_tensor_narrow
func fmgo_tensor_narrow(tensor C.uint64_t, axis C.int32_t, start C.int64_t, length C.int64_t, viewOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := tensors.Tensor("tensor.narrow", uint64(tensor))
	if err != nil {
		return fail(err)
	}
	view, err := object.Narrow(int32(axis), int64(start), int64(length))
	return give(viewOut, view, library.CallError(err, object))
}

//export fmgo_tensor_slice
func fmgo_tensor_slice(tensor C.uint64_t, axis C.int32_t, start C.int64_t, length C.int64_t, step C.int64_t, viewOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := tensors.Tensor("tensor.slice", uint64(tensor))
	if err != nil {
		return fail(err)
	}
	view, err := object.Slice(int32(axis), int64(start), int64(length), int64(step))
	return give(viewOut, view, library.CallError(err, object))
}

//export fmgo_tensor_permute
func fmgo_tensor_permute(tensor C.uint64_t, axes *C.int32_t, count C.uint64_t, viewOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	axesGiven, err := arrayOf[int32]("axes", axes, count)
	if err != nil {
		return fail(err)
	}
	object, err := tensors.Tensor("tensor.permute", uint64(tensor))
	if err != nil {
		return fail(err)
	}
	view, err := object.Permute(axesGiven)
	return give(viewOut, view, library.CallError(err, object))
}

//export fmgo_tensor_reshape
func fmgo_tensor_reshape(tensor C.uint64_t, shape *C.int64_t, count C.uint64_t, viewOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	shapeGiven, err := arrayOf[int64]("shape", shape, count)
	if err != nil {
		return fail(err)
	}
	object, err := tensors.Tensor("tensor.reshape", uint64(tensor))
	if err != nil {
		return fail(err)
	}
	view, err := object.Reshape(shapeGiven)
	return give(viewOut, view, library.CallError(err, object))
}

//export fmgo_tensor_expand
func fmgo_tensor_expand(tensor C.uint64_t, shape *C.int64_t, count C.uint64_t, viewOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	shapeGiven, err := arrayOf[int64]("shape", shape, count)
	if err != nil {
		return fail(err)
	}
	object, err := tensors.Tensor("tensor.expand", uint64(tensor))
	if err != nil {
		return fail(err)
	}
	view, err := object.Expand(shapeGiven)
	return give(viewOut, view, library.CallError(err, object))
}

//export fmgo_tensor_copy
func fmgo_tensor_copy(tensor C.uint64_t, source C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := tensors.Tensor("tensor.copy", uint64(tensor))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Copy(uint64(source), uint64(stream)), object))
}

//export fmgo_tensor_to
func fmgo_tensor_to(tensor C.uint64_t, memory *C.ferrum_weights_memory, dtype C.int32_t, stream C.uint64_t, tensorOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	memoryGiven, err := weightsMemoryOf("memory", memory)
	if err != nil {
		return fail(err)
	}
	object, err := tensors.Tensor("tensor.to", uint64(tensor))
	if err != nil {
		return fail(err)
	}
	tensorFound, err := object.To(memoryGiven, numberOf[int32](dtype), uint64(stream))
	return give(tensorOut, tensorFound, library.CallError(err, object))
}

//export fmgo_tensor_read
func fmgo_tensor_read(tensor C.uint64_t, destinationOut C.uintptr_t, sizeBytes C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := tensors.Tensor("tensor.read", uint64(tensor))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Read(device.HostAddr(destinationOut), uint64(sizeBytes), uint64(stream)), object))
}

//export fmgo_tensor_write
func fmgo_tensor_write(tensor C.uint64_t, source C.uintptr_t, sizeBytes C.uint64_t, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := tensors.Tensor("tensor.write", uint64(tensor))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Write(device.HostAddr(source), uint64(sizeBytes), uint64(stream)), object))
}

//export fmgo_tensor_fill
func fmgo_tensor_fill(tensor C.uint64_t, value C.double, stream C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := tensors.Tensor("tensor.fill", uint64(tensor))
	if err != nil {
		return fail(err)
	}
	return done(library.CallError(object.Fill(float64(value), uint64(stream)), object))
}

//export fmgo_tensor_describe
func fmgo_tensor_describe(tensor C.uint64_t, descOut *C.ferrum_tensor_desc) (status C.int32_t) {
	defer guard(&status)
	object, err := tensors.Tensor("tensor.describe", uint64(tensor))
	if err != nil {
		return fail(err)
	}
	desc, err := object.Describe()
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putTensorDesc(descOut, &desc)
	return 0
}

//export fmgo_tensor_destroy
func fmgo_tensor_destroy(tensor C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	object, err := tensors.Tensor("tensor.destroy", uint64(tensor))
	if err != nil {
		return fail(err)
	}
	return done(object.Destroy())
}

//export fmgo_tensor_to_dlpack
func fmgo_tensor_to_dlpack(tensor C.uint64_t, isVersioned C.uint32_t, dlpackOut *C.ferrum_dlpack) (status C.int32_t) {
	defer guard(&status)
	isVersionedSet, err := truth("is_versioned", isVersioned)
	if err != nil {
		return fail(err)
	}
	object, err := tensors.Tensor("tensor.to_dlpack", uint64(tensor))
	if err != nil {
		return fail(err)
	}
	dlpack, err := object.ToDLPack(isVersionedSet)
	if err != nil {
		return fail(library.CallError(err, object))
	}
	putDlpack(dlpackOut, &dlpack)
	return 0
}

//export fmgo_tensor_from_dlpack
func fmgo_tensor_from_dlpack(dev C.uint64_t, dlpack *C.ferrum_dlpack, tensorOut *C.uint64_t) (status C.int32_t) {
	defer guard(&status)
	dlpackGiven, err := dlpackOf("dlpack", dlpack)
	if err != nil {
		return fail(err)
	}
	tensor, err := tensors.FromDLPack(uint64(dev), dlpackGiven)
	return give(tensorOut, tensor, err)
}
