package pool_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/memcheck"
	"ferrum_mem/core/pool"
)

// Debug mode with device memory: zones, poison and the detection of writes after a free
// work on a device whose memory the process cannot address, as they do on the host. The
// device's own work makes the errors.

type watchedBench struct {
	*realBench
	mu    sync.Mutex
	heard []string
}

func openWatched(t *testing.T) *watchedBench {
	b := &watchedBench{realBench: openReal(t)}
	b.engine = engine.New(b.dev, engine.Options{Log: func(level engine.Level, message string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.heard = append(b.heard, fmt.Sprintf("%d %s", level, message))
	}})
	return b
}

func (b *watchedBench) reports() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := strings.Join(b.heard, "\n")
	b.heard = nil
	return text
}

func (b *watchedBench) pool(t *testing.T, paging pool.Paging) *pool.Pool {
	c := pool.DefaultConfig()
	c.Debug = pool.DebugRedZones | pool.DebugPoison | pool.DebugQuarantine
	c.Paging = paging
	if paging == pool.PagingOn {
		c.PhysicalPageBytes = b.page
	}
	p, err := pool.New(b.engine, c)
	require.NoError(t, err)
	require.Empty(t, b.reports(), "every damage was reported")
	return p
}

// holds checks that a range is filled with a value.
func (b *watchedBench) holds(t *testing.T, addr device.Addr, value byte, size uint64) {
	t.Helper()
	found, other, err := b.bytes.FirstOther(addr, value, size)
	require.NoError(t, err)
	require.False(t, other, "%+v", found)
}

// debugSizes are the sizes of blocks that are checked by copies and by a kernel.
var debugSizes = []uint64{1, 1000, 100 << 10, 1<<20 + 5}

func TestDeviceDebugFindsDamage(t *testing.T) {
	for _, paging := range []pool.Paging{pool.PagingOff, pool.PagingOn} {
		b := openWatched(t)
		p := b.pool(t, paging)
		// The quarantine may hold an eighth of what the pool holds.
		_, err := p.Alloc(pool.Request{SizeBytes: 24 << 20})
		require.NoError(t, err)
		for _, size := range debugSizes {
			alloc := func() device.Addr {
				block, err := p.Alloc(pool.Request{SizeBytes: size})
				require.NoError(t, err)
				b.holds(t, block.Addr, memcheck.FreshByte, size)
				return block.Addr
			}
			addr := alloc()
			require.NoError(t, b.bytes.Fill(addr, 1, size))
			require.NoError(t, p.Free(addr, nil))
			p.CompleteFrees()
			b.holds(t, addr, memcheck.FreedByte, size)
			require.Empty(t, b.reports())

			require.NoError(t, b.bytes.Fill(addr+device.Addr(size-1), 0x41, 1))
			require.ErrorIs(t, p.Check(), device.CodeCorrupted, "size %d, paging %v", size, paging)
			require.Contains(t, b.reports(), fmt.Sprintf("the byte at %d is 0x41 instead of 0xdd", size-1))
			require.NoError(t, p.Check(), "the damage was repaired")

			addr = alloc()
			require.NoError(t, b.bytes.Fill(addr+device.Addr(size), 0x42, 1))
			err = p.Free(addr, nil)
			require.ErrorIs(t, err, device.CodeCorrupted)
			require.ErrorContains(t, err, fmt.Sprintf("the byte at %d, 0 after its end, is 0x42 instead of 0xfd", size))

			addr = alloc()
			require.NoError(t, b.bytes.Fill(addr-1, 0x43, 1))
			require.ErrorContains(t, p.Free(addr, nil), "the byte 1 before its start is 0x43 instead of 0xfd")
			b.reports()
		}
		b.close(t, p)
		require.NotContains(t, b.reports(), "cannot be checked")
	}
}
