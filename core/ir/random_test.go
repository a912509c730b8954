package ir

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/dtype"
)

// drawn is an output of a random model with its shape: a name such as "batch" stands for a dynamic
// dimension.
type drawn struct {
	id   string
	dims []string
}

// text returns the tensor with ? for dynamic dimensions.
func (d drawn) text() string {
	lengths := slices.Clone(d.dims)
	for i, dim := range lengths {
		if _, err := strconv.Atoi(dim); err != nil {
			lengths[i] = "?"
		}
	}
	return "f32[" + strings.Join(lengths, ", ") + "]"
}

// drawer draws a valid model: each step adds a node that uses outputs of earlier ones.
type drawer struct {
	*sketch
	t      *rapid.T
	values []drawn
	used   map[string]bool
}

func (d *drawer) value(what string, fits func(drawn) bool) (drawn, bool) {
	fitting := slices.DeleteFunc(slices.Clone(d.values), func(v drawn) bool { return !fits(v) })
	if len(fitting) == 0 {
		return drawn{}, false
	}
	v := fitting[rapid.IntRange(0, len(fitting)-1).Draw(d.t, what)]
	d.used[v.id] = true
	return v, true
}

func (d *drawer) add(operator, config string, outputs []drawn, inputs ...string) {
	id := fmt.Sprintf("node_%d", len(d.Graph.Nodes))
	var texts []string
	for i, o := range outputs {
		texts = append(texts, o.text())
		o.id = id
		if i > 0 {
			o.id += ":" + strconv.Itoa(i)
		}
		d.values = append(d.values, o)
	}
	d.node(id, operator, config, strings.Join(texts, "|"), inputs...)
}

func isAny(drawn) bool { return true }

// step adds one node of a random kind.
func (d *drawer) step() {
	v, _ := d.value("source", isAny)
	last := len(v.dims) - 1
	width, _ := strconv.Atoi(v.dims[last])
	name := fmt.Sprintf("parameter_%d", len(d.Parameters))
	with := func(axis int, dim string) drawn {
		dims := slices.Clone(v.dims)
		dims[axis] = dim
		return drawn{dims: dims}
	}
	switch kind := rapid.IntRange(0, 7).Draw(d.t, "kind"); {
	case kind == 0 && width > 0:
		out := rapid.IntRange(1, 6).Draw(d.t, "width")
		d.parameter(name, fmt.Sprintf("f32[%d, %d]", out, width))
		d.add("ferrum.linear", "", []drawn{with(last, strconv.Itoa(out))}, v.id, name)
	case kind == 1:
		other, _ := d.value("other", func(o drawn) bool { return slices.Equal(o.dims, v.dims) })
		d.add("Add", "", []drawn{with(0, v.dims[0])}, v.id, other.id)
	case kind == 2:
		order := rapid.Permutation([]int{0, 1, 2}[:len(v.dims)]).Draw(d.t, "order")
		dims := make([]string, len(order))
		for i, axis := range order {
			dims[i] = v.dims[axis]
		}
		d.add("Transpose", `{"perm": `+string(rawOf(order))+`}`, []drawn{{dims: dims}}, v.id)
	case kind == 3 && width > 1:
		first := rapid.IntRange(1, width-1).Draw(d.t, "first")
		d.constant(name, int64(first), int64(width-first))
		d.add("Split", `{"axis": -1}`, []drawn{with(last, strconv.Itoa(first)), with(last, strconv.Itoa(width-first))}, v.id, name)
	case kind == 4 && width > 0:
		other, _ := d.value("other", func(o drawn) bool {
			n, err := strconv.Atoi(o.dims[len(o.dims)-1])
			return err == nil && n > 0 && len(o.dims) == len(v.dims) && slices.Equal(o.dims[:len(o.dims)-1], v.dims[:last])
		})
		more, _ := strconv.Atoi(other.dims[last])
		d.add("Concat", `{"axis": -1}`, []drawn{with(last, strconv.Itoa(width+more))}, v.id, other.id)
	case kind == 5 && width > 0:
		d.parameter(name, fmt.Sprintf("f32[%d]", width))
		d.add("LayerNormalization", "", []drawn{with(0, v.dims[0])}, v.id, name, "")
	case kind == 6:
		d.add("MatMul", "", []drawn{{dims: append(slices.Clone(v.dims[:last]), v.dims[last-1])}}, v.id, d.turned(v))
	default:
		d.add(rapid.SampledFrom([]string{"Relu", "Tanh", "Softmax", "Gelu"}).Draw(d.t, "unary"), "", []drawn{with(0, v.dims[0])}, v.id)
	}
}

// turned adds the value with its last two dimensions exchanged, and returns its id.
func (d *drawer) turned(v drawn) string {
	n := len(v.dims)
	dims, order := slices.Clone(v.dims), []int{0, 1, 2}[:n]
	dims[n-1], dims[n-2] = dims[n-2], dims[n-1]
	order = slices.Clone(order)
	order[n-1], order[n-2] = order[n-2], order[n-1]
	id := fmt.Sprintf("node_%d", len(d.Graph.Nodes))
	d.add("Transpose", `{"perm": `+string(rawOf(order))+`}`, []drawn{{dims: dims}}, v.id)
	d.used[id] = true
	return id
}

// drawModel draws a valid model of which every part is used, and the symbolic shapes of its outputs.
func drawModel(t *rapid.T) (*Model, map[string][]string) {
	d := &drawer{sketch: newSketch(), t: t, used: map[string]bool{}}
	for i := range rapid.IntRange(1, 3).Draw(t, "inputs") {
		width := strconv.Itoa(rapid.IntRange(1, 6).Draw(t, "width"))
		dims := rapid.SampledFrom([][]string{{"batch", width}, {"batch", "sequence", width}, {"3", width}}).Draw(t, "dims")
		v := drawn{fmt.Sprintf("input_%d", i), dims}
		names := slices.Clone(dims)
		for j, dim := range names {
			if _, err := strconv.Atoi(dim); err == nil {
				names[j] = ""
			}
		}
		d.input(v.id, v.text(), names...)
		d.values = append(d.values, v)
	}
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		d.step()
	}
	for _, v := range slices.Clone(d.values) {
		if !d.used[v.id] && slices.Contains(d.Graph.Inputs, v.id) {
			d.used[v.id] = true
			d.add("Relu", "", []drawn{{dims: v.dims}}, v.id)
		}
	}
	shapes := map[string][]string{}
	for _, v := range d.values {
		id, output := sourceOf(v.id)
		if output == 0 && !slices.Contains(d.Graph.Inputs, id) {
			shapes[id] = v.dims
		}
		// A value that nothing uses is an output. The second output of a node cannot be one.
		if !d.used[v.id] && output == 0 {
			d.Graph.Outputs = append(d.Graph.Outputs, id)
		}
	}
	for _, n := range d.Graph.Nodes {
		if slices.Contains(d.Graph.Outputs, n.ID) || slices.ContainsFunc(d.Graph.Edges, func(e Edge) bool { return e.Source == n.ID }) {
			continue
		}
		d.Graph.Outputs = append(d.Graph.Outputs, n.ID)
	}
	return &d.Model, shapes
}

// A valid model has no issue, its text is read as the same model, and the inferred shapes are those that
// the drawer knows.
func TestRandomModelsAreValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, shapes := drawModel(t)
		require.Empty(t, m.Validate())
		text, err := m.JSON()
		require.NoError(t, err)
		again, err := Parse(text)
		require.NoError(t, err)
		back, err := again.JSON()
		require.NoError(t, err)
		require.Equal(t, string(text), string(back))
		lengths := map[string]uint64{"batch": rapid.Uint64Range(1, 9).Draw(t, "batch"), "sequence": rapid.Uint64Range(1, 9).Draw(t, "sequence")}
		g, err := m.Resolve()
		require.NoError(t, err)
		dims := map[string]uint64{}
		for _, name := range g.DynamicDims() {
			dims[name] = lengths[name]
		}
		s, err := again.Infer(dims)
		require.NoError(t, err)
		for at, n := range m.Graph.Nodes {
			for axis, dim := range shapes[n.ID] {
				length, err := strconv.ParseUint(dim, 10, 64)
				if err != nil {
					length = lengths[dim]
				}
				require.Equal(t, length, s.Nodes[at].Outputs[0].Shape[axis], "dimension %d of %s", axis, n.ID)
			}
		}
		ran := map[int]bool{}
		for _, at := range s.Graph.Order {
			for _, o := range g.Nodes[at].Operands {
				require.True(t, o.Node == None || ran[o.Node], "a source runs before its user")
			}
			ran[at] = true
		}
		require.Len(t, ran, len(m.Graph.Nodes))
	})
}

// mistake changes a valid model so that it is wrong. It returns false if the model has no place for it.
type mistake struct {
	name string
	make func(m *Model, pick func(n int) int) bool
	// category is that of an issue that Validate must find; "": any.
	category string
}

// mistakes are one change of each kind.
func mistakes() []mistake {
	edge := func(change func(m *Model, e *Edge)) func(m *Model, pick func(n int) int) bool {
		return func(m *Model, pick func(n int) int) bool {
			if len(m.Graph.Edges) == 0 {
				return false
			}
			change(m, &m.Graph.Edges[pick(len(m.Graph.Edges))])
			return true
		}
	}
	parameter := func(change func(p *Parameter)) func(m *Model, pick func(n int) int) bool {
		return func(m *Model, pick func(n int) int) bool {
			if len(m.Parameters) == 0 {
				return false
			}
			change(&m.Parameters[pick(len(m.Parameters))])
			return true
		}
	}
	layer := func(change func(l *Layer)) func(m *Model, pick func(n int) int) bool {
		return func(m *Model, pick func(n int) int) bool {
			change(&m.Layers[pick(len(m.Layers))])
			return true
		}
	}
	computed := func(change func(l *Layer)) func(m *Model, pick func(n int) int) bool {
		return func(m *Model, pick func(n int) int) bool {
			inputs := len(m.Graph.Inputs) // their layers come first
			change(&m.Layers[inputs+pick(len(m.Layers)-inputs)])
			return true
		}
	}
	return []mistake{
		{"source of an edge", edge(func(_ *Model, e *Edge) { e.Source += "?" }), CategoryGraph},
		{"target of an edge", edge(func(_ *Model, e *Edge) { e.Target = "" }), CategoryGraph},
		{"output of an edge", edge(func(_ *Model, e *Edge) { e.SourceOutput = at(uint32(7)) }), CategoryGraph},
		{"input of an edge", edge(func(_ *Model, e *Edge) { e.TargetInput = at(uint32(7)) }), CategoryGraph},
		{"edge twice", edge(func(m *Model, e *Edge) { m.Graph.Edges = append(m.Graph.Edges, *e) }), CategoryGraph},
		{"edge missing", edge(func(m *Model, e *Edge) { *e = m.Graph.Edges[0]; m.Graph.Edges = m.Graph.Edges[1:] }), CategoryGraph},
		{"cycle", edge(func(m *Model, e *Edge) { e.Source = e.Target; e.SourceOutput = nil }), CategoryGraph},
		{"output unknown", func(m *Model, pick func(n int) int) bool {
			m.Graph.Outputs[pick(len(m.Graph.Outputs))] += "?"
			return true
		}, CategoryGraph},
		{"no outputs", func(m *Model, _ func(n int) int) bool { m.Graph.Outputs = []string{}; return true }, CategoryGraph},
		{"input unknown", func(m *Model, pick func(n int) int) bool {
			m.Graph.Inputs[pick(len(m.Graph.Inputs))] += "?"
			return true
		}, CategoryGraph},
		{"id twice", func(m *Model, pick func(n int) int) bool {
			n := pick(len(m.Graph.Nodes) - 1)
			m.Graph.Nodes[n].ID = m.Graph.Nodes[n+1].ID
			return true
		}, CategoryGraph},
		{"layer unknown", func(m *Model, pick func(n int) int) bool {
			m.Graph.Nodes[pick(len(m.Graph.Nodes))].LayerName += "?"
			return true
		}, CategoryGraph},
		{"layer twice", func(m *Model, pick func(n int) int) bool {
			n := pick(len(m.Layers) - 1)
			m.Layers[n].Name = m.Layers[n+1].Name
			return true
		}, CategoryLayers},
		{"type of a layer", layer(func(l *Layer) { l.Type += "?" }), CategoryLayers},
		{"attribute", layer(func(l *Layer) { l.Config = map[string]json.RawMessage{"unknown": rawOf(1)} }), CategoryLayers},
		{"outputs missing", layer(func(l *Layer) { l.Outputs = nil }), CategoryLayers},
		{"negative dimension", layer(func(l *Layer) { l.Outputs[0].Shape[0] = -3 }), CategoryLayers},
		{"type of an output", computed(func(l *Layer) { l.Outputs[0].DType++ }), ""},
		{"dimension of an output", computed(func(l *Layer) { l.Outputs[0].Shape[0] = 1001 }), ""},
		{"rank of an output", computed(func(l *Layer) { l.Outputs[0].Shape = append(l.Outputs[0].Shape, 1) }), ""},
		{"name of a parameter", parameter(func(p *Parameter) { p.Name += "?" }), CategoryLayers},
		{"no elements", parameter(func(p *Parameter) { p.Source, p.Value = "", nil }), CategoryInitialization},
		{"zero dimension", parameter(func(p *Parameter) { p.Shape[0] = 0 }), CategoryParameters},
		{"huge dimension", parameter(func(p *Parameter) { p.Shape[0] = math.MaxInt64 }), ""},
		{"other dimension", parameter(func(p *Parameter) { p.Shape[0] += 2 }), ""},
		{"unordered strategy", parameter(func(p *Parameter) {
			p.Value = nil
			p.Initialization = Initialization{Strategy: StrategyUniform, Min: 2, Max: 1}
		}), CategoryInitialization},
		{"heads", func(m *Model, _ func(n int) int) bool { m.Architecture.Dimensions.NumHeads = 5; return true }, CategoryArchitecture},
		{"family", func(m *Model, _ func(n int) int) bool { m.Metadata.Family = "x"; return true }, CategoryMetadata},
	}
}

// Each single mistake in a random model is found.
func TestEachMistakeIsFound(t *testing.T) {
	for _, one := range mistakes() {
		t.Run(one.name, func(t *testing.T) {
			made := 0
			rapid.Check(t, func(t *rapid.T) {
				valid, _ := drawModel(t)
				m := valid.Clone()
				if !one.make(m, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "place") }) {
					return
				}
				made++
				issues := m.Validate()
				require.True(t, slices.ContainsFunc(issues, func(i Issue) bool {
					return i.Severity > Warning && (one.category == "" || i.Category == one.category)
				}), "%+v", issues)
				for _, i := range issues {
					require.NotEmpty(t, i.ConfigPath)
					require.NotEmpty(t, i.Description)
				}
				require.Empty(t, valid.Validate(), "the copy alone is changed")
			})
			require.Positive(t, made)
		})
	}
}

// Any number of mistakes in one model is safe: nothing panics, and what Validate lets pass can be
// resolved and written.
func TestManyMistakesAreSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, _ := drawModel(t)
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "place") }
		for range rapid.IntRange(1, 6).Draw(t, "mistakes") {
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case kind == 0 && len(m.Parameters) > 0:
				p := &m.Parameters[pick(len(m.Parameters))]
				p.Shape = rapid.SliceOfN(rapid.Int64(), 0, 9).Draw(t, "shape")
				p.Parts = []Parameter{{Shape: rapid.SliceOfN(rapid.Int64Range(0, 9), 0, 3).Draw(t, "part")}}
				p.DType = dtype.DType(rapid.IntRange(-1, 300).Draw(t, "dtype"))
			case kind == 1:
				l := &m.Layers[pick(len(m.Layers))]
				l.Inputs = append(l.Inputs, Tensor{Name: rapid.SampledFrom([]string{"", "in0", "x"}).Draw(t, "name"), Shape: rapid.SliceOfN(rapid.Int64(), 0, 9).Draw(t, "shape")})
				l.Outputs = rapid.SampledFrom([][]Tensor{nil, l.Outputs, l.Inputs}).Draw(t, "outputs")
			case kind == 2 && len(m.Graph.Edges) > 0:
				e := &m.Graph.Edges[pick(len(m.Graph.Edges))]
				e.Source = m.Graph.Nodes[pick(len(m.Graph.Nodes))].ID
				e.TargetInput = at(rapid.Uint32Range(0, 3).Draw(t, "input"))
			default:
				n := &m.Graph.Nodes[pick(len(m.Graph.Nodes))]
				n.LayerName = m.Layers[pick(len(m.Layers))].Name
				n.Metadata = map[string]json.RawMessage{MetadataDims: json.RawMessage(rapid.SampledFrom([]string{"", "null", "[]", `["a","a"]`, `["batch",1]`}).Draw(t, "dims"))}
			}
		}
		isStopped := slices.ContainsFunc(m.Validate(), func(i Issue) bool { return i.Severity > Warning })
		m.Clone()
		_, _ = m.JSON()
		_, countErr := m.Count()
		g, err := m.Resolve()
		if err != nil {
			require.True(t, isStopped)
			return
		}
		dims := map[string]uint64{}
		for i, name := range g.DynamicDims() {
			dims[name] = uint64(i + 2)
		}
		shapes, err := g.Infer(dims)
		require.True(t, err == nil || isStopped)
		if err == nil && countErr == nil {
			require.NoError(t, g.WriteText(io.Discard, shapes))
		}
		require.NoError(t, g.WriteDOT(io.Discard, nil))
	})
}
