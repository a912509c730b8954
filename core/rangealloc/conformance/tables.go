package conformance

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
)

func (s suite) badConfigs(t *testing.T) {
	for _, test := range []struct {
		config rangealloc.Config
		names  string
	}{
		{rangealloc.Config{}, "granule_bytes is 0"},
		{rangealloc.Config{SizeBytes: 4096}, "granule_bytes is 0"},
		{rangealloc.Config{SizeBytes: 4096, GranuleBytes: 3}, "granule_bytes is 3"},
		{rangealloc.Config{SizeBytes: 4096, GranuleBytes: math.MaxUint64}, "granule_bytes is 18446744073709551615"},
		{rangealloc.Config{GranuleBytes: 256}, "size_bytes is 0"},
		{rangealloc.Config{SizeBytes: 255, GranuleBytes: 256}, "size_bytes is 255"},
		{rangealloc.Config{SizeBytes: math.MaxUint64, GranuleBytes: 256}, "size_bytes is 18446744073709551615"},
		{rangealloc.Config{SizeBytes: 256, GranuleBytes: 256, BaseAddr: 128}, "base_addr is 0x80"},
		{rangealloc.Config{SizeBytes: 512, GranuleBytes: 256, BaseAddr: math.MaxUint64 - 255}, "0xffffffffffffff00 and size_bytes 512"},
		{rangealloc.Config{SizeBytes: 2, GranuleBytes: 1, BaseAddr: math.MaxUint64}, "beyond 2^64"},
	} {
		t.Run(fmt.Sprintf("%+v", test.config), func(t *testing.T) {
			got, err := s.make(test.config)
			require.Nil(t, got)
			require.ErrorIs(t, err, device.CodeInvalidConfig)
			require.ErrorContains(t, err, test.names)
		})
	}
}

// small is a range that tables fill by hand.
var small = rangealloc.Config{SizeBytes: 64 << 10, BaseAddr: 1 << 30, GranuleBytes: 256}

func (s suite) badRequests(t *testing.T) {
	p := s.pair(t, small)
	_, served, wrong := p.alloc(Request{Size: 1000, Align: 256})
	require.NoError(t, wrong)
	require.True(t, served)
	for _, test := range []struct {
		request Request
		names   string
	}{
		{Request{Size: 0, Align: 256}, "size is 0"},
		{Request{Size: 0, Align: 0}, "size is 0"},
		{Request{Size: 1, Align: 0}, "alignment is 0"},
		{Request{Size: 1, Align: 3}, "alignment is 3"},
		{Request{Size: math.MaxUint64, Align: math.MaxUint64}, "alignment is 18446744073709551615"},
	} {
		_, _, wrong := p.alloc(test.request)
		require.NoError(t, wrong)
		_, err := p.strategy.Alloc(test.request)
		require.ErrorContains(t, err, test.names)
	}
	for _, size := range []uint64{small.SizeBytes + 1, 1 << 63, math.MaxUint64 - 255, math.MaxUint64} {
		_, served, wrong := p.alloc(Request{Size: size, Align: 1})
		require.NoError(t, wrong)
		require.False(t, served)
	}
	_, served, wrong = p.alloc(Request{Size: 1, Align: 1 << 63})
	require.NoError(t, wrong)
	require.False(t, served, "no address of the range is a multiple of 2^63")
}

func (s suite) badFrees(t *testing.T) {
	p := s.pair(t, small)
	block, served, wrong := p.alloc(Request{Size: 1024, Align: 256})
	require.NoError(t, wrong)
	require.True(t, served)
	for _, test := range []struct {
		offset uint64
		code   device.Code
	}{
		{block.Offset + 1, device.CodeInvalidAddress},
		{block.Offset + 256, device.CodeInvalidAddress},
		{block.Offset + 1023, device.CodeInvalidAddress},
		{small.SizeBytes, device.CodeInvalidAddress},
		{small.BaseAddr + block.Offset, device.CodeInvalidAddress},
		{math.MaxUint64, device.CodeInvalidAddress},
		{(block.Offset + 32<<10) % small.SizeBytes, device.CodeDoubleFree},
		{(block.Offset+32<<10)%small.SizeBytes + 1, device.CodeDoubleFree},
	} {
		require.NoError(t, p.free(test.offset))
		_, err := p.strategy.Free(test.offset)
		require.ErrorIs(t, err, test.code)
		require.ErrorContains(t, err, fmt.Sprint("offset is ", test.offset))
		require.NoError(t, p.lookup(test.offset))
	}
	require.NoError(t, p.free(block.Offset))
	_, err := p.strategy.Free(block.Offset)
	require.ErrorIs(t, err, device.CodeDoubleFree)
}

// edgeOfAddressSpace tests sums that would exceed 2^64.
func (s suite) edgeOfAddressSpace(t *testing.T) {
	for _, c := range []rangealloc.Config{
		{SizeBytes: math.MaxUint64, GranuleBytes: 1},
		{SizeBytes: math.MaxUint64, GranuleBytes: 1, BaseAddr: 1},
		{SizeBytes: math.MaxUint64 - 255, GranuleBytes: 256, BaseAddr: 256},
		{SizeBytes: 4096, GranuleBytes: 256, BaseAddr: math.MaxUint64 - 4095},
		{SizeBytes: 1 << 63, GranuleBytes: 1 << 63, BaseAddr: 1 << 63},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			p := s.pair(t, c)
			for _, size := range []uint64{1, 255, 4096, 1 << 40, 1 << 62, 1 << 63, math.MaxUint64 - 1, math.MaxUint64} {
				for _, align := range []uint64{1, 256, 4096, 1 << 32, 1 << 62, 1 << 63} {
					got, served, wrong := p.alloc(Request{Size: size, Align: align})
					require.NoError(t, wrong)
					if served && got.Offset%2 == 0 {
						require.NoError(t, p.free(got.Offset))
					}
				}
			}
		})
	}
}

// granules checks that every granule from a byte to 1 GiB rounds and aligns alike.
func (s suite) granules(t *testing.T) {
	for shift := range 31 {
		granule := uint64(1) << shift
		p := s.pair(t, rangealloc.Config{SizeBytes: 4096 * granule, GranuleBytes: granule, BaseAddr: 7 * granule})
		for i := range uint64(24) {
			for _, size := range []uint64{i*granule + 1, (i + 1) * granule, (i+2)*granule - 1} {
				if size == 0 {
					continue
				}
				_, _, wrong := p.alloc(Request{Size: size, Align: granule << (i % 6)})
				require.NoError(t, wrong)
			}
		}
	}
}

func (s suite) walkStops(t *testing.T) {
	p := s.pair(t, small)
	for range 3 {
		_, served, wrong := p.alloc(Request{Size: 256, Align: 256})
		require.NoError(t, wrong)
		require.True(t, served)
	}
	seen := 0
	p.strategy.Walk(func(rangealloc.Block) bool {
		seen++
		return seen < 2
	})
	require.Equal(t, 2, seen)
}

// noRoom checks the error value itself, because callers compare it in a hot path.
func noRoom(t *testing.T, err error) {
	t.Helper()
	require.True(t, err == rangealloc.ErrNoRoom || errors.Is(err, rangealloc.ErrNoRoom))
	require.Equal(t, device.CodeOutOfMemory, device.CodeOf(err))
}
