package ir

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// WriteDOT writes the graph in the language DOT of Graphviz. Nodes have their id, the type of the layer
// and its parameters; edges have the type and shape of their tensor. shapes is nil, or the result of
// Infer for this graph. Errors: those of w.
func (g *Resolved) WriteDOT(w io.Writer, shapes *Shapes) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "digraph %s {\n  rankdir=TB;\n  node [shape=box, fontname=\"Helvetica\"];\n  edge [fontname=\"Helvetica\", fontsize=10];\n", dotText(printable(g.Model.Metadata.Name)))
	inputs := make(map[int]Input, len(g.Inputs))
	for _, in := range g.Inputs {
		inputs[in.Node] = in
	}
	for _, at := range g.Order {
		if in, isInput := inputs[at]; isInput {
			fmt.Fprintf(out, "  n%d [shape=ellipse, label=%s];\n", at, dotText(g.label(at), g.inputText(in, shapes)))
			continue
		}
		fmt.Fprintf(out, "  n%d [label=%s];\n", at, dotText(append([]string{g.label(at), g.layerOf(at).Type}, g.parametersOf(at)...)...))
	}
	for _, at := range g.Order {
		for i, o := range g.Nodes[at].Operands {
			if o.Node != None {
				fmt.Fprintf(out, "  n%d -> n%d [label=%s];\n", o.Node, at, dotText(g.edgeText(o, i, at, shapes)))
			}
		}
	}
	for i, at := range g.Outputs {
		fmt.Fprintf(out, "  o%d [shape=ellipse, style=bold, label=%s];\n  n%d -> o%d;\n", i, dotText(g.label(at), g.tensorText(at, 0, shapes)), at, i)
	}
	fmt.Fprintln(out, "}")
	return out.Flush()
}

// parametersOf lists the parameters of a node.
func (g *Resolved) parametersOf(at int) []string {
	var texts []string
	for _, o := range g.Nodes[at].Operands {
		if o.Parameter != None {
			texts = append(texts, g.parameterText(o.Parameter))
		}
	}
	return texts
}

// edgeText describes the tensor of an edge. Positions other than 0 are stated.
func (g *Resolved) edgeText(o Operand, input, at int, shapes *Shapes) string {
	text := g.tensorText(o.Node, o.Output, shapes)
	if o.Output > 0 {
		text = strconv.Itoa(o.Output) + ": " + text
	}
	if input > 0 && len(g.Nodes[at].Operands) > 1 {
		text += " → " + strconv.Itoa(input)
	}
	return text
}

// dotText quotes lines of text for DOT: a backslash begins an escape there.
func dotText(lines ...string) string {
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ", "\r", " ", "\x00", " ")
	for i, line := range lines {
		lines[i] = escaped.Replace(line)
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}
