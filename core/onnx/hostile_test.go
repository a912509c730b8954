package onnx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/protobuf"
	"ferrum_mem/core/ir"
)

// file is a model that a test writes field by field.
type file struct{ model, graph []byte }

// sound returns a model of one node, with the opset of ONNX.
func sound() *file {
	f := &file{}
	f.model = protobuf.AppendNumber(nil, modelIRVersion, 8)
	f.import_("", 17)
	f.value(graphInput, "x")
	f.value(graphOutput, "y")
	f.node(Node{Name: "first", Type: "Relu", Inputs: []string{"x"}, Outputs: []string{"y"}})
	return f
}

func (f *file) import_(domain string, version uint64) {
	f.model = protobuf.AppendText(f.model, modelOpset, protobuf.AppendNumber(protobuf.AppendText(nil, opsetDomain, domain), opsetVersion, version))
}

func (f *file) value(field uint64, name string) {
	v := Value{Name: name, Type: dtype.F32, HasShape: true, Shape: []Dim{{Length: ir.Dynamic, Name: "n"}, {Length: 4}}}
	f.graph = protobuf.AppendText(f.graph, field, v.encode())
}

func (f *file) node(n Node) { f.graph = protobuf.AppendText(f.graph, graphNode, n.encode()) }

// tensor adds an initialiser of four numbers of 4 bytes. fields are its other fields.
func (f *file) tensor(name string, fields []byte) {
	t := Initializer{Name: name, Type: dtype.F32, Shape: []uint64{4}}
	f.graph = protobuf.AppendText(f.graph, graphInitializer, append(t.header(), fields...))
}

// outside are the fields of a tensor whose elements are in another file.
func outside(location, offset string) []byte {
	e, o := Entry{"location", location}, Entry{"offset", offset}
	fields := protobuf.AppendText(protobuf.AppendText(nil, tensorExternal, e.encode()), tensorExternal, o.encode())
	return protobuf.AppendNumber(fields, tensorLocation, isExternal)
}

func (f *file) bytes() []byte {
	return protobuf.AppendText(append([]byte{}, f.model...), modelGraph, f.graph)
}

func TestFilesThatBreakARule(t *testing.T) {
	const invalid, unsupported = device.CodeInvalidFormat, device.CodeUnsupported
	relu := func(in, out string) Node {
		return Node{Name: "second", Type: "Relu", Inputs: []string{in}, Outputs: []string{out}}
	}
	message := func(field uint64, inner []byte) []byte { return protobuf.AppendText(nil, field, inner) }
	typed := func(field uint64) []byte {
		return append(message(valueName, []byte("v")), message(valueType, message(field, nil))...)
	}
	withAttribute := func(attribute []byte) func(*file) {
		return func(f *file) {
			n := Node{Name: "second", Type: "If", Inputs: []string{"y"}, Outputs: []string{"z"}}
			f.graph = append(f.graph, message(graphNode, append(n.encode(), message(nodeAttribute, append(message(attributeName, []byte("then_branch")), attribute...))...))...)
		}
	}
	for name, c := range map[string]struct {
		change func(*file)
		code   device.Code
		says   string
	}{
		"an opset that is too old": {func(f *file) { f.model = nil; f.import_("", 16) }, unsupported, "opset 16 of ONNX: opsets 17 to 25"},
		"an opset that is too new": {func(f *file) { f.model = nil; f.import_("", 26) }, unsupported, "opset 26"},
		"an opset twice":           {func(f *file) { f.import_("ai.onnx", 18) }, invalid, `the domain "" twice`},
		"too many domains": {func(f *file) {
			for i := range 70 {
				f.import_(strings.Repeat("d", i+1), 1)
			}
		}, invalid, "more than 64 domains"},
		"a value that does not exist": {func(f *file) { f.node(relu("nowhere", "z")) }, invalid, `the node "second" (Relu) reads "nowhere"`},
		"a value that comes later":    {func(f *file) { f.node(relu("z", "a")); f.node(relu("x", "z")) }, invalid, `reads "z"`},
		"a value twice":               {func(f *file) { f.node(relu("x", "y")) }, invalid, `computes "y", which is the name of another value`},
		"an input twice":              {func(f *file) { f.value(graphInput, "x") }, invalid, `the input "x" of the graph is listed twice`},
		"an output twice":             {func(f *file) { f.value(graphOutput, "y") }, invalid, `the output "y"`},
		"an output that is nowhere":   {func(f *file) { f.value(graphOutput, "z") }, invalid, `the output "z"`},
		"no operator":                 {func(f *file) { f.node(Node{Name: "second", Outputs: []string{"z"}}) }, invalid, "has no operator"},
		"a domain without an opset":   {func(f *file) { f.node(Node{Name: "second", Domain: "mine", Type: "Op"}) }, invalid, `no operators of the domain "mine"`},
		"an attribute twice": {func(f *file) {
			f.node(Node{Name: "second", Type: "Softmax", Inputs: []string{"y"}, Outputs: []string{"z"}, Attributes: []Attribute{integer("axis", 0), integer("axis", 1)}})
		}, invalid, `the attribute "axis" twice`},
		"a graph in a node":  {withAttribute(message(attributeGraph, nil)), unsupported, `the node "second" (If): the attribute "then_branch" is a graph`},
		"graphs in a node":   {withAttribute(message(attributeGraphs, nil)), unsupported, "is a graph"},
		"a sparse attribute": {withAttribute(message(attributeSparse, nil)), unsupported, "is a sparse tensor"},
		"a function": {func(f *file) {
			f.model = append(f.model, message(modelFunction, message(functionName, []byte("mine")))...)
		}, unsupported, `the function "mine"`},
		"a sparse initialiser": {func(f *file) {
			f.graph = append(f.graph, message(graphSparse, message(sparseValues, message(tensorName, []byte("s"))))...)
		}, unsupported, `the sparse initialiser "s"`},
		"a quantised tensor": {func(f *file) {
			f.graph = append(f.graph, message(graphQuantised, message(quantisedTensor, []byte("q")))...)
		}, unsupported, `"q": annotations of quantised tensors`},
		"a sequence": {func(f *file) { f.graph = append(f.graph, message(graphInput, typed(typeSequence))...) }, unsupported, `the value "v" is a sequence`},
		"a map":      {func(f *file) { f.graph = append(f.graph, message(graphInput, typed(typeMap))...) }, unsupported, "is a map"},
		"texts": {func(f *file) {
			f.graph = append(f.graph, message(graphInput, append(message(valueName, []byte("v")), message(valueType, message(typeTensor, protobuf.AppendNumber(nil, tensorElement, numberOfTextType)))...))...)
		}, unsupported, "texts as elements"},
		"no type":                {func(f *file) { f.graph = append(f.graph, message(graphInput, message(valueName, []byte("v")))...) }, invalid, `the value "v" has no type`},
		"a name that is no text": {func(f *file) { f.node(relu("x", "\xff")) }, invalid, "is not UTF-8"},
		"a short tensor":         {func(f *file) { f.tensor("w", message(tensorRawData, make([]byte, 15))) }, invalid, `"w": has 15 bytes`},
		"a tensor twice": {func(f *file) {
			f.tensor("w", message(tensorRawData, make([]byte, 16)))
			f.tensor("w", message(tensorRawData, make([]byte, 16)))
		}, invalid, "listed twice"},
		"a tensor that is an end": {func(f *file) { f.tensor("y", message(tensorRawData, make([]byte, 16))) }, invalid, `computes "y"`},
		"a file above the folder": {func(f *file) { f.tensor("w", outside("../w.bin", "0")) }, invalid, "not a path inside the folder"},
		"an absolute path":        {func(f *file) { f.tensor("w", outside("/etc/passwd", "0")) }, invalid, "not a path inside the folder"},
		"a file that is short":    {func(f *file) { f.tensor("w", outside("w.bin", "8")) }, invalid, "bytes 8 to 24"},
		"a file that is nowhere":  {func(f *file) { f.tensor("w", outside("v.bin", "0")) }, device.CodeNotFound, "v.bin"},
		"a folder":                {func(f *file) { f.tensor("w", outside("folder", "0")) }, device.CodeInvalidArgument, "is not a file"},
		"another graph":           {func(f *file) { f.model = append(f.model, message(modelGraph, f.graph)...) }, invalid, "has 2 graphs"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(folder, "w.bin"), make([]byte, 20), 0o600))
			require.NoError(t, os.Mkdir(filepath.Join(folder, "folder"), 0o700))
			f := sound()
			c.change(f)
			if f.model[0] != 1<<3 {
				f.model = append(protobuf.AppendNumber(nil, modelIRVersion, 8), f.model...)
			}
			path := filepath.Join(folder, "model.onnx")
			require.NoError(t, os.WriteFile(path, f.bytes(), 0o600))
			_, err := Open(path)
			require.ErrorIs(t, err, c.code)
			assert.ErrorContains(t, err, c.says)
			assert.ErrorContains(t, err, folder)
		})
	}
}

// The model that the test changes is accepted, also with its elements in another file.
func TestASoundFile(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "w.bin"), make([]byte, 20), 0o600))
	f := sound()
	f.tensor("w", outside("w.bin", "4"))
	path := filepath.Join(folder, "model.onnx")
	require.NoError(t, os.WriteFile(path, f.bytes(), 0o600))
	opened, err := Open(path)
	require.NoError(t, err)
	defer opened.Close()
	assert.Len(t, opened.Nodes, 1)
	assert.Equal(t, "n", opened.Inputs[0].Shape[0].Name)
	g, err := opened.Graph()
	require.NoError(t, err)
	assert.Empty(t, g.Initializers, "short tensors are inside, also those of another file")
	inside, err := openedBytes(g.Bytes)
	require.NoError(t, err)
	assert.Len(t, inside.Source.Tensors(), 1)
}

// A runtime that is older than the program that wrote a file gets the version of the format that it knows with
// the opset.
func TestAGraphStatesTheFormatOfItsOpset(t *testing.T) {
	for _, c := range []struct{ stated, opset, want uint64 }{{14, 17, 8}, {14, 20, 9}, {14, 21, 10}, {11, 23, 11}, {7, 17, 7}} {
		f := sound()
		f.model = protobuf.AppendNumber(nil, modelIRVersion, c.stated)
		f.import_("", c.opset)
		opened, err := openedBytes(f.bytes())
		require.NoError(t, err)
		assert.EqualValues(t, c.stated, opened.IRVersion)
		g, err := opened.Graph()
		require.NoError(t, err)
		inside, err := openedBytes(g.Bytes)
		require.NoError(t, err)
		assert.EqualValues(t, c.want, inside.IRVersion)
	}
}

// Every beginning of a file is rejected, or is a file.
func TestTruncatedFiles(t *testing.T) {
	whole, err := os.ReadFile("testdata/old.onnx")
	require.NoError(t, err)
	for size := 0; size < len(whole); size += 1 + size/64 {
		if _, err := openedBytes(whole[:size]); err != nil {
			requireTyped(t, err)
		}
	}
}
