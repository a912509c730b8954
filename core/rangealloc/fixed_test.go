package rangealloc_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/rangealloc/conformance"
)

// fixedBlocks creates "fixed" with blocks of blockBytes, or more in a large range, and
// perPage blocks in a page, rounded up to a power of two. The suite requests any size and
// alignment and knows one error; here the typed errors of "fixed" are checked and
// converted to that one.
func fixedBlocks(blockBytes, perPage uint64) conformance.Make {
	return func(c rangealloc.Config) (rangealloc.Strategy, error) {
		if granule := c.GranuleBytes; granule != 0 {
			c.BlockBytes = max(blockBytes, c.SizeBytes>>14) / granule * granule
			c.BlockBytes = min(max(c.BlockBytes, granule), c.SizeBytes)
			for c.PageBytes = granule; c.PageBytes < 1<<62 && c.PageBytes < c.BlockBytes*perPage; c.PageBytes *= 2 {
			}
		}
		s, err := rangealloc.New("fixed", c)
		if err != nil {
			return nil, err
		}
		return &fixedForSuite{Strategy: s, batcher: s.(rangealloc.Batcher), config: c}, nil
	}
}

type fixedForSuite struct {
	rangealloc.Strategy
	batcher rangealloc.Batcher
	config  rangealloc.Config
	judged  int
}

// SizeOrdered states what TestFixed requires of fixed itself.
func (f *fixedForSuite) SizeOrdered() {}

// beyond reports whether no block can serve a request. After a few such requests the
// strategy is not called any more, because its error is formatted, and the suite counts
// Go allocations.
func (f *fixedForSuite) beyond(r rangealloc.Request) bool {
	return r.Size != 0 && r.Align != 0 && r.Align&(r.Align-1) == 0 && f.judged > 50 &&
		(r.Size > f.config.BlockBytes || f.config.BlockBytes%r.Align != 0)
}

func (f *fixedForSuite) Alloc(r rangealloc.Request) (rangealloc.Range, error) {
	if f.beyond(r) {
		return rangealloc.Range{}, rangealloc.ErrNoRoom
	}
	got, err := f.Strategy.Alloc(r)
	return got, f.judge(r, err)
}

func (f *fixedForSuite) AllocBatch(r rangealloc.Request, to []rangealloc.Range) error {
	return f.judge(r, f.batcher.AllocBatch(r, to))
}

func (f *fixedForSuite) FreeBatch(offsets []uint64) error { return f.batcher.FreeBatch(offsets) }

func (f *fixedForSuite) judge(r rangealloc.Request, err error) error {
	if err == nil {
		return nil
	}
	f.judged++
	var typed *device.Error
	if r.Size == 0 || r.Align == 0 || r.Align&(r.Align-1) != 0 || !errors.As(err, &typed) {
		return err
	}
	tooLarge := r.Size > f.config.BlockBytes
	switch {
	case tooLarge != (typed.Code == device.CodeInvalidSize):
		return fmt.Errorf("size %d of blocks of %d gave %w", r.Size, f.config.BlockBytes, err)
	case typed.Code == device.CodeInvalidSize:
		return rangealloc.ErrNoRoom
	case typed.Code == device.CodeInvalidAlignment && f.config.BlockBytes%r.Align == 0 && f.config.PageBytes%r.Align == 0:
		return fmt.Errorf("alignment %d of blocks of %d gave %w", r.Align, f.config.BlockBytes, err)
	case typed.Code == device.CodeInvalidAlignment:
		return rangealloc.ErrNoRoom
	}
	return err
}

var fixedPromises = conformance.Options{ServesLargest: true}

func TestFixed(t *testing.T) {
	s, err := rangealloc.New("fixed", rangealloc.Config{SizeBytes: 4096, GranuleBytes: 256, BlockBytes: 256})
	require.NoError(t, err)
	defer s.Close()
	require.Implements(t, (*rangealloc.SizeOrdered)(nil), s)
	for _, shape := range []struct{ block, perPage uint64 }{{2048, 4}, {2048, 1}, {1984, 3}, {1728, 20}, {2048, 500}} {
		t.Run(fmt.Sprintf("blocks of %d, about %d a page", shape.block, shape.perPage), func(t *testing.T) {
			conformance.Run(t, fixedBlocks(shape.block, shape.perPage), fixedPromises)
		})
	}
}

func FuzzFixed(f *testing.F) {
	conformance.Fuzz(f, fixedBlocks(3, 5), fixedPromises)
}

func TestFixedRejectsInvalidConfigs(t *testing.T) {
	good := rangealloc.Config{SizeBytes: 1 << 20, GranuleBytes: 256, BlockBytes: 4096, PageBytes: 1 << 16}
	for names, change := range map[string]func(*rangealloc.Config){
		"block_bytes is 0":                     func(c *rangealloc.Config) { c.BlockBytes = 0 },
		"block_bytes is 100":                   func(c *rangealloc.Config) { c.BlockBytes = 100 },
		"size_bytes is 1048576, less than":     func(c *rangealloc.Config) { c.BlockBytes = 2 << 20 },
		"page_bytes is 3072":                   func(c *rangealloc.Config) { c.PageBytes = 3072 },
		"page_bytes is 128":                    func(c *rangealloc.Config) { c.PageBytes = 128 },
		"size_bytes is 100":                    func(c *rangealloc.Config) { c.SizeBytes = 100 },
		"granule_bytes is 3":                   func(c *rangealloc.Config) { c.GranuleBytes = 3 },
		"base_addr is 0x1":                     func(c *rangealloc.Config) { c.BaseAddr = 1 },
		"block_bytes is 18446744073709551615,": func(c *rangealloc.Config) { c.BlockBytes = 1<<64 - 1 },
	} {
		c := good
		change(&c)
		s, err := rangealloc.New("fixed", c)
		require.Nil(t, s)
		require.ErrorIs(t, err, device.CodeInvalidConfig)
		require.ErrorContains(t, err, names)
	}
	for _, name := range rangealloc.Names() {
		if name == "fixed" {
			continue
		}
		for _, c := range []rangealloc.Config{
			{SizeBytes: 1 << 20, GranuleBytes: 256, BlockBytes: 4096},
			{SizeBytes: 1 << 20, GranuleBytes: 256, PageBytes: 4096},
		} {
			s, err := rangealloc.New(name, c)
			require.Nil(t, s, name)
			require.ErrorIs(t, err, device.CodeInvalidConfig)
			require.ErrorContains(t, err, "_bytes is 4096")
		}
	}
}

func TestFixedErrorsStateTheReason(t *testing.T) {
	s, err := rangealloc.New("fixed", rangealloc.Config{SizeBytes: 1 << 20, GranuleBytes: 256, BlockBytes: 96 << 10, BaseAddr: 1 << 30})
	require.NoError(t, err)
	_, err = s.Alloc(rangealloc.Request{Size: 96<<10 + 1, Align: 1})
	require.ErrorIs(t, err, device.CodeInvalidSize)
	require.ErrorContains(t, err, "size is 98305, more than block_bytes 98304")
	_, err = s.Alloc(rangealloc.Request{Size: 1, Align: 64 << 10})
	require.ErrorIs(t, err, device.CodeInvalidAlignment)
	require.ErrorContains(t, err, "alignment is 65536, and blocks of 96 KiB are aligned to 32768")
	got, err := s.Alloc(rangealloc.Request{Size: 1, Align: 32 << 10})
	require.NoError(t, err)
	require.Equal(t, rangealloc.Range{Size: 96 << 10}, got)

	// Here the base is the reason, not the size of the blocks.
	s, err = rangealloc.New("fixed", rangealloc.Config{SizeBytes: 1 << 20, GranuleBytes: 256, BlockBytes: 4096, BaseAddr: 256})
	require.NoError(t, err)
	_, err = s.Alloc(rangealloc.Request{Size: 1, Align: 512})
	require.ErrorIs(t, err, rangealloc.ErrNoRoom)
}

// A range as large as an address space costs nothing until it is used.
func TestFixedTablesGrowWithUse(t *testing.T) {
	var s rangealloc.Strategy
	bytes := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var err error
			s, err = rangealloc.New("fixed", rangealloc.Config{SizeBytes: 64 << 40, GranuleBytes: 256, BlockBytes: 64 << 10})
			require.NoError(b, err)
			_, err = s.Alloc(rangealloc.Request{Size: 1, Align: 1})
			require.NoError(b, err)
		}
	}).AllocedBytesPerOp()
	require.Less(t, bytes, int64(16<<10))
	blocks := 0
	s.Walk(func(rangealloc.Block) bool { blocks++; return true })
	require.Equal(t, 33, blocks, "a page of blocks, and the rest as one")
}
