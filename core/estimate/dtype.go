package estimate

import (
	"fmt"
	"strings"

	"ferrum_mem/core/device"
)

// DType is how elements are stored: bits each, and for the quantised ones a
// scale for each group of them.
type DType struct {
	Name string
	Bits uint64
	// GroupElements share GroupBits more; 0: there are no groups.
	GroupElements uint64
	GroupBits     uint64
}

// The types that weights, caches and activations can be planned with. int8 and
// int4 have a scale of 16 bits for every 32 elements.
var (
	Float64  = DType{Name: "f64", Bits: 64}
	Float32  = DType{Name: "f32", Bits: 32}
	Float16  = DType{Name: "f16", Bits: 16}
	BFloat16 = DType{Name: "bf16", Bits: 16}
	Float8   = DType{Name: "f8", Bits: 8}
	Int8     = DType{Name: "int8", Bits: 8, GroupElements: 32, GroupBits: 16}
	Int4     = DType{Name: "int4", Bits: 4, GroupElements: 32, GroupBits: 16}
)

// DTypeNames are the short names, for people.
const DTypeNames = "f32, f16, bf16, f8, int8, int4"

// ParseDType finds a type by its name, with or without "torch." before it. An
// unknown name is CodeInvalidArgument.
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
	return DType{}, device.Errorf(device.CodeInvalidArgument, "estimate.dtype", "dtype %s is none of %s", quote(name), DTypeNames)
}

// stored is the bytes of a run of elements that ends with a whole byte.
func (c *calculation) stored(t DType, elements uint64) uint64 {
	bytes := ceilDiv(c.product(elements, t.Bits), 8)
	if t.GroupElements > 0 {
		bytes = c.sum(bytes, ceilDiv(c.product(ceilDiv(elements, t.GroupElements), t.GroupBits), 8))
	}
	return bytes
}

// Storage is how a checkpoint keeps its weights.
type Storage struct {
	// Plain is the type of what is not quantised: embeddings, norms, biases,
	// routers and the output layer, and everything if Quantised is nil.
	Plain DType
	// Quantised is that of the matrices of the layers.
	Quantised *Quantisation
}

// Quantisation is how matrices are stored with fewer bits.
type Quantisation struct {
	// Method is its name in the configuration.
	Method string
	Bits   uint64
	// GroupElements share a scale of GroupBits; 0: each output of a matrix has
	// one.
	GroupElements uint64
	GroupBits     uint64
}

// bytes is what a tally of parameters takes.
func (s Storage) bytes(c *calculation, t tally) uint64 {
	if s.Quantised == nil {
		return c.stored(s.Plain, c.sum(t.linear, t.other))
	}
	q := s.Quantised
	groups := t.rows
	if q.GroupElements > 0 {
		groups = ceilDiv(t.linear, q.GroupElements)
	}
	return c.sum(
		ceilDiv(c.product(t.linear, q.Bits), 8),
		ceilDiv(c.product(groups, q.GroupBits), 8),
		c.stored(s.Plain, t.other))
}

// storage reads the type of the weights and how they are quantised.
func (r reader) storage(m *Model) error {
	m.Weights.Plain = Float32
	for _, field := range []string{"torch_dtype", "dtype"} {
		name, err := r.textOr(field, "")
		if err != nil {
			return err
		}
		if name == "" || name == "auto" {
			continue
		}
		t, err := ParseDType(name)
		if err != nil {
			return r.wrong(field, "%s is none of float32, float16, bfloat16, float8_e4m3fn, float8_e5m2", quote(name))
		}
		m.Weights.Plain = t
		break
	}
	q, err := r.objectOr("quantization_config")
	if err != nil || q == nil {
		return err
	}
	m.Weights.Quantised, err = quantisation(q)
	return err
}

func quantisation(o *object) (*Quantisation, error) {
	method, err := o.textOr("quant_method", "")
	if err != nil {
		return nil, err
	}
	q := &Quantisation{Method: method}
	switch method {
	case "gptq", "awq":
		// A scale of 16 bits and a zero point for every group of inputs.
		if q.Bits, err = o.quantisedBits("bits"); err != nil {
			return nil, err
		}
		q.GroupBits = 16 + q.Bits
		return q, o.groupSize(q, 128)
	case "fp8", "fbgemm_fp8":
		return o.float8(q)
	case "bitsandbytes":
		return o.bitsAndBytes(q)
	case "compressed-tensors":
		return o.compressedTensors(q)
	case "":
		return nil, o.wrong("quant_method", "is missing: it says how the weights are stored")
	}
	return nil, o.wrong("quant_method", "%s is none of gptq, awq, fp8, fbgemm_fp8, bitsandbytes, compressed-tensors; the safetensors files say what it takes", quote(method))
}

func (o *object) quantisedBits(field string) (uint64, error) {
	bits, err := o.number(field, 2)
	if err == nil && bits > 8 {
		err = o.wrong(field, "is %d and not within 2 to 8", bits)
	}
	return bits, err
}

// groupSize reads group_size, of which -1 means one group for each output.
func (o *object) groupSize(q *Quantisation, otherwise uint64) (err error) {
	if value, ok := o.fields["group_size"]; ok && fmt.Sprint(value) == "-1" {
		return nil
	}
	q.GroupElements, err = o.numberOr("group_size", 1, otherwise)
	return err
}

// float8 has a scale of 32 bits for each output, or for each block of a matrix.
func (o *object) float8(q *Quantisation) (*Quantisation, error) {
	q.Bits, q.GroupBits = 8, 32
	block, err := o.listOr("weight_block_size")
	if err != nil || block == nil {
		return q, err
	}
	if len(block) != 2 {
		return nil, o.wrong("weight_block_size", "has %d entries and not 2", len(block))
	}
	var sides [2]uint64
	for i, value := range block {
		field := fmt.Sprintf("weight_block_size[%d]", i)
		if sides[i], err = o.whole(field, value, 1); err != nil {
			return nil, err
		}
		if sides[i] > 1<<20 {
			return nil, o.wrong(field, "is %d and not within 1 to %d", sides[i], 1<<20)
		}
	}
	q.GroupElements = sides[0] * sides[1]
	return q, nil
}

// bitsAndBytes has 4 bits with a scale of 32 for every 64 elements, or 8 bits
// with one for each output.
func (o *object) bitsAndBytes(q *Quantisation) (*Quantisation, error) {
	four, err := o.flagOr("load_in_4bit", false)
	if err != nil {
		return nil, err
	}
	eight, err := o.flagOr("load_in_8bit", false)
	if err != nil {
		return nil, err
	}
	switch {
	case four == eight:
		return nil, o.wrong("load_in_4bit", "one of it and load_in_8bit is to be true")
	case four:
		q.Bits, q.GroupElements, q.GroupBits = 4, 64, 32
	default:
		q.Bits, q.GroupBits = 8, 32
	}
	return q, nil
}

// compressedTensors reads the weights of the first group of layers; a scale has
// 16 bits.
func (o *object) compressedTensors(q *Quantisation) (*Quantisation, error) {
	at := o
	for _, field := range []string{"config_groups", "group_0", "weights"} {
		inner, err := at.objectOr(field)
		if err != nil {
			return nil, err
		}
		if inner == nil {
			return nil, at.wrong(field, "is missing")
		}
		at = inner
	}
	var err error
	if q.Bits, err = at.quantisedBits("num_bits"); err != nil {
		return nil, err
	}
	q.GroupBits = 16
	if !at.has("group_size") {
		return q, nil
	}
	return q, at.groupSize(q, 0)
}
