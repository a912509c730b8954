package pool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// An allocation from a list of segregated fit tries only its first run. A size that did
// not fit there may succeed after that run was allocated, though no block was freed.
func TestSpaceBehindTheFirstRunOfAListIsFound(t *testing.T) {
	const granule = 256
	b := newBench(devicetest.Config{TotalBytes: 8 * mib}, engine.Options{})
	p := b.pool(t, func(c *Config) {
		c.Strategy, c.AlignmentBytes, c.MaxSizeBytes = "tlsf", granule, mib
	})
	// 130 and 128 granules are in one class, and the rest of the segment is full.
	long := mustAlloc(t, p, 130*granule)
	mustAlloc(t, p, granule)
	short := mustAlloc(t, p, 128*granule)
	mustAlloc(t, p, granule)
	mustAlloc(t, p, mib-260*granule)
	require.NoError(t, p.Free(long.Addr, nil))
	require.NoError(t, p.Free(short.Addr, nil))
	_, err := p.Alloc(Request{SizeBytes: 129 * granule})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.Equal(t, short.Addr, mustAlloc(t, p, 128*granule).Addr)
	require.Equal(t, long.Addr, mustAlloc(t, p, 129*granule).Addr)
	quiet(t, b, p)
}
