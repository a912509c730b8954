package passes

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
)

// The mask that each layer of an encoder makes for itself is made once.
func TestMasksAreMadeOnce(t *testing.T) {
	m, result := only(t, "merge_same", func(b *irtest.Builder) {
		x, ids := wide(b), b.Input("mask", dtype.I64, "batch", "sequence")
		for _, layer := range []string{"first", "second", "third"} {
			flags := b.Node("", "Cast", `{"to":"bool"}`, ids)
			seen := b.Node("", "Unsqueeze", "", flags, b.Constant(layer+" axes", 1, 2))
			x = b.Node(layer, "Attention", `{"q_num_heads":2,"kv_num_heads":2}`, x, x, x, seen)
		}
		b.Output(x)
	})
	assert.Equal(t, map[string]int{"Cast": 1, "Unsqueeze": 1, "Attention": 3}, types(m))
	assert.EqualValues(t, 4, result.Stats.OperationsEliminated)
	// Two masks of 2 x 3 flags; Unsqueeze is a view.
	assert.EqualValues(t, 2*2*3, result.Stats.MemorySaved)
}

func TestWhatIsTheSame(t *testing.T) {
	relu := func(b *irtest.Builder, x irtest.Value) irtest.Value { return b.Node("", "Relu", "", x) }
	tied := func(name string) ir.Parameter { return ir.Parameter{Name: name, Shape: []int64{8}, Source: "tensor"} }
	random := func(name string) ir.Parameter {
		return ir.Parameter{Name: name, Shape: []int64{8, 8}, Initialization: ir.Initialization{Strategy: ir.StrategyXavier}}
	}
	for _, c := range []struct {
		name string
		left int
		pair func(b *irtest.Builder, x irtest.Value) (irtest.Value, irtest.Value)
	}{
		{"a default that is stated", 1, func(b *irtest.Builder, x irtest.Value) (irtest.Value, irtest.Value) {
			return b.Node("", "Softmax", "", x), b.Node("", "Softmax", `{"axis":-1}`, x)
		}},
		{"another attribute", 2, func(b *irtest.Builder, x irtest.Value) (irtest.Value, irtest.Value) {
			return b.Node("", "Softmax", "", x), b.Node("", "Softmax", `{"axis":1}`, x)
		}},
		{"one tensor of the weights", 1, func(b *irtest.Builder, x irtest.Value) (irtest.Value, irtest.Value) {
			return b.Node("", "Add", "", x, b.Add(tied("p"))), b.Node("", "Add", "", x, b.Add(tied("q")))
		}},
		{"random elements of two parameters", 2, func(b *irtest.Builder, x irtest.Value) (irtest.Value, irtest.Value) {
			return b.Node("", "ferrum.linear", "", x, b.Add(random("p"))), b.Node("", "ferrum.linear", "", x, b.Add(random("q")))
		}},
		{"the inputs in another order", 3, func(b *irtest.Builder, x irtest.Value) (irtest.Value, irtest.Value) {
			y := relu(b, x)
			return b.Node("", "Sub", "", x, y), b.Node("", "Sub", "", y, x)
		}},
		{"chains", 2, func(b *irtest.Builder, x irtest.Value) (irtest.Value, irtest.Value) {
			return relu(b, relu(b, x)), relu(b, relu(b, x))
		}},
		{"another output of one node", 3, func(b *irtest.Builder, x irtest.Value) (irtest.Value, irtest.Value) {
			parts := b.Node("", "Split", `{"axis":-1,"num_outputs":2}`, x)
			return relu(b, parts), relu(b, parts.Output(1))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _ := only(t, "merge_same", func(b *irtest.Builder) {
				first, second := c.pair(b, wide(b))
				b.Output(b.Node("sum", "Tanh", "", first), b.Node("other", "Sqrt", "", second))
			})
			assert.Len(t, m.Graph.Nodes, 3+c.left)
		})
	}
}

// Two outputs of a model that are the same keep both nodes; readers use one of them.
func TestOutputsThatAreTheSameStay(t *testing.T) {
	m, result := only(t, "merge_same", func(b *irtest.Builder) {
		x := wide(b)
		first, second, third := b.Node("first", "Relu", "", x), b.Node("second", "Relu", "", x), b.Node("third", "Relu", "", x)
		b.Output(second, third, b.Node("a", "Tanh", "", first), b.Node("b", "Sqrt", "", second), b.Node("c", "Gelu", "", third))
	})
	assert.Equal(t, map[string]int{"Relu": 2, "Tanh": 1, "Sqrt": 1, "Gelu": 1}, types(m))
	assert.EqualValues(t, 1, result.Stats.OperationsEliminated)
}

// What reads the first of two nodes is the same as what reads the second, whichever of them stays.
func TestReadersOfTheSameAreTheSame(t *testing.T) {
	m, _ := only(t, "merge_same", func(b *irtest.Builder) {
		x := wide(b)
		first := b.Node("first", "Relu", "", x)
		a := b.Node("a", "Tanh", "", first)
		second := b.Node("second", "Relu", "", x)
		c := b.Node("c", "Tanh", "", second)
		b.Output(second, b.Node("y", "Sqrt", "", a), b.Node("z", "Gelu", "", c))
	})
	assert.Equal(t, map[string]int{"Relu": 1, "Tanh": 1, "Sqrt": 1, "Gelu": 1}, types(m))
}
