//go:build cgo && (amd64 || arm64) && linux

package operations

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

// onFew has a call of several operators on about 16 elements.
func onFew(b *testing.B) map[string]call {
	of := func(shape ...uint64) *argument { return random(dtype.F32, shape...) }
	return map[string]call{
		"Add":                callOf(b, operator.ONNX, "Add", "", of(16), of(16)),
		"Add of a row":       callOf(b, operator.ONNX, "Add", "", of(4, 4), of(4)),
		"Add of F16":         callOf(b, operator.ONNX, "Add", "", random(dtype.F16, 16), random(dtype.F16, 16)),
		"Add of I64":         callOf(b, operator.ONNX, "Add", "", random(dtype.I64, 16), random(dtype.I64, 16)),
		"Relu":               callOf(b, operator.ONNX, "Relu", "", of(16)),
		"Gelu":               callOf(b, operator.ONNX, "Gelu", "", of(16)),
		"silu_mul":           callOf(b, operator.Ferrum, "silu_mul", "", of(16), of(16)),
		"Cast":               callOf(b, operator.ONNX, "Cast", `{"to":"f16"}`, of(16)),
		"Where":              callOf(b, operator.ONNX, "Where", "", random(dtype.Bool, 16), of(16), of(16)),
		"Reshape":            callOf(b, operator.ONNX, "Reshape", "", of(16), list(4, 4)),
		"Transpose":          callOf(b, operator.ONNX, "Transpose", "", of(4, 4)),
		"Slice":              callOf(b, operator.ONNX, "Slice", "", of(4, 8), list(0), list(4), list(1)),
		"Concat":             callOf(b, operator.ONNX, "Concat", `{"axis":0}`, of(8), of(8)),
		"Gather":             callOf(b, operator.ONNX, "Gather", "", of(8, 16), list(3)),
		"Softmax":            callOf(b, operator.ONNX, "Softmax", "", of(16)),
		"RMSNormalization":   callOf(b, operator.ONNX, "RMSNormalization", "", of(16), of(16)),
		"LayerNormalization": callOf(b, operator.ONNX, "LayerNormalization", "", of(16), of(16), of(16)),
		"rms_norm_residual":  callOf(b, operator.Ferrum, "rms_norm_residual", "", of(16), of(16), of(16)),
		"ReduceSum":          callOf(b, operator.ONNX, "ReduceSum", "", of(16)),
		"ArgMax":             callOf(b, operator.ONNX, "ArgMax", "", of(16)),
		"RotaryEmbedding":    callOf(b, operator.ONNX, "RotaryEmbedding", "", of(1, 1, 1, 16), of(1, 1, 8), of(1, 1, 8)),
		"MatMul":             callOf(b, operator.ONNX, "MatMul", "", of(1, 16), of(16, 16)),
		"linear":             callOf(b, operator.Ferrum, "linear", "", of(16), of(16, 16)),
		"Attention":          callOf(b, operator.ONNX, "Attention", "", of(1, 1, 4, 4), of(1, 1, 4, 4), of(1, 1, 4, 4)),
		"causal Attention":   callOf(b, operator.ONNX, "Attention", `{"is_causal":1}`, of(1, 1, 4, 4), of(1, 1, 4, 4), of(1, 1, 4, 4)),
		"TopK":               callOf(b, operator.ONNX, "TopK", "", of(16), list(4)),
	}
}

// processorTime is the time that this thread has used.
func processorTime(b *testing.B) time.Duration {
	var now unix.Timespec
	require.NoError(b, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now))
	return time.Duration(now.Nano())
}

// One step of a bound sequence of 100 steps, and one run of a plan alone: the processor time of each.
func BenchmarkSteps(b *testing.B) {
	for name, c := range onFew(b) {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			e := opened(b, 1)
			const count = 100
			var steps []compute.Step
			var kept []*execution
			var checks []func()
			for range count {
				x := c.prepare(b, []pattern{inOrder}, inOrder)
				p, err := e.Plan(x.request)
				require.NoError(b, err)
				space, check := workspace(b, p.WorkspaceBytes())
				steps = append(steps, compute.Step{Plan: p, Inputs: addresses(x.inputs), Outputs: addresses(x.outputs), Workspace: space})
				kept, checks = append(kept, x), append(checks, check)
			}
			run, err := e.Bind(steps)
			require.NoError(b, err)
			measure := func(unit string, runs int, f func() error) {
				start := processorTime(b)
				for range runs {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(processorTime(b)-start)/float64(b.N/count*count+count), unit)
			}
			measure("cpu-ns/step", b.N/count+1, run)
			s := steps[0]
			measure("cpu-ns/run", b.N/count*count+count, func() error { return s.Plan.Run(s.Inputs, s.Outputs, s.Workspace) })
			for i := range kept {
				checks[i]()
				kept[i].compare(b)
			}
		})
	}
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

// One plan of a step of a model: shapes that grow with the past are planned in each step.
func BenchmarkPlan(b *testing.B) {
	of := func(shape ...uint64) *argument { return random(dtype.F32, shape...) }
	for name, c := range map[string]call{
		"Attention": callOf(b, operator.ONNX, "Attention", `{"is_causal":1}`, of(1, 4, 1, 64), of(1, 2, 9, 64), of(1, 2, 9, 64)),
		"MatMul":    callOf(b, operator.ONNX, "MatMul", "", of(1, 4, 16), of(16, 16)),
		"Add":       callOf(b, operator.ONNX, "Add", "", of(4, 16), of(16)),
	} {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			e := opened(b, 1)
			x := c.prepare(b, []pattern{inOrder}, inOrder)
			b.ReportAllocs()
			start := processorTime(b)
			for b.Loop() {
				if _, err := e.Plan(x.request); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(processorTime(b)-start)/float64(b.N), "cpu-ns/plan")
		})
	}
}
