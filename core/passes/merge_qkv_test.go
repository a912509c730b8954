package passes

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
)

const twoHeads = `{"q_num_heads":2,"kv_num_heads":2}`

func parameterOf(t *testing.T, m *ir.Model, name string) ir.Parameter {
	for _, p := range m.Parameters {
		if p.Name == name {
			return p
		}
	}
	require.Fail(t, "no parameter "+name)
	return ir.Parameter{}
}

func TestQueriesKeysAndValuesAreMerged(t *testing.T) {
	m, result := only(t, "merge_qkv", func(b *irtest.Builder) {
		x := wide(b)
		mask := b.Input("mask", dtype.Bool, "batch", 1, 1, "sequence")
		b.Output(b.Node("y", "Attention", twoHeads, product(b, "q", x), product(b, "k", x), product(b, "v", x), mask))
	})
	assert.Equal(t, map[string]int{"ferrum.linear": 1, "ferrum.self_attention": 1}, types(m))
	assert.Len(t, m.Parameters, 2)
	w := parameterOf(t, m, "y.qkv.weight")
	assert.Equal(t, []int64{24, 8}, w.Shape)
	assert.Empty(t, w.Source)
	for i, name := range []string{"q.w", "k.w", "v.w"} {
		assert.Equal(t, name, w.Parts[i].Name)
		assert.Equal(t, "weights."+name, w.Parts[i].Source)
		assert.Equal(t, []int64{8, 8}, w.Parts[i].Shape)
	}
	assert.Equal(t, []int64{24}, parameterOf(t, m, "y.qkv.bias").Shape)
	assert.Equal(t, Stats{OperationsEliminated: 2, EstimatedSpeedup: 1}, result.Stats, "the joined product is as large as the three")
	assert.Empty(t, result.Warnings)
}

// The forms that self_attention does not have read parts of the joined product.
func TestPartsOfTheMergedProduct(t *testing.T) {
	for _, c := range []struct {
		name  string
		types map[string]int
		build func(b *irtest.Builder, x irtest.Value)
	}{
		{"positions", map[string]int{"ferrum.linear": 1, "Split": 1, "RotaryEmbedding": 2, "Attention": 1}, func(b *irtest.Builder, x irtest.Value) {
			ids := b.Input("ids", dtype.I64, "batch", "sequence")
			rotated := func(v irtest.Value) irtest.Value {
				return b.Node("", "RotaryEmbedding", `{"num_heads":2}`, v, b.Parameter(v.ID()+" cos", 16, 2), b.Parameter(v.ID()+" sin", 16, 2), ids)
			}
			b.Output(b.Node("y", "Attention", twoHeads, rotated(product(b, "q", x)), rotated(product(b, "k", x)), product(b, "v", x)))
		}},
		{"another tensor", map[string]int{"ferrum.linear": 2, "Split": 1, "Attention": 1}, func(b *irtest.Builder, x irtest.Value) {
			memory := b.Input("memory", dtype.F32, "batch", "memory", 8)
			b.Output(b.Node("y", "Attention", twoHeads, product(b, "q", x), product(b, "k", memory), product(b, "v", memory)))
		}},
		{"another reader", map[string]int{"ferrum.linear": 1, "Split": 1, "Attention": 1, "Relu": 1}, func(b *irtest.Builder, x irtest.Value) {
			v := product(b, "v", x)
			b.Output(b.Node("y", "Attention", twoHeads, product(b, "q", x), product(b, "k", x), v), b.Node("z", "Relu", "", v))
		}},
		{"a limit of the scores", map[string]int{"ferrum.linear": 1, "Split": 1, "Attention": 1}, func(b *irtest.Builder, x irtest.Value) {
			b.Output(b.Node("y", "Attention", `{"q_num_heads":2,"kv_num_heads":2,"softcap":3}`, product(b, "q", x), product(b, "k", x), product(b, "v", x)))
		}},
		{"the same keys and values", map[string]int{"ferrum.linear": 1, "Split": 1, "Attention": 1}, func(b *irtest.Builder, x irtest.Value) {
			k := product(b, "k", x)
			b.Output(b.Node("y", "Attention", twoHeads, product(b, "q", x), k, k))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, result := only(t, "merge_qkv", func(b *irtest.Builder) { c.build(b, wide(b)) })
			assert.Equal(t, c.types, types(m))
			assert.True(t, result.Applied)
			assert.Zero(t, result.Stats.ParametersEliminated)
		})
	}
}

func TestWhatIsNotMerged(t *testing.T) {
	for _, c := range []struct {
		name, warning string
		build         func(b *irtest.Builder, x irtest.Value)
	}{
		{"a tied matrix", "something else reads q.w", func(b *irtest.Builder, x irtest.Value) {
			w := b.Parameter("q.w", 8, 8)
			q := b.Node("q", "ferrum.linear", "", x, w, b.Parameter("q.b", 8))
			y := b.Node("y", "Attention", twoHeads, q, product(b, "k", x), product(b, "v", x))
			b.Output(b.Node("z", "ferrum.linear", "", y, w))
		}},
		{"a tensor of the weights with two parameters", "something else reads k.w", func(b *irtest.Builder, x irtest.Value) {
			b.Add(ir.Parameter{Name: "other", Shape: []int64{8, 8}, Source: "weights.k.w", Initialization: ir.Initialization{Strategy: ir.StrategyZeros}})
			b.Output(b.Node("y", "Attention", twoHeads, product(b, "q", x), product(b, "k", x), product(b, "v", x)))
		}},
		{"one matrix for two", "something else reads k.w", func(b *irtest.Builder, x irtest.Value) {
			w := b.Parameter("k.w", 8, 8)
			k := b.Node("k", "ferrum.linear", "", x, w, b.Parameter("k.b", 8))
			v := b.Node("v", "ferrum.linear", "", x, w, b.Parameter("v.b", 8))
			b.Output(b.Node("y", "Attention", twoHeads, k, k, v))
		}},
		{"products that are outputs", "", func(b *irtest.Builder, x irtest.Value) {
			q, k := product(b, "q", x), product(b, "k", x)
			b.Output(q, k, b.Node("y", "Attention", twoHeads, q, k, product(b, "v", x)))
		}},
		{"an activation", "", func(b *irtest.Builder, x irtest.Value) {
			active := func(name string) irtest.Value {
				return b.Node(name, "ferrum.linear", `{"activation":"relu"}`, x, b.Parameter(name+".w", 8, 8))
			}
			b.Output(b.Node("y", "Attention", twoHeads, active("q"), active("k"), product(b, "v", x)))
		}},
		{"three tensors", "", func(b *irtest.Builder, x irtest.Value) {
			y := b.Node("a", "Relu", "", x)
			b.Output(b.Node("y", "Attention", twoHeads, product(b, "q", x), product(b, "k", y), product(b, "v", b.Node("b", "Tanh", "", x))))
		}},
		{"a bias in one of two", "", func(b *irtest.Builder, x irtest.Value) {
			q := b.Node("q", "ferrum.linear", "", x, b.Parameter("q.w", 8, 8))
			b.Output(b.Node("y", "Attention", twoHeads, q, product(b, "k", x), x))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, result := only(t, "merge_qkv", func(b *irtest.Builder) { c.build(b, wide(b)) })
			assert.False(t, result.Applied)
			if c.warning == "" {
				assert.Empty(t, result.Warnings)
				return
			}
			require.Len(t, result.Warnings, 1)
			assert.Contains(t, result.Warnings[0], c.warning)
		})
	}
}

// In models whose layers share all parameters the merged parameters are shared, too.
func TestSharedLayersAreMergedTogether(t *testing.T) {
	m, result := only(t, "merge_qkv", func(b *irtest.Builder) {
		x := wide(b)
		q, k, v := product(b, "q", x), product(b, "k", x), product(b, "v", x)
		y := b.Node("y", "Attention", twoHeads, q, k, v)
		first := y
		for layer := range 3 {
			again := func(of irtest.Value) irtest.Value { return b.Again(fmt.Sprint(of.ID(), layer), of, y) }
			y = b.Again(fmt.Sprint("y", layer), first, again(q), again(k), again(v))
		}
		b.Output(y)
	})
	assert.Equal(t, map[string]int{"ferrum.linear": 4, "ferrum.self_attention": 4}, types(m))
	assert.Len(t, m.Parameters, 2)
	assert.Len(t, m.Layers, 3)
	assert.EqualValues(t, 8, result.Stats.OperationsEliminated)
}

// Initialised parameters have the elements that they had.
func TestInitialisedPartsKeepTheirNames(t *testing.T) {
	m, _ := only(t, "merge_qkv", func(b *irtest.Builder) {
		x := wide(b)
		p := func(name string, strategy ir.Strategy) irtest.Value {
			w := b.Add(ir.Parameter{Name: name, Shape: []int64{8, 8}, Trainable: true, Initialization: ir.Initialization{Strategy: strategy}})
			return b.Node("", "ferrum.linear", "", x, w)
		}
		b.Output(b.Node("y", "Attention", twoHeads, p("q", ir.StrategyXavier), p("k", ir.StrategyKaiming), p("v", ir.StrategyOnes)))
	})
	w := parameterOf(t, m, "y.qkv.weight")
	assert.Equal(t, ir.StrategyKaiming, w.Parts[1].Initialization.Strategy)
	assert.True(t, w.Trainable)
}
