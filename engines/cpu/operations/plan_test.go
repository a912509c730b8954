//go:build cgo && (amd64 || arm64) && linux

package operations

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

func opened(t testing.TB, threads int) *Engine {
	t.Helper()
	e, err := open(compute.Options{Threads: threads})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

// callOf returns a call of an operator in its newest form.
func callOf(t testing.TB, domain, name, attributes string, inputs ...*argument) call {
	t.Helper()
	s, err := operator.Find(domain, name, 0)
	require.NoError(t, err)
	op, err := s.Prepare([]byte(attributes))
	require.NoError(t, err)
	return call{op: op, inputs: inputs}
}

func random(kind dtype.DType, shape ...uint64) *argument {
	g := &generator{elements: rand.New(rand.NewPCG(9, 9))}
	return g.tensor(kind, shape...)
}

// An index out of range is an error, and no output is written.
func TestIndicesOutOfRange(t *testing.T) {
	e := opened(t, 1)
	angles := []*argument{random(dtype.F32, 3, 2), random(dtype.F32, 3, 2)}
	// 3 blocks of 2 tokens, and two sequences with 3 blocks each.
	paged := func(attributes string, kind dtype.DType, lengths []int64, blocks ...int64) call {
		cache := random(kind, 3, 1, 2, 4)
		return callOf(t, operator.Ferrum, "paged_attention", attributes, random(kind, 2, 1, 8), cache, cache,
			&argument{Tensor: tensorOf(dtype.I32, []uint64{2, 3}, blocks...)}, &argument{Tensor: tensorOf(dtype.I32, []uint64{2}, lengths...)})
	}
	for _, c := range []call{
		callOf(t, operator.ONNX, "Gather", "", random(dtype.F32, 4, 3), list(0, 4)),
		callOf(t, operator.ONNX, "Gather", "", random(dtype.F32, 4, 3), list(-5)),
		callOf(t, operator.ONNX, "Gather", "", random(dtype.F32, 0, 3), list(0)),
		callOf(t, operator.ONNX, "Gather", "", random(dtype.F32, 4, 0), list(9)),
		callOf(t, operator.ONNX, "RotaryEmbedding", "", random(dtype.F32, 1, 1, 1, 4), angles[0], angles[1], &argument{Tensor: tensorOf(dtype.I64, []uint64{1, 1}, 3)}),
		paged("", dtype.F32, []int64{7, 0}, 0, 1, 2, 0, 1, 2),
		paged("", dtype.F32, []int64{6, -1}, 0, 1, 2, 0, 1, 2),
		paged("", dtype.F32, []int64{6, 1}, 0, 1, 2, 3, 1, 2),
		paged("", dtype.F16, []int64{6, 1}, 0, -1, 2, 0, 1, 2),
		paged("", dtype.F64, []int64{6, 5}, 0, 1, 2, 0, 1, 1<<31-1),
		paged(`{"left_window_size": 3}`, dtype.F32, []int64{6, 6}, -1, 1, 2, 0, -1, 2),
	} {
		for _, out := range outputPatterns {
			x := c.prepare(t, []pattern{sliced}, out)
			p, err := e.Plan(x.request)
			require.NoError(t, err)
			space, check := workspace(t, p.WorkspaceBytes())
			err = p.Run(addresses(x.inputs), addresses(x.outputs), space)
			require.ErrorIs(t, err, device.CodeInvalidArgument, "%v", c)
			assert.ErrorContains(t, err, "out of the", "%v", c)
			check()
			for _, b := range x.outputs[0].memory {
				require.EqualValues(t, untouched, b, "%v", c)
			}
		}
	}
}

// An output may have the memory of an input where InPlace allows it.
func TestResultsInPlace(t *testing.T) {
	onEachSet(t, 2, func(t *testing.T, e *Engine) {
		shared := map[string]bool{}
		eachOperator(t, func(t *testing.T, s *operator.Schema) {
			smallCalls(t, s, func(c call, _ map[string]dtype.DType) {
				for i := range c.inputs {
					for _, p := range outputPatterns {
						if runInPlace(t, e, c, i, p) {
							shared[s.Name] = true
						}
					}
				}
			})
		})
		// The rows of a transposed input are not one dimension: the plan copies them.
		s, err := operator.Find(operator.ONNX, "Softmax", 12)
		require.NoError(t, err)
		op, err := s.Prepare([]byte(`{"axis":0}`))
		require.NoError(t, err)
		require.True(t, runInPlace(t, e, call{op: op, inputs: []*argument{random(dtype.F32, 3, 4)}}, 0, sliced))
		for _, name := range []string{"Add", "Div", "Relu", "Gelu", "Where", "Gemm", "Cast", "Reshape", "Softmax", "LayerNormalization",
			"RMSNormalization", "RotaryEmbedding", "rms_norm_residual", "layer_norm_residual", "silu_mul"} {
			assert.True(t, shared[name], name)
		}
	})
}

// runInPlace computes the first output in the memory of an input, if that is allowed.
func runInPlace(t *testing.T, e *Engine, c call, input int, in pattern) bool {
	t.Helper()
	x := c.prepare(t, []pattern{in}, in)
	p, err := e.Plan(x.request)
	require.NoError(t, err)
	if !p.InPlace(0, input) {
		return false
	}
	x.outputs[0].memory, x.outputs[0].first = x.inputs[input].memory, x.inputs[input].first
	space, check := workspace(t, p.WorkspaceBytes())
	require.NoError(t, p.Run(addresses(x.inputs), addresses(x.outputs), space), "%v", c)
	x.compare(t)
	check()
	return true
}

// A bound sequence has the results of its steps, and reports an index out of range.
func TestBoundSteps(t *testing.T) {
	e := opened(t, 2)
	var runs []*execution
	var steps []compute.Step
	var checks []func() // they keep the workspaces
	for range 3 {
		eachOperator(t, func(t *testing.T, s *operator.Schema) {
			first := true
			smallCalls(t, s, func(c call, _ map[string]dtype.DType) {
				if !first {
					return
				}
				first = false
				x := c.prepare(t, []pattern{transposed}, sliced)
				p, err := e.Plan(x.request)
				require.NoError(t, err)
				space, check := workspace(t, p.WorkspaceBytes())
				runs, checks = append(runs, x), append(checks, check)
				steps = append(steps, compute.Step{Plan: p, Inputs: addresses(x.inputs), Outputs: addresses(x.outputs), Workspace: space})
			})
		})
	}
	run, err := e.Bind(steps)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, run())
		for _, x := range runs {
			x.compare(t)
		}
	}
	for _, check := range checks {
		check()
	}
	wrong := callOf(t, operator.ONNX, "Gather", "", random(dtype.F32, 4, 3), list(0, 7)).prepare(t, []pattern{inOrder}, inOrder)
	p, err := e.Plan(wrong.request)
	require.NoError(t, err)
	run, err = e.Bind(append(steps[:2:2], compute.Step{Plan: p, Inputs: addresses(wrong.inputs), Outputs: addresses(wrong.outputs)}))
	require.NoError(t, err)
	err = run()
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	assert.ErrorContains(t, err, "the index 7 of Gather, at place 1")
	other := opened(t, 1)
	_, err = other.Bind(steps[:1])
	assert.ErrorIs(t, err, device.CodeInvalidArgument)
}

// A run allocates nothing, whatever the operator is.
func TestRunsAllocateNothing(t *testing.T) {
	e := opened(t, 1)
	eachOperator(t, func(t *testing.T, s *operator.Schema) {
		done := false
		smallCalls(t, s, func(c call, _ map[string]dtype.DType) {
			if done {
				return
			}
			done = true
			x := c.prepare(t, []pattern{transposed}, transposed)
			p, err := e.Plan(x.request)
			require.NoError(t, err)
			space, check := workspace(t, p.WorkspaceBytes())
			in, out := addresses(x.inputs), addresses(x.outputs)
			assert.Zero(t, testing.AllocsPerRun(20, func() { _ = p.Run(in, out, space) }))
			run, err := e.Bind([]compute.Step{{Plan: p, Inputs: in, Outputs: out, Workspace: space}})
			require.NoError(t, err)
			assert.Zero(t, testing.AllocsPerRun(20, func() { _ = run() }))
			check()
		})
	})
}

// One plan runs on several threads at the same time, each with its own memory.
func TestOnePlanOnSeveralThreads(t *testing.T) {
	e := opened(t, 2)
	c := callOf(t, operator.ONNX, "MatMul", "", random(dtype.F32, 40, 64), random(dtype.F32, 64, 72))
	first := c.prepare(t, []pattern{inOrder}, transposed)
	p, err := e.Plan(first.request)
	require.NoError(t, err)
	var wait sync.WaitGroup
	for range 4 {
		x := c.prepare(t, []pattern{inOrder}, transposed)
		space, check := workspace(t, p.WorkspaceBytes())
		wait.Add(1)
		go func() {
			defer wait.Done()
			for range 20 {
				assert.NoError(t, p.Run(addresses(x.inputs), addresses(x.outputs), space))
			}
			x.compare(t)
			check()
		}()
	}
	wait.Wait()
}

func TestRefusedPlans(t *testing.T) {
	e := opened(t, 1)
	x := callOf(t, operator.ONNX, "MatMul", "", random(dtype.F32, 2, 3), random(dtype.F32, 3, 2)).prepare(t, []pattern{inOrder}, inOrder)
	x.request.Inputs[1].Packing = "another layout"
	_, err := e.Plan(x.request)
	require.ErrorIs(t, err, device.CodeUnsupported)
	assert.ErrorContains(t, err, "MatMul of f32, f32: input 1 is packed as \"another layout\": expected")
	x = callOf(t, operator.ONNX, "Add", "", random(dtype.F32, 2), random(dtype.F32, 2)).prepare(t, []pattern{inOrder}, inOrder)
	x.request.Inputs[1].Packing = e.packing(false)
	_, err = e.Plan(x.request)
	assert.ErrorIs(t, err, device.CodeUnsupported)
	e.Close()
	_, err = New(compute.Options{InstructionSet: "mmx"})
	require.ErrorIs(t, err, device.CodeInvalidConfig)
	x = callOf(t, operator.ONNX, "Relu", "", random(dtype.F32, 2)).prepare(t, []pattern{inOrder}, inOrder)
	p, err := e.Plan(x.request)
	require.NoError(t, err)
	assert.ErrorIs(t, p.Run(addresses(x.inputs), addresses(x.outputs), 0), device.CodeInvalidState)
}
