package library_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/vmm"
)

func TestSleepFindsItsStream(t *testing.T) {
	b := startBench(t)
	dev, other := b.open("test:0"), b.open("test:1")
	v := b.vpool(dev)
	b.mapped(v, 0, page)
	foreign, err := b.StreamCreate(other)
	require.NoError(t, err)
	discard := library.SleepRequest{
		SleepRequest: vmm.SleepRequest{Backing: vmm.SleepDiscard}, StreamHandle: foreign, Timeout: device.Forever,
	}
	_, err = b.VPoolSleep(v, discard)
	requireCode(t, device.CodeInvalidArgument, err)
	stream, err := b.StreamCreate(dev)
	require.NoError(t, err)
	// What is queued on the range's own stream is waited for, whichever is named; that
	// of a stream that does not use it only where all is.
	queue := b.device(0).Default()
	queue.Hold()
	initial, err := b.StreamDefault(dev)
	require.NoError(t, err)
	require.NoError(t, b.StreamHostFunction(initial, func() {}))
	for _, named := range []uint64{0, stream} {
		hasty := discard
		hasty.StreamHandle, hasty.Timeout = named, 1
		_, err = b.VPoolSleep(v, hasty)
		requireCode(t, device.CodeTimeout, err)
	}
	queue.Release()
	require.NoError(t, b.VPoolFree(v, library.ByteRange{SizeBytes: page}, 0))
	_, err = b.VPoolAllocWith(v, library.RangeRequest{AllocRequest: vmm.AllocRequest{SizeBytes: page}, StreamHandle: stream})
	require.NoError(t, err)
	queue.Hold()
	require.NoError(t, b.StreamHostFunction(initial, func() {}))
	discard.StreamHandle = stream
	report, err := b.VPoolSleep(v, discard)
	require.NoError(t, err)
	require.EqualValues(t, page, report.Bytes)
	queue.Release()
	asleep, err := b.VPoolIsAsleep(v, "")
	require.NoError(t, err)
	require.True(t, asleep)
	woken, err := b.VPoolWake(v, library.WakeRequest{Timeout: device.Forever})
	require.NoError(t, err)
	require.EqualValues(t, page, woken.Bytes)
}

func TestSleepOfWhatIsGone(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	v := b.vpool(dev)
	require.NoError(t, b.VPoolDestroy(v, false))
	_, err := b.VPoolSleep(v, library.SleepRequest{})
	requireCode(t, device.CodeInvalidHandle, err)
	_, err = b.VPoolWake(v, library.WakeRequest{})
	requireCode(t, device.CodeInvalidHandle, err)
	_, err = b.VPoolIsAsleep(v, "")
	requireCode(t, device.CodeInvalidHandle, err)
	pool, err := b.ElasticPoolCreate(dev, vmm.ElasticConfig{Name: "several", PageBytes: page, ReadyPages: -1})
	require.NoError(t, err)
	ref := library.ModelRef{Pool: pool, ID: "none"}
	for _, code := range []device.Code{device.CodeModelNotFound, device.CodeInvalidHandle} {
		_, err = b.ElasticPoolSleepModel(ref, library.SleepRequest{})
		requireCode(t, code, err)
		_, err = b.ElasticPoolWakeModel(ref, library.WakeRequest{})
		requireCode(t, code, err)
		_, err = b.ElasticPoolIsModelAsleep(ref, "")
		requireCode(t, code, err)
		if code == device.CodeModelNotFound {
			require.NoError(t, b.ElasticPoolDestroy(pool, false))
		}
	}
}

func TestAsleepRangesAreOwnedAndLeak(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	v := b.vpool(dev)
	addr := b.mapped(v, 0, 3*page)
	other, err := b.VPoolAllocWith(v, library.RangeRequest{
		AllocRequest: vmm.AllocRequest{OffsetBytes: 3 * page, SizeBytes: page, Tag: "weights"},
	})
	require.NoError(t, err)
	_, err = b.VPoolSleep(v, library.SleepRequest{
		SleepRequest: vmm.SleepRequest{Backing: vmm.SleepDiscard, Tag: "kv"}, Timeout: device.Forever,
	})
	require.NoError(t, err)
	owner, err := b.DeviceGetOwner(dev, addr+page)
	require.NoError(t, err)
	require.Equal(t, library.BlockAsleep, owner.State)
	require.Equal(t, "kv", owner.Tag)
	require.Equal(t, addr, owner.Addr)
	// A part that is freed is out of it.
	require.NoError(t, b.VPoolFree(v, library.ByteRange{OffsetBytes: page, SizeBytes: page}, 0))
	owner, err = b.DeviceGetOwner(dev, addr+2*page)
	require.NoError(t, err)
	require.Equal(t, addr+2*page, owner.Addr)
	var found []device.Addr
	for _, l := range decode(t, b.LeakReportJSON())["leaks"].([]any) {
		if l := l.(map[string]any); l["kind"] == "range" {
			found = append(found, device.Addr(l["address"].(float64)))
		}
	}
	require.Equal(t, []device.Addr{addr, addr + 2*page, other}, found)
}
