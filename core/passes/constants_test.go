package passes

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
)

func neutral(name string, strategy ir.Strategy, shape ...int64) ir.Parameter {
	return ir.Parameter{Name: name, Shape: shape, Initialization: ir.Initialization{Strategy: strategy}}
}

// An operation between x and an output. left is the number of operations that remain besides the output.
func TestOperationsThatChangeNothing(t *testing.T) {
	reshape := func(b *irtest.Builder, x irtest.Value, sizes ...int64) irtest.Value {
		return b.Node("", "Reshape", "", x, b.Constant(fmt.Sprint("shape of ", x.ID()), sizes...))
	}
	for _, c := range []struct {
		name  string
		left  int
		build func(b *irtest.Builder, x irtest.Value) irtest.Value
	}{
		{"cast to the same type", 0, func(b *irtest.Builder, x irtest.Value) irtest.Value { return b.Node("", "Cast", `{"to":"f32"}`, x) }},
		{"cast to another type", 1, func(b *irtest.Builder, x irtest.Value) irtest.Value { return b.Node("", "Cast", `{"to":"f64"}`, x) }},
		{"zeros", 0, func(b *irtest.Builder, x irtest.Value) irtest.Value {
			return b.Node("", "Add", "", x, b.Add(neutral("zeros", ir.StrategyZeros, 1, 8)))
		}},
		{"zeros first", 0, func(b *irtest.Builder, x irtest.Value) irtest.Value {
			return b.Node("", "Add", "", b.Add(neutral("zeros", ir.StrategyZeros)), x)
		}},
		{"zeros that make the shape larger", 1, func(b *irtest.Builder, x irtest.Value) irtest.Value {
			return b.Node("", "Add", "", x, b.Add(neutral("zeros", ir.StrategyZeros, 1, 1, 1, 8)))
		}},
		{"zeros that may be trained", 1, func(b *irtest.Builder, x irtest.Value) irtest.Value {
			p := neutral("zeros", ir.StrategyZeros, 8)
			p.Trainable = true
			return b.Node("", "Add", "", x, b.Add(p))
		}},
		{"zeros that weights replace", 1, func(b *irtest.Builder, x irtest.Value) irtest.Value {
			p := neutral("zeros", ir.StrategyZeros, 8)
			p.Source = "tensor"
			return b.Node("", "Add", "", x, b.Add(p))
		}},
		{"ones", 0, func(b *irtest.Builder, x irtest.Value) irtest.Value {
			return b.Node("", "Mul", "", x, b.Add(neutral("ones", ir.StrategyOnes, 8)))
		}},
		{"division by ones", 0, func(b *irtest.Builder, x irtest.Value) irtest.Value {
			return b.Node("", "Div", "", x, b.Add(neutral("ones", ir.StrategyOnes, 1)))
		}},
		{"division of ones", 1, func(b *irtest.Builder, x irtest.Value) irtest.Value {
			return b.Node("", "Div", "", b.Add(neutral("ones", ir.StrategyOnes, 1)), x)
		}},
		{"difference from zeros", 1, func(b *irtest.Builder, x irtest.Value) irtest.Value {
			return b.Node("", "Sub", "", b.Add(neutral("zeros", ir.StrategyZeros, 1)), x)
		}},
		{"sum of ones", 1, func(b *irtest.Builder, x irtest.Value) irtest.Value {
			return b.Node("", "Add", "", x, b.Add(neutral("ones", ir.StrategyOnes, 1)))
		}},
		{"the same shape", 0, func(b *irtest.Builder, x irtest.Value) irtest.Value { return reshape(b, x, 0, -1, 8) }},
		{"another shape", 1, func(b *irtest.Builder, x irtest.Value) irtest.Value { return reshape(b, x, 0, 0, 2, 4) }},
		{"shape and back", 0, func(b *irtest.Builder, x irtest.Value) irtest.Value {
			t := b.Node("", "Transpose", `{"perm":[1,0,2]}`, x)
			return b.Node("", "Transpose", `{"perm":[1,0,2]}`, t)
		}},
		{"four transpositions", 1, func(b *irtest.Builder, x irtest.Value) irtest.Value {
			for range 4 {
				x = b.Node("", "Transpose", `{"perm":[1,2,0]}`, x)
			}
			return x
		}},
		{"two shapes", 1, func(b *irtest.Builder, x irtest.Value) irtest.Value { return reshape(b, reshape(b, x, 0, -1), -1, 4) }},
		{"two shapes, the second relative to the first", 2, func(b *irtest.Builder, x irtest.Value) irtest.Value {
			return reshape(b, reshape(b, x, -1, 4), 0, 2, 2)
		}},
		{"a dimension that comes and goes", 0, func(b *irtest.Builder, x irtest.Value) irtest.Value {
			y := b.Node("", "Unsqueeze", "", x, b.Constant("two", 2, 0))
			return b.Node("", "Squeeze", "", y, b.Constant("the same", 0, -3))
		}},
		{"other dimensions", 2, func(b *irtest.Builder, x irtest.Value) irtest.Value {
			y := b.Node("", "Unsqueeze", "", x, b.Constant("two", 0, 1))
			return b.Node("", "Squeeze", "", y, b.Constant("one", 0))
		}},
		{"a list of one", 0, func(b *irtest.Builder, x irtest.Value) irtest.Value { return b.Node("", "Concat", `{"axis":0}`, x) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, result := only(t, "fold_constants", func(b *irtest.Builder) {
				y := c.build(b, wide(b))
				b.Output(b.Node("relu", "Relu", "", y), b.Node("tanh", "Tanh", "", y))
			})
			assert.Len(t, m.Graph.Nodes, 3+c.left)
			for _, p := range m.Parameters {
				assert.True(t, isRead(m, p.Name), p.Name)
			}
			assert.Equal(t, len(m.Graph.Nodes) < 3+operations(c.build), result.Applied)
		})
	}
}

func isRead(m *ir.Model, parameter string) bool {
	for _, l := range m.Layers {
		for _, name := range l.Parameters {
			if name == parameter {
				return true
			}
		}
	}
	return false
}

// operations counts the operations that a function adds.
func operations(build func(b *irtest.Builder, x irtest.Value) irtest.Value) int {
	b := irtest.New(&testing.T{})
	build(b, wide(b))
	return len(b.Model().Graph.Nodes) - 1
}

// An output keeps its node, even if it changes nothing.
func TestOutputsThatChangeNothingStay(t *testing.T) {
	m, result := only(t, "fold_constants", func(b *irtest.Builder) {
		y := b.Node("y", "Cast", `{"to":"f32"}`, wide(b))
		b.Output(y, b.Node("z", "Relu", "", y))
	})
	assert.Equal(t, map[string]int{"Cast": 1, "Relu": 1}, types(m))
	assert.True(t, result.Applied, "z reads x now")
	assert.Equal(t, "x", m.Graph.Edges[1].Source)
}

func TestConstantsAreComputed(t *testing.T) {
	m, result := only(t, "fold_constants", func(b *irtest.Builder) {
		ids := b.Input("ids", dtype.I64, "batch", "sequence")
		a := b.Node("a", "Unsqueeze", "", b.Constant("one", 1), b.Constant("axes", 0))
		c := b.Node("c", "Cast", `{"to":"i64"}`, a)
		r := b.Node("r", "Reshape", "", c, b.Constant("shape", 1))
		j := b.Node("j", "Concat", `{"axis":0}`, r, b.Constant("two", 2))
		g := b.Node("g", "Gather", `{"axis":0}`, b.Parameter("table", 4, 8), j)
		b.Output(b.Node("sum", "Add", "", ids, c), g)
	})
	assert.Equal(t, map[string]int{"Add": 1, "Gather": 1}, types(m))
	assert.EqualValues(t, 4, result.Stats.OperationsEliminated)
	assert.Zero(t, result.Stats.ParametersEliminated, "constants are not counted")
}

// Weights are never computed, and a constant of many elements stays.
func TestWhatIsNotComputed(t *testing.T) {
	_, result := only(t, "fold_constants", func(b *irtest.Builder) {
		many := make([]int64, maxFolded+1)
		x := b.Node("x", "Unsqueeze", "", b.Parameter("w", 8), b.Constant("axes", 0))
		y := b.Node("y", "Unsqueeze", "", b.Constant("many", many...), b.Constant("other axes", 0))
		b.Output(b.Node("relu", "Relu", "", x), b.Node("sum", "Add", "", y, y))
	})
	assert.False(t, result.Applied)
}

// A layer of two nodes is changed for one of them only.
func TestSharedLayerIsCopied(t *testing.T) {
	m, _ := only(t, "fold_constants", func(b *irtest.Builder) {
		x := wide(b)
		other := b.Node("other", "Relu", "", x)
		zeros := b.Node("zeros", "Add", "", x, b.Add(neutral("z", ir.StrategyZeros, 8)))
		sum := b.Node("sum", "Add", "", zeros, b.Parameter("w", 8))
		b.Output(sum, b.Again("again", sum, other))
	})
	assert.Equal(t, map[string]int{"Add": 2, "Relu": 1}, types(m))
}

// A constant that the layer of the reader has already is not given to it twice.
func TestParameterIsNotDoubled(t *testing.T) {
	only(t, "fold_constants", func(b *irtest.Builder) {
		p := b.Constant("p", 1, 2, 3)
		same := b.Node("same", "Cast", `{"to":"i64"}`, p)
		b.Output(b.Node("sum", "Add", "", p, b.Node("reshaped", "Reshape", "", p, b.Constant("shape", 3))), b.Node("square", "Mul", "", same, p))
	})
}
