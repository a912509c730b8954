package operatortest

import (
	"slices"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

// Small returns a small call of an operator: its attributes, and the shapes of its inputs. The elements
// of inputs that carry numbers follow a colon.
func Small(name string) (attributes, inputs string) {
	switch name {
	case "Add", "Sub", "Mul", "Div", "Pow", "silu_mul":
		return "", "2,3 2,3"
	case "ArgMax", "Softmax":
		return `{"axis":1}`, "2,3"
	case "Cast":
		return `{"to":"f32"}`, "2,3"
	case "Where":
		return "", "3 2,3 2,1"
	case "Expand":
		return "", "1,3 2:2,3"
	case "Reshape":
		return "", "2,3 2:3,2"
	case "Concat":
		return `{"axis":0}`, "2,3 1,3"
	case "Split":
		return "", "4,3 2:1,3"
	case "Slice":
		return "", "4,3 1:1 1:3"
	case "Squeeze", "Unsqueeze":
		return "", "1,3 1:0"
	case "Gather":
		return "", "2,3 2"
	case "ReduceSum", "ReduceMean", "ReduceMax":
		return "", "2,3 1:1"
	case "TopK":
		return "", "2,4 1:2"
	case "MatMul":
		return "", "2,3 3,2"
	case "Gemm":
		return `{"alpha":0.5}`, "2,3 3,2 2,2"
	case "LayerNormalization":
		return "", "2,3 3 3"
	case "RMSNormalization":
		return "", "2,3 3"
	case "RotaryEmbedding":
		return "", "1,1,2,4 3,2 3,2 1,2"
	case "Attention":
		return "", "1,2,2,4 1,1,3,4 1,1,3,4 2,3"
	case "paged_attention":
		return "", "2,1,8 2,1,1,4 2,1,1,4 2,1 2"
	case "rms_norm_residual":
		return "", "2,3 2,3 3"
	case "layer_norm_residual":
		return "", "2,3 2,3 3 3"
	case "linear":
		return `{"activation":"gelu"}`, "2,3 4,3 4 2,4"
	case "quantized_linear":
		return `{"activation":"silu"}`, "2,32 4,32 4 2,4"
	case "self_attention":
		return `{"num_heads":2,"kv_num_heads":1}`, "1,3,16 3,3"
	}
	return "", "2,3"
}

// EachCombination visits every choice of a type for each variable of an operator.
func EachCombination(s *operator.Schema, visit func(types map[string]dtype.DType)) {
	var variables []operator.Parameter
	for _, p := range s.Inputs {
		if !slices.ContainsFunc(variables, func(v operator.Parameter) bool { return v.Variable == p.Variable }) {
			variables = append(variables, p)
		}
	}
	chosen := map[string]dtype.DType{}
	var choose func(left []operator.Parameter)
	choose = func(left []operator.Parameter) {
		if len(left) == 0 {
			visit(chosen)
			return
		}
		for _, kind := range left[0].Types.List() {
			chosen[left[0].Variable] = kind
			choose(left[1:])
		}
	}
	choose(variables)
}
