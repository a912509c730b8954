package mirror

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func (p *Pool) isPublished() bool { return p.Version.Load()%2 == 1 }

func TestNothingIsPublishedBeforeTheFirstShow(t *testing.T) {
	var d Device
	require.Zero(t, d.Version.Load()%2)
	require.False(t, d.Pool[0].isPublished())
	var l Lock
	l.Lock()
	require.False(t, l.NeedsPublish(), "there is no place")
	l.Unlock()
}

func TestLockInvalidatesAndLockToReadDoesNot(t *testing.T) {
	var l Lock
	var p Pool
	l.Lock()
	l.SetPlace(&p.Version)
	l.Unlock()
	for range 5 {
		l.LockToRead()
		require.True(t, l.NeedsPublish())
		l.Publish()
		require.False(t, l.NeedsPublish())
		l.Unlock()
		l.LockToRead()
		l.Unlock()
		require.True(t, p.isPublished())
		before := p.Version.Load()
		l.Lock()
		require.False(t, p.isPublished())
		l.Unlock()
		require.Greater(t, p.Version.Load(), before)
	}
	l.LockToRead()
	l.Publish()
	l.Unlock()
	l.Lock()
	l.SetPlace(nil)
	l.Unlock()
	l.LockToRead()
	require.False(t, l.NeedsPublish())
	l.Unlock()
	require.False(t, p.isPublished(), "a place that the lock no longer has")
}

// Some threads change a number, others publish it. A thread that finds it published finds
// the present one.
func TestPublishedNumbersArePresent(t *testing.T) {
	var l Lock
	var p Pool
	active := uint64(0)
	l.Lock()
	l.SetPlace(&p.Version)
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
				l.LockToRead()
				if l.NeedsPublish() {
					p.Counters.ActiveBytes = active
					l.Publish()
				} else if p.Counters.ActiveBytes != active {
					panic("published numbers have changed")
				}
				if !p.isPublished() {
					panic("the lock publishes, and the version is even")
				}
				l.Unlock()
			}
		})
	}
	threads.Wait()
	l.LockToRead()
	defer l.Unlock()
	if l.NeedsPublish() {
		p.Counters.ActiveBytes = active
		l.Publish()
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
	for want, take := range []func(){l.Lock, l.LockToRead} {
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
