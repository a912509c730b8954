package onnx

import (
	"encoding/binary"
	"fmt"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/protobuf"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/strided"
)

const (
	opExport = "onnx.export"
	producer = "ferrum_mem"
)

// builder makes a document of nodes that it gets in an order in which they can run.
type builder struct {
	name    string
	nodes   []Node
	types   [][]dtype.DType
	tensors []tensor
	inputs  []Value
	outputs []Value
	// stated are the types and shapes of other values, which follow from no operator of ONNX.
	stated   []Value
	metadata []Entry
	// names are the names of values and tensors that are taken.
	names map[string]bool
	// domains are the domains of nodes besides that of ONNX, in the order of their first use.
	domains []string
	numbers map[string]string
}

func newBuilder(name string) *builder {
	return &builder{name: name, names: map[string]bool{"": true}, numbers: map[string]string{}}
}

// unique returns a name that no value has yet: the wanted one, or one with a number.
func (b *builder) unique(wanted string) string {
	name := wanted
	for i := 1; b.names[name]; i++ {
		name = fmt.Sprintf("%s_%d", wanted, i)
	}
	b.names[name] = true
	return name
}

// operand is an input of a node: a value or a tensor, with its type. The zero value is absent.
type operand struct {
	name  string
	kind  dtype.DType
	shape []int64
	// isTransposed states that a matrix has its dimensions exchanged already.
	isTransposed bool
}

// node adds a node of an operator of ONNX with one output, and returns the output. The node has the name of
// the output.
func (b *builder) node(kind, output string, attributes []Attribute, inputs ...operand) {
	b.add(Node{Name: output, Type: kind, Outputs: []string{output}, Attributes: attributes}, inputs)
}

// add adds a node with its inputs. Absent inputs at the end are left out.
func (b *builder) add(n Node, inputs []operand) {
	for len(inputs) > 0 && inputs[len(inputs)-1].name == "" {
		inputs = inputs[:len(inputs)-1]
	}
	kinds := make([]dtype.DType, len(inputs))
	n.Inputs = make([]string, len(inputs))
	for i, in := range inputs {
		n.Inputs[i], kinds[i] = in.name, in.kind
	}
	if n.Domain != operator.ONNX && !slices.Contains(b.domains, n.Domain) {
		b.domains = append(b.domains, n.Domain)
	}
	b.nodes, b.types = append(b.nodes, n), append(b.types, kinds)
}

// integers adds a tensor of integers, and returns it as an input. The same list is one tensor.
func (b *builder) integers(wanted string, shape []uint64, elements ...int64) operand {
	key := fmt.Sprint(shape, elements)
	name, isThere := b.numbers[key]
	if !isThere {
		name = b.unique(wanted)
		b.numbers[key] = name
		var bytes []byte
		for _, n := range elements {
			bytes = binary.LittleEndian.AppendUint64(bytes, uint64(n))
		}
		b.constant(name, dtype.I64, shape, bytes)
	}
	return operand{name: name, kind: dtype.I64}
}

// list is integers for a list.
func (b *builder) list(wanted string, elements ...int64) operand {
	return b.integers(wanted, []uint64{uint64(len(elements))}, elements...)
}

// constant adds a tensor with its elements.
func (b *builder) constant(name string, kind dtype.DType, shape []uint64, bytes []byte) {
	if bytes == nil {
		bytes = []byte{}
	}
	b.tensors = append(b.tensors, tensor{Initializer{Name: name, Type: kind, Shape: shape, SizeBytes: uint64(len(bytes))}, bytes})
}

// initializer adds a tensor without elements.
func (b *builder) initializer(of Initializer) error {
	elements, fits := strided.Count(of.Shape)
	size, err := of.Type.Size(elements)
	if !fits || err != nil {
		return device.Errorf(device.CodeOverflow, opExport, "the parameter %.120q has more than 2^63 bytes", of.Name)
	}
	of.SizeBytes = size
	b.tensors = append(b.tensors, tensor{Initializer: of})
	return nil
}

// document returns the model. Errors: CodeUnsupported for a node that no opset has.
func (b *builder) document() (*document, error) {
	opset, err := b.opset()
	if err != nil {
		return nil, err
	}
	d := &document{inputs: b.inputs, outputs: b.outputs, tensors: b.tensors}
	d.head = protobuf.AppendNumber(d.head, modelIRVersion, irVersion(opset))
	d.head = protobuf.AppendText(d.head, modelProducer, producer)
	for _, domain := range append([]string{operator.ONNX}, b.domains...) {
		version := uint64(1)
		if domain == operator.ONNX {
			version = uint64(opset)
		}
		d.head = protobuf.AppendText(d.head, modelOpset, protobuf.AppendNumber(protobuf.AppendText(nil, opsetDomain, domain), opsetVersion, version))
	}
	for i := range b.metadata {
		d.head = protobuf.AppendText(d.head, modelMetadata, b.metadata[i].encode())
	}
	for i := range b.nodes {
		d.start = protobuf.AppendText(d.start, graphNode, b.nodes[i].encode())
	}
	d.start = protobuf.AppendText(d.start, graphName, b.name)
	for i := range b.inputs {
		d.end = protobuf.AppendText(d.end, graphInput, b.inputs[i].encode())
	}
	for i := range b.outputs {
		d.end = protobuf.AppendText(d.end, graphOutput, b.outputs[i].encode())
	}
	for i := range b.stated {
		d.end = protobuf.AppendText(d.end, graphValueInfo, b.stated[i].encode())
	}
	return d, nil
}

// irVersion returns the version of the file format that ONNX published with an opset.
func irVersion(opset int) uint64 {
	switch {
	case opset <= 18:
		return 8
	case opset <= 20:
		return 9
	case opset <= 22:
		return 10
	}
	return uint64(opset) - 12
}

// OldestOpset and NewestOpset are the opsets of ONNX that models may have.
const (
	OldestOpset = 17
	NewestOpset = 25
)

// opset returns the oldest opset that has all nodes of the domain of ONNX, so that many programs can read
// the model. Nodes of the newest forms do not change their meaning in an older opset that has their inputs,
// attributes and types.
func (b *builder) opset() (int, error) {
	opset := OldestOpset
	for i := range b.nodes {
		n := &b.nodes[i]
		if n.Domain != operator.ONNX {
			continue
		}
		for !isInOpset(n, b.types[i], opset) {
			if opset == NewestOpset {
				return 0, device.Errorf(device.CodeUnsupported, opExport, "the node %.120q (%s): no opset up to %d of ONNX has it with these types", n.Name, n.Type, NewestOpset)
			}
			opset++
		}
	}
	return opset, nil
}

// isInOpset states whether an opset has the inputs, attributes and types of a node.
func isInOpset(n *Node, kinds []dtype.DType, opset int) bool {
	if n.Type == "Shape" || n.Type == "Sigmoid" {
		return true // all opsets have the forms that growMask and swish write
	}
	form, err := operator.Find(operator.ONNX, n.Type, opset)
	if err != nil {
		return false
	}
	last := len(form.Inputs) - 1
	if len(kinds) > len(form.Inputs) && !form.Inputs[last].IsVariadic {
		return false
	}
	for at, kind := range kinds {
		if n.Inputs[at] != "" && !form.Inputs[min(at, last)].Types.Has(kind) {
			return false
		}
	}
	for i := range n.Attributes {
		isKnown := slices.ContainsFunc(form.Attributes, func(a operator.Attribute) bool { return a.Name == n.Attributes[i].Name })
		if !isKnown {
			return false
		}
	}
	return true
}
