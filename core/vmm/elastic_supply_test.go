package vmm

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// The limit allows the pages and the device has less. The reclaim path of the engine
// and the callbacks of models above their guarantee run, and the error has the report.
func TestModelsAboveTheirGuaranteeFreePagesWhenTheDeviceIsFull(t *testing.T) {
	p := newParty(t, devicetest.Config{TotalBytes: 2 * mib}, 32)
	holder, asker := p.model(t, "holder", 2, 0, 0), p.model(t, "asker", 0, 0, 0)
	held := singles(t, holder, 8)
	p.dev.SetOthersBytes(2*mib - 8*page)
	_, err := asker.Alloc(page)
	require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.ErrorContains(t, err, "requested 64 KiB, available 0 bytes")
	require.ErrorContains(t, err, "free in the device: 0 bytes of 2 MiB", "the report is there")
	require.ErrorContains(t, err, "holder: 512 KiB in 8 blocks")
	require.EqualValues(t, 1, asker.Stats().Failures)
	p.check(t)

	var asked []uint64
	freeing(t, holder, held, func(_ *Model, needed uint64) { asked = append(asked, needed/page) })
	get(t, asker, 3)
	require.Equal(t, []uint64{3}, asked)
	p.check(t)
	short(t, asker, 5, 3)
	require.Equal(t, []uint64{3, 3}, asked, "no model is asked for pages of its guarantee")
	require.NoError(t, p.engine.SetLimit(p.dev.HeldBytes()))
	p.dev.SetOthersBytes(0)
	_, err = asker.Alloc(5 * page)
	require.ErrorContains(t, err, "limit of the device: 512 KiB, held: 512 KiB")
	p.quit(t)
}

func TestAllocationsQueueWhenTheDeviceIsFull(t *testing.T) {
	p := newParty(t, devicetest.Config{TotalBytes: 2 * mib}, 32)
	holder, first, eager := p.model(t, "holder", 0, 0, 0), p.model(t, "first", 0, 0, 0), p.model(t, "eager", 0, 0, 0)
	held := get(t, holder, 8)
	p.dev.SetOthersBytes(2*mib - 8*page)
	calls := 0
	inCall, goOn := make(chan struct{}), make(chan struct{})
	_, err := p.shared.OnReclaim("holder", patient, func(uint64) uint64 {
		if calls++; calls > 1 {
			return 0
		}
		close(inCall)
		<-goOn
		_ = holder.Free(held.OffsetBytes, held.SizeBytes, nil)
		return held.SizeBytes
	})
	require.NoError(t, err)
	var wait sync.WaitGroup
	wait.Go(func() { get(t, first, 8) })
	<-inCall
	results, gone := make(chan error, 1), make(chan error, 1)
	wait.Go(func() { results <- second(eager.Alloc(page)) })
	p.untilWaiting(2)
	leaver := p.model(t, "leaver", 0, 0, 0)
	wait.Go(func() { gone <- second(leaver.Alloc(page)) })
	p.untilWaiting(3)
	require.ErrorIs(t, p.shared.Unregister(leaver.ID(), false), device.CodeBusy)
	require.NoError(t, p.shared.Unregister(leaver.ID(), true))
	require.ErrorIs(t, <-gone, device.CodeModelNotFound)
	close(goOn)
	wait.Wait()
	require.ErrorIs(t, <-results, device.CodeOutOfMemory)
	require.Equal(t, uint64(8*page), first.Stats().PhysicalBytes)
	p.quit(t)
}

// Another pool of the device can use the pages of an idle model.
func TestFreePagesOfModelsServeSiblings(t *testing.T) {
	p := newParty(t, devicetest.Config{TotalBytes: 2 * mib}, 32)
	m := p.model(t, "m", 0, 0, 0)
	free(t, m, get(t, m, 32))
	sibling, err := newPool(p.engine, Config{Name: "sibling", CapacityBytes: 2 * mib, PageBytes: page}, false)
	require.NoError(t, err)
	_, err = sibling.Alloc(0, mib)
	require.NoError(t, err)
	require.NoError(t, sibling.Close(true))
	p.quit(t)
}

// A thread that may not wait does not join the queue.
func TestFullDeviceInsideACallbackFailsAtOnce(t *testing.T) {
	p := newPartyWith(t, devicetest.Config{TotalBytes: 2 * mib}, engine.Options{MayNotWait: func() bool { return true }},
		ElasticConfig{LimitBytes: 32 * page}, false)
	m := p.model(t, "m", 0, 0, 0)
	p.dev.SetOthersBytes(2 * mib)
	require.ErrorIs(t, second(m.Alloc(page)), device.CodeOutOfMemory)
	p.quit(t)
}
