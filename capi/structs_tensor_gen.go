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

// tensorDescOf reads a ferrum_tensor_desc.
func tensorDescOf(argument string, from *C.ferrum_tensor_desc) (to library.TensorDesc, err error) {
	f := fields{argument: argument}
	read(&to.DType, from.dtype)
	read(&to.Rank, from.rank)
	f.known(from.flags, C.FERRUM_ELEMENTS_CONTIGUOUS|C.FERRUM_ELEMENTS_READ_ONLY|C.FERRUM_ELEMENTS_PACKED|C.FERRUM_ELEMENTS_ABSENT|C.FERRUM_ELEMENTS_REPEATED, "only FERRUM_ELEMENTS_CONTIGUOUS (0x1), FERRUM_ELEMENTS_READ_ONLY (0x2), FERRUM_ELEMENTS_PACKED (0x4), FERRUM_ELEMENTS_ABSENT (0x8) and FERRUM_ELEMENTS_REPEATED (0x10) are")
	to.Contiguous = from.flags&C.FERRUM_ELEMENTS_CONTIGUOUS != 0
	to.ReadOnly = from.flags&C.FERRUM_ELEMENTS_READ_ONLY != 0
	to.Packed = from.flags&C.FERRUM_ELEMENTS_PACKED != 0
	to.Absent = from.flags&C.FERRUM_ELEMENTS_ABSENT != 0
	to.Repeated = from.flags&C.FERRUM_ELEMENTS_REPEATED != 0
	copyNumbers(to.Shape[:], from.shape[:])
	copyNumbers(to.Strides[:], from.strides[:])
	read(&to.Address, from.address)
	read(&to.SizeBytes, from.size_bytes)
	f.fixedText(&to.Device, from.device[:], "device")
	readList(&f, &to.Elements, from.elements, listLength{uint64(from.element_count), C.FERRUM_TENSOR_LIST_MAX, "element_count", device.CodeInvalidArgument}, "elements")
	return to, f.err
}

// putTensorDesc fills a ferrum_tensor_desc.
func putTensorDesc(to *C.ferrum_tensor_desc, from *library.TensorDesc) {
	set(&to.dtype, from.DType)
	set(&to.rank, from.Rank)
	to.flags = 0
	setFlag(&to.flags, C.FERRUM_ELEMENTS_CONTIGUOUS, from.Contiguous)
	setFlag(&to.flags, C.FERRUM_ELEMENTS_READ_ONLY, from.ReadOnly)
	setFlag(&to.flags, C.FERRUM_ELEMENTS_PACKED, from.Packed)
	setFlag(&to.flags, C.FERRUM_ELEMENTS_ABSENT, from.Absent)
	setFlag(&to.flags, C.FERRUM_ELEMENTS_REPEATED, from.Repeated)
	copyNumbers(to.shape[:], from.Shape[:])
	copyNumbers(to.strides[:], from.Strides[:])
	set(&to.address, from.Address)
	set(&to.size_bytes, from.SizeBytes)
	putText(to.device[:], from.Device)
}

// dlpackOf reads a ferrum_dlpack.
func dlpackOf(argument string, from *C.ferrum_dlpack) (to library.DLPack, err error) {
	f := fields{argument: argument}
	f.truth(&to.Versioned, from.is_versioned, "is_versioned")
	readPointer(&to.Managed, &from.managed)
	return to, f.err
}

// putDlpack fills a ferrum_dlpack.
func putDlpack(to *C.ferrum_dlpack, from *library.DLPack) {
	setTruth(&to.is_versioned, from.Versioned)
	setPointer(&to.managed, from.Managed)
}
