package reference

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"ferrum_mem/core/operator"
)

// Every operator has the results of NumPy in float64 on random shapes, with sizes of 0 and 1, NaN and
// infinities. A failure logs the seed, which repeats it.
func TestResultsOfNumPy(t *testing.T) {
	t.Parallel()
	seed := strconv.FormatUint(uint64(rand.Uint32()), 10)
	_, cases, data := load(t, python(t, "numpy"), "numpy_cases.py", seed)
	seen := map[string]int{}
	for _, c := range cases {
		if assert.NoError(t, c.check(t, data), "%s of seed %s: %s", c.Name, seed, c.Attributes) {
			seen[c.Operator]++
		}
	}
	for _, name := range slices.Concat(operator.Names(operator.ONNX), operator.Names(operator.Ferrum)) {
		assert.Positive(t, seen[name], "no case of %s", name)
	}
}
