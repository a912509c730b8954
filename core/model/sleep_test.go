package model_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir/irtest"
	"ferrum_mem/core/model"
	"ferrum_mem/core/operator/reference"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/vmm"
)

func TestASleepingModelHoldsNothingAndWakesWithTheSameBits(t *testing.T) {
	r := newRig(t)
	m := embedding(t)
	x := r.start(r.settings(m))
	ctx := context.Background()
	ids := r.ids(2, 4, 1, 2, 3, 4, 5, 6, 7, 8)
	inputs := map[string]*tensor.Tensor{"input_ids": ids}
	given := map[string]*reference.Tensor{"input_ids": reference.New(ids.Type(), []uint64{2, 4})}
	copy(given["input_ids"].Ints, []int64{1, 2, 3, 4, 5, 6, 7, 8})
	before := r.run(x, given)
	held := x.Info().HeldBytes
	require.NotZero(t, held)
	plans := x.Info().Counters.Plans
	for _, backing := range []vmm.SleepBacking{vmm.SleepToHost, vmm.SleepToFile} {
		report, err := x.Sleep(ctx, model.SleepOptions{Backing: backing, Dir: map[bool]string{true: t.TempDir()}[backing == vmm.SleepToFile]})
		require.NoError(t, err)
		assert.Equal(t, held, report.Bytes)
		assert.Equal(t, report.Bytes, report.KeptBytes+report.DiscardedBytes)
		assert.True(t, x.IsAsleep())
		info := x.Info()
		assert.Equal(t, model.StateAsleep, info.State)
		assert.Zero(t, info.HeldBytes)
		assert.Zero(t, r.pool.Stats().HeldBytes, "the pages went back to the device")
		assert.Equal(t, report.KeptBytes, info.SavedBytes)
		_, err = x.Sleep(ctx, model.SleepOptions{})
		requireError(t, device.CodeInvalidState, err, "sleeps already")
		requireError(t, device.CodeBusy, x.Run(ctx, inputs, map[string]*tensor.Tensor{"out": nil}, model.RunOptions{NoWait: true}), "it sleeps")
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		requireError(t, device.CodeTimeout, x.Run(short, inputs, map[string]*tensor.Tensor{"out": nil}, model.RunOptions{}))
		cancel()
		_, err = x.Plan(ctx, map[string]uint64{"batch": 3, "sequence": 9})
		require.NoError(t, err, "a plan needs no memory")
		woken, err := x.Wake(ctx, vmm.WakeRequest{})
		require.NoError(t, err)
		assert.Equal(t, held, woken.Bytes)
		assert.Equal(t, before, r.run(x, given))
		assert.Equal(t, held, x.Info().HeldBytes)
		_, err = x.Wake(ctx, vmm.WakeRequest{})
		requireError(t, device.CodeInvalidState, err, "awake")
	}
	assert.Equal(t, plans, x.Info().Counters.Plans, "the plans stay")
	_, err := x.Sleep(ctx, model.SleepOptions{Backing: vmm.SleepDiscard})
	requireError(t, device.CodeInvalidArgument, err, "discarded")
	require.NoError(t, ids.Close())
}

func TestARunWaitsForTheWake(t *testing.T) {
	r := newRig(t)
	x := r.start(r.settings(chain(t)))
	ctx := context.Background()
	inputs, err := irtest.Inputs(chain(t), map[string]uint64{"batch": 1, "sequence": 2})
	require.NoError(t, err)
	want := r.run(x, inputs)
	_, err = x.Sleep(ctx, model.SleepOptions{})
	require.NoError(t, err)
	in, out := map[string]*tensor.Tensor{"x": r.put(inputs["x"])}, map[string]*tensor.Tensor{"third": nil}
	failed := make(chan error, 1)
	over := device.Go("run", func() { failed <- x.Run(ctx, in, out, model.RunOptions{}) })
	select {
	case <-over:
		require.Fail(t, "the run has ended while the model sleeps")
	case <-time.After(20 * time.Millisecond):
	}
	_, err = x.Wake(ctx, vmm.WakeRequest{})
	require.NoError(t, err)
	require.NoError(t, <-failed)
	assert.Equal(t, want["third"], r.bytesOf(out["third"]))
	// A close ends a run that waits.
	_, err = x.Sleep(ctx, model.SleepOptions{})
	require.NoError(t, err)
	device.Go("run", func() { failed <- x.Run(ctx, in, map[string]*tensor.Tensor{"third": nil}, model.RunOptions{}) })
	time.Sleep(10 * time.Millisecond)
	require.NoError(t, x.Close(true), "a sleeping model can be closed")
	requireError(t, device.CodeInvalidState, <-failed, "closed")
	r.closeAll(in)
	r.closeAll(out)
}

// TestConcurrentRunsAreOrdered runs several shapes on several threads, with sleeps in between.
func TestConcurrentRunsAreOrdered(t *testing.T) {
	r := newRig(t)
	m := randomModel(t, 11)
	s := r.settings(m)
	s.Shapes = 2
	x := r.start(s)
	ctx := context.Background()
	var want []map[string][]byte
	var inputs []map[string]*reference.Tensor
	for _, of := range lengths {
		given, err := irtest.Inputs(m, of)
		require.NoError(t, err)
		inputs, want = append(inputs, given), append(want, r.run(x, given))
	}
	var over []<-chan struct{}
	for thread := range 4 {
		over = append(over, device.Go("runs", func() {
			for i := range 20 {
				at := (thread + i) % len(lengths)
				if got := r.run(x, inputs[at]); !assert.Equal(t, want[at], got) {
					return
				}
			}
		}))
	}
	for range 5 {
		_, err := x.Sleep(ctx, model.SleepOptions{})
		require.NoError(t, err)
		_, err = x.Wake(ctx, vmm.WakeRequest{})
		require.NoError(t, err)
	}
	for _, one := range over {
		<-one
	}
	assert.Equal(t, uint64(4*20+len(lengths)), x.Info().Counters.Runs)
}

func TestTheBooksAreAsBeforeAfterFailedSleepsAndWakes(t *testing.T) {
	r := newRig(t)
	m := embedding(t)
	x := r.start(r.settings(m))
	ctx := context.Background()
	given := map[string]*reference.Tensor{"input_ids": reference.New(m.Layers[0].Outputs[0].DType, []uint64{1, 3})}
	want := r.run(x, given)
	for n := 1; ; n++ {
		r.dev.failAt(n)
		_, err := x.Sleep(ctx, model.SleepOptions{})
		if reached := r.dev.counted() >= n; !reached {
			require.NoError(t, err)
			break
		}
		if err == nil { // the failed call was a Trim, or could be repeated
			_, err = x.Wake(ctx, vmm.WakeRequest{})
			require.NoError(t, err)
		} else if x.IsAsleep() {
			_, err = x.Wake(ctx, vmm.WakeRequest{})
			require.NoError(t, err, "call %d", n)
		}
		require.Equal(t, want, r.run(x, given), "call %d", n)
	}
	require.True(t, x.IsAsleep())
	for n := 1; ; n++ {
		r.dev.failAt(n)
		_, err := x.Wake(ctx, vmm.WakeRequest{})
		if reached := r.dev.counted() >= n; !reached {
			require.NoError(t, err)
			break
		}
		if err != nil {
			require.True(t, x.IsAsleep())
			continue
		}
		_, err = x.Sleep(ctx, model.SleepOptions{})
		require.NoError(t, err)
	}
	require.Equal(t, want, r.run(x, given))
}

func TestAModelThatThePoolHasPutToSleep(t *testing.T) {
	r := newRig(t)
	m := chain(t)
	x := r.start(r.settings(m))
	ctx := context.Background()
	inputs, err := irtest.Inputs(m, lengths[0])
	require.NoError(t, err)
	want := r.run(x, inputs)
	_, err = r.pool.Sleep(ctx, "test", vmm.SleepRequest{})
	require.NoError(t, err)
	assert.True(t, x.IsAsleep())
	assert.Equal(t, model.StateAsleep, x.Info().State)
	in := map[string]*tensor.Tensor{"x": r.put(inputs["x"])}
	requireError(t, device.CodeBusy, x.Run(ctx, in, map[string]*tensor.Tensor{"third": nil}, model.RunOptions{}))
	larger, err := irtest.Inputs(m, map[string]uint64{"batch": 50, "sequence": 60})
	require.NoError(t, err)
	long := map[string]*tensor.Tensor{"x": r.put(larger["x"])}
	requireError(t, device.CodeBusy, x.Run(ctx, long, map[string]*tensor.Tensor{"third": nil}, model.RunOptions{}))
	_, err = x.Wake(ctx, vmm.WakeRequest{})
	require.NoError(t, err)
	require.Equal(t, want, r.run(x, inputs))
	r.closeAll(in)
	r.closeAll(long)
}

func TestACallThatMustNotWaitIsTold(t *testing.T) {
	r := newRig(t)
	m := chain(t)
	x := r.start(r.settings(m))
	ctx := context.Background()
	inputs, err := irtest.Inputs(m, lengths[0])
	require.NoError(t, err)
	want := r.run(x, inputs)
	in, out := map[string]*tensor.Tensor{"x": r.put(inputs["x"])}, map[string]*tensor.Tensor{"third": nil}
	gate, begun := make(chan struct{}), make(chan struct{})
	require.NoError(t, r.stream().HostFunction(func() { close(begun); <-gate }))
	<-begun
	failed := make(chan error, 1)
	over := device.Go("run", func() { failed <- x.Run(ctx, in, out, model.RunOptions{}) })
	other := map[string]*tensor.Tensor{"third": nil}
	require.Eventually(t, func() bool {
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		_, err := x.Plan(short, lengths[0])
		return err != nil && device.CodeOf(err) == device.CodeTimeout
	}, 5*time.Second, time.Millisecond, "the run has the model")
	requireError(t, device.CodeBusy, x.Run(ctx, in, other, model.RunOptions{NoWait: true}), "another call uses it")
	_, err = x.Sleep(ctx, model.SleepOptions{NoWait: true})
	requireError(t, device.CodeBusy, err)
	requireError(t, device.CodeBusy, x.Close(false))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	requireError(t, device.CodeCancelled, x.Run(cancelled, in, other, model.RunOptions{}))
	assert.Equal(t, model.StateAwake, x.Info().State, "info does not wait")
	close(gate)
	<-over
	require.NoError(t, <-failed)
	assert.Equal(t, want["third"], r.bytesOf(out["third"]))
	r.closeAll(in)
	r.closeAll(out)
}
