package estimate

import "fmt"

// bytes returns the size of a tally of parameters.
func (s Storage) bytes(c *calculation, t tally) uint64 {
	if s.Quantised == nil {
		return c.stored(s.Plain, c.sum(t.linear, t.other))
	}
	q := s.Quantised
	if q.ExpertsOnly {
		t.other = c.sum(t.other, t.linear-t.experts)
		t.linear = t.experts
	}
	groups := t.rows
	if q.GroupElements > 0 {
		groups = ceilDiv(t.linear, q.GroupElements)
	}
	return c.sum(
		ceilDiv(c.product(t.linear, q.Bits), 8),
		ceilDiv(c.product(groups, q.GroupBits), 8),
		c.stored(s.Plain, t.other))
}

// storage reads the type of the weights and their quantisation.
func (r reader) storage(m *Model) error {
	m.Weights.Plain = Float32
	stated := false
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
			return r.wrong(field, "%s is not one of float32, float16, bfloat16, float8_e4m3fn, float8_e5m2", quote(name))
		}
		m.Weights.Plain, stated = t, true
		break
	}
	q, err := r.objectOr("quantization_config")
	if err != nil || q == nil {
		return err
	}
	if m.Weights.Quantised, err = quantisation(q); err != nil {
		return err
	}
	// Files of this method leave out the type; all of them have bfloat16.
	if m.Weights.Quantised.Method == "mxfp4" && !stated {
		m.Weights.Plain = BFloat16
	}
	return nil
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
	case "mxfp4":
		q.Bits, q.GroupElements, q.GroupBits, q.ExpertsOnly = 4, 32, 8, true
		return q, nil
	case "bitsandbytes":
		return o.bitsAndBytes(q)
	case "compressed-tensors":
		return o.compressedTensors(q)
	case "":
		return nil, o.wrong("quant_method", "is missing: it determines how the weights are stored")
	}
	return nil, o.wrong("quant_method", "%s is not one of gptq, awq, fp8, fbgemm_fp8, mxfp4, bitsandbytes, compressed-tensors; the safetensors files state the size of the weights", quote(method))
}

func (o *object) quantisedBits(field string) (uint64, error) {
	bits, err := o.number(field, 2)
	if err == nil && bits > 8 {
		err = o.wrong(field, "is %d, not within 2 to 8", bits)
	}
	return bits, err
}

// groupSize reads group_size; -1 means one group for each output.
func (o *object) groupSize(q *Quantisation, otherwise uint64) (err error) {
	if value, ok := o.fields["group_size"]; ok && fmt.Sprint(value) == "-1" {
		return nil
	}
	q.GroupElements, err = o.numberOr("group_size", 1, otherwise)
	return err
}

// float8 reads a quantisation with a scale of 32 bits for each output, or for each
// block of a matrix.
func (o *object) float8(q *Quantisation) (*Quantisation, error) {
	q.Bits, q.GroupBits = 8, 32
	block, err := o.listOr("weight_block_size")
	if err != nil || block == nil {
		return q, err
	}
	if len(block) != 2 {
		return nil, o.wrong("weight_block_size", "has %d entries: want 2", len(block))
	}
	var sides [2]uint64
	for i, value := range block {
		field := fmt.Sprintf("weight_block_size[%d]", i)
		if sides[i], err = o.whole(field, value, 1); err != nil {
			return nil, err
		}
		if sides[i] > 1<<20 {
			return nil, o.wrong(field, "is %d, not within 1 to %d", sides[i], 1<<20)
		}
	}
	q.GroupElements = sides[0] * sides[1]
	return q, nil
}

// bitsAndBytes reads a quantisation of 4 bits with a scale of 32 for every 64 elements,
// or of 8 bits with one scale for each output.
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
		return nil, o.wrong("load_in_4bit", "either it or load_in_8bit must be true")
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
