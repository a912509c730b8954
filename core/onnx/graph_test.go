package onnx_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/onnx"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/operator/operatortest"
)

// valuesOf reads the inputs of a call: the lengths of each, with the elements of a list of numbers behind a
// colon.
func valuesOf(t *testing.T, s *operator.Schema, text string) []operator.Value {
	t.Helper()
	var list []operator.Value
	for i, word := range strings.Fields(text) {
		p := s.Inputs[min(i, len(s.Inputs)-1)]
		v := operator.Value{Type: p.Types.List()[0]}
		if p.Types.Has(dtype.F32) {
			v.Type = dtype.F32
		}
		if p.Types.Has(dtype.I64) && p.IsRead {
			v.Type = dtype.I64
		}
		lengths, elements, _ := strings.Cut(word, ":")
		v.Shape = []uint64{}
		for _, length := range strings.Split(lengths, ",") {
			n, err := strconv.ParseUint(length, 10, 64)
			require.NoError(t, err)
			v.Shape = append(v.Shape, n)
		}
		for _, element := range strings.Split(elements, ",") {
			if n, err := strconv.ParseInt(element, 10, 64); err == nil {
				v.Known = append(v.Known, n)
			}
		}
		list = append(list, v)
	}
	return list
}

// opened opens the bytes of a model as a file.
func opened(t *testing.T, bytes []byte) *onnx.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.onnx")
	require.NoError(t, os.WriteFile(path, bytes, 0o600))
	f, err := onnx.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// checkAll runs the checker of onnx on all files of a folder, and opens them in onnxruntime where it is
// installed.
const checkAll = `
import glob, sys
import onnx
try:
    import onnxruntime
except ImportError:
    onnxruntime = None
files = sorted(glob.glob(sys.argv[1] + "/*.onnx"))
for file in files:
    onnx.checker.check_model(file, full_check=True)
    if onnxruntime:
        onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
print(len(files), "files")
`

// python returns the interpreter of build/venv, or "".
func python(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../build/venv/bin/python")
	require.NoError(t, err)
	if err := exec.Command(path, "-c", "import onnx").Run(); err != nil {
		missing := "build/venv does not have the package onnx: make test installs it (" + err.Error() + ")"
		require.Empty(t, os.Getenv("CI"), missing)
		t.Log(missing)
		return ""
	}
	return path
}

// Every operator of the library that has a form in ONNX becomes a model of one step, which the reader, the
// checker of onnx and onnxruntime take.
func TestEachOperatorIsAModel(t *testing.T) {
	folder, models := t.TempDir(), 0
	for _, domain := range []string{operator.ONNX, operator.Ferrum} {
		for _, name := range operator.Names(domain) {
			t.Run(operator.FullName(domain, name), func(t *testing.T) {
				s, err := operator.Find(domain, name, 0)
				require.NoError(t, err)
				attributes, inputs := operatortest.Small(name)
				op, err := s.Prepare([]byte(attributes))
				require.NoError(t, err)
				values := valuesOf(t, s, inputs)
				g, err := onnx.ForOperator(op, values, nil)
				switch name {
				case "quantized_linear":
					require.ErrorContains(t, err, "which ONNX does not have")
					return
				case "paged_attention":
					require.ErrorContains(t, err, "ferrum.paged_attention has no form in ONNX")
					return
				}
				require.NoError(t, err)
				models++
				assert.Empty(t, g.Initializers)
				f := opened(t, g.Bytes)
				require.NoError(t, os.WriteFile(filepath.Join(folder, operator.FullName(domain, name)+".onnx"), g.Bytes, 0o600))
				assert.Equal(t, g.Inputs, f.Inputs)
				assert.Equal(t, g.Outputs, f.Outputs)
				m, err := f.Definition()
				require.NoError(t, err)
				assert.Empty(t, m.Validate())
			})
		}
	}
	if interpreter := python(t); interpreter != "" {
		out, err := exec.Command(interpreter, "-c", checkAll, folder).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), strconv.Itoa(models)+" files")
	}
}

// The graph of a definition has each parameter once, without elements, and its inputs and outputs.
func TestGraphOfADefinition(t *testing.T) {
	text, err := os.ReadFile("../ir/testdata/example.json")
	require.NoError(t, err)
	m, err := ir.Parse(text)
	require.NoError(t, err)
	g, err := onnx.FromDefinition(m)
	require.NoError(t, err)
	require.Len(t, g.Initializers, 2)
	table, weight := g.Initializers[0], g.Initializers[1]
	assert.Equal(t, []uint64{16, 8}, table.Shape)
	assert.Equal(t, "table", table.Spec.Tensor)
	assert.False(t, table.IsTransposed)
	assert.Equal(t, []uint64{8, 4}, weight.Shape, "the matrix of a product is exchanged")
	assert.True(t, weight.IsTransposed)
	assert.Equal(t, &m.Parameters[1], weight.Parameter)
	assert.Equal(t, uint64(128), weight.SizeBytes)
	assert.Equal(t, []onnx.Dim{{Length: ir.Dynamic, Name: "batch"}, {Length: ir.Dynamic, Name: "sequence"}}, g.Inputs[0].Shape)
	assert.Less(t, len(g.Bytes), 3000)
}
