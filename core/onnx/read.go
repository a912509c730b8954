package onnx

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/protobuf"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/weights/header"
)

// reader reads the messages of a model, without the elements of its tensors.
type reader struct {
	*File
	*protobuf.Reader
	in header.Input
	// charged is the number of bytes that are read into memory.
	charged uint64
}

// maxOpsets is the most domains of operators of a model.
const maxOpsets = 64

// maxText is the longest text of a model: a name, or a text of the metadata.
const maxText = 1 << 20

func (r *reader) wrong(format string, args ...any) error {
	return device.Errorf(device.CodeInvalidFormat, opOpen, "%s: "+format, append([]any{r.in.Name}, args...)...)
}

// refuse keeps the error about what is not supported.
func (r *reader) refuse(format string, args ...any) {
	if r.Err == nil {
		r.Err = device.Errorf(device.CodeUnsupported, opOpen, "%s: %s", r.in.Name, fmt.Sprintf(format, args...))
	}
}

// charge bounds what is read into memory.
func (r *reader) charge(bytes uint64) {
	if r.charged += bytes; r.charged > header.MaxBytes {
		r.Fail("has more than %v besides the elements of its tensors", device.Size(header.MaxBytes))
	}
}

func (r *reader) text(what string, f protobuf.Field) string {
	if f.Kind != protobuf.Bytes {
		r.Fail("%s before byte %d is not a text", what, r.At)
		return ""
	}
	r.charge(f.Size + 16)
	at := r.At
	text := r.Text(what, f.Size, maxText)
	if !utf8.ValidString(text) {
		r.Fail("%s at byte %d is not UTF-8", what, at)
	}
	return text
}

// inner reads a message in a field.
func (r *reader) inner(what string, f protobuf.Field, field func(protobuf.Field)) {
	if f.Kind != protobuf.Bytes {
		r.Fail("%s before byte %d is not a message", what, r.At)
		return
	}
	r.charge(64)
	r.Message(f.Size, field)
}

func (r *reader) model() {
	r.Message(r.in.Size, func(f protobuf.Field) {
		isCopied := true
		switch f.Number {
		case modelIRVersion:
			r.IRVersion = int64(r.Number(f))
			isCopied = false
		case modelProducer:
			r.Producer = r.text("the name of the producer", f)
		case modelVersion:
			r.ModelVersion = int64(r.Number(f))
		case modelDoc:
			r.Description = r.text("the description", f)
		case modelOpset:
			r.opset(f)
		case modelMetadata:
			r.Metadata = append(r.Metadata, r.entry(f))
		case modelFunction:
			name := ""
			r.inner("a function", f, func(f protobuf.Field) {
				if f.Number == functionName {
					name = r.text("the name of a function", f)
				}
			})
			r.refuse("has the function %.120q: functions of a model are not supported", name)
		case modelGraph:
			r.inner("the graph", f, r.graphField)
			isCopied = false
		case modelTraining:
			isCopied = false
		}
		r.copied(&r.head, f, isCopied)
	})
}

// copied notes a field that Graph copies. Its value was read, or not.
func (r *reader) copied(to *[]part, f protobuf.Field, isCopied bool) {
	if !isCopied || r.Err != nil {
		return
	}
	if r.At == f.At {
		r.Skip(f)
	}
	r.charge(r.At - f.Start)
	if last := len(*to) - 1; last >= 0 && (*to)[last].end == f.Start {
		(*to)[last].end = r.At
		return
	}
	*to = append(*to, part{f.Start, r.At})
}

func (r *reader) opset(f protobuf.Field) {
	var o Opset
	r.inner("a set of operators", f, func(f protobuf.Field) {
		switch f.Number {
		case opsetDomain:
			o.Domain = r.domain(f)
		case opsetVersion:
			o.Version = int64(r.Number(f))
		}
	})
	switch {
	case r.Opset(o.Domain) != 0:
		r.Fail("imports the operators of the domain %.120q twice", o.Domain)
	case len(r.Opsets) == maxOpsets:
		r.Fail("imports the operators of more than %d domains", maxOpsets)
	}
	r.Opsets = append(r.Opsets, o)
}

// domain reads the name of a domain. "ai.onnx" is that of ONNX.
func (r *reader) domain(f protobuf.Field) string {
	if name := r.text("the name of a domain", f); name != "ai.onnx" {
		return name
	}
	return operator.ONNX
}

func (r *reader) entry(f protobuf.Field) (e Entry) {
	r.inner("an entry of the metadata", f, func(f protobuf.Field) {
		switch f.Number {
		case entryKey:
			e.Key = r.text("a key of the metadata", f)
		case entryValue:
			e.Value = r.text("a text of the metadata", f)
		}
	})
	return e
}

func (r *reader) graphField(f protobuf.Field) {
	isCopied := true
	switch f.Number {
	case graphNode:
		isCopied = r.node(f)
	case graphName:
		r.Name = r.text("the name of the graph", f)
	case graphInitializer:
		name := ""
		r.inner("an initialiser", f, func(f protobuf.Field) {
			if f.Number == tensorName {
				name = r.text("the name of an initialiser", f)
			}
		})
		r.tensors = append(r.tensors, stored{name, part{f.Start, r.At}})
		isCopied = false
	case graphInput:
		r.Inputs = append(r.Inputs, r.value(f, true))
	case graphOutput:
		r.Outputs = append(r.Outputs, r.value(f, true))
	case graphValueInfo:
		r.Values = append(r.Values, r.value(f, false))
	case graphQuantised:
		name := ""
		r.inner("a quantised tensor", f, func(f protobuf.Field) {
			if f.Number == quantisedTensor {
				name = r.text("the name of a quantised tensor", f)
			}
		})
		r.refuse("%.120q: annotations of quantised tensors are not supported", name)
	case graphSparse:
		r.refuse("has the sparse initialiser %.120q: sparse tensors are not supported", r.sparseName(f))
	}
	r.copied(&r.graph, f, isCopied)
}

// sparseName returns the name of a sparse tensor: that of its values.
func (r *reader) sparseName(f protobuf.Field) (name string) {
	r.inner("a sparse initialiser", f, func(f protobuf.Field) {
		if f.Number != sparseValues {
			return
		}
		r.inner("a sparse initialiser", f, func(f protobuf.Field) {
			if f.Number == tensorName {
				name = r.text("the name of an initialiser", f)
			}
		})
	})
	return name
}

// node reads a node. It returns whether Graph copies it: a Constant with a large tensor is an initialiser.
func (r *reader) node(f protobuf.Field) bool {
	var n Node
	r.inner("a node", f, func(f protobuf.Field) {
		switch f.Number {
		case nodeInput:
			n.Inputs = append(n.Inputs, r.text("the name of an input", f))
		case nodeOutput:
			n.Outputs = append(n.Outputs, r.text("the name of an output", f))
		case nodeName:
			n.Name = r.text("the name of a node", f)
		case nodeType:
			n.Type = r.text("the type of a node", f)
		case nodeDomain:
			n.Domain = r.domain(f)
		case nodeAttribute:
			n.Attributes = append(n.Attributes, r.attribute(f))
		}
	})
	if r.Err != nil {
		return false
	}
	for i := range n.Attributes {
		switch a := &n.Attributes[i]; a.Kind {
		case Float, Int, Text, Tensor, Floats, Ints, Texts:
		case Graphs:
			r.refuse("%s: the attribute %.120q is a graph: graphs inside of nodes are not supported", n.describe(), a.Name)
		default:
			r.refuse("%s: the attribute %.120q is a sparse tensor, a type, a list of tensors or a reference, which are not supported", n.describe(), a.Name)
		}
	}
	r.Nodes = append(r.Nodes, n)
	if !n.isConstant() {
		return true
	}
	t, err := r.Source.Find(n.Outputs[0])
	if err != nil || t.Size <= InlineBytes {
		return true
	}
	r.tensors = append(r.tensors, stored{name: t.Name})
	return false
}

// isConstant states whether a node is a Constant with a name.
func (n *Node) isConstant() bool {
	return n.Domain == operator.ONNX && n.Type == "Constant" && len(n.Outputs) == 1 && n.Outputs[0] != ""
}

// describe names a node in messages: with its operator, and by its first output if it has no name.
func (n *Node) describe() string {
	name := n.Name
	for i := 0; i < len(n.Outputs) && name == ""; i++ {
		name = n.Outputs[i]
	}
	return fmt.Sprintf("the node %.120q (%.120s)", name, n.fullName())
}

// unknownKind is the kind of an attribute that is not read.
const unknownKind Kind = 255

func (r *reader) attribute(f protobuf.Field) (a Attribute) {
	isRefused, isGraph, stated := false, false, uint64(0)
	r.inner("an attribute", f, func(f protobuf.Field) {
		switch f.Number {
		case attributeName:
			a.Name = r.text("the name of an attribute", f)
		case attributeType:
			stated = r.Number(f)
		case attributeFloat:
			a.Kind, a.Float = Float, r.float(f)
		case attributeInt:
			a.Kind, a.Int = Int, int64(r.Number(f))
		case attributeText:
			a.Kind, a.Text = Text, r.text("the text of an attribute", f)
		case attributeTensor:
			a.Kind, a.at, a.size = Tensor, r.At, f.Size
		case attributeFloats:
			a.Kind = Floats
			r.list(f, protobuf.Fixed32, func(f protobuf.Field) { a.Floats = append(a.Floats, r.float(f)) })
		case attributeInts:
			a.Kind = Ints
			r.list(f, protobuf.Varint, func(f protobuf.Field) { a.Ints = append(a.Ints, int64(r.Number(f))) })
		case attributeTexts:
			a.Kind = Texts
			a.Texts = append(a.Texts, r.text("the text of an attribute", f))
		case attributeGraph, attributeGraphs:
			isGraph = true
		case attributeTensors, attributeSparse, attributeSparses, attributeTypeOf, attributeTypesOf, attributeRef:
			isRefused = true
		}
	})
	switch {
	case isGraph:
		a.Kind = Graphs
	case isRefused || stated > uint64(Texts):
		a.Kind = unknownKind
	case stated == uint64(Graphs):
		a.Kind = Graphs
	case stated != 0:
		// A field with the default of its type may be left out, and an empty list has no field.
		a.Kind = Kind(stated)
	}
	return a
}

func (r *reader) float(f protobuf.Field) float32 {
	if f.Kind != protobuf.Fixed32 {
		r.Fail("a field before byte %d is not a number of 4 bytes", r.At)
		return 0
	}
	raw := r.Text("a number", 4, 4)
	if len(raw) != 4 {
		return 0
	}
	return math.Float32frombits(uint32(raw[0]) | uint32(raw[1])<<8 | uint32(raw[2])<<16 | uint32(raw[3])<<24)
}

// list reads a field of numbers: one of them, or several that are packed.
func (r *reader) list(f protobuf.Field, kind protobuf.Kind, one func(protobuf.Field)) {
	r.charge(8)
	if f.Kind != protobuf.Bytes {
		one(f)
		return
	}
	end, each := r.At+f.Size, protobuf.Field{Kind: kind}
	for r.At < end && r.Err == nil {
		r.charge(8)
		one(each)
	}
	if r.At != end {
		r.Fail("a list of numbers before byte %d has another size than its numbers", r.At)
	}
}

// value reads the type of a value. Types other than tensors are only refused for inputs and outputs of the
// graph; those of others are checked when an operator is.
func (r *reader) value(f protobuf.Field, isRequired bool) (v Value) {
	kind, element := uint64(0), uint64(0)
	r.inner("a value", f, func(f protobuf.Field) {
		switch f.Number {
		case valueName:
			v.Name = r.text("the name of a value", f)
		case valueType:
			r.inner("the type of a value", f, func(f protobuf.Field) {
				switch f.Number {
				case typeTensor, typeSequence, typeMap, typeOpaque, typeSparse, typeOptional:
					kind = f.Number
				}
				if f.Number == typeTensor {
					element = r.tensorType(f, &v)
				}
			})
		}
	})
	known := false
	v.Type, known = typeOf(element)
	switch {
	case r.Err != nil || kind == 0 && !isRequired:
	case kind == 0:
		r.Fail("the value %.120q has no type", v.Name)
	case kind != typeTensor:
		r.refuse("the value %.120q is %s: only tensors are supported", v.Name, kindName(kind))
	case element == numberOfTextType:
		r.refuse("the value %.120q has texts as elements, which are not supported", v.Name)
	case !known && element != 0:
		r.refuse("the value %.120q has elements of the type %d, which are not supported", v.Name, element)
	case !known && isRequired:
		r.Fail("the value %.120q has no type", v.Name)
	}
	if !known && r.Err == nil {
		v.HasShape = false
	}
	return v
}

func kindName(kind uint64) string {
	switch kind {
	case typeSequence:
		return "a sequence"
	case typeMap:
		return "a map"
	case typeSparse:
		return "a sparse tensor"
	case typeOptional:
		return "an optional value"
	}
	return "of an opaque type"
}

// tensorType reads element type and shape of a tensor.
func (r *reader) tensorType(f protobuf.Field, v *Value) (element uint64) {
	r.inner("the type of a value", f, func(f protobuf.Field) {
		switch f.Number {
		case tensorElement:
			element = r.Number(f)
		case tensorShape:
			v.HasShape = true
			r.inner("a shape", f, func(f protobuf.Field) {
				if f.Number != shapeDim {
					return
				}
				d := Dim{Length: ir.Dynamic}
				r.inner("a dimension", f, func(f protobuf.Field) {
					switch f.Number {
					case dimValue:
						d.Length, d.Name = int64(r.Number(f)), ""
					case dimParam:
						d.Length, d.Name = ir.Dynamic, r.text("the name of a dimension", f)
						if strings.ContainsAny(d.Name, separator+computed) {
							r.Fail("the name %.120q of a dimension of %.120q has a control character", d.Name, v.Name)
						}
					}
				})
				if d.Length < 0 {
					d.Length = ir.Dynamic // some exporters write -1 for a length that they do not know
				}
				v.Shape = append(v.Shape, d)
			})
		}
	})
	if len(v.Shape) > strided.MostDimensions {
		r.refuse("the value %.120q has %d dimensions: at most %d are supported", v.Name, len(v.Shape), strided.MostDimensions)
	}
	return element
}
