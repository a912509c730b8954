package mirror

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func (p *Pool) isShown() bool { return p.Version.Load()%2 == 1 }

func TestNothingIsPublishedBeforeTheFirstShow(t *testing.T) {
	var d Device
	require.Zero(t, d.Version.Load()%2)
	require.False(t, d.Pool[0].isShown())
	var l Lock
	l.Lock()
	require.False(t, l.Wanted(), "there is no place")
	l.Unlock()
}

func TestLockInvalidatesAndPeekDoesNot(t *testing.T) {
	var l Lock
	var p Pool
	l.Lock()
	l.Place(&p.Version)
	l.Unlock()
	for range 5 {
		l.Peek()
		require.True(t, l.Wanted())
		l.Show()
		require.False(t, l.Wanted())
		l.Unlock()
		l.Peek()
		l.Unlock()
		require.True(t, p.isShown())
		before := p.Version.Load()
		l.Lock()
		require.False(t, p.isShown())
		l.Unlock()
		require.Greater(t, p.Version.Load(), before)
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
	require.False(t, p.isShown(), "what is shown at a place that was taken away")
}

// Some threads change a number, others publish it. A thread that finds it published finds
// the present one.
func TestPublishedNumbersArePresent(t *testing.T) {
	var l Lock
	var p Pool
	active := uint64(0)
	l.Lock()
	l.Place(&p.Version)
	l.Unlock()
	var threads sync.WaitGroup
	for thread := range 4 {
		threads.Go(func() {
			for n := range uint64(5000) {
				if thread%2 == 0 {
					l.Lock()
					active += n
					l.Unlock()
					continue
				}
				l.Peek()
				if l.Wanted() {
					p.Counters.ActiveBytes = active
					l.Show()
				} else if p.Counters.ActiveBytes != active {
					panic("what is shown has changed")
				}
				if !p.isShown() {
					panic("the lock shows what the version says is hidden")
				}
				l.Unlock()
			}
		})
	}
	threads.Wait()
	l.Peek()
	defer l.Unlock()
	if l.Wanted() {
		p.Counters.ActiveBytes = active
		l.Show()
	}
	require.Equal(t, active, p.Counters.ActiveBytes)
}

// Lent numbers are recalled, once, before any caller gets the lock.
func TestLentNumbersAreRecalledByTheLock(t *testing.T) {
	var l Lock
	recalled := 0
	lend := func() {
		l.Lock()
		l.Lend(func() { recalled++ })
		l.Unlock()
	}
	for want, take := range []func(){l.Lock, l.Peek} {
		lend()
		require.Equal(t, want, recalled)
		for range 3 {
			take()
			require.Equal(t, want+1, recalled)
			l.Unlock()
		}
	}
}

// The C side has the same layout.
func TestLayout(t *testing.T) {
	require.EqualValues(t, 128, unsafe.Sizeof(Pool{}))
	require.EqualValues(t, 128, unsafe.Offsetof(Device{}.Pool))
}
