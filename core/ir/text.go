package ir

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"ferrum_mem/core/device"
	"ferrum_mem/core/operator"
)

// WriteText writes the graph for people, with tabs between the columns: the inputs, the nodes in the order in which they
// can run, and the outputs. shapes is nil, or the result of Infer for this graph: then the table has
// its shapes, otherwise those that the layers declare. Names with characters that a terminal does not
// show are quoted. Errors: those of Count and of w.
func (g *Resolved) WriteText(w io.Writer, shapes *Shapes) error {
	m := g.Model
	counts, err := m.Count()
	if err != nil {
		return err
	}
	table := &rows{to: w}
	fmt.Fprintf(table, "%s\t%s\n", printable(m.Metadata.Name), heading(m))
	fmt.Fprintf(table, "parameters\t%d, %s\n", counts.Parameters, device.FormatBytes(counts.Bytes))
	for _, t := range counts.Types {
		fmt.Fprintf(table, "  %v\t%d in %s, %s\n", t.DType, t.Parameters, device.Count(t.Tensors, "tensor"), device.FormatBytes(t.Bytes))
	}
	fmt.Fprintln(table, "\nINPUT\tTENSOR\tDEFAULT")
	for _, in := range g.Inputs {
		rule := string(in.Default)
		if rule == "" {
			rule = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", g.label(in.Node), g.inputText(in, shapes), rule)
	}
	fmt.Fprintln(table, "\nNODE\tTYPE\tOUTPUT\tINPUTS")
	for _, at := range g.Order {
		if g.Nodes[at].Operator != nil {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", g.label(at), g.layerOf(at).Type, g.outputsText(at, shapes), g.operandsText(at))
		}
	}
	fmt.Fprintln(table, "\nOUTPUT\tTENSOR")
	for _, at := range g.Outputs {
		fmt.Fprintf(table, "%s\t%s\n", g.label(at), g.tensorText(at, 0, shapes))
	}
	return table.failed
}

// rows writes to w until a write fails.
type rows struct {
	to     io.Writer
	failed error
}

func (r *rows) Write(text []byte) (int, error) {
	if r.failed == nil {
		_, r.failed = r.to.Write(text)
	}
	return len(text), r.failed
}

// heading describes the model in a line.
func heading(m *Model) string {
	parts := []string{}
	for _, part := range []string{m.Metadata.Version, m.Metadata.ModelType, string(m.Metadata.Family)} {
		if part != "" {
			parts = append(parts, printable(part))
		}
	}
	d := &m.Architecture.Dimensions
	for _, dimension := range []struct {
		value uint64
		noun  string
	}{{d.NumLayers, "layer"}, {d.NumHeads, "head"}} {
		if dimension.value != 0 {
			parts = append(parts, device.Count(dimension.value, dimension.noun))
		}
	}
	return strings.Join(parts, ", ")
}

// label returns the id of a node for a table.
func (g *Resolved) label(at int) string { return printable(g.Model.Graph.Nodes[at].ID) }

// printable returns a text as it is, or quoted if it has characters that could change what a terminal or
// a table shows.
func printable(text string) string {
	const longest = 200
	isHidden := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "..."
	}
	if text == "" || strings.ContainsFunc(text, isHidden) {
		return strconv.Quote(text)
	}
	return text
}

// inputText describes an input with the names of its dimensions.
func (g *Resolved) inputText(in Input, shapes *Shapes) string {
	if shapes != nil {
		return g.tensorText(in.Node, 0, shapes)
	}
	t := &g.layerOf(in.Node).Outputs[0]
	lengths := make([]string, len(t.Shape))
	for axis, length := range t.Shape {
		lengths[axis] = strconv.FormatInt(length, 10)
		if length == Dynamic {
			lengths[axis] = printable(in.Dims[axis])
		}
	}
	return t.DType.String() + "[" + strings.Join(lengths, ", ") + "]"
}

// outputsText lists the outputs of a node that its layer computes.
func (g *Resolved) outputsText(at int, shapes *Shapes) string {
	var texts []string
	for i, t := range g.layerOf(at).Outputs {
		if t.Name != "" {
			texts = append(texts, g.tensorText(at, i, shapes))
		}
	}
	return strings.Join(texts, ", ")
}

// tensorText describes an output of a node. A dynamic dimension is a question mark.
func (g *Resolved) tensorText(at, output int, shapes *Shapes) string {
	if shapes != nil {
		return shapes.Nodes[at].Outputs[output].String()
	}
	t := &g.layerOf(at).Outputs[output]
	lengths := make([]string, len(t.Shape))
	for axis, length := range t.Shape {
		lengths[axis] = "?"
		if length != Dynamic {
			lengths[axis] = strconv.FormatInt(length, 10)
		}
	}
	return t.DType.String() + "[" + strings.Join(lengths, ", ") + "]"
}

// operandsText lists the sources of the inputs of a node. An output other than the first has its
// position after a colon.
func (g *Resolved) operandsText(at int) string {
	const most = 16
	var texts []string
	for _, o := range g.Nodes[at].Operands {
		if len(texts) == most {
			texts = append(texts, "...")
			break
		}
		switch {
		case o.Parameter != None:
			texts = append(texts, g.parameterText(o.Parameter))
		case o.IsAbsent():
			texts = append(texts, "-")
		case o.Output > 0:
			texts = append(texts, g.label(o.Node)+":"+strconv.Itoa(o.Output))
		default:
			texts = append(texts, g.label(o.Node))
		}
	}
	return strings.Join(texts, ", ")
}

// parameterText shows a parameter: a short constant by its elements, others by their names.
func (g *Resolved) parameterText(at int) string {
	p := &g.Model.Parameters[at]
	if len(p.Value) > 0 && len(p.Value) <= operator.MaxRank {
		return shapeText(p.Value)
	}
	return printable(p.Name)
}
