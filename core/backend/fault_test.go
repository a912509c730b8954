package backend_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/tensor"
)

// eachFailure runs a call again and again. In the first run its first call of a driver or engine fails, in
// the second run the second one, until none fails. It returns how many failures the call has reported.
func (r *rig) eachFailure(call func(n int) error) (failures int) {
	for n := 1; ; n++ {
		require.Less(r.t, n, 200)
		err := call(n)
		reached := r.dev.hasFailed()
		if err != nil {
			failures++
			require.True(r.t, reached, "call %d: %v", n, err)
			require.ErrorIs(r.t, err, device.CodeResourceExhausted, "call %d", n)
		}
		if !reached {
			require.NoError(r.t, err)
			return failures
		}
	}
}

// Each call of an opening fails once. Nothing is left.
func TestEachCallOfAnOpeningFails(t *testing.T) {
	for _, growth := range []backend.Growth{backend.Static, backend.Dynamic, backend.Incremental} {
		r := newRig(t)
		failures := r.eachFailure(func(n int) error {
			c := backend.DefaultConfig()
			c.Memory.Growth, c.Memory.PoolSizeBytes = growth, 1<<20
			r.dev.failAt(n)
			b, err := r.registry.Open(r.factory, r.device, c)
			if err != nil {
				require.Zero(t, r.open.Load())
				require.Zero(t, r.device.Statistics().Reserved.Current)
				return err
			}
			if err := b.Close(false); err != nil {
				require.NoError(t, b.Close(false), "a second close succeeds")
				return err
			}
			return nil
		})
		want := 1 // the engine
		if growth != backend.Dynamic {
			want += 2 // the memory, taken and returned
		}
		require.Equal(t, want, failures, growth)
	}
}

// Each call of a driver and an engine fails once, in every call of a program. Nothing is left, and the
// counters are as before.
func TestEachCallOfAProgramFails(t *testing.T) {
	r := newRig(t)
	r.made.isCheap = true
	// Allocations call the driver: each of the large tensors has a segment.
	b := r.start(func(c *backend.Config) { c.Memory.EnablePooling, c.OptimizationLevel = false, 0 })
	matmul := prepare(t, b, "MatMul", "")
	x, y := r.put(b, []float32{1, 2, 3, 4}, 2, 2), r.put(b, make([]float32, 1_200_000), 2, 600_000)
	slice := prepare(t, b, "Slice", "")
	start, end := r.list(b, 0), r.list(b, 1)
	counts := func() [4]uint64 {
		counters := b.Manager().Statistics()
		return [4]uint64{counters.LiveBlocks.Current, counters.Requested.Current, counters.Allocated.Current, uint64(b.Status().OperationsCompleted)}
	}
	// made calls and closes what was made.
	made := func(call func() (*tensor.Tensor, error)) func(int) error {
		return func(n int) error {
			before := counts()
			r.dev.failAt(n)
			result, err := call()
			if reached := r.dev.hasFailed(); reached {
				r.dev.failAt(1)
				_ = r.dev.call() // hasFailed states it again
			}
			if err != nil {
				require.Nil(t, result)
				require.Equal(t, before, counts(), "call %d", n)
				return err
			}
			closeTensors(t, result)
			return nil
		}
	}
	runs := func(o *backend.Op, inputs ...*tensor.Tensor) func() (*tensor.Tensor, error) {
		return func() (*tensor.Tensor, error) {
			outputs := tensors{nil}
			err := o.Run(inputs, outputs, r.stream)
			return outputs[0], err
		}
	}
	require.GreaterOrEqual(t, r.eachFailure(made(runs(matmul, x, y))), 4, "plan, allocation, idle, run")
	require.GreaterOrEqual(t, r.eachFailure(made(runs(slice, y, start, end))), 6, "each of the driver calls was made to fail: two reads, plan, allocation, idle, run")
	require.GreaterOrEqual(t, r.eachFailure(made(func() (*tensor.Tensor, error) {
		return matmul.Pack(1, y, backend.Packing{Stream: r.stream})
	})), 4, "pack, allocation, idle, write")
	require.GreaterOrEqual(t, r.eachFailure(func(n int) error {
		open := r.hold(r.stream)
		defer func() { require.NoError(t, r.stream.Synchronize(device.Forever)) }()
		defer open()
		return made(runs(matmul, x, y))(n)
	}), 3, "plan, idle, queue")
	require.GreaterOrEqual(t, r.eachFailure(func(n int) error {
		open := r.hold(r.stream)
		defer func() { require.NoError(t, r.stream.Synchronize(device.Forever)) }()
		defer open()
		return made(func() (*tensor.Tensor, error) { return matmul.Pack(1, y, backend.Packing{Stream: r.stream}) })(n)
	}), 3, "pack, idle, queue")

	// A sequence.
	require.GreaterOrEqual(t, r.eachFailure(func(n int) error {
		before := counts()
		sequence, err := b.NewSequence()
		require.NoError(t, err)
		outputs := tensors{nil}
		r.dev.failAt(n)
		failure := sequence.Add(matmul, tensors{x, y}, outputs)
		if failure != nil {
			require.Nil(t, outputs[0])
			require.Zero(t, sequence.Length())
		} else if failure = sequence.Run(r.stream); failure == nil {
			failure = sequence.Run(r.stream)
		}
		if reached := r.dev.hasFailed(); reached {
			r.dev.failAt(1)
			_ = r.dev.call()
		}
		require.NoError(t, sequence.Close())
		if outputs[0] != nil {
			closeTensors(t, outputs[0])
		}
		after := counts()
		after[3] = before[3] // some steps were completed
		require.Equal(t, before, after, "call %d", n)
		return failure
	}), 8)
	require.Equal(t, []float32{1, 2, 3, 4}, get(x))
	closeTensors(t, x, y, start, end)
	require.NoError(t, matmul.Close())
	require.NoError(t, slice.Close())
	require.NoError(t, b.Close(false))
}
