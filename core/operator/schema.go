package operator

import "math"

// The domains of operators.
const (
	// ONNX is the domain of the ONNX standard. Find also accepts its other name, "ai.onnx".
	ONNX = ""
	// Ferrum is the domain of the operators that ONNX lacks.
	Ferrum = "ferrum"
)

// Kind is the form of an attribute in JSON.
type Kind uint8

// The kinds of attributes.
const (
	// Int is an integer. A flag is an integer from 0 to 1.
	Int Kind = iota
	// Float is a number. It is rounded to F32, as ONNX stores it.
	Float
	// Ints is a list of integers.
	Ints
	// Text is one of a few texts.
	Text
	// DataType is the number of a data type in ONNX, such as 10, or its name here, such as "f16".
	DataType
)

// String describes the kind in messages.
func (k Kind) String() string {
	switch k {
	case Int:
		return "an integer"
	case Float:
		return "a number"
	case Ints:
		return "a list of integers"
	case Text:
		return "a text"
	}
	return "a data type"
}

// Parameter is an input or an output of an operator.
type Parameter struct {
	Name string
	// Variable is the name that ONNX gives the type: parameters with the same name have the same
	// type.
	Variable string
	Types    Types
	// IsOptional states that the parameter may be absent.
	IsOptional bool
	// IsVariadic states that the parameter, which is the last one, stands for one or more.
	IsVariadic bool
	// IsRead states that Infer reads the elements (Value.Known): a shape, axes or sizes.
	IsRead bool
}

// Attribute is an attribute of an operator.
type Attribute struct {
	Name string
	Kind Kind
	// IsRequired states that the attribute has no default and must be given.
	IsRequired bool
	// Default is an int64, a float64 or a string; nil: the attribute may be missing.
	Default any
	// Least and Most bound an Int. Both are 0 for an unbounded one.
	Least, Most int64
	// Choices are the values of a Text.
	Choices []string
	// Types are the values of a DataType.
	Types Types
}

// Schema is the form of an operator at an opset. It must not be changed.
type Schema struct {
	Domain, Name string
	// Since is the opset that introduced the form.
	Since      int
	Inputs     []Parameter
	Outputs    []Parameter
	Attributes []Attribute
	// Custom is nil for an operator of the domains ONNX and Ferrum. Otherwise Inputs has one parameter, which
	// stands for any number of inputs, and there are no Attributes: a use has a configuration.
	Custom Custom

	infer func(*call) error
	// origins finds what a part of the outputs is computed from; nil: no rule is known.
	origins func(*part) bool
}

// maxVariadic is the maximum number of inputs or outputs of an operator.
const maxVariadic = 4096

func input(name, variable string, types Types) Parameter {
	return Parameter{Name: name, Variable: variable, Types: types}
}

func optional(name, variable string, types Types) Parameter {
	return Parameter{Name: name, Variable: variable, Types: types, IsOptional: true}
}

func variadic(name, variable string, types Types) Parameter {
	return Parameter{Name: name, Variable: variable, Types: types, IsVariadic: true}
}

// numbers is an optional or required input with axes, sizes or a shape, which Infer reads.
func numbers(name string, isOptional bool) Parameter {
	return Parameter{Name: name, Variable: "tensor(int64)", Types: shapeNumbers, IsOptional: isOptional, IsRead: true}
}

// bounds is an optional or required input of Slice, which Infer reads.
func bounds(name string, isOptional bool) Parameter {
	return Parameter{Name: name, Variable: "Tind", Types: indices, IsOptional: isOptional, IsRead: true}
}

func integer(name string, initial int64) Attribute {
	return Attribute{Name: name, Kind: Int, Default: initial}
}

func zeroOrOne(name string, initial int64) Attribute {
	return Attribute{Name: name, Kind: Int, Default: initial, Most: 1}
}

func float(name string, initial float32) Attribute {
	return Attribute{Name: name, Kind: Float, Default: float64(initial)}
}

// atLeast bounds an integer without a default.
func atLeast(name string, least int64) Attribute {
	return Attribute{Name: name, Kind: Int, Least: least, Most: math.MaxInt64}
}

func list(name string, isRequired bool) Attribute {
	return Attribute{Name: name, Kind: Ints, IsRequired: isRequired}
}
