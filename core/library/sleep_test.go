package library_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/library"
	"ferrum_mem/core/manager"
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
	_, err = at(b.VPool, v).Sleep(discard)
	requireCode(t, device.CodeInvalidArgument, err)
	stream, err := b.StreamCreate(dev)
	require.NoError(t, err)
	// Sleep waits for work on the range's own stream, whichever stream is named. It
	// waits for a stream that does not use the range only if it waits for all work.
	queue := b.device(0).Default()
	queue.Hold()
	initial, err := b.StreamDefault(dev)
	require.NoError(t, err)
	require.NoError(t, made(b).HostFunction(manager.StreamHandle(initial), func() {}))
	for _, named := range []uint64{0, stream} {
		hasty := discard
		hasty.StreamHandle, hasty.Timeout = named, 1
		_, err = at(b.VPool, v).Sleep(hasty)
		requireCode(t, device.CodeTimeout, err)
	}
	queue.Release()
	require.NoError(t, at(b.VPool, v).Free(library.ByteRange{SizeBytes: page}, 0))
	_, err = at(b.VPool, v).AllocWith(library.RangeRequest{AllocRequest: vmm.AllocRequest{SizeBytes: page}, StreamHandle: stream})
	require.NoError(t, err)
	queue.Hold()
	require.NoError(t, made(b).HostFunction(manager.StreamHandle(initial), func() {}))
	discard.StreamHandle = stream
	report, err := at(b.VPool, v).Sleep(discard)
	require.NoError(t, err)
	require.EqualValues(t, page, report.Bytes)
	queue.Release()
	asleep := at(b.VPool, v).IsAsleep("")
	require.True(t, asleep)
	woken, err := at(b.VPool, v).Wake(library.WakeRequest{Timeout: device.Forever})
	require.NoError(t, err)
	require.EqualValues(t, page, woken.Bytes)
}

func TestSleepOfWhatIsGoneIsAnInvalidHandle(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	v := b.vpool(dev)
	require.NoError(t, at(b.VPool, v).Destroy(false))
	err := do(b.VPool, v, func(o *library.VPool) error { return second(o.Sleep(library.SleepRequest{})) })
	requireCode(t, device.CodeInvalidHandle, err)
	err = do(b.VPool, v, func(o *library.VPool) error { return second(o.Wake(library.WakeRequest{})) })
	requireCode(t, device.CodeInvalidHandle, err)
	err = do(b.VPool, v, func(o *library.VPool) error { o.IsAsleep(""); return nil })
	requireCode(t, device.CodeInvalidHandle, err)
	pool, err := b.ElasticPoolCreate(dev, vmm.ElasticConfig{Name: "several", PageBytes: page, ReadyPages: -1})
	require.NoError(t, err)
	ref := modelRef{pool: pool, id: "none"}
	for _, code := range []device.Code{device.CodeModelNotFound, device.CodeInvalidHandle} {
		err = do(b.ElasticPool, ref.pool, func(o *library.ElasticPool) error { return second(o.SleepModel(ref.id, library.SleepRequest{})) })
		requireCode(t, code, err)
		err = do(b.ElasticPool, ref.pool, func(o *library.ElasticPool) error { return second(o.WakeModel(ref.id, library.WakeRequest{})) })
		requireCode(t, code, err)
		err = do(b.ElasticPool, ref.pool, func(o *library.ElasticPool) error { return second(o.IsModelAsleep(ref.id, "")) })
		requireCode(t, code, err)
		if code == device.CodeModelNotFound {
			require.NoError(t, at(b.ElasticPool, pool).Destroy(false))
		}
	}
}

func TestAsleepRangesAreOwnedAndLeak(t *testing.T) {
	b := startBench(t)
	dev := b.open("test:0")
	v := b.vpool(dev)
	addr := b.mapped(v, 0, 3*page)
	other, err := at(b.VPool, v).AllocWith(library.RangeRequest{
		AllocRequest: vmm.AllocRequest{OffsetBytes: 3 * page, SizeBytes: page, Tag: "weights"},
	})
	require.NoError(t, err)
	_, err = at(b.VPool, v).Sleep(library.SleepRequest{
		SleepRequest: vmm.SleepRequest{Backing: vmm.SleepDiscard, Tag: "kv"}, Timeout: device.Forever,
	})
	require.NoError(t, err)
	owner, err := at(b.Device, dev).Owner(addr + page)
	require.NoError(t, err)
	require.Equal(t, library.BlockAsleep, owner.State)
	require.Equal(t, "kv", owner.Tag)
	require.Equal(t, addr, owner.Addr)
	// A freed part does not belong to the range any more.
	require.NoError(t, at(b.VPool, v).Free(library.ByteRange{OffsetBytes: page, SizeBytes: page}, 0))
	owner, err = at(b.Device, dev).Owner(addr + 2*page)
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
