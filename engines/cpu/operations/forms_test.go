//go:build cgo && (amd64 || arm64) && linux

package operations

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/operator/reference"
	"ferrum_mem/core/strided"
)

// Older forms of operators, whose attributes or axes differ, have the results of the reference with
// any strides.
func TestOlderForms(t *testing.T) {
	x := random(dtype.F32, 3, 4, 5)
	integers := random(dtype.I32, 3, 4)
	for _, form := range []struct {
		name, attributes string
		opset            int
		inputs           []*argument
		outputs          int
	}{
		// Before opset 13 Softmax combines all dimensions from the axis on.
		{"Softmax", `{"axis":0}`, 12, []*argument{x}, 1},
		{"Softmax", `{"axis":1}`, 12, []*argument{x}, 1},
		{"Softmax", `{"axis":1}`, 12, []*argument{random(dtype.F64, 2, 3, 2)}, 1},
		{"Erf", "", 12, []*argument{integers}, 1},
		{"Split", `{"axis":1,"split":[1,3]}`, 12, []*argument{x}, 2},
		{"Split", `{"axis":1}`, 12, []*argument{x}, 2},
		{"TopK", `{"k":2}`, 9, []*argument{x}, 2},
		{"ArgMax", `{"axis":2}`, 11, []*argument{x}, 1},
		{"Slice", `{"starts":[1],"ends":[9],"axes":[1]}`, 9, []*argument{x}, 1},
		{"ReduceSum", `{"axes":[0,2]}`, 12, []*argument{x}, 1},
		{"ReduceMax", `{"axes":[1],"keepdims":0}`, 13, []*argument{integers}, 1},
		{"Unsqueeze", `{"axes":[0,3]}`, 12, []*argument{x}, 1},
		{"Attention", `{"is_causal":1}`, 23, []*argument{random(dtype.F16, 1, 2, 3, 4), random(dtype.F16, 1, 2, 3, 4), random(dtype.F16, 1, 2, 3, 4)}, 1},
	} {
		s, err := operator.Find(operator.ONNX, form.name, form.opset)
		require.NoError(t, err)
		op, err := s.Prepare([]byte(form.attributes))
		require.NoError(t, err)
		onEachSet(t, 2, func(t *testing.T, e *Engine) {
			for _, in := range inputPatterns[:4] {
				for _, out := range outputPatterns {
					wanted := make([]bool, form.outputs)
					for i := range wanted {
						wanted[i] = true
					}
					call{op: op, inputs: form.inputs, wanted: wanted}.prepare(t, []pattern{in}, out).run(t, e)
				}
			}
		})
	}
}

// The elements of a key that is hidden from a query do not matter: here its key is NaN and its value is
// infinite.
func TestHiddenKeys(t *testing.T) {
	one := func(kind dtype.DType, shape []uint64, values ...float64) *argument {
		made := reference.New(kind, shape)
		copy(made.Floats, values)
		for i := range made.Ints {
			made.Ints[i] = int64(values[i])
		}
		return &argument{Tensor: made}
	}
	onEachSet(t, 1, func(t *testing.T, e *Engine) {
		for _, kind := range []dtype.DType{dtype.F32, dtype.F16, dtype.BF16, dtype.F64} {
			q := one(kind, []uint64{1, 1, 1, 1}, 1)
			k := one(kind, []uint64{1, 1, 3, 1}, 1, 1, math.NaN())
			v := one(kind, []uint64{1, 1, 3, 1}, 2, 4, math.Inf(1))
			for _, c := range []struct {
				attributes string
				more       []*argument
			}{
				{"", []*argument{one(dtype.Bool, []uint64{3}, 1, 1, 0)}},
				{"", []*argument{one(kind, []uint64{3}, 0, 0, math.Inf(-1))}},
				{"", []*argument{one(kind, []uint64{1, 3}, 0, 0, math.Inf(-1))}},
				{"", []*argument{one(kind, []uint64{2}, 0, 0)}},
				{"", []*argument{nil, nil, nil, list(2)}},
				{`{"is_causal":1}`, nil},
				{`{"right_window_size":1}`, nil},
				{`{"softcap":2}`, []*argument{one(dtype.Bool, []uint64{3}, 0, 0, 0)}},
				// These see the key.
				{"", nil},
				{`{"left_window_size":0}`, []*argument{nil, nil, nil, list(3)}},
			} {
				callOf(t, operator.ONNX, "Attention", c.attributes, append([]*argument{q, k, v}, c.more...)...).prepare(t, []pattern{inOrder}, inOrder).run(t, e)
			}
		}
	})
}

// An intermediate value that does not fit the memory of any machine is an error of Plan.
func TestIntermediateValuesThatAreTooLarge(t *testing.T) {
	e := opened(t, 1)
	s, err := operator.Find(operator.ONNX, "Softmax", 12)
	require.NoError(t, err)
	op, err := s.Prepare([]byte(`{"axis":0}`))
	require.NoError(t, err)
	shape := []int64{1 << 30, 1 << 30}
	inferred, err := op.Infer([]operator.Value{{Type: dtype.F32, Shape: []uint64{1 << 30, 1 << 30}}}, nil)
	require.NoError(t, err)
	// The rows of the input are one row, so all dimensions together have no stride.
	in, err := strided.Strided(shape, []int64{0, 1}, 0)
	require.NoError(t, err)
	out, err := strided.Contiguous(shape...)
	require.NoError(t, err)
	_, err = e.Plan(compute.Request{
		Operator: op, Inferred: inferred, Inputs: []compute.Operand{{Type: dtype.F32, Layout: in}},
		Outputs: []compute.Operand{{Type: dtype.F32, Layout: out}},
	})
	require.ErrorIs(t, err, device.CodeOverflow)
	assert.ErrorContains(t, err, "Softmax of f32: an intermediate value of the shape [1073741824, 1073741824] is too large")
}
