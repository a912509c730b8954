package reference

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

// small has a possible call of each operator: its attributes, and the shapes of its inputs. The
// elements of inputs that carry shapes follow a colon.
func small(name string) (attributes, inputs string) {
	switch name {
	case "Add", "Sub", "Mul", "Div", "Pow", "silu_mul":
		return "", "2,3 2,3"
	case "Sqrt", "Tanh", "Erf", "Relu", "Gelu", "Swish", "Transpose":
		return "", "2,3"
	case "ArgMax", "Softmax":
		return `{"axis":1}`, "2,3"
	case "Cast":
		return `{"to":%d}`, "2,3"
	case "Where":
		return "", "3 2,3 2,1"
	case "Expand", "Reshape":
		return "", "1,3 2:1,3"
	case "Concat":
		return `{"axis":0}`, "2,3 1,3"
	case "Split":
		return "", "4 2:1,3"
	case "Slice":
		return "", "4 1:1 1:3"
	case "Squeeze", "Unsqueeze":
		return "", "1,3 1:0"
	case "Gather":
		return "", "2,3 2"
	case "ReduceSum", "ReduceMean", "ReduceMax":
		return "", "2,3 1:1"
	case "TopK":
		return "", "4 1:2"
	case "MatMul":
		return "", "2,3 3,2"
	case "Gemm":
		return `{"alpha":0.5}`, "2,3 3,2 2"
	case "LayerNormalization":
		return "", "2,3 3 3"
	case "RMSNormalization":
		return "", "2,3 3"
	case "RotaryEmbedding":
		return "", "1,1,2,4 3,2 3,2 1,2"
	case "Attention":
		return "", "1,2,2,4 1,1,3,4 1,1,3,4 2,3"
	case "rms_norm_residual":
		return "", "2,3 2,3 3"
	case "linear":
		return "", "2,3 4,3 4"
	}
	return "", "2,32 4,32 4"
}

// combinations visits every choice of a type for each variable of an operator.
func combinations(s *operator.Schema, visit func(types map[string]dtype.DType)) {
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

// Every operator takes every data type that its form states, in every combination.
func TestEveryDataTypeIsComputed(t *testing.T) {
	for _, domain := range []string{operator.ONNX, operator.Ferrum} {
		for _, name := range operator.Names(domain) {
			s, err := operator.Find(domain, name, 0)
			require.NoError(t, err)
			attributes, shapes := small(name)
			ran := 0
			combinations(s, func(types map[string]dtype.DType) {
				for _, to := range targets(name) {
					text := attributes
					if strings.Contains(text, "%d") {
						text = fmt.Sprintf(text, operator.ONNXNumber(to))
					}
					op, err := s.Prepare([]byte(text))
					require.NoError(t, err)
					var inputs []*Tensor
					for i, shape := range strings.Fields(shapes) {
						p := s.Inputs[min(i, len(s.Inputs)-1)]
						inputs = append(inputs, ones(t, types[p.Variable], shape))
					}
					outputs, err := Run(op, inputs, slices.Repeat([]bool{true}, wantedOf(s)))
					require.NoError(t, err, "%s %v", name, types)
					for _, out := range outputs {
						_, err := out.Bytes()
						require.NoError(t, err, "%s %v", name, types)
					}
					ran++
				}
			})
			assert.Positive(t, ran, name)
		}
	}
}

// An output has the same elements whichever other outputs are wanted.
func TestUnwantedOutputs(t *testing.T) {
	for _, domain := range []string{operator.ONNX, operator.Ferrum} {
		for _, name := range operator.Names(domain) {
			s, err := operator.Find(domain, name, 0)
			require.NoError(t, err)
			attributes, shapes := small(name)
			op, err := s.Prepare([]byte(strings.ReplaceAll(attributes, "%d", "1")))
			require.NoError(t, err)
			var inputs []*Tensor
			for i, shape := range strings.Fields(shapes) {
				inputs = append(inputs, ones(t, s.Inputs[min(i, len(s.Inputs)-1)].Types.List()[0], shape))
			}
			all, err := Run(op, inputs, slices.Repeat([]bool{true}, wantedOf(s)))
			require.NoError(t, err)
			for subset := range 1 << len(all) {
				wanted := make([]bool, len(all))
				for i := range wanted {
					wanted[i] = subset>>i&1 == 1
				}
				some, err := Run(op, inputs, wanted)
				require.NoError(t, err)
				for i := range all {
					if wanted[i] {
						assert.Equal(t, all[i], some[i], name)
					} else {
						assert.Nil(t, some[i], name)
					}
				}
			}
		}
	}
}

func wantedOf(s *operator.Schema) int {
	if s.Name == "Split" {
		return 2
	}
	return len(s.Outputs)
}

// targets are the types to which an operator converts.
func targets(name string) []dtype.DType {
	if name != "Cast" {
		return []dtype.DType{dtype.F32}
	}
	s, _ := operator.Find(operator.ONNX, name, 0)
	return s.Inputs[0].Types.List()
}

// ones is a tensor of ones, or one with given elements.
func ones(t *testing.T, kind dtype.DType, text string) *Tensor {
	t.Helper()
	sizes, elements, has := strings.Cut(text, ":")
	if has {
		return tensor(t, kind.String()+"["+sizes+"]:"+elements)
	}
	var shape []uint64
	for size := range strings.SplitSeq(sizes, ",") {
		number, err := strconv.ParseUint(size, 10, 64)
		require.NoError(t, err)
		shape = append(shape, number)
	}
	made := New(kind, shape)
	for i := range made.Floats {
		made.Floats[i] = 1
	}
	for i := range made.Ints {
		made.Ints[i] = 1
	}
	return made
}
