//go:build cgo && (amd64 || arm64) && linux

package operations

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

// stepsOf returns steps that run one after the other, each on 16 elements.
func stepsOf(b *testing.B, e *Engine, count int, name string) (steps []compute.Step, keep []*execution) {
	b.Helper()
	for range count {
		inputs := []*argument{random(dtype.F32, 16), random(dtype.F32, 16)}
		if name != "Add" {
			inputs = inputs[:1]
		}
		x := callOf(b, operator.ONNX, name, "", inputs...).prepare(b, []pattern{inOrder}, inOrder)
		p, err := e.Plan(x.request)
		require.NoError(b, err)
		steps = append(steps, compute.Step{Plan: p, Inputs: addresses(x.inputs), Outputs: addresses(x.outputs)})
		keep = append(keep, x)
	}
	return steps, keep
}

// One step of a bound sequence, on 16 elements: the time of a run is divided by its steps.
func BenchmarkBoundStep(b *testing.B) {
	for _, name := range []string{"Add", "Relu", "Softmax"} {
		b.Run(name, func(b *testing.B) {
			e := opened(b, 1)
			const count = 100
			steps, keep := stepsOf(b, e, count, name)
			run, err := e.Bind(steps)
			require.NoError(b, err)
			b.ResetTimer()
			for range b.N/count + 1 {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
			_ = keep
		})
	}
}

// One run of a plan on 16 elements.
func BenchmarkRun(b *testing.B) {
	e := opened(b, 1)
	steps, keep := stepsOf(b, e, 1, "Add")
	for b.Loop() {
		if err := steps[0].Plan.Run(steps[0].Inputs, steps[0].Outputs, 0); err != nil {
			b.Fatal(err)
		}
	}
	_ = keep
}

// The largest elements of a line of logits.
func BenchmarkLogits(b *testing.B) {
	for _, c := range []struct {
		name   string
		inputs []*argument
	}{
		{"ArgMax", []*argument{random(dtype.F32, 128256)}},
		{"TopK", []*argument{random(dtype.F32, 128256), list(50)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			e := opened(b, 1)
			call := callOf(b, operator.ONNX, c.name, "", c.inputs...)
			x := call.prepare(b, []pattern{inOrder}, inOrder)
			p, err := e.Plan(x.request)
			require.NoError(b, err)
			space, check := workspace(b, p.WorkspaceBytes())
			in, out := addresses(x.inputs), addresses(x.outputs)
			for b.Loop() {
				if err := p.Run(in, out, space); err != nil {
					b.Fatal(err)
				}
			}
			check()
		})
	}
}
