package operator

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOrigins states for each dimension of the outputs from which dimension of each input it comes: "-" for a
// whole input, and "no" for a dimension whose elements depend on each other.
func TestOrigins(t *testing.T) {
	for _, one := range []struct{ full, attributes, inputs, want string }{
		{"Add", "", "f32[4, 3, 8] f32[8]", "[0 -] [1 -] [2 0]"},
		{"Add", "", "f32[3, 1] f32[4, 1, 8]", "[- 0] [0 -] [- 2]"},
		{"Where", "", "bool[4, 1] f32[4, 8] f32[8]", "[0 0 -] [- 1 0]"},
		{"Gelu", "", "f32[4, 8]", "[0] [1]"},
		{"Softmax", "", "f32[4, 8]", "[0] no"},
		{"LayerNormalization", `{"axis": 1}`, "f32[4, 3, 8] f32[3, 8]", "[0 -] no no"},
		{"ferrum.layer_norm_residual", "", "f32[4, 8] f32[4, 8] f32[8]", "[0 0 -] no"},
		{"ferrum.linear", "", "f32[4, 3, 8] f32[5, 8] f32[5] f32[4, 3, 5]", "[0 - - 0] [1 - - 1] no"},
		{"ferrum.linear", "", "f32[8] f32[5, 8]", "no"},
		{"MatMul", "", "f32[4, 3, 8] f32[8, 5]", "[0 -] [1 -] no"},
		{"MatMul", "", "f32[2, 4, 3, 8] f32[4, 8, 5]", "[0 -] [1 0] [2 -] no"},
		{"MatMul", "", "f32[8] f32[4, 8, 5]", "[- 0] no"},
		{"MatMul", "", "f32[4, 3, 8] f32[8]", "[0 -] [1 -]"},
		{"Gemm", `{"transA": 1}`, "f32[8, 4] f32[8, 5] f32[4, 1]", "[1 - 0] no"},
		{"Gemm", "", "f32[4, 8] f32[8, 5] f32[5]", "[0 - -] no"},
		{"ReduceSum", "", "f32[4, 3, 8] i64{1}", "[0 -] no [2 -]"},
		{"ReduceMean", `{"keepdims": 0}`, "f32[4, 3, 8] i64{1}", "[0 -] [2 -]"},
		{"ArgMax", `{"axis": 0, "keepdims": 0}`, "f32[4, 3, 8]", "[1] [2]"},
		{"TopK", "", "f32[4, 8] i64{2}", "[0 -] no"},
		{"Transpose", `{"perm": [2, 0, 1]}`, "f32[4, 3, 8]", "[2] [0] [1]"},
		{"Reshape", "", "f32[4, 3, 8] i64{12,8}", "[0 -] [2 -]"},
		{"Reshape", "", "f32[1, 6, 8] i64{6,2,4}", "[1 -] [2 -] no"},
		{"Unsqueeze", "", "f32[4, 8] i64{1}", "[0 -] no [1 -]"},
		{"Squeeze", "", "f32[4, 1, 8] i64{1}", "[0 -] [2 -]"},
		{"Expand", "", "f32[4, 1] i64{4,8}", "[0 -] [- -]"},
		{"Concat", `{"axis": 1}`, "f32[4, 3] f32[4, 5]", "[0 0] no"},
		{"Split", `{"axis": 1}`, "f32[4, 8] i64{3,5}", "[0 -] no"},
		{"Slice", "", "f32[4, 8] i64{1} i64{7} i64{1}", "[0 - - -] no"},
		{"Slice", "", "f32[4, 8] i64{0,0} i64{9,9} i64{0,1} i64{1,2}", "[0 - - - -] no"},
		{"Gather", "", "f32[16, 8] i64[4, 3]", "[- 0] [- 1] [1 -]"},
		{"Gather", `{"axis": 1}`, "f32[4, 16, 8] i64[3]", "[0 -] [- 0] [2 -]"},
		{"RotaryEmbedding", "", "f32[4, 2, 3, 8] f32[16, 4] f32[16, 4] i64[4, 3]", "[0 - - 0] [1 - - -] [2 - - 1] no"},
		{"RotaryEmbedding", `{"num_heads": 2}`, "f32[4, 3, 16] f32[4, 3, 4] f32[4, 3, 4]", "[0 0 0] [1 1 1] no"},
		{"Attention", "", "f32[4, 2, 3, 8] f32[4, 2, 5, 8] f32[4, 2, 5, 8] f32[3, 5]", "[0 0 0 -] no no no"},
		{"Attention", "", "f32[4, 2, 3, 8] f32[4, 2, 5, 8] f32[4, 2, 5, 8] f32[4, 1, 1, 5]", "[0 0 0 0] no no no"},
		{"ferrum.paged_attention", "", "f32[4, 3, 16] f32[9, 2, 16, 8] f32[9, 2, 16, 8] i32[4, 5] i32[4]", "[0 - - 0 0] no no"},
		{"ferrum.self_attention", `{"num_heads": 2}`, "f32[4, 3, 24] f32[1, 1, 1, 3]", "[0 -] no no"},
	} {
		domain, name := SplitName(one.full)
		schema, err := Find(domain, name, 0)
		require.NoError(t, err)
		op, err := schema.Prepare([]byte(one.attributes))
		require.NoError(t, err)
		var inputs []Value
		for _, text := range descriptions(one.inputs) {
			inputs = append(inputs, parsed(t, text))
		}
		found, err := op.Infer(inputs, nil)
		require.NoError(t, err, "%s of %s", one.full, one.inputs)
		got := ""
		for axis := range found.Outputs[0].Shape {
			origins, isKnown := op.Origins(inputs, found, axis)
			text := "no"
			if isKnown {
				text = "["
				for i, origin := range origins {
					if i > 0 {
						text += " "
					}
					if origin == Whole {
						text += "-"
					} else {
						text += fmt.Sprint(origin)
					}
				}
				text += "]"
			}
			if axis > 0 {
				got += " "
			}
			got += text
		}
		assert.Equal(t, one.want, got, "%s of %s", one.full, one.inputs)
	}
}

// Every operator has a rule, so a new one is not forgotten.
func TestEachOperatorHasOrigins(t *testing.T) {
	for _, domain := range []string{ONNX, Ferrum} {
		for _, name := range Names(domain) {
			schema, err := Find(domain, name, 0)
			require.NoError(t, err)
			assert.NotNil(t, schema.origins, name)
		}
	}
}
