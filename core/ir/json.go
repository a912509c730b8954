package ir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"ferrum_mem/core/device"
)

const opExport = "ir.export"

// JSON returns the text of the definition, in the form of docs/model_definition.schema.json. Parse reads
// it, and the JSON of the result is the same text. Each parameter, layer, node and edge has a line.
//
// Errors: CodeSerialization for a value that JSON or the schema cannot express, such as a number that
// is not finite, with its path; CodeOverflow for a text that is longer than MaxBytes.
func (m *Model) JSON() ([]byte, error) {
	if path, wrong := m.inexpressible(); wrong != "" {
		return nil, device.Errorf(device.CodeSerialization, opExport, "%s: %s", path, wrong)
	}
	w := &writer{}
	w.encoder = json.NewEncoder(&w.text)
	w.encoder.SetEscapeHTML(false)
	metadata := m.Metadata
	metadata.Additional = maps.Clone(metadata.Additional)
	if metadata.Additional == nil {
		metadata.Additional = map[string]json.RawMessage{}
	}
	metadata.Additional[MetadataSchema] = json.RawMessage(strconv.Itoa(SchemaVersion))
	w.field("{", "  ", "metadata")
	w.value(metadata)
	w.field(",", "  ", "architecture")
	w.value(m.Architecture)
	w.field(",", "  ", "parameters")
	writeList(w, "  ", m.Parameters, func(p Parameter) Parameter {
		p.Shape, p.Parts = orEmpty(p.Shape), slices.Clone(p.Parts)
		for i := range p.Parts {
			p.Parts[i].Shape = orEmpty(p.Parts[i].Shape)
		}
		return p
	})
	w.field(",", "  ", "layers")
	writeList(w, "  ", m.Layers, func(l Layer) Layer {
		l.Inputs, l.Outputs, l.Parameters = withShapes(l.Inputs), withShapes(l.Outputs), orEmpty(l.Parameters)
		return l
	})
	w.field(",", "  ", "graph")
	w.field("{", "    ", "inputs")
	w.value(orEmpty(m.Graph.Inputs))
	w.field(",", "    ", "outputs")
	w.value(orEmpty(m.Graph.Outputs))
	w.field(",", "    ", "nodes")
	writeList(w, "    ", m.Graph.Nodes, func(n Node) Node { return n })
	w.field(",", "    ", "edges")
	writeList(w, "    ", m.Graph.Edges, func(e Edge) Edge { return e })
	w.text.WriteString("\n  }\n}\n")
	switch {
	case w.err != nil:
		return nil, device.Errorf(device.CodeSerialization, opExport, "%w", w.err)
	case w.text.Len() > MaxBytes:
		return nil, device.Errorf(device.CodeOverflow, opExport, "the definition has %v: at most %v can be read", device.Size(w.text.Len()), device.Size(MaxBytes))
	}
	return w.text.Bytes(), nil
}

// writer writes the text of a definition. It keeps the first error.
type writer struct {
	text    bytes.Buffer
	encoder *json.Encoder
	err     error
}

// field begins a field of an object, after the brace or the comma before it.
func (w *writer) field(before, indent, name string) {
	w.text.WriteString(before + "\n" + indent + strconv.Quote(name) + ": ")
}

func (w *writer) value(value any) {
	if w.err == nil {
		w.err = w.encoder.Encode(value)
	}
	if w.err == nil {
		w.text.Truncate(w.text.Len() - 1) // the encoder ends each value with a new line
	}
}

// writeList writes a list with a line for each element.
func writeList[T any](w *writer, indent string, list []T, prepared func(T) T) {
	w.text.WriteByte('[')
	for i, one := range list {
		if i > 0 {
			w.text.WriteByte(',')
		}
		w.text.WriteString("\n" + indent + "  ")
		w.value(prepared(one))
	}
	if len(list) > 0 {
		w.text.WriteString("\n" + indent)
	}
	w.text.WriteByte(']')
}

// orEmpty returns a list that is not nil: JSON writes it as a list.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func withShapes(tensors []Tensor) []Tensor {
	tensors = slices.Clone(orEmpty(tensors))
	for i := range tensors {
		tensors[i].Shape = orEmpty(tensors[i].Shape)
	}
	return tensors
}

// inexpressible returns the path of a value that the text cannot have, and what is wrong with it.
func (m *Model) inexpressible() (path, wrong string) {
	path, wrong = m.Metadata.inexpressible()
	if wrong != "" {
		return "metadata" + path, wrong
	}
	if path, wrong = m.Architecture.inexpressible(); wrong != "" {
		return "architecture" + path, wrong
	}
	for i := range m.Parameters {
		p := &m.Parameters[i]
		path, wrong = p.inexpressible()
		for j := 0; j < len(p.Parts) && wrong == ""; j++ {
			if path, wrong = p.Parts[j].inexpressible(); wrong == "" && len(p.Parts[j].Parts)+len(p.Parts[j].Value) > 0 {
				wrong = "a part has parts or a value"
			}
			path = elementPath(".parts", j) + path
		}
		if wrong != "" {
			return elementPath("parameters", i) + path, wrong
		}
	}
	for i := range m.Layers {
		if path, wrong = m.Layers[i].inexpressible(); wrong != "" {
			return elementPath("layers", i) + path, wrong
		}
	}
	if path, wrong = m.Graph.inexpressible(); wrong != "" {
		return "graph" + path, wrong
	}
	return "", ""
}

// elementPath returns the path of an element of a list, such as layers[3].
func elementPath(list string, at int) string { return fmt.Sprintf("%s[%d]", list, at) }

const notText = "is not UTF-8"

// wrongTexts finds a text that is not UTF-8. names has the paths of the texts.
func wrongTexts(names []string, texts ...string) (path, wrong string) {
	for i, text := range texts {
		if !utf8.ValidString(text) {
			return names[i], notText
		}
	}
	return "", ""
}

// wrongExtras finds a value of a free-form map that is not JSON.
func wrongExtras(path string, extras map[string]json.RawMessage) (at, wrong string) {
	for _, key := range slices.Sorted(maps.Keys(extras)) {
		if !utf8.ValidString(key) {
			return path, "has a key that " + notText
		}
		if wrong := wrongRaw(extras[key]); wrong != "" {
			return path + "." + plainKey(key), wrong
		}
	}
	return "", ""
}

func (m *Metadata) inexpressible() (path, wrong string) {
	optional := func(text *string) string {
		if text == nil {
			return ""
		}
		return *text
	}
	path, wrong = wrongTexts([]string{".name", ".version", ".model_type", ".architecture_family", ".description", ".author", ".license"},
		m.Name, m.Version, m.ModelType, string(m.Family), optional(m.Description), optional(m.Author), optional(m.License))
	if wrong != "" {
		return path, wrong
	}
	if wrong := wrongSchema(m.Additional); wrong != "" {
		return ".additional." + MetadataSchema, wrong
	}
	return wrongExtras(".additional", m.Additional)
}

func (a *Architecture) inexpressible() (path, wrong string) {
	if !utf8.ValidString(a.Name) {
		return ".name", notText
	}
	return wrongExtras(".config", a.Config)
}

func (p *Parameter) inexpressible() (path, wrong string) {
	i := p.Initialization
	path, wrong = wrongTexts([]string{".name", ".source", ".initialization.strategy", ".initialization.name"},
		p.Name, p.Source, string(i.Strategy), i.Name)
	if wrong != "" {
		return path, wrong
	}
	if !p.DType.IsKnown() {
		return ".dtype", fmt.Sprintf("%d is not a data type", int32(p.DType))
	}
	for _, number := range i.numbers() {
		if !isFinite(number.value) {
			return ".initialization." + number.name, fmt.Sprintf("%v is not finite", number.value)
		}
	}
	return wrongExtras(".metadata", p.Metadata)
}

func (l *Layer) inexpressible() (path, wrong string) {
	if path, wrong = wrongTexts([]string{".name", ".layer_type"}, l.Name, l.Type); wrong != "" {
		return path, wrong
	}
	for i, name := range l.Parameters {
		if !utf8.ValidString(name) {
			return elementPath(".parameters", i), notText
		}
	}
	for _, side := range []struct {
		name    string
		tensors []Tensor
	}{{".inputs", l.Inputs}, {".outputs", l.Outputs}} {
		for i, t := range side.tensors {
			switch {
			case !utf8.ValidString(t.Name):
				return elementPath(side.name, i) + ".name", notText
			case !t.DType.IsKnown():
				return elementPath(side.name, i) + ".dtype", fmt.Sprintf("%d is not a data type", int32(t.DType))
			}
		}
	}
	return wrongExtras(".config", l.Config)
}

func (g *Graph) inexpressible() (path, wrong string) {
	for i, id := range g.Inputs {
		if !utf8.ValidString(id) {
			return elementPath(".inputs", i), notText
		}
	}
	for i, id := range g.Outputs {
		if !utf8.ValidString(id) {
			return elementPath(".outputs", i), notText
		}
	}
	for i, n := range g.Nodes {
		if path, wrong = wrongTexts([]string{".id", ".layer_name"}, n.ID, n.LayerName); wrong == "" {
			path, wrong = wrongExtras(".metadata", n.Metadata)
		}
		if wrong != "" {
			return elementPath(".nodes", i) + path, wrong
		}
	}
	for i, e := range g.Edges {
		if path, wrong = wrongTexts([]string{".source", ".target"}, e.Source, e.Target); wrong != "" {
			return elementPath(".edges", i) + path, wrong
		}
	}
	return "", ""
}
