package onnx

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
)

const opConvert = "onnx.convert"

// converter makes the definition of a file.
type converter struct {
	*File
	arithmetic
	m      *ir.Model
	values map[string]*value
	// ids and layers are the names that nodes and layers of the definition have.
	ids, layers, parameters map[string]bool
	// stated has the values whose types the file states.
	stated map[string]*Value
	// positions has the id of the input that counts along a dimension.
	positions map[string]*value
	// isRead states which values a node or an output of the graph reads.
	isRead map[string]bool
	// tied has the names of values that are an output of the graph.
	isOutput map[string]bool
	node     *Node
}

// maxKnown is the most elements of a list whose elements are known.
const maxKnown = 4096

// value is a value of the graph while it is converted.
type value struct {
	name  string
	kind  dtype.DType
	shape []expression
	// known has the elements of a short list of integers or flags; nil: they are not known.
	known []expression
	// node is the id of the node that computes the value, and output the position. "": no node does.
	node   string
	output int
	// stored is the tensor of the weights with the elements, or nil.
	stored *weights.Tensor
	// parameters are the names of the parameters that hold the value, for its first and further uses in
	// one node.
	parameters []string
	// sigmoid is the value of which this one is the sigmoid, or nil. at is its node.
	sigmoid *value
	at      *Node
	// grown is the value of which this one is the Expand, and split the value whose leading dimensions are
	// merged to the rows of this one, or nil. pending adds the nodes for that when the value is read; nil: they
	// are there.
	grown, split *value
	pending      func() error
}

// numbers returns the elements if all of them are the same in every run.
func (v *value) numbers() ([]int64, bool) {
	if v == nil || v.known == nil {
		return nil, false
	}
	return numbersOf(v.known)
}

func numbersOf(list []expression) ([]int64, bool) {
	numbers := make([]int64, len(list))
	for i, e := range list {
		if !e.isNumber() {
			return nil, false
		}
		numbers[i] = e.factor
	}
	return numbers, true
}

// list makes a value of a list of known elements.
func listValue(kind dtype.DType, elements []expression) *value {
	return &value{kind: kind, shape: []expression{constantOf(int64(len(elements)))}, known: elements}
}

func isInteger(kind dtype.DType) bool {
	return kind == dtype.I64 || kind == dtype.I32 || kind == dtype.Bool
}

// unsupported is an error about the node.
func (c *converter) unsupported(format string, values ...any) error {
	text := fmt.Sprintf(format, values...)
	if c.node != nil {
		text = c.node.describe() + ": " + text
	}
	return device.Errorf(device.CodeUnsupported, opConvert, "%s: %s: an engine of ONNX Runtime is needed", c.Source.Name, text)
}

func (c *converter) wrong(format string, values ...any) error {
	return device.Errorf(device.CodeInvalidFormat, opConvert, "%s: %s: %s", c.Source.Name, c.node.describe(), fmt.Sprintf(format, values...))
}

// Message returns the message of an error, without the operation and the status.
func Message(err error) string {
	if typed, is := err.(*device.Error); is {
		return typed.Message
	}
	return err.Error()
}

func orEmpty(list []int64) []int64 {
	if list == nil {
		return []int64{}
	}
	return list
}

// raw returns the JSON of a value that has one.
func raw(of any) json.RawMessage {
	text, err := json.Marshal(of)
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}

// readKnown reads the elements of a stored list of integers.
func (c *converter) readKnown(v *value) error {
	raw, err := c.Source.Elements(weights.Spec{Name: v.name, Transformations: []weights.Transformation{{Kind: weights.Cast, Type: dtype.I64}}}, 8*maxKnown)
	if err != nil {
		return err
	}
	v.known = make([]expression, len(raw)/8)
	for i := range v.known {
		v.known[i] = constantOf(int64(binary.LittleEndian.Uint64(raw[8*i:])))
	}
	return nil
}

// integers is a constant of the definition.
func (c *converter) integers(name string, elements ...int64) *value {
	known := make([]expression, len(elements))
	for i, n := range elements {
		known[i] = constantOf(n)
	}
	v := listValue(dtype.I64, known)
	v.name = name
	return v
}

// filling is the element of a ConstantOfShape: integer, or number if kind is a floating-point type.
type filling struct {
	kind    dtype.DType
	integer int64
	number  float64
}

// filling returns the element of a ConstantOfShape, or why it is not supported.
func (c *converter) filling(n *Node) (f filling, wrong string) {
	a := n.attribute("value")
	if a == nil {
		return filling{kind: dtype.F32}, ""
	}
	if a.Kind != Tensor {
		return f, "its value is no tensor"
	}
	in := c.Source.Input()
	t, err := header.ONNXTensor(in, n.Outputs[0], a.at, a.size)
	if err != nil {
		return f, Message(err)
	}
	if t.Elements != 1 || t.External != nil {
		return f, "its value has not one element"
	}
	var bytes []byte
	if t.Varints != 0 {
		bytes, err = header.Varints(in, t)
	} else {
		bytes, err = in.Read(t.Offset, t.Size)
	}
	wide := make([]byte, 8)
	switch {
	case err != nil:
	case t.Type.IsFloat():
		if err = dtype.Convert(dtype.F64, wide, t.Type, bytes); err == nil {
			number := math.Float64frombits(binary.NativeEndian.Uint64(wide))
			if float64(float32(number)) != number || math.IsInf(number, 0) {
				return f, fmt.Sprintf("its value is %v: want a finite number of f32", number)
			}
			return filling{kind: t.Type, number: number}, ""
		}
	case t.Type.IsConvertible():
		if err = dtype.Convert(dtype.I64, wide, t.Type, bytes); err == nil {
			return filling{kind: t.Type, integer: int64(binary.NativeEndian.Uint64(wide))}, ""
		}
	default:
		return f, "its value has a type that is not converted"
	}
	return f, Message(err)
}
