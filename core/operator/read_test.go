package operator_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/operator"
)

// Callers learn from IsRead which elements Infer needs.
func TestWhichInputsAreRead(t *testing.T) {
	want := map[string][]string{
		"Expand": {"shape"}, "Reshape": {"shape"}, "Squeeze": {"axes"}, "Unsqueeze": {"axes"}, "TopK": {"K"}, "Split": {"split"},
		"ReduceSum": {"axes"}, "ReduceMean": {"axes"}, "ReduceMax": {"axes"}, "Slice": {"starts", "ends", "axes", "steps"},
	}
	for _, domain := range []string{operator.ONNX, operator.Ferrum} {
		for _, name := range operator.Names(domain) {
			s, err := operator.Find(domain, name, 0)
			require.NoError(t, err)
			var read []string
			for _, p := range s.Inputs {
				if p.IsRead {
					read = append(read, p.Name)
				}
			}
			require.True(t, slices.Equal(want[name], read), "%s reads %v", name, read)
		}
	}
}
