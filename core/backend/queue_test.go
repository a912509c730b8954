package backend_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// If work is queued on the stream, a run is queued behind it, and keeps its tensors although they are
// closed.
func TestRunsAreOrderedByStream(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	add := prepare(t, b, "Add", "")
	x, y, zero := r.put(b, []float32{1, 2}, 2), r.put(b, []float32{10, 20}, 2), r.put(b, []float32{0, 0}, 2)
	open := r.hold(r.stream)
	first := tensors{nil}
	require.NoError(t, add.Run(tensors{x, y}, first, r.stream))
	second := tensors{nil}
	require.NoError(t, add.Run(tensors{first[0], y}, second, r.stream))
	require.Equal(t, 2, r.dev.queued)
	require.Zero(t, r.runs.Load())
	// Another stream is idle.
	third := tensors{nil}
	require.NoError(t, add.Run(tensors{zero, y}, third, nil))
	require.Equal(t, []float32{10, 20}, get(third[0]))
	closeTensors(t, x, y, first[0])
	requireError(t, device.CodeBusy, b.Close(false), "2 uses")
	// The memory of the closed tensors has no second owner.
	var others tensors
	for range 4 {
		others = append(others, r.put(b, []float32{-1, -1}, 2))
	}
	open()
	require.NoError(t, r.stream.Synchronize(device.Forever))
	require.Equal(t, []float32{21, 42}, get(second[0]))
	require.EqualValues(t, 3, b.Status().OperationsCompleted)
	require.NoError(t, add.Run(tensors{second[0], zero}, second, r.stream))
	require.Equal(t, 2, r.dev.queued, "the stream is idle again")
	closeTensors(t, others...)
	closeTensors(t, zero, second[0], third[0])
	require.Zero(t, b.Pool().Statistics().LiveBlocks.Current)
	require.NoError(t, add.Close())
	require.NoError(t, b.Close(false))
}

// A stream that also receives work of others is never known to be idle.
func TestRunsOnASharedStreamAreQueued(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	add, expand := prepare(t, b, "Add", ""), prepare(t, b, "Expand", "")
	x, shape := r.put(b, []float32{1, 2}, 2), r.list(b, 3, 2)
	shared := &brittleStream{Stream: r.stream.(*brittleStream).Stream, of: r.dev, isShared: true}
	first, second := tensors{nil}, tensors{nil}
	require.NoError(t, add.Run(tensors{x, x}, first, shared))
	require.NoError(t, expand.Run(tensors{x, shape}, second, shared))
	require.NoError(t, shared.Synchronize(device.Forever))
	require.Equal(t, 2, r.dev.queued)
	require.Equal(t, []float32{2, 4}, get(first[0]))
	require.Equal(t, []float32{1, 2, 1, 2, 1, 2}, get(second[0]))
	closeTensors(t, x, shape, first[0], second[0])
	require.NoError(t, add.Close())
	require.NoError(t, expand.Close())
	require.NoError(t, b.Close(false))
}

// A failure of queued work is an error of the stream, and the last error of the backend.
func TestQueuedFailuresAreErrorsOfTheStream(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	gather := prepare(t, b, "Gather", "")
	x, index := r.put(b, []float32{1, 2}, 2), r.list(b, 5)
	open := r.hold(r.stream)
	outputs := tensors{nil}
	require.NoError(t, gather.Run(tensors{x, index}, outputs, r.stream))
	require.Nil(t, b.Status().LastError)
	open()
	err := r.stream.Synchronize(device.Forever)
	requireError(t, device.CodeInvalidArgument, err, "Gather", "5")
	require.Equal(t, err.Error(), *b.Status().LastError)
	require.Zero(t, b.Status().OperationsCompleted)
	closeTensors(t, x, index, outputs[0])
	require.NoError(t, gather.Close())
	require.NoError(t, b.Close(false))
}

// A forced close waits for queued runs.
func TestAForcedCloseWaitsForQueuedRuns(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	add := prepare(t, b, "Add", "")
	sequence, err := b.NewSequence()
	require.NoError(t, err)
	x := r.put(b, []float32{1, 2}, 2)
	outputs := tensors{nil}
	require.NoError(t, sequence.Add(add, tensors{x, x}, outputs))
	open := r.hold(r.stream)
	require.NoError(t, add.Run(tensors{x, x}, outputs, r.stream))
	require.NoError(t, sequence.Run(r.stream))
	closed := make(chan error)
	go func() { closed <- b.Close(true) }()
	select {
	case <-closed:
		t.Fatal("the close has not waited")
	case <-time.After(20 * time.Millisecond):
	}
	require.Zero(t, r.runs.Load())
	open()
	require.NoError(t, <-closed)
	require.EqualValues(t, 2, r.runs.Load())
	require.NoError(t, r.stream.Synchronize(device.Forever))
	require.True(t, b.HasEnded())
	require.True(t, add.HasEnded())
	require.True(t, sequence.HasEnded())
	for name, call := range map[string]func() error{
		"run":      func() error { return add.Run(tensors{x, x}, tensors{nil}, r.stream) },
		"prepare":  func() error { _, err := b.Prepare("Add", nil, 0); return err },
		"sequence": func() error { _, err := b.NewSequence(); return err },
		"replay":   func() error { return sequence.Run(r.stream) },
		"close":    func() error { return b.Close(true) },
		"use":      func() error { _, err := x.Use(); return err },
		"sync":     func() error { return b.Synchronize(r.device.ID(), 0) },
	} {
		requireError(t, device.CodeInvalidHandle, call(), "closed")
		_ = name
	}
	status := b.Status()
	require.False(t, status.Initialized)
	require.Empty(t, status.MemoryUsage)
	require.Empty(t, status.ActiveDevices)
	closeTensors(t, x, outputs[0])
	require.NoError(t, sequence.Close())
	require.NoError(t, add.Close())
}

// A run whose shapes it has seen allocates nothing, on the Go heap and in the pool.
func TestWarmRunsAllocateNothing(t *testing.T) {
	r := newRig(t)
	r.made.isCheap = true
	b := r.start(nil)
	matmul, slice := prepare(t, b, "MatMul", ""), prepare(t, b, "Slice", "")
	x, y, z := r.put(b, make([]float32, 6), 2, 3), r.put(b, make([]float32, 6), 3, 2), r.put(b, make([]float32, 4), 2, 2)
	start, end, part := r.list(b, 0), r.list(b, 1), r.put(b, make([]float32, 3), 1, 3)
	sequence, err := b.NewSequence()
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, sequence.Add(matmul, tensors{x, y}, tensors{z}))
	}
	for name, run := range map[string]func() error{
		"with a workspace": func() error { return matmul.Run(tensors{x, y}, tensors{z}, r.stream) },
		"with a shape":     func() error { return slice.Run(tensors{x, start, end}, tensors{part}, r.stream) },
		"sequence":         func() error { return sequence.Run(r.stream) },
	} {
		require.NoError(t, run())
		before, runs := b.Pool().Statistics(), r.runs.Load()
		require.Zero(t, testing.AllocsPerRun(200, func() {
			if err := run(); err != nil {
				panic(err)
			}
		}), name)
		require.Equal(t, before, b.Pool().Statistics(), name)
		require.Greater(t, r.runs.Load(), runs+199)
	}
	require.NoError(t, sequence.Close())
	require.NoError(t, matmul.Close())
	require.NoError(t, slice.Close())
	closeTensors(t, x, y, z, start, end, part)
	require.NoError(t, b.Close(false))
}

func BenchmarkRun(bench *testing.B) {
	r := newRig(bench)
	r.made.isCheap = true
	b := r.start(nil)
	add := prepare(bench, b, "Add", "")
	x, y, z := r.put(b, make([]float32, 16), 16), r.put(b, make([]float32, 16), 16), r.put(b, make([]float32, 16), 16)
	inputs, outputs := tensors{x, y}, tensors{z}
	bench.Run("op", func(bench *testing.B) {
		for range bench.N {
			if err := add.Run(inputs, outputs, r.stream); err != nil {
				bench.Fatal(err)
			}
		}
	})
	const steps = 100
	sequence, err := b.NewSequence()
	require.NoError(bench, err)
	for range steps {
		require.NoError(bench, sequence.Add(add, inputs, outputs))
	}
	bench.Run("step of a sequence", func(bench *testing.B) {
		for range (bench.N + steps - 1) / steps {
			if err := sequence.Run(r.stream); err != nil {
				bench.Fatal(err)
			}
		}
	})
	require.NoError(bench, sequence.Close())
	require.NoError(bench, add.Close())
	closeTensors(bench, x, y, z)
	require.NoError(bench, b.Close(false))
}

// Synchronize waits for the queued work of the device.
func TestSynchronizeWaitsForQueuedRuns(t *testing.T) {
	r := newRig(t)
	b := r.start(nil)
	add := prepare(t, b, "Add", "")
	x := r.put(b, []float32{1, 2}, 2)
	outputs := tensors{nil}
	open := r.hold(r.stream)
	require.NoError(t, add.Run(tensors{x, x}, outputs, r.stream))
	requireError(t, device.CodeTimeout, b.Synchronize(r.device.ID(), time.Millisecond))
	require.Zero(t, r.runs.Load())
	open()
	require.NoError(t, b.Synchronize(r.device.ID(), device.Forever))
	require.Equal(t, []float32{2, 4}, get(outputs[0]))
	closeTensors(t, x, outputs[0])
	require.NoError(t, add.Close())
	require.NoError(t, b.Close(false))
}
