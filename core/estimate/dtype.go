package estimate

import (
	"strings"

	"ferrum_mem/core/device"
)

// DType is the format of stored elements: the bits of each, and for quantised types a
// scale for each group of elements.
type DType struct {
	Name string
	Bits uint64
	// GroupElements elements share GroupBits additional bits; 0: there are no groups.
	GroupElements uint64
	GroupBits     uint64
}

// The types for weights, caches and activations of a plan. int8 and int4 have a scale
// of 16 bits for every 32 elements.
var (
	Float64  = DType{Name: "f64", Bits: 64}
	Float32  = DType{Name: "f32", Bits: 32}
	Float16  = DType{Name: "f16", Bits: 16}
	BFloat16 = DType{Name: "bf16", Bits: 16}
	Float8   = DType{Name: "f8", Bits: 8}
	Int8     = DType{Name: "int8", Bits: 8, GroupElements: 32, GroupBits: 16}
	Int4     = DType{Name: "int4", Bits: 4, GroupElements: 32, GroupBits: 16}
)

// DTypeNames lists the short names, for people.
const DTypeNames = "f32, f16, bf16, f8, int8, int4"

// ParseDType finds a type by its name, with or without "torch." before it. It returns
// CodeInvalidArgument for an unknown name.
func ParseDType(name string) (DType, error) {
	switch strings.TrimPrefix(name, "torch.") {
	case "f64", "float64", "double":
		return Float64, nil
	case "f32", "float32", "float", "fp32":
		return Float32, nil
	case "f16", "float16", "half", "fp16":
		return Float16, nil
	case "bf16", "bfloat16":
		return BFloat16, nil
	case "f8", "fp8", "float8_e4m3fn", "float8_e5m2", "fp8_e4m3", "fp8_e5m2":
		return Float8, nil
	case "int8", "q8_0":
		return Int8, nil
	case "int4", "q4_0":
		return Int4, nil
	}
	return DType{}, device.Errorf(device.CodeInvalidArgument, "estimate.dtype", "dtype %s is not one of %s", quote(name), DTypeNames)
}

// stored returns the bytes of a run of elements that ends with a whole byte.
func (c *calculation) stored(t DType, elements uint64) uint64 {
	bytes := ceilDiv(c.product(elements, t.Bits), 8)
	if t.GroupElements > 0 {
		bytes = c.sum(bytes, ceilDiv(c.product(ceilDiv(elements, t.GroupElements), t.GroupBits), 8))
	}
	return bytes
}

// Storage has the formats of the weights of a checkpoint.
type Storage struct {
	// Plain is the type of weights that are not quantised: embeddings, norms, biases,
	// routers and the output layer, and all weights if Quantised is nil.
	Plain DType
	// Quantised is the storage of the matrices of the layers.
	Quantised *Quantisation
}

// Quantisation is a storage of matrices with fewer bits.
type Quantisation struct {
	// Method is its name in the configuration.
	Method string
	Bits   uint64
	// GroupElements elements share a scale of GroupBits; 0: each output of a matrix has
	// one scale.
	GroupElements uint64
	GroupBits     uint64
	// ExpertsOnly: only the matrices of experts are quantised.
	ExpertsOnly bool
}
