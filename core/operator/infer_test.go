package operator

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

// parsed reads a description such as "f32[2, 3]", "i64{1,-1}", which has known elements, or "-", which
// is absent.
func parsed(t *testing.T, text string) Value {
	t.Helper()
	if text == "-" {
		return Value{IsAbsent: true}
	}
	at := strings.IndexAny(text, "[{")
	require.Positive(t, at, text)
	v := Value{}
	switch name := text[:at]; name {
	case "q8_0":
		v.Type = q80
	case "q4_0":
		v.Type = q40
	default:
		kind, err := dtype.Parse(name)
		require.NoError(t, err)
		v.Type = kind
	}
	for _, number := range strings.FieldsFunc(text[at+1:len(text)-1], isSeparator) {
		if text[at] == '[' {
			size, err := strconv.ParseUint(number, 10, 64)
			require.NoError(t, err)
			v.Shape = append(v.Shape, size)
			continue
		}
		element, err := strconv.ParseInt(number, 10, 64)
		require.NoError(t, err)
		v.Known = append(v.Known, element)
	}
	if text[at] == '{' {
		v.Shape = []uint64{uint64(len(v.Known))}
	}
	return v
}

// isSeparator states whether a character is between the numbers of a description.
func isSeparator(r rune) bool { return r == ',' || r == ' ' }

// descriptions splits a text at the spaces between descriptions: "f32[2, 3] i64{1}" has two.
func descriptions(text string) []string {
	return regexp.MustCompile(`[^ \[{]+(\[[^\]]*\]|\{[^}]*\})?`).FindAllString(text, -1)
}

type inference struct {
	name, attributes, inputs string
	// expects has the outputs, or a part of the message.
	expects string
	opset   int
	// wanted has 1 for a wanted output.
	wanted string
}

func (i inference) run(t *testing.T) (string, error) {
	t.Helper()
	var inputs []Value
	for _, text := range descriptions(i.inputs) {
		inputs = append(inputs, parsed(t, text))
	}
	var wanted []bool
	for _, digit := range i.wanted {
		wanted = append(wanted, digit == '1')
	}
	result, err := prepared(t, i.name, i.opset, i.attributes).Infer(inputs, wanted)
	if err != nil {
		return "", err
	}
	var outputs []string
	for _, out := range result.Outputs {
		outputs = append(outputs, fmt.Sprint(out))
	}
	return strings.Join(outputs, " "), nil
}

func TestShapes(t *testing.T) {
	for _, c := range []inference{
		{name: "Add", inputs: "f32[2, 1, 4] f32[3, 1]", expects: "f32[2, 3, 4]"},
		{name: "Add", inputs: "f32[] f32[]", expects: "f32[]"},
		{name: "Add", inputs: "f32[0, 1] f32[3]", expects: "f32[0, 3]"},
		{name: "Add", inputs: "bf16[1] bf16[0]", expects: "bf16[0]"},
		{name: "Pow", inputs: "f32[2] i64[2]", expects: "f32[2]"},
		{name: "Where", inputs: "bool[2, 1] f16[3] f16[]", expects: "f16[2, 3]"},
		{name: "Cast", attributes: `{"to":"i4"}`, inputs: "f32[3]", expects: "i4[3]"},
		{name: "Expand", inputs: "f32[3, 1] i64{2,1,6}", expects: "f32[2, 3, 6]"},
		{name: "Concat", attributes: `{"axis":-1}`, inputs: "f32[2, 3] f32[2, 0] f32[2, 1]", expects: "f32[2, 4]"},
		{name: "Split", attributes: `{"axis":1,"num_outputs":3}`, inputs: "f32[2, 7]", expects: "f32[2, 3] f32[2, 3] f32[2, 1]"},
		{name: "Split", attributes: `{"num_outputs":3}`, inputs: "f32[4]", expects: "f32[2] f32[2] f32[0]"},
		{name: "Split", inputs: "f32[6] i64{1,0,5}", expects: "f32[1] f32[0] f32[5]"},
		{name: "Split", opset: 13, inputs: "f32[6]", wanted: "101", expects: "f32[2] absent f32[2]"},
		{name: "Split", opset: 12, attributes: `{"split":[2,4]}`, inputs: "f32[6]", expects: "f32[2] f32[4]"},
		{name: "Slice", inputs: "f32[10] i64{1} i64{9223372036854775807} - i64{3}", expects: "f32[3]"},
		{name: "Slice", inputs: "f32[10] i64{-1} i64{-9223372036854775808} i64{0} i64{-3}", expects: "f32[4]"},
		{name: "Slice", inputs: "f32[10] i32{5} i32{2}", expects: "f32[0]"},
		{name: "Slice", inputs: "f32[10] i64{9} i64{-11} i64{0} i64{-9223372036854775808}", expects: "f32[1]"},
		{name: "Slice", inputs: "f32[2] i64{-9} i64{-9} i64{0} i64{-1}", expects: "f32[1]"},
		{name: "Slice", inputs: "f32[0] i64{5} i64{-5} i64{0} i64{-1}", expects: "f32[0]"},
		{name: "Slice", opset: 9, attributes: `{"starts":[1],"ends":[-1],"axes":[1]}`, inputs: "f32[2, 5]", expects: "f32[2, 3]"},
		{name: "Reshape", inputs: "f32[2, 3, 4] i64{0,-1}", expects: "f32[2, 12]"},
		{name: "Reshape", inputs: "f32[1] i64{}", expects: "f32[]"},
		{name: "Reshape", attributes: `{"allowzero":1}`, inputs: "f32[0, 4] i64{3,0}", expects: "f32[3, 0]"},
		{name: "Unsqueeze", inputs: "f32[2] i64{-1,0}", expects: "f32[1, 2, 1]"},
		{name: "Unsqueeze", opset: 11, attributes: `{"axes":[1]}`, inputs: "f32[2]", expects: "f32[2, 1]"},
		{name: "Squeeze", inputs: "f32[1, 2, 1]", expects: "f32[2]"},
		{name: "Squeeze", inputs: "f32[1, 2, 1] i64{-1}", expects: "f32[1, 2]"},
		{name: "Squeeze", inputs: "f32[1] i64{}", expects: "f32[1]"},
		{name: "Transpose", inputs: "u4[2, 3, 5]", expects: "u4[5, 3, 2]"},
		{name: "Transpose", attributes: `{"perm":[2,0,1]}`, inputs: "f32[2, 3, 5]", expects: "f32[5, 2, 3]"},
		{name: "Gather", attributes: `{"axis":1}`, inputs: "f32[2, 3] i32[4, 5]", expects: "f32[2, 4, 5]"},
		{name: "Gather", inputs: "f32[2, 3] i64[]", expects: "f32[3]"},
		{name: "ReduceSum", inputs: "f32[2, 3]", expects: "f32[1, 1]"},
		{name: "ReduceSum", attributes: `{"keepdims":0}`, inputs: "f32[2, 3] i64{-1}", expects: "f32[2]"},
		{name: "ReduceSum", attributes: `{"noop_with_empty_axes":1}`, inputs: "f32[2, 3] i64{}", expects: "f32[2, 3]"},
		{name: "ReduceMax", opset: 17, attributes: `{"axes":[0]}`, inputs: "f32[2, 3]", expects: "f32[1, 3]"},
		{name: "ReduceMean", inputs: "f32[]", expects: "f32[]"},
		{name: "ArgMax", attributes: `{"axis":-1,"keepdims":0}`, inputs: "f32[2, 3]", expects: "i64[2]"},
		{name: "TopK", inputs: "f32[2, 3] i64{2}", expects: "f32[2, 2] i64[2, 2]"},
		{name: "TopK", inputs: "f32[2, 3] i64{0}", wanted: "01", expects: "absent i64[2, 0]"},
		{name: "TopK", opset: 9, attributes: `{"k":1}`, inputs: "f32[2, 3]", expects: "f32[2, 1] i64[2, 1]"},
		{name: "MatMul", inputs: "f32[2, 3] f32[3, 4]", expects: "f32[2, 4]"},
		{name: "MatMul", inputs: "f32[3] f32[3]", expects: "f32[]"},
		{name: "MatMul", inputs: "f32[3] f32[5, 3, 4]", expects: "f32[5, 4]"},
		{name: "MatMul", inputs: "f32[7, 1, 2, 3] f32[5, 3, 0]", expects: "f32[7, 5, 2, 0]"},
		{name: "Gemm", attributes: `{"transA":1,"transB":1}`, inputs: "f32[3, 2] f32[4, 3] f32[4]", expects: "f32[2, 4]"},
		{name: "Softmax", opset: 12, inputs: "f32[2, 3]", expects: "f32[2, 3]"},
		{name: "LayerNormalization", attributes: `{"axis":1}`, inputs: "f16[2, 3, 4] f16[3, 4] f16[4]", wanted: "111", expects: "f16[2, 3, 4] f32[2, 1, 1] f32[2, 1, 1]"},
		{name: "LayerNormalization", attributes: `{"stash_type":16}`, inputs: "f16[2, 3] f16[3]", wanted: "010", expects: "absent bf16[2, 1] absent"},
		{name: "LayerNormalization", inputs: "f16[2, 3] f16[3]", expects: "f16[2, 3] absent absent"},
		{name: "RMSNormalization", inputs: "f16[2, 3] f32[3]", expects: "f32[2, 3]"},
		{name: "RotaryEmbedding", inputs: "f32[1, 2, 3, 8] f32[9, 4] f32[9, 4] i64[1, 3]", expects: "f32[1, 2, 3, 8]"},
		{name: "RotaryEmbedding", attributes: `{"num_heads":2,"rotary_embedding_dim":4}`, inputs: "f32[1, 3, 16] f32[1, 3, 2] f32[1, 3, 2]", expects: "f32[1, 3, 16]"},
		{name: "Attention", inputs: "f32[2, 6, 3, 8] f32[2, 2, 5, 8] f32[2, 2, 5, 4] - f32[2, 2, 7, 8] f32[2, 2, 7, 4]", wanted: "1111", expects: "f32[2, 6, 3, 4] f32[2, 2, 12, 8] f32[2, 2, 12, 4] f32[2, 6, 3, 12]"},
		{name: "Attention", attributes: `{"q_num_heads":4,"kv_num_heads":2}`, inputs: "f32[1, 3, 32] f32[1, 5, 16] bf16[1, 5, 8] bool[3, 5]", expects: "f32[1, 3, 16] absent absent absent"},
		{name: "Attention", inputs: "f32[2, 1, 3, 8] f32[2, 1, 5, 8] f32[2, 1, 5, 8] f32[2] - - i64[2]", expects: "f32[2, 1, 3, 8] absent absent absent"},
		{name: "rms_norm_residual", inputs: "f32[2, 3] f32[2, 3] f32[3]", expects: "f32[2, 3] f32[2, 3]"},
		{name: "silu_mul", inputs: "f32[2, 3] f32[2, 3]", expects: "f32[2, 3]"},
		{name: "layer_norm_residual", inputs: "f32[2, 3] f32[2, 3] f32[3] f32[3]", expects: "f32[2, 3] f32[2, 3]"},
		{name: "linear", inputs: "f32[2, 5, 3] f32[4, 3] f32[4]", expects: "f32[2, 5, 4]"},
		{name: "linear", attributes: `{"activation":"gelu"}`, inputs: "f32[2, 5, 3] f32[4, 3] - f32[2, 5, 4]", expects: "f32[2, 5, 4]"},
		{name: "self_attention", attributes: `{"num_heads":3}`, inputs: "f16[2, 5, 18] bool[2, 1, 1, 5]", expects: "f16[2, 5, 6]"},
		{name: "self_attention", attributes: `{"num_heads":4,"kv_num_heads":2}`, inputs: "f32[2, 5, 16] f32[3]", expects: "f32[2, 5, 8]"},
		{name: "quantized_linear", inputs: "bf16[64] q4_0[3, 64]", expects: "bf16[3]"},
		{name: "paged_attention", inputs: "f32[2, 5, 24] f16[9, 2, 16, 6] f16[9, 2, 16, 3] i32[2, 7] i32[2]", expects: "f32[2, 5, 12]"},
	} {
		got, err := c.run(t)
		assert.NoError(t, err, "%s(%s) %s", c.name, c.inputs, c.attributes)
		assert.Equal(t, c.expects, got, "%s(%s) %s", c.name, c.inputs, c.attributes)
	}
}

func TestWrongInputs(t *testing.T) {
	const huge = "4294967296"
	overflow := map[string]bool{}
	cases := []inference{
		{name: "Add", inputs: "f32[2, 3] f32[4]", expects: `Add: input "A" f32[2, 3] and input "B" f32[4] do not broadcast: dimension -1 differs`},
		{name: "Add", inputs: "f32[0] f32[2]", expects: "do not broadcast"},
		{name: "Add", inputs: "f32[2] f64[2]", expects: `input "A" f32[2] and input "B" f64[2] must have the same type`},
		{name: "Add", inputs: "bool[2] bool[2]", expects: `input "A" bool[2] has a type that the operator does not take: expected f32`},
		{name: "Add", opset: 12, inputs: "bf16[2] bf16[2]", expects: "has a type that the operator does not take"},
		{name: "Add", inputs: "f32[2]", expects: `input "B" is required`},
		{name: "Add", inputs: "- f32[2]", expects: `input "A" is required`},
		{name: "Add", inputs: "f32[2] f32[2] f32[2]", expects: "3 inputs are given: the operator takes at most 2"},
		{name: "Add", inputs: "f32[2] f32[2]", wanted: "11", expects: "2 outputs are wanted: the operator has 1"},
		{name: "Add", inputs: "f32[1, 1, 1, 1, 1, 1, 1, 1, 1] f32[]", expects: "it has 9 dimensions: at most 8 are possible"},
		{name: "Where", inputs: "f32[2] f32[2] f32[2]", expects: "expected bool"},
		{name: "Where", inputs: "bool[2] f32[3] f32[1]", expects: `input "condition" bool[2], input "X" f32[3] and input "Y" f32[1] do not broadcast`},
		{name: "Expand", inputs: "f32[3] i64{2}", expects: `input "input" f32[3] does not broadcast to input "shape" [2]`},
		{name: "Expand", inputs: "f32[3] i64{-1}", expects: "a size is negative"},
		{name: "Expand", inputs: "f32[3] i64[2]", expects: `the elements of input "shape" i64[2] must be known`},
		{name: "Expand", inputs: "f32[3] i64[]", expects: "has 0 dimensions: expected 1"},
		{name: "Expand", inputs: "f32[3] i32{3}", expects: `input "shape" i32[1] has a type that the operator does not take: expected i64`},
		{name: "Expand", inputs: "f32[3] i64{1,1,1,1,1,1,1,1,3}", expects: "at most 8 dimensions are possible"},
		{name: "Concat", attributes: `{"axis":2}`, inputs: "f32[2, 3]", expects: `attribute "axis": axis 2 is out of range: input "inputs[0]" f32[2, 3] has the axes -2 to 1`},
		{name: "Concat", attributes: `{"axis":0}`, inputs: "f32[]", expects: "has no dimensions"},
		{name: "Concat", attributes: `{"axis":0}`, inputs: "f32[2, 3] f32[2, 4]", expects: `input "inputs[0]" f32[2, 3] and input "inputs[1]" f32[2, 4] do not fit: only dimension 0 may differ`},
		{name: "Concat", attributes: `{"axis":0}`, inputs: "f32[2, 3] - f32[2, 3]", expects: `input "inputs[1]" is required`},
		{name: "Concat", attributes: `{"axis":0}`, expects: `input "inputs[0]" is required`},
		{name: "Split", inputs: "f32[6] i64{2,3}", expects: `input "split" [2, 3] has the sum 5: dimension 0 of input "input" f32[6] differs`},
		{name: "Split", inputs: "f32[6] i64{7,-1}", expects: "a size is negative"},
		{name: "Split", inputs: "f32[6] i64{}", expects: "has 0 sizes"},
		{name: "Split", attributes: `{"num_outputs":2}`, inputs: "f32[6] i64{6}", expects: "are both given"},
		{name: "Split", inputs: "f32[6]", expects: `attribute "num_outputs" is 0 and input "split" is absent: expected 1 to 4096 outputs`},
		{name: "Split", opset: 13, inputs: "f32[6]", expects: "the number of outputs is 0"},
		{name: "Split", attributes: `{"num_outputs":4}`, inputs: "f32[5]", expects: "has too few elements: only the last output may be smaller"},
		{name: "Split", attributes: `{"num_outputs":1000000}`, inputs: "f32[6]", expects: "expected 1 to 4096 outputs"},
		{name: "Split", inputs: "f32[6] i64{3,3}", wanted: "111", expects: "3 outputs are wanted: input \"input\" f32[6] splits into 2"},
		{name: "Split", opset: 13, inputs: "f32[7]", wanted: "11", expects: "is not a multiple of 2"},
		{name: "Slice", inputs: "f32[2] i64{0} i64{1} i64{1}", expects: `input "axes" [1]: axis 1 is out of range: input "data" f32[2] has the axes -1 to 0`},
		{name: "Slice", inputs: "f32[2, 2] i64{0,0} i64{1,1} i64{0,-2}", expects: "axis -2 occurs twice"},
		{name: "Slice", inputs: "f32[2] i64{0} i64{1} - i64{0}", expects: "a step is 0"},
		{name: "Slice", inputs: "f32[2] i64{0} i64{1,1}", expects: "has 2 elements, starts has 1"},
		{name: "Slice", inputs: "f32[2] i64{0,0} i64{1,1}", expects: `input "starts" [0, 0] has 2 elements: input "data" f32[2] has 1 dimensions`},
		{name: "Slice", inputs: "f32[2] i32{0} i64{1}", expects: "must have the same type"},
		{name: "Reshape", inputs: "f32[2, 3] i64{4,-1}", expects: `input "data" f32[2, 3] does not have the number of elements of shape [4, -1]`},
		{name: "Reshape", inputs: "f32[2, 3] i64{-1,-1}", expects: "only one size may be -1"},
		{name: "Reshape", inputs: "f32[2, 3] i64{-2}", expects: "-2 is not a size"},
		{name: "Reshape", inputs: "f32[6] i64{6,0}", expects: "element 1 is 0, which copies a dimension"},
		{name: "Reshape", attributes: `{"allowzero":1}`, inputs: "f32[0] i64{0,-1}", expects: "-1 has no unique value"},
		{name: "Reshape", inputs: "f32[6] i64{4294967296,4294967296}", expects: "does not have the number of elements"},
		{name: "Unsqueeze", inputs: "f32[2] i64{3}", expects: "axis 3 is out of range: the output has the axes -2 to 1"},
		{name: "Unsqueeze", inputs: "f32[2] i64{0,0}", expects: "axis 0 occurs twice"},
		{name: "Unsqueeze", inputs: "f32[1, 1, 1, 1, 1, 1, 1] i64{0,1}", expects: "would get 9 dimensions"},
		{name: "Squeeze", inputs: "f32[2] i64{0}", expects: `dimension 0 of input "data" f32[2] is not 1`},
		{name: "Transpose", attributes: `{"perm":[0,0]}`, inputs: "f32[2, 3]", expects: "axis 0 occurs twice"},
		{name: "Transpose", attributes: `{"perm":[0]}`, inputs: "f32[2, 3]", expects: `attribute "perm" [0] does not have all axes of input "data" f32[2, 3]`},
		{name: "Transpose", attributes: `{"perm":[0,-1]}`, inputs: "f32[2, 3]", expects: "an axis is negative"},
		{name: "Gather", inputs: "f32[] i64[1]", expects: "has no dimensions"},
		{name: "Gather", inputs: "f32[1, 1, 1, 1, 1] i64[1, 1, 1, 1, 1]", expects: "it has 9 dimensions"},
		{name: "ReduceSum", inputs: "f32[2] i64{1}", expects: "axis 1 is out of range"},
		{name: "ReduceSum", inputs: "f32[2, 2] i64{1,-1}", expects: "axis -1 occurs twice"},
		{name: "ReduceSum", inputs: "f32[2] i64{0,0,0}", expects: `has 3 axes: input "data" f32[2] has 1`},
		{name: "ArgMax", inputs: "f32[0, 3]", expects: "there is no largest element"},
		{name: "TopK", inputs: "f32[2] i64{3}", expects: `K is 3: dimension 0 of input "X" f32[2] has 2 elements`},
		{name: "TopK", inputs: "f32[2] i64{-1}", expects: "K is -1"},
		{name: "TopK", inputs: "f32[2] i64{1,1}", expects: "has 2 elements: expected 1"},
		{name: "MatMul", inputs: "f32[2, 3] f32[4, 5]", expects: `MatMul: input "A" f32[2, 3] and input "B" f32[4, 5] do not fit: the inner dimensions are 3 and 4`},
		{name: "MatMul", inputs: "f32[] f32[4, 5]", expects: "a scalar has no matrix product"},
		{name: "MatMul", inputs: "f32[2, 1, 3] f32[3, 3, 1]", expects: "do not broadcast: dimension -3 differs"},
		{name: "Gemm", inputs: "f32[2, 3] f32[2, 3]", expects: "the inner dimensions are 3 and 2 (transA 0, transB 0)"},
		{name: "Gemm", inputs: "f32[2, 3] f32[3]", expects: `input "B" f32[3] has 1 dimensions: expected 2`},
		{name: "Gemm", inputs: "f32[2, 3] f32[3, 4] f32[5, 2, 4]", expects: `input "C" f32[5, 2, 4] does not broadcast to the product [2, 4]`},
		{name: "Gemm", opset: 9, inputs: "f32[2, 3] f32[3, 4]", expects: `input "C" is required`},
		{name: "Softmax", inputs: "f32[]", expects: "has no dimensions"},
		{name: "Softmax", opset: 12, inputs: "f32[2]", expects: "axis 1 is out of range"},
		{name: "Softmax", opset: 12, attributes: `{"axis":3}`, inputs: "f32[2, 2]", expects: "axis 3 is out of range"},
		{name: "LayerNormalization", inputs: "f32[2, 3] f32[2]", expects: `input "Scale" f32[2] does not broadcast to input "X" f32[2, 3]`},
		{name: "RMSNormalization", inputs: "f32[2, 3] f32[4, 2, 3]", expects: `input "scale" f32[4, 2, 3] does not broadcast to input "X" f32[2, 3]`},
		{name: "RotaryEmbedding", inputs: "f32[1, 3, 16] f32[1, 3, 8] f32[1, 3, 8]", expects: `attribute "num_heads" is required`},
		{name: "RotaryEmbedding", inputs: "f32[1, 2, 3, 7] f32[1, 3, 3] f32[1, 3, 3]", expects: "7 elements of a head are rotated: expected an even number"},
		{name: "RotaryEmbedding", inputs: "f32[1, 2, 3, 8] f32[1, 3, 4] f32[1, 3, 3]", expects: `input "sin_cache" f32[1, 3, 3] has another shape`},
		{name: "RotaryEmbedding", inputs: "f32[1, 2, 3, 8] f32[9, 4] f32[9, 4] i64[1, 4]", expects: `input "position_ids" i64[1, 4] has another shape`},
		{name: "RotaryEmbedding", inputs: "f32[2] f32[9, 4] f32[9, 4]", expects: "expected 3 or 4"},
		{name: "Attention", inputs: "f32[1, 3, 32] f32[1, 5, 16] f32[1, 5, 8]", expects: `attribute "q_num_heads" is required for input "Q" f32[1, 3, 32]`},
		{name: "Attention", inputs: "f32[1, 3, 5, 8] f32[1, 2, 5, 8] f32[1, 2, 5, 8]", expects: "have 3 and 2 heads: the first must be a multiple of the second"},
		{name: "Attention", inputs: "f32[1, 2, 5, 8] f32[1, 2, 5, 4] f32[1, 2, 5, 8]", expects: "have heads of 8 and 4 elements"},
		{name: "Attention", inputs: "f32[1, 2, 5, 8] f32[1, 2, 5, 8] f32[1, 2, 6, 8]", expects: "have different numbers of tokens"},
		{name: "Attention", inputs: "f32[1, 2, 5, 8] f32[1, 2, 5, 8] f32[1, 1, 5, 8]", expects: "have different numbers of heads"},
		{name: "Attention", inputs: "f32[1, 2, 5, 8] f32[2, 2, 5, 8] f32[2, 2, 5, 8]", expects: "have different batches"},
		{name: "Attention", inputs: "f32[1, 2, 5, 8] f32[1, 2, 5, 8] f32[1, 5, 8]", expects: "have different numbers of dimensions"},
		{name: "Attention", inputs: "f32[1, 2, 5, 8] f32[1, 2, 5, 8] f32[1, 2, 5, 8] f32[5, 6]", expects: `input "attn_mask" f32[5, 6] does not broadcast to the scores`},
		{name: "Attention", inputs: "f32[1, 2, 5, 8] f32[1, 2, 5, 8] f32[1, 2, 5, 8] f32[]", expects: "expected 1 to 4"},
		{name: "Attention", inputs: "f32[1, 2, 5, 8] f32[1, 2, 5, 8] f32[1, 2, 5, 8] - f32[1, 2, 3, 8]", expects: "must be given together"},
		{name: "Attention", inputs: "f32[1, 2, 5, 8] f32[1, 2, 5, 8] f32[1, 2, 5, 8] - f32[1, 2, 3, 8] f32[1, 2, 4, 8]", expects: `input "past_value" f32[1, 2, 4, 8] has another shape`},
		{name: "Attention", inputs: "f32[1, 2, 5, 8] f32[1, 2, 5, 8] f32[1, 2, 5, 8] - - - i64[2]", expects: `input "nonpad_kv_seqlen" i64[2] has another shape`},
		{name: "Attention", inputs: "f32[1, 2, 5, 8] f32[1, 2, 5, 8] f32[1, 2, 5, 8] - - - i64[1]", wanted: "11", expects: "past and present are not possible with it"},
		{name: "Attention", attributes: `{"q_num_heads":2}`, inputs: "f32[1, 2, 5, 8] f32[1, 2, 5, 8] f32[1, 2, 5, 8]", expects: `attribute "q_num_heads" is only for inputs with 3 dimensions`},
		{name: "Attention", opset: 24, attributes: `{"q_num_heads":3}`, inputs: "f32[1, 2, 5, 8] f32[1, 2, 5, 8] f32[1, 2, 5, 8]", expects: "has 2 heads"},
		{name: "rms_norm_residual", inputs: "f32[2, 3] f32[3] f32[3]", expects: `input "residual" f32[3] has another shape than input "X" f32[2, 3]`},
		{name: "silu_mul", inputs: "f32[2] f32[1]", expects: `input "up" f32[1] has another shape than input "gate" f32[2]`},
		{name: "linear", inputs: "f32[2, 3] f32[4, 5]", expects: `input "X" f32[2, 3] and input "W" f32[4, 5] do not fit: the last dimensions are 3 and 5`},
		{name: "linear", inputs: "f32[2, 3] f32[4, 3] f32[3]", expects: `input "bias" f32[3] has another shape`},
		{name: "linear", inputs: "f32[2, 3] f32[4, 3] f32[4] f32[4]", expects: `input "residual" f32[4] has another shape than input "X" f32[2, 3]: expected [2, 4]`},
		{name: "layer_norm_residual", inputs: "f32[2, 3] f32[2, 3] f32[3] f32[1, 3]", expects: `input "bias" f32[1, 3] has another shape than input "X" f32[2, 3]: expected [3]`},
		{name: "self_attention", attributes: `{"num_heads":2}`, inputs: "f32[2, 3]", expects: `input "QKV" f32[2, 3] has 2 dimensions: expected 3`},
		{name: "self_attention", attributes: `{"num_heads":2}`, inputs: "f32[2, 3, 10]", expects: `input "QKV" f32[2, 3, 10] has 10 elements in a token: 2 heads of queries, and 2 each of keys and values, do not divide them`},
		{name: "self_attention", attributes: `{"num_heads":3,"kv_num_heads":2}`, inputs: "f32[2, 3, 7]", expects: `attribute "num_heads" is 3: expected a multiple of attribute "kv_num_heads" 2`},
		{name: "self_attention", attributes: `{"num_heads":2}`, inputs: "f32[2, 3, 6] bool[3, 4]", expects: `input "attn_mask" bool[3, 4] does not broadcast to the scores of input "QKV" f32[2, 3, 6], which have the shape [2, 2, 3, 3]`},
		{name: "paged_attention", inputs: "f32[2, 24] f32[9, 2, 16, 6] f32[9, 2, 16, 6] i32[2, 7] i32[2]", expects: `input "Q" f32[2, 24] has 2 dimensions: expected 3`},
		{name: "paged_attention", inputs: "f32[2, 5, 18] f32[9, 2, 16, 6] f32[9, 2, 16, 6] i32[2, 7] i32[2]", expects: `18 elements of a token are not a multiple of 2 heads of 6`},
		{name: "paged_attention", inputs: "f32[2, 5, 24] f32[9, 2, 16, 6] f32[9, 1, 16, 6] i32[2, 7] i32[2]", expects: `input "V" f32[9, 1, 16, 6] has another shape`},
		{name: "paged_attention", inputs: "f32[2, 5, 24] f32[9, 2, 0, 6] f32[9, 2, 0, 6] i32[2, 7] i32[2]", expects: `input "K" f32[9, 2, 0, 6] has blocks without elements`},
		{name: "paged_attention", inputs: "f32[2, 5, 24] f32[9, 2, 16, 6] f32[9, 2, 16, 6] i32[3, 7] i32[2]", expects: `input "block_tables" i32[3, 7] has another shape`},
		{name: "paged_attention", inputs: "f32[2, 5, 24] f32[9, 2, 16, 6] f32[9, 2, 16, 6] i32[2, 7] i32[3]", expects: `input "lengths" i32[3] has another shape`},
		{name: "paged_attention", inputs: "f32[0, 5, 24] f32[0, 2, 4294967296, 6] f32[0, 2, 4294967296, 6] i32[0, 4294967296] i32[0]", expects: `are too many tokens for a sequence`},
		{name: "quantized_linear", inputs: "f32[2, 33] q8_0[4, 33]", expects: "its last dimension is not a multiple of 32"},
		{name: "quantized_linear", inputs: "f32[2, 32] f32[4, 32]", expects: "expected q4_0, q8_0"},
	}
	for _, c := range []inference{
		{name: "Relu", inputs: "f32[" + huge + "," + huge + "]", expects: `input "X" f32[4294967296, 4294967296] is not possible: its number of elements is above 2^63`},
		{name: "Relu", inputs: "f32[0," + huge + "," + huge + "]", expects: "above 2^63"},
		{name: "Relu", inputs: "f64[" + huge + ",1073741824]", expects: "its size is above 2^63 bytes"},
		{name: "Add", inputs: "f32[1," + huge + "] f32[" + huge + ",1]", expects: `output "C" f32[4294967296, 4294967296] of input "A" f32[1, 4294967296] and input "B" f32[4294967296, 1] is not possible`},
		{name: "Expand", inputs: "f32[1] i64{9223372036854775807}", expects: "its size is above 2^63 bytes"},
		{name: "Concat", attributes: `{"axis":0}`, inputs: "u8[9223372036854775807] u8[9223372036854775807] u8[9223372036854775807]", expects: "above 2^63"},
		{name: "Split", inputs: "f32[6] i64{9223372036854775807,9223372036854775807,9223372036854775807}", expects: "the sum of the sizes is above 2^64"},
		{name: "MatMul", inputs: "f32[" + huge + ",1] f32[1," + huge + "]", expects: "above 2^63"},
		{name: "Attention", attributes: `{"q_num_heads":4611686018427387904,"kv_num_heads":1}`, inputs: "f32[1, 1, 0] f32[1, 1, 0] f32[1, 1, 8]", expects: "above 2^63"},
	} {
		overflow[c.name+c.inputs] = true
		cases = append(cases, c)
	}
	for _, c := range cases {
		code := device.CodeInvalidArgument
		if overflow[c.name+c.inputs] {
			code = device.CodeOverflow
		}
		_, err := c.run(t)
		require.Error(t, err, "%s(%s) %s", c.name, c.inputs, c.attributes)
		assert.ErrorIs(t, err, code, "%s(%s) %s", c.name, c.inputs, c.attributes)
		assert.ErrorContains(t, err, c.name+": ")
		assert.ErrorContains(t, err, c.expects)
	}
}

// The layout has attributes and inputs with defaults and negative numbers resolved.
func TestLayout(t *testing.T) {
	infer := func(name string, opset int, attributes, inputs string) Layout {
		var values []Value
		for _, text := range descriptions(inputs) {
			values = append(values, parsed(t, text))
		}
		result, err := prepared(t, name, opset, attributes).Infer(values, nil)
		require.NoError(t, err)
		return result.Layout
	}
	assert.Equal(t, []int{1}, infer("Softmax", 0, "", "f32[2, 3]").Axes)
	assert.Equal(t, []int{1, 2}, infer("Softmax", 12, "", "f32[2, 3, 4]").Axes)
	assert.Equal(t, []int{0, 2}, infer("ReduceSum", 0, "", "f32[2, 3, 4] i64{-1,0}").Axes)
	assert.Equal(t, []int{1, 2}, infer("RMSNormalization", 0, `{"axis":-2}`, "f32[2, 3, 4] f32[4]").Axes)
	assert.Equal(t, []int{0, 2}, infer("Unsqueeze", 0, "", "f32[2] i64{-1,0}").Axes)
	assert.Equal(t, []int{1, 0}, infer("Transpose", 0, "", "f32[2, 3]").Axes)
	slice := infer("Slice", 0, "", "f32[9, 8] i64{-1} i64{-20} i64{1} i64{-2}")
	assert.Equal(t, []int64{0, 7}, slice.Starts)
	assert.Equal(t, []int64{1, -2}, slice.Steps)
	assert.Equal(t, []uint64{3, 3, 1}, infer("Split", 0, `{"num_outputs":3}`, "f32[7]").Sizes)
	assert.Equal(t, Heads{Batch: 1, QueryHeads: 4, KeyHeads: 2, Queries: 3, Keys: 5, Size: 8, ValueSize: 4, IsPacked: true},
		infer("Attention", 0, `{"q_num_heads":4,"kv_num_heads":2}`, "f32[1, 3, 32] f32[1, 5, 16] f32[1, 5, 8]").Heads)
	assert.Equal(t, Heads{Batch: 2, QueryHeads: 1, KeyHeads: 1, Queries: 3, Keys: 12, Past: 7, Size: 8, ValueSize: 8},
		infer("Attention", 0, "", "f32[2, 1, 3, 8] f32[2, 1, 5, 8] f32[2, 1, 5, 8] - f32[2, 1, 7, 8] f32[2, 1, 7, 8]").Heads)
	assert.EqualValues(t, 8, infer("RotaryEmbedding", 0, "", "f32[1, 2, 3, 8] f32[9, 4] f32[9, 4] i64[1, 3]").Heads.Rotated)
}
