package passes

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
)

// product adds a product with a matrix that has its own parameters.
func product(b *irtest.Builder, name string, x irtest.Value) irtest.Value {
	return b.Node(name, "ferrum.linear", "", x, b.Parameter(name+".w", 8, 8), b.Parameter(name+".b", 8))
}

// layerOf returns the layer of a node.
func layerOf(t *testing.T, m *ir.Model, id string) ir.Layer {
	for _, n := range m.Graph.Nodes {
		for _, l := range m.Layers {
			if n.ID == id && l.Name == n.LayerName {
				return l
			}
		}
	}
	require.Fail(t, "no node "+id)
	return ir.Layer{}
}

func TestActivationsAreFused(t *testing.T) {
	for _, c := range []struct{ full, config, name string }{
		{"Gelu", "", "gelu"}, {"Gelu", `{"approximate":"none"}`, "gelu"}, {"Gelu", `{"approximate":"tanh"}`, "gelu_tanh"},
		{"Relu", "", "relu"}, {"Swish", "", "silu"}, {"Swish", `{"alpha":1}`, "silu"}, {"Swish", `{"alpha":2}`, ""}, {"Tanh", "", ""},
	} {
		m, result := only(t, "fuse_activation", func(b *irtest.Builder) {
			b.Output(b.Node("y", c.full, c.config, product(b, "p", wide(b))))
		})
		assert.Equal(t, c.name != "", result.Applied, c)
		if c.name == "" {
			continue
		}
		assert.Equal(t, map[string]int{"ferrum.linear": 1}, types(m))
		layer := layerOf(t, m, "y")
		assert.JSONEq(t, `"`+c.name+`"`, string(layer.Config["activation"]))
		assert.Equal(t, "layer of p", layer.Name, "the layer has the name of the product")
		assert.Equal(t, Stats{OperationsEliminated: 1, MemorySaved: 4 * 2 * 3 * 8, EstimatedSpeedup: 1}, result.Stats)
	}
}

func TestBiasIsFused(t *testing.T) {
	m, result := only(t, "fuse_activation", func(b *irtest.Builder) {
		x := b.Node("p", "ferrum.linear", "", wide(b), b.Parameter("w", 8, 8))
		b.Output(b.Node("y", "Gelu", "", b.Node("sum", "Add", "", b.Parameter("b", 8), x)))
	})
	assert.Equal(t, map[string]int{"ferrum.linear": 1}, types(m))
	assert.Equal(t, []string{"w", "b"}, layerOf(t, m, "y").Parameters)
	assert.EqualValues(t, 2, result.Stats.OperationsEliminated)
	_, result = only(t, "fuse_activation", func(b *irtest.Builder) {
		x := b.Node("p", "ferrum.linear", "", wide(b), b.Parameter("w", 8, 8))
		b.Output(b.Node("one", "Add", "", x, b.Parameter("b", 1)))
	})
	assert.False(t, result.Applied, "a bias has an element for each row")
}

func TestGateIsFused(t *testing.T) {
	m, result := only(t, "fuse_activation", func(b *irtest.Builder) {
		x := wide(b)
		gate := b.Node("gate", "Swish", "", product(b, "p", x))
		b.Output(b.Node("y", "Mul", "", product(b, "q", x), gate))
	})
	assert.Equal(t, map[string]int{"ferrum.linear": 2, "ferrum.silu_mul": 1}, types(m))
	assert.EqualValues(t, 1, result.Stats.OperationsEliminated)
	m, _ = only(t, "fuse_activation", func(b *irtest.Builder) {
		x := wide(b)
		gate := b.Node("gate", "Swish", "", product(b, "p", x))
		b.Output(b.Node("y", "Mul", "", gate, b.Parameter("one for each element", 8)))
	})
	assert.Equal(t, map[string]int{"ferrum.linear": 1, "Mul": 1}, types(m), "silu_mul does not broadcast")
}

func TestNormsAreFused(t *testing.T) {
	for _, c := range []struct{ full, config, fused string }{
		{"LayerNormalization", `{"epsilon":0.001}`, "ferrum.layer_norm_residual"},
		{"LayerNormalization", `{"axis":2}`, "ferrum.layer_norm_residual"},
		{"RMSNormalization", `{"axis":-1,"epsilon":0.01}`, "ferrum.rms_norm_residual"},
		{"LayerNormalization", `{"axis":1}`, ""},
		{"LayerNormalization", `{"stash_type":"bf16"}`, ""},
	} {
		m, result := only(t, "fuse_norm", func(b *irtest.Builder) {
			x := wide(b)
			b.Output(b.Node("y", c.full, c.config, b.Node("sum", "Add", "", product(b, "p", x), x), b.Parameter("scale", 8)))
		})
		assert.Equal(t, c.fused != "", result.Applied, c)
		if c.fused == "" {
			continue
		}
		assert.Equal(t, map[string]int{"ferrum.linear": 1, c.fused: 1}, types(m))
		assert.Len(t, layerOf(t, m, "y").Outputs, 1)
		assert.Equal(t, Stats{OperationsEliminated: 1, MemorySaved: 4 * 2 * 3 * 8, EstimatedSpeedup: 1}, result.Stats)
	}
}

// Norms before the parts of a layer: the sum is read by the norm and by the next sum.
func TestSumsOfNormsAreOutputs(t *testing.T) {
	m, result := only(t, "fuse_norm", func(b *irtest.Builder) {
		x := wide(b)
		for _, layer := range []string{"first", "second"} {
			x = b.Node(layer+" sum", "Add", "", x, product(b, layer, x))
			y := b.Node(layer+" norm", "LayerNormalization", "", x, b.Parameter(layer+" scale", 8), b.Parameter(layer+" shift", 8))
			x = b.Node(layer+" end", "Add", "", x, product(b, layer+" other", y))
		}
		b.Output(b.Node("y", "RMSNormalization", "", x, b.Parameter("scale", 8)))
	})
	assert.Equal(t, map[string]int{"ferrum.linear": 4, "ferrum.layer_norm_residual": 2, "ferrum.rms_norm_residual": 1, "Add": 1}, types(m))
	assert.Len(t, layerOf(t, m, "first norm").Outputs, 2)
	assert.Len(t, layerOf(t, m, "y").Outputs, 1)
	assert.EqualValues(t, 3, result.Stats.OperationsEliminated)
}

func TestResidualsAreFused(t *testing.T) {
	m, result := only(t, "fuse_residual", func(b *irtest.Builder) {
		x := wide(b)
		b.Output(b.Node("y", "Add", "", x, b.Node("p", "ferrum.linear", `{"activation":"gelu"}`, x, b.Parameter("w", 8, 8))))
	})
	assert.Equal(t, map[string]int{"ferrum.linear": 1}, types(m))
	layer := layerOf(t, m, "y")
	assert.Len(t, layer.Inputs, 4)
	assert.Empty(t, layer.Inputs[2].Name, "the bias is absent")
	assert.Equal(t, Stats{OperationsEliminated: 1, MemorySaved: 4 * 2 * 3 * 8, EstimatedSpeedup: 1}, result.Stats)
}

// What more than one node reads, outputs of the model, and shapes that broadcast are not joined.
func TestWhatIsNotFused(t *testing.T) {
	for _, c := range []struct {
		pass, name string
		build      func(b *irtest.Builder, x irtest.Value)
	}{
		{"fuse_activation", "a product with two readers", func(b *irtest.Builder, x irtest.Value) {
			p := product(b, "p", x)
			b.Output(b.Node("y", "Gelu", "", p), b.Node("z", "Relu", "", p))
		}},
		{"fuse_activation", "a product that one node reads twice", func(b *irtest.Builder, x irtest.Value) {
			p := product(b, "p", x)
			b.Output(b.Node("y", "Mul", "", p, p))
		}},
		{"fuse_activation", "a product that is an output", func(b *irtest.Builder, x irtest.Value) {
			p := product(b, "p", x)
			b.Output(p, b.Node("y", "Gelu", "", p))
		}},
		{"fuse_activation", "two activations", func(b *irtest.Builder, x irtest.Value) {
			b.Output(b.Node("y", "Gelu", "", b.Node("p", "ferrum.linear", `{"activation":"relu"}`, x, b.Parameter("w", 8, 8))))
		}},
		{"fuse_activation", "an activation after a residual", func(b *irtest.Builder, x irtest.Value) {
			b.Output(b.Node("y", "Gelu", "", b.Node("p", "ferrum.linear", "", x, b.Parameter("w", 8, 8), irtest.Value{}, x)))
		}},
		{"fuse_norm", "a sum that is an output", func(b *irtest.Builder, x irtest.Value) {
			sum := b.Node("sum", "Add", "", x, product(b, "p", x))
			b.Output(sum, b.Node("y", "LayerNormalization", "", sum, b.Parameter("scale", 8)))
		}},
		{"fuse_norm", "a sum that broadcasts", func(b *irtest.Builder, x irtest.Value) {
			b.Output(b.Node("y", "LayerNormalization", "", b.Node("sum", "Add", "", x, b.Parameter("w", 8)), b.Parameter("scale", 8)))
		}},
		{"fuse_norm", "a sum over a dimension of another name", func(b *irtest.Builder, x irtest.Value) {
			one := b.Input("one", dtype.F32, "batch", 1, 8)
			b.Output(b.Node("y", "LayerNormalization", "", b.Node("sum", "Add", "", x, one), b.Parameter("scale", 8)))
		}},
		{"fuse_norm", "a scale that is computed", func(b *irtest.Builder, x irtest.Value) {
			scale := b.Node("scale", "Relu", "", b.Parameter("w", 8))
			b.Output(b.Node("y", "LayerNormalization", "", b.Node("sum", "Add", "", x, x), scale))
		}},
		{"fuse_norm", "a scale for all elements", func(b *irtest.Builder, x irtest.Value) {
			b.Output(b.Node("y", "LayerNormalization", "", b.Node("sum", "Add", "", x, x), b.Parameter("scale", 1)))
		}},
		{"fuse_residual", "a residual that broadcasts", func(b *irtest.Builder, x irtest.Value) {
			b.Output(b.Node("y", "Add", "", product(b, "p", x), b.Parameter("w", 1, 8)))
		}},
		{"fuse_residual", "a product with two readers", func(b *irtest.Builder, x irtest.Value) {
			p := product(b, "p", x)
			b.Output(b.Node("y", "Add", "", p, x), b.Node("z", "Relu", "", p))
		}},
		{"fuse_residual", "a matrix that is the residual, too", func(b *irtest.Builder, x irtest.Value) {
			w := b.Parameter("w", 8, 8)
			rows := b.Input("rows", dtype.F32, 8, 8)
			b.Output(b.Node("y", "Add", "", b.Node("p", "ferrum.linear", "", rows, w), w), b.Node("z", "Relu", "", x))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, result := only(t, c.pass, func(b *irtest.Builder) { c.build(b, wide(b)) })
			assert.False(t, result.Applied)
		})
	}
}

// Nodes that share their layers share the joined layer. A layer that another node uses alone stays for it.
func TestSharedLayersAreFusedTogether(t *testing.T) {
	m, _ := only(t, "fuse_activation", func(b *irtest.Builder) {
		x := wide(b)
		p := product(b, "p", x)
		y := b.Node("y", "Gelu", "", p)
		z := b.Again("z", y, b.Again("q", p, y))
		b.Output(z)
	})
	assert.Equal(t, map[string]int{"ferrum.linear": 2}, types(m))
	assert.Len(t, m.Layers, 2)
	assert.Len(t, m.Parameters, 2)
	m, _ = only(t, "fuse_activation", func(b *irtest.Builder) {
		p := product(b, "p", wide(b))
		y := b.Node("y", "Gelu", "", p)
		b.Output(b.Again("alone", p, y))
	})
	assert.Equal(t, layerOf(t, m, "alone").Parameters, layerOf(t, m, "y").Parameters)
	assert.Equal(t, "layer of p", layerOf(t, m, "alone").Name)
	assert.Len(t, m.Parameters, 2)
}
