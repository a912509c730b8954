//go:build cgo && (amd64 || arm64) && linux

package operations

import (
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/operator"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Each operator is checked with each instruction set. The race detector does not see the kernels.
	checks := "60"
	if testing.Short() {
		checks = "6"
	}
	if err := flag.Set("rapid.checks", checks); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// eachOperator calls f for the newest form of every operator.
func eachOperator(t *testing.T, f func(t *testing.T, s *operator.Schema)) {
	t.Helper()
	for _, domain := range []string{operator.ONNX, operator.Ferrum} {
		for _, name := range operator.Names(domain) {
			s, err := operator.Find(domain, name, 0)
			require.NoError(t, err)
			t.Run(name, func(t *testing.T) { f(t, s) })
		}
	}
}

// Every operator has the results of the reference: any type, shapes with sizes of 0 and 1, any
// strides, and NaN and infinities in a part of the calls.
func TestResultsOfTheReference(t *testing.T) {
	onEachSet(t, 2, func(t *testing.T, e *Engine) {
		eachOperator(t, func(t *testing.T, s *operator.Schema) {
			rapid.Check(t, func(r *rapid.T) {
				g := &generator{T: r, elements: rand.New(rand.NewPCG(1, rapid.Uint64().Draw(r, "seed")))}
				g.special = rapid.IntRange(0, 3).Draw(r, "special") == 0
				c := g.draw(s)
				in := make([]pattern, len(c.inputs))
				for i := range in {
					in[i] = rapid.SampledFrom(inputPatterns).Draw(r, "pattern")
					isNumbers := s.Name != "Where" && i > 0 && c.inputs[i] != nil && !c.inputs[i].Type.IsFloat() && c.inputs[i].raw == nil
					if in[i] == repeated && (isNumbers || slices.Contains([]string{"Slice", "Split"}, s.Name)) {
						in[i] = inOrder // the numbers would change
					}
				}
				c.prepare(r, in, rapid.SampledFrom(outputPatterns).Draw(r, "output")).run(r, e)
			})
		})
	})
}
