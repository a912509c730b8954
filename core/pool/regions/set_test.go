package regions

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const pageBytes = 1 << 10

// where is a segment of the tests, by its address.
type where uint64

func (w where) BaseAddr() uint64 { return uint64(w) }

// span is a block or a hole.
type span struct {
	segment      where
	offset, size uint64
	movable      bool
}

func (s span) key() Key[where] { return Key[where]{s.segment, s.offset / pageBytes} }

// memory is the reference model: all blocks and all holes, none of which crosses a page.
type memory struct {
	random  *rand.Rand
	blocks  []span
	holes   []span
	filled  map[Key[where]]bool
	emptied map[Key[where]]bool
	claimed []bool
}

func newMemory(seed uint64) *memory {
	m := &memory{
		random: rand.New(rand.NewPCG(seed, 5)), filled: map[Key[where]]bool{}, emptied: map[Key[where]]bool{},
	}
	fixed := m.random.IntN(30)
	for _, segment := range []where{1 << 20, 1 << 24} {
		for page := range uint64(12) {
			if m.random.IntN(5) == 0 {
				continue // no memory, or no block
			}
			for at := page * pageBytes; at < (page+1)*pageBytes; {
				size := min((page+1)*pageBytes-at, 64*(1+m.random.Uint64N(6)))
				s := span{segment, at, size, m.random.IntN(100) >= fixed}
				if m.random.IntN(2) == 0 {
					m.blocks = append(m.blocks, s)
				} else {
					m.holes = append(m.holes, s)
				}
				at += size
			}
		}
	}
	m.claimed = make([]bool, len(m.blocks))
	return m
}

func (m *memory) blocksIn(key Key[where]) (all, movable, bytes uint64) {
	for _, b := range m.blocks {
		if b.key() == key {
			all++
			if b.movable {
				movable++
				bytes += b.size
			}
		}
	}
	return all, movable, bytes
}

// tell adds the memory to a set, and sorts the set.
func (m *memory) tell() *Set[where] {
	s := New(m.filled, m.claimed)
	for i, b := range m.blocks {
		if b.movable {
			s.EnterBlock(b.key(), Block{i, b.size}, b.size)
		}
	}
	for at := 0; at < s.Len(); at++ {
		r := s.Region(at)
		all, _, _ := m.blocksIn(r.Key)
		s.Judge(r, all)
	}
	for _, h := range m.holes {
		if all, _, _ := m.blocksIn(h.key()); all > 0 {
			s.EnterHole(h.key(), h.offset, h.offset+h.size)
			s.AddFree(h.size)
		}
	}
	s.Sort()
	return s
}

// candidates returns what a set must choose, the cheapest first.
func (m *memory) candidates() (keys []Key[where]) {
	costs := map[Key[where]]uint64{}
	for _, b := range m.blocks {
		if all, movable, bytes := m.blocksIn(b.key()); all == movable && !m.filled[b.key()] {
			costs[b.key()] = bytes
		}
	}
	keys = slices.Collect(maps.Keys(costs))
	slices.SortFunc(keys, func(a, b Key[where]) int {
		switch {
		case costs[a] != costs[b]:
			return int(costs[a]) - int(costs[b])
		case a.Segment != b.Segment:
			return int(b.Segment) - int(a.Segment)
		}
		return int(b.Page) - int(a.Page)
	})
	return keys
}

// fits finds a hole by examining all of them: for a block of a victim, in a region that
// stays, costs more, or has received blocks.
func (m *memory) fits(order []Key[where], victim Key[where], size, align uint64) bool {
	return slices.ContainsFunc(m.holes, func(h span) bool {
		if all, _, _ := m.blocksIn(h.key()); all == 0 || h.key() == victim || m.emptied[h.key()] {
			return false
		}
		rank := slices.Index(order, h.key())
		if !m.filled[h.key()] && rank >= 0 && rank < slices.Index(order, victim) {
			return false
		}
		start := (uint64(h.segment)+h.offset+align-1)&^(align-1) - uint64(h.segment)
		return start+size <= h.offset+h.size
	})
}

// take removes a place from the hole that contains it.
func (m *memory) take(t *testing.T, at where, offset, size uint64) {
	t.Helper()
	for i, h := range m.holes {
		if h.segment == at && h.offset <= offset && offset+size <= h.offset+h.size {
			rest := h.offset + h.size - offset - size
			m.holes[i].size, m.holes[i].offset = rest, offset+size
			return
		}
	}
	require.Fail(t, "the place is no hole", "%#x + %d of %d bytes", uint64(at), offset, size)
}

// find returns a place for a block; it lists more holes as long as there are some.
func find(s *Set[where], victim *Region[where], size, align uint64) (Place[where], bool) {
	for {
		if place, _, ok := s.Find(victim, size, align); ok {
			return place, true
		}
		if _, ok := s.OpenNext(victim); !ok {
			return Place[where]{}, false
		}
	}
}

// TestSetChoosesAsASimpleSearch empties everything that can be emptied.
func TestSetChoosesAsASimpleSearch(t *testing.T) {
	emptied := 0
	for seed := range uint64(300) {
		m := newMemory(seed)
		order := m.candidates()
		s := m.tell()
		for _, want := range order {
			victim := s.Candidate()
			require.NotNil(t, victim)
			require.Equal(t, want, victim.Key, "seed %d", seed)
			if victim.IsFilled() {
				require.True(t, m.filled[victim.Key])
				s.Pass(false)
				continue
			}
			blocks := slices.Clone(victim.Blocks)
			var places []Place[where]
			before := slices.Clone(m.holes)
			all := true
			for _, b := range blocks {
				align := uint64(64) << m.random.IntN(3)
				place, ok := find(s, victim, b.SizeBytes, align)
				require.Equal(t, m.fits(order, victim.Key, b.SizeBytes, align), ok, "seed %d", seed)
				if !ok {
					all = false
					break
				}
				key := place.Region.Key
				require.Zero(t, (uint64(key.Segment)+place.Offset)%align)
				require.False(t, m.emptied[key] || key == victim.Key)
				m.take(t, key.Segment, place.Offset, b.SizeBytes)
				s.Take(&place, b.SizeBytes)
				require.True(t, m.filled[key] && s.IsOpen(key))
				places = append(places, place)
			}
			if !all {
				for i, place := range slices.Backward(places) {
					s.Return(place, blocks[i].SizeBytes)
				}
				m.holes = before
				lacking := s.NoRoom()
				s.CountNoRoom(victim, pageBytes)
				require.GreaterOrEqual(t, s.NoRoom(), lacking)
				s.Pass(false)
				continue
			}
			for _, b := range blocks {
				s.Claimed(b.Index)
			}
			m.emptied[victim.Key] = true
			emptied++
			s.Pass(true)
		}
		require.Nil(t, s.Candidate())
		for key := range m.emptied {
			require.False(t, m.filled[key], "a region with new blocks is not marked empty")
		}
	}
	require.Greater(t, emptied, 300)
}

// After taking and giving back, the same places are found again.
func TestReturnedPlacesAreFoundAgain(t *testing.T) {
	for seed := range uint64(100) {
		m := newMemory(seed)
		s := m.tell()
		victim := s.Candidate()
		if victim == nil {
			continue
		}
		try := func() (places []Place[where]) {
			for _, b := range victim.Blocks {
				place, ok := find(s, victim, b.SizeBytes, 64)
				if !ok {
					break
				}
				s.Take(&place, b.SizeBytes)
				places = append(places, place)
			}
			return places
		}
		for more := true; more; {
			_, more = s.OpenNext(victim)
		}
		free := s.free
		first := try()
		for i, place := range slices.Backward(first) {
			s.Return(place, victim.Blocks[i].SizeBytes)
		}
		require.Empty(t, m.filled)
		require.Equal(t, free, s.free)
		second := try()
		require.Len(t, second, len(first))
		for i := range first {
			require.Equal(t, first[i].Region.Key, second[i].Region.Key)
			require.Equal(t, first[i].Offset, second[i].Offset)
		}
	}
}

// A region with memory and without blocks is opened for two candidates, and has a hole
// then.
func TestEmptyRegionIsOpenedForTwoCandidates(t *testing.T) {
	m := &memory{filled: map[Key[where]]bool{}, claimed: make([]bool, 2)}
	m.blocks = []span{{1 << 20, 0, 512, true}, {1 << 20, pageBytes, 256, true}}
	s := m.tell()
	victim := s.Candidate()
	require.EqualValues(t, 256, victim.Blocks[0].SizeBytes)
	_, ok := find(s, victim, 256, 64)
	require.False(t, ok)
	need, words, ok := s.NeedToOpen()
	require.True(t, ok)
	require.Zero(t, words)
	require.EqualValues(t, 768, need)
	empty := Key[where]{1 << 20, 5}
	s.Open(empty, 5*pageBytes, pageBytes, true)
	require.True(t, s.IsOpen(empty))
	place, ok := find(s, victim, 256, 64)
	require.True(t, ok)
	require.EqualValues(t, 5*pageBytes, place.Offset)
	s.Take(&place, 256)
	s.Pass(true)
	_, _, ok = s.NeedToOpen()
	require.False(t, ok, "the last one is not worth it")
	place, ok = find(s, s.Candidate(), 512, 64)
	require.True(t, ok)
	require.EqualValues(t, 5*pageBytes+256, place.Offset)
	s.Lose(place)
	_, ok = find(s, s.Candidate(), 512, 64)
	require.False(t, ok, "the place was lost to another caller")
}

// Blocks that find no place although enough is free are counted once each, until they
// have one.
func TestBlocksWithoutSpaceAreCountedOnce(t *testing.T) {
	m := &memory{filled: map[Key[where]]bool{}, claimed: make([]bool, 3)}
	m.blocks = []span{{1 << 20, 0, 512, true}, {1 << 20, pageBytes, 600, true}, {1 << 20, pageBytes + 600, 300, false}}
	s := m.tell()
	victim := s.Candidate()
	s.CountNoRoom(victim, pageBytes)
	require.Zero(t, s.NoRoom(), "there is not so much free")
	s.AddFree(2 * pageBytes)
	s.CountNoRoom(victim, pageBytes)
	s.CountNoRoom(victim, pageBytes)
	require.EqualValues(t, 1, s.NoRoom())
	s.Claimed(victim.Blocks[0].Index)
	require.Zero(t, s.NoRoom())
	require.True(t, m.claimed[0])
	s.CountNoRoom(victim, pageBytes)
	require.Zero(t, s.NoRoom())
}

func TestPiecesNeverMoveElements(t *testing.T) {
	var p Pieces[int]
	for i := range 5000 {
		require.Equal(t, i, p.Add(i))
	}
	first := p.At(0)
	for p.Len() > 1 {
		p.Cut()
	}
	require.Equal(t, 0, *first)
	require.Equal(t, 1, p.Add(7))
	require.Equal(t, 7, *p.At(1))
	require.Same(t, first, p.At(0))
}
