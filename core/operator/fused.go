package operator

import "math"

// The operators of the domain Ferrum. They join operations that models compute together.

// rmsNormResidual adds the residual and normalises the sum over its last dimension. Both are
// outputs.
func rmsNormResidual(int) Schema {
	return Schema{
		Inputs: []Parameter{
			input("X", "T", floats), input("residual", "T", floats), input("scale", "T", floats),
		},
		Outputs:    []Parameter{input("Y", "T", floats), input("sum", "T", floats)},
		Attributes: []Attribute{float("epsilon", 1e-5)},
		infer:      inferNormResidual,
		origins:    eachRow,
	}
}

// layerNormResidual is the same with LayerNormalization.
func layerNormResidual(version int) Schema {
	s := rmsNormResidual(version)
	s.Inputs = append(s.Inputs, optional("bias", "T", floats))
	return s
}

// inferNormResidual is the rule of both norms. A scale and a bias have the last dimension of X.
func inferNormResidual(c *call) error {
	x := c.in(0).Shape
	if len(x) == 0 {
		return c.wrong("%s has no dimensions: expected at least 1", c.describe(0))
	}
	if err := c.exactly(1, x...); err != nil {
		return err
	}
	for at := 2; at < len(c.inputs); at++ {
		if err := c.exactly(at, x[len(x)-1]); err != nil {
			return err
		}
	}
	c.result.Layout.Axes = []int{len(x) - 1}
	c.give(c.in(0).Type, x)
	c.give(c.in(0).Type, x)
	return nil
}

// siluMul is gate * sigmoid(gate) * up.
func siluMul(int) Schema {
	return Schema{
		Inputs:  []Parameter{input("gate", "T", floats), input("up", "T", floats)},
		Outputs: []Parameter{input("Y", "T", floats)},
		origins: eachElement,
		infer: func(c *call) error {
			if err := c.exactly(1, c.in(0).Shape...); err != nil {
				return err
			}
			return inferSame(c)
		},
	}
}

// linear is activation(X * transpose(W) + bias) + residual. W has a row for each element of the output.
func linear(int) Schema {
	return Schema{
		Inputs: []Parameter{
			input("X", "T", floats), input("W", "T", floats), optional("bias", "T", floats), optional("residual", "T", floats),
		},
		Outputs: []Parameter{input("Y", "T", floats)},
		Attributes: []Attribute{{
			Name: "activation", Kind: Text, Default: "none", Choices: []string{"none", "relu", "gelu", "gelu_tanh", "silu"},
		}},
		infer:   inferLinear,
		origins: linearRows,
	}
}

// quantizedLinear is linear with a W of blocks along its rows.
func quantizedLinear(version int) Schema {
	s := linear(version)
	s.Inputs[1] = input("W", "Q", blocks)
	return s
}

func inferLinear(c *call) error {
	x := c.in(0).Shape
	if len(x) == 0 {
		return c.wrong("%s has no dimensions: expected at least 1", c.describe(0))
	}
	if err := c.rank(1, 2); err != nil {
		return err
	}
	w := c.in(1).Shape
	if x[len(x)-1] != w[1] {
		return c.wrong("%s do not fit: the last dimensions are %d and %d", c.describeAll(0, 1), x[len(x)-1], w[1])
	}
	if !c.in(2).IsAbsent {
		if err := c.exactly(2, w[0]); err != nil {
			return err
		}
	}
	y := with(x, len(x)-1, w[0])
	if !c.in(3).IsAbsent {
		if err := c.exactly(3, y...); err != nil {
			return err
		}
	}
	c.give(c.in(0).Type, y)
	return nil
}

// selfAttention is Attention among the tokens of one tensor. It has the queries, the keys and the
// values of a token one after the other: [batch, tokens, (num_heads + 2 * kv_num_heads) * size].
func selfAttention(int) Schema {
	count := func(name string) Attribute { return Attribute{Name: name, Kind: Int, Least: 1, Most: math.MaxInt32} }
	heads := count("num_heads")
	heads.IsRequired = true
	return Schema{
		Inputs:     []Parameter{input("QKV", "T", floats), optional("attn_mask", "U", floats|integers|booleans)},
		Outputs:    []Parameter{input("Y", "T", floats)},
		Attributes: []Attribute{heads, count("kv_num_heads"), zeroOrOne("is_causal", 0), {Name: "scale", Kind: Float}},
		infer:      inferSelfAttention,
		origins:    eachSequence(1),
	}
}

func inferSelfAttention(c *call) error {
	if err := c.rank(0, 3); err != nil {
		return err
	}
	x, heads := c.in(0).Shape, uint64(c.Int("num_heads"))
	keyHeads := heads
	if c.Has("kv_num_heads") {
		keyHeads = uint64(c.Int("kv_num_heads"))
	}
	switch {
	case heads%keyHeads != 0:
		return c.wrong("attribute \"num_heads\" is %d: expected a multiple of attribute \"kv_num_heads\" %d", heads, keyHeads)
	case x[2]%(heads+2*keyHeads) != 0:
		return c.wrong("%s has %d elements in a token: %d heads of queries, and %d each of keys and values, do not divide them",
			c.describe(0), x[2], heads, keyHeads)
	}
	size := x[2] / (heads + 2*keyHeads)
	h := Heads{
		Batch: x[0], QueryHeads: heads, KeyHeads: keyHeads, Queries: x[1], Keys: x[1], Size: size, ValueSize: size, IsPacked: true,
	}
	if err := c.attentionMask(1, h, c.describe(0)); err != nil {
		return err
	}
	c.result.Layout.Heads = h
	c.give(c.in(0).Type, []uint64{x[0], x[1], packed(heads, size)})
	return nil
}
