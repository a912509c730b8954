package virtual

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// Several threads work on their own places of one reservation, and on one place that they
// share. On the shared place a call may fail, and nothing else may happen.
func TestThreadsUseOneReservation(t *testing.T) {
	o := openWith(t, mapping.System())
	const threads, rounds = 8, 60
	size := (2*threads + 1) * scriptPage
	addr, err := o.Reserve(size, scriptPage)
	require.NoError(t, err)
	shared := make([]device.Page, 1)
	require.NoError(t, o.Create(shared, scriptPage, device.BackingMovable))
	common := addr + device.Addr(2*threads*scriptPage)
	var wait sync.WaitGroup
	for thread := range threads {
		wait.Go(func() {
			at := addr + device.Addr(uint64(2*thread)*scriptPage)
			for round := range rounds {
				pages := make([]device.Page, 2)
				backing := device.Backing(round % 2)
				ok := assert.NoError(t, o.Create(pages, scriptPage, backing)) &&
					assert.NoError(t, o.Map(at, pages)) &&
					assert.NoError(t, o.SetAccess(at, 2*scriptPage, device.AccessReadWrite)) &&
					assert.NoError(t, o.FillNow(at, byte(thread+1), 2*scriptPage))
				if !ok {
					return
				}
				_, other, err := o.FirstOther(at, byte(thread+1), 2*scriptPage)
				assert.NoError(t, err)
				assert.False(t, other, "the page shows bytes of another owner")
				allow(t, o.Map(common, shared), device.CodeAlreadyMapped, device.CodeBusy)
				allow(t, o.SetAccess(common, scriptPage, device.AccessReadWrite), device.CodeNotMapped, device.CodeBusy)
				allow(t, o.FillNow(common, 1, scriptPage), device.CodeNotMapped, device.CodeBusy, device.CodePermissionDenied)
				allow(t, o.Unmap(common, scriptPage), device.CodeNotMapped, device.CodeBusy)
				allow(t, o.Zero(shared), device.CodeBusy)
				assert.NoError(t, o.Unmap(at, 2*scriptPage))
				assert.NoError(t, o.Release(pages))
			}
		})
	}
	wait.Wait()
	allow(t, o.Unmap(common, scriptPage), device.CodeNotMapped)
	require.NoError(t, o.Release(shared))
	require.NoError(t, o.Unreserve(addr, size))
	require.Zero(t, o.held.Load())
	require.Zero(t, o.system.mappings.count.Load())
	require.NoError(t, o.Close())
}

func allow(t *testing.T, err error, codes ...device.Code) {
	if err != nil {
		assert.Contains(t, codes, device.CodeOf(err), "%v", err)
	}
}
