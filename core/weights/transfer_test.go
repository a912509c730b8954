package weights

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

// jobsOf returns tensors of several types, with and without transformations, and their expected
// results.
func jobsOf(t *testing.T) (jobs []*job, want [][]byte) {
	t.Helper()
	for _, of := range []struct {
		source *Tensor
		list   []Transformation
	}{
		{tensorOf(t, dtype.F32, 3, 1<<19), nil},
		{tensorOf(t, dtype.BF16, 300, 500), []Transformation{{Kind: Cast, Type: dtype.F32}}},
		{tensorOf(t, dtype.I8, 500, 300), []Transformation{{Kind: Transpose, Dim1: 1}}},
		{tensorOf(t, dtype.F16, 0, 8), nil},
		{tensorOf(t, dtype.U4, 2, 7), nil},
	} {
		p, err := planOf(of.source, of.list)
		require.NoError(t, err)
		jobs = append(jobs, &job{plan: p})
		want = append(want, wholeOf(t, p))
	}
	return jobs, want
}

func TestLoadsIntoHostMemory(t *testing.T) {
	for threads := range 4 {
		jobs, want := jobsOf(t)
		for i := range jobs {
			jobs[i].host = make([]byte, len(want[i]))
		}
		last, calls := uint64(0), 0
		require.NoError(t, (&transfer{jobs: jobs, threads: threads, tell: func(done, all uint64) {
			assert.GreaterOrEqual(t, done, last)
			last, calls = done, calls+1
			assert.LessOrEqual(t, done, all)
		}}).run(context.Background()))
		total := 0
		for i := range jobs {
			assert.True(t, bytes.Equal(want[i], jobs[i].host), "tensor %d", i)
			total += len(want[i])
		}
		assert.Equal(t, uint64(total), last)
		assert.Greater(t, calls, 3)
	}
}

// failing is a source whose reads fail once.
type failing struct {
	io.ReaderAt
	left *atomic.Int64
}

func (f failing) ReadAt(out []byte, at int64) (int, error) {
	if f.left.Add(-1) == 0 {
		return 0, errors.New("the disk is broken")
	}
	return f.ReaderAt.ReadAt(out, at)
}

func TestAnyReadFails(t *testing.T) {
	for n := int64(1); n < 6; n++ {
		jobs, want := jobsOf(t)
		left := &atomic.Int64{}
		left.Store(n)
		for i := range jobs {
			jobs[i].host = make([]byte, len(want[i]))
			of := jobs[i].plan.tensor
			of.file = &file{name: "memory", size: of.file.size, reader: failing{of.file.reader, left}}
		}
		err := (&transfer{jobs: jobs, threads: 2}).run(context.Background())
		require.ErrorIs(t, err, device.CodeIO)
		assert.ErrorContains(t, err, "the disk is broken")
	}
}

func TestCancelledLoads(t *testing.T) {
	jobs, want := jobsOf(t)
	for i := range jobs {
		jobs[i].host = make([]byte, len(want[i]))
	}
	ctx, cancel := context.WithCancel(context.Background())
	err := (&transfer{jobs: jobs, threads: 2, tell: func(_, _ uint64) { cancel() }}).run(ctx)
	require.ErrorIs(t, err, device.CodeCancelled)
	ctx, cancel = context.WithTimeout(context.Background(), -time.Second)
	defer cancel()
	require.ErrorIs(t, (&transfer{jobs: jobs}).run(ctx), device.CodeCancelled)
}
