package mutation

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestChange(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	input := bytes.Repeat([]byte("abc"), 100)
	different, shorter, longer := 0, 0, 0
	for range 1000 {
		out := Change(random, input)
		if !bytes.Equal(out, input) {
			different++
		}
		if len(out) < len(input) {
			shorter++
		}
		if len(out) > len(input) {
			longer++
		}
		assert.Equal(t, bytes.Repeat([]byte("abc"), 100), input, "the input stays")
		Change(random, nil)
	}
	assert.Greater(t, different, 900)
	assert.Greater(t, shorter, 100)
	assert.Greater(t, longer, 100)
}

func TestAlso(t *testing.T) {
	var seen []string
	Also(func(_ *testing.T, input string) { seen = append(seen, input) })(t, "committed")
	assert.Len(t, seen, 1+changesPerInput)
	assert.Equal(t, "committed", seen[0])
}
