package vmm_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm"
	"ferrum_mem/drivers/host"
)

func TestAnExportedRangeIsTheSameMemoryWhereItIsImported(t *testing.T) {
	driver, err := host.New(host.Config{MemoryBytes: 64 << 20})
	require.NoError(t, err)
	dev, err := driver.Open(0)
	require.NoError(t, err)
	e := engine.New(dev, engine.Options{})
	const page = 64 << 10
	pool := func(backing device.Backing) *vmm.Pool {
		p, err := vmm.NewPool(e, vmm.Config{CapacityBytes: 8 * page, PageBytes: page, ReadyPages: -1, Backing: backing})
		require.NoError(t, err)
		return p
	}
	p, movable := pool(device.BackingShareable), pool(device.BackingMovable)
	_, err = p.Alloc(page, 2*page)
	require.NoError(t, err)
	_, err = movable.Alloc(0, page)
	require.NoError(t, err)
	for _, c := range []struct {
		of           *vmm.Pool
		offset, size uint64
		most, count  uint64
		code         device.Code
	}{
		{p, page, 2 * page, 1, 2, device.CodeBufferTooSmall},
		{p, page, 2 * page, 0, 2, device.CodeBufferTooSmall},
		{p, page, 0, 9, 0, device.CodeInvalidSize},
		{p, page + 1, page, 9, 0, device.CodeInvalidOffset},
		{p, page, page + 1, 9, 0, device.CodeInvalidOffset},
		{p, 8 * page, page, 9, 0, device.CodeInvalidOffset},
		{p, page, ^uint64(0), 9, 0, device.CodeInvalidOffset},
		{p, 0, page, 9, 0, device.CodeNotMapped},
		{p, 2 * page, 2 * page, 9, 0, device.CodeNotMapped},
		{movable, 0, page, 9, 0, device.CodeInvalidArgument},
	} {
		files, count, err := c.of.Export(c.offset, c.size, c.most)
		require.Equal(t, c.code, device.CodeOf(err), "%+v: %v", c, err)
		require.Equal(t, c.count, count, "%+v", c)
		require.Empty(t, files)
	}
	files, count, err := p.Export(page, 2*page, 2)
	require.NoError(t, err)
	require.EqualValues(t, 2, count)
	for _, file := range files {
		require.NoError(t, os.NewFile(uintptr(file), "page").Close())
	}
	require.NoError(t, p.Close(true))
	_, _, err = p.Export(page, 2*page, 2)
	require.Equal(t, device.CodeInvalidState, device.CodeOf(err))
	require.NoError(t, movable.Close(true))
	_, err = vmm.NewElastic(e, vmm.ElasticConfig{LimitBytes: 8 * page, Backing: device.BackingShareable})
	require.Equal(t, device.CodeInvalidConfig, device.CodeOf(err))
	require.NoError(t, e.Close())

	bare := engine.New(devicetest.Open(devicetest.Config{}), engine.Options{})
	_, err = vmm.NewPool(bare, vmm.Config{CapacityBytes: 1 << 20, Backing: device.BackingShareable})
	require.Equal(t, device.CodeUnsupported, device.CodeOf(err), "%v", err)
	require.NoError(t, bare.Close())
}
