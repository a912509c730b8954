package header

import (
	"encoding/binary"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/protobuf"
)

// The tensors of nodes of type Constant.

// The numbers of the message fields of nodes and attributes.
const (
	nodeOutput      = 2
	nodeType        = 4
	nodeAttribute   = 5
	nodeDomain      = 7
	attributeName   = 1
	attributeFloat  = 2
	attributeInt    = 3
	attributeTensor = 5
	attributeFloats = 7
	attributeInts   = 8

	// maxConstant is the most elements of a Constant that is a list of attributes.
	maxConstant = 1 << 16
)

// node adds the tensor of a node of type Constant. The fields of a node may have any order.
func (r *onnxReader) node(size uint64) {
	var output, kind, domain string
	var at, attributeBytes uint64
	attributes := 0
	r.Message(size, func(f protobuf.Field) {
		switch {
		case f.Kind != protobuf.Bytes:
		case f.Number == nodeOutput && output == "":
			output = r.Text("the name of an output", f.Size, maxName)
		case f.Number == nodeType:
			kind = r.Text("the type of a node", f.Size, maxName)
		case f.Number == nodeDomain:
			domain = r.Text("the domain of a node", f.Size, maxName)
		case f.Number == nodeAttribute:
			attributes++
			at, attributeBytes = r.At, f.Size
		}
	})
	if r.Err != nil || kind != "Constant" || domain != "" && domain != "ai.onnx" || attributes != 1 {
		return
	}
	after, end := r.At, r.End
	r.At, r.End = at, at+attributeBytes
	r.constant(output, attributeBytes)
	r.At, r.End = after, end
}

// constant reads the attribute of a Constant. Constants of texts and sparse tensors have no elements here.
func (r *onnxReader) constant(output string, size uint64) {
	var name string
	var tensorAt, tensorBytes uint64
	var elements []byte
	kind, start := dtype.F32, r.At
	r.Message(size, func(f protobuf.Field) {
		switch {
		case f.Number == attributeName && f.Kind == protobuf.Bytes:
			name = r.Text("the name of an attribute", f.Size, maxName)
		case f.Number == attributeTensor && f.Kind == protobuf.Bytes:
			tensorAt, tensorBytes = r.At, f.Size
		case f.Number == attributeFloat || f.Number == attributeFloats:
			elements = r.floats(f, elements)
		case f.Number == attributeInt || f.Number == attributeInts:
			kind, elements = dtype.I64, r.ints(f, elements)
		}
	})
	after := r.At
	switch {
	case r.Err != nil:
	case name == "value":
		r.At, r.End = tensorAt, tensorAt+tensorBytes
		r.tensor(tensorBytes, output)
	case name == "value_float" || name == "value_int":
		r.decoded(output, kind, elements, []uint64{}, start, after)
	case name == "value_floats" || name == "value_ints":
		if name == "value_ints" {
			kind = dtype.I64
		}
		_, width := kind.Block()
		r.decoded(output, kind, elements, []uint64{uint64(len(elements)) / width}, start, after)
	}
}

// floats appends the elements of a field of numbers, which may be packed.
func (r *onnxReader) floats(f protobuf.Field, to []byte) []byte {
	if f.Kind != protobuf.Bytes && f.Kind != protobuf.Fixed32 || f.Size%4 != 0 || uint64(len(to))+f.Size > 4*maxConstant {
		r.Fail("a Constant before byte %d has floats that are not numbers of 4 bytes, or more than %d of them", r.At, maxConstant)
		return to
	}
	return append(to, r.Text("floats", f.Size, 4*maxConstant)...)
}

// ints appends the elements of a field of integers, which may be packed.
func (r *onnxReader) ints(f protobuf.Field, to []byte) []byte {
	end := r.At + f.Size
	for more := f.Kind == protobuf.Varint || f.Size > 0; more && r.Err == nil; more = r.At < end {
		if f.Kind != protobuf.Varint && f.Kind != protobuf.Bytes || len(to) >= 8*maxConstant {
			r.Fail("a Constant before byte %d has ints that are not varints, or more than %d of them", r.At, maxConstant)
			return to
		}
		to = binary.LittleEndian.AppendUint64(to, r.Varint())
	}
	return to
}

// decoded adds a tensor whose elements are read already.
func (r *onnxReader) decoded(name string, kind dtype.DType, elements []byte, shape []uint64, from, to uint64) {
	t := initialiser{Tensor: Tensor{Name: name, Shape: shape, Type: kind, Offset: from, Size: uint64(len(elements)), Varints: to - from, Decoded: elements}}
	count, _ := product(shape...)
	_, width := kind.Block()
	switch {
	case count*width != t.Size:
		r.Fail("%s: a Constant of one element has %v", quote(name), device.Size(t.Size))
	case t.Size == 0:
		t.Decoded, t.Varints = nil, 0
	}
	t.TypeName, t.Elements = onnxName(kind), count
	if r.Err == nil && r.isNew(&t) {
		r.header.Tensors = append(r.header.Tensors, t.Tensor)
	}
}

func onnxName(kind dtype.DType) string {
	if kind == dtype.I64 {
		return "INT64"
	}
	return "FLOAT"
}
