package model_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/model"
	"ferrum_mem/core/tensor"
)

// capturing is a stream that takes part in a capture: it records work instead of running it, and cannot be
// waited for.
type capturing struct{ device.Stream }

func (capturing) HostWork(func() error) error { return nil }

func (capturing) Synchronize(time.Duration) error {
	return device.Errorf(device.CodeInvalidState, "stream.synchronize", "the stream captures")
}

func (capturing) Idle() (bool, error) {
	return false, device.Errorf(device.CodeInvalidState, "stream.idle", "the stream captures")
}

func TestARunOnACapturingStreamFailsAndMakesNothing(t *testing.T) {
	r := newRig(t)
	x := r.start(r.settings(embedding(t)))
	ids := r.ids(2, 3, 1, 2, 3, 4, 5, 6)
	inputs := map[string]*tensor.Tensor{"input_ids": ids}
	run := func(o model.RunOptions) (*tensor.Tensor, error) {
		outputs := map[string]*tensor.Tensor{"out": nil}
		err := x.Run(context.Background(), inputs, outputs, o)
		return outputs["out"], err
	}
	want, err := run(model.RunOptions{})
	require.NoError(t, err)
	before := r.books()
	for range 2 {
		made, err := run(model.RunOptions{Stream: capturing{r.stream()}})
		requireError(t, device.CodeInvalidState, err, "captures")
		require.Nil(t, made)
		require.Equal(t, before, r.books())
	}
	got, err := run(model.RunOptions{})
	require.NoError(t, err)
	require.Equal(t, r.bytesOf(want), r.bytesOf(got))
	r.closeAll(map[string]*tensor.Tensor{"ids": ids, "want": want, "got": got})
}
