package conformance

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
)

// batched adds correct batches to a strategy, block by block, except where a fault
// changes a call.
type batched struct {
	rangealloc.Strategy
	fault batchFault
	// high is the high water without the blocks of failed batches.
	high uint64
}

type batchFault struct {
	name  string
	alloc func(b *batched, r Request, to []rangealloc.Range) error
	free  func(b *batched, offsets []uint64) error
}

// ExactSizes is a property of the best_fit strategy inside.
func (b *batched) ExactSizes() {}

func (b *batched) Alloc(r Request) (rangealloc.Range, error) {
	got, err := b.Strategy.Alloc(r)
	b.high = max(b.high, got.Offset+got.Size)
	return got, err
}

func (b *batched) Stats() rangealloc.Stats {
	s := b.Strategy.Stats()
	s.HighWaterBytes = b.high
	return s
}

func (b *batched) AllocBatch(r Request, to []rangealloc.Range) error {
	if b.fault.alloc != nil {
		return b.fault.alloc(b, r, to)
	}
	return b.allocBatch(r, to)
}

func (b *batched) FreeBatch(offsets []uint64) error {
	if b.fault.free != nil {
		return b.fault.free(b, offsets)
	}
	return b.freeBatch(offsets)
}

func (b *batched) allocBatch(r Request, to []rangealloc.Range) error {
	high := b.high
	for i := range to {
		got, err := b.Alloc(r)
		if err != nil {
			for _, done := range to[:i] {
				_, _ = b.Free(done.Offset)
			}
			b.high = high
			return err
		}
		to[i] = got
	}
	return nil
}

func (b *batched) freeBatch(offsets []uint64) error {
	for i, offset := range offsets {
		if _, ok := b.Lookup(offset); !ok {
			_, err := b.Free(offset)
			return err
		}
		if slices.Contains(offsets[:i], offset) {
			return twice(device.CodeDoubleFree, offset)
		}
	}
	for _, offset := range offsets {
		if _, err := b.Free(offset); err != nil {
			return err
		}
	}
	return nil
}

func twice(code device.Code, offset uint64) error {
	return device.Errorf(code, "rangealloc.free", "offset is %d, which is in the list twice", offset)
}

var batchFaults = []batchFault{
	{name: "a refused batch keeps what it had",
		alloc: func(b *batched, r Request, to []rangealloc.Range) error {
			for i := range to {
				got, err := b.Alloc(r)
				if err != nil {
					return err
				}
				to[i] = got
			}
			return nil
		}},
	{name: "a refused batch moves the high water",
		alloc: func(b *batched, r Request, to []rangealloc.Range) error {
			err := b.allocBatch(r, to)
			b.high = b.Strategy.Stats().HighWaterBytes
			return err
		}},
	{name: "the last block of a batch is its first",
		alloc: func(b *batched, r Request, to []rangealloc.Range) error {
			err := b.allocBatch(r, to)
			if err == nil && len(to) > 1 {
				to[len(to)-1] = to[0]
			}
			return err
		}},
	{name: "a batch is one block short",
		alloc: func(b *batched, r Request, to []rangealloc.Range) error {
			if len(to) < 2 {
				return b.allocBatch(r, to)
			}
			return b.allocBatch(r, to[:len(to)-1])
		}},
	{name: "a batch is not aligned",
		alloc: func(b *batched, r Request, to []rangealloc.Range) error {
			if r.Align&(r.Align-1) == 0 {
				r.Align = min(r.Align, 1)
			}
			return b.allocBatch(r, to)
		}},
	{name: "large batches are refused",
		alloc: func(b *batched, r Request, to []rangealloc.Range) error {
			if len(to) > 5 && requestCode(r) == device.CodeOK {
				return rangealloc.ErrNoRoom
			}
			return b.allocBatch(r, to)
		}},
	{name: "a batch forgives a bad request",
		alloc: func(b *batched, r Request, to []rangealloc.Range) error {
			r.Size = max(r.Size, 1)
			return b.allocBatch(r, to)
		}},
	{name: "another error than ErrNoRoom",
		alloc: func(b *batched, r Request, to []rangealloc.Range) error {
			err := b.allocBatch(r, to)
			if err == rangealloc.ErrNoRoom {
				err = device.Errorf(device.CodeOutOfMemory, "rangealloc.alloc", "full")
			}
			return err
		}},
	{name: "a batch is freed up to the first bad offset",
		free: func(b *batched, offsets []uint64) error {
			for _, offset := range offsets {
				if _, err := b.Free(offset); err != nil {
					return err
				}
			}
			return nil
		}},
	{name: "an offset may be in the list twice",
		free: func(b *batched, offsets []uint64) error {
			offsets = slices.Clone(offsets)
			slices.Sort(offsets)
			return b.freeBatch(slices.Compact(offsets))
		}},
	{name: "an offset that is in the list twice is a bad address",
		free: func(b *batched, offsets []uint64) error {
			for i, offset := range offsets {
				if _, ok := b.Lookup(offset); ok && slices.Contains(offsets[:i], offset) {
					return twice(device.CodeInvalidAddress, offset)
				}
			}
			return b.freeBatch(offsets)
		}},
	{name: "the list comes back sorted",
		free: func(b *batched, offsets []uint64) error {
			slices.Sort(offsets)
			return b.freeBatch(offsets)
		}},
	{name: "the error does not name the offset",
		free: func(b *batched, offsets []uint64) error {
			err := b.freeBatch(offsets)
			if err != nil {
				err = device.Errorf(device.CodeOf(err), "rangealloc.free", "an offset is bad")
			}
			return err
		}},
	{name: "the last block of a list stays live",
		free: func(b *batched, offsets []uint64) error {
			if len(offsets) > 1 {
				if _, ok := b.Lookup(offsets[len(offsets)-1]); ok {
					offsets = offsets[:len(offsets)-1]
				}
			}
			return b.freeBatch(offsets)
		}},
}

func makeBatched(f batchFault) Make {
	return func(c rangealloc.Config) (rangealloc.Strategy, error) {
		s, err := bestFit(c)
		if err != nil {
			return nil, err
		}
		return &batched{Strategy: s, fault: f}, nil
	}
}

func TestSuiteDetectsBatchFaults(t *testing.T) {
	for _, f := range batchFaults {
		t.Run(f.name, func(t *testing.T) {
			require.Error(t, find(makeBatched(f), promises))
		})
	}
}

// Correct batches pass the whole suite.
func TestSuiteAcceptsCorrectBatches(t *testing.T) {
	require.NoError(t, find(makeBatched(batchFault{}), promises))
	Run(t, makeBatched(batchFault{}), promises)
}
