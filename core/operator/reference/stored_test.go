package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

// python returns the interpreter of build/venv if it has some packages. A machine without them
// skips the test; CI installs them, so the test fails there.
func python(t *testing.T, packages ...string) string {
	t.Helper()
	path, err := filepath.Abs("../../../build/venv/bin/python")
	require.NoError(t, err)
	if err := exec.Command(path, "-c", "import "+strings.Join(packages, ", ")).Run(); err != nil {
		missing := fmt.Sprintf("build/venv does not have the packages %s: `make test` installs them (%v)", strings.Join(packages, ", "), err)
		require.Empty(t, os.Getenv("CI"), missing)
		t.Skip(missing)
	}
	return path
}

// script runs a script of testdata.
func script(t *testing.T, interpreter, name string, arguments ...string) {
	t.Helper()
	command := exec.Command(interpreter, append([]string{"-W", "ignore", filepath.Join("testdata", name)}, arguments...)...)
	command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
}

// stored is a tensor in data.bin.
type stored struct {
	Type   int32    `json:"type"`
	Shape  []uint64 `json:"shape"`
	Offset int      `json:"offset"`
	Bytes  int      `json:"bytes"`
}

type storedCase struct {
	Name       string          `json:"name"`
	Operator   string          `json:"operator"`
	Domain     string          `json:"domain"`
	Opset      int             `json:"opset"`
	Attributes json.RawMessage `json:"attributes"`
	Relative   float64         `json:"rtol"`
	Absolute   float64         `json:"atol"`
	Sets       []struct {
		Inputs  []*stored `json:"inputs"`
		Outputs []*stored `json:"outputs"`
	} `json:"sets"`
}

// read returns a stored tensor. isKnown is false for a data type that the library does not convert.
func (s *stored) read(t *testing.T, data []byte) (tensor *Tensor, isKnown bool) {
	t.Helper()
	if s == nil {
		return nil, true
	}
	if s.Type >= int32(dtype.GGUFBase) {
		tensor, err := FromBytes(dtype.DType(s.Type), s.Shape, data[s.Offset:s.Offset+s.Bytes])
		require.NoError(t, err)
		return tensor, true
	}
	for kind := dtype.DType(0); kind <= dtype.U4; kind++ {
		if operator.ONNXNumber(kind) == s.Type {
			tensor, err := FromBytes(kind, s.Shape, data[s.Offset:s.Offset+s.Bytes])
			require.NoError(t, err)
			return tensor, true
		}
	}
	return nil, false
}

func readAll(t *testing.T, data []byte, list []*stored) (tensors []*Tensor, areKnown bool) {
	t.Helper()
	for _, s := range list {
		tensor, isKnown := s.read(t, data)
		if !isKnown {
			return nil, false
		}
		tensors = append(tensors, tensor)
	}
	return tensors, true
}

// load returns the cases that a script of testdata has written.
func load(t *testing.T, interpreter, name string, arguments ...string) (version string, cases []storedCase, data []byte) {
	t.Helper()
	folder := t.TempDir()
	script(t, interpreter, name, append([]string{folder}, arguments...)...)
	text, err := os.ReadFile(filepath.Join(folder, "cases.json"))
	require.NoError(t, err)
	data, err = os.ReadFile(filepath.Join(folder, "data.bin"))
	require.NoError(t, err)
	var list struct {
		Version string       `json:"version"`
		Cases   []storedCase `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(text, &list))
	return list.Version, list.Cases, data
}

// check runs a case.
func (c storedCase) check(t *testing.T, data []byte) error {
	t.Helper()
	schema, err := operator.Find(c.Domain, c.Operator, c.Opset)
	if err != nil {
		return err
	}
	op, err := schema.Prepare(c.Attributes)
	if err != nil {
		return err
	}
	for _, set := range c.Sets {
		inputs, areKnown := readAll(t, data, set.Inputs)
		expected, areKnownToo := readAll(t, data, set.Outputs)
		if !areKnown || !areKnownToo {
			return fmt.Errorf("a data type is not one of ours")
		}
		wanted := make([]bool, len(expected))
		for i, e := range expected {
			wanted[i] = e != nil
		}
		outputs, err := Run(op, inputs, wanted)
		if err != nil {
			return err
		}
		for i, e := range expected {
			if err := difference(e, outputs[i], c.Relative, c.Absolute); err != nil {
				return fmt.Errorf("output %d: %w", i, err)
			}
		}
	}
	return nil
}

// difference compares a result with the expected tensor, as numpy.testing.assert_allclose does.
func difference(expected, result *Tensor, relative, absolute float64) error {
	if expected == nil || result == nil {
		if expected != nil || result != nil {
			return fmt.Errorf("one of them is absent")
		}
		return nil
	}
	if expected.Type != result.Type || fmt.Sprint(expected.Shape) != fmt.Sprint(result.Shape) {
		return fmt.Errorf("%v %v, expected %v %v", result.Type, result.Shape, expected.Type, expected.Shape)
	}
	want, err := expected.Bytes()
	if err != nil {
		return err
	}
	got, err := result.Bytes()
	if err != nil {
		return err
	}
	if !expected.isFloat() {
		if !bytes.Equal(want, got) {
			return fmt.Errorf("%v, expected %v", result.Ints, expected.Ints)
		}
		return nil
	}
	rounded, err := FromBytes(result.Type, result.Shape, got)
	if err != nil {
		return err
	}
	if expected.Type == dtype.BF16 {
		// The cases of ONNX round to BF16, by up to 2^-9, after each of the five steps of Attention.
		relative = max(relative, 0x1p-6)
	}
	for at, e := range expected.Floats {
		r := rounded.Floats[at]
		if math.IsNaN(e) && math.IsNaN(r) || e == r {
			continue
		}
		if !(math.Abs(r-e) <= absolute+relative*math.Abs(e)) || math.IsInf(e, 0) {
			return fmt.Errorf("element %d is %v, expected %v", at, r, e)
		}
	}
	return nil
}
