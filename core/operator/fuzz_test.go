package operator

import (
	"errors"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/tests/mutation"
)

// maxFuzzedBytes bounds what the preparation and one inference allocate: a list of maxVariadic
// outputs, and texts as long as the attributes.
const maxFuzzedBytes = 8 << 20

// Any attributes and shapes give shapes that are possible, or a typed error that names the operator,
// without a large allocation. A line has the name, the opset, the wanted outputs, the attributes
// and the inputs, with a vertical bar between them.
func FuzzInfer(f *testing.F) {
	for _, seed := range []string{
		`Add|0||{}|f32[2, 1] f32[3]`,
		`Concat|0|1|{"axis":-1}|f32[2, 3] f32[2, 4] f32[2, 0]`,
		`Split|18|101|{"axis":0,"num_outputs":3}|f32[9223372036854775807]`,
		`Split|12||{"split":[1,2]}|i8[3]`,
		`Slice|0||{}|f32[10, 4] i64{-1,9} i64{-9223372036854775808,0} i64{0,1} i64{-3,2}`,
		`Slice|9||{"starts":[1],"ends":[-1],"axes":[-1]}|f32[2, 5]`,
		`Reshape|0||{"allowzero":0}|u4[2, 3, 4] i64{0,-1}`,
		`Unsqueeze|0||{}|f32[2] i64{-1,0}`,
		`Squeeze|11||{"axes":[0]}|f32[1, 2]`,
		`Transpose|0||{"perm":[1,-2]}|f32[2, 3]`,
		`Gather|0||{"axis":1}|f32[2, 3] i32[4, 5]`,
		`Expand|0||{}|f32[3, 1] i64{2,1,9223372036854775807}`,
		`Cast|0||{"to":"bf16","saturate":0,"round_mode":"down"}|f32[2]`,
		`ReduceMax|17||{"axes":[0,-1],"keepdims":0}|f32[2, 3, 4]`,
		`ReduceSum|0||{"noop_with_empty_axes":1}|f32[2, 3] i64{}`,
		`TopK|0|11|{"axis":-1,"largest":0}|f32[2, 3] i64{2}`,
		`ArgMax|0||{"select_last_index":1}|f32[2, 3]`,
		`MatMul|0||{}|f32[7, 1, 2, 3] f32[5, 3, 4]`,
		`Gemm|0||{"transA":1,"alpha":1e-3}|f32[3, 2] f32[3, 4] f32[4]`,
		`Softmax|11||{"axis":1}|f32[2, 3]`,
		`LayerNormalization|0|111|{"axis":-2,"stash_type":16}|f16[2, 3, 4] f16[3, 4] f16[4]`,
		`RotaryEmbedding|0||{"num_heads":2,"rotary_embedding_dim":4}|f32[1, 3, 16] f32[1, 3, 2] f32[1, 3, 2]`,
		`Attention|0|1111|{"is_causal":1,"left_window_size":3}|f32[2, 6, 3, 8] f32[2, 2, 5, 8] f32[2, 2, 5, 4] bool[3, 12] f32[2, 2, 7, 8] f32[2, 2, 7, 4]`,
		`Attention|24||{"q_num_heads":4,"kv_num_heads":2}|f32[1, 3, 32] f32[1, 5, 16] f32[1, 5, 8] - - - i64[1]`,
		`quantized_linear|0||{}|bf16[64] q4_0[3, 64] bf16[3]`,
		`linear|0||{"activation":"gelu_tanh"}|f32[2, 3] f32[4, 3] f32[4] f32[2, 4]`,
		`layer_norm_residual|0|10|{"epsilon":1e-6}|f32[2, 3] f32[2, 3] f32[3] f32[3]`,
		`self_attention|0||{"num_heads":4,"kv_num_heads":2,"is_causal":1}|f32[1, 3, 64] bool[1, 1, 1, 3]`,
		`paged_attention|0||{"left_window_size":3}|f32[2, 5, 24] f16[9, 2, 16, 6] f16[9, 2, 16, 3] i32[2, 7] i32[2]`,
		`rms_norm_residual|0|01|{"epsilon":1e-6}|f32[2, 3] f32[2, 3] f32[3]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(mutation.Also(func(t *testing.T, line string) {
		before := allocated()
		name, outputs, err := inferLine(line)
		require.Less(t, allocated()-before, uint64(maxFuzzedBytes))
		if err != nil {
			var typed *device.Error
			require.ErrorAs(t, err, &typed)
			require.Contains(t, []device.Code{device.CodeNotFound, device.CodeUnsupported, device.CodeInvalidArgument, device.CodeOverflow}, typed.Code)
			require.ErrorContains(t, err, name)
			require.Less(t, len(err.Error()), 2000)
			return
		}
		for _, out := range outputs {
			code, why := out.check()
			require.Equal(t, device.CodeOK, code, why)
		}
	}))
}

// allocated returns the bytes that the process has allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// inferLine runs a line of the fuzzer. named is the part of the name that an error must contain.
func inferLine(line string) (named string, outputs []Value, err error) {
	parts := strings.SplitN(line, "|", 5)
	for len(parts) < 5 {
		parts = append(parts, "")
	}
	name := parts[0]
	domain := ONNX
	if slices.Contains(Names(Ferrum), name) {
		domain = Ferrum
	}
	if slices.Contains(Names(domain), name) {
		named = name
	}
	opset, _ := strconv.Atoi(parts[1])
	schema, err := Find(domain, name, opset)
	if err != nil {
		return named, nil, err
	}
	op, err := schema.Prepare([]byte(parts[3]))
	if err != nil {
		return named, nil, err
	}
	var inputs []Value
	for _, text := range descriptions(parts[4]) {
		inputs = append(inputs, lenient(text))
	}
	var wanted []bool
	for _, digit := range parts[2] {
		wanted = append(wanted, digit == '1')
	}
	result, err := op.Infer(inputs, wanted)
	if err != nil {
		return named, nil, err
	}
	return named, result.Outputs, nil
}

// lenient reads an input as parsed does, and any other text as some input.
func lenient(text string) Value {
	at := strings.IndexAny(text, "[{")
	if at < 0 {
		return Value{IsAbsent: true}
	}
	v := Value{}
	switch kind, err := dtype.Parse(text[:at]); {
	case err == nil:
		v.Type = kind
	case text[:at] == "q8_0":
		v.Type = q80
	default:
		v.Type = dtype.DType(len(text))
	}
	for _, number := range strings.FieldsFunc(text[at:], func(r rune) bool { return strings.ContainsRune("[{, }]", r) }) {
		element, err := strconv.ParseInt(number, 10, 64)
		if errors.Is(err, strconv.ErrSyntax) {
			element = int64(len(number))
		}
		if text[at] == '[' {
			v.Shape = append(v.Shape, uint64(element))
		} else {
			v.Known = append(v.Known, element)
		}
	}
	if text[at] == '{' {
		v.Shape = []uint64{uint64(len(v.Known))}
	}
	return v
}
