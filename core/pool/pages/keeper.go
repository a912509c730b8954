package pages

import "time"

// How long idle pages are kept. A page that stays costs memory that others could
// use, one that is given back too early costs whoever allocates next: it has to be
// created again, and its first touch is slow. So there is a window: what nobody
// needed for a whole one goes back. It is short as a rule, because what a pool holds
// is to follow its blocks, and long while a pool breathes: a serving engine frees
// at the end of every step what the next one takes again.
//
// That is found out by mistakes. Pages that were given back are watched for a while,
// 200 ms. If half of them or more have to be created again in that time, to
// give them back was a mistake, else it was right. After four mistakes in a
// row, each about as long after the pages had gone as the one before, the window
// becomes as long as they would have been idle, and a quarter more; after one that
// was right it is as short as ever. So load that comes and goes at random gets the
// short window, and a pool that breathes regularly, at least once in 200 ms,
// creates nothing after the first few breaths.
//
// The numbers are chosen so that on the recorded load of a server, where requests
// come at random, the area of what is held over time stays within 2 % of that of the
// live bytes; docs/rationale.md has what others come to.
const (
	// ShortWindow is how long idle pages stay as a rule, and LongWindow at most.
	ShortWindow = 3 * time.Millisecond
	LongWindow  = WatchTime + WatchTime/4
	// WatchTime is how long pages are watched that were given back.
	WatchTime = 200 * time.Millisecond
	// Mistakes is how many in a row make the window longer.
	Mistakes = 4
)

// Keeper decides how long idle pages stay, by what became of those that were given back.
// Its zero value has the short window. It is not safe for concurrent use.
type Keeper struct {
	// longer is how much longer than ShortWindow pages have to be idle.
	longer time.Duration
	// gone counts pages given back since goneAt that are watched, and again those
	// created since.
	gone, again uint64
	goneAt      time.Duration
	// mistakes counts those in a row, and gap is how long after its pages had gone
	// the last one showed.
	mistakes int
	gap      time.Duration
}

// Window is how long pages have to be idle.
func (k *Keeper) Window() time.Duration { return ShortWindow + k.longer }

// GaveBack is told of pages that were not needed for a window.
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

// Created is told of pages that an allocation had to wait for.
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
		// They had been idle for up to two windows when they went.
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
