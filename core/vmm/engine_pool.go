package vmm

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/mirror"
	"ferrum_mem/core/track"
)

// The methods that the engine calls on a pool.

// Name returns the name in reports.
func (ph *Physical) Name() string { return ph.config.Name }

// CompleteFrees parks every retiring range whose queued work has completed.
func (ph *Physical) CompleteFrees() {
	for _, s := range ph.spacesFrom(nil) {
		s.completeAll()
	}
	ph.engine.Changed()
}

// Flush does nothing, because pages have no cache in front of them.
func (ph *Physical) Flush() bool { return false }

// Statistics returns the counters. Cached counts idle pages, parked pages and pages in
// transit.
func (ph *Physical) Statistics() track.Statistics {
	ph.mu.LockToRead()
	defer ph.mu.Unlock()
	stats := ph.counters.Statistics()
	stats.LargestFreeBytes = ph.largestFree(stats.Cached.Current)
	return stats
}

// largestFree returns the longest range that the cached pages can back. They can be mapped
// at any address, so they count together, as far as the limit allows more pages in use. The
// caller holds mu.
func (ph *Physical) largestFree(cachedBytes uint64) uint64 {
	return min(cachedBytes, ph.available()*ph.pageBytes)
}

// Brief returns the present values of the counters.
func (ph *Physical) Brief() track.Brief {
	ph.mu.LockToRead()
	defer ph.mu.Unlock()
	return ph.briefLocked()
}

// briefLocked implements Brief. The caller holds mu.
func (ph *Physical) briefLocked() track.Brief {
	brief := ph.counters.Brief()
	brief.LargestFreeBytes = ph.largestFree(brief.CachedBytes)
	return brief
}

// PublishAt sets the place where Publish publishes the counters; nil: nowhere.
func (ph *Physical) PublishAt(place *mirror.Pool) {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.shownAt = place
	if place == nil {
		ph.mu.SetPlace(nil)
		return
	}
	ph.mu.SetPlace(&place.Version)
}

// Publish publishes the counters, unless they are published already or have no place. They
// stay published until they change: all code that changes them takes mu with Lock.
func (ph *Physical) Publish() {
	ph.mu.LockToRead()
	defer ph.mu.Unlock()
	if !ph.mu.NeedsPublish() {
		return
	}
	brief := ph.briefLocked()
	ph.shownAt.Counters = mirror.PoolCounters{
		ActiveBytes: brief.ActiveBytes, CachedBytes: brief.CachedBytes, UnusableBytes: brief.UnusableBytes,
		LiveBlocks: brief.LiveBlocks, LargestFreeBytes: brief.LargestFreeBytes,
	}
	ph.mu.Publish()
}

// Tags returns the use by tag of all spaces.
func (ph *Physical) Tags() []track.TagUse {
	var uses []track.TagUse
	for _, s := range ph.spacesFrom(nil) {
		uses = s.tagUses(uses)
	}
	return track.SumTags(uses)
}

// The bounds of the time that WaitForFlight waits for one stream before it checks the
// others.
const (
	firstTurn = 100 * time.Microsecond
	lastTurn  = 5 * time.Millisecond
)

// WaitForFlight waits until the work of one retiring range has completed, and parks all
// ranges whose work has. It waits for several streams in turns, so that a stalled
// stream does not delay the others. It returns false if nothing is retiring, and
// CodeTimeout if the wait takes longer than timeout (device.Forever: no limit).
func (ph *Physical) WaitForFlight(timeout time.Duration) (bool, error) {
	start, turn := track.Now(), firstTurn
	for round := 0; ; round++ {
		waits, completed := ph.oldest()
		if completed {
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

// oldest parks the ranges whose fences have completed, and then returns the first fence
// of each stream of each space. completed reports whether any had completed.
func (ph *Physical) oldest() (waits []waiting, completed bool) {
	for _, s := range ph.spacesFrom(nil) {
		s.mu.Lock()
		completed = s.completeEach() || completed
		for _, q := range s.retirees.queues {
			waits = append(waits, waiting{s, q.fences[0]})
		}
		s.mu.Unlock()
	}
	return waits, completed
}
