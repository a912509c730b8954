package mirror

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// read is what a reader from outside does.
func (p *Pool) read() (b PoolBooks, ok bool) {
	before := p.Version.Load()
	if before%2 == 0 {
		return b, false
	}
	b = PoolBooks{
		Cache: p.Cache.Load(), ActiveBytes: p.ActiveBytes.Load(), CachedBytes: p.CachedBytes.Load(),
		UnusableBytes: p.UnusableBytes.Load(), LiveBlocks: p.LiveBlocks.Load(),
		LargestFreeBytes: p.LargestFreeBytes.Load(), LeasedBytes: p.LeasedBytes.Load(),
		ReturnedBytes: p.ReturnedBytes.Load(),
	}
	return b, p.Version.Load() == before
}

func TestNothingIsShownBeforeItWas(t *testing.T) {
	var d Device
	require.Zero(t, d.Version.Load()%2)
	_, ok := d.Pool[0].read()
	require.False(t, ok)
	var l Lock
	l.Lock()
	require.False(t, l.Wanted(), "there is no place")
	l.Unlock()
}

func TestAChangeHidesAndALookDoesNot(t *testing.T) {
	var l Lock
	var p Pool
	l.Lock()
	l.Place(&p.Version)
	l.Unlock()
	for n := range uint64(5) {
		want := PoolBooks{
			Cache: n, ActiveBytes: n + 1, CachedBytes: n + 2, UnusableBytes: n + 3, LiveBlocks: n + 4,
			LargestFreeBytes: n + 5, LeasedBytes: n + 6, ReturnedBytes: n + 7,
		}
		l.Peek()
		require.True(t, l.Wanted())
		p.Write(&want)
		l.Show()
		require.False(t, l.Wanted())
		l.Unlock()
		l.Peek()
		l.Unlock()
		got, ok := p.read()
		require.True(t, ok)
		require.Equal(t, want, got)
		l.Lock()
		_, ok = p.read()
		require.False(t, ok)
		l.Unlock()
	}
	l.Peek()
	l.Show()
	l.Unlock()
	l.Lock()
	l.Place(nil)
	l.Unlock()
	l.Peek()
	require.False(t, l.Wanted())
	l.Unlock()
	_, ok := p.read()
	require.False(t, ok, "what is shown at a place that was taken away")
}

func TestADeviceShowsAllOfItsNumbers(t *testing.T) {
	var d Device
	d.Write(&DeviceBooks{
		Handle: 1, TotalBytes: 2, AvailableBytes: 3, TakenAt: 4, Bandwidth: BandwidthKnown | 5, Pools: 6, Partial: true,
	})
	require.Equal(t, []uint64{1, 2, 3, 4, BandwidthKnown | 5, 6, 1}, []uint64{
		d.Handle.Load(), d.TotalBytes.Load(), d.AvailableBytes.Load(), d.TakenAt.Load(), d.Bandwidth.Load(),
		d.Pools.Load(), d.Partial.Load(),
	})
	d.Write(&DeviceBooks{})
	require.Zero(t, d.Partial.Load())
}

// Two threads change two numbers whose sum is always the same, a third shows them, and
// readers never see another sum, nor anything that was there before a change that they
// have heard of.
func TestReadersSeeOneMoment(t *testing.T) {
	const sum = 1 << 20
	var l Lock
	var p Pool
	active := uint64(0)
	l.Lock()
	l.Place(&p.Version)
	l.Unlock()
	var changes, seen atomic.Uint64
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		writers.Go(func() {
			for n := range uint64(20000) {
				l.Lock()
				active = (active + n) % sum
				changes.Add(1)
				l.Unlock()
			}
		})
	}
	readers.Go(func() {
		for {
			l.Peek()
			if l.Wanted() {
				p.Write(&PoolBooks{ActiveBytes: active, CachedBytes: sum - active, LiveBlocks: changes.Load()})
				l.Show()
			}
			l.Unlock()
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for range 2 {
		readers.Go(func() {
			for {
				// Those that count before the reading are in it.
				known := changes.Load()
				if b, ok := p.read(); ok {
					if b.ActiveBytes+b.CachedBytes != sum || b.LiveBlocks < known {
						panic("torn or old numbers were read")
					}
					seen.Add(1)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	writers.Wait()
	for seen.Load() == 0 {
		l.Peek()
		l.Unlock()
	}
	close(stop)
	readers.Wait()
}

// The C side has the same layout.
func TestLayout(t *testing.T) {
	require.EqualValues(t, 128, unsafe.Sizeof(Pool{}))
	require.EqualValues(t, 128, unsafe.Offsetof(Device{}.Pool))
}
