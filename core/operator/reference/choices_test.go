package reference

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

// tensor reads a text such as "f32[2,1]:1.5,nan"; "-" is absent.
func tensor(t *testing.T, text string) *Tensor {
	t.Helper()
	if text == "-" {
		return nil
	}
	head, elements, _ := strings.Cut(text, ":")
	name, sizes, _ := strings.Cut(strings.TrimSuffix(head, "]"), "[")
	kind, err := dtype.Parse(name)
	require.NoError(t, err)
	var shape []uint64
	for size := range strings.FieldsFuncSeq(sizes, func(r rune) bool { return r == ',' }) {
		number, err := strconv.ParseUint(size, 10, 64)
		require.NoError(t, err)
		shape = append(shape, number)
	}
	made, at := New(kind, shape), 0
	for element := range strings.FieldsFuncSeq(elements, func(r rune) bool { return r == ',' }) {
		if made.isFloat() {
			made.Floats[at], err = strconv.ParseFloat(element, 64)
		} else if kind == dtype.U64 {
			var bits uint64
			bits, err = strconv.ParseUint(element, 10, 64)
			made.Ints[at] = int64(bits)
		} else {
			made.Ints[at], err = strconv.ParseInt(element, 10, 64)
		}
		require.NoError(t, err)
		at++
	}
	require.EqualValues(t, made.count(), at, text)
	return made
}

type computation struct {
	name, attributes, inputs, outputs string
	opset                             int
}

func (c computation) run(t *testing.T) ([]*Tensor, error) {
	t.Helper()
	domain := operator.ONNX
	if slices.Contains(operator.Names(operator.Ferrum), c.name) {
		domain = operator.Ferrum
	}
	schema, err := operator.Find(domain, c.name, c.opset)
	require.NoError(t, err)
	op, err := schema.Prepare([]byte(c.attributes))
	require.NoError(t, err)
	var inputs []*Tensor
	for text := range strings.FieldsSeq(c.inputs) {
		inputs = append(inputs, tensor(t, text))
	}
	return Run(op, inputs, nil)
}

// Each choice that the ONNX standard leaves has one result.
func TestChoices(t *testing.T) {
	const scores = "f64[1,1,1,1]:1 f64[1,1,3,1]:1,1,nan f64[1,1,3,1]:2,4,inf"
	for _, c := range []computation{
		{name: "Div", inputs: "i32[4]:7,-7,7,-2147483648 i32[4]:-2,2,0,-1", outputs: "i32[4]:-3,-3,0,-2147483648"},
		{name: "Div", inputs: "u64[2]:18446744073709551615,5 u64[2]:2,0", outputs: "u64[2]:9223372036854775807,0"},
		{name: "Div", inputs: "f32[3]:1,-1,0 f32[3]:0,0,0", outputs: "f32[3]:inf,-inf,nan"},
		{name: "Add", inputs: "i8[1]:127 i8[1]:1", outputs: "i8[1]:-128"},
		{name: "Sub", inputs: "u16[1]:0 u16[1]:1", outputs: "u16[1]:65535"},
		{name: "Pow", inputs: "i32[5]:2,1,-1,-1,0 i32[5]:-1,-5,-2,-3,-1", outputs: "i32[5]:0,1,1,-1,0"},
		{name: "Pow", inputs: "i64[1]:-1 u64[1]:18446744073709551615", outputs: "i64[1]:-1"},
		{name: "Pow", inputs: "i64[2]:2,3 f32[2]:0.5,-1", outputs: "i64[2]:1,0"},
		{name: "Relu", inputs: "f32[3]:nan,-inf,-1", outputs: "f32[3]:nan,0,0"},
		{name: "Relu", inputs: "i8[2]:-3,3", outputs: "i8[2]:0,3"},
		{name: "Erf", opset: 12, inputs: "i32[3]:-5,0,5", outputs: "i32[3]:0,0,0"},
		{name: "ReduceMean", inputs: "f32[0,2] i64[1]:0", outputs: "f32[1,2]:nan,nan"},
		{name: "ReduceMean", inputs: "i32[0,2] i64[1]:0", outputs: "i32[1,2]:0,0"},
		{name: "ReduceMean", inputs: "i32[2]:-3,0", outputs: "i32[1]:-1"},
		{name: "ReduceMean", inputs: "u64[1]:18446744073709551614", outputs: "u64[1]:18446744073709551614"},
		{name: "ReduceSum", inputs: "f32[0]", outputs: "f32[1]:0"},
		{name: "ReduceSum", inputs: "f32[2]:inf,-inf", outputs: "f32[1]:nan"},
		{name: "ReduceMax", inputs: "f32[0]", outputs: "f32[1]:-inf"},
		{name: "ReduceMax", inputs: "i8[0]", outputs: "i8[1]:-128"},
		{name: "ReduceMax", inputs: "bool[0]", outputs: "bool[1]:0"},
		{name: "ReduceMax", inputs: "bool[2]:0,1", outputs: "bool[1]:1"},
		{name: "ReduceMax", inputs: "f32[3]:inf,nan,1", outputs: "f32[1]:nan"},
		{name: "ReduceMax", inputs: "u64[2]:1,18446744073709551615", outputs: "u64[1]:18446744073709551615"},
		{name: "ReduceSum", attributes: `{"noop_with_empty_axes":1}`, inputs: "f32[2]:1,2", outputs: "f32[2]:1,2"},
		{name: "ArgMax", inputs: "f32[4]:1,nan,nan,inf", outputs: "i64[1]:1"},
		{name: "ArgMax", attributes: `{"select_last_index":1}`, inputs: "f32[4]:1,nan,nan,inf", outputs: "i64[1]:2"},
		{name: "ArgMax", inputs: "i8[3]:2,3,3", outputs: "i64[1]:1"},
		{name: "TopK", inputs: "f32[5]:3,nan,3,inf,-inf i64[1]:5", outputs: "f32[5]:nan,inf,3,3,-inf i64[5]:1,3,0,2,4"},
		{name: "TopK", attributes: `{"largest":0}`, inputs: "f32[5]:3,nan,3,inf,-inf i64[1]:4", outputs: "f32[4]:-inf,3,3,inf i64[4]:4,0,2,3"},
		{name: "Softmax", inputs: "f32[2]:-inf,-inf", outputs: "f32[2]:nan,nan"},
		{name: "Softmax", opset: 12, attributes: `{"axis":0}`, inputs: "f64[2,2]:0,0,0,0", outputs: "f64[2,2]:0.25,0.25,0.25,0.25"},
		{name: "Cast", attributes: `{"to":"i8"}`, inputs: "f32[4]:1e9,-1e9,nan,-1.9", outputs: "i8[4]:127,-128,0,-1"},
		{name: "Cast", attributes: `{"to":"u8"}`, inputs: "i32[2]:257,-1", outputs: "u8[2]:1,255"},
		{name: "Cast", attributes: `{"to":"u4"}`, inputs: "i32[3]:17,-1,3", outputs: "u4[3]:1,15,3"},
		{name: "Cast", attributes: `{"to":"f64"}`, inputs: "u4[3]:1,15,3", outputs: "f64[3]:1,15,3"},
		{name: "Cast", attributes: `{"to":"bool"}`, inputs: "f32[3]:nan,-0,0.1", outputs: "bool[3]:1,0,1"},
		{name: "Cast", attributes: `{"to":"f32"}`, inputs: "i64[1]:9007199791611905", outputs: "f32[1]:9007200328482816"},
		{name: "Cast", attributes: `{"to":"f8_e4m3"}`, inputs: "f32[4]:inf,-1e9,nan,449", outputs: "f8_e4m3[4]:448,-448,nan,448"},
		{name: "Cast", attributes: `{"to":"f8_e4m3","saturate":0}`, inputs: "f32[3]:inf,-1e9,449", outputs: "f8_e4m3[3]:nan,nan,448"},
		{name: "Cast", attributes: `{"to":"f8_e5m2"}`, inputs: "f32[2]:inf,-1e9", outputs: "f8_e5m2[2]:57344,-57344"},
		{name: "Cast", attributes: `{"to":"f8_e5m2","saturate":0}`, inputs: "f32[2]:inf,-1e9", outputs: "f8_e5m2[2]:inf,-inf"},
		{name: "Cast", attributes: `{"to":"f8_e8m0"}`, inputs: "f32[5]:1.5,1,1.1,0,inf", outputs: "f8_e8m0[5]:2,1,2,5.877471754111438e-39,1.7014118346046923e38"},
		{name: "Cast", attributes: `{"to":"f8_e8m0","round_mode":"down"}`, inputs: "f32[2]:1.9,2", outputs: "f8_e8m0[2]:1,2"},
		{name: "Cast", attributes: `{"to":"f8_e8m0","round_mode":"nearest","saturate":0}`, inputs: "f32[6]:1.5,1.4,1.6,0,inf,-1", outputs: "f8_e8m0[6]:2,1,2,nan,nan,nan"},
		{name: "Gemm", attributes: `{"beta":0}`, inputs: "f32[1,1]:2 f32[1,1]:3 f32[1]:nan", outputs: "f32[1,1]:nan"},
		{name: "Gemm", attributes: `{"alpha":0.5}`, inputs: "i32[1,1]:3 i32[1,1]:-3", outputs: "i32[1,1]:-4"},
		{name: "Gemm", attributes: `{"alpha":-2}`, inputs: "u32[1,1]:3 u32[1,1]:1 u32[1]:7", outputs: "u32[1,1]:1"},
		{name: "MatMul", inputs: "f32[2,0] f32[0,1]", outputs: "f32[2,1]:0,0"},
		{name: "Slice", inputs: "f32[3]:1,2,3 i64[1]:-9 i64[1]:-9 i64[1]:0 i64[1]:-1", outputs: "f32[1]:1"},
		{name: "Slice", opset: 9, attributes: `{"starts":[1],"ends":[9]}`, inputs: "f32[3]:1,2,3", outputs: "f32[2]:2,3"},
		{name: "Split", opset: 12, attributes: `{"split":[1,2]}`, inputs: "f32[3]:1,2,3", outputs: "f32[1]:1 f32[2]:2,3"},
		{name: "TopK", opset: 9, attributes: `{"k":2}`, inputs: "f32[3]:1,3,2", outputs: "f32[2]:3,2 i64[2]:1,2"},
		{name: "ReduceSum", opset: 12, attributes: `{"axes":[0]}`, inputs: "f32[2,2]:1,2,3,4", outputs: "f32[1,2]:4,6"},
		{name: "Squeeze", opset: 12, attributes: `{"axes":[0]}`, inputs: "f32[1,1]:5", outputs: "f32[1]:5"},
		{name: "ArgMax", opset: 11, inputs: "f32[3]:1,3,3", outputs: "i64[1]:1"},
		{name: "Cast", opset: 13, attributes: `{"to":1}`, inputs: "f64[1]:1e300", outputs: "f32[1]:inf"},
		{name: "Attention", opset: 23, inputs: scores + " bool[3]:1,1,0", outputs: "f64[1,1,1,1]:3"},
		// The last key, whose value is infinite and whose score is NaN, is not attended.
		{name: "Attention", inputs: scores + " f64[2]:0,0", outputs: "f64[1,1,1,1]:3"},
		{name: "Attention", inputs: scores + " bool[3]:1,1,0", outputs: "f64[1,1,1,1]:3"},
		{name: "Attention", inputs: scores + " - - - i64[1]:2", outputs: "f64[1,1,1,1]:3"},
		{name: "Attention", attributes: `{"is_causal":1}`, inputs: scores, outputs: "f64[1,1,1,1]:2"},
		{name: "Attention", attributes: `{"right_window_size":1}`, inputs: scores, outputs: "f64[1,1,1,1]:3"},
		{name: "Attention", inputs: scores + " bool[3]:0,0,0", outputs: "f64[1,1,1,1]:0"},
		{name: "Attention", inputs: scores, outputs: "f64[1,1,1,1]:nan"},
		{name: "Attention", inputs: "f64[1,1,1,0] f64[1,1,2,0] f64[1,1,2,1]:2,4", outputs: "f64[1,1,1,1]:3"},
		{name: "Attention", inputs: "f64[1,1,1,1]:1 f64[1,1,0,1] f64[1,1,0,1]", outputs: "f64[1,1,1,1]:0"},
		// Causal queries are after the keys of the past.
		{name: "Attention", attributes: `{"is_causal":1}`, inputs: "f64[1,1,2,1]:0,0 f64[1,1,2,1]:0,0 f64[1,1,2,1]:3,6 - f64[1,1,1,1]:0 f64[1,1,1,1]:9", outputs: "f64[1,1,2,1]:6,6"},
	} {
		got, err := c.run(t)
		if !assert.NoError(t, err, "%s(%s) %s", c.name, c.inputs, c.attributes) {
			continue
		}
		for i, text := range strings.Fields(c.outputs) {
			assert.NoError(t, difference(tensor(t, text), got[i], 1e-15, 0), "%s(%s) %s", c.name, c.inputs, c.attributes)
		}
	}
}

// Numbers that are known only when elements are computed are errors of Run.
func TestWrongElements(t *testing.T) {
	for _, c := range []computation{
		{name: "Gather", inputs: "f32[2]:1,2 i64[2]:1,-3", outputs: `element 1 of input "indices" is -3: dimension 0 of input "data" [2] has 2 elements`},
		{name: "Gather", inputs: "f32[0] i64[1]:0", outputs: "has 0 elements"},
		{name: "RotaryEmbedding", inputs: "f32[1,1,1,2]:1,2 f32[3,1]:1,1,1 f32[3,1]:0,0,0 i64[1,1]:3", outputs: `element 0 of input "position_ids" is 3: input "cos_cache" [3, 1] has 3 positions`},
		{name: "RotaryEmbedding", inputs: "f32[1,1,1,2]:1,2 f32[3,1]:1,1,1 f32[3,1]:0,0,0 i64[1,1]:-1", outputs: "is -1"},
		{name: "MatMul", inputs: "f32[2]:1,2 f32[3]:1,2,3", outputs: "do not fit"},
	} {
		_, err := c.run(t)
		require.ErrorIs(t, err, device.CodeInvalidArgument, c.name)
		assert.ErrorContains(t, err, c.outputs)
		assert.ErrorContains(t, err, c.name+": ")
	}
}

// A result is rounded only when its bytes are read.
func TestResultsAreRoundedOnce(t *testing.T) {
	got, err := computation{name: "Add", inputs: "f16[1]:1 f16[1]:0.00048828125"}.run(t)
	require.NoError(t, err)
	assert.Equal(t, []float64{1.00048828125}, got[0].Floats)
	data, err := got[0].Bytes()
	require.NoError(t, err)
	assert.Equal(t, []byte{0x00, 0x3C}, data)
	none, err := FromBytes(dtype.F32, []uint64{1}, nil)
	assert.Nil(t, none)
	assert.ErrorIs(t, err, device.CodeInvalidArgument)
}
