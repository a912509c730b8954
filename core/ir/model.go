package ir

import (
	"encoding/json"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

// Model is the complete definition of a model, without the elements of its parameters.
type Model struct {
	Metadata     Metadata     `json:"metadata"`
	Architecture Architecture `json:"architecture"`
	Parameters   []Parameter  `json:"parameters"`
	Layers       []Layer      `json:"layers"`
	Graph        Graph        `json:"graph"`

	// Operators has the layer types of the program; nil: there are none. It is not part of the text.
	Operators operator.Vocabulary `json:"-"`
}

// MetadataSchema is the key of Metadata.Additional with the version of the schema, which JSON writes.
// A definition without the key has version 1.
const MetadataSchema = "schema_version"

// SchemaVersion is the version of the schema that JSON writes and Parse reads. In version 1 the layers
// are operators of opset 25 of ONNX, and of version 1 of the domain "ferrum".
const SchemaVersion = 1

// Metadata describes a model to people and programs.
type Metadata struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// ModelType is the model_type of the configuration, such as "bert".
	ModelType string `json:"model_type"`
	// Family is the kind of architecture.
	Family      Family                     `json:"architecture_family"`
	Description *string                    `json:"description,omitempty"`
	Author      *string                    `json:"author,omitempty"`
	License     *string                    `json:"license,omitempty"`
	Additional  map[string]json.RawMessage `json:"additional,omitempty"`
}

// Family is a kind of architecture.
type Family string

// The families. FamilyCustom is everything else.
const (
	FamilyTransformer Family = "transformer"
	FamilyCNN         Family = "cnn"
	FamilyRNN         Family = "rnn"
	FamilyGNN         Family = "gnn"
	FamilyDiffusion   Family = "diffusion"
	FamilyCustom      Family = "custom"
)

// Architecture has the dimensions of a model.
type Architecture struct {
	Name       string                     `json:"name"`
	Dimensions Dimensions                 `json:"dimensions"`
	Config     map[string]json.RawMessage `json:"config,omitempty"`
}

// Dimensions are widths and counts in elements.
type Dimensions struct {
	VocabSize  uint64 `json:"vocab_size"`
	HiddenSize uint64 `json:"hidden_size"`
	NumLayers  uint64 `json:"num_layers"`
	NumHeads   uint64 `json:"num_heads"`
	// NumKVHeads is nil if each head has keys and values of its own.
	NumKVHeads *uint64 `json:"num_kv_heads,omitempty"`
	// HeadDim is nil if it is HiddenSize / NumHeads.
	HeadDim           *uint64 `json:"head_dim,omitempty"`
	IntermediateSize  *uint64 `json:"intermediate_size,omitempty"`
	MaxSequenceLength uint64  `json:"max_sequence_length"`
}

// Parameter is a tensor that the model has besides its inputs. Its elements come from the tensor Source
// of the weights, from Value, from Parts, or from Initialization.
type Parameter struct {
	Name string `json:"name"`
	// Shape has no dynamic dimension.
	Shape     []int64     `json:"shape"`
	DType     dtype.DType `json:"dtype"`
	Trainable bool        `json:"trainable"`
	// Initialization is the rule for the elements if the weights do not have them. The zero value is no
	// rule.
	Initialization Initialization `json:"initialization,omitzero"`
	// Source is the name of the tensor of the weights; "": the weights do not have it.
	Source string `json:"source,omitempty"`
	// Value has the elements of a constant of type I64: axes, sizes, a shape.
	// A constant is not counted as a parameter of the model.
	Value []int64 `json:"value,omitempty"`
	// Parts are the parameters of which this one consists, one after the other along the first
	// dimension. Each has a Source or an Initialization, which the whole then does not have. A pass that
	// joins layers makes such parameters. A part has no Value and no Parts.
	Parts    []Parameter                `json:"parts,omitempty"`
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// Dynamic is the length of a dimension that the inputs of a run decide.
const Dynamic = -1

// Tensor is an input or an output of a layer. Its name is unique within the layer. An input with the
// name of a parameter of the layer is that parameter. Other inputs come through edges. The name "" stands
// for an optional input that is absent, and for an optional output that the layer does not compute.
type Tensor struct {
	Name string `json:"name"`
	// Shape may have Dynamic dimensions.
	Shape []int64     `json:"shape"`
	DType dtype.DType `json:"dtype"`
}

// InputType is the type of a layer whose only output is an input of the model.
const InputType = "Input"

// Layer is an operator with its attributes and parameters.
type Layer struct {
	Name string `json:"name"`
	// Type is the full name of an operator, such as "MatMul", "ferrum.linear" or that of a layer type of the
	// program, or InputType.
	Type string `json:"layer_type"`
	// Inputs and Outputs are in the order of the operator.
	Inputs  []Tensor `json:"inputs"`
	Outputs []Tensor `json:"outputs"`
	// Parameters has the names of the parameters among the inputs.
	Parameters []string `json:"parameters"`
	// Config has the attributes of the operator.
	Config map[string]json.RawMessage `json:"config,omitempty"`
}

// Graph connects layers.
type Graph struct {
	// Inputs and Outputs have the ids of nodes. The layer of an input has the type InputType. An output
	// of the model is the first output of its node, and has the id of the node as its name.
	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`
	Nodes   []Node   `json:"nodes"`
	Edges   []Edge   `json:"edges"`
}

// Node is one use of a layer. Two nodes with one layer share its parameters.
type Node struct {
	ID        string `json:"id"`
	LayerName string `json:"layer_name"`
	// Metadata of an input node may have MetadataDims, the names of its dimensions, such as ["batch",
	// "sequence"], where "" is no name: dimensions with the same name have the same length; and
	// MetadataDefault, the rule for an input that a run does not give.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// The keys of the metadata of an input node.
const (
	MetadataDims    = "dims"
	MetadataDefault = "default"
)

// Default is the rule for the elements of an input that a run does not give. "" is no rule: each run
// must give the input.
type Default string

// The rules. DefaultPositions is 0, 1, 2 ... along the last dimension.
const (
	DefaultZeros     Default = "zeros"
	DefaultOnes      Default = "ones"
	DefaultPositions Default = "positions"
)

// Edge connects an output of a node to an input of another node.
type Edge struct {
	Source string `json:"source"`
	Target string `json:"target"`
	// SourceOutput and TargetInput are positions in the lists of the layers; nil: 0.
	SourceOutput *uint32 `json:"source_output,omitempty"`
	TargetInput  *uint32 `json:"target_input,omitempty"`
}
