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

func TestInfer(t *testing.T) {
	m := small()
	s, err := m.Infer(map[string]uint64{"batch": 3, "sequence": 5})
	require.NoError(t, err)
	outputs := map[string]string{}
	for at, n := range m.Graph.Nodes {
		var texts []string
		for _, v := range s.Nodes[at].Outputs {
			texts = append(texts, v.String())
		}
		outputs[n.ID] = strings.Join(texts, " ")
	}
	assert.Equal(t, map[string]string{
		"ids": "i64[3, 5]", "embedded": "f32[3, 5, 8]", "hidden": "f32[3, 5, 8]", "sum": "f32[3, 5, 8]", "norm": "f32[3, 5, 8]",
		"halves": "f32[3, 5, 4] f32[3, 5, 4]", "turned": "f32[3, 4, 5]", "product": "f32[3, 5, 5]", "scores": "f32[3, 5, 5]", "flat": "f32[3, 40]",
	}, outputs)
	norm := s.Nodes[4]
	assert.True(t, norm.Inputs[2].IsAbsent)
	assert.Equal(t, []int{2}, norm.Layout.Axes)
	assert.Equal(t, []int64{4, 4}, s.Nodes[5].Inputs[1].Known)
	assert.Equal(t, map[string]uint64{"batch": 3, "sequence": 5}, s.Lengths)
	assert.Equal(t, []string{"batch", "sequence"}, s.Graph.DynamicDims())
	assert.Equal(t, Operand{Parameter: None, Node: 5, Output: 1}, s.Graph.Nodes[6].Operands[0])
	assert.Equal(t, Operand{Parameter: 0, Node: None}, s.Graph.Nodes[1].Operands[0])
	assert.True(t, s.Graph.Nodes[4].Operands[2].IsAbsent())
	assert.Equal(t, []int{8, 9}, s.Graph.Outputs)

	// A length of 0 is possible: an operator may have no elements.
	s, err = m.Infer(map[string]uint64{"batch": 0, "sequence": 1})
	require.Error(t, err, "Reshape copies a dimension of 0 and cannot find the other one")
	assert.Nil(t, s)
}

func TestInferReportsLengths(t *testing.T) {
	for _, c := range []struct {
		dims map[string]uint64
		code device.Code
		says string
	}{
		{nil, device.CodeInvalidArgument, `the length of dimension 0 ("batch") of the input "ids" [-1, -1] is not given`},
		{map[string]uint64{"batch": 1}, device.CodeInvalidArgument, `the length of dimension 1 ("sequence") of the input "ids" [-1, -1] is not given`},
		{map[string]uint64{"batch": 1, "sequenc": 1}, device.CodeInvalidArgument, `the dimension "sequenc" is not known: the nearest is "sequence"`},
		{map[string]uint64{"batch": 1 << 63, "sequence": 1}, device.CodeOverflow, `is 9223372036854775808: it must be below 2^63`},
		{map[string]uint64{"batch": math.MaxInt64, "sequence": 2}, device.CodeOverflow, `graph.nodes[0]: the input "ids" has the shape [9223372036854775807, 2]`},
		{map[string]uint64{"batch": 1 << 31, "sequence": 1 << 28}, device.CodeOverflow, `graph.nodes[1]: the node "embedded": Gather: output "output"`},
	} {
		_, err := small().Infer(c.dims)
		require.ErrorIs(t, err, c.code)
		assert.ErrorContains(t, err, c.says)
	}
	fixed := newSketch()
	fixed.input("x", "f32[3]")
	fixed.Graph.Nodes[0].Metadata = nil
	fixed.node("y", "Relu", "", "f32[3]", "x")
	fixed.Graph.Outputs = []string{"y"}
	_, err := fixed.Infer(map[string]uint64{"batch": 1})
	require.ErrorContains(t, err, `the dimension "batch" is not known: the inputs of the model have no named dimension`)
	m := small()
	m.Graph.Nodes[0].Metadata = nil
	_, err = m.Infer(map[string]uint64{"ids.0": 2, "ids.1": 3})
	assert.NoError(t, err, "dimensions without a name are named after their input")
	m = small()
	m.Layers[0].Outputs[0].Shape[1] = 7
	s, err := m.Infer(map[string]uint64{"batch": 2})
	require.NoError(t, err)
	assert.Equal(t, map[string]uint64{"batch": 2, "sequence": 7}, s.Lengths)
	_, err = m.Infer(map[string]uint64{"batch": 2, "sequence": 8})
	assert.ErrorContains(t, err, `the length of dimension 1 ("sequence") of the input "ids" [-1, 7] is 7 in the definition: it cannot be 8`)
	assert.Equal(t, []string{"batch"}, s.Graph.DynamicDims())
}

// Two inputs with one name for a dimension have the same length there.
func TestNamedDimensionsAgree(t *testing.T) {
	s := newSketch()
	s.input("a", "f32[?, 4]", "batch", "")
	s.input("b", "f32[?, 4]", "batch", "width")
	s.node("sum", "Add", "", "f32[?, 4]", "a", "b")
	s.Graph.Outputs = []string{"sum"}
	require.Empty(t, s.Validate())
	shapes, err := s.Infer(map[string]uint64{"batch": 6})
	require.NoError(t, err)
	assert.Equal(t, "f32[6, 4]", shapes.Nodes[2].Outputs[0].String())
	assert.Equal(t, map[string]uint64{"batch": 6, "width": 4}, shapes.Lengths)

	s.Layers[0].Outputs[0].Shape[0], s.Layers[1].Outputs[0].Shape[0] = 3, 5
	s.Layers[2].Inputs[0].Shape[0], s.Layers[2].Inputs[1].Shape[0] = 3, 5
	_, err = s.Infer(nil)
	require.ErrorIs(t, err, device.CodeInvalidConfig)
	assert.ErrorContains(t, err, `dimension 0 ("batch") of the input "b" [5, 4] has the length 5, and another dimension with this name has 3`)
	issues := s.Validate()
	require.Len(t, issues, 1)
	assert.Equal(t, "graph.nodes[1].metadata.dims", issues[0].ConfigPath)

	// Different names are different lengths, which do not fit here.
	s.Layers[0].Outputs[0].Shape[0], s.Layers[1].Outputs[0].Shape[0] = Dynamic, Dynamic
	s.Layers[2].Inputs[0].Shape[0], s.Layers[2].Inputs[1].Shape[0] = Dynamic, Dynamic
	s.Graph.Nodes[1].Metadata = nil
	issues = s.Validate()
	require.Len(t, issues, 1)
	assert.Contains(t, issues[0].Description, `the node "sum": Add: input "A" f32[3, 4] and input "B" f32[2, 4] do not broadcast: dimension -2 differs (for "b.0" = 2, "batch" = 3)`)
}

func TestInferReportsContradictions(t *testing.T) {
	lengths := map[string]uint64{"batch": 3, "sequence": 5}
	for _, c := range []struct {
		change func(m *Model)
		says   string
	}{
		{func(m *Model) { m.Layers[2].Outputs[0].Shape[2] = 9 },
			`layers[2].outputs[0]: the node "hidden" (ferrum.linear): output 0 "out0" is declared as f32[-1, -1, 9]: ferrum.linear computes f32[3, 5, 8]`},
		{func(m *Model) { m.Layers[3].Inputs[0].DType = dtype.F16 },
			`layers[3].inputs[0]: the node "sum" (Add): input 0 "in0" is declared as f16[-1, -1, 8]: output 0 of the node "hidden" computes f32[3, 5, 8]`},
		{func(m *Model) { m.Parameters[1].Shape[1], m.Layers[2].Inputs[1].Shape[1] = 7, 7 },
			`graph.nodes[2]: the node "hidden": linear: input "X" f32[3, 5, 8] and input "W" f32[8, 7] do not fit`},
		{func(m *Model) { m.Parameters[4].Value[0] = 5 }, `graph.nodes[5]: the node "halves": Split: input "split" [5, 4] has the sum 9`},
	} {
		m := small()
		c.change(m)
		_, err := m.Infer(lengths)
		require.ErrorContains(t, err, c.says)
		assert.NotEmpty(t, m.Validate())
	}
	m := small()
	m.Graph.Edges[0].Source = "idz"
	_, err := m.Infer(lengths)
	require.ErrorIs(t, err, device.CodeInvalidConfig)
	assert.ErrorContains(t, err, `graph.edges[0].source: the node "idz" does not exist: use "ids"`)
}

// A node comes after its sources, and otherwise in the order of the list.
func TestOrder(t *testing.T) {
	m := small()
	g, err := m.Resolve()
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, g.Order, "a list in order keeps it")
	n := len(m.Graph.Nodes)
	for i := range n / 2 {
		m.Graph.Nodes[i], m.Graph.Nodes[n-1-i] = m.Graph.Nodes[n-1-i], m.Graph.Nodes[i]
	}
	g, err = m.Resolve()
	require.NoError(t, err)
	assert.Equal(t, []int{9, 8, 7, 6, 5, 0, 4, 3, 2, 1}, g.Order, "flat is the first of the list that can run after norm")
}

// A graph that needs long inputs, or multiples of a number, is valid.
func TestGraphsThatNeedLongInputs(t *testing.T) {
	s := newSketch()
	s.input("x", "f32[?, ?]", "batch", "sequence")
	s.constant("k", 10)
	s.constant("groups", 0, -1, 16)
	s.node("best", "TopK", "", "f32[?, 10]|i64[?, 10]", "x", "k")
	s.node("grouped", "Reshape", "", "f32[?, ?, 16]", "x", "groups")
	s.Graph.Outputs = []string{"best", "grouped"}
	assert.Empty(t, s.Validate())
	_, err := s.Infer(map[string]uint64{"batch": 2, "sequence": 9})
	assert.ErrorContains(t, err, "K is 10")
	s.Layers[2].Outputs[0].Shape[2] = 8
	issues := s.Validate()
	require.NotEmpty(t, issues, "no length fits")
	assert.Contains(t, issues[0].Description, `(for "batch" = 2, "sequence" = 3)`)
}

func TestInputs(t *testing.T) {
	s := newSketch()
	s.input("ids", "i64[?, ?]", "batch", "")
	s.input("mask", "i64[?, 4]")
	s.Graph.Nodes[1].Metadata = map[string]json.RawMessage{MetadataDefault: rawOf("ones")}
	s.node("sum", "Add", "", "i64[?, 4]", "mask", "mask")
	s.node("other", "Relu", "", "i64[?, ?]", "ids")
	s.Graph.Outputs = []string{"other", "sum"}
	require.Empty(t, s.Validate())
	s.Layers[1].Outputs[0].DType = dtype.Bool
	s.Graph.Nodes[1].Metadata[MetadataDefault] = rawOf(DefaultPositions)
	assert.Equal(t, `the input "mask" has the type bool: it cannot have positions`, s.Validate()[0].Description)
	s.Layers[1].Outputs[0].DType = dtype.I64
	s.Graph.Nodes[1].Metadata[MetadataDefault] = rawOf(DefaultOnes)
	g, err := s.Resolve()
	require.NoError(t, err)
	assert.Equal(t, []Input{{Node: 0, Dims: []string{"batch", "ids.1"}}, {Node: 1, Dims: []string{"mask.0", ""}, Default: DefaultOnes}}, g.Inputs)
	assert.Equal(t, []string{"batch", "ids.1", "mask.0"}, g.DynamicDims())
}

func TestCount(t *testing.T) {
	m := full()
	c, err := m.Count()
	require.NoError(t, err)
	assert.Equal(t, Counts{Parameters: 208, Bytes: 832, Types: []TypeCounts{{DType: dtype.F32, Tensors: 5, Parameters: 208, Bytes: 832}}}, c)
	m.Parameters = append(m.Parameters,
		Parameter{Name: "tied", Shape: []int64{16, 8}, DType: dtype.F32, Source: m.Parameters[0].Source},
		Parameter{Name: "part", Shape: []int64{5}, DType: dtype.F32, Source: "u"},
		Parameter{Name: "packed", Shape: []int64{2, 64}, DType: dtype.GGUFBase + 2}, Parameter{Name: "half", Shape: []int64{3}, DType: dtype.U4})
	c, err = m.Count()
	require.NoError(t, err)
	assert.Equal(t, Counts{Parameters: 339, Bytes: 832 + 2 + 72, Types: []TypeCounts{
		{DType: dtype.F32, Tensors: 5, Parameters: 208, Bytes: 832}, {DType: dtype.U4, Tensors: 1, Parameters: 3, Bytes: 2},
		{DType: dtype.GGUFBase + 2, Tensors: 1, Parameters: 128, Bytes: 72},
	}}, c)
	text, err := json.Marshal(c)
	require.NoError(t, err)
	assert.Contains(t, string(text), `{"dtype":"q4_0","tensors":1,"parameters":128,"bytes":72}`)
	m.Parameters[0].Shape[0] = 0
	_, err = m.Count()
	assert.ErrorContains(t, err, `parameters[0]: the parameter "table" has the shape [0, 8]: each dimension must be at least 1`)
	for i := range m.Parameters {
		m.Parameters[i].Shape, m.Parameters[i].Value, m.Parameters[i].DType, m.Parameters[i].Source, m.Parameters[i].Parts = []int64{1 << 62}, nil, dtype.I8, "", nil
	}
	_, err = m.Count()
	assert.ErrorIs(t, err, device.CodeOverflow)
}
