package ir

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/similar"
)

// The fields of the objects of a definition.
var (
	modelForm    = &form{required: []string{"metadata", "architecture", "parameters", "layers", "graph"}}
	metadataForm = &form{
		required: []string{"name", "version", "model_type", "architecture_family"},
		optional: []string{"description", "author", "license", "additional"},
	}
	architectureForm = &form{required: []string{"name", "dimensions"}, optional: []string{"config"}}
	dimensionsForm   = &form{
		required: []string{"vocab_size", "hidden_size", "num_layers", "num_heads", "max_sequence_length"},
		optional: []string{"num_kv_heads", "head_dim", "intermediate_size"},
	}
	parameterForm = &form{
		required: []string{"name", "shape", "dtype", "trainable"},
		optional: []string{"initialization", "source", "value", "metadata", "parts"},
	}
	partForm = &form{
		required: []string{"name", "shape", "dtype", "trainable"},
		optional: []string{"initialization", "source", "metadata"},
	}
	statedForm         = &form{required: []string{"name", "shape", "dtype"}, optional: []string{"trainable", "initialization"}}
	initializationForm = &form{required: []string{"strategy"}, optional: []string{"min", "max", "mean", "std", "name"}}
	layerForm          = &form{
		required: []string{"name", "layer_type", "inputs", "outputs", "parameters"},
		optional: []string{"config"},
	}
	tensorForm = &form{required: []string{"name", "shape", "dtype"}}
	graphForm  = &form{required: []string{"inputs", "outputs", "nodes", "edges"}}
	nodeForm   = &form{required: []string{"id", "layer_name"}, optional: []string{"metadata"}}
	edgeForm   = &form{required: []string{"source", "target"}, optional: []string{"source_output", "target_input"}}
)

// Parse reads a definition. It checks the form of the text; Validate checks the contents. A field that
// the definition does not know is an error, except in the free-form maps. Every message has the path of
// the value. Errors: CodeInvalidFormat; CodeUnsupported for another version of the schema.
func Parse(text []byte) (*Model, error) {
	r := newReader(text)
	m := &Model{}
	r.object(modelForm, func(key string) { r.model(m, key) })
	r.atEnd("the definition")
	if r.err != nil {
		return nil, r.err
	}
	if wrong := wrongSchema(m.Metadata.Additional); wrong != "" {
		return nil, device.Errorf(device.CodeUnsupported, opParse, "metadata.additional.%s: %s", MetadataSchema, wrong)
	}
	return m, nil
}

// ParseParameters reads the parameters that a layer type of the program states: a list of objects with
// name, shape and dtype, and optional trainable and initialization. Errors: CodeInvalidFormat.
func ParseParameters(text []byte) ([]Parameter, error) {
	r := newReader(text)
	list := records(r, statedForm, r.parameter)
	r.atEnd("the list")
	return list, r.err
}

// atEnd checks that the text ends here.
func (r *reader) atEnd(what string) {
	if r.err != nil {
		return
	}
	if _, err := r.decoder.Token(); !errors.Is(err, io.EOF) {
		r.fail("something follows %s at byte %d", what, r.decoder.InputOffset())
	}
}

// wrongSchema returns why the version of the schema is not supported, or "".
func wrongSchema(additional map[string]json.RawMessage) string {
	version, isGiven := additional[MetadataSchema]
	if !isGiven || string(version) == strconv.Itoa(SchemaVersion) {
		return ""
	}
	return "the version of the schema is " + printable(short(string(version))) + ": this library reads version " + strconv.Itoa(SchemaVersion)
}

// short returns a text without the end of a long one.
func short(text string) string {
	const longest = 40
	if len(text) > longest {
		return text[:longest] + "..."
	}
	return text
}

func (r *reader) model(m *Model, key string) {
	switch key {
	case "metadata":
		r.object(metadataForm, func(key string) { r.metadata(&m.Metadata, key) })
	case "architecture":
		r.object(architectureForm, func(key string) { r.architecture(&m.Architecture, key) })
	case "parameters":
		m.Parameters = records(r, parameterForm, r.parameter)
	case "layers":
		m.Layers = records(r, layerForm, r.layer)
	case "graph":
		r.object(graphForm, func(key string) { r.graph(&m.Graph, key) })
	}
}

func (r *reader) metadata(m *Metadata, key string) {
	switch key {
	case "name":
		m.Name = r.text()
	case "version":
		m.Version = r.text()
	case "model_type":
		m.ModelType = r.text()
	case "architecture_family":
		m.Family = Family(r.text())
	case "description":
		m.Description = r.optionalText()
	case "author":
		m.Author = r.optionalText()
	case "license":
		m.License = r.optionalText()
	case "additional":
		m.Additional = r.extras()
	}
}

func (r *reader) architecture(a *Architecture, key string) {
	switch key {
	case "name":
		a.Name = r.text()
	case "dimensions":
		r.object(dimensionsForm, func(key string) { r.dimensions(&a.Dimensions, key) })
	case "config":
		a.Config = r.extras()
	}
}

func (r *reader) dimensions(d *Dimensions, key string) {
	switch key {
	case "vocab_size":
		d.VocabSize = r.whole(64)
	case "hidden_size":
		d.HiddenSize = r.whole(64)
	case "num_layers":
		d.NumLayers = r.whole(64)
	case "num_heads":
		d.NumHeads = r.whole(64)
	case "num_kv_heads":
		d.NumKVHeads = r.optionalWhole(64)
	case "head_dim":
		d.HeadDim = r.optionalWhole(64)
	case "intermediate_size":
		d.IntermediateSize = r.optionalWhole(64)
	case "max_sequence_length":
		d.MaxSequenceLength = r.whole(64)
	}
}

func (r *reader) parameter(p *Parameter, key string) {
	switch key {
	case "name":
		p.Name = r.text()
	case "shape":
		p.Shape = r.integers()
	case "dtype":
		p.DType = r.dtype()
	case "trainable":
		p.Trainable = r.flag()
	case "initialization":
		r.object(initializationForm, func(key string) { r.initialization(&p.Initialization, key) })
	case "source":
		p.Source = r.text()
	case "value":
		p.Value = r.integers()
	case "parts":
		p.Parts = records(r, partForm, r.parameter)
	case "metadata":
		p.Metadata = r.extras()
	}
}

func (r *reader) initialization(i *Initialization, key string) {
	switch key {
	case "strategy":
		i.Strategy = Strategy(r.text())
	case "min":
		i.Min = r.float()
	case "max":
		i.Max = r.float()
	case "mean":
		i.Mean = r.float()
	case "std":
		i.Std = r.float()
	case "name":
		i.Name = r.text()
	}
}

// dtype reads the name of a data type.
func (r *reader) dtype() dtype.DType {
	name := r.text()
	if r.err != nil {
		return 0
	}
	t, err := dtype.Named(name)
	if err != nil {
		r.fail("%s is not a data type: the nearest is %q", quoted(name), similar.Names(name, typeNames(), 1)[0])
	}
	return t
}

// typeNames lists the names of all data types.
func typeNames() []string {
	var names []string
	for t := dtype.DType(0); t < 2*dtype.GGUFBase; t++ {
		if t.IsKnown() {
			names = append(names, t.String())
		}
	}
	return names
}

func (r *reader) layer(l *Layer, key string) {
	switch key {
	case "name":
		l.Name = r.text()
	case "layer_type":
		l.Type = r.text()
	case "inputs":
		l.Inputs = records(r, tensorForm, r.tensor)
	case "outputs":
		l.Outputs = records(r, tensorForm, r.tensor)
	case "parameters":
		l.Parameters = r.texts()
	case "config":
		l.Config = r.extras()
	}
}

func (r *reader) tensor(t *Tensor, key string) {
	switch key {
	case "name":
		t.Name = r.text()
	case "shape":
		t.Shape = r.integers()
	case "dtype":
		t.DType = r.dtype()
	}
}

func (r *reader) graph(g *Graph, key string) {
	switch key {
	case "inputs":
		g.Inputs = r.texts()
	case "outputs":
		g.Outputs = r.texts()
	case "nodes":
		g.Nodes = records(r, nodeForm, r.node)
	case "edges":
		g.Edges = records(r, edgeForm, r.edge)
	}
}

func (r *reader) node(n *Node, key string) {
	switch key {
	case "id":
		n.ID = r.text()
	case "layer_name":
		n.LayerName = r.text()
	case "metadata":
		n.Metadata = r.extras()
	}
}

func (r *reader) edge(e *Edge, key string) {
	switch key {
	case "source":
		e.Source = r.text()
	case "target":
		e.Target = r.text()
	case "source_output":
		e.SourceOutput = r.position()
	case "target_input":
		e.TargetInput = r.position()
	}
}

// position reads a position in a list, or null.
func (r *reader) position() *uint32 {
	value := r.optionalWhole(32)
	if value == nil {
		return nil
	}
	at := uint32(*value)
	return &at
}
