package operator

import "slices"

// Matrix products.

func matMul(version int) Schema {
	types := products(version)
	return Schema{
		Inputs:  []Parameter{input("A", "T", types), input("B", "T", types)},
		Outputs: []Parameter{input("Y", "T", types)},
		infer:   inferMatMul,
		origins: productRows,
	}
}

// products returns the types of matrix products at a version.
func products(version int) Types {
	types := floating(version)
	if version >= 9 {
		types |= wideIntegers
	}
	return types
}

// inferMatMul follows NumPy: a vector on the left is a row, one on the right a column, and its
// dimension of 1 is not part of the output. Leading dimensions broadcast.
func inferMatMul(c *call) error {
	a, b := c.in(0).Shape, c.in(1).Shape
	if len(a) == 0 || len(b) == 0 {
		return c.wrong("%s: a scalar has no matrix product", c.describeAll(0, 1))
	}
	isRow, isColumn := len(a) == 1, len(b) == 1
	if isRow {
		a = []uint64{1, a[0]}
	}
	if isColumn {
		b = []uint64{b[0], 1}
	}
	m, n := len(a)-2, len(b)-2
	if a[m+1] != b[n] {
		return c.wrong("%s do not fit: the inner dimensions are %d and %d", c.describeAll(0, 1), a[m+1], b[n])
	}
	shape, at, fits := broadcast(a[:m], b[:n])
	if !fits {
		return c.wrong("%s do not broadcast: dimension %d differs", c.describeAll(0, 1), at-2)
	}
	if !isRow {
		shape = append(shape, a[m])
	}
	if !isColumn {
		shape = append(shape, b[n+1])
	}
	c.give(c.in(0).Type, shape)
	return nil
}

func gemm(version int) Schema {
	types := products(version)
	third := optional("C", "T", types)
	third.IsOptional = version >= 11
	return Schema{
		Inputs:  []Parameter{input("A", "T", types), input("B", "T", types), third},
		Outputs: []Parameter{input("Y", "T", types)},
		Attributes: []Attribute{
			float("alpha", 1), float("beta", 1), zeroOrOne("transA", 0), zeroOrOne("transB", 0),
		},
		infer:   inferGemm,
		origins: gemmRows,
	}
}

func inferGemm(c *call) error {
	for at := range 2 {
		if err := c.rank(at, 2); err != nil {
			return err
		}
	}
	a, b := slices.Clone(c.in(0).Shape), slices.Clone(c.in(1).Shape)
	if c.Int("transA") == 1 {
		slices.Reverse(a)
	}
	if c.Int("transB") == 1 {
		slices.Reverse(b)
	}
	if a[1] != b[0] {
		return c.wrong("%s do not fit: the inner dimensions are %d and %d (transA %d, transB %d)",
			c.describeAll(0, 1), a[1], b[0], c.Int("transA"), c.Int("transB"))
	}
	shape := []uint64{a[0], b[1]}
	if !c.in(2).IsAbsent {
		if err := c.fitsInto(2, shape, described("the product", shape)); err != nil {
			return err
		}
	}
	c.give(c.in(0).Type, shape)
	return nil
}
