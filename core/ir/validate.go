package ir

import (
	"maps"
	"slices"
	"strconv"
)

// Validate checks the whole definition: names, dimensions, parameters, layers, the graph, and the types
// and shapes of all tensors for two choices of lengths of the dynamic dimensions. It returns at most 1001
// issues. A definition without an Error or Critical can be resolved. What is unused is
// reported for such a definition only. It takes O(n log n) time for n nodes and edges.
func (m *Model) Validate() []Issue {
	_, issues := m.Check()
	return issues
}

// Check validates the definition, and resolves it if it has no Error or Critical; the graph is nil for
// others. It takes half the time of Validate and Resolve.
func (m *Model) Check() (*Resolved, []Issue) {
	f := &findings{}
	f.metadata(&m.Metadata)
	f.architecture(m)
	for i := range m.Parameters {
		f.parameter(i, &m.Parameters[i])
	}
	f.tied(m.Parameters)
	g, r := f.resolve(m)
	r.infer(g)
	// A name that is wrong makes what it should refer to unused.
	if f.err(opValidate) != nil {
		return nil, f.all()
	}
	r.unused()
	return g, f.all()
}

// families lists the kinds of architectures.
func families() []string {
	return []string{
		string(FamilyTransformer), string(FamilyCNN), string(FamilyRNN), string(FamilyGNN), string(FamilyDiffusion), string(FamilyCustom),
	}
}

func (f *findings) metadata(m *Metadata) {
	if m.Name == "" {
		f.report(Warning, CategoryMetadata, "metadata.name", "the model has no name").suggest("set a name, which messages and reports show")
	}
	if !slices.Contains(families(), string(m.Family)) {
		i := f.fault(CategoryMetadata, "metadata.architecture_family", "the family %s is not known", quoted(string(m.Family)))
		f.nearest(i, string(m.Family), families())
	}
	if wrong := wrongSchema(m.Additional); wrong != "" {
		f.report(Critical, CategoryMetadata, "metadata.additional."+MetadataSchema, "%s", wrong)
	}
}

// maxDimension bounds the widths and counts of an architecture. All models are far below it.
const maxDimension = 1 << 40

// architecture checks the dimensions. A transformer must have all of them.
func (f *findings) architecture(m *Model) {
	const path = "architecture.dimensions."
	d := &m.Architecture.Dimensions
	isTransformer := m.Metadata.Family == FamilyTransformer
	optional := func(value *uint64) uint64 {
		if value == nil {
			return 1
		}
		return *value
	}
	for _, dimension := range []struct {
		name       string
		value      uint64
		isRequired bool
	}{
		{"vocab_size", d.VocabSize, isTransformer}, {"hidden_size", d.HiddenSize, isTransformer}, {"num_layers", d.NumLayers, isTransformer},
		{"num_heads", d.NumHeads, isTransformer}, {"max_sequence_length", d.MaxSequenceLength, isTransformer},
		{"num_kv_heads", optional(d.NumKVHeads), true}, {"head_dim", optional(d.HeadDim), true}, {"intermediate_size", optional(d.IntermediateSize), true},
	} {
		if dimension.value == 0 && dimension.isRequired {
			f.fault(CategoryArchitecture, path+dimension.name, "%s is 0", dimension.name).suggest("set it to at least 1")
		}
		if dimension.value > maxDimension {
			f.fault(CategoryArchitecture, path+dimension.name, "%s is %d: at most 2^40 is possible", dimension.name, dimension.value)
		}
	}
	if d.NumHeads == 0 {
		return
	}
	if d.HeadDim == nil && d.HiddenSize%d.NumHeads != 0 {
		f.fault(CategoryArchitecture, path+"num_heads", "%d heads do not divide the hidden size %d", d.NumHeads, d.HiddenSize).
			suggest("set head_dim, or a number of heads that divides the hidden size")
	}
	if d.NumKVHeads != nil && *d.NumKVHeads != 0 && d.NumHeads%*d.NumKVHeads != 0 {
		f.fault(CategoryArchitecture, path+"num_kv_heads", "%d heads of keys and values do not divide the %d heads", *d.NumKVHeads, d.NumHeads).
			suggest("set a number that divides %d", d.NumHeads)
	}
}

// infer checks the types and shapes for small lengths of the dynamic dimensions. A graph may need longer
// inputs, or multiples of a number: if small lengths do not fit, larger powers of 2 may.
func (r *resolver) infer(g *Resolved) {
	fixed, conflict := g.fixed()
	if conflict != nil {
		r.fault(CategoryShapes, elementPath("graph.nodes", g.Inputs[conflict.input].Node)+".metadata."+MetadataDims,
			"%s has the length %d, and another dimension with this name has %d", g.describe(*conflict), conflict.length, fixed[conflict.name]).
			suggest("give the dimensions different names or the same length")
		return
	}
	dims := g.DynamicDims()
	wrong := r.trials(g, fixed, dims, func(i, trial int) uint64 { return uint64(2 + i + trial*len(dims)) })
	if len(wrong) == 0 || len(dims) > 0 && len(r.trials(g, fixed, dims, largeLength)) == 0 {
		return
	}
	for _, i := range wrong {
		r.fault(i.Category, i.ConfigPath, "%s", i.Description)
	}
}

// largeLength is the length of a dynamic dimension in a trial with large lengths.
func largeLength(i, trial int) uint64 { return uint64(1+2*trial) << (10 + i%20) }

// trials infers all shapes for two choices of the lengths: the second one finds dimensions that are
// declared as fixed and depend on the inputs. It returns the issues of the first choice that has any.
func (r *resolver) trials(g *Resolved, fixed map[string]uint64, dims []string, length func(i, trial int) uint64) []Issue {
	for trial := range 2 {
		lengths := maps.Clone(fixed)
		for i, name := range dims {
			lengths[name] = length(i, trial)
		}
		if wrong := r.inferWith(g, lengths, trialText(dims, lengths)); len(wrong) > 0 || len(dims) == 0 {
			return wrong
		}
	}
	return nil
}

// trialText describes the lengths that validation chose.
func trialText(dims []string, lengths map[string]uint64) string {
	const most = 8
	text := ""
	for i, name := range dims {
		switch {
		case i == most:
			return text + ", ...)"
		case i == 0:
			text = " (for "
		default:
			text += ", "
		}
		text += quoted(name) + " = " + strconv.FormatUint(lengths[name], 10)
	}
	if text != "" {
		text += ")"
	}
	return text
}

// inferWith infers each node whose sources are inferred, so that one mistake gives one issue.
func (r *resolver) inferWith(g *Resolved, lengths map[string]uint64, with string) []Issue {
	var f findings
	s := g.shapes(lengths)
	note := func(wrong *mismatch) {
		if wrong != nil {
			f.fault(CategoryShapes, wrong.path, "%s%s", wrong.text, with)
		}
	}
	for i, in := range g.Inputs {
		if !r.isBroken[in.Node] {
			note(s.input(i))
		}
	}
	for _, at := range g.Order {
		if g.Nodes[at].Operator == nil || r.isBroken[at] || !s.hasSources(at) {
			continue
		}
		note(s.node(at))
	}
	return f.all()
}

// hasSources states whether the sources of a node are inferred.
func (s *Shapes) hasSources(at int) bool {
	for _, o := range s.Graph.Nodes[at].Operands {
		if o.Node != None && o.Output >= len(s.Nodes[o.Node].Outputs) {
			return false
		}
	}
	return true
}

// unused reports layers, parameters and nodes on which no output depends.
func (r *resolver) unused() {
	for at, isUsed := range r.isUsedParameter {
		if !isUsed {
			r.report(Warning, CategoryParameters, elementPath("parameters", at), "no layer uses the parameter %s", quoted(r.parameterNames[at])).suggest("remove it")
		}
	}
	for at, isUsed := range r.isUsedLayer {
		if !isUsed {
			r.report(Warning, CategoryLayers, elementPath("layers", at), "no node uses the layer %s", quoted(r.layerNames[at])).suggest("remove it")
		}
	}
	isUsed := make([]bool, len(r.graph.Nodes))
	var next []int
	visit := func(at int) {
		if !isUsed[at] {
			isUsed[at] = true
			next = append(next, at)
		}
	}
	for _, at := range r.graph.Outputs {
		visit(at)
	}
	for len(next) > 0 {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		for _, o := range r.graph.Nodes[at].Operands {
			if o.Node != None {
				visit(o.Node)
			}
		}
	}
	for at := range isUsed {
		if !isUsed[at] {
			r.report(Warning, CategoryGraph, elementPath("graph.nodes", at), "no output of the model depends on the node %s", quoted(r.nodeNames[at])).suggest("remove it")
		}
	}
}
