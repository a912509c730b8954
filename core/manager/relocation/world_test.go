package relocation

import (
	"errors"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/pool"
)

// The tests of this package use a world of pages with blocks, which is a plain list.
// Its pool empties, one after the other, the pages that have only blocks that may move.

const pageBytes = 64

type world struct {
	pages int
	// blocks are by slot; nil is a free slot.
	blocks []*worldBlock
	made   uint64
	pools  []*worldPool
	// claims has those neither settled nor abandoned; paused counts calls.
	claims map[device.Addr]bool
	paused int
	// fails counts down to the call of Ready or Move that fails; 0: none.
	fails int
	// If blocked is not nil, Ready sends on entered and then waits for blocked.
	blocked, entered chan struct{}
	next             device.Addr
}

type worldBlock struct {
	addr device.Addr
	in   *worldPool
	why  Reason
	// foreign blocks do not belong to the relocation.
	foreign bool
	moved   int
}

type worldPool struct {
	w *world
	// inSegments states that the pool has no pages. refuses is the error with which it
	// rejects runs.
	inSegments bool
	refuses    error
}

type worldRun struct {
	p       *worldPool
	movable []pool.Movable
	claimed map[int]bool
	emptied map[device.Addr]bool
	ended   bool
}

var errBroken = errors.New("broken")

func (w *world) failing() error {
	if w.fails--; w.fails == 0 {
		return errBroken
	}
	return nil
}

func (w *world) Scan(from, count uint64, visit func(*worldBlock)) uint64 {
	end := min(from+count, uint64(len(w.blocks)))
	for _, b := range w.blocks[from:end] {
		if b != nil {
			visit(b)
		}
	}
	return end
}

func (w *world) Made() uint64 { return w.made }

func (w *world) Live() (count uint64) {
	for _, b := range w.blocks {
		if b != nil && !b.foreign {
			count++
		}
	}
	return count
}

func (w *world) Look(b *worldBlock) (*worldPool, pool.Movable, Reason, bool) {
	return b.in, pool.Movable{Addr: b.addr}, b.why, !b.foreign
}

func (w *world) Ready(Budget) error {
	if w.blocked != nil {
		w.entered <- struct{}{}
		<-w.blocked
	}
	return w.failing()
}

func (w *world) Move(b *worldBlock, p *worldPool, c pool.Claim, budget Budget) (bool, Reason, error) {
	if budget.Over() {
		p.abandon(c)
		return false, None, ErrOverBudget
	}
	if err := w.failing(); err != nil {
		p.abandon(c)
		return false, None, err
	}
	if !slices.Contains(w.blocks, b) || b.addr != c.From {
		p.abandon(c)
		return false, None, nil
	}
	if b.why != None {
		p.abandon(c)
		return false, b.why, nil
	}
	p.abandon(c) // Settled: it is not a claim any more.
	b.addr = c.To
	b.moved++
	return true, None, nil
}

func (p *worldPool) abandon(c pool.Claim) {
	if !p.w.claims[c.To] {
		panic("no such claim")
	}
	delete(p.w.claims, c.To)
}

func (p *worldPool) AbandonAll(claims []pool.Claim) {
	for _, c := range claims {
		p.abandon(c)
	}
}

func (p *worldPool) PauseReturn()  { p.w.paused++ }
func (p *worldPool) ResumeReturn() { p.w.paused-- }

func (p *worldPool) PhysicalPageBytes() uint64 {
	if p.inSegments {
		return 0
	}
	return pageBytes
}

func (p *worldPool) Relocate(movable []pool.Movable) (Run, error) {
	if p.refuses != nil {
		return nil, p.refuses
	}
	return &worldRun{p: p, movable: movable, claimed: map[int]bool{}, emptied: map[device.Addr]bool{}}, nil
}

// Next returns the first page that was not tried and that has only blocks that may
// move.
func (r *worldRun) Next(over func() bool) (pool.Evacuation, error) {
	w := r.p.w
	if over() {
		return pool.Evacuation{}, nil
	}
	for page := range device.Addr(w.pages) {
		var claims []pool.Claim
		suits := true
		for _, b := range w.blocks {
			if b == nil || b.in != r.p || b.addr/pageBytes != page {
				continue
			}
			at := slices.IndexFunc(r.movable, func(m pool.Movable) bool { return m.Addr == b.addr })
			suits = suits && at >= 0 && !r.claimed[at]
			claims = append(claims, pool.Claim{From: b.addr, SizeBytes: 4, Index: at})
		}
		if !suits || len(claims) == 0 {
			continue
		}
		for i := range claims {
			w.next += pageBytes
			claims[i].To = w.next
			w.claims[claims[i].To], r.claimed[claims[i].Index] = true, true
		}
		return pool.Evacuation{Claims: claims}, nil
	}
	r.ended = true
	return pool.Evacuation{}, nil
}

func (r *worldRun) Ended() bool    { return r.ended }
func (r *worldRun) NoRoom() uint64 { return 0 }

func (r *worldRun) NotTried(claims []pool.Claim) {
	for _, c := range claims {
		r.claimed[c.Index] = false
	}
}

// looks is a budget that lasts for that many checks; a negative one never ends.
type looks int

func (l *looks) Over() bool {
	if *l < 0 {
		return false
	}
	if *l == 0 {
		return true
	}
	*l--
	return false
}

func (l *looks) Left() time.Duration {
	switch {
	case *l < 0:
		return device.Forever
	case *l == 0:
		return 0
	}
	return time.Hour
}

func endless() *looks {
	l := looks(-1)
	return &l
}

func newWorld(t *rapid.T) *world {
	w := &world{pages: rapid.IntRange(1, 8).Draw(t, "pages"), claims: map[device.Addr]bool{}}
	w.next = device.Addr(1000 * pageBytes)
	w.pools = []*worldPool{{w: w}, {w: w, inSegments: true}}
	for page := range w.pages {
		in := w.pools[page%2]
		for i := range rapid.IntRange(0, 4).Draw(t, "blocks") {
			why := None
			if rapid.IntRange(0, 5).Draw(t, "stays") == 0 {
				why = Reason(rapid.IntRange(int(NotRelocatable), int(InUse)).Draw(t, "why"))
			}
			w.blocks = append(w.blocks, &worldBlock{
				addr: device.Addr(page*pageBytes + i), in: in, why: why, foreign: rapid.IntRange(0, 9).Draw(t, "foreign") == 0,
			})
			w.made++
		}
	}
	return w
}

// want returns the result of a call without a limit: all pages that have only movable
// blocks are emptied.
func (w *world) want() (want Stats) {
	for page := range device.Addr(w.pages) {
		var blocks []*worldBlock
		stays := false
		for _, b := range w.blocks {
			if b == nil || b.addr/pageBytes != page {
				continue
			}
			stays = stays || b.why != None || b.foreign
			if b.why != None && !b.foreign {
				want.Skipped.add(b.why)
			} else if !b.foreign {
				blocks = append(blocks, b)
			}
		}
		switch {
		case stays:
			want.BlocksKept += uint64(len(blocks))
		case len(blocks) == 0:
		case blocks[0].in.inSegments:
			want.SegmentsEmptied++
		default:
			want.PagesEmptied++
		}
		if !stays {
			want.BlocksMoved += uint64(len(blocks))
			want.BytesMoved += 4 * uint64(len(blocks))
		}
	}
	return want
}

func (w *world) clean(t require.TestingT) {
	require.Empty(t, w.claims, "each claim is settled or abandoned")
	require.Zero(t, w.paused)
}
