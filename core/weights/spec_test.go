package weights

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func TestSelections(t *testing.T) {
	s, err := OpenMemory("m", safetensors(map[string]int{
		"model.embed.weight": 1, "model.layers.0.q.weight": 2, "model.layers.1.q.weight": 3, "vision/a.weight": 4, "lm_head.weight": 5,
	}, []string{"model.embed.weight", "model.layers.0.q.weight", "model.layers.1.q.weight", "vision/a.weight", "lm_head.weight"}), Options{})
	require.NoError(t, err)
	namesOf := func(of Selection) (pairs [][2]string) {
		t.Helper()
		specs, err := s.Select(of)
		require.NoError(t, err)
		for _, spec := range specs {
			pairs = append(pairs, [2]string{spec.Tensor, spec.Name})
		}
		return pairs
	}
	assert.Len(t, namesOf(Selection{}), 5)
	assert.Equal(t, [][2]string{{"model.layers.0.q.weight", "draft.0.q.weight"}, {"model.layers.1.q.weight", "draft.1.q.weight"}},
		namesOf(Selection{Include: []string{"model.*"}, Exclude: []string{"*embed*"}, Rename: []Renaming{{"model.layers.", ""}}, Prefix: "draft."}))
	assert.ElementsMatch(t, [][2]string{{"vision/a.weight", "sight/a.weight"}, {"lm_head.weight", "lm_head.weight"}},
		namesOf(Selection{Include: []string{"*a.weight", "lm_?ead.weight"}, Rename: []Renaming{{"vision", "sight"}, {"vision/a", "never"}}}), "* stands for / too")
	for says, of := range map[string]Selection{
		`no tensor has a name that matches "decoder.*"`: {Include: []string{"model.*", "decoder.*"}},
		`the pattern "[a" is not complete`:              {Exclude: []string{"[a"}},
		`both get the name "q.weight"`:                  {Rename: []Renaming{{"model.layers.0.", ""}, {"model.layers.1.", ""}}},
	} {
		_, err := s.Select(of)
		require.ErrorIs(t, err, device.CodeInvalidArgument)
		assert.ErrorContains(t, err, says)
	}
}
