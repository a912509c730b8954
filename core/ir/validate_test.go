package ir

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

func TestValidModelsHaveNoIssues(t *testing.T) {
	assert.Empty(t, small().Validate())
	assert.Empty(t, chain(10).Validate())
}

// wrongModel is a change of the small model, and the issue that Validate must find.
type wrongModel struct {
	change   func(m *Model)
	severity Severity
	path     string
	says     string
	fix      string
}

// run validates the changed model.
func (w wrongModel) run(t *testing.T) {
	t.Helper()
	m := small()
	w.change(m)
	issues := m.Validate()
	at := slices.IndexFunc(issues, func(i Issue) bool { return i.ConfigPath == w.path && strings.Contains(i.Description, w.says) })
	if !assert.GreaterOrEqual(t, at, 0, "%s: %s is not among %+v", w.path, w.says, issues) {
		return
	}
	found := issues[at]
	assert.Equal(t, w.severity, found.Severity, w.says)
	assert.NotEmpty(t, found.Category)
	assert.Equal(t, w.fix, found.SuggestedFix, w.says)
	_, err := m.Infer(map[string]uint64{"batch": 2, "sequence": 3})
	if !slices.ContainsFunc(issues, func(i Issue) bool { return i.Severity > Warning }) {
		assert.NoError(t, err, "a model with warnings alone can be inferred")
	}
	if slices.Contains([]string{CategoryLayers, CategoryGraph, CategoryShapes}, found.Category) && w.severity > Warning && !isOfNames(found) {
		assert.Error(t, err, w.says)
	}
}

// isOfNames states whether an issue is about dimensions of one length, which each choice may agree with.
func isOfNames(i Issue) bool { return strings.Contains(i.Description, `(for "batch" = 4`) }

func at[T any](value T) *T { return &value }

func TestWrongGraphs(t *testing.T) {
	for _, w := range []wrongModel{
		{func(m *Model) { m.Graph.Nodes[3].ID = "hidden" }, Error, "graph.nodes[3].id", `"hidden" is also the id of graph.nodes[2]`, "give it a unique id"},
		{func(m *Model) { m.Graph.Nodes[3].ID = "" }, Error, "graph.nodes[3].id", "the id is empty", "give it a unique id"},
		{func(m *Model) { m.Graph.Nodes[3].LayerName = "summ" }, Error, "graph.nodes[3].layer_name", `refers to the layer "summ", which does not exist`, `use "sum"`},
		{func(m *Model) { m.Graph.Edges[0].Source = "Ids" }, Error, "graph.edges[0].source", `the node "Ids" does not exist`, `use "ids"`},
		{func(m *Model) { m.Graph.Edges[0].Target = "embeded" }, Error, "graph.edges[0].target", `the node "embeded" does not exist`, `use "embedded"`},
		{func(m *Model) { m.Graph.Edges[1].SourceOutput = at(uint32(1)) }, Error, "graph.edges[1].source_output", `the node "embedded" has no output 1: its layer "embedded" has 1 output`, ""},
		{func(m *Model) { m.Graph.Edges[1].TargetInput = at(uint32(math.MaxUint32)) }, Error, "graph.edges[1].target_input", `the node "hidden" has no input 4294967295: its layer "hidden" has 3 inputs`, ""},
		{func(m *Model) { m.Graph.Edges[1].TargetInput = at(uint32(1)) }, Error, "graph.edges[1].target_input", `input 1 of the node "hidden" is the parameter "weight"`, "remove the edge"},
		{func(m *Model) { m.Graph.Edges[1].TargetInput = at(uint32(1)) }, Error, "graph.nodes[2]", `input 0 "in0" of the node "hidden" is not connected`, "add an edge to this input"},
		{func(m *Model) { m.Graph.Edges[4].TargetInput = at(uint32(2)) }, Error, "graph.edges[4].target_input", `input 2 of the node "norm" is absent`, ""},
		{func(m *Model) { m.Graph.Edges = append(m.Graph.Edges, m.Graph.Edges[2]) }, Error, "graph.edges[11]", `input 0 of the node "sum" is connected twice: from "hidden" and from "hidden"`, "remove one of the edges"},
		{func(m *Model) { m.Graph.Edges = m.Graph.Edges[1:] }, Error, "graph.nodes[1]", `input 1 "in1" of the node "embedded" is not connected`, "add an edge to this input"},
		{func(m *Model) { m.Layers[2].Parameters = m.Layers[2].Parameters[:1] }, Error, "graph.nodes[2]", `input 2 "bias" of the node "hidden" is not connected`, `add "bias" to the parameters of the layer`},
		{func(m *Model) { m.Graph.Edges[1].Source = "sum" }, Critical, "graph.nodes[2]", `a cycle of 2 nodes: "hidden" uses "sum" uses "hidden"`, "remove an edge between them"},
		{func(m *Model) { m.Graph.Edges[3].Source = "norm" }, Critical, "graph.nodes[3]", `a cycle of 2 nodes: "sum" uses "norm" uses "sum"`, "remove an edge between them"},
		{func(m *Model) { m.Graph.Edges[1].Source = "hidden" }, Critical, "graph.nodes[2]", `a cycle of 1 node: "hidden" uses "hidden"`, "remove an edge between them"},
		{func(m *Model) { m.Graph.Outputs = nil }, Critical, "graph.outputs", "the model has no output", "list the ids of the nodes whose first output is a result"},
		{func(m *Model) { m.Graph.Outputs[0] = "score" }, Error, "graph.outputs[0]", `the node "score" does not exist`, `use "scores"`},
		{func(m *Model) { m.Graph.Outputs[0] = "flat" }, Error, "graph.outputs[1]", `the output "flat" is listed twice`, "remove one of them"},
		{func(m *Model) { m.Graph.Inputs = append(m.Graph.Inputs, "ids") }, Error, "graph.inputs[1]", `the input "ids" is listed twice`, "remove one of them"},
		{func(m *Model) { m.Graph.Inputs[0] = "norm" }, Error, "graph.inputs[0]", `the input "norm" has a layer of type "LayerNormalization"`, "use a node whose layer has the type Input"},
		{func(m *Model) { m.Graph.Inputs = nil }, Error, "graph.nodes[0]", `the node "ids" is an input and not in the list of inputs`, `add "ids" to graph.inputs`},
		{func(m *Model) { m.Graph.Nodes[0].Metadata[MetadataDims] = rawOf([]string{"batch"}) }, Error, "graph.nodes[0].metadata.dims", `the names of the dimensions of "ids" are ["batch"]: expected a list of 2 texts`, ""},
		{func(m *Model) { m.Graph.Nodes[0].Metadata[MetadataDims] = rawOf("batch") }, Error, "graph.nodes[0].metadata.dims", "expected a list of 2 texts", ""},
		{func(m *Model) { m.Graph.Nodes[0].Metadata[MetadataDims] = json.RawMessage(`["batch",null]`) }, Error, "graph.nodes[0].metadata.dims", "expected a list of 2 texts", ""},
		{func(m *Model) { m.Graph.Nodes[0].Metadata[MetadataDefault] = rawOf("zero") }, Error, "graph.nodes[0].metadata.default", `the rule for the input "ids" is "zero"`, `use "zeros"`},
		{func(m *Model) { m.Graph.Nodes[0].Metadata[MetadataDefault] = rawOf(0) }, Error, "graph.nodes[0].metadata.default", `the rule for the input "ids" is 0`, `use "ones"`},
		{func(m *Model) {
			m.Graph.Edges[9].Source = "norm"
			m.Layers[8].Inputs[0].Shape[2], m.Layers[8].Outputs[0].Shape[2] = 8, 8
		}, Warning, "graph.nodes[5]", `no output of the model depends on the node "halves"`, "remove it"},
		{func(m *Model) { m.Graph.Outputs = m.Graph.Outputs[:1] }, Warning, "graph.nodes[9]", `no output of the model depends on the node "flat"`, "remove it"},
	} {
		w.run(t)
	}
}

func TestWrongLayers(t *testing.T) {
	for _, w := range []wrongModel{
		{func(m *Model) { m.Layers[3].Name = "hidden" }, Error, "layers[3].name", `"hidden" is also the name of layers[2]`, "give it a unique name"},
		{func(m *Model) { m.Layers[7].Type = "Matmul" }, Error, "layers[7].layer_type", `the layer "product" has the type "Matmul", which is not an operator`, `use "MatMul"`},
		{func(m *Model) { m.Layers[2].Type = "linear" }, Error, "layers[2].layer_type", `the layer "hidden" has the type "linear", which is not an operator`, `use "ferrum.linear"`},
		{func(m *Model) { m.Layers[0].Type = "input" }, Error, "layers[0].layer_type", `which is not an operator`, `use "Input"`},
		{func(m *Model) { m.Layers[2].Type = "com.microsoft.Gelu" }, Error, "layers[2].layer_type", `which is not an operator`, `use "Gelu"`},
		{func(m *Model) { m.Layers[4].Config["axes"] = rawOf(1) }, Error, "layers[4].config", `the layer "norm" has wrong attributes: LayerNormalization: attribute "axes" is not known: the nearest is "axis"`, ""},
		{func(m *Model) { m.Layers[4].Config["axis"] = rawOf("1") }, Error, "layers[4].config", `attribute "axis" is "1": expected an integer`, ""},
		{func(m *Model) { m.Layers[4].Config["axis"] = json.RawMessage("{") }, Error, "layers[4].config", "the attributes are not JSON", ""},
		{func(m *Model) { m.Layers[4].Config["axis"] = rawOf(3) }, Error, "graph.nodes[4]", `LayerNormalization: attribute "axis": axis 3 is out of range`, ""},
		{func(m *Model) { m.Layers[2].Parameters[1] = "biass" }, Error, "layers[2].parameters[1]", `the layer "hidden" refers to the parameter "biass", which does not exist`, `use "bias"`},
		{func(m *Model) { m.Layers[2].Parameters[1] = "weight" }, Error, "layers[2].parameters[1]", `lists the parameter "weight" twice`, "remove one of them"},
		{func(m *Model) { m.Layers[2].Parameters[1] = "scale" }, Error, "layers[2].parameters[1]", `the parameter "scale" is not an input of the layer "hidden"`, "add an input with this name, or remove the parameter from the layer"},
		{func(m *Model) { m.Layers[2].Inputs[2].Name = "weight" }, Error, "layers[2].inputs[2].name", `two inputs or outputs of the layer "hidden" have the name "weight"`, "give each a name of its own"},
		{func(m *Model) { m.Layers[2].Outputs[0].Name = "weight" }, Error, "layers[2].outputs[0].name", `two inputs or outputs`, "give each a name of its own"},
		{func(m *Model) { m.Layers[2].Outputs = nil }, Error, "layers[2].outputs", `the layer "hidden" has no output`, ""},
		{func(m *Model) { m.Layers[8].Outputs[0].Name = "" }, Error, "graph.outputs[0]", `the node "scores" does not compute its first output`, ""},
		{func(m *Model) { m.Layers[5].Outputs[1].Name = "" }, Error, "graph.edges[6].source_output", `the node "halves" has no output 1`, ""},
		{func(m *Model) { m.Layers[0].Inputs = []Tensor{tensorOf("x", "f32[]")} }, Error, "layers[0]", "the layer \"ids\" of type Input has 1 input: it must have one output and nothing else", ""},
		{func(m *Model) { m.Layers[0].Config = map[string]json.RawMessage{"a": rawOf(1)} }, Error, "layers[0]", "has 1 attribute", ""},
		{func(m *Model) { m.Layers[0].Parameters = []string{"bias"} }, Error, "layers[0]", "has 1 parameter", ""},
		{func(m *Model) { m.Layers[0].Outputs = append(m.Layers[0].Outputs, tensorOf("more", "i64[1]")) }, Error, "layers[0]", "has 2 outputs", ""},
		{func(m *Model) { m.Layers[3].Outputs[0].Shape[1] = -2 }, Error, "layers[3].outputs[0].shape", `"out0" of the layer "sum" has the shape [-1, -2, 8]: a dimension is negative, and -1 alone stands for a dynamic one`, ""},
		{func(m *Model) { m.Layers[3].Outputs[0].Shape[2] = math.MaxInt64 }, Error, "layers[3].outputs[0].shape", "its size is above 2^63 bytes", ""},
		{func(m *Model) { m.Layers[0].Outputs[0].Shape = []int64{math.MaxInt64, 2} }, Error, "layers[0].outputs[0].shape", "its number of elements is above 2^63", ""},
		{func(m *Model) { m.Layers[3].Outputs[0].Shape = make([]int64, 9) }, Error, "layers[3].outputs[0].shape", "has 9 dimensions: at most 8 dimensions are possible", ""},
		{func(m *Model) { m.Layers[3].Outputs[0].DType = 77 }, Error, "layers[3].outputs[0].dtype", "has a data type that is not known", ""},
		{func(m *Model) { m.Layers[3].Outputs[0].Shape[1] = 3 }, Error, "layers[3].outputs[0]", `output 0 "out0" is declared as f32[-1, 3, 8]: Add computes f32[4, 5, 8] (for "batch" = 4, "sequence" = 5)`, ""},
		{func(m *Model) { m.Layers[3].Inputs[1].Shape[1] = 2 }, Error, "layers[3].inputs[1]", `input 1 "in1" is declared as f32[-1, 2, 8]: output 0 of the node "embedded" computes f32[2, 3, 8] (for "batch" = 2, "sequence" = 3)`, ""},
		{func(m *Model) { m.Layers[2].Inputs[1].Shape[0] = 9 }, Error, "layers[2].inputs[1]", `the layer "hidden" declares the parameter "weight" as f32[9, 8]: it is f32[8, 8]`, "declare f32[8, 8]"},
		{func(m *Model) { m.Layers[2].Inputs[1].Shape[0] = Dynamic }, Error, "layers[2].inputs[1]", `as f32[-1, 8]`, "declare f32[8, 8]"},
		{func(m *Model) {
			m.Layers = append(m.Layers, Layer{Name: "more", Type: "Relu", Inputs: []Tensor{tensorOf("a", "f32[1]")}, Outputs: []Tensor{tensorOf("b", "f32[1]")}})
		}, Warning, "layers[10]", `no node uses the layer "more"`, "remove it"},
	} {
		w.run(t)
	}
}

func TestWrongParameters(t *testing.T) {
	nan := float32(math.NaN())
	start := func(i Initialization) func(m *Model) {
		return func(m *Model) { m.Parameters[1].Initialization = i }
	}
	for _, w := range []wrongModel{
		{func(m *Model) { m.Parameters[1].Name = "bias" }, Error, "parameters[2].name", `"bias" is also the name of parameters[1]`, "give it a unique name"},
		{func(m *Model) { m.Parameters[1].Name = "" }, Error, "parameters[1].name", "the name is empty", "give it a unique name"},
		{func(m *Model) { m.Parameters[1].Shape[0] = 0 }, Error, "parameters[1].shape", `the parameter "weight" has the shape [0, 8]: each dimension must be at least 1`, ""},
		{func(m *Model) { m.Parameters[1].Shape[0] = Dynamic }, Error, "parameters[1].shape", "has the shape [-1, 8]: each dimension must be at least 1", ""},
		{func(m *Model) { m.Parameters[1].Shape[0] = math.MinInt64 }, Error, "parameters[1].shape", "has the shape [-9223372036854775808, 8]", ""},
		{func(m *Model) { m.Parameters[1].Shape[0] = math.MaxInt64 }, Error, "parameters[1].shape", "its number of elements is above 2^63", ""},
		{func(m *Model) { m.Parameters[1].Shape = []int64{1 << 61, 1} }, Error, "parameters[1].shape", "its size is above 2^63 bytes", ""},
		{func(m *Model) { m.Parameters[1].Shape = make([]int64, 1000) }, Error, "parameters[1].shape", "0, 0, ...]: each dimension must be at least 1", ""},
		{func(m *Model) { m.Parameters[1].DType = -5 }, Error, "parameters[1].shape", "has a data type that is not known", ""},
		{func(m *Model) { m.Parameters[1].DType = dtype.GGUFBase + 2 }, Error, "parameters[1].shape", "the last dimension must be a multiple of 32 elements, a block of q4_0", ""},
		{func(m *Model) { m.Parameters[4].DType = dtype.I32 }, Error, "parameters[4].dtype", `the constant "sizes" has the type i32: a constant must be i64`, ""},
		{func(m *Model) { m.Parameters[4].Value = []int64{8} }, Error, "parameters[4].value", `the constant "sizes" has 1 element: its shape [2] has 2`, ""},
		{func(m *Model) { m.Parameters[4].Source = "x" }, Error, "parameters[4].value", "has a value, and also a source or parts", "keep one of them"},
		{func(m *Model) { m.Parameters[4].Trainable = true }, Warning, "parameters[4].trainable", `the constant "sizes" is trainable`, "set trainable to false"},
		{func(m *Model) { m.Parameters[1].Source = "" }, Error, "parameters[1].initialization", `the parameter "weight" has no source, no value and no initialization`, "set the name of its tensor in the weights as source"},
		{func(m *Model) { m.Parameters[3].Source = m.Parameters[2].Source; m.Parameters[3].Shape = []int64{8, 1} }, Error, "parameters[3]", `the parameters "bias" f32[8] and "scale" f32[8, 1] have the same source "weights.bias"`, "use one parameter in both layers"},
		{start(Initialization{Strategy: "zero"}), Error, "parameters[1].initialization.strategy", `the strategy "zero" of the parameter "weight" is not known`, `use "zeros"`},
		{start(Initialization{Strategy: StrategyUniform, Min: nan, Max: 1}), Error, "parameters[1].initialization.min", `min of the parameter "weight" is NaN: it must be finite`, ""},
		{start(Initialization{Strategy: StrategyNormal, Std: float32(math.Inf(1))}), Error, "parameters[1].initialization.std", "is +Inf", ""},
		{start(Initialization{Strategy: StrategyNormal, Std: -1}), Error, "parameters[1].initialization.std", `std -1 of the parameter "weight" is negative`, ""},
		{start(Initialization{Strategy: StrategyUniform, Min: 1, Max: 1}), Error, "parameters[1].initialization.min", `min 1 of the parameter "weight" is not below max 1`, ""},
		{start(Initialization{Strategy: StrategyOnes, Mean: 2}), Error, "parameters[1].initialization.mean", `the strategy ones of the parameter "weight" has no mean`, "remove it"},
		{start(Initialization{Strategy: StrategyCustom}), Error, "parameters[1].initialization.name", `the custom strategy of the parameter "weight" has no name`, ""},
		{start(Initialization{Strategy: StrategyXavier, Name: "x"}), Error, "parameters[1].initialization.name", "has no name", "remove it"},
		{func(m *Model) { m.Parameters[2].Initialization.Strategy = StrategyKaiming }, Error, "parameters[2].initialization.strategy", `the strategy kaiming needs a matrix: the parameter "bias" has the shape [8]`, "use zeros, ones, uniform or normal"},
		{func(m *Model) {
			m.Parameters[1].DType = dtype.I64
			m.Parameters[1].Initialization.Strategy = StrategyXavier
		}, Error, "parameters[1].initialization.strategy", `needs a floating-point type: the parameter "weight" has i64`, "use zeros or ones"},
		{func(m *Model) { m.Parameters[1].Parts = []Parameter{{Name: "part", Shape: []int64{8, 8}, Source: "p"}} }, Error, "parameters[1]", `the parameter "weight" has parts, and also a source`, "remove them: each part has its own"},
		{func(m *Model) {
			m.Parameters[1].Source = ""
			m.Parameters[1].Parts = []Parameter{{Name: "part", Shape: []int64{7, 8}, Source: "p"}}
		}, Error, "parameters[1].parts", `the parts of the parameter "weight" [8, 8] have the length 7 together`, ""},
		{func(m *Model) {
			m.Parameters[1].Source = ""
			m.Parameters[1].Parts = []Parameter{{Name: "part", Shape: []int64{8, 9}, Source: "p"}}
		}, Error, "parameters[1].parts[0]", `the part "part" f32[8, 9] does not fit into the parameter "weight" f32[8, 8]`, ""},
		{func(m *Model) {
			m.Parameters[1].Source = ""
			m.Parameters[1].Parts = []Parameter{{Name: "part", Shape: []int64{8, 0}, Source: "p"}}
		}, Error, "parameters[1].parts[0].shape", `the part "part" has the shape [8, 0]`, ""},
		{func(m *Model) {
			m.Parameters[1].Source = ""
			m.Parameters[1].Parts = []Parameter{{Name: "part", Shape: []int64{8, 8}}}
		}, Error, "parameters[1].parts[0].initialization", `the parameter "part" has no source`, "set the name of its tensor in the weights as source"},
		{func(m *Model) {
			m.Parameters = append(m.Parameters, Parameter{Name: "more", Shape: []int64{1}, Source: "m"})
		}, Warning, "parameters[6]", `no layer uses the parameter "more"`, "remove it"},
	} {
		w.run(t)
	}
}

// The edge that has no source still holds its input.
func TestEdgeFromAnUnknownNode(t *testing.T) {
	m := small()
	m.Graph.Edges = append(m.Graph.Edges, m.Graph.Edges[2])
	m.Graph.Edges[2].Source = "hiden"
	issues := m.Validate()
	require.Len(t, issues, 2)
	assert.Equal(t, `input 0 of the node "sum" is connected twice: from an unknown node and from "hidden"`, issues[1].Description)

	m = small()
	m.Parameters[1].Source = ""
	m.Parameters[1].Parts = []Parameter{{Name: "part", Shape: []int64{8, 8}, Source: "p", Value: []int64{1}}}
	issues = m.Validate()
	require.Len(t, issues, 1)
	assert.Equal(t, `the part "part" of the parameter "weight" has a value or parts`, issues[0].Description)
}

func TestWrongDimensions(t *testing.T) {
	d := func(change func(d *Dimensions)) func(m *Model) {
		return func(m *Model) { change(&m.Architecture.Dimensions) }
	}
	const path = "architecture.dimensions."
	for _, w := range []wrongModel{
		{d(func(d *Dimensions) { d.NumHeads = 0 }), Error, path + "num_heads", "num_heads is 0", "set it to at least 1"},
		{d(func(d *Dimensions) { d.NumHeads = 3 }), Error, path + "num_heads", "3 heads do not divide the hidden size 8", "set head_dim, or a number of heads that divides the hidden size"},
		{d(func(d *Dimensions) { d.NumKVHeads = at(uint64(0)) }), Error, path + "num_kv_heads", "num_kv_heads is 0", "set it to at least 1"},
		{d(func(d *Dimensions) { d.NumHeads = 8; d.NumKVHeads = at(uint64(3)) }), Error, path + "num_kv_heads", "3 heads of keys and values do not divide the 8 heads", "set a number that divides 8"},
		{d(func(d *Dimensions) { d.HeadDim = at(uint64(0)) }), Error, path + "head_dim", "head_dim is 0", "set it to at least 1"},
		{d(func(d *Dimensions) { d.VocabSize = 0 }), Error, path + "vocab_size", "vocab_size is 0", "set it to at least 1"},
		{d(func(d *Dimensions) { d.HiddenSize = 1 << 62 }), Error, path + "hidden_size", "hidden_size is 4611686018427387904: at most 2^40 is possible", ""},
		{d(func(d *Dimensions) { d.MaxSequenceLength = math.MaxUint64 }), Error, path + "max_sequence_length", "at most 2^40", ""},
		{d(func(d *Dimensions) { d.IntermediateSize = at(uint64(0)) }), Error, path + "intermediate_size", "is 0", "set it to at least 1"},
		{func(m *Model) { m.Metadata.Name = "" }, Warning, "metadata.name", "the model has no name", "set a name, which messages and reports show"},
		{func(m *Model) { m.Metadata.Family = "transformers" }, Error, "metadata.architecture_family", `the family "transformers" is not known`, `use "transformer"`},
		{func(m *Model) { m.Metadata.Additional = map[string]json.RawMessage{MetadataSchema: rawOf(0)} }, Critical, "metadata.additional.schema_version", "the version of the schema is 0", ""},
	} {
		w.run(t)
	}
	m := small()
	m.Architecture.Dimensions.NumHeads, m.Architecture.Dimensions.HeadDim = 3, at(uint64(16))
	assert.Empty(t, m.Validate(), "heads of their own size need not divide the hidden size")
	m.Architecture.Dimensions = Dimensions{}
	m.Metadata.Family = FamilyCNN
	assert.Empty(t, m.Validate(), "other families need no heads")
}

func TestSeverities(t *testing.T) {
	assert.True(t, Warning < Error && Error < Critical)
	issues := []Issue{{Severity: Critical, Category: CategoryGraph, Description: "d", SuggestedFix: "f", ConfigPath: "p"}, {Severity: Warning}}
	text, err := json.Marshal(issues)
	require.NoError(t, err)
	assert.JSONEq(t, `[{"severity":"critical","category":"graph","description":"d","suggested_fix":"f","config_path":"p"},
		{"severity":"warning","category":"","description":"","config_path":""}]`, string(text))
	var again []Issue
	require.NoError(t, json.Unmarshal(text, &again))
	assert.Equal(t, issues, again)
	_, err = Severity(3).MarshalText()
	assert.ErrorIs(t, err, device.CodeSerialization)
	assert.ErrorIs(t, new(Severity).UnmarshalText([]byte("Warning")), device.CodeInvalidFormat)
	assert.Equal(t, "severity 9", Severity(9).String())
}

// Vectors may have each rule that needs no matrix, and parts that fit.
func TestValidParameters(t *testing.T) {
	for _, start := range []Initialization{
		{Strategy: StrategyZeros}, {Strategy: StrategyOnes}, {Strategy: StrategyUniform, Max: 1}, {Strategy: StrategyNormal, Std: 1}, {Strategy: StrategyCustom, Name: "x"},
	} {
		m := small()
		m.Parameters[2].Initialization, m.Parameters[2].Source = start, ""
		assert.Empty(t, m.Validate(), start)
	}
	m := small()
	m.Parameters[1].Source = ""
	m.Parameters[1].Parts = []Parameter{{Name: "upper", Shape: []int64{5, 8}, Source: "u"}, {Name: "lower", Shape: []int64{3, 8}, Initialization: Initialization{Strategy: StrategyOnes}}}
	assert.Empty(t, m.Validate())
}

// A scalar has no parts, and each wrong input of a list is reported.
func TestMoreThanOneMistake(t *testing.T) {
	m := small()
	m.Parameters[1].Source, m.Parameters[1].Shape = "", nil
	m.Parameters[1].Parts = []Parameter{{Name: "part", Source: "p"}}
	assert.Contains(t, m.Validate()[0].Description, `the part "part" f32[] does not fit into the parameter "weight" f32[]`)
	m = small()
	m.Graph.Inputs = []string{"norm", "sum", "ids"}
	issues := m.Validate()
	require.Len(t, issues, 2)
	assert.Equal(t, []string{"graph.inputs[0]", "graph.inputs[1]"}, []string{issues[0].ConfigPath, issues[1].ConfigPath})
}

// The error of Resolve has the first issue of the highest severity, and the number of the others.
func TestResolveNamesTheWorstIssue(t *testing.T) {
	m := small()
	m.Graph.Edges[0].Source, m.Graph.Outputs[0] = "idz", "score"
	_, err := m.Resolve()
	assert.EqualError(t, err, `ir.resolve: graph.edges[0].source: the node "idz" does not exist: use "ids" (and 1 further issue) (FERRUM_ERROR_INVALID_CONFIG)`)
	m.Graph.Outputs = nil
	_, err = m.Resolve()
	assert.ErrorContains(t, err, `graph.outputs: the model has no output: list the ids of the nodes whose first output is a result (and 1 further issue)`)
	m.Graph.Edges[0].Source = "ids"
	_, err = m.Resolve()
	assert.EqualError(t, err, `ir.resolve: graph.outputs: the model has no output: list the ids of the nodes whose first output is a result (FERRUM_ERROR_INVALID_CONFIG)`)
}

// A node that is wrong gives one issue, and those that use it give none.
func TestOneMistakeIsOneIssue(t *testing.T) {
	m := small()
	m.Layers[2].Config = map[string]json.RawMessage{"axis": rawOf(1)}
	assert.Len(t, m.Validate(), 1)
	m = small()
	m.Parameters[1].Shape[1], m.Layers[2].Inputs[1].Shape[1] = 7, 7
	assert.Len(t, m.Validate(), 1)
}

// The time grows with the number of nodes, also if all of them are wrong, and no call is as deep as the
// graph.
func TestLargeGraphs(t *testing.T) {
	const nodes = 100_000
	m := chain(nodes)
	begin := time.Now()
	assert.Empty(t, m.Validate())
	s, err := m.Infer(map[string]uint64{"x.0": 4})
	require.NoError(t, err)
	assert.Len(t, s.Graph.Order, nodes+1)
	text, err := m.JSON()
	require.NoError(t, err)
	again, err := Parse(text)
	require.NoError(t, err)
	assert.Len(t, again.Graph.Edges, nodes)
	m.Graph.Edges[0].Source = m.Graph.Nodes[nodes].ID
	issues := m.Validate()
	require.NotEmpty(t, issues)
	assert.Equal(t, Critical, issues[0].Severity)
	assert.Contains(t, issues[0].Description, "a cycle of 100000 nodes")
	assert.Less(t, len(issues[0].Description), 600)
	for i := range m.Graph.Edges {
		m.Graph.Edges[i].Source += "x"
	}
	issues = m.Validate()
	assert.Len(t, issues, maxIssues+1)
	assert.Regexp(t, `^\d+ further issues not listed$`, issues[maxIssues].Description)
	assert.Equal(t, Error, issues[maxIssues].Severity)
	assert.Less(t, time.Since(begin), 2*time.Minute)
}

// A short text cannot make the resolution or inference allocate much: many nodes with a wide layer.
func TestWideGraphs(t *testing.T) {
	s := newSketch()
	s.input("x", "f32[4096]", "")
	sizes := make([]int64, 4096)
	for i := range sizes {
		sizes[i] = 1
	}
	s.constant("sizes", sizes...)
	s.node("first", "Split", `{"axis":0}`, strings.TrimSuffix(strings.Repeat("f32[1]|", 4096), "|"), "x", "sizes")
	s.Graph.Outputs = []string{"first"}
	require.Empty(t, s.Validate())
	for i := range 10_000 {
		id := "more_" + strconv.Itoa(i)
		s.Graph.Nodes = append(s.Graph.Nodes, Node{ID: id, LayerName: "first"})
		s.Graph.Edges = append(s.Graph.Edges, edgeOf("x", 0, id, 0))
	}
	before := allocated()
	issues := s.Validate()
	require.NotEmpty(t, issues)
	assert.Equal(t, Critical, issues[0].Severity)
	assert.Equal(t, `the nodes up to "more_254" have more than 1048576 inputs and outputs`, issues[0].Description)
	_, err := s.Infer(nil)
	require.ErrorIs(t, err, device.CodeInvalidConfig)
	assert.Less(t, allocated()-before, uint64(512<<20))
}

// All families and strategies are known, and their texts are read again.
func TestFamiliesAndStrategies(t *testing.T) {
	for _, family := range []Family{FamilyTransformer, FamilyCNN, FamilyRNN, FamilyGNN, FamilyDiffusion, FamilyCustom} {
		m := small()
		m.Metadata.Family = family
		assert.Empty(t, m.Validate())
		again, err := Parse([]byte(exported(t, m)))
		require.NoError(t, err)
		assert.Equal(t, family, again.Metadata.Family)
	}
	starts := []Initialization{
		{Strategy: StrategyZeros}, {Strategy: StrategyOnes}, {Strategy: StrategyUniform, Min: -1, Max: 1}, {Strategy: StrategyNormal, Mean: 1, Std: 2},
		{Strategy: StrategyXavier}, {Strategy: StrategyKaiming}, {Strategy: StrategyCustom, Name: "mine"},
	}
	for i, start := range starts {
		m := small()
		m.Parameters[1].Initialization, m.Parameters[1].Source = start, ""
		assert.Empty(t, m.Validate())
		again, err := Parse([]byte(exported(t, m)))
		require.NoError(t, err)
		assert.Equal(t, start, again.Parameters[1].Initialization)
		assert.Equal(t, Strategies()[i], start.Strategy)
	}
}
