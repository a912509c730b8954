package operator

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

func TestFindReportsUnknownNames(t *testing.T) {
	for _, c := range []struct {
		domain, name string
		opset        int
		code         device.Code
		says         string
	}{
		{"", "Matmul", 0, device.CodeNotFound, `"Matmul" is not an operator of ONNX: the nearest is MatMul`},
		{"", "softmaxx", 0, device.CodeNotFound, "the nearest is Softmax"},
		{"", "silu_mul", 0, device.CodeNotFound, `silu_mul is not an operator of ONNX: it is one of the domain "ferrum"`},
		{"ferrum", "Attention", 0, device.CodeNotFound, "it is one of ONNX"},
		{"ferrum", "quantised_linear", 0, device.CodeNotFound, "the nearest is quantized_linear"},
		{"com.microsoft", "Gelu", 0, device.CodeNotFound, `the domain "com.microsoft" is not known`},
		{"", strings.Repeat("x", 1<<20), 0, device.CodeNotFound, "xxx..."},
		{"", "Add", 6, device.CodeUnsupported, "opset 6 of ONNX is not known: expected 7 to 28"},
		{"", "Add", 29, device.CodeUnsupported, "expected 7 to 28"},
		{"", "Add", -1, device.CodeUnsupported, "opset -1"},
		{"ferrum", "linear", 2, device.CodeUnsupported, "expected 1 to 1"},
		{"", "Gelu", 19, device.CodeNotFound, "Gelu is not in opset 19 of ONNX: opset 20 introduced it"},
	} {
		_, err := Find(c.domain, c.name, c.opset)
		require.ErrorIs(t, err, c.code, "%.40s", c.name)
		assert.ErrorContains(t, err, c.says)
		assert.Less(t, len(err.Error()), 300)
	}
}

func TestFindSelectsTheForm(t *testing.T) {
	for _, c := range []struct {
		name         string
		opset, since int
		attributes   string
	}{
		{"Softmax", 0, 13, "axis"},
		{"Softmax", 12, 11, "axis"},
		{"ReduceSum", 12, 11, "keepdims axes"},
		{"ReduceSum", 13, 13, "keepdims noop_with_empty_axes"},
		{"ReduceMean", 17, 13, "keepdims axes"},
		{"Slice", 9, 1, "starts ends axes"},
		{"Split", 12, 11, "axis split"},
		{"Attention", 24, 24, "is_causal q_num_heads kv_num_heads scale softcap softmax_precision qk_matmul_output_mode"},
		{"Attention", 0, 25, "is_causal q_num_heads kv_num_heads scale softcap softmax_precision qk_matmul_output_mode left_window_size right_window_size"},
	} {
		s, err := Find("ai.onnx", c.name, c.opset)
		require.NoError(t, err)
		assert.Equal(t, c.since, s.Since, c.name)
		var names []string
		for _, a := range s.Attributes {
			names = append(names, a.Name)
		}
		assert.Equal(t, c.attributes, strings.Join(names, " "), "%s at opset %d", c.name, c.opset)
	}
}

// The list of operators is in order, and every form is complete.
func TestFormsAreComplete(t *testing.T) {
	for _, domain := range []string{ONNX, Ferrum} {
		assert.True(t, slices.IsSorted(Names(domain)))
		for _, e := range entriesOf(domain) {
			assert.True(t, slices.IsSorted(e.versions), e.name)
			for _, version := range e.versions {
				s := e.form(version)
				assert.NotNil(t, s.infer, e.name)
				for _, p := range slices.Concat(s.Inputs, s.Outputs) {
					assert.NotZero(t, p.Types, "%s of %s", p.Name, e.name)
				}
			}
		}
	}
	assert.Empty(t, Names("unknown"))
	assert.False(t, Types(floats).Has(dtype.F32+100))
	assert.False(t, Types(floats).Has(-1))
	assert.Equal(t, "q4_0, q8_0", Types(blocks).String())
}

// prepared returns an operator of a test.
func prepared(t *testing.T, name string, opset int, attributes string) *Operator {
	t.Helper()
	domain := ONNX
	if slices.Contains(Names(Ferrum), name) {
		domain = Ferrum
	}
	s, err := Find(domain, name, opset)
	require.NoError(t, err)
	op, err := s.Prepare([]byte(attributes))
	require.NoError(t, err, "%s %s", name, attributes)
	return op
}

func TestPrepareReportsWrongAttributes(t *testing.T) {
	for _, c := range []struct{ name, attributes, says string }{
		{"Softmax", `{"axes":1}`, `Softmax: attribute "axes" is not known: the nearest is "axis"`},
		{"Add", `{"axis":1}`, `attribute "axis" is not known: the operator has none`},
		{"ReduceSum", `{"axes":[1]}`, `"axes" is an input, not an attribute, since opset 13`},
		{"Softmax", `{"axis":1,"axis":1}`, `attribute "axis" is given twice`},
		{"Softmax", `{"axis":1,"\u0061xis":1}`, `attribute "axis" is given twice`},
		{"Softmax", `{"axis":1.5}`, `attribute "axis" is 1.5: expected an integer`},
		{"Softmax", `{"axis":1e3}`, `attribute "axis" is 1e3: expected an integer`},
		{"Softmax", `{"axis":99999999999999999999}`, "expected an integer"},
		{"Softmax", `{"axis":"1"}`, `attribute "axis" is "1": expected an integer`},
		{"Softmax", `{"axis":true}`, `attribute "axis" is true: expected an integer`},
		{"Softmax", `{"axis":null}`, `attribute "axis" is null: expected an integer`},
		{"Softmax", `{"axis":{}}`, `attribute "axis" is an object: expected an integer`},
		{"Softmax", `{"axis":[1]}`, `attribute "axis" is a list: expected an integer`},
		{"ReduceSum", `{"keepdims":2}`, `attribute "keepdims" is 2: expected an integer from 0 to 1`},
		{"Attention", `{"left_window_size":-2}`, "expected an integer from -1 on"},
		{"Split", `{"num_outputs":0}`, "expected an integer from 1 on"},
		{"Gelu", `{"approximate":"erf"}`, `attribute "approximate" is "erf": expected none, tanh`},
		{"Swish", `{"alpha":"1"}`, `attribute "alpha" is "1": expected a number`},
		{"Swish", `{"alpha":1e39}`, `attribute "alpha" is 1e39: expected a number`},
		{"Transpose", `{"perm":1}`, `attribute "perm" is 1: expected a list of integers`},
		{"Transpose", `{"perm":[1,"0"]}`, `attribute "perm" has the element "0": expected an integer`},
		{"Transpose", `{"perm":[[1]]}`, `attribute "perm" has the element a list: expected an integer`},
		{"Transpose", `{"perm":[` + strings.Repeat("0,", 5000) + `0]}`, "has more than 4096 elements"},
		{"Cast", `{}`, `attribute "to" is required`},
		{"Cast", ``, `attribute "to" is required`},
		{"Cast", `{"to":8}`, `attribute "to" is 8: expected a data type, by its number in ONNX or its name: f32, f16`},
		{"Cast", `{"to":"q4_0"}`, `attribute "to" is "q4_0"`},
		{"LayerNormalization", `{"stash_type":11}`, `expected a data type, by its number in ONNX or its name: f32, bf16`},
		{"Softmax", `[]`, "the attributes are not a JSON object"},
		{"Softmax", `{"axis":1`, "the text ends at byte 9"},
		{"Softmax", `{"axis" 1}`, "the attributes are not JSON at byte"},
		{"Softmax", `{"axis":1}}`, "go on after the end of the object"},
		{"Softmax", `{"axis":1} {}`, "go on after the end of the object"},
		{"Softmax", "{\"\xff\":1}", "not UTF-8"},
		{"Softmax", strings.Repeat(" ", 1<<20+1), "at most 1 MiB are read"},
	} {
		s, err := Find(ONNX, c.name, 0)
		require.NoError(t, err)
		_, err = s.Prepare([]byte(c.attributes))
		require.ErrorIs(t, err, device.CodeInvalidArgument, "%.60s", c.attributes)
		assert.ErrorContains(t, err, c.says)
		assert.ErrorContains(t, err, c.name+": ")
		assert.Less(t, len(err.Error()), 400)
	}
}

func TestAttributesAndDefaults(t *testing.T) {
	op := prepared(t, "Attention", 0, `{"scale":0.1,"softmax_precision":"f16","is_causal":1}`)
	assert.EqualValues(t, 1, op.Int("is_causal"))
	assert.EqualValues(t, -1, op.Int("left_window_size"))
	assert.Equal(t, float64(float32(0.1)), op.Float("scale"), "a number is rounded to F32")
	assert.Zero(t, op.Float("softcap"))
	precision, isGiven := op.DataType("softmax_precision")
	assert.True(t, isGiven)
	assert.Equal(t, dtype.F16, precision)
	assert.True(t, op.Has("scale"))
	assert.False(t, op.Has("softcap"))
	assert.False(t, op.Has("unknown"))
	plain := prepared(t, "Attention", 0, "")
	assert.NotEqual(t, plain.Float("scale"), plain.Float("scale"), "the scale has no default: NaN")
	_, isGiven = plain.DataType("softmax_precision")
	assert.False(t, isGiven)
	assert.Equal(t, "none", prepared(t, "Gelu", 0, " {} ").Text("approximate"))
	perm, isGiven := prepared(t, "Transpose", 0, `{"perm":[]}`).Ints("perm")
	assert.True(t, isGiven)
	assert.Empty(t, perm)
	for _, to := range []string{`{"to":16}`, `{"to":"bf16"}`} {
		kind, _ := prepared(t, "Cast", 0, to).DataType("to")
		assert.Equal(t, dtype.BF16, kind)
	}
	assert.Zero(t, ONNXNumber(dtype.C64))
}
