package onnx

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
	"ferrum_mem/tests/mutation"
)

// openedBytes reads a model in memory.
func openedBytes(data []byte) (*File, error) {
	source, err := weights.OpenMemory("fuzzed", data, weights.Options{Formats: []weights.Format{header.ONNX}})
	if err != nil {
		return nil, err
	}
	return from(source)
}

// A file has a graph and a definition, or an error that is typed and names the file. Everything that can be
// read from it has bounds.
func FuzzFile(f *testing.F) {
	for _, name := range []string{"testdata/old.onnx", "testdata/new.onnx", "testdata/rows.onnx"} {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
	}
	text, err := os.ReadFile("../ir/testdata/example.json")
	require.NoError(f, err)
	m, err := ir.Parse(text)
	require.NoError(f, err)
	g, err := FromDefinition(m)
	require.NoError(f, err)
	f.Add(g.Bytes)
	f.Fuzz(mutation.Also(func(t *testing.T, data []byte) {
		file, err := openedBytes(data)
		if err != nil {
			requireTyped(t, err)
			return
		}
		g, err := file.Graph()
		if err != nil {
			requireTyped(t, err)
			return
		}
		require.LessOrEqual(t, len(g.Bytes), 2*len(data)+1024*len(g.Initializers)+1024)
		again, err := openedBytes(g.Bytes)
		if len(g.Initializers) == 0 {
			require.NoError(t, err, "the graph of a file is a file")
			require.Len(t, again.Nodes, len(file.Nodes))
		}
		m, err := file.Definition()
		if err != nil {
			requireTyped(t, err)
			return
		}
		require.Len(t, m.Graph.Outputs, len(file.Outputs))
		m.Validate()
	}))
}

func requireTyped(t *testing.T, err error) {
	t.Helper()
	var typed *device.Error
	require.ErrorAs(t, err, &typed)
	require.ErrorContains(t, err, "fuzzed")
	require.NotEqual(t, device.CodeInternal, typed.Code, "%v", err)
}
