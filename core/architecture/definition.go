package architecture

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/estimate"
	"ferrum_mem/core/internal/similar"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
)

// Definition is the definition of a model with what was noticed about its files.
type Definition struct {
	// Model has the sources of all parameters, or of none if there are no weights.
	Model *ir.Model
	// Sentence states how the model makes one vector of a text; nil: the files do not state it.
	Sentence *Sentence
	// Issues are warnings.
	Issues []ir.Issue
}

// MetadataSentence is the key of ir.Metadata.Additional with the Sentence of a model that has one.
const MetadataSentence = "sentence"

// Options change a definition.
type Options struct {
	// Name is the name of the model; "": the name of the folder or file.
	Name string
	// DType is the type of the parameters and of what is computed from them: F32, F16, BF16 or F64;
	// nil: F16 or BF16 if all weights have it, otherwise F32. Without weights it is the type that the
	// configuration states.
	DType *dtype.DType
}

// Open makes the definition of the model in a folder (config.json, and safetensors, PyTorch or GGUF
// files), or of a GGUF, safetensors, configuration or ONNX file. Without files of weights the parameters have
// no sources. A file of ONNX has its graph and states its types: Options.DType is rejected for it.
//
// Errors: those of estimate.Open, weights.Open and onnx.File.Definition; CodeUnsupported for a family, a setting or a type of
// weights that is not built; CodeInvalidFormat for settings that contradict each other, and for weights
// with missing tensors or other shapes. The message has the file, the setting or tensor, and the reason.
// Validate returns all issues.
func Open(path string, o Options) (*Definition, error) {
	d := draft{path: path, options: o}
	return d.finish(d.open())
}

// OpenConfig makes the definition from the text of a configuration alone; name is its name for errors.
// Errors: as those of Open.
func OpenConfig(name string, text []byte, o Options) (*Definition, error) {
	d := draft{path: name, options: o}
	return d.finish(d.openConfig(text))
}

// Validate returns everything that Open notices about a configuration and its weights. An issue of the
// severity Error or Critical stops a build. Errors: the files cannot be read.
func Validate(path string) ([]ir.Issue, error) {
	d := draft{path: path}
	err := d.open()
	return d.list, err
}

// ValidateConfig is Validate for the text of a configuration alone.
func ValidateConfig(name string, text []byte) ([]ir.Issue, error) {
	d := draft{path: name}
	err := d.openConfig(text)
	return d.list, err
}

// draft is a definition that is being made.
type draft struct {
	issues
	path     string
	options  Options
	model    *ir.Model
	sentence *Sentence
}

// finish returns the definition, or the error that stops it.
func (d *draft) finish(err error) (*Definition, error) {
	if err == nil {
		err = d.stop
	}
	if err != nil {
		return nil, err
	}
	if d.sentence != nil {
		text, err := json.Marshal(d.sentence)
		if err != nil {
			return nil, device.Errorf(device.CodeSerialization, opSentence, "%w", err)
		}
		if d.model.Metadata.Additional == nil {
			d.model.Metadata.Additional = map[string]json.RawMessage{}
		}
		d.model.Metadata.Additional[MetadataSentence] = text
	}
	return &Definition{Model: d.model, Sentence: d.sentence, Issues: d.list}, nil
}

func (d *draft) openConfig(text []byte) error {
	x, err := estimate.OpenConfig(d.path, text)
	if err != nil {
		return d.addRead(err)
	}
	return d.define(x.Model, nil)
}

func (d *draft) open() error {
	if isONNX(d.path) {
		return d.openONNX()
	}
	x, err := estimate.Open(d.path)
	if err != nil {
		return d.addRead(err)
	}
	formats := []weights.Format{header.PyTorch}
	switch {
	case x.Checkpoint != nil && x.Checkpoint.GGUF:
		formats = []weights.Format{header.GGUF}
	case x.Checkpoint != nil:
		formats = []weights.Format{header.Safetensors}
	case filepath.Ext(d.path) == ".json":
		return d.define(x.Model, nil)
	}
	source, err := weights.Open(d.path, weights.Options{Formats: formats})
	switch {
	case err == nil:
		defer func() { _ = source.Close() }()
	case x.Checkpoint != nil || device.CodeOf(err) != device.CodeNotFound:
		return err
	}
	if x.Model == nil {
		return d.unknown(source)
	}
	var in *store
	if source != nil {
		in = storeOf(source)
	}
	if err := d.define(x.Model, in); err != nil || d.stop != nil {
		return err
	}
	d.readSentence()
	return nil
}

func (d *draft) openONNX() (err error) {
	if d.options.DType != nil {
		return device.Errorf(device.CodeInvalidArgument, opDefine, "dtype: %s states the type of each parameter", d.path)
	}
	d.model, d.sentence, err = d.readONNX(d.path, MetadataSentence)
	if d.model != nil && d.options.Name != "" {
		d.model.Metadata.Name = d.options.Name
	}
	return err
}

// readSentence reads how the model makes one vector of a text. The model can be built without it, so what
// is wrong is a warning.
func (d *draft) readSentence() {
	path := d.path
	if isWeights := strings.HasSuffix(path, ".safetensors") || strings.HasSuffix(path, ".index.json"); isWeights {
		path = filepath.Dir(path)
	}
	s, err := ReadSentence(path)
	if err != nil {
		d.add(path, warning(categorySentence, modulesName, "make the vector of a text from last_hidden_state in the program", "%v", err))
		return
	}
	if s == nil {
		return
	}
	most := d.model.Architecture.Dimensions.MaxSequenceLength
	if s.MaxTokens > most {
		d.add(path, warning(categorySentence, lengthName+".max_seq_length", fmt.Sprintf("state at most %d", most),
			"is %d, and the model has %d positions: longer texts are cut off there", s.MaxTokens, most))
	}
	if s.MaxTokens == 0 || s.MaxTokens > most {
		s.MaxTokens = most
	}
	d.sentence = s
}

// unknown adds the issue of weights without a configuration, or of an unknown architecture in GGUF.
func (d *draft) unknown(source *weights.Source) error {
	if name := source.Values()["general.architecture"]; name.IsText() {
		d.add(d.path, unsupported("general.architecture", useOfKnown(),
			"the architecture %.60q is not known; the nearest is %s", name.Text, similar.Names(name.Text, ModelTypes(), 1)[0]))
		return nil
	}
	return device.Errorf(device.CodeNotFound, opDefine, "%s: there is no %s beside the weights", d.path, estimate.ConfigName)
}

// define makes the definition from the numbers of a configuration and the weights, if there are any.
func (d *draft) define(m *estimate.Model, in *store) error {
	if f, refused := refuse(m); refused {
		f.severity = ir.Critical
		d.add(d.path, f)
		return nil
	}
	kind, err := d.dtype(m, in)
	if err != nil {
		return err
	}
	if d.check(d.path, m); d.stop != nil {
		return nil
	}
	e := encoder{of: m, names: table()[m.Type]}
	e.dtype, e.model = kind, d.describe(m, in)
	hasPooler := m.PoolerDense
	if in != nil {
		if f, isClear := in.setPrefix(e.names.words); !isClear {
			d.add(in.Name, f)
			return nil
		}
		if hasPooler && in.find(e.names.pooler+".weight") == nil && in.find(e.names.pooler+".bias") == nil {
			hasPooler = false
			d.add(in.Name, warning(categoryWeights, "weights."+in.stored(e.names.pooler+".weight"), "",
				"the weights have no pooler: the model has no output %s", poolerOutput))
		}
	}
	e.write(hasPooler)
	if e.err != nil {
		return device.Errorf(device.CodeInternal, opDefine, "%s: %w", d.path, e.err)
	}
	if in != nil {
		d.bind(in, e.model)
	}
	d.model = e.model
	return nil
}

// dtype returns the type of the parameters.
func (d *draft) dtype(m *estimate.Model, in *store) (dtype.DType, error) {
	switch {
	case d.options.DType != nil:
		switch t := *d.options.DType; t {
		case dtype.F32, dtype.F16, dtype.BF16, dtype.F64:
			return t, nil
		default:
			return 0, device.Errorf(device.CodeInvalidArgument, opDefine, "dtype: %s is not one of f32, f16, bf16, f64", t)
		}
	case in != nil:
		return in.dtype(), nil
	}
	switch m.Weights.Plain {
	case estimate.Float16:
		return dtype.F16, nil
	case estimate.BFloat16:
		return dtype.BF16, nil
	}
	return dtype.F32, nil
}

// describe fills in the metadata and dimensions of a model.
func (d *draft) describe(m *estimate.Model, in *store) *ir.Model {
	e, a := m.Encoding, m.Attention
	made := &ir.Model{
		Metadata: ir.Metadata{Name: d.name(), ModelType: m.Type, Family: ir.FamilyTransformer},
		Architecture: ir.Architecture{
			Name: m.Type,
			Dimensions: ir.Dimensions{
				VocabSize: m.Vocab, HiddenSize: m.Hidden, NumLayers: m.Layers, NumHeads: a.Heads,
				IntermediateSize: &m.MLP.Intermediate, MaxSequenceLength: m.Positions - e.FirstPosition,
			},
			Config: map[string]json.RawMessage{},
		},
		Graph: ir.Graph{Inputs: []string{}, Outputs: []string{}, Nodes: []ir.Node{}, Edges: []ir.Edge{}},
	}
	dimensions := &made.Architecture.Dimensions
	if a.KVHeads != a.Heads {
		dimensions.NumKVHeads = &a.KVHeads
	}
	if a.Heads*a.HeadDim != m.Hidden {
		dimensions.HeadDim = &a.HeadDim
	}
	g := graph{}
	for key, setting := range map[string]any{
		"hidden_act": e.Activation, "layer_norm_eps": e.NormEpsilon, "initializer_range": e.InitialStd,
		"type_vocab_size": m.TokenTypes, "pad_token_id": e.PadToken, "first_position": e.FirstPosition,
	} {
		made.Architecture.Config[key] = g.json(setting)
	}
	if in != nil {
		values := in.Values()
		for key, place := range map[string]**string{
			"general.description": &made.Metadata.Description, "general.author": &made.Metadata.Author, "general.license": &made.Metadata.License,
		} {
			if given := values[key]; given.IsText() {
				text := valid(given.Text)
				*place = &text
			}
		}
		if name := values["general.name"]; name.IsText() && d.options.Name == "" {
			made.Metadata.Name = valid(name.Text)
		}
		if version := values["general.version"]; version.IsText() {
			made.Metadata.Version = valid(version.Text)
		}
	}
	return made
}

// name returns the name of the model: that of its folder, or of its file without the ending.
func (d *draft) name() string {
	if d.options.Name != "" {
		return d.options.Name
	}
	path := d.path
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	if base := filepath.Base(path); base == estimate.ConfigName || strings.HasSuffix(base, ".safetensors") || strings.HasSuffix(base, ".index.json") {
		path = filepath.Dir(path)
	}
	return valid(strings.TrimSuffix(filepath.Base(path), ".gguf"))
}

// valid returns a text that JSON can have.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
