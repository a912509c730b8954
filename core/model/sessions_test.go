package model_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
	"ferrum_mem/core/model"
	"ferrum_mem/core/operator/reference"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/vmm"
	"ferrum_mem/engines/ort"
)

// newRuntimeRig is a rig with a backend of ONNX Runtime, from the wheel in the environment of the tests.
func newRuntimeRig(t testing.TB) *rig {
	t.Helper()
	if os.Getenv(ort.EnvLibrary) == "" {
		found, err := filepath.Glob("../../build/venv/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so*")
		require.NoError(t, err)
		if len(found) == 0 {
			t.Skip("no ONNX Runtime: `make test` installs onnxruntime in build/venv, or " + ort.EnvLibrary + " has its path")
		}
		t.Setenv(ort.EnvLibrary, found[0])
	}
	c := backend.DefaultConfig()
	c.Type, c.Threads = backend.ONNXRuntime, 1
	return newRigWith(t, 1<<30, c)
}

func (r *rig) runtimeRequest(m *ir.Model) model.Request {
	return model.Request{ID: "test", Definition: m, Weights: sourceOf(r.t, m), Backend: r.backend, Pool: r.pool, Options: model.DefaultOptions()}
}

func (r *rig) build(q model.Request) *model.Executor {
	r.t.Helper()
	x, err := new(model.Builder).Build(context.Background(), q)
	require.NoError(r.t, err)
	r.t.Cleanup(func() {
		if !x.HasEnded() {
			require.NoError(r.t, x.Close(false))
		}
	})
	return x
}

// resultsOf returns the outputs of a run as tensors of the reference.
func (r *rig) resultsOf(x *model.Executor, inputs map[string]*reference.Tensor, like map[string]*reference.Tensor) map[string]*reference.Tensor {
	r.t.Helper()
	made := map[string]*reference.Tensor{}
	for name, bytes := range r.run(x, inputs) {
		result, err := reference.FromBytes(like[name].Type, like[name].Shape, bytes)
		require.NoError(r.t, err)
		made[name] = result
	}
	return made
}

// Definitions of random operators give what the reference in float64 gives, with parameters from weights and
// with parameters made by rules.
func TestSessionsComputeWhatTheReferenceDoes(t *testing.T) {
	r := newRuntimeRig(t)
	ran := 0
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 7))
		m := irtest.Draw(t, random.IntN)
		for _, lengths := range []map[string]uint64{irtest.Lengths(), {"batch": 3, "sequence": 7, "memory": 2}} {
			inputs, err := irtest.Inputs(m, lengths)
			require.NoError(t, err)
			want, err := irtest.Run(m, inputs, irtest.Elements)
			require.NoError(t, err)
			x, err := new(model.Builder).Build(context.Background(), r.runtimeRequest(m))
			if errors.Is(err, device.CodeUnsupported) {
				t.Logf("seed %d: %v", seed, err)
				continue
			}
			require.NoError(t, err, "seed %d", seed)
			for range 2 { // the second run writes to the outputs
				require.NoError(t, irtest.Difference(want, r.resultsOf(x, inputs, want), 1e-4), "seed %d", seed)
			}
			require.NoError(t, x.Close(false))
			ran++
		}
	}
	assert.Greater(t, ran, 40)
}

// Layers of the program beside operators give what operators alone give.
func TestLayersOfTheProgramInSessions(t *testing.T) {
	r := newRuntimeRig(t)
	random := rand.New(rand.NewPCG(5, 7))
	ran, changed := 0, 0
	for seed := range uint64(20) {
		m := randomModel(t, seed)
		mixed, count := withOwnLayers(m, r.layers, random)
		x, err := new(model.Builder).Build(context.Background(), r.runtimeRequest(mixed))
		if errors.Is(err, device.CodeUnsupported) {
			t.Logf("seed %d: %v", seed, err)
			continue
		}
		require.NoError(t, err, "seed %d", seed)
		for _, of := range lengths {
			inputs, err := irtest.Inputs(m, of)
			require.NoError(t, err)
			want, err := irtest.Run(m, inputs, irtest.Elements)
			require.NoError(t, err)
			for range 2 {
				require.NoError(t, irtest.Difference(want, r.resultsOf(x, inputs, want), 1e-4), "seed %d, %v", seed, of)
			}
		}
		require.NoError(t, x.Close(false))
		require.Zero(t, r.layers.kept.Load())
		ran, changed = ran+1, changed+count
	}
	assert.Greater(t, ran, 10)
	assert.Greater(t, r.layers.runs.Load(), int64(changed))
}

func TestAModelOfASession(t *testing.T) {
	r := newRuntimeRig(t)
	m := embedding(t)
	x := r.build(r.runtimeRequest(m))
	ctx := context.Background()
	info := x.Info()
	assert.Equal(t, "onnx_runtime", info.Backend)
	assert.Equal(t, []string{"out"}, info.Outputs)
	require.Len(t, info.Inputs, 4)
	assert.Equal(t, []string{"batch", "sequence"}, info.Inputs[0].Dims)
	assert.Equal(t, ir.DefaultOnes, info.Inputs[3].Default)
	assert.Zero(t, info.PackedBytes)
	assert.EqualValues(t, 4*(16*8+2*8+64*8+8*5), info.ParameterBytes)
	definition, err := x.Definition()
	require.NoError(t, err)
	assert.Same(t, m, definition)

	// The shapes of a run are checked as for every model, and so are the rows of tables.
	ids := r.ids(2, 4, 1, 2, 3, 4, 5, 6, 7, 8)
	wrong := r.ids(1, 2, 3, 99)
	inputs, outputs := map[string]*tensor.Tensor{"input_ids": ids}, map[string]*tensor.Tensor{"out": nil}
	requireError(t, device.CodeInvalidArgument, x.Run(ctx, map[string]*tensor.Tensor{"input_ids": wrong}, outputs, model.RunOptions{}), `"input_ids"`, "99", `"table"`)
	requireError(t, device.CodeInvalidArgument, x.Run(ctx, inputs, map[string]*tensor.Tensor{"outs": nil}, model.RunOptions{}), `"out"`)
	requireError(t, device.CodeInvalidArgument, x.Run(ctx, nil, outputs, model.RunOptions{}), `"input_ids"`)
	_, err = x.Plan(ctx, map[string]uint64{"batch": 2, "sequence": 4})
	requireError(t, device.CodeUnsupported, err, "run the model once")
	require.NoError(t, x.Run(ctx, inputs, outputs, model.RunOptions{}))
	want := r.bytesOf(outputs["out"])
	planned, err := x.Plan(ctx, map[string]uint64{"batch": 2, "sequence": 4})
	require.NoError(t, err)
	assert.NotZero(t, planned.ArenaBytes)
	assert.EqualValues(t, 1, x.Info().Shapes)

	// Indices of another type, and outputs of every kind: given, with gaps, and over an input.
	narrow, err := ids.To(r.backend.Memory(), dtype.I32, r.stream())
	require.NoError(t, err)
	wide, err := tensor.New(r.backend.Memory(), dtype.F32, []int64{2, 4, 10}, r.stream())
	require.NoError(t, err)
	gaps, err := wide.Narrow(2, 0, 5)
	require.NoError(t, err)
	for _, given := range []*tensor.Tensor{outputs["out"], gaps} {
		require.NoError(t, x.Run(ctx, map[string]*tensor.Tensor{"input_ids": narrow}, map[string]*tensor.Tensor{"out": given}, model.RunOptions{}))
		assert.Equal(t, want, r.bytesOf(given))
	}
	requireError(t, device.CodeInvalidArgument, x.Run(ctx, inputs, map[string]*tensor.Tensor{"out": wide}, model.RunOptions{}), `"out"`, "f32[2, 4, 10]", "f32[2, 4, 5]")
	r.closeAll(map[string]*tensor.Tensor{"a": ids, "b": wrong, "c": narrow, "d": gaps, "e": wide, "f": outputs["out"]})
	_, err = x.Sleep(ctx, model.SleepOptions{})
	require.NoError(t, err)
}

// An output over the memory of an input has the result, although the session reads the input.
func TestAnOutputOverAnInput(t *testing.T) {
	r := newRuntimeRig(t)
	b := irtest.New(t)
	in := b.Input("x", dtype.F32, "batch", 4)
	b.Output(b.Node("out", "MatMul", "", in, b.Parameter("p", 4, 4)))
	x := r.build(r.runtimeRequest(b.Model()))
	from := reference.New(dtype.F32, []uint64{2, 4})
	copy(from.Floats, []float64{1, 2, 3, 4, 5, 6, 7, 8})
	want := r.run(x, map[string]*reference.Tensor{"x": from})
	r.run(x, map[string]*reference.Tensor{"x": from})
	both := r.put(from)
	require.NoError(t, x.Run(context.Background(), map[string]*tensor.Tensor{"x": both}, map[string]*tensor.Tensor{"out": both}, model.RunOptions{}))
	assert.Equal(t, want["out"], r.bytesOf(both))
	require.NoError(t, both.Close())
}

// The session does not copy an input that is an output too, but the run does.
func TestAnInputThatIsAnOutput(t *testing.T) {
	r := newRuntimeRig(t)
	b := irtest.New(t)
	in := b.Input("x", dtype.F32, "batch", 4)
	b.Output(in)
	b.Output(b.Node("out", "Relu", "", in))
	x := r.build(r.runtimeRequest(b.Model()))
	from := reference.New(dtype.F32, []uint64{1, 4})
	copy(from.Floats, []float64{1, 2, 3, 4})
	given := r.put(from)
	for range 2 { // the second run knows the shapes
		to := r.put(reference.New(dtype.F32, []uint64{1, 4}))
		require.NoError(t, x.Run(context.Background(), map[string]*tensor.Tensor{"x": given}, map[string]*tensor.Tensor{"x": to}, model.RunOptions{}))
		assert.Equal(t, r.bytesOf(given), r.bytesOf(to))
		require.NoError(t, to.Close())
	}
	require.NoError(t, given.Close())
}

// The parameters leave below a live session, and come back at their addresses.
func TestASessionSleeps(t *testing.T) {
	r := newRuntimeRig(t)
	x := r.build(r.runtimeRequest(embedding(t)))
	ctx := context.Background()
	given := map[string]*reference.Tensor{"input_ids": reference.New(dtype.I64, []uint64{2, 4})}
	copy(given["input_ids"].Ints, []int64{1, 2, 3, 4, 5, 6, 7, 8})
	before := r.run(x, given)
	ids := r.ids(1, 1, 1)
	inputs := map[string]*tensor.Tensor{"input_ids": ids}
	for _, backing := range []vmm.SleepBacking{vmm.SleepToHost, vmm.SleepToFile} {
		held := x.Info().HeldBytes
		report, err := x.Sleep(ctx, model.SleepOptions{Backing: backing, Dir: map[bool]string{true: t.TempDir()}[backing == vmm.SleepToFile]})
		require.NoError(t, err)
		assert.Equal(t, held, report.Bytes)
		assert.Zero(t, x.Info().HeldBytes)
		assert.Zero(t, r.pool.Stats().HeldBytes, "the pages went back to the device")
		requireError(t, device.CodeBusy, x.Run(ctx, inputs, map[string]*tensor.Tensor{"out": nil}, model.RunOptions{NoWait: true}), "it sleeps")
		_, err = x.Wake(ctx, vmm.WakeRequest{})
		require.NoError(t, err)
		assert.Equal(t, before, r.run(x, given))
	}
	// Memory that was put to sleep through the pool.
	m, err := r.pool.Model("test")
	require.NoError(t, err)
	_, err = m.Sleep(ctx, vmm.SleepRequest{Tag: model.ParametersTag})
	require.NoError(t, err)
	requireError(t, device.CodeBusy, x.Run(ctx, inputs, map[string]*tensor.Tensor{"out": nil}, model.RunOptions{}))
	_, err = x.Wake(ctx, vmm.WakeRequest{})
	require.NoError(t, err)
	assert.Equal(t, before, r.run(x, given))
	require.NoError(t, ids.Close())
	_, err = x.Sleep(ctx, model.SleepOptions{})
	require.NoError(t, err)
	require.NoError(t, x.Close(false), "a model that sleeps can be closed")
}

// Each call of the device fails once, during a build and during a run: the books are as before, and the
// next run has the result.
func TestEveryCallFailsOnceBelowASession(t *testing.T) {
	r := newRuntimeRig(t)
	m, ctx := embedding(t), context.Background()
	before := r.books()
	q := r.runtimeRequest(m)
	n := 1
	for ; ; n++ {
		r.dev.failAt(n)
		x, err := new(model.Builder).Build(ctx, q)
		reached := r.dev.counted() >= n
		if err == nil {
			require.NoError(t, x.Close(false))
		} else {
			require.ErrorIs(t, err, device.CodeResourceExhausted, "call %d", n)
		}
		require.Equal(t, before, r.books(), "call %d", n)
		if !reached {
			require.NoError(t, err)
			break
		}
	}
	assert.Greater(t, n, 5)
	r.dev.failAt(0)
	ids := r.ids(2, 4, 1, 2, 3, 4, 5, 6, 7, 8)
	inputs := map[string]*tensor.Tensor{"input_ids": ids}
	for n = 1; ; n++ {
		q.Options.EnableValidation = false // its run leaves pages behind
		x, err := new(model.Builder).Build(ctx, q)
		require.NoError(t, err)
		tensors := r.books().status
		r.dev.failAt(n)
		outputs := map[string]*tensor.Tensor{"out": nil}
		err = x.Run(ctx, inputs, outputs, model.RunOptions{})
		reached := r.dev.counted() >= n
		r.dev.failAt(0)
		if err != nil {
			require.ErrorIs(t, err, device.CodeResourceExhausted, "call %d", n)
			require.Nil(t, outputs["out"])
			require.Equal(t, tensors, r.books().status)
			require.NoError(t, x.Run(ctx, inputs, outputs, model.RunOptions{}), "the next run succeeds, call %d", n)
		}
		require.NoError(t, outputs["out"].Close())
		require.NoError(t, x.Close(false))
		if !reached {
			break
		}
	}
	assert.Greater(t, n, 3)
	require.NoError(t, ids.Close())
}

// A pool that is full during a run: the error of the pool, and the process lives.
func TestASessionInAPoolThatIsFull(t *testing.T) {
	r := newRuntimeRig(t)
	b := irtest.New(t)
	in := b.Input("x", dtype.F32, "batch", 256)
	b.Output(b.Node("out", "MatMul", "", b.Node("h", "Tanh", "", in), b.Parameter("p", 256, 256)))
	q := r.runtimeRequest(b.Model())
	q.Limits = vmm.ModelLimits{MaxBytes: 6 * pageBytes} // 4 for the parameters
	x := r.build(q)
	for _, batch := range []uint64{1, 1 << 12, 2} {
		from := r.put(reference.New(dtype.F32, []uint64{batch, 256}))
		outputs := map[string]*tensor.Tensor{"out": nil}
		err := x.Run(context.Background(), map[string]*tensor.Tensor{"x": from}, outputs, model.RunOptions{})
		if batch == 1<<12 {
			requireError(t, device.CodeOutOfPhysicalMemory, err)
		} else {
			require.NoError(t, err)
			require.NoError(t, outputs["out"].Close())
		}
		require.NoError(t, from.Close())
	}
}

func TestBuildsThatASessionCannotDo(t *testing.T) {
	r := newRuntimeRig(t)
	m := embedding(t)
	q := r.runtimeRequest(m)
	q.Options.EnableQuantization, q.Options.QuantizationConfig = true, []byte(`{"format": "q8_0"}`)
	_, err := new(model.Builder).Build(context.Background(), q)
	requireError(t, device.CodeUnsupported, err, "enable_quantization", "onnx_runtime")
	before := r.books()
	q = r.runtimeRequest(m)
	q.Weights = nil
	q.Limits = vmm.ModelLimits{MaxBytes: pageBytes}
	x, err := new(model.Builder).Build(context.Background(), q)
	if err == nil {
		require.NoError(t, x.Close(false))
	}
	require.Equal(t, before, r.books())
}

// MiniLM on both engines: the results are equal, the weights are in the pool once, and two models share it.
func TestMiniLMInASession(t *testing.T) {
	folder, want := miniLM(t), readSentences(t)
	r := newRuntimeRig(t)
	cpu := newRigOf(t, 1<<30, 1)
	inputs := map[string]*reference.Tensor{"input_ids": table(want.IDs), "attention_mask": table(want.Mask)}
	var results [2][]float64
	for i, on := range []*rig{r, cpu} {
		q := model.Request{Path: folder, Backend: on.backend, Pool: on.pool, Options: model.DefaultOptions()}
		x := on.build(q)
		got := on.run(x, inputs)["last_hidden_state"]
		hidden, err := reference.FromBytes(dtype.F32, []uint64{uint64(len(got) / 4)}, got)
		require.NoError(t, err)
		results[i] = hidden.Floats
		if i == 0 {
			info := x.Info()
			assert.Less(t, info.HeldBytes, info.ParameterBytes+16<<20, "the weights are in memory once")
			q.ID = "second"
			second := on.build(q)
			assert.Equal(t, got, on.run(second, inputs)["last_hidden_state"])
			require.NoError(t, second.Close(false))
		}
	}
	require.Len(t, results[1], len(results[0]))
	most := 0.0
	for i := range results[0] {
		most = max(most, results[0][i]-results[1][i], results[1][i]-results[0][i])
	}
	t.Logf("the hidden states differ by at most %.3g", most)
	assert.Less(t, most, 1e-5)
}
