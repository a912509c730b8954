package weights

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/weights/diskfile"
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
		{tensorOf(t, dtype.F32, 3, 1<<19), []Transformation{{Kind: Cast, Type: dtype.GGUFBase + 8}}},
		{tensorOf(t, dtype.F16, 96, 64), []Transformation{{Kind: Transpose, Dim1: 1}, {Kind: Cast, Type: dtype.GGUFBase + 2}}},
	} {
		p, err := planOf(of.source, of.list)
		require.NoError(t, err)
		jobs = append(jobs, &job{plan: p})
		want = append(want, wholeOf(t, p))
	}
	return jobs, want
}

func TestLoadsIntoHostMemory(t *testing.T) {
	jobs, want := jobsOf(t)
	for threads := range 4 {
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

// recorded is a source that records which parts of it are read.
type recorded struct {
	io.ReaderAt
	mu    sync.Mutex
	parts [][2]int64
}

func (r *recorded) ReadAt(out []byte, at int64) (int, error) {
	r.mu.Lock()
	r.parts = append(r.parts, [2]int64{at, at + int64(len(out))})
	r.mu.Unlock()
	return r.ReaderAt.ReadAt(out, at)
}

// Each byte is read once. The reads of elements that are adjacent in the file meet at multiples of
// chunkBytes.
func TestReadsMeetAtMultiples(t *testing.T) {
	q40, ok := dtype.GGUF(2)
	require.True(t, ok)
	for _, of := range []struct {
		kind  dtype.DType
		shape []uint64
		list  []Transformation
		every int64
		reads int
	}{
		{dtype.F32, []uint64{3, 1 << 20}, nil, chunkBytes, 3},
		{dtype.F32, []uint64{3, 1 << 20}, []Transformation{{Kind: Slice, Start: new(uint64(1))}}, chunkBytes, 2},
		{dtype.F32, []uint64{3, 1 << 20}, []Transformation{{Kind: Cast, Type: dtype.BF16}}, chunkBytes, 3},
		{dtype.BF16, []uint64{3 << 20}, []Transformation{{Kind: Cast, Type: dtype.F32}}, chunkBytes / 2, 3},
		{dtype.F32, []uint64{2 << 20}, []Transformation{{Kind: Cast, Type: dtype.F4E2M1}}, chunkBytes, 2},
		{q40, []uint64{1 << 24}, nil, 0, 3},
		{dtype.U8, []uint64{chunkBytes + 1}, nil, chunkBytes, 1},
		{dtype.U8, []uint64{chunkBytes + 2*slackBytes}, nil, chunkBytes, 2},
	} {
		if testing.Short() && len(of.list) > 0 && of.list[0].Kind == Cast {
			continue // the race detector takes seconds for the conversion of each element
		}
		tensor := tensorOf(t, of.kind, of.shape...)
		p, err := planOf(tensor, of.list)
		require.NoError(t, err)
		want := wholeOf(t, p)
		r := &recorded{ReaderAt: tensor.file.reader}
		tensor.file.reader = r
		j := &job{plan: p, host: make([]byte, len(want))}
		require.NoError(t, (&transfer{jobs: []*job{j}, threads: 2}).run(context.Background()))
		require.True(t, bytes.Equal(want, j.host))
		slices.SortFunc(r.parts, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
		require.Len(t, r.parts, of.reads, "%s: %v", of.kind, r.parts)
		for i, part := range r.parts[1:] {
			require.Equal(t, r.parts[i][1], part[0])
			if of.every > 0 {
				require.Zero(t, part[0]%of.every, "%s: %v", of.kind, r.parts)
			} else {
				require.Less(t, (part[0]+chunkBytes/2)%chunkBytes-chunkBytes/2, int64(64), "less than a block from a multiple for each chunk")
			}
		}
	}
}

func TestStagingBuffers(t *testing.T) {
	const block = diskfile.Block
	for _, of := range []struct {
		bytes, chunk uint64
		threads      int
		count, each  uint64
	}{
		{64 << 20, chunkBytes, 8, 12, chunkBytes + block},
		{64 << 20, chunkBytes, 2, 6, chunkBytes + block},
		{64 << 20, scatteredBytes, 8, 4, scatteredBytes},
		{256 << 20, scatteredBytes, 8, 12, scatteredBytes + block},
		{1 << 20, chunkBytes, 8, 4, 256 << 10},
		{1, chunkBytes, 8, 4, minBuffer},
		{64 << 20, 100, 8, 12, minBuffer},
	} {
		count, each := buffersOf(of.bytes, of.chunk, of.threads)
		assert.Equal(t, []uint64{of.count, of.each}, []uint64{count, each}, "%+v", of)
		assert.LessOrEqual(t, count*each, max(of.bytes, copiesInFlight*minBuffer))
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
	jobs, want := jobsOf(t)
	left := &atomic.Int64{}
	for i := range jobs {
		jobs[i].host = make([]byte, len(want[i]))
		of := jobs[i].plan.tensor
		of.file = &file{name: "memory", size: of.file.size, reader: failing{of.file.reader, left}}
	}
	for n := int64(1); n < 6; n++ {
		left.Store(n)
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
