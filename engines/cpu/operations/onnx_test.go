//go:build cgo && (amd64 || arm64) && linux

package operations

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/operator/reference"
)

// oracle has the scripts and the list of exceptions that the reference is tested with.
const oracle = "../../../core/operator/reference/testdata"

// stored is a tensor of a case: its elements are in one file.
type stored struct {
	Type   int32    `json:"type"`
	Shape  []uint64 `json:"shape"`
	Offset int      `json:"offset"`
	Bytes  int      `json:"bytes"`
}

type onnxCase struct {
	Name       string          `json:"name"`
	Operator   string          `json:"operator"`
	Opset      int             `json:"opset"`
	Attributes json.RawMessage `json:"attributes"`
	Relative   float64         `json:"rtol"`
	Absolute   float64         `json:"atol"`
	Sets       []struct {
		Inputs  []*stored `json:"inputs"`
		Outputs []*stored `json:"outputs"`
	} `json:"sets"`
}

// casesOfONNX collects the cases of all operators. A machine without the packages skips the test.
func casesOfONNX(t *testing.T) (cases []onnxCase, data []byte) {
	t.Helper()
	python, err := filepath.Abs("../../../build/venv/bin/python")
	require.NoError(t, err)
	if err := exec.Command(python, "-c", "import onnx, numpy").Run(); err != nil {
		missing := fmt.Sprintf("build/venv does not have the packages onnx and numpy: `make test` installs them (%v)", err)
		require.Empty(t, os.Getenv("CI"), missing)
		t.Skip(missing)
	}
	folder := t.TempDir()
	arguments := append([]string{"-W", "ignore", filepath.Join(oracle, "onnx_cases.py"), folder}, operator.Names(operator.ONNX)...)
	command := exec.Command(python, arguments...)
	command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	text, err := os.ReadFile(filepath.Join(folder, "cases.json"))
	require.NoError(t, err)
	var list struct {
		Cases []onnxCase `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(text, &list))
	data, err = os.ReadFile(filepath.Join(folder, "data.bin"))
	require.NoError(t, err)
	return list.Cases, data
}

// exceptions returns the names of the cases that the reference does not pass, each with a reason.
func exceptions(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(oracle, "onnx_exceptions.txt"))
	require.NoError(t, err)
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			name, _, _ := strings.Cut(line, " ")
			listed[name] = true
		}
	}
	return listed
}

// read returns a stored tensor; nil: it is absent.
func (s *stored) read(t *testing.T, data []byte) (a *argument, isKnown bool) {
	t.Helper()
	if s == nil {
		return nil, true
	}
	for kind := dtype.DType(0); kind <= dtype.U4; kind++ {
		if operator.ONNXNumber(kind) == s.Type {
			tensor, err := reference.FromBytes(kind, s.Shape, data[s.Offset:s.Offset+s.Bytes])
			require.NoError(t, err)
			return &argument{Tensor: tensor}, true
		}
	}
	return nil, false
}

// run computes a case on an engine, and compares the outputs with those of ONNX.
func (c *onnxCase) run(t *testing.T, e *Engine, data []byte, in, out pattern) error {
	t.Helper()
	schema, err := operator.Find(operator.ONNX, c.Operator, c.Opset)
	require.NoError(t, err)
	op, err := schema.Prepare(c.Attributes)
	if err != nil {
		return err
	}
	for _, set := range c.Sets {
		made := call{op: op}
		for _, s := range set.Inputs {
			a, isKnown := s.read(t, data)
			if !isKnown {
				return fmt.Errorf("a data type is not one of ours")
			}
			made.inputs = append(made.inputs, a)
		}
		var expected []*argument
		for _, s := range set.Outputs {
			a, isKnown := s.read(t, data)
			if !isKnown {
				return fmt.Errorf("a data type is not one of ours")
			}
			expected, made.wanted = append(expected, a), append(made.wanted, a != nil)
		}
		x := made.prepare(t, []pattern{in}, out)
		p, err := e.Plan(x.request)
		if err != nil {
			return err
		}
		space, check := workspace(t, p.WorkspaceBytes())
		if err := p.Run(addresses(x.inputs), addresses(x.outputs), space); err != nil {
			return err
		}
		check()
		for i, want := range expected {
			if want == nil {
				continue
			}
			if err := c.difference(want.Tensor, x.outputs[i].read(t)); err != nil {
				return fmt.Errorf("output %d: %w", i, err)
			}
		}
	}
	return nil
}

// difference compares as numpy.testing.assert_allclose does.
func (c *onnxCase) difference(want, got *reference.Tensor) error {
	if want.Type != got.Type || fmt.Sprint(want.Shape) != fmt.Sprint(got.Shape) || fmt.Sprint(want.Ints) != fmt.Sprint(got.Ints) {
		return fmt.Errorf("%v %v %v, expected %v %v %v", got.Type, got.Shape, got.Ints, want.Type, want.Shape, want.Ints)
	}
	relative := c.Relative
	if want.Type == dtype.BF16 {
		// The cases round to BF16, by up to 2^-9, after each of the five steps of Attention.
		relative = max(relative, 0x1p-6)
	}
	for at, w := range want.Floats {
		g := got.Floats[at]
		if math.IsNaN(w) && math.IsNaN(g) || w == g {
			continue
		}
		if !(math.Abs(g-w) <= c.Absolute+relative*math.Abs(w)) || math.IsInf(w, 0) {
			return fmt.Errorf("element %d is %v, expected %v", at, g, w)
		}
	}
	return nil
}

// Every case of ONNX passes with every instruction set, or it is one that the reference does not pass
// either, for a reason that its list states.
func TestCasesOfONNX(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: collecting the cases takes seconds")
	}
	cases, data := casesOfONNX(t)
	listed := exceptions(t)
	onEachSet(t, 2, func(t *testing.T, e *Engine) {
		passed, seen := 0, map[string]bool{}
		for i, c := range cases {
			seen[c.Operator] = true
			// The inputs of some cases carry numbers, which a broadcast would change.
			in := []pattern{inOrder, transposed, sliced, reversed}[i%4]
			err := c.run(t, e, data, in, outputPatterns[i%3])
			if listed[c.Name] {
				assert.Error(t, err, "%s passes and is listed as an exception", c.Name)
			} else if assert.NoError(t, err, c.Name) {
				passed++
			}
		}
		assert.Len(t, seen, len(operator.Names(operator.ONNX)))
		t.Logf("%d of %d cases pass", passed, len(cases))
	})
}
