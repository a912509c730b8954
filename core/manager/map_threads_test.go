package manager

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/manager/mappings"
)

// Threads map, unmap, write, free and link blocks that others free at the same time.
// Every call succeeds or returns a permitted error, and nothing is left.
func TestMappingsAndLinksFromManyThreads(t *testing.T) {
	p := newPair(t, pinning(64<<20))
	f := p.first.factory
	allowed := map[device.Code]bool{
		device.CodeBusy: true, device.CodeNotMapped: true, device.CodeInvalidHandle: true,
	}
	shared := make([]MemoryHandle, 8)
	for i := 0; i < len(shared); i += 2 {
		shared[i], shared[i+1] = p.mustLink(t, 64)
	}
	var all sync.WaitGroup
	for thread := range 4 {
		random := rand.New(rand.NewPCG(uint64(thread), 7))
		all.Add(1)
		device.Go("mapper", func() {
			defer all.Done()
			for range 300 {
				h := shared[random.IntN(len(shared))]
				var err error
				switch random.IntN(8) {
				case 0:
					err = f.Free(h)
				case 1, 2:
					err = f.Unmap(h, 0)
				case 3:
					_, err = f.HandleInfo(h)
				case 4:
					err = f.FillAsync(Fill{Memory: h, SizeBytes: 64,
						Pattern: device.Pattern{Value: 1, WidthBytes: 1}}, DefaultStream)
				case 5:
					var first, second MemoryHandle
					if first, second, err = p.link(64); err == nil {
						require.NoError(t, f.Free(second))
						err = f.Free(first)
					}
				default:
					_, err = f.Map(MapRequest{Memory: h, SizeBytes: uint64(1 + random.IntN(64)),
						Access: HostAccess(random.IntN(3))})
				}
				if err != nil && !allowed[device.CodeOf(err)] {
					t.Errorf("%v", err)
				}
			}
		})
	}
	all.Wait()
	p.finish(t)
	require.Zero(t, p.first.dev.PinnedBytes())
}

// A manager is closed by force while others map and unmap its blocks.
func TestForcedCloseWhileOthersMap(t *testing.T) {
	for seed := range uint64(20) {
		r := newRig(t, devicetest.Config{Backed: true})
		m := r.manager(t, nil)
		var lock sync.Mutex
		copies := copiesOn(r)
		take := r.factory.staging.takeMapCopy
		r.factory.staging.takeMapCopy = func(size uint64) (*mappings.Copy, error) {
			lock.Lock()
			defer lock.Unlock()
			made, err := take(size)
			free := made.Free
			made.Free = func() {
				lock.Lock()
				defer lock.Unlock()
				free()
			}
			return made, err
		}
		h := m.mustAlloc(t, 64)
		random := rand.New(rand.NewPCG(seed, 7))
		var all sync.WaitGroup
		for range 3 {
			access := HostAccess(random.IntN(3))
			all.Add(1)
			device.Go("mapper", func() {
				defer all.Done()
				for range 20 {
					mapped, err := r.factory.Map(MapRequest{Memory: h, SizeBytes: 64, Access: access})
					if err == nil {
						err = r.factory.Unmap(h, mapped.ID)
					}
					if code := device.CodeOf(err); err != nil && code != device.CodeBusy && code != device.CodeInvalidHandle {
						t.Errorf("%v", err)
					}
				}
			})
		}
		require.NoError(t, m.Close(true))
		all.Wait()
		lock.Lock()
		require.Zero(t, copies.live())
		lock.Unlock()
		r.finish(t)
	}
}
