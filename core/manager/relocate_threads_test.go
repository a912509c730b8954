package manager_test

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/pool"
	"ferrum_mem/drivers/testdevice"
)

// worker has its own blocks, whose bytes it knows, and invalid handles.
type worker struct {
	r      *realRig
	m      *manager.Manager
	rng    *rand.Rand
	mark   byte
	most   int
	blocks []manager.MemoryHandle
	bytes  map[manager.MemoryHandle][]byte
	dead   manager.MemoryHandle
	stream manager.StreamHandle
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (w *worker) allocate() {
	size := 1 + w.rng.IntN(w.most)
	h, err := w.m.AllocTyped(manager.Request{SizeBytes: uint64(size), Relocatable: w.rng.IntN(8) != 0})
	must(err)
	w.mark += 16
	content := bytes.Repeat([]byte{w.mark}, size)
	must(w.r.factory.Write(h, 0, hostAddr(content), uint64(size)))
	runtime.KeepAlive(content)
	w.blocks, w.bytes[h] = append(w.blocks, h), content
}

func (w *worker) pick() manager.MemoryHandle { return w.blocks[w.rng.IntN(len(w.blocks))] }

// read compares a block with its expected bytes.
func (w *worker) read(h manager.MemoryHandle) {
	back := make([]byte, len(w.bytes[h]))
	must(w.r.factory.Read(h, 0, hostAddr(back), uint64(len(back))))
	if !bytes.Equal(back, w.bytes[h]) {
		panic("a block does not have its bytes")
	}
}

func (w *worker) step() {
	if len(w.blocks) < 4 {
		w.allocate()
		return
	}
	switch w.rng.IntN(9) {
	case 0:
		w.allocate()
	case 1, 2:
		at := w.rng.IntN(len(w.blocks))
		w.dead = w.blocks[at]
		w.blocks = append(w.blocks[:at], w.blocks[at+1:]...)
		w.read(w.dead)
		must(w.r.factory.Free(w.dead))
		delete(w.bytes, w.dead)
	case 3:
		w.read(w.pick())
	case 4:
		h := w.pick()
		addr, err := w.r.factory.Pin(h)
		must(err)
		w.read(h)
		info, err := w.r.factory.HandleInfo(h)
		must(err)
		if info.Addr != addr {
			panic("a pinned block has moved")
		}
		must(w.r.factory.Unpin(h))
	case 5:
		from, to := w.pick(), w.pick()
		size := min(len(w.bytes[from]), len(w.bytes[to]))
		must(w.r.factory.Copy(manager.NewTransfer(from, to, uint64(size))))
		copy(w.bytes[to], w.bytes[from][:size])
	case 6:
		from, to := w.pick(), w.pick()
		size := min(len(w.bytes[from]), len(w.bytes[to]))
		must(w.r.factory.CopyAsync(manager.NewTransfer(from, to, uint64(size)), w.stream))
		copy(w.bytes[to], w.bytes[from][:size])
	case 7:
		h := w.pick()
		w.mark += 16
		must(w.r.factory.FillAsync(manager.Fill{Memory: h, SizeBytes: uint64(len(w.bytes[h])),
			Pattern: device.Pattern{Value: uint64(w.mark), WidthBytes: 1}}, w.stream))
		w.bytes[h] = bytes.Repeat([]byte{w.mark}, len(w.bytes[h]))
	case 8:
		if w.dead == 0 {
			return
		}
		_, err := w.r.factory.Pin(w.dead)
		_, infoErr := w.r.factory.HandleInfo(w.dead)
		for _, err := range []error{err, infoErr, w.r.factory.Unpin(w.dead), w.r.factory.Free(w.dead)} {
			if device.CodeOf(err) != device.CodeInvalidHandle {
				panic("a dead handle works")
			}
		}
	}
}

// Sixteen threads use their blocks in every way while others defragment all the time:
// each finds its bytes wherever its blocks are.
func TestOnDeviceBlocksAreUsedWhileTheyMove(t *testing.T) {
	for name, paging := range map[string]pool.Paging{"pages": pool.PagingOn, "segments": pool.PagingOff} {
		t.Run(name, func(t *testing.T) {
			r := openReal(t, 1)
			c := manager.DefaultConfig()
			small := pool.DefaultConfig()
			small.InitialSizeBytes, small.GrowthIncrementBytes = 1<<18, 1<<18
			small.Paging = paging
			most, steps := 40_000, 250
			if paging == pool.PagingOn {
				small.PhysicalPageBytes = r.pageBytes()
				// Blocks that are all in one page are not moved.
				if r.pageBytes() > 1<<16 {
					most, steps = 320_000, 60
				}
			}
			c.PoolConfigs[manager.General] = small
			m, err := r.factory.CreateMemoryManager(r.engines[0], c)
			require.NoError(t, err)
			var users, movers sync.WaitGroup
			var ended atomic.Bool
			var moved atomic.Uint64
			for thread := range 16 {
				stream, err := r.streams[0].CreateStream()
				require.NoError(t, err)
				users.Add(1)
				go func() {
					defer users.Done()
					w := &worker{r: r, m: m, rng: rand.New(rand.NewPCG(7, uint64(thread))), mark: byte(thread), most: most,
						bytes: map[manager.MemoryHandle][]byte{}, stream: stream}
					for range steps {
						w.step()
					}
					for _, h := range w.blocks {
						w.read(h)
					}
				}()
			}
			for at := range 2 {
				movers.Add(1)
				go func() {
					defer movers.Done()
					for !ended.Load() {
						stats, err := m.DefragmentWithin([]time.Duration{device.Forever, time.Millisecond}[at])
						must(err)
						moved.Add(stats.BlocksMoved)
						must(m.Statistics().Check())
					}
				}()
			}
			users.Wait()
			ended.Store(true)
			movers.Wait()
			// If work takes longer, hardly a block is unused.
			if testdevice.OnHost() {
				require.Positive(t, moved.Load())
			}
			require.NoError(t, m.Close(true))
			r.close(t)
		})
	}
}

// A forced close ends a defragmentation in progress.
func TestOnDeviceCloseAgainstDefragment(t *testing.T) {
	r := openReal(t, 1)
	for range 20 {
		m := r.manager(t, 0, false)
		var blocks []manager.MemoryHandle
		for range 200 {
			h, err := m.AllocTyped(manager.Request{SizeBytes: 60_000, Relocatable: true})
			require.NoError(t, err)
			blocks = append(blocks, h)
		}
		for i, h := range blocks {
			if i%5 != 0 {
				require.NoError(t, r.factory.Free(h))
			}
		}
		done := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := m.Defragment()
				done <- err
			}()
		}
		require.NoError(t, m.Close(true))
		for range 2 {
			tolerated(<-done)
		}
	}
	r.close(t)
}
