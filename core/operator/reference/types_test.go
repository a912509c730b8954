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
	"ferrum_mem/core/operator/operatortest"
)

// Every operator takes every data type that its form states, in every combination.
func TestEveryDataTypeIsComputed(t *testing.T) {
	for _, domain := range []string{operator.ONNX, operator.Ferrum} {
		for _, name := range operator.Names(domain) {
			s, err := operator.Find(domain, name, 0)
			require.NoError(t, err)
			attributes, shapes := operatortest.Small(name)
			ran := 0
			operatortest.EachCombination(s, func(types map[string]dtype.DType) {
				for _, to := range targets(name) {
					text := attributes
					if name == "Cast" {
						text = fmt.Sprintf(`{"to":%d}`, operator.ONNXNumber(to))
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
			attributes, shapes := operatortest.Small(name)
			op, err := s.Prepare([]byte(attributes))
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
