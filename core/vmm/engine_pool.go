package vmm

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/mirror"
	"ferrum_mem/core/track"
)

// What the engine asks of a pool.

// Name is the name in reports.
func (ph *Physical) Name() string { return ph.config.Name }

// Land parks every retiring range whose queued work is done.
func (ph *Physical) Land() {
	for _, s := range ph.spacesFrom(nil) {
		s.landAll()
	}
	ph.engine.Changed()
}

// Flush has nothing to do: no cache stands in front of pages.
func (ph *Physical) Flush() bool { return false }

// Statistics is the books: cached is idle and parked pages, and those that are on
// their way.
func (ph *Physical) Statistics() track.Statistics {
	ph.mu.Peek()
	defer ph.mu.Unlock()
	stats := ph.books.Statistics()
	// Pages that are free lie together wherever they are mapped.
	stats.LargestFreeBytes = stats.Cached.Current
	return stats
}

// Brief is the present values of the books.
func (ph *Physical) Brief() track.Brief {
	ph.mu.Peek()
	defer ph.mu.Unlock()
	return ph.briefLocked()
}

// briefLocked is Brief. The caller holds mu.
func (ph *Physical) briefLocked() track.Brief {
	brief := ph.books.Brief()
	brief.LargestFreeBytes = brief.CachedBytes
	return brief
}

// ShowAt has the books shown at a place from now on, when Show asks for it; nil:
// nowhere.
func (ph *Physical) ShowAt(place *mirror.Pool) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.shownAt = place
	if place == nil {
		ph.mu.Place(nil)
		return
	}
	ph.mu.Place(&place.Version)
}

// Show shows the books, unless they are shown or there is no place for them, until they
// change: all that changes them takes mu by Lock.
func (ph *Physical) Show() {
	ph.mu.Peek()
	defer ph.mu.Unlock()
	if !ph.mu.Wanted() {
		return
	}
	brief := ph.briefLocked()
	ph.shownAt.Books = mirror.PoolBooks{
		ActiveBytes: brief.ActiveBytes, CachedBytes: brief.CachedBytes, UnusableBytes: brief.UnusableBytes,
		LiveBlocks: brief.LiveBlocks, LargestFreeBytes: brief.LargestFreeBytes,
	}
	ph.mu.Show()
}

// Tags is the use by tag of all spaces.
func (ph *Physical) Tags() []track.TagUse {
	var uses []track.TagUse
	for _, s := range ph.spacesFrom(nil) {
		uses = s.tagUses(uses)
	}
	return track.SumTags(uses)
}

// The time that a wait spends on one stream before it asks the others.
const (
	firstTurn = 100 * time.Microsecond
	lastTurn  = 5 * time.Millisecond
)

// WaitForFlight waits until the work behind one retiring range is done, and parks
// all whose work is. Several streams are waited for in turns, so that one that
// stands holds up no other. It is false when nothing is retiring, CodeTimeout when
// it takes longer than timeout (device.Forever: no limit).
func (ph *Physical) WaitForFlight(timeout time.Duration) (bool, error) {
	start, turn := track.Now(), firstTurn
	for round := 0; ; round++ {
		waits, landed := ph.oldest()
		if landed {
			ph.engine.Changed()
			return true, nil
		}
		if len(waits) == 0 {
			return false, nil
		}
		left := timeout
		if timeout != device.Forever {
			left = max(timeout-(track.Now()-start), 0)
		}
		span := left
		if len(waits) > 1 && (left == device.Forever || left > turn) {
			span = turn
			turn = min(turn+turn/4, lastTurn)
		}
		chosen := waits[round%len(waits)]
		passed, err := chosen.space.await(chosen.fence, span)
		if passed {
			ph.engine.Changed()
			return true, nil
		}
		if err != nil && (span == left || device.CodeOf(err) != device.CodeTimeout) {
			return false, err
		}
	}
}

// waiting is a fence of a space.
type waiting struct {
	space *space
	fence *fence
}

// oldest is the first fence of each stream of each space, after those that have
// passed were taken in; landed says that some were.
func (ph *Physical) oldest() (waits []waiting, landed bool) {
	for _, s := range ph.spacesFrom(nil) {
		s.mu.Lock()
		landed = s.landEach() || landed
		for _, q := range s.retirees.queues {
			waits = append(waits, waiting{s, q.fences[0]})
		}
		s.mu.Unlock()
	}
	return waits, landed
}
