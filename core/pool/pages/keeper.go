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
// A load without such a rhythm can make pages expensive too: blocks of random sizes that are
// replaced in a loop need other pages within microseconds, and a driver takes 20 to 100
// microseconds for each. So the Keeper also adds up the time that allocations wait for pages
// that it had released. If that is more than a hundredth of the time, the window doubles, up
// to ten seconds. It halves again after eight windows without that. Under a load that
// leaves the allocator time, this rule changes nothing.
//
// The numbers are chosen for the recorded load of a server, where requests arrive at
// random: there, held bytes times time stays within 2 % of live bytes times time.
// docs/rationale.md has the results of other numbers.
const (
	// ShortWindow is the usual time that idle pages stay. LongWindow is the longest time.
	ShortWindow = 3 * time.Millisecond
	LongWindow  = WatchTime + WatchTime/4
	// WatchTime is the time that released pages are watched.
	WatchTime = 200 * time.Millisecond
	// Mistakes is the number of mistakes in a row after which the window becomes longer.
	Mistakes = 4

	// Allocations may wait for pages that were released before during one part in WaitShare
	// of the time. When their waits exceed this part by more than WaitBurst, the window of
	// the pages becomes longer.
	WaitShare = 100
	WaitBurst = 2 * time.Millisecond
	// CostlyWindow is the longest window of pages that are expensive.
	CostlyWindow = 10 * time.Second
	// QuietWindows is the number of windows after which a costly window halves.
	QuietWindows = 8
)

// Keeper decides how long idle pages stay, from the use of the pages that it released
// before. Its zero value has the short window. It is not safe for concurrent use.
type Keeper struct {
	rhythm rhythm
	waits  waits
}

// Window returns how long pages have to be idle before they are released.
func (k *Keeper) Window() time.Duration {
	return max(ShortWindow+k.rhythm.longer, k.waits.window)
}

// GaveBack is called after pages were released that were idle for a window.
func (k *Keeper) GaveBack(pages uint64, now time.Duration) {
	if pages == 0 {
		return
	}
	k.rhythm.gaveBack(pages, now)
	k.waits.gaveBack(pages, now)
}

// Created is called after an allocation had to wait for the creation of pages. waited is the
// time that the driver took for them.
func (k *Keeper) Created(pages uint64, waited, now time.Duration) {
	if pages == 0 {
		return
	}
	k.rhythm.created(pages, k.Window(), now)
	k.waits.created(pages, waited, k.Window(), now)
}

// rhythm detects pages that are freed and allocated regularly.
type rhythm struct {
	// longer is the difference between the window and ShortWindow.
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

func (r *rhythm) gaveBack(pages uint64, now time.Duration) {
	r.judge(now)
	if r.gone == 0 {
		r.goneAt = now
	}
	r.gone += pages
}

func (r *rhythm) created(pages uint64, window, now time.Duration) {
	r.judge(now)
	if r.gone == 0 {
		return
	}
	r.again += pages
	if r.again < r.gone-r.gone/2 {
		return
	}
	last := r.gap
	r.gap = now - r.goneAt
	r.gone, r.again = 0, 0
	if r.gap < last-last/4 || r.gap > last+last/3 {
		r.mistakes = 0
	}
	r.mistakes++
	if r.mistakes >= Mistakes {
		// The pages had been idle for up to two windows when they were released.
		idle := r.gap + 2*window
		r.longer = min(max(window, idle+idle/4), LongWindow) - ShortWindow
	}
}

// judge ends the watch if its time is over.
func (r *rhythm) judge(now time.Duration) {
	if r.gone != 0 && now-r.goneAt > WatchTime {
		*r = rhythm{}
	}
}

// waits adds up the time that allocations wait for pages that were released before.
type waits struct {
	// window is 0 as long as pages are cheap.
	window time.Duration
	// released is the number of released pages that were not created again.
	released uint64
	// debt is the time of the waits until at, less a hundredth of the time since then.
	debt, at time.Duration
	// changedAt is the time of the last change of window.
	changedAt time.Duration
}

func (w *waits) gaveBack(pages uint64, now time.Duration) {
	w.released += pages
	if w.window > 0 && now-w.changedAt > QuietWindows*w.window {
		w.window, w.changedAt = w.window/2, now
		if w.window < ShortWindow {
			*w = waits{released: w.released, at: now}
		}
	}
}

func (w *waits) created(pages uint64, waited, window, now time.Duration) {
	again := min(pages, w.released)
	w.released -= again
	w.debt = max(w.debt-(now-w.at)/WaitShare, 0)
	w.at = now
	w.debt += time.Duration(float64(waited) * float64(again) / float64(pages))
	if w.debt > WaitBurst {
		w.window, w.changedAt, w.debt = min(2*window, CostlyWindow), now, 0
	}
}
