package ir

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// written returns the text and the DOT of a model.
func written(t *testing.T, m *Model, dims map[string]uint64) (text, dot string) {
	t.Helper()
	g, err := m.Resolve()
	require.NoError(t, err)
	var shapes *Shapes
	if dims != nil {
		shapes, err = g.Infer(dims)
		require.NoError(t, err)
	}
	var a, b bytes.Buffer
	a.Write(columns(t, g, shapes))
	require.NoError(t, g.WriteDOT(&b, shapes))
	return a.String(), b.String()
}

// columns returns the text with aligned columns, as the command prints it.
func columns(t *testing.T, g *Resolved, shapes *Shapes) []byte {
	t.Helper()
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	require.NoError(t, g.WriteText(table, shapes))
	require.NoError(t, table.Flush())
	return text.Bytes()
}

func TestWriteText(t *testing.T) {
	text, _ := written(t, small(), nil)
	assert.Equal(t, `sketch      1, sketch, transformer, 1 layer, 2 heads
parameters  208, 832 B
  f32       208 in 4 tensors, 832 B

INPUT  TENSOR                DEFAULT
ids    i64[batch, sequence]  -

NODE      TYPE                OUTPUT                      INPUTS
embedded  Gather              f32[?, ?, 8]                table, ids
hidden    ferrum.linear       f32[?, ?, 8]                embedded, weight, bias
sum       Add                 f32[?, ?, 8]                hidden, embedded
norm      LayerNormalization  f32[?, ?, 8]                sum, scale, -
halves    Split               f32[?, ?, 4], f32[?, ?, 4]  norm, [4, 4]
turned    Transpose           f32[?, 4, ?]                halves:1
product   MatMul              f32[?, ?, ?]                halves, turned
scores    Softmax             f32[?, ?, ?]                product
flat      Reshape             f32[?, ?]                   norm, [0, -1]

OUTPUT  TENSOR
scores  f32[?, ?, ?]
flat    f32[?, ?]
`, text)
	text, _ = written(t, small(), map[string]uint64{"batch": 3, "sequence": 5})
	assert.Contains(t, text, "ids    i64[3, 5]")
	assert.Contains(t, text, "flat    f32[3, 40]")
}

func TestWriteDOT(t *testing.T) {
	_, dot := written(t, small(), map[string]uint64{"batch": 3, "sequence": 5})
	for _, line := range []string{
		`digraph "sketch" {`, `  n0 [shape=ellipse, label="ids\ni64[3, 5]"];`, `  n2 [label="hidden\nferrum.linear\nweight\nbias"];`,
		`  n5 -> n6 [label="1: f32[3, 5, 4]"];`, `  n6 -> n7 [label="f32[3, 4, 5] → 1"];`, `  o1 [shape=ellipse, style=bold, label="flat\nf32[3, 40]"];`, `  n9 -> o1;`,
	} {
		assert.Contains(t, dot, line+"\n")
	}
	_, dot = written(t, small(), nil)
	assert.Contains(t, dot, `n0 [shape=ellipse, label="ids\ni64[batch, sequence]"];`)
}

// Names cannot change what a terminal shows, nor break the language DOT.
func TestHostileNames(t *testing.T) {
	m := small()
	const hostile = "a\"];\n\x1b[2J\\ \\N <b> \u202e\x00"
	for i := range m.Graph.Nodes {
		if m.Graph.Nodes[i].ID == "sum" {
			m.Graph.Nodes[i].ID = hostile
		}
	}
	for i := range m.Graph.Edges {
		e := &m.Graph.Edges[i]
		for _, end := range []*string{&e.Source, &e.Target} {
			if *end == "sum" {
				*end = hostile
			}
		}
	}
	m.Metadata.Name, m.Parameters[1].Name, m.Layers[2].Inputs[1].Name, m.Layers[2].Parameters[0] = hostile, hostile, hostile, hostile
	m.Graph.Nodes[0].Metadata[MetadataDims] = rawOf([]string{hostile, strings.Repeat("x", 1000)})
	text, dot := written(t, m, nil)
	for _, out := range []string{text, dot} {
		assert.NotContains(t, out, "\x1b")
		assert.NotContains(t, out, "\x00")
		assert.NotContains(t, out, "\u202e")
	}
	assert.Less(t, len(text), 4000)
	// Each line is a statement whose quoted texts are complete.
	for _, line := range strings.Split(strings.TrimSpace(dot), "\n")[4:] {
		plain := regexp.MustCompile(`"(\\.|[^"\\])*"`).ReplaceAllString(line, "T")
		assert.Regexp(t, `^(  (n|o)\d+( -> (n|o)\d+)?( \[[a-z]+=[a-zT]+(, [a-z]+=[a-zT]+)*\])?;|\})$`, plain)
	}
	if path, err := exec.LookPath("dot"); err == nil {
		command := exec.Command(path, "-Tcanon")
		command.Stdin, command.Stderr = strings.NewReader(dot), os.Stderr
		assert.NoError(t, command.Run())
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestFailedWrites(t *testing.T) {
	g, err := small().Resolve()
	require.NoError(t, err)
	assert.ErrorContains(t, g.WriteText(broken{}, nil), "the disk is full")
	assert.ErrorContains(t, g.WriteDOT(broken{}, nil), "the disk is full")
	g.Model.Parameters[0].Shape[0] = 0
	assert.ErrorContains(t, g.WriteText(broken{}, nil), "at least 1")
}
