package similar

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNames(t *testing.T) {
	known := []string{"model.layers.0.mlp.up_proj.weight", "model.layers.0.self_attn.q_proj.weight", "lm_head.weight", "model.norm.weight"}
	assert.Equal(t, []string{"lm_head.weight"}, Names("lm-head.weights", known, 1))
	assert.Equal(t, "model.layers.0.self_attn.q_proj.weight", Names("model.layers.0.attn.q_proj.weight", known, 3)[0])
	assert.Len(t, Names("x", known, 9), 4)
	assert.Empty(t, Names("x", nil, 3))
	assert.Equal(t, "model.norm.weight", known[3], "the list of the caller is not sorted")
}

// Names of any length and number take little time: only a part of them is compared.
func TestLongAndMany(t *testing.T) {
	long := strings.Repeat("ü", 1<<20)
	known := make([]string, 3*most)
	for i := range known {
		known[i] = "tensor"
	}
	known[0] = long + "a"
	assert.Equal(t, []string{long + "a"}, Names(long+"b", known, 1))
}
