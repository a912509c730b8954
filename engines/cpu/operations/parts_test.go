//go:build cgo && (amd64 || arm64) && linux

package operations

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

// narrow returns some indices of a dimension, in the same memory.
func (p *placed) narrow(t require.TestingT, axis int, start, count int64) *placed {
	made := *p
	layout, err := p.layout.Narrow(axis, start, count)
	require.NoError(t, err)
	made.layout = layout.FromZero()
	made.first += start * p.layout.Strides()[axis]
	return &made
}

// bits returns the bytes of the elements in the order of the shape.
func (p *placed) bits() []byte {
	_, size := p.kind.Block()
	made := make([]byte, 0, p.layout.Elements()*int64(size))
	p.each(func(_ int, element int64) {
		made = append(made, p.memory[margin+uint64(element)*size:][:size]...)
	})
	return made
}

// share is a part of the outputs of an execution: count of units from start on, along a dimension.
type share struct {
	axis, units  int
	start, count int
}

// cut returns the indices of a dimension that belong to the share.
func (s share) cut(t require.TestingT, p *placed, axis int) *placed {
	each := p.layout.Shape()[axis] / int64(s.units)
	return p.narrow(t, axis, int64(s.start)*each, int64(s.count)*each)
}

func hasWholeBytes(kind dtype.DType) bool {
	each, _ := kind.Block()
	return each == 1
}

// unitsOf returns into how many parts a dimension of the outputs divides with those that it comes from; 0: none.
func (x *execution) unitsOf(axis int) (origins []int, units int) {
	values := make([]operator.Value, len(x.request.Inputs))
	for i, in := range x.request.Inputs {
		values[i] = operator.Value{Type: in.Type, Known: in.Known, IsAbsent: in.IsAbsent}
		for _, n := range in.Layout.Shape() {
			values[i].Shape = append(values[i].Shape, uint64(n))
		}
	}
	origins, isKnown := x.op.Origins(values, x.request.Inferred, axis)
	if !isKnown {
		return nil, 0
	}
	divisor := func(a, b int) int {
		for b != 0 {
			a, b = b, a%b
		}
		return a
	}
	for i, origin := range origins {
		if origin == operator.Whole {
			continue
		}
		if !hasWholeBytes(x.inputs[i].kind) {
			return nil, 0
		}
		units = divisor(int(x.inputs[i].layout.Shape()[origin]), units)
	}
	for _, out := range x.outputs {
		if out == nil {
			continue
		}
		if !hasWholeBytes(out.kind) {
			return nil, 0
		}
		units = divisor(int(out.layout.Shape()[axis]), units)
	}
	return origins, units
}

// part computes a share of the outputs alone. It returns nil if the engine or the operator does not divide the
// whole.
func (x *execution) part(t require.TestingT, e *Engine, whole compute.Plan, s share, origins []int) []*placed {
	r := compute.Request{Operator: x.op}
	inputs, values := slices.Clone(x.inputs), make([]operator.Value, len(x.inputs))
	for i, in := range x.request.Inputs {
		if in.IsAbsent {
			values[i].IsAbsent = true
			r.Inputs = append(r.Inputs, in)
			continue
		}
		if origins[i] != operator.Whole {
			inputs[i] = s.cut(t, inputs[i], origins[i])
		}
		operand := inputs[i].operand()
		operand.Known = in.Known
		values[i] = operator.Value{Type: in.Type, Known: in.Known}
		for _, n := range operand.Layout.Shape() {
			values[i].Shape = append(values[i].Shape, uint64(n))
		}
		r.Inputs = append(r.Inputs, operand)
	}
	var err error
	if r.Inferred, err = x.op.Infer(values, x.wanted); err != nil {
		return nil // such as a shape with a constant length
	}
	var outputs []*placed
	for i, v := range r.Inferred.Outputs {
		if v.IsAbsent {
			outputs, r.Outputs = append(outputs, nil), append(r.Outputs, compute.Operand{IsAbsent: true})
			continue
		}
		made := place(t, v.Type, v.Shape, inOrder)
		expected := s.cut(t, x.outputs[i], s.axis)
		if !slices.Equal(made.layout.Shape(), expected.layout.Shape()) {
			return nil
		}
		outputs, r.Outputs = append(outputs, made), append(r.Outputs, made.operand())
	}
	p, err := e.Plan(r)
	require.NoError(t, err)
	if !whole.(*plan).program.Divides(p.(*plan).program, 1, 1) {
		return nil
	}
	space, check := workspace(t, p.WorkspaceBytes())
	require.NoError(t, p.Run(addresses(inputs), addresses(outputs), space), "%v", x.call)
	check()
	return outputs
}

// requireParts computes a call as a whole, and shares of it along each dimension, and compares the bits. It
// returns how many shares were compared.
func requireParts(t require.TestingT, e *Engine, c call, in []pattern, draw func(n int) int) (compared int) {
	x := c.prepare(t, in, inOrder)
	whole, err := e.Plan(x.request)
	require.NoError(t, err)
	space, _ := workspace(t, whole.WorkspaceBytes())
	require.NoError(t, whole.Run(addresses(x.inputs), addresses(x.outputs), space), "%v", c)
	first := slices.IndexFunc(x.outputs, func(p *placed) bool { return p != nil })
	for axis := range x.outputs[first].layout.Shape() {
		origins, units := x.unitsOf(axis)
		if units < 2 {
			continue
		}
		s := share{axis: axis, units: units, count: 1 + draw(units-1)}
		s.start = draw(units - s.count + 1)
		parts := x.part(t, e, whole, s, origins)
		if parts == nil {
			continue
		}
		compared++
		for i, got := range parts {
			if got != nil {
				want := s.cut(t, x.outputs[i], axis)
				require.Equal(t, want.bits(), got.bits(), "output %d of %v, dimension %d, %d units of %d from %d on", i, c, axis, s.count, units, s.start)
			}
		}
	}
	return compared
}

// Parts of the outputs of every operator have the bits of the whole, wherever the engine divides it: any type,
// any strides, NaN and infinities in a part of the calls.
func TestPartsHaveTheBitsOfTheWhole(t *testing.T) {
	onEachSet(t, 2, func(t *testing.T, e *Engine) {
		eachOperator(t, func(t *testing.T, s *operator.Schema) {
			compared := 0
			rapid.Check(t, func(r *rapid.T) {
				g := &generator{T: r, elements: rand.New(rand.NewPCG(1, rapid.Uint64().Draw(r, "seed")))}
				g.special = rapid.IntRange(0, 3).Draw(r, "special") == 0
				c := g.draw(s)
				in := make([]pattern, len(c.inputs))
				for i := range in {
					in[i] = rapid.SampledFrom([]pattern{inOrder, inOrder, transposed, sliced}).Draw(r, "pattern")
				}
				compared += requireParts(r, e, c, in, func(n int) int { return rapid.IntRange(0, n-1).Draw(r, "place") })
			})
			if !testing.Short() {
				assert.Positive(t, compared, "the test has compared nothing")
			}
		})
	})
}

// Layers of a usual size: rows that do not fill the tiles of the kernels, and depths of several blocks.
func TestRowsOfLayersHaveTheBitsOfTheWhole(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	numbers, kinds := []int{1, 3}, []dtype.DType{dtype.F32, dtype.F16, dtype.BF16, dtype.F64}
	if testing.Short() {
		// The race detector does not see the kernels, and takes ten times as long for the inputs.
		numbers, kinds = numbers[1:], kinds[:1]
	}
	for _, threads := range numbers {
		onEachSet(t, threads, func(t *testing.T, e *Engine) {
			for _, kind := range kinds {
				g := &generator{elements: random}
				compared := 0
				for _, rows := range []uint64{3, 65, 131} {
					for _, sizes := range [][2]uint64{{384, 70}, {800, 33}, {17, 1}} {
						if kind == dtype.F64 && rows > 65 {
							continue // its kernel computes each element alone
						}
						k, n := sizes[0], sizes[1]
						linear := callOf(t, operator.Ferrum, "linear", `{"activation": "gelu"}`, g.tensor(kind, rows, k), g.tensor(kind, n, k), g.tensor(kind, n))
						residual := callOf(t, operator.Ferrum, "linear", "", g.tensor(kind, 2, rows, k), g.tensor(kind, n, k), nil, g.tensor(kind, 2, rows, n))
						product := callOf(t, operator.ONNX, "MatMul", "", g.tensor(kind, 3, rows, k), g.tensor(kind, 3, k, n))
						norm := callOf(t, operator.Ferrum, "layer_norm_residual", "", g.tensor(kind, rows, k), g.tensor(kind, rows, k), g.tensor(kind, k), g.tensor(kind, k))
						norm.wanted = []bool{true, true}
						for _, c := range []call{linear, residual, product, norm} {
							compared += requireParts(t, e, c, []pattern{inOrder}, random.IntN)
						}
					}
				}
				for _, tokens := range []uint64{5, 33, 140} {
					attention := callOf(t, operator.Ferrum, "self_attention", `{"num_heads": 3}`, g.tensor(kind, 5, tokens, 3*3*20), g.tensor(kind, 5, 1, 1, tokens))
					compared += requireParts(t, e, attention, []pattern{inOrder}, random.IntN)
				}
				require.Greater(t, compared, 20)
			}
		})
	}
}

// A product with one row, and attention of few tokens, have kernels of their own.
func TestKernelsForFewRowsComputeNoParts(t *testing.T) {
	e := opened(t, 1)
	planOf := func(c call) *plan {
		p, err := e.Plan(c.prepare(t, []pattern{inOrder}, inOrder).request)
		require.NoError(t, err)
		return p.(*plan)
	}
	linear := func(rows uint64) *plan {
		return planOf(callOf(t, operator.Ferrum, "linear", "", random(dtype.F32, rows, 8), random(dtype.F32, 4, 8)))
	}
	attention := func(batch, tokens uint64) *plan {
		return planOf(callOf(t, operator.Ferrum, "self_attention", `{"num_heads": 2}`, random(dtype.F32, batch, tokens, 24)))
	}
	assert.True(t, e.Divides(linear(300), linear(128)))
	assert.False(t, e.Divides(linear(300), linear(127)), "it would take longer")
	assert.True(t, e.Divides(linear(128), linear(64)), "a half")
	assert.False(t, e.Divides(linear(126), linear(63)))
	assert.False(t, e.Divides(linear(4), linear(4)), "it has few rows itself")
	assert.True(t, linear(128).program.Divides(linear(2).program, 1, 1))
	assert.False(t, linear(128).program.Divides(linear(1).program, 1, 1), "one row is summed in another order")
	assert.True(t, e.Divides(attention(8, 16), attention(4, 16)))
	assert.False(t, e.Divides(attention(8, 16), attention(2, 16)), "32 queries are few")
	assert.False(t, e.Divides(attention(2, 16), attention(1, 16)), "both are few")
	assert.False(t, e.Divides(linear(128), attention(8, 16)))
	assert.False(t, opened(t, 3).Divides(linear(128), linear(64)), "each thread has that many rows")
}
