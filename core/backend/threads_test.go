package backend_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
)

// Threads share an operation, with shapes of their own, on idle and busy streams. Each gets its results.
func TestThreadsShareAnOperation(t *testing.T) {
	r := newPagedRig(t)
	b := r.start(func(c *backend.Config) { c.Options.Plans = 2 })
	matmul := prepare(t, b, "MatMul", "")
	var threads sync.WaitGroup
	for n := range int64(4) {
		stream, err := r.device.Device().NewStream()
		require.NoError(t, err)
		values := make([]float32, (n+1)*(n+1))
		for i := range values {
			values[i] = float32(i)
		}
		x := r.put(b, values, n+1, n+1)
		threads.Go(func() {
			for round := range 50 {
				if round%3 == 0 {
					assert.NoError(t, stream.HostFunction(func() {}))
				}
				outputs := tensors{nil}
				if !assert.NoError(t, matmul.Run(tensors{x, x}, outputs, stream)) {
					return
				}
				again := tensors{nil}
				assert.NoError(t, matmul.Run(tensors{outputs[0], x}, again, stream))
				assert.NoError(t, outputs[0].Close())
				assert.NoError(t, stream.Synchronize(device.Forever))
				got := get(again[0])
				assert.InDelta(t, cube(values, int(n+1)), got[len(got)-1], 1)
				assert.NoError(t, again[0].Close())
			}
			assert.NoError(t, x.Close())
			assert.NoError(t, stream.Close())
		})
	}
	threads.Wait()
	require.NoError(t, matmul.Close())
	require.NoError(t, b.Close(false))
}

// cube returns the last element of x x x.
func cube(x []float32, n int) float64 {
	sum := 0.0
	for i := range n {
		for j := range n {
			sum += float64(x[(n-1)*n+i]) * float64(x[i*n+j]) * float64(x[j*n+n-1])
		}
	}
	return sum
}

// A forced close during runs ends them or lets them complete. Nothing is left.
func TestAForcedCloseDuringRuns(t *testing.T) {
	for range 10 {
		r := newPagedRig(t)
		b := r.start(nil)
		add := prepare(t, b, "Add", "")
		var threads sync.WaitGroup
		for range 3 {
			x := r.put(b, []float32{1, 2}, 2)
			threads.Go(func() {
				for {
					outputs := tensors{nil}
					err := add.Run(tensors{x, x}, outputs, nil)
					if err != nil {
						assert.Equal(t, device.CodeInvalidHandle, device.CodeOf(err), "%v", err)
						assert.NoError(t, x.Close())
						return
					}
					assert.NoError(t, outputs[0].Close())
				}
			})
		}
		require.Eventually(t, func() bool { return b.Status().OperationsCompleted > 20 }, 10*time.Second, time.Millisecond)
		require.NoError(t, b.Close(true))
		threads.Wait()
		require.NoError(t, add.Close())
	}
}

// A close that finds the backend in use disturbs no call.
func TestAVainCloseDisturbsNoRun(t *testing.T) {
	r := newPagedRig(t)
	b := r.start(nil)
	add := prepare(t, b, "Add", "")
	var threads sync.WaitGroup
	for range 2 {
		x := r.put(b, []float32{1, 2}, 2)
		threads.Go(func() {
			for range 2000 {
				outputs := tensors{nil}
				if !assert.NoError(t, add.Run(tensors{x, x}, outputs, nil)) {
					return
				}
				assert.NoError(t, outputs[0].Close())
			}
			assert.NoError(t, x.Close())
		})
	}
	for range 2000 {
		requireError(t, device.CodeBusy, b.Close(false))
		require.False(t, b.HasEnded())
	}
	threads.Wait()
	require.NoError(t, add.Close())
	require.NoError(t, b.Close(false))
	require.True(t, b.HasEnded())
}
