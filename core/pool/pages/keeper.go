package pages

import "time"

// How long idle pages stay. A page that stays uses memory that other programs could use.
// A page that is released too early delays the next allocation: the page has to be
// created again, and its first use is slow. So there is a window: pages that stay idle
// for a whole window are released. The window is usually short, because the memory of a
// pool should follow its blocks. It is long while the same pages are freed and allocated
// regularly: a serving engine frees at the end of each step what the next step allocates.
//
// The Keeper detects such a load by its mistakes. It watches released pages for 200 ms.
// If at least half of them have to be created again within that time, their release was a
// mistake. After four mistakes in a row, with about the same time between release and
// creation, the window becomes as long as the pages would have been idle, plus a quarter.
// After one correct release the window is short again. So random load gets the short
// window. A pool that frees and allocates regularly, at least once in 200 ms, creates no
// pages after the first few times.
//
// The numbers are chosen for the recorded load of a server, where requests arrive at
// random: there, held bytes times time stays within 2 % of live bytes times time.
// docs/rationale.md has the results of other numbers.
const (
	// ShortWindow is how long idle pages usually stay, and LongWindow is the longest
	// time.
	ShortWindow = 3 * time.Millisecond
	LongWindow  = WatchTime + WatchTime/4
	// WatchTime is how long released pages are watched.
	WatchTime = 200 * time.Millisecond
	// Mistakes is the number of mistakes in a row after which the window becomes longer.
	Mistakes = 4
)

// Keeper decides how long idle pages stay, from the use of the pages that it released
// before. Its zero value has the short window. It is not safe for concurrent use.
type Keeper struct {
	// longer is the difference between the present window and ShortWindow.
	longer time.Duration
	// gone is the number of pages released since goneAt that are watched. again is the
	// number of pages created since then.
	gone, again uint64
	goneAt      time.Duration
	// mistakes is the number of mistakes in a row. gap is the time between the release
	// and the creation of the pages of the last mistake.
	mistakes int
	gap      time.Duration
}

// Window returns how long pages have to be idle before they are released.
func (k *Keeper) Window() time.Duration { return ShortWindow + k.longer }

// GaveBack is called after pages were released that were idle for a window.
func (k *Keeper) GaveBack(pages uint64, now time.Duration) {
	if pages == 0 {
		return
	}
	k.judge(now)
	if k.gone == 0 {
		k.goneAt = now
	}
	k.gone += pages
}

// Created is called after an allocation had to wait for the creation of pages.
func (k *Keeper) Created(pages uint64, now time.Duration) {
	k.judge(now)
	if k.gone == 0 {
		return
	}
	k.again += pages
	if k.again < k.gone-k.gone/2 {
		return
	}
	last := k.gap
	k.gap = now - k.goneAt
	k.gone, k.again = 0, 0
	if k.gap < last-last/4 || k.gap > last+last/3 {
		k.mistakes = 0
	}
	k.mistakes++
	if k.mistakes >= Mistakes {
		// The pages had been idle for up to two windows when they were released.
		idle := k.gap + 2*k.Window()
		k.longer = min(max(k.Window(), idle+idle/4), LongWindow) - ShortWindow
	}
}

// judge ends the watch if its time is over.
func (k *Keeper) judge(now time.Duration) {
	if k.gone != 0 && now-k.goneAt > WatchTime {
		*k = Keeper{}
	}
}
