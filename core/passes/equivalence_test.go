package passes

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
	"ferrum_mem/tests/mutation"
)

// exact are the passes that keep the outputs of a model.
func exact() []string {
	var names []string
	for _, s := range all() {
		if s.technique != Quantization {
			names = append(names, s.name)
		}
	}
	return names
}

// Each pass alone keeps the outputs of random models, and has nothing to do after itself.
func TestEachPassKeepsTheOutputs(t *testing.T) {
	for _, name := range exact() {
		t.Run(name, func(t *testing.T) {
			count := 0
			rapid.Check(t, func(t *rapid.T) {
				changed, results := applied(t, drawn(t), name)
				isFinal(t, changed, name)
				if results[0].Applied {
					count++
				}
			})
			if !testing.Short() { // a short test draws too few models
				require.Greater(t, count, 3, "the random models give the pass nothing to do")
			}
		})
	}
}

// All passes together, in a random order, keep the outputs.
func TestAllPassesKeepTheOutputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		applied(t, drawn(t), rapid.Permutation(exact()).Draw(t, "order")...)
	})
}

// Apply does what Run does, with numbers at the lengths of SampleLengths.
func TestApplyEqualsRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, p := drawn(t), findPass(t, rapid.SampledFrom(exact()).Draw(t, "pass"))
		want, results, err := Run(context.Background(), m, []Pass{p}, Options{})
		require.NoError(t, err)
		got := m.Clone()
		result, err := p.Apply(context.Background(), got)
		require.NoError(t, err)
		require.Equal(t, textOf(t, want), textOf(t, got))
		require.Equal(t, results[0], result)
		require.Equal(t, result.Applied || len(result.Warnings) > 0, p.IsApplicable(m))
	})
}

// The bytes of a fuzzer are the choices of a random model.
func FuzzPasses(f *testing.F) {
	devicetest.SkipShortRace(f)
	for _, seed := range []string{"", "\x05\x01\x02\x03\x04\x05\x06\x07", "passes keep what a model computes", "\x0d\x08\x00\x01\x08\x01\x02\x08\x02\x01\x03"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(mutation.Also(func(t *testing.T, choices []byte) {
		m := irtest.Draw(t, func(n int) int {
			if len(choices) == 0 {
				return 0
			}
			choice := int(choices[0]) % n
			choices = choices[1:]
			return choice
		})
		changed, _ := applied(t, m, exact()...)
		for _, name := range exact() {
			applied(t, changed, name)
		}
	}))
}

// Any definition that can be read is refused with a typed error, or its passes give a valid one.
func FuzzDefinitions(f *testing.F) {
	b := irtest.New(f)
	x := wide(b)
	y := b.Node("linear", "ferrum.linear", "", x, b.Parameter("w", 8, 8), b.Parameter("b", 8))
	z := b.Node("gelu", "Gelu", `{"approximate":"none"}`, y)
	b.Output(b.Node("norm", "LayerNormalization", "", b.Node("sum", "Add", "", z, x), b.Parameter("scale", 8)))
	text, err := b.Model().JSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(mutation.Also(func(t *testing.T, text []byte) {
		m, err := ir.Parse(text)
		if err != nil {
			return
		}
		for _, s := range all() {
			changed, _, err := Run(context.Background(), m, []Pass{s}, Options{})
			if err != nil {
				var typed *device.Error
				require.ErrorAs(t, err, &typed)
				require.NotEqual(t, device.CodeInternal, typed.Code, err)
				continue
			}
			_, err = check(changed)
			require.NoError(t, err)
		}
	}))
}
