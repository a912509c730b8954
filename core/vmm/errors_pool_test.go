package vmm

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// refused checks the code of an error and every part of its text, which names the
// arguments and their values.
func refused(t *testing.T, err error, code device.Code, parts ...string) {
	t.Helper()
	require.Equal(t, code, device.CodeOf(err), "%v", err)
	for _, part := range parts {
		require.ErrorContains(t, err, part)
	}
	require.ErrorContains(t, err, "test:0: ", "the device is named")
}

func TestInvalidSettingsAreRejected(t *testing.T) {
	try := func(c devicetest.Config, change func(*Config)) error {
		c.TotalBytes = 64 * mib
		dev := devicetest.Open(c)
		e := engine.New(dev, engine.Options{})
		config := Config{Name: "p", CapacityBytes: mib, PageBytes: page}
		change(&config)
		p, err := NewPool(e, config)
		require.Nil(t, p)
		require.Zero(t, dev.Reservations())
		require.NoError(t, e.Close(), "no memory is left")
		return err
	}
	pageBytes := func(size uint64) func(*Config) { return func(c *Config) { c.PageBytes = size } }
	for _, size := range []uint64{1, 4096, 32 * kib, 96 * kib, 64*kib + 1, math.MaxUint64} {
		refused(t, try(devicetest.Config{}, pageBytes(size)), device.CodeInvalidPageSize, "page_bytes "+text(size), "65536")
	}
	coarse := devicetest.Config{PageMinimumBytes: 2 * mib}
	refused(t, try(coarse, pageBytes(64*kib)), device.CodeInvalidPageSize, "page_bytes 65536", "granularity is 2097152")

	capacity := func(size uint64) func(*Config) { return func(c *Config) { c.CapacityBytes = size } }
	refused(t, try(devicetest.Config{}, capacity(0)), device.CodeInvalidSize, "capacity_bytes is 0")
	refused(t, try(devicetest.Config{}, capacity(math.MaxUint64)), device.CodeInvalidSize, "capacity_bytes 18446744073709551615")
	refused(t, try(devicetest.Config{}, capacity(1<<60)), device.CodeOutOfVirtualMemory, "capacity_bytes 1152921504606846976")
	refused(t, try(devicetest.Config{VirtualBytes: 4 * mib}, capacity(5*mib)), device.CodeOutOfVirtualMemory,
		"capacity_bytes 5242880", "of 4 MiB are reserved")

	refused(t, try(devicetest.Config{}, func(c *Config) { c.LimitBytes = 64*mib + 1 }), device.CodeOutOfPhysicalMemory,
		"requested 64.00 MiB (67108865 bytes), available 64 MiB")
	refused(t, try(devicetest.Config{NoVirtualMemory: true}, func(*Config) {}), device.CodeUnsupportedDevice,
		`"test device" has no virtual memory`)
	refused(t, try(devicetest.Config{}, func(c *Config) { c.Name = strings.Repeat("n", 64) }), device.CodeInvalidConfig, "64 bytes")
	refused(t, try(devicetest.Config{}, func(c *Config) { c.Backing = 7 }), device.CodeInvalidConfig, "backing 7")

	dev := devicetest.Open(devicetest.Config{})
	dev.FailNth(devicetest.Reserve, 1, nil)
	_, err := NewPool(engine.New(dev, engine.Options{}), Config{CapacityBytes: mib})
	refused(t, err, device.CodeDevice, "asked for by the test")
	var typed *device.Error
	require.True(t, errors.As(errors.Unwrap(err), &typed), "the device's own error is inside")
}

func TestZeroSettingsSelectTheDevicesValues(t *testing.T) {
	r := newRig(t, devicetest.Config{}, func(c *Config) { c.PageBytes, c.CapacityBytes = 0, 3*mib })
	require.Equal(t, 2*mib, r.pool.PageBytes(), "the device's recommendation")
	require.Equal(t, 4*mib, r.pool.CapacityBytes(), "rounded up")
	require.Equal(t, 64*mib, r.pool.Stats().LimitBytes, "the device's capacity")
	require.Zero(t, uint64(r.pool.BaseAddress())%(2*mib))
	require.InDelta(t, 1, r.pool.Stats().UnmappedShare, 0)
	require.InDelta(t, 0, r.pool.Stats().Fragmentation, 0)
	r.quit(t)
}

func TestInvalidRangesAreRejected(t *testing.T) {
	r := newRig(t, devicetest.Config{}, func(c *Config) { c.LimitBytes = 8 * page })
	p := r.pool
	capacity := 32 * page
	for _, bad := range [][2]uint64{
		{capacity, 1}, {0, capacity + 1}, {capacity - 1, 2}, {math.MaxUint64, 1}, {1, math.MaxUint64},
		{math.MaxUint64, math.MaxUint64}, {capacity + 1, page},
	} {
		fields := []string{"offset " + text(bad[0]), "size " + text(bad[1]), "capacity " + text(capacity)}
		_, err := p.Alloc(bad[0], bad[1])
		refused(t, err, device.CodeInvalidOffset, fields...)
		refused(t, p.Free(bad[0], bad[1], nil), device.CodeInvalidOffset, fields...)
		require.False(t, p.IsMapped(bad[0], bad[1]))
	}
	for _, offset := range []uint64{0, 5, page, capacity, math.MaxUint64} {
		_, err := p.Alloc(offset, 0)
		refused(t, err, device.CodeInvalidSize, "size 0 at offset "+text(offset))
		refused(t, p.Free(offset, 0, nil), device.CodeInvalidSize, "size 0")
		require.False(t, p.IsMapped(offset, 0))
	}
	addr, err := p.Alloc(5*page+100, 2*page)
	require.NoError(t, err)
	require.Equal(t, p.BaseAddress()+device.Addr(5*page+100), addr, "inside a page")
	require.Equal(t, uint64(3), p.Stats().MappedPages, "rounded outward")
	require.Equal(t, 2*page, p.Stats().RequestedBytes)

	_, err = p.Alloc(2*page, 6*page)
	refused(t, err, device.CodeAlreadyMapped, "page at offset "+text(5*page)+", page size "+text(page))
	_, err = p.Alloc(7*page+1, 1)
	refused(t, err, device.CodeAlreadyMapped, "page at offset "+text(7*page)+", page size "+text(page))
	refused(t, p.Free(4*page, 2*page, nil), device.CodeNotMapped, "page at offset "+text(4*page)+", page size "+text(page))
	refused(t, p.Free(6*page, 3*page, nil), device.CodeNotMapped, "page at offset "+text(8*page))

	for _, bad := range [][2]uint64{{5*page + 100, page}, {5*page + 101, 2 * page}, {5 * page, 100}, {6*page + 1, page - 1}} {
		refused(t, p.Free(bad[0], bad[1], nil), device.CodeInvalidOffset, "offset "+text(bad[0]), "size "+text(bad[1]),
			"capacity "+text(capacity), "the one there has offset "+text(5*page+100))
	}
	_, err = p.Alloc(10*page, 6*page)
	refused(t, err, device.CodeOutOfPhysicalMemory, "requested "+sized(6*page), "available "+sized(5*page), "limit of \"p\" is "+sized(8*page))
	require.EqualValues(t, 1, r.engine.Statistics().Failures)

	_, err = p.AllocTagged(AllocRequest{OffsetBytes: 0, SizeBytes: 1, Tag: strings.Repeat("t", 64)})
	refused(t, err, device.CodeInvalidArgument, "64 bytes")
	r.check(t)
	require.NoError(t, p.Free(6*page, page, nil), "a whole page of it")
	require.Equal(t, page, p.Stats().RequestedBytes)
	refused(t, p.Free(5*page+100, 2*page, nil), device.CodeNotMapped, "page at offset "+text(6*page))
	require.NoError(t, p.Free(5*page, page, nil))
	require.NoError(t, p.Free(7*page, page, nil))
	require.Zero(t, p.Stats().RequestedBytes)
	r.quit(t)
}

// The offset and size of an old allocation do not free newer allocations at a part of
// it.
func TestOldRangeDoesNotFreeANewerAllocation(t *testing.T) {
	for _, asleep := range []bool{false, true} {
		r := newRig(t, devicetest.Config{}, nil)
		p := r.pool
		offset, size := page+100, 2*page
		_, err := p.Alloc(offset, size)
		require.NoError(t, err)
		require.NoError(t, p.Free(2*page, page, nil), "a whole page of three")
		_, err = p.Alloc(2*page+5, page-5)
		require.NoError(t, err)
		if asleep {
			_, err = p.Sleep(t.Context(), SleepRequest{Backing: SleepDiscard})
			require.NoError(t, err)
		}
		refused(t, p.Free(offset, size, nil), device.CodeInvalidOffset, "offset "+text(offset), "size "+text(size),
			"capacity "+text(p.CapacityBytes()), "a part of that allocation was freed", "the page at offset "+text(2*page))
		require.Equal(t, !asleep, p.IsMapped(2*page, page), "the newer one is as it was")
		r.check(t)

		require.NoError(t, p.Free(2*page+5, page-5, nil), "the newer one has its own place")
		require.NoError(t, p.Free(page, page, nil))
		require.NoError(t, p.Free(3*page, page, nil))
		require.Zero(t, p.Stats().MappedPages+p.Stats().AsleepPages)
		r.quit(t)
	}
}

func TestLimitBoundsTheUsedPages(t *testing.T) {
	r := newRig(t, devicetest.Config{}, nil)
	_, err := r.pool.Alloc(0, 8*page)
	require.NoError(t, err)
	require.NoError(t, r.pool.SetLimit(3*page))
	_, err = r.pool.Alloc(10*page, page)
	refused(t, err, device.CodeOutOfPhysicalMemory, "requested "+sized(page), "available 0", sized(8*page)+" are in use")
	require.Zero(t, r.pool.Stats().AvailableBytes)
	refused(t, r.pool.SetLimit(65*mib), device.CodeOutOfPhysicalMemory, "requested "+sized(65*mib), "available "+sized(64*mib))
	require.Equal(t, 3*page, r.pool.Stats().LimitBytes)
	require.NoError(t, r.pool.SetLimit(0))
	_, err = r.pool.Alloc(10*page, page)
	require.NoError(t, err)
	r.quit(t)
}

// The device has less free memory than the limit, because other processes use the rest.
func TestTheErrorNamesHoldersWhereTheDeviceHasLessThanTheLimit(t *testing.T) {
	r := newRig(t, devicetest.Config{TotalBytes: 16 * page}, nil)
	r.dev.SetOthersBytes(12 * page)
	_, err := r.pool.AllocTagged(AllocRequest{OffsetBytes: 0, SizeBytes: 3 * page, Tag: "weights"})
	require.NoError(t, err)
	_, err = r.pool.Alloc(8*page, 2*page)
	refused(t, err, device.CodeOutOfMemory, "no memory for "+sized(2*page)+" ", "weights: "+sized(3*page)+" in 1 block")
	r.check(t)
	_, err = r.pool.Alloc(0, 17*page)
	refused(t, err, device.CodeAlreadyMapped)
	require.NoError(t, r.pool.Free(0, 3*page, nil))
	_, err = r.pool.Alloc(0, 17*page)
	refused(t, err, device.CodeOutOfPhysicalMemory, "requested "+sized(17*page), "available "+sized(16*page))
	r.quit(t)
}

func TestClosedPoolRejectsEveryCall(t *testing.T) {
	r := newRig(t, devicetest.Config{}, nil)
	_, err := r.pool.Alloc(0, page)
	require.NoError(t, err)
	refused(t, r.pool.Close(false), device.CodeBusy, "1 allocation of 1 page")
	require.True(t, r.pool.IsMapped(0, page))
	require.NoError(t, r.pool.Close(true))
	_, err = r.pool.Alloc(0, page)
	refused(t, err, device.CodeInvalidState)
	refused(t, r.pool.Free(0, page, nil), device.CodeInvalidState)
	refused(t, r.pool.SetLimit(0), device.CodeInvalidState)
	refused(t, r.pool.Close(true), device.CodeInvalidState)
	require.False(t, r.pool.IsMapped(0, page))
	require.Zero(t, r.pool.PhysicalBytes())
	require.Zero(t, r.pool.Stats().HeldBytes)
	_, err = r.pool.Compact()
	require.NoError(t, err)
	require.NoError(t, r.pool.Synchronize())
	_, err = r.pool.physical.ReleaseCached(1)
	require.NoError(t, err)
	r.pool.physical.Settle()
	require.NoError(t, r.engine.Close())
}
