package ir

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

// exported returns the text of a model.
func exported(t *testing.T, m *Model) string {
	t.Helper()
	text, err := m.JSON()
	require.NoError(t, err)
	return string(text)
}

// full has a value in every field.
func full() *Model {
	m := small()
	text := func(s string) *string { return &s }
	whole := func(n uint64) *uint64 { return &n }
	m.Metadata.Description, m.Metadata.Author, m.Metadata.License = text("a <model> & more\u2028"), text(""), text("MIT")
	m.Metadata.Additional = map[string]json.RawMessage{"z": rawOf("last"), "a": json.RawMessage(` { "b" : [1, 2.50, 1e3, null, true] } `)}
	m.Architecture.Config = map[string]json.RawMessage{"layer_norm_eps": rawOf(1e-12)}
	m.Architecture.Dimensions.NumKVHeads = whole(1)
	m.Architecture.Dimensions.HeadDim = whole(4)
	m.Architecture.Dimensions.IntermediateSize = whole(math.MaxUint64)
	m.Parameters[0].Initialization = Initialization{Strategy: StrategyUniform, Min: -0.1, Max: math.MaxFloat32}
	m.Parameters[1].Initialization = Initialization{Strategy: StrategyNormal, Mean: 1e-45, Std: 0.02}
	m.Parameters[2].Initialization = Initialization{Strategy: StrategyCustom, Name: "identity"}
	m.Parameters[2].Metadata = map[string]json.RawMessage{"group": rawOf(nil)}
	m.Parameters[3] = Parameter{Name: "scale", Shape: []int64{8}, DType: dtype.F32, Parts: []Parameter{
		{Name: "upper", Shape: []int64{5}, DType: dtype.F32, Source: "u"}, {Name: "lower", Shape: []int64{3}, DType: dtype.F32, Initialization: Initialization{Strategy: StrategyOnes}},
	}}
	m.Graph.Nodes[0].Metadata[MetadataDefault] = rawOf(DefaultPositions)
	return m
}

func TestImportOfAnExportIsTheSame(t *testing.T) {
	for name, m := range map[string]*Model{"small": small(), "full": full(), "empty": {Metadata: Metadata{Family: FamilyCustom}}} {
		text := exported(t, m)
		again, err := Parse([]byte(text))
		require.NoError(t, err, name)
		assert.Equal(t, text, exported(t, again), name)
		for _, line := range strings.Split(text, "\n") {
			assert.NotContains(t, line, "\t")
		}
		assert.JSONEq(t, "1", string(again.Metadata.Additional[MetadataSchema]))
	}
	assert.Contains(t, exported(t, &Model{}), `  "parameters": [],`+"\n")
	m := full()
	again, err := Parse([]byte(exported(t, m)))
	require.NoError(t, err)
	m.Metadata.Additional = map[string]json.RawMessage{"z": rawOf("last"), "a": json.RawMessage(`{"b":[1,2.50,1e3,null,true]}`), MetadataSchema: rawOf(1)}
	assert.Equal(t, m, again, "nothing is lost")
	assert.NotContains(t, m.Clone().Metadata.Additional, "unknown")
}

// A text with spaces, null for optional fields, and fields in another order is read.
func TestLenientText(t *testing.T) {
	text := strings.NewReplacer(
		`"description":"a <model> & more\u2028"`, `"description" : null`, `"num_kv_heads":1`, `"num_kv_heads": null`,
		`{"source":"ids","target":"embedded","target_input":1}`, ` { "target_input":1, "source_output":null, "target" : "embedded", "source":"ids"} `,
		`"schema_version":1,`, "",
	).Replace(exported(t, full()))
	m, err := Parse([]byte(text))
	require.NoError(t, err)
	assert.Nil(t, m.Metadata.Description)
	assert.Nil(t, m.Architecture.Dimensions.NumKVHeads)
	assert.NotContains(t, m.Metadata.Additional, MetadataSchema)
	assert.Nil(t, m.Graph.Edges[0].SourceOutput)
	assert.Equal(t, 1, m.Graph.Edges[0].input())
	text = strings.Replace(exported(t, small()), `"dtype":"f32"`, `"dtype":"q4_0"`, 1)
	m, err = Parse([]byte(text))
	require.NoError(t, err)
	assert.Equal(t, "q4_0", m.Parameters[0].DType.String())
}

func TestWrongTexts(t *testing.T) {
	text := exported(t, full())
	for _, c := range []struct{ old, new, says string }{
		{text, "", "the text ends at byte 0"},
		{text, "[]", "is a list, not an object"},
		{text, "null", "is null, not an object"},
		{text, text + "{}", "something follows the definition"},
		{text, text[:len(text)-4], "the text ends at byte"},
		{text, "\xff" + text, "not UTF-8"},
		{`"parameters": [`, `"parameters": {`, "parameters: is an object, not a list"},
		{`"layers": [`, `"layer": [`, `layer: the field is not known: the nearest is "layers"`},
		{`"layers": [`, `"layers": [], "layers": [`, "layers: the field is given twice"},
		{`"trainable":true`, `"trainable":1`, "parameters[0].trainable: is the number 1, not true or false"},
		{`"trainable":true,`, ``, `parameters[0]: the field "trainable" is missing`},
		{`"Name":`, ``, ""},
		{`"name":"table"`, `"Name":"table"`, `parameters[0].Name: the field is not known: the nearest is "name"`},
		{`"name":"table"`, `"name":null`, "parameters[0].name: is null, not a text"},
		{`"name":"table"`, `"name":"table","\u006eame":"table"`, "parameters[0].name: the field is given twice"},
		{`"shape":[16,8]`, `"shape":[16,8.0]`, "parameters[0].shape[1]: is the number 8.0, not a whole number of 64 bits"},
		{`"shape":[16,8]`, `"shape":[16,9223372036854775808]`, "parameters[0].shape[1]: is the number 9223372036854775808"},
		{`"shape":[16,8]`, `"shape":[16,[8]]`, "parameters[0].shape[1]: is a list"},
		{`"shape":[16,8]`, `"shape":"16"`, `parameters[0].shape: is the text "16", not a list`},
		{`"dtype":"f32"`, `"dtype":"float32"`, `parameters[0].dtype: "float32" is not a data type: the nearest is "f`},
		{`"dtype":"f32"`, `"dtype":0`, "parameters[0].dtype: is the number 0, not a text"},
		{`"strategy":"uniform"`, `"strategy":{}`, "parameters[0].initialization.strategy: is an object"},
		{`"max":3.4028235e+38`, `"max":3.5e+38`, "parameters[0].initialization.max: is the number 3.5e+38, not a number of 32 bits"},
		{`"max":3.4028235e+38`, `"max":NaN`, "the definition is not JSON at byte"},
		{`"value":[4,4]`, `"value":[4,1e2]`, "parameters[4].value[1]: is the number 1e2"},
		{`"parts":[{"name":"upper"`, `"parts":[{"parts":[],"name":"upper"`, `parameters[3].parts[0].parts: the field is not known`},
		{`"vocab_size":16`, `"vocab_size":-16`, "architecture.dimensions.vocab_size: is the number -16, not a whole number from 0 on of 64 bits"},
		{`"vocab_size":16`, `"vocab_size":null`, "architecture.dimensions.vocab_size: is null, not a whole number"},
		{`"vocab_size":16`, `"vocab_size":18446744073709551616`, "vocab_size: is the number 18446744073709551616"},
		{`"target_input":1`, `"target_input":4294967296`, "graph.edges[0].target_input: is the number 4294967296, not a whole number from 0 on of 32 bits"},
		{`"layer_norm_eps":1e-12`, `"layer_norm_eps":1e999`, "architecture.config.layer_norm_eps: the value has the number 1e999, which does not fit 64 bits"},
		{`"layer_norm_eps":1e-12`, `"layer_norm_eps":` + strings.Repeat("[", 65) + strings.Repeat("]", 65), "architecture.config.layer_norm_eps: the value is nested deeper than 64"},
		{`"layer_norm_eps":1e-12`, `"layer_norm_eps":` + strings.Repeat("[", 1<<16), "not JSON"},
		{`"layer_norm_eps":1e-12`, `"layer_norm_eps":1,"layer_norm_eps":1`, "architecture.config.layer_norm_eps: the field is given twice"},
		{`"layer_norm_eps":1e-12`, `"layer_norm_eps":}`, "the definition is not JSON at byte"},
		{`"additional":{`, `"additional":[`, "metadata.additional: is a list, not an object"},
		{`"schema_version":1`, `"schema_version":2`, "metadata.additional.schema_version: the version of the schema is 2: this library reads version 1"},
		{`"schema_version":1`, `"schema_version":"1"`, `the version of the schema is "1"`},
	} {
		changed := strings.Replace(text, c.old, c.new, 1)
		if c.says == "" {
			require.Equal(t, text, changed, "the text does not have %s", c.old)
			continue
		}
		require.NotEqual(t, text, changed, c.old)
		_, err := Parse([]byte(changed))
		require.ErrorContains(t, err, c.says)
		assert.Contains(t, []device.Code{device.CodeInvalidFormat, device.CodeUnsupported}, device.CodeOf(err))
		assert.Less(t, len(err.Error()), 300)
		assert.NotContains(t, err.Error(), "json: ")
	}
	for key, shown := range map[string]string{
		`a\u001b[2Jb`: `layers[0]."a\x1b[2Jb": the field is not known`, strings.Repeat("k", 200): `layers[0]."` + strings.Repeat("k", 80) + `...": the field is not known`,
		"Plain-key_0": "layers[0].Plain-key_0: the field is not known",
	} {
		_, err := Parse([]byte(strings.Replace(text, `{"name":"ids"`, `{"`+key+`":1,"name":"ids"`, 1)))
		assert.ErrorContains(t, err, shown)
	}
	deepest := strings.Replace(text, `"layer_norm_eps":1e-12`, `"layer_norm_eps":`+strings.Repeat("[", MaxDepth)+strings.Repeat("]", MaxDepth), 1)
	_, err := Parse([]byte(deepest))
	require.NoError(t, err)
	_, err = Parse(make([]byte, MaxBytes+1))
	assert.ErrorContains(t, err, "at most 64 MiB are read")
}

func TestWrongExports(t *testing.T) {
	nan, infinite := float32(math.NaN()), float32(math.Inf(-1))
	deep := json.RawMessage(strings.Repeat("[", 65) + strings.Repeat("]", 65))
	for _, c := range []struct {
		change func(m *Model)
		says   string
	}{
		{func(m *Model) { m.Parameters[0].Initialization.Max = nan }, "parameters[0].initialization.max: NaN is not finite"},
		{func(m *Model) { m.Parameters[1].Initialization.Std = infinite }, "parameters[1].initialization.std: -Inf is not finite"},
		{func(m *Model) { m.Parameters[3].Parts[1].Initialization.Min = nan }, "parameters[3].parts[1].initialization.min: NaN"},
		{func(m *Model) { m.Parameters[3].Parts[1].Value = []int64{1} }, "parameters[3].parts[1]: a part has parts or a value"},
		{func(m *Model) { m.Parameters[2].DType = 99 }, "parameters[2].dtype: 99 is not a data type"},
		{func(m *Model) { m.Layers[1].Outputs[0].DType = -1 }, "layers[1].outputs[0].dtype: -1 is not a data type"},
		{func(m *Model) { m.Layers[1].Inputs[1].Name = "\xff" }, "layers[1].inputs[1].name: is not UTF-8"},
		{func(m *Model) { m.Layers[1].Parameters[0] = "\xff" }, "layers[1].parameters[0]: is not UTF-8"},
		{func(m *Model) { m.Layers[2].Type = "\xff" }, "layers[2].layer_type: is not UTF-8"},
		{func(m *Model) { m.Layers[4].Config["axis"] = json.RawMessage("{") }, "layers[4].config.axis: the value is not JSON"},
		{func(m *Model) { m.Layers[4].Config["axis"] = nil }, "layers[4].config.axis: the value is not JSON"},
		{func(m *Model) { m.Layers[4].Config["\xff"] = rawOf(1) }, "layers[4].config: has a key that is not UTF-8"},
		{func(m *Model) { m.Metadata.Additional["a"] = deep }, "metadata.additional.a: the value is nested deeper than 64"},
		{func(m *Model) { m.Metadata.Additional[MetadataSchema] = rawOf(7) }, "metadata.additional.schema_version: the version of the schema is 7"},
		{func(m *Model) { *m.Metadata.License = "\xff" }, "metadata.license: is not UTF-8"},
		{func(m *Model) { m.Architecture.Name = "\xff" }, "architecture.name: is not UTF-8"},
		{func(m *Model) { m.Architecture.Config["x"] = json.RawMessage("\"\xff\"") }, "architecture.config.x: the value is not JSON"},
		{func(m *Model) { m.Graph.Inputs[0] = "\xff" }, "graph.inputs[0]: is not UTF-8"},
		{func(m *Model) { m.Graph.Outputs[1] = "\xff" }, "graph.outputs[1]: is not UTF-8"},
		{func(m *Model) { m.Graph.Nodes[3].ID = "\xff" }, "graph.nodes[3].id: is not UTF-8"},
		{func(m *Model) { m.Graph.Nodes[0].Metadata["x"] = rawOf(1)[:0] }, "graph.nodes[0].metadata.x: the value is not JSON"},
		{func(m *Model) { m.Graph.Edges[2].Target = "\xff" }, "graph.edges[2].target: is not UTF-8"},
	} {
		m := full()
		c.change(m)
		_, err := m.JSON()
		require.ErrorIs(t, err, device.CodeSerialization)
		require.ErrorContains(t, err, c.says)
	}
	m := small()
	m.Metadata.Name = strings.Repeat("a", MaxBytes)
	_, err := m.JSON()
	assert.ErrorIs(t, err, device.CodeOverflow)
}

// A copy shares nothing: a change of any of its values leaves the model as it was.
func TestClone(t *testing.T) {
	m := full()
	before := exported(t, m)
	c := m.Clone()
	assert.Equal(t, m, c)
	*c.Metadata.Description, *c.Metadata.Author, *c.Metadata.License = "x", "x", "x"
	c.Metadata.Additional["a"][0], c.Architecture.Config["layer_norm_eps"][0] = '[', '2'
	*c.Architecture.Dimensions.NumKVHeads, *c.Architecture.Dimensions.HeadDim, *c.Architecture.Dimensions.IntermediateSize = 9, 9, 9
	for i := range c.Parameters {
		p := &c.Parameters[i]
		p.Name, p.Shape[0] = "x", 99
		for j := range p.Value {
			p.Value[j] = 99
		}
		for j := range p.Parts {
			p.Parts[j].Shape[0] = 99
		}
		for _, raw := range p.Metadata {
			raw[0] = 'x'
		}
	}
	for i := range c.Layers {
		l := &c.Layers[i]
		for _, tensors := range [][]Tensor{l.Inputs, l.Outputs} {
			for j := range tensors {
				for k := range tensors[j].Shape {
					tensors[j].Shape[k] = 99
				}
			}
		}
		for j := range l.Parameters {
			l.Parameters[j] = "x"
		}
		for _, raw := range l.Config {
			raw[0] = 'x'
		}
	}
	c.Graph.Inputs[0], c.Graph.Outputs[0], c.Graph.Nodes[0].Metadata[MetadataDims][0] = "x", "x", 'x'
	for i := range c.Graph.Edges {
		for _, at := range []*uint32{c.Graph.Edges[i].SourceOutput, c.Graph.Edges[i].TargetInput} {
			if at != nil {
				*at = 99
			}
		}
	}
	assert.Equal(t, before, exported(t, m))
}
