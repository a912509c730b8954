package library_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
)

func TestAdvancedCallsNeedAStartedLibrary(t *testing.T) {
	b := newBench(t)
	_, err := b.Factory("memory.map")
	requireCode(t, device.CodeNotInitialized, err)
	err = do(b.Manager, 1, func(o *library.Manager) error {
		_, _, err := o.CreateMapping(2, manager.LinkRequest{SizeBytes: 1})
		return err
	})
	requireCode(t, device.CodeNotInitialized, err)
	requireCode(t, device.CodeNotInitialized, b.MemoryPrefetch(1, 2, 0))
	_, err = b.MemoryGetAccessStats(1)
	requireCode(t, device.CodeNotInitialized, err)
	err = do(b.Manager, 1, func(o *library.Manager) error { return second(o.Adopt(manager.Adoption{Addr: 1, SizeBytes: 1})) })
	requireCode(t, device.CodeNotInitialized, err)
	_, err = b.StreamAdopt(1, device.ForeignStream{Native: 1})
	requireCode(t, device.CodeNotInitialized, err)
}

// Adopted memory and streams stay with their owners, are reported as leaks, and prevent
// an end without force, like all other objects.
func TestAdoptedObjectsAreObjectsOfTheLibrary(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	m := b.manager(dev)
	h, err := at(b.Manager, m).Adopt(manager.Adoption{Addr: 1 << 30, SizeBytes: 100, Tag: "theirs"})
	require.NoError(t, err)
	s, err := b.StreamAdopt(dev, device.ForeignStream{Native: 7})
	require.NoError(t, err)
	info, err := b.MemoryGetHandleInfo(uint64(h))
	require.NoError(t, err)
	require.True(t, info.Adopted)
	require.Equal(t, m, info.Manager)
	require.NoError(t, made(b).FillAsync(manager.Fill{Memory: manager.MemoryHandle(h), SizeBytes: 4,
		Pattern: device.Pattern{WidthBytes: 1}}, manager.StreamHandle(s)))
	stats, err := b.MemoryGetAccessStats(uint64(h))
	require.NoError(t, err)
	require.True(t, stats.Tracked)
	require.True(t, stats.Accessed)
	require.GreaterOrEqual(t, stats.LastAccess, info.AllocatedAt, "both times are since the start")
	require.Equal(t, map[string]int{"device": 1, "manager": 1, "memory": 1, "stream": 1}, b.leaks().kinds())
	requireCode(t, device.CodeBusy, b.Shutdown(false))
	require.NoError(t, b.MemoryPrefetch(uint64(h), dev, s))
	_, err = b.StreamAdopt(dev+1, device.ForeignStream{Native: 7})
	requireCode(t, device.CodeInvalidHandle, err)
	require.NoError(t, b.StreamDestroy(s, true))
	require.NoError(t, made(b).Free(manager.MemoryHandle(h)))
	require.Equal(t, map[string]int{"device": 1, "manager": 1}, b.leaks().kinds())
}
