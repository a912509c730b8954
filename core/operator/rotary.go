package operator

import "ferrum_mem/core/dtype"

// rotary is the form of RotaryEmbedding, which rotates pairs of elements of each head by angles
// that depend on the position of the token.
func rotary(int) Schema {
	const types = 1<<dtype.F16 | 1<<dtype.F32 | brain
	return Schema{
		Inputs: []Parameter{
			input("X", "T", types), input("cos_cache", "T", types), input("sin_cache", "T", types),
			optional("position_ids", "M", shapeNumbers),
		},
		Outputs: []Parameter{input("Y", "T", types)},
		Attributes: []Attribute{
			zeroOrOne("interleaved", 0), atLeast("num_heads", 0),
			{Name: "rotary_embedding_dim", Kind: Int, Default: int64(0), Most: 1 << 62},
		},
		infer:   inferRotary,
		origins: rotated,
	}
}

func inferRotary(c *call) error {
	h, err := c.rotaryHeads()
	if err != nil {
		return err
	}
	h.Rotated = uint64(c.Int("rotary_embedding_dim"))
	if h.Rotated == 0 {
		h.Rotated = h.Size
	}
	if h.Rotated > h.Size || h.Rotated%2 != 0 {
		return c.wrong("%d elements of a head are rotated: expected an even number, at most the %d of %s", h.Rotated, h.Size, c.describe(0))
	}
	for at := 1; at <= 2; at++ {
		if !c.in(3).IsAbsent {
			if err := c.rank(at, 2); err != nil {
				return err
			}
			if err := c.exactly(at, c.in(1).Shape[0], h.Rotated/2); err != nil {
				return err
			}
		} else if err := c.exactly(at, h.Batch, h.Queries, h.Rotated/2); err != nil {
			return err
		}
	}
	if !c.in(3).IsAbsent {
		if err := c.exactly(3, h.Batch, h.Queries); err != nil {
			return err
		}
	}
	c.result.Layout.Heads = h
	return inferSame(c)
}

// rotaryHeads returns the sizes of input X in both of its forms.
func (c *call) rotaryHeads() (Heads, error) {
	x := c.in(0).Shape
	given := uint64(c.Int("num_heads"))
	switch {
	case len(x) == 4 && given != 0 && given != x[1]:
		return Heads{}, c.wrong("attribute \"num_heads\" is %d: %s has %d heads", given, c.describe(0), x[1])
	case len(x) == 4:
		return Heads{Batch: x[0], QueryHeads: x[1], Queries: x[2], Size: x[3]}, nil
	case len(x) != 3:
		return Heads{}, c.wrong("%s has %d dimensions: expected 3 or 4", c.describe(0), len(x))
	case given == 0:
		return Heads{}, c.wrong("attribute \"num_heads\" is required for %s", c.describe(0))
	case x[2]%given != 0:
		return Heads{}, c.wrong("%s has %d elements in a token: attribute \"num_heads\" %d does not divide them", c.describe(0), x[2], given)
	}
	return Heads{Batch: x[0], QueryHeads: given, Queries: x[1], Size: x[2] / given, IsPacked: true}, nil
}
